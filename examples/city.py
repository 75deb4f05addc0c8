"""A made-up city: homes of a survey and one taxi's day, released privately, printed and drawn.

Run it with a path for the picture: ``python examples/city.py demo.png``.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import geopandas
import numpy as np
from numpy.typing import NDArray

import geoveil as gv

CENTRE = np.array([551_000.0, 4_180_000.0])  # metres of UTM zone 10N
STATION = CENTRE + np.array([1500.0, -800.0])


def homes(rng: np.random.Generator, count: int = 400) -> Any:
    """One home for each household, around a few quarters."""
    quarters = CENTRE + rng.normal(scale=2500.0, size=(6, 2))
    places = quarters[rng.integers(6, size=count)] + rng.normal(scale=600.0, size=(count, 2))
    geometry = geopandas.points_from_xy(*places.T)
    return geopandas.GeoDataFrame({"household": np.arange(count)}, geometry=geometry, crs=32610)


def taxi(rng: np.random.Generator, trips: int = 60, points: int = 40) -> NDArray[np.float64]:
    """A day of trips from place to place, a point every half minute."""
    stops = CENTRE + rng.normal(scale=4000.0, size=(trips + 1, 2))
    share = np.linspace(0, 1, points, endpoint=False)[:, None]
    legs = [a + share * (b - a) + rng.normal(scale=40.0, size=(points, 2)) for a, b in pairwise(stops)]
    return np.concatenate(legs)


def main() -> None:
    """Release, print and draw."""
    # The city is made up with a seed, so that everyone sees the same one; the noise is real.
    rng = np.random.default_rng(2026)
    survey, day = homes(rng), taxi(rng)

    hidden = gv.CGP.hiding(distance=200, chance=0.75)
    print(f"An attacker who must choose between two homes 200 m apart shall be right 3 times of 4: {hidden}\n")
    released = gv.points(survey, by="household", rho=hidden)
    print(released, "\n")

    budget = gv.CGP(rho=5e-3)
    for_hull, for_nearest, for_center = budget.split(3)
    hull = gv.hull(day, rho=for_hull)
    nearest = gv.nearest(day, STATION, k=5, rho=for_nearest)
    center = gv.center(day, rho=for_center)
    for release in (hull, nearest, center):
        print(release, "\n")
    print("Points of the taxi's day nearest to the station:", nearest.value)
    print("Spent on the taxi:", hull.guarantee + nearest.guarantee + center.guarantee)

    if len(sys.argv) > 1:
        draw(sys.argv[1], survey, released, day, hull, center)
        print("Picture:", sys.argv[1])


def draw(path: str, survey: Any, released: Any, day: Any, hull: Any, center: Any) -> None:
    """Truth in grey beside what is released in colour; only made-up truth may ever be drawn."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import Circle

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
    survey.plot(ax=left, color="0.65", markersize=5, label="true homes (never leave)")
    released.value.plot(ax=left, color="#0a7", markersize=5, label="released homes")
    place, reach = released.coords[0], released.error(0.05, each=True).iloc[0]
    left.add_patch(Circle(place, reach, fill=False, color="#0a7", label=f"95% radius, {reach:.0f} m"))
    left.set_title("400 homes, 200 m hidden from 3 of 4 guesses")
    right.plot(*day.T, ".", color="0.65", markersize=2, label="true day of a taxi (never leaves)")
    right.plot(*hull.value.exterior.xy, color="#d50", label="released hull")
    right.plot(*center.value, "*", color="#06c", markersize=12, label="released center")
    right.plot(*STATION, "^", color="k", label="station (public)")
    right.set_title("Answers about one trajectory")
    for axes in (left, right):
        axes.set_aspect("equal")
        axes.ticklabel_format(style="plain", useOffset=False)
        axes.tick_params(labelsize=7)
        axes.legend(fontsize=8, loc="lower left")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
