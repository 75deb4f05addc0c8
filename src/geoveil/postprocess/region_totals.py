"""Estimate how many persons are in each region, with an error that covers noise and blur, from public facts only.

Counts in regions are released with a narrow blur and noise, y = RT_h x + N(0, σ²), beside a coarse map of the same
persons, whose kernel is wide and whose noise is small (`RegionCounts` has the guarantee). Here x is the weight in each
place, R adds up the weights of a region, and T_h moves every place by about h. Shapes, kernels and noise are public.

Both tell how many are in a region, and they err in opposite ways. The sharpened map hardly has noise, but it does
not tell on which side of a border the people near it are. The counts tell that to within a few metres, but have more
noise. `region_totals` combines them: regions with many people at their borders follow the counts, all others the map.

Notes
-----
Near a border, people are modelled as independent clumps: white noise whose power is P persons² per m². Let N₀ be the
power of the map's noise, and N(k) = N₀/|κ̂(k)|² that at the wave number k, after the kernel is undone. The variances
that follow are integrals along the border of a region and over its area:

    map       v₁ = N₀·area + ∫_border E ds,          G(k) = P·N(k)/(P + N(k)),   E = ∫ (G(k) - G(0))/k² dk/2π
    counts    v₂ = σ² + v_b,                         v_b = (√2 - 1)/√π · h·∫_border P ds
    together  k = h/√(2π)·∫_border P ds, the covariance of what both miss

E is what a Wiener filter misses of a step, per metre; v_b is what a Gaussian blur misses. The estimate is
m + g·(y - m), with the map's total m, the gain g = (v₁ - k)/V and V = v₁ + v₂ - 2k; its variance is v₁ - (v₁ - k)²/V.

The power is P = a·d + b·q, where d is the density of the sharpened map and q that of the squares of its cells: clumps
of a persons everywhere, and of a share b of a cell's people where many are. The differences y - m are released
numbers, and their variance is V: a and b are those under which the differences are most likely, by Student's
distribution, whose tails allow for single places with very many people. The stated error is the 95% quantile of that
distribution. It is an estimate, checked on real and made-up cities (`benchmarks/counts.py`); no theorem bounds it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geoveil import checks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["CountBlurs", "RegionTotals", "Surroundings", "count_blurs", "region_totals", "totals_of_counts"]

Floats = NDArray[np.float64]
Shapes = NDArray[np.object_]

#: Mean distance by which a Gaussian blur of deviation 1 moves a place towards one side.
_MOVED = 1 / math.sqrt(2 * math.pi)
#: ∫ (step - normal distribution function)² for a Gaussian blur of deviation 1.
_MISSED = (math.sqrt(2) - 1) / math.sqrt(math.pi)
#: Largest correlation of what the map and the counts miss.
_CORRELATED = 0.9
#: Degrees of freedom of Student's distribution.
_TAILS = 4.0
#: Clumps that are tried: persons in each, and the share of the people of a cell.
_PERSONS, _SHARES = (2.0, 4.0, 8.0, 16.0), (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
#: Their prior, which decides if there are few regions: medians, and standard deviations of their logarithms.
_USUAL_PERSONS, _PERSONS_SPREAD, _USUAL_SHARE, _SHARE_SPREAD = 3.0, 1.0, 0.3, 1.5
#: Without a map: the share of a region's people in a clump.
_SHARE_OF_REGION = 0.1
#: Without a map: how far the density at a border is from that of its two regions, as a share of their mean.
_UNEVEN = 0.5
#: A small even share is added to the density, so that no place is certainly empty.
_EVEN = 1e-3
#: Ratios of power to noise for which E is tabulated.
_RATIOS = np.logspace(-6, 9, 151)
#: Largest number of slices from which the size of clumps is learnt.
_LEARNT = 16
#: Share of the budget for the counts; the map gets the rest. Errors hardly change between a half and nine tenths.
COUNTS_SHARE = 2 / 3
#: For the choice of blurs: persons in a clump (at least, for each person of the crowd, at most), as among check-ins,
_CLUMP, _CLUMP_GROWTH, _LARGEST_CLUMP = 2.0, 0.0015, 15.0
#: of which there are less, down to this share, if fewer people than this are at borders,
_SPARSE, _LEAST_CLUMP = 200.0, 0.3
#: for so many regions. Fewer of them have shorter borders in all, at which fewer places with very many people are.
_USUAL_REGIONS = 250
#: ∫_border E ds is about this times S·P·length, for a map that shows people clearly.
_STEP = 0.1
#: The noise of a map in a square of the kernel's side S is this over S·√ρ.
_SQUARE = 0.4


class CountBlurs(NamedTuple):
    """The blurs of a release of counts, as standard deviations in metres, and the error to expect.

    The error is the standard deviation of the count of a typical region, in persons or visits. No theorem bounds it.
    """

    counts: float
    map: float
    deviation: float


def count_blurs(persons: float, rho: float, areas: Floats, lengths: Floats, *, unit: float = 1.0) -> CountBlurs:
    """Choose the blurs of counts and of the map beside them, from public numbers.

    Parameters
    ----------
    persons : float
        The total weight of a slice.
    rho : float
        The budget of counts and map together.
    areas, lengths : array
        The area of each region and the length of its border, in metres.
    unit : float
        The largest weight of a person.

    Notes
    -----
    Counts with a blur h have the noise variance u²/(2πρ'h²), with their share ρ' of the budget, and miss _MISSED·h·P·L
    at a border of length L. The blur minimises the sum. The map with a kernel of side S has the noise (0.4u)²A/(ρ''S⁴)
    in a region of area A, and misses about 0.1·S·P·L.

    The map is for the many regions with few people: P is the mean density. Counts are for the few that have most of
    the people: their density is taken as √M times the mean, for M regions, and their people come in clumps, which are
    the larger the more people are at borders: their length in all grows with √M.

    Examples
    --------
    >>> blurs = count_blurs(6653, 5e-5, np.full(250, 4e6), np.full(250, 8e3))
    >>> round(blurs.counts), round(blurs.map)
    (16, 284)
    """
    checks.positive("persons", persons, remedy="Give the number of persons, which is public.")
    checks.positive("rho", rho, remedy="Give the budget.")
    area, length = float(np.median(areas)), float(np.median(lengths))
    power = unit * max(persons, unit) / float(np.sum(areas)) * length
    at_borders = persons / unit * math.sqrt(len(areas) / _USUAL_REGIONS)
    alone = min(max(at_borders / _SPARSE, _LEAST_CLUMP), 1.0)
    clump = min(_CLUMP * alone + _CLUMP_GROWTH * at_borders, _LARGEST_CLUMP)
    noise = unit**2 / (2 * math.pi * COUNTS_SHARE * rho)
    missed = _MISSED * clump * math.sqrt(len(areas)) * power
    narrow = (2 * noise / missed) ** (1 / 3)
    map_noise = (_SQUARE * unit) ** 2 * area / ((1 - COUNTS_SHARE) * rho)
    wide = (4 * map_noise / (_STEP * power)) ** (1 / 5) / math.sqrt(3)
    # Neither is wider than regions allow, and the map is the wider one.
    narrow = min(narrow, math.sqrt(area) / 8)
    deviation = math.sqrt(noise / narrow**2 + missed * narrow)
    return CountBlurs(narrow, max(min(wide, math.sqrt(area) / 3), 2 * narrow), deviation)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Regions and their borders on the cells of a map."""

    #: The share of each cell that a region covers.
    shares: csr_array
    #: The metres of a region's border beside a cell, half of them for the cell inside and half for the one outside.
    near: csr_array
    #: The metres of a region's border of which the cell is the one inside, less those of which it is the one outside.
    steps: csr_array
    #: The side of a cell in metres.
    cell: float

    @classmethod
    def of(
        cls, shapes: Shapes, shares: csr_array, corner: tuple[float, float], cell: float, shape: tuple[int, int]
    ) -> Surroundings:
        """Return the surroundings of polygons.

        Parameters
        ----------
        shapes : array of polygons or multipolygons
            The regions, in metres.
        shares : sparse array, regions × cells
            The share of each cell that a region covers.
        corner : (float, float)
            The western and southern edge of the map.
        cell : float
            The side of a cell in metres.
        shape : (int, int)
            The numbers of rows and columns.

        Notes
        -----
        Borders are cut into pieces of half a cell. The cells beside a piece are those half a cell to its left and to
        its right.
        """
        import shapely
        from scipy.sparse import coo_array

        parts, region = shapely.get_parts(shapes, return_index=True)
        rings, part = shapely.get_rings(parts, return_index=True)
        outer = np.append(True, part[1:] != part[:-1])[: len(part)]
        # The inside is to the left of an outer ring that turns to the left, and of a hole that turns to the right.
        left_inside = shapely.is_ccw(rings) == outer
        points, ring = shapely.get_coordinates(shapely.segmentize(rings, cell / 2), return_index=True)
        along = np.diff(points, axis=0)
        length = np.hypot(*along.T)
        pieces = np.flatnonzero((ring[1:] == ring[:-1]) & (length > 0))
        ring, along, length = ring[pieces], along[pieces], length[pieces]
        middle = points[pieces] + along / 2
        aside = np.column_stack([-along[:, 1], along[:, 0]]) * (cell / 2 / length)[:, None]
        aside[~left_inside[ring]] *= -1

        def cells(places: Floats) -> NDArray[np.intp]:
            column, row = np.floor((places - corner) / cell).astype(np.intp).T
            return np.asarray(np.clip(row, 0, shape[0] - 1) * shape[1] + np.clip(column, 0, shape[1] - 1))

        at = np.tile(region[part[ring]], 2), np.concatenate([cells(middle + aside), cells(middle - aside)])
        size = (len(shapes), shape[0] * shape[1])
        near = coo_array((np.tile(length / 2, 2), at), shape=size).tocsr()
        steps = coo_array((np.concatenate([length, -length]), at), shape=size).tocsr()
        return cls(shares, near, steps, cell)


class RegionTotals(NamedTuple):
    """Estimated totals of regions, slices × regions, and the 95% error of each, of noise and blur together."""

    value: Floats
    error: Floats


class _Variances(NamedTuple):
    """Variances of the map's totals and of the counts, of what both miss, and of their difference."""

    map: Floats
    common: Floats
    difference: Floats


def region_totals(
    counts: Floats,
    deviation: float,
    blur: float,
    around: Surroundings,
    maps: Floats,
    sharp: Floats,
    map_deviation: float,
    taps: Floats,
    *,
    unit: float = 1.0,
) -> RegionTotals:
    """Combine blurred counts in regions with a sharpened map; see the module's notes.

    The counts are not corrected for the mean number of people whom the blur takes across a border, as those of
    `totals_of_counts` are: their blur is far narrower than a cell of the map, and borders often follow rivers and
    parks, beside which the map does not show how few people there are. That is part of the stated error.

    Parameters
    ----------
    counts : (slices, regions) array
        The released counts.
    deviation, blur : float
        The standard deviations of their noise, and of their blur in metres.
    around : Surroundings
        The regions on the cells of the map.
    maps, sharp : (slices, rows, columns) array
        The released map, and the same after `sharpen`.
    map_deviation : float
        The standard deviation of the noise in a cell of the map.
    taps : array
        The blur of the map along each axis (`spline_taps`).
    unit : float
        The largest weight of a person.
    """
    slices, area = len(maps), around.cell**2
    side = (len(taps) - 1) // 4
    noise = map_deviation**2 / area
    # What sharpening leaves is added without sharpening: people who are too few to be told from noise.
    totals = (around.shares @ (sharp + maps - _blurred(sharp, taps)).reshape(slices, -1).T).T
    density = sharp.reshape(slices, -1).T / area
    plain, squared = (_smoothed(each, maps.shape, 2 * side + 1) for each in (density, density**2 * area))
    plain += _EVEN * density.mean()
    interior = noise * area * around.shares.power(2).sum(axis=1)

    def variances(persons: float, share: float, chosen: slice) -> _Variances:
        power = np.maximum(persons * unit * plain[:, chosen] + share * squared[:, chosen], 1e-300)
        at_border = side * around.cell * noise * np.interp(np.log(power / noise), np.log(_RATIOS), _missed_steps())
        of_map = (around.near @ at_border).T + interior
        border = (around.near @ power).T * blur
        missed = _MISSED * border
        common = np.minimum(_MOVED * border, _CORRELATED * np.sqrt(of_map * missed))
        return _Variances(of_map, common, deviation**2 + of_map + missed - 2 * common)

    learnt = slice(0, slices, math.ceil(slices / _LEARNT))
    squares = (counts - totals)[learnt] ** 2

    def likelihood(clumps: tuple[float, float]) -> float:
        variance = variances(*clumps, learnt).difference
        fit = np.log(variance) + (_TAILS + 1) * np.log1p(squares / variance / _TAILS)
        prior = (math.log(clumps[0] / _USUAL_PERSONS) / _PERSONS_SPREAD) ** 2
        prior += (math.log(clumps[1] / _USUAL_SHARE) / _SHARE_SPREAD) ** 2
        return -0.5 * (float(fit.sum()) + prior)

    clumps = max(((persons, share) for persons in _PERSONS for share in _SHARES), key=likelihood)
    both = variances(*clumps, slice(None))
    explained = both.map - both.common
    value = totals + explained / both.difference * (counts - totals)
    return RegionTotals(value, _bound(both.map - explained**2 / both.difference))


def totals_of_counts(
    counts: Floats, deviation: float, blur: float, around: Surroundings, *, unit: float = 1.0
) -> RegionTotals:
    """Correct blurred counts in regions where no map is beside them.

    The density is taken as even in each region and zero outside of all. At a border it is known up to half of the mean
    of both sides, and people come in clumps of the usual sizes. See `region_totals` for the parameters.
    """
    areas = np.maximum(around.shares.sum(axis=1), 1e-12) * around.cell**2
    positive = np.maximum(counts, 0.0)
    density = around.shares.T @ (positive / areas).T
    corrected = counts + _MOVED * blur * (around.steps @ density).T
    clumps = _USUAL_PERSONS * unit + _SHARE_OF_REGION * positive
    # Noise hides people in regions that seem to be empty.
    power = around.shares.T @ (np.maximum(counts, deviation) * clumps / areas).T
    border = (around.near @ power).T * blur
    uneven = _UNEVEN * _MOVED * blur * (around.near @ density).T
    return RegionTotals(corrected, _bound(deviation**2 + _MISSED * border + uneven**2))


def _bound(variance: Floats) -> Floats:
    """Return the 95% quantile of the absolute error, by Student's distribution."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(_TAILS, 0.975) * np.sqrt(variance))


def _blurred(maps: Floats, taps: Floats) -> Floats:
    """Return maps after the blur by the taps along both axes."""
    from scipy.ndimage import convolve1d

    return np.asarray(convolve1d(convolve1d(maps, taps, axis=1, mode="constant"), taps, axis=2, mode="constant"))


def _smoothed(columns: Floats, shape: tuple[int, ...], width: int) -> Floats:
    """Return maps, as columns, after a running mean over squares of cells."""
    return np.maximum(_blurred(columns.T.reshape(shape), np.full(width, 1 / width)), 0.0).reshape(shape[0], -1).T


@cache
def _missed_steps() -> Floats:
    """Return E/(S·N₀) for the tabulated ratios P/N₀, where S is the side of the kernel.

    The kernel is a cubic B-spline: κ̂(k) = sinc(kS/2)⁴.
    """
    u = np.linspace(0, 40 * math.pi, 40_001)[1:]
    noise = 1 / np.maximum(np.abs(np.sinc(u / (2 * math.pi))), 1e-12) ** 8
    ratio = _RATIOS[:, None]
    flat = ratio / (1 + ratio)
    missed = (ratio * noise / (ratio + noise) - flat) / u**2
    # Beyond the last wave number nothing is seen.
    tail = (ratio - flat)[:, 0] / u[-1]
    return np.asarray((missed.sum(axis=1) * (u[1] - u[0]) + tail) / math.pi)
