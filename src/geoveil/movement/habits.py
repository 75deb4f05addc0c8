"""How people and vehicles stay and travel: public round numbers, never measured on the one who is protected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

__all__ = ["PERSON", "VEHICLE", "Habits", "Travel"]

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0


@dataclass(frozen=True)
class Travel:
    """A way to travel.

    Parameters
    ----------
    duration : float
        Mean duration of a trip in seconds.
    speed : float
        Root mean square speed along one coordinate, in metres per second.
    memory : float
        Seconds over which the velocity is correlated.
    share : float
        Share of the trips that are made this way.
    """

    duration: float
    speed: float
    memory: float
    share: float


@dataclass(frozen=True)
class Habits:
    """A public prior on somebody who stays, travels in one of several ways, and returns to places.

    Parameters
    ----------
    stay : float
        Mean duration of a stay in seconds.
    travels : tuple of Travel
        The ways to travel; their shares add up to 1.
    spread : float
        Standard deviation of a coordinate, in metres, before anything is known.
    lost : float
        Mean seconds between jumps to anywhere, which nothing else explains.
    radius : float
        Radius of a place in metres.
    attraction : float
        How strongly places attract the end of a trip, in square metres: at a place that is visited often, an end is as
        likely as on this much ground where nothing is known.
    settled : float
        Seconds of a stay after which its location is a place.
    most : int
        Largest number of places.
    """

    stay: float
    travels: tuple[Travel, ...]
    spread: float
    lost: float = 30 * _DAY
    radius: float = 30.0
    attraction: float = 3e6
    settled: float = 2 * _HOUR
    most: int = 32

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The shares of time that are spent staying and with each way to travel, in the long run."""
        lengths = [self.stay, *(each.share * each.duration for each in self.travels)]
        return tuple(length / sum(lengths) for length in lengths)


PERSON = Habits(
    stay=6 * _HOUR,
    travels=(
        Travel(30 * _MINUTE, 6.0, 10 * _MINUTE, 0.95),
        Travel(60 * _MINUTE, 40.0, 30 * _MINUTE, 0.05),
    ),
    spread=20_000.0,
)
"""A person with a phone: stays for hours, rides for half an hour, now and then far and fast."""

VEHICLE = Habits(
    stay=10 * _MINUTE,
    travels=(
        Travel(20 * _MINUTE, 5.0, 4 * _MINUTE, 0.98),
        Travel(60 * _MINUTE, 25.0, 30 * _MINUTE, 0.02),
    ),
    spread=8_000.0,
)
"""A vehicle in service, such as a taxi: short stays, many trips, sometimes a motorway."""
