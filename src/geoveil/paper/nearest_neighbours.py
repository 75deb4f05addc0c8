"""Section 4.3: nearest neighbours, by the sparse vector technique."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from geoveil._types import Epsilon, PlaceLike, Rho
from geoveil.host.arithmetic import steady
from geoveil.paper.asking import Metres, run
from geoveil.queries import FirstWithin, Nearest
from geoveil.release import Release

__all__ = ["nearest", "sparse_vector"]


@steady()
def sparse_vector(
    x: ArrayLike,
    p: PlaceLike,
    threshold: float,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    crs: Metres = None,
    rng: np.random.Generator | None = None,
) -> Release:
    """Find the first point whose distance from a public place is at most a threshold (Algorithm 1).

    Parameters
    ----------
    x, rho, epsilon, crs, rng
        As for `identity`.
    p : array
        The public place: d numbers.
    threshold : float
        The threshold T in metres.

    Returns
    -------
    Release
        Its value is the position of that point, or None. Its distance is at most T + `error(beta)`, and that of every
        point before it more than T - `error(beta)`.

    Notes
    -----
    The queries g_j(x) = ‖x_j - p‖ are 1-Lipschitz. The threshold gets the noise W ~ Lap(1/ε₁) once, and each query
    V_j ~ Lap(2/ε₂), with ε₁ = ε₂ = ε/2. The first j with g_j(x) + V_j ≤ T + W is released, which is ε-GP
    (Appendix D), and with ε = √(2ρ) it is ρ-CGP.

    Examples
    --------
    >>> import geoveil as gv
    >>> import numpy as np
    >>> walk = np.column_stack([np.arange(50) * 100.0, np.zeros(50)])
    >>> release = gv.paper.sparse_vector(walk, (4000, 0), 500, rho=1, rng=np.random.default_rng(1))
    >>> release.value, round(release.error(0.05), 1)
    (36, 18.2)
    """
    return run(FirstWithin, x, rho, epsilon, crs, rng, p=p, radius=threshold)


@steady()
def nearest(
    x: ArrayLike,
    p: PlaceLike,
    k: int = 1,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    gamma0: float = 0.0,
    crs: Metres = None,
    rng: np.random.Generator | None = None,
) -> Release:
    """Find the k points nearest to a public place: PNN (Algorithm 2) if k is 1, else k-PNN (Algorithm 3).

    Parameters
    ----------
    x, rho, epsilon, crs, rng
        As for `identity`.
    p : array
        The public place: d numbers.
    k : int
        The number of neighbours.
    gamma0 : float
        γ0 in metres, which is added to the noisy smallest distance. A smaller γ0 has a smaller error. The paper's loop
        would then take longer; here every γ0 takes one pass.

    Returns
    -------
    Release
        Its value is the positions of the neighbours, in the order found. `error(beta)` bounds how much farther than
        the true j-th neighbour the j-th one found is.

    Notes
    -----
    PNN sets T = h(x) + Lap(3/ε) + γ0 for the smallest distance h, which is 1-Lipschitz (Lemma 4.9), and then runs the
    sparse vector technique with 2ε/3 over the points again and again until it halts: ε-GP. k-PNN repeats it k times
    without the points found before, with √(2ρ/k) for ρ-CGP and ε/k for ε-GP.

    Examples
    --------
    >>> import geoveil as gv
    >>> import numpy as np
    >>> walk = np.column_stack([np.arange(50) * 100.0, np.zeros(50)])
    >>> release = gv.paper.nearest(walk, (0, 0), k=3, rho=1, rng=np.random.default_rng(1))
    >>> sorted(release.value.tolist()), round(release.error(0.05), 1)
    ([0, 1, 2], 61.1)
    """
    return run(Nearest, x, rho, epsilon, crs, rng, p=p, k=k, gamma0=gamma0)
