"""The centres of discs that hide a place: drawn once, near the place, on a public sphere.

Distances are those of a sphere of radius `RADIUS` on which every point has the longitude and the latitude that it has
in WGS 84. `RADIUS` is the smallest radius of curvature of the ellipsoid, so no two points are farther apart on the
sphere than on the ground: what holds within a distance on the ground holds on the sphere. The sphere looks the same
from each of its points, so that the law of a centre is the same wherever the place is.
docs/understand/zones.md has the theorems.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from geoveil import checks
from geoveil.errors import InvalidParameter
from geoveil.mechanisms.mechanism import Floats
from geoveil.mechanisms.quadrature import gauss_legendre
from geoveil.noise import Ball, Reals, Source, as_reals, settled
from geoveil.privacy import CGP

__all__ = ["RADIUS", "ROUNDING", "STEPS", "Disc", "TruncatedGaussian", "UniformDisc"]

#: The radius of the sphere in metres: the smallest radius of curvature of WGS 84, a(1 - e²), rounded down.
RADIUS = 6_335_439
#: Centres are on the lattice of whole multiples of 1/STEPS degrees.
STEPS = 100_000
#: Bound in metres on the distance from a point to the nearest point of the lattice: √2/2 of a step at the equator.
ROUNDING = 1
#: The largest reach of a centre in metres.
FARTHEST = 100_000
#: Bound on the factor by which the curvature of the sphere weakens ρ, for reaches up to FARTHEST.
_CURVED = 1 + 2 * (FARTHEST / RADIUS) ** 2
#: The upper quartile of the standard normal distribution.
_QUARTILE = 0.6744897501960817
#: Covers the rounding of formulas and the error of quadrature.
_MARGIN = 1 + 1e-9


class Disc(ABC):
    """The law of a centre c near a place h: it depends on the distance from h to c alone, and ends at `reach`.

    Examples
    --------
    >>> from geoveil.mechanisms.discs import UniformDisc
    >>> disc = UniformDisc.hiding(200)
    >>> disc.reach, round(disc.chance(200), 4), round(disc.error(0.5))
    (248, 0.7496, 175)
    """

    #: The name of the law in certificates.
    name: ClassVar[str]
    #: The largest distance in metres of a centre from its place.
    reach: int

    def __post_init__(self) -> None:
        remedy = f"Hide less: a centre is within {FARTHEST // 1000} km of its place."
        checks.between("reach", self.reach, 10, FARTHEST, remedy=remedy)

    @abstractmethod
    def draw_height(self, source: Source) -> Callable[[int], Ball]:
        """Return a function from a precision in bits to a ball that contains 1 - cos of the angle from h to c."""

    @abstractmethod
    def density(self, distance: Floats) -> Floats:
        """Return the density of c per square metre of the sphere, at a distance in metres from the place."""

    @abstractmethod
    def error(self, beta: float = 0.05) -> float:
        """Return the 1-β quantile of the distance in metres from the place to its centre."""

    @property
    @abstractmethod
    def rho(self) -> str:
        """The ρ of the guarantee, which adds up over draws."""

    @abstractmethod
    def describe(self) -> dict[str, str | float]:
        """Return the description of the law in a certificate."""

    def draw(self, lat: float, lon: float, source: Source) -> tuple[int, int]:
        """Return a new centre for a place in degrees: the latitude and the longitude in steps of the lattice.

        The ideal centre, a pair of real numbers, is rounded to the nearest point of the lattice. What is rounded
        follows the law of the theorems to the last bit, and rounding reveals nothing more.
        """
        height, turns = self.draw_height(source), _ball_of(source.uniform(1), source)

        def rounded(bits: int) -> tuple[int, int] | None:
            from flint import arb

            fall, turn, up = height(bits), 2 * turns(0, bits), arb(float(lat)) / 180
            sine, along = (fall * (2 - fall)).sqrt(), 1 - fall
            north, east = turn.cos_pi() * sine, turn.sin_pi() * sine
            out, high = along * up.cos_pi() - north * up.sin_pi(), along * up.sin_pi() + north * up.cos_pi()
            degree = arb.pi() / 180
            angles = arb.atan2(high, (out * out + east * east).sqrt()) / degree, arb.atan2(east, out) / degree + lon
            steps = [(angle * STEPS + arb(0.5)).floor().unique_fmpz() for angle in angles]
            north_steps, east_steps = steps
            if north_steps is None or east_steps is None:
                return None
            return int(north_steps), int(east_steps)

        at, across = settled(rounded)
        # Longitudes from -180 (not included) to 180.
        return at, -((180 * STEPS - across) % (360 * STEPS) - 180 * STEPS)

    def exclusion(self, distance: float) -> float:
        """Return a bound on the chance that a centre rules out a place at this distance from the true one.

        It is the chance that c is farther than `reach` from the other place: then the disc need not cover it.
        """
        if distance >= 2 * self.reach:
            return 1.0
        if distance <= 0:
            return 0.0
        away = _height(distance / RADIUS)

        def missed(angle: Floats) -> Floats:
            # cos of the bearing beyond which the circle around h leaves the disc around h', by half angles.
            to = 2 * np.sin(angle / 2) ** 2
            cosine = (to + away - to * away - self._height) / np.sqrt(to * (2 - to) * away * (2 - away))
            return np.asarray(1 - np.arccos(np.clip(cosine, -1, 1)) / math.pi)

        inner = abs(self.reach - distance) / RADIUS
        sure = self._integral(np.ones_like, 0.0, inner) if distance > self.reach else 0.0
        return min((sure + self._integral(missed, inner, self.reach / RADIUS)) * _MARGIN, 1.0)

    @abstractmethod
    def advantage(self, distance: float) -> float:
        """Return a bound on the total variation between the laws of the centres of two places at this distance."""

    def chance(self, distance: float) -> float:
        """Return a bound on the chance of guessing right which of two places at this distance is the true one."""
        return (1 + self.advantage(distance)) / 2

    def hidden(self, chance: float = 0.75) -> float:
        """Return a distance at which guesses are right at most so often, to a tenth of a metre below the largest."""
        checks.number("chance", chance, above=0.5, below=1, remedy="0.5 is a coin flip; 0.75 is usual.")
        low, high = 0, 20 * self.reach
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.chance(middle / 10) <= chance else (low, middle)
        return low / 10

    @cached_property
    def _height(self) -> float:
        return _height(self.reach / RADIUS)

    def _integral(self, share: Callable[[Floats], Floats], start: float, stop: float) -> float:
        """Return the integral of a share of each circle around the place over the law of its angle."""
        nodes, weights = gauss_legendre(400)
        # The shares have roots at both ends, which this substitution smooths.
        turn = (nodes + 1) * math.pi / 4
        angle = start + (stop - start) * np.sin(turn) ** 2
        ring = 2 * math.pi * RADIUS**2 * np.sin(angle) * self.density(angle * RADIUS)
        return float(weights @ (share(angle) * ring * np.sin(2 * turn))) * (stop - start) * math.pi / 4


@dataclass(frozen=True)
class UniformDisc(Disc):
    """A centre that is uniform in the disc of radius `reach` around the place.

    Parameters
    ----------
    reach : int
        The radius in metres.

    Notes
    -----
    For two places at distance d, both laws are the same where they overlap. An attacker learns nothing unless the
    centre rules one place out, which has probability V(d) = 1 - (2/π)(arccos x - x√(1-x²)) with x = d/(2·reach) in the
    plane, and at most V(d)/cos³(reach/RADIUS) on the sphere. Chances of several draws add up.
    """

    reach: int

    name = "uniform disc"

    @classmethod
    def hiding(cls, distance: float, chance: float = 0.75) -> UniformDisc:
        """Return the smallest disc, of whole metres, that hides a distance from guesses that are right so often."""
        checks.number("chance", chance, above=0.5, below=1, remedy="0.5 is a coin flip; 0.75 is usual.")
        # The chance falls as the disc grows.
        low, high = 9, FARTHEST
        if not distance >= 1 or cls(high).chance(distance) > chance:
            remedy = "Give a distance between 1 m and 50 km."
            raise InvalidParameter("hide", distance, "a distance in metres that a disc can hide", remedy)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if cls(middle).chance(distance) <= chance else (middle, high)
        return cls(high)

    @property
    def rho(self) -> str:
        return "0"

    def draw_height(self, source: Source) -> Callable[[int], Ball]:
        uniform = _ball_of(source.uniform(1), source)
        return lambda bits: uniform(0, bits) * _height_ball(self.reach)

    def density(self, distance: Floats) -> Floats:
        area = 2 * math.pi * RADIUS**2 * self._height
        return np.where(np.asarray(distance) <= self.reach, 1 / area, 0.0)

    def error(self, beta: float = 0.05) -> float:
        return 2 * RADIUS * math.asin(math.sqrt((1 - checks.beta(beta)) * self._height / 2))

    def advantage(self, distance: float) -> float:
        x = distance / (2 * self.reach)
        if x >= 1:
            return 1.0
        plane = 2 / math.pi * (math.asin(x) + x * math.sqrt(1 - x * x))
        return min(plane / math.cos(self.reach / RADIUS) ** 3 * _MARGIN, 1.0)

    def describe(self) -> dict[str, str | float]:
        return {"name": self.name, "reach": self.reach}


@dataclass(frozen=True)
class TruncatedGaussian(Disc):
    """A centre with Gaussian noise of scale σ that is redrawn until it is within `reach` of the place.

    Parameters
    ----------
    guarantee : CGP
        ρ, which adds up over several draws.
    reach : int
        The largest distance in metres of a centre from its place.

    Notes
    -----
    The density of c is proportional to exp(-|c - h|²/(2σ²)), with the straight distance through the sphere. For two
    places at distance d it is δ-approximate ρ-CGP, δ = `exclusion(d)`: but for centres that rule one place out,
    D_α ≤ αρd², as without the truncation. The curvature of the sphere costs a share of at most 2(reach/RADIUS)² of ρ,
    which σ includes.
    """

    guarantee: CGP
    reach: int

    name = "truncated Gaussian"

    @classmethod
    def of(cls, guarantee: CGP, delta: float = 1e-6) -> TruncatedGaussian:
        """Return the law with the smallest reach, in whole metres, that rules out a place with probability δ at most.

        The place is at the distance that Gaussian noise of this scale hides at 75%.
        """
        checks.number("delta", delta, above=1e-12, below=1, remedy="1e-6 is usual.")
        scale = cls._scale_of(guarantee)
        far = 2 * _QUARTILE * scale
        low, high = int(2 * scale), int(min(20 * scale + 2 * far + 10, FARTHEST))
        if high <= 2 * scale or low < 10 or cls(guarantee, high).exclusion(far) > delta:
            allowed = "a budget whose noise has a scale between 5 m and about 15 km"
            raise InvalidParameter("rho", str(guarantee.rho), allowed, "It is per square metre: try rho=5e-5.")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if cls(guarantee, middle).exclusion(far) <= delta else (middle, high)
        return cls(guarantee, high)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.reach >= 2 * self.scale:
            raise InvalidParameter("reach", self.reach, "at least 2 scales of the noise", "Use TruncatedGaussian.of.")

    @staticmethod
    def _scale_of(guarantee: CGP) -> float:
        return math.sqrt(_CURVED / (2 * float(guarantee.rho))) * (1 + 1e-12)

    @cached_property
    def scale(self) -> float:
        """σ in metres, rounded up."""
        return self._scale_of(self.guarantee)

    @property
    def rho(self) -> str:
        return str(self.guarantee.rho)

    @cached_property
    def _most(self) -> float:
        """The largest value of |c - h|²/(2σ²)."""
        return self._height * (RADIUS / self.scale) ** 2

    def draw_height(self, source: Source) -> Callable[[int], Ball]:
        while True:
            height = partial(self._fall, _ball_of(source.exponential(1), source))
            # Redrawn until it is within reach: this depends on the noise alone, not on the place.
            if settled(partial(self._is_within_reach, height)):
                return height

    def _fall(self, drawn: Callable[[int, int], Ball], bits: int) -> Ball:
        """Return 1 - cos of the angle from the place to its centre, given an exponential variable."""
        from flint import arb

        return drawn(0, bits) * (arb(self.scale) / RADIUS) ** 2

    def _is_within_reach(self, height: Callable[[int], Ball], bits: int) -> bool | None:
        fall, most = height(bits), _height_ball(self.reach)
        return True if fall <= most else False if fall > most else None

    def density(self, distance: Floats) -> Floats:
        fall = 2 * np.sin(np.asarray(distance) / (2 * RADIUS)) ** 2 * (RADIUS / self.scale) ** 2
        whole = 2 * math.pi * self.scale**2 * -math.expm1(-self._most)
        return np.where(np.asarray(distance) <= self.reach, np.exp(-fall) / whole, 0.0)

    def error(self, beta: float = 0.05) -> float:
        fall = -math.log1p((1 - checks.beta(beta)) * math.expm1(-self._most))
        return 2 * RADIUS * math.asin(math.sqrt(fall / 2) * self.scale / RADIUS)

    def advantage(self, distance: float) -> float:
        half = distance / (2 * RADIUS)
        if half >= self.reach / RADIUS:
            return 1.0
        if half <= 0:
            return 0.0

        def beyond(angle: Floats) -> Floats:
            return np.asarray(np.arccos(np.minimum(math.tan(half) / np.tan(angle), 1)) / math.pi)

        return min(1 - 2 * self._integral(beyond, half, self.reach / RADIUS) + 1e-11, 1.0)

    def describe(self) -> dict[str, str | float]:
        return {"name": self.name, "reach": self.reach, "rho": self.rho, "scale": self.scale}


def _ball_of(drawn: Reals, source: Source) -> Callable[[int, int], Ball]:
    """Return the balls of random variables; those of an experiment are doubles, taken as the numbers they are."""
    return drawn.ball if source.exact else as_reals(drawn.values).ball


def _height(angle: float) -> float:
    """Return 1 - cos of an angle, without cancellation."""
    return 2 * math.sin(angle / 2) ** 2


def _height_ball(reach: int) -> Ball:
    """Return 1 - cos(reach/RADIUS) at Arb's current precision."""
    from flint import arb

    half = (arb(reach) / (2 * RADIUS)).sin()
    return 2 * half * half
