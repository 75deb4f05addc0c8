"""Public priors on how people and vehicles move, in round numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from geoveil import checks

__all__ = ["CAR", "CYCLING", "TAXI", "WALKING", "Motion"]


@dataclass(frozen=True)
class Motion:
    """A public prior on the motion of a traveller.

    Parameters
    ----------
    spread : float
        Root mean square distance from the middle of the home range, in metres.
    speed : float
        Root mean square speed, stops included, in metres per second.
    tail : float
        Degrees of freedom of the spread, above 2: small if rare trips go much farther than the usual ones.

    Notes
    -----
    These numbers are public: general knowledge of how people travel, never measured on the track to be protected,
    since a number measured on it would be a query and cost privacy. They need not be exact: the smoother adjusts
    spread and speed to the released points.

    Examples
    --------
    >>> Motion(spread=6000, speed=8).timescale
    750.0
    """

    spread: float
    speed: float
    tail: float = 3.0

    def __post_init__(self) -> None:
        checks.positive("spread", self.spread)
        checks.positive("speed", self.speed, remedy="Give a number of metres per second.")
        checks.number("tail", self.tail, above=2, remedy="Below 2 degrees of freedom the spread has no mean.")
        checks.positive("spread / speed", self.timescale, remedy="Give a spread and a speed of usual size.")

    @property
    def timescale(self) -> float:
        """Seconds in which a traveller covers the spread: the time over which positions are correlated."""
        return self.spread / self.speed

    def axis_spread(self, dimension: int) -> float:
        """Return the spread of one coordinate, in metres.

        Examples
        --------
        >>> round(gv.Motion(spread=6000, speed=8).axis_spread(2))
        4243
        """
        return self.spread / math.sqrt(dimension)


WALKING = Motion(spread=1_000.0, speed=1.0)
"""A person on foot in a neighbourhood: 1.4 m/s with stops, within a kilometre or so."""

CYCLING = Motion(spread=3_000.0, speed=3.5)
"""A cyclist in a town: 15 km/h with stops, within some kilometres."""

CAR = Motion(spread=12_000.0, speed=10.0)
"""A private car in daily use: town and fast roads, within some ten kilometres."""

TAXI = Motion(spread=6_000.0, speed=8.0)
"""A taxi in a city: 30 km/h with stops, mostly within some kilometres of the centre, now and then to an airport."""
