"""Reports of a release: a page with a map, the guarantee and the cost; the map alone as a figure; a small map.

`compose` decides what a map shows; the page and the figure draw the scene that it returns.
"""

from geoveil.report.composing import compose
from geoveil.report.document import Balance, Report, check_path
from geoveil.report.ground.basemap import check_basemap
from geoveil.report.layers import Layer
from geoveil.report.scene import Scene
from geoveil.report.small_map import small_map

__all__ = [
    "Balance",
    "Layer",
    "Report",
    "Scene",
    "check_basemap",
    "check_path",
    "compose",
    "small_map",
]
