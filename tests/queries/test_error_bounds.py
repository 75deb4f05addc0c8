"""The theorems' error bounds, held against the true errors of many releases about real taxi points.

With -s the measured ratios are printed as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.cabspotting import Floats, folder, names, requires_cabspotting, synthetic, trajectory
from tests.measure import CASES, Measured, first_within_at_worst, measure, measure_at_once, nearest_at_worst

pytestmark = [pytest.mark.deep, pytest.mark.slow, pytest.mark.statistical]

EXACT = pytest.mark.parametrize("name", [q.name for q in CASES.values() if q.exact])
WORST_CASE = pytest.mark.parametrize("name", [q.name for q in CASES.values() if not q.exact])
AT_WORST = pytest.mark.parametrize("budget", [{"rho": 1e-4}, {"epsilon": 0.0722}], ids=["rho", "epsilon"])

Ask = Callable[[str], Measured]


def tuples() -> list[Floats]:
    """Some 2000 points of each of ten taxis, or of one made-up trajectory."""
    if folder() is None:
        return [synthetic(2000)]
    return [trajectory(name)[::10] for name in names()[::6]]


@pytest.fixture(scope="module")
def measured() -> Iterator[Ask]:
    """Measures questions, and prints what was measured in the end."""
    rows = []
    data = tuples()

    def ask(name: str) -> Measured:
        question = CASES[name]
        if question.few:
            result = measure_at_once(question, data[0][:: len(data[0]) // 5], question.runs)
        else:
            # An exact bound does not depend on the points.
            result = measure(question, data[:1] if question.exact else data, question.runs)
        rows.append(f"{name:46} {result.bound:9.0f} m {result.ratio:8.3f} {len(result.parts):7}")
        return result

    yield ask
    print(f"\n{'question':46} {'error(0.05)':>11} {'/ measured':>8} {'runs':>6}", *rows, sep="\n")


@EXACT
def test_exact_bound_is_tight(name: str, measured: Ask) -> None:
    """At most 5% of errors exceed error(0.05), and it is at most 1.05 times their 95% quantile, up to chance.

    The same checks reject the bound of a scale that is 10% too small, and a bound that is 25% too large.
    """
    result = measured(name)
    assert not result.fails_too_often()
    assert not result.fails_too_rarely(1 / 1.05)
    assert result.fails_too_often(0.9)
    assert result.fails_too_rarely(1.25 / 1.05)


@WORST_CASE
def test_worst_case_bound_holds(name: str, measured: Ask) -> None:
    """At most 5% of errors exceed error(0.05); the check rejects a bound that fails in one release of five."""
    result = measured(name)
    assert not result.fails_too_often()
    assert result.fails_too_often(0.999 * float(np.quantile(result.parts, 0.8)))


@AT_WORST
def test_nearest_worst_case(budget: dict[str, float]) -> None:
    """On the tuple that is worst for it the bound of one nearest neighbour is exact; one 10% smaller is rejected."""
    at_bound = nearest_at_worst(500, 3000, **budget)
    assert not at_bound.fails_too_often()
    assert not at_bound.fails_too_rarely()
    assert nearest_at_worst(500, 3000, factor=0.9, **budget).fails_too_often(0.9)


@AT_WORST
def test_first_within_worst_case(budget: dict[str, float]) -> None:
    """The bound of the first visit holds on the tuple that is worst for it; one 15% smaller is rejected."""
    assert not first_within_at_worst(2000, 1500, **budget).fails_too_often()
    assert first_within_at_worst(2000, 1500, factor=0.85, **budget).fails_too_often(0.85)


@requires_cabspotting
def test_taxis_in_metres() -> None:
    """A taxi's points lie around San Francisco in metres of UTM zone 10N, and consecutive ones near each other."""
    x = trajectory(0)
    assert x.ndim == 2
    assert x.shape[1] == 2
    assert np.all(np.abs(np.median(x, axis=0) - [551_000, 4_181_000]) < 5000)
    assert np.median(np.hypot(*np.diff(x, axis=0).T)) < 1000
