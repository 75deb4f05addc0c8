"""The base classes of mechanisms: frozen values with a guarantee, a sampler and an error bound."""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import IncompatibleGuarantees, InvalidParameter
from geoveil.noise import Blocks, Reals, Source, as_reals, grid, round_to_grid
from geoveil.privacy import CGP, GP, Guarantee, exact

__all__ = ["LIPSCHITZ_REMEDY", "Additive", "Floats", "Mechanism", "noise_scale", "pure_epsilon", "value_axes"]

Floats: TypeAlias = NDArray[np.float64]

#: The smallest and the largest scale of noise in metres that doubles can add to coordinates of up to 10^8 m.
FINEST, COARSEST = 2.0**-16, 1e30

LIPSCHITZ_REMEDY = "It bounds how fast the value changes as points move: 1 for a distance to a place."


class Mechanism(ABC):
    """A randomised algorithm with a guarantee. A subclass adds `sample`, a density or probabilities, and `error`.

    Examples
    --------
    >>> mechanism = gv.Locations(homes, area=bay).mean(rho=1e-4).mechanism
    >>> isinstance(mechanism, gv.Mechanism), round(mechanism.scale), round(mechanism.error())
    (True, 71, 173)
    """

    #: The guarantee, which is also the cost of running the mechanism once. It does not depend on the data.
    guarantee: Guarantee

    @property
    @abstractmethod
    def scale(self) -> float:
        """The scale of the noise in metres, rounded up."""

    def describe(self) -> dict[str, str | float]:
        """Return the description of the mechanism in a certificate.

        Examples
        --------
        >>> gv.Locations(homes, area=bay).mean(rho=1e-4).mechanism.describe()
        {'name': 'Gaussian', 'CGP': '0.0001', 'scale': 70.71067811865476}
        """
        return {
            "name": type(self).__name__,
            self.guarantee.notion: str(self.guarantee.budget),
            "scale": self.scale,
        }


class Additive(Mechanism):
    """A mechanism that adds noise to the value of a Lipschitz function into R^dimension."""

    dimension: int
    #: Whether the noise on one row of a value is independent of that on the others.
    independent = False

    @property
    @abstractmethod
    def deviation(self) -> float:
        """The standard deviation of the noise on a coordinate, in metres."""

    @property
    def grid(self) -> float:
        """The step of the grid to which noisy values are rounded, unless the noise comes from a numpy generator."""
        return grid(self.deviation)

    @abstractmethod
    def noise(self, source: Source, sizes: NDArray[np.int64], dimension: int) -> Blocks:
        """Return noise of scale 1 for several values of this kind, as rows of `dimension` numbers.

        Value i has sizes[i] adjacent rows.
        """

    def sample(self, center: Floats | Reals, source: Source) -> Floats:
        """Return the noisy value, rounded to the grid; it has the shape of `center`."""
        value = as_reals(center)
        rows = value if value.values.ndim == 2 else value.reshaped(-1, 1)
        count, dimension = rows.values.shape
        noisy = round_to_grid(rows, self.scale, self.grid, self.noise(source, np.array([count]), dimension), source)
        return noisy.reshape(value.values.shape)

    @abstractmethod
    def log_density(self, y: Floats, center: Floats) -> Floats:
        """Return the exact log-density of the noisy value at y when the true value is `center`.

        If y has additional leading axes, it holds several values: one log-density is returned for each.
        """

    @abstractmethod
    def error(self, beta: float = 0.05, *, blocks: int = 1, each: bool = False) -> float:
        """Return the exact 1-β quantile of the Euclidean length of the noise.

        Parameters
        ----------
        beta : float
            The probability that the length exceeds the quantile.
        blocks : int
            The number of blocks of equal dimension into which the noise is cut. The quantile is that of the longest.
        each : bool
            Whether to return the quantile of a single block instead of the longest.
        """


def noise_scale(numerator: float, epsilon: Decimal, guarantee: Guarantee) -> float:
    """Return the scale numerator/ε in metres, rounded up; raise an error if doubles cannot hold noise of that scale.

    The last bit of a coordinate of 10^8 m is 10^-8 m: noise as fine as that would leave the coordinate unchanged.
    """
    scale = exact.ratio_up(numerator, epsilon)
    if not FINEST <= scale <= COARSEST:
        raise InvalidParameter(
            guarantee.symbol,
            str(guarantee.budget),
            f"a budget whose noise has a scale between {FINEST:g} and {COARSEST:g} m; here it is {scale:.3g} m",
            "Check the unit: budgets are per metre, or per square metre.",
        )
    return scale


def value_axes(center: Floats) -> tuple[int, ...]:
    """Return the axes of one value in an array of many values of the shape of `center`."""
    return tuple(range(-np.ndim(center), 0))


def pure_epsilon(guarantee: Guarantee) -> Decimal:
    """Return the ε of a pure ε-GP mechanism that meets the guarantee: √(2ρ) for CGP (the paper's Lemma 3.6)."""
    if isinstance(guarantee, CGP):
        return exact.sqrt_down(exact.multiply(Decimal(2), guarantee.rho))
    if isinstance(guarantee, GP) and guarantee.pure:
        return guarantee.epsilon
    raise IncompatibleGuarantees(f"{guarantee!r} cannot be met by a pure mechanism; give CGP or GP with delta=0.")
