"""Convert ρ-CGP into (ε, δ, Δ)-GP by one of four theorems, each with the smallest ε that it gives.

(ε, δ, Δ)-GP requires P[M(x) ∈ S] ≤ exp(ε·r)·P[M(x') ∈ S] + δ for all events S and all x, x' at a distance r ≤ Δ.
Under each theorem the pair at distance Δ is the worst one. All quantities are doubles; the results are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidParameter

__all__ = ["FORMS", "epsilon_of", "rho_of"]

#: Nodes and weights of Gauss-Legendre quadrature on [-1, 1].
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)

FloatOrArray = TypeVar("FloatOrArray", float, NDArray[np.float64])


def _paper(rho: float, delta: float, within: float) -> float:
    """Return the ε of the paper's Lemma 3.7: ε = ρΔ + 2√(ρ·log(1/δ))."""
    return rho * within + 2 * math.sqrt(rho * math.log(1 / delta))


def _paper_s(rho: float, delta: float, within: float) -> float:
    """Return the ε of the paper's Appendix C.

    ε(s) = max{s/(s-1)·2√(ρ·log(2/((s+1)δ))), sρΔ} is minimised over s > 1. The first term falls and the second grows
    with s, so the minimum is where they are equal: 2/(s+1)·exp(-(s-1)²ρΔ²/4) = δ.
    """
    from scipy.optimize import brentq

    def excess(log_step: float) -> float:
        step = math.exp(log_step)
        return math.log(2 / (2 + step)) - step**2 * rho * within**2 / 4 - math.log(delta)

    widest = 2 / delta + 2 * math.sqrt(-math.log(delta) / rho) / within
    return (1 + math.exp(brentq(excess, -750.0, math.log(widest), xtol=1e-13))) * rho * within


def _tight(rho: float, delta: float, within: float) -> float:
    """Solve δ = (1/α)(1-1/α)^(α-1)·exp((α-1)(αρΔ²-εΔ)) for ε, and return its minimum over α > 1.

    Every α gives a valid ε, so an inexact minimum is still a valid answer.
    """
    from scipy.optimize import minimize_scalar

    def epsilon(log_step: float) -> float:
        step = math.exp(log_step)
        log_factor = -step * math.log1p(1 / step) - math.log1p(step)
        return (1 + step) * rho * within + (log_factor - math.log(delta)) / (step * within)

    centre = 0.5 * math.log(-math.log(delta) / rho) - math.log(within)
    grid = centre + np.linspace(-12, 12, 241)
    start = grid[int(np.argmin([epsilon(float(a)) for a in grid]))]
    return float(minimize_scalar(epsilon, bounds=(start - 0.2, start + 0.2), method="bounded").fun)


def _gaussian(rho: float, delta: float, within: float) -> float:
    """Return ε on the exact curve of Gaussian noise: δ = Φ(μ/2 - εΔ/μ) - exp(εΔ)·Φ(-μ/2 - εΔ/μ), μ = Δ√(2ρ).

    With a = εΔ/μ - μ/2 and Mills' ratio R, δ is φ(a)·(R(a) - R(a+μ)). The difference is computed without cancellation,
    as the integral of 1 - x·R(x) from a to a+μ. By the paper's lemma, a is below √(2·log(1/δ)).
    """
    from scipy.optimize import brentq

    mu = within * math.sqrt(2 * rho)
    if math.erf(mu / math.sqrt(8)) <= delta:  # δ at ε = 0
        return 0.0
    largest = math.sqrt(-2 * math.log(delta))
    a = float(brentq(lambda a: _log_gaussian_delta(a, mu) - math.log(delta), -mu / 2, largest + 1e-9, xtol=1e-14))
    return max(a + mu / 2, 0.0) * math.sqrt(2 * rho)


def _log_gaussian_delta(a: float, mu: float) -> float:
    """Return log δ of Gaussian noise, as a function of a = εΔ/μ - μ/2 and μ."""
    from scipy.special import log_ndtr

    if mu > 1:  # the two terms differ by a factor, so that nothing cancels
        first = float(log_ndtr(-a))
        second = -a * a / 2 - math.log(2 * math.pi) / 2 + math.log(_mills(a + mu))
        return first + math.log(-math.expm1(min(second - first, -1e-17)))
    x = a + mu * (_NODES + 1) / 2
    far = x > 60
    near = 1 - x * _mills(np.where(far, 0.0, x))
    square = np.where(far, x, 1.0) ** -2.0
    falling = np.where(far, square * (1 - 3 * square * (1 - 5 * square)), near)
    return -a * a / 2 - math.log(2 * math.pi) / 2 + math.log(float(_WEIGHTS @ falling) * mu / 2)


def _mills(x: FloatOrArray) -> FloatOrArray:
    """Return Mills' ratio Φ(-x)/φ(x)."""
    from scipy.special import erfcx

    ratio: FloatOrArray = math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))
    return ratio


FORMS: dict[str, Callable[[float, float, float], float]] = {
    "tight": _tight,
    "paper": _paper,
    "paper-s": _paper_s,
    "gaussian": _gaussian,
}


def epsilon_of(rho: float, *, delta: float, within: float, form: str) -> float:
    """Return the ε for which ρ-CGP implies (ε, δ, Δ)-GP, rounded up; 0 if (0, δ, Δ)-GP holds."""
    _check(delta, within, form)
    return max(FORMS[form](rho, delta, within), 0.0) * (1 + 1e-9)


def rho_of(epsilon: float, *, delta: float, within: float, form: str) -> float:
    """Return the largest ρ for which ρ-CGP implies (ε, δ, Δ)-GP, rounded down."""
    from scipy.optimize import brentq

    _check(delta, within, form)

    def excess(log_rho: float) -> float:
        return epsilon_of(math.exp(log_rho), delta=delta, within=within, form=form) - epsilon

    # Bracket the root. The paper's lemma is the weakest theorem, so its ρ is a lower end; since ε grows at least like
    # ρΔ·(1 - ...), the search for an upper end finishes.
    root = math.sqrt(math.log(1 / delta))
    low = 2 * math.log(epsilon / (math.sqrt(root**2 + epsilon * within) + root))
    high = low + 1.0
    while excess(high) < 0:
        high += 1.0
    return math.exp(float(brentq(excess, low - 1e-6, high, xtol=1e-12))) * (1 - 1e-8)


def _check(delta: float, within: float, form: str) -> None:
    if form not in FORMS:
        raise InvalidParameter(
            "form", form, " or ".join(repr(name) for name in FORMS), 'If unsure, use "tight", which always holds.'
        )
    if not 1e-100 <= delta < 1:
        raise InvalidParameter("delta", delta, "at least 1e-100 and below 1", "The paper uses 1e-10.")
    if not 1e-9 <= within <= 1e12:
        raise InvalidParameter(
            "within", within, "between 1e-9 and 1e12 metres", "CGP implies GP only up to a finite distance."
        )
