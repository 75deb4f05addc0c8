"""How likely what was found would be if the tool kept its claim: bounds for single events, and for their numbers."""

from __future__ import annotations

import math

import numpy as np

from geoveil.geo.geometries import Floats
from geoveil.privacy import CGP, GP

__all__ = ["at_least", "guess_chances", "likeliest", "most_near", "sign_test"]

#: Orders of the Rényi divergence, and radii in units of 1/√ρ or 1/ε, over which bounds are minimised.
_ORDERS = np.array([1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 80.0])
_RADII = np.geomspace(0.005, 3.0, 60)


def likeliest(claim: CGP | GP, blind: float, distance: float) -> float:
    """Bound the chance of an event, given its chance for another place at most so far away.

    Notes
    -----
    P(E) ≤ Q(E)^(1-1/α)·exp((α-1)·ρd²) for every order α, from D_α(P‖Q) ≤ αρd²; and P(E) ≤ e^(εd)·Q(E).

    Examples
    --------
    >>> likeliest(gv.GP(epsilon=0.01), 0.001, 100.0) == 0.001 * math.e
    True
    >>> likeliest(gv.CGP(rho=1e-5), 1e-6, 100.0) < 1e-5
    True
    """
    if blind <= 0:
        return 0.0
    budget = float(claim.budget)
    if claim.power == 1:
        return min(1.0, blind * math.exp(min(budget * distance, 700)))
    found = (1 - 1 / _ORDERS) * math.log(blind) + (_ORDERS - 1) * budget * distance**2
    return min(1.0, float(np.exp(found.min())))


def most_near(claim: CGP | GP, distance: float) -> float:
    """Bound the chance that any function of a release is within a distance of a place drawn from a wide area.

    Notes
    -----
    Around the true place x there is a disc of radius r in which x was as likely as any other place. The chance to be
    near x, for somebody at the middle of the disc, is (distance/r)² on average; `likeliest` says what x adds.

    Examples
    --------
    >>> most_near(gv.CGP(rho=1e-5), 0.01) < 1e-5 < most_near(gv.CGP(rho=1e-5), 1.0) < 0.01
    True
    """
    unit = float(claim.budget) ** (-1 / claim.power)
    return min(likeliest(claim, min(1.0, (distance / radius) ** 2), radius) for radius in unit * _RADII)


def guess_chances(claim: CGP | GP, distances: Floats) -> Floats:
    """Return the largest chance to guess right between two places at each distance."""
    known, which = np.unique(np.round(distances, 3), return_inverse=True)
    found: Floats = np.array([claim.attacker(distance=max(float(each), 1e-3)) for each in known])[which]
    return found


def at_least(hits: int, chances: Floats) -> float:
    """Bound the chance of so many hits or more in independent trials with chances at most these.

    Notes
    -----
    The binomial tail at the mean chance bounds it for more hits than its mean and one (Hoeffding, 1956).

    Examples
    --------
    >>> at_least(3, np.array([0.5, 0.5, 0.5])), at_least(1, np.array([0.5, 0.5]))
    (0.125, 1.0)
    """
    from scipy.stats import binom

    if not len(chances) or hits <= chances.sum() + 1:
        return 1.0
    return float(binom.sf(hits - 1, len(chances), float(chances.mean())))


def sign_test(wins: int, losses: int) -> float:
    """Return the chance of so many wins or more if wins and losses are equally likely.

    Examples
    --------
    >>> sign_test(10, 0) == 2.0**-10
    True
    """
    from scipy.stats import binom

    return float(binom.sf(wins - 1, wins + losses, 0.5)) if wins + losses else 1.0
