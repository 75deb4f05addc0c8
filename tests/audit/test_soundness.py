"""A thousand audits of correct tools accuse at most as many as the stated level; the bounds show what they should."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import geoveil as gv
from benchmarks import audit as benchmark
from geoveil.audit import judge
from geoveil.noise.reals import Floats
from tests.audit import tools
from tests.audit.tools import RHO

CLAIM = gv.CGP(rho=RHO)


@pytest.mark.long
@pytest.mark.parametrize("case", benchmark.SOUND, ids=lambda case: case[0].replace("`", ""))
def test_correct_tools_pass(case: benchmark.Case) -> None:
    """A hundred audits of a correct tool at 1%: eight accusations have a probability below 1e-5."""
    assert sum(verdict.found for verdict in benchmark.audits(case, 100, 20_000)) < 8


@pytest.mark.long
@pytest.mark.parametrize(("n", "audits", "any_cgp", "gaussian"), [(2000, 20, 0.66, 0.78), (50_000, 2, 0.92, 0.95)])
def test_bounds_near_truth(n: int, audits: int, any_cgp: float, gaussian: float) -> None:
    """The mean bound over the truth is near the bar: random streams are fixed, and the slack is for few audits."""
    for how, far, least in (({}, benchmark.FAR, any_cgp), ({"gaussian": True}, benchmark.FAR_GAUSSIAN, gaussian)):
        shares = [
            judge(tools.release(tools.gaussian, 300 + i, n=n, far=far), CLAIM, **how).bound / RHO
            for i in range(audits)
        ]
        assert least < np.mean(shares) < 1


def question(name: str, **how: object) -> partial[Floats]:
    """What geoveil answers about points that are protected together."""

    def ask(x: Floats) -> Floats:
        value = getattr(gv.Locations(x, crs="metres"), name)(**how).value
        return np.asarray(value.bounds if name == "hull" else value, dtype=float)

    return partial(ask)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("points", {}),
        ("mean", {}),
        ("center", {}),
        ("diameter", {}),
        ("nearest", {"p": [30.0, 40.0], "k": 1}),
        ("distance", {"p": [30.0, 40.0]}),
        ("radius", {}),
        ("median", {}),
        ("hull", {}),
    ],
)
def test_own_questions_pass(name: str, how: dict[str, object]) -> None:
    """No pair of inputs shows that a question of geoveil gives away more than it says."""
    inputs = np.array([[0.0, 0.0], [120.0, 30.0], [-40.0, 80.0]])
    found = gv.audit_mechanism(question(name, rho=CLAIM, **how), CLAIM, inputs=inputs, runs=1500, level=1e-9)
    assert not found.found, str(found)
