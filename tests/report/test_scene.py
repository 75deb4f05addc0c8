"""What a map shows: densities, tracks by person, flows, classes and colours, the same for every face."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

import geoveil as gv
from geoveil.release.as_layers import cells_layer
from geoveil.release.crowd_release import CrowdCounts
from geoveil.report import Layer, Report, compose
from geoveil.report.classes import hexagons, limits_of
from geoveil.report.composing import DOTS
from geoveil.report.labelling import box_of, without_overlaps
from geoveil.report.page import page
from geoveil.report.palette import DARK, LIGHT, PERSONS, SHADES, person, shade
from geoveil.report.scene import Label

pytestmark = pytest.mark.slow


def test_many_points_are_density() -> None:
    """More points than can be told apart are counted in hexagons without seams, all of them, with a legend."""
    places = np.random.default_rng(5).normal([-122.4, 37.8], 0.05, size=(50_001, 2))
    layer = Layer("visits", places, "points", "released", radius=100.0)
    scene = compose((layer,))
    assert scene is not None
    [group] = scene.layers
    *shades, circle, dot = group.shapes
    assert [shape.form for shape in shades] == ["fill"] * len(shades)
    assert 3 <= len(shades) <= SHADES
    assert circle.form == "circles"
    assert circle.parts[0][0, 2] == 100
    assert dot.form == "dots"
    assert dot.parts[0] == pytest.approx(circle.parts[0][:, :2])  # so that nobody takes the circle for a town
    text = page(Report("Visits", (layer,), gv.Locations(np.zeros((9, 2))).center(rho=1).facts(), {}))
    assert "points in hexagons 1 km wide" in text
    assert "95% of true locations lie within such a circle: radius 100 m" in text
    assert text.count('class="dots"') == 1  # the middle of the circle
    assert len(text) < 600_000
    few = compose((replace(layer, places=places[:DOTS]),))
    assert few is not None
    assert {shape.form for shape in few.layers[0].shapes} == {"dots", "circles"}


def test_hexagons_count_once() -> None:
    """Hexagons share corners exactly, contain the points that they count, and cover each place once."""
    flat = np.random.default_rng(5).normal(scale=900.0, size=(4000, 2))
    corners, counts = hexagons(flat, 200.0)
    assert counts.sum() == 4000
    cells = shapely.polygons(corners)
    tree = shapely.STRtree(cells)
    point, cell = tree.query(shapely.points(flat), predicate="intersects")
    assert np.bincount(cell, minlength=len(cells)) == pytest.approx(counts)
    assert len(point) == 4000
    whole = shapely.coverage_union_all(cells)
    assert whole.area == pytest.approx(shapely.area(cells).sum())
    assert shapely.coverage_is_valid(cells)


@pytest.mark.parametrize(
    ("least", "most", "limits"),
    [
        (1, 1, [1]),
        (1, 37, [1, 2, 5, 10, 20]),
        (1, 5000, [1, 10, 100, 1000]),
        (0.04, 4, [0.03, 0.1, 0.3, 1, 3]),
        (1, 10**13, [1, 10**3, 10**6, 10**9, 10**12]),
    ],
)
def test_classes_have_round_limits(least: float, most: float, limits: list[float]) -> None:
    """There are at most as many as shades, and they reach from the least to the largest number."""
    assert limits_of(least, most) == pytest.approx(limits)


def test_readable_circles() -> None:
    """Few places have all their circles; of more, one stands for all, and all can be asked for; of many, one."""
    places = np.random.default_rng(5).normal([-122.4, 37.8], 0.05, size=(3000, 2))
    drawn = []
    for count in (5, 300, 3000):
        scene = compose((Layer("a", places[:count], "points", "released", radius=100.0),))
        assert scene is not None
        circles = [shape for shape in scene.layers[0].shapes if shape.form == "circles"]
        drawn.append([(len(shape.parts[0]), shape.on_demand) for shape in circles])
    assert drawn == [[(5, False)], [(1, False), (300, True)], [(1, False)]]


def tracks(persons: int, points: int = 40) -> Layer:
    """Made-up smoothed tracks."""
    rng = np.random.default_rng(2)
    steps = rng.normal(scale=0.001, size=(persons, points, 2)).cumsum(axis=1)
    places = (steps + rng.normal([-122.43, 37.76], 0.02, size=(persons, 1, 2))).reshape(-1, 2)
    names = tuple(f"cab{i}" for i in range(persons))
    whose = np.repeat(np.arange(persons), points)
    return Layer("tracks", places, "lines", "released", whose, persons=whose, names=names, expected=80.0)


def test_tracks_have_colours() -> None:
    """Up to eight persons have a line in a colour of their own, named in the legend; more are a density."""
    scene, crowd = compose((tracks(8),)), compose((tracks(20),))
    assert scene is not None
    assert crowd is not None
    [group] = scene.layers
    lines = [shape for shape in group.shapes if shape.form == "line" and not shape.style.metres]
    assert [shape.style.colour for shape in lines] == [f"person-{i}" for i in range(8)]
    assert len({(shape.style.colour, shape.style.dash) for shape in lines}) == 8
    assert [key.text for key in group.keys[1:9]] == [f"cab{i}" for i in range(8)]
    assert {shape.form for shape in crowd.layers[0].shapes} == {"fill"}
    assert "points in hexagons" in crowd.layers[0].keys[0].text


def seen(colour: str, vision: NDArray[np.float64]) -> NDArray[np.float64]:
    """A colour as somebody sees it, in OKLab: distances are about those that people perceive."""
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = vision @ np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    roots = np.cbrt(np.maximum(cones @ linear, 0))
    lab = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099]]
    return np.array([*lab, [0.0259040371, 0.7827717662, -0.8086757660]]) @ roots


#: How colours are seen without the cones for red, for green and for blue (Machado, Oliveira and Fernandes, 2009).
VISIONS = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_colours_are_distinguishable(vision: str, colours: dict[str, str]) -> None:
    """Persons' colours differ for every kind of colour vision, or one of two is dashed; shades grow evenly darker."""
    matrix = np.array(VISIONS[vision])
    hues = [seen(colours[person(i)], matrix) for i in range(PERSONS)]
    for i, one in enumerate(hues):
        for j, other in enumerate(hues[:i]):
            dashed = (i >= PERSONS // 2) != (j >= PERSONS // 2)
            assert np.linalg.norm(one - other) > (0.04 if dashed else 0.1), (i, j)
    lightness = np.array([seen(colours[shade(i)], matrix)[0] for i in range(SHADES)])
    steps = np.diff(lightness) * np.sign(lightness[-1] - lightness[0])
    assert steps.min() > 0.05


def test_flow_widths() -> None:
    """A flow of twice as many persons is twice as wide, and the legend shows widths with their numbers."""
    ends = np.array([[-122.45, 37.76], [-122.40, 37.78], [-122.40, 37.78], [-122.45, 37.76]])
    layer = Layer(
        "flows", ends, "flows", "released", np.array([0, 0, 1, 1]), values=np.array([50.0, 100.0]), counted="persons"
    )
    scene = compose((layer,))
    assert scene is not None
    [group] = scene.layers
    small, large = (shape for shape in group.shapes if shape.form == "line")
    assert large.style.width == 2 * small.style.width
    there, back = large.parts[0], small.parts[0]
    assert np.hypot(*(there - back[::-1]).T).max() > 1000  # they bend to different sides
    arrows = [shape.parts[0][0, :2] for shape in group.shapes if shape.form == "arrows"]
    assert np.array(arrows) == pytest.approx(np.array([back[-1], there[-1]]))
    widths = {key.text: key.style.width for key in group.keys if key.form == "line"}
    assert widths == pytest.approx({"100 persons": large.style.width, "50 persons": small.style.width})


def test_largest_flows_stand_out() -> None:
    """The ten largest flows are darker than the others, above them, and the legend says so; long arcs end as near."""
    ends = np.array([[-122.45, 37.76], [-122.40, 37.78]]) + np.arange(12)[:, None, None] * [0.0, 0.01]
    ends[0, 1] = [-122.30, 37.78]
    values, parts = np.arange(12, 0, -1.0), np.repeat(np.arange(12), 2)
    scene = compose(
        (Layer("flows", ends.reshape(-1, 2), "flows", "released", parts, values=values, counted="persons"),)
    )
    assert scene is not None
    [group] = scene.layers
    opacities = [shape.style.opacity for shape in group.shapes if shape.form == "line"]
    assert max(opacities[:2]) < min(opacities[2:])
    assert any("the 10 largest are dark" in key.text for key in group.keys)
    spots = next(shape.parts[0] for shape in group.shapes if shape.form == "dots")
    heads = [shape.parts[0][0, :2] for shape in group.shapes if shape.form == "arrows"]
    away = [np.hypot(*(spots - head).T).min() for head in heads]
    # The longest arc is the largest flow, which comes last.
    assert away[-1] < 1.2 * min(away)


def overlapping(labels: tuple[Label, ...], pixel: float) -> int:
    """The number of pairs of labels that cover each other at a scale."""
    shown = [label for label in labels if label.finest <= pixel <= label.coarsest]
    boxes = [np.array(box_of(label)) + np.tile([label.x, label.y], 2) / pixel for label in shown]
    pairs = ((one, other) for i, one in enumerate(boxes) for other in boxes[:i])
    return sum(bool((a[:2] < b[2:] - 1e-6).all() and (b[:2] < a[2:] - 1e-6).all()) for a, b in pairs)


def test_labels_never_overlap() -> None:
    """At no scale do two labels cover each other, the most important is always there, and many are."""
    rng = np.random.default_rng(1)
    sides = rng.choice(["east", "west", "north", "south", "middle"], size=80)
    labels = [
        Label(
            float(rng.normal(scale=2e4)),
            float(rng.normal(scale=2e4)),
            f"Place {'x' * int(rng.integers(12))}",
            "town",
            side,
        )
        for side in sides
    ]
    found = without_overlaps(labels)
    assert found[0] == labels[0]
    for pixel in np.geomspace(0.1, 1e5, 40):
        assert overlapping(found, pixel) == 0
    assert overlapping(tuple(labels), 100.0) > 50  # which the rule above prevents
    assert sum(label.coarsest >= 50 for label in found) > 20


def test_scene_is_geojson() -> None:
    """It is JSON: features where the layers are, styles of the palette, and the legend."""
    rings = np.array([[10.0, 60.0], [10.1, 60.0], [10.1, 60.1], [10.0, 60.1]])
    hull = Layer("hull", rings, "area", "released", radius=500.0)
    scene = compose((hull, Layer("station", np.array([[10.05, 60.05]]), "marks", "public", texts=("S",))))
    assert scene is not None
    told = json.loads(json.dumps(scene.as_dict(), allow_nan=False))
    assert told["middle"] == pytest.approx([10.05, 60.05], abs=0.01)
    body, band, station = (
        feature for group in told["groups"] if group["role"] != "ground" for feature in group["features"]
    )
    assert np.array(body["geometry"]["coordinates"][0][0])[:4] == pytest.approx(rings, abs=1e-5)
    assert len(band["geometry"]["coordinates"][0]) == 2  # an outline and a hole
    assert station["geometry"]["coordinates"] == [pytest.approx([10.05, 60.05], abs=1e-5)]
    for group in told["groups"]:
        for feature in group["features"]:
            assert feature["properties"]["colour"] in told["palettes"]["dark"]
    assert "S" in [label["text"] for label in told["labels"]]


def test_base_map_is_grey(tmp_path: Path) -> None:
    """Streets and parks of a file are on the ground, below the release, with the file named as a source."""
    streets = [shapely.LineString([[10.70, 59.90 + i / 500], [10.80, 59.90 + i / 500]]) for i in range(9)]
    parks = [shapely.box(10.74, 59.905, 10.75, 59.91)]
    geopandas.GeoSeries([*streets, *parks], crs=4326).to_file(tmp_path / "streets.gpkg")
    homes = Layer("homes", np.array([[10.74, 59.905], [10.76, 59.915]]), "points", "released")
    scene = compose((homes,), basemap=str(tmp_path / "streets.gpkg"))
    assert scene is not None
    drawn = {group.name: group for group in scene.groups if group.name.startswith("base map")}
    lines, areas = drawn["base map"].shapes[0], drawn["base map: areas"].shapes[0]
    assert len(lines.parts) == 9
    assert len(areas.parts) == 1
    assert {lines.style.colour, areas.style.colour} == {"basemap"}
    assert scene.source.startswith("Base map: streets.gpkg. ")
    assert [group.role for group in scene.groups] == ["ground"] * 5 + ["released"]
    assert json.loads(json.dumps(scene.as_dict()))["groups"][-1]["name"] == "homes"


def test_noise_cells_are_blank() -> None:
    """A heat map and counts draw no cell below their noise, in a map or a legend; what is released stays as it is."""
    rng = np.random.default_rng(3)
    area = gv.local(lat=47.38, lon=8.54, radius=8_000)
    homes = geopandas.GeoSeries.from_xy(*rng.normal([8.54, 47.38], 0.01, size=(400, 2)).T, crs=4326)
    heat = gv.Locations(homes, person=np.arange(400), area=area, rng=rng).heatmap(1000, rho=1e-5)
    assert (heat.value > 0).sum() > (heat.value >= heat.error()).sum() > 3
    [layer] = heat.layers()
    assert layer.values is not None
    assert sorted(layer.values) == pytest.approx(sorted(heat.value[heat.value >= heat.error()]))
    said = f"Blank: less than {heat.error():.3g} persons."
    assert said in layer.note
    shaded = compose((layer,))
    assert shaded is not None
    assert shaded.layers[0].keys[1].text.startswith(f"{heat.error():.3g} to under ")
    boxes = [shapely.box(8.5, 47.36, 8.58, 47.4), shapely.box(8.44, 47.32, 8.45, 47.33)]
    counts = gv.Locations(homes, person=np.arange(400), area=area, rng=rng).counts(
        geopandas.GeoSeries(boxes, crs=4326), rho=1e-2
    )
    assert isinstance(counts, CrowdCounts)
    stated = float(np.median(counts.errors))
    regions = replace(counts.layers()[0], values=np.array([1.2 * stated, stated / 2]))
    scene = compose((regions,))
    assert scene is not None
    [group] = scene.layers
    filled = [shape for shape in group.shapes if shape.form == "fill"]
    assert [len(shape.parts) for shape in filled] == [1]
    least = f"{float(f'{stated:.3g}'):,.12g}"
    assert least in group.keys[1].text
    # Of the two numbers that were released, the larger one is so large that 1% of it is above the noise.
    values = counts.layers()[0].values
    assert values is not None
    faintest = values.max() / 100
    assert faintest > stated
    said = f"Blank: less than {faintest:.3g} persons. Noise moves no number by more than {least} persons,"
    assert counts.layers()[0].note.startswith(said)


def test_noise_alone_says_so() -> None:
    """Where no number is above the noise, a map has the place and the sentence, and no shades."""
    layer = Layer(
        "riders",
        np.array([[8.5, 47.3], [8.6, 47.3], [8.6, 47.4], [8.5, 47.4]]),
        "grid",
        "released",
        values=np.array([0.4]),
        parts=np.zeros(4, dtype=np.int64),
        least=0.9,
        note="Blank: less than 0.9 persons.",
    )
    scene = compose((layer,))
    assert scene is not None
    assert not [shape for shape in scene.layers[0].shapes if shape.form == "fill"]
    assert scene.layers[0].keys[-1].text == layer.note


def test_noise_adds_up() -> None:
    """What may be noise in a sum of numbers is more than in one of them, by the root of how many there are."""
    rng = np.random.default_rng(3)
    area = gv.local(lat=47.38, lon=8.54, radius=8_000)
    homes = geopandas.GeoSeries.from_xy(*rng.normal([8.54, 47.38], 0.01, size=(400, 2)).T, crs=4326)
    times = np.datetime64("2026-05-04T00:00") + rng.integers(0, 48, 400) * np.timedelta64(1, "h")
    visits = gv.Locations(homes, person=np.arange(400), times=times, area=area, rng=rng)
    heat = visits.heatmap(2000, every="1 day", rho=1e-4)
    assert len(heat.slices) == 2
    assert heat.plane is not None
    assert heat.layers()[0].least == pytest.approx(heat.error() * 2**0.5)
    fine = cells_layer(gv.Grid((-3e4, -3e4, 3e4, 3e4), cell=200), np.ones((300, 300)), heat.plane, "riders", noise=0.5)
    assert "drawn in blocks of 400 m" in fine.name
    assert fine.least == 1.0
