"""The map of a release, drawn with matplotlib."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from geoveil.errors import InvalidData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from geoveil.release.shown import Shown
    from geoveil.report import Report

__all__ = ["draw_map"]

#: The width of a map, in pixels.
_PIXELS = 640.0


def draw_map(release: Shown, ax: Axes | None, report: Report, style: dict[str, object]) -> Axes:
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


def _draw_frame(release: Shown, ax: Axes | None, style: dict[str, object]) -> Axes:
    """Draw the frame of a release as GeoPandas draws it."""
    frame, column = release._drawn()
    if not hasattr(frame, "geometry"):
        remedy = "See release.value and release.error(); nearest(..., locations=0.5) also releases locations."
        raise InvalidData("release", f"of {release.query}", "one whose value has a location", remedy)
    numbers = {} if column is None else {"column": column, "legend": True}
    usual = {**release.kind.style, **numbers}
    if style.keys() & {"color", "facecolor", "edgecolor", "column", "c", "cmap"}:
        usual = {name: value for name, value in usual.items() if name in ("markersize", "alpha")}
        if not style.keys() & {"color", "facecolor", "column"}:
            usual |= numbers
    axes: Axes = frame.plot(ax=ax, **{**usual, **style})
    return axes
