"""The map on a page of the studio: the scene of reports, on the user's own base map if there is one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from geoveil.report import Layer, Scene, compose
from geoveil.report.formatting import location
from geoveil.report.page import drawing

__all__ = ["MapView"]


class MapView:
    """A map of some layers, which the script of report pages can move and zoom.

    Parameters
    ----------
    layers : sequence of Layer
        The layers, the first at the bottom.
    label : str
        What the map shows, for a reader who does not see it.
    basemap : str, optional
        The path of the user's own base map.
    """

    def __init__(self, layers: Sequence[Layer], label: str, *, basemap: str | None = None) -> None:
        self.label = label
        # The ground around the view is drawn at once; reports also have the ground far outside of it.
        self.scene: Scene | None = compose(layers, beyond=False, basemap=basemap)

    @property
    def html(self) -> str:
        """The map, its legend and its remarks; empty if there is nothing to draw."""
        return "" if self.scene is None else drawing(self.scene, self.label)

    def place(self, east: str, south: str) -> tuple[float, float]:
        """Return the latitude and longitude of the point of the drawing that a form states; by default its middle."""
        assert self.scene is not None
        try:
            x, y = float(east), -float(south)
        except ValueError:
            x = y = math.nan
        if not (math.isfinite(x) and math.isfinite(y)):
            x, y = self.scene.view.middle
        lon, lat = self.scene.projection.to_degrees(x, y)
        return round(lat, 6), round(lon, 6)

    def drawn(self, lat: float, lon: float) -> tuple[float, float]:
        """Return the position of a place in the drawing, in metres east and south."""
        assert self.scene is not None
        east, north = self.scene.projection.to_map(np.array([[lon, lat]]))[0]
        return float(east), -float(north)

    def named(self, lat: float, lon: float) -> str:
        """Return a place in words."""
        return location(lon, lat)
