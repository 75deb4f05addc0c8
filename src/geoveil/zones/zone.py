"""A zone: the public disc around a centre that was drawn once, within which nothing is published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from geoveil import checks
from geoveil._types import Rho
from geoveil.errors import InvalidData, InvalidParameter, Message
from geoveil.mechanisms.discs import RADIUS, ROUNDING, STEPS, Disc, TruncatedGaussian, UniformDisc
from geoveil.privacy import CGP, promise
from geoveil.text.typed_values import read_length
from geoveil.zones.places import HiddenPlace

__all__ = ["CHANCE", "MARGIN", "NEAR", "Hiding", "Zone", "metres_of"]

#: The chance of a right guess at which a hidden distance is stated.
CHANCE = 0.75
#: Metres within which a place is taken for one that was declared before: that of a housemate, or the same once more.
NEAR = 100
#: The default margin in metres: somebody may walk, park or lose the signal so far from home without a trace. With
#: `hide=200` the radius is then that of which attacks were measured (docs/understand/zones.md).
MARGIN = 250


@dataclass(frozen=True)
class Hiding:
    """How a place is hidden: the law of its centre, and the margin. Public, and the same wherever the place is.

    Parameters
    ----------
    law : UniformDisc or TruncatedGaussian
        The law of the centre.
    margin : int
        Metres around the place within which nothing that happens changes what is published.

    Examples
    --------
    >>> from geoveil.zones import Hiding
    >>> hiding = Hiding.of(hide=200)
    >>> hiding.law.reach, hiding.radius, round(hiding.law.chance(200), 4)
    (248, 599, 0.7496)
    """

    law: Disc
    margin: int = MARGIN

    def __post_init__(self) -> None:
        remedy = f"It is in whole metres around the place; {MARGIN} is the default."
        checks.count("margin", self.margin, low=50, high=100_000, remedy=remedy)

    @classmethod
    def of(cls, hide: float | str | None = None, rho: Rho = None, margin: float | str = MARGIN) -> Hiding:
        """Return how places are hidden, given the distance that is hidden at 75%, or ρ.

        A distance asks for a uniform disc, whose loss is a chance that adds up. ρ asks for a truncated Gaussian, whose
        loss is a ρ that adds up with that of other releases.
        """
        if (hide is None) == (rho is None):
            remedy = Message("Give {hide}, in metres, or {rho} where budgets must add up.")
            raise InvalidParameter("hide, rho", (hide, rho), "exactly one of them", remedy)
        metres = math.ceil(metres_of("margin", margin))
        if hide is not None:
            return cls(UniformDisc.hiding(metres_of("hide", hide), CHANCE), metres)
        guarantee = promise(None, rho, None, None)
        assert isinstance(guarantee, CGP)
        return cls(TruncatedGaussian.of(guarantee), metres)

    @property
    def asked(self) -> tuple[str, str]:
        """The name and the value of the argument of `of` that asks for this law: the distance that is hidden, or ρ.

        Examples
        --------
        >>> from geoveil.zones import Hiding
        >>> Hiding.of(hide=200).asked, Hiding.of(hide=202).asked
        (('hide', '200'), ('hide', '202'))
        """
        law = self.law
        if isinstance(law, TruncatedGaussian):
            return "rho", law.rho
        # Several distances have one law: a whole number if one of them is.
        away = law.hidden(CHANCE)
        whole = float(math.floor(away))
        return "hide", f"{whole if whole >= 1 and UniformDisc.hiding(whole, CHANCE) == law else away:g}"

    @property
    def radius(self) -> int:
        """The radius of the disc in metres.

        It is the reach of the centre, the margin, the rounding of the centre, and `NEAR`: the margin is also around
        places that have this centre because they are so near the place for which it was drawn.
        """
        return self.law.reach + self.margin + NEAR + ROUNDING

    @property
    def within(self) -> int:
        """Metres from a new place within which points may be removed."""
        return self.radius + self.law.reach + ROUNDING

    def describe(self) -> dict[str, Any]:
        """Return the description in certificates and in files of centres."""
        return {"law": self.law.describe(), "margin": self.margin}

    @classmethod
    def described(cls, stated: Any) -> Hiding:
        """Return what a description states; any error means that it states nothing."""
        law, margin = stated["law"], stated["margin"]
        if law["name"] == UniformDisc.name:
            return cls(UniformDisc(law["reach"]), margin)
        if law["name"] == TruncatedGaussian.name:
            return cls(TruncatedGaussian(CGP(rho=law["rho"]), law["reach"]), margin)
        raise ValueError(f"no law is called {law['name']!r}")


@dataclass(frozen=True)
class Zone:
    """A disc within which nothing is published. It is public: the place that it hides is somewhere in it.

    Parameters
    ----------
    id : str
        Identifies the centre; random.
    steps : (int, int)
        Latitude and longitude of the centre, in multiples of 10⁻⁵ degrees.
    hiding : Hiding
        How the place is hidden.

    Examples
    --------
    >>> from geoveil.zones import Hiding, Zone
    >>> zone = Zone("a1", (4737012, 854321), Hiding.of(hide=200))
    >>> zone.lat, zone.lon, zone.radius
    (47.37012, 8.54321, 599)
    """

    id: str
    steps: tuple[int, int]
    hiding: Hiding

    def __post_init__(self) -> None:
        if not (abs(self.steps[0]) <= 90 * STEPS and abs(self.steps[1]) <= 180 * STEPS):
            raise InvalidData("steps", self.steps, "a latitude and a longitude", "Check the file of centres.")

    @property
    def lat(self) -> float:
        """The latitude of the centre in degrees."""
        return self.steps[0] / STEPS

    @property
    def lon(self) -> float:
        """The longitude of the centre in degrees."""
        return self.steps[1] / STEPS

    @property
    def radius(self) -> int:
        """The radius in metres, on the public sphere."""
        return self.hiding.radius

    def hides(self, place: HiddenPlace) -> bool:
        """Return whether the disc has room for the margin around a place, as it does where its centre was drawn."""
        return place.distance(HiddenPlace(self.lat, self.lon)) + self.hiding.margin <= self.radius

    def describe(self) -> dict[str, Any]:
        """Return the description in certificates: everything about the zone, as all of it is public."""
        return {"id": self.id, "steps": [*self.steps], "radius": self.radius, **self.hiding.describe()}

    @classmethod
    def described(cls, stated: Any) -> Zone:
        """Return the zone that a description states; any error means that it states none."""
        lat, lon = stated["steps"]
        zone = cls(str(stated["id"]), (int(lat), int(lon)), Hiding.described(stated))
        if stated["radius"] != zone.radius:
            raise ValueError(f"the radius is {stated['radius']!r}, and its law and margin give {zone.radius}")
        return zone

    def outline(self, corners: int = 180) -> list[tuple[float, float]]:
        """Return longitudes and latitudes on the edge, for maps; the first is also the last."""
        angle, up = self.radius / RADIUS, math.radians(self.lat)
        edge = []
        for corner in range(corners + 1):
            turn = 2 * math.pi * (corner % corners) / corners
            high = math.sin(up) * math.cos(angle) + math.cos(up) * math.sin(angle) * math.cos(turn)
            across = math.sin(turn) * math.sin(angle) * math.cos(up)
            lon = self.lon + math.degrees(math.atan2(across, math.cos(angle) - math.sin(up) * high))
            edge.append((lon, math.degrees(math.asin(high))))
        return edge


def metres_of(argument: str, given: float | str) -> float:
    """Return a length in metres, given as a number or as a text such as "200 m"."""
    metres = read_length(given) if isinstance(given, str) else given
    if metres is None:
        raise InvalidParameter(argument, given, "a length such as 200 or '200 m'", "Give a positive number of metres.")
    return checks.number(argument, metres, above=0, below=1e6, remedy="It is in metres.")
