"""Lipschitz functions of a tuple: named summaries, distances, and functions of one's own."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.mechanisms import Additive, Lipschitz, sample_people
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Ball, Reals, Source, as_reals, smallest, stacked
from geoveil.queries import evaluation, functionals
from geoveil.queries.additive import AdditiveQuery, additive
from geoveil.queries.constants import lipschitz
from geoveil.queries.query import Answer, Answers, Persons, Progress, SharedAnswers, Tuple

__all__ = [
    "SUMMARIES",
    "Bounds",
    "Center",
    "Diameter",
    "Distance",
    "LipschitzQuery",
    "Mean",
    "Median",
    "OwnQuery",
    "Radius",
    "RadiusOfGyration",
]


@dataclass(frozen=True)
class LipschitzQuery(AdditiveQuery):
    """The value of a Lipschitz function of the tuple, plus noise for its constant: the best is the paper's."""

    @abstractmethod
    def evaluate(self, x: Tuple) -> Reals:
        """Return the true value."""

    def evaluate_people(self, x: Tuple, sizes: NDArray[np.int64]) -> Reals:
        """Return the true values of many persons, whose points are adjacent rows, as rows."""
        x, stops = as_reals(x), np.cumsum(sizes)
        own = [slice(stop - size, stop) for stop, size in zip(stops.tolist(), sizes.tolist(), strict=True)]
        fast = self._values_of_people(x, sizes)
        if fast is None:
            return stacked([self.evaluate(x[rows]) for rows in own])
        values, error = fast
        width = values[0].size

        def ball(i: int, bits: int) -> Ball:
            return self.evaluate(x[own[i // width]]).ball(i % width, bits)

        return Reals(values.reshape(len(sizes), width), error, ball)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float | Floats] | None:
        """Return the same as doubles with a bound on their error; None if persons have to be looked at one by one."""
        return None

    @property
    def size(self) -> int:
        """How many numbers the value has."""
        return {"place": self.dimension, "box": 2 * self.dimension}.get(self.kind, 1)

    @property
    def constant(self) -> float:
        """The Lipschitz constant under the guarantee's metric."""
        return lipschitz(self.name, n=self.n, d=self.dimension, metric=self.guarantee.metric)

    @cached_property
    def mechanism(self) -> Additive:
        """The noise on the value."""
        return additive(self.guarantee, self.size, self.constant, self.method)

    def ask(self, x: Tuple, source: Source) -> Answer:
        return self.finish(self.mechanism.sample(self.evaluate(x), source))

    @classmethod
    def ask_each(cls, persons: Persons, x: Tuple, source: Source, progress: Progress) -> Answers:
        # Every value is there before any noise is drawn: a user's function that fails for one person fails for all.
        values = persons.first.evaluate_people(x, persons.sizes)
        alone = np.ones(len(persons), dtype=np.int64)
        noisy = sample_people([query.mechanism for query in persons.each], alone, values, source)
        return cls.restored_each(persons, persons.first.put_right(noisy))

    @classmethod
    def restored_each(cls, persons: Persons, parts: Any) -> Answers:
        return SharedAnswers(persons, parts, persons.first.places(parts))

    def finish(self, noisy: Floats) -> Answer:
        """The answer to one person."""
        right = self.put_right(noisy.reshape(1, -1))
        value = right[0].reshape(noisy.shape)
        return Answer(self.kept, float(value) if value.ndim == 0 else value, self.mechanisms, self.places(right))

    def put_right(self, noisy: Floats) -> Floats:
        """Noisy values as rows, with what is publicly known about them put right; never farther from the truth."""
        return np.maximum(noisy, 0.0) if self.kind == "length" else noisy

    def places(self, values: Floats) -> Floats | None:
        """The released coordinates in values that are rows."""
        return values.reshape(-1, self.dimension) if self.kind in ("place", "box") else None

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the exact 1-β quantile of the Euclidean length of the noise."""
        return self.mechanism.error(beta)

    @property
    def displaced(self) -> float:
        """What rounded points add to the error: the value moves by at most the constant times as much."""
        return self.constant * self.guarantee.metric.of_all(self.rounding, self.n)


@dataclass(frozen=True)
class Mean(LipschitzQuery):
    """The mean of the points."""

    name = "mean"
    kind = "place"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.mean(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return functionals.means(x.values, sizes), evaluation.mean_error(x)


@dataclass(frozen=True)
class Center(LipschitzQuery):
    """The middle of the bounding box."""

    name = "center"
    kind = "place"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.midrange(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return functionals.midranges(x.values, sizes), evaluation.middle_error(x)


@dataclass(frozen=True)
class Median(LipschitzQuery):
    """The median of each coordinate; the geometric median is not Lipschitz."""

    name = "median"
    kind = "place"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.median(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return functionals.medians(x.values, sizes), evaluation.middle_error(x)


@dataclass(frozen=True)
class Bounds(LipschitzQuery):
    """The bounding box: the smallest of each coordinate, then the largest."""

    name = "bounds"
    kind = "box"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.extremes(x).reshaped(-1)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return functionals.extremes(x.values, sizes), evaluation.coordinate_error(x)

    def put_right(self, noisy: Floats) -> Floats:
        """Ends that the noise has swapped are swapped back."""
        return np.sort(noisy.reshape(len(noisy), 2, -1), axis=1).reshape(noisy.shape)

    def error(self, beta: float, *, each: bool = False) -> float:
        """The exact 1-β quantile of the largest error of an end, or of any one end's before swapping."""
        return self.mechanism.error(beta, blocks=self.size, each=each)


@dataclass(frozen=True)
class Radius(LipschitzQuery):
    """The radius of the smallest enclosing ball."""

    name = "radius"
    kind = "length"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.enclosing_radius(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, Floats]:
        values, below = functionals.radii(x.values, sizes)
        error = np.full(values.shape, evaluation.enclosing_error(x))
        stops = np.cumsum(sizes)
        for i in np.flatnonzero(~evaluation.enclosed(x, values, below)):
            alone = self.evaluate(x[stops[i] - sizes[i] : stops[i]])
            values[i], error[i] = alone.values, alone.error
        return values, error


@dataclass(frozen=True)
class RadiusOfGyration(LipschitzQuery):
    """The root mean square distance to the mean."""

    name = "radius_of_gyration"
    kind = "length"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.gyration(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return functionals.gyrations(x.values, sizes), evaluation.gyration_error(x)


@dataclass(frozen=True)
class Diameter(LipschitzQuery):
    """The largest distance between two points."""

    name = "diameter"
    kind = "length"

    def evaluate(self, x: Tuple) -> Reals:
        return evaluation.widest(x)

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        return functionals.diameters(x.values, sizes), evaluation.widest_error(x)


@dataclass(frozen=True)
class Stated(LipschitzQuery):
    """The value of a function whose rounding only the caller can state.

    Parameters
    ----------
    fn_error : float, optional
        What it computes, as doubles, is never farther than this (as a Euclidean length) from the Lipschitz function
        it stands for, in metres. None if that is not known.

    Notes
    -----
    The computed values of two tuples are at most K·dist + 2·fn_error apart: the guarantee holds as if all tuples were
    2·fn_error/K farther from each other. The function gets doubles: where points are known more precisely than that,
    `rounding` is how far these doubles can be from the points.
    """

    fn_error: float | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fn_error is None:
            return
        stated = 0.0 if self.fn_error == 0 else checks.positive("fn_error", self.fn_error, remedy=_FN_ERROR)
        if stated > self.mechanism.scale:
            allowed = f"at most the noise's scale, {self.mechanism.scale:.3g} m"
            raise InvalidParameter("fn_error", self.fn_error, allowed, _FN_ERROR)
        # A float may be below what was stated by a rounding.
        object.__setattr__(self, "fn_error", math.nextafter(stated, math.inf) if stated < self.fn_error else stated)

    @property
    def inexact(self) -> str:
        return "how the function rounds is not known; fn_error= states it" if self.fn_error is None else ""

    def error(self, beta: float, *, each: bool = False) -> float:
        """The exact 1-β quantile of the Euclidean length of the noise, and what the function may be wrong by."""
        return super().error(beta, each=each) + (self.fn_error or 0.0)


@dataclass(frozen=True)
class Distance(Stated):
    """The distance from a public place to the nearest point of the tuple.

    Parameters
    ----------
    measure : callable
        Gives the distance of every point to the place; 1-Lipschitz in the point.
    """

    measure: Callable[[Reals], Reals] = field(kw_only=True)

    name = "distance"
    kind = "length"

    def _told(self) -> dict[str, Any]:
        """With the place or the shape, which the measure holds."""
        told = {name: value for name, value in super()._told().items() if name != "measure"}
        held = getattr(self.measure, "keywords", {})
        return {**told, "p": held["p"] if "p" in held else getattr(held.get("geometry"), "wkt", self.measure)}

    def evaluate(self, x: Tuple) -> Reals:
        return smallest(self.measure(as_reals(x)))

    def _values_of_people(self, x: Reals, sizes: NDArray[np.int64]) -> tuple[Floats, float]:
        measured = self.measure(x)
        return functionals.nearest(measured.values, sizes), float(np.max(measured.error))


#: Values of functions are at most this: the double next to it is less than a metre away.
_LARGEST = 1e15
_FN_ERROR = "It is 0 for a function that does not round, or a small length in metres."


def _forgotten(x: Floats) -> Floats:
    raise TypeError("A release does not keep the function it was made with.")


@dataclass(frozen=True)
class OwnQuery(Stated):
    """A function that the caller vouches for.

    Parameters
    ----------
    own : Lipschitz
        The function, its constant and its metric.
    numbers : int
        How many numbers it gives.
    """

    own: Lipschitz = field(kw_only=True)
    numbers: int = field(kw_only=True, default=1)

    name = "answer"
    kind = "value"

    def evaluate(self, x: Tuple) -> Reals:
        untouched = as_reals(x).values.view()
        untouched.flags.writeable = False
        try:
            value = self.own(untouched)
        except Exception as problem:
            # One kind of error for all failures: the function's own is its cause, with the line where it failed.
            allowed = "a function of an (n, d) array that gives numbers"
            remedy = f"It failed with {type(problem).__name__}: {problem}"
            raise InvalidData("fn", repr(self.own.function), allowed, remedy) from problem
        if value.size != self.numbers:
            raise InvalidData("fn", value.shape, f"a function that gives {self.numbers} number(s)", "Use size=.")
        if not (np.abs(value) <= _LARGEST).all():
            allowed = f"a function that gives finite numbers of at most {_LARGEST:g}"
            raise InvalidData("fn", "a value that is not", allowed, "Choose a larger unit, or mend the function.")
        return as_reals(value)

    @property
    def kept(self) -> OwnQuery:
        """The query without the function, which may hold anything."""
        return replace(self, own=Lipschitz(_forgotten, self.own.constant, self.own.metric))

    @property
    def size(self) -> int:
        return self.numbers

    @property
    def constant(self) -> float:
        return self.own.constant


#: The summaries that need no parameter.
SUMMARIES: dict[str, type[LipschitzQuery]] = {
    query.name: query for query in (Bounds, Center, Diameter, Mean, Median, Radius, RadiusOfGyration)
}
