"""How near attacks come to places that zones hide, on phones of Geolife.

A place is where trips of the data begin or end: at least three ends within 100 m. For each number of ends, trips that
begin or end there are chosen at random, a zone is drawn, and the trips are cut and attacked. The map of roads is made
of all other trips. Errors are in metres: the median and the 90% quantile over places and draws.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from geoveil.geo.recordings.gpx import GPXTracks
from geoveil.mechanisms.discs import STEPS, TruncatedGaussian, UniformDisc
from geoveil.noise import source_of
from geoveil.privacy import CGP
from geoveil.requests.zones_request import ZonesRequest
from geoveil.zones import Hiding, Rules, Zone, attacks, cut, propose_places
from geoveil.zones.cutting import around

Floats = np.ndarray

DATA = Path(os.environ.get("GEOVEIL_GEOLIFE", "../shared/data/geolife"))
#: Seconds between two fixes after which another trip begins.
PAUSE = 1200


@dataclass(frozen=True)
class Trip:
    """Longitudes and latitudes, and seconds."""

    degrees: Floats
    seconds: Floats


@cache
def trips() -> list[Trip]:
    """Return all trips in the data."""
    found = []
    for path in sorted(DATA.glob("*/Trajectory/*.plt")):
        rows = np.loadtxt(path, delimiter=",", skiprows=6, usecols=(0, 1, 4), ndmin=2)
        seconds = rows[:, 2] * 86400
        breaks = np.flatnonzero(np.diff(seconds) > PAUSE) + 1
        for part, when in zip(np.split(rows, breaks), np.split(seconds, breaks), strict=True):
            if len(part) > 1:
                found.append(Trip(part[:, 1::-1].copy(), when))
    return found


def metres(degrees: Floats, place: Floats) -> Floats:
    """Return about how far points are from a place."""
    scale = np.radians(1) * 6371000 * np.array([np.cos(np.radians(place[1])), 1])
    return np.asarray(np.hypot(*((degrees - place) * scale).T))


@cache
def homes() -> list[tuple[tuple[float, float], tuple[int, ...]]]:
    """Return the places, longitude and latitude, and the trips that begin or end there."""
    ends = np.concatenate([trip.degrees[[0, -1]] for trip in trips()])
    found = []
    for proposed in propose_places(ends):
        place = np.array([proposed.place.lon, proposed.place.lat])
        near = np.flatnonzero(metres(ends, place) <= 100)
        found.append(((float(place[0]), float(place[1])), tuple(sorted({int(end) // 2 for end in near}))))
    return found


@dataclass(frozen=True)
class Sized(Hiding):
    """Discs of any radius, also of those that leave less of a margin than the product does."""

    size: int = 0

    @property
    def radius(self) -> int:
        """The radius."""
        return self.size


def true_centre(radius: int) -> Hiding:
    """Return the size of a disc around the place itself; its law is not used."""
    return Sized(UniformDisc(10), size=radius)


def gaussian(scale: float, radius: int) -> Hiding:
    """Return discs with Gaussian noise of a scale, and of a radius."""
    return Sized(TruncatedGaussian(CGP(rho=0.5 / scale**2), int(4 * scale)), size=radius)


def uniform(reach: int, radius: int) -> Hiding:
    """Return discs with uniform centres within reach."""
    return Sized(UniformDisc(reach), size=radius)


#: The name, the discs, and how centres are drawn: on the place, once, or for each track.
ROWS: dict[str, tuple[Hiding, str]] = {
    "true centre 200": (true_centre(200), "true"),
    "true centre 500": (true_centre(500), "true"),
    "true centre 599": (true_centre(599), "true"),
    "true centre 1000": (true_centre(1000), "true"),
    "new centre per track σ74 R475": (gaussian(74, 475), "each"),
    "σ74 R475": (gaussian(74, 475), "once"),
    "σ74 R590": (gaussian(74, 590), "once"),
    "σ149 R950": (gaussian(149, 950), "once"),
    "σ149 R1180": (gaussian(149, 1180), "once"),
    "uniform a240 R590": (uniform(240, 590), "once"),
    "uniform a340 R590": (uniform(340, 590), "once"),
    "uniform a490 R590": (uniform(490, 590), "once"),
    "default: uniform a248 R599": (Hiding.of(hide=200), "once"),
}
RULES = {
    "as it is": Rules(),
    "+ 200 m": Rules(trim=200),
    "+ 500 m": Rules(trim=500),
    "≥ 2 tracks": Rules(together=2),
    "≥ 5 tracks": Rules(together=5),
}
ATTACKS = ("circle", "lines", "headings", "roads")


def drawn(hiding: Hiding, how: str, place: tuple[float, float], rng: np.random.Generator) -> Zone:
    """Return a zone of a place."""
    if how == "true":
        return Zone("true", (round(place[1] * STEPS), round(place[0] * STEPS)), hiding)
    return Zone("drawn", hiding.law.draw(place[1], place[0], source_of(rng)), hiding)


def attacked(
    hiding: Hiding, how: str, ends: int, rng: np.random.Generator, rules: Rules, wanted: tuple[str, ...]
) -> Iterator[dict[str, float]]:
    """Yield the errors of attacks on each place with so many ends, for one draw."""
    for place, whose in homes():
        if len(whose) < ends:
            continue
        chosen = rng.choice(whose, ends, replace=False)
        zone = drawn(hiding, how, place, rng)
        found, left = [], set(range(len(trips()))) - {*chosen.tolist()}
        degrees = np.concatenate([trips()[i].degrees for i in chosen])
        seconds = np.concatenate([trips()[i].seconds for i in chosen])
        tracks = np.repeat(np.arange(ends), [len(trips()[i].degrees) for i in chosen])
        if how == "each":
            for i in chosen:
                own = drawn(hiding, how, place, rng)
                kept = cut([own], trips()[i].degrees, trips()[i].seconds)
                at = trips()[i].degrees[kept.rows]
                found += [around(zone, unprojected) for unprojected in ends_of(own, at, kept.pieces)]
        else:
            kept = cut([zone], degrees, seconds, tracks, trim=rules.trim, together=rules.together)
            found = attacks.zone_ends(zone, degrees[kept.rows], kept.pieces, rules)
        if not found:
            continue
        home = around(zone, np.array([place]))[0]
        guesses = {"centre": np.zeros(2)}
        if "circle" in wanted:
            doubt = hiding.law.error(0.5) if how == "each" else 3.0
            guesses["circle"] = attacks.fit_circle(found, zone.radius + rules.trim, doubt)
        if "lines" in wanted:
            guesses["lines"] = attacks.meet_lines(found)
        if "headings" in wanted and how == "once":
            guesses["headings"] = attacks.follow_headings(zone, found)
        if "roads" in wanted and how == "once":
            guesses["roads"] = attacks.follow_roads(
                zone, found, attacks.Roads(zone, [trips()[i].degrees for i in left])
            )
        yield {name: float(np.hypot(*(guess - home))) for name, guess in guesses.items()}


def ends_of(zone: Zone, degrees: Floats, pieces: Floats) -> Iterator[Floats]:
    """Yield the ends of pieces at a zone in degrees, from the end away."""
    for piece in np.unique(pieces):
        part = degrees[pieces == piece]
        for away in (part, part[::-1]):
            if np.hypot(*around(zone, away[:1])[0]) <= zone.radius + 300:
                yield away[:2000]


def figures(errors: list[dict[str, float]], name: str) -> str:
    """Return the median and the 90% quantile of an attack's errors."""
    found = [each[name] for each in errors if name in each]
    return f"{np.median(found):.0f}/{np.quantile(found, 0.9):.0f}" if found else "–"


def table(draws: int, counts: tuple[int, ...], wanted: tuple[str, ...], rows: str) -> None:
    """Print the errors of all attacks for all discs."""
    print(f"| zone | ends | cases | {' | '.join(wanted)} |\n|---|---|---|{'---|' * len(wanted)}")
    for name, (hiding, how) in ROWS.items():
        for ends in counts if rows in name else ():
            rng, start = np.random.default_rng([ends, 1]), time.perf_counter()
            times = draws if ends < 50 else 6 * draws  # few places have so many
            errors = [each for _ in range(times) for each in attacked(hiding, how, ends, rng, Rules(), wanted)]
            if errors:
                cells = " | ".join(figures(errors, attack) for attack in wanted)
                print(f"| {name} | {ends} | {len(errors)} | {cells} |", flush=True)
            print(f"{name}, {ends}: {time.perf_counter() - start:.0f} s", file=sys.stderr)


def remedies(draws: int, counts: tuple[int, ...]) -> None:
    """Print what shortening the ends changes, at the default, if the attacker knows how they are shortened."""
    print("| published | ends | cases | headings | roads |\n|---|---|---|---|---|")
    for name, rules in RULES.items():
        for ends in counts:
            rng = np.random.default_rng([ends, 2])
            hiding = Hiding.of(hide=200)
            errors = [
                each
                for _ in range(draws)
                for each in attacked(hiding, "once", ends, rng, rules, ("headings", "roads"))
            ]
            cells = " | ".join(figures(errors, attack) for attack in ("headings", "roads"))
            print(f"| {name} | {ends} | {len(errors)} | {cells} |", flush=True)


def bars(draws: int) -> bool:
    """Print the circle fit at the default and around true centres, with ten ends, beside their bars."""
    met = True
    for name, least, most in (("default: uniform a248 R599", 160.0, np.inf), ("true centre 599", 0.0, 15.0)):
        rng = np.random.default_rng(3)
        hiding, how = ROWS[name]
        errors = [
            each["circle"] for _ in range(draws) for each in attacked(hiding, how, 10, rng, Rules(), ("circle",))
        ]
        median = float(np.median(errors))
        met &= least <= median <= most
        print(f"{name}, 10 ends, {len(errors)} cases: median circle fit {median:.0f} m")
    return met


def make_rides(folder: Path, count: int, points: int) -> list[Path]:
    """Write GPX files of rides that begin and end at a home, as a device would."""
    rng, found = np.random.default_rng(4), []
    for number in range(count):
        ways = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(scale=0.02, size=points))
        at = np.cumsum(np.column_stack([np.sin(ways), np.cos(ways)]), axis=0) * 5e-5
        begin = np.datetime64("2025-01-01T08:00:00") + np.timedelta64(8, "h") * number
        times = np.datetime_as_string(begin + np.arange(points).astype("timedelta64[s]")).tolist()
        lines = [
            f'<trkpt lat="{47.37 + north:.6f}" lon="{8.54 + east:.6f}"><ele>412.4</ele><time>{time}Z</time></trkpt>'
            for (east, north), time in zip(at.tolist(), times, strict=True)
        ]
        path = folder / f"{number:04d}.gpx"
        head = '<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>\n'
        path.write_text(f'<?xml version="1.0"?>\n{head}' + "\n".join(lines) + "\n</trkseg></trk></gpx>\n")
        found.append(path)
    return found


def copy_plainly(path: Path, target: Path) -> None:
    """Parse a GPX file with the standard library, read its numbers and times, and write them."""
    space = "{http://www.topografix.com/GPX/1/1}"
    with target.open("w", encoding="utf-8") as out:
        out.write("<gpx><trk><trkseg>\n")
        for point in ElementTree.parse(path).getroot().iter(f"{space}trkpt"):
            lat, lon = float(point.get("lat", "")), float(point.get("lon", ""))
            time = datetime.fromisoformat(point.findtext(f"{space}time", "")).isoformat()
            out.write(f'<trkpt lat="{lat!r}" lon="{lon!r}"><time>{time}</time></trkpt>\n')
        out.write("</trkseg></trk></gpx>\n")


def hide(request: ZonesRequest) -> None:
    """Share tracks without the surroundings of a home, as the command does."""
    request.check(overwrite=False)
    tracks = request.read()
    zones, entries = request.zones()
    request.write(request.cut(tracks, zones), entries)


def files(count: int, points: int) -> bool:
    """Print the processor time of hiding a home in files beside that of parsing and writing them, and its bar."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["GEOVEIL_CENTRES_BACKUP"] = str(folder / "copies")
        (folder / "rides").mkdir()
        (folder / "copied").mkdir()
        (folder / "written").mkdir()
        rides = make_rides(folder / "rides", count, points)
        one = ZonesRequest(
            (rides[0],), ("47.37,8.54",), folder / "c.json", Hiding.of(hide=200), Rules(), f"{folder}/one/"
        )
        # Modules are loaded, and the centre is drawn, before anything is timed.
        hide(one)
        everything = replace(one, paths=(folder / "rides",), target=str(folder / "shared"))
        form, spent = GPXTracks(()), dict[str, float]()
        works: dict[str, Callable[[Path], object]] = {
            "parsing and writing, standard library": lambda path: copy_plainly(path, folder / "copied" / path.name),
            "parsing and writing, geoveil's": lambda path: form.write(folder / "written" / path.name, form.read(path)),
            "hiding a home": lambda path: hide(everything),
        }
        for what, work in works.items():
            start = time.process_time()
            for path in rides if "parsing" in what else rides[:1]:
                work(path)
            spent[what] = time.process_time() - start
    least = spent["parsing and writing, standard library"]
    print(f"| {count:,} GPX files of {points:,} points | processor time | ratio |\n|---|---|---|")
    for what, seconds in spent.items():
        print(f"| {what} | {seconds:.1f} s | {seconds / least:.2f} |")
    return spent["hiding a home"] <= 3 * least


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["bars", "table", "remedies", "files"], default="bars")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--rows", default="", help="rows of the table whose names contain this")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--points", type=int, default=3000)
    given = parser.parse_args()
    if given.what == "bars":
        sys.exit(0 if bars(given.draws) else 1)
    if given.what == "files":
        sys.exit(0 if files(given.files, given.points) else 1)
    if given.what == "table":
        table(given.draws, (3, 10, 50), ATTACKS, given.rows)
    else:
        remedies(given.draws, (10, 50))
