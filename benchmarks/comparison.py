"""geoveil beside other ways of hiding locations, on the trips of docs/learn/bike-trips.csv: the table of a page.

    .venv/3.11/bin/python -m benchmarks.comparison

The page is docs/decide/comparison.md. OpenDP is run if it is installed (``pip install --group benchmark``). The
data is made up, so anybody can run it; homes are known, so attacks can be judged. Takes half a minute.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import geoveil as gv

Floats = NDArray[np.float64]

TRIPS = Path(__file__).parent.parent / "docs" / "learn" / "bike-trips.csv"
#: The distance that is to be hidden, and how often a guess may be right.
DISTANCE, CHANCE = 200.0, 0.75
HALF, CELL = 8_000.0, 1_000.0
RHO = gv.CGP.hiding(distance=DISTANCE, chance=CHANCE).budget
EPSILON = float(gv.GP.hiding(distance=DISTANCE, chance=CHANCE).epsilon)
Hide = Callable[[Floats, NDArray[np.int64]], Floats]


def trips() -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
    """The points of all trips in metres, their riders, and which of them are at the rider's home."""
    frame = pd.read_csv(TRIPS, parse_dates=["start_time"])
    plane = (
        gv.Locations([(8.54, 47.38)], crs=4326, area=gv.local(lat=47.38, lon=8.54, radius=HALF)).points(rho=1).plane
    )
    assert plane is not None
    starts, ends = (plane.into(frame[[f"{end}_lon", f"{end}_lat"]].to_numpy()) for end in ("start", "end"))
    rider, _ = pd.factorize(frame["rider"])
    morning = frame["start_time"].dt.hour.to_numpy() < 13
    return np.concatenate([starts, ends]), np.concatenate([rider, rider]), np.concatenate([morning, ~morning])


def released(x: Floats, rider: NDArray[np.int64]) -> Floats:
    """Points of geoveil, with the whole budget for each rider."""
    return np.asarray(gv.Locations(x, person=rider).points(rho=RHO).value)


def planar_laplace(x: Floats, rider: NDArray[np.int64]) -> Floats:
    """Noise of geo-indistinguishability on each point by itself, as apps add it to each position."""
    return np.asarray(gv.Locations(x, person=np.arange(len(x))).points(epsilon=EPSILON).value)


def rounded(decimals: int) -> Hide:
    """Coordinates with so many decimals; a degree of longitude is 75 km here."""

    def hide(x: Floats, rider: NDArray[np.int64]) -> Floats:
        step = np.array([75_300.0, 111_200.0]) / 10**decimals
        return np.asarray(np.round(x / step) * step)

    return hide


def k_anonymous(k: int) -> Hide:
    """The middle of the smallest square, of 125 m to 16 km, in which at least k riders were."""

    def hide(x: Floats, rider: NDArray[np.int64]) -> Floats:
        result = np.full_like(x, np.nan)
        for side in 125.0 * 2 ** np.arange(8):
            cell = np.floor((x + HALF) / side)
            frame = pd.DataFrame({"column": cell[:, 0], "row": cell[:, 1], "rider": rider})
            enough = frame.groupby(["column", "row"])["rider"].transform("nunique").to_numpy() >= k
            fits = enough & np.isnan(result[:, 0])
            result[fits] = (cell[fits] + 0.5) * side - HALF
        return result

    return hide


def homes_found(hide: Hide, x: Floats, rider: NDArray[np.int64], home: NDArray[np.bool_]) -> float:
    """The share of riders whose home is within 100 m of the mean of their released points there."""
    means = [pd.DataFrame(points[home]).groupby(rider[home]).mean().to_numpy() for points in (x, hide(x, rider))]
    return float((np.hypot(*(means[0] - means[1]).T) < 100).mean())


def right_guesses(hide: Hide, x: Floats, rider: NDArray[np.int64], home: NDArray[np.bool_]) -> tuple[float, float]:
    """How often a guess between two homes 200 m apart is right, for a typical rider and for the unluckiest.

    The method draws no noise: a guess is right whenever the released rows differ, and else a toss of a coin.
    """
    rng = np.random.default_rng(1)
    different = []
    before = hide(x, rider)
    for who in rng.choice(rider.max() + 1, 100, replace=False):
        angle = rng.uniform(0, 2 * np.pi)
        moved = x.copy()
        mine = (rider == who) & home
        moved[mine] += DISTANCE * np.array([np.cos(angle), np.sin(angle)])
        after = hide(np.clip(moved, -HALF + 1, HALF - 1), rider)
        different.append(not np.array_equal(before[rider == who], after[rider == who]))
    return 0.5 + float(np.mean(different)) / 2, 0.5 + max(different) / 2


def laplace_guesses(rider: NDArray[np.int64], home: NDArray[np.bool_]) -> tuple[float, float]:
    """The same for the best guess if every point has planar Laplace noise of its own."""
    rng = np.random.default_rng(1)
    sizes = np.bincount(rider[home])

    def right(n: int) -> bool:
        radius, angle = rng.gamma(2, 1 / EPSILON, n), rng.uniform(0, 2 * np.pi, n)
        here = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        return bool((np.hypot(*(here - [DISTANCE, 0]).T) - np.hypot(*here.T)).sum() > 0)

    average = np.mean([right(n) for n in rng.choice(sizes[sizes > 0], 4000)])
    return float(average), float(np.mean([right(sizes.max()) for _ in range(4000)]))


def best_guess() -> float:
    """The largest success of a guess between two versions 200 m apart, under the Gaussian noise of geoveil."""
    return NormalDist().cdf(DISTANCE * (2 * float(RHO)) ** 0.5 / 2)


def wrong_cells(counts: Floats, x: Floats, rider: NDArray[np.int64]) -> float:
    """The share of riders in a wrong cell of a map."""
    return float(np.abs(counts - counted(x, rider)).sum() / 2 / (rider.max() + 1))


def counted(x: Floats, rider: NDArray[np.int64]) -> Floats:
    """Riders in each cell, each spread over their points; points outside of the map are moved to its edge."""
    side = round(2 * HALF / CELL)
    column, row = np.clip((np.nan_to_num(x) + HALF) // CELL, 0, side - 1).astype(int).T
    weights = 1 / np.bincount(rider)[rider]
    return np.bincount(row * side + column, weights, minlength=side * side).astype(float).reshape(side, side)


def opendp_histogram(x: Floats, rider: NDArray[np.int64], epsilon: float) -> Floats:
    """OpenDP's Laplace noise on the counts, for replacing all points of one rider; then no negative numbers."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    counts = counted(x, rider)
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    noisy = np.array(dp.m.make_laplace(*space, scale=2 / epsilon)(counts.ravel().tolist())).reshape(counts.shape)
    kept: Floats = np.maximum(noisy, 0)
    return np.asarray(kept * counts.sum() / kept.sum())


def main() -> None:
    """Print the tables."""
    x, rider, home = trips()
    print("| method | typical error of a point | homes found within 100 m | guess right, typical rider | unluckiest |")
    print("|---|---|---|---|---|")
    methods: dict[str, tuple[Hide, tuple[float, float] | None]] = {
        "geoveil, 200 m hidden at 75% for each rider": (released, (best_guess(), best_guess())),
        "planar Laplace, 200 m hidden at 75% for each point": (planar_laplace, laplace_guesses(rider, home)),
        "rounding to 3 decimals (about 100 m)": (rounded(3), None),
        "rounding to 2 decimals (about 1 km)": (rounded(2), None),
        "k-anonymous cells, k = 5": (k_anonymous(5), None),
        "k-anonymous cells, k = 20": (k_anonymous(20), None),
    }
    for name, (hide, known) in methods.items():
        error = np.nanmedian(np.hypot(*(hide(x, rider) - x).T))
        found = np.mean([homes_found(hide, x, rider, home) for _ in range(5 if known else 1)])
        typical, unlucky = known or right_guesses(hide, x, rider, home)
        bound = "at most " if hide is released else ""
        shown = f"{float(f'{error:.2g}'):g} m | {found:.0%} | {bound}{typical:.0%} | {bound}{unlucky:.0%}"
        print(f"| {name} | {shown} |", flush=True)
    print("\n| heat map, cells of 1 km | riders in a wrong cell |\n|---|---|")
    grid = gv.Grid((-HALF, -HALF, HALF, HALF), cell=CELL)
    maps: dict[str, Callable[[], Floats]] = {
        "geoveil's heat map, 200 m hidden at 75%": lambda: gv.Locations(x, person=rider).heatmap(grid, rho=RHO).value,
        "geoveil's heat map, 1 km hidden at 75%": lambda: (
            gv.Locations(x, person=rider).heatmap(grid, rho=gv.CGP.hiding(distance=1000, chance=CHANCE).budget).value
        ),
        "counted from geoveil's released points, 200 m": lambda: counted(released(x, rider), rider),
        "counted from k-anonymous cells, k = 20": lambda: counted(k_anonymous(20)(x, rider), rider),
        "OpenDP's histogram, ε = 1 for each rider": lambda: opendp_histogram(x, rider, 1),
        "OpenDP's histogram, ε = 4 for each rider": lambda: opendp_histogram(x, rider, 4),
    }
    for name, draw in maps.items():
        try:
            wrong = f"{np.mean([wrong_cells(draw(), x, rider) for _ in range(5)]):.0%}"
        except ImportError:
            wrong = "not measured: OpenDP is not installed"
        print(f"| {name} | {wrong} |", flush=True)


if __name__ == "__main__":
    main()
