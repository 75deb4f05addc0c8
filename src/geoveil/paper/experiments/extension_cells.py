"""Experiments beyond the paper: dimensions, composition, smoothing, and the conversion of CGP to GP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from geoveil.mechanisms import Gaussian
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import source_of
from geoveil.paper.experiments.cells import Cell, Measurement, Study
from geoveil.paper.experiments.procedures import epsilon_at
from geoveil.paper.experiments.taxi_cells import guarantees
from geoveil.postprocess.motion import TAXI
from geoveil.postprocess.smoothing import smooth
from geoveil.privacy import CGP
from geoveil.queries import Distance, Nearest, Points
from geoveil.queries.evaluation import away

__all__ = ["CompositionCell", "NearestDimensionCell", "PointsDimensionCell", "RelationCell", "SmoothingCell"]

#: The number of synthetic tuples in each repetition.
_TUPLES = 10


@dataclass(frozen=True)
class DimensionCell(Cell):
    """A question about synthetic points in d dimensions."""

    #: The number of dimensions.
    d: int

    real = False
    n, rho = 1000, 1e-2

    def settings(self) -> dict[str, float]:
        return {"n": self.n, "rho": self.rho, "d": self.d}

    def cloud(self, rng: np.random.Generator) -> Floats:
        """Return points whose distance to the origin is uniform up to 10 km in every dimension."""
        directions = rng.standard_normal((self.n, self.d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return np.asarray(directions * rng.uniform(0, 10_000, size=(self.n, 1)))


@dataclass(frozen=True)
class PointsDimensionCell(DimensionCell):
    """The mean error of a released point, which grows with √d under CGP and with d under GP."""

    experiment = "points by dimension"

    @property
    def cost(self) -> float:
        return 20.0

    def batch(self, study: Study, repetition: int) -> list[Measurement]:
        rng = study.generator(self.name, repetition)
        measured = []
        for which in range(_TUPLES):
            x = self.cloud(rng)
            for guarantee in guarantees(self.rho, study.procedure):
                for line, method in (("Basic", "paper"), ("best", "best")):
                    if line == "best" and isinstance(guarantee, CGP):
                        continue  # the same mechanism
                    y = Points(self.n, self.d, guarantee, method).ask(x, source_of(rng)).value
                    error = float(np.linalg.norm(y - x, axis=1).mean())
                    measured.append(Measurement(f"{guarantee.notion} {line}", "mean error", f"made up {which}", error))
        return measured


@dataclass(frozen=True)
class NearestDimensionCell(DimensionCell):
    """The mean excess distance of the ten nearest neighbours of the origin over that of the true ones."""

    experiment = "nearest by dimension"
    k = 10

    def settings(self) -> dict[str, float]:
        return {**super().settings(), "k": self.k}

    @property
    def cost(self) -> float:
        return 60.0

    def batch(self, study: Study, repetition: int) -> list[Measurement]:
        rng = study.generator(self.name, repetition)
        p = np.zeros(self.d)
        measured = []
        for which in range(_TUPLES):
            x = self.cloud(rng)
            distances = np.linalg.norm(x, axis=1)
            least = float(np.partition(distances, self.k - 1)[: self.k].mean())
            for guarantee in guarantees(self.rho, study.procedure):
                chosen = {
                    line: Nearest(self.n, self.d, guarantee, method, p=p, k=self.k).ask(x, source_of(rng)).value
                    for line, method in (("PNN", "paper"), ("best", "best"))
                }
                noisy = np.linalg.norm(Points(self.n, self.d, guarantee, "paper").ask(x, source_of(rng)).value, axis=1)
                chosen["Basic"] = np.argpartition(noisy, self.k - 1)[: self.k]
                for line, positions in chosen.items():
                    excess = float(distances[positions].mean()) - least
                    measured.append(Measurement(f"{guarantee.notion} {line}", "excess", f"made up {which}", excess))
        return measured


@dataclass(frozen=True)
class CompositionCell(Cell):
    """The mean error of k distances under one budget, each to a location that depends on the previous answer."""

    #: The number of questions.
    k: int

    experiment = "composition"
    real = False
    n, rho = 200, 1e-4

    def settings(self) -> dict[str, float]:
        return {"n": self.n, "rho": self.rho, "k": self.k}

    @property
    def cost(self) -> float:
        return 0.3 * self.k

    def batch(self, study: Study, repetition: int) -> list[Measurement]:
        rng = study.generator(self.name, repetition)
        x = rng.normal(scale=5000, size=(self.n, 2))
        measured = []
        for guarantee in guarantees(self.rho, study.procedure):
            part = guarantee / self.k
            turn, errors = 0.0, []
            for _ in range(self.k):
                # The location is far enough away that no answer is negative.
                place = 1e7 * np.array([math.cos(turn), math.sin(turn)])
                answer = float(Distance(self.n, 2, part, measure=partial(away, p=place)).ask(x, source_of(rng)).value)
                errors.append(abs(answer - float(np.linalg.norm(x - place, axis=1).min())))
                turn += answer
            measured.append(Measurement(guarantee.notion, "mean error", "made up", float(np.mean(errors))))
        return measured


@dataclass(frozen=True)
class SmoothingCell(Cell):
    """The root mean square error of a released trajectory before and after smoothing."""

    #: The number of points, from the first on; a shorter trajectory is used as a whole.
    n: int
    #: The budget ρ, per square metre.
    rho: float

    experiment = "smoothing"
    most = 1

    def settings(self) -> dict[str, float]:
        return {"n": self.n, "rho": self.rho}

    @property
    def cost(self) -> float:
        return 500.0

    def batch(self, study: Study, repetition: int) -> list[Measurement]:
        measured = []
        for taxi in study.chosen(self.name, repetition):
            rng = study.generator(self.name, repetition, taxi)
            x = study.data.tracks[taxi][: self.n]
            times = study.data.times[taxi][: self.n].astype(float)
            mechanism = Points(len(x), 2, CGP(rho=self.rho)).mechanism
            assert isinstance(mechanism, Gaussian)
            y = mechanism.sample(x, source_of(rng))
            estimates = {
                "released": y,
                "smoothed": smooth(y, times, mechanism.scale, TAXI),
                "mean of released": np.broadcast_to(y.mean(axis=0), y.shape),
            }
            for line, estimate in estimates.items():
                error = math.sqrt(np.square(estimate - x).sum(axis=1).mean())
                measured.append(Measurement(line, "rms error", taxi, error))
        return measured


@dataclass(frozen=True)
class RelationCell(Cell):
    """The (ε, δ, Δ)-GP that ρ-CGP implies by the paper's Appendix C, and the smallest ε known for the same δ and Δ."""

    #: The parameter of the appendix: Δ = ε/(sρ).
    s: float

    experiment = "relation"
    real = False
    most = 1
    rho = 5e-5

    def settings(self) -> dict[str, float]:
        return {"rho": self.rho, "s": self.s}

    @property
    def cost(self) -> float:
        return 1.0

    def batch(self, study: Study, repetition: int) -> list[Measurement]:
        measured = []
        for delta in (1e-6, 1e-8, 1e-10, 1e-12):
            line = f"δ = {delta:g}"
            epsilon = epsilon_at(self.rho, self.s, delta)
            within = epsilon / (self.s * self.rho)
            tight = float(CGP(rho=self.rho).as_gp(delta=delta, within=within, form="tight").epsilon)
            measured += [
                Measurement(line, "Δ", "", within),
                Measurement(line, "ε", "", epsilon),
                Measurement(f"{line}, tight", "ε", "", tight),
            ]
        return measured
