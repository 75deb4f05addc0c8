"""The base class of queries that release the value of a Lipschitz function."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms import Additive, sample_people
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Ball, Reals, Source, as_reals, stacked
from geoveil.privacy import dist_inf
from geoveil.queries.additive import AdditiveQuery, additive
from geoveil.queries.answer import Answer, Answers, PartsOfMany, SharedAnswers
from geoveil.queries.constants import lipschitz, sizeless
from geoveil.queries.persons import Persons
from geoveil.queries.query import Progress, Tuple

__all__ = ["LipschitzQuery"]


@dataclass(frozen=True)
class LipschitzQuery(AdditiveQuery):
    """A query that releases the value of a Lipschitz function of the tuple, plus noise for its Lipschitz constant.

    The best method is the paper's.
    """

    @abstractmethod
    def evaluate(self, x: Tuple) -> Reals:
        """Return the true value."""

    def evaluate_people(self, x: Tuple, sizes: NDArray[np.int64]) -> Reals:
        """Return the true values of many persons as rows; the points of person i are sizes[i] adjacent rows of x."""
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
        """Return the true values of many persons as doubles, with a bound on their error.

        None if there is no faster way than to evaluate persons one by one.
        """
        return None

    @property
    def size(self) -> int:
        """The number of coordinates of the value."""
        return {"place": self.dimension, "box": 2 * self.dimension}.get(self.kind, 1)

    @property
    def constant(self) -> float:
        """The Lipschitz constant of the function under the guarantee's metric, or between sets of any sizes."""
        if self.hides_count:
            return sizeless(self.name, self.dimension)
        return lipschitz(self.name, n=self.n, d=self.dimension, metric=self.guarantee.metric, largest=self.largest)

    @property
    def sensitivity(self) -> float:
        return self.constant

    @cached_property
    def mechanism(self) -> Additive:
        """The mechanism that adds the noise."""
        return additive(self.guarantee, self.size, self.constant, self.method)

    def ask(self, x: Tuple, source: Source) -> Answer:
        noisy = self.mechanism.sample(self.evaluate(x), source)
        rows = self.corrected(noisy.reshape(1, -1))
        value = rows[0].reshape(noisy.shape)
        return Answer(self.kept, float(value) if value.ndim == 0 else value, self.mechanisms, self.places(rows))

    @classmethod
    def ask_each(cls, persons: Persons[Self], x: Tuple, source: Source, progress: Progress) -> Answers:
        # All values are computed before any noise is drawn: if a user's function fails for one person, nothing is
        # drawn.
        values = persons.first.evaluate_people(x, persons.sizes)
        alone = np.ones(len(persons), dtype=np.int64)
        noisy = sample_people([query.mechanism for query in persons.each], alone, values, source)
        return cls.restored_each(persons, persons.first.corrected(noisy))

    @classmethod
    def restored_each(cls, persons: Persons[Self], parts: PartsOfMany) -> Answers:
        assert isinstance(parts, np.ndarray)
        return SharedAnswers(persons, parts, persons.first.places(parts))

    def corrected(self, noisy: Floats) -> Floats:
        """Return noisy values, as rows, corrected by public knowledge; this never increases their error.

        A length is at least 0.
        """
        return np.maximum(noisy, 0.0) if self.kind == "length" else noisy

    def places(self, values: Floats) -> Floats | None:
        """Return the locations that released values, as rows, consist of; None if they are not locations."""
        return values.reshape(-1, self.dimension) if self.kind in ("place", "box") else None

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the exact 1-β quantile of the Euclidean length of the noise."""
        return self.mechanism.error(beta)

    @property
    def rounding_error(self) -> float:
        """The error that rounding all points adds: at most the constant under dist_inf times the rounding."""
        if self.hides_count:
            return self.constant * self.rounding
        return lipschitz(self.name, n=self.n, d=self.dimension, metric=dist_inf, largest=self.n) * self.rounding
