"""Learn from some canaries how to tell the two places of others apart.

A score is the logarithm of how much likelier what was released is from one place than from the other. It is learnt as
the logarithm of a density of displacements, h(y - x): a logistic regression on h(y - true place) - h(y - other place)
over functions that represent Gaussian and Laplace noise, discs and squares, ellipses, and exact places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from geoveil.audit.canaries import Canaries
from geoveil.noise.reals import Floats

__all__ = ["Score", "fitted", "learn_score", "simplest", "unseen_ratios"]

#: A function of displacements of shape (m, 2), in units of `Shape.unit`; its values have the shape (m, k).
Functions = Callable[[Floats], Floats]

#: The shapes of densities that come first in the list are simple: they have one or two weights.
_SIMPLE = 3

#: Displacements below these, in metres, count as the true place itself.
_EXACT = (0.02, 1.0)


def _squared(v: Floats) -> Floats:
    return np.asarray((v**2).sum(axis=1, keepdims=True))


def _length(v: Floats) -> Floats:
    return np.hypot(v[:, :1], v[:, 1:])


def _ellipse(v: Floats) -> Floats:
    x, y = v.T
    return np.column_stack([x, y, x * x, x * y, y * y])


@dataclass(frozen=True)
class Rings:
    """Steps and slopes at radii: any density that depends on the length of the displacement, or on its larger part."""

    knots: Floats
    square: bool = False

    def __call__(self, v: Floats) -> Floats:
        radius = np.abs(v).max(axis=1) if self.square else np.hypot(*v.T)
        inside = radius[:, None] <= self.knots
        return np.column_stack([np.minimum(radius[:, None], self.knots), inside])


@dataclass(frozen=True)
class Atoms:
    """Whether a displacement is practically zero, or one that came up several times."""

    unit: float
    repeated: Floats

    def __call__(self, v: Floats) -> Floats:
        length = np.hypot(*v.T) * self.unit
        exact = [length < limit for limit in _EXACT]
        if not len(self.repeated):
            return np.column_stack(exact).astype(float)
        from scipy.spatial import cKDTree

        near, _ = cKDTree(self.repeated).query(v)
        return np.column_stack([*exact, near * self.unit < 0.5]).astype(float)

    @classmethod
    def of(cls, v: Floats, unit: float) -> Atoms:
        """Return the atoms among displacements: cells of half a metre that hold several of them."""
        cells, counts = np.unique(np.round(v * unit / 0.5), axis=0, return_counts=True)
        often = counts >= max(3, 0.005 * len(v))
        return cls(unit, cells[often] * 0.5 / unit)


@dataclass(frozen=True)
class Score:
    """The logarithm of how much likelier a release is from one place than from another.

    Parameters
    ----------
    name : str
        What the density of displacements is made of.
    functions : sequence of callables
        Functions of displacements in `unit`.
    weights : array
        The weight of each function, first for the mean of a person's points, then for the sum over all of them.
    unit : float
        The unit of displacements in metres.
    factor : float
        The factor that is contained in the weights, by which ratios that were not fitted are right on average.
    """

    name: str
    functions: Sequence[Functions] = field(repr=False)
    weights: Floats = field(repr=False)
    unit: float
    factor: float = 1.0

    def ratios(self, canaries: Canaries) -> Floats:
        """Return for each canary how much more what was released speaks for its true place than for the other one."""
        return _contrasts(canaries, self.functions, self.unit) @ self.weights


def _contrasts(canaries: Canaries, functions: Sequence[Functions], unit: float) -> Floats:
    """Return the functions at the true place minus the functions at the other place, for each canary."""
    n, person, points = len(canaries), canaries.person, canaries.released
    counts = np.bincount(person, minlength=n)
    told = np.flatnonzero(counts)
    several = bool(len(told)) and int(counts.max()) > 1
    parts = []
    for sign, place in ((1.0, canaries.true), (-1.0, canaries.other)):
        columns = []
        moved = (points - place[person]) / unit
        middle = np.column_stack([np.bincount(person, part, n) for part in moved.T]) / np.maximum(counts, 1)[:, None]
        for function in functions:
            values = np.zeros((n, function(middle[:1]).shape[1]))
            values[told] = function(middle[told])
            columns.append(values)
            if several:
                each = function(moved)
                columns.append(np.column_stack([np.bincount(person, part, n) for part in each.T]))
        parts.append(sign * np.column_stack(columns))
    return parts[0] + parts[1]


def learn_score(canaries: Canaries) -> Score:
    """Return the score that tells other canaries apart best, learnt from these alone.

    Notes
    -----
    Several shapes of the density are tried, simple ones first. The one with the smallest logarithmic loss on canaries
    it was not fitted to is fitted to all of them.
    """
    shapes = _shapes(canaries)
    losses = [_losses(_unseen(canaries, functions, unit)) for _, functions, unit in shapes]
    name, functions, unit = shapes[simplest(losses, _SIMPLE)]
    # Fits to all of few canaries are too sure of themselves: a factor makes ratios right where they were not fitted.
    factor = float(fitted(_unseen(canaries, functions, unit)[:, None])[0])
    return Score(name, functions, factor * fitted(_contrasts(canaries, functions, unit)), unit, factor)


def unseen_ratios(canaries: Canaries, score: Score) -> Floats:
    """Return the ratios of a score's shape for canaries that it is learnt from, each from a fit to other canaries."""
    return score.factor * _unseen(canaries, score.functions, score.unit)


def _losses(ratios: Floats) -> Floats:
    """Return the logarithmic loss of each guess with these ratios for the true place."""
    found: Floats = np.logaddexp(0.0, -ratios)
    return found


def simplest(losses: Sequence[Floats], simple: int = 1) -> int:
    """Return which losses are the least: those of richer shapes, after the simple ones, by two standard errors."""
    best = int(np.argmin([each.mean() for each in losses[:simple]]))
    for i, tried in list(enumerate(losses))[simple:]:
        gain = losses[best] - tried
        if gain.mean() > 2 * gain.std() / max(len(gain), 1) ** 0.5:
            best = i
    return best


def _shapes(canaries: Canaries) -> list[tuple[str, Sequence[Functions], float]]:
    """Return the shapes of densities that are tried: a name, functions, and their unit."""
    if not len(canaries.person):
        return [("nothing", (_length,), 1.0)]
    moved = canaries.released - canaries.true[canaries.person]
    unit = max(float(np.median(np.hypot(*moved.T))), 0.01 * float(canaries.distance.mean()))
    v = moved / unit
    lengths, larger = np.hypot(*v.T), np.abs(v).max(axis=1)
    far = canaries.distance.max() / unit

    def knots(values: Floats, count: int) -> Floats:
        inner = np.quantile(values, np.linspace(0, 1, count + 1)[1:])
        outer = values.max() + far * np.array([0.0, 0.3, 0.7])
        return np.unique(np.concatenate([inner, outer]))

    few, many = 6, int(np.clip(len(canaries) / 100, 10, 40))
    atoms, rings = Atoms.of(v, unit), Rings(knots(lengths, few))
    box = Rings(knots(larger, few), square=True)
    return [
        ("squared distance", (_squared,), unit),
        ("distance", (_length,), unit),
        ("distance and its square", (_squared, _length), unit),
        ("ellipse", (_ellipse,), unit),
        ("rings", (rings,), unit),
        ("fine rings", (Rings(knots(lengths, many)),), unit),
        ("box", (box,), unit),
        ("atoms", (_squared, _length, atoms), unit),
        ("everything", (_squared, _length, _ellipse, rings, box, atoms), unit),
    ]


def _unseen(canaries: Canaries, functions: Sequence[Functions], unit: float, folds: int = 4) -> Floats:
    """Return the ratio of each canary from a fit to the others: all but those of its fold."""
    contrasts = _contrasts(canaries, functions, unit)
    fold = np.arange(len(contrasts)) % folds
    ratios = np.zeros(len(contrasts))
    for held in range(folds):
        ratios[fold == held] = contrasts[fold == held] @ fitted(contrasts[fold != held])
    return ratios


def fitted(contrasts: Floats, steps: int = 30) -> Floats:
    """Return the weights of a logistic regression in which every case is a success, with a small ridge, by Newton."""
    from scipy.special import expit

    size = np.sqrt((contrasts**2).mean(axis=0)) if len(contrasts) else np.ones(contrasts.shape[1])
    size = np.where(size > 0, size, 1.0)
    x = contrasts / size
    k = x.shape[1]
    ridge = 0.5
    weights = np.zeros(k)

    def objective(w: Floats) -> float:
        return float(np.logaddexp(0.0, -(x @ w)).sum() + ridge * (w @ w) / 2)

    now = objective(weights)
    for _ in range(steps):
        miss = expit(-(x @ weights))
        slope = x.T @ miss - ridge * weights
        curve = (x * (miss * (1 - miss))[:, None]).T @ x + ridge * np.eye(k)
        step = np.linalg.solve(curve, slope)
        length = 1.0
        while (then := objective(weights + length * step)) > now and length > 1e-6:
            length /= 2
        if then >= now - 1e-9 * math.fabs(now):
            break
        weights, now = weights + length * step, then
    return weights / size
