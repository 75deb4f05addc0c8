"""References for crowd questions, evaluated in another way, and a search for the fastest change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from geoveil.queries.crowd import Flows, Lattice, PairedSums, PlaceSums, RegionCounts, TripSums
from geoveil.queries.crowd.crowd_query import CrowdQuery

Floats = NDArray[np.float64]


def spline(x: Floats, degree: int = 3) -> Floats:
    """The centred B-spline, from truncated powers."""
    order = degree + 1
    terms = [(-1) ** k * math.comb(order, k) * np.maximum(x + order / 2 - k, 0.0) ** degree for k in range(order + 1)]
    return np.where(np.abs(x) < order / 2, sum(terms), 0.0) / math.factorial(degree)


def exact_spline(x: Fraction) -> Fraction:
    """The centred cubic B-spline at a rational number."""
    return _powers(x, 3) / 6


def exact_slope(x: Fraction) -> Fraction:
    """The derivative of the centred cubic B-spline at a rational number."""
    return _powers(x, 2) / 2


def _powers(x: Fraction, degree: int) -> Fraction:
    """The sum of truncated powers whose differences give a cubic spline."""
    cut = [max(x + 2 - k, Fraction(0)) for k in range(5)]
    return sum(((-1) ** k * math.comb(4, k) * math.prod([c] * degree) for k, c in enumerate(cut)), Fraction(0))


def kernel(place: Floats, lattice: Lattice, side: int, degree: int = 3) -> Floats:
    """The kernel of one place in all cells, as rows and columns."""
    x = (place[0] - lattice.west) / lattice.cell - 0.5 - np.arange(lattice.columns)
    y = (place[1] - lattice.south) / lattice.cell - 0.5 - np.arange(lattice.rows)
    return np.outer(spline(y / side, degree), spline(x / side, degree)) / side**2


def exact_value(query: CrowdQuery[PlaceSums], x: Floats, weights: Floats) -> list[list[Fraction]]:
    """The map of points as fractions."""
    lattice, m = query.lattice, query.side
    total = [[Fraction(0)] * lattice.columns for _ in range(lattice.rows)]
    for (a, b), weight in zip(x.tolist(), weights.tolist(), strict=True):
        across = [_factor(a, lattice.west, lattice.cell, i, m) for i in range(lattice.columns)]
        along = [_factor(b, lattice.south, lattice.cell, i, m) for i in range(lattice.rows)]
        for i, row in enumerate(along):
            for j, column in enumerate(across):
                total[i][j] += Fraction(weight) * row * column
    return total


def _factor(a: float, origin: float, cell: float, i: int, m: int) -> Fraction:
    position = (Fraction(a) - Fraction(origin)) / Fraction(cell) - Fraction(1, 2) - i
    return exact_spline(position / m) / m


def evaluated(query: CrowdQuery[Any], x: Floats, weights: Floats | None = None) -> Floats:
    """The value of a query for points (n, 2), or for trips (n, 4), as the package evaluates it."""
    sums = query.accumulator()
    if isinstance(sums, TripSums):
        sums.add(x[:, :2], x[:, 2:], weights)
    else:
        assert isinstance(sums, PlaceSums | PairedSums)
        sums.add(x, weights)
    return query.value(sums).ravel()


def end_modelled(query: CrowdQuery[Any], end: Floats) -> Floats:
    """The numbers of one place or of one end of a trip, from the definition."""
    cells = kernel(end, query.lattice, query.side).ravel()
    if isinstance(query, RegionCounts | Flows) and query.regions is not None:
        cells = query.regions.shares @ cells
    if isinstance(query, RegionCounts) and query.beside is not None:
        beside = kernel(end, query.beside.lattice, query.beside.side).ravel()
        cells = np.concatenate([cells, query.beside.gain * beside])
    return np.asarray(cells)


def modelled(query: CrowdQuery[Any], x: Floats, weights: Floats) -> Floats:
    """The same from the definition."""
    rows = []
    for item in x:
        ends = [end_modelled(query, end) for end in item.reshape(-1, 2)]
        rows.append(ends[0] if len(ends) == 1 else np.outer(*ends).ravel())
    return np.asarray(weights @ np.array(rows))


def changed(query: CrowdQuery[Any], before: Floats, after: Floats, weights: Floats) -> float:
    """How far the value moves, as the package evaluates it."""
    return float(np.linalg.norm(evaluated(query, after, weights) - evaluated(query, before, weights)))


def model_changed(query: CrowdQuery[Any], before: Floats, after: Floats) -> float:
    """How far the value moves for one item of weight 1, from the definition."""
    ends = [[end_modelled(query, end) for end in item.reshape(-1, 2)] for item in (before, after)]
    if len(ends[0]) == 1:
        return float(np.linalg.norm(ends[1][0] - ends[0][0]))
    # Of a ⊗ b - c ⊗ d = (a - c) ⊗ b + c ⊗ (b - d).
    (c, d), (a, b) = ends
    x, y = a - c, b - d
    return math.sqrt((x @ x) * (b @ b) + (c @ c) * (y @ y) + 2 * (x @ c) * (b @ y))


def fastest(
    change: Callable[[Floats, Floats], float], centre: Floats, cell: float, *, starts: int = 6, seed: int = 5
) -> tuple[float, Floats, Floats]:
    """Climb to the two versions of an item between which its value changes most for the distance that its ends move.

    The ends, as rows, start anywhere in a cell about the centre and move by the same small distance, each in its own
    direction. Returns the largest change per metre, and the two versions.
    """
    rng = np.random.default_rng(seed)
    length = 1e-3 * cell

    def ends(z: Floats) -> tuple[Floats, Floats]:
        angle = z[centre.size :]
        step = length / 2 * np.column_stack([np.cos(angle), np.sin(angle)])
        places = centre + cell * z[: centre.size].reshape(centre.shape)
        return places - step, places + step

    best, found = 0.0, (centre, centre)
    for _ in range(starts):
        z = np.append(rng.uniform(-0.5, 0.5, centre.size), rng.uniform(0, 2 * np.pi, len(centre)))
        options = {"maxfev": 200 * len(centre), "xatol": 1e-3, "fatol": 1e-9}
        result = minimize(lambda z: -change(*ends(z)) / length, z, method="Nelder-Mead", options=options)
        if -result.fun > best:
            best, found = -float(result.fun), ends(result.x)
    return best, *found


def random_steps(centre: Floats, cell: float, count: int, *, seed: int = 6) -> Iterator[tuple[Floats, Floats, float]]:
    """Two versions of all places, as rows, each moved by the same length in a direction of its own; and the length.

    Some steps are short, and some so long that they cross the edges of cells, where a value that jumps would jump.
    """
    rng = np.random.default_rng(seed)
    for length in np.resize([1e-6, 0.01, 0.1, 0.5, 1.5], count) * cell:
        before = centre + rng.uniform(-0.5, 0.5, centre.shape) * cell
        angle = rng.uniform(0, 2 * np.pi, len(centre))
        yield before, before + length * np.column_stack([np.cos(angle), np.sin(angle)]), float(length)
