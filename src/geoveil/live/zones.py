"""Zones of a stream: discs inside of which nothing is drawn, charged or told but that somebody is in them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from geoveil._types import Hide
from geoveil._types import Path as PathLike
from geoveil.errors import InvalidParameter
from geoveil.noise import Source

if TYPE_CHECKING:
    from geoveil.zones import Near, PlacesLike, Zone

__all__ = ["StreamZone", "drawn_zone", "zone_at"]


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
    *,
    centres: PathLike | None,
    margin: float | str,
    near: Near | None,
) -> StreamZone:
    """Return the zone of a place, whose centre is drawn once and kept in the owner's file of centres."""
    from geoveil.zones import Centres, Hiding, own_centres, places_of

    places = places_of(place)
    if len(places) != 1:
        raise InvalidParameter("place", f"{len(places)} places", "one place", "Call it for each of them.")
    path = own_centres() if centres is None else Path(centres)
    (zone,) = Centres(path).zones(places, Hiding.of(hide, None, margin), source, near=near)
    return StreamZone(name, zone)


def zone_at(zones: Iterable[StreamZone], lon: float, lat: float) -> StreamZone | None:
    """Return the first zone that a true place is in; None if it is outside of all. It is decided exactly."""
    from geoveil.zones import kept_points

    degrees = np.array([[lon, lat]])
    return next((each for each in zones if not kept_points([each.zone], degrees)[0]), None)
