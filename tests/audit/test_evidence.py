"""Verdicts: tools that keep their claim are not accused, those that do not are."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from geoveil.audit import judge
from geoveil.audit.evidence import split
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


def check_search_apart() -> None:
    """A tool that tells the truth for all whom the search sees, and nothing for others, is not accused."""
    canaries = tools.release(partial(tools.gaussian, rho=RHO / 1e4), 3, n=1000, far=(0.25, 0.5))
    searched, _ = split(canaries, by_run=False)
    lucky = np.isin(canaries.person, searched)
    released = np.where(lucky[:, None], canaries.true[canaries.person], canaries.released)
    staged = replace(canaries, released=released)
    verdict = judge(staged, CLAIM)
    assert verdict.score != "nothing"
    assert not verdict.found


@pytest.mark.slow
def test_search_apart() -> None:
    """The tests see other canaries than the search."""
    check_search_apart()


def check_four_times_found() -> None:
    """Four times the claimed ρ is found."""
    assert judge(tools.release(partial(tools.gaussian, rho=4 * RHO), 1), CLAIM).found


def check_correct_passes() -> None:
    """A correct tool is not accused, and the tests share the level."""
    for seed in range(4):
        verdict = judge(tools.release(tools.gaussian, seed, n=1000), CLAIM)
        assert not verdict.found
        assert sum(tested.level for tested in verdict.evidence) <= verdict.level * (1 + 1e-12)


@pytest.mark.slow
def test_levels_shared() -> None:
    """Correct tools pass, and the levels of all tests sum up to the stated one."""
    check_correct_passes()


@pytest.mark.slow
def test_runs_are_trials() -> None:
    """One draw for all persons keeps its claim under any dependence; as independent noise it may be accused."""
    shared = tools.release(tools.shared_noise, 4, n=2000, runs=25)
    assert not judge(shared, CLAIM, independent=False).found
    weak = tools.release(partial(tools.shared_noise, rho=16 * RHO), 4, n=2000, runs=40)
    assert judge(weak, CLAIM, independent=False).found


@pytest.mark.slow
def test_worst_place_named() -> None:
    """A tool that is weak at one place is found there."""
    canaries = tools.release(tools.gaussian, 5, n=4000)
    weak = canaries.place[canaries.person] == 2
    near = canaries.true[canaries.person] + 0.1 * (canaries.released - canaries.true[canaries.person])
    verdict = judge(replace(canaries, released=np.where(weak[:, None], near, canaries.released)), CLAIM)
    assert verdict.found
    assert any((tested.group, tested.value) == ("place", 2.0) and tested.budget > RHO for tested in verdict.evidence)


@pytest.mark.slow
def test_delta_allows_rare_truth() -> None:
    """A guarantee with δ allows what it allows: the true place in one of a hundred outputs."""
    canaries = tools.release(partial(tools.truth_sometimes, share=0.01), 6, n=4000, far=(0.5, 1.0))
    assert not judge(canaries, GP(epsilon=0.05, delta=0.02)).found
    assert judge(canaries, GP(epsilon=0.002, delta=1e-9)).found


@pytest.mark.slow
def test_several_points_average() -> None:
    """New noise for each of a person's points averages out, and the claim is for the person."""
    tracks = tools.release(tools.gaussian, 7, pings=9)
    assert judge(tracks, CLAIM).bound > 4 * RHO


@pytest.mark.slow
@pytest.mark.parametrize("tool", [tools.uniform_disc, tools.truth_sometimes])
def test_wrong_tools_found(tool: tools.Tool) -> None:
    """Noise with an edge and the truth now and then are found at short distances, where little may be told."""
    assert judge(tools.release(tool, 8, far=(0.25, 1.0)), CLAIM).found
