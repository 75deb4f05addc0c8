"""Random variables built from a source: Laplace in any dimension, gamma, directions, Gumbel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geoveil.noise.source import Floats, Shape, Source
from geoveil.privacy.metrics import distances

__all__ = ["ball_product", "gamma", "gumbel", "laplace", "spherical_laplace"]


def laplace(source: Source, size: Shape = ()) -> Floats:
    """Laplace of scale 1 on the line: the difference of two exponentials."""
    return source.exponential(size) - source.exponential(size)


def gumbel(source: Source, size: Shape) -> Floats:
    """Standard Gumbel."""
    return np.asarray(-np.log(source.exponential(size)))


def gamma(source: Source, shapes: NDArray[np.int64]) -> Floats:
    """Gamma(a, 1) for each integer a: the sum of a exponentials.

    Inverting the distribution function through the Lambert W function, as location tools do for a = 2, returns
    exactly 0 near its branch point; a sum of exponentials cannot.
    """
    first = int(shapes[0])
    if (shapes == first).all():
        draws = source.exponential((first, len(shapes)))
        return np.asarray(draws.sum(axis=0))
    draws = source.exponential(int(shapes.sum()))
    return np.asarray(np.add.reduceat(draws, _starts(shapes)))


def spherical_laplace(source: Source, sizes: NDArray[np.int64], dimension: int) -> Floats:
    """Independent noise vectors with density ∝ exp(-‖z‖), the i-th in R^(sizes[i]·dimension).

    The radius is Gamma(sizes[i]·dimension) and the direction uniform; vectors are laid out as rows of `dimension`
    coordinates, sizes[i] rows to the i-th.

    Parameters
    ----------
    source : Source
        What draws.
    sizes : array of int
        How many rows each vector takes.
    dimension : int
        Coordinates in a row.
    """
    z = source.normal((int(sizes.sum()), dimension))
    lengths = distances(z, np.zeros(dimension))
    alone = len(sizes) == len(z)
    if not alone:
        lengths = np.sqrt(np.add.reduceat(lengths**2, _starts(sizes)))
    stretch = gamma(source, sizes * dimension)
    stretch /= lengths
    if not alone:
        stretch = np.repeat(stretch, sizes)
    for column in z.T:
        column *= stretch
    return z


def ball_product(source: Source, sizes: NDArray[np.int64], dimension: int) -> Floats:
    """Independent noise tuples with density ∝ exp(-max_i ‖z_i‖), the i-th of sizes[i] points, laid out as rows.

    A point uniform in the ball is a normal vector over its length with two more coordinates, whose squares are twice
    an exponential variable; the radius of a tuple is Gamma(sizes[i]·dimension + 1).
    """
    z = source.normal((int(sizes.sum()), dimension))
    lengths = distances(z, np.zeros(dimension))
    lengths *= lengths
    lengths += 2 * source.exponential(len(z))
    stretch = np.repeat(gamma(source, sizes * dimension + 1), sizes)
    stretch /= np.sqrt(lengths, out=lengths)
    for column in z.T:
        column *= stretch
    return z


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]])
