"""Numerical integration; over Laplace noise, whose density and probabilities have kinks, in panels."""

from __future__ import annotations

from functools import cache

import numpy as np

from geoveil.mechanisms.mechanism import Floats

__all__ = ["gauss_legendre", "laplace_log_cdf", "panels"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@cache
def gauss_legendre(order: int) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights on [-1, 1]."""
    return np.polynomial.legendre.leggauss(order)


def panels(kinks: Floats, low: float, high: float, longest: float) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights on [low, high], in panels that end at the kinks.

    No panel is longer than `longest`.
    """
    inner = kinks[(kinks > low) & (kinks < high)]
    ends = np.unique(np.concatenate([inner, np.linspace(low, high, int(np.ceil((high - low) / longest)) + 1)]))
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    nodes = middle[:, None] + half[:, None] * _NODES
    return nodes.ravel(), (half[:, None] * _WEIGHTS).ravel()


def laplace_log_cdf(z: Floats) -> Floats:
    """Return the logarithm of P(V ≤ z), V Laplace of scale 1; at -z it is that of P(V > z)."""
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, z - np.log(2), np.log1p(-tail))
