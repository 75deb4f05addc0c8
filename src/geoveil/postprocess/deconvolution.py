"""Estimate a heat map of the true points from released points, by deconvolving the known noise.

The number of true points in each cell is estimated by expectation-maximisation (the Richardson-Lucy method of image
restoration): every step raises the likelihood of the released counts, and no count is ever negative.

Too many steps fit the noise. Cross-validation decides when to stop: the released points are split into those at even
and those at odd positions, each half is deconvolved, and each map is scored by the likelihood of the other half. Noise
was drawn independently for each point, so this likelihood is an unbiased score of how well a map predicts released
points, and it falls once further steps fit noise. The error of a map grows with the number of steps and falls with the
number of points, so the whole data set, with twice the points of a half, gets twice the steps. Only released points
are used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geoveil.postprocess.grid import Grid
from geoveil.postprocess.kernels import Floats, Noise, NoisyPoints, cell_kernel

__all__ = ["deconvolve"]

# Two margins, in noise scales: released points are used up to _REACH beyond the grid, and true points are modelled up
# to _BEYOND farther out. Points beyond both hardly affect the grid, and counts assigned to the outermost cells stay
# outside of it.
_REACH: dict[Noise, float] = {"gaussian": 3.0, "laplace": 6.0}
_BEYOND: dict[Noise, float] = {"gaussian": 2.0, "laplace": 3.0}
# Distance, in noise scales, beyond which noise moves practically no point.
_FARTHEST: dict[Noise, float] = {"gaussian": 7.0, "laplace": 20.0}
# Largest margin in cells, unless half of the grid is more: with wider noise, nothing can be recovered.
_WIDEST_MARGIN = 48
# Noise scales within 10% of each other are merged, and more different ones where there would be too many classes.
_ALIKE, _MOST_SCALES = 0.1, 12
_MOST_STEPS = 1000
# Differences in log-likelihood below this are attributed to chance: doubling the steps must gain more than this to
# continue, and among maps whose scores differ by less, the one with the fewest steps is chosen.
_GAIN = 2.0


def deconvolve(releases: Sequence[NoisyPoints], grid: Grid) -> Floats:
    """Estimate the number of true points in each cell.

    Parameters
    ----------
    releases : sequence of NoisyPoints
        The released points, in the plane.
    grid : Grid
        The cells, in metres.

    Returns
    -------
    array of the grid's shape
        Non-negative; their sum is at most the number of points, since true points may lie outside the grid.

    Examples
    --------
    >>> y = np.array([[0.5, 0.5], [0.5, 0.5], [1.5, 0.5], [7.0, 0.5]])
    >>> deconvolve([NoisyPoints(y, "gaussian", np.full(4, 1e-3))], Grid((0, 0, 3, 1), 1)).round(3)
    array([[2., 1., 0.]])
    """
    margin, buffer = _margin(releases, _REACH, grid), _margin(releases, _BEYOND, grid)
    window = grid.grown(margin + buffer)
    observed = np.zeros(window.shape)
    observed[buffer:-buffer, buffer:-buffer] = 1
    blurs: list[_Blur] = []
    halves: tuple[list[Floats], list[Floats]] = ([], [])
    for noise in ("gaussian", "laplace"):
        parts = [part for part in releases if part.noise == noise]
        if not parts:
            continue
        y = np.concatenate([part.points for part in parts])
        which, scales = _alike(np.concatenate([part.scale for part in parts]))
        even = np.arange(len(y)) % 2 == 0
        for k, scale in enumerate(scales):
            blurs.append(_Blur.of(noise, scale / grid.cell, window.shape))
            for half, chosen in zip(halves, (even, ~even), strict=True):
                half.append(observed * window.count(y[chosen & (which == k)]))
    whole = [one + other for one, other in zip(*halves, strict=True)]
    estimated = _Map.of(whole, blurs, observed).after(2 * _best_steps(halves, blurs, observed))
    inside = estimated[margin + buffer : -margin - buffer, margin + buffer : -margin - buffer]
    most = sum(len(part.points) for part in releases)
    return inside * min(1.0, most / max(float(inside.sum()), 1e-300))


def _margin(releases: Sequence[NoisyPoints], scales: dict[Noise, float], grid: Grid) -> int:
    cells = max(scales[part.noise] * float(part.scale.max()) / grid.cell for part in releases)
    return math.ceil(min(max(cells, 1.0), max(max(grid.shape) / 2, _WIDEST_MARGIN)))


def _alike(scale: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the class of similar scales of each point, and the root mean square scale of each class."""
    scales, which = np.unique(scale, return_inverse=True)
    logs = np.log(scales)
    step = max(_ALIKE, (logs[-1] - logs[0]) / _MOST_SCALES)
    _, merged = np.unique(np.floor((logs - logs[0]) / step), return_inverse=True)
    which = merged[which]
    return which, np.sqrt(np.bincount(which, scale**2) / np.bincount(which))


def _best_steps(halves: tuple[list[Floats], list[Floats]], blurs: list[_Blur], observed: Floats) -> int:
    """Return the smallest number of steps after which two halves predict each other best, up to chance."""
    if not all(sum(part.sum() for part in half) for half in halves):
        return 1
    maps = [_Map.of(half, blurs, observed) for half in halves]
    scores = [-math.inf]
    for steps in range(1, _MOST_STEPS + 1):
        for map_ in maps:
            map_.step()
        scores.append(sum(map_.score(other) for map_, other in zip(maps, halves[::-1], strict=True)))
        if scores[steps] < scores[steps // 2] + _GAIN:
            break
    return int(np.argmax(np.array(scores) > max(scores) - _GAIN))


@dataclass(frozen=True)
class _Blur:
    """The convolution of a map on a window with noise of one scale."""

    spectrum: NDArray[np.complex128]
    padded: tuple[int, int]
    shape: tuple[int, int]

    @classmethod
    def of(cls, noise: Noise, scale: float, shape: tuple[int, int]) -> _Blur:
        from scipy.fft import next_fast_len, rfft2

        # The kernel is cut at the size of the window, or where the noise has practically no mass left.
        longest = math.ceil(_FARTHEST[noise] * scale) + 1
        rows, columns = reach = min(shape[0] - 1, longest), min(shape[1] - 1, longest)
        padded = next_fast_len(shape[0] + rows, real=True), next_fast_len(shape[1] + columns, real=True)
        kernel = np.zeros(padded)
        kernel[: 2 * rows + 1, : 2 * columns + 1] = cell_kernel(noise, scale, reach)
        # Rolled so that the middle comes first: the transform is then real and its own adjoint.
        return cls(rfft2(np.roll(kernel, (-rows, -columns), axis=(0, 1))), padded, shape)

    def __call__(self, values: Floats) -> Floats:
        from scipy.fft import irfft2, rfft2

        spread = irfft2(rfft2(values, s=self.padded) * self.spectrum, s=self.padded)
        # Rounding in the transform may give values slightly below 0.
        return np.asarray(np.maximum(spread[: self.shape[0], : self.shape[1]], 0.0))


@dataclass
class _Map:
    """An iterate of expectation-maximisation, given one array of released counts for each blur."""

    counts: list[Floats]
    blurs: list[_Blur]
    observed: Floats
    shares: Floats
    seen: Floats
    values: Floats
    blurred: list[Floats]

    @classmethod
    def of(cls, counts: list[Floats], blurs: list[_Blur], observed: Floats) -> _Map:
        total = np.array([part.sum() for part in counts])
        # The points of every scale are assumed to come from the same map, up to their number.
        shares = total / total.sum() if total.sum() else np.full(len(counts), 1 / len(counts))
        flat = np.full(observed.shape, total.sum() / observed.sum())
        # The probability that a true point of each cell is released inside the observed window.
        seen = np.zeros_like(flat)
        for share, blur in zip(shares, blurs, strict=True):
            seen += share * blur(observed)
        return cls(counts, blurs, observed, shares, seen, flat, [blur(flat) for blur in blurs])

    def step(self) -> None:
        """Perform one step of expectation-maximisation."""
        factor = np.zeros_like(self.values)
        for part, blur, blurred in zip(self.counts, self.blurs, self.blurred, strict=True):
            if part.any():
                # Bounded below by the rounding of the transform, so that no quotient is made of rounding errors.
                expected = np.maximum(blurred, 1e-14 * blurred.max())
                factor += blur(np.divide(part, expected, out=np.zeros_like(part), where=part > 0))
        self.values = self.values * factor / np.maximum(self.seen, 1e-6)
        self.blurred = [blur(self.values) for blur in self.blurs]

    def after(self, steps: int) -> Floats:
        """Return the map after this many further steps."""
        for _ in range(steps):
            self.step()
        return self.values

    def score(self, counts: list[Floats]) -> float:
        """Return the log-likelihood of other counts, given their total number in the observed window."""
        score, predicted = 0.0, 0.0
        for part, share, blurred in zip(counts, self.shares, self.blurred, strict=True):
            at = part > 0
            score += float(part[at] @ np.log(np.maximum(blurred[at], 1e-14 * blurred.max())))
            predicted += share * float((blurred * self.observed).sum())
        return score - float(sum(part.sum() for part in counts)) * math.log(predicted)
