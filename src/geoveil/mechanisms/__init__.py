"""Mechanisms: how the value of a Lipschitz function, or a choice, is released privately."""

from geoveil.mechanisms.batches import sample_people, sample_rows
from geoveil.mechanisms.copies import Copies
from geoveil.mechanisms.exponential import Exponential
from geoveil.mechanisms.gaussian import Gaussian
from geoveil.mechanisms.knorm import KNorm
from geoveil.mechanisms.laplace import Laplace
from geoveil.mechanisms.lipschitz import Lipschitz
from geoveil.mechanisms.mechanism import Additive, Mechanism
from geoveil.mechanisms.nearest_neighbour import NearestNeighbour
from geoveil.mechanisms.permute_and_flip import Draws, PermuteAndFlip
from geoveil.mechanisms.sparse_vector import SparseVector
from geoveil.mechanisms.walks import Walk

__all__ = [
    "Additive",
    "Copies",
    "Draws",
    "Exponential",
    "Gaussian",
    "KNorm",
    "Laplace",
    "Lipschitz",
    "Mechanism",
    "NearestNeighbour",
    "PermuteAndFlip",
    "SparseVector",
    "Walk",
    "sample_people",
    "sample_rows",
]
