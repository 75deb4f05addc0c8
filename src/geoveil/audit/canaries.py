"""Canaries: made-up persons, each at one of two places by a secret coin, and what a tool released for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter
from geoveil.noise.reals import Floats

__all__ = ["Bools", "Canaries", "Ints"]

Bools: TypeAlias = NDArray[np.bool_]

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Canaries:
    """Persons at one of two places each, and the points that were released for them. All is in metres of a plane.

    Parameters
    ----------
    a, b : array, shape (n, 2)
        The two places where each person may be.
    at_b : array of bool, shape (n,)
        The secret coins: whether a person is at `b`. They are fair, independent, and the tool does not know them.
    released : array, shape (m, 2)
        All released points.
    person : array of int, shape (m,)
        The person of each released point, from 0 to n - 1. A person may have several points, or none.
    place, run : array of int, shape (n,), optional
        The part of the area in which each person is, and the run of the tool. One of each by default.

    Examples
    --------
    >>> from geoveil.audit import Canaries
    >>> told = Canaries([[0, 0], [0, 0]], [[200, 0], [0, 200]], [True, False], [[230, 40], [-10, 60]], [0, 1])
    >>> told.distance, told.true
    (array([200., 200.]), array([[200.,   0.],
           [  0.,   0.]]))
    """

    a: Floats
    b: Floats
    at_b: Bools
    released: Floats = field(repr=False)
    person: Ints = field(repr=False)
    place: Ints = None  # type: ignore[assignment]
    run: Ints = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        n = len(self.at_b)
        zeros = np.zeros(n, dtype=np.int64)
        for name, value, kind in (
            ("a", self.a, float),
            ("b", self.b, float),
            ("at_b", self.at_b, bool),
            ("released", self.released, float),
            ("person", self.person, np.int64),
            ("place", zeros if self.place is None else self.place, np.int64),
            ("run", zeros if self.run is None else self.run, np.int64),
        ):
            values: Any = np.array(value, dtype=kind)
            wanted = (
                len(self.person) if name in ("released", "person") else n,
                *([2] * (name in ("a", "b", "released"))),
            )
            if values.shape != wanted and not (values.size == 0 and 0 in wanted):
                remedy = "Give a row for each person, and a row with its person for each released point."
                raise InvalidParameter(name, values.shape, f"an array of shape {wanted}", remedy)
            if kind is float and not np.isfinite(values).all():
                raise InvalidParameter(name, "nan or inf", "finite metres", "Leave out points that were not released.")
            values = values.reshape(wanted)
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if len(self.person) and not 0 <= self.person.min() <= self.person.max() < n:
            raise InvalidParameter(
                "person", int(self.person.max()), f"whole numbers from 0 to {n - 1}", "Count from 0."
            )
        if not (self.distance > 0).all():
            raise InvalidParameter(
                "b", "equal to a", "places apart from those of a", "Put each pair some metres apart."
            )

    def __len__(self) -> int:
        return len(self.at_b)

    @cached_property
    def distance(self) -> Floats:
        """The distance between the two places of each person in metres."""
        return np.asarray(np.hypot(*(self.b - self.a).T))

    @cached_property
    def direction(self) -> Floats:
        """The direction of the line through both places: degrees from east towards north, from 0 to 180."""
        return np.asarray(np.degrees(np.arctan2(*(self.b - self.a).T[::-1])) % 180)

    @cached_property
    def true(self) -> Floats:
        """The place where each person is."""
        return np.where(self.at_b[:, None], self.b, self.a)

    @cached_property
    def other(self) -> Floats:
        """The place where each person is not."""
        return np.where(self.at_b[:, None], self.a, self.b)

    def take(self, persons: Ints) -> Canaries:
        """Return some of the persons, given by their numbers, in the given order."""
        number = np.full(len(self), -1)
        number[persons] = np.arange(len(persons))
        rows = np.flatnonzero(number[self.person] >= 0)
        return Canaries(
            self.a[persons],
            self.b[persons],
            self.at_b[persons],
            self.released[rows],
            number[self.person[rows]],
            self.place[persons],
            self.run[persons],
        )
