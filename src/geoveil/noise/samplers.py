"""Noise of scale 1 for tuples of points: normal, Laplace in any dimension, uniform in balls.

Noise comes in blocks of rows, so that random bits are held for a few thousand rows at a time. Bounds on errors are
derived in docs/exactness.md.
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
#: Rows, and the noise on them.
Blocks: TypeAlias = Iterator[tuple[slice, Reals]]

#: So many numbers stay in a processor's cache from one step to the next.
_BLOCK = 2**13
#: Sums are made of sums of so many terms: rounding grows with the terms of each, not of all.
_PIECE = 1024
#: So few terms are added up without much rounding, as rows.
_FEW = 16


def normal(source: Source, rows: int, dimension: int) -> Blocks:
    """Standard normal rows."""
    for block in _row_blocks(rows, dimension):
        count = block.stop - block.start
        yield block, source.normal(count * dimension).reshaped(count, dimension)


def laplace(source: Source, count: int) -> Reals:
    """Laplace of scale 1 on the line: the difference of two exponentials."""
    both = source.exponential(2 * count)
    return Reals(
        both.values[:count] - both.values[count:],
        3 * both.error,
        lambda i, bits: both.ball(i, bits) - both.ball(count + i, bits),
    )


def gamma(source: Source, shapes: Counts) -> Reals:
    """Gamma(a, 1) for each integer a: the sum of a exponentials.

    Inverting the distribution function through the Lambert W function, as location tools do for a = 2, returns
    exactly 0 near its branch point; a sum of exponentials cannot.
    """
    first, count = int(shapes[0]), len(shapes)
    if first <= _FEW and (shapes == first).all():
        # One after another, what is added up is not adjacent.
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
    """Independent noise tuples with density ∝ exp(-max_i ‖z_i‖), the i-th of sizes[i] points, laid out as rows.

    The radius of a tuple is Gamma(sizes[i]·dimension + 1); its points are that times independent ones, uniform in the
    unit ball.
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
    """Points uniform in the unit ball.

    On the line a uniform variable; in the plane a point on the circle times the root of one; above, the first d
    coordinates of a point on the sphere in R^(d+2).
    """
    if dimension > 2:
        return _on_spheres(source, np.full(count, dimension), 1).reshaped(count, dimension)
    share = source.uniform(count)
    if dimension == 1:
        line = Reals(2 * share.values - 1, 4 * share.error, lambda i, bits: 2 * share.ball(i, bits) - 1)
        return line.reshaped(count, 1)
    # Undrawn bits change a root by 2^-64/√u, and by 2^-31.5 at most.
    error = 2.0**-31 if share.values.min() < 2.0**-40 else ACCURACY
    root = Reals(np.sqrt(share.values), error, lambda i, bits: share.ball(i, bits).sqrt())
    return _stretched(_on_circles(source, count), root)


def _on_circles(source: Entropy, count: int) -> Reals:
    """Points uniform on the unit circle."""
    cosine, sine = source.turn(count)
    return Reals(
        np.column_stack([cosine.values, sine.values]),
        cosine.error,
        lambda i, bits: (sine if i % 2 else cosine).ball(i // 2, bits),
    )


def _on_spheres(source: Entropy, lengths: Counts, beyond: int) -> Reals:
    """Points uniform on the unit spheres of R^(lengths[i] + 2·beyond), less their last 2·beyond coordinates, in a row.

    Pairs of normal variables √(2E)·(cos θ, sin θ), E exponential, over their norm: the squares of a pair add up to 2E.
    Of an odd number the last sine is left out; of a pair that is beyond, only its E is drawn.
    """
    pairs = (lengths + 1) // 2
    last = np.cumsum(pairs) - 1
    odd = lengths % 2 == 1
    halves = source.exponential(int(pairs.sum()) + beyond * len(lengths))
    # What belongs to one vector is adjacent: its pairs, then what is beyond.
    shift = beyond * np.repeat(np.arange(len(lengths)), pairs) if beyond else np.zeros(1, dtype=np.int64)
    inner = halves.values[np.arange(pairs.sum()) + shift] if beyond else halves.values
    cosine, sine = source.turn(len(inner))
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
    # Of a vector that doubles give hardly any length they know nothing but that no coordinate is larger than 1.
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
    """Every row times its number; no coordinate of a row is larger than 1."""
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
    """Sums of so many adjacent terms; the error is that of adding up, without that of the terms."""
    starts = _starts(counts)
    pieces = -(-counts // _PIECE)
    within = np.arange(pieces.sum()) - np.repeat(_starts(pieces), pieces)
    parts = np.add.reduceat(terms.values, np.repeat(starts, pieces) + _PIECE * within)
    values = np.add.reduceat(parts, _starts(pieces))
    rounding = 2.0**-53 * (np.minimum(counts, _PIECE) + pieces)

    @cache
    def ball(i: int, bits: int) -> Ball:
        return terms.sum(int(starts[i]), int(starts[i] + counts[i]), bits)

    return Reals(values, 2 * rounding * values, ball)


def _starts(counts: Counts) -> Counts:
    return np.concatenate([[0], np.cumsum(counts)[:-1]])


def _row_blocks(rows: int, dimension: int) -> Iterator[slice]:
    step = max(_BLOCK // dimension, 1)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _vector_blocks(sizes: Counts, dimension: int) -> Iterator[tuple[slice, slice]]:
    """Slices of vectors, none cut, and of their rows."""
    ends = np.cumsum(sizes)
    start = row = 0
    while start < len(sizes):
        stop = max(int(np.searchsorted(ends, row + _BLOCK // dimension, side="right")), start + 1)
        yield slice(start, stop), slice(row, int(ends[stop - 1]))
        start, row = stop, int(ends[stop - 1])
