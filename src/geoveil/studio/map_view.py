"""The map on a page of the studio: the drawing of reports, with its legend."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from geoveil.report import Layer
from geoveil.report.formatting import location
from geoveil.report.map_layout import MapLayout, lay_out
from geoveil.report.page import legend
from geoveil.report.svg import map_svg

__all__ = ["MapView"]


class MapView:
    """A map of some layers, which the script of reports moves and zooms.

    Parameters
    ----------
    layers : sequence of Layer
        The layers, the first at the bottom.
    label : str
        What the map shows, for a reader who does not see it.
    """

    def __init__(self, layers: Sequence[Layer], label: str) -> None:
        self.label = label
        self.layout: MapLayout | None = lay_out(layers)

    @property
    def html(self) -> str:
        """The map and its legend; empty if there is nothing to draw."""
        if self.layout is None:
            return ""
        keys = "Map: arrow keys move it, plus and minus zoom, zero shows all again."
        remarks = "".join(f"<li>{escape(remark)}</li>" for remark in self.layout.remarks)
        return (
            f'<div class="frame" tabindex="0" role="group" aria-label="{keys}">\n{map_svg(self.layout, self.label)}\n'
            '<div class="buttons"><button type="button" data-does="in" aria-label="Zoom in">+</button>'
            '<button type="button" data-does="out" aria-label="Zoom out">−</button>'
            '<button type="button" data-does="reset" aria-label="Show all">⤢</button></div>\n'
            '<div class="source">Land: Natural Earth, public domain</div>\n</div>\n'
            f'<ul class="legend">\n{legend(self.layout)}\n</ul>\n<ul class="remarks">{remarks}</ul>'
        )

    def place(self, east: float, south: float) -> tuple[float, float]:
        """Return the latitude and longitude of a point of the drawing."""
        assert self.layout is not None
        lon, lat = self.layout.projection.to_degrees(east, -south)
        return round(lat, 6), round(lon, 6)

    def drawn(self, lat: float, lon: float) -> tuple[float, float]:
        """Return where a place is in the drawing, in metres east and south."""
        import numpy as np

        assert self.layout is not None
        east, north = self.layout.projection.to_map(np.array([[lon, lat]]))[0]
        return float(east), -float(north)

    def named(self, lat: float, lon: float) -> str:
        """Return a place in words."""
        return location(lon, lat)
