"""Questions about a crowd: maps, counts in regions and flows, with noise that does not grow with the crowd."""

from geoveil.queries.crowd.counts import MapBeside, RegionCounts
from geoveil.queries.crowd.crowd_query import CrowdKernel, CrowdQuery, Replacement
from geoveil.queries.crowd.flows import Flows
from geoveil.queries.crowd.lattice import Lattice
from geoveil.queries.crowd.maps import CrowdMap
from geoveil.queries.crowd.region_shares import Regions
from geoveil.queries.crowd.sums import KernelSums, PairedSums, PlaceSums, TripSums

__all__ = [
    "CrowdKernel",
    "CrowdMap",
    "CrowdQuery",
    "Flows",
    "KernelSums",
    "Lattice",
    "MapBeside",
    "PairedSums",
    "PlaceSums",
    "RegionCounts",
    "Regions",
    "Replacement",
    "TripSums",
]
