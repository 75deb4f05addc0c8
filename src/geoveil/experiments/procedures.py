"""How the experiments are run: as the paper's text says, or exactly as its authors' programs did.

The two differ in the plane, the cleaning, the sampling, the ε that GP is given, and the settings of the paper's own
algorithms. Our methods have no settings.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.privacy import CGP, GP
from geoveil.queries import Hull

__all__ = ["AUTHORS", "PAPER", "Procedure", "epsilon_at", "procedure_of"]

_DAY = 86_400
#: Of the approximate geo-privacy that ρ-CGP implies and GP is given the ε of.
_DELTA, _CERTAIN = 1e-10, 10.0
#: The number of probes that the paper's experiments allow.
_FEWEST, _MOST = 16, 128


def epsilon_at(rho: float, s: float, delta: float) -> float:
    """The ε of the paper's Appendix C at its parameter s, where Δ = ε/(sρ)."""
    return s / (s - 1) * 2 * math.sqrt(rho * math.log(2 / ((s + 1) * delta)))


class Procedure(ABC):
    """What the paper's text and its authors' programs do differently."""

    name: ClassVar[str]

    @abstractmethod
    def plane(self, latitude: Floats, longitude: Floats) -> Floats:
        """Places in a plane, in what is taken as metres."""

    @abstractmethod
    def elapsed(self, seconds: Any) -> Any:
        """The time that a speed is reckoned with, from the difference of two times, or of many."""

    @abstractmethod
    def stretch(self, seconds: NDArray[np.int64]) -> slice:
        """The part of a trajectory with these times that is used at all."""

    @abstractmethod
    def choose(self, taxis: list[str], count: int, rng: np.random.Generator) -> list[str]:
        """The trajectories of one repetition."""

    @abstractmethod
    def sample(self, track: Floats, n: int, rng: np.random.Generator) -> Floats:
        """The tuple of n points, or fewer, that is asked about."""

    @abstractmethod
    def epsilon(self, rho: float) -> float:
        """What GP is given beside ρ: more than ρ, by the paper's relation for δ = 1e-10 and εΔ = 10."""

    @abstractmethod
    def gamma0(self, epsilon: float) -> float:
        """Of a search for one of k neighbours with this ε."""

    @abstractmethod
    def hull(self, n: int, guarantee: CGP | GP) -> Hull:
        """The paper's hull."""


class _Authors(Procedure):
    """As the authors' programs did it, their slips included.

    Notes
    -----
    Mercator metres of a sphere, which at San Francisco are 0.79 m on the ground. Differences of times modulo a day,
    so that a night and a week of silence are the same. Both samples with replacement, trajectories drawn twice taken
    once. γ0 of twice the noise below zero. In the hull 92% of the budget for finding, points found taken out, and a
    number of probes whose constants are raised to the power 2/3 twice.
    """

    name = "faithful"
    _radius = 6_371_000.0

    def plane(self, latitude: Floats, longitude: Floats) -> Floats:
        north = np.log(np.tan(np.pi / 4 + np.radians(latitude) / 2))
        return self._radius * np.column_stack([np.radians(longitude), north])

    def elapsed(self, seconds: Any) -> Any:
        return seconds % _DAY

    def stretch(self, seconds: NDArray[np.int64]) -> slice:
        return slice(None)

    def choose(self, taxis: list[str], count: int, rng: np.random.Generator) -> list[str]:
        return [taxis[i] for i in np.unique(rng.integers(len(taxis), size=count))]

    def sample(self, track: Floats, n: int, rng: np.random.Generator) -> Floats:
        return track[rng.integers(len(track), size=n)] if len(track) > n else track

    def epsilon(self, rho: float) -> float:
        return epsilon_at(rho, 10.4, _DELTA)  # gives εΔ = 10

    def gamma0(self, epsilon: float) -> float:
        return -2 * 3 / epsilon

    def hull(self, n: int, guarantee: CGP | GP) -> Hull:
        return Hull(n, 2, guarantee, k="authors", share=0.92, distinct=True)


@cache
def _projection() -> Any:
    from pyproj import Transformer

    return Transformer.from_crs("EPSG:4326", "+proj=tmerc +lat_0=37.77 +lon_0=-122.42", always_xy=True)


class _Text(Procedure):
    """As the paper says it.

    Notes
    -----
    A transverse Mercator plane about San Francisco, whose metres are metres on the ground to 1 in 30 000 over the bay.
    True differences of times; of a taxi that is silent for more than a day the longest stretch without such a gap.
    Both samples without replacement, in the order of time. ε from Lemma 3.7 with εΔ = 10. γ0 = 0; in the hull half of
    the budget for finding, and the number of probes that is best for the bound, rounded to [16, 128].
    """

    name = "text"

    def plane(self, latitude: Floats, longitude: Floats) -> Floats:
        return np.column_stack(_projection().transform(longitude, latitude))

    def elapsed(self, seconds: Any) -> Any:
        return seconds

    def stretch(self, seconds: NDArray[np.int64]) -> slice:
        ends = np.concatenate([[0], np.flatnonzero(np.diff(seconds) > _DAY) + 1, [len(seconds)]])
        longest = int(np.argmax(np.diff(ends)))
        return slice(int(ends[longest]), int(ends[longest + 1]))

    def choose(self, taxis: list[str], count: int, rng: np.random.Generator) -> list[str]:
        return [taxis[i] for i in np.sort(rng.permutation(len(taxis))[:count])]

    def sample(self, track: Floats, n: int, rng: np.random.Generator) -> Floats:
        if len(track) <= n:
            return track
        return track[np.sort(rng.choice(len(track), size=n, replace=False, shuffle=False))]

    def epsilon(self, rho: float) -> float:
        log = math.log(1 / _DELTA)
        # ε = ρΔ + 2√(ρ·log(1/δ)) with Δ = 10/ε, solved for ε.
        return math.sqrt(rho) * (math.sqrt(log) + math.sqrt(log + _CERTAIN))

    def gamma0(self, epsilon: float) -> float:
        return 0.0

    def hull(self, n: int, guarantee: CGP | GP) -> Hull:
        return _RoundedHull(n, 2, guarantee)


@dataclass(frozen=True)
class _RoundedHull(Hull):
    """The paper's hull with a number of probes in the range of its experiments."""

    def optimal(self, radius: float) -> int:
        return min(max(super().optimal(radius), _FEWEST), _MOST)


AUTHORS: Procedure = _Authors()
PAPER: Procedure = _Text()


def procedure_of(faithful: bool) -> Procedure:
    """Those of the authors' programs, or those of the paper's text."""
    return AUTHORS if faithful else PAPER
