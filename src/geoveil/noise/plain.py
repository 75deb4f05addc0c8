"""The noise of `samplers` in plain double precision from a numpy generator, for tests and experiments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geoveil.noise.reals import Floats
from geoveil.noise.source import Source

__all__ = ["ball_product", "spherical_laplace"]


def spherical_laplace(source: Source, sizes: NDArray[np.int64], dimension: int) -> Floats:
    """Return spherical Laplace noise: normal vectors divided by their length, times Gamma(sizes[i]·dimension)."""
    rows = int(sizes.sum())
    z = source.normal(rows * dimension).values.reshape(rows, dimension)
    lengths = _squares(z)
    if len(sizes) < rows:
        lengths = np.add.reduceat(lengths, np.cumsum(sizes) - sizes)
    return _stretched(z, _gammas(source, sizes * dimension) / np.sqrt(lengths), sizes)


def ball_product(source: Source, sizes: NDArray[np.int64], dimension: int) -> Floats:
    """Return noise with density ∝ exp(-max_i ‖z_i‖): uniform points of a ball, times Gamma(sizes[i]·dimension + 1).

    A uniform point of the unit ball is a normal vector divided by its length with two more normal coordinates; the
    squares of these two add up to twice an exponential variable.
    """
    rows = int(sizes.sum())
    z = source.normal(rows * dimension).values.reshape(rows, dimension)
    lengths = np.sqrt(_squares(z) + 2 * source.exponential(rows).values)
    radius = np.repeat(_gammas(source, sizes * dimension + 1), sizes)
    return _stretched(z, radius / lengths, np.ones(rows, dtype=np.int64))


def _gammas(source: Source, shapes: NDArray[np.int64]) -> Floats:
    """Return Gamma variables of integer shapes, as sums of exponentials."""
    first = int(shapes[0])
    terms = source.exponential(int(shapes.sum())).values
    if (shapes == first).all():
        return np.asarray(terms.reshape(first, len(shapes)).sum(axis=0))
    return np.asarray(np.add.reduceat(terms, np.cumsum(shapes) - shapes))


def _squares(z: Floats) -> Floats:
    """Return the squared length of each row, computed column by column, which is much faster."""
    squares = np.zeros(len(z))
    for column in z.T:
        squares += column * column
    return squares


def _stretched(z: Floats, by: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Multiply each row in place by its factor, given per row or per group of sizes[i] rows; return the rows."""
    by = by if len(by) == len(z) else np.repeat(by, sizes)
    for column in z.T:
        column *= by
    return z
