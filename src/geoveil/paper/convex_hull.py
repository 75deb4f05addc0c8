"""Section 4.4: the convex hull."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from geoveil._types import Epsilon, Rho
from geoveil.host.arithmetic import steady
from geoveil.paper.asking import Metres, run
from geoveil.queries import Hull
from geoveil.release import Release

__all__ = ["hull"]


@steady()
def hull(
    x: ArrayLike,
    *,
    rho: Rho = None,
    epsilon: Epsilon = None,
    k: int | Literal["optimal", "authors"] = "optimal",
    share: float = 0.5,
    distinct: bool = False,
    gamma0: float = 0.0,
    beta: float = 0.1,
    crs: Metres = None,
    rng: np.random.Generator | None = None,
) -> Release:
    """Release the convex hull of noisy points near the boundary: PCH (Algorithm 4).

    Parameters
    ----------
    x, rho, epsilon, crs, rng
        As for `identity`; in two or more dimensions.
    k : int, "optimal" or "authors"
        The number of probes on the circle. "optimal" minimises the error bound of Lemma 4.15, given the noisy radius
        (Remark 2); "authors" is the formula of the authors' programs, in the plane.
    share : float
        The share of the remaining budget that finds points; the rest releases them. The paper's text has a half, the
        authors' programs 0.92.
    distinct : bool
        Whether points that were found are left out of later searches, as in the authors' programs.
    gamma0 : float
        γ0 of the searches, as for `nearest`.
    beta : float
        The probability with which the circle may miss a point, for its margin and for choosing k.

    Returns
    -------
    Release
        In the plane a shapely Polygon (a Point or LineString if no more was found), else an (m, d) array of vertices.
        `error(beta)` bounds the Hausdorff distance to the true hull.

    Notes
    -----
    A twentieth of the budget releases the center, the middle of the bounding box, and the radius, the largest distance
    from the noisy center, which is then enlarged. PNN finds the point nearest to each of k probes on that circle. The
    points found are released by the identity query.

    Examples
    --------
    >>> import geoveil as gv
    >>> import numpy as np
    >>> corners = np.array([[0.0, 0.0], [9000.0, 0.0], [9000.0, 9000.0], [0.0, 9000.0]])
    >>> release = gv.paper.hull(np.repeat(corners, 20, axis=0), rho=1, k=16, rng=np.random.default_rng(1))
    >>> round(release.value.area / 1e6)
    81
    """
    return run(Hull, x, rho, epsilon, crs, rng, k=k, share=share, distinct=distinct, gamma0=gamma0, beta=beta)
