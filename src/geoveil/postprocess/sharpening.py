"""Estimate the true weight of each cell from a blurred and noisy map, using public facts only.

A crowd's heat map is released as kernel sums plus white Gaussian noise: y = T x + N(0, σ²), where x is the weight in
each cell and T the blur by a cubic B-spline. T, σ and the total weight (the number of persons) are public. An estimate
computed from these and from y costs no privacy.

`sharpen` undoes the blur and suppresses the noise at once. `simplex` is the plain projection to non-negative numbers
with the public total, for counts that are not blurred on a lattice. `kernel_side` chooses the kernel before anything
is released.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil import checks
from geoveil.errors import InvalidData, InvalidParameter

__all__ = ["Kernel", "fitted_kernel", "kernel_side", "sharpen", "simplex", "spline_taps"]

Floats = NDArray[np.float64]

# Weight of the default map, as a fraction of the estimate it is made of. A default below the estimate lets weak cells
# vanish; one of full weight would leave some of it in every empty cell.
_DEFAULT = 0.15
# The default is the estimate blurred this many times by the release's own kernel, so that its detail is coarser than
# what noise can imitate; a small even share is added, so that no cell is ruled out.
_BLURS, _EVEN = 4, 1e-3
# The default is renewed this many times, each time followed by this many steps of refitting the map.
_ROUNDS, _STEPS = 4, 12
# The weight of the penalty that ties the two halves of a step together, for a kernel whose largest eigenvalue is 1.
_TIE = 0.03
# The strength of the prior starts at one clump per person, and changes by at most this factor in a step.
_FASTEST, _WEAKEST, _STRONGEST = 1.25, 1e-4, 1e3
# Ratios of noise to the total weight are clipped to this range.
_LEAST_NOISE, _MOST_NOISE = 1e-9, 1e6
# Normal noise beyond this many standard deviations does not occur; released numbers are clipped there.
_FARTHEST = 40.0
# A map shows something if its power, after blurring, is above that of noise by this many standard deviations.
_SHOWS = 3.0
# Largest absolute value of a released number and of a total: sums of such numbers do not overflow.
_LARGEST, _LARGEST_TOTAL = 1e290, 1e15
# Number of cells processed at once, chosen for their intermediate results to fit into the processor's cache.
_TOGETHER = 2**14


class Kernel(NamedTuple):
    """The lattice and the kernel of a heat map's release.

    Parameters
    ----------
    divisions : int
        Lattice cells along the side of each cell of the heat map: the release is made on this finer lattice, sharpened
        there, and added up.
    cells : int
        Side of the kernel, in lattice cells.
    """

    divisions: int
    cells: int


def kernel_side(
    persons: float, rho_s2: float, cells: int, *, most_cells: int = 2_000_000, most_divisions: int = 8
) -> Kernel:
    """Choose the lattice and the kernel of a heat map from public numbers.

    Parameters
    ----------
    persons : float
        The number of persons: the total weight of the map, or of all its slices.
    rho_s2 : float
        The budget ρ times the square of the side of a cell: a number without a unit.
    cells : int
        The number of cells of the map, or of all its slices.
    most_cells : int
        The largest number of lattice cells, unless the map has more.
    most_divisions : int
        The largest number of lattice cells along the side of a cell.

    Returns
    -------
    Kernel
        The lattice has the side s/divisions, and the kernel the side cells·s/divisions.

    Notes
    -----
    A kernel of side S needs noise that is proportional to 1/S²: a narrow kernel blurs less and needs more noise. A
    square of side S contains noise of standard deviation 0.4/(S·√ρ), and a weight of persons·S²/area on average. They
    are equal at S = L, with (L/s)³ = 0.4·cells/(persons·√(ρs²)). On synthetic cities the best side is close to L, and
    a little closer to the side s of the cells that are asked about: S = L^(3/4)·s^(1/4).

    The kernel has two lattice cells at least, where the limits allow it: with one, the position of a person inside a
    cell changes the map in a way that no weight of cells explains (aliasing). Finer lattices than that gain hardly
    anything.

    Examples
    --------
    >>> kernel_side(6653, 5e-5 * 500**2, 64 * 64)
    Kernel(divisions=4, cells=2)
    >>> kernel_side(60, 5e-5 * 500**2, 64 * 64)
    Kernel(divisions=1, cells=2)
    """
    persons = checks.positive("persons", persons, remedy="Give the number of persons, which is public.")
    rho_s2 = checks.positive("rho_s2", rho_s2, remedy="Give the budget times the square of the side of a cell.")
    cells = checks.count("cells", cells, low=1, remedy="Give the number of cells of the map.")
    side = (0.4 * cells / persons / math.sqrt(rho_s2)) ** 0.25
    most_cells = checks.count("most_cells", most_cells, low=1, remedy="Give a number of lattice cells.")
    most_divisions = checks.count("most_divisions", most_divisions, low=1, remedy="Give a whole number.")
    most = max(1, min(most_divisions, math.isqrt(max(most_cells, cells) // cells)))
    # Wider kernels show hardly more than the total, and need a margin around the map that is larger than the map.
    return fitted_kernel(min(side, max(2.0, math.sqrt(cells) / 4)), most)


def fitted_kernel(side: float, most: int) -> Kernel:
    """Return a lattice of at most `most` divisions and a kernel whose side is close to a given one, in cells."""
    for divisions in range(1, most + 1):
        whole = max(2, round(side * divisions))
        if 1 / 1.25 <= whole / (side * divisions) <= 1.25:
            return Kernel(divisions, whole)
    # Two cells or one, whichever is closer by its ratio: the wanted side is less than two cells of the finest lattice.
    return Kernel(most, 2 if side * most > math.sqrt(2) else 1)


def spline_taps(cells: int) -> Floats:
    """Return the blur of a map by a cubic B-spline along one axis, for weight that is even within each cell.

    Parameters
    ----------
    cells : int
        Side of the kernel, in cells of the lattice.

    Returns
    -------
    (4·cells + 1,) array
        Non-negative and symmetric numbers with sum 1: the value of the map at distances of -2·cells to 2·cells cells
        from a cell of weight 1.

    Notes
    -----
    Averaging a cubic B-spline over a cell gives the B-spline of degree 4, whose values at the integers are
    1, 76, 230, 76, 1 over 384. A kernel of m cells follows by the two-scale relation of B-splines: a convolution
    with ((1 + z + ... + z^(m-1))/m)⁴ (Unser, *Splines: a perfect fit for signal and image processing*, 1999).

    Examples
    --------
    >>> spline_taps(1) * 384
    array([  1.,  76., 230.,  76.,   1.])
    """
    taps = np.array([1.0, 76.0, 230.0, 76.0, 1.0]) / 384
    for _ in range(4):
        taps = np.convolve(taps, np.full(checks.count("cells", cells, low=1, remedy="Give cells."), 1 / cells))
    return taps


def simplex(values: ArrayLike, total: float, *, at_most: bool = False) -> Floats:
    """Return the non-negative numbers of a given sum that are closest to noisy ones, in the Euclidean sense.

    Parameters
    ----------
    values : array of any shape
        The released numbers.
    total : float
        The public sum of the true numbers.
    at_most : bool
        Whether the true numbers may add up to less than the total, as do counts in regions that do not cover the
        whole area.

    Returns
    -------
    array of the same shape
        Each is the larger of 0 and the released number minus a constant.

    Notes
    -----
    The projection onto a convex set that contains the truth never moves a release away from it. The constant is found
    exactly by sorting (Held, Wolfe and Crowder, *Validation of subgradient optimization*, 1974).

    Examples
    --------
    >>> simplex([2.0, 1.0, -1.0], 2.0)
    array([1.5, 0.5, 0. ])
    >>> simplex([0.5, 1.0, -1.0], 2.0, at_most=True)
    array([0.5, 1. , 0. ])
    >>> simplex([], 0.0)
    array([], dtype=float64)
    """
    noisy = np.asarray(values, dtype=float)
    if not (np.abs(noisy) <= _LARGEST).all():
        raise InvalidData("values", values, "finite numbers", "Give the released numbers.")
    total = _checked_total(total)
    if noisy.size == 0 and total and not at_most:
        raise InvalidParameter("total", total, "0, where there are no numbers", "Give at least one number.")
    positive: Floats = np.maximum(noisy, 0.0)
    if noisy.size == 0 or (at_most and positive.sum() <= total):
        return positive
    if total == 0:
        return np.zeros_like(noisy)
    # Relative to the largest one, so that no digits are lost to a common offset; what is smaller by more than the
    # total becomes 0 in any case.
    relative = np.maximum(noisy - noisy.max(), -2 * total)
    ordered = np.sort(relative, axis=None)[::-1]
    constants = (np.cumsum(ordered) - total) / np.arange(1, noisy.size + 1)
    return np.asarray(np.maximum(relative - constants[np.flatnonzero(ordered > constants)[-1]], 0.0))


def sharpen(noisy: ArrayLike, taps: ArrayLike, deviation: float, total: ArrayLike, *, at_most: bool = False) -> Floats:
    """Estimate the true weight of each cell from a blurred, noisy map.

    Parameters
    ----------
    noisy : (rows, columns) or (slices, rows, columns) array
        The released map, or one for each slice of time: the blurred weights plus independent N(0, σ²) noise.
        The lattice should extend beyond all true weight by half the length of the taps; what is blurred across its
        edges is not seen.
    taps : (2k + 1,) array
        The blur along each axis: symmetric, non-negative numbers with sum 1 (`spline_taps`).
    deviation : float
        The standard deviation σ of the noise.
    total : float or (slices,) array
        The public total weight of the map; of all slices together, or of each. A person has weight one.
    at_most : bool
        Whether weight may lie outside the lattice, so that less than the total is inside. What is inside is then
        estimated by the sum of the map, where noise alone does not explain its distance to the total.

    Returns
    -------
    array of the same shape
        Non-negative; the sum is the total, or at most the total if `at_most`.

    Notes
    -----
    Maximum entropy (Skilling and Gull, 1991): the estimate minimises

        ‖y − Tx‖²/(2σ²) + λ·Σ(x·log(x/d) − x + d),

    where d is a default map. The first default is even; later ones are 15% of the previous estimate, blurred. The low
    weight of the default removes clutter from empty cells, where the absolute error of a map would accumulate.

    The strength λ is chosen by the public total: it is the one at which the estimate, which is free to have any sum,
    adds up to the total. Too weak a prior takes noise for weight, since no negative cell can compensate for it; too
    strong a prior loses true weight.

    The method of multipliers (Boyd and others, 2011) alternates between a linear filter, by the fast Fourier
    transform, and the entropy of each cell, by Wright's ω function. The number of steps is fixed: the estimate is a
    function of the release alone, and it is close to the minimum, not exactly there.

    A map whose power does not differ from that of noise alone is replaced by an even one: any detail would be noise.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> true = np.zeros((30, 30))
    >>> true[[8, 8, 20], [9, 15, 14]] = 20, 60, 20
    >>> taps = spline_taps(2)
    >>> blur = np.array([np.convolve(row, taps, "same") for row in np.eye(30)])
    >>> released = blur @ true @ blur + rng.normal(scale=0.02, size=true.shape)
    >>> error = lambda x: float(np.abs(x - true).sum() / 100)
    >>> error(simplex(released, 100)) > 3 * error(sharpen(released, taps, 0.02, 100))
    True
    """
    y = np.asarray(noisy, dtype=float)
    if y.ndim not in (2, 3) or 0 in y.shape or not (np.abs(y) <= _LARGEST).all():
        raise InvalidData("noisy", noisy, "a map of finite numbers, or a stack of maps", "Give the released map.")
    kernel = _checked_taps(taps)
    deviation = checks.positive("deviation", deviation, remedy="Give the standard deviation of the noise.")
    if np.ndim(total) == 0:
        joint = _sharpen(y.reshape(-1, *y.shape[-2:]), kernel, deviation, _checked_total(total), at_most)
        return joint.reshape(y.shape)
    totals = np.asarray(total, dtype=float)
    if y.ndim != 3 or totals.shape != y.shape[:1]:
        raise InvalidParameter("total", total, "one number, or one for each slice", "Give the number of persons.")
    slices = zip(y, totals.tolist(), strict=True)
    return np.stack([_sharpen(one[None], kernel, deviation, _checked_total(its), at_most)[0] for one, its in slices])


def _sharpen(y: Floats, taps: Floats, sigma: float, total: float, at_most: bool) -> Floats:
    if at_most and abs(y.sum() - total) > 2 * sigma * math.sqrt(y.size):
        total = min(total, max(float(y.sum()), 0.0))
    if total == 0:
        return np.zeros_like(y)
    # Persons have weight one, but totals below one exist: the smallest unit that the prior knows is then the total.
    unit = min(total, 1.0)
    if sigma > _MOST_NOISE * total:
        y, sigma = y * (_MOST_NOISE * total / sigma), _MOST_NOISE * total
    sigma = max(sigma, _LEAST_NOISE * total)
    y = np.clip(y, -_FARTHEST * sigma, total + _FARTHEST * sigma)
    blur = _Blur(taps, y.shape[-2:])
    if not blur.shows_more_than_noise(y, sigma):
        return np.full_like(y, total / y.size)
    estimate = _most_entropy(y / unit, blur, sigma / unit, total / unit)
    # A map that contradicts its total, with hardly any noise, would leave nothing to scale.
    estimate = np.maximum(estimate, 1e-12 * total / y.size)
    return estimate * (total / float(estimate.sum()))


def _most_entropy(y: Floats, blur: _Blur, sigma: float, total: float) -> Floats:
    """Return the estimate of most entropy, before it is scaled to the total."""
    even = total / y.size
    seen = blur.transform(y) * blur.spectrum
    inverse = 1 / (blur.spectrum**2 + _TIE)
    strength = 1.0
    # Rows one after the other, whatever the order of y: `_set_entropic` writes to the array itself.
    estimate, multiplier = np.zeros(y.shape), np.zeros(y.shape)
    default = np.full(y.shape, _DEFAULT * even)
    for _ in range(_ROUNDS):
        for step in range(_STEPS):
            linear = blur.back((seen + _TIE * blur.transform(estimate - multiplier)) * inverse) + multiplier
            _set_entropic(estimate, linear, strength * sigma**2 / _TIE, default)
            multiplier = linear - estimate
            # The first few steps are far from any solution and say nothing about the strength.
            if step >= 3:
                change = min(max(float(estimate.sum()) / total, 1 / _FASTEST), _FASTEST)
                strength = min(max(strength * change, _WEAKEST), _STRONGEST)
        blurred = blur.back(blur.transform(estimate) * blur.spectrum**_BLURS)
        default = _DEFAULT * (np.maximum(blurred, 0.0) + _EVEN * even)
    return estimate


def _set_entropic(out: Floats, values: Floats, strength: float, default: Floats) -> None:
    """Set `out` to the x that minimises (x − v)²/2 + strength·(x·log(x/default) − x), for each value v.

    It solves x + strength·log(x/default) = v: x is the strength times ω(v/strength + log(default/strength)).
    """
    flat, v, d = out.reshape(-1), values.reshape(-1), default.reshape(-1)
    for start in range(0, len(flat), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        flat[part] = strength * _omega(v[part] / strength + np.log(d[part] / strength))


def _omega(a: Floats) -> Floats:
    """Return Wright's ω: the solution w > 0 of w + log(w) = a, with a relative error below 1e-8.

    Winitzki's approximation and one step of Fritsch, Shafer and Crowley (1973), which is of fourth order. It is three
    times as fast as scipy's, which is exact to the last digit.
    """
    a = np.maximum(a, -700.0)  # e^-700 is positive, and nothing for any map
    b = np.maximum(a, 0.0) + np.log1p(np.exp(-np.abs(a)))
    w = b * (1 - np.log1p(b) / (2 + b))
    rest = a - w - np.log(w)
    more = 1 + w
    q = 2 * more * (more + rest * (2 / 3))
    return np.asarray(w * (1 + rest / more * (q - rest) / (q - 2 * rest)))


class _Blur:
    """The blur of maps of one shape, by Fourier transforms of the last two axes."""

    def __init__(self, taps: Floats, shape: tuple[int, ...]) -> None:
        from scipy.fft import next_fast_len

        # Longer than the map by the reach of the taps: nothing is blurred from one edge to the opposite one.
        reach = len(taps) // 2
        self._shape = shape
        self._padded = tuple(next_fast_len(side + reach, real=True) for side in shape)
        rows, columns = (_spectrum(taps, side) for side in self._padded)
        self.spectrum: Floats = rows[:, None] * columns[: self._padded[1] // 2 + 1]
        # Mean and variance of the power of noise of unit variance that was blurred twice, in one cell.
        self._power = float(np.mean(rows**4) * np.mean(columns**4))
        self._power_variance = 2 * float(np.mean(rows**8) * np.mean(columns**8))

    def transform(self, maps: Floats) -> NDArray[np.complex128]:
        from scipy.fft import rfft2

        return np.asarray(rfft2(maps, s=self._padded))

    def back(self, transformed: NDArray[np.complex128]) -> Floats:
        from scipy.fft import irfft2

        return np.asarray(irfft2(transformed, s=self._padded)[..., : self._shape[0], : self._shape[1]])

    def shows_more_than_noise(self, maps: Floats, sigma: float) -> bool:
        """Return whether maps differ from an even one by more than noise explains.

        They are blurred twice first: noise loses more of its power by that than weights do.
        """
        blurred = self.back(self.transform((maps - maps.mean()) / sigma) * self.spectrum**2)
        chance = math.sqrt(self._power_variance / maps.size)
        return float(np.square(blurred).mean()) > self._power + _SHOWS * chance


def _spectrum(taps: Floats, side: int) -> Floats:
    """Return the eigenvalues of the circular convolution with the taps on a circle of `side` cells."""
    reach = len(taps) // 2
    circle = np.zeros(side)
    # Taps longer than the circle wrap around it more than once.
    np.add.at(circle, np.arange(-reach, reach + 1) % side, taps)
    return np.asarray(np.fft.fft(circle).real)


def _checked_taps(taps: ArrayLike) -> Floats:
    kernel = np.asarray(taps, dtype=float)
    usable = kernel.ndim == 1 and len(kernel) % 2 == 1 and bool(np.isfinite(kernel).all() and (kernel >= 0).all())
    if not usable or abs(kernel.sum() - 1) > 1e-9 or not np.allclose(kernel, kernel[::-1], rtol=0, atol=1e-12):
        allowed = "an odd number of non-negative, symmetric numbers with sum 1"
        raise InvalidParameter("taps", taps, allowed, "Use spline_taps.")
    return kernel


def _checked_total(total: ArrayLike) -> float:
    return checks.between("total", total, 0.0, _LARGEST_TOTAL, remedy="Give the number of persons, which is public.")
