"""Counterexamples from the paper's impossibility proofs, computed.

Each function constructs the two inputs and the event of the proof and returns their exact probabilities, which show
that the claimed guarantee fails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from geoveil import checks
from geoveil.errors import InvalidParameter

__all__ = ["Violation", "gaussian_is_not_gp", "laplace_composes_linearly"]


@dataclass(frozen=True)
class Violation:
    """Two inputs and an event that contradict (ε, δ)-GP.

    Parameters
    ----------
    x, x_other : float
        The two inputs on the line, in metres.
    threshold : float
        The event is that every output is at least this.
    log_probability, log_probability_other : float
        Logarithm of the event's probability, for x and for x_other.
    epsilon, delta : float
        The guarantee that fails.
    """

    x: float
    x_other: float
    threshold: float
    log_probability: float
    log_probability_other: float
    epsilon: float
    delta: float

    @property
    def divergence(self) -> float:
        """The value log((P[M(x) ∈ S] - δ) / P[M(x') ∈ S]), a lower bound on the δ-approximate max-divergence."""
        return math.log(math.exp(self.log_probability) - self.delta) - self.log_probability_other

    @property
    def allowed(self) -> float:
        """The largest divergence that (ε, δ)-GP allows, ε·|x - x'|."""
        return self.epsilon * abs(self.x - self.x_other)

    @property
    def violated(self) -> bool:
        """Whether the guarantee fails on this pair."""
        return self.divergence > self.allowed


def laplace_composes_linearly(*, epsilon: float, k: int, slack: float, delta: float = 0.0) -> Violation:
    """Show that k Laplace releases of one number, each ε-GP, are not ((1-λ)kε, δ)-GP for any λ > 0 and δ ≤ 1/4.

    Notes
    -----
    Lemma 3.4 and Theorem 3.5 of the paper: x' = x - Δ with Δ = 2·log(k)/(λε), and the event that every output is at
    least x - λΔ/2.

    Examples
    --------
    >>> from geoveil.privacy.impossibility import laplace_composes_linearly
    >>> laplace_composes_linearly(epsilon=0.1, k=100, slack=0.1, delta=0.25).violated
    True
    """
    _check_delta(delta, inclusive=True)
    checks.positive("epsilon", epsilon, remedy="It is the budget of one release, per metre.")
    checks.count("k", k, low=2, remedy="One release is ε-GP.")
    checks.number("slack", slack, above=0, below=1, remedy="It is the λ of (1-λ)kε.")
    gap = 2 * math.log(k) / (epsilon * slack)
    return Violation(
        x=0.0,
        x_other=-gap,
        threshold=-slack * gap / 2,
        log_probability=k * math.log1p(-0.5 * math.exp(-epsilon * slack * gap / 2)),
        log_probability_other=k * (math.log(0.5) - epsilon * (1 - slack / 2) * gap),
        epsilon=(1 - slack) * k * epsilon,
        delta=delta,
    )


def gaussian_is_not_gp(*, epsilon: float, sigma: float, delta: float = 0.0) -> Violation:
    """Show that Gaussian noise of any scale σ is not (ε, δ)-GP for any ε and any δ < 1/4.

    Notes
    -----
    Lemma 3.8 of the paper: x' = x - Δ with Δ > max(4εσ², log(4)/ε), and the event that the output is at least x.

    Examples
    --------
    >>> from geoveil.privacy.impossibility import gaussian_is_not_gp
    >>> gaussian_is_not_gp(epsilon=0.1, sigma=100, delta=0.2).violated
    True
    """
    from scipy.special import log_ndtr

    _check_delta(delta, inclusive=False)
    checks.positive("epsilon", epsilon, remedy="It is the guarantee to refute, per metre.")
    checks.positive("sigma", sigma, remedy="It is the noise's scale in metres.")
    gap = 1.01 * max(4 * epsilon * sigma**2, math.log(4) / epsilon)
    return Violation(
        x=0.0,
        x_other=-gap,
        threshold=0.0,
        log_probability=math.log(0.5),
        log_probability_other=float(log_ndtr(-gap / sigma)),
        epsilon=epsilon,
        delta=delta,
    )


def _check_delta(delta: float, *, inclusive: bool) -> None:
    if not (0 <= delta < 0.25 or (inclusive and delta == 0.25)):
        raise InvalidParameter("delta", delta, "at least 0 and at most 1/4", "A larger delta is no guarantee.")
