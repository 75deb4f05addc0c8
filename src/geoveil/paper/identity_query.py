"""Section 4.2: the identity query releases the whole tuple of points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from geoveil._types import Epsilon, Rho
from geoveil.host.arithmetic import steady
from geoveil.paper.asking import Metres, run
from geoveil.queries import Points
from geoveil.release import Release

__all__ = ["identity"]


@steady()
def identity(
    x: ArrayLike,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    crs: Metres = None,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release all n points with noise.

    Parameters
    ----------
    x : array
        The points, of shape (n, d), in metres.
    rho, epsilon : optional
        The budget; give one of them. A guarantee with its metric may be given in place of a number:
        ``rho=gv.CGP(rho=1e-4, metric="2")`` is the metric of Appendix H.
    crs : "metres", optional
        States that x is in metres, where its numbers could all be degrees.
    rng : numpy.random.Generator, optional
        For tests and experiments only, and the release says so.

    Returns
    -------
    Release
        Its value is the array of noisy points; `error(beta)` bounds the largest of their errors.

    Notes
    -----
    CGP (Theorem 4.8): y_i = x_i + √(n/(2ρ))·N(0, I_d). By composition, ρ/n for each of n points is ρ-CGP.

    GP (Theorem 4.6): y_i has the density ∝ exp(-(ε/n)·‖y_i - x_i‖), the Laplace mechanism in d dimensions of
    Appendix A. By basic composition, ε/n for each of n points is ε-GP.

    Under dist_2 (Appendix H) the budget is not split: the identity is 1-Lipschitz into R^(nd).

    Examples
    --------
    >>> import geoveil as gv
    >>> import numpy as np
    >>> walk = np.column_stack([np.arange(50) * 100.0, np.zeros(50)])
    >>> gv.paper.identity(walk, rho=5e-5).scale, gv.paper.identity(walk, epsilon=0.01).scale
    (707.1067811865477, 5000.0)
    """
    return run(Points, x, rho, epsilon, crs, rng)
