"""Lipschitz functions, and the rules for combining them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from geoveil import checks
from geoveil.errors import IncompatibleGuarantees
from geoveil.mechanisms.mechanism import LIPSCHITZ_REMEDY, Floats
from geoveil.privacy import Metric, as_metric, dist_inf, exact

__all__ = ["Lipschitz"]


@dataclass(frozen=True, init=False)
class Lipschitz:
    """A function g of a tuple with ‖g(x) - g(x')‖ ≤ K·dist(x, x').

    Parameters
    ----------
    function : callable
        Takes an (n, d) array in metres and returns a number or a vector.
    constant : float
        The Lipschitz constant K.
    metric : {"inf", "2", "1"}
        The metric under which K holds.

    Notes
    -----
    Composition multiplies the constants; a·g + b has the constant |a|·K; the minimum and the maximum of functions have
    the largest of their constants (the paper's Lemmas 4.9 and E.1); a vector of functions has √(ΣK²).

    Examples
    --------
    >>> east = gv.Lipschitz(lambda x: x[:, 0].max(), 1)
    >>> north = gv.Lipschitz(lambda x: x[:, 1].max(), 1)
    >>> corner = gv.Lipschitz.vector(east, north)
    >>> round(corner.constant, 3), corner(np.array([[1.0, 2.0], [3.0, 0.0]]))
    (1.414, array([3., 2.]))
    >>> (2 * east + 1).constant
    2.0
    """

    function: Callable[[Floats], ArrayLike]
    constant: float
    metric: Metric

    def __init__(
        self, function: Callable[[Floats], ArrayLike], constant: float, metric: str | Metric = dist_inf
    ) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(
            self, "constant", _float_up(Fraction(checks.positive("lipschitz", constant, remedy=LIPSCHITZ_REMEDY)))
        )
        object.__setattr__(self, "metric", as_metric(metric))

    def __call__(self, x: Floats) -> Floats:
        return np.asarray(self.function(x), dtype=float)

    def then(self, outer: Callable[[Floats], ArrayLike], constant: float) -> Lipschitz:
        """Return x ↦ outer(g(x)), where `outer` is Lipschitz with this constant between Euclidean spaces.

        Examples
        --------
        >>> east = gv.Lipschitz(lambda x: x[:, 0].max(), 1)
        >>> north = gv.Lipschitz(lambda x: x[:, 1].max(), 1)
        >>> kilometres = east.then(lambda metres: metres / 1000, 0.001)
        >>> round(gv.Locations(homes, area=bay).answer(kilometres, rho=1e-4).error(), 3)
        0.139
        """
        checks.positive("constant", constant, remedy=LIPSCHITZ_REMEDY)
        return Lipschitz(lambda x: outer(self(x)), _product_up(constant, self.constant), self.metric)

    def __mul__(self, a: float) -> Lipschitz:
        return Lipschitz(lambda x: a * self(x), _product_up(abs(a), self.constant), self.metric)

    __rmul__ = __mul__

    def __add__(self, b: float | Floats) -> Lipschitz:
        return Lipschitz(lambda x: self(x) + b, self.constant, self.metric)

    __radd__ = __add__

    @staticmethod
    def minimum(*functions: Lipschitz) -> Lipschitz:
        """Return the minimum of real-valued functions.

        Examples
        --------
        >>> east = gv.Lipschitz(lambda x: x[:, 0].max(), 1)
        >>> north = gv.Lipschitz(lambda x: x[:, 1].max(), 1)
        >>> gv.Lipschitz.minimum(east, north)(np.array([[1.0, 2.0], [3.0, 0.0]]))
        array(2.)
        """
        return Lipschitz(lambda x: min(float(g(x)) for g in functions), *_largest(functions))

    @staticmethod
    def maximum(*functions: Lipschitz) -> Lipschitz:
        """Return the maximum of real-valued functions.

        Examples
        --------
        >>> east = gv.Lipschitz(lambda x: x[:, 0].max(), 1)
        >>> north = gv.Lipschitz(lambda x: x[:, 1].max(), 1)
        >>> gv.Lipschitz.maximum(east, north)(np.array([[1.0, 2.0], [3.0, 0.0]]))
        array(3.)
        """
        return Lipschitz(lambda x: max(float(g(x)) for g in functions), *_largest(functions))

    @staticmethod
    def vector(*functions: Lipschitz) -> Lipschitz:
        """Return all functions as one vector-valued function, with the constant √(ΣK²), rounded up.

        Examples
        --------
        >>> east = gv.Lipschitz(lambda x: x[:, 0].max(), 1)
        >>> north = gv.Lipschitz(lambda x: x[:, 1].max(), 1)
        >>> corner = gv.Lipschitz.vector(east, north)
        >>> gv.Locations(homes, area=bay).answer(corner, size=2, rho=1e-4).value.shape
        (2,)
        """
        _, metric = _largest(functions)
        squares = sum(Fraction(g.constant) ** 2 for g in functions)
        return Lipschitz(lambda x: np.concatenate([np.ravel(g(x)) for g in functions]), exact.root_up(squares), metric)


def _product_up(a: float, b: float) -> float:
    checks.positive("lipschitz", a * b, remedy=LIPSCHITZ_REMEDY)
    return _float_up(Fraction(a) * Fraction(b))


def _float_up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _largest(functions: tuple[Lipschitz, ...]) -> tuple[float, Metric]:
    metrics = {g.metric for g in functions}
    if len(metrics) != 1:
        names = " and ".join(sorted(repr(metric.name) for metric in metrics))
        raise IncompatibleGuarantees(
            f"Functions that are Lipschitz under different metrics, {names}, cannot be combined; "
            "state their constants under one metric."
        )
    return max(g.constant for g in functions), metrics.pop()
