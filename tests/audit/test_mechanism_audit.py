"""Audits of mechanisms in Python: correct ones pass, and what is wrong is found at a simple pair."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import geoveil as gv
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.noise.reals import Floats
from tests.audit import tools
from tests.audit.tools import RHO

CLAIM = gv.CGP(rho=RHO)

pytestmark = pytest.mark.slow


def test_correct_mechanism_passes() -> None:
    """Gaussian noise that keeps its claim is not accused, and most of what it gives away is found."""
    rng = np.random.default_rng(1)
    found = gv.audit_mechanism(lambda x: tools.gaussian(x, rng), CLAIM, runs=4000, rng=rng)
    assert not found.found
    assert found.bound > 0.5 * RHO
    assert "proves nothing" in str(found)


def test_rounded_input_found() -> None:
    """Rounding before noise is found, at inputs that are a hair apart, with round numbers."""
    rng = np.random.default_rng(2)

    def rounded(x: Floats) -> Floats:
        return np.asarray(np.round(x, -2) + rng.normal(scale=100.0, size=x.shape))

    found = gv.audit_mechanism(rounded, CLAIM, inputs=[[49.0, 0.0]], runs=4000, rng=rng)
    assert found.found
    # Both coordinates may jump by a standard deviation: the divergence is at most 1.
    assert found.bound * found.distance**2 <= 1.0


def test_simplest_pair_shown() -> None:
    """A mean whose noise is that of n points shows its flaw for one point less, at the origin."""
    rng = np.random.default_rng(3)

    def first_point(x: Floats) -> Floats:
        return np.asarray(x[0] + rng.normal(scale=0.2 / math.sqrt(2 * RHO), size=2))

    found = gv.audit_mechanism(first_point, CLAIM, inputs=np.arange(6.0).reshape(3, 2) * 1234.5, runs=2000, rng=rng)
    assert found.found
    assert found.x.shape == (1, 2)
    assert (found.x == 0).all()


def test_discrete_outputs() -> None:
    """A choice that is right too often is found by the values of its output, and none is a value as well."""
    rng = np.random.default_rng(4)

    def nearest(x: Floats) -> int | None:
        if rng.random() < 0.1:
            return None
        return int((x[0, 0] > 0) != (rng.random() < 0.2))

    claim = gv.GP(epsilon=0.01)
    found = gv.audit_mechanism(nearest, claim, inputs=[[-3.0, 0.0]], runs=2000, rng=rng)
    assert found.found
    assert found.bound * found.distance <= math.log(4)


def test_units_refused() -> None:
    """A guarantee for days does not say how far apart two arrays of locations are: it is refused with what to do."""
    with pytest.raises(InvalidParameter, match="under metric='inf'"):
        gv.audit_mechanism(lambda x: x, gv.CGP(rho=RHO, metric="1 day"))


def _returned(output: Any, x: Floats) -> Any:
    """An output, whatever the input."""
    return output


def test_arguments_are_named() -> None:
    """What is no mechanism, guarantee or location is refused by name, and so is a mechanism without any number."""
    wrong: tuple[tuple[str, dict[str, Any]], ...] = (
        ("guarantee", {"guarantee": 200}),
        ("inputs", {"inputs": "x"}),
        ("inputs", {"inputs": []}),
        ("inputs", {"inputs": np.zeros((2, 2, 2))}),
        ("fn", {"fn": 5}),
    )
    for name, how in wrong:
        with pytest.raises(InvalidParameter, match=name):
            gv.audit_mechanism(**{"fn": lambda x: x, "guarantee": CLAIM, "runs": 200, **how})
    outputs: tuple[Any, ...] = ("a", {}, [[1, 2], [3]], None, np.nan)
    for output in outputs:
        with pytest.raises(InvalidData, match=r"^fn = .*returns .*number"):
            gv.audit_mechanism(partial(_returned, output), CLAIM, runs=200)


def test_missing_outputs_tell() -> None:
    """That there is no number may tell the input, and is no error."""
    found = gv.audit_mechanism(
        lambda x: None if x[0, 0] > 0 else np.nan, CLAIM, runs=2000, rng=np.random.default_rng(1)
    )
    assert found.found
