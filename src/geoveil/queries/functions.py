"""Queries about functions that the caller supplies: distances to a place or shape, and any Lipschitz function."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.mechanisms import Lipschitz
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Reals, as_reals, smallest
from geoveil.queries import grouped
from geoveil.queries.lipschitz_query import LipschitzQuery
from geoveil.queries.query import Tuple

__all__ = ["Distance", "UserFunction"]


#: The largest value of a function: doubles of that size are less than a metre apart.
_LARGEST = 1e15
_FN_ERROR = "It is 0 for a function that does not round, or a small length in metres."


@dataclass(frozen=True)
class Stated(LipschitzQuery):
    """A query about a function whose rounding error only the caller can state.

    Parameters
    ----------
    fn_error : float, optional
        The largest Euclidean distance in metres of the computed value, as doubles, from the value of the Lipschitz
        function that is meant. None if it is not known.

    Notes
    -----
    The computed values of two tuples are at most K·dist + 2·fn_error apart: the guarantee holds as if all tuples were
    2·fn_error/K farther from each other. The function gets doubles. If points are known more precisely than that,
    `rounding` bounds the distance of the doubles from the points.
    """

    fn_error: float | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fn_error is None:
            return
        stated = 0.0 if self.fn_error == 0 else checks.positive("fn_error", self.fn_error, remedy=_FN_ERROR)
        if stated > self.mechanism.scale:
            allowed = f"at most the scale of the noise, {self.mechanism.scale:.3g} m"
            raise InvalidParameter("fn_error", self.fn_error, allowed, _FN_ERROR)
        # Converting to a float may have rounded down; the next float is then at least the number stated.
        object.__setattr__(self, "fn_error", math.nextafter(stated, math.inf) if stated < self.fn_error else stated)

    @property
    def inexact(self) -> str:
        return "how the function rounds is not known; fn_error= states it" if self.fn_error is None else ""

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the exact 1-β quantile of the Euclidean length of the noise, plus the function's stated error."""
        return super().error(beta, each=each) + (self.fn_error or 0.0)


@dataclass(frozen=True)
class Distance(Stated):
    """Release the distance from a public place or shape to the nearest point of the tuple.

    Parameters
    ----------
    measure : callable
        Returns the distance of every point to the place or shape; it must be 1-Lipschitz in the point.
    """

    measure: Callable[[Reals], Reals] = field(kw_only=True)

    name = "distance"
    kind = "length"
    of_set, sizeless = True, "Hausdorff"

    def _described(self) -> dict[str, object]:
        """Return the parameters by name, with the place or shape that `measure` holds instead of `measure`."""
        described = {name: value for name, value in super()._described().items() if name != "measure"}
        held = getattr(self.measure, "keywords", {})
        return {**described, "p": held["p"] if "p" in held else getattr(held.get("geometry"), "wkt", self.measure)}

    @property
    def public_points(self) -> Floats:
        held = getattr(self.measure, "keywords", {})
        if "p" in held:
            return np.array([held["p"]])
        if "geometry" not in held:
            return super().public_points
        import shapely

        return np.asarray(shapely.get_coordinates(held["geometry"]))

    def evaluate(self, x: Tuple) -> Reals:
        return smallest(self.measure(as_reals(x)))

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        measured = self.measure(x)
        return grouped.nearest(measured.values, sizes), float(np.max(measured.error))


def _forgotten(x: Floats) -> Floats:
    """Raise an error: a release holds this in place of the user's function."""
    raise TypeError("A release does not keep the function that was evaluated for it.")


@dataclass(frozen=True)
class UserFunction(Stated):
    """Release the value of a user's function. The user is responsible for its Lipschitz constant.

    Parameters
    ----------
    fn : Lipschitz
        The user's function with its constant and metric.
    numbers : int
        The number of coordinates of its value.
    """

    fn: Lipschitz = field(kw_only=True)
    numbers: int = field(kw_only=True, default=1)

    name = "answer"
    kind = "value"

    def evaluate(self, x: Tuple) -> Reals:
        untouched = as_reals(x).values.view()
        untouched.flags.writeable = False
        try:
            value = self.fn(untouched)
        except Exception as problem:
            # All failures raise one class of error. Its cause is the function's error, which has the failing line.
            allowed = "a function of an (n, d) array that returns numbers"
            remedy = f"It failed with {type(problem).__name__}: {problem}"
            raise InvalidData("fn", repr(self.fn.function), allowed, remedy) from problem
        if value.size != self.numbers:
            allowed = f"a function that returns as many numbers as size={self.numbers} says"
            raise InvalidData("fn", value.shape, allowed, f"Give size={value.size}.")
        if not (np.abs(value) <= _LARGEST).all():
            allowed = f"a function that returns finite numbers of at most {_LARGEST:g}"
            raise InvalidData("fn", "a value that is not", allowed, "Choose a larger unit, or correct the function.")
        return as_reals(value)

    @property
    def kept(self) -> Self:
        """The query without the function, which may hold private data."""
        return replace(self, fn=Lipschitz(_forgotten, self.fn.constant, self.fn.metric))

    @property
    def size(self) -> int:
        return self.numbers

    @property
    def constant(self) -> float:
        return self.fn.constant

    @property
    def sensitivity(self) -> float | None:  # type: ignore[override]
        """The constant, where it is known to hold: under its own metric, and under every larger one."""
        return self.constant if self.fn.metric.is_at_most(self.guarantee.metric) else None

    @property
    def rounding_error(self) -> float:
        """The error that rounding all points adds: at most the constant times the movement of the whole tuple."""
        return self.constant * self.guarantee.metric.of_all(self.rounding, self.n)
