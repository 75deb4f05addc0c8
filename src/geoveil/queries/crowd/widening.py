"""From sums with the finest kernel to sums with a kernel of m cells: four running means along each axis."""

from __future__ import annotations

import numpy as np

from geoveil.mechanisms.mechanism import Floats

__all__ = ["reach", "widened", "widening_error"]


def reach(m: int) -> int:
    """Return by how many cells a kernel of m cells reaches farther than one of one cell, on each side."""
    return 2 * (m - 1)


def widened(sums: Floats, m: int, axes: tuple[int, ...]) -> Floats:
    """Return the sums for a kernel of m cells; every axis becomes shorter by `reach(m)` on both sides.

    Notes
    -----
    The two-scale relation of B-splines: β³(x/m)/m = Σ_k h_k·β³(x - k), where h_k are the coefficients of
    ((1 + z + ... + z^(m-1))/m)⁴, centred. So the wide kernel of a point is the mean of shifted fine ones, and means
    are taken once, after all points are added.
    """
    for axis in axes if m > 1 else ():
        moved = np.moveaxis(sums, axis, 0)
        for _ in range(4):
            moved = _window_sums(moved, m) / m
        sums = np.moveaxis(moved, 0, axis)
    return np.ascontiguousarray(sums)


def _window_sums(x: Floats, m: int) -> Floats:
    """Return the sums of m successive rows, as sums of windows whose widths are powers of two."""
    length = len(x) - m + 1
    window, width, total, done = x, 1, None, 0
    while True:
        if m & width:
            part = window[done : done + length]
            total = part if total is None else total + part
            done += width
        width *= 2
        if width > m:
            assert total is not None
            return total
        window = window[: len(window) - width // 2] + window[width // 2 :]


def widening_error(m: int, axes: int) -> float:
    """Return the relative error of `widened` in doubles, for sums that are not negative.

    A window takes one rounding for each doubling of its width, one for each further binary digit of m that is 1, and
    one for the division unless m is a power of two.
    """
    ones = m.bit_count()
    roundings = m.bit_length() - 1 + ones - 1 + (ones > 1)
    return 4 * axes * roundings * 2.0**-53 * (1 + 2.0**-20)
