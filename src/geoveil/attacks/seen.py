"""What an attacker sees and what the owner knows, point by point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from geoveil.geo.geometries import Index
from geoveil.noise.reals import Floats

__all__ = ["Seen"]

#: The median length of Gaussian noise in the plane, in units of its scale.
_MEDIAN = 1.1774100225154747


@dataclass(frozen=True)
class Seen:
    """Released points beside the true ones, in metres of one plane.

    Parameters
    ----------
    truth, released : (n, 2) array
        The points; row i of both is the same point.
    person : array of int
        The position of the person of each point among the labels.
    labels : sequence of str
        The labels of persons.
    scale : array, optional
        The noise scale of each point. Where it is not stated, it is measured, as an attacker who knows the tool does.
    noise : {"gaussian", "laplace"}
        The distribution of the noise.
    seconds : array, optional
        The public time of each point.
    clock : bool
        Whether times are seconds since 1970 in UTC, so that nights and working days are known.
    degrees_east : float
        The longitude of the area, from which the local time follows.
    rho : float, optional
        The budget for moving all points of a person together; None without a guarantee.
    exact_bound : bool
        Whether the noise is that of one Gaussian mechanism, for which the bound on chances is attained.
    processed : bool
        Whether the released points are estimates already, such as smoothed tracks.
    """

    truth: Floats = field(repr=False)
    released: Floats = field(repr=False)
    person: Index = field(repr=False)
    labels: Sequence[str]
    scale: Floats | None = field(default=None, repr=False)
    noise: Literal["gaussian", "laplace"] = "gaussian"
    seconds: Floats | None = field(default=None, repr=False)
    clock: bool = False
    degrees_east: float = 0.0
    rho: float | None = None
    exact_bound: bool = False
    processed: bool = False

    @cached_property
    def scales(self) -> Floats:
        """The noise scale of each point, stated or measured."""
        if self.scale is not None:
            return self.scale
        measured = float(np.median(np.hypot(*(self.released - self.truth).T))) / _MEDIAN
        return np.full(len(self.truth), max(measured, 1e-3))

    @cached_property
    def sizes(self) -> Index:
        """The number of points of each person."""
        return np.bincount(self.person, minlength=len(self.labels))

    @cached_property
    def rows(self) -> list[Index]:
        """The rows of each person, in the order of their times."""
        times = np.zeros(len(self.person)) if self.seconds is None else self.seconds
        order = np.lexsort((times, self.person))
        return np.split(order, np.cumsum(self.sizes)[:-1])

    def hours(self) -> tuple[Index, Index]:
        """Return the local hour of the day and the day of the week (Monday is 0) of each point, by its longitude."""
        assert self.seconds is not None
        local = self.seconds + 3600 * round(self.degrees_east / 15)
        # The first of January 1970 was a Thursday.
        return (local // 3600).astype(np.int64) % 24, ((local // 86_400).astype(np.int64) + 3) % 7

    def root_mean_squares(self, guess: Floats) -> Floats:
        """Return the root mean square distance of guesses from the true points of each person."""
        squares = np.square(guess - self.truth).sum(axis=1)
        return np.sqrt(np.bincount(self.person, squares, len(self.labels)) / np.maximum(self.sizes, 1))
