"""Round noisy values to the nearest multiple of a public grid, exactly as real arithmetic would."""

from __future__ import annotations

import math

import numpy as np

from geoveil.noise.reals import Ball, Floats, Reals, settled
from geoveil.noise.samplers import Blocks
from geoveil.noise.source import Source

__all__ = ["grid", "round_to_grid"]


def grid(deviation: float) -> float:
    """Return the grid's cell size for noise with this root mean square per coordinate.

    It is the largest power of two below 1/2048 of the root mean square.
    """
    share, exponent = math.frexp(deviation)
    return math.ldexp(1.0, exponent - (13 if share == 0.5 else 12))


def round_to_grid(center: Reals, scale: float | Floats, cell: float | Floats, noise: Blocks, source: Source) -> Floats:
    """Return the multiples of the grid nearest to center + scale·noise, decided as in real arithmetic.

    Parameters
    ----------
    center : Reals
        The true values, as rows.
    scale : float or array
        Scale of the noise: one for all rows, or one per row.
    cell : float or array
        Cell size of the grid: one for all rows, or one per row.
    noise : blocks of Reals
        Noise of scale 1.
    source : Source
        The source of the noise. If it is inexact, center + scale·noise is returned in double precision, unrounded.

    Notes
    -----
    In units of the grid, a value is a whole number plus a remainder of at most ½, and both are exact. So rounding
    errors depend on the noise alone, not on the size of the value. Whether doubles decide the rounding depends on a
    public bound and on the ideal noisy value, which could itself be released.
    """
    out: Floats = np.empty(center.values.shape)
    for rows, drawn in noise:
        stretch, unit = (_spread(each, rows, out.shape[1]) for each in (scale, cell))
        if source.exact:
            _round(center[rows], stretch / unit, unit, drawn, source, out[rows])
        else:
            out[rows] = drawn.values * stretch + center.values[rows]
    return out


def _spread(each: float | Floats, rows: slice, dimension: int) -> float | Floats:
    """Repeat a number per row for each coordinate: numpy is slow to broadcast along short rows."""
    return each if isinstance(each, float) else np.repeat(each[rows], dimension).reshape(-1, dimension)


def _round(
    center: Reals, stretch: float | Floats, cell: float | Floats, noise: Reals, source: Source, out: Floats
) -> None:
    """Round center + cell·stretch·noise to multiples of `cell`, into `out`."""
    # A cell is a power of two, so that its inverse and the product are exact.
    rest = center.values * (1 / cell)
    np.rint(rest, out=out)
    rest -= out
    shift = noise.values * stretch
    rest += shift
    bound = center.error / cell + noise.error * stretch + 2.0**-51 * (_farthest(shift) + 1)
    steps = np.rint(rest, out=shift)
    rest -= steps
    out += steps
    out += 0.0  # turns -0.0, which would reveal the sign of a value, into 0.0
    out *= cell
    certain = 0.5 - source.widened * bound
    # Values are searched only if one of them is doubtful. Negated, so that NaN counts as doubtful.
    if not _farthest(rest) < np.min(certain):
        cells, stretches = (np.broadcast_to(per_row, out.shape) for per_row in (cell, stretch))
        for i in np.flatnonzero(~(np.abs(rest) < certain)).tolist():
            source.refined += 1
            out.flat[i] = _settled(i, center, float(cells.flat[i]), float(stretches.flat[i]), noise)


def _farthest(values: Floats) -> float:
    """Return the largest absolute value."""
    return float(max(values.max(), -values.min()))


def _settled(i: int, center: Reals, cell: float, stretch: float, noise: Reals) -> float:
    """Return the i-th rounded value, computed with balls of sufficient precision."""
    from flint import arb

    def nearest(bits: int) -> Ball:
        return (center.ball(i, bits) / arb(cell) + arb(stretch) * noise.ball(i, bits) + 0.5).floor().unique_fmpz()

    return math.ldexp(float(int(settled(nearest))), int(math.log2(cell)))
