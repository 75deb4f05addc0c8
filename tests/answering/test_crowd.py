"""Questions about a crowd: no unit moves an answer by more than its noise is made for, and nothing is refused late."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import shapely
from numpy.typing import NDArray

import geoveil as gv
from geoveil.budget import Charges
from geoveil.errors import IncompatibleGuarantees, InvalidInput
from geoveil.postprocess.sharpening import Kernel
from geoveil.privacy import stretch_sizes, trip_stretch_sizes
from tests.questions import release_of, session_of

Floats = NDArray[np.float64]

#: A budget with hardly any noise: what is released is the true value but for 1e-4 of a person.
RHO = 10.0
CELL = 1000.0
GRID = gv.Grid((-8000, -8000, 8000, 8000), cell=CELL)
SMALL = gv.Grid((-3000, -3000, 3000, 3000), cell=CELL)
#: A kernel of two cells, on the grid itself.
BLUR = 2 * CELL / math.sqrt(3)
HOUR = 3600.0
DAY = 24 * HOUR


def moved_by(before: gv.CrowdRelease, after: gv.CrowdRelease, length: float) -> float:
    """Return how far the value moves, as a share of what its noise allows for a step of this length."""
    constant = before.deviation * math.sqrt(2 * RHO)
    return float(np.linalg.norm(after.noisy - before.noisy)) / (constant * length)


def steepest(n: int) -> Floats:
    """Return places where a map of two cells changes fastest as they move to the east: on an edge, at mid-height."""
    return np.tile([0.0, CELL / 2], (n, 1))


def heat(x: Floats, **how: Any) -> Any:
    """Return a map of points with hardly any noise."""
    return release_of("heatmap", x, GRID, rng=np.random.default_rng(1), bandwidth=BLUR, rho=RHO, **how)


def flow(x: Floats, **how: Any) -> Any:
    """Return flows with hardly any noise, whose kernel has the side of a cell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("geoveil.answering.crowd.flow_kernel", lambda *_, **__: Kernel(1, 1))
        return release_of("flows", x, SMALL, rng=np.random.default_rng(1), rho=RHO, **how)


#: A step to the east, and its length.
LENGTH = 20.0
STEP = np.array([LENGTH, 0.0])

#: Units, and for each the points that one of its units moves, of twelve points of three persons in six hours.
PERSONS = np.repeat([0, 1, 2], [7, 4, 1])
TIMES = 1.7e9 + np.array([0, 1, 2, 30, 31, 90, 91, 0, 25, 26, 27, 5]) * HOUR
UNITS: dict[str, tuple[dict[str, Any], list[int]]] = {
    "person": ({"person": PERSONS}, [0, 1, 2, 3, 4, 5, 6]),
    "day of a person": ({"person": PERSONS, "protect": "1 day"}, [0, 1, 2]),
    "another day": ({"person": PERSONS, "protect": "1 day"}, [8, 9, 10]),
    "any day": ({"protect": "1 day"}, [3, 4, 8, 9, 10]),
    "point": ({"protect": "point"}, [5]),
    "point of a person": ({"person": PERSONS, "protect": "point"}, [5]),
    "everything": ({}, [*range(12)]),
}


@pytest.mark.parametrize("cap", [None, 1.5, 3.0, 100.0])
@pytest.mark.parametrize("unit", UNITS)
def test_units_move_maps_boundedly(unit: str, cap: float | None) -> None:
    """All points of one unit at the steepest place move the map by its constant, and not by more."""
    asked, moved = UNITS[unit]
    x = steepest(12)
    after = x.copy()
    after[moved] += STEP
    how = {**asked, "cap": cap, "times": TIMES}
    found = moved_by(heat(x, **how), heat(after, **how), LENGTH)
    heavy = cap is None or len(moved) >= cap
    assert (0.99 if heavy else 0.0) < found < 1.001


def test_thinning_keeps_persons_weight() -> None:
    """After thinning, the points that remain share the weight of their person."""
    x, persons = steepest(6), np.array([0, 0, 0, 0, 1, 1])
    times = np.array([0, 10, 20, 7200, 0, 4000.0])
    how = {"person": persons, "times": times, "thin": "1 hour"}
    after = x.copy()
    after[[1, 2]] += 5 * STEP
    assert np.allclose(heat(x, **how).noisy, heat(after, **how).noisy, atol=1e-3)
    after[[0, 3]] += STEP
    assert 0.99 < moved_by(heat(x, **how), heat(after, **how), LENGTH) < 1.001


def test_dropped_rows_weigh_nothing() -> None:
    """The weight of a person is spread over the rows that remain after `where` and outside the area."""
    bay = gv.local(lat=37.77, lon=-122.42, radius=10_000)
    frame = pd.DataFrame({"user": ["a"] * 6 + ["b"] * 2, "kind": [1, 1, 2, 2, 1, 1, 1, 2]})
    frame["lat"], frame["lon"] = 37.77, -122.42
    frame.loc[5, "lat"] = 10.0
    release = gv.Locations(frame, person="user", area=bay, where="kind == 1", outside="drop", missing="drop").heatmap(
        5000, rho=RHO
    )
    assert release.total == pytest.approx(2)
    assert release.n == 4
    assert release.value.sum() == pytest.approx(2, abs=1e-3)


def test_trip_labels_per_person() -> None:
    """Trips are numbered from one for each person: the last point of a trip is never another person's."""
    persons = np.repeat(np.arange(5), 2)
    trips = np.tile([1, 1], 5)
    x = np.tile([0.0, 500.0], (10, 1))
    release = flow(x, trip=trips, person=persons)
    assert release.n == 5
    # Person 4 has the last row of all.
    trips = np.array([1, 1, 2, 2, 3, 3, 1, 2, 3, 3])
    persons = np.array([0, 0, 1, 1, 2, 2, 4, 4, 4, 4])
    after = x.copy()
    after[persons == 4] += STEP
    before, moved = (flow(places, trip=trips, person=persons) for places in (x, after))
    assert before.n == 6
    assert moved_by(before, moved, LENGTH) < 1.001


def test_stretches_with_trip_ends() -> None:
    """A stretch that holds only the ends of trips moves them no more than noise allows.

    Trips that begin on different days and end on the same one are one unit of that day.
    """
    trips = np.repeat(np.arange(5), 2)
    x = np.tile([0.0, 500.0], (10, 1))
    times = 1.7e9 + np.column_stack([np.arange(5) * 3 * DAY, np.full(5, 20 * DAY)]).ravel()
    persons = np.zeros(10, dtype=int)
    after = x.copy()
    after[1::2] += STEP
    for person in (None, persons):
        how = {"trip": trips, "times": times, "person": person, "protect": "1 day"}
        before, moved = (flow(places, **how) for places in (x, after))
        # One end alone moves by 1/√2 of what both do.
        assert 0.69 < moved_by(before, moved, LENGTH) < 0.72


def test_trip_ends_have_times() -> None:
    """The ends of a pair in a row have times of their own.

    The same for tables whose rows have an origin and a destination with a time each.
    """
    frame = pd.DataFrame(
        {
            "pickup_latitude": 37.77,
            "pickup_longitude": -122.42,
            "dropoff_latitude": 37.77,
            "dropoff_longitude": -122.42,
            "pickup_datetime": pd.to_datetime(["2026-01-01", "2026-01-05", "2026-01-09"], utc=True),
            "dropoff_datetime": pd.to_datetime(["2026-01-20T00:00", "2026-01-20T01:00", "2026-01-20T02:00"], utc=True),
        }
    )
    bay = gv.local(lat=37.77, lon=-122.42, radius=10_000)
    asked: dict[str, Any] = {"times": ["pickup_datetime", "dropoff_datetime"], "area": bay, "rho": 1e-4}
    release = release_of("flows", frame, 5000, protect="1 day", **asked)
    assert release.total == pytest.approx(1)


def test_trip_stretch_sizes() -> None:
    """Sizes of trips are those of every stretch. Compare with all stretches of whole times."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        n, length = int(rng.integers(1, 9)), int(rng.integers(1, 8))
        persons, first = rng.integers(0, 3, n), rng.integers(0, 25, n)
        last = first + rng.integers(-6, 7, n)
        expected = np.zeros(n, dtype=int)
        for start in range(-20, 60):
            holds = (first >= start) & (first <= start + length) | (last >= start) & (last <= start + length)
            for person in range(3):
                unit = holds & (persons == person)
                expected[unit] = np.maximum(expected[unit], unit.sum())
        assert (trip_stretch_sizes(first, last, length, persons) == expected).all()
        assert (trip_stretch_sizes(first, first, length, persons) == stretch_sizes(first, length, persons)).all()


def diary() -> pd.DataFrame:
    """Four hundred points of forty persons around San Francisco in five days, a few without a time."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"user": np.repeat([f"u{i}" for i in range(40)], 10)})
    frame["lat"], frame["lon"] = rng.normal([37.77, -122.42], 0.02, size=(400, 2)).T
    start = pd.Timestamp("2026-01-01", tz="UTC")
    frame["time"] = start + pd.to_timedelta(rng.integers(0, 5 * 86_400, 400), unit="s")
    return frame


BAY = gv.local(lat=37.77, lon=-122.42, radius=20_000)


@pytest.mark.parametrize("every", ["hour of day", "day of week", "12 hours"])
def test_missing_times_are_refused(every: Any) -> None:
    """Slices need a time in each row, and a session says so before it charges."""
    frame = diary()
    frame.loc[3, "time"] = pd.NaT
    session = gv.Locations(frame, person="user", area=BAY).session(rho=1e-3)
    with pytest.raises(InvalidInput, match="time"):
        session.heatmap(5000, every=every, rho=1e-4)
    assert session.spent == 0
    release = gv.Locations(frame, person="user", area=BAY, missing="drop").heatmap(5000, every=every, rho=1e-4)
    assert release.n == 399
    assert release.removed.untimed == 1


def test_slices_need_times() -> None:
    """A question about slices is refused by name if there are no times, and nothing is charged."""
    frame = diary().drop(columns="time")
    with pytest.raises(InvalidInput, match="times"):
        gv.Locations(frame, person="user", area=BAY).heatmap(5000, every="hour of day", rho=1e-4)
    session = gv.Locations(frame, person="user", area=BAY).session(rho=1e-3)
    with pytest.raises(InvalidInput, match="times"):
        session.heatmap(5000, every="hour of day", rho=1e-4)
    assert session.spent == 0


def test_unneeded_times_may_miss() -> None:
    """A map of all times takes rows without a time."""
    frame = diary()
    frame.loc[3, "time"] = pd.NaT
    assert gv.Locations(frame, person="user", area=BAY).heatmap(5000, rho=1e-4).n == 400


def ledger_of(folder: Path, **how: Any) -> gv.Ledger:
    """A ledger with accounts of the forty persons of the diary."""
    ledger = gv.Ledger(folder / "budget.db")
    ledger.create(*(f"u{i}" for i in range(40)), **{"rho": 1e-3, **how})
    return ledger


def test_stored_answers_by_key(tmp_path: Path) -> None:
    """Whatever changes the numbers is part of the key: cells, caps, bandwidths, methods, slices and trips."""
    frame = diary()
    frame = frame[frame.time < "2026-01-02"]
    frame["a"], frame["b"] = frame.index % 10 // 5, frame.index % 10 // 7
    session = gv.Locations(frame, person="user", area=BAY).session(ledger=ledger_of(tmp_path), label="diary")
    asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("heatmap", (5000,), {}),
        ("heatmap", (4000,), {}),
        ("heatmap", (5000,), {"cap": 2.0}),
        ("heatmap", (5000,), {"bandwidth": 6000.0}),
        ("heatmap", (5000,), {"method": "both"}),
        ("heatmap", (5000,), {"every": "hour of day"}),
        ("heatmap", (5000,), {"every": "1 hour"}),
        ("counts", ([shapely.box(-122.5, 37.7, -122.4, 37.8)],), {}),
        ("counts", ([shapely.box(-122.5, 37.7, -122.4, 37.9)],), {}),
        ("flows", (10_000,), {"trip": "a"}),
        ("flows", (10_000,), {"trip": "b"}),
    ]
    seen: dict[str, gv.CrowdRelease] = {}
    for question, given, how in asked:
        release = getattr(session, question)(*given, rho=1e-5, **how)
        assert release.id not in seen, (question, how)
        seen[release.id] = release
    spent = session.spent
    for question, given, how in asked:
        again = getattr(session, question)(*given, rho=1e-5, **how)
        assert np.array_equal(again.noisy, seen[again.id].noisy)
        assert np.array_equal(again._numbers, seen[again.id]._numbers)
        assert again.slices == seen[again.id].slices
    assert session.spent == spent == Decimal("1.1e-4")


@pytest.mark.parametrize("protect", [None, "1 day"])
def test_account_limits_protect_persons(tmp_path: Path, protect: str | None) -> None:
    """An account is about one person: what a crowd's answer hides together never spans several."""
    ledger = ledger_of(tmp_path, protect=protect)
    data = gv.Locations(diary(), person="user", protect=protect, area=BAY)
    release = data.session(ledger=ledger).heatmap(5000, rho=1e-5)
    assert release.guarantee.metric.persons
    assert release.guarantee.metric.of_one_person == ledger.account("u7").total.metric
    assert ledger.account("u7").remaining == Decimal("0.00099")


@pytest.mark.parametrize("metric", ["1 day", "2"])
def test_weaker_accounts_pay(tmp_path: Path, metric: str) -> None:
    """An answer that hides all points of a person hides a day or a point too."""
    ledger = ledger_of(tmp_path, rho=gv.CGP(rho=1e-3, metric=metric))
    release = gv.Locations(diary(), person="user", area=BAY).session(ledger=ledger).heatmap(5000, rho=1e-5)
    assert release.guarantee == gv.CGP(rho=1e-5, metric="person")
    assert ledger.account("u7").remaining == Decimal("0.00099")


def test_stronger_accounts_are_refused(tmp_path: Path) -> None:
    """An answer that hides an hour has no known price for accounts of all points of a person; nothing is charged."""
    ledger = ledger_of(tmp_path)
    session = gv.Locations(diary(), person="user", protect="1 hour", area=BAY).session(ledger=ledger)
    with pytest.raises(IncompatibleGuarantees, match="not known"):
        session.heatmap(5000, rho=1e-5)
    assert ledger.account("u7").spent == 0


@pytest.mark.slow
def test_skipped_persons_are_absent(tmp_path: Path) -> None:
    """Persons without enough budget are not charged, and the numbers are those of data without them."""
    frame = diary()
    frame["trip"] = frame.index % 10 // 5
    frame.to_csv(tmp_path / "diary.csv", index=False)
    ledger = ledger_of(tmp_path)
    Charges.of(ledger).charge(["u3", "u17"], gv.CGP(rho=9.9e-4), query="mean")
    rest = frame[~frame.user.isin(["u3", "u17"])]
    how: dict[str, Any] = {"every": "12 hours", "bandwidth": 6000.0, "rho": 5e-5}
    plain = release_of("heatmap", rest, 5000, person="user", area=BAY, rng=np.random.default_rng(3), **how)
    taken: dict[str, Any] = {"person": "user", "area": BAY, "ledger": ledger, "short": "skip"}
    session = session_of(frame, rng=np.random.default_rng(3), **taken)
    asked = session.heatmap(5000, **how)
    read = release_of("heatmap", tmp_path / "diary.csv", 5000, rng=np.random.default_rng(3), **taken, **how)
    for release in (asked, read):
        assert np.array_equal(release.noisy, plain.noisy)
        assert (release.n, release.crowd) == (380, 38)
        assert release.total == pytest.approx(38)
        assert release.removed.persons == ("u3", "u17")
    trips: dict[str, Any] = {"trip": "trip", "rho": 5e-5}
    plain = release_of("flows", rest, 10_000, person="user", area=BAY, rng=np.random.default_rng(4), **trips)
    asked = session_of(frame, rng=np.random.default_rng(4), **taken).flows(10_000, **trips)
    assert np.array_equal(asked.noisy, plain.noisy)
    assert ledger.account("u3").remaining == Decimal("0.00001")
    assert ledger.account("u4").remaining == Decimal("0.00085")
