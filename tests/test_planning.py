"""Plans: what a budget buys, before any data is touched."""

from __future__ import annotations

from typing import Any, Literal, cast

import geopandas
import numpy as np
import pytest

import geoveil as gv
from geoveil.errors import InvalidParameter
from tests.questions import QUESTIONS, VARIANTS, ask, release_of

X = np.random.default_rng(0).normal(scale=3000.0, size=(200, 2))
#: Errors of hulls depend on the points, and a public area is none of a plan's arguments.
EVERY_PLAN = pytest.mark.parametrize(
    "name", [name for name, (question, more) in VARIANTS.items() if question != "hull" and "p" not in more]
)
BUDGETS: list[dict[str, Any]] = [{"rho": "2e-4"}, {"epsilon": 0.03}, {"rho": 1e-3, "metric": "2"}]


def plan(name: str, **more: Any) -> Any:
    """Plan a variant of a question about as many points as X has; plans take no function and no location."""
    question, others = VARIANTS[name]
    options = {key: value for key, value in QUESTIONS[question].items() if key != "fn"}
    if "metric" in more:
        more["rho"] = gv.CGP(rho=more["rho"], metric=more.pop("metric"))
    return gv.plan(question, n=len(X), **options, **others, **more)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@EVERY_PLAN
def test_foreseen_error_is_exact(name: str, budget: dict[str, Any]) -> None:
    """A plan's error is that of the release to the last bit, for all points and for any one of them."""
    for beta, each in ((0.05, False), (0.3, False), (0.05, True)):
        planned = plan(name, beta=beta, each=each, **budget)
        release = ask(name, X, rng=np.random.default_rng(1), **budget)
        assert planned.error == release.error(beta, each=each)
        assert planned.guarantee == release.guarantee
        assert not planned.assumes


def test_both_guarantees_are_foreseen() -> None:
    """Noise that satisfies CGP and GP at once is planned as it is released."""
    for budget in BUDGETS:
        release = ask("radius", X, method="both", rng=np.random.default_rng(1), **budget)
        assert plan("radius", method="both", **budget).error == release.error(0.05)


@pytest.mark.parametrize("notion", ["CGP", "GP"])
@EVERY_PLAN
def test_budget_gives_error(name: str, notion: str) -> None:
    """The error is met, and a budget a millionth smaller would miss it."""
    for wanted in (3.0, 250.0, 4e5):
        planned = plan(name, error=wanted, notion=notion)
        assert planned.guarantee.notion == notion
        # γ0 is a length of its own: errors do not scale with the noise.
        near = 0.98 if name == "nearest as in the paper" else 0.99999
        assert near * wanted <= planned.error <= wanted


@pytest.mark.slow
@pytest.mark.parametrize("budget", [{"rho": 1e-6}, {"rho": 5e-4}, {"rho": 0.1}, {"epsilon": 0.01}, {"epsilon": 1.0}])
def test_hull_error_is_foreseen(budget: dict[str, Any]) -> None:
    """For points that extend as far as the plan assumes, the release's bound is near what was planned."""
    angle = 2 * np.pi * np.arange(200) / 200
    x = np.column_stack([20_000 * np.cos(angle), 13_000 * np.sin(angle)])
    bounds = [release_of("hull", x, rng=np.random.default_rng(i), **budget).error(0.05) for i in range(9)]
    planned = gv.plan("hull", n=200, extent=40_000, **budget)
    assert 0.5 < planned.error / np.median(bounds) < 2
    assert "40 km" in str(planned)


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["CGP", "GP"])
def test_hull_budget_meets_error(notion: Literal["CGP", "GP"]) -> None:
    """Larger errors take smaller budgets; under GP the number of directions, and with it the error, comes in steps."""
    budgets = []
    for wanted in (300.0, 3000.0, 30_000.0):
        planned = gv.plan("hull", n=500, error=wanted, extent=50_000, notion=notion)
        assert 0.8 * wanted <= planned.error <= wanted
        budgets.append(planned.guarantee)
    assert budgets[0] > budgets[1] > budgets[2]
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
        {"notion": gv.GP(epsilon=1), "error": 5.0},
        {"method": "worst"},
        {"method": "paper"},
        {"dimension": 0},
        {"question": ["points"]},
        {"question": "hull", "extent": "big"},
        {"p": (0, 0)},
    ):
        given: dict[str, Any] = {"question": "points", "n": 5, "rho": 1e-3, **wrong}
        with pytest.raises(gv.errors.GeoveilError):
            gv.plan(given.pop("question"), **given)


def test_numpy_integers() -> None:
    """Counts may be whole numbers of numpy."""
    assert gv.plan("points", n=cast(int, np.int64(5)), rho=1e-4) == gv.plan("points", n=5, rho=1e-4)
    assert gv.plan("nearest", n=cast(int, np.int32(5)), k=cast(int, np.int64(2)), rho=1e-4) == gv.plan(
        "nearest", n=5, k=2, rho=1e-4
    )


def test_plans_are_deterministic() -> None:
    """The same question gives the same plan."""
    plans = {gv.plan("hull", n=100, rho=1e-4).error for _ in range(3)}
    assert len(plans) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("crs", "place"),
    [
        (gv.local(lat=37.77, lon=-122.42, radius=1_500_000), (-122.4, 37.8)),
        (32610, (-122.4, 37.8)),
        ("Germany", (10.0, 51.0)),
    ],
)
def test_plans_know_stretch(crs: Any, place: tuple[float, float]) -> None:
    """The error is that of the release, and an error takes the budget that gives it."""
    x = geopandas.GeoSeries.from_xy([place[0]], [place[1]], crs=4326)
    planned = gv.plan("points", n=1, rho=1e-4, area=crs)
    # A plan does not know what PROJ will round on the way in.
    assert planned.error == pytest.approx(gv.Locations(x, area=crs).points(rho=1e-4).error(0.05), rel=1e-8)
    assert planned.error > gv.plan("points", n=1, rho=1e-4).error
    asked = gv.plan("points", n=1, error=300, area=crs)
    assert gv.Locations(x, area=crs).points(rho=cast(gv.CGP, asked.guarantee)).error(0.05) <= 300


def test_missing_arguments_are_named() -> None:
    """What a plan lacks is named as for the question. No class of the program is named."""
    with pytest.raises(
        InvalidParameter, match=r" nearest missing 1 required keyword-only argument: 'k'\. Give what gv"
    ):
        gv.plan("nearest", n=10, error=100)
    with pytest.raises(InvalidParameter, match=r" points got an unexpected keyword argument 'crs'\. Give what gv"):
        gv.plan("points", n=10, error=100, crs=4326)


def test_plan_repr() -> None:
    """Its repr states the distance that is hidden and the error; a notebook shows the same."""
    planned = gv.plan("hull", n=1000, rho=5e-5, extent=40_000)
    heading, *rows = repr(planned).splitlines()
    assert heading == "Plan of hull: nothing was asked or charged"
    assert rows[0] == "  guarantee  104 m hidden at 75% (CGP with ρ = 5e-05 per m²)"
    assert rows[1].endswith("with probability 95%")
    assert "for points that extend over 40 km" in planned._repr_html_()


def test_units_are_compared() -> None:
    """With `every`, the errors of four units are those of plans for each of them."""
    compared = gv.plan("points", n=20_000, rho=5e-5, every="30 s").units
    assert [*compared] == ["inf", "1 day", "1 hour", "1"]
    for name, unit, largest in (("1 day", "1 day", 2881), ("1 hour", "1 hour", 121), ("1", "point", None)):
        assert compared[name] == gv.plan("points", n=20_000, rho=5e-5, protect=unit, largest=largest).error
        assert compared[name] < compared["inf"]
    assert compared["inf"] == gv.plan("points", n=20_000, rho=5e-5).error
    sought = gv.plan("points", n=20_000, error=1000, protect="1 hour", every="30 s")
    assert sought.units["1 hour"] == sought.error <= 1000


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("points", ""),
        ("mean", ""),
        ("center", "any day and any hour change nothing for center"),
        ("distance", "a smaller unit changes nothing for distance"),
    ],
)
def test_useless_units_are_told(question: str, said: str) -> None:
    """In words, for the units that are compared; nothing is said where every smaller unit has less error."""
    planned = gv.plan(question, n=20_000, rho=5e-5, every="30 s")
    assert planned.remark == said
    assert said in repr(planned)
    assert ("units  " in repr(planned)) == bool(said)


def test_useless_unit_plan() -> None:
    """A plan for a unit that gains nothing says so.

    The error is that for all of a person's locations, whose guarantee is stronger.
    """
    planned = gv.plan("center", n=1000, rho=5e-5, protect="1 hour", largest=60)
    assert planned.error == gv.plan("center", n=1000, rho=5e-5).error
    assert planned.remark.startswith("any hour of a person's movements needs as much noise for center as all of a")
    assert not gv.plan("mean", n=1000, rho=5e-5, protect="1 hour", largest=60).remark
    assert not gv.plan("center", n=1000, rho=5e-5, protect="point").remark
    assert gv.plan("points", n=30, rho=5e-5, every="1 min").remark == "any day and any hour hold all 30 points"


def test_plan_units_are_checked() -> None:
    """A length of time needs the number of points in it; a plan knows no column of persons."""
    with pytest.raises(InvalidParameter, match=r"largest = None: must be .* any day of a person's movements holds"):
        gv.plan("points", n=10, rho=1e-4, protect="1 day")
    with pytest.raises(InvalidParameter, match="the most that one person has"):
        gv.plan("mean", n=10, rho=1e-4, together=True)
    sought = gv.plan("mean", n=10, error=50, notion=gv.CGP(rho=7, metric="2"))
    assert sought.guarantee.metric.name == "2"
    assert sought.error <= 50
    with pytest.raises(InvalidParameter, match="protect = 'user': must be a length of time"):
        gv.plan("points", n=10, rho=1e-4, protect="user")
    with pytest.raises(InvalidParameter, match="every = 'often': must be a length of time"):
        gv.plan("points", n=10, rho=1e-4, every="often")
    crowd = gv.plan("mean", n=1000, rho=1e-4, together=True, largest=10)
    assert crowd.error == gv.Locations(np.zeros((1000, 2)), person=[*range(100)] * 10).mean(
        rho=1e-4, together=True
    ).error(0.05)
