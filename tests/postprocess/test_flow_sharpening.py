"""Flows that are sharpened."""

from __future__ import annotations

import numpy as np

from geoveil.postprocess.flow_sharpening import blurred_flows, sharpen_flows
from geoveil.postprocess.sharpening import simplex, spline_taps

SHAPE, CELLS, TRIPS = (8, 9), 72, 3000


def flows(seed: int) -> np.ndarray:
    """Return the true flows of trips between a few cells."""
    rng = np.random.default_rng(seed)
    likely = rng.dirichlet(np.full(CELLS, 0.05))
    origin, destination = rng.choice(CELLS, TRIPS, p=likely), rng.choice(CELLS, TRIPS, p=likely)
    return np.bincount(origin * CELLS + destination, minlength=CELLS**2).reshape(CELLS, CELLS).astype(float)


def off(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the sum of all errors, per trip."""
    return float(np.abs(found - truth).sum() / TRIPS)


def test_sharpening_beats_projection() -> None:
    """Sharpened flows are less than half as wrong as blurred ones without negative numbers."""
    truth, taps = flows(1), spline_taps(1)
    noisy = blurred_flows(truth, SHAPE, taps) + np.random.default_rng(2).normal(0, 0.01, truth.shape)
    found = sharpen_flows(noisy, SHAPE, taps, 0.01, TRIPS)
    assert off(found, truth) < 0.5 * off(simplex(noisy.ravel(), TRIPS, at_most=True).reshape(truth.shape), truth)


def test_wrong_kernel_is_worse() -> None:
    """Flows that were blurred by one kernel are not sharpened well by another."""
    truth = flows(3)
    noisy = blurred_flows(truth, SHAPE, spline_taps(1)) + np.random.default_rng(4).normal(0, 0.01, truth.shape)
    right, wrong = (sharpen_flows(noisy, SHAPE, spline_taps(side), 0.01, TRIPS) for side in (1, 2))
    assert off(right, truth) < 0.5 * off(wrong, truth)


def test_flows_keep_public_limits() -> None:
    """Whatever was released, the estimate keeps the public limits."""
    for scale in (1e-6, 1.0, 1e6):
        noisy = np.random.default_rng(5).normal(0, scale, (2, CELLS, CELLS))
        found = sharpen_flows(noisy, SHAPE, spline_taps(1), scale, 10.0)
        assert found.shape == noisy.shape
        assert found.min() >= 0
        assert found.sum() <= 10 * (1 + 1e-9)


def test_trivial_flows() -> None:
    """A single cell, and numbers that are all zero, are no problem."""
    assert sharpen_flows(np.array([[3.0]]), (1, 1), spline_taps(1), 0.1, 5.0).shape == (1, 1)
    assert not sharpen_flows(np.zeros((4, 4)), (2, 2), spline_taps(1), 0.1, 5.0).any()
