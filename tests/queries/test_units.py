"""Questions under units: constants of single steps, noise for each point, and mechanisms of many persons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import geoveil as gv
from geoveil.mechanisms import Exponential, PermuteAndFlip

DAY = 86_400.0


@pytest.mark.parametrize("budget", [{"rho": 1e-4}, {"epsilon": 0.02}], ids=["CGP", "GP"])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("locations", [None, 0.5])
def test_each_person_has_the_selection_that_their_units_need(
    budget: dict[str, Any], order: int, locations: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person with one point in each unit does not decide the noise of a person with many, whoever comes first."""
    used = []
    for kind in (Exponential, PermuteAndFlip):
        for name in ("sample_each", "sample_several"):
            drawn = getattr(kind, name)

            def noted(self: Any, distances: Any, *more: Any, drawn: Any = drawn) -> Any:
                used.append((len(distances), self.spread))
                return drawn(self, distances, *more)

            monkeypatch.setattr(kind, name, noted)
    x = np.column_stack([np.arange(9.0) * 100, np.zeros(9)])[::order]
    by = np.array(["ann"] + ["bob"] * 8)[::order]
    for more, times in (({}, None), ({"unit": "1 day"}, np.arange(9) * 3600.0)):
        used.clear()
        rng = np.random.default_rng(1)
        found = gv.nearest(x, [0, 0], k=1, by=by, locations=locations, times=times, rng=rng, **more, **budget)
        assert sorted(used) == [(1, 1.0), (8, 2.0)]
        rows = found.value["nearest"].to_numpy()
        assert [by[row] for row in rows] == [*dict.fromkeys(by)]
