"""Bounds that hold for finite samples: on means of bounded values, on rates, and on budgets.

Nothing here is asymptotic. docs/understand/audit.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil.errors import InvalidParameter
from geoveil.noise.reals import Floats

__all__ = [
    "epsilon_of_guesses",
    "gaussian_rho_of_hits",
    "largest_refuted",
    "lower_mean",
    "mean_interval",
    "most_wealth",
    "rate_limits",
]

#: A bet risks at most this share of the wealth.
BOLDEST = 0.9


def most_wealth(payoffs: Floats, bets: Floats | float) -> float:
    """Return the logarithm of the largest wealth of a gambler who begins with 1 and bets on each payoff in turn.

    Parameters
    ----------
    payoffs : array
        Gains and losses in their order, each with a mean of at most 0 given the earlier ones, if the hypothesis holds.
    bets : array or float
        The stake on each, chosen before it is seen: so small that no payoff that is possible loses more than all.

    Notes
    -----
    Under the hypothesis the wealth is a nonnegative supermartingale, and by Ville's inequality it ever reaches 1/level
    with probability at most `level`.

    Examples
    --------
    >>> import numpy as np
    >>> from geoveil.audit.bounds import most_wealth
    >>> round(most_wealth(np.array([1.0, 1.0, -1.0]), 0.5), 3)
    0.811
    """
    return max(0.0, float(np.cumsum(np.log1p(bets * payoffs)).max())) if len(payoffs) else 0.0


def largest_refuted(refuted: Callable[[float], bool], low: float, high: float, steps: int = 40) -> float:
    """Return the largest value that is refuted, between a low and a high one, or `low` if that is not refuted.

    What refutes a value has to refute all lower ones. The interval is halved so many times.
    """
    if not refuted(low):
        return low
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def lower_mean(values: Floats, low: float, high: float, level: float) -> float:
    """Return a lower confidence bound for the mean of bounded values.

    Parameters
    ----------
    values : array
        Independent values between `low` and `high` with one mean, or, more generally, each with at most that mean
        given the earlier ones.
    low, high : float
        Bounds that were fixed before the values were seen.
    level : float
        The largest probability that the mean is below what is returned, such as 0.01.

    Notes
    -----
    The bound by betting of Waudby-Smith and Ramdas (2023), one-sided: a mean m is refuted once a gambler who bets on
    values above m is 1/level times as rich. The stakes depend on earlier values only.

    Examples
    --------
    >>> import numpy as np
    >>> from geoveil.audit.bounds import lower_mean
    >>> round(lower_mean(np.tile([0.0, 1.0], 5000), 0, 1, 0.01), 3)
    0.485
    """
    x = _unit_interval(values, low, high)
    bets = _predictable_bets(x, level)
    least = largest_refuted(
        lambda m: most_wealth(x - m, np.minimum(bets, BOLDEST / m if m > 0 else math.inf)) >= -math.log(level),
        0.0,
        1.0,
    )
    return low + (high - low) * least


def mean_interval(values: Floats, low: float, high: float, level: float) -> tuple[float, float]:
    """Return a confidence interval for the mean of bounded values: `lower_mean` from both sides, at half the level.

    Examples
    --------
    >>> import numpy as np
    >>> from geoveil.audit.bounds import mean_interval
    >>> [round(end, 3) for end in mean_interval(np.tile([0.0, 1.0], 5000), 0, 1, 0.01)]
    [0.484, 0.516]
    """
    values = np.asarray(values, dtype=float)
    return lower_mean(values, low, high, level / 2), -lower_mean(-values, -high, -low, level / 2)


def _unit_interval(values: Floats, low: float, high: float) -> Floats:
    """Return values as shares of the way from low to high."""
    values = np.asarray(values, dtype=float)
    if not low < high or (len(values) and not low <= values.min() <= values.max() <= high):
        raise InvalidParameter("values", (low, high), "values between low and high", "Fix wider bounds beforehand.")
    return np.clip((values - low) / (high - low), 0.0, 1.0)


def _predictable_bets(x: Floats, level: float) -> Floats:
    """Return the stakes for values between 0 and 1: each from the mean and the variance of the values before it."""
    n = len(x)
    counts = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(x)) / (counts + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (counts + 1)
    known = np.concatenate([[0.25], variances[:-1]])
    return np.sqrt(2 * math.log(1 / level) / (known * max(n, 1)))


def rate_limits(hits: int, trials: int, level: float) -> tuple[float, float]:
    """Return a lower and an upper confidence limit for the mean rate of independent trials, each at this level.

    Notes
    -----
    Clopper and Pearson (1934). The trials may have different rates: by Hoeffding (1956) the number of hits is then
    even less likely to be so far from its mean. One hit among trials of different rates says only that their mean
    rate is at least level/trials, by Markov's inequality, which is a hair less than the binomial limit.

    Examples
    --------
    >>> from geoveil.audit.bounds import rate_limits
    >>> [round(limit, 3) for limit in rate_limits(50, 100, 0.01)]
    [0.381, 0.619]
    """
    checks.count("hits", hits, low=0, high=trials, remedy="Give the number of hits among the trials.")
    return _lower_rate(hits, trials, level), 1.0 - _lower_rate(trials - hits, trials, level)


def _lower_rate(hits: int, trials: int, level: float) -> float:
    """Return the lower limit of Clopper and Pearson, which also holds for trials of different rates."""
    from scipy.special import betaincinv

    if hits == 0:
        return 0.0
    return level / trials if hits == 1 else float(betaincinv(hits, trials - hits + 1, level))


def gaussian_rho_of_hits(
    hits: NDArray[np.bool_], distance: Floats, level: float, *, weights: Floats | None = None
) -> float:
    """Return a lower bound on ρ for Gaussian-like noise from guesses between two places each.

    Parameters
    ----------
    hits : array of bool
        Whether the guess for each person is right. Persons are independent.
    distance : array
        The distance between the two places of each.
    level : float
        The largest probability that the bound is too large.
    weights : array, optional
        How many guesses each stands for, to foresee the bound of other guesses.

    Notes
    -----
    A guess is right with probability at most Φ(d·√(ρ/2)). The mean of these rates grows with ρ, and is at least the
    lower limit of `rate_limits`.
    """
    from scipy.special import ndtr

    far = np.asarray(distance, dtype=float)
    most = 200.0 / float(np.min(far)) ** 2
    return _budget_of_guesses(hits, lambda rho: ndtr(far * math.sqrt(rho / 2)), most, level, weights)


def epsilon_of_guesses(
    hits: NDArray[np.bool_], distance: Floats, level: float, *, weights: Floats | None = None
) -> float:
    """Return a lower bound on ε from guesses of one run, whatever the dependence between persons.

    Parameters
    ----------
    hits : array of bool
        Whether the guess for each person is right; of those for whom a guess was made. All coins are fair and
        independent; guesses may use the whole output.
    distance : array
        The distance between the two places of each.
    level : float
        The largest probability that the bound is too large.
    weights : array, optional
        How many guesses each stands for, to foresee the bound of other guesses.

    Notes
    -----
    Steinke, Nasr and Jagielski (2023), without δ: given the output and the coins of all others, a guess is right with
    probability at most 1/(1 + e^(-εd)). So the number of right guesses is at most as large as a sum of independent
    coins with these rates, and by Hoeffding (1956) the binomial limit holds for their mean.
    """
    from scipy.special import expit

    far = np.asarray(distance, dtype=float)
    most = 100.0 / float(np.min(far))
    return _budget_of_guesses(hits, lambda epsilon: expit(epsilon * far), most, level, weights)


def _budget_of_guesses(
    hits: NDArray[np.bool_], chances: Callable[[float], Floats], most: float, level: float, weights: Floats | None
) -> float:
    """Return a lower bound on a budget, given the largest chances of right guesses under it, which grow with it."""
    made = np.ones(len(hits)) if weights is None else weights
    least, _ = rate_limits(round(float(made @ hits)), max(round(float(made.sum())), 1), level)
    return largest_refuted(lambda budget: float(made @ chances(budget)) < least * made.sum(), 0.0, most)
