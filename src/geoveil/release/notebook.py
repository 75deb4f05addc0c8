"""A release in a notebook: a card that says what it guarantees and shows a small map, and a map of matplotlib."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from geoveil.cards import as_html
from geoveil.errors import GeoveilError, InvalidData
from geoveil.wording import paragraphs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from geoveil.release.release import Release
    from geoveil.report import Layer, Report

__all__ = ["card_of", "draw_map"]

#: The largest number of points of a file that are read for a small map.
_MOST_READ = 1_000_000
#: The width of a map, in pixels.
_PIXELS = 640.0
#: How answers are drawn unless the caller states otherwise, by their kind.
_STYLES: dict[str, dict[str, Any]] = {
    "points": {"color": "#0f766e", "markersize": 6, "alpha": 0.7},
    "place": {"color": "#0f766e"},
    "positions": {"color": "#0f766e"},
    "body": {"facecolor": (0.06, 0.46, 0.43, 0.13), "edgecolor": "#0f766e"},
    "box": {"facecolor": (0.06, 0.46, 0.43, 0.13), "edgecolor": "#0f766e"},
    "cells": {"cmap": "viridis", "legend": True},
    "regions": {"cmap": "viridis", "legend": True},
    "flows": {"cmap": "viridis", "legend": True},
}


def draw_map(release: Release, ax: Axes | None, report: Report, style: dict[str, Any]) -> Axes:
    """Draw the map of a release with matplotlib, in its coordinate system.

    If the caller gives a style, GeoPandas draws the release over the ground in that style. GeoPandas also draws into
    axes that already show something, and releases in plain metres, which have no ground.
    """
    from geoveil.report import compose
    from geoveil.report.figure import draw_credit, draw_scene, handles_of, legend_of

    scene = compose(report.layers, beyond=False, pixels=_PIXELS, basemap=report.basemap)
    located = any(layer.role == "released" for layer in report.layers)
    if scene is None or release.plane is None or not located or (ax and ax.has_data()):
        return _draw_frame(release, ax, style)
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(_PIXELS / 96, 0.85 * _PIXELS / 96))
    if style:
        scene = replace(scene, groups=tuple(group for group in scene.groups if group.role == "ground"))
    draw_scene(ax, scene, scene.projection.moved_to(release.plane.crs))
    draw_credit(ax, scene)
    if style:
        return _draw_frame(release, ax, style)
    legend_of(ax, handles_of(scene, 100), "upper left", (0.0, -0.07))
    return ax


def _draw_frame(release: Release, ax: Axes | None, style: dict[str, Any]) -> Axes:
    """Draw the frame of a release as GeoPandas draws it."""
    frame, column = release._drawn()
    if not hasattr(frame, "geometry"):
        remedy = "See release.value and release.error(); nearest(..., locations=0.5) also releases locations."
        raise InvalidData("release", f"of {release.query}", "one whose value has a location", remedy)
    numbers = {} if column is None else {"column": column, "legend": True}
    usual = {**_STYLES[release.kind], **numbers}
    if style.keys() & {"color", "facecolor", "edgecolor", "column", "c", "cmap"}:
        usual = {name: value for name, value in usual.items() if name in ("markersize", "alpha")}
        if not style.keys() & {"color", "facecolor", "column"}:
            usual |= numbers
    axes: Axes = frame.plot(ax=ax, **{**usual, **style})
    return axes


def card_of(release: Release) -> str:
    """Return the HTML that a notebook shows for a release."""
    from geoveil.report import small_map

    return as_html(
        *release._card(), lead=paragraphs(release.facts(every_error=False))[0], figure=small_map(_layers(release))
    )


def _layers(release: Release) -> tuple[Layer, ...]:
    """Return the layers of a small map; none for a file that is large, was changed or is gone."""
    if release.coords is None and release.kind == "points" and release.n > _MOST_READ:
        return ()
    try:
        return release.layers()
    except (GeoveilError, OSError):
        return ()
