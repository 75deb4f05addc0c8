"""Zones of a stream: discs inside of which nothing is drawn, charged or told but that somebody is in them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from geoveil._types import Hide
from geoveil._types import Path as PathLike
from geoveil.errors import InvalidParameter
from geoveil.geo.areas import Area
from geoveil.mechanisms.discs import RADIUS, STEPS
from geoveil.noise import Source

if TYPE_CHECKING:
    from geoveil.zones import Near, PlacesLike, Zone

__all__ = ["StreamZone", "ZoneGroup", "drawn_zone", "groups_of", "zone_at"]

#: Discs that are at most so many metres apart count as meeting, so that no rounding tells two that do meet apart.
_TOUCH = 1.0
#: Steps of the search for the disc around several; with more it hardly becomes smaller.
_STEPS = 300


class StreamZone(NamedTuple):
    """A zone and its name. Both are public; the place that it hides is not here."""

    name: str
    zone: Zone

    def text(self) -> str:
        """Return it as JSON, to be stored."""
        return json.dumps({"name": self.name, "zone": self.zone.describe()})

    @classmethod
    def read(cls, text: str) -> StreamZone:
        """Return it from what is stored."""
        from geoveil.zones import Zone

        stated = json.loads(text)
        return cls(stated["name"], Zone.described(stated["zone"]))


def drawn_zone(
    place: PlacesLike,
    hide: Hide,
    name: str,
    source: Source,
    area: Area,
    taken: Sequence[Zone],
    *,
    centres: PathLike | None,
    margin: float | str,
    near: Near | None,
) -> StreamZone:
    """Return the zone of a place, whose centre is drawn once and kept in the owner's file of centres.

    A place that is not in the area of the stream, or a name that another zone has, is refused before.
    """
    from geoveil.zones import Centres, Hiding, own_centres, places_of

    places = places_of(place)
    if len(places) != 1:
        raise InvalidParameter("place", f"{len(places)} places", "one place", "Call it for each of them.")
    path = own_centres() if centres is None else Path(centres)
    hiding, file = Hiding.of(hide, None, margin), Centres(path)
    assert area.tangent is not None
    at = area.tangent.forward(np.array([[places[0].lon, places[0].lat]]), area.radius).values
    if not np.hypot(*at[0]) <= area.radius + hiding.within:
        # The value is private.
        remedy = "Check the latitude and the longitude, or open the stream with a larger area."
        raise InvalidParameter("place", "...", f"in the area of the stream, {area.name}", remedy)
    named = InvalidParameter("name", name, "a name that no other zone has", "Choose another one.")
    if taken and file.new(places, near):
        raise named
    (zone,) = file.zones(places, hiding, source, near=near)
    if taken and zone not in taken:
        raise named
    return StreamZone(name, zone)


class ZoneGroup(NamedTuple):
    """Zones whose discs meet, which have one answer: which of them a true place is in must not show.

    It follows from the public discs, whatever the order in which they were declared.
    """

    #: In the order of their ids.
    members: tuple[StreamZone, ...]
    #: A public disc around all of them.
    lat: float
    lon: float
    radius: float

    @property
    def id(self) -> str:
        """The id under which answers are stored: that of the first member, wherever in the group a place is."""
        return self.members[0].zone.id

    @property
    def name(self) -> str:
        """The names of the members."""
        return " and ".join(sorted({each.name for each in self.members}))

    def words(self) -> str:
        """Return what it hides, for people."""
        asked = " and ".join("=".join(each.zone.hiding.asked) for each in self.members)
        return f"{asked}, inside a disc of radius {self.radius:g} m nothing else is told"


def groups_of(zones: Iterable[StreamZone]) -> list[ZoneGroup]:
    """Return the groups of zones whose discs meet, directly or through others."""
    from geoveil.zones import distances

    groups: list[list[StreamZone]] = []
    for new in sorted(zones, key=lambda each: each.zone.id):
        met: list[StreamZone] = [new]
        apart: list[list[StreamZone]] = []
        for group in groups:
            away = distances(new.zone, np.array([[each.zone.lon, each.zone.lat] for each in group]))
            radii = np.array([each.zone.radius for each in group])
            if (away <= new.zone.radius + radii + _TOUCH).any():
                met += group
            else:
                apart.append(group)
        groups = [*apart, met]
    ordered = [sorted(group, key=lambda each: each.zone.id) for group in groups]
    return [ZoneGroup(tuple(group), *_around([each.zone for each in group])) for group in ordered]


def zone_at(groups: Iterable[ZoneGroup], lon: float, lat: float) -> ZoneGroup | None:
    """Return the group of zones that a true place is in; None if it is outside of all. It is decided exactly."""
    from geoveil.zones import kept_points

    degrees = np.array([[lon, lat]])
    for group in groups:
        if not kept_points([each.zone for each in group.members], degrees)[0]:
            return group
    return None


def _around(zones: Sequence[Zone]) -> tuple[float, float, float]:
    """Return latitude, longitude and radius of a disc around these, hardly larger than the smallest one.

    The middle moves towards the disc that reaches farthest, by less and less (Bădoiu and Clarkson 2003).
    """
    from geoveil.zones import distances

    if len(zones) == 1:
        return zones[0].lat, zones[0].lon, float(zones[0].radius)
    up, across = np.radians([[each.lat for each in zones], [each.lon for each in zones]])
    at = np.column_stack([np.cos(up) * np.cos(across), np.cos(up) * np.sin(across), np.sin(up)])
    radii = np.array([each.radius for each in zones]) / RADIUS
    middle, best, least = at[0], at[0], math.inf
    for step in range(2, _STEPS):
        chords = np.linalg.norm(at - middle, axis=1)
        reach = 2 * np.arcsin(np.minimum(chords / 2, 1)) + radii
        far = int(np.argmax(reach))
        if reach[far] < least:
            best, least = middle, reach[far]
        if chords[far] < 1e-12:
            break  # this disc holds all others
        middle = middle + (at[far] - middle) * (reach[far] / step / chords[far])
        middle /= np.linalg.norm(middle)
    lat = round(math.degrees(math.asin(max(-1.0, min(best[2], 1.0)))) * STEPS) / STEPS
    lon = round(math.degrees(math.atan2(best[1], best[0])) * STEPS) / STEPS
    reaches = [distances(each, np.array([[lon, lat]]))[0] + each.radius for each in zones]
    return lat, lon, float(math.ceil(max(reaches)))
