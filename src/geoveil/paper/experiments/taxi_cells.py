"""The paper's three questions on taxi data, answered by all methods that the figures compare."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source, source_of
from geoveil.paper.experiments.cells import Cell, Measurement, Study
from geoveil.paper.experiments.procedures import Procedure
from geoveil.privacy import CGP, GP
from geoveil.queries import HullAnswer, Nearest, Points, best_hull

if TYPE_CHECKING:
    import shapely

__all__ = ["HullCell", "NearestCell", "PointsCell", "body", "guarantees", "jaccard"]


def guarantees(rho: float, procedure: Procedure) -> list[CGP | GP]:
    """Return the guarantees of GP and of CGP that are compared, in this order."""
    return [GP(epsilon=procedure.epsilon(rho)), CGP(rho=rho)]


@dataclass(frozen=True)
class TaxiCell(Cell):
    """A question about n points of a taxi, under ρ-CGP and under GP."""

    #: The number of points sampled from a trajectory; a shorter one is used as a whole.
    n: int
    #: The budget ρ, per square metre.
    rho: float

    def settings(self) -> dict[str, float]:
        return {"n": self.n, "rho": self.rho}

    def batch(self, study: Study, repetition: int) -> list[Measurement]:
        measured = []
        for taxi in study.chosen(self.name, repetition):
            rng = study.generator(self.name, repetition, taxi)
            x = study.procedure.sample(study.data.tracks[taxi], self.n, rng)
            measured += [
                Measurement(line, measure, taxi, value) for line, measure, value in self.measure(x, study, rng)
            ]
        return measured

    @abstractmethod
    def measure(self, x: Floats, study: Study, rng: np.random.Generator) -> Iterator[tuple[str, str, float]]:
        """Return line, measure and value of everything that is compared, for one tuple."""


@dataclass(frozen=True)
class PointsCell(TaxiCell):
    """The largest error of a released point, and the Euclidean error of the tuple.

    Under CGP geoveil's best method is the paper's; under GP it is the K-norm mechanism.
    """

    experiment = "points"

    @property
    def cost(self) -> float:
        return self.n / 3500

    def measure(self, x: Floats, study: Study, rng: np.random.Generator) -> Iterator[tuple[str, str, float]]:
        source = source_of(rng)
        gp, cgp = guarantees(self.rho, study.procedure)
        for line, guarantee, method in (
            ("GP Basic", gp, "paper"),
            ("CGP Basic", cgp, "paper"),
            ("GP best", gp, "best"),
        ):
            y = Points(len(x), 2, guarantee, method).ask(x, source).value
            squares = np.square(y - x).sum(axis=1)
            yield line, "largest error", math.sqrt(squares.max())
            yield line, "l2 error", math.sqrt(squares.sum())


@dataclass(frozen=True)
class NearestCell(TaxiCell):
    """The sum of the distances of the k nearest neighbours of a visited location, over the true sum."""

    #: The number of neighbours.
    k: int

    experiment = "nearest"

    def settings(self) -> dict[str, float]:
        return {**super().settings(), "k": self.k}

    @property
    def cost(self) -> float:
        return self.k * (0.3 + self.n / 3e5 + 0.1 * min(100 * self.rho, 1.5)) + 6

    def measure(self, x: Floats, study: Study, rng: np.random.Generator) -> Iterator[tuple[str, str, float]]:
        source = source_of(rng)
        p = study.data.place(rng)
        away = _lengths(x - p)
        least = float(np.partition(away, self.k - 1)[: self.k].sum())
        for guarantee in guarantees(self.rho, study.procedure):
            notion = guarantee.notion
            if isinstance(guarantee, CGP):
                part = math.sqrt(2 * self.rho / self.k)
            else:
                part = float(guarantee.epsilon) / self.k
            y = Points(len(x), 2, guarantee, "paper").ask(x, source).value
            basic = np.argpartition(_lengths(y - p), self.k - 1)[: self.k]
            yield f"{notion} Basic", "distance ratio", float(away[basic].sum()) / least
            for line, method, gamma0 in (("PNN", "paper", study.procedure.gamma0(part)), ("best", "best", 0.0)):
                query = Nearest(len(x), 2, guarantee, method, p=p, k=self.k, gamma0=gamma0)
                chosen = query.ask(x, source).value
                yield f"{notion} {line}", "distance ratio", float(away[chosen].sum()) / least


@dataclass(frozen=True)
class HullCell(TaxiCell):
    """The Jaccard index of the released and the true hull, and the number of probes of the paper's algorithm."""

    experiment = "hull"

    @property
    def cost(self) -> float:
        probes = min(max(16.0, 22 * float((self.rho / 5e-5) ** 0.33)), 128.0)
        return (15 + probes) * (0.3 + 0.7 * min(self.n / 20_000, 1.1))

    def measure(self, x: Floats, study: Study, rng: np.random.Generator) -> Iterator[tuple[str, str, float]]:
        source = source_of(rng)
        true = body(x)
        for guarantee in guarantees(self.rho, study.procedure):
            notion = guarantee.notion
            basic = Points(len(x), 2, guarantee, "paper").ask(x, source).value
            yield f"{notion} Basic", "Jaccard index", jaccard(body(basic), true)
            searched = study.procedure.hull(len(x), guarantee).ask(x, source)
            assert isinstance(searched, HullAnswer)
            yield f"{notion} PCH", "Jaccard index", jaccard(body(searched.value), true)
            yield f"{notion} PCH", "probes", float(len(searched.directions))
            yield f"{notion} best", "Jaccard index", jaccard(best_body(x, guarantee, source), true)


def best_body(x: Floats, guarantee: CGP | GP, source: Source) -> shapely.Geometry:
    """Return the hull of points of the plane by geoveil's best method."""
    return body(best_hull(len(x), 2, guarantee).ask(x, source).value)


def body(points: Floats) -> shapely.Geometry:
    """Return the convex hull; of many points by Qhull, which is faster and cannot handle degenerate ones."""
    import shapely
    from scipy.spatial import ConvexHull

    if len(points) > 500:
        points = points[ConvexHull(points).vertices]
    return shapely.MultiPoint(points).convex_hull


def jaccard(a: shapely.Geometry, b: shapely.Geometry) -> float:
    """Return the area of the intersection over that of the union."""
    common = float(a.intersection(b).area)
    return common / float(a.area + b.area - common)


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.hypot(vectors[:, 0], vectors[:, 1]))
