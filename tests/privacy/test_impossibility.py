"""What geo-privacy cannot do: Laplace noise composes linearly, and Gaussian noise has no pure guarantee."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geoveil.errors import InvalidParameter
from geoveil.privacy.impossibility import gaussian_is_not_gp, laplace_composes_linearly
from tests.budgets import MANY, between


@MANY
@given(between(1e-6, 10), st.integers(2, 10_000), st.floats(0.001, 0.999), st.floats(0, 0.25))
def test_laplace_composes_linearly(epsilon: float, k: int, slack: float, delta: float) -> None:
    """Laplace releases compose no better than linearly.

    Whatever part of kε is to be saved, an event contradicts it.
    """
    violation = laplace_composes_linearly(epsilon=epsilon, k=k, slack=slack, delta=delta)
    assert violation.violated
    assert violation.divergence > violation.allowed
    assert violation.epsilon == pytest.approx((1 - slack) * k * epsilon)
    # Nothing contradicts kε itself, which composition does give.
    gap = abs(violation.x - violation.x_other)
    assert violation.log_probability - violation.log_probability_other <= k * epsilon * gap * (1 + 1e-9)


@MANY
@given(between(1e-6, 10), between(1e-2, 1e5), st.floats(0, 0.2499))
def test_gaussian_is_not_gp(epsilon: float, sigma: float, delta: float) -> None:
    """Whatever epsilon Gaussian noise is claimed to have, an event contradicts it."""
    violation = gaussian_is_not_gp(epsilon=epsilon, sigma=sigma, delta=delta)
    assert violation.violated
    assert violation.epsilon == epsilon
    assert violation.allowed == pytest.approx(epsilon * abs(violation.x - violation.x_other))


@pytest.mark.statistical
def test_laplace_violation_simulated() -> None:
    """The two probabilities of the Laplace event are those of drawn noise."""
    runs, k = 200_000, 2
    v = laplace_composes_linearly(epsilon=0.1, k=k, slack=0.9)
    noise = np.random.default_rng(5).laplace(scale=10, size=(runs, k))
    for x, log_probability in ((v.x, v.log_probability), (v.x_other, v.log_probability_other)):
        probability = math.exp(log_probability)
        drawn = float((x + noise >= v.threshold).all(axis=1).mean())
        assert abs(drawn - probability) < 5 * math.sqrt(probability * (1 - probability) / runs)
        assert abs(drawn - 0.9 * probability) > 5 * math.sqrt(probability * (1 - probability) / runs)


@pytest.mark.statistical
def test_gaussian_violation_simulated() -> None:
    """The two probabilities of the Gaussian event are those of drawn noise."""
    runs, sigma = 400_000, 3.0
    v = gaussian_is_not_gp(epsilon=0.3, sigma=sigma)
    noise = np.random.default_rng(6).normal(scale=sigma, size=runs)
    for x, log_probability in ((v.x, v.log_probability), (v.x_other, v.log_probability_other)):
        probability = math.exp(log_probability)
        drawn = float((x + noise >= v.threshold).mean())
        assert abs(drawn - probability) < 5 * math.sqrt(probability * (1 - probability) / runs)
    assert probability > 1e-4


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("epsilon", 0),
        ("epsilon", -1),
        ("epsilon", math.nan),
        ("epsilon", math.inf),
        ("k", 1),
        ("k", 0),
        ("k", 2.5),
        ("slack", 0),
        ("slack", 1),
        ("slack", math.nan),
        ("delta", 0.26),
        ("delta", -1e-9),
        ("delta", math.nan),
    ],
)
def test_laplace_violation_parameters(argument: str, value: Any) -> None:
    """What the theorem does not cover is refused by name."""
    parameters: dict[str, Any] = {"epsilon": 0.1, "k": 10, "slack": 0.1, argument: value}
    with pytest.raises(InvalidParameter, match=rf"^{argument} = "):
        laplace_composes_linearly(**parameters)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("epsilon", 0),
        ("epsilon", math.nan),
        ("epsilon", math.inf),
        ("sigma", 0),
        ("sigma", -1),
        ("sigma", math.nan),
        ("sigma", math.inf),
        ("delta", 0.25),
        ("delta", -1e-9),
        ("delta", math.nan),
    ],
)
def test_gaussian_violation_parameters(argument: str, value: Any) -> None:
    """What the lemma does not cover is refused by name."""
    parameters: dict[str, Any] = {"epsilon": 0.1, "sigma": 100, argument: value}
    with pytest.raises(InvalidParameter, match=rf"^{argument} = "):
        gaussian_is_not_gp(**parameters)
