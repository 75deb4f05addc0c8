"""Units in functions, sessions, ledgers and files: prices, times, thinning, verification and processing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil import heatmaps
from geoveil.errors import IncompatibleGuarantees, InvalidFile, InvalidParameter

DAY, HOUR = 86_400.0, 3_600.0
BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)
#: Nine points, three of which at most are within any day.
WALK, WHEN = np.column_stack([np.arange(9) * 100.0, np.arange(9) % 3 * 50.0]), np.arange(9) * 40_000.0


def accounts(tmp_path: Path, *metrics: str, **budget: Any) -> gv.Ledger:
    """Return a ledger with an account for each metric, of the same name."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    for metric in metrics:
        ledger.create(metric, metric=metric, **(budget or {"rho": 10}))
    return ledger


def test_an_own_function_is_charged_only_where_its_constant_holds(tmp_path: Path) -> None:
    """A constant under one metric holds under larger ones; what it is under smaller ones is not known."""
    ledger = accounts(tmp_path, "inf", "7 days", "6 hours", "1", "2")

    def charged(account: str) -> float:
        session = gv.Session(WALK, rho=1, times=WHEN, unit="1 day", ledger=ledger, subject=account)
        session.answer(lambda x: x[:, 0].sum() / 3, lipschitz=1, rho=1e-4)
        return float(ledger.spent(account))

    for account in ("inf", "7 days", "2"):
        with pytest.raises(IncompatibleGuarantees, match="not known"):
            charged(account)
        assert ledger.spent(account) == 0
    assert charged("6 hours") == charged("1") == pytest.approx(1e-4)


@pytest.mark.parametrize("account", ["inf", "7 days", "6 hours", "1", "2"])
def test_a_session_never_asks_with_another_unit_than_it_was_given(tmp_path: Path, account: str) -> None:
    """Without a limit of its own, a session's unit is that of the account; with one, prices are charged."""
    ledger = accounts(tmp_path, account)
    with pytest.raises(InvalidParameter, match=r"unit = '1 day': must be that of the account, .*Leave unit= out"):
        gv.Session(WALK, times=WHEN, unit="1 day", ledger=ledger, subject=account)
    session = gv.Session(WALK, rho=1, times=WHEN, unit="1 day", ledger=ledger, subject=account)
    assert session.points(rho=1e-4).guarantee == gv.CGP(rho=1e-4, metric="1 day")


def test_a_session_has_the_unit_of_its_account(tmp_path: Path) -> None:
    """Without a unit it is the account's; the same unit may be given; a crowd's persons are one account each."""
    ledger = accounts(tmp_path, "1 day")
    ledger.create("crowd/a", "crowd/b", rho=1, metric="1 day")
    for unit in ({}, {"unit": "1 day"}):
        session = gv.Session(WALK, times=WHEN, ledger=ledger, subject="1 day", **unit)
        assert session.mean(rho=1e-4).guarantee == gv.CGP(rho=1e-4, metric="1 day")
    who = np.array(["a", "b", "b"] * 3)
    crowd = gv.Session(WALK, times=WHEN, ledger=ledger, subject="crowd", unit=(who, "1 day"))
    assert crowd.mean(rho=1e-4).guarantee == gv.CGP(rho=1e-4, metric="person, 1 day")
    assert ledger.spent("crowd/a") == ledger.spent("crowd/b") == gv.CGP(rho=1e-4).rho


# ------------------------------------------------------------------------------------------------------------- times


def test_one_wrong_number_does_not_change_how_times_are_read() -> None:
    """Milliseconds beside a 0 are not read as seconds, which would make days a thousand times shorter."""
    at = np.arange(9) + 0.5
    wrong = 1.7e12 + WHEN * 1000
    assert gv.points(WALK, rho=1e-4, unit="1 day", times=wrong).point_scales == pytest.approx(np.sqrt(3 / 2e-4))
    wrong[4] = 0
    with pytest.raises(InvalidParameter, match=r"times = .*since 1970, the same for all; one is 1\.7.*Remove rows"):
        gv.points(WALK, rho=1e-4, unit="1 day", times=wrong)
    frame = pd.DataFrame({"at": at, "when": wrong, "lat": 37.77, "lon": -122.42})
    with pytest.raises(InvalidParameter, match="since 1970"):
        gv.points(frame, rho=1e-4, unit="1 day", times="when", area=BAY)


def test_dates_of_all_batches_are_read_in_one_way() -> None:
    """A batch whose dates could begin with the day or the month is read as the others show."""
    from geoveil.geo.seconds import joined_microseconds, part_of_times

    days = [[f"03/0{day}/2026 08:00" for _ in range(3)] for day in (4, 5)] + [["03/25/2026 08:00"]]
    read = joined_microseconds([part_of_times(batch) for batch in days])
    assert np.diff(read).tolist() == [0, 0, DAY * 1e6, 0, 0, 20 * DAY * 1e6]
    with pytest.raises(InvalidParameter, match="the day or the month first"):
        joined_microseconds([part_of_times(batch) for batch in days[:2]])
    with pytest.raises(InvalidParameter, match="datetimes and numbers"):
        joined_microseconds([part_of_times(["2026-03-04"]), part_of_times(["17"])])
    parts = [part_of_times([1.7e12]), part_of_times([1.7e12 + 1000])]
    assert np.diff(joined_microseconds(parts)).tolist() == [10**6]


def test_a_file_in_batches_reads_dates_as_memory_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches on one day each, which alone would be read with the day first, are a day apart."""
    from geoveil.geo.formats import excel

    rows = [f"03/0{4 + i // 4}/2026 0{i % 4}:00:00" for i in range(8)] + ["03/25/2026 01:00:00"] * 4
    frame = pd.DataFrame({"when": rows, "lat": 37.77, "lon": -122.42})
    frame.to_excel(tmp_path / "days.xlsx", index=False)
    told = {"rho": 1e-4, "unit": "2 days", "times": "when", "area": BAY}
    scales = gv.points(frame, **told).point_scales
    assert scales is not None
    monkeypatch.setattr(excel, "_ROWS", 4)
    gv.points_file(tmp_path / "days.xlsx", tmp_path / "out.csv", **told)
    loaded = gv.load(tmp_path / "out.csv").point_scales
    assert loaded == pytest.approx(scales)
    assert scales == pytest.approx(np.sqrt(np.repeat([8, 8, 4], 4) / 2e-4), rel=1e-4)


# -------------------------------------------------------------------------------------------------------- processing


def busy_and_quiet() -> tuple[Any, Any, Any]:
    """Points of two persons at busy times (20 in a day) and at quiet ones (1), with a place for each."""
    when = np.concatenate([np.arange(20) * 600.0, DAY * (10 + 2 * np.arange(20))])
    times, who = np.tile(when, 2), np.repeat(["ann", "bob"], 40)
    return np.random.default_rng(2).normal([1000.0, 1000.0], 100.0, (80, 2)), times, who


@pytest.mark.parametrize("budget", [{"rho": 1e-4}, {"epsilon": 0.02}], ids=["CGP", "GP"])
def test_heat_maps_and_remapping_use_the_noise_of_each_point(budget: dict[str, float]) -> None:
    """Points at quiet times count for more, as they do when the same noise is released by person."""
    x, times, who = busy_and_quiet()
    rng = np.random.default_rng(5)
    released = gv.points(x, times=times, unit="1 day", by=who, rng=rng, **budget)
    scales = released.point_scales
    assert scales is not None
    power = 0.5 if "rho" in budget else 1
    assert scales[:20] == pytest.approx(20**power * scales[20])
    # As if every point had the noise of a busy one.
    alone = replace(released, point_scales=np.full(80, scales[0]))
    grid = gv.Grid((0, 0, 2000, 2000), cell=200)
    for processed in (lambda r: gv.density(r, grid).value, lambda r: gv.remap(r, grid).value):
        assert not np.allclose(processed(released), processed(alone))
    for by in (None, who):
        noisy = heatmaps._noisy(released, by, "")
        assert noisy.noise == ("gaussian" if "rho" in budget else "laplace")
        assert np.array_equal(noisy.scale, scales)


def test_smoothing_uses_the_noise_of_each_point() -> None:
    """A quiet point, whose noise is small, is moved less than a busy one."""
    x, times, _ = busy_and_quiet()
    released = gv.points(x[:40], times=times[:40], unit="1 day", rho=1e-4, rng=np.random.default_rng(5))
    smoothed = gv.smooth(released, times=times[:40], motion="taxi")
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
    {"unit": "1 day"},
    {"unit": "1 day", "by": "user"},
    {"unit": "1 day", "by": "user", "method": "paper"},
    {"unit": "point", "by": "user"},
    {"unit": "user"},
    {"unit": ("user", "1 day")},
]


@pytest.mark.parametrize("asked", UNITS, ids=str)
@pytest.mark.parametrize("budget", [{"rho": 1e-3}, {"epsilon": 0.02}], ids=["CGP", "GP"])
@pytest.mark.parametrize("question", ["points", "mean", "hull"])
def test_what_is_written_with_units_is_verified(
    tmp_path: Path, asked: dict[str, Any], budget: dict[str, float], question: str
) -> None:
    """Nothing is wrong with a released file; what cannot be recomputed is left open."""
    if question == "hull" and "method" in asked:
        asked = {**asked, "k": 5}
    released = getattr(gv, question)(trips(), area=BAY, **asked, **budget)
    path = tmp_path / f"{question}.gpkg"
    released.to_file(path)
    checks = {check.name: check for check in gv.verify(path).checks}
    assert all(check.outcome != "fails" for check in checks.values()), checks
    recomputed = question == "points" and not released.guarantee.metric.persons
    assert (checks["noise"].outcome == "holds") == recomputed


@pytest.mark.parametrize("asked", UNITS, ids=str)
@pytest.mark.parametrize("budget", [{"rho": 1e-3}, {"epsilon": 0.02}], ids=["CGP", "GP"])
def test_a_loaded_release_has_the_noise_of_each_point(
    tmp_path: Path, asked: dict[str, Any], budget: dict[str, float]
) -> None:
    """Scales are those of the release; where persons of a crowd are not in the file, it is refused."""
    released = gv.points(trips(), area=BAY, **asked, **budget)
    released.to_file(tmp_path / "points.csv")
    if released.guarantee.metric.persons:
        with pytest.raises(InvalidFile, match=r"dist_\[person.*release points by person"):
            gv.load(tmp_path / "points.csv")
        return
    loaded = gv.load(tmp_path / "points.csv")
    if released.point_scales is None:
        assert loaded.point_scales is None
        return
    assert loaded.point_scales == pytest.approx(released.point_scales)


def test_a_stored_answer_is_for_the_times_that_it_was_asked_with(tmp_path: Path) -> None:
    """Other times need other noise: the stored answer is not returned with a certificate about them."""
    ledger = accounts(tmp_path, "1 day")

    def asked(times: Any, **more: Any) -> gv.Release:
        return gv.Session(WALK, times=times, ledger=ledger, subject="1 day", label="walk").points(rho=1e-4, **more)

    seldom, often = WHEN * 10, WHEN / 10
    first = asked(seldom)
    assert np.array_equal(asked(seldom).value, first.value)
    second = asked(often)
    assert not np.array_equal(second.value, first.value)
    assert first.point_scales == pytest.approx(np.sqrt(1 / 2e-4))
    assert second.point_scales == pytest.approx(np.sqrt(9 / 2e-4))
    asked(seldom, key="mine")
    with pytest.raises(InvalidParameter, match="key"):
        asked(often, key="mine")
