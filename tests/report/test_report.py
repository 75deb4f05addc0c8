"""Reports: the map and the text of a page, and data that is never in it."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from decimal import Decimal
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.certificates import Certificate
from geoveil.errors import InvalidData, InvalidFile, InvalidParameter
from geoveil.facts import Processing
from geoveil.geo.distortion import earth
from geoveil.release import as_layers
from geoveil.report import Balance, Layer, Report
from geoveil.report import page as page_module
from geoveil.report.composing import compose
from geoveil.report.formatting import WARNING
from geoveil.report.limits_table import CROWD_TABLE, TABLE, topics
from geoveil.report.map_projection import view_of
from geoveil.report.page import attacker_curve, gauges, page
from geoveil.report.scene import Shape
from geoveil.text.words import hidden, metres
from tests.questions import release_of

pytestmark = pytest.mark.slow

BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)
FERRY = (-122.3937, 37.7955)
ODD = "</script><b onclick='x'>&amp;\"ann"


def trips(count: int = 30, spread: float = 3000.0, by: Any = None) -> geopandas.GeoDataFrame:
    """Made-up points around San Francisco, in degrees."""
    flat = np.random.default_rng(7).normal(scale=spread, size=(count, 2))
    geometry = geopandas.points_from_xy(*flat.T, crs=BAY.crs)
    labels = np.arange(count) if by is None else by
    return geopandas.GeoDataFrame({"user": labels}, geometry=geometry).to_crs(4326)


def ask(question: str, *args: Any, x: Any = None, **how: Any) -> gv.Release:
    """A release of made-up trips."""
    rng = np.random.default_rng(1)
    given = trips() if x is None else x
    release: gv.Release = release_of(question, given, *args, **{"rho": 1e-4, "area": BAY, "rng": rng, **how})
    return release


def report_of(release: gv.Release, *more: Layer, **said: Any) -> Report:
    """The report of a release."""
    return Report("Trips", (*release.layers(), *more), release.facts(), release.certificate(), **said)


def shape_of(layer: Layer, form: str) -> Shape:
    """The first shape of a form that shows a layer."""
    scene = compose((layer,))
    assert scene is not None
    [group] = scene.layers
    return next(shape for shape in group.shapes if shape.form == form)


def truth_of(frame: geopandas.GeoDataFrame) -> Layer:
    """The truth as a layer."""
    return Layer("true places", shapely.get_coordinates(frame.geometry.array), "points", "truth")


class Outline(HTMLParser):
    """The tags of a page with their attributes, in their order; and whether each is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_page_is_whole() -> None:
    """Tags nest, and the parts follow one another: heading, plain words, map, legend, meaning, curve, details."""
    release = ask("points", person="user")
    text = page(report_of(release, remarks=("Made up.",)))
    outline = Outline(text)
    assert not outline.open
    order = [
        "<h1>",
        'class="summary"',
        'class="frame"',
        'class="legend"',
        "Made up.",
        'id="words"',
        "CGP with ρ",
        'id="curve"',
        "<table>",
    ]
    places = [text.index(part) for part in (*order, "<details>")]
    assert places == sorted(places)
    assert 'id="budget"' not in text  # nothing was charged to a ledger, so there is nothing to say
    words = release.certificate()["words"]
    assert " ".join("".join(outline.text).split()).count(words) == 2  # in the certificate, too
    assert json.loads("".join(outline.text).split("The whole certificate")[1].split("Made by")[0]) == json.loads(
        json.dumps(release.certificate())
    )
    for told in (
        "Gaussian of scale",
        "50 km around 37.77, -122.42",
        release.id,
        "95% of true locations lie within",
        "dist_inf",
    ):
        assert told in text


def test_the_page_loads_nothing() -> None:
    """No tag or style of it names a file, an address or an image."""
    text = page(report_of(ask("points", person="user")))
    for tag, attributes in Outline(text).tags:
        assert tag not in ("link", "img", "iframe", "image", "use", "a", "base", "object", "embed")
        assert not {"src", "href", "xlink:href", "srcset", "action"} & set(attributes)
    assert not re.search(r"@import|url\(|https?:|fetch\(|XMLHttp|WebSocket|import\(", text)
    assert "default-src 'none'" in text


def test_data_is_escaped() -> None:
    """Titles, names, labels, remarks, subjects and certificates that look like markup are shown, not obeyed."""
    release = ask("center")
    places = np.array([FERRY])
    layers = (Layer(ODD, places, "marks", "public", texts=(ODD,)), Layer(ODD, places, "points", "released", radius=9))
    balance = Balance(ODD, "rho", Decimal(1), Decimal("0.5"), Decimal("0.5"))
    certificate: Certificate = {**release.certificate(), "crs": ODD, "id": ODD}
    facts = replace(release.facts(), query=ODD, processing=Processing((ODD,)), inexact=ODD)
    text = page(Report(ODD, layers, facts, certificate, (balance,), (ODD,)))
    outline = Outline(text)
    assert not outline.open
    assert text.count("</script>") == 1
    assert not any("onclick" in attributes for _, attributes in outline.tags)
    assert "".join(outline.text).count(ODD) >= 8
    assert sum(tag == "b" for tag, _ in outline.tags) == 1  # of the curve


@pytest.mark.parametrize("truth", [False, True])
def test_truth_is_announced(truth: bool) -> None:
    """With a layer of truth, and only then, the page begins with a warning and its title does."""
    frame = trips()
    release = ask("points", person="user", x=frame)
    text = page(report_of(release, *([truth_of(frame)] if truth else [])))
    outline = Outline(text)
    assert (text.count(WARNING) == 2) == truth
    assert WARNING in text or not truth
    assert any(attributes.get("class") == "banner" for _, attributes in outline.tags) == truth
    assert (text.split("<title>")[1].startswith(WARNING)) == truth


def dots(text: str) -> np.ndarray[Any, Any]:
    """All points that a page draws, in metres east and north of the middle of its map."""
    paths = re.findall(r'class="dots[^"]*" d="([^"]*)"', text)
    steps = [np.array(re.findall(r"m(-?[\d.]+) (-?[\d.]+)h0", path), dtype=float) for path in paths]
    return np.concatenate([step.cumsum(axis=0) for step in steps]) * [1, -1]


def test_truth_is_absent() -> None:
    """True places are not on the page, neither on the map nor in degrees; with a layer of truth they are."""
    frame = trips(5)
    release = ask("points", person="user", x=frame)
    scene = compose(release.layers())
    assert scene is not None
    true = shapely.get_coordinates(frame.geometry.array)
    flat = scene.projection.to_map(true)
    text, told = page(report_of(release)), page(report_of(release, truth_of(frame)))
    for at, (lon, lat) in zip(flat, true, strict=True):
        assert np.hypot(*(dots(text) - at).T).min() > 1
        assert np.hypot(*(dots(told) - at).T).min() < 0.1
        assert f"{lon:.4f}" not in text
        assert f"{lat:.4f}" not in text
    released = scene.projection.to_map(shapely.get_coordinates(release.value.geometry.array))
    assert dots(text) == pytest.approx(released, abs=0.06)


def test_truth_keeps_the_view() -> None:
    """The map of a release is the same with a layer of truth and without, wherever the truth is."""
    layers = ask("points", person="user").layers()
    far = Layer("true places", np.array([[10.0, 50.0]]), "points", "truth")
    (here, view), (there, other) = view_of(layers), view_of((far, *layers))
    assert (here.lon, here.lat, view) == (there.lon, there.lat, other)
    alone, _ = view_of((far,))
    assert (round(alone.lon), round(alone.lat)) == (10, 50)


def test_tails_keep_the_view() -> None:
    """Points far out are drawn, and the first view is that of most others."""
    places = np.random.default_rng(3).normal([-122.4, 37.8], 0.01, size=(1000, 2))
    _, plain = view_of((Layer("a", places, "points", "released"),))
    places[:3] = [[-60.0, 10.0], [100.0, -20.0], [-122.4, 80.0]]
    layer = Layer("a", places, "points", "released")
    _, view = view_of((layer,))
    assert 0.8 < view.width / plain.width < 1.2
    assert len(shape_of(layer, "dots").parts[0]) == 1000


@pytest.mark.parametrize(
    ("lon", "lat"),
    [(-122.42, 37.77), (0.0, 0.0), (179.99, -17.0), (-180.0, 66.0), (15.6, 78.2), (40.0, 85.0), (0, -90)],
)
def test_metres_are_metres_everywhere(lon: float, lat: float) -> None:
    """Ways on the ground have their lengths on the map, also across the antimeridian and beside the poles."""
    azimuth = np.arange(0.0, 360.0, 15.0)
    start = np.full_like(azimuth, lon), np.full_like(azimuth, lat)
    ring = np.column_stack(earth().fwd(*start, azimuth, np.full_like(azimuth, 2000.0))[:2])
    projection, view = view_of((Layer("ring", ring, "points", "released"),))
    flat = projection.to_map(ring)
    centre = projection.to_map(np.array([[lon, lat]]))
    assert np.hypot(*(flat - centre).T) == pytest.approx(2000, rel=1e-5)
    assert 4000 < view.width < 6000
    assert 4000 < view.height < 6000


def test_points_and_radii() -> None:
    """Released points are on the map where they were released, each with its own radius."""
    frame = trips(4, by=["ann", "ann", "ann", "bob"])
    release = ask("points", person="user", x=frame)
    [layer] = release.layers(name="trips")
    assert (layer.name, layer.kind, layer.role) == ("trips", "points", "released")
    assert layer.places == pytest.approx(shapely.get_coordinates(release.value.geometry.array), abs=1e-9)
    ann, bob = release.error(0.05, each=True)
    assert np.asarray(layer.radius) == pytest.approx([ann, ann, ann, bob])


def test_unmatched_labels_widen_radius() -> None:
    """Where whose point is whose is not known, every point has the largest radius."""
    release = ask("points", x=trips(4).geometry, person=["ann", "ann", "ann", "bob"])
    [layer] = release.layers()
    assert layer.radius == pytest.approx(release.error(0.05, each=True).max())


def test_loaded_files_are_shown(tmp_path: Path) -> None:
    """What `load` gives has its layers, and so has what `points_file` gives, from the file."""
    trips(6).to_file(tmp_path / "trips.geojson")
    out = tmp_path / "out.geojson"
    release = gv.Locations(tmp_path / "trips.geojson", person="user", area=BAY).points(to=out, rho=1e-4)
    [layer] = gv.load(out).layers()
    assert layer.places.shape == (6, 2)
    [same] = release.layers()
    np.testing.assert_array_equal(same.places, layer.places)


def test_projected_layers() -> None:
    """Of data in UTM the layer is in degrees; points that noise threw off the Earth have no place."""
    x = trips(50).to_crs(32610)
    [layer] = ask("points", x=x, person="user", area=None).layers()
    assert np.abs(layer.places - [-122.4, 37.8]).max() < 1
    [lost] = ask("points", x=x, person="user", area=None, rho=1e-15).layers()
    assert np.isnan(lost.places).any()
    scene = compose((layer, lost))
    assert scene is not None
    assert any("too far away to be drawn" in remark for remark in scene.remarks)


def test_metres_have_no_map() -> None:
    """An array without a coordinate system has no layers, and its page says that it has no location."""
    release = gv.Locations([[0.0, 0.0]]).mean(rho=1e-4)
    assert release.layers() == ()
    assert "no location on a map" in page(report_of(release))


@pytest.mark.parametrize("question", ["center", "mean", "median"])
def test_place_marks(question: str) -> None:
    """A released place is a mark with its radius; of several persons each has their name."""
    release = ask(question)
    [layer] = release.layers()
    assert (layer.kind, layer.texts) == ("marks", (release.query,))
    assert layer.places[0] == pytest.approx([release.value.x, release.value.y])
    assert layer.radius == pytest.approx(release.error(0.05))
    [people] = ask(question, x=trips(4, by=["ann", "ann", "bob", "bob"]), person="user").layers()
    assert people.texts == ("ann", "bob")


def test_hull_bands() -> None:
    """A hull is drawn where it is; between the dashed lines are the hulls that it may be wrong by."""
    release = ask("hull", x=trips(400), rho=1e-2)
    [layer] = release.layers()
    scene = compose((layer,))
    assert scene is not None
    body, band = scene.layers[0].shapes
    shown = shapely.Polygon(body.parts[0])
    flat = shapely.transform(release.value, scene.projection.to_map)
    assert shapely.hausdorff_distance(shown, flat) < 20
    inner, outer = sorted((shapely.Polygon(edge) for edge in band.parts), key=lambda body: body.area)
    assert "the true edge is in this band" in scene.layers[0].keys[1].text
    off = release.error(0.05)
    assert outer.buffer(1).covers(shown.buffer(0.999 * off))
    assert shown.covers(inner)
    assert inner.exterior.distance(shown.exterior) == pytest.approx(off, rel=0.01)


def test_hulls_share_a_layer() -> None:
    """Each person's hull is a part; many have no bands."""
    frame = trips(300, by=np.repeat(np.arange(30), 10))
    [layer] = ask("hull", x=frame, person="user", rho=1e-2).layers()
    assert layer.parts is not None
    assert np.unique(layer.parts).tolist() == list(range(30))
    scene = compose((layer,))
    assert scene is not None
    [bodies] = scene.layers[0].shapes
    assert len(bodies.parts) == 30


def test_bounds_band() -> None:
    """The box of a release is drawn, and the band around it holds every box within the error."""
    release = ask("bounds")
    [layer] = release.layers()
    scene = compose((layer,))
    assert scene is not None
    _, band = scene.layers[0].shapes
    outer = max((shapely.Polygon(edge) for edge in band.parts), key=lambda body: body.area)
    assert release.coords is not None
    (west, south), (east, north) = release.coords
    off = release.error(0.05)
    assert outer.area == pytest.approx((east - west + 2 * off) * (north - south + 2 * off), rel=1e-3)


def test_neighbours_are_numbered() -> None:
    """Released places of neighbours are marks 1 to k, with the radius of their own noise; the place is public."""
    release = ask("nearest", FERRY, k=3, locations=0.5, x=trips(50), rho=1e-3)
    marks, place = release.layers()
    assert (marks.texts, marks.role) == (("1", "2", "3"), "released")
    assert (place.kind, place.role) == ("marks", "public")
    assert place.places[0] == pytest.approx(FERRY, abs=1e-6)
    assert release.coords is not None
    assert 0 < float(np.max(marks.radius)) < 1000  # type: ignore[arg-type]
    [alone] = ask("nearest", FERRY, k=3, x=trips(50)).layers()
    assert alone.role == "public"
    several = trips(60, by=np.repeat(["ann", "bob"], 30))
    marks, place = ask("nearest", FERRY, k=3, locations=0.5, x=several, person="user").layers()
    assert marks.texts == ("1", "2", "3", "1", "2", "3")


@pytest.mark.parametrize("question", ["radius", "diameter", "radius_of_gyration"])
def test_lengths_have_no_map(question: str, tmp_path: Path) -> None:
    """A length has no layers: its page has no map and says so, and there is no figure of it."""
    release = ask(question)
    assert release.layers() == ()
    report_of(release).save(tmp_path / "out.html")
    text = (tmp_path / "out.html").read_text()
    assert "no location on a map" in text
    assert "<polyline" in text
    assert 'class="frame"' not in text
    with pytest.raises(InvalidData, match=r"\.html"):
        report_of(release).save(tmp_path / "out.png")


@pytest.mark.parametrize(("question", "more"), [("distance", {}), ("first_within", {"radius": 500})])
def test_public_place_is_shown(question: str, more: dict[str, Any]) -> None:
    """Of a distance, or a first visit, the public place is on the map, and nothing else."""
    [place] = ask(question, FERRY, **more).layers()
    assert (place.role, place.kind) == ("public", "marks")
    assert place.places[0] == pytest.approx(FERRY, abs=1e-6)


def test_smoothed_and_line_releases() -> None:
    """Smoothed tracks have a band of the error to expect, as no theorem bounds it; rows that are lines are lines."""
    frame = trips(40, by=["ann"] * 40)
    smoothed = ask("points", person="user", x=frame).smooth("taxi", times=np.arange(40.0) * 60)
    [layer] = smoothed.layers()
    assert (layer.name, layer.kind, layer.radius) == ("released track", "lines", None)
    assert layer.expected == smoothed.expected_error()
    scene = compose((layer,))
    assert scene is not None
    assert scene.layers[0].shapes[0].style.metres == 2 * smoothed.expected_error()
    assert f"the expected error, {metres(smoothed.expected_error())} to each side" in scene.layers[0].keys[-1].text
    coords = shapely.get_coordinates(frame.geometry.array)
    lines = geopandas.GeoSeries([shapely.LineString(coords[:25]), shapely.LineString(coords[25:])], crs=4326)
    [layer] = ask("points", x=lines, person=["ann", "bob"]).layers()
    assert layer.kind == "lines"
    scene = compose((layer,))
    assert scene is not None
    drawn = [(shape.style.colour, len(shape.parts[0])) for shape in scene.layers[0].shapes if shape.form == "dots"]
    assert drawn == [("person-0", 25), ("person-1", 15)]
    assert [key.text for key in scene.layers[0].keys][:3] == ["released points:", "ann", "bob"]


def test_heat_map_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that can be seen are drawn where they are, shaded by their numbers; of very many, several are joined."""
    release = ask("points", x=trips(5000), person="user", rho=1e-5)
    heat = release.density(gv.Grid((-10_000, -10_000, 10_000, 10_000), cell=500))
    [layer] = heat.layers()
    assert layer.values is not None
    assert layer.values.sum() == pytest.approx(heat.value[heat.value >= 0.01 * heat.value.max()].sum())
    scene = compose((layer,))
    assert scene is not None
    darkest, key = scene.layers[0].shapes[-1], scene.layers[0].keys[-1]
    assert darkest.style == key.style
    limits = [float(limit.replace(",", "")) for limit in key.text.removesuffix(" or more").split(" to ")]
    cells = shapely.union_all([shapely.Polygon(ring) for ring in darkest.parts])
    row, column = np.unravel_index(heat.value.argmax(), heat.value.shape)
    where = geopandas.GeoSeries.from_xy(*heat.grid.centers[row, column][:, None], crs=BAY.crs).to_crs(4326)
    assert cells.covers(shapely.Point(*scene.projection.to_map(np.array([[where.x[0], where.y[0]]]))[0]))
    assert limits[0] <= heat.value.max() == pytest.approx(limits[-1], rel=0.05)
    many = len(layer.values)
    monkeypatch.setattr(as_layers, "_MOST_CELLS", many - 1)
    [coarse] = heat.layers()
    assert coarse.values is not None
    assert len(coarse.values) < many
    assert coarse.name.endswith("cells of 500 m, drawn in blocks of 1 km")
    # Cells that noise or a wide grid put off the map are left out.
    lost = np.where(layer.parts[:, None] == layer.parts[0], np.nan, layer.places)  # type: ignore[index]
    assert compose((Layer("a", lost, "grid", "released", parts=layer.parts, values=layer.values),)) is not None


@pytest.mark.parametrize("notion", [gv.CGP, gv.GP])
def test_curve_is_the_guarantee(notion: Any) -> None:
    """Its points are what `attacker` says, its mark is at 75%."""
    guarantee = notion.hiding(distance=200, chance=0.75)
    text = attacker_curve(guarantee)
    most = float(re.findall(r'data-most="([\d.]+)"', text)[0])
    points = np.array(
        [pair.split(",") for pair in re.findall(r'<polyline class="curve" points="([^"]+)"', text)[0].split()], float
    )
    for x, y in points[1:]:
        chance = 0.5 + 0.5 * (1 - y / 500)
        assert chance == pytest.approx(guarantee.attacker(distance=x / 1000 * most), abs=2e-3)
    assert "75% at 2" in text


def test_gauges_show_neediest() -> None:
    """At most ten subjects, the neediest first, with widths that are shares of the total."""
    balances = [Balance(f"p{i}", "rho", Decimal(10), Decimal(i % 10 + 1), Decimal(1)) for i in range(25)]
    text = gauges(balances, named=True)
    assert re.findall(r'class="subject">(\w+)<', text)[:2] == ["p9", "p19"]
    assert text.count('class="gauge"') == 10
    assert "15 other accounts" in text
    widths = re.findall(r'class="(before|cost|left)" style="width: ([\d.]+)%', text)
    assert widths[:3] == [("before", "90.000"), ("cost", "10.000"), ("left", "0.000")]


def test_account_names() -> None:
    """Pseudonyms, crowds and single persons leave no account's name in a report; equal balances share a bar."""
    balances = tuple(Balance(f"Secretname{i}", "rho", Decimal(10), Decimal(i % 2 + 1), Decimal(1)) for i in range(25))
    crowd = ask("heatmap", 20_000, person="user")
    unnamed = [
        ask("hull", person="user", pseudonyms=True),
        ask("points", person="user", pseudonyms=True),
        ask("hull"),
    ]
    for release in (*unnamed, crowd):
        text = page(replace(report_of(release), balances=balances))
        assert "Secretname" not in text
        assert re.findall(r'class="subject">([^<]+)<', text) == ["12 accounts", "13 accounts"]
    assert "Secretname1" in page(replace(report_of(ask("hull", person="user")), balances=balances))


def test_matplotlib_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure without matplotlib is refused with what to install; nothing is left behind."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InvalidParameter, match=re.escape("pip install 'geoveil[plot]'")):
        report_of(ask("center")).save(tmp_path / "out.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["out.docx", "out", "out.htm"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    """Only four endings are known, and the error names them."""
    with pytest.raises(InvalidParameter, match=r"\.html, \.png, \.svg or \.pdf"):
        report_of(ask("center")).save(tmp_path / name)


def test_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If drawing fails, an older report stays as it was; if the folder is missing, the error says so."""
    report = report_of(ask("center"))
    path = tmp_path / "out.html"
    report.save(path)
    before = path.read_bytes()

    def fail(*_: Any) -> str:
        raise OSError("no space left")

    monkeypatch.setattr(page_module, "attacker_curve", fail)
    with pytest.raises(InvalidFile, match="no space left"):
        report.save(path, overwrite=True)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["out.html"]
    with pytest.raises(InvalidFile, match="Create the folder first"):
        report.save(tmp_path / "missing" / "out.html")


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"kind": "dots"}, "kind"),
        ({"role": "secret"}, "role"),
        ({"places": np.zeros((3, 3))}, "places"),
        ({"places": "here"}, "places"),
        ({"places": np.array([[551_000.0, 4_180_000.0]])}, "places"),
        ({"parts": np.arange(5)}, "parts"),
        ({"radius": -1.0}, "radius"),
        ({"radius": np.ones(3)}, "radius"),
        ({"texts": ("a",)}, "texts"),
        ({"values": np.ones(2)}, "values"),
        ({"kind": "grid"}, "values"),
        ({"persons": [0, 1], "names": ("ann",)}, "persons"),
        ({"persons": [0, -1], "names": ("ann", "bob")}, "persons"),
    ],
)
def test_layers_are_checked(change: dict[str, Any], wrong: str) -> None:
    """What a layer cannot be is refused by the name of the argument."""
    given = {"name": "a", "places": np.zeros((2, 2)), "kind": "points", "role": "released", **change}
    with pytest.raises((InvalidParameter, InvalidData), match=wrong):
        Layer(**given)


def test_balances_are_checked() -> None:
    """What was spent holds what this release cost, and is no more than all."""
    with pytest.raises(InvalidParameter, match="cost"):
        Balance("ann", "rho", Decimal(1), Decimal("0.1"), Decimal("0.2"))
    assert Balance("ann", "rho", Decimal(1), Decimal("0.3"), Decimal("0.2")).left == Decimal("0.7")


def test_page_states_protection() -> None:
    """All rows of the table of protection, with their headings."""
    report = report_of(ask("points", person="user"))
    text = unescape(page(report))
    assert text.count('<th scope="col">') == 4
    shown = topics(report.facts)
    assert [topic.about for topic in shown] == [topic.about for topic in TABLE]
    for topic in shown:
        for cell in topic:
            assert f">{cell}<" in text
    # The distance is that of the release.
    assert f"here {hidden(report.facts.guarantee.hidden(chance=0.75))}," in shown[0].protected


def test_crowd_table() -> None:
    """A heat map has neither labels nor times, and its page says nothing of columns and order."""
    frame = pd.DataFrame({"lat": [37.77, 37.78], "lon": [-122.42, -122.41]})
    heat = gv.Locations(frame, person="row", area=BAY, rng=np.random.default_rng(1)).heatmap(5000, hide=200)
    text = unescape(page(report_of(heat)))
    for topic in CROWD_TABLE[2:]:
        for cell in topic:
            assert f">{cell}<" in text
    assert "At the stated distance, here 200 m, someone" in text
    assert "their order" not in text
    assert "order of points" not in text
