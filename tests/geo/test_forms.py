"""Forms: whatever locations come in, the release goes back alike, in its own units and by person."""

from __future__ import annotations

import math
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from numpy.typing import NDArray

import geoveil as gv
from geoveil.errors import InvalidCoordinateSystem, InvalidData, InvalidParameter
from geoveil.geo.areas import area_of
from geoveil.geo.table_kinds import PandasTable
from tests import questions
from tests.questions import EVERY_QUESTION, PLACED, QUESTIONS, release_of

#: A US survey foot, the unit of EPSG:2227, in metres.
FOOT = 1200 / 3937

ORIGIN = np.array([550_000.0, 4_180_000.0])
X = ORIGIN + np.array([[0, 0], [300, 50], [-200, 700], [900, -400], [500, 500], [-600, -300], [50, 1200.0]])
WHO = np.array(["b", "a", "b", "c", "a", "b", "a"])
P = ORIGIN + np.array([260.0, 60.0])
#: The same in the middle of EPSG:2227, in metres.
MOVED = np.array([1_830_000.0, 640_000.0]) - ORIGIN


def in_the_plane(crs: Any, rho: float = 1e-4) -> gv.CGP:
    """A budget per square metre on the ground, as what has to be promised per square metre of a system."""
    stretch = area_of(crs).stretch
    return gv.CGP(rho=rho) / stretch / stretch


PLACES = ["mean", "median", "center"]
LENGTHS = ["diameter", "distance", "radius", "radius_of_gyration", "answer"]


def ask(name: str, x: Any, *, seed: int = 1, **more: Any) -> gv.Release:
    """Ask a question near P with a seeded generator; of arrays with the noise that frames get."""
    rho = 1e-4 if hasattr(x, "crs") else in_the_plane(32610)
    budget = {} if {"rho", "epsilon"} & set(more) else {"rho": rho}
    return questions.ask(name, x, near=P, rng=np.random.default_rng(seed), **budget, **more)


def frame(coords: NDArray[np.float64] = X, crs: Any = 32610, name: str = "geometry", **columns: Any) -> Any:
    """A GeoDataFrame of points."""
    table = geopandas.GeoDataFrame(columns, geometry=shapely.points(coords), crs=crs)
    return table if name == "geometry" else table.rename_geometry(name)


def coordinates(value: Any) -> NDArray[np.float64]:
    """The coordinates of anything that has some."""
    value = getattr(value, "geometry", value)
    return np.asarray(shapely.get_coordinates(np.asarray(value)) if not isinstance(value, np.ndarray) else value)


# ----------------------------------------------------------------------------------------------- forms come back alike

FORMS: dict[str, Any] = {
    "array": X,
    "list": X.tolist(),
    "tuples": tuple(map(tuple, X)),
    "MultiPoint": shapely.MultiPoint(X),
    "LineString": shapely.LineString(X),
    "GeoSeries": frame().geometry,
    "GeoDataFrame": frame(),
    "GeoDataFrame of a line": geopandas.GeoDataFrame(geometry=[shapely.LineString(X)], crs=32610),
    "GeoSeries of a line and a multipoint": geopandas.GeoSeries(
        [shapely.LineString(X[:4]), shapely.MultiPoint(X[4:])], crs=32610
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_come_back(form: str) -> None:
    """The same noise falls on the same points in every form, and the form stays."""
    x = FORMS[form]
    release: Any = ask("points", x)
    expected = ask("points", X).value
    plain = not (isinstance(x, shapely.Geometry) or hasattr(x, "crs"))
    kind: Any = np.ndarray if plain else type(x)
    assert isinstance(release.value, kind)
    np.testing.assert_allclose(coordinates(release.value), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(release.coords, expected, rtol=0, atol=1e-6)
    if hasattr(x, "crs"):
        assert list(release.value.geom_type) == list(x.geom_type)
        assert release.value.crs == x.crs == release.crs
    assert release.n == len(X)


def test_point_is_a_tuple() -> None:
    """A shapely Point goes in and a shapely Point comes out."""
    release = ask("points", shapely.Point(X[0]))
    assert release.n == 1
    assert isinstance(release.value, shapely.Point)
    np.testing.assert_array_equal(coordinates(release.value), ask("points", X[:1]).value)


@pytest.mark.parametrize("form", FORMS)
def test_questions_take_every_form(form: str) -> None:
    """A question gives one answer, whatever form its points come in."""
    shaped = hasattr(FORMS[form], "crs")
    for name in QUESTIONS.keys() - {"points"}:  # points come back in their form
        more: dict[str, Any] = {"rho": 1e6} if name in ("nearest", "first_within") else {}
        expected, release = ask(name, X, **more), ask(name, FORMS[form], **more)
        value = release.value
        if name == "hull":
            assert isinstance(value, shapely.Polygon)
            assert value.hausdorff_distance(expected.value) < 1e-6
        elif name in ("nearest", "first_within") and shaped:
            rows = np.repeat(np.arange(len(FORMS[form])), shapely.get_num_coordinates(FORMS[form].geometry.array))
            np.testing.assert_array_equal(value, rows[expected.value])
        else:
            if name in PLACES and (shaped or isinstance(FORMS[form], shapely.Geometry)):
                assert isinstance(value, shapely.Point)
                value = coordinates(value)[0]
            np.testing.assert_allclose(value, expected.value, rtol=0, atol=1e-6)


def test_place_as_a_point() -> None:
    """The place is given as coordinates or as a shapely Point."""
    for name in ("nearest", "distance", "first_within"):
        assert np.array_equal(ask(name, X, p=shapely.Point(P)).value, ask(name, X, p=P.tolist()).value)


@pytest.mark.parametrize("name", PLACED)
def test_degree_places_are_projected(name: str) -> None:
    """A GeoSeries in degrees is refused as the place of points without a coordinate system, and else projected."""
    flat = geopandas.GeoSeries([shapely.Point(P)], crs=32610)
    degrees = flat.to_crs(4326)
    with pytest.raises(InvalidParameter, match=r"^p = 'in WGS 84': must be in metres.*crs="):
        ask(name, X, p=degrees)
    for p, more in ((degrees, {"crs": 32610}), (flat, {"crs": 32610}), (flat, {})):
        found = ask(name, X, p=p, rho=1e6, **more).value
        np.testing.assert_allclose(found, ask(name, X, p=P, rho=1e6).value, atol=0.01)


def test_distances_to_geometries() -> None:
    """The distance to a line or an area is that of shapely."""
    for p in (shapely.LineString([P, P + 100]), shapely.box(*(P + 500), *(P + 800)), shapely.MultiPoint([P, P + 1])):
        near = ask("distance", X, p=p, rho=1e8).value
        assert near == pytest.approx(shapely.MultiPoint(X).distance(p), abs=0.01)


# ------------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize("name", ["geometry", "where"])
@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(7, name="row"),
        pd.Index(list("gfedcba"), name="key"),
        pd.Index([3, 3, 1, 1, 1, 9, 9]),
        pd.MultiIndex.from_product([[1, 2, 3, 4, 5, 6, 7], ["x"]], names=["i", "j"]),
        pd.date_range("2020-01-01", periods=7, freq="h", name="time"),
    ],
    ids=["range", "words", "duplicates", "levels", "times"],
)
def test_frames_keep_their_index(index: pd.Index, name: str) -> None:
    """Released frames keep index, coordinate system and the name of the geometry column."""
    x = frame(name=name).set_index(index)
    for released in (ask("points", x).value, ask("points", x.geometry).value):
        pd.testing.assert_index_equal(released.index, index)
        assert released.crs == x.crs
        assert released.geometry.name == name
    assert ask("points", x).value.columns.tolist() == [name]


def test_other_columns_stay_behind() -> None:
    """Columns that may give places away are dropped; the one that says whose a row is stays."""
    x = frame(address=list("stuvwxy"), who=WHO, lat=X[:, 1])
    x["home"] = x.geometry
    assert ask("points", x).value.columns.tolist() == ["geometry"]
    released = ask("points", x, person="who").value
    assert sorted(released.columns) == ["geometry", "who"]
    assert released["who"].tolist() == WHO.tolist()
    assert ask("points", x, person=WHO).value.columns.tolist() == ["geometry"]


def test_column_search_is_for_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are searched for places where they may be released, with points, and not for other answers."""
    searched: list[Any] = []
    search = PandasTable.holds_places

    def noted(table: PandasTable, name: Any) -> bool:
        searched.append(name)
        return search(table, name)

    monkeypatch.setattr(PandasTable, "holds_places", noted)
    homes = pd.DataFrame({"lat": [1.0, 1.001], "lon": [2.0, 2.001], "note": ["a", "b"], "who": [1, 2]})
    area = gv.local(lat=1, lon=2, radius=5_000)
    session = gv.Locations(homes, person="who", area=area).session(rho=1)
    session.center(rho=1e-4)
    gv.Locations(homes, area=area).center(rho=1e-4)
    assert not searched
    session.points(rho=1e-4)
    assert "note" in searched


def test_equal_columns_are_refused() -> None:
    """Two columns of one name are refused, whatever is asked."""
    twice = pd.DataFrame([[1.0, 2.0, "a", "b"]], columns=["lat", "lon", "note", "note"])
    for question in ("points", "center"):
        with pytest.raises(InvalidData, match="different names"):
            release_of(question, twice, rho=1e-4, area=gv.local(lat=1, lon=2, radius=5_000))


def test_active_geometry_is_released() -> None:
    """Of several geometry columns the active one counts."""
    x = frame()
    x["other"] = geopandas.GeoSeries(shapely.points(X + 1e5), crs=32610)
    np.testing.assert_array_equal(
        coordinates(ask("points", x.set_geometry("other")).value), ask("points", X + 1e5).value
    )


@EVERY_QUESTION
def test_feet_become_metres(name: str) -> None:
    """A frame in feet gets the noise of the same points in metres; places come back in feet, lengths in metres."""
    feet = frame((X + MOVED) / FOOT, crs=2227)
    place = {"p": P + MOVED} if name in PLACED else {}
    metres = ask(name, X + MOVED, rho=in_the_plane(2227), **place)
    release = ask(name, feet, **{key: p / FOOT for key, p in place.items()})
    assert np.ravel(release.scale) == pytest.approx(np.ravel(metres.scale), rel=1e-3)
    if name == "nearest":  # the plane's share of its error follows from the width of the area
        assert release.error(0.05) > metres.error(0.05)
    else:
        assert release.error(0.05) == pytest.approx(metres.error(0.05), rel=1e-3)
    assert release.crs == feet.crs
    if name in ("nearest", "first_within"):
        assert np.array_equal(release.value, metres.value)
    elif name in LENGTHS:
        assert release.value == pytest.approx(metres.value, abs=1e-4)
    else:
        here, there = (coordinates(r.value).reshape(-1, 2) for r in (release, metres))
        np.testing.assert_allclose(here * 0.3048006096, there, rtol=0, atol=0.002)
        assert np.abs(here - there).max() > 1e6


def test_survey_feet_differ() -> None:
    """An international foot is not a US survey foot."""
    survey = np.asarray(ask("points", frame((X + MOVED) / FOOT, crs=2227), rho=1e8).coords)
    np.testing.assert_allclose(survey, X + MOVED, rtol=0, atol=0.01)
    arizona = (X - ORIGIN + [213_000.0, 250_000.0]) / 0.3048
    international = np.asarray(ask("points", frame(arizona, crs=2222), rho=1e8).coords)
    np.testing.assert_allclose(international, arizona * 0.3048, rtol=0, atol=0.01)


def test_places_use_data_units() -> None:
    """With data in feet, places and areas are in feet, and a radius in metres."""
    x, p = X + MOVED, P + MOVED
    feet = frame(x / FOOT, crs=2227)
    near = ask("nearest", feet, p=shapely.Point(x[3] / FOOT), rho=1e6)
    assert near.value.tolist() == [3]
    area = shapely.box(*(x[3] / FOOT + 1000), *(x[3] / FOOT + 2000))
    assert ask("distance", feet, p=area, rho=1e8).value == pytest.approx(1000 * math.sqrt(2) * FOOT, abs=0.01)
    # From P, the second point is 41 m (135 ft) away, the first 267 m (875 ft).
    assert ask("first_within", feet, p=p / FOOT, radius=100, rho=1e4).value == 1
    assert ask("first_within", feet, p=p / FOOT, radius=300, rho=1e4).value == 0


@pytest.mark.parametrize(
    ("crs", "why"),
    [
        (None, "crs=4326 for longitude"),
        ("EPSG:4326", "degrees are not metres"),
        ("EPSG:4979", "degrees are not metres"),
        ("EPSG:3857", "Mercator"),
        ("EPSG:3395", "Mercator"),
        ("ESRI:102100", "Mercator"),
        ("EPSG:3857+5703", "Mercator"),
        ("+proj=merc +a=6378137 +b=6378137 +nadgrids=@null +wktext +type=crs", "register"),
        ("+proj=merc +ellps=bessel +towgs84=1,2,3 +type=crs", "register"),
        ("+proj=merc +units=us-ft +type=crs", "register"),
    ],
)
def test_non_ground_metres_are_refused(crs: Any, why: str) -> None:
    """Degrees, Mercator in any disguise and a missing system are refused with the remedy."""
    for x in (frame(X / 1e5, crs=crs), frame(X / 1e5, crs=crs).geometry):
        with pytest.raises(InvalidCoordinateSystem, match=why) as caught:
            ask("points", x)
        if crs is not None:
            assert "area=gv.local(" in str(caught.value)
            assert ("not from the data" in str(caught.value)) == (why != "register")


@pytest.mark.parametrize(
    ("crs", "middle"),
    [
        ("EPSG:32610", ORIGIN),
        ("EPSG:26910", ORIGIN),
        ("EPSG:32610+5703", ORIGIN),
        ("EPSG:3035", [4.5e6, 3e6]),
        ("EPSG:2154", [7e5, 6.6e6]),
        ("ESRI:102003", [0.0, 0.0]),
    ],
)
def test_metre_systems_are_taken(crs: str, middle: Any) -> None:
    """Projected systems in metres are worked in as they are, with noise for what they stretch."""
    x = X - ORIGIN + middle
    plain = ask("points", x, rho=in_the_plane(crs)).value
    np.testing.assert_array_equal(coordinates(ask("points", frame(x, crs=crs)).value), plain)


# ---------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(list("gfedcba")),
        pd.Index([100, 90, 80, 70, 60, 50, 40]),
        pd.Index([2**60 + i for i in range(7)]),
        pd.date_range("2020-01-01", periods=7, freq="h"),
        pd.MultiIndex.from_product([[1, 2, 3, 4, 5, 6, 7], ["x"]]),
    ],
    ids=["words", "backwards", "large", "times", "levels"],
)
def test_frame_neighbours_are_labels(index: pd.Index) -> None:
    """Questions about points give index labels, of a series or a frame, never positions."""
    for x in (frame().set_index(index), frame().geometry.set_axis(index)):
        found = ask("nearest", x, k=3, rho=1e6).value
        assert list(found) == [index[1], index[0], index[4]]
        assert ask("first_within", x, radius=300, rho=1e6).value == index[0]
        assert ask("first_within", x, radius=100, rho=1e6).value == index[1]
        assert ask("first_within", x, radius=1, rho=1e6).value is None


def test_array_neighbours_are_positions() -> None:
    """Arrays and geometries have no labels: positions are given."""
    for x in (X, shapely.MultiPoint(X), shapely.LineString(X)):
        assert ask("nearest", x, k=3, rho=1e6).value.tolist() == [1, 0, 4]
        assert ask("first_within", x, radius=300, rho=1e6).value == 0


def test_neighbours_have_places() -> None:
    """With locations= the places of the neighbours are released as coords, in metres and in the order found."""
    moved = X + MOVED
    for x, p, metres in ((X, P, X), (frame(moved / FOOT, crs=2227), (P + MOVED) / FOOT, moved)):
        release: Any = ask("nearest", x, p=p, k=3, locations=0.5, rho=1e6)
        np.testing.assert_allclose(release.coords, metres[[1, 0, 4]], atol=0.1)
    assert ask("nearest", X).coords is None


# -------------------------------------------------------------------------------------------------- rows of vertices

LINES = geopandas.GeoDataFrame(
    {"who": ["a", "b", "a"]},
    geometry=[shapely.LineString(X[:3]), shapely.Point(X[3]), shapely.MultiPoint(X[4:])],
    crs=32610,
    index=["walk", "stop", "visits"],
)


def test_lines_stay_lines() -> None:
    """A row that is a line or a multipoint is its vertices, and comes back with as many."""
    released = ask("points", LINES).value
    assert released.geom_type.tolist() == ["LineString", "Point", "MultiPoint"]
    assert shapely.get_num_coordinates(released.geometry.array).tolist() == [3, 1, 3]
    assert released.index.tolist() == ["walk", "stop", "visits"]
    np.testing.assert_array_equal(coordinates(released), ask("points", X).value)


def test_vertices_name_their_row() -> None:
    """A vertex that is found is named by the label of its row."""
    assert ask("nearest", LINES, k=3, rho=1e6).value.tolist() == ["walk", "walk", "visits"]
    assert ask("first_within", LINES, p=X[3], radius=10, rho=1e6).value == "stop"


def test_lines_belong_to_persons() -> None:
    """By person, all vertices of a row are the row's person's."""
    release = ask("points", LINES, person="who")
    assert release.person.tolist() == ["a", "b"]
    stretch = area_of(32610).stretch
    np.testing.assert_allclose(release.scale, stretch * np.sqrt(np.array([6, 1]) / (2 * 1e-4)), rtol=1e-12)
    means = ask("mean", LINES, person="who", rho=1e8).value
    np.testing.assert_allclose(coordinates(means), [X[[0, 1, 2, 4, 5, 6]].mean(axis=0), X[3]], atol=0.01)


@pytest.mark.parametrize(
    "x",
    [
        shapely.Point(1, 2, 3),
        shapely.LineString([(0, 0, 1), (1, 1, 2)]),
        shapely.MultiPoint([(0, 0, 1), (1, 1, 2)]),
        geopandas.GeoSeries(shapely.points([[5e5, 1, 2], [5e5, 4, 5]]), crs=32610),
        geopandas.GeoDataFrame(geometry=shapely.points([[5e5, 1, 2], [5e5, 4, 5]]), crs=32610),
    ],
    ids=["Point", "LineString", "MultiPoint", "GeoSeries", "GeoDataFrame"],
)
def test_altitudes_are_dropped(x: Any) -> None:
    """Z is dropped, and that is said; what comes back is in the plane."""
    with pytest.warns(UserWarning, match=r"Altitudes \(Z\) are dropped"):
        value = ask("points", x).value
    assert not np.any(value.has_z)
    assert coordinates(value).shape[1] == 2


@pytest.mark.parametrize(
    "bad",
    [
        shapely.box(0, 0, 1, 1),
        shapely.Point(),
        shapely.LineString(),
        shapely.LinearRing([(0, 0), (1, 0), (1, 1)]),
        shapely.GeometryCollection([shapely.Point(0, 0)]),
        None,
    ],
    ids=lambda g: "missing" if g is None else f"{g.geom_type}{' empty' if g.is_empty else ''}",
)
def test_polygons_are_refused(bad: Any) -> None:
    """Rows are points, lines or multipoints that are not empty; the first other one is named."""
    x = geopandas.GeoSeries([shapely.Point(0, 0), bad, bad], crs=32610)
    for given in (x, geopandas.GeoDataFrame(geometry=x)):
        with pytest.raises(InvalidData, match=r"^x\[1\] = .*(not empty|several).* 2 of 3 rows"):
            ask("points", given)
    if bad is not None:
        with pytest.raises(InvalidData, match=r"^x\[0\] = "):
            ask("points", bad)


def test_rowless_frames_are_refused() -> None:
    """There must be at least one row."""
    with pytest.raises(InvalidData, match="at least one point"):
        ask("points", frame()[:0])


# ------------------------------------------------------------------------------------------------------ persons


@pytest.mark.parametrize("budget", [{"rho": 5e-5}, {"rho": 5e-5, "metric": "2"}], ids=["inf", "2"])
def test_scales_follow_persons(budget: dict[str, Any]) -> None:
    """Under dist_inf a person of n points has σ = √(n/(2ρ)), under dist_2 √(1/(2ρ)); errors are by person too."""
    release = ask("points", frame(who=WHO), person="who", **budget)
    sizes = np.array([3, 3, 1]) if "metric" not in budget else np.ones(3)
    assert release.person.tolist() == ["b", "a", "c"]
    assert release.scale.index.tolist() == ["b", "a", "c"]
    assert release.scale.index.name == "who"
    stretch = area_of(32610).stretch
    np.testing.assert_allclose(release.scale, stretch * np.sqrt(sizes / (2 * 5e-5)), rtol=1e-12)
    for person in "abc":
        alone = ask("points", frame(X[person == WHO]), **budget)
        assert release.error(0.05)[person] == alone.error(0.05)
        assert release.error(0.05, each=True)[person] == alone.error(0.05, each=True)


def test_epsilon_is_not_split() -> None:
    """Under dist_inf and GP the noise of a person's points has the scale 1/ε, however many they are."""
    released = ask("points", X, person=WHO, rho=None, epsilon=0.01)
    np.testing.assert_allclose(released.scale, [100, 100, 100], rtol=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("budget", "sizes"),
    [
        ({"rho": 5e-5}, (100.0, 2000.0)),
        ({"rho": 5e-5, "metric": "2"}, (100.0, 100.0)),
        # Of r·U(disc) with r ~ Gamma(D+1, 1/ε) a coordinate has the variance (D+1)(D+2)/(4ε²).
        ({"rho": None, "epsilon": 0.01}, (math.sqrt(3) * 100, math.sqrt(801 * 802) / 2 * 100)),
        # Of a spherical Laplace vector in R^D a coordinate has the variance (D+1)/ε².
        ({"rho": None, "epsilon": 0.01, "metric": "2"}, (math.sqrt(3) * 100, math.sqrt(801) * 100)),
    ],
    ids=["CGP inf", "CGP 2", "GP inf", "GP 2"],
)
def test_persons_have_own_noise(budget: dict[str, Any], sizes: tuple[float, float]) -> None:
    """In one release, persons of one point and of 400 points have the root mean square noise of their own scale."""
    who = np.repeat(np.arange(401), [400] + [1] * 400)
    noise = np.stack([ask("points", np.zeros((800, 2)), person=who, seed=seed, **budget).value for seed in range(20)])
    for drawn, size in ((noise[:, 400:], sizes[0]), (noise[:, :400], sizes[1])):
        assert np.sqrt(np.mean(drawn**2)) == pytest.approx(size, rel=0.04)


@EVERY_QUESTION
def test_persons_have_own_answers(name: str) -> None:
    """With a huge budget every person's answer is the true one about their points, by array and by frame."""
    more: dict[str, Any] = {"rho": 1e8}
    if name in ("nearest", "first_within"):
        more |= {"k": 1} if name == "nearest" else {"radius": 1e4}
    for x, by in ((X, WHO), (frame(who=WHO), "who"), (shapely.MultiPoint(X), WHO)):
        release = ask(name, x, person=by, **more)
        for person in "abc":
            rows = np.flatnonzero(person == WHO)
            truth = ask(name, X[rows], **more).value
            if name == "points":
                np.testing.assert_allclose(coordinates(release.value)[rows], X[rows], atol=0.01)
                continue
            own = release.value.loc[person]
            if name == "nearest":
                assert own["nearest"].tolist() == [rows[truth[0]]]
            elif name == "first_within":
                assert own["first_within"] == rows[truth]
            elif name == "hull":
                assert shapely.hausdorff_distance(own["geometry"], truth) < 1
                whole = shapely.MultiPoint(X[rows]).convex_hull
                assert shapely.hausdorff_distance(own["geometry"], whole) <= release.error(0.05)[person]
            elif name in PLACES and not isinstance(x, np.ndarray):
                np.testing.assert_allclose(coordinates(own["geometry"])[0], truth, atol=0.01)
            else:
                np.testing.assert_allclose(np.asarray(own, dtype=float).squeeze(), truth, atol=0.01)


@EVERY_QUESTION
def test_answers_by_person(name: str) -> None:
    """Other than points, answers by person are a frame with a row for each person in the order they appear."""
    if name == "points":
        pytest.skip("points come back as the same rows")
    value = ask(name, frame(who=WHO), person="who").value
    persons = value.index.get_level_values(0)
    assert isinstance(value, pd.DataFrame)
    assert persons.tolist() == ["b", "a", "c"]
    assert persons.name == "who"
    if name in [*PLACES, "hull"]:
        assert isinstance(value, geopandas.GeoDataFrame)
        assert value.crs == "EPSG:32610"
    unnamed = ask(name, X, person=WHO).value
    assert unnamed.index.get_level_values(0).tolist() == ["b", "a", "c"]
    assert unnamed.index.names[0] == "person"


def test_neighbours_by_person() -> None:
    """Neighbours by person have a row for each person and rank, and name rows of the whole input."""
    x = frame(who=np.array(["b", "a", "b", "a", "a", "b", "a"]), row=list("tuvwxyz")).set_index("row")
    value = ask("nearest", x, person="who", k=3, rho=1e6).value
    assert value.index.tolist() == [(who, rank) for who in "ba" for rank in (1, 2, 3)]
    assert value.index.names == ["who", "rank"]
    assert value["nearest"].tolist() == ["t", "v", "y", "u", "x", "w"]
    positions = ask("nearest", X, person=np.asarray(x["who"]), k=3, rho=1e6).value
    assert positions["nearest"].tolist() == [0, 2, 5, 1, 4, 3]


@pytest.mark.parametrize("start", [0, 2**60 + 1], ids=["small", "large"])
def test_unvisited_persons_lack_labels(start: int) -> None:
    """Where one person has no first visit the others' labels stay what they are."""
    x = frame(who=WHO).set_index(pd.Index(np.arange(start, start + 7)))
    value = ask("first_within", x, person="who", radius=100, rho=1e6).value["first_within"]
    assert value["a"] == start + 1
    assert isinstance(value["a"], (int, np.integer))
    assert value.isna().tolist() == [True, False, True]
    assert ask("first_within", X, person=WHO, radius=1, rho=1e6).value["first_within"].isna().all()


def test_neighbour_places_by_person() -> None:
    """What locations= has paid for is in the release: a row for each person and rank."""
    by = np.array(["b", "a", "b", "a", "a", "b", "a"])
    release = ask("nearest", X, person=by, k=2, locations=0.5, rho=1e6)
    found = release.value["nearest"].to_numpy()
    assert release.coords is not None
    np.testing.assert_allclose(release.coords, X[found], atol=0.1)


@EVERY_QUESTION
def test_row_order_is_irrelevant(name: str) -> None:
    """Each person's answer is the same whether their rows are together or between those of others."""
    together = np.concatenate([np.flatnonzero(person == WHO) for person in "bac"])
    mingled, sorted_ = frame(who=WHO), frame(who=WHO).iloc[together]
    first, second = (ask(name, x, person="who").value for x in (mingled, sorted_))
    if name == "points":
        assert not np.array_equal(coordinates(first), coordinates(second))
        second = second.loc[first.index]
    if hasattr(first, "geometry"):
        np.testing.assert_array_equal(coordinates(first), coordinates(second))
        first, second = (pd.DataFrame(x.drop(columns="geometry")) for x in (first, second))
    pd.testing.assert_frame_equal(first, second)


@EVERY_QUESTION
def test_labels_of_every_kind(name: str) -> None:
    """A column, a list, an array, a Series or a Categorical of the same labels give the same answers."""
    x = frame(who=WHO)
    first, *others = (ask(name, x, person=by) for by in ("who", WHO, WHO.tolist(), x["who"], pd.Categorical(WHO)))
    for other in others:
        assert other.person.tolist() == first.person.tolist()
        if hasattr(first.value, "geometry"):
            np.testing.assert_array_equal(coordinates(other.value), coordinates(first.value))
        else:
            np.testing.assert_array_equal(other.value, first.value)


def test_misaligned_labels_are_refused() -> None:
    """A Series that was sorted or filtered would give points to the wrong persons."""
    x = frame(who=WHO)
    for by in (x["who"].sort_values(), pd.Series(WHO, index=range(7, 14))):
        with pytest.raises(InvalidData, match="reindex"):
            ask("mean", x, person=by)


@pytest.mark.parametrize("columns", [["east", "north"], ["id", "x", "y"]])
def test_tables_need_a_system(columns: list[str]) -> None:
    """Columns of x and y may hold metres of any plane; the remedy says how to state which."""
    with pytest.raises(InvalidCoordinateSystem, match="crs=4326"):
        gv.Locations(pd.DataFrame(np.zeros((3, len(columns))), columns=columns)).points(rho=1)
    with pytest.raises(InvalidData, match="set_geometry"):
        gv.Locations(geopandas.GeoDataFrame(np.zeros((3, len(columns))), columns=columns)).points(rho=1)


def test_places_have_own_systems() -> None:
    """A GeoSeries of one geometry is brought into the system of x, wherever a place is asked for."""
    x = frame(crs=32610)
    place = geopandas.GeoSeries([shapely.Point(X[4])], crs=32610).to_crs(4326)
    assert gv.Locations(x).nearest(place, k=1, rho=1e6).value[0] == x.index[4]
    assert gv.Locations(x).distance(place.to_frame("geometry"), rho=1e6).value < 1
    assert gv.Locations(x).distance(place.to_crs(32610).buffer(5).to_crs(4326), rho=1e6).value < 1
    with pytest.raises(InvalidData, match="one place"):
        gv.Locations(x).nearest(x.geometry, k=1, rho=1)


def test_positions_tell_vertices_apart() -> None:
    """Where labels repeat, the positions of a release are those of the points themselves."""
    line = geopandas.GeoSeries([shapely.LineString(X[:4])], crs=32610)
    release = gv.Locations(line).nearest(X[2], k=1, rho=1e6)
    assert release.value.tolist() == [0]
    assert release.positions.tolist() == [2]
    assert gv.Locations(X).mean(rho=1).positions is None


def test_label_types_differ() -> None:
    """The number 1 and the word "1" are two persons."""
    assert len(ask("mean", X, person=[1, "1", 1, "1", 1, "1", 1]).person) == 2


def test_unique_labels_are_persons() -> None:
    """With as many labels as rows every point has a budget of its own."""
    release = ask("points", X, person=range(7))
    np.testing.assert_allclose(release.scale, area_of(32610).stretch * math.sqrt(1 / 2e-4), rtol=1e-12)
    assert ask("points", X).scale > 2.6 * release.scale[0]


@pytest.mark.parametrize(
    ("d", "places", "boxes"),
    [
        (1, ["x"], ["minx", "maxx"]),
        (2, ["x", "y"], ["minx", "miny", "maxx", "maxy"]),
        (3, ["x", "y", "z"], ["minx", "miny", "minz", "maxx", "maxy", "maxz"]),
        (4, ["x0", "x1", "x2", "x3"], [f"{end}x{i}" for end in ("min", "max") for i in range(4)]),
    ],
)
def test_person_columns_are_named(d: int, places: list[str], boxes: list[str]) -> None:
    """Places and boxes by person have a column for each coordinate, in any dimension."""
    x = np.random.default_rng(0).normal(scale=100, size=(7, d))
    for name in PLACES:
        assert ask(name, x, person=WHO).value.columns.tolist() == places
    assert ask("bounds", x, person=WHO).value.columns.tolist() == boxes
    assert ask("answer", x, fn=lambda x: x[0, :1].repeat(3), size=3, person=WHO).value.shape == (3, 3)


def test_solid_hulls_by_person() -> None:
    """In three dimensions a hull by person is an array of vertices for each."""
    x = np.random.default_rng(0).normal(scale=100, size=(7, 3))
    value = ask("hull", x, person=WHO).value
    assert value.index.tolist() == ["b", "a", "c"]
    assert all(vertices.shape[1] == 3 for vertices in value["hull"])


# ------------------------------------------------------------------------------------------- the input is left alone


@pytest.mark.parametrize("by", [None, "who"], ids=["one tuple", "by person"])
@EVERY_QUESTION
def test_input_is_unchanged(name: str, by: str | None) -> None:
    """Neither arrays nor frames nor labels are changed by a question, nor need they be writeable."""
    x, who, p = X.copy(), WHO.copy(), P.copy()
    for array in (x, who, p):
        array.flags.writeable = False
    more = {"p": p} if name in PLACED else {}
    ask(name, x, person=None if by is None else who, **more)
    np.testing.assert_array_equal(x, X)
    table = frame(who=WHO, note=list("1234567"))
    before = table.copy(deep=True)
    ask(name, table, person=by)
    pd.testing.assert_frame_equal(pd.DataFrame(table), pd.DataFrame(before))
    assert table.crs == before.crs


@pytest.mark.parametrize("by", [None, WHO], ids=["one tuple", "by person"])
@EVERY_QUESTION
def test_result_shares_no_memory(name: str, by: Any) -> None:
    """Changing the input afterwards changes nothing that was released."""
    x, p = X.copy(), P.copy()
    more = {"p": p} if name in PLACED else {}
    release = ask(name, x, person=by, **more)
    arrays = [a for a in (release.value, release.coords) if isinstance(a, np.ndarray)]
    assert not any(np.shares_memory(a, given) for a in arrays for given in (x, p))
    before = (release.error(0.1), repr(release), str(release.value))
    x[:], p[:] = 7, 7
    assert str(release.error(0.1)) == str(before[0])
    assert (repr(release), str(release.value)) == before[1:]


def test_released_frames_are_copies() -> None:
    """What is done to a released frame is not done to the input."""
    x = frame(who=WHO)
    released = ask("points", x, person="who").value
    released["who"] = released["who"].str.upper()
    released.loc[released.index[0], "who"] = "nobody"
    released.geometry = released.geometry.translate(1, 1)
    assert x["who"].tolist() == WHO.tolist()
    np.testing.assert_array_equal(coordinates(x), X)


def test_neighbours_show_labels() -> None:
    """Two rows of a range are not shown as a range, but by their labels."""
    x = geopandas.GeoSeries.from_xy([0.0, 1e4, 2e4, 3e4], [0.0] * 4, crs=gv.local(lat=0, lon=0, radius=50_000).crs)
    assert repr(gv.Locations(x).nearest((0.0, 0.0), k=2, rho=1).value) == "Index([0, 1], dtype='int64')"
