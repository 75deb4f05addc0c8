"""What a budget means: how often an attacker who must choose between two places is right.

The attacker knows everything but which of two inputs at distance r is the true one, with even odds, and sees the
release. Each function is exact for the class of mechanisms that it names.
"""

from __future__ import annotations

import math
from typing import Any

from geoveil import checks

__all__ = [
    "attacker_cgp",
    "attacker_gaussian",
    "attacker_gp",
    "check_chance",
    "check_distance",
    "epsilon_hiding",
    "rho_hiding",
    "rho_hiding_gaussian",
]


def check_distance(distance: Any) -> float:
    """A distance in metres, positive and finite."""
    return checks.number("distance", distance, above=0, below=1e12, remedy="Try distance=200: it is in metres.")


def check_chance(chance: Any) -> float:
    """A chance above a coin flip and below certainty."""
    remedy = "0.5 is a coin flip; 0.75 lets an attacker be right 3 times of 4."
    return checks.number("chance", chance, above=0.5, below=1, remedy=remedy)


def attacker_gp(epsilon: float, distance: float) -> float:
    """1/(1 + exp(-εr)): randomised response attains it."""
    return 1 / (1 + math.exp(-epsilon * distance))


def attacker_gaussian(rho: float, distance: float) -> float:
    """Φ(μ/2), μ = r√(2ρ): the likelihood-ratio test between two Gaussians, when all points move by r."""
    return 0.5 * math.erfc(-distance * math.sqrt(rho) / 2)


def attacker_cgp(rho: float, distance: float) -> float:
    """The a with (2a-1)·log(a/(1-a)) = ρr²; no ρ-CGP mechanism does worse, randomised response attains it.

    Notes
    -----
    D_1 of the two outputs is at most ρr² both ways; by data processing so is that of the attacker's guess, whose
    two error rates, averaged with the swapped pair, are 1-a each: D_1 = (2a-1)·log(a/(1-a)).
    """
    from scipy.optimize import brentq

    target = rho * distance**2
    # With L = log(a/(1-a)) the left side is L·tanh(L/2), which lies between L - 1 and min(L, L²/2).
    logit = brentq(lambda v: v * math.tanh(v / 2) - target, 0.0, target + 1 + math.sqrt(2 * target) + 1, xtol=1e-15)
    return 1 / (1 + math.exp(-float(logit)))


def rho_hiding(distance: float, chance: float) -> float:
    """The ρ at which any mechanism leaves the attacker this chance."""
    return (2 * chance - 1) * epsilon_hiding(distance, chance) / distance


def rho_hiding_gaussian(distance: float, chance: float) -> float:
    """The ρ at which Gaussian noise leaves the attacker this chance."""
    from scipy.special import ndtri

    return 2 * (float(ndtri(chance)) / distance) ** 2


def epsilon_hiding(distance: float, chance: float) -> float:
    """The ε at which the attacker is left this chance."""
    return math.log(chance / (1 - chance)) / distance
