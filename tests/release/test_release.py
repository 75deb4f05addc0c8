"""Releases: frozen, free of the input, readable, and certified."""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import subprocess
import sys
import types
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import geoveil as gv
from geoveil.queries import Hull
from tests import questions
from tests.questions import EVERY_VARIANT, VARIANTS, release_of, release_of_query

X = np.array([[0.0, 0.0], [300.0, 50.0], [-200.0, 700.0], [900.0, -400.0], [500.0, 500.0], [-600.0, -300.0]]) + 5e5
WHO = ["b", "a", "b", "c", "a", "b"]
P = (500_100.0, 500_200.0)


BY = pytest.mark.parametrize("by", [None, WHO], ids=["one tuple", "by person"])
BUDGETS: list[dict[str, Any]] = [
    *({"rho": 1e-4}, {"epsilon": 0.01}, {"rho": 1e-4, "metric": "2"}, {"epsilon": 0.01, "metric": "1"})
]


def ask(name: str, x: Any = X, **how: Any) -> gv.Release:
    """Ask a variant of a question with a seeded generator."""
    return questions.ask(name, x, near=P, rng=np.random.default_rng(1), **how)


def reachable(root: object) -> Iterator[object]:
    """Everything that an object holds, directly or not; not the modules and classes that it merely uses."""
    seen: dict[int, object] = {}
    waiting: list[object] = [root]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, (types.ModuleType, type, str, bytes, int, float)):
            continue
        seen[id(item)] = item
        yield item
        if isinstance(item, types.FunctionType):
            waiting += [item.__closure__, item.__defaults__, item.__kwdefaults__]
        elif isinstance(item, np.ndarray):
            waiting.append(item.base)
            if item.dtype == object:
                waiting += item.ravel().tolist()
        else:
            waiting += gc.get_referents(item)
            waiting += list(getattr(item, "__dict__", {}).values())


def numbers(item: object) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """The numbers that an array, a geometry or a table holds."""
    if isinstance(item, shapely.Geometry):
        return np.asarray(shapely.get_coordinates(item))
    if isinstance(item, np.ndarray) and item.dtype.kind == "f":
        return item
    return None


# ------------------------------------------------------------------------------------------------- what it holds


@pytest.mark.parametrize("form", ["array", "GeoDataFrame"])
@BY
@EVERY_VARIANT
def test_input_is_never_held(name: str, by: Any, form: str) -> None:
    """No array or geometry that can be reached from a release is, shares or contains a point of the input."""
    x = X.copy() if form == "array" else geopandas.GeoDataFrame(geometry=shapely.points(X), crs=27700)
    release = ask(name, x, person=by)
    coordinates = {float(value) for value in X.ravel()}
    found = 0
    for item in reachable(release):
        assert item is not x
        values = numbers(item)
        if values is not None:
            found += 1
            assert not (isinstance(item, np.ndarray) and isinstance(x, np.ndarray) and np.shares_memory(item, x))
            assert not coordinates & {float(value) for value in values.ravel()}
    if name in ("points", "mean", "hull", "bounds"):
        assert found  # the walk does come to what was released


def test_walk_finds_held_input() -> None:
    """The search through a release finds arrays in closures, attributes, object arrays and frames."""
    held = X.copy()
    for holder in (
        lambda: held,
        types.SimpleNamespace(a=[{"b": held}]),
        np.array([held, None], dtype=object),
        held[1:3],
        dataclasses.replace(ask("mean"), value=held[:1]),
    ):
        assert any(isinstance(item, np.ndarray) and np.shares_memory(item, held) for item in reachable(holder))
    frame = geopandas.GeoDataFrame(geometry=shapely.points(X), crs=27700)
    assert sum(isinstance(item, shapely.Point) for item in reachable(frame)) == len(X)


@BY
@EVERY_VARIANT
def test_a_release_is_frozen(name: str, by: Any) -> None:
    """Neither the fields of a release nor its arrays nor its mechanisms can be changed."""
    release = ask(name, person=by)
    for field in dataclasses.fields(release):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(release, field.name, None)
    for array in (release.value, release.coords):
        if isinstance(array, np.ndarray):
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    for mechanism in release.answers[0].mechanisms:
        with pytest.raises(dataclasses.FrozenInstanceError):
            mechanism.guarantee = gv.CGP(rho=1)


@EVERY_VARIANT
def test_released_coordinates(name: str) -> None:
    """Questions that release places have them as coords, in rows; the others have none."""
    release = ask(name)
    if name == "points":
        np.testing.assert_array_equal(np.asarray(release.coords), release.value)
    elif name in ("mean", "median", "center"):
        np.testing.assert_array_equal(np.asarray(release.coords), [release.value])
    elif name == "bounds":
        np.testing.assert_array_equal(np.asarray(release.coords).ravel(), release.value)
    elif name.startswith("hull"):
        hull = shapely.MultiPoint(np.asarray(release.coords)).convex_hull
        assert hull.equals(release.value)
    elif name == "nearest with locations":
        assert np.asarray(release.coords).shape == (1, 2)
    else:
        assert release.coords is None


@EVERY_VARIANT
def test_ids_are_unique(name: str) -> None:
    """Two releases differ in their id, even of one question with one generator."""
    ids = [ask(name).id for _ in range(10)]
    assert len(set(ids)) == 10
    assert all(len(i) == 32 and int(i, 16) >= 0 for i in ids)


# ------------------------------------------------------------------------------------------------- what it costs


@EVERY_VARIANT
def test_mechanisms_keep_the_promise(name: str) -> None:
    """The mechanisms of a release compose to at most its guarantee, which is the one asked for."""
    for budget in BUDGETS:
        release = ask(name, **budget)
        kind = gv.CGP if "rho" in budget else gv.GP
        assert release.guarantee == kind(**budget)
        spent = gv.total(m.guarantee for m in release.answers[0].mechanisms)
        assert spent <= release.guarantee
        if "hull" not in name:  # which may find fewer vertices than it has paid for
            assert Fraction(spent.budget) >= Fraction(release.guarantee.budget) * (1 - Fraction(1, 10**15))


@settings(max_examples=60)
@given(st.floats(0.001, 0.999), st.sampled_from(["inf", "2", "1"]), st.sampled_from(["rho", "epsilon"]))
def test_shares_never_exceed(share: float, metric: str, kind: str) -> None:
    """However the budget is shared between finding and placing, both together cost no more than the whole."""
    how: dict[str, Any] = {kind: "0.01", "metric": metric}
    guarantee = (gv.CGP if kind == "rho" else gv.GP)(**how)
    for release in (
        release_of("nearest", X, P, k=3, locations=share, rng=np.random.default_rng(1), **how),
        release_of_query(Hull, X, guarantee, k=3, share=share, rng=np.random.default_rng(1)),
    ):
        assert gv.total(m.guarantee for m in release.mechanism) <= release.guarantee


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.7, 0.92])
def test_shares_are_decimals(share: float) -> None:
    """A share of 0.7 leaves 0.3, not 0.30000000000000004."""
    release = gv.Locations(X, rng=np.random.default_rng(1)).nearest(P, k=2, locations=share, rho=1)
    *finding, placing = (m.guarantee for m in release.mechanism)
    assert gv.total([*finding, placing]) == release.guarantee
    assert placing == gv.CGP(rho=share)


# --------------------------------------------------------------------------------------------------- how wrong it is


@pytest.mark.slow
@BY
@EVERY_VARIANT
def test_errors_fall_with_beta(name: str, by: Any) -> None:
    """A bound that may fail more often is no larger, and that for one point is no larger than that for all."""
    betas = [1e-9, 1e-3, 0.05, 0.5, 0.95]
    for budget in BUDGETS:
        release = ask(name, person=by, **budget)
        largest = np.array([np.atleast_1d(release.error(beta)) for beta in betas], dtype=float)
        each = np.array([np.atleast_1d(release.error(beta, each=True)) for beta in betas], dtype=float)
        assert np.isfinite(largest).all()
        assert (largest >= 0).all()
        assert (np.diff(largest, axis=0) <= 1e-9).all()
        assert (np.diff(each, axis=0) <= 1e-9).all()
        assert (each <= largest * (1 + 1e-9)).all()
        assert largest[0].max() > largest[-1].max()


def test_errors_grow_with_points() -> None:
    """For one point the largest error is any one's; for more it is larger."""
    one, many = (
        gv.Locations(X[:n], rng=np.random.default_rng(1)).points(rho=gv.CGP(rho=1e-4, metric="2")) for n in (1, 6)
    )
    assert one.error(0.05) == pytest.approx(one.error(0.05, each=True))
    assert many.error(0.05) > 1.2 * many.error(0.05, each=True)
    # One Gaussian in the plane: σ√(2·log(1/β)).
    assert one.error(0.05) == pytest.approx(math.sqrt(2 * math.log(20) / 2e-4), rel=1e-9)
    assert many.error(0.05, each=True) == pytest.approx(one.error(0.05), rel=1e-9)


# ------------------------------------------------------------------------------------------------ what it says


@BY
@EVERY_VARIANT
def test_certificates_are_complete(name: str, by: Any) -> None:
    """A certificate goes through JSON unchanged and says all that the design asks for."""
    for budget in BUDGETS:
        release = ask(name, geopandas.GeoDataFrame(geometry=shapely.points(X), crs=27700), person=by, **budget)
        certificate = release.certificate()
        text = json.dumps(certificate, allow_nan=False)
        assert json.loads(text) == certificate
        notion = "rho" if "rho" in budget else "epsilon"
        assert {
            *("notion", notion, "unit", "metric", "public", "query", "method", "mechanism", "radius_95"),
            *(
                "n",
                "persons",
                "crs",
                "area",
                "beyond_the_map",
                "exact",
                "inexact",
                "fn_error",
                "rounding",
                "version",
                "id",
            ),
        } <= set(certificate)
        assert certificate["notion"] == ("CGP" if notion == "rho" else "GP")
        assert gv.CGP(rho=certificate["rho" if notion == "rho" else "epsilon"]) == gv.CGP(rho=budget[notion])
        assert certificate["unit"] == ("per square metre" if notion == "rho" else "per metre")
        assert certificate["metric"] == f"dist_{budget.get('metric', 'inf')}"
        assert certificate["query"] == name.split(",")[0].split(" ")[0]
        assert certificate["n"] == 6
        assert certificate["persons"] == (1 if by is None else 3)
        assert certificate["crs"] == "EPSG:27700"
        assert certificate["exact"] is False
        assert certificate["id"] == release.id
        assert certificate["version"] == gv.__version__
        assert "locations" not in certificate["public"]


@BY
def test_certificates_state_scale(by: Any) -> None:
    """The scale of the noise is in every certificate, for one tuple and by person."""
    for name in VARIANTS:
        assert '"scale"' in json.dumps(ask(name, person=by).certificate())


def test_certificates_name_mechanisms() -> None:
    """The certificate of a hull lists center, radius, searches and places with their budgets, scales and numbers."""
    release = release_of_query(Hull, X, gv.CGP(rho=1e-4), k=12, rng=np.random.default_rng(1))
    steps = release.certificate()["mechanism"]
    assert [(step["name"], step["times"]) for step in steps] == [
        ("Gaussian", 1),
        ("Gaussian", 1),
        ("NearestNeighbour", 12),
        ("Gaussian", 1),
    ]
    assert all(isinstance(step["scale"], float) and step["scale"] > 0 and float(step["CGP"]) > 0 for step in steps)
    assert sum(float(step["CGP"]) * step["times"] for step in steps) <= 1e-4 * (1 + 1e-12)


def test_certificate_radius() -> None:
    """For points radius_95 is the error of any one point; for other questions the error of the answer."""
    points, mean = ask("points"), ask("mean")
    assert points.certificate()["radius_95"] == points.error(0.05, each=True)
    assert mean.certificate()["radius_95"] == mean.error(0.05)
    spread: Any = ask("points", person=WHO).certificate()["radius_95"]
    assert spread["smallest"] < spread["largest"]


def test_array_certificates() -> None:
    """Arrays are metres without a coordinate system."""
    assert ask("mean").certificate()["crs"] is None


@BY
@EVERY_VARIANT
def test_release_repr(name: str, by: Any) -> None:
    """The repr says what was asked of how many points and persons, what it guarantees and how wrong it can be."""
    text = repr(ask(name, person=by))
    lines = text.splitlines()
    assert lines[0].startswith(f"Release of {name.split(',')[0].split(' ')[0]}: 6 points of ")
    assert ("one person" if by is None else "3 persons") in lines[0]
    named = [] if by is None or name.startswith("points") else ["unchanged"]
    assert [line.split()[0] for line in lines[1:]] == ["guarantee", "mechanism", "error", "exact", *named]
    assert "hidden at 75%" in text
    assert "95%" in text
    assert "array(" not in text
    assert max(map(len, lines)) < 250


def test_repr_shows_persons() -> None:
    """The repr of many points says that they belong to one person, and the scale that follows."""
    text = repr(gv.Locations(np.zeros((20_000, 2)), rng=np.random.default_rng(1)).points(rho=5e-5))
    assert "20,000 points of one person" in text
    assert "14.15 km" in text


def test_parts_are_named() -> None:
    """Query, method, mechanism, scale and exactness are there to be read."""
    release = ask("mean")
    assert (release.query, release.method, release.n, release.person) == ("mean", "best", 6, None)
    assert not release.exact
    assert release.scale == release.mechanism.scale == pytest.approx(1 / math.sqrt(2e-4))
    assert len(ask("nearest with locations").mechanism) == 2
    scales = ask("mean", person=WHO).scale
    assert isinstance(scales, pd.Series)
    assert scales.index.tolist() == ["b", "a", "c"]


# --------------------------------------------------------------------------------------------------- the public face


def test_public_names() -> None:
    """The public names are sorted, exist and change on purpose only."""
    assert gv.__all__ == [
        "Account",
        "Advice",
        "Area",
        "CGP",
        "Check",
        "Concern",
        "CrowdCounts",
        "CrowdFlows",
        "CrowdHeatMap",
        "CrowdRelease",
        "Entry",
        "GP",
        "Grid",
        "Guarantee",
        "HalfSpaces",
        "HeatMap",
        "Ledger",
        "Lipschitz",
        "Locations",
        "Mechanism",
        "Metric",
        "Motion",
        "Plan",
        "PublicKey",
        "Release",
        "Session",
        "SigningKey",
        "Stream",
        "Verification",
        "ZonesRelease",
        "__version__",
        "areas",
        "audit",
        "audit_mechanism",
        "dist_1",
        "dist_2",
        "dist_inf",
        "errors",
        "load",
        "local",
        "paper",
        "plan",
        "suggest_area",
        "total",
        "verify",
    ]
    assert len(gv.__all__) <= 45
    assert gv.__all__ == sorted(gv.__all__)
    assert all(hasattr(gv, name) for name in gv.__all__)


def test_budgets_are_keywords() -> None:
    """No question takes its budget by position, and none has one of its own."""
    for name in ("points", "hull", "mean"):
        with pytest.raises(TypeError):
            getattr(gv.Locations(X), name)(1e-4)
        with pytest.raises(gv.errors.InvalidParameter, match="exactly one"):
            ask(name, rho=None)


def test_import_is_light() -> None:
    """The package alone brings in neither pandas, geopandas, matplotlib nor scipy.stats."""
    slow = ["geopandas", "pandas", "scipy.stats", "matplotlib", "pyproj"]
    code = f"import sys, geoveil; print(*[name for name in {slow!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""


def test_arrays_need_no_frames() -> None:
    """A question about an array imports neither pandas nor geopandas."""
    code = (
        "import sys, geoveil as gv; gv.Locations([[0.0, 0.0]]).points(rho=1); gv.Locations([[0.0, 0.0]]).mean(rho=1);"
        "print(*[name for name in ('pandas', 'geopandas', 'scipy.stats') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""
