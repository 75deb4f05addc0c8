"""Inputs: invalid ones are refused before anything random is drawn, unusual ones are answered."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
from itertools import product
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from numpy.typing import NDArray

import geoveil as gv
from geoveil.errors import (
    FileUnavailable,
    GeoveilError,
    IncompatibleGuarantees,
    InvalidCoordinateSystem,
    InvalidData,
    InvalidInput,
    InvalidParameter,
)
from geoveil.queries import HalfSpaces, Hull, Nearest
from tests.questions import EVERY_QUESTION, PLACED, QUESTIONS, ask

X = np.array([[0.0, 0.0], [300.0, 50.0], [-200.0, 700.0], [900.0, -400.0]])


def _first(x: NDArray[np.float64]) -> float:
    return float(x[0, 0])


def refused(kind: type[GeoveilError], argument: str, shown: str, name: str, x: Any, **more: Any) -> None:
    """Check that a question is refused by a good error, and that nothing random was drawn."""
    rng = np.random.Generator(np.random.PCG64(7))
    before = copy.deepcopy(rng.bit_generator.state)
    with pytest.raises(GeoveilError) as caught:
        ask(name, x, **{"rng": rng, **more})
    assert rng.bit_generator.state == before
    error, text = caught.value, str(caught.value)
    assert type(error) is kind
    assert argument in text
    assert shown in text
    if isinstance(error, InvalidInput):
        assert error.argument.startswith(argument)
        assert len(str(error.allowed)) > 3
        assert len(str(error.remedy)) > 5
        assert text.endswith(str(error.remedy))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == text


# ------------------------------------------------------------------------------------------------------- the data


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        ([[0.0, 1.0], [math.nan, 2.0]], "x[1] = [nan, 2.0]"),
        ([[0.0, math.inf], [1.0, 2.0]], "x[0] = [0.0, inf]"),
        ([[0.0, 1.0], [1.0, 2.0], [3.0, -math.inf]], "x[2] = [3.0, -inf]"),
        ([[None, 1.0]], "x[0] = [nan, 1.0]"),
        ([], "at least one point"),
        (np.empty((0, 2)), "at least one point"),
        (shapely.MultiPoint(), "EMPTY"),
        ([1.0, 2.0], "(2,)"),
        (np.zeros((2, 2, 2)), "(2, 2, 2)"),
        (3.0, "()"),
        (None, "shape (n, d)"),
        ([["here", "there"]], "'list'"),
        ([[1.0, 2.0], [3.0]], "'list'"),
        ({"x": 1.0}, "'dict'"),
        (object(), "'object'"),
        (np.array([[1 + 2j, 3j]]), "x"),
        (np.ma.masked_invalid([[0.0, math.nan], [1.0, 2.0]]), "x"),
        (np.ma.array(np.ones((2, 2)), mask=[[True, True], [False, False]]), "x"),
        (np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"), "x"),
    ],
    ids=[
        "nan",
        "inf",
        "minus inf",
        "none coordinate",
        "empty list",
        "empty array",
        "empty geometry",
        "1-D",
        "3-D",
        "0-D",
        "none",
        "words",
        "ragged",
        "dict",
        "object",
        "complex",
        "masked nan",
        "masked",
        "dates",
    ],
)
def test_unusable_locations_are_refused(x: Any, shown: str) -> None:
    """Locations must be finite numbers of shape (n, d), at least one; every question says what is wrong with them."""
    for name in QUESTIONS:
        refused(InvalidData, "x", shown, name, x)


def test_text_is_a_path() -> None:
    """A text that names no file is refused as a file, not read as coordinates."""
    with pytest.raises(FileUnavailable, match=r"^0 0: file not found"):
        gv.Locations("0 0")


def test_overflowing_coordinates_are_refused() -> None:
    """Coordinates whose squares no double can hold are no places."""
    for name in QUESTIONS:
        refused(InvalidData, "x", "e+20", name, X * 1e200)


@pytest.mark.parametrize("crs", [None, "EPSG:4326", "EPSG:3857"])
def test_non_metres_are_refused(crs: str | None) -> None:
    """Frames without a system in metres are refused by every question, with the remedy."""
    frame = geopandas.GeoSeries(shapely.points(X / 100), crs=crs)
    for name in QUESTIONS:
        refused(InvalidCoordinateSystem, "x.crs", "crs", name, frame)


def test_flat_hulls_are_refused() -> None:
    """A hull takes two dimensions or more, and the message names the question to ask instead."""
    refused(InvalidParameter, "x", "Use bounds(x)", "hull", X[:, :1])


# ----------------------------------------------------------------------------------------------------- the budget


@pytest.mark.parametrize("argument", ["rho", "epsilon"])
@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "little", True, 1e-200, 1e200, [1e-4]], ids=repr)
def test_bad_budgets_are_refused(argument: str, value: Any) -> None:
    """A budget is a positive, finite number."""
    for name in QUESTIONS:
        refused(InvalidParameter, argument, repr(value), name, X, **{argument: value})


@EVERY_QUESTION
def test_one_budget_is_given(name: str) -> None:
    """None, two or all of hide, rho and epsilon are refused."""
    every = "hide, rho, epsilon"
    refused(InvalidParameter, every, "(None, None, None)", name, X, rho=None)
    refused(InvalidParameter, every, "(None, 0.1, 0.2)", name, X, rho=0.1, epsilon=0.2)
    refused(InvalidParameter, every, "(200, 0.1, None)", name, X, rho=0.1, hide=200)
    refused(InvalidParameter, every, "(200, None, 0.2)", name, X, rho=None, epsilon=0.2, hide=200)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("rho", gv.GP(epsilon=0.1)),
        ("epsilon", gv.CGP(rho=0.1)),
        ("epsilon", gv.GP(epsilon=0.1, delta=1e-9)),
        ("epsilon", gv.GP(epsilon=0.1, within=100)),
    ],
    ids=repr,
)
def test_wrong_guarantees_are_refused(argument: str, value: Any) -> None:
    """CGP is given as rho and pure GP as epsilon, nothing else."""
    for name in QUESTIONS:
        refused(IncompatibleGuarantees, f"{argument}=", repr(value), name, X, **{argument: value})


@pytest.mark.parametrize("metric", ["3", "", "euclidean", 7], ids=repr)
def test_unknown_metrics_are_refused(metric: Any) -> None:
    """The metrics are inf, 2 and 1."""
    for name in QUESTIONS:
        refused(InvalidParameter, "metric", repr(metric), name, X, metric=metric)


@EVERY_QUESTION
def test_contradicting_metrics_are_refused(name: str) -> None:
    """A guarantee that brings its metric with it must be under that of what the data protects."""
    guarantee = gv.CGP(rho=1e-4, metric="2")
    times = pd.date_range("2026-05-01", periods=4)
    refused(InvalidParameter, "rho", repr(guarantee), name, X, rho=guarantee, protect="1 day", times=times)
    refused(InvalidParameter, "rho", repr(guarantee), name, X, rho=guarantee, protect="point")


@pytest.mark.parametrize("method", ["fastest", "", None, 3], ids=repr)
def test_unknown_methods_are_refused(method: Any) -> None:
    """A method that does not exist is refused; three questions have one way to be answered, and no argument for it."""
    for name in QUESTIONS.keys() - {"first_within", "hull", "nearest"}:
        refused(InvalidParameter, "method", repr(method), name, X, method=method)


@pytest.mark.parametrize("rng", [42, "seed", np.random.RandomState(1)], ids=["number", "text", "RandomState"])
def test_bad_generators_are_refused(rng: Any) -> None:
    """A seed is not a generator; the message says which one to make."""
    for name in QUESTIONS:
        with pytest.raises(InvalidParameter, match=r"^rng = .*default_rng\(seed\)"):
            ask(name, X, rng=rng)


@EVERY_QUESTION
def test_misspelt_arguments_are_refused(name: str) -> None:
    """A keyword that no question has is an error, as everywhere in Python."""
    with pytest.raises(TypeError, match="rhoo"):
        ask(name, X, rhoo=1)


# ----------------------------------------------------------------------------------------------- their own arguments


@pytest.mark.parametrize("name", PLACED)
@pytest.mark.parametrize(
    ("p", "shown"),
    [
        ((1.0, 2.0, 3.0), "3."),
        ((1.0,), "1."),
        (5.0, "5.0"),
        ((math.nan, 0.0), "nan"),
        ((0.0, math.inf), "inf"),
        (None, "nan"),
        ([[0.0, 1.0]], "[[0.0, 1.0]]"),
        (shapely.Point(), ""),
    ],
    ids=["3-D", "1-D", "number", "nan", "inf", "none", "nested", "empty"],
)
def test_wrong_places_are_refused(name: str, p: Any, shown: str) -> None:
    """A place has as many finite coordinates as the points."""
    refused(InvalidParameter, "p", shown, name, X, p=p)


@pytest.mark.parametrize("name", PLACED)
@pytest.mark.parametrize("p", ["here", {"x": 1}, [[1.0, 2.0], [3.0]]], ids=repr)
def test_place_types_are_refused(name: str, p: Any) -> None:
    """A place is a Point or coordinates."""
    refused(InvalidData, "p", repr(p), name, X, p=p)


@pytest.mark.parametrize("name", ["first_within", "nearest"])
def test_only_distances_take_areas(name: str) -> None:
    """A line or an area is no place to be near to."""
    refused(InvalidData, "p", "LINESTRING", name, X, p=shapely.LineString([(0, 0), (1, 1)]))


def _unclosed(x: float) -> shapely.Polygon:
    with np.errstate(invalid="ignore"):
        return shapely.Polygon([(0, 0), (x, 1), (1, 0)])


@pytest.mark.parametrize(
    "p", [shapely.Polygon(), _unclosed(math.nan), _unclosed(math.inf)], ids=["empty", "nan", "inf"]
)
def test_bad_areas_are_refused(p: Any) -> None:
    """An area is not empty and has finite coordinates."""
    with np.errstate(invalid="ignore"):  # shapely warns of NaN when it reads the pickled area
        refused(InvalidParameter, "p", "POLYGON", "distance", X, p=p)


def test_areas_need_the_plane() -> None:
    """The distance to a shapely geometry is asked of points in the plane only."""
    refused(InvalidParameter, "p", "POLYGON", "distance", np.zeros((4, 3)), p=shapely.box(0, 0, 1, 1))


NO_COUNTS: list[Any] = [0, -1, 2.5, 2.0, True, "2", None, math.nan]
NO_SHARES: list[Any] = [0, 1, -0.5, 1.5, math.nan, math.inf, "half", [0.5]]
NO_LENGTHS: list[Any] = [0, -5.0, math.nan, math.inf, "far", None, [1.0]]
NOT_FINITE: list[Any] = [math.nan, math.inf, "much", None]


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        *(("nearest", "k", value) for value in [*NO_COUNTS, len(X) + 1]),
        *(("hull", "k", value) for value in [*NO_COUNTS, 2, 7, "many"]),
        *(("answer", "size", value) for value in NO_COUNTS),
        *(("nearest", "locations", value) for value in NO_SHARES),
        *(("first_within", "radius", value) for value in NO_LENGTHS),
        *(("answer", "lipschitz", value) for value in NO_LENGTHS),
    ],
    ids=str,
)
def test_argument_ranges_are_checked(name: str, argument: str, value: Any) -> None:
    """Counts are whole and in range, shares and probabilities between 0 and 1, lengths positive and finite."""
    refused(InvalidParameter, argument, repr(value), name, X, **{argument: value})


@pytest.mark.parametrize(
    ("query", "argument", "value"),
    [
        *((Hull, "share", value) for value in [*NO_SHARES, None]),
        *((Hull, "beta", value) for value in [*NO_SHARES, None]),
        *((Hull, "gamma0", value) for value in NOT_FINITE),
        *((Nearest, "gamma0", value) for value in NOT_FINITE),
    ],
    ids=str,
)
def test_papers_arguments_are_checked(query: Any, argument: str, value: Any) -> None:
    """Those of the paper's algorithms, which no question has, are refused when the query is made."""
    place: dict[str, Any] = {"p": np.zeros(2), "k": 1} if query is Nearest else {}
    with pytest.raises(InvalidParameter) as caught:
        query(4, 2, gv.CGP(rho=1e-4), "paper", **place, **{argument: value})
    assert caught.value.argument == argument
    assert repr(value) in str(caught.value)


def test_probes_need_the_plane() -> None:
    """The authors' number of probes exists in two dimensions of the paper's hull only."""
    with pytest.raises(InvalidParameter, match=r"^k = 'authors'"):
        Hull(4, 3, gv.CGP(rho=1e-4), "paper", k="authors")
    refused(InvalidParameter, "k", "'authors'", "hull", X, k="authors")


@pytest.mark.parametrize(
    ("fn", "more"),
    [
        (lambda x: x[0], {}),
        (lambda x: x[0, 0], {"size": 2}),
        (lambda x: math.nan, {}),
        (lambda x: [0.0, math.inf], {"size": 2}),
        (lambda x: "north", {}),
        (lambda x: None, {}),
    ],
    ids=["too many", "too few", "nan", "inf", "text", "none"],
)
def test_bad_functions_are_refused(fn: Any, more: dict[str, Any]) -> None:
    """A user's function returns as many finite numbers as its size says."""
    refused(InvalidData, "fn", "", "answer", X, fn=fn, **more)


def test_non_functions_are_refused() -> None:
    """It is a wrong parameter, whatever the data is."""
    refused(InvalidParameter, "fn", "'north'", "answer", X, fn="north")


def test_lipschitz_functions_set_constants() -> None:
    """A constant, metric or guarantee other than the function's own is refused."""
    fn = gv.Lipschitz(_first, 2, "1")
    refused(InvalidParameter, "lipschitz", "3", "answer", X, fn=fn, lipschitz=3)
    times = pd.date_range("2026-05-01", periods=4)
    told: dict[str, Any] = {"fn": fn, "lipschitz": None}
    refused(InvalidParameter, "fn", "under dist_[1 day]", "answer", X, protect="1 day", times=times, **told)
    refused(InvalidParameter, "fn", "under dist_2", "answer", X, rho=gv.CGP(rho=1, metric="2"), **told)
    refused(InvalidParameter, "fn", "under dist_[person]", "answer", X, person=list("aabb"), together=True, **told)


@pytest.mark.parametrize("beta", [0, 1, -0.1, 1.5, math.nan, "rarely", None], ids=repr)
@pytest.mark.parametrize("by", [None, [1, 1, 2, 2]], ids=["one tuple", "by person"])
def test_error_takes_a_probability(by: Any, beta: Any) -> None:
    """error(beta) takes a probability strictly between 0 and 1, whatever was asked."""
    for name in QUESTIONS:
        release = ask(name, X, person=by, rng=np.random.default_rng(0))
        with pytest.raises(InvalidParameter, match=r"^beta = "):
            release.error(beta)


# ----------------------------------------------------------------------------------------------------- the persons


@pytest.mark.parametrize(
    ("by", "shown"),
    [
        (["a", "b"], "4 labels"),
        ([1, 2, 3, 4, 5], "4 labels"),
        (np.ones((4, 2)), "4 labels"),
        (["a", None, "b", "b"], "1 points have none"),
        ([1.0, math.nan, math.nan, 2.0], "2 points have none"),
        (["a", math.nan, "b", "b"], "1 points have none"),
        (pd.Series(["a", "b", pd.NA, "b"]), "1 points have none"),
        ("who", "who"),
        ([[1], [2, 3], [4], [5]], ""),
        ([{}, {}, {}, {}], ""),
        (shapely.points(X), ""),
    ],
    ids=[
        "too few",
        "too many",
        "table",
        "none",
        "nan",
        "nan among words",
        "NA",
        "a column of an array",
        "ragged",
        "unhashable",
        "geometries",
    ],
)
def test_bad_labels_are_refused(by: Any, shown: str) -> None:
    """There is one label for each point, none is missing, and none gives a place away."""
    for name in QUESTIONS:
        kind = InvalidParameter if isinstance(by, str) else InvalidData
        refused(kind, "person", shown, name, X, person=by)


@pytest.mark.parametrize(
    "by", ["whom", "geometry", ["a", "b"], "gap"], ids=["unknown", "geometry", "too few", "missing labels"]
)
def test_bad_person_columns_are_refused(by: Any) -> None:
    """A column of persons exists, is complete, and is not the geometry itself."""
    frame = geopandas.GeoDataFrame(
        {"who": list("aabb"), "gap": ["a", None, "b", "b"]}, geometry=shapely.points(X), crs=27700
    )
    kind = InvalidParameter if by in ("whom", "geometry") else InvalidData
    for name in QUESTIONS:
        refused(kind, "person", "person", name, frame, person=by)


def test_series_have_no_columns() -> None:
    """A GeoSeries takes labels, not the name of a column."""
    series = geopandas.GeoSeries(shapely.points(X), crs=27700)
    refused(InvalidParameter, "person", "'who'", "mean", series, person="who")


def test_sparse_persons_stop_answers() -> None:
    """If one person has fewer points than neighbours asked for, nobody's answer is drawn."""
    refused(InvalidParameter, "k", "2", "nearest", X, k=2, person=["a", "a", "a", "b"])


def test_failing_functions_stop_answers() -> None:
    """If a function gives no number for one person, nobody's answer is drawn."""
    refused(InvalidData, "fn", "", "answer", X, fn=lambda x: 1 / x[0, 0] if x[0, 0] else math.nan, person=list("bbaa"))
    refused(
        InvalidData, "fn", "", "answer", X[::-1], fn=lambda x: _first(x) if len(x) > 1 else [], person=list("aaab")
    )


# --------------------------------------------------------------------------------------------- odd, and yet legal


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32, object])
def test_number_types_are_doubles(dtype: Any) -> None:
    """Whole numbers, short floats and objects give the release of the same numbers as doubles."""
    for name in QUESTIONS:
        first, second = (ask(name, x, rng=np.random.default_rng(1)) for x in (X, X.astype(dtype)))
        if name == "hull":
            assert first.value.equals(second.value)
        else:
            np.testing.assert_array_equal(first.value, second.value)


def test_small_integers_do_not_wrap() -> None:
    """Coordinates of 8 bits are added up as wider numbers."""
    x = np.full((3, 2), 200, dtype=np.uint8)
    release = gv.Locations(x, rng=np.random.default_rng(1)).mean(rho=1e6)
    np.testing.assert_allclose(release.value, [200, 200], atol=0.1)


ODD: dict[str, NDArray[np.float64]] = {
    "one point": np.array([[300.0, -70.0]]),
    "two points": X[:2],
    "equal points": np.full((5, 2), 123.4),
    "on a line": np.outer(np.arange(6.0), [30.0, 40.0]),
    "on an axis": np.column_stack([np.arange(5.0), np.zeros(5)]),
    "far away": X + np.array([5e5, 1e7]),
    "tiny": X * 1e-9,
    "d = 1": X[:, :1],
    "d = 3": np.random.default_rng(0).normal(scale=100, size=(6, 3)),
    "d = 3, flat": np.column_stack([X, X.sum(axis=1)]),
    "d = 10": np.random.default_rng(0).normal(scale=100, size=(5, 10)),
    "d = 10, one point": np.ones((1, 10)),
}


@pytest.mark.parametrize("case", ODD)
def test_degenerate_tuples_are_answered(case: str) -> None:
    """One point, equal points, points on a line, far ones and any dimension give finite answers and errors."""
    for name, budget in product(QUESTIONS, ({"rho": 1e-4}, {"epsilon": 0.01})):
        x = ODD[case]
        n, d = x.shape
        if name == "hull" and d == 1:
            continue  # a hull takes two dimensions
        own: dict[str, Any] = {"p": np.zeros(d)} if name in PLACED else {}
        if name == "hull":
            own = {"k": "optimal"}
        for metric in ("1", "2", "inf"):
            release = ask(name, x, metric=metric, rng=np.random.default_rng(2), **budget, **own)
            value = release.value
            if name == "hull" and d == 2:
                assert not value.is_empty
                assert value.geom_type in ("Point", "LineString", "Polygon")
                value = shapely.get_coordinates(value)
            if isinstance(value, HalfSpaces):
                assert value.directions.shape == (len(value.offsets), d)
                value = value.offsets
            if name == "first_within":
                assert value is None or value in range(n)
            elif name == "nearest":
                assert value.shape == (1,)
                assert value[0] in range(n)
            else:
                assert np.isfinite(value).all()
            shape = {"points": (n, d), "bounds": (2 * d,), **dict.fromkeys(("mean", "median", "center"), (d,))}
            assert np.shape(value) == shape.get(name, np.shape(value))
        assert 0 <= release.error(0.05) < math.inf


@pytest.mark.parametrize("case", [case for case in ODD if "one" not in case])
def test_all_points_are_neighbours(case: str) -> None:
    """With k = n every point is found once, ties and all."""
    x = ODD[case]
    n, d = x.shape
    for budget in ({"rho": 1e-4}, {"epsilon": 0.01}, {"rho": 1e4}):
        release = ask("nearest", x, p=np.ones(d), k=n, rng=np.random.default_rng(3), **budget)
        assert sorted(release.value) == list(range(n))


@EVERY_QUESTION
def test_any_budget_is_met(name: str) -> None:
    """Small and large budgets give finite errors that fall as the budget grows."""
    errors = [
        ask(name, X, rng=np.random.default_rng(4), **{kind: budget}).error(0.05)
        for kind in ("rho", "epsilon")
        for budget in (1e-25, 1e-10, 1.0, 1e4)
    ]
    assert np.isfinite(errors).all()
    if name != "hull":  # whose probes depend on the noisy radius
        assert errors[:4] == sorted(errors[:4], reverse=True)
        assert errors[4:] == sorted(errors[4:], reverse=True)


@EVERY_QUESTION
def test_metric_spellings(name: str) -> None:
    """A metric is a name, a number or the metric itself, and "inf" if none is given."""
    for metric, meant in ((None, gv.dist_inf), ("inf", gv.dist_inf), ("dist_2", gv.dist_2), (1, gv.dist_1)):
        assert ask(name, X, metric=metric, rng=np.random.default_rng(5)).guarantee == gv.CGP(rho=1e-4, metric=meant)
    g = gv.GP(epsilon=0.1, metric="2")
    assert ask(name, X, epsilon=g, rng=np.random.default_rng(5)).guarantee is g


@EVERY_QUESTION
def test_system_entropy_by_default(name: str) -> None:
    """Two releases without a generator differ in their noise and say where it comes from."""
    # So large a budget that no length is cut off at 0.
    first, second = ask(name, X, rho=1), ask(name, X, rho=1)
    assert "numpy generator" not in first.inexact
    assert "numpy generator" in ask(name, X, rng=np.random.default_rng(6)).inexact
    if name not in ("nearest", "first_within"):  # which have few answers to give
        assert not np.array_equal(
            *(shapely.get_coordinates(r.value) if name == "hull" else r.value for r in (first, second))
        )


def test_functions_cannot_change_data() -> None:
    """A user's function that writes into its argument does not change the caller's array."""
    x = X.copy()

    def writes(values: NDArray[np.float64]) -> float:
        values[:] = 0
        return 0.0

    with contextlib.suppress(ValueError):
        ask("answer", x, fn=writes)
    np.testing.assert_array_equal(x, X)


@EVERY_QUESTION
@pytest.mark.parametrize("budget", [1e22, 1e-99])
def test_unrepresentable_noise_is_refused(name: str, budget: float) -> None:
    """Noise that would drown beside a coordinate, or overflow, is refused before anything is drawn."""
    for notion in ("rho", "epsilon"):
        refused(InvalidParameter, notion, "scale", name, X, **{"rho": None, "epsilon": None, notion: budget})


def test_hulls_fail_before_drawing() -> None:
    """Whatever number of probes a hull may come to need, its parts of the budget are checked first."""
    for k in (4000, "optimal"):
        refused(InvalidParameter, "rho", "", "hull", X, k=k, rho=2e-97)


def test_places_fail_before_search() -> None:
    """The noise on the neighbours' places is checked before the first one is looked for, also in the paper's way."""
    refused(InvalidParameter, "rho", "scale", "nearest", X, locations=0.99, rho=3e9)
    with pytest.raises(InvalidParameter, match=r"^rho.*scale"):
        Nearest(4, 2, gv.CGP(rho=3e9), "paper", p=np.zeros(2), k=1, locations=0.99)


# ------------------------------------------------------------------------------- arguments taken for one another


@pytest.mark.parametrize("given", [gv.local(lat=37.77, lon=-122.42, radius=50_000), "Germany", geopandas.GeoSeries()])
def test_crs_error_names_area(given: Any) -> None:
    """`crs` is the system of the data; the error names `area`."""
    with pytest.raises(InvalidParameter, match=r"^crs = .*area= states where the data is"):
        gv.Locations([[-122.41, 37.78]], crs=given).points(rho=1e-4)


@pytest.mark.parametrize("given", [geopandas.GeoSeries.from_xy([0.0], [0.0]), pd.DataFrame({"a": [1, 2]}), 3.5])
def test_data_is_no_area(given: Any) -> None:
    """Data is no area: it would have to come from public knowledge."""
    with pytest.raises(InvalidCoordinateSystem, match=r"^area = .*gv\.local"):
        gv.Locations([[-122.41, 37.78]], crs=4326, area=given).points(rho=1e-4)


def test_crs_errors_name_the_argument() -> None:
    """The argument for arrays, the frame itself for frames."""
    with pytest.raises(InvalidCoordinateSystem, match=r"^crs = 'WGS 84': .*unless area= states"):
        gv.Locations([[-122.41, 37.78]], crs=4326).points(rho=1e-4)
    with pytest.raises(InvalidCoordinateSystem, match=r"^x\.crs = None: .*crs=4326"):
        gv.Locations(geopandas.GeoSeries.from_xy([-122.41], [37.78])).points(rho=1e-4)


def test_degrees_as_metres_are_recognised() -> None:
    """Longitudes and latitudes that are said to be metres are outside of every area; the error says what they are."""
    with pytest.raises(InvalidData, match=r"longitude and latitude\? Then give crs=4326"):
        gv.Locations([[-122.41, 37.78]], crs=32610).points(rho=1e-4)
    with pytest.raises(InvalidData, match=r"not: state a larger area"):
        gv.Locations([[1e6, 37.78]], crs=32610).points(rho=1e-4)


def test_data_and_function_swapped() -> None:
    """A function in place of the data is refused, and data in place of the function with where it belongs."""
    with pytest.raises(InvalidData, match=r"^x = 'function'"):
        gv.Locations(_first)
    with pytest.raises(InvalidParameter, match=r"^fn = .*gv\.Locations\(x\)\.answer\(fn"):
        gv.Locations(X).answer(X, lipschitz=1, rho=1e-4)  # type: ignore[arg-type]
