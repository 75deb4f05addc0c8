"""The tightness of error bounds: measured errors beside the paper's bounds and geoveil's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source, source_of
from geoveil.paper.experiments.cells import Study
from geoveil.paper.experiments.taxi_cells import TaxiCell, guarantees
from geoveil.privacy import CGP, GP
from geoveil.queries import Hull, HullAnswer, Nearest, Points, best_hull

__all__ = ["BETA", "TightnessCell"]

#: The probability that an error exceeds its bound.
BETA = 0.05
_K = 10
_ANGLES = 2 * np.pi * np.arange(720) / 720
_DIRECTIONS = np.array([np.cos(_ANGLES), np.sin(_ANGLES)])


@dataclass(frozen=True)
class TightnessCell(TaxiCell):
    """The error of one question, and its 95% bounds."""

    #: The error is the largest one of points, the excess distance of the tenth neighbour over the true tenth, and the
    #: Hausdorff distance of hulls.
    question: str

    experiment = "tightness"
    most = 5

    @property
    def name(self) -> str:
        return f"{super().name}-{self.question}"

    @property
    def cost(self) -> float:
        return 100.0

    def measure(self, x: Floats, study: Study, rng: np.random.Generator) -> Iterator[tuple[str, str, float]]:
        source = source_of(rng)
        asked = {"points": self._points, "nearest": self._nearest, "hull": self._hull}[self.question]
        for guarantee in guarantees(self.rho, study.procedure):
            for line, error, ours, theorem in asked(x, guarantee, study, rng, source):
                yield line, "error", error
                # Bounds differ between releases: each error is compared with its own bound.
                for name, bound in (("our bound", ours), ("theorem", theorem)):
                    if bound is not None:
                        yield line, name, bound
                        yield line, f"error / {name}", error / bound

    def _points(
        self, x: Floats, guarantee: CGP | GP, study: Study, rng: np.random.Generator, source: Source
    ) -> Iterator[tuple[str, float, float, float | None]]:
        n = len(x)
        for name, method in (("Basic", "paper"), ("best", "best")):
            if name == "best" and isinstance(guarantee, CGP):
                continue  # the same mechanism
            query = Points(n, 2, guarantee, method)
            error = float(np.linalg.norm(query.ask(x, source).value - x, axis=1).max())
            theorem = n_points_bound(n, guarantee) if name == "Basic" else None
            yield f"points, {guarantee.notion} {name}", error, query.error(BETA), theorem

    def _nearest(
        self, x: Floats, guarantee: CGP | GP, study: Study, rng: np.random.Generator, source: Source
    ) -> Iterator[tuple[str, float, float, float | None]]:
        p = study.data.place(rng)
        away = np.linalg.norm(x - p, axis=1)
        tenth = float(np.partition(away, _K - 1)[_K - 1])
        for name, method in (("PNN", "paper"), ("best", "best")):
            query = Nearest(len(x), 2, guarantee, method, p=p, k=_K)
            # A neighbour that is nearer than the true tenth has no error.
            error = max(float(away[query.ask(x, source).value[-1]]) - tenth, 0.0)
            theorem = nearest_bound(len(x), _K, guarantee, BETA) if name == "PNN" else None
            yield f"nearest, {guarantee.notion} {name}", error, query.error(BETA, each=True), theorem

    def _hull(
        self, x: Floats, guarantee: CGP | GP, study: Study, rng: np.random.Generator, source: Source
    ) -> Iterator[tuple[str, float, float, float | None]]:
        true = (x @ _DIRECTIONS).max(axis=0)
        for name, query in (("PCH", Hull(len(x), 2, guarantee)), ("best", best_hull(len(x), 2, guarantee))):
            answer = query.ask(x, source)
            error = float(np.abs((answer.value @ _DIRECTIONS).max(axis=0) - true).max())
            theorem = hull_bound(answer) if isinstance(answer, HullAnswer) else None
            yield f"hull, {guarantee.notion} {name}", error, answer.error(BETA), theorem


def n_points_bound(n: int, guarantee: CGP | GP, beta: float = BETA) -> float:
    """Return the bound of the paper's Theorems 4.6 and 4.8, with the constants of their proofs."""
    log = math.log(n / beta)
    if isinstance(guarantee, CGP):
        return math.sqrt(n * log / float(guarantee.rho))
    return n / float(guarantee.epsilon) * (math.sqrt(2 * log) + log)


def nearest_bound(n: int, k: int, guarantee: CGP | GP, beta: float) -> float:
    """Return the bound of the paper's Theorem 4.12 for one of k neighbours; under GP with ε/k for √(2ρ/k)."""
    cgp = isinstance(guarantee, CGP)
    epsilon = math.sqrt(2 * float(guarantee.budget) / k) if cgp else float(guarantee.budget) / k
    log = math.log((4 * n + 2) / beta)
    return (15 * log + 3 * math.sqrt(2 * log)) / epsilon


def hull_bound(answer: HullAnswer) -> float:
    """Return γ1 + γ2 + γ3 of the paper's Lemma 4.15 for a released hull."""
    guarantee, k, n = answer.query.guarantee, len(answer.directions), answer.query.n
    assert isinstance(guarantee, CGP | GP)
    half = guarantee * "0.475"
    searching = nearest_bound(n, k, half, BETA / (4 * k))
    return searching + 2 * math.pi * answer.radius / k + n_points_bound(k, half, BETA / 2)
