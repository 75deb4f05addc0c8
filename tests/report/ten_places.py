"""Made-up releases in ten places of the Earth, whose maps a person should recognise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import geopandas
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import geoveil as gv

__all__ = ["PLACES", "Place", "release_at"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """A place: its name, latitude and longitude, the extent of the data in metres, and what is released there."""

    name: str
    lat: float
    lon: float
    reach: float
    kind: str


PLACES = (
    Place("san-francisco", 37.765, -122.435, 3_500, "tracks"),
    Place("beijing", 39.91, 116.39, 9_000, "many"),
    Place("zurich", 47.372, 8.541, 4_000, "heat"),
    Place("arizona", 34.25, -111.32, 14_000, "tracks"),
    Place("oslo", 59.91, 10.74, 5_000, "points"),
    Place("nairobi", -1.285, 36.82, 6_000, "flows"),
    Place("fiji", -17.2, 179.6, 70_000, "points"),
    Place("svalbard", 78.22, 15.63, 25_000, "tracks"),
    Place("singapore", 1.33, 103.83, 10_000, "many"),
    Place("pacific", 8.0, -152.0, 60_000, "ship"),
)


@cache
def release_at(place: Place) -> gv.Release:
    """Return a release of made-up data around a place, always the same."""
    rng = np.random.default_rng([round(1000 * abs(place.lat)), round(1000 * abs(place.lon))])
    area = gv.local(lat=place.lat, lon=place.lon, radius=6 * place.reach)
    return _KINDS[place.kind](place.reach, area, rng)


def _degrees(flat: Floats, area: gv.Area) -> geopandas.GeoSeries:
    return geopandas.GeoSeries.from_xy(*flat.T, crs=area.crs).to_crs(4326)


def _clusters(reach: float, count: int, rng: np.random.Generator) -> Floats:
    centres = rng.normal(scale=0.45 * reach, size=(9, 2))
    return np.asarray(centres[rng.integers(9, size=count)] + rng.normal(scale=0.13 * reach, size=(count, 2)))


def _points(reach: float, area: gv.Area, rng: np.random.Generator) -> gv.Release:
    homes = _degrees(_clusters(reach, 150, rng), area)
    hidden = gv.CGP.hiding(distance=0.02 * reach, chance=0.75)
    return gv.Locations(homes, person=np.arange(150), area=area, rng=rng).points(rho=hidden)


def _many(reach: float, area: gv.Area, rng: np.random.Generator) -> gv.Release:
    visits = _degrees(_clusters(reach, 20_000, rng), area)
    hidden = gv.CGP.hiding(distance=0.02 * reach, chance=0.75)
    return gv.Locations(visits, person=np.arange(20_000), area=area, rng=rng).points(rho=hidden)


def _tracks(reach: float, area: gv.Area, rng: np.random.Generator, persons: int = 3) -> gv.Release:
    times = pd.date_range("2026-05-04T06:00Z", periods=60, freq="1min")
    frames = []
    for i in range(persons):
        turns = np.vstack([np.zeros(2), rng.normal(scale=0.6 * reach, size=(5, 2))]).cumsum(axis=0)
        turns = (turns - turns.mean(axis=0)) * 0.8 * reach / np.abs(turns - turns.mean(axis=0)).max()
        way = np.column_stack([np.interp(np.linspace(0, 5, 60), np.arange(6), axis) for axis in turns.T])
        frames.append(geopandas.GeoDataFrame({"who": f"cab {i + 1}", "time": times}, geometry=_degrees(way, area)))
    hidden = gv.CGP.hiding(distance=0.008 * reach, chance=0.75)
    released = gv.Locations(pd.concat(frames, ignore_index=True), person="who", area=area, rng=rng).points(
        keep=["time"], rho=hidden
    )
    return released.smooth(gv.Motion(spread=0.7 * reach, speed=0.7 * reach / 500), times="time")


def _ship(reach: float, area: gv.Area, rng: np.random.Generator) -> gv.Release:
    return _tracks(reach, area, rng, persons=1)


def _heat(reach: float, area: gv.Area, rng: np.random.Generator) -> gv.Release:
    visits = _degrees(_clusters(reach, 3000, rng), area)
    hidden = gv.CGP.hiding(distance=0.03 * reach, chance=0.75)
    box = (-1.5 * reach, -1.5 * reach, 1.5 * reach, 1.5 * reach)
    grid = gv.Grid(box, cell=reach / 10)
    return gv.Locations(visits, person=np.arange(3000), area=area, outside="clamp", rng=rng).heatmap(
        grid, rho=hidden.rho
    )


def _flows(reach: float, area: gv.Area, rng: np.random.Generator) -> gv.Release:
    origins, destinations = (_degrees(_clusters(reach, 3000, rng), area) for _ in range(2))
    hidden = gv.CGP.hiding(distance=0.03 * reach, chance=0.75)
    grid = gv.Grid((-reach, -reach, reach, reach), cell=reach / 2)
    return gv.Locations(origins, person=np.arange(3000), area=area, outside="clamp", rng=rng).flows(
        grid, trip=gv.Locations(destinations, area=area, outside="clamp"), rho=hidden.rho
    )


_KINDS: dict[str, Callable[[float, gv.Area, np.random.Generator], gv.Release]] = {
    "points": _points,
    "many": _many,
    "tracks": _tracks,
    "ship": _ship,
    "heat": _heat,
    "flows": _flows,
}
