"""Real taxi trajectories, where they are at hand: the cabspotting data of San Francisco, in metres.

The data is looked for beside the project, or where the environment variable GEOVEIL_CABSPOTTING says; it is never
copied into the project.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

__all__ = ["Floats", "folder", "names", "requires_cabspotting", "synthetic", "trajectory"]

Floats = NDArray[np.float64]

_BESIDE = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "cabspotting"


def folder() -> Path | None:
    """Where the trajectories are, or None."""
    path = Path(os.environ.get("GEOVEIL_CABSPOTTING") or _BESIDE).resolve()
    return path if any(path.glob("new_*.txt")) else None


def names() -> list[str]:
    """The taxis, in the order of their names; none where the data is not at hand."""
    place = folder()
    return [] if place is None else sorted(path.stem.removeprefix("new_") for path in place.glob("new_*.txt"))


requires_cabspotting = pytest.mark.skipif(
    folder() is None, reason="the cabspotting data is not here; set GEOVEIL_CABSPOTTING to its folder"
)


def table(name: str) -> Floats:
    """One taxi's file in time order: latitude, longitude, whether it is occupied, time."""
    place = folder()
    if place is None:
        raise FileNotFoundError("The cabspotting data is not here; set GEOVEIL_CABSPOTTING to its folder.")
    # The newest line stands first.
    lines = np.fromfile(place / f"new_{name}.txt", sep=" ").reshape(-1, 4)[::-1]
    return np.asarray(lines[np.argsort(lines[:, 3], kind="stable")])


def seconds(name: str) -> Floats:
    """The times of one taxi's points, in order."""
    return table(name)[:, 3]


def rms(x: Floats) -> float:
    """Root mean square length of the rows."""
    return float(np.sqrt(np.square(x).sum(axis=1).mean()))


@cache
def trajectory(which: str | int) -> Floats:
    """One taxi's points in time order, (n, 2), in metres of UTM zone 10N; by name ("abtyff") or position."""
    from pyproj import Transformer

    latitude, longitude, _, _ = table(which if isinstance(which, str) else names()[which]).T
    to_metres = Transformer.from_crs("EPSG:4326", "EPSG:32610", always_xy=True)
    points = np.column_stack(to_metres.transform(longitude, latitude))
    points.flags.writeable = False
    return points


@cache
def synthetic(n: int) -> Floats:
    """A made-up trajectory of n points over some 30 km, for where there is no real one."""
    rng = np.random.default_rng(20080517)
    # A walk that is drawn back to the middle, as taxis are, and now and then goes far.
    stops = rng.standard_t(3, size=(max(n // 50, 2), 2)) * 4000
    at = np.linspace(0, len(stops) - 1, n)
    points = np.column_stack([np.interp(at, np.arange(len(stops)), column) for column in stops.T])
    points += rng.normal(loc=[550_000, 4_180_000], scale=20, size=points.shape)
    points.flags.writeable = False
    return points
