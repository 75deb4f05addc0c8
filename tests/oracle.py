"""The density oracle: divergences computed from exact densities and probabilities, and checks against a guarantee.

Nothing here draws a sample, and nothing uses the theorem that is being checked.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms import Additive, Copies, Exponential, NearestNeighbour, PermuteAndFlip
from geoveil.mechanisms.quadrature import panels
from geoveil.privacy import CGP, GP, Guarantee

Floats = NDArray[np.float64]

#: Orders at which a density is integrated: beyond them the integrand leaves the quadrature grid.
ALPHAS = (1.0001, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0)
#: Orders at which finitely many probabilities are summed.
ALL_ALPHAS = (*ALPHAS, 30.0, 100.0, 1000.0)
#: What quadrature may miss.
SLACK = 1e-6


def renyi(log_p: Floats, log_q: Floats, alpha: float, weights: Floats | float = 1.0) -> float:
    """D_α(P ‖ Q), accurate also where P and Q are so close that sums of probabilities cancel.

    As ΣP = ΣQ, Σp^α·q^(1-α) - 1 = Σq·(e^(αL) - 1 - α(e^L - 1)) with L = log(p/q), every term of which is positive.
    """
    loss = log_p - log_q
    exponents = alpha * log_p + (1 - alpha) * log_q
    largest = float(exponents.max())
    if largest > 1:  # far apart: nothing cancels, but the sum may overflow
        return (largest + math.log(float(np.sum(weights * np.exp(exponents - largest))))) / (alpha - 1)
    terms = np.exp(exponents) - alpha * np.exp(log_p) - (1 - alpha) * np.exp(log_q)
    small = np.abs(alpha * loss) < 0.05
    series = [(alpha**k - alpha) / math.factorial(k) for k in range(9, 1, -1)]
    terms[small] = np.polyval(series, loss[small]) * loss[small] ** 2 * np.exp(log_q[small])
    return math.log1p(float(np.sum(weights * terms))) / (alpha - 1)


def tightness(
    log_p: Floats, log_q: Floats, guarantee: Guarantee, distance: float, weights: Floats | float = 1.0
) -> float:
    """The largest share of what the guarantee allows that a pair of distributions uses; above 1 it is violated."""
    if isinstance(guarantee, GP):
        return float(np.max(np.abs(log_p - log_q))) / (float(guarantee.epsilon) * distance)
    assert isinstance(guarantee, CGP)
    allowed = float(guarantee.rho) * distance**2
    both = ((log_p, log_q), (log_q, log_p))
    alphas = ALL_ALPHAS if isinstance(weights, float) else ALPHAS
    return max(renyi(p, q, alpha, weights) / (alpha * allowed) for alpha in alphas for p, q in both)


def shifted(mechanism: Additive, shift: float) -> tuple[Floats, Floats, Floats]:
    """Log-densities of an additive mechanism at two values `shift` apart, and weights, on a quadrature grid.

    In cylindrical coordinates around the line through the two values: s along it, t away from it.
    """
    scale, d = mechanism.scale, mechanism.dimension
    near = scale * np.geomspace(1e-4, 1, 9)
    ends = np.concatenate([side * near + at for at in (0.0, shift) for side in (-1, 1)])
    s, s_weights = panels(np.append(ends, (0.0, shift)), -30 * scale, 30 * scale + shift, 2 * scale)
    if d == 1:
        t, t_weights = np.zeros(1), np.ones(1)
    else:
        t, t_weights = panels(near, 0.0, 30 * scale, 3 * scale)
        sphere = 2 * math.pi ** ((d - 1) / 2) / math.gamma((d - 1) / 2)
        t_weights = t_weights * sphere * t ** (d - 2)
    grid = np.zeros((len(s), len(t), d))
    grid[:, :, 0] = s[:, None]
    if d > 1:
        grid[:, :, 1] = t[None, :]
    values = np.zeros((2, d))
    values[1, 0] = shift
    log_p, log_q = (mechanism.log_density(grid, value).ravel() for value in values)
    return log_p, log_q, np.outer(s_weights, t_weights).ravel()


def additive_tightness(mechanism: Additive, a: Floats, b: Floats, distance: float) -> float:
    """How much of its guarantee an additive mechanism uses between two values of inputs at this distance."""
    if isinstance(mechanism, Copies):
        # The losses of independent copies add up, and so do their largest values.
        parts = [float(np.linalg.norm(row)) for row in np.atleast_2d(a - b)]
        return sum(
            additive_tightness(mechanism.single, np.zeros(1), np.array([part]), distance)
            * float(mechanism.single.guarantee.budget)
            for part in parts
            if part > 0
        ) / float(mechanism.guarantee.budget)
    log_p, log_q, weights = shifted(mechanism, float(np.linalg.norm(a - b)))
    return tightness(log_p, log_q, mechanism.guarantee, distance, weights)


def neighbour_log_probabilities(
    single: NearestNeighbour | Exponential | PermuteAndFlip, distances: Floats, k: int
) -> Floats:
    """Log-probabilities of all ordered choices of k neighbours, in lexicographic order."""
    outcomes = []
    for chosen in permutations(range(len(distances)), k):
        left, total = list(range(len(distances))), 0.0
        for j in chosen:
            total += math.log(single.probabilities(distances[left])[left.index(j)])
            left.remove(j)
        outcomes.append(total)
    return np.array(outcomes)
