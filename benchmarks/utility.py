"""Compare the errors of the best methods with those of the paper's, at the same guarantee, on real taxi data.

Run from the project's root: ``python -m benchmarks.utility [--repetitions 2]``. Tables go to standard output. The
design is the paper's: Mercator metres, without points that a taxi cannot have reached, 20 000 points drawn with
replacement, query points drawn from locations that taxis visited, and for GP the epsilon of the paper.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import shapely

import geoveil as gv
from tests.cabspotting import Floats, folder

N = 20_000
RADIUS = 6_371_000.0
AUTHORS_HULL = {"k": "authors", "share": 0.92, "distinct": True}


def cleaned(path: Path, fastest: float) -> Floats:
    """Return a trajectory in Mercator metres, without points that need more than `fastest` metres per minute."""
    table = np.array(path.read_text().split(), dtype=float).reshape(-1, 4)
    table = table[np.argsort(table[:, 3], kind="stable")]
    east = RADIUS * np.radians(table[:, 1])
    north = RADIUS * np.log(np.tan(np.pi / 4 + np.radians(table[:, 0]) / 2))
    points = list(zip(east.tolist(), north.tolist(), (table[:, 3] % 86400).tolist(), strict=True))
    kept = [points[0]]
    for point in points[1:]:
        seconds = (point[2] - kept[-1][2]) % 86400
        if seconds and math.dist(point[:2], kept[-1][:2]) <= fastest * seconds / 60:
            kept.append(point)
    return np.array(kept)[:, :2]


def given_to_gp(rho: float) -> float:
    """Return the epsilon that the paper compares with rho: s = 10.4, delta = 1e-10."""
    s, delta = 10.4, 1e-10
    return s / (s - 1) * 2 * math.sqrt(rho * math.log(2 / ((s + 1) * delta)))


def drawn(track: Floats, rng: np.random.Generator) -> Floats:
    """Return 20 000 points drawn with replacement, or all points if there are fewer."""
    return track[rng.integers(len(track), size=N)] if len(track) > N else track


def cell(values: list[float]) -> str:
    """Return mean and quartiles as text."""
    low, high = np.quantile(values, [0.25, 0.75])
    return f"{np.mean(values):.3g} [{low:.3g}, {high:.3g}]"


def jaccard(a: shapely.Geometry, b: shapely.Geometry) -> float:
    """Return the area of the intersection divided by that of the union."""
    common = float(a.intersection(b).area)
    return common / float(a.area + b.area - common)


def hulls(tracks: list[Floats], repetitions: int, rng: np.random.Generator) -> None:
    """Print the Jaccard index with the true hull."""
    print("\n| hull, Jaccard index | paper, CGP | best, CGP | paper, GP | best, GP |\n|---|---|---|---|---|")
    for rho in (5e-8, 9e-7, 5e-5, 2.5e-4, 5e-4, 1e-2, 0.1, 1.0):
        found = defaultdict(list)
        for track in tracks * repetitions:
            x = drawn(track, rng)
            true = shapely.MultiPoint(x).convex_hull
            for notion, budget in (("CGP", {"rho": rho}), ("GP", {"epsilon": given_to_gp(rho)})):
                paper = gv.paper.hull(x, rng=rng, **AUTHORS_HULL, **budget).value  # type: ignore[arg-type]
                best = gv.Locations(x, rng=rng).hull(**budget).value  # type: ignore[arg-type]
                found["paper, " + notion].append(jaccard(paper, true))
                found["best, " + notion].append(jaccard(best, true))
        columns = (cell(found[name]) for name in ("paper, CGP", "best, CGP", "paper, GP", "best, GP"))
        print(f"| ρ = {rho:g} | " + " | ".join(columns) + " |", flush=True)


def neighbours(tracks: list[Floats], places: list[Floats], repetitions: int, rng: np.random.Generator) -> None:
    """Print the excess of the sum of distances of the found neighbours over the true sum, best over paper."""
    print("\n| nearest, excess distance, best / paper | k = 50 | k = 100 | k = 125 |\n|---|---|---|---|")
    for notion in ("CGP", "GP"):
        for rho in (5e-5, 2.5e-4, 5e-4):
            ratios = []
            for k in (50, 100, 125):
                budget: dict[str, Any] = {"rho": rho} if notion == "CGP" else {"epsilon": given_to_gp(rho)}
                round_epsilon = math.sqrt(2 * rho / k) if notion == "CGP" else given_to_gp(rho) / k
                excess: dict[str, list[float]] = {"paper": [], "best": []}
                for track in tracks * repetitions:
                    x = drawn(track, rng)
                    place = places[int(rng.integers(len(places)))]
                    # The centre of a 1 m square that a taxi visited.
                    p = np.floor(place[int(rng.integers(len(place)))]) + 0.5
                    away = np.linalg.norm(x - p, axis=1)
                    least = float(np.sort(away)[:k].sum())
                    found = {
                        "paper": gv.paper.nearest(x, p, k, gamma0=-6 / round_epsilon, rng=rng, **budget),
                        "best": gv.Locations(x, rng=rng).nearest(p, k, **budget),
                    }
                    for method, release in found.items():
                        excess[method].append(float(away[release.value].sum()) - least)
                ratios.append(f"{np.mean(excess['best']) / np.mean(excess['paper']):.3f}")
            print(f"| {notion}, ρ = {rho:g} | " + " | ".join(ratios) + " |", flush=True)


def whole_tuples(tracks: list[Floats], rng: np.random.Generator) -> None:
    """Print the largest error over the tuple under pure GP, best over paper."""
    print("\n| points under GP, largest error | paper, m | best, m | best / paper |\n|---|---|---|---|")
    for rho in (5e-8, 5e-5, 5e-4):
        worst: dict[str, list[float]] = {"paper": [], "best": []}
        for track in tracks:
            x = drawn(track, rng)
            found = {
                "paper": gv.paper.identity(x, epsilon=given_to_gp(rho), rng=rng),
                "best": gv.Locations(x, rng=rng).points(epsilon=given_to_gp(rho)),
            }
            for method, release in found.items():
                worst[method].append(float(np.linalg.norm(release.value - x, axis=1).max()))
        means = {method: float(np.mean(values)) for method, values in worst.items()}
        print(
            f"| ε = {given_to_gp(rho):.3g} | {means['paper']:.3g} | {means['best']:.3g} "
            f"| {means['best'] / means['paper']:.3f} |",
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2)
    arguments = parser.parse_args()
    where = folder()
    if where is None:
        sys.exit("This benchmark needs the cabspotting folder; set GEOVEIL_CABSPOTTING.")
    rng = np.random.default_rng(2026)
    print("Reading and cleaning ...", file=sys.stderr)
    files = sorted(where.glob("new_*.txt"))
    tracks = [track for path in files if 5000 <= len(track := cleaned(path, 3000.0)) <= 30_000]
    places = [cleaned(path, 1500.0) for path in files]
    print(f"{len(tracks)} taxis, {arguments.repetitions} repetitions each; mean [quartiles].")
    whole_tuples(tracks, rng)
    neighbours(tracks, places, arguments.repetitions, rng)
    hulls(tracks, arguments.repetitions, rng)


if __name__ == "__main__":
    main()
