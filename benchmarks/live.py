"""Live streams of real phones and taxis: error now, smoothed afterwards, radii, fences, and the time of an update.

    python -m benchmarks.live [--scene phones] [--rho 5e-5] [--seeds N] [--days N] [--taxis N] [--taxi-days N]

Needs the folders geolife and cabspotting in ../shared/data, or in the folder that GEOVEIL_DATA names. One ping a
minute, any day protected, and the first day of each taxi. Takes about ten minutes of processor time; --days and
--taxis use less of the data. --scene speed needs no data.

Phones are at their last fix where none was recorded for more than ten minutes, and then travel at 8 m/s to arrive in
time. In the scene trips they send only the minutes that were recorded. Taxis are interpolated, and send only where
fixes are at most ten minutes apart. Fences are discs of 500 m around the two places where a phone is most.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import geoveil as gv
from geoveil.geo.tangent import Tangent
from geoveil.movement.habits import PERSON, VEHICLE
from geoveil.movement.smoother import smooth
from geoveil.postprocess.motion import TAXI, WALKING
from geoveil.postprocess.smoothing import smooth as smooth_by_motion

DATA = Path(os.environ.get("GEOVEIL_DATA", "../shared/data"))
Floats = NDArray[np.float64]
DAY, MINUTE = 86_400, 60
#: Phones are in Beijing, eight hours ahead.
AHEAD = 8 * 3600
LONGEST_GAP, SPEED = 600, 8.0
#: The person who travels to another city: left out, as the area is one city.
TRAVELLER = "010"


class Trip(NamedTuple):
    """The true places of somebody: times in seconds, longitudes and latitudes, and which minutes were recorded."""

    name: str
    times: Floats
    places: Floats
    recorded: NDArray[np.bool_]


def phones(days: int | None) -> Iterator[Trip]:
    """Yield the days of each person of Geolife, minute by minute."""
    for folder in sorted(DATA.glob("geolife/[0-9]*")):
        if folder.name == TRAVELLER:
            continue
        files = sorted(folder.glob("Trajectory/*.plt"))
        rows = np.concatenate([np.loadtxt(file, delimiter=",", skiprows=6, usecols=(4, 1, 0)) for file in files])
        seconds = np.round((rows[:, 0] - 25_569) * DAY)
        seconds, first = np.unique(seconds, return_index=True)
        places = rows[first, 1:]
        dates = np.unique((seconds + AHEAD) // DAY)[:days]
        times = (dates[:, None] * DAY - AHEAD + np.arange(0.0, DAY, MINUTE)).ravel()
        yield Trip(folder.name, times, *filled(times, seconds, places, stays=True))


def taxis(count: int | None, days: int) -> Iterator[Trip]:
    """Yield the first days of taxis of San Francisco, minute by minute."""
    for file in sorted(DATA.glob("cabspotting/new_*.txt"))[:count]:
        rows = np.loadtxt(file)
        seconds, first = np.unique(rows[:, 3], return_index=True)
        times = np.arange(seconds[0] // MINUTE * MINUTE + MINUTE, min(seconds[-1], seconds[0] + days * DAY), MINUTE)
        after = np.searchsorted(seconds, times, side="left")
        near = seconds[after] - seconds[after - 1] <= LONGEST_GAP
        yield Trip(file.stem, times[near], *filled(times[near], seconds, rows[first][:, [1, 0]], stays=False))


def filled(times: Floats, seconds: Floats, places: Floats, *, stays: bool) -> tuple[Floats, NDArray[np.bool_]]:
    """Return places at these times, and whether a fix is within two minutes."""
    after = np.clip(np.searchsorted(seconds, times), 1, len(seconds) - 1)
    start, end = seconds[after - 1], seconds[after]
    if stays:
        metres = np.array([111_195 * np.cos(np.radians(places[0, 1])), 111_195])
        away = np.linalg.norm((places[after] - places[after - 1]) * metres, axis=1)
        start = np.where(end - start > LONGEST_GAP, np.maximum(end - away / SPEED, start), start)
    share = np.clip((times - start) / np.maximum(end - start, 1e-9), 0, 1)[:, None]
    nearest = np.minimum(np.abs(times - seconds[after]), np.abs(times - seconds[after - 1]))
    return places[after - 1] * (1 - share) + places[after] * share, nearest <= 120


class Watch(NamedTuple):
    """What fences told: the share of time in the wrong state, delays in minutes, and false events a day and fence."""

    wrong: float
    delay: float
    missed: float
    false: float
    events: int


def frequented(trip: Trip) -> list[tuple[float, float]]:
    """Return the two cells of half a kilometre where somebody is most, as latitudes and longitudes, 2 km apart."""
    size = np.array([500 / (111_195 * np.cos(np.radians(trip.places[0, 1]))), 500 / 111_195])
    cells, counts = np.unique(np.round(trip.places / size), axis=0, return_counts=True)
    cells = cells[np.argsort(-counts)]
    other = next((cell for cell in cells if np.hypot(*(cell - cells[0])) >= 4), None)
    return [tuple((cell * size)[::-1].tolist()) for cell in (cells[0], other) if cell is not None]


def watched(inside: list[NDArray[np.bool_]], told: list[NDArray[np.float64]]) -> Watch:
    """Compare what fences said (1, 0, or not a number) with the truth, minute by minute."""
    delays: list[float] = []
    missed = false = minutes = 0
    wrong = 0.0
    for true, said in zip(inside, told, strict=True):
        known = ~np.isnan(said)
        wrong += float((said[known] != true[known]).sum())
        minutes += len(true)
        changes = np.flatnonzero(np.diff(true)) + 1
        for begin, end in itertools.pairwise([*changes.tolist(), len(true)]):
            right = np.flatnonzero(said[begin:end] == true[begin])
            missed += not len(right)
            delays += right[:1].tolist()
        turned = np.flatnonzero(known[1:] & known[:-1] & (np.diff(said) != 0)) + 1
        false += int((said[turned] != true[turned]).sum())
    count = len(delays) + missed
    return Watch(
        wrong / max(minutes, 1),
        float(np.median(delays)) if delays else 0.0,
        missed / max(count, 1),
        false / max(minutes, 1) * 1440,
        count,
    )


class Run(NamedTuple):
    """What a stream showed of trips: errors in metres, whether within the stated radius, and what fences told."""

    now: Floats
    shown: Floats
    smoothed: Floats
    by_motion: Floats
    within: NDArray[np.bool_]
    shown_within: NDArray[np.bool_]
    recorded: NDArray[np.bool_]
    new: int
    fences: Watch


def outside(tangent: Tangent, area: gv.Area, lat: float, lon: float) -> bool:
    """Tell whether a place is outside of an area."""
    return bool(np.hypot(*tangent.forward(np.array([[lon, lat]]), area.radius).values[0]) > area.radius)


def run(trips: list[Trip], area: gv.Area, rho: float, motion: Any, seeds: int) -> Run:
    """Send all trips through streams."""
    tangent = area.tangent
    assert tangent is not None
    new = 0
    inside: list[NDArray[np.bool_]] = []
    told: list[Floats] = []
    parts: list[list[Floats]] = [[] for _ in range(7)]
    habits, prior = (PERSON, WALKING) if motion == "person" else (VEHICLE, TAXI)
    for seed, (number, trip) in itertools.product(range(seeds), enumerate(trips)):
        stream = gv.Stream(
            rho=rho, protect="1 day", area=area, motion=motion, rng=np.random.default_rng([seed, number])
        )
        # A stream watches places in its area alone.
        places = [(lat, lon) for lat, lon in frequented(trip) if not outside(tangent, area, lat, lon)]
        discs = [gv.local(lat=lat, lon=lon, radius=500) for lat, lon in places]
        fences = [stream.fence(disc) for disc in discs]
        shown, now = np.empty((len(trip.times), 3)), np.empty((len(trip.times), 3))
        said = np.empty((len(fences), len(trip.times)))
        for i, (at, (lon, lat)) in enumerate(zip(trip.times.tolist(), trip.places.tolist(), strict=True)):
            seen = stream.update(at, lat=lat, lon=lon)
            new += seen.new
            best = stream.now()
            shown[i], now[i] = (seen.lon, seen.lat, seen.radius_95), (best.lon, best.lat, best.radius_95)
            said[:, i] = [np.nan if fence.inside is None else fence.inside for fence in fences]
        told += [*said]
        for disc in discs:
            assert disc.tangent is not None
            inside.append(np.hypot(*disc.tangent.forward(trip.places, 40_000.0).values.T) <= 500)
        true = tangent.forward(trip.places, area.radius).values
        answers = stream._store.answers(-(2**62), 2**62)
        released, scales = np.array([[each.x, each.y] for each in answers]), np.array([each.scale for each in answers])
        # A ping for which nothing was left was not answered.
        at = np.searchsorted(trip.times, [each.time / 1e6 for each in answers])
        found = smooth(released, trip.times[at], scales, habits).mean
        usual = smooth_by_motion(released, trip.times[at], scales, prior)
        errors = [
            np.linalg.norm(tangent.forward(np.ascontiguousarray(each[:, :2]), area.radius).values - true, axis=1)
            for each in (now, shown)
        ]
        measured = [*errors, *(np.linalg.norm(each - true[at], axis=1) for each in (found, usual))]
        measured += [errors[0] <= now[:, 2], errors[1] <= shown[:, 2], trip.recorded]
        for part, each in zip(parts, measured, strict=True):
            part.append(each)
    columns = dict(zip(Run._fields, map(np.concatenate, parts), strict=False))
    return Run(**columns, new=new, fences=watched(inside, told))  # type: ignore[arg-type]


def recorded(trip: Trip) -> Trip:
    """Return the minutes of a trip that were recorded."""
    kept = trip.recorded
    return Trip(trip.name, trip.times[kept], trip.places[kept], kept[kept])


def speed(pings: int = 20_000, block: int = 2_000) -> None:
    """Print the processor time of an update in memory, at the beginning of a stream and at its end."""
    stream = gv.Stream(rho=5e-5, protect="1 day", area=gv.local(lat=37.77, lon=-122.42, radius=40_000))
    spent = []
    for start in range(0, pings, block):
        began = time.process_time()
        for i in range(start, start + block):
            # Rests and trips in turn; the times of phones are not whole minutes. All are answered.
            away = 1e-4 * (i % 600) * (i // 600 % 2)
            stream.update(1_777_881_600 + 90 * i + i * 7 % 20, lat=37.7793 + away, lon=-122.4193)
        spent.append((time.process_time() - began) / block * 1e6)
    print(
        f"An update takes {np.median(spent):.0f} µs of processor time in the median of blocks of {block} pings, the "
        f"fastest {min(spent):.0f} µs; the first {spent[0]:.0f} µs, the last of {pings:,} pings {spent[-1]:.0f} µs.\n"
    )


def both(errors: Floats) -> tuple[float, float]:
    """Return the median and the root mean square."""
    return float(np.median(errors)), float(np.sqrt(np.mean(np.square(errors))))


def row(name: str, errors: Floats, rho: float, bar: str = "") -> None:
    """Print a median and a root mean square, and their ratios to those of noise on every ping of the day."""
    median, rms = both(errors)
    deviation = ((DAY / MINUTE + 1) / (2 * rho)) ** 0.5
    ratios = median / (deviation * (2 * np.log(2)) ** 0.5), rms / (deviation * 2**0.5)
    print(f"| {name} | {median:.0f} / {rms:.0f} | {ratios[0]:.3f} / {ratios[1]:.3f} | {bar} |", flush=True)


BARS = {
    (5e-5, "now"): "0.065 / 0.14", (5e-4, "now"): "0.065 / 0.19",
    (5e-5, "recorded"): "0.17 / 0.28", (5e-4, "recorded"): "0.29 / 0.43",
    (5e-5, "smoothed"): "195 / 410 m", (5e-4, "smoothed"): "63 / 195 m",
    (5e-5, "trips"): "", (5e-4, "trips"): "",
    (5e-5, "taxis"): "0.36 / 0.42", (5e-4, "taxis"): "0.53 / 0.58",
}  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int)
    parser.add_argument("--taxis", type=int)
    parser.add_argument("--taxi-days", type=int, default=1)
    parser.add_argument("--scene", choices=("phones", "trips", "taxis", "speed"))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rho", type=float, nargs="+", default=(5e-5, 5e-4))
    given = parser.parse_args()
    if given.scene in (None, "speed"):
        speed()
    beijing = gv.local(lat=39.95, lon=116.33, radius=150_000)
    scenes = {
        "phones": (list(phones(given.days)), beijing, "person"),
        "trips": ([recorded(trip) for trip in phones(given.days)], beijing, "person"),
        "taxis": (
            list(taxis(given.taxis, given.taxi_days)),
            gv.local(lat=37.77, lon=-122.42, radius=40_000),
            "vehicle",
        ),
    }
    print("| | median / rms, m | over noise on every ping | bar, at most |\n|---|---|---|---|")
    notes = []
    for name, (trips, area, motion) in scenes.items():
        if not trips or given.scene not in (None, name):
            continue
        for rho in given.rho:
            found = run(trips, area, rho, motion, given.seeds)
            label = f"{name}, {rho:g}"
            if name == "phones":
                row(f"{label}: now, all minutes", found.now, rho, BARS[rho, "now"])
                row(f"{label}: now, recorded minutes", found.now[found.recorded], rho, BARS[rho, "recorded"])
            else:
                row(f"{label}: now", found.now, rho, BARS[rho, name])
            row(f"{label}: published place", found.shown, rho)
            row(
                f"{label}: smoothed by habits",
                found.smoothed,
                rho,
                BARS.get((rho, "smoothed"), "") * (name == "phones"),
            )
            row(f"{label}: smoothed by motion", found.by_motion, rho)
            notes.append(
                f"{label}: within the 95% radius {found.within.mean():.3f} of the time (published "
                f"{found.shown_within.mean():.3f}), {found.new / len(found.now) * 1440:.1f} new places a day, "
                f"{len(found.now):,} pings"
            )
            watch = found.fences
            notes.append(
                f"{label}: fences of 500 m are in the wrong state {watch.wrong:.3f} of the time; of {watch.events} "
                f"entries and exits {watch.missed:.0%} are missed, and the others told after {watch.delay:.0f} min in "
                f"the median; {watch.false:.2f} false events a day and fence"
            )
    print("\n" + "\n".join(f"- {note}" for note in notes))


if __name__ == "__main__":
    main()
