"""Two worlds that differ only where a zone covers both: the theorem of zones says that their files are the same.

A world is a list of rides. Outside of the ball of the margin around the home, both worlds have the same points with
the same times and attributes; inside, anything: other points, more or fewer of them, rides that never leave.
`released` releases a world and returns every byte that somebody gets, with the names of files.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st

from geoveil.requests.shared_tracks import CutTracks, TrackFiles, write_files
from geoveil.zones import Hiding, Rules, Zone
from tests import rides
from tests.rides import Fix

__all__ = ["HOME", "ZONE", "World", "commute", "keep_of", "released", "worlds"]

#: Longitude and latitude of the home, and a zone whose centre is 172 m away from it: within the reach of 248 m.
HOME = (8.54, 47.37)
ZONE = Zone("0123456789abcdef", (4737100, 854170), Hiding.of(hide=200))
#: Rides, each with the name of its file.
World: TypeAlias = list[tuple[str, list[Fix]]]

_STEP = 30.0


def keep_of(kind: str) -> list[str]:
    """Return all attributes that can be named for a kind of file."""
    return (
        []
        if kind in ("kml", "lines-gpkg")
        else ["altitude"]
        if kind == "lines-geojson"
        else ["altitude", "heart_rate"]
    )


@st.composite
def _outside(draw: st.DrawFn, number: int) -> list[Fix]:
    """Points at least the margin away from home, some of them within the disc, in leaps and in small steps."""
    count = draw(st.integers(0, 7))
    found = []
    for i in range(count):
        far = draw(st.sampled_from([351.0, 420.0, 560.0, 700.0, 900.0, 3000.0]))
        turn = draw(st.floats(0, 2 * np.pi))
        place = rides.offset(*HOME, far * np.sin(turn), far * np.cos(turn))
        seconds = 86_400.0 * number + _STEP * 10 * draw(st.sampled_from([i, i, i + 40 * (i // 3)]))
        found.append(Fix(*place, seconds, 400.0 + draw(st.integers(0, 3)), 100 + draw(st.integers(0, 3))))
    return sorted(found, key=lambda fix: fix.seconds)


@st.composite
def _inside(draw: st.DrawFn, after: float) -> list[Fix]:
    """Points within the margin around home, after a time and before the next point outside."""
    found = []
    for i in range(draw(st.integers(0, 3))):
        far, turn = draw(st.floats(0, 349)), draw(st.floats(0, 2 * np.pi))
        place = rides.offset(*HOME, far * np.sin(turn), far * np.cos(turn))
        odd = draw(st.sampled_from([380.0, 391.25]))
        found.append(Fix(*place, after + (i + 1) * _STEP / 8 + draw(st.sampled_from([0.0, 1.0])), odd, 60 + i))
    return found


@st.composite
def worlds(draw: st.DrawFn) -> tuple[World, World]:
    """Two worlds with the same points outside; the names of files differ wherever a ride does."""
    pair: tuple[World, World] = ([], [])
    for number in range(draw(st.integers(1, 3))):
        outside = draw(_outside(number))
        for which, world in enumerate(pair):
            ride = draw(_inside(86_400.0 * number - _STEP))
            for fix in outside:
                ride += [fix, *draw(_inside(fix.seconds))]
            if ride:
                world.append((f"{ride[0].seconds:012.1f}-{len(ride)}-{which}", ride))
    return pair


def commute(extra: int = 0) -> World:
    """Return rides from home; with `extra` points more before each leaves the margin.

    One ride has a point every 600 m, so that the last removed one is near home. Names depend on the first point, as
    those of many devices do; with further points, the rides have another order.
    """
    found: World = []
    for number, (bearing, step) in enumerate(((30.0, 60.0), (230.0, 60.0), (270.0, 600.0))):
        ride = rides.straight(HOME, bearing, points=40, step=step)
        inside = [fix for fix in ride if fix.seconds * step / 10 < 350]
        last = inside[-1].seconds
        more = [Fix(*rides.offset(*HOME, 40.0 + 25 * i, -30.0), last + 2 * (i + 1), 391.25, 61) for i in range(extra)]
        early = [fix._replace(seconds=-20.0) for fix in inside[: 1 if extra else 0]]
        whole = [*early, *inside, *more, *ride[len(inside) :]]
        moved = [fix._replace(seconds=fix.seconds + 86_400.0 * number) for fix in whole]
        found.append((f"{5 + number * (1 if extra else -1)}-{len(moved)}", moved))
    return found


def released(
    kind: str, world: World, folder: Path, *, zones: Sequence[Zone] = (ZONE,), same_names: bool = False
) -> dict[str, bytes]:
    """Release a world into a folder, and return the names of the files and their bytes.

    A file that is older than the release has kept the time of its original; that is told as well.
    """
    sources, target = folder / "rides", folder / "shared"
    for path in (sources, target):
        path.mkdir(parents=True)
    # A line has two points at least.
    world = [(name, ride) for name, ride in world if len(ride) > 1 or not kind.startswith("lines")]
    for name, ride in world:
        rides.make(kind, ride, sources, name)
    if not world:
        return {}
    begun = time.time_ns() - 10**9
    files = TrackFiles.read([sources], keep=keep_of(kind))
    write_files(CutTracks.of(files, zones, Rules()).shared, target, same_names=same_names)
    found = {}
    for path in sorted(target.rglob("*")):
        told = b"" if path.stat().st_mtime_ns >= begun else str(path.stat().st_mtime_ns).encode()
        found[path.relative_to(target).as_posix()] = path.read_bytes() + told
    return found
