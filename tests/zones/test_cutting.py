"""Tracks are cut by zones and published points alone, and exactly."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from geoveil.mechanisms.discs import RADIUS
from geoveil.noise.reals import Floats
from geoveil.zones import Hiding, Zone, cut, cutting, distances, kept_points, piece_numbers, shortened, travelled

ZONE = Zone("a1", (4737000, 854000), Hiding.of(hide=200))
METRE = math.degrees(1 / RADIUS)


def at(east: Floats | float, north: Floats | float, zone: Zone = ZONE) -> Floats:
    """Return longitudes and latitudes of points about so many metres from the centre of a zone."""
    lon = zone.lon + np.asarray(east, float) * METRE / math.cos(math.radians(zone.lat))
    return np.column_stack(np.broadcast_arrays(lon, zone.lat + np.asarray(north, float) * METRE))


def walk(rng: np.random.Generator, steps: int = 60) -> Floats:
    """Return a walk that passes the zone."""
    ways = rng.normal(size=(steps, 2)) * 60 + rng.normal(size=2) * 40
    return at(*(np.cumsum(ways, axis=0) + rng.normal(size=2) * 700).T)


def test_points_beyond_are_kept() -> None:
    """A point is removed up to the radius, and kept a millimetre beyond it."""
    radius = ZONE.radius
    assert kept_points([ZONE], at(0.0, np.array([0, radius - 0.001, radius + 0.001, 1e6]))).tolist() == [0, 0, 1, 1]
    assert np.allclose(distances(ZONE, at(0.0, np.array([3.0, 500.0]))), [3, 500], atol=1e-6)


def test_edge_is_exact() -> None:
    """Doubles next to each other across an edge fall on the sides that 50 digits say."""
    getcontext().prec = 50
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
    for steps in range(4_700_001, 4_700_021):
        zone = Zone("a1", (steps, 850_000), ZONE.hiding)
        # Due north the distance is the difference of latitudes; 8.5 is a double.
        edge = Decimal(steps) / 100_000 + Decimal(zone.radius) / RADIUS * 180 / pi
        found = [float(edge)]
        for _ in range(10):
            found = [np.nextafter(found[0], 0), *found, np.nextafter(found[-1], 90)]
        degrees = np.column_stack([np.full(len(found), 8.5), found])
        assert kept_points([zone], degrees).tolist() == [Decimal(float(lat)) > edge for lat in found]


def test_decisions_are_local() -> None:
    """Whatever points are beside it, and wherever it is in the array, a point is kept or not in the same way."""
    turns = np.linspace(0, 2 * np.pi, 500)
    edge = at(ZONE.radius * np.sin(turns), ZONE.radius * np.cos(turns))
    whole = kept_points([ZONE], edge)
    assert 0 < whole.sum() < len(whole)
    for start in range(1, 9):
        assert (kept_points([ZONE], edge[start:]) == whole[start:]).all()
    assert (kept_points([ZONE], edge[::-1]) == whole[::-1]).all()


@pytest.mark.parametrize("lat", [-8_999_000, 0, 6_000_000, 8_999_900])
@pytest.mark.parametrize("lon", [17_999_900, -17_999_900, 0])
def test_poles_and_antimeridian(lat: int, lon: int) -> None:
    """A zone there is as round as elsewhere: longitudes that differ by 360 degrees are one."""
    zone = Zone("a1", (lat, lon), Hiding.of(hide=200))
    ring = np.array(zone.outline(72))
    far = ring + (ring - [zone.lon, zone.lat]) * 1e-3 if abs(lat) < 8_000_000 else ring[:0]
    assert np.allclose(distances(zone, ring), zone.radius, atol=1e-3)
    for turn in (-360, 0, 360):
        assert np.allclose(distances(zone, ring + np.array([turn, 0])), zone.radius, atol=1e-3)
        assert kept_points([zone], far + np.array([turn, 0])).all()


@given(st.integers(0, 10_000), st.booleans())
def test_inside_changes_nothing(seed: int, shorten: bool) -> None:
    """Two sets of tracks that differ only in points inside a zone give the same points in the same pieces."""
    rng = np.random.default_rng(seed)
    parts = [walk(rng) for _ in range(3)]
    degrees, tracks = np.concatenate(parts), np.repeat([0, 1, 2], 60)
    seconds = np.cumsum(rng.exponential(100, len(degrees)))
    how: dict[str, Any] = {"trim": 150.0, "together": 2} if shorten else {}
    first = cut([ZONE], degrees, seconds, tracks, **how)
    inside = ~kept_points([ZONE], degrees)
    # Other points inside: some are gone, and the others are elsewhere.
    where, stay = rng.normal(size=(len(degrees), 2)) * 150, ~inside | (rng.random(len(degrees)) < 0.5)
    moved = np.where(inside[:, None], at(*where.T), degrees)
    second = cut([ZONE], moved[stay], seconds[stay], tracks[stay], **how)
    assert (np.flatnonzero(stay)[second.rows] == first.rows).all()
    assert (second.pieces == first.pieces).all()


def check_removed_points_do_not_split() -> None:
    """Points on both sides of a removed one stay in one piece, if their line does not meet the zone."""
    near = at(np.array([-300.0, 0.0, 300.0]), ZONE.radius + np.array([90.0, -1.0, 90.0]))
    found = cutting.cut([ZONE], near, np.array([0.0, 10.0, 20.0]))
    assert found.rows.tolist() == [0, 2]
    assert found.pieces.tolist() == [0, 0]


def test_removed_points_split_nothing() -> None:
    """Only published points and the zone decide where pieces end."""
    check_removed_points_do_not_split()


def test_pieces_end() -> None:
    """A new piece begins where a line meets a zone, after a long time, and with another track."""
    across = at(np.array([-2000.0, -1500, 1500, 2000, 2100, 2200]), 0.0)
    seconds = np.array([0.0, 10, 20, 30, 700, 710])
    assert piece_numbers([ZONE], across, seconds, np.zeros(6, int)).tolist() == [0, 0, 1, 1, 2, 2]
    assert piece_numbers([ZONE], across, None, np.array([0, 0, 0, 1, 1, 1])).tolist() == [0, 0, 1, 2, 2, 2]
    # Tracks may be interleaved.
    assert piece_numbers([], across, None, np.array([0, 1, 0, 1, 0, 1])).tolist() == [0, 1, 0, 1, 0, 1]


def test_no_point_is_made() -> None:
    """Published points are points of the input, in their order: there is none on the edge."""
    degrees = walk(np.random.default_rng(5), 300)
    found = cut([ZONE], degrees)
    assert (np.diff(found.rows) > 0).all()
    assert not np.isclose(distances(ZONE, degrees[found.rows]), ZONE.radius, atol=1e-3).any()


def test_ends_are_shortened() -> None:
    """A length is taken off the ends at the zone, and nothing elsewhere."""
    line = at(np.arange(-3000.0, 3001, 10), 0.0)
    whole = cut([ZONE], line)
    less = cut([ZONE], line, trim=205.0)
    gone = np.setdiff1d(whole.rows, less.rows)
    assert len(gone) == 42
    assert (distances(ZONE, line[gone]) < ZONE.radius + 211).all()
    assert less.pieces.tolist() == [0] * (len(less.rows) // 2) + [1] * (len(less.rows) // 2)


def test_shared_ends_are_shortened() -> None:
    """Only the part that two tracks share is published near the zone."""
    out = np.arange(0.0, 2000, 10)
    ways = [at(out, 0.0 * out), at(np.maximum(out, 1200), np.where(out < 1200, 1200 - out, 0.0))]
    degrees, tracks = np.concatenate(ways), np.repeat([0, 1], len(out))
    found = cut([ZONE], degrees, None, tracks, together=2)
    first = found.rows[found.rows < len(out)]
    assert 1190 <= out[first[0]] <= 1240
    assert len(cut([ZONE], degrees, None, tracks).rows) > len(found.rows) > 100


def test_nothing_left_is_nothing() -> None:
    """Tracks that never leave a zone have no points and no pieces."""
    inside = at(np.arange(5.0), 0.0)
    assert len(cut([ZONE], inside, trim=100.0, together=2).rows) == 0
    assert len(shortened([ZONE], inside[:0], np.zeros(0, int), np.zeros(0, int))) == 0
    assert len(travelled(inside[:0])) == 0


def test_a_length_is_travelled() -> None:
    """The length of a track grows by its steps."""
    assert np.allclose(travelled(at(0.0, np.array([0.0, 100, 300]))), [0, 100, 300], atol=1e-6)
