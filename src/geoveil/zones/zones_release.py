"""Tracks that were cut around hidden places: what is published, its zones and its certificate."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.geometries import ground_length
from geoveil.noise.reals import Floats
from geoveil.release import Release
from geoveil.text.cards import Card
from geoveil.text.cards import Rows as CardRows
from geoveil.text.words import counted, hidden, metres
from geoveil.zones.certificate import Rules, zones_certificate
from geoveil.zones.cutting import pieces_of
from geoveil.zones.zone import CHANCE, Zone

if TYPE_CHECKING:
    import geopandas

__all__ = ["ZonesRelease"]


@dataclass(frozen=True, eq=False, repr=False)
class ZonesRelease(Card):
    """The points of tracks outside the zones of hidden places. It never holds the places, nor the points inside.

    Parameters
    ----------
    value : object
        The published points, in the form of the input, with rows numbered anew.
    zones : tuple of Zone
        The public discs.
    rules : Rules
        The public rules of the cut.
    degrees : array
        Longitude and latitude of each published point.
    pieces : array of int
        The piece of track to which each published point belongs; lines are drawn within pieces only.
    columns : tuple
        The columns that are published beside positions.
    noise : Release, optional
        The release of the points outside with noise, if they have any.
    inexact : str
        Why centres were not drawn exactly; empty if they were.
    entries : tuple of dict
        The entries of a ledger that charged the centres.
    id : str
        Identifies the release.

    Examples
    --------
    >>> ride = pd.DataFrame({"lat": 47.37 + np.arange(200) * 1e-4, "lon": 8.54})
    >>> tracks = gv.Locations(ride, area="47.37,8.54,50km")
    >>> release = tracks.hide_places("47.37,8.54", hide=200, centres=folder / "centres.json")
    >>> 80 < len(release.value) < 170, release.zones[0].radius
    (True, 599)
    >>> release.certificate()["release"]
    'zones'
    """

    value: Any
    zones: tuple[Zone, ...]
    rules: Rules
    degrees: Floats
    pieces: NDArray[np.int64]
    columns: tuple[Hashable, ...] = ()
    noise: Release | None = None
    inexact: str = ""
    entries: Sequence[Mapping[str, object]] = ()
    id: str = field(default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        for array in (self.value, self.degrees, self.pieces):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    @cached_property
    def length(self) -> float:
        """The length in metres on the ground of the published pieces together."""
        return sum(map(ground_length, pieces_of(self.degrees, self.pieces)))

    @property
    def hidden(self) -> float:
        """The distance in metres that each zone hides at 75%, or the smallest of them."""
        return min(zone.hiding.law.hidden(CHANCE) for zone in self.zones)

    def certificate(self) -> dict[str, Any]:
        """Return a JSON-ready description of the zones, the rules and the promise; all of it is public.

        Examples
        --------
        >>> ride = pd.DataFrame({"lat": 47.37 + np.arange(200) * 1e-4, "lon": 8.54})
        >>> tracks = gv.Locations(ride, area="47.37,8.54,50km")
        >>> release = tracks.hide_places("47.37,8.54", hide=200, centres=folder / "centres.json")
        >>> [zone["margin"] for zone in release.certificate()["zones"]]
        [250]
        """
        return zones_certificate(
            self.zones,
            self.rules,
            self.columns,
            inexact=self.inexact,
            entries=self.entries,
            noise=None if self.noise is None else self.noise.certificate(),
            identity=self.id,
        )

    def lines(self) -> geopandas.GeoDataFrame:
        """Return the published pieces as lines, with their lengths in metres; a piece of one point is a point.

        Examples
        --------
        >>> ride = pd.DataFrame({"lat": 47.37 + np.arange(200) * 1e-4, "lon": 8.54})
        >>> tracks = gv.Locations(ride, area="47.37,8.54,50km")
        >>> release = tracks.hide_places("47.37,8.54", hide=200, centres=folder / "centres.json")
        >>> release.lines().geom_type.tolist()
        ['LineString']
        """
        import geopandas
        import shapely

        parts = pieces_of(self.degrees, self.pieces)
        shapes = [shapely.LineString(part) if len(part) > 1 else shapely.Point(part[0]) for part in parts]
        return geopandas.GeoDataFrame({"length": [*map(ground_length, parts)]}, geometry=shapes, crs=4326)

    def discs(self) -> geopandas.GeoDataFrame:
        """Return the zones as polygons, with their ids and radii, for maps.

        Examples
        --------
        >>> ride = pd.DataFrame({"lat": 47.37 + np.arange(200) * 1e-4, "lon": 8.54})
        >>> tracks = gv.Locations(ride, area="47.37,8.54,50km")
        >>> release = tracks.hide_places("47.37,8.54", hide=200, centres=folder / "centres.json")
        >>> release.discs()["radius"].tolist()
        [599]
        """
        import geopandas
        import shapely

        rows = {"id": [zone.id for zone in self.zones], "radius": [zone.radius for zone in self.zones]}
        return geopandas.GeoDataFrame(
            rows, geometry=[shapely.Polygon(zone.outline()) for zone in self.zones], crs=4326
        )

    def _card(self) -> tuple[str, CardRows]:
        radii = ", ".join(metres(zone.radius) for zone in self.zones)
        # A line from one noisy point to the next is many times as long as the track.
        length = f" of {metres(self.length)} together" if self.noise is None else ""
        rows = [
            ("hidden", f"{hidden(self.hidden)} at {CHANCE:.0%}, inside the discs alone"),
            ("discs", f"{len(self.zones)}, of radius {radii}"),
            ("published", counted(len(np.unique(self.pieces)), "piece") + length),
            ("outside", "as it is" if self.noise is None else "with noise"),
            ("exact", "yes" if not self.inexact else f"no: {self.inexact}"),
        ]
        return f"Release of zones: {counted(len(self.degrees), 'point')}", rows
