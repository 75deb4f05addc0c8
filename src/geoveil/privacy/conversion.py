"""From ρ-CGP to (ε, δ, Δ)-GP, in four forms, each the smallest ε that its theorem gives.

(ε, δ, Δ)-GP asks that P[M(x) ∈ S] ≤ exp(ε·r)·P[M(x') ∈ S] + δ for all events S and all x, x' at a distance r ≤ Δ.
In every form the pair at distance Δ is the worst one. All quantities are doubles; the results are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from geoveil.errors import InvalidParameter

__all__ = ["FORMS", "epsilon_of", "rho_of"]


def _paper(rho: float, delta: float, within: float) -> float:
    """The paper's Lemma 3.7: ε = ρΔ + 2√(ρ·log(1/δ))."""
    return rho * within + 2 * math.sqrt(rho * math.log(1 / delta))


def _paper_s(rho: float, delta: float, within: float) -> float:
    """The paper's Appendix C: ε(s) = max{s/(s-1)·2√(ρ·log(2/((s+1)δ))), sρΔ}, minimised over s > 1.

    The first term falls and the second grows with s, so the minimum is at their crossing,
    2/(s+1)·exp(-(s-1)²ρΔ²/4) = δ.
    """
    from scipy.optimize import brentq

    def excess(log_step: float) -> float:
        step = math.exp(log_step)
        return math.log(2 / (2 + step)) - step**2 * rho * within**2 / 4 - math.log(delta)

    widest = 2 / delta + 2 * math.sqrt(-math.log(delta) / rho) / within
    return (1 + math.exp(brentq(excess, -750.0, math.log(widest), xtol=1e-13))) * rho * within


def _tight(rho: float, delta: float, within: float) -> float:
    """The bound δ = (1/α)(1-1/α)^(α-1)·exp((α-1)(αρΔ²-εΔ)), solved for ε and minimised over α > 1.

    Every α gives a valid ε, so the search for the best one carries no risk.
    """
    from scipy.optimize import minimize_scalar

    def epsilon(log_step: float) -> float:
        step = math.exp(log_step)
        log_factor = step * math.log(step / (1 + step)) - math.log1p(step)
        return (1 + step) * rho * within + (log_factor - math.log(delta)) / (step * within)

    centre = 0.5 * math.log(-math.log(delta) / rho) - math.log(within)
    grid = centre + np.linspace(-12, 12, 241)
    start = grid[int(np.argmin([epsilon(float(a)) for a in grid]))]
    return float(minimize_scalar(epsilon, bounds=(start - 0.2, start + 0.2), method="bounded").fun)


def _gaussian(rho: float, delta: float, within: float) -> float:
    """The exact curve of Gaussian noise: δ = Φ(μ/2 - εΔ/μ) - exp(εΔ)·Φ(-μ/2 - εΔ/μ), μ = Δ√(2ρ)."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    mu = within * math.sqrt(2 * rho)

    def excess(loss: float) -> float:
        # As the loss grows the two terms come to cancel; their logarithms keep the difference accurate.
        first = float(log_ndtr(mu / 2 - loss / mu))
        second = float(loss + log_ndtr(-mu / 2 - loss / mu))
        return first + math.log(max(-math.expm1(min(second - first, 0.0)), 1e-300)) - math.log(delta)

    if excess(0.0) <= 0:
        return 0.0
    high = _paper(rho, delta, within) * within
    if excess(high) > 0:  # doubles cannot tell the two terms apart; the lemma holds
        return high / within
    return float(brentq(excess, 0.0, high, xtol=1e-14 * high)) / within


FORMS: dict[str, Callable[[float, float, float], float]] = {
    "tight": _tight,
    "paper": _paper,
    "paper-s": _paper_s,
    "gaussian": _gaussian,
}


def epsilon_of(rho: float, *, delta: float, within: float, form: str) -> float:
    """The ε for which ρ-CGP implies (ε, δ, Δ)-GP, rounded up; 0 where δ alone covers the distance."""
    _check(delta, within, form)
    return max(FORMS[form](rho, delta, within), 0.0) * (1 + 1e-12)


def rho_of(epsilon: float, *, delta: float, within: float, form: str) -> float:
    """The largest ρ for which ρ-CGP implies (ε, δ, Δ)-GP, rounded down."""
    from scipy.optimize import brentq

    _check(delta, within, form)

    def excess(log_rho: float) -> float:
        return epsilon_of(math.exp(log_rho), delta=delta, within=within, form=form) - epsilon

    # The paper's lemma is the weakest form, so its ρ is a lower end; ε ≥ ρΔ·(1 - ...) closes the upper one.
    root = math.sqrt(math.log(1 / delta))
    low = 2 * math.log(epsilon / (math.sqrt(root**2 + epsilon * within) + root))
    high = low + 1.0
    while excess(high) < 0:
        high += 1.0
    return math.exp(float(brentq(excess, low - 1e-6, high, xtol=1e-12))) * (1 - 1e-9)


def _check(delta: float, within: float, form: str) -> None:
    if form not in FORMS:
        raise InvalidParameter(
            "form", form, " or ".join(repr(name) for name in FORMS), 'Use "tight" if unsure: it always holds.'
        )
    if not 1e-100 <= delta < 1:
        raise InvalidParameter("delta", delta, "at least 1e-100 and below 1", "1e-10 is what the paper uses.")
    if not 0 < within < math.inf:
        raise InvalidParameter(
            "within", within, "a positive, finite distance in metres", "CGP implies GP only up to a distance."
        )
