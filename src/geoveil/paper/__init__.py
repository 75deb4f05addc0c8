"""The algorithms of Liang and Yi, "Concentrated Geo-Privacy" (CCS 2023), as they were published.

They take arrays of points in metres, in any dimension. `rho` gives concentrated geo-privacy, `epsilon` pure
geo-privacy. The questions of `geoveil.Locations` have less noise for the same guarantee (docs/understand/paper.md).

==================================================  =======================================
Section 4.2, Appendices A and H: identity query     `identity`
Section 4.3, Algorithm 1: sparse vector technique   `sparse_vector`
Section 4.3, Algorithms 2 and 3: PNN and k-PNN      `nearest`
Section 4.4, Algorithm 4: private convex hull       `hull`
==================================================  =======================================
"""

from geoveil.paper.convex_hull import hull
from geoveil.paper.identity_query import identity
from geoveil.paper.nearest_neighbours import nearest, sparse_vector

__all__ = ["hull", "identity", "nearest", "sparse_vector"]
