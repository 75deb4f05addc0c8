"""Integrals over Laplace noise, whose densities and probabilities have kinks at known places."""

from __future__ import annotations

import numpy as np

from geoveil.mechanisms.mechanism import Floats

__all__ = ["laplace_log_cdf", "panels"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def panels(kinks: Floats, low: float, high: float, longest: float) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on [low, high], on panels that end at the kinks and are not too long."""
    inner = kinks[(kinks > low) & (kinks < high)]
    ends = np.unique(np.concatenate([inner, np.linspace(low, high, int(np.ceil((high - low) / longest)) + 1)]))
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    nodes = middle[:, None] + half[:, None] * _NODES
    return nodes.ravel(), (half[:, None] * _WEIGHTS).ravel()


def laplace_log_cdf(z: Floats) -> Floats:
    """The logarithm of P(V ≤ z), V Laplace of scale 1; of P(V > z), if -z is given."""
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, z - np.log(2), np.log1p(-tail))
