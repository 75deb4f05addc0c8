"""Canaries, and tools that release them: correct ones, written without geoveil, and wrong ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import geoveil as gv
from geoveil.audit import Canaries
from geoveil.noise.reals import Floats

#: The budget that tools claim.
RHO = 5e-5

#: A tool: what it releases for points.
Tool = Callable[[Floats, np.random.Generator], Floats]


def gaussian(x: Floats, rng: np.random.Generator, rho: float = RHO) -> Floats:
    """Gaussian noise with this ρ."""
    return x + rng.normal(scale=1 / math.sqrt(2 * rho), size=x.shape)


def planar_laplace(x: Floats, rng: np.random.Generator, epsilon: float = math.sqrt(4 * RHO)) -> Floats:
    """Planar Laplace noise with this ε: ε²/4-CGP at small distances."""
    angle, radius = rng.uniform(0, 2 * math.pi, len(x)), rng.gamma(2, 1 / epsilon, len(x))
    return np.asarray(x + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def own_points(x: Floats, rng: np.random.Generator, **how: Any) -> Floats:
    """What geoveil releases, each point protected by itself."""
    return np.asarray(gv.Locations(x, protect="point", rng=rng).points(**how).value)


def shared_noise(x: Floats, rng: np.random.Generator, rho: float = RHO) -> Floats:
    """One Gaussian draw for all."""
    return x + rng.normal(scale=1 / math.sqrt(2 * rho), size=2)


def uniform_disc(x: Floats, rng: np.random.Generator, radius: float = 150.0) -> Floats:
    """A uniform point of a disc, as in many apps."""
    angle, length = rng.uniform(0, 2 * math.pi, len(x)), radius * np.sqrt(rng.random(len(x)))
    return np.asarray(x + length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def release(
    tool: Tool, seed: int, n: int = 2000, far: Any = (1.0, 1.5), pings: int = 1, runs: int = 1, rho: float = RHO
) -> Canaries:
    """Return canaries that a tool has released, with distances in multiples of 1/√(2ρ)."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * math.pi, n)
    distance = rng.choice(np.asarray(far) / math.sqrt(2 * rho), n)
    a = rng.uniform(-5000, 5000, (n, 2))
    b = a + distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    at_b = rng.random(n) < 0.5
    x = np.repeat(np.where(at_b[:, None], b, a), pings, axis=0)
    run = np.arange(n) * runs // n
    released = np.concatenate([tool(x[np.repeat(run, pings) == r], rng) for r in range(runs)])
    return Canaries(a, b, at_b, released, np.repeat(np.arange(n), pings), rng.integers(0, 4, n), run)


def truth_sometimes(x: Floats, rng: np.random.Generator, rho: float = RHO, share: float = 0.05) -> Floats:
    """Gaussian noise, but the true point in some outputs."""
    return np.where(rng.random(len(x))[:, None] < share, x, gaussian(x, rng, rho))
