"""Estimate true flows between cells from blurred and noisy ones, using public facts only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["blurred_flows", "sharpen_flows"]

Floats = NDArray[np.float64]

# The number of steps of the method of multipliers, which alternates between a close and a non-negative estimate: as
# many as a tenth of a second allows, within these limits. All steps together process about `_PAIRS` numbers.
_FEWEST, _MOST, _PAIRS = 6, 100, 2**22
# The weight of the penalty that ties the two estimates together, for a kernel whose largest eigenvalue is 1, over the
# ratio of the noise to the released numbers, and its limits. A heavier one stops earlier on the way from the blurred
# numbers to those that fit the noise. Kernels of more than two cells have smaller eigenvalues: it falls with a
# power of their side.
_TIE, _LIGHTEST, _HEAVIEST, _WIDE, _POWER = 0.6, 0.02, 0.1, 2, 5
# Each step goes this much farther than the close estimate (over-relaxation, section 3.4.3 of Boyd et al.): six steps
# then do better than eight without.
_FARTHER = 1.7
# Single precision is used while the largest number is below this many standard deviations: its errors are then far
# below the noise.
_SINGLE = 1e4


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
    Least squares over the flows that are not negative and add up to at most the total, stopped early: the alternating
    direction method of multipliers (Boyd et al., 2011). The blur of a trip is the product of the blurs of its ends
    along both axes, and its eigenvectors are products of those of the blur along one axis, so each step is a change
    of basis along four axes, there and back. The total subtracts the same constant from all numbers, which removes
    noise from pairs of cells without trips.

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
    maps = np.reshape(noisy, (-1, *shape, *shape))
    kind: Any = np.float32 if float(np.abs(maps).max(initial=0.0)) < _SINGLE * deviation else np.float64
    axes = _eigen_axes(shape, taps)
    there = [vectors.astype(kind) for _, vectors in axes]
    back = [np.ascontiguousarray(vectors.T) for vectors in there]
    ends = np.multiply.outer(axes[0][0], axes[1][0])
    strength = np.multiply.outer(ends, ends).ravel().astype(kind)
    ratio = deviation / max(float(np.sqrt(np.mean(maps**2))), 1e-300)
    side = (len(taps) - 1) // 4
    tie = kind(min(max(_TIE * ratio, _LIGHTEST), _HEAVIEST) * min(1.0, _WIDE / side) ** _POWER)
    inverse = 1 / (strength**2 + tie)
    kept = tie * inverse
    inverse *= strength
    fitted = [_turned(each.astype(kind).ravel(), there) * inverse for each in maps]
    shown, rest = np.zeros((2, len(maps), strength.size), kind)
    constant = 0.0
    for step in range(min(max(_PAIRS // maps.size, _FEWEST), _MOST)):
        for close, estimate, multiplier in zip(fitted, shown, rest, strict=True):
            turned = close
            if step:
                turned = _turned(estimate - multiplier, there)
                turned *= kept
                turned += close
            blurred = _turned(turned, back)
            if step:
                blurred *= kind(_FARTHER)
                estimate *= kind(1 - _FARTHER)
                blurred += estimate
            multiplier += blurred
            np.maximum(multiplier - kind(constant), 0.0, out=estimate)
            multiplier -= estimate
        # A step of Newton's method for the constant that makes the sum equal to the total, if it is larger.
        beyond = float(shown.sum(dtype=float)) - total
        constant = max(0.0, constant + beyond / max(int(np.count_nonzero(shown)), 1))
    flows = shown.astype(float)
    return np.asarray(flows * min(1.0, total / max(float(flows.sum()), 1e-300))).reshape(np.shape(noisy))


def blurred_flows(flows: Floats, shape: tuple[int, int], taps: Floats) -> Floats:
    """Return flows from cell to cell as the kernel blurs them, without noise."""
    axes = _eigen_axes(shape, taps)
    blurs = [(vectors * values) @ vectors.T for values, vectors in axes]
    return np.asarray(_turned(np.ravel(flows), blurs), dtype=float).reshape(np.shape(flows))


def _eigen_axes(shape: tuple[int, int], taps: Floats) -> list[tuple[Floats, Floats]]:
    """Return the eigenvalues and eigenvectors of the blur along the axes of origins and of destinations."""
    found = {length: _eigen(length, taps) for length in {*shape}}
    return [found[length] for length in (*shape, *shape)]


def _eigen(length: int, taps: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues and eigenvectors of the blur along an axis of `length` cells."""
    from scipy.linalg import eig_banded

    reach = min(len(taps) // 2, length - 1) + 1
    # Each diagonal of the blur's matrix holds one tap.
    diagonals = np.repeat(taps[len(taps) // 2 :][:reach, None], length, axis=1)
    values, vectors = eig_banded(diagonals, lower=True)
    return values, vectors


def _turned(flows: NDArray[Any], matrices: list[NDArray[Any]]) -> NDArray[Any]:
    """Multiply each axis of flows, which are given one after the other, by a matrix.

    Many products of small matrices keep to one thread: threads that wait for each other took ten times the processor
    time. Axes stay where they are: with the two ends exchanged in between, most of the time went into copies.
    """
    rows, columns, end_rows, end_columns = matrices
    maps = flows.reshape(-1, len(end_rows), len(end_columns))
    maps = np.matmul(np.matmul(end_rows.T, maps), end_columns)
    maps = maps.reshape(len(rows), len(columns), len(end_rows), len(end_columns))
    turned = np.empty_like(maps)
    np.matmul(columns.T, np.swapaxes(maps, 1, 2), out=np.swapaxes(turned, 1, 2))
    np.matmul(rows.T, np.moveaxis(turned, 0, 2), out=np.moveaxis(maps, 0, 2))
    return np.ravel(maps)
