"""The cells of an experiment: one combination of parameters each, measured in independent repetitions."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from geoveil.paper.experiments.procedures import Procedure
from geoveil.paper.experiments.taxis import Taxis

__all__ = ["Cell", "Measurement", "Study", "generator"]


class Measurement(NamedTuple):
    """One measured number: the line of the figure, the measure, the taxi and the value."""

    line: str
    measure: str
    taxi: str
    value: float


@dataclass(frozen=True)
class Study:
    """The data and settings that all cells of a run share."""

    #: The seed of all generators.
    seed: int
    #: The number of trajectories drawn for each repetition.
    trajectories: int
    #: That of the paper's text, or of its authors' programs.
    procedure: Procedure
    #: The data; None for experiments on synthetic data.
    taxis: Taxis | None = None

    def generator(self, *coordinates: str | int) -> np.random.Generator:
        """Return the generator of one task."""
        return generator(self.seed, *coordinates)

    @property
    def data(self) -> Taxis:
        """The taxis, which must have been given."""
        assert self.taxis is not None
        return self.taxis

    def chosen(self, cell: str, repetition: int) -> list[str]:
        """Return the taxis of one repetition of a cell."""
        return self.procedure.choose(self.data.names, self.trajectories, self.generator(cell, repetition, "taxis"))


@dataclass(frozen=True)
class Cell(ABC):
    """One combination of parameters of an experiment."""

    #: The name of the experiment.
    experiment: ClassVar[str]
    #: Whether it needs the taxi data.
    real: ClassVar[bool] = True
    #: The largest number of repetitions that it needs, if that is fewer than the paper's.
    most: ClassVar[int | None] = None

    def repetitions(self, wanted: int) -> int:
        """Return its number of repetitions, where other cells have `wanted`."""
        return wanted if self.most is None else min(self.most, wanted)

    @abstractmethod
    def settings(self) -> dict[str, float]:
        """Return its parameters by name: some of n, rho, k, d and s."""

    @abstractmethod
    def batch(self, study: Study, repetition: int) -> list[Measurement]:
        """Return all measurements of one repetition."""

    @property
    @abstractmethod
    def cost(self) -> float:
        """The approximate time of one trajectory in milliseconds, to estimate the time left."""

    @property
    def name(self) -> str:
        """The name that identifies it; part of the seed."""
        return "-".join([self.experiment, *(key + _written(value) for key, value in self.settings().items())])


def _written(value: float) -> str:
    """Return a number with six significant digits, or with all of its digits if it has more."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def generator(seed: int, *coordinates: str | int) -> np.random.Generator:
    """Return the generator of the task at some coordinates.

    The order of tasks, the number of workers and interruptions therefore change no result. It is for experiments only:
    a release draws from the operating system.

    Examples
    --------
    >>> a, b = generator(7, "hull", 3, "abtyff"), generator(7, "hull", 4, "abtyff")
    >>> a.random() == generator(7, "hull", 3, "abtyff").random(), a.random() == b.random()
    (True, False)
    """
    # Coordinates are joined by a character that none of them contains, and hashed, since they may have any length.
    digest = hashlib.sha256("\x1f".join(map(str, coordinates)).encode()).digest()
    return np.random.default_rng(np.random.SeedSequence([seed, int.from_bytes(digest, "big")]))
