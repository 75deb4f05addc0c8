"""Where labels and the small map stand: off the data, inside the frame, with the names that tell where a map is."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from geoveil.report import Layer, Scene, compose, small_map
from geoveil.report.labelling import (
    Choice,
    Obstacles,
    around,
    frames_of,
    free_corner,
    place_labels,
    text_box_of,
)
from geoveil.report.map_projection import Box
from geoveil.report.palette import DARK, LIGHT, PERSONS, ink, person
from geoveil.report.scene import Label
from tests.report.ten_places import PLACES, release_at

pytestmark = pytest.mark.slow

VIEW = Box(-5e3, -5e3, 5e3, 5e3)


@cache
def scene_of(name: str, *, page: bool = False) -> Scene:
    """The scene of one of the ten places, as a figure of 120 mm or as a page."""
    [place] = [place for place in PLACES if place.name == name]
    scene = compose(release_at(place).layers(), pixels=900 if page else 453, beyond=page)
    assert scene is not None
    return scene


def text_on_map(label: Label, pixel: float) -> Any:
    """The box of a text in metres of the map."""
    return shapely.box(*(np.array(text_box_of(label)) * pixel + np.tile([label.x, label.y], 2)))


def tracks(scene: Scene) -> dict[str, Any]:
    """The lines of each colour of the released tracks."""
    [group] = scene.layers
    return {
        shape.style.colour: shapely.MultiLineString([*shape.parts])
        for shape in group.shapes
        if shape.form == "line" and not shape.style.metres
    }


@pytest.mark.parametrize("name", ["san-francisco", "arizona"])
def test_track_names_are_clear(name: str) -> None:
    """The name of a person is written in the colour of the track, beside it, and crosses no line of another one."""
    scene = scene_of(name)
    [frame] = frames_of(scene.view, 453, page=False)
    lines = tracks(scene)
    labels = [label for label in scene.labels if label.kind == "mark"]
    assert {label.text for label in labels} == {"cab 1", "cab 2", "cab 3"}
    for label in labels:
        number = int(label.text[-1]) - 1
        assert label.colour == ink(person(number))
        text = text_on_map(label, frame.pixel)
        assert shapely.distance(text, lines[person(number)]) < 15 * frame.pixel
        for colour, line in lines.items():
            assert colour == person(number) or not shapely.intersects(text, line), label


@pytest.mark.parametrize("name", ["san-francisco", "arizona"])
def test_place_names_avoid_tracks(name: str) -> None:
    """In the frame of a figure no name of a place is crossed by a track."""
    scene = scene_of(name)
    [frame] = frames_of(scene.view, 453, page=False)
    every = shapely.union_all(list(tracks(scene).values()))
    view = shapely.box(scene.view.west, scene.view.south, scene.view.east, scene.view.north)
    shown = [label for label in scene.labels if label.group < 0 and shapely.contains_xy(view, label.x, label.y)]
    assert shown
    for label in shown:
        assert not shapely.intersects(text_on_map(label, frame.pixel), every), label


def contrast(one: str, other: str) -> float:
    """The ratio of the luminances of two colours, as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_name_colours_are_readable() -> None:
    """Texts in the colours of persons have a contrast of 4.5 or more to their halo and to land, light and dark."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for palette in (LIGHT, DARK):
        for number in range(PERSONS):
            text = palette[ink(person(number))]
            assert min(contrast(text, palette["halo"]), contrast(text, palette["land"])) >= 4.5


def test_labels_change_sides() -> None:
    """A label that would cover another, or a symbol, stands on another side."""
    at = np.array([[0.0, 0.0], [300.0, 0.0], [0.0, 150.0]])
    marks = Obstacles(10.0)
    marks.add(at)
    choices = [Choice(around(Label(float(x), float(y), "station", "mark", "east"))) for x, y in at]
    [frame] = frames_of(VIEW, 1052, page=False)
    placed = list(place_labels(choices, marks, [frame]))
    texts = [text_on_map(label, frame.pixel) for label in placed]
    assert not any(shapely.intersects(one, other) for i, one in enumerate(texts) for other in texts[:i])
    assert not any(shapely.intersects_xy(text, *spot) for text in texts for spot in at)
    assert placed[0].side != "east"


def test_labels_stay_inside() -> None:
    """Near an edge, a corner with the scale bar or the small map, a label turns away from it."""
    frames = frames_of(VIEW, 1052, page=False, located="south-east")
    for x, y in ((4.9e3, 0.0), (-4.9e3, 0.0), (3.6e3, -4.2e3), (-2.5e3, -4.9e3)):
        [label] = place_labels([Choice(around(Label(x, y, "a long name", "town", "east")))], Obstacles(10.0), frames)
        text = text_on_map(label, frames[0].pixel)
        inside = shapely.box(*(np.array(frames[0].box) * frames[0].pixel))
        assert shapely.contains(inside, text)
        for taken in frames[0].taken:
            assert not shapely.intersects(text, shapely.box(*(np.array(taken) * frames[0].pixel)))


@pytest.mark.parametrize(
    ("at", "free"),
    [((4.8e3, -4.8e3), {"north-west", "north-east"}), ((-4.8e3, 4.8e3), {"south-east"}), ((0.0, 0.0), {"south-east"})],
)
def test_small_map_corner(at: tuple[float, float], free: set[str]) -> None:
    """The small map is in the south-east, or in another corner if there is data."""
    assert free_corner(np.array([at]), VIEW) in free


@pytest.mark.parametrize("name", ["pacific", "svalbard", "fiji"])
def test_small_map_stays(name: str) -> None:
    """Pages and figures have it in one corner, and no end of a track lies in it."""
    figure, page = (scene_of(name, page=page).locator for page in (False, True))
    assert figure is not None
    assert page is not None
    assert figure.corner == page.corner
    scene = scene_of(name)
    [frame] = frames_of(scene.view, 453, page=False)
    west, south, east, north = np.array(frame.small(figure.corner)) * frame.pixel
    for shape in scene.layers[0].shapes:
        if shape.form == "line":
            ends = np.concatenate([line[[0, -1]] for line in shape.parts])
            assert not ((ends > [west, south]) & (ends < [east, north])).all(axis=1).any()


def names_around(lon: float, lat: float) -> dict[str, str]:
    """The names on the small map of a town, with their kinds."""
    scene = compose([Layer("town", np.array([[lon, lat]]), "marks", "public", texts=("town",))], beyond=False)
    assert scene is not None
    assert scene.locator is not None
    return {label.text: label.kind for label in scene.locator.labels}


@pytest.mark.parametrize(
    ("lon", "lat", "names"),
    [
        (10.74, 59.91, {"Norway", "Sweden"}),
        (8.54, 47.37, {"Switzerland"}),
        (178.0, -17.8, {"Fiji"}),
        (36.82, -1.29, {"Kenya"}),
        (-122.4, 37.8, {"United States"}),
        (-152.0, 8.0, {"Pacific Ocean"}),
    ],
)
def test_small_map_names(lon: float, lat: float, names: set[str]) -> None:
    """At most three countries are named, that of the map among them; far from land, the ocean is."""
    found = names_around(lon, lat)
    assert names <= set(found)
    assert len(found) <= 3
    assert set(found.values()) <= {"country", "water"}


def test_an_island_has_names() -> None:
    """Where a view of some 100 km has no larger places, smaller ones are named."""
    texts = {label.text for label in scene_of("fiji").labels}
    assert {"Savusavu", "Levuka"} <= texts


def test_drawn_sources_are_credited() -> None:
    """Roads are credited where a road is in the frame; coasts, names and borders always."""
    city, ocean = scene_of("san-francisco").source, scene_of("pacific").source
    assert "OpenStreetMap" in city
    assert "OpenStreetMap" not in ocean
    for source in (city, ocean):
        assert all(name in source for name in ("GSHHG (LGPL)", "GeoNames (CC BY 4.0)", "Natural Earth"))


def areas(count: int) -> Layer:
    """Cells around San Francisco with growing values."""
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * 0.01
    cells = np.concatenate([corners + np.array([-122.45 + 0.01 * i, 37.75]) for i in range(count)])
    values = np.array([3.0**i for i in range(count)])
    return Layer("cells", cells, "grid", "released", np.repeat(np.arange(count), 4), values=values, counted="persons")


def test_data_covers_roads() -> None:
    """Cells are opaque and above roads, rivers and meridians, so that a class has one tone; coasts are above them."""
    scene = compose([areas(5)])
    assert scene is not None
    names = [group.name for group in scene.groups]
    assert (
        names.index("rivers, roads and borders")
        < names.index("cells")
        < names.index("coasts and borders of countries")
    )
    assert scene.ground == names.index("cells")
    assert {shape.style.fill for shape in scene.layers[0].shapes} == {1.0}


def test_classes_share_no_limits() -> None:
    """A number belongs to one class of the legend only."""
    scene = compose([areas(6)])
    assert scene is not None
    texts = [key.text for key in scene.layers[0].keys[1:]]
    assert all(" to under " in text for text in texts[:-1])
    assert "under" not in texts[-1]


def test_flow_legend() -> None:
    """The last width of the legend is not above that of any arc; heads are before the places, which are explained."""
    ends = np.array([[-122.45, 37.76], [-122.40, 37.78]])
    values = np.array([0.5, 4.0, 30.0, 230.0])
    places = np.concatenate([ends + np.array([0.0, 0.01 * i]) for i in range(4)])
    layer = Layer("flows", places, "flows", "released", np.repeat(np.arange(4), 2), values=values, counted="persons")
    scene = compose([layer])
    assert scene is not None
    [group] = scene.layers
    arcs = [shape.style.width for shape in group.shapes if shape.form == "line"]
    keys = [key for key in group.keys if key.form == "line"]
    assert min(key.style.width for key in keys) <= min(arcs)
    assert keys[-1].text.endswith("persons or fewer")
    assert any(key.form == "dots" for key in group.keys)
    spots = next(shape.parts[0] for shape in group.shapes if shape.form == "dots")
    for shape in group.shapes:
        if shape.form == "arrows":
            assert np.hypot(*(spots - shape.parts[0][0, :2]).T).min() > 100


def test_band_legend_is_neutral() -> None:
    """One swatch for bands of three colours has none of them; that of one track has its colour."""
    several, alone = (scene_of(name).layers[0].keys[-1] for name in ("san-francisco", "pacific"))
    assert several.text.startswith("band")
    assert several.style.colour == "text"
    assert alone.style.colour == person(0)
    assert scene_of("pacific").layers[0].name == "released track"


@pytest.mark.parametrize("width", [85.0, 120.0, 180.0])
@pytest.mark.parametrize("name", ["san-francisco", "nairobi", "fiji"])
def test_a_figure_is_whole(name: str, width: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The credit is not cut, degrees of both kinds are there, and no text outside the map meets another."""
    from matplotlib.figure import Figure

    kept: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: kept.append(figure))
    [place] = [place for place in PLACES if place.name == name]
    release_at(place).report(tmp_path / "out.png", title="A map", width=width)
    [figure] = kept
    figure.draw_without_rendering()
    whole = figure.bbox
    credit = " ".join(text.get_text() for text in reversed(figure.texts) if float(text.get_fontsize()) < 7.5)
    assert scene_of(name).source.split("; ")[-1] in credit
    assert "GeoNames (CC BY 4.0)" in credit
    axes = figure.axes[0]
    ticks = [[tick for tick in axis.get_ticklabels() if tick.get_text()] for axis in (axes.xaxis, axes.yaxis)]
    assert all(ticks)
    boxes = [text.get_window_extent() for text in (*figure.texts, *ticks[0], *ticks[1])]
    for at, box in enumerate(boxes):
        assert whole.x0 - 1 <= box.x0
        assert box.x1 <= whole.x1 + 1
        assert whole.y0 - 1 <= box.y0
        assert box.y1 <= whole.y1 + 1
        for other in boxes[:at]:
            across = min(box.x1, other.x1) - max(box.x0, other.x0)
            assert across < 1 or min(box.y1, other.y1) - max(box.y0, other.y0) < 2


def test_names_are_not_repeated() -> None:
    """A region is left out that is named like its city or its country."""
    for lon, lat, said in (
        (8.541, 47.372, "Zürich, Switzerland."),
        (15.6, 78.2, "Longyearbyen, Svalbard and Jan Mayen."),
    ):
        scene = compose([Layer("town", np.array([[lon, lat]]), "points", "released")], beyond=False)
        assert scene is not None
        assert scene.where.endswith(said)


def test_true_tracks_keep_colours() -> None:
    """True lines of released persons are thin, in the colours of the released ones, and not named twice."""
    [released] = release_at(PLACES[0]).layers()
    driven = Layer(
        "where they drove", released.places, "lines", "public", released.parts, persons=released.persons,
        names=released.names,
    )  # fmt: skip
    scene = compose([released, driven], beyond=False)
    assert scene is not None
    _, second = scene.layers
    assert {shape.style.colour for shape in second.shapes} == {ink(person(number)) for number in range(3)}
    assert len(second.keys) == 1
    assert sum(label.kind == "mark" for label in scene.labels) == 3
    assert all(f"stroke: {LIGHT[ink(person(number))]}" in small_map([released, driven]) for number in range(3))
    alone = compose([driven], beyond=False)
    assert alone is not None
    assert sum(label.kind == "mark" for label in alone.labels) == 3


def test_one_location_area() -> None:
    """A ring whose corners are all the same has no length to be divided."""
    obstacles = Obstacles(10.0)
    obstacles.add(np.zeros((4, 2)), joined=True)
    assert len(obstacles.all()[0]) == 4
