"""What is hidden together: prices, times, thinning, verification and processing, in memory, sessions and files."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil.answering import requests
from geoveil.answering.intake import take_in
from geoveil.answering.pipeline import ManyPersons, OnePerson
from geoveil.answering.settings import Settings
from geoveil.certificates import schema_problems
from geoveil.errors import BudgetExceeded, GeoveilError, IncompatibleGuarantees, InvalidFile, InvalidParameter
from geoveil.geo import enter
from geoveil.mechanisms import KNorm, Laplace
from geoveil.privacy import CGP, GP, Metric, as_metric, dist_1, dist_2, dist_inf
from geoveil.queries import SUMMARIES, FirstWithin, Nearest, Points, Query, SupportHull
from geoveil.queries.constants import lipschitz, support_squared
from geoveil.queries.lipschitz_query import LipschitzQuery
from geoveil.release import heat_maps
from tests.questions import release_of, session_of

DAY, HOUR = 86_400.0, 3_600.0
BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)
#: Nine points, three of which at most are within any day.
BEGIN = 1.7e9
WALK, WHEN = np.column_stack([np.arange(9) * 100.0, np.arange(9) % 3 * 50.0]), BEGIN + np.arange(9) * 40_000.0


def accounts(tmp_path: Path, *metrics: str) -> gv.Ledger:
    """Return a ledger with an account for each metric, of the same name."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    for metric in metrics:
        ledger.create(metric, rho=CGP(rho=10, metric=metric))
    return ledger


def test_own_constants_by_metric(tmp_path: Path) -> None:
    """A constant under one metric holds under larger ones; what it is under smaller ones is not known."""
    ledger = accounts(tmp_path, "inf", "7 days", "6 hours", "1", "2")

    def charged(account: str) -> float:
        session = gv.Locations(WALK, protect="1 day", times=WHEN).session(rho=1, ledger=ledger, subject=account)
        session.answer(lambda x: x[:, 0].sum() / 3, lipschitz=1, rho=1e-4)
        return float(ledger.account(account).spent)

    for account in ("inf", "7 days", "2"):
        with pytest.raises(IncompatibleGuarantees, match="not known"):
            charged(account)
        assert ledger.account(account).spent == 0
    assert charged("6 hours") == charged("1") == pytest.approx(1e-4)


@pytest.mark.parametrize("account", ["inf", "7 days", "6 hours", "1", "2"])
def test_sessions_protect_stated_units(tmp_path: Path, account: str) -> None:
    """Accounts that protect something else are charged the price of the answer, with or without a limit beside it."""
    ledger = accounts(tmp_path, account)
    data = gv.Locations(WALK, protect="1 day", times=WHEN)
    for session in (data.session(ledger=ledger, subject=account), data.session(rho=1, ledger=ledger, subject=account)):
        before = ledger.account(account).spent
        assert session.points(rho=1e-4).guarantee == gv.CGP(rho=1e-4, metric="1 day")
        # Each point has a third of the budget, and nine of them the whole of it three times.
        charged = {"inf": 3e-4, "7 days": 3e-4, "6 hours": 1e-4 / 3, "1": 1e-4 / 3, "2": 1e-4 / 3}[account]
        assert float(ledger.account(account).spent - before) == pytest.approx(charged, rel=1e-6)


def test_accounts_pay_their_unit(tmp_path: Path) -> None:
    """An account of days pays the budget of an answer about days, and less for one about all points of a person."""
    ledger = accounts(tmp_path, "1 day")
    ledger.create("crowd/a", "crowd/b", rho=1, protect="1 day")
    asked: list[tuple[dict[str, Any], Any, float]] = [
        ({}, CGP(rho=1e-4), 1e-4 / 9),
        ({"protect": "1 day"}, None, 1e-4),
    ]
    for how, guarantee, cost in asked:
        before = ledger.account("1 day").spent
        session = session_of(WALK, times=WHEN, ledger=ledger, subject="1 day", **how)
        assert session.mean(rho=1e-4).guarantee == (guarantee or CGP(rho=1e-4, metric="1 day"))
        assert float(ledger.account("1 day").spent - before) == pytest.approx(cost, rel=1e-6)
    who = np.array(["a", "b", "b"] * 3)
    crowd = gv.Locations(WALK, person=who, protect="1 day", times=WHEN).session(ledger=ledger, subject="crowd")
    assert crowd.mean(rho=1e-4, together=True).guarantee == gv.CGP(rho=1e-4, metric="person, 1 day")
    assert ledger.account("crowd/a").spent == ledger.account("crowd/b").spent == gv.CGP(rho=1e-4).rho


# ------------------------------------------------------------------------------------------------------------- times


def test_wrong_number_keeps_unit() -> None:
    """Milliseconds beside a 0 are not read as seconds, which would make days a thousand times shorter."""
    at = np.arange(9) + 0.5
    wrong = WHEN * 1000
    assert gv.Locations(WALK, protect="1 day", times=wrong).points(rho=1e-4).point_scales == pytest.approx(
        np.sqrt(3 / 2e-4)
    )
    wrong[4] = 0
    with pytest.raises(InvalidParameter, match=r"times = .*since 1970, the same for all; one is 1\.7.*Remove rows"):
        gv.Locations(WALK, protect="1 day", times=wrong).points(rho=1e-4)
    frame = pd.DataFrame({"at": at, "when": wrong, "lat": 37.77, "lon": -122.42})
    with pytest.raises(InvalidParameter, match="since 1970"):
        gv.Locations(frame, protect="1 day", times="when", area=BAY).points(rho=1e-4)


def test_batches_read_dates_alike() -> None:
    """A batch whose dates could begin with the day or the month is read as the others show."""
    from geoveil.geo.seconds import joined_times, part_of_times

    days = [[f"03/0{day}/2026 08:00" for _ in range(3)] for day in (4, 5)] + [["03/25/2026 08:00"]]
    read = joined_times([part_of_times(batch) for batch in days]).microseconds
    assert np.diff(read).tolist() == [0, 0, DAY * 1e6, 0, 0, 20 * DAY * 1e6]
    with pytest.raises(InvalidParameter, match="the day or the month first"):
        joined_times([part_of_times(batch) for batch in days[:2]])
    with pytest.raises(InvalidParameter, match="datetimes and numbers"):
        joined_times([part_of_times(["2026-03-04"]), part_of_times(["17"])])
    parts = [part_of_times([1.7e12]), part_of_times([1.7e12 + 1000])]
    assert np.diff(joined_times(parts).microseconds).tolist() == [10**6]


def test_file_dates_match_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches on one day each, which alone would be read with the day first, are a day apart."""
    from geoveil.geo.formats import excel

    rows = [f"03/0{4 + i // 4}/2026 0{i % 4}:00:00" for i in range(8)] + ["03/25/2026 01:00:00"] * 4
    frame = pd.DataFrame({"when": rows, "lat": 37.77, "lon": -122.42})
    frame.to_excel(tmp_path / "days.xlsx", index=False)
    told: dict[str, Any] = {"rho": 1e-4, "protect": "2 days", "times": "when", "area": BAY}
    scales = release_of("points", frame, **told).point_scales
    assert scales is not None
    monkeypatch.setattr(excel, "_ROWS", 4)
    release_of("points", tmp_path / "days.xlsx", to=tmp_path / "out.csv", **told)
    loaded = gv.load(tmp_path / "out.csv").point_scales
    assert loaded == pytest.approx(scales)
    assert scales == pytest.approx(np.sqrt(np.repeat([8, 8, 4], 4) / 2e-4), rel=1e-4)


# -------------------------------------------------------------------------------------------------------- processing


def busy_and_quiet() -> tuple[Any, Any, Any]:
    """Points of two persons at busy times (20 in a day) and at quiet ones (1), with a place for each."""
    when = BEGIN + np.concatenate([np.arange(20) * 600.0, DAY * (10 + 2 * np.arange(20))])
    times, who = np.tile(when, 2), np.repeat(["ann", "bob"], 40)
    return np.random.default_rng(2).normal([1000.0, 1000.0], 100.0, (80, 2)), times, who


@pytest.mark.parametrize("budget", [{"rho": 1e-4}, {"epsilon": 0.02}], ids=["CGP", "GP"])
def test_maps_use_point_noise(budget: dict[str, Any]) -> None:
    """Heat maps and remapping use the noise of each point.

    Points at quiet times count for more, as they do when the same noise is released by person.
    """
    x, times, who = busy_and_quiet()
    rng = np.random.default_rng(5)
    released = release_of("points", x, person=who, protect="1 day", times=times, rng=rng, **budget)
    scales = released.point_scales
    assert scales is not None
    power = 0.5 if "rho" in budget else 1
    assert scales[:20] == pytest.approx(20**power * scales[20])
    # As if every point had the noise of a busy one.
    alone = replace(released, point_scales=np.full(80, scales[0]))
    grid = gv.Grid((0, 0, 2000, 2000), cell=200)
    assert not np.allclose(released.density(grid).value, alone.density(grid).value)
    assert not np.allclose(released.remap(grid).value, alone.remap(grid).value)
    for by in (None, who):
        noisy = heat_maps._noisy(released, by, "")
        assert noisy.noise == ("gaussian" if "rho" in budget else "laplace")
        assert np.array_equal(noisy.scale, scales)


def test_smoothing_uses_point_noise() -> None:
    """A quiet point, whose noise is small, is moved less than a busy one."""
    x, times, _ = busy_and_quiet()
    released = gv.Locations(x[:40], protect="1 day", times=times[:40], rng=np.random.default_rng(5)).points(rho=1e-4)
    smoothed = released.smooth("taxi", times=times[:40])
    moved = np.linalg.norm(smoothed.value - released.value, axis=1)
    assert moved[:20].mean() > 3 * moved[20:].mean()
    assert smoothed.guarantee == gv.CGP(rho=1e-4, metric="1 day")


# ------------------------------------------------------------------------------------------------- files and ledgers


def trips() -> pd.DataFrame:
    """Three persons with ten points in two hours and ten over days, in the bay."""
    rng = np.random.default_rng(4)
    hours = np.tile(np.concatenate([np.arange(10) / 5, 120 + np.arange(10) * 11]), 3)
    return pd.DataFrame(
        {
            "user": np.repeat(["ann", "bob", "cid"], 20),
            "when": pd.Timestamp("2026-05-01") + pd.to_timedelta(hours * HOUR, unit="s"),
            "lat": 37.77 + rng.normal(size=60) * 0.01,
            "lon": -122.42 + rng.normal(size=60) * 0.01,
        }
    )


UNITS: list[dict[str, Any]] = [
    {"protect": "1 day"},
    {"protect": "1 day", "person": "user"},
    {"protect": "1 day", "person": "user", "method": "both"},
    {"protect": "point", "person": "user"},
    {"person": "user"},
]
#: The same about all persons together, which points are not.
TOGETHER: list[dict[str, Any]] = [{"person": "user", "together": True, **how} for how in ({}, {"protect": "1 day"})]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [{"rho": 1e-3}, {"epsilon": 0.02}], ids=["CGP", "GP"])
@pytest.mark.parametrize(
    ("question", "asked"),
    [
        *(("points", asked) for asked in UNITS),
        *(("mean", asked) for asked in [*UNITS, *TOGETHER]),
        *(("hull", asked) for asked in [*UNITS, *TOGETHER] if "method" not in asked),
    ],
    ids=str,
)
def test_unit_releases_are_verified(
    tmp_path: Path, asked: dict[str, Any], budget: dict[str, Any], question: str
) -> None:
    """Nothing is wrong with a released file; what cannot be recomputed is left open."""
    released = release_of(question, trips(), area=BAY, **asked, **budget)
    path = tmp_path / f"{question}.gpkg"
    released.to_file(path)
    checks = {check.name: check for check in gv.verify(path).checks}
    assert all(check.outcome != "fails" for check in checks.values()), checks
    recomputed = question == "points" and not released.guarantee.metric.persons
    assert (checks["noise"].outcome == "holds") == recomputed


@pytest.mark.parametrize("asked", UNITS, ids=str)
@pytest.mark.parametrize("budget", [{"rho": 1e-3}, {"epsilon": 0.02}], ids=["CGP", "GP"])
def test_loaded_point_noise(tmp_path: Path, asked: dict[str, Any], budget: dict[str, Any]) -> None:
    """A loaded release has the noise of each point. Scales are those of the release."""
    released = release_of("points", trips(), area=BAY, **asked, **budget)
    released.to_file(tmp_path / "points.csv")
    loaded = gv.load(tmp_path / "points.csv")
    if released.point_scales is None:
        assert loaded.point_scales is None
        return
    assert loaded.point_scales == pytest.approx(released.point_scales)


def test_stored_answers_depend_on_times(tmp_path: Path) -> None:
    """Other times need other noise: the stored answer is not returned with a certificate about them."""
    ledger = accounts(tmp_path, "1 day")

    def asked(times: Any, **more: Any) -> gv.Release:
        return (
            gv.Locations(WALK, protect="1 day", times=times)
            .session(ledger=ledger, subject="1 day", label="walk")
            .points(rho=1e-4, **more)
        )

    seldom, often = BEGIN + (WHEN - BEGIN) * 10, BEGIN + (WHEN - BEGIN) / 10
    first = asked(seldom)
    assert np.array_equal(asked(seldom).value, first.value)
    second = asked(often)
    assert not np.array_equal(second.value, first.value)
    assert first.point_scales == pytest.approx(np.sqrt(1 / 2e-4))
    assert second.point_scales == pytest.approx(np.sqrt(9 / 2e-4))
    asked(seldom, key="mine")
    with pytest.raises(InvalidParameter, match="key"):
        asked(often, key="mine")


# ------------------------------------------------------------------------------------------------------------ prices


def units_of(metric: Metric, times: Any) -> list[Any]:
    """Return the units of one person's points by brute force."""
    if metric == dist_inf:
        return [np.arange(len(times))]
    if metric in (dist_1, dist_2):
        return [np.array([i]) for i in range(len(times))]
    assert metric.stretch is not None
    return [np.flatnonzero((times >= t) & (times <= t + metric.stretch / 1e6)) for t in times]


def true_cost(query: Query, scales: Any, metric: Metric, times: Any) -> float:
    """Return what an answer costs one person under a metric, from its noise alone.

    Gaussian noise costs K²/(2σ²), points Σ1/(2σ_i²) over a unit; Laplace noise K/b, points Σ1/b_i. A selection whose
    log-probabilities move apart by at most s/b costs (s/b)²/8 or s/b.
    """
    units, pure = units_of(metric, times), isinstance(query.guarantee, GP)
    largest = max(map(len, units))
    if isinstance(query, Points):
        if isinstance(query.mechanism, KNorm):
            return float(query.guarantee.budget)
        if isinstance(query.mechanism, Laplace):
            return float(np.sqrt(1 if metric == dist_2 else largest)) / query.mechanism.scale
        each = 1 / scales if pure else 1 / (2 * scales**2)
        if metric == dist_2:
            return float(np.sqrt(np.square(each).sum())) if pure else float(each.max())
        return max(float(each[unit].sum()) for unit in units)
    if isinstance(query, Nearest):
        loss = (np.sqrt(2) if metric == dist_2 else 1 if largest == 1 else 2) / query.single.scale
        return query.k * float(loss if pure else loss**2 / 8)
    if isinstance(query, FirstWithin) or (isinstance(query, SupportHull) and pure):
        return float(query.guarantee.budget)
    if isinstance(query, SupportHull):
        square = float(support_squared(query.resolution, query.n, largest, query.dimension))
    else:
        assert isinstance(query, LipschitzQuery)
        square = lipschitz(query.name, n=query.n, d=2, metric=metric, largest=largest) ** 2
    scale = query.mechanism.scale
    return float(np.sqrt(square) / scale if pure else square / (2 * scale**2))


def prepared_questions(x: Any, times: Any, by: Any, guarantee: CGP | GP) -> list[OnePerson | ManyPersons]:
    """Return every question about the points, of one person or by person."""
    data = take_in(enter(x), Settings(person=by, times=times), timed=guarantee.metric.stretch is not None)
    asked = [
        requests.points(data, "best"),
        requests.points(data, "paper"),
        *(requests.summary(data, name, "best") for name in SUMMARIES),
        requests.distance(data, [0.0, 0.0], None, "best"),
        requests.nearest(data, [0.0, 0.0], 1, None),
        requests.first_within(data, [0.0, 0.0], 100.0),
        requests.hull(data, "optimal", 30_000.0),
    ]
    kind: Any = OnePerson if by is None else ManyPersons
    return [kind(data, question, guarantee, None) for question in asked]


def costs(prepared: OnePerson | ManyPersons, metric: Metric, times: Any) -> float:
    """Return what a prepared question costs the person whom it costs most."""
    if isinstance(prepared, OnePerson):
        query = prepared.first
        each = None if query.units is None else query.units.each
        persons = [(query, each, np.arange(query.n))]
    else:
        all_units, rows = prepared.persons.units, prepared.persons.rows()
        persons = [
            (query, None if all_units is None else all_units[own], prepared.people.rows[own])
            for query, own in zip(prepared.persons.each, rows, strict=True)
        ]
    found = []
    for query, each, own in persons:
        scales = query.point_scales(each)
        if scales is None and isinstance(query, Points):
            scales = np.full(query.n, query.mechanism.scale)
        found.append(true_cost(query, scales, metric, times[own]))
    return max(found)


ACCOUNTS = [as_metric(name) for name in ("inf", "1", "2", "6 hours", "1 day", "7 days")]


@pytest.mark.slow
@pytest.mark.parametrize("own", ACCOUNTS, ids=str)
@pytest.mark.parametrize("kind", [CGP, GP])
@pytest.mark.parametrize("persons", [False, True], ids=["one person", "by person"])
def test_no_account_is_undercharged(own: Metric, kind: Any, persons: bool) -> None:
    """Every question is within its own guarantee, and its price under another unit is never below its true cost."""
    guarantee = kind(**{"rho" if kind is CGP else "epsilon": "1e-3", "metric": own})
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 14))
        times = BEGIN + rng.choice([0, 1, 2, 6, 12, 23, 24, 25, 48, 49, 100, 101, 170, 400], n) * HOUR
        by = rng.integers(0, 3, n) if persons else None
        for prepared in prepared_questions(rng.normal(size=(n, 2)) * 1000, times, by, guarantee):
            assert costs(prepared, own, times) <= 1e-3 * (1 + 1e-9)
            for account in ACCOUNTS:
                if account == own:
                    continue
                try:
                    price = prepared.price(account)
                except IncompatibleGuarantees:
                    assert not own.is_at_most(account)
                    continue
                cost = costs(prepared, account, times)
                assert price.metric == account
                assert cost * (1 - 1e-12) <= float(price.budget)
                # Only this one pays more than it must: noise that is split among points, under the sum of squares.
                split = prepared.first.name == "points" and kind is GP and account == dist_2
                assert split or float(price.budget) <= cost * (1 + 1e-6)


@pytest.mark.parametrize("stretch", [None, "1 day"])
@pytest.mark.parametrize("account", ["inf", "1 day", "6 hours", "1", "2", "7 days"])
def test_crowd_charges_cover_units(tmp_path: Path, stretch: str | None, account: str) -> None:
    """Accounts of persons pay the budget where a crowd's unit covers theirs; other prices are refused."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    who = np.array(["a", "b", "b"] * 3)
    ledger.create("a", "b", rho=CGP(rho=1, metric=account))
    session = gv.Locations(WALK, person=who, protect=stretch, times=WHEN).session(rho=1, ledger=ledger)
    covered = stretch is None or account in ("1 day", "6 hours", "1")
    if not covered:
        with pytest.raises(IncompatibleGuarantees, match="not known"):
            session.mean(rho=1e-4, together=True)
        assert ledger.account("a").spent == ledger.account("b").spent == 0
        return
    released = session.mean(rho=1e-4, together=True)
    assert ledger.account("a").spent == ledger.account("b").spent == CGP(rho=1e-4).rho
    # What the noise costs each person under their account's metric: a unit moves the mean by its share of the points.
    for person in "ab":
        largest = max(map(len, units_of(as_metric(account), WHEN[who == person])))
        assert (largest / 9 / released.scale) ** 2 / 2 <= 1e-4 * (1 + 1e-9)


@pytest.mark.parametrize("account", ["inf", "7 days", "1 day", "6 hours", "1"])
def test_file_accounts_pay_units(tmp_path: Path, account: str) -> None:
    """What protects any day of a person protects shorter stretches for less; longer ones have their own price."""
    frame = pd.DataFrame({"who": list("aaab"), "lat": 37.78, "lon": [-122.41, -122.42, -122.43, -122.44]})
    frame["time"] = ["2026-01-01T00:00:13Z", "2026-01-01T12:30:31Z", "2026-01-05T03:07:45Z", "2026-01-01T09:11:02Z"]
    frame.to_csv(tmp_path / "in.csv", index=False)
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("file/a", "file/b", "table/a", "table/b", rho=CGP(rho=1, metric=account))
    told: Any = {"person": "who", "protect": "1 day", "area": BAY, "rho": 1e-4, "ledger": ledger}
    release_of("points", tmp_path / "in.csv", to=tmp_path / "out.csv", subject="file", **told)
    release_of("points", frame, subject="table", **told)
    # The two points of a day have half of the budget each.
    charged = {"inf": 2e-4, "7 days": 2e-4, "1 day": 1e-4, "6 hours": 1e-4, "1": 1e-4}[account]
    for name in ("file/a", "file/b", "table/a", "table/b"):
        assert float(ledger.account(name).spent) == pytest.approx(charged, rel=1e-6)


@pytest.mark.parametrize("crowd", [False, True])
def test_skipped_persons_keep_guarantee(tmp_path: Path, crowd: bool) -> None:
    """An answer without the skipped persons has the constants of those who remain."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    who = np.array(["a", "b", "b"] * 3)
    ledger.create("a", rho=1e-6, protect="1 day")
    ledger.create("b", rho=1, protect="1 day")
    session = session_of(WALK, times=WHEN, person=who, protect="1 day", ledger=ledger, short="skip")
    mean, points = session.mean(rho=1e-4, together=crowd), session.points(rho=1e-4)
    assert ledger.account("a").spent == 0
    assert ledger.account("b").spent == CGP(rho=2e-4).rho
    own = WHEN[who == "b"]
    sizes = np.zeros(len(own))
    for unit in units_of(as_metric("1 day"), own):
        sizes[unit] = np.maximum(sizes[unit], len(unit))
    assert mean.answers[0].mechanisms[0].scale == pytest.approx(sizes.max() / len(own) / np.sqrt(2e-4))
    assert points.n == len(own)
    assert points.point_scales == pytest.approx(np.sqrt(sizes / 2e-4))


def test_session_limit_has_unit(tmp_path: Path) -> None:
    """The session's limit pays the budget asked for, the account its price for its own unit."""
    ledger = accounts(tmp_path, "inf")
    session = gv.Locations(WALK, protect="1 day", times=WHEN).session(rho=2e-4, ledger=ledger, subject="inf")
    session.mean(rho=1e-4)
    assert float(ledger.account("inf").spent) == pytest.approx(9e-4, rel=1e-8)
    assert float(ledger.account("inf").spent) >= 9e-4
    session.mean(rho=1e-4)
    with pytest.raises(BudgetExceeded):
        session.mean(rho=1e-4)


# ------------------------------------------------------------------------------------------------ checks of the noise


def check_noise_of_points() -> None:
    """The noise of points costs no unit more than the budget."""
    times = BEGIN + np.array([0, 1, 2, 3, 30, 31, 60, 61, 62, 63, 64, 200]) * HOUR
    x = np.random.default_rng(1).normal(size=(len(times), 2)) * 1000
    scales = gv.Locations(x, protect="1 day", times=times, rng=np.random.default_rng(1)).points(rho=1e-4).point_scales
    assert scales is not None
    for unit in units_of(as_metric("1 day"), times):
        assert (1 / (2 * scales[unit] ** 2)).sum() <= 1e-4 * (1 + 1e-9)


def check_noise_of_the_mean() -> None:
    """The noise of a mean is that of the largest unit."""
    times = BEGIN + np.array([0, 1, 2, 3, 30, 31, 60, 61, 62, 63, 64, 200]) * HOUR
    x = np.random.default_rng(1).normal(size=(len(times), 2)) * 1000
    for by in (None, np.zeros(len(times))):
        released = gv.Locations(x, person=by, protect="1 day", times=times, rng=np.random.default_rng(1)).mean(
            rho=1e-4
        )
        assert released.answers[0].mechanisms[0].scale >= 5 / 12 / np.sqrt(2e-4) * (1 - 1e-12)


def test_unit_noise_is_sufficient() -> None:
    """The noise of units is sufficient. The checks that planted bugs must fail hold."""
    check_noise_of_points()
    check_noise_of_the_mean()


# ------------------------------------------------------------------------------------------------------------- files


def file_of(frame: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV or Parquet."""
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:All 60 points:geoveil.errors.GeoveilWarning")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("budget", [{"rho": 1e-3}, {"epsilon": 0.05}], ids=["CGP", "GP"])
@pytest.mark.parametrize(
    "asked",
    [
        {"protect": "6 hours"},
        {"protect": "1 day", "person": "user"},
        {"protect": "1 day", "person": "user", "thin": "30 min"},
        {"person": "user", "thin": "1 hour"},
        {"protect": "1 day", "person": "user", "method": "both"},
        {"protect": "1 day", "person": "user", "where": "user != 'bob'"},
        {"protect": "point", "person": "user"},
    ],
    ids=str,
)
def test_file_matches_table(tmp_path: Path, ending: str, budget: dict[str, Any], asked: dict[str, Any]) -> None:
    """Scales, error radii, numbers of rows and the certificate are those of the points in memory."""
    frame = trips().sample(frac=1, random_state=3, ignore_index=True)
    memory = release_of("points", frame, area=BAY, **budget, **asked)
    released = release_of(
        "points",
        file_of(frame, tmp_path / f"in.{ending}"),
        area=BAY,
        confirm=lambda concerns: None,
        to=tmp_path / f"out.{ending}",
        **budget,
        **asked,
    )
    loaded = gv.load(tmp_path / f"out.{ending}")
    assert (loaded.n, loaded.guarantee) == (memory.n, memory.guarantee)
    if memory.point_scales is None:
        assert loaded.point_scales is None
    else:
        assert loaded.point_scales == pytest.approx(memory.point_scales)
    known, of_file = memory.certificate(), released.certificate()
    for name in ("n", "persons", "metric", "rows_removed", "times", "radius_95", "mechanism", "method"):
        assert of_file[name] == known[name], name
    # Rows that are left of a table keep their index.
    assert of_file["words"] == known["words"].replace(", index", "")
    assert not schema_problems(of_file)
    assert not schema_problems(json.loads(json.dumps(known)))
    column = loaded.to_frame()["radius_95"].to_numpy(dtype=float)
    if memory.point_scales is not None:
        # The error of a point is proportional to its scale.
        assert np.allclose(column / column[0], memory.point_scales / memory.point_scales[0], rtol=1e-4)
    assert np.allclose(column, memory.to_frame()["radius_95"].to_numpy(dtype=float))
    assert all(check.outcome != "fails" for check in gv.verify(tmp_path / f"out.{ending}").checks)


def spellings(times: pd.Series) -> dict[str, Any]:
    """The same times as files and tables may have them."""
    epoch = times.astype("datetime64[us]").astype(np.int64)
    return {
        "text": times.dt.strftime("%Y-%m-%d %H:%M:%S"),
        "zoned text": times.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo").map(lambda time: time.isoformat()),
        "month first": times.dt.strftime("%m/%d/%Y %H:%M:%S"),
        "seconds": epoch / 1e6,
        "milliseconds": epoch // 1000,
        "microseconds": epoch,
        "numbers as text": (epoch // 1000).astype(str),
    }


@pytest.mark.slow
@pytest.mark.parametrize("spelling", spellings(trips()["when"]))
def test_time_spellings_agree(tmp_path: Path, spelling: str) -> None:
    """Texts, zones, and numbers since 1970 or from any beginning, in memory and in a file."""
    frame = trips()
    told: dict[str, Any] = {"rho": 1e-3, "area": BAY, "protect": "1 day", "person": "user", "times": "when"}
    expected = release_of("points", frame, **told).point_scales
    assert expected is not None
    # May 20 tells months from days.
    frame["when"] = frame["when"] + pd.Timedelta(days=15)
    frame["when"] = spellings(frame["when"])[spelling]
    assert release_of("points", frame, **told).point_scales == pytest.approx(expected)
    assert release_of("points", frame, **{**told, "times": frame["when"]}).point_scales == pytest.approx(expected)
    release_of("points", file_of(frame, tmp_path / "in.csv"), to=tmp_path / "out.csv", keep=["when"], **told)
    assert gv.load(tmp_path / "out.csv").point_scales == pytest.approx(expected)


@pytest.mark.parametrize(
    "when",
    [
        ["2026-05-01T08:00:00.0000009", "2026-05-02T08:00:00.0000001"],
        ["2026-05-01T08:00:00.0000004", "2026-05-02T07:59:59.9999996"],
        ["2026-05-01T08:00:00.0000005", "2026-05-02T08:00:00.0000005"],
    ],
)
def test_units_have_both_ends(tmp_path: Path, when: list[str]) -> None:
    """Two points a day apart, or a little less, have the noise of a unit of two: in memory, in a file, in the mean."""
    frame = pd.DataFrame({"when": when, "lat": [37.77, 37.78], "lon": -122.42})
    told: dict[str, Any] = {"rho": 1e-3, "area": BAY, "protect": "1 day", "times": "when"}
    two = np.sqrt(2 / 2e-3)
    assert release_of("points", frame, **told).point_scales == pytest.approx([two, two])
    typed = frame.assign(when=pd.to_datetime(frame["when"]))
    assert release_of("points", typed, **told).point_scales == pytest.approx([two, two])
    assert release_of("mean", frame, **told).scale == pytest.approx(np.sqrt(1 / 2e-3))
    for ending in ("csv", "parquet"):
        release_of("points", file_of(frame, tmp_path / f"in.{ending}"), to=tmp_path / f"out.{ending}", **told)
        assert gv.load(tmp_path / f"out.{ending}").point_scales == pytest.approx([two, two])
        assert all(check.outcome != "fails" for check in gv.verify(tmp_path / f"out.{ending}").checks)


HIDDEN: list[dict[str, Any]] = [
    {"rho": CGP.hiding(distance=20, chance=0.75)},
    {"epsilon": GP.hiding(distance=10, chance=0.75)},
]


@pytest.mark.filterwarnings("ignore:All 60 points|Nearly everything:geoveil.errors.GeoveilWarning")
@pytest.mark.parametrize("budget", HIDDEN, ids=["CGP", "GP"])
@pytest.mark.parametrize("protect", ["1 day", "1 hour", "point"])
def test_guarantees_take_any_unit(tmp_path: Path, protect: str, budget: dict[str, Any]) -> None:
    """A guarantee that was made without a metric is for the unit that is asked for, wherever a guarantee is taken."""
    frame = trips()
    told: dict[str, Any] = {"area": BAY, "protect": protect, "times": "when"}
    half: dict[str, Any] = {name: guarantee / 2 for name, guarantee in budget.items()}
    session = session_of(frame, **told, **budget)
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", protect=protect, **budget)
    ledger.lower("ann", **half)
    path = file_of(frame, tmp_path / "in.csv")
    found = [
        release_of("points", frame, **told, **half).guarantee,
        release_of("mean", frame, **told, **half).guarantee,
        release_of("answer", frame, lambda x: x[:, 0].max(), lipschitz=1, **told, **half).guarantee,
        session.center(**half).guarantee,
        session.answer(lambda x: x[:, 0].max(), lipschitz=1, **half).guarantee,
        release_of("points", path, to=tmp_path / "out.csv", **told, **half).guarantee,
        release_of("heatmap", path, 5000, **told, **half).guarantee,
        gv.plan("points", n=60, protect=protect, largest=3, **half).guarantee,
        ledger.account("ann").total,
    ]
    [number] = half.values()
    assert {guarantee.budget for guarantee in found} == {number.budget}
    metrics = {str(guarantee.metric.of_one_person) for guarantee in found}
    assert metrics == {str(as_metric("1" if protect == "point" else protect))}


def test_guarantee_for_another_unit() -> None:
    """A guarantee for another unit. It is refused; made without a metric, as the error says, it is accepted."""
    with pytest.raises(InvalidParameter, match=r"rho = .*'1 hour'.*under dist_\[1 day\].*Give the number alone"):
        gv.Locations(WALK, protect="1 day", times=WHEN).points(rho=CGP(rho=1e-4, metric="1 hour"))
    assert gv.Locations(WALK, protect="1 day", times=WHEN).points(rho=CGP(rho=1e-4)).guarantee == CGP(
        rho=1e-4, metric="1 day"
    )


def test_time_span_is_certified(tmp_path: Path) -> None:
    """A certificate states the first and the last time that units were counted from, in memory and in a file."""
    frame = trips()
    told: dict[str, Any] = {"rho": 1e-3, "area": BAY, "protect": "1 day", "times": "when"}
    release_of("points", file_of(frame, tmp_path / "in.csv"), person="user", to=tmp_path / "out.csv", **told)
    loaded, crowd = gv.load(tmp_path / "out.csv"), release_of("heatmap", frame, 5000, **told)
    for release in (
        release_of("points", frame, person="user", **told),
        release_of("mean", frame, **told),
        loaded,
        crowd,
    ):
        certificate = release.certificate()
        assert certificate["span"] == ["2026-05-01T00:00:00", "2026-05-10T03:00:00"]
        assert "between 2026-05-01 00:00:00 and 2026-05-10 03:00:00." in certificate["words"]
        assert not schema_problems(json.loads(json.dumps(certificate)))
    assert gv.Locations(frame, area=BAY).points(rho=1e-3).certificate()["span"] is None


def clock(count: int, step: float, per_second: float, begin: float = 0.0) -> Any:
    """Return numbers that count time: one every `step` seconds, `begin` seconds after a beginning."""
    return np.rint((begin + np.arange(count) * step) * per_second).astype(np.int64)


#: Numbers that are no seconds since 1970, the name of their column, and the unit that they count.
CLOCKS = {
    "nanoseconds since boot": (clock(600, 1, 1e9, 300), "t", "ns"),
    "plausible nanoseconds since boot": (clock(600, 1, 1e9, 1000), "elapsedRealtimeNanos", "ns"),
    "milliseconds since boot": (clock(600, 60, 1e3, 3e5), "t", "ms"),
    "milliseconds of a run": (clock(600, 60, 1e3), "t", "ms"),
    "seconds of a run": (clock(600, 60, 1), "t", "s"),
    "12 days of nanoseconds since boot": (clock(600, 1, 1e9, 12 * 86_400), "t", "ns"),
    "30 days of nanoseconds since boot": (clock(600, 1, 1e9, 30 * 86_400), "timestamp", "ns"),
    "13 days of milliseconds since boot": (clock(600, 60, 1e3, 13 * 86_400), "time", "ms"),
    "46 days of milliseconds since boot": (clock(600, 60, 1e3, 46 * 86_400), "t", "ms"),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:All 600 points:geoveil.errors.GeoveilWarning")
@pytest.mark.parametrize("case", CLOCKS)
def test_doubtful_numbers_are_refused(tmp_path: Path, case: str) -> None:
    """Numbers that may count another unit are refused for a length of time; all remedies of the errors work."""
    numbers, name, unit = CLOCKS[case]
    frame = pd.DataFrame({name: numbers, "lat": 37.77, "lon": -122.42})
    path = file_of(frame, tmp_path / "in.csv")
    told: dict[str, Any] = {"rho": 1, "area": BAY, "protect": "1 hour"}
    refused = r"must be times beyond doubt .*read as .* since 1970 they are from "
    stated = refused + rf'.*with s, ms, us or ns after the name, such as times="{name} \[.*2026-05-01T08:30:00Z'
    with pytest.raises(InvalidParameter, match=stated):
        release_of("points", frame, times=name, **told)
    with pytest.raises(InvalidParameter, match=stated):
        release_of("points", path, times=name, to=tmp_path / "out.csv", **told)
    assert not (tmp_path / "out.csv").exists()
    with pytest.raises(InvalidParameter, match=refused + ".*to_timedelta"):
        release_of("points", frame, times=numbers, **told)
    spans = pd.to_timedelta(frame[name], unit=unit)
    found = [release_of("points", frame, times=times, **told) for times in (spans, f"{name} [{unit}]")]
    release_of("points", path, times=f"{name} [{unit}]", to=tmp_path / "unit.csv", keep=[name], **told)
    frame[name] = (pd.Timestamp("2026-05-01", tz="UTC") + spans).map(lambda time: time.isoformat())
    release_of("points", file_of(frame, tmp_path / "in.csv"), times=name, to=tmp_path / "out.csv", **told)
    largest = 600 if unit == "ns" else 61
    for release in (*found, gv.load(tmp_path / "unit.csv"), gv.load(tmp_path / "out.csv")):
        assert release.point_scales is not None
        assert release.point_scales.max() == pytest.approx(np.sqrt(largest / 2))
    assert all(check.outcome != "fails" for check in gv.verify(tmp_path / "unit.csv").checks)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("day", ["2016-01-01", "2026-05-01"])
def test_numbers_of_recent_dates(unit: str, day: str) -> None:
    """Numbers since 1970 of the last years are recognised in any unit, whatever the name of their column."""
    count = (pd.Timestamp(day) + pd.to_timedelta(np.arange(90), unit="min") - pd.Timestamp(0)) // pd.Timedelta(1, unit)
    frame = pd.DataFrame({"t": count, "lat": 37.77, "lon": -122.42})
    found = release_of("points", frame, times="t", rho=1, area=BAY, protect="1 hour").point_scales
    assert found is not None
    assert found.max() == pytest.approx(np.sqrt(61 / 2))


@pytest.mark.parametrize("name", ["epoch", "unix_time", "timestamp_s"])
def test_names_tell_the_epoch(name: str) -> None:
    """Older dates count as times if the name of the column says their unit, or that they count since 1970."""
    frame = pd.DataFrame({name: clock(90, 60, 1, 1_211_018_404), "lat": 37.77, "lon": -122.42})
    assert release_of("points", frame, times=name, rho=1, area=BAY, protect="1 hour").n == 90
    with pytest.raises(InvalidParameter, match=r'seconds since 1970 they are from 2008-05-17.*times="t \[s\]"'):
        release_of("points", frame.rename(columns={name: "t"}), times="t", rho=1, area=BAY, protect="1 hour")


def test_units_need_numbers() -> None:
    """A unit is refused where there are dates; a column that is named like a unit keeps its name."""
    frame = trips()
    told: dict[str, Any] = {"rho": 1, "area": BAY, "protect": "1 day", "person": "user"}
    with pytest.raises(InvalidParameter, match=r"times = 'when \[ms\]': must be a column of numbers.*Leave the unit"):
        release_of("points", frame, times="when [ms]", **told)
    assert release_of("points", frame.rename(columns={"when": "when [ms]"}), times="when [ms]", **told).n == 60


@pytest.mark.parametrize(
    "when",
    [
        pd.date_range("2026-05-12", periods=30, freq="D", tz="Europe/Zurich"),
        pd.date_range("2026-01-12", periods=300, freq="D", tz="America/New_York"),
        pd.date_range("2026-05-12 12:00", periods=30, freq="D"),
        pd.date_range("2026-05-12", periods=30, freq="D").union([pd.Timestamp("2026-05-20 08:17:44")]),
    ],
    ids=["local midnights", "local midnights of a year", "noons", "a stray second"],
)
def test_mostly_daily_times(tmp_path: Path, when: pd.DatetimeIndex) -> None:
    """Days are recognised by the bulk of the times, at whatever hour they are written; the remedy works."""
    frame = pd.DataFrame({"when": [time.isoformat() for time in when], "lat": 37.77, "lon": -122.42})
    path = file_of(frame, tmp_path / "in.csv")
    told: dict[str, Any] = {"rho": 1, "area": BAY, "times": "when"}
    with pytest.raises(InvalidParameter, match=r'most of these times are whole days apart.*protect="1 day"'):
        release_of("points", frame, protect="1 hour", **told)
    with pytest.raises(InvalidParameter, match=r'most of these times are whole days apart.*protect="1 day"'):
        release_of("points", path, protect="1 hour", to=tmp_path / "out.csv", **told)
    assert release_of("points", frame, protect="1 day", **told).n == len(when)


def test_times_of_arrow() -> None:
    """Units are counted from the times of Arrow's types in a DataFrame of pandas, as from its own."""
    frame = trips()
    told: dict[str, Any] = {"rho": 1, "area": BAY, "protect": "1 day", "person": "user", "times": "when"}
    found = release_of("points", frame.convert_dtypes(dtype_backend="pyarrow"), **told)
    assert found.point_scales == pytest.approx(release_of("points", frame, **told).point_scales)


def test_few_times_of_a_day() -> None:
    """A handful of fine times counts as such, and two fixes a day on the hour count as whole hours."""
    told: dict[str, Any] = {"rho": 1, "protect": "1 hour"}
    for count in range(1, 6):
        times = pd.Timestamp("2026-05-01 08:30:11") + pd.to_timedelta(np.arange(count) * 4507, unit="s")
        assert release_of("points", WALK[:count], times=times, **told).n == count
    twice = pd.date_range("2026-05-01", periods=8, freq="12h")
    assert release_of("points", WALK[:8], times=twice, **told).n == 8


@pytest.mark.parametrize(
    ("written", "protect", "remedy"),
    [
        ("%Y-%m-%d", "1 hour", "1 day"),
        ("%d/%m/%Y", "36 hours", "2 days"),
        ("%Y-%m-%dT%H:00", "90 min", "2 hours"),
        ("%Y-%m-%d %H:%M", "30 s", "1 minute"),
    ],
)
def test_coarse_times_are_refused(tmp_path: Path, written: str, protect: str, remedy: str) -> None:
    """Dates without a clock are refused under a unit of an hour; the unit that the error names works."""
    when = pd.date_range("2026-05-12 13:13:13", periods=30, freq="7h11min").strftime(written)
    frame = pd.DataFrame({"when": when, "lat": 37.77, "lon": -122.42})
    path = file_of(frame, tmp_path / "in.csv")
    told: dict[str, Any] = {"rho": 1, "area": BAY, "times": "when"}
    with pytest.raises(InvalidParameter, match=f'these times are whole .*apart.*protect="{remedy}"'):
        release_of("points", frame, protect=protect, **told)
    with pytest.raises(InvalidParameter, match=f'these times are whole .*apart.*protect="{remedy}"'):
        release_of("points", path, protect=protect, to=tmp_path / "out.csv", **told)
    assert release_of("points", frame, protect=remedy, **told).n == 30
    assert release_of("points", path, protect=remedy, to=tmp_path / "out.csv", **told).n == 30


@pytest.mark.parametrize(
    "times", [[datetime.time(8, 30), datetime.time(9)], ["08:30", "09:00"], ["2026-05", "2026-06"]]
)
def test_times_without_a_date(times: Any) -> None:
    """Times of day and months are refused; with their date, as the error says, they are read."""
    told: dict[str, Any] = {"rho": 1, "protect": "1 day"}
    with pytest.raises(InvalidParameter, match="Write times with their date, as 2026-05-01T08:30:00Z"):
        release_of("points", WALK[:2], times=times, **told)
    assert release_of("points", WALK[:2], times=["2026-05-01T08:30:00Z", "2026-05-01T09:00:00Z"], **told).n == 2


def test_rows_without_times(tmp_path: Path) -> None:
    """Rows without times are refused or dropped.

    They cannot be in any stretch of time; the number of dropped rows is stated.
    """
    frame = trips()
    frame["when"] = frame["when"].astype(str)
    frame.loc[[3, 7, 50], "when"] = [None, "", " "]
    told: dict[str, Any] = {"rho": 1e-3, "area": BAY, "protect": "1 day", "person": "user", "times": "when"}
    path = file_of(frame, tmp_path / "in.csv")
    with pytest.raises(InvalidParameter, match=r"times = 'when': must be a time in each row: 3 rows .*missing=.drop."):
        release_of("points", frame, **told)
    with pytest.raises(InvalidFile, match=r"in\.csv, row 4.*must be a row with a time.*missing=\"drop\""):
        release_of("points", path, to=tmp_path / "out.csv", **told)
    memory = release_of("points", frame, missing="drop", **told)
    released = release_of("points", path, missing="drop", to=tmp_path / "out.csv", **told)
    assert memory.n == released.n == 57
    for certificate in (memory.certificate(), released.certificate()):
        assert certificate["rows_removed"]["untimed"] == 3
    assert gv.load(tmp_path / "out.csv").point_scales == pytest.approx(memory.point_scales)


def test_trip_ends_have_own_times(tmp_path: Path) -> None:
    """A trip over midnight is in two stretches: its ends are counted at their own times."""
    trip = pd.DataFrame(
        {
            "user": "ann",
            "start_time": pd.to_datetime(["2026-05-01 08:00", "2026-05-03 08:00", "2026-05-09 08:00"]),
            "end_time": pd.to_datetime(["2026-05-01 09:00", "2026-05-05 09:00", "2026-05-09 09:00"]),
            "start_lat": [37.77, 37.78, 37.76],
            "start_lon": -122.42,
            "end_lat": [37.75, 37.74, 37.73],
            "end_lon": -122.41,
        }
    )
    told: dict[str, Any] = {"rho": 1e-3, "area": BAY, "protect": "1 day", "times": ["start_time", "end_time"]}
    memory = release_of("points", trip, **told)
    # In order of rows, the start before the end.
    assert memory.point_scales == pytest.approx(np.sqrt(np.array([2, 2, 1, 1, 2, 2]) / 2e-3), rel=1e-4)
    release_of("points", file_of(trip, tmp_path / "in.csv"), to=tmp_path / "out.csv", **told)
    assert gv.load(tmp_path / "out.csv").point_scales == pytest.approx(memory.point_scales)
    radius = gv.load(tmp_path / "out.csv").to_frame()["radius_95"].to_numpy(dtype=float)
    assert radius[0] == pytest.approx(radius[1] * np.sqrt(2), rel=1e-4)
    for wrong in ("start_time", ["start_time"], ["start_time", "nowhere"]):
        with pytest.raises(InvalidParameter, match=r"times = .*2 columns"):
            release_of("points", trip, **{**told, "times": wrong})


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"protect": "1 day"}, r"times = None: must be a time for each point. Give times="),
    ({"protect": "1 month", "times": WHEN}, r"protect = '1 month'"),
    ({"protect": "1 day", "metric": "2", "times": WHEN}, r"rho = .*must be a budget under dist_\[1 day\]"),
    ({"protect": "1 day", "times": WHEN[:3]}, r"times = "),
    ({"protect": "1 day", "times": [*WHEN[:8], np.nan]}, r"times = .*a time in each row"),
    ({"protect": "1 day", "times": [*WHEN[:8], np.inf]}, r"times = "),
    ({"protect": "1 day", "times": ["soon"] * 9}, r"times = .*row 1 has 'soon'.*Write times with their date"),
    (
        {"protect": ("user", "1 day"), "times": WHEN},
        r"protect = .*a length of time .*person= names the persons",
    ),
    ({"protect": "ann", "person": ["ann"] * 9}, r'protect = \'ann\': must be a length .*"point". Leave protect= out'),
    ({"thin": "1 min"}, r"times = None"),
    ({"thin": "0 min", "times": WHEN}, r"thin = '0 min': must be a length of time"),
]


@pytest.mark.parametrize(("asked", "told"), WRONG, ids=[told for _, told in WRONG])
def test_unit_errors_have_remedies(asked: dict[str, Any], told: str) -> None:
    """Errors name the argument, the value, what is allowed and the remedy."""
    with pytest.raises(GeoveilError, match=told):
        release_of("points", WALK, rho=1e-4, **asked)


def test_guarantee_words_name_unit() -> None:
    """Two versions differ within one stretch of time, and in no location there by more than the distance hidden."""
    day = gv.Locations(WALK, protect="1 day", times=WHEN).points(rho=1e-4).certificate()["words"]
    assert "that differ only within one day, and there in no location by more than 74.1 m" in " ".join(day.split())
    hours = gv.Locations(WALK, protect="12 hours", times=WHEN).points(rho=1e-4).certificate()["words"]
    assert "that differ only within 12 hours, and there in no location by more than" in " ".join(hours.split())
