"""Noise of scale 1 for tuples of points: normal, Laplace in any dimension, and uniform in balls.

Noise comes in blocks of rows, so that the random bits of only some ten thousand rows are in memory at a time. The
error bounds are derived in ROUNDING.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.noise import plain
from geoveil.noise.reals import Ball, Reals, as_reals
from geoveil.noise.source import ACCURACY, Entropy, Source

__all__ = ["Blocks", "ball_product", "gamma", "laplace", "normal", "spherical_laplace"]

Counts: TypeAlias = NDArray[np.int64]
#: Pairs of a range of rows and the noise for these rows.
Blocks: TypeAlias = Iterator[tuple[slice, Reals]]

#: Numbers in a block: few enough to stay in a processor's cache from one step to the next, and so many that calls of
#: numpy cost little.
_BLOCK = 2**15
#: Terms in a partial sum. Long sums are sums of partial sums, so that rounding grows with the terms of one part.
_PIECE = 1024
#: Largest number of terms that are added directly, with little rounding.
_FEW = 16


def normal(source: Source, rows: int, dimension: int) -> Blocks:
    """Yield rows of standard normal noise."""
    for block in _row_blocks(rows, dimension):
        count = block.stop - block.start
        yield block, source.normal(count * dimension).reshaped(count, dimension)


def laplace(source: Source, count: int) -> Reals:
    """Return Laplace variables of scale 1, each the difference of two exponentials."""
    both = source.exponential(2 * count)
    return Reals(
        both.values[:count] - both.values[count:],
        3 * both.error,
        lambda i, bits: both.ball(i, bits) - both.ball(count + i, bits),
    )


def gamma(source: Source, shapes: Counts) -> Reals:
    """Return a Gamma(a, 1) variable for each integer a in `shapes`: the sum of a exponentials.

    The usual alternative for a = 2, inverting the distribution function with the Lambert W function, returns exactly 0
    near its branch point. A sum of exponentials cannot.
    """
    first, count = int(shapes[0]), len(shapes)
    if first <= _FEW and (shapes == first).all():
        # Term j of all sums is adjacent in memory, so that numpy adds whole rows.
        terms = source.exponential(first * count)
        values = terms.values.reshape(first, count).sum(axis=0)
        return Reals(
            values,
            2 * source.accuracy * (first + float(values.max())),
            lambda i, bits: sum(terms.ball(j, bits) for j in range(i, first * count, count)),
        )
    sums = _sums(source.exponential(int(shapes.sum())), shapes)
    return Reals(sums.values, source.accuracy * (shapes + 2 * sums.values) + sums.error, sums.ball)


def spherical_laplace(source: Source, sizes: Counts, dimension: int) -> Blocks:
    """Yield independent noise vectors with density ∝ exp(-‖z‖), the i-th in R^(sizes[i]·dimension).

    The radius is Gamma(sizes[i]·dimension) and the direction is uniform. The i-th vector is laid out as sizes[i] rows
    of `dimension` coordinates.

    Parameters
    ----------
    source : Source
        The source of randomness.
    sizes : array of int
        Number of rows of each vector.
    dimension : int
        Number of coordinates in a row.
    """
    if not isinstance(source, Entropy):
        yield slice(0, int(sizes.sum())), as_reals(plain.spherical_laplace(source, sizes, dimension))
        return
    for vectors, rows in _vector_blocks(sizes, dimension):
        lengths = sizes[vectors] * dimension
        count = rows.stop - rows.start
        if (lengths == 1).all():
            yield rows, laplace(source, count).reshaped(count, 1)
            continue
        radius = gamma(source, lengths)
        if len(lengths) < count:
            radius = radius[np.repeat(np.arange(len(lengths)), sizes[vectors])]
        flat = (lengths == 2).all()
        directions = _on_circles(source, len(lengths)) if flat else _on_spheres(source, lengths, 0)
        yield rows, _stretched(directions.reshaped(count, dimension), radius)


def ball_product(source: Source, sizes: Counts, dimension: int) -> Blocks:
    """Yield independent noise tuples with density ∝ exp(-max_i ‖z_i‖), the i-th of sizes[i] points, laid out as rows.

    The radius of a tuple is Gamma(sizes[i]·dimension + 1). Its points are independent and uniform in the ball of this
    radius.
    """
    if not isinstance(source, Entropy):
        yield slice(0, int(sizes.sum())), as_reals(plain.ball_product(source, sizes, dimension))
        return
    radius = gamma(source, sizes * dimension + 1)
    tuples = np.repeat(np.arange(len(sizes)), sizes)
    for block in _row_blocks(len(tuples), dimension):
        points = _in_balls(source, block.stop - block.start, dimension)
        yield block, _stretched(points, radius[tuples[block]])


def _in_balls(source: Entropy, count: int, dimension: int) -> Reals:
    """Return points uniform in the unit ball.

    On the line such a point is a uniform variable. In the plane it is a point on the circle times the root of a
    uniform variable. In higher dimensions it is the first d coordinates of a point on the sphere in R^(d+2).
    """
    if dimension > 2:
        return _on_spheres(source, np.full(count, dimension), 1).reshaped(count, dimension)
    share = source.uniform(count)
    if dimension == 1:
        line = Reals(2 * share.values - 1, 4 * share.error, lambda i, bits: 2 * share.ball(i, bits) - 1)
        return line.reshaped(count, 1)
    # The bits not drawn change a root by at most 2^-64/√u, and never by more than 2^-31.5.
    error = 2.0**-31 if share.values.min() < 2.0**-40 else ACCURACY
    root = Reals(np.sqrt(share.values), error, lambda i, bits: share.ball(i, bits).sqrt())
    return _stretched(_on_circles(source, count), root)


def _on_circles(source: Entropy, count: int) -> Reals:
    """Return points uniform on the unit circle."""
    cosine, sine = source.cosine_and_sine(count)
    return Reals(
        np.column_stack([cosine.values, sine.values]),
        cosine.error,
        lambda i, bits: (sine if i % 2 else cosine).ball(i // 2, bits),
    )


def _on_spheres(source: Entropy, lengths: Counts, beyond: int) -> Reals:
    """Return points uniform on the unit spheres of R^(lengths[i] + 2·beyond), without their last 2·beyond coordinates.

    The coordinates of all points are concatenated. A point is a normal vector divided by its norm. The vector consists
    of pairs √(2E)·(cos θ, sin θ), with E exponential, whose squares add up to 2E. If the number of coordinates is odd,
    the last sine is dropped. Of the pairs without coordinates in the result (`beyond`), only E is drawn.
    """
    pairs = (lengths + 1) // 2
    last = np.cumsum(pairs) - 1
    odd = lengths % 2 == 1
    halves = source.exponential(int(pairs.sum()) + beyond * len(lengths))
    # The exponentials of one vector are adjacent: first its pairs, then those beyond.
    shift = beyond * np.repeat(np.arange(len(lengths)), pairs) if beyond else np.zeros(1, dtype=np.int64)
    inner = halves.values[np.arange(pairs.sum()) + shift] if beyond else halves.values
    cosine, sine = source.cosine_and_sine(len(inner))
    sums = _sums(halves, pairs + beyond)
    lone = np.sqrt(2 * inner)
    normals = np.empty((len(inner), 2))
    np.multiply(lone, cosine.values, out=normals[:, 0])
    np.multiply(lone, sine.values, out=normals[:, 1])
    dropped = np.where(odd, np.abs(normals[last, 1]), 0)
    squares = 2 * sums.values - dropped**2
    norms = np.repeat(np.sqrt(np.maximum(squares, 2.0**-200)), pairs)
    for column in normals.T:
        column /= norms
    off = 2 * ACCURACY * (1 + inner)
    loose = np.minimum(off / np.maximum(lone, 2.0**-200), np.sqrt(off)) + cosine.error * lone
    loose_squares = 2 * (ACCURACY * (pairs + beyond + sums.values) + sums.error)
    loose_squares += np.where(odd, loose[last] * (2 * dropped + 1), 0)
    share = np.repeat(loose_squares / np.maximum(squares, 2.0**-200), pairs)
    loose = 2 * loose / norms + share + ACCURACY
    # For a vector of almost no length in doubles, the only known bound is that no coordinate is larger than 1.
    unknown = share >= 0.5
    loose[unknown] = 1 + np.abs(normals[unknown]).max(axis=1)
    error = np.repeat(loose, 2)
    kept = np.arange(normals.size)
    if odd.any():
        kept = np.delete(kept, 2 * last[odd] + 1)
        normals, error = normals.ravel()[kept], error[kept]

    def ball(i: int, bits: int) -> Ball:
        pair, side = divmod(int(kept[i]), 2)
        of = int(np.searchsorted(last, pair))
        square = 2 * sums.ball(of, bits)
        if odd[of]:
            left_out = sine.ball(int(last[of]), bits)
            square -= 2 * halves.ball(int(last[of]) + beyond * of, bits) * left_out * left_out
        return (2 * halves.ball(pair + beyond * of, bits) / square).sqrt() * (sine if side else cosine).ball(
            pair, bits
        )

    return Reals(normals.ravel(), error, ball)


def _stretched(vectors: Reals, by: Reals) -> Reals:
    """Return every row times its factor; no coordinate of a row may be larger than 1."""
    width = vectors.values.shape[1]
    values = np.empty(vectors.values.shape)
    for out, column in zip(values.T, vectors.values.T, strict=True):
        np.multiply(column, by.values, out=out)
    if np.ndim(by.error) == np.ndim(vectors.error) == 0:
        error = vectors.error * float(by.values.max()) + by.error
    else:
        error = vectors.error * by.values[:, None] + np.reshape(by.error, (-1, 1))
    return Reals(values, error, lambda i, bits: vectors.ball(i, bits) * by.ball(i // width, bits))


def _sums(terms: Reals, counts: Counts) -> Reals:
    """Return sums of counts[i] adjacent terms; the error is that of the additions, without that of the terms."""
    starts = _starts(counts)
    pieces = -(-counts // _PIECE)
    within = np.arange(pieces.sum()) - np.repeat(_starts(pieces), pieces)
    parts = np.add.reduceat(terms.values, np.repeat(starts, pieces) + _PIECE * within)
    values = np.add.reduceat(parts, _starts(pieces))
    rounding = (np.minimum(counts, _PIECE) + pieces) * np.float64(2.0**-53)

    @cache
    def ball(i: int, bits: int) -> Ball:
        return terms.sum(int(starts[i]), int(starts[i] + counts[i]), bits)

    return Reals(values, 2 * rounding * values, ball)


def _starts(counts: Counts) -> Counts:
    """Return the index at which each run of counts[i] adjacent items starts."""
    return np.concatenate([[0], np.cumsum(counts)[:-1]])


def _row_blocks(rows: int, dimension: int) -> Iterator[slice]:
    """Yield slices of rows, of at most `_BLOCK` numbers each."""
    step = max(_BLOCK // dimension, 1)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _vector_blocks(sizes: Counts, dimension: int) -> Iterator[tuple[slice, slice]]:
    """Yield slices of whole vectors, and the slices of their rows."""
    ends = np.cumsum(sizes)
    start = row = 0
    while start < len(sizes):
        stop = max(int(np.searchsorted(ends, row + _BLOCK // dimension, side="right")), start + 1)
        yield slice(start, stop), slice(row, int(ends[stop - 1]))
        start, row = stop, int(ends[stop - 1])
