"""Scores tell places apart nearly as well as if the noise were known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geoveil.audit import Canaries, learn_score
from geoveil.noise.reals import Floats
from tests.audit import tools
from tests.audit.tools import RHO


def logarithmic_loss(ratios: Floats) -> float:
    """The mean loss of guesses with these ratios."""
    return float(np.logaddexp(0.0, -ratios).mean())


def true_ratios(canaries: Canaries, tool: tools.Tool) -> Floats:
    """The ratios of the noise itself."""
    far = np.hypot(*(canaries.released - canaries.other).T)
    near = np.hypot(*(canaries.released - canaries.true).T)
    return np.asarray(RHO * (far**2 - near**2) if tool is tools.gaussian else math.sqrt(4 * RHO) * (far - near))


@pytest.mark.parametrize("tool", [tools.gaussian, tools.planar_laplace])
def test_nearly_optimal(tool: tools.Tool) -> None:
    """From 400 canaries, others are told apart nearly as well as by the density of the noise."""
    score = learn_score(tools.release(tool, 1, n=400))
    others = tools.release(tool, 2, n=20_000)
    assert logarithmic_loss(score.ratios(others)) < 1.02 * logarithmic_loss(true_ratios(others, tool))


def test_disc_edge_seen() -> None:
    """Beyond the edge of a disc of noise a place is ruled out."""
    score = learn_score(tools.release(tools.uniform_disc, 3, n=2000))
    others = tools.release(tools.uniform_disc, 4, n=4000)
    out = np.hypot(*(others.released - others.other).T) > 152
    assert out.mean() > 0.2
    assert (score.ratios(others)[out] > 2).mean() > 0.95


def test_exact_points_seen() -> None:
    """A released point that is the true one now and then is known for it."""
    score = learn_score(tools.release(tools.truth_sometimes, 5, n=2000))
    others = tools.release(tools.truth_sometimes, 6, n=4000)
    exact = np.hypot(*(others.released - others.true).T) < 1e-6
    assert (score.ratios(others)[exact] > 2).all()


def test_exchange_changes_sign() -> None:
    """Seen from the other place, a ratio has the other sign."""
    told = tools.release(tools.planar_laplace, 7, n=300)
    score = learn_score(told)
    swapped = Canaries(told.b, told.a, told.at_b, told.released, told.person, told.place, told.run)
    assert np.allclose(score.ratios(swapped), -score.ratios(told))


def test_silent_tool() -> None:
    """If nothing is released, nothing is told apart."""
    told = tools.release(tools.gaussian, 8, n=300)
    silent = Canaries(told.a, told.b, told.at_b, np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
    assert (learn_score(silent).ratios(silent) == 0).all()
