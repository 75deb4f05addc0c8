"""What is released of a noisy value: the nearest multiple of a public grid, as if all had been real numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from geoveil.noise.reals import Ball, Floats, Reals, settled
from geoveil.noise.samplers import Blocks
from geoveil.noise.source import Source

__all__ = ["grid", "released"]


def grid(deviation: float) -> float:
    """The grid for noise of this root mean square per coordinate: the largest power of two below a 2048th of it."""
    share, exponent = math.frexp(deviation)
    return math.ldexp(1.0, exponent - (13 if share == 0.5 else 12))


def released(center: Reals, scale: float | Floats, cell: float | Floats, noise: Blocks, source: Source) -> Floats:
    """The nearest multiples of the grid to center + scale·noise, decided as in real arithmetic.

    Parameters
    ----------
    center : Reals
        The values, as rows.
    scale : float or array
        One for all rows, or one for each.
    cell : float or array
        The distance between two multiples; likewise.
    noise : blocks of Reals
        Of scale 1.
    source : Source
        Where the noise comes from. Where it is not exact, center + scale·noise is released as doubles have it.

    Notes
    -----
    In units of the grid, a value is a whole number and a rest of at most ½, both exact: whatever it is, rounding
    errors are those of the noise. Whether a number is so near to the middle between two multiples that there is doubt
    follows from a public bound and the ideal noisy value, which could itself be released.
    """
    out: Floats = np.empty(center.values.shape)
    for rows, drawn in noise:
        stretch, unit = (_spread(each, rows, out.shape[1]) for each in (scale, cell))
        if source.exact:
            _round(center[rows], stretch / unit, unit, drawn, source, out[rows])
        else:
            out[rows] = drawn.values * stretch + center.values[rows]
    return out


def _spread(each: Any, rows: slice, dimension: int) -> Any:
    """What holds for each row, for each number in it: numpy is slow to repeat along short rows."""
    return each if isinstance(each, float) else np.repeat(each[rows], dimension).reshape(-1, dimension)


def _round(center: Reals, stretch: Any, cell: Any, noise: Reals, source: Source, out: Floats) -> None:
    shift = noise.values * stretch
    rest = center.values / cell
    np.rint(rest, out=out)
    rest -= out
    rest += shift
    steps = np.rint(rest)
    rest -= steps
    np.abs(rest, out=rest)
    bound = center.error / cell + noise.error * stretch + 2.0**-51 * (max(shift.max(), -shift.min()) + 1)
    # Not so, rather than at least: what is not a number is in doubt.
    doubt = np.flatnonzero(~(rest < 0.5 - source.widened * bound))
    out += steps
    out += 0.0  # -0.0 would tell on which side of 0 a value is
    out *= cell
    if len(doubt):
        cells, stretches = (np.broadcast_to(per_row, out.shape) for per_row in (cell, stretch))
        for i in doubt:
            source.refined += 1
            out.flat[i] = _settled(int(i), center, float(cells.flat[i]), float(stretches.flat[i]), noise)


def _settled(i: int, center: Reals, cell: float, stretch: float, noise: Reals) -> float:
    from flint import arb

    def nearest(bits: int) -> Ball:
        return (center.ball(i, bits) / arb(cell) + arb(stretch) * noise.ball(i, bits) + 0.5).floor().unique_fmpz()

    return math.ldexp(float(int(settled(nearest))), int(math.log2(cell)))
