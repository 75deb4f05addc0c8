"""What is released holds nothing of the input but what it shows: neither labels of removed rows nor true places.

Searched are the pickle of a release and every object that can be reached from it, with the arrays of which arrays are
views and the buffers of Arrow's. (Tracebacks of exceptions hold the caller's frames, and so the input: they are for
its owner's eyes.)
"""

from __future__ import annotations

import gc
import pickle
import types
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely

import geoveil as gv
from geoveil.errors import GeoveilWarning, InvalidData, InvalidParameter
from geoveil.geo.plain_values import copied, copied_index, may_hold_places
from geoveil.geo.planes import plane_of
from tests import questions
from tests.formats import BAY
from tests.geo.test_forms import ORIGIN, P, X, ask, frame
from tests.questions import EVERY_QUESTION, QUESTIONS, ask_in, release_of

pytestmark = pytest.mark.slow

#: Labels of rows, persons and categories that must not be found in what comes back.
GONE = "gone-with-the-row"
HIDDEN = "skipped-person"
#: The second row has no place; the fourth is that of a person without budget.
KEYS = ["k0", GONE, "k2", "k3", "k4", "k5", "k6"]
PEOPLE = ["ann", GONE, "bob", HIDDEN, "ann", "bob", "ann"]


def reached(start: object) -> Iterator[object]:
    """Everything that an object holds: modules, classes and functions' globals are not its own."""
    seen: set[int] = set()
    left: list[object] = [start]
    while left:
        item = left.pop()
        if id(item) in seen or isinstance(item, types.ModuleType | type):
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, types.FunctionType):
            left += [item.__closure__, item.__defaults__, item.__kwdefaults__]
            continue
        left += gc.get_referents(item)
        if isinstance(item, np.ndarray):
            left.append(item.base)
            left += item.ravel().tolist() if item.dtype == object else []
        if isinstance(item, pa.ChunkedArray):
            left += item.chunks
        if isinstance(item, pa.Array):
            left += [buffer.to_pybytes() for buffer in item.buffers() if buffer is not None]
            left += [item.dictionary] if isinstance(item, pa.DictionaryArray) else []
        for name in ("_ndarray", "_data", "_mask", "_pa_array", "_left", "_right", "_codes", "_values"):
            try:
                left.append(vars(type(item)).get(name) and getattr(item, name))
            except (TypeError, AttributeError):
                continue


def held(start: object) -> bytes:
    """The bytes of everything that an object holds, and of its pickle."""
    parts = [pickle.dumps(start)]
    for item in reached(start):
        if isinstance(item, str):
            parts.append(item.encode(errors="replace"))
        elif isinstance(item, bytes | bytearray):
            parts.append(bytes(item))
        elif isinstance(item, float):
            parts.append(np.float64(item).tobytes())
        elif isinstance(item, np.ndarray) and item.dtype != object:
            parts.append(np.ascontiguousarray(item).tobytes())
        elif isinstance(item, shapely.Geometry):
            parts.append(shapely.to_wkb(item))
    return b"\0".join(parts)


def assert_nothing_is_held(release: gv.Release, *labels: str, coords: Any = X, least: float = 1000.0) -> None:
    """Neither any of the labels nor any true coordinate, as a double or as digits."""
    # That somebody was skipped is what a release says on purpose.
    found = held(replace(release, removed=replace(release.removed, persons=())))
    for label in labels:
        assert label.encode() not in found
    # In either order of bytes; small round numbers may be anything.
    for number in np.unique(coords):
        if abs(number) > least:
            for form in (np.float64(number).tobytes(), np.array(number, ">f8").tobytes()):
                assert form not in found


def full(index: Any, **columns: Any) -> Any:
    """A frame whose second row has no place, with that index."""
    x = frame(TRUE, **columns).set_index(index)
    x.iloc[1, x.columns.get_loc("geometry")] = None
    return x


#: Coordinates that are no round numbers: their bytes are found only where they were copied.
TRUE = X + np.random.default_rng(0).uniform(size=X.shape)
NUMBERS = np.array([10, 987_654_321_123, 12, 13, 14, 15, 16])
SECRET_NUMBER = np.int64(NUMBERS[1]).tobytes()

INDICES: dict[str, Any] = {
    "words": pd.Index(KEYS, name="key"),
    "objects": pd.Index(KEYS, dtype=object),
    "categories": pd.CategoricalIndex(KEYS, categories=[*sorted(KEYS), "unused " + GONE]),
    "levels": pd.MultiIndex.from_arrays([KEYS, np.arange(7)], names=["key", "i"]),
    "levels of categories": pd.MultiIndex.from_arrays([pd.Categorical(KEYS), np.arange(7)]),
    "arrow": pd.Index(pd.array(KEYS, dtype="string[pyarrow]")),
    "arrow categories": pd.Index(pd.arrays.ArrowExtensionArray(pa.array(KEYS).dictionary_encode())),
    "tuples": pd.Index([(key, 1) for key in KEYS], tupleize_cols=False),
}
PERSONS: dict[str, Any] = {
    "column": "who",
    "array": np.array(PEOPLE),
    "list": PEOPLE,
    "categorical": pd.Categorical(PEOPLE, categories=[*sorted(set(PEOPLE)), "unused " + GONE]),
    "levels": pd.MultiIndex.from_arrays([PEOPLE, [0] * 7]),
    "tuples": [(who, 0) for who in PEOPLE],
}


@pytest.mark.parametrize("index", INDICES)
def test_dropped_labels_are_nowhere(index: str) -> None:
    """Whatever index a frame has, its release holds the labels of released rows alone."""
    for name in QUESTIONS:
        x = full(INDICES[index], kind=pd.Categorical(KEYS), number=NUMBERS)
        x.attrs["note"] = GONE
        more: dict[str, Any] = {"keep": "all"} if name == "points" else {}
        release = ask(name, x, missing="drop", **more)
        assert_nothing_is_held(release, GONE, coords=TRUE)
        assert SECRET_NUMBER not in held(release)
        if name == "points":
            assert release.value.index.tolist() == x.index[[0, 2, 3, 4, 5, 6]].tolist()
            assert release.value["number"].tolist() == np.delete(NUMBERS, 1).tolist()


@pytest.mark.parametrize("by", PERSONS)
def test_dropped_persons_are_nowhere(by: str) -> None:
    """Answers by person are indexed by the persons who were asked about, and hold no other category."""
    for name in QUESTIONS:
        column = pd.Categorical(PEOPLE, categories=[*sorted(set(PEOPLE)), "unused " + GONE])
        release = ask(name, full(INDICES["categories"], who=column), person=PERSONS[by], missing="drop")
        assert_nothing_is_held(release, GONE, coords=TRUE)
        assert next(map(str, release.person)).count("ann") == 1
        assert len(release.person) == 3


@pytest.mark.parametrize("name", ["points", "center", "nearest", "first_within", "hull"])
@pytest.mark.parametrize("by", ["column", "categorical"])
def test_skipped_persons_are_nowhere(name: str, by: str, tmp_path: Path) -> None:
    """In a session with a ledger, whoever has no budget left is listed as skipped, and is in nothing else."""
    x = full(INDICES["categories"].rename_categories({"k3": HIDDEN + " row"}), who=pd.Categorical(PEOPLE))
    with gv.Ledger(tmp_path / "ledger.db") as ledger:
        for person in set(PEOPLE) - {GONE}:
            ledger.create(person, rho=1e-9 if person == HIDDEN else 1e-3)
        for _ in range(2):  # drawn, and then as it was stored
            session = gv.Locations(x, person=PERSONS[by], missing="drop").session(
                ledger=ledger, label="all", short="skip"
            )
            release = ask_in(session, name, near=P)
            assert release.removed.persons == (HIDDEN,)
            assert release.person.tolist() == ["ann", "bob"]
            assert_nothing_is_held(release, GONE, HIDDEN, coords=TRUE)


@EVERY_QUESTION
def test_true_coordinates_are_nowhere(name: str) -> None:
    """A release holds true coordinates neither in a view of the input nor in a query nor in a cache."""
    big = np.random.default_rng(1).uniform(1e5, 2e5, size=(20, 2)) + ORIGIN
    lines = geopandas.GeoSeries([shapely.LineString(big[:4]), shapely.MultiPoint(big[4:7])], crs=32610)
    for x in (big[:7], big[:7].tolist(), shapely.MultiPoint(big[:7]), frame(big[:7]), frame(big[:7]).geometry, lines):
        release = ask(name, x)
        release.error(0.05)
        release.certificate()
        assert_nothing_is_held(release, coords=big)
    by_person = ask(name, frame(big[:7], who=PEOPLE), person="who")
    assert_nothing_is_held(by_person, coords=big)


@EVERY_QUESTION
@pytest.mark.parametrize("exact", [False, True])
def test_true_degrees_are_nowhere(name: str, exact: bool) -> None:
    """A release holds neither true degrees nor the metres that they are projected to, also with exact noise."""
    degrees = np.random.default_rng(2).uniform(0.0, 0.1, size=(7, 2)) + np.array([-122.42, 37.77])
    x = frame(degrees, crs=4326, who=PEOPLE)
    metres = np.asarray(plane_of(x.crs, BAY).into(degrees))
    for by in (None, "who"):
        rng = None if exact else np.random.default_rng(3)
        release = questions.ask(name, x, near=degrees[0].round(2), area=BAY, person=by, rng=rng)
        release.error(0.05)
        release.certificate()
        assert_nothing_is_held(release, coords=np.concatenate([degrees, metres]), least=1.0)


def test_files_hold_own_persons(tmp_path: Path) -> None:
    """Files that were released hold their own persons. The account of a released file, and what `load` makes of it."""
    places = geopandas.points_from_xy(-122.42 + np.arange(7) * 1e-3, 37.77 + np.arange(7) * 1e-3)
    x = geopandas.GeoDataFrame({"who": pd.Categorical(PEOPLE)}, geometry=places, crs=4326)
    x.loc[1, "geometry"] = None
    x.to_parquet(tmp_path / "in.parquet")
    with gv.Ledger(tmp_path / "ledger.db") as ledger:
        for person in set(PEOPLE) - {GONE}:
            ledger.create(person, rho=1e-9 if person == HIDDEN else 1e-3)
        how: Any = {"person": "who", "area": BAY, "rho": 1e-4, "missing": "drop", "ledger": ledger, "short": "skip"}
        release = release_of("points", tmp_path / "in.parquet", to=tmp_path / "out.parquet", **how)
    assert release.person.tolist() == ["ann", "bob"]
    for each in (release, gv.load(tmp_path / "out.parquet")):
        assert_nothing_is_held(each, GONE, HIDDEN, coords=shapely.get_coordinates(places))
    assert GONE.encode() not in (tmp_path / "out.parquet").read_bytes()


def test_search_finds_hidden_values() -> None:
    """Unused categories, levels, numbers beneath a mask, views, attributes: each would be noticed."""
    base = np.array([1.5, 123_456.789])
    hiding: list[tuple[object, bytes]] = [
        (pd.Categorical([GONE, "b"])[1:], GONE.encode()),
        (pd.MultiIndex.from_arrays([[GONE, "b"], [1, 2]])[1:], GONE.encode()),
        (pd.arrays.IntegerArray(NUMBERS.copy(), NUMBERS > 100), SECRET_NUMBER),
        (base[:1], np.float64(123_456.789).tobytes()),
        (pd.Series(base)[:1], np.float64(123_456.789).tobytes()),
        (pd.DataFrame({"a": base}).iloc[:1], np.float64(123_456.789).tobytes()),
        (shapely.Point(123_456.789, 0), np.float64(123_456.789).tobytes()),
    ]
    for thing, secret in hiding:
        assert secret in held(thing)
    # Functions cannot be pickled.
    for function in (lambda x, here=base: x, lambda: base, partial(np.add, base), cache(lambda: base)):
        assert any(item is base for item in reached(function))


MASKED = pd.arrays.IntegerArray(NUMBERS.copy(), NUMBERS > 100)
COLUMNS: dict[str, Any] = {
    "numbers beneath a mask": MASKED,
    "truth values": pd.array([True, None] * 3 + [False], dtype="boolean"),
    "texts": pd.array(KEYS),
    "texts of Arrow": pd.array([GONE, *KEYS], dtype="string[pyarrow]")[1:],
    "sparse": pd.arrays.SparseArray([1.0] * 7, fill_value=123_456.789),
    "periods": pd.period_range("2026-01", periods=7, freq="M"),
    "intervals": pd.interval_range(0, 7),
    "zoned": pd.date_range("2026-01-01", periods=7, tz="Europe/Berlin"),
    "ordered categories": pd.Categorical(["a", "b"] * 3 + ["a"], categories=["b", "a", GONE], ordered=True),
    "categories of intervals": pd.cut(np.arange(7), 3),
    "mixed": np.array([1, "a", None, 2.5, pd.Timestamp(0), ("a", 1), True], dtype=object),
    "arrow numbers": pd.array([1, None, 3, 4, 5, 6, 7], dtype=pd.ArrowDtype(pa.int8())),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_kept_columns_are_copies(kind: str) -> None:
    """A copy equals the column; it shares no memory with it and hides nothing."""
    values = COLUMNS[kind]
    x = frame(TRUE, extra=values)
    before = x["extra"].copy()
    released = gv.Locations(x).points(rho=1e-4, keep=["extra"]).value["extra"]
    if "categories" in kind:
        before = before.cat.remove_unused_categories()
    pd.testing.assert_series_equal(released, before, check_dtype=kind != "sparse")
    found = held(released)
    for secret in (SECRET_NUMBER, np.float64(123_456.789).tobytes()):
        assert secret not in found
    assert (GONE.encode() in found) == ("texts" in kind)  # there it is a row's own
    if isinstance(released.dtype, np.dtype) and released.dtype != object:
        assert not np.shares_memory(released.to_numpy(), np.asarray(values))


def test_index_keeps_its_kind() -> None:
    """Range, freq, names, order of categories: what is true of the released rows stays."""
    for index in (
        pd.RangeIndex(3, 24, 3, name="row"),
        pd.date_range("2026-01-01", periods=7, freq="h", name="time"),
        pd.timedelta_range("1h", periods=7, freq="h"),
        pd.period_range("2026-01", periods=7, freq="M"),
        pd.interval_range(0, 7),
        pd.CategoricalIndex(list("abcabca"), categories=list("cba"), ordered=True),
        pd.MultiIndex.from_product([[1, 2], ["x", "y"]], names=["i", None]),
    ):
        new = copied_index(index)
        pd.testing.assert_index_equal(new, index, check_freq=True, exact=True)
        assert new is not index


PLACE = shapely.Point(*TRUE[0])
TELLING: dict[str, Any] = {
    "geometries": [PLACE] * 7,
    "geometries beside words": ["home"] * 6 + [PLACE],
    "bytes": [PLACE.wkb] * 7,
    "WKT": ["somewhere"] * 6 + [PLACE.wkt],
    "EWKT": ["SRID=32610; point z (1 2 3)"] * 7,
    "hexadecimal": [PLACE.wkb_hex.lower()] * 7,
    "hexadecimal, ISO": [shapely.to_wkb(shapely.Point(1, 2, 3), hex=True, flavor="iso")] * 7,
    "hexadecimal, big-endian": [shapely.to_wkb(PLACE, hex=True, byte_order=0)] * 7,
    "GeoJSON": [shapely.to_geojson(PLACE)] * 7,
    "categories of WKT": pd.Categorical([PLACE.wkt] * 7),
    "lists": [[1.0, 2.0]] * 7,
    "dicts": [{"lon": 1.0}] * 7,
    "tuples of lists": [(1, [2.0])] * 7,
    "arrays": [np.zeros(2)] * 7,
    "objects": [object()] * 7,
    "structs of Arrow": pd.array([{"lon": 1.0}] * 7, dtype=pd.ArrowDtype(pa.struct([("lon", pa.float64())]))),
    "lists of Arrow": pd.array([[1.0]] * 7, dtype=pd.ArrowDtype(pa.list_(pa.float64()))),
    "another geometry": geopandas.GeoSeries([PLACE] * 7, crs=32610).array,
}


@pytest.mark.parametrize("kind", TELLING)
def test_place_columns_are_removed(kind: str) -> None:
    """With keep="all" they are removed and named; if they are asked for, that is refused; whatever they are called."""
    x = frame(TRUE)
    for name in ("thing", "time"):
        x[name] = pd.Series(TELLING[kind], dtype=None if hasattr(TELLING[kind], "dtype") else object)
    for keep in (None, "all"):
        release = gv.Locations(x).points(rho=1e-4, keep=keep)
        assert release.value.columns.tolist() == ["geometry"]
        assert release.removed.columns == ("thing", "time")
    for named in ("thing", ["time"]):
        with pytest.raises(InvalidParameter, match=r"^keep = .*in a call of its own"):
            gv.Locations(x).points(rho=1e-4, keep=named)
    with pytest.raises(InvalidData, match=r"^person = "):
        gv.Locations(x, person="thing").points(rho=1e-4)


@pytest.mark.parametrize("kind", ["geometries", "WKT", "bytes", "objects"])
def test_place_indexes_are_refused(kind: str) -> None:
    """Labels come back unchanged, and so does the name of an index."""
    index = pd.Index(TELLING[kind], dtype=object, tupleize_cols=False)
    for bad in (index, pd.MultiIndex.from_arrays([index, range(7)]), pd.CategoricalIndex(index.map(str), name=PLACE)):
        for x in (frame(TRUE).set_index(bad), frame(TRUE).geometry.set_axis(bad)):
            with pytest.raises(InvalidData, match=r"^x.*reset_index"):
                gv.Locations(x).points(rho=1e-4)


def test_suspicious_names_need_naming() -> None:
    """All others than these are all; naming one is taken at its word, with a warning if it is a coordinate."""
    names = ["lat", "pickup_longitude", "homeLat", "X", "y2", "the_geom", "h3_8", "Coordinates"]
    names += ["address", "city", "ZIP code", "post_code", "home", "homeaddress", "plusCode", "stations", "ipv4"]
    plain = ["note", "lateness", "alone", "by", "exam", "name_of_it", "latest"]
    plain += ["calculated_total", "platform", "plate", "inflation", "translation", "statement", "capacity"]
    x = frame(TRUE).join(pd.DataFrame(dict.fromkeys([*names, *plain], range(7))))
    release = gv.Locations(x).points(rho=1e-4, keep="all")
    assert release.removed.columns == tuple(names)
    assert "city" in gv.Locations(x).points(rho=1e-4, keep=["city"]).value
    with pytest.warns(GeoveilWarning, match="'lat' is released unchanged"):
        assert "lat" in gv.Locations(x).points(rho=1e-4, keep=["lat", "note"]).value


@pytest.mark.parametrize("name", ["in.parquet", "in.geojson", "in.csv", "in.gpkg"])
def test_file_place_columns_are_removed(name: str, tmp_path: Path) -> None:
    """Texts of geometries and nested values: removed with keep="all", refused by name, before any charge."""
    places = geopandas.points_from_xy(-122.42 + np.arange(7) * 1e-3, 37.77 + np.arange(7) * 1e-3)
    x = geopandas.GeoDataFrame({"note": list("abcdefg"), "t": [PLACE.wkt] * 7}, geometry=places, crs=4326)
    x["home"] = ["somewhere"] * 6 + [shapely.to_geojson(PLACE)]
    gone = ["t", "home"]
    if name == "in.parquet":
        x["nested"], x["pairs"] = [{"lon": 1.0}] * 7, [[1.0, 2.0]] * 7
        gone += ["nested", "pairs"]
        x.to_parquet(tmp_path / name)
    elif name == "in.csv":
        plain = pd.DataFrame(x.drop(columns="geometry")).assign(lon=places.x, lat=places.y)
        plain.to_csv(tmp_path / name, index=False)
    else:
        x.to_file(tmp_path / name)
    target = tmp_path / name.replace("in", "out")
    how: Any = {"rho": 1e-4, "area": BAY}
    for keep in (None, "all"):
        release = release_of("points", tmp_path / name, to=target, keep=keep, overwrite=True, **how)
        assert [left for left in release.removed.columns if left != "note"] == gone
        assert b"POINT" not in target.read_bytes() or name == "in.gpkg"
        assert b"coordinates\\" not in target.read_bytes()
    for column in gone:
        with pytest.raises(InvalidParameter, match=r"^keep = .*in a call of its own"):
            release_of("points", tmp_path / name, to=tmp_path / name.replace("in", "no"), keep=[column], **how)
    with pytest.raises(InvalidParameter, match=r"^person = 't'"):
        release_of("points", tmp_path / name, person="t", to=tmp_path / name.replace("in", "no"), **how)
    assert not (tmp_path / name.replace("in", "no")).exists()


class Owned(geopandas.GeoDataFrame):  # type: ignore[misc]
    """A frame of somebody's own, with an attribute that pandas carries along."""

    _metadata: ClassVar[list[str]] = ["_geometry_column_name", "secret"]

    @property
    def _constructor(self) -> Any:
        return Owned


def test_frame_attributes_are_dropped() -> None:
    """A release keeps neither attributes nor flags nor a subclass, nor the name of the columns' index."""
    x = Owned(frame(TRUE, who=PEOPLE))
    x.secret = GONE
    x.attrs = {"note": GONE}
    x.columns.name = GONE
    x = x.set_flags(allows_duplicate_labels=False)
    assert GONE.encode() in pickle.dumps((x.attrs, x.secret, x.columns.name))
    for name in ("points", "center", "nearest", "bounds"):
        release = ask(name, x, person="who")
        assert type(release.value) in (geopandas.GeoDataFrame, pd.DataFrame)
        assert release.value.attrs == {}
        assert release.value.columns.name is None
        assert release.value.flags.allows_duplicate_labels
        assert "secret" not in vars(release.value)
    smoothed = ask("points", x, person="who").smooth("taxi", times=np.arange(7))
    for each in (smoothed, smoothed.clamp(shapely.box(*ORIGIN - 1e4, *ORIGIN + 1e4))):
        assert_nothing_is_held(each, coords=TRUE)
        assert each.value.attrs == {}


def test_duplicate_columns_are_refused() -> None:
    """A name that two columns share is refused, as it cannot tell them apart."""
    x = frame(TRUE, a=range(7), b=range(7))
    x.columns = ["a", "a", "geometry"]
    with pytest.raises(InvalidData, match=r"^x\.columns"):
        gv.Locations(x).points(rho=1e-4)


def test_plain_values_are_recognised() -> None:
    """Subclasses of texts and numbers may carry more than they show."""

    class Name(str):
        place = TRUE[0]

    assert may_hold_places(np.array([Name("ann")], dtype=object))
    assert not may_hold_places(np.array(["ann", "point of sale", "0101"], dtype=object))
    assert copied(np.array([1.0])).tolist() == [1.0]
