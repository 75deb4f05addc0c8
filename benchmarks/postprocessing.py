"""Measure the gain from free processing: smoothing, heat maps and remapping, on real taxi data.

Run from the project's root: ``python -m benchmarks.postprocessing [--taxis 12]``. Tables go to standard output. Errors
are root mean squares over points, and the sum of absolute differences over the cells of a map; each table divides
them by the error without processing, and shows the target.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import geoveil as gv
from tests.cabspotting import Floats, folder, names, rms, seconds, trajectory

CITY = (540_000.0, 4_160_000.0, 565_000.0, 4_190_000.0)


def met(got: float, target: float | None) -> str:
    """Return a number with its target as text."""
    return f"{got:.3f}" if target is None else f"{got:.3f} ({'≤' if got <= target else 'MISSES'} {target:g})"


def trajectories(taxis: list[str], rng: np.random.Generator) -> None:
    """Print the gain from smoothing whole trajectories in the order of their times."""
    print("\n| trajectory, rmse | smoothed / raw | smoothed / mean of released | expected / true |\n|---|---|---|---|")
    targets = {5e-7: (0.06, 1.0), 5e-5: (0.25, 0.6), 5e-3: (0.5, None)}
    for rho, (of_raw, of_mean) in targets.items():
        ratios = []
        for name in taxis:
            true = trajectory(name)
            raw = gv.Locations(true, rng=rng).points(rho=rho)
            smooth = raw.smooth("taxi", times=seconds(name))
            error = rms(smooth.value - true)
            parts = rms(raw.value - true), rms(raw.value.mean(axis=0) - true)
            ratios.append((error / parts[0], error / parts[1], smooth.expected_error() / error))
        a, b, c = np.mean(ratios, axis=0)
        print(f"| ρ = {rho:g} | {met(a, of_raw)} | {met(b, of_mean)} | {c:.2f} |", flush=True)


def maps(fixes: Floats, rng: np.random.Generator) -> None:
    """Print the gain in heat maps of single fixes, each of a different person; the noise is as wide as two cells."""
    print("\n| heat map, L1 error | deconvolved / histogram | seconds |\n|---|---|---|")
    for cell in (250.0, 500.0, 1000.0):
        grid = gv.Grid(CITY, cell=cell)
        for share in (1, 10, 50):
            x = fixes[rng.permutation(len(fixes))[: len(fixes) // share]]
            for noise, budget in (
                ("Gaussian", {"rho": 1 / (2 * (2 * cell) ** 2)}),
                ("Laplace", {"epsilon": 1 / (1.2 * cell)}),
            ):
                truth = grid.count(x)
                raw = gv.Locations(x, person=np.arange(len(x)), rng=rng).points(**budget)  # type: ignore[arg-type]
                start = time.perf_counter()
                found = raw.density(grid)
                took = time.perf_counter() - start
                ratio = np.abs(found.value - truth).sum() / np.abs(grid.count(raw.value) - truth).sum()
                title = f"{cell:g} m cells, {len(x)} points, {noise}"
                print(f"| {title} | {met(ratio, 0.7)} | {took:.1f} |", flush=True)


def places(fixes: Floats, others: Floats, rng: np.random.Generator) -> None:
    """Print the gain from remapping single fixes; the prior is the map of half of the taxis.

    The fixes are drawn from the prior, or are those of the other half. For points drawn from the prior the posterior
    mean is the best possible estimate: with less noise there is less to gain.
    """
    print("\n| 20 000 points, rmse remapped / raw | drawn from the prior | expected / true | fixes of other taxis |")
    print("|---|---|---|---|")
    grid = gv.Grid(CITY, cell=250.0)
    weights = grid.count(others)
    chance = weights.ravel() / weights.sum()
    cells = grid.centers.reshape(-1, 2)[rng.choice(weights.size, p=chance, size=20_000)]
    drawn = cells + rng.uniform(-0.5, 0.5, size=cells.shape) * grid.cell
    west, south, east, north = CITY
    inside = ((fixes >= (west, south)) & (fixes < (east, north))).all(axis=1)
    real = fixes[inside][rng.integers(inside.sum(), size=20_000)]
    for scale in (500.0, 1000.0, 2000.0):
        row = []
        for x in (drawn, real):
            raw = gv.Locations(x, person=np.arange(len(x)), rng=rng).points(rho=1 / (2 * scale**2))
            moved = raw.remap(grid, weights=weights)
            row.append((rms(moved.value - x) / rms(raw.value - x), moved.expected_error() / rms(moved.value - x)))
        (ratio, expected), (other, _) = row
        print(f"| σ = {scale:g} m | {met(ratio, 0.8)} | {expected:.2f} | {other:.3f} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--taxis", type=int, default=12)
    arguments = parser.parse_args()
    if folder() is None:
        sys.exit("This benchmark needs the cabspotting folder; set GEOVEIL_CABSPOTTING.")
    rng = np.random.default_rng(2026)
    everyone = names()
    long = [name for name in everyone if 15_000 <= len(trajectory(name)) <= 30_000]
    # Evenly spaced in alphabetical order, and so not chosen by their results.
    chosen = long[:: max(len(long) // arguments.taxis, 1)][: arguments.taxis]
    print(f"{len(chosen)} taxis of {len(everyone)}; got (≤ target).")
    trajectories(chosen, rng)
    maps(np.concatenate([trajectory(name) for name in everyone]), rng)
    half = [np.concatenate([trajectory(name) for name in everyone[start::2]]) for start in (0, 1)]
    places(half[0], half[1], rng)


if __name__ == "__main__":
    main()
