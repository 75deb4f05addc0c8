"""Plans: what a budget buys, before any data is touched."""

from __future__ import annotations

from typing import Any, cast

import geopandas
import numpy as np
import pytest

import geoveil as gv

X = np.random.default_rng(0).normal(scale=3000.0, size=(200, 2))


def released(question: str, **how: Any) -> gv.Release:
    """The release that was planned."""
    how.pop("extent", None)
    first: list[Any] = [X, lambda x: x[0, 0]] if question == "answer" else [X]
    if question in ("nearest", "first_within", "distance"):
        first.append((0.0, 0.0))
    release = getattr(gv, question)(*first, rng=np.random.default_rng(1), **how)
    assert isinstance(release, gv.Release)
    return release


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("points", {}),
    ("nearest", {"k": 7}),
    ("nearest", {"k": 7, "method": "paper", "gamma0": -20.0}),
    ("nearest", {"k": 7, "locations": 0.3}),
    ("mean", {}),
    ("bounds", {}),
    ("radius", {"method": "both"}),
    ("distance", {}),
    ("first_within", {"radius": 400.0}),
    ("answer", {"lipschitz": 1}),
]
BUDGETS: list[dict[str, Any]] = [{"rho": "2e-4"}, {"epsilon": 0.03}, {"rho": 1e-3, "metric": "2"}]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize(("question", "options"), QUESTIONS, ids=str)
def test_the_error_foreseen_is_the_releases(question: str, options: dict[str, Any], budget: dict[str, Any]) -> None:
    """To the last bit, and for any one point as for all."""
    for beta, each in ((0.05, False), (0.3, False), (0.05, True)):
        planned = gv.plan(question, n=len(X), beta=beta, each=each, **budget, **options)
        release = released(question, **budget, **options)
        assert planned.error == release.error(beta, each=each)
        assert planned.guarantee == release.guarantee
        assert not planned.assumes


@pytest.mark.parametrize("notion", ["CGP", "GP"])
@pytest.mark.parametrize(("question", "options"), QUESTIONS, ids=str)
def test_the_budget_for_an_error_gives_it(question: str, options: dict[str, Any], notion: str) -> None:
    """The error is met, and a budget a millionth smaller would miss it."""
    for wanted in (3.0, 250.0, 4e5):
        planned = gv.plan(question, n=len(X), error=wanted, notion=notion, **options)
        assert planned.guarantee.notion == notion
        near = (
            0.98 if "gamma0" in options else 0.99999
        )  # γ0 is a length of its own: errors do not scale with the noise
        assert near * wanted <= planned.error <= wanted


@pytest.mark.parametrize("budget", [{"rho": 1e-6}, {"rho": 5e-4}, {"rho": 0.1}, {"epsilon": 0.01}, {"epsilon": 1.0}])
def test_a_hulls_error_is_foreseen_for_its_extent(budget: dict[str, Any]) -> None:
    """For points that extend as far as the plan assumes, the release's bound is near what was planned."""
    angle = 2 * np.pi * np.arange(200) / 200
    x = np.column_stack([20_000 * np.cos(angle), 13_000 * np.sin(angle)])
    bounds = [gv.hull(x, rng=np.random.default_rng(i), **budget).error(0.05) for i in range(9)]
    planned = gv.plan("hull", n=200, extent=40_000, **budget)
    assert 0.5 < planned.error / np.median(bounds) < 2
    assert "40 km" in str(planned)


@pytest.mark.parametrize("notion", ["CGP", "GP"])
def test_a_hulls_budget_meets_the_error(notion: str) -> None:
    """Larger errors take smaller budgets; under GP the number of directions, and with it the error, comes in steps."""
    budgets = []
    for wanted in (300.0, 3000.0, 30_000.0):
        planned = gv.plan("hull", n=500, error=wanted, extent=50_000, notion=notion)
        assert 0.8 * wanted <= planned.error <= wanted
        budgets.append(planned.guarantee)
    assert budgets[0] > budgets[1] > budgets[2]
    assert gv.plan("hull", n=500, error=20_000, method="paper", extent=50_000).error <= 20_000
    for error in (0.01, 10.0):
        with pytest.raises(gv.errors.InvalidParameter, match="directions"):
            gv.plan("hull", n=500, error=error, extent=50_000)


def test_plans_are_checked() -> None:
    """Exactly one of error and budget; known questions and notions; what the question itself refuses."""
    for wrong in (
        {"question": "nearest"},
        {"question": "where"},
        {"n": 0},
        {"beta": 2},
        {"notion": "DP", "rho": None, "error": 5.0},
        {"error": 5.0},
        {"rho": None},
        {"rho": None, "error": -1.0},
        {"metric": "3"},
        {"method": "worst"},
        {"dimension": 0},
        {"question": ["points"]},
        {"question": "hull", "extent": "big"},
        {"p": (0, 0)},
    ):
        given: dict[str, Any] = {"question": "points", "n": 5, "rho": 1e-3, **wrong}
        with pytest.raises(gv.errors.GeoveilError):
            gv.plan(given.pop("question"), **given)


def test_numpys_whole_numbers_will_do() -> None:
    """Counts come from frames."""
    assert gv.plan("points", n=cast(int, np.int64(5)), rho=1e-4) == gv.plan("points", n=5, rho=1e-4)
    assert gv.plan("nearest", n=cast(int, np.int32(5)), k=np.int64(2), rho=1e-4) == gv.plan(
        "nearest", n=5, k=2, rho=1e-4
    )


def test_a_plan_touches_no_randomness_of_the_process() -> None:
    """The same question gives the same plan."""
    plans = {gv.plan("hull", n=100, rho=1e-4).error for _ in range(3)}
    assert len(plans) == 1


@pytest.mark.parametrize(
    ("crs", "place"),
    [
        (gv.local(lat=37.77, lon=-122.42, radius=1_500_000), (-122.4, 37.8)),
        (32610, (-122.4, 37.8)),
        ("Germany", (10.0, 51.0)),
    ],
)
def test_a_plan_knows_what_its_plane_stretches(crs: Any, place: tuple[float, float]) -> None:
    """The error is that of the release, and an error takes the budget that gives it."""
    x = geopandas.GeoSeries.from_xy([place[0]], [place[1]], crs=4326)
    planned = gv.plan("points", n=1, rho=1e-4, area=crs)
    # A plan does not know what PROJ will round on the way in.
    assert planned.error == pytest.approx(gv.points(x, rho=1e-4, area=crs).error(0.05), rel=1e-8)
    assert planned.error > gv.plan("points", n=1, rho=1e-4).error
    asked = gv.plan("points", n=1, error=300, area=crs)
    assert gv.points(x, rho=cast(gv.CGP, asked.guarantee), area=crs).error(0.05) <= 300
