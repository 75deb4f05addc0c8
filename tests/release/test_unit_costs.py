"""What a release amounts to if something else is hidden together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil.errors import IncompatibleGuarantees
from geoveil.queries import Hull
from tests.questions import release_of, release_of_query

HOUR = 3600.0
TIMES = 1.7e9 + np.array([0, 1, 2, 3, 30, 31, 70, 71, 72, 73, 74, 75, 200]) * HOUR
WALK = np.column_stack([np.arange(len(TIMES)) * 100.0, np.zeros(len(TIMES))])


def spent(release: gv.Release, length: float) -> float:
    """Return the largest sum of 1/(2σ²) over the points of a stretch of time, by trying every stretch."""
    scales = np.full(len(TIMES), release.scale) if release.point_scales is None else release.point_scales
    each = 1 / (2 * scales**2)
    return max(float(each[(start <= TIMES) & (start + length >= TIMES)].sum()) for start in TIMES)


@pytest.mark.parametrize("own", [{}, {"protect": "1 day"}, {"protect": "2 hours"}, {"protect": "point"}])
@pytest.mark.parametrize(
    ("protect", "length"), [("1 day", 24 * HOUR), ("3 hours", 3 * HOUR), ("point", 1.0), (None, 1e9)]
)
def test_point_costs(own: dict[str, Any], protect: str | None, length: float) -> None:
    """The cost for another unit is the largest sum of the budgets of the points in one such unit."""
    release = release_of("points", WALK, times=TIMES, rho=1e-4, **own)
    assert float(release.cost(protect, times=TIMES).budget) == pytest.approx(spent(release, length), rel=1e-6)


def test_summary_costs() -> None:
    """The mean of any day changes by 6/13 of what the mean of all points changes; nearest neighbours by as much."""
    day = gv.Locations(WALK, protect="1 day", times=TIMES).mean(rho=1e-4)
    assert float(day.cost().budget) == pytest.approx(1e-4 * (13 / 6) ** 2, rel=1e-6)
    near = gv.Locations(WALK, protect="1 day", times=TIMES).nearest((0, 0), k=1, rho=1e-4)
    assert float(near.cost().budget) == pytest.approx(1e-4, rel=1e-6)


def test_smaller_units_hold() -> None:
    """What protects all points protects each; what is not known for a larger unit is refused."""
    assert gv.Locations(WALK).center(rho=1e-4).cost("1 hour") == gv.CGP(rho=1e-4, metric="1 hour")
    with pytest.raises(IncompatibleGuarantees, match="is not known"):
        release_of_query(Hull, WALK, gv.CGP(rho=1e-4, metric="1 hour"), times=TIMES).cost("1 day", times=TIMES)
    with pytest.raises(IncompatibleGuarantees, match=r"release\.cost"):
        gv.CGP(rho=1e-4, metric="1 day").under("inf", n=3)


@pytest.mark.parametrize("protect", ["1 day", "point", None])
def test_file_costs_match_memory(protect: str | None, tmp_path: Path) -> None:
    """A file's release costs under another unit what the same release in memory costs."""
    area = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    hours = np.concatenate([np.arange(24), 72 + 2 * np.arange(12)])
    trip = pd.DataFrame({"time": pd.Timestamp("2026-05-01") + pd.to_timedelta(hours, unit="h")})
    trip["lat"], trip["lon"] = 37.77 + hours * 1e-4, -122.42
    trip.to_csv(tmp_path / "trip.csv", index=False)
    memory = gv.Locations(trip, protect=protect, area=area).points(rho=1e-4)
    file = gv.Locations(tmp_path / "trip.csv", protect=protect, area=area).points(to=tmp_path / "out.csv", rho=1e-4)
    for other in (None, "point", "1 day", "1 hour"):
        found, expected = (float(release.cost(other).budget) for release in (file, memory))
        assert found == pytest.approx(expected, rel=1e-6)
