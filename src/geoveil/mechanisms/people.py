"""Many people's noise at once, without a call for each person."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geoveil.mechanisms.copies import Copies
from geoveil.mechanisms.gaussian import Gaussian
from geoveil.mechanisms.knorm import KNorm
from geoveil.mechanisms.mechanism import Additive, Floats
from geoveil.noise import Source, ball_product, spherical_laplace

__all__ = ["sample_people"]


def sample_people(mechanisms: Sequence[Additive], sizes: NDArray[np.int64], rows: Floats, source: Source) -> Floats:
    """Noisy values of many people: the rows of one are adjacent, sizes[i] of them the i-th's.

    The mechanisms are of one kind and differ by their size and scale alone.
    """
    if isinstance(mechanisms[0], Gaussian):
        noise = source.normal(rows.shape)
    elif isinstance(mechanisms[0], KNorm):
        noise = ball_product(source, sizes, rows.shape[1])
    else:
        alone = isinstance(mechanisms[0], Copies)
        vectors = np.ones(len(rows), dtype=np.int64) if alone else sizes
        noise = spherical_laplace(source, vectors, rows.shape[1])
    scale = np.repeat([mechanism.scale for mechanism in mechanisms], sizes)
    for column in noise.T:
        column *= scale
    noise += rows
    return noise
