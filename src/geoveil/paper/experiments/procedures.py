"""The two procedures of the experiments: that of the paper's text, and that of its authors' programs.

They differ in the projection, the cleaning, the sampling, the ε that GP is given, and the parameters of the paper's
algorithms. geoveil's best methods have no parameters.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.mechanism import Floats
from geoveil.privacy import CGP, GP
from geoveil.queries import Hull

if TYPE_CHECKING:
    import pyproj

__all__ = ["AUTHORS", "PAPER", "Procedure", "epsilon_at", "procedure_of"]

#: One difference of times, or many.
Seconds = TypeVar("Seconds", int, NDArray[np.int64])

_DAY = 86_400
#: δ and εΔ of the approximate geo-privacy that ρ-CGP implies; GP is given its ε.
_DELTA, _CERTAIN = 1e-10, 10.0
#: The smallest and the largest number of probes in the paper's experiments.
_FEWEST, _MOST = 16, 128


def epsilon_at(rho: float, s: float, delta: float) -> float:
    """Return the ε of the paper's Appendix C at its parameter s, where Δ = ε/(sρ)."""
    return s / (s - 1) * 2 * math.sqrt(rho * math.log(2 / ((s + 1) * delta)))


class Procedure(ABC):
    """The steps that the paper's text and its authors' programs do differently."""

    name: ClassVar[str]

    @abstractmethod
    def plane(self, latitude: Floats, longitude: Floats) -> Floats:
        """Project locations to a plane, in the units that the procedure takes as metres."""

    @abstractmethod
    def elapsed(self, seconds: Seconds) -> Seconds:
        """Return the elapsed time, for speeds, from differences of times."""

    @abstractmethod
    def stretch(self, seconds: NDArray[np.int64]) -> slice:
        """Return the part of a trajectory with these times that is used."""

    @abstractmethod
    def choose(self, taxis: list[str], count: int, rng: np.random.Generator) -> list[str]:
        """Choose the trajectories of one repetition."""

    @abstractmethod
    def sample(self, track: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Choose at most n points of a trajectory."""

    @abstractmethod
    def epsilon(self, rho: float) -> float:
        """Return the ε of GP that is compared with ρ, by the paper's relation for δ = 1e-10 and εΔ = 10."""

    @abstractmethod
    def gamma0(self, epsilon: float) -> float:
        """Return the γ0 of a search for one of k neighbours with this ε."""

    @abstractmethod
    def hull(self, n: int, guarantee: CGP | GP) -> Hull:
        """Return the paper's query for a convex hull."""


class _Authors(Procedure):
    """The procedure of the authors' programs, including their errors.

    Notes
    -----
    Metres are those of the Mercator projection of a sphere, which at San Francisco are 0.79 m on the ground.
    Differences of times are taken modulo a day, so that gaps of a night and of a week are the same. Trajectories and
    points are sampled with replacement, and a trajectory that is drawn twice is used once. γ0 is twice the scale of
    the noise below zero. In the hull, 92% of the budget is for the search, points that were found are removed, and
    the constants of the number of probes are raised to the power 2/3 twice.
    """

    name = "faithful"
    _radius = 6_371_000.0

    def plane(self, latitude: Floats, longitude: Floats) -> Floats:
        north = np.log(np.tan(np.pi / 4 + np.radians(latitude) / 2))
        return self._radius * np.column_stack([np.radians(longitude), north])

    def elapsed(self, seconds: Seconds) -> Seconds:
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
def _projection() -> pyproj.Transformer:
    from pyproj import Transformer

    return Transformer.from_crs("EPSG:4326", "+proj=tmerc +lat_0=37.77 +lon_0=-122.42", always_xy=True)


class _Text(Procedure):
    """The procedure of the paper's text.

    Notes
    -----
    The projection is transverse Mercator around San Francisco, whose metres are metres on the ground to 1 in 30 000
    over the bay. Differences of times are the true ones; of a taxi with gaps of more than a day, the longest part
    without such a gap is used. Trajectories and points are sampled without replacement, points in the order of time.
    ε is from Lemma 3.7 with εΔ = 10, and γ0 = 0. In the hull, half of the budget is for the search, and the number of
    probes is the one that is best for the bound, limited to [16, 128].
    """

    name = "text"

    def plane(self, latitude: Floats, longitude: Floats) -> Floats:
        return np.column_stack(_projection().transform(longitude, latitude))

    def elapsed(self, seconds: Seconds) -> Seconds:
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
    """The paper's hull with its number of probes limited to the range of the experiments."""

    def optimal(self, radius: float) -> int:
        return min(max(super().optimal(radius), _FEWEST), _MOST)


AUTHORS: Procedure = _Authors()
PAPER: Procedure = _Text()


def procedure_of(faithful: bool) -> Procedure:
    """Return the procedure of the authors' programs if `faithful`, else that of the paper's text."""
    return AUTHORS if faithful else PAPER
