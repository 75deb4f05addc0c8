"""Whether released rows are in the order of the canaries: where labels were changed, all rests on that."""

from __future__ import annotations

from typing import Literal

import numpy as np

from geoveil.geo.geometries import Floats

__all__ = ["UNSURE", "order_seen"]

#: What is noted where the order is seen in part.
UNSURE = "the noise is so large that it cannot be told whether all rows are in order"

#: How far the correlation of ranks has to be from 0, in its standard deviations if rows are in any order.
_SURE = 6.5
#: The correlation of ranks from which nearly all rows are in order.
_CLEAR = 0.9
#: How much nearer than by chance this share of rows have to be to the places of canaries for their noise to be small.
_NEARER, _MOST = 0.5, 0.9


def order_seen(released: Floats, places: Floats) -> Literal["yes", "unsure", "no", "unknown"]:
    """Return whether each released point belongs to the place in the same row.

    Rows in order go east and north with their places. If many do not, either rows are in another order, and each is
    still near some place; or the noise is large, and they are no nearer to places than with the noise of another row.

    Parameters
    ----------
    released, places : (n, 2) array
        Released points, and the middles between the two places of their canaries, in metres.

    Returns
    -------
    str
        "yes"; "unsure" if the noise is large but the order can be seen; "no"; "unknown" if nothing can be seen.
    """
    from scipy.spatial import KDTree
    from scipy.stats import rankdata

    ranks = [np.column_stack([rankdata(part) for part in points.T]) for points in (released, places)]
    one, other = (each - each.mean(axis=0) for each in ranks)
    sizes = np.sqrt((one**2).sum(axis=0) * (other**2).sum(axis=0))
    together = float(((one * other).sum(axis=0) / np.maximum(sizes, 1e-9)).mean())
    if together >= _CLEAR and together * np.sqrt(len(places)) > _SURE:
        return "yes"
    tree = KDTree(places)
    # Each row gets the place of one that is far from it in the file.
    exchanged = np.roll(places, len(places) // 2, axis=0) + released - places
    near, chance = (float(np.quantile(tree.query(points)[0], _MOST)) for points in (released, exchanged))
    if near < _NEARER * chance:
        return "no"
    return "unsure" if together * np.sqrt(len(places)) > _SURE else "unknown"
