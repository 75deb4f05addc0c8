"""What every mechanism is: a frozen value that knows its guarantee, samples, and says how wrong it can be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import IncompatibleGuarantees, InvalidParameter
from geoveil.noise import Blocks, Reals, Source, as_reals, grid, released
from geoveil.privacy import CGP, GP, Guarantee, exact

__all__ = ["LIPSCHITZ_REMEDY", "Additive", "Floats", "Mechanism", "noise_scale", "pure_epsilon", "value_axes"]

Floats: TypeAlias = NDArray[np.float64]

#: The scales of noise, in metres, that doubles can hold beside coordinates of up to 10^8 m.
FINEST, COARSEST = 2.0**-16, 1e30

LIPSCHITZ_REMEDY = "It is how much faster than its input a function can move: 1 for a distance to a place."


class Mechanism(ABC):
    """A randomised answer with its guarantee; a subclass adds `sample`, a density or probabilities, and `error`."""

    #: What this mechanism costs, whatever the data is.
    guarantee: Guarantee

    @property
    @abstractmethod
    def scale(self) -> float:
        """The noise's scale in metres, rounded up."""

    def describe(self) -> dict[str, Any]:
        """The mechanism as it stands in a certificate."""
        return {
            "name": type(self).__name__,
            self.guarantee.notion: str(self.guarantee.budget),
            "scale": self.scale,
        }


class Additive(Mechanism):
    """A mechanism that adds noise to the value of a Lipschitz function into R^dimension."""

    dimension: int
    #: Whether the noise on the rows of a value is independent.
    independent = False

    @property
    @abstractmethod
    def deviation(self) -> float:
        """The root mean square of the noise on a coordinate."""

    @property
    def grid(self) -> float:
        """The noisy value is a multiple of this, unless noise comes from a numpy generator."""
        return grid(self.deviation)

    @abstractmethod
    def noise(self, source: Source, sizes: NDArray[np.int64], dimension: int) -> Blocks:
        """Noise of scale 1 for values of this kind, laid out as rows of so many numbers, sizes[i] rows to the i-th."""

    def sample(self, center: Floats | Reals, source: Source) -> Floats:
        """The noisy value, a multiple of the grid of the scale; it has the shape of `center`."""
        value = as_reals(center)
        rows = value if value.values.ndim == 2 else value.reshaped(-1, 1)
        count, dimension = rows.values.shape
        noisy = released(rows, self.scale, self.grid, self.noise(source, np.array([count]), dimension), source)
        return noisy.reshape(value.values.shape)

    @abstractmethod
    def log_density(self, y: Floats, center: Floats) -> Floats:
        """The exact log-density of releasing y when the value is `center`.

        y may have more axes in front than `center` has: one log-density for each value that they hold.
        """

    @abstractmethod
    def error(self, beta: float, *, blocks: int = 1, each: bool = False) -> float:
        """The exact 1-β quantile of the noise's length.

        Parameters
        ----------
        beta : float
            The probability that it is exceeded.
        blocks : int
            Cut the noise into so many blocks of equal dimension and take the longest of them.
        each : bool
            Take one block alone instead of the longest.
        """


def noise_scale(numerator: float, epsilon: Decimal, guarantee: Guarantee) -> float:
    """The scale numerator/ε in metres, rounded up; refused where doubles could not hold noise of it.

    A coordinate of 10^8 m has its last bit at 10^-8 m: noise as fine as that would leave it as it is.
    """
    scale = exact.ratio_up(numerator, epsilon)
    if not FINEST <= scale <= COARSEST:
        raise InvalidParameter(
            guarantee.symbol,
            str(guarantee.budget),
            f"such that noise has a scale between {FINEST:g} and {COARSEST:g} m; here it is {scale:.3g} m",
            "Check the unit: budgets are per metre, or per square metre.",
        )
    return scale


def value_axes(center: Floats) -> tuple[int, ...]:
    """The axes of an array of values that belong to one value."""
    return tuple(range(-np.ndim(center), 0))


def pure_epsilon(guarantee: Guarantee) -> Decimal:
    """The ε of a pure ε-GP mechanism that meets the guarantee: √(2ρ) for CGP (the paper's Lemma 3.6)."""
    if isinstance(guarantee, CGP):
        return exact.sqrt_down(exact.multiply(Decimal(2), guarantee.rho))
    if isinstance(guarantee, GP) and guarantee.pure:
        return guarantee.epsilon
    raise IncompatibleGuarantees(f"{guarantee!r} cannot be met by a pure mechanism; give CGP or GP with delta=0.")
