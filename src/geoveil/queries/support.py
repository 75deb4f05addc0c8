"""The convex hull by noisy values of its support function, from which a convex body is fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal, Self

import numpy as np

from geoveil import checks
from geoveil.errors import InvalidParameter, Message, NoErrorBound
from geoveil.mechanisms import Additive, Gaussian, KNorm, Mechanism, sample_people
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source
from geoveil.privacy import CGP, GP, Guarantee, exact
from geoveil.queries.answer import Answer, Answers, HalfSpaces, Parts, PartsOfMany, SeparateAnswers
from geoveil.queries.band import between, certain
from geoveil.queries.constants import support_squared
from geoveil.queries.convex import coarser, corners, directions, fitted, prune, segmented, shortened
from geoveil.queries.evaluation import support, support_each
from geoveil.queries.hull import Hull, probes
from geoveil.queries.persons import Persons
from geoveil.queries.query import Progress, Query, Tuple
from geoveil.queries.solid import cosine, intersection, kriged, tightened
from geoveil.queries.unit_sizes import UnitSizes

__all__ = ["EXTENT", "HalfSpaces", "SupportHull", "SupportHullAnswer", "best_hull"]

#: Numbers of directions in the plane under CGP. Noise is white over directions, so their number is only a resolution;
#: a few directions suffice while the noise limits the accuracy.
_FEW, _MANY = 96, 4096
#: The largest number of directions in more dimensions: 294 in three, 216 in four, 160 in five, then the axes alone.
_GRID = 300
#: The largest numbers of directions that may be asked for, in the plane and in more dimensions; more would be slow.
_MOST, _MOST_ABOVE = 2**14, 1000
#: The number of values of support functions that are drawn or fitted together.
_VALUES = 2**19
#: The default public guess of a tuple's extent in metres, from which the number of directions is chosen.
EXTENT = 30_000.0
#: Ratios of the radius to the noise of a harmonic. Above the first, vertices are pruned; above the second, the noise
#: is so small that the vertices themselves are fitted.
_CLEAR, _SHARP = 50.0, 1500.0


def best_hull(
    n: int,
    dimension: int,
    guarantee: Guarantee,
    method: str = "best",
    *,
    k: int | Literal["optimal"] = "optimal",
    extent: float = EXTENT,
    rounding: float = 0.0,
    units: UnitSizes | None = None,
    hides_count: bool = False,
) -> Query:
    """Return the query for a hull by its support function, or by its vertices if the directions are too coarse.

    The noise of vertices depends on the number of points, so it is never by its vertices where that is hidden.
    """
    how: dict[str, Any] = {"k": k, "extent": extent, "rounding": rounding, "units": units, "hides_count": hides_count}
    query = SupportHull(n, dimension, guarantee, method, **how)
    coarse = query.coarse and query.k == "optimal" and not hides_count
    return Hull(n, dimension, guarantee, method, rounding=query.rounding, units=units) if coarse else query


@dataclass(frozen=True)
class SupportHull(Query):
    """Release the convex body that fits noisy values of the support function in k public directions.

    Parameters
    ----------
    k : int or "optimal"
        The number of directions, even; by default it is chosen from the budget and the extent. In more than two
        dimensions they come in grids of 2d·m^(d-1): the largest grid of at most k directions is used.
    extent : float
        A public guess of the tuple's extent in metres; a wrong guess costs accuracy, never privacy.

    Notes
    -----
    h_u(x) = max_i ⟨x_i, u⟩ is 1-Lipschitz for every direction u, so the vector of k values is √k-Lipschitz: Gaussian
    noise of variance k/(2ρ) each is ρ-CGP. Every value moves by at most dist(x, x'), so the K-norm mechanism of the
    cube is ε-GP. The rest (smoothing, the projection on support functions and pruning) is post-processing.
    """

    method: str = "best"
    k: int | Literal["optimal"] = field(kw_only=True, default="optimal")
    extent: float = field(kw_only=True, default=EXTENT)

    name = "hull"
    kind = "body"
    of_set, sizeless = True, "Hausdorff"
    methods = ("best",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dimension < 2:
            raise InvalidParameter("x", (self.n, self.dimension), "points in 2 or more dimensions", "Use bounds(x).")
        checks.positive("extent", self.extent)
        if not isinstance(self.k, str) or self.k != "optimal":
            remedy = Message('It is an even number of directions; leave it out. "authors" is for {method:paper}.')
            most = _MOST if self.dimension == 2 else _MOST_ABOVE
            checks.count("k", self.k, low=2 * self.dimension, high=most, remedy=remedy)
            if self.k % 2:
                raise InvalidParameter("k", self.k, "even", "Opposite directions come in pairs.")
        self.mechanism  # noqa: B018 - validates the budget early

    @cached_property
    def directions(self) -> Floats:
        """Unit vectors in opposite pairs, chosen from public facts; in more than two dimensions a grid on a cube."""
        if not isinstance(self.k, str):
            wanted = self.k
        elif not isinstance(self.guarantee, CGP):
            # Under pure GP the noise grows with the number of directions.
            grown = 16 * (float(self.guarantee.budget) * self.extent / 70) ** 0.4
            wanted = int(2 * min(max(round(grown / 2), 6), _MANY // 2))
        elif self.dimension == 2:
            wanted = _FEW if math.sqrt(self.guarantee.rho) * self.extent < 1000 else _MANY
        else:
            wanted = _GRID
        return directions(wanted) if self.dimension == 2 else shortened(probes(wanted, self.dimension))

    @property
    def resolution(self) -> int:
        """The number of directions."""
        return len(self.directions)

    @cached_property
    def mechanism(self) -> Additive:
        """The mechanism that adds noise to the values of the support function."""
        k, guarantee = self.resolution, self.guarantee
        if isinstance(guarantee, CGP):
            # Every value moves by at most the Hausdorff distance.
            squared = Fraction(k)
            if not self.hides_count:
                squared = support_squared(k, self.n, self.largest, self.dimension)
            return Gaussian(guarantee, k, exact.root_up(squared))
        assert isinstance(guarantee, GP)
        return KNorm(guarantee, k, 1)

    @property
    def sensitivity(self) -> float:
        """The constant of the values together under CGP; under GP the largest change of one of them."""
        return self.mechanism.lipschitz if isinstance(self.mechanism, Gaussian) else 1.0

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        return (self.mechanism,)

    @property
    def variance(self) -> float:
        """The variance of the noise in one direction, in square metres."""
        return self.mechanism.deviation**2

    @property
    def coarse(self) -> bool:
        """Whether the error from having few directions, in more than two dimensions, exceeds that from the noise."""
        return self.dimension > 2 and math.sqrt(self.variance) < self.extent / 150

    def ask(self, x: Tuple, source: Source) -> SupportHullAnswer:
        noisy = self.mechanism.sample(support(x, self.directions).reshaped(-1, 1), source)[:, 0]
        return self.restored({"support": noisy})

    @classmethod
    def ask_each(cls, persons: Persons[Self], x: Tuple, source: Source, progress: Progress) -> Answers:
        # Directions do not depend on the number of points, so all persons have the same.
        u = persons.first.directions
        noisy = np.empty((len(persons), len(u)))
        for people, rows in persons.blocks(max(_VALUES // len(u), 1)):
            sizes = persons.sizes[people]
            together = np.full(len(sizes), len(u))
            mechanisms = [query.mechanism for query in persons.each[people]]
            values = support_each(x[rows], sizes, u).reshaped(-1, 1)
            noisy[people] = sample_people(mechanisms, together, values, source).reshape(-1, len(u))
            progress(people.stop / len(persons))
        return cls.restored_each(persons, noisy)

    @classmethod
    def restored_each(cls, persons: Persons[Self], parts: PartsOfMany) -> Answers:
        assert isinstance(parts, np.ndarray)
        if persons.first.hides_count:
            # Persons are fitted together whatever their numbers of points, which last bits would tell.
            persons = Persons([persons.first.kept], np.zeros(len(persons), dtype=np.int64))
        answers = np.empty(len(persons), dtype=object)
        for i, query in enumerate(persons.queries):
            own = np.flatnonzero(persons.which == i)
            for some in np.array_split(own, max(len(own) * parts.shape[1] // _VALUES, 1)):
                answers[some] = query._answers(parts[some])
        return SupportHullAnswers(persons, tuple(answers))

    def restored(self, parts: Parts) -> SupportHullAnswer:
        return self._answers(parts["support"][None])[0]

    def _answers(self, noisy: Floats) -> list[SupportHullAnswer]:
        """Return the answer for each row of noisy values."""
        places, centred = self.centred(noisy)
        query, mechanisms, answers = self.kept, self.mechanisms, []
        for value, place, own in zip(self.fit(centred), places, noisy, strict=True):
            if isinstance(value, HalfSpaces):
                moved = HalfSpaces(self.directions, value.offsets + self.directions @ place)
                answers.append(SupportHullAnswer(query, moved, mechanisms, support=own))
            else:
                vertices = value + place
                answers.append(SupportHullAnswer(query, vertices, mechanisms, vertices, support=own))
        return answers

    def centred(self, noisy: Floats) -> tuple[Floats, Floats]:
        """Return the center estimated from each row of noisy values, and the values relative to that center.

        Far from the center rounding errors would be as large as noise.
        """
        places = self.dimension / noisy.shape[1] * (noisy @ self.directions)
        return places, noisy - places @ self.directions.T

    def fit(self, noisy: Floats) -> list[Floats | HalfSpaces]:
        """Return the body that fits each row of noisy values of the support function.

        A body is an array of vertices, or half-spaces in more than five dimensions.
        """
        u, variance = self.directions, self.variance
        clear = noisy.mean(axis=1) / math.sqrt(2 * variance / len(u))
        if self.dimension > 2:
            return [self._solid(y, float(c)) for y, c in zip(noisy, clear, strict=True)]
        bodies: dict[int, Floats] = {}
        for i in np.flatnonzero(clear > _SHARP).tolist():
            bodies[i] = segmented(noisy[i], u, variance)
        others = np.flatnonzero(~(clear > _SHARP))
        noisy = noisy[others]
        if len(u) > 2 * _FEW:
            noisy, variance, u = coarser(noisy, _FEW), variance * _FEW / len(u), directions(_FEW)
        for i, y, vertices in zip(others.tolist(), noisy, corners(fitted(noisy, variance)), strict=True):
            bodies[i] = prune(vertices, u, y, variance) if clear[i] > _CLEAR else vertices
        return [bodies[i] for i in range(len(clear))]

    def _solid(self, y: Floats, clear: float) -> Floats | HalfSpaces:
        """Return the body that fits noisy values y in more than two dimensions."""
        u = self.directions
        h = kriged(y, u, self.variance)
        if self.dimension > 5:
            return HalfSpaces(u, tightened(u, h))
        vertices = intersection(u, h)
        return prune(vertices, u, y, self.variance) if clear > _CLEAR else vertices

    def error(self, beta: float, *, each: bool = False) -> float:
        """Raise NoErrorBound: the bound depends on the values released, so only the answer has one."""
        raise NoErrorBound("The error bound of this hull depends on the values released; ask the release for it.")


@dataclass(frozen=True)
class SupportHullAnswer(Answer):
    """A hull with the noisy values of the support function to which it was fitted.

    Parameters
    ----------
    support : array
        The released values, one for each direction.
    """

    query: SupportHull
    support: Floats = field(kw_only=True)
    #: The error bounds computed so far, by β: each takes some milliseconds.
    _known: dict[float, float] = field(init=False, repr=False, compare=False, default_factory=dict)

    same_error = False

    def parts(self) -> Parts:
        return {"support": self.support}

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the bound on the Hausdorff distance to the true hull that holds with probability 1-β.

        Notes
        -----
        In the plane: averages of the released values over arcs of many widths bound the true support function from
        both sides, all at once with probability 1 - 0.9β. The error is at most the distance of the polygon from the
        farthest body between these bounds (see `band`). If no such body is found (the noise exceeded the bounds, or is
        so small that rounding matters), the remaining 0.1β is for the plain bound: all noises are at most t; the
        polygon's support function is wrong by at most T = t + max_j |ĥ_j - y_j| in the k directions, and by T/cos(π/k)
        + (ω/2)·tan(π/k) in any other, where the diameter ω is at most max_j(y_j + y_{j+k/2} + 2t)/cos(π/k). For β
        above 0.1 the bound for 0.1 is returned.

        In more dimensions: all noises are at most t. Let T = t + max_j |ĥ_j - y_j|, and let every unit vector v be
        within the chord c = √(2-2κ) of some u_j, κ = cos of the angle. With w = v - u_j, h(v) - ĥ(v) ≤ h(u_j) + h(w) -
        ĥ(u_j) + ĥ(-w), and likewise with h and ĥ exchanged: at most T + c·(R + R̂). R and R̂, the largest distances of
        points of the two bodies from the estimated center, are at most max_j(y_j + t)/κ and max_j(ĥ_j)/κ.
        """
        checks.beta(beta)
        if beta not in self._known:
            self._known[beta] = self._bound(beta)
        return self._known[beta]

    def _bound(self, beta: float) -> float:
        """Compute the error bound."""
        query = self.query
        u = query.directions
        (place,), (y,) = query.centred(self.support[None])
        if query.dimension == 2:
            beta = min(beta, 0.1)
            bound = between(self.value - place, *certain(y, partial(_reach, query.mechanism, 0.9 * beta)))
            return self._plain(y, place, query.mechanism.error(0.1 * beta, blocks=len(u))) if bound is None else bound
        t = query.mechanism.error(beta, blocks=len(u))
        reached = self.value.offsets if isinstance(self.value, HalfSpaces) else (self.value @ u.T).max(axis=0)
        h = reached - u @ place
        kappa = cosine(u)
        both = float((y + t).max() + h.max()) / kappa
        # The last factor is for rounding, above all in linear programs.
        return (t + float(np.abs(h - y).max()) + math.sqrt(2 - 2 * kappa) * both) * (1 + 1e-6)

    def _plain(self, y: Floats, place: Floats, t: float) -> float:
        """Return the plain bound in the plane, which holds if all noises are at most t."""
        k = len(y)
        off = t + float(np.abs(((self.value - place) @ directions(k).T).max(axis=0) - y).max())
        diameter = max(float((y + np.roll(y, k // 2) + 2 * t).max()), 0.0) / math.cos(math.pi / k)
        return off / math.cos(math.pi / k) + diameter / 2 * math.tan(math.pi / k)


class SupportHullAnswers(SeparateAnswers):
    """The hulls of many persons, all with the same number of values of the support function."""

    def parts(self) -> Floats:
        return np.array([answer.parts()["support"] for answer in self.answers])


def _reach(mechanism: Additive, beta: float, weights: Floats, count: int) -> float:
    """Return the bound on the noise of a weighted average that holds for `count` averages at once, probability 1-β.

    The noise of the K-norm mechanism of the cube is r times independent uniform variables on [-1, 1], each
    sub-Gaussian with variance 1/3; half of β is for r.
    """
    from scipy.special import gammainccinv, ndtri

    if isinstance(mechanism, Gaussian):
        return mechanism.scale * float(np.linalg.norm(weights) * -ndtri(beta / count))
    r = mechanism.scale * float(gammainccinv(mechanism.dimension + 1, beta / 2))
    return r * min(
        float(np.abs(weights).sum()), float(np.linalg.norm(weights)) * math.sqrt(2 / 3 * math.log(2 * count / beta))
    )
