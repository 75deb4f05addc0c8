"""Estimate true flows between cells from blurred and noisy ones, using public facts only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geoveil.postprocess.sharpening import simplex

__all__ = ["blurred_flows", "sharpen_flows"]

Floats = NDArray[np.float64]

# The number of steps of the method of multipliers, which alternates between a smooth and a non-negative estimate.
_STEPS = 12
# Released numbers may have no power beyond that of the noise; the prior then allows a tenth of a percent of it.
_LEAST = 1e-3


def sharpen_flows(noisy: Floats, shape: tuple[int, int], taps: Floats, deviation: float, total: float) -> Floats:
    """Return an estimate of flows from cell to cell: not negative, and adding up to at most the public total.

    Parameters
    ----------
    noisy : array
        The released numbers, origins × destinations, or a stack of these for slices of time.
    shape : (int, int)
        The numbers of rows and columns of the cells.
    taps : array
        The blur along one axis, as `spline_taps` gives it.
    deviation : float
        The standard deviation of the noise on a released number.
    total : float
        The largest sum of all flows; public.

    Notes
    -----
    The blur of a trip is the product of the blurs of its ends along both axes. Its eigenvectors are products of those
    of the blur along one axis, so ridge regression (a Gaussian prior whose variance is that of the released numbers
    beyond the noise) is exact and fast. It alternates with the projection to numbers that are not negative (the
    alternating direction method of multipliers; Boyd et al., 2011).

    Examples
    --------
    >>> from geoveil.postprocess.sharpening import spline_taps
    >>> truth = np.zeros((36, 36))
    >>> truth[14, 21] = 100.0
    >>> blurred = blurred_flows(truth, (6, 6), spline_taps(1))
    >>> noisy = blurred + np.random.default_rng(1).normal(0, 0.05, truth.shape)
    >>> found = sharpen_flows(noisy, (6, 6), spline_taps(1), 0.05, 100)
    >>> bool(blurred[14, 21] < 15), bool(found[14, 21] > 80)
    (True, True)
    """
    axes = [_eigen(length, taps) for length in (*shape, *shape)]
    (rows, _), (columns, _) = axes[:2]
    ends = np.multiply.outer(rows, columns)
    strength = np.multiply.outer(ends, ends)
    maps = np.reshape(noisy, (-1, *shape, *shape))
    power = max(float(np.mean(maps**2)) - deviation**2, _LEAST * deviation**2)
    ridge = deviation**2 * float(np.mean(strength**2)) / power
    found = np.stack([_not_negative(each, axes, strength, ridge) for each in maps])
    return simplex(found.ravel(), total, at_most=True).reshape(np.shape(noisy))


def blurred_flows(flows: Floats, shape: tuple[int, int], taps: Floats) -> Floats:
    """Return flows from cell to cell as the kernel blurs them, without noise."""
    axes = [_eigen(length, taps) for length in (*shape, *shape)]
    spread = np.reshape(flows, (*shape, *shape))
    for axis, (values, vectors) in enumerate(axes):
        spread = _along(spread, axis, (vectors * values) @ vectors.T)
    return spread.reshape(np.shape(flows))


def _eigen(length: int, taps: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues and eigenvectors of the blur along an axis of `length` cells."""
    middle = len(taps) // 2
    apart = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    blur = np.where(apart <= middle, taps[np.minimum(middle + apart, len(taps) - 1)], 0.0)
    values, vectors = np.linalg.eigh(blur)
    return values, vectors


def _along(flows: Floats, axis: int, matrix: Floats) -> Floats:
    """Apply a matrix along an axis."""
    return np.moveaxis(np.tensordot(matrix, flows, axes=(1, axis)), 0, axis)


def _not_negative(noisy: Floats, axes: list[tuple[Floats, Floats]], strength: Floats, ridge: float) -> Floats:
    """Return the flows that are not negative and fit released ones best, with a ridge penalty."""

    def turned(flows: Floats, *, back: bool = False) -> Floats:
        for axis, (_, vectors) in enumerate(axes):
            flows = _along(flows, axis, vectors if back else vectors.T)
        return flows

    tie = max(ridge, 0.02)
    fitted = strength * turned(noisy)
    shown = np.zeros(noisy.shape)
    rest = np.zeros(noisy.shape)
    for _ in range(_STEPS):
        smooth = turned((fitted + tie * turned(shown - rest)) / (strength**2 + ridge + tie), back=True)
        shown = np.maximum(smooth + rest, 0.0)
        rest += smooth - shown
    return shown
