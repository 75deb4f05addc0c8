"""What known noise does to a place: the noises that can be undone point by point, on cells.

The d-dimensional Laplace is a Gaussian of random variance, b²·τ with τ ~ Gamma((d+1)/2, 2). In the plane a few dozen
Gaussians make it up, and each of them is a product of its axes: whatever is exact for Gaussian noise on cells serves
for Laplace noise too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Noise", "NoisyPoints", "cell_kernel", "mixture"]

Floats = NDArray[np.float64]

#: Independent on every point: N(0, scale²) on each coordinate, or density ∝ exp(-length/scale).
Noise: TypeAlias = Literal["gaussian", "laplace"]


@dataclass(frozen=True)
class NoisyPoints:
    """Released points and what is known of their noise.

    Parameters
    ----------
    points : (n, d) array
        In metres.
    noise : {"gaussian", "laplace"}
        Independent on each point.
    scale : (n,) array
        Its scale on each point, in metres.
    """

    points: Floats
    noise: Noise
    scale: Floats


# Equal steps of log(τ/2) integrate a smooth, fast falling function far better than their number suggests. From a
# tenth of the scale to ten of them the density comes out within 1%, at 30 within a tenth; its peak is blunt.
_LOGS = np.arange(-7.0, 4.5, 0.6)


def mixture(noise: Noise) -> tuple[Floats, Floats]:
    """The Gaussians in the plane that make up a noise: their deviations in units of its scale, and their shares."""
    if noise == "gaussian":
        return np.ones(1), np.ones(1)
    shares = np.exp(1.5 * _LOGS - np.exp(_LOGS))
    return np.sqrt(2 * np.exp(_LOGS)), shares / shares.sum()


def cell_kernel(noise: Noise, scale: float, reach: tuple[int, int]) -> Floats:
    """The chance that noise carries a point, uniform in its cell, so many cells away.

    Parameters
    ----------
    noise : {"gaussian", "laplace"}
        Which.
    scale : float
        In cells.
    reach : (int, int)
        How many rows and columns away to go.

    Returns
    -------
    (2·reach[0] + 1, 2·reach[1] + 1) array
        Nothing away stands in the middle.

    Examples
    --------
    >>> cell_kernel("gaussian", 1e-6, (1, 1)).round(4)
    array([[0., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    >>> float(cell_kernel("laplace", 2.0, (60, 60)).sum().round(6))
    1.0
    """
    kernel = np.zeros((2 * reach[0] + 1, 2 * reach[1] + 1))
    for deviation, share in zip(*mixture(noise), strict=True):
        rows, columns = (_axis_kernel(deviation * scale, size) for size in reach)
        kernel += share * np.outer(rows, columns)
    return kernel


def _axis_kernel(sigma: float, reach: int) -> Floats:
    # From a uniform place in one cell to a given cell: the second difference of t·Φ(t) + φ(t), in steps of a cell.
    # Only the far side is taken, where the function falls to 0, so that its differences keep their digits.
    from scipy.special import ndtr

    t = -np.arange(reach + 2) / sigma
    with np.errstate(under="ignore"):
        integral = sigma * (t * ndtr(t) + np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi))
    # On the near side it is larger by t, so that the middle is 1 - 2·(G(0) - G(1)).
    far = np.maximum(integral[:-2] - 2 * integral[1:-1] + integral[2:], 0.0)
    middle = max(1 - 2 * (integral[0] - integral[1]), 0.0)
    return np.concatenate([far[::-1], [middle], far])
