"""Heat maps of people who checked in around New York: L1 error against the true map, beside `release.density`.

    .venv/3.11/bin/python -m benchmarks.crowd_maps [DRAWS]

Needs ../shared/data/gowalla-new-york, or the folder that GEOVEIL_GOWALLA names. Errors are averages over several draws
of seeded noise, divided by the number of persons.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import geoveil as gv

_FOLDER = Path(os.environ.get("GEOVEIL_GOWALLA", "../shared/data/gowalla-new-york"))
_HALF = 16_000.0
_TARGETS = {5e-5: (0.62, 0.35, 0.27), 2.2e-6: (0.79, 0.47, 0.30)}
_CELLS = (250.0, 500.0, 1000.0)


def check_ins(half: float = _HALF) -> tuple[np.ndarray, np.ndarray]:
    """Return the check-ins within a square in metres, and the person of each."""
    names = ["person", "time", "lat", "lon", "place"]
    frame = pd.read_csv(_FOLDER / "events.csv.gz", sep="\t", names=names)
    plane = gv.local(lat=40.73, lon=-73.97, radius=60_000)
    places = frame[["lon", "lat"]].to_numpy()
    released = gv.Locations(places[:1], crs=4326, area=plane).points(rho=1)
    assert released.plane is not None
    x = released.plane.into(places)
    inside = (np.abs(x) < half).all(axis=1)
    return x[inside], pd.factorize(frame["person"][inside])[0]


def main() -> None:
    """Print the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    x, person = check_ins()
    sizes = np.bincount(person)
    weights, persons = 1 / sizes[person], len(sizes)
    print(f"{len(x):,} check-ins of {persons:,} persons\n")
    print("| ρ | cells | target | `heatmap` | unprocessed | `release.density` of released points |")
    print("|---|---|---|---|---|---|")
    for rho, targets in _TARGETS.items():
        released = gv.Locations(x, person=person, rng=np.random.default_rng(7)).points(rho=rho)
        for cell, target in zip(_CELLS, targets, strict=True):
            grid = gv.Grid((-_HALF, -_HALF, _HALF, _HALF), cell=cell)
            row, column = ((x[:, axis] + _HALF) // cell for axis in (1, 0))
            shape = grid.shape
            truth = np.bincount((row * shape[1] + column).astype(int), weights, minlength=shape[0] * shape[1])
            truth = truth.reshape(shape)
            errors = []
            for seed in range(draws):
                heat = gv.Locations(x, person=person, rng=np.random.default_rng(seed)).heatmap(grid, rho=rho)
                errors.append([np.abs(each - truth).sum() / persons for each in (heat.value, heat.noisy)])
            sharp, noisy = np.mean(errors, axis=0)
            other = released.density(grid, person=person).value
            other = other * (persons / max(other.sum(), 1e-9))
            plain = np.abs(other - truth).sum() / persons
            print(f"| {rho:g} | {cell:g} m | {target} | {sharp:.3f} | {noisy:.3f} | {plain:.3f} |", flush=True)


if __name__ == "__main__":
    main()
