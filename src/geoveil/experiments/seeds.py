"""Seeded generators: each task of an experiment has its own, which its coordinates alone determine."""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["generator"]


def generator(seed: int, *coordinates: str | int) -> np.random.Generator:
    """Return the generator of the task at some coordinates.

    The order of tasks, the number of workers and interruptions therefore change no result. It is for experiments only:
    a release draws from the operating system.

    Examples
    --------
    >>> from geoveil.experiments.seeds import generator
    >>> a, b = generator(7, "hull", 3, "abtyff"), generator(7, "hull", 4, "abtyff")
    >>> a.random() == generator(7, "hull", 3, "abtyff").random(), a.random() == b.random()
    (True, False)
    """
    # Coordinates are joined by a character that none of them contains, and hashed, since they may have any length.
    digest = hashlib.sha256("\x1f".join(map(str, coordinates)).encode()).digest()
    return np.random.default_rng(np.random.SeedSequence([seed, int.from_bytes(digest, "big")]))
