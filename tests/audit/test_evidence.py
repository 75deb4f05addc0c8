"""Verdicts: tools that keep their claim are not accused, those that do not are."""

from __future__ import annotations

from functools import partial

import pytest

from geoveil.audit import judge
from geoveil.errors import InvalidParameter
from geoveil.privacy import CGP, GP
from tests.audit import tools
from tests.audit.tools import RHO

CLAIM = CGP(rho=RHO)


def test_correct_tool_passes() -> None:
    """Gaussian noise that keeps its claim is not accused, and the bound says most of what it gives away."""
    verdict = judge(tools.release(tools.gaussian, 1), CLAIM)
    assert not verdict.found
    assert 0.4 * RHO < verdict.bound <= RHO


@pytest.mark.parametrize("gaussian", [False, True])
def test_four_times_rho(gaussian: bool) -> None:
    """Noise with four times the claimed ρ is found."""
    weak = partial(tools.gaussian, rho=4 * RHO)
    verdict = judge(tools.release(weak, 1), CLAIM, gaussian=gaussian)
    assert verdict.found
    assert RHO < verdict.bound < 4 * RHO


def test_epsilon_of_laplace() -> None:
    """Planar Laplace noise keeps its ε, and not half of it; no independence is needed."""
    canaries = tools.release(tools.planar_laplace, 1, far=(2.0, 3.0))
    epsilon = (4 * RHO) ** 0.5
    assert not judge(canaries, GP(epsilon=epsilon)).found
    assert judge(canaries, GP(epsilon=epsilon / 2), independent=False).found


def test_one_run_dependent() -> None:
    """One run cannot refute CGP under any dependence: it is refused, with what to do."""
    with pytest.raises(InvalidParameter, match="Run the tool on more files"):
        judge(tools.release(tools.gaussian, 1), CLAIM, independent=False)
