"""Counts in regions: error and stated error beside those of blurred counts alone, on check-ins and made-up cities.

    python -m benchmarks.counts [DRAWS]

Boroughs, of which there are few, get four times as many draws.

Needs ../shared/data/gowalla-new-york, or the folder that GEOVEIL_GOWALLA names, and ../shared/data/cabspotting, or the
folder that GEOVEIL_CABSPOTTING names; without them, made-up cities only.

"Before" are counts with one blur and noise, projected to numbers that are not negative, whose stated error is that of
the noise alone. "Now" is `Locations.counts`. Both have the same guarantee. An error is covered if it is at most the
stated 95% error of its region. Districts are Voronoi cells of 250 points that follow a public rule (a quasi-random
sequence): even ones, and ones that are smaller towards the middle. Boroughs are outlines of a dozen corners each,
drawn by hand from coordinates of shores and borders. Of the taxis, a day of one counts as a person.

The constants of `postprocess/region_totals.py` were chosen on the check-ins, which are therefore no test of them. The
taxis were measured once, after everything was chosen.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

import geoveil as gv
from benchmarks.crowd_maps import _FOLDER, check_ins
from geoveil.answering.crowd import region_lattice
from geoveil.noise import Experiment
from geoveil.postprocess.sharpening import simplex
from geoveil.privacy import CGP
from geoveil.queries import RegionCounts, Regions

Floats = NDArray[np.float64]
Shapes = NDArray[np.object_]

_HALF = 16_000.0
_BUDGETS = (5e-4, 5e-5, 2.2e-6)
#: Corners of the boroughs of New York, in degrees east and north.
_BOROUGHS = {
    "Manhattan": "-74.018 40.703, -74.010 40.700, -73.997 40.708, -73.976 40.710, -73.971 40.735, -73.957 40.759, "
    "-73.942 40.774, -73.929 40.797, -73.934 40.812, -73.934 40.836, -73.911 40.872, -73.927 40.878, -73.946 40.851, "
    "-73.972 40.809, -74.010 40.756, -74.014 40.720",
    "Bronx": "-73.928 40.879, -73.911 40.872, -73.934 40.836, -73.934 40.812, -73.924 40.801, -73.893 40.803, "
    "-73.849 40.806, -73.794 40.805, -73.780 40.882, -73.838 40.893, -73.916 40.916",
    "Brooklyn": "-73.997 40.705, -73.961 40.736, -73.924 40.727, -73.899 40.693, -73.869 40.695, -73.857 40.650, "
    "-73.880 40.585, -73.940 40.574, -74.010 40.575, -74.041 40.615, -74.032 40.650, -74.016 40.680",
    "Queens": "-73.961 40.738, -73.937 40.777, -73.908 40.790, -73.830 40.796, -73.780 40.795, -73.701 40.750, "
    "-73.728 40.650, -73.740 40.595, -73.935 40.545, -73.940 40.562, -73.880 40.585, -73.857 40.650, -73.869 40.695, "
    "-73.899 40.693, -73.924 40.727",
    "Staten Island": "-74.255 40.500, -74.140 40.530, -74.055 40.600, -74.075 40.645, -74.190 40.645, -74.205 40.600, "
    "-74.250 40.550",
}


class Crowd(NamedTuple):
    """Points in metres, the person of each, and regions."""

    x: Floats
    person: NDArray[np.intp]
    shapes: Shapes

    @property
    def truth(self) -> Floats:
        """The true number of persons in each region; each person counts as one, spread over their points."""
        weights = (1 / np.bincount(self.person))[self.person]
        point, region = shapely.STRtree(self.shapes).query(shapely.points(self.x), predicate="within")
        return np.bincount(region, weights[point], minlength=len(self.shapes)).astype(float)


def districts(count: int = 250, *, towards_middle: bool = False, half: float = _HALF) -> Shapes:
    """Return the Voronoi cells of quasi-random points in a square about the origin."""
    plastic = 1.32471795724474602596
    steps = np.arange(1, count + 1)[:, None] / np.array([plastic, plastic**2])
    points = 2 * ((0.5 + steps) % 1) - 1
    if towards_middle:
        points *= np.abs(points).max(axis=1, keepdims=True)
    square = shapely.box(-half, -half, half, half)
    cells = shapely.voronoi_polygons(shapely.multipoints(half * points), extend_to=square)
    return np.array(shapely.intersection(shapely.get_parts(cells), square), dtype=object)


def boroughs() -> Shapes:
    """Return the boroughs of New York in metres of the plane of `check_ins`."""
    plane = gv.Locations(np.array([[-73.97, 40.73]]), crs=4326, area=_AROUND).points(rho=1).plane
    assert plane is not None
    outlines: list[shapely.Polygon] = []
    for corners in _BOROUGHS.values():
        degrees = np.array([pair.split() for pair in corners.split(", ")], dtype=float)
        # Outlines that are drawn by hand overlap a little, and real boroughs do not.
        outlines.append(shapely.Polygon(plane.into(degrees)) - shapely.union_all(outlines))
    return np.array(outlines, dtype=object)


_AROUND = gv.local(lat=40.73, lon=-73.97, radius=60_000)


def made_up(kind: str, persons: int, seed: int) -> tuple[Floats, NDArray[np.intp]]:
    """Return the points of a made-up city, and the person of each.

    - "even": every person has one place anywhere;
    - "centre": places are close to a few centres, as are those of a city with suburbs;
    - "venues": persons share a thousand places, the r-th of which is visited with a probability of about 1/r.
    """
    rng = np.random.default_rng(seed)
    if kind == "even":
        return rng.uniform(-_HALF, _HALF, size=(persons, 2)), np.arange(persons)
    centres = rng.normal(0, _HALF / 3, size=(12, 2))
    spreads = rng.uniform(300, 3000, 12)
    at = rng.choice(12, p=rng.dirichlet(np.ones(12)), size=persons if kind == "centre" else 1000)
    places = centres[at] + spreads[at, None] * rng.normal(size=(len(at), 2))
    if kind == "centre":
        return np.clip(places, 1 - _HALF, _HALF - 1), np.arange(persons)
    person = np.repeat(np.arange(persons), rng.geometric(0.2, persons))
    likely = 1 / np.arange(1, 1001)
    visits = places[rng.choice(1000, p=likely / likely.sum(), size=len(person))]
    return np.clip(visits, 1 - _HALF, _HALF - 1), person


def taxi_days(folder: Path) -> tuple[Floats, NDArray[np.intp]]:
    """Return the points of San Francisco's taxis in metres about the middle of the city, and the taxi-day of each."""
    frames = []
    for index, path in enumerate(sorted(folder.glob("new_*.txt"))):
        rows = np.loadtxt(path)
        frames.append(np.column_stack([rows[:, :2], index * 100_000 + rows[:, 3] // 86_400]))
    lat, lon, day = np.concatenate(frames).T
    x = np.column_stack([(lon + 122.42) * 111_320 * math.cos(math.radians(37.77)), (lat - 37.77) * 110_950])
    inside = (np.abs(x) < _HALF).all(axis=1)
    return x[inside], np.unique(day[inside], return_inverse=True)[1]


def before(crowd: Crowd, rho: float, rng: np.random.Generator) -> tuple[Floats, float]:
    """Return blurred counts with noise alone, and their stated error: the 95% quantile of the noise on a count."""
    sizes = np.bincount(crowd.person)
    persons, count = len(sizes), len(crowd.shapes)
    typical = math.sqrt(float(np.median(shapely.area(crowd.shapes))))
    noise = max(0.005 * persons / count, 0.3)
    west, south, east, north = shapely.total_bounds(crowd.shapes)
    least = max(east - west, north - south) / (1800 * math.sqrt(3))
    blur = max(min(1 / math.sqrt(2 * math.pi * rho) / noise, typical / 4), least)
    lattice, side = region_lattice(crowd.shapes, blur)
    regions = Regions.of(crowd.shapes, lattice)
    total = persons * (1 + 1e-9)
    guarantee = CGP(rho=rho, metric="1")
    query = RegionCounts(
        len(crowd.x), 2, guarantee, lattice=lattice, side=side, regions=regions, weight=1.0, total=total
    )
    sums = query.accumulator()
    sums.add(crowd.x, (1 / sizes)[crowd.person])
    noisy = np.asarray(query.ask_sums(sums, Experiment(rng)).value)
    return simplex(noisy, total, at_most=True), query.error(0.05, each=True)


def compared(crowd: Crowd, rho: float, draws: int) -> tuple[float, ...]:
    """Return root mean square errors and covered shares before and now, and the median stated error now."""
    truth, rows = crowd.truth, []
    for seed in range(draws):
        old, stated = before(crowd, rho, np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        now = gv.Locations(crowd.x, person=crowd.person, rng=rng).counts(list(crowd.shapes), rho=rho)
        assert isinstance(now, gv.CrowdCounts)
        wrong = np.abs(old - truth), np.abs(now.numbers - truth)
        covered = (wrong[0] <= stated).mean(), (wrong[1] <= now.errors).mean()
        squares = [float((each**2).mean()) for each in wrong]
        medians = [float(np.median(each)) for each in (*wrong, now.errors)]
        rows.append([*squares, *covered, *medians])
    first, second, *others = np.mean(rows, axis=0)
    return math.sqrt(first), math.sqrt(second), *others


def row(name: str, crowd: Crowd, rho: float, draws: int) -> str:
    """Return a row of the table."""
    old, new, covered_old, covered_new, median_old, median_new, stated = compared(crowd, rho, draws)
    numbers = f"{old:.2f} | {new:.2f} | {new / old:.2f} | {covered_old:.1%} | {covered_new:.1%}"
    return f"| {name} | {rho:g} | {numbers} | {median_old:.2f} | {median_new:.2f} | {stated:.2f} |"


def main() -> None:
    """Print the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print("| what | ρ | error before | now | ratio | covered before | now | median error before | now | stated |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    even, towards = districts(), districts(towards_middle=True)
    if _FOLDER.exists():
        x, person = check_ins()
        far, far_person = check_ins(half=40_000.0)
        for rho in _BUDGETS:
            print(row("check-ins, 250 even districts", Crowd(x, person, even), rho, draws), flush=True)
            print(row("check-ins, 250 districts, smaller in the middle", Crowd(x, person, towards), rho, draws))
            for count in (60, 600, len(np.unique(far_person))):
                few = np.isin(far_person, np.random.default_rng(1).permutation(far_person.max() + 1)[:count])
                city = Crowd(far[few], np.unique(far_person[few], return_inverse=True)[1], boroughs())
                print(row(f"check-ins of {count:,} persons, 5 boroughs", city, rho, 4 * draws), flush=True)
    taxis = Path(os.environ.get("GEOVEIL_CABSPOTTING", "../shared/data/cabspotting"))
    if taxis.exists():
        points = taxi_days(taxis)
        for rho in _BUDGETS:
            for name, shapes in (("even districts", even), ("districts, smaller in the middle", towards)):
                print(row(f"taxi-days, 250 {name}", Crowd(*points, shapes), rho, draws), flush=True)
    for kind in ("even", "centre", "venues"):
        for persons in (300, 5_000, 50_000):
            city = Crowd(*made_up(kind, persons, 1), towards)
            print(row(f"made up, {kind}, {persons:,} persons, 250 districts", city, 5e-5, draws), flush=True)


if __name__ == "__main__":
    main()
