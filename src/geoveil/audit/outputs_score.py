"""Learn from outputs of a mechanism at two inputs how to tell them apart, whatever the outputs are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from geoveil.audit.canaries import Bools
from geoveil.audit.scores import fitted, simplest
from geoveil.noise.reals import Floats

__all__ = ["OutputsScore", "learn_outputs_score", "table_of", "unseen_outputs_ratios"]

#: Outputs of at most so many different values are compared one by one.
_DISCRETE = 60

#: The most numbers of an output that are looked at.
_WIDEST = 40


def table_of(outputs: Sequence[Floats], like: int | None = None) -> Floats:
    """Return outputs as rows of numbers: what is missing is nan, and the first column is how many there are."""
    width = like if like is not None else 1 + min(max((len(row) for row in outputs), default=0), _WIDEST)
    table = np.full((len(outputs), width), np.nan)
    for i, row in enumerate(outputs):
        table[i, 0] = len(row)
        table[i, 1 : 1 + min(len(row), width - 1)] = row[: width - 1]
    return table


@dataclass(frozen=True)
class OutputsScore:
    """The logarithm of how much likelier an output is from one input than from another.

    Parameters
    ----------
    width : int
        The numbers of an output that are looked at, and one for how many there are.
    features : Features
        Functions of an output.
    weights : array
        The weight of each.
    """

    width: int
    features: _Features = field(repr=False)
    weights: Floats = field(repr=False)

    def ratios(self, coins: Bools, table: Floats) -> Floats:
        """Return for each output how much more it speaks for the input that the coin chose than for the other."""
        signs = np.where(coins, 1.0, -1.0)
        found: Floats = signs * (self.features(table) @ self.weights)
        return found


@dataclass(frozen=True)
class _Features:
    """Functions of outputs: a constant, each number, its square, where it lies, how many there are, or its value."""

    shape: str
    middle: Floats
    scale: Floats
    knots: Floats
    values: Floats

    def __call__(self, table: Floats) -> Floats:
        constant = np.ones((len(table), 1))
        if self.shape == "values":
            same = (_numbers(table)[:, None, :] == self.values[None]).all(axis=2)
            return np.column_stack([constant, same])
        z = np.clip(np.nan_to_num((table - self.middle) / self.scale, nan=0.0, posinf=1e6, neginf=-1e6), -1e3, 1e3)
        missing = np.isnan(table).astype(float)
        parts = [constant, z, missing]
        if self.shape in ("squares", "slopes"):
            parts.append(z**2)
        if self.shape == "lengths":
            parts.append(np.abs(z))
        if self.shape == "slopes":
            spread = z[:, :, None]
            parts += [np.minimum(spread, self.knots.T[None]).reshape(len(z), -1)]
            parts += [(spread <= self.knots.T[None]).astype(float).reshape(len(z), -1)]
        return np.column_stack(parts)


def _numbers(table: Floats) -> Floats:
    """Return numbers that compare as equal also where they are missing."""
    return np.nan_to_num(table, nan=-1.25e300)


def _shapes(table: Floats) -> list[_Features]:
    """Return the features that are tried."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns where all is missing
        low, middle, high = np.nan_to_num(np.nanquantile(table, [0.25, 0.5, 0.75], axis=0))
    scale = np.where(high > low, high - low, np.maximum(np.abs(middle), 1.0))
    z = np.nan_to_num((table - middle) / scale)
    knots = np.quantile(z, np.linspace(0, 1, 9)[1:], axis=0)
    values = np.unique(_numbers(table), axis=0)
    empty = np.zeros((0, table.shape[1]))
    names = ["lines", "squares", *(["lengths", "slopes"] if table.shape[1] <= 12 else [])]
    found = [_Features(name, middle, scale, knots, empty) for name in names]
    if len(values) <= _DISCRETE:
        found.append(_Features("values", middle, scale, knots, values))
    return found


def _contrasts(coins: Bools, features: Floats) -> Floats:
    return np.where(coins, 1.0, -1.0)[:, None] * features


def _unseen(coins: Bools, features: Floats, folds: int = 4) -> Floats:
    contrasts, fold = _contrasts(coins, features), np.arange(len(coins)) % folds
    ratios = np.zeros(len(coins))
    for held in range(folds):
        ratios[fold == held] = contrasts[fold == held] @ fitted(contrasts[fold != held])
    return ratios


def learn_outputs_score(coins: Bools, table: Floats) -> OutputsScore:
    """Return the score that tells the inputs of other outputs apart best, learnt from these alone."""
    shapes = _shapes(table)
    unseen = [_unseen(coins, features(table)) for features in shapes]
    best = simplest([np.logaddexp(0.0, -ratios) for ratios in unseen])
    factor = float(fitted(unseen[best][:, None])[0])
    weights = factor * fitted(_contrasts(coins, shapes[best](table)))
    return OutputsScore(table.shape[1], shapes[best], weights)


def unseen_outputs_ratios(coins: Bools, table: Floats, score: OutputsScore) -> Floats:
    """Return ratios of a score's shape for outputs that it is learnt from, each from a fit to other outputs."""
    unseen = _unseen(coins, score.features(table))
    found: Floats = float(fitted(unseen[:, None])[0]) * unseen
    return found
