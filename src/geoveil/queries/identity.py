"""The identity query: release every point of the tuple."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Self

import numpy as np

from geoveil.errors import IncompatibleGuarantees, InvalidParameter, Message
from geoveil.mechanisms import Additive, Copies, KNorm, Laplace, sample_people, sample_rows
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source
from geoveil.privacy import CGP, GP, Guarantee, dist_1, dist_2, dist_inf, exact
from geoveil.queries.additive import AdditiveQuery, additive
from geoveil.queries.answer import Answer, Answers, PartsOfMany, SharedAnswers
from geoveil.queries.persons import Index, Persons
from geoveil.queries.query import Progress, Tuple

__all__ = ["Points", "identity"]


def identity(guarantee: Guarantee, count: int, dimension: int, method: str = "best", *, largest: int) -> Additive:
    """Return the mechanism that releases `count` different points of a tuple in R^dimension.

    Parameters
    ----------
    guarantee : CGP or GP
        The guarantee.
    count, dimension : int
        The number of points, and of their coordinates.
    method : str
        The algorithm.
    largest : int
        The number of points of the tuple in the largest unit; 1 under dist_2.

    Notes
    -----
    A step moves at most w of the points, the smaller of `count` and `largest`, so the identity is √w-Lipschitz. The
    paper's method: under dist_inf each of n points gets a share ρ/n or ε/n of the budget (Theorems 4.6 and 4.8); n
    Gaussians of ρ/n are one Gaussian for the √n-Lipschitz identity. Under dist_2, and so under the larger dist_1, the
    identity is 1-Lipschitz into R^(nd) and the budget is not split (Appendix H).

    The best methods under pure GP are the K-norm mechanisms. The one of dist_inf does not split the budget; the one of
    dist_1 gives every point the whole budget; the one of dist_2 is the paper's method. Under the metric of a unit
    each point gets ε/w.
    """
    moved = min(count, largest)
    if method == "both" or isinstance(guarantee, CGP):
        return additive(guarantee, count * dimension, exact.root_up(moved), method)
    if not isinstance(guarantee, GP):
        raise IncompatibleGuarantees(f"{guarantee!r} is neither CGP nor GP; give one of them.")
    if method == "best" and guarantee.metric == dist_inf:
        return KNorm(guarantee, count, dimension)
    if guarantee.metric == dist_2 or (method == "paper" and guarantee.metric == dist_1):
        return Laplace(guarantee, count * dimension)
    return Copies(Laplace(guarantee / moved, dimension), count, moved)


def sorted_points(points: Floats, person: Index) -> Floats:
    """Return released points sorted by their last coordinate, then by those before, within each person.

    Examples
    --------
    >>> sorted_points(np.array([[3.0, 1.0], [2.0, 1.0], [9.0, 0.0]]), np.array([0, 0, 0])).tolist()
    [[9.0, 0.0], [2.0, 1.0], [3.0, 1.0]]
    """
    return points[np.lexsort((*points.T, person))]


@dataclass(frozen=True)
class Points(AdditiveQuery):
    """Release every point of the tuple with noise.

    Notes
    -----
    Under the metric of a unit, the best method adds independent noise to point i for the w_i points of the largest
    unit that holds it: ρ/w_i, or ε/w_i. The shares of the points of any one unit u add up to at most the budget, since
    w_i ≥ |u| for each of them. So points at quiet times get less noise than those at busy times.

    With order="hidden" the released points of each person are sorted. The noise of a person's points is exchangeable,
    so the sorted points have a law that does not depend on the order of the data.
    """

    order: Literal["public", "hidden"] = field(kw_only=True, default="public")

    name = "points"
    kind = "points"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order == "hidden" and self.guarantee.metric.of_unit:
            remedy = Message("Leave {protect} out: times, by which lengths of time are counted, tell the order.")
            raise InvalidParameter("order", "hidden", f"public under {self.guarantee.metric}", remedy)

    @property
    def of_set(self) -> bool:  # type: ignore[override]
        """Whether the released points have no order."""
        return self.order == "hidden"

    @cached_property
    def mechanism(self) -> Additive:
        """The mechanism that adds noise to the whole tuple; if points differ, that of the points with most noise."""
        return identity(self.guarantee, self.n, self.dimension, self.method, largest=self.largest)

    @property
    def by_point(self) -> bool:
        """Whether the noise of a point depends on the size of the units that hold it."""
        return self.guarantee.metric.of_unit and self.method == "best"

    def budget_shares(self) -> Floats | None:
        if self.by_point:
            assert self.units is not None
            assert self.units.each is not None
            return 1 / self.units.each
        # Points with independent noise share the budget equally.
        return np.full(self.n, 1 / min(self.n, self.largest)) if self.mechanism.independent else None

    def point_scales(self, sizes: Index | None) -> Floats | None:
        if not self.by_point:
            return None
        assert sizes is not None
        mechanisms, which = self._of_sizes(sizes)
        return np.array([mechanism.scale for mechanism in mechanisms])[which]

    def error_of_size(self, size: int, beta: float) -> float:
        """Return the 1-β quantile of the error of a point whose largest unit has this size, with its rounding."""
        (alone,), _ = self._of_sizes(np.array([size]))
        return alone.error(beta) + self.rounding_error

    def sample_points(self, x: Tuple, sizes: Index, source: Source) -> Floats:
        """Return noisy points, given the number of points in their largest units; they may be of many persons."""
        mechanisms, which = self._of_sizes(sizes)
        return sample_rows(mechanisms, which, x, source)

    def _of_sizes(self, sizes: Index) -> tuple[list[Additive], Index]:
        """Return the mechanisms of single points, one for each size, and the position of each point's mechanism."""
        distinct, which = np.unique(sizes, return_inverse=True)
        alone = [identity(self.guarantee / int(size), 1, self.dimension, largest=1) for size in distinct]
        return alone, which

    def ask(self, x: Tuple, source: Source) -> Answer:
        if self.by_point:
            assert self.units is not None
            assert self.units.each is not None
            released = self.sample_points(x, self.units.each, source)
        else:
            released = self.mechanism.sample(x, source)
        if self.order == "hidden":
            released = sorted_points(released, np.zeros(len(released), dtype=np.int64))
        return Answer(self, released, self.mechanisms, coords=released)

    @classmethod
    def ask_each(cls, persons: Persons[Self], x: Tuple, source: Source, progress: Progress) -> Answers:
        if persons.first.by_point:
            assert persons.units is not None
            released = persons.first.sample_points(x, persons.units, source)
        else:
            released = sample_people([query.mechanism for query in persons.each], persons.sizes, x, source)
        if persons.first.order == "hidden":
            released = sorted_points(released, np.repeat(np.arange(len(persons)), persons.sizes))
        return SharedAnswers(persons, released, released)

    @classmethod
    def restored_each(cls, persons: Persons[Self], parts: PartsOfMany) -> Answers:
        assert isinstance(parts, np.ndarray)
        return SharedAnswers(persons, parts, parts)

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the exact 1-β quantile of the largest error of a point, or with `each` of one point's error.

        If the noise of points differs, it is the quantile for points that all have the most noise: a bound.
        """
        return self.mechanism.error(beta, blocks=self.n, each=each)
