"""The tangent plane of the Earth at a place: the orthographic projection of the ellipsoid of WGS 84.

A point P is mapped to x = ⟨P - P0, east⟩ and y = ⟨P - P0, north⟩, where P0 is the point of contact. Two points are
never farther apart in the plane than on the ground, since a geodesic is at least as long as its chord, and a chord at
least as long as its projection: the stretch is 1. docs/understand/projections.md has the theorem,
`ground_distance` its converse.

`Tangent(lat, lon)` has three methods:

- `forward(degrees, radius)` projects longitudes and latitudes, (n, 2), to `Reals` in metres, (n, 2). For points within
  `radius` of the point of contact, the error of the doubles is at most the public bound `rounding(radius)`; the balls
  have any precision. Points on the far side of the Earth become infinite. The caller refuses points beyond `radius`,
  or moves them with `clamp_to_disc`;
- `forward_through(degrees, radius)` does the same, and projects the far side through the Earth, where it is stretched
  no more than the near one;
- `inverse(metres)` returns longitudes and latitudes of any points within `REACH`, in doubles.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from geoveil.errors import UnreliableArithmetic
from geoveil.host.arithmetic import inaccurate
from geoveil.noise.reals import Ball, Floats, Reals, double, settled
from geoveil.noise.source import ACCURACY

__all__ = ["REACH", "Tangent", "clamp_to_disc", "ground_distance", "rounding", "shrink"]

#: The semi-major axis of WGS 84 in metres, and its flattening as a ratio of whole numbers.
_AXIS = 6378137
_FLATTENING = (1_000_000_000, 298_257_223_563)
_F = _FLATTENING[0] / _FLATTENING[1]
_E2 = _F * (2 - _F)
#: The smallest radius of curvature of the ellipsoid, a(1 - e²), rounded down.
_CURVATURE = 6_335_439.0
#: Every point of the plane within this distance, in metres, is the image of a point on the near side of the Earth.
REACH = 5.7e6
#: Number of points that are projected at once: their intermediate results fit into the processor's cache.
_BLOCK = 8192
_HALF = math.pi / 360
#: Doubles, arrays of doubles, or balls: one formula serves them all.
Quantity: TypeAlias = Any


def rounding(radius: float) -> float:
    """Bound the error of a coordinate in doubles, in metres, for points of the disc of this radius.

    Notes
    -----
    noise/ROUNDING.md derives it: 12·radius·`ACCURACY` for the formula, a margin for moving points to
    the edge of the disc, and 2^-27 m for the rounding of a difference of longitudes of up to 540°.
    """
    return 16 * ACCURACY * radius + 2.0**-27


def shrink(radius: float) -> float:
    """Return the smallest ratio of plane distance to ground distance in the disc of this radius, rounded down."""
    return math.sqrt(1 - (radius / _CURVATURE) ** 2) * (1 - 2.0**-50)


def ground_distance(distance: float, radius: float) -> float:
    """Return the largest ground distance between a point of the disc and a point at this plane distance from it.

    Noise moves points out of the disc, where the plane shrinks distances more; the second point may be anywhere within
    `REACH`.
    """
    return distance / shrink(min(radius + distance, REACH))


def clamp_to_disc(points: Reals, radius: float) -> Reals:
    """Return the nearest points of the disc around (0, 0), made slightly smaller so that rounding stays within it.

    This is a contraction. The error of points from `Tangent.forward` stays below `rounding(radius)`, however far away
    they are: moving a point towards the centre shrinks its error in proportion.
    """
    edge = radius * (1 - 2.0**-40)
    values = points.values
    lengths = np.hypot(values[:, 0], values[:, 1])
    beyond = lengths > edge
    if beyond.any():
        values = values.copy()
        values[beyond] *= (edge / lengths[beyond])[:, None]

    def ball(i: int, bits: int) -> Ball:
        from flint import arb

        x, y = (points.ball(i - i % 2 + axis, bits) for axis in (0, 1))
        length = (x * x + y * y).sqrt()
        own = y if i % 2 else x
        return own if length < edge else own * (arb(edge) / length).min(arb(1))

    return Reals(values, points.error + 2.0**-50 * radius, ball)


def _blocks(rows: Floats) -> list[Floats]:
    return [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]


@dataclass(frozen=True)
class _Constants:
    """The constants of the projection, as doubles or as balls.

    Sine and cosine of the latitude of the point of contact, the semi-major axis, and e².
    """

    sine: Quantity
    cosine: Quantity
    axis: Quantity
    e2: Quantity
    root: Callable[[Quantity], Quantity]

    def project(self, s: Quantity, t: Quantity, across: Quantity) -> tuple[Quantity, Quantity, Quantity]:
        """Return x, y and the squared sine of half the angle to the normal at the point of contact.

        The arguments are s = sin(Δφ/2), t = sin(Δλ/2) and sin Δλ. Every term has a factor that vanishes at the point
        of contact, so that errors are relative to the distance from it.
        """
        sin0, cos0, e2, root = self.sine, self.cosine, self.e2, self.root
        c = root(1 - s * s)
        up, along = 2 * s * c, 1 - 2 * s * s
        sine, cosine = sin0 * along + cos0 * up, cos0 * along - sin0 * up
        w0, w = root(1 - e2 * sin0 * sin0), root(1 - e2 * sine * sine)
        normal = self.axis / w
        # sin φ0 - sin φ, and ν0 sin φ0 - ν sin φ.
        fall = -2 * s * (cos0 * c - sin0 * s)
        bulge = self.axis * fall * (1 / w0 + e2 * (sin0 + sine) * sine / (w * w0 * (w + w0)))
        lift = cosine * t * t
        x = normal * cosine * across
        y = normal * (up + 2 * sin0 * lift) + e2 * cos0 * bulge
        return x, y, s * s + cos0 * lift


@dataclass(frozen=True)
class Tangent:
    """The tangent plane of the Earth at a point given in degrees of WGS 84."""

    lat: float
    lon: float

    def forward(self, degrees: Floats, radius: float) -> Reals:
        """Project longitudes and latitudes to metres of the plane; infinite on the far side of the Earth.

        Parameters
        ----------
        degrees : array
            Longitudes from -180 to 360 and latitudes, (n, 2).
        radius : float
            The stated error holds for points within this distance of the point of contact.
        """
        if "sin" in inaccurate():
            raise UnreliableArithmetic(
                "numpy's sin is less accurate on this machine than the error bounds of projections assume.",
                "Install another version of numpy, or project the data with another tool.",
                charged="nothing",
            )
        values: Floats = np.empty((len(degrees), 2))
        formula = self._doubles
        for block, out in zip(_blocks(degrees), _blocks(values), strict=True):
            lon, lat = block.T
            across = lon - self.lon
            if not (np.abs(across).max() <= 180):
                across -= 360 * np.rint(across / 360)
            across *= _HALF
            x, y, far = formula.project(np.sin((lat - self.lat) * _HALF), np.sin(across), np.sin(2 * across))
            out[:, 0], out[:, 1] = x, y
            out[~(far < 0.5)] = np.inf
        return Reals(values, rounding(radius), functools.partial(self._ball, degrees))

    def forward_through(self, degrees: Floats, radius: float) -> Reals:
        """Project longitudes and latitudes to metres of the plane; those of the far side through the Earth.

        On the far side doubles lose their accuracy, so that these coordinates come from balls, at most 2^-40 m wide.
        """

        def attempt(i: int, bits: int) -> float | None:
            ball = flat.ball(i, bits)
            # A coordinate may be zero, as at a pole: no ball would have a relative accuracy.
            return float(ball.mid()) if ball.is_finite() and ball.rad() < 2.0**-40 else None

        flat = self.forward(degrees, radius)
        for i in np.flatnonzero(~np.isfinite(flat.values)).tolist():
            flat.values.flat[i] = settled(functools.partial(attempt, i))
        return flat

    def inverse(self, metres: Floats) -> Floats:
        """Return the longitudes, from -180 to 180, and the latitudes of points of the plane within `REACH`."""
        return np.concatenate([np.empty((0, 2)), *map(self._inverse, _blocks(metres))])

    def _inverse(self, metres: Floats) -> Floats:
        x, y = metres.T
        sine, cosine, k = self._doubles.sine, self._doubles.cosine, 1 / (1 - _E2)
        normal = _AXIS / math.sqrt(1 - _E2 * sine * sine)
        # The depth z below the plane solves a z² - 2 b z + c = 0; the smaller root is on the near side.
        a = cosine * cosine + k * sine * sine
        b = normal + (k - 1) * sine * cosine * y
        c = x * x + (sine * sine + k * cosine * cosine) * y * y
        depth = c / (b + np.sqrt(b * b - a * c))
        out = normal * cosine - sine * y - cosine * depth
        up = normal * sine + k * (cosine * y - sine * depth)
        lon = self.lon + np.degrees(np.arctan2(x, out))
        lon -= 360 * np.rint(lon / 360)
        return np.column_stack([lon, np.degrees(np.arctan2(up, np.hypot(x, out)))])

    @functools.cached_property
    def _doubles(self) -> _Constants:
        """The constants as doubles, each the nearest one or its neighbour."""
        return _Constants(
            settled(lambda _: double(self._turns.sin_pi())),
            settled(lambda _: double(self._turns.cos_pi())),
            float(_AXIS),
            _E2,
            np.sqrt,
        )

    @property
    def _turns(self) -> Ball:
        """The latitude of the point of contact in half turns, at Arb's current precision."""
        from flint import arb

        return arb(self.lat) / 180

    def _ball(self, degrees: Floats, i: int, _: int) -> Ball:
        """Return a ball that contains coordinate i of the flattened result, at Arb's current precision."""
        from flint import arb

        lon, lat = (arb(float(part)) for part in degrees[i // 2])
        place = self._turns
        f = arb(_FLATTENING[0]) / _FLATTENING[1]
        formula = _Constants(place.sin_pi(), place.cos_pi(), arb(_AXIS), f * (2 - f), lambda square: square.sqrt())
        up, across = (lat - self.lat) / 360, (lon - self.lon) / 360
        s = up.sin_pi()
        return formula.project(s, across.sin_pi(), (2 * across).sin_pi())[i % 2]
