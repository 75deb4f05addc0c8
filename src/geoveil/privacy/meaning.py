"""Express a budget as the success probability of an attacker who must choose between two locations.

The attacker sees the release and knows everything except which of two inputs at distance r is the true one; both are
equally likely. Each function is exact for the class of mechanisms that it names.
"""

from __future__ import annotations

import math
from typing import Any

from geoveil import checks
from geoveil.errors import Message

__all__ = [
    "attacker_cgp",
    "attacker_gaussian",
    "attacker_gp",
    "check_chance",
    "check_distance",
    "epsilon_hiding",
    "least_error",
    "rho_hiding",
    "rho_hiding_gaussian",
]


def check_distance(distance: Any) -> float:
    """Return a distance in metres, or raise InvalidParameter unless it is positive and finite."""
    return checks.length("distance", distance, below=1e12, remedy=Message("Try {distance:200}: it is in metres."))


def check_chance(chance: Any) -> float:
    """Return a success probability, or raise InvalidParameter unless it is above 0.5 and below 1."""
    remedy = "0.5 is a coin flip; with 0.75 an attacker is right 75% of the time."
    return checks.number("chance", chance, above=0.5, below=1, remedy=remedy)


def attacker_gp(epsilon: float, distance: float) -> float:
    """Return 1/(1 + exp(-εr)), the attacker's success probability under ε-GP; randomised response attains it."""
    return 1 / (1 + math.exp(-epsilon * distance))


def attacker_gaussian(rho: float, distance: float) -> float:
    """Return the attacker's success probability under Gaussian noise, if all points move by r.

    It is Φ(μ/2) with μ = r√(2ρ), the success probability of the likelihood-ratio test between two Gaussians.
    """
    return 0.5 * math.erfc(-distance * math.sqrt(rho) / 2)


def attacker_cgp(rho: float, distance: float) -> float:
    """Return the attacker's largest success probability a under ρ-CGP: (2a-1)·log(a/(1-a)) = ρr².

    No ρ-CGP mechanism allows more, and randomised response attains it.

    Notes
    -----
    The divergence D_1 of the two outputs is at most ρr² in both directions. By the data processing inequality so is
    that of the attacker's guess. Averaged with the swapped pair, both error rates of the guess are 1-a, which gives
    D_1 = (2a-1)·log(a/(1-a)).
    """
    from scipy.optimize import brentq

    target = rho * distance**2
    # With L = log(a/(1-a)) the left side is L·tanh(L/2), which lies between L - 1 and min(L, L²/2).
    logit = brentq(lambda v: v * math.tanh(v / 2) - target, 0.0, target + 1 + math.sqrt(2 * target) + 1, xtol=1e-15)
    return 1 / (1 + math.exp(-float(logit)))


def least_error(rho: float) -> float:
    """Return 1/√ρ, the least root mean square error in the plane of an attack that moves with the data.

    It is in metres, and ρ is the budget for moving all points of a person together. docs/understand/attacks.md has
    the proof.

    Examples
    --------
    >>> least_error(1e-4)
    100.0
    """
    return 1 / math.sqrt(rho)


def rho_hiding(distance: float, chance: float) -> float:
    """Return the ρ at which no ρ-CGP mechanism gives the attacker more than this success probability."""
    return (2 * chance - 1) * epsilon_hiding(distance, chance) / distance


def rho_hiding_gaussian(distance: float, chance: float) -> float:
    """Return the ρ at which Gaussian noise gives the attacker this success probability."""
    from scipy.special import ndtri

    return 2 * (float(ndtri(chance)) / distance) ** 2


def epsilon_hiding(distance: float, chance: float) -> float:
    """Return the ε at which no ε-GP mechanism gives the attacker more than this success probability."""
    return math.log(chance / (1 - chance)) / distance
