"""The ground of maps: what lies around a location, and base maps of the user."""

from geoveil.report.ground.basemap import Basemap, check_basemap, read_basemap
from geoveil.report.ground.names import Places
from geoveil.report.ground.surroundings import DETAILS, FARTHEST, Ground, Lines, ground_around

__all__ = [
    "DETAILS",
    "FARTHEST",
    "Basemap",
    "Ground",
    "Lines",
    "Places",
    "check_basemap",
    "ground_around",
    "read_basemap",
]
