"""What a guarantee allows: how often an attacker comes near a place, and links a track to its person.

docs/understand/attacks.md has the proofs.
"""

from __future__ import annotations

import math

import numpy as np

from geoveil.noise.reals import Floats

__all__ = ["false_alarm", "most_linked", "most_within"]

#: Radii, in units of 1/√ρ, of the discs in which the place is taken to lie when the general bound is computed.
_RADII = np.geomspace(0.05, 30.0, 120)
#: The probability at most with which luck alone is called an attack that beats its bound.
_LUCK = 1e-6


def most_within(rho: float, distance: float, *, gaussian: bool = False) -> float:
    """Return the largest chance that a guess is within a distance of the place.

    Parameters
    ----------
    rho : float
        The budget for moving all points of a person together, per square metre.
    distance : float
        The distance in metres.
    gaussian : bool
        Whether the noise is Gaussian. The bound is then attained; otherwise it holds for all mechanisms.

    Examples
    --------
    >>> round(most_within(1e-4, 100, gaussian=True), 3), most_within(1e-4, 100) > 0.632
    (0.632, True)
    """
    if gaussian:
        return -math.expm1(-rho * distance**2)
    found = 1.0
    for radius in _RADII / math.sqrt(rho):
        blind = min(1.0, (distance / radius) ** 2)
        if blind < 1:
            found = min(found, _reached(blind, rho * radius**2))
    return found


def _reached(blind: float, information: float) -> float:
    """Return the largest p whose Kullback-Leibler divergence from a chance is at most the information."""
    from scipy.optimize import brentq

    def excess(p: float) -> float:
        far = 0.0 if p == 1 else (1 - p) * math.log((1 - p) / (1 - blind))
        return p * math.log(p / blind) + far - information

    return 1.0 if excess(1.0) <= 0 else float(brentq(excess, blind, 1.0))


def most_linked(rho: float, apart: float) -> float:
    """Return the largest chance to link the tracks of two persons rightly, whose points are so far apart at most.

    Both persons have the budget ρ, and the attacker knows both tracks.

    Examples
    --------
    >>> most_linked(1e-4, 0.0), round(most_linked(1e-4, 100.0), 2)
    (0.5, 0.92)
    """
    from geoveil.privacy import CGP

    return 0.5 if apart == 0 else float(CGP(rho=2 * rho).attacker(distance=apart))


def false_alarm(errors: Floats) -> float:
    """Return the share of the mean square error below which not even luck explains errors that attain their bound.

    The square of the error of an attack that attains the bound is exponential; those of persons are independent.
    """
    from scipy.special import gammaincinv

    return float(gammaincinv(len(errors), _LUCK) / len(errors))
