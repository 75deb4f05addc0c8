"""The cells of an experiment: one setting each, measured in batches that depend on nothing but their coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from geoveil.experiments.procedures import Procedure
from geoveil.experiments.seeds import generator
from geoveil.experiments.taxis import Taxis

__all__ = ["Cell", "Measurement", "Study"]


class Measurement(NamedTuple):
    """One number that was measured: with which method, what, and on whose trajectory."""

    line: str
    measure: str
    taxi: str
    value: float


@dataclass(frozen=True)
class Study:
    """What all cells of a run share.

    Parameters
    ----------
    seed : int
        From which all generators follow.
    trajectories : int
        How many are drawn for each repetition.
    procedure : Procedure
        The paper's text, or its authors' programs.
    taxis : Taxis, optional
        The data; experiments on made-up data need none.
    """

    seed: int
    trajectories: int
    procedure: Procedure
    taxis: Taxis | None = None

    def generator(self, *coordinates: str | int) -> np.random.Generator:
        """The generator of one task."""
        return generator(self.seed, *coordinates)

    @property
    def data(self) -> Taxis:
        """The taxis, where there are any."""
        assert self.taxis is not None
        return self.taxis

    def chosen(self, cell: str, repetition: int) -> list[str]:
        """The taxis of one repetition of a cell."""
        return self.procedure.choose(self.data.names, self.trajectories, self.generator(cell, repetition, "taxis"))


@dataclass(frozen=True)
class Cell(ABC):
    """One setting of an experiment."""

    #: What is asked, or shown.
    experiment: ClassVar[str]
    #: Whether it needs the taxis.
    real: ClassVar[bool] = True
    #: A cell that tells enough in fewer repetitions than the paper's has a limit.
    most: ClassVar[int | None] = None

    def repetitions(self, wanted: int) -> int:
        """How often it is measured where others are so often."""
        return wanted if self.most is None else min(self.most, wanted)

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Of `n`, `rho`, `k` and `d` those that it has."""

    @abstractmethod
    def batch(self, study: Study, repetition: int) -> list[Measurement]:
        """All measurements of one repetition."""

    @property
    @abstractmethod
    def cost(self) -> float:
        """About how many milliseconds one trajectory takes, for the time left."""

    @property
    def name(self) -> str:
        """That tells it from all others; part of the seed."""
        return "-".join([self.experiment, *(key + _written(value) for key, value in self.settings().items())])


def _written(value: float) -> str:
    """A number in few digits, if they are all it has."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
