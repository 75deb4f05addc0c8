"""The paper's experiments on real taxis give the means that were measured before and that the paper reports.

What was measured before: the authors' conventions on all 536 taxis, 200 runs a cell; here a sample of the taxis is at
hand. Means agree if they differ by no more than the joint error of both samples allows, trajectories being clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeAlias

import numpy as np
import pytest
from scipy.special import stdtrit

from geoveil.geo.formats.fingerprints import digest
from geoveil.paper.experiments.cells import Cell, Study
from geoveil.paper.experiments.extension_cells import CompositionCell, NearestDimensionCell, PointsDimensionCell
from geoveil.paper.experiments.procedures import AUTHORS
from geoveil.paper.experiments.tables import Summary
from geoveil.paper.experiments.taxi_cells import HullCell, NearestCell, PointsCell
from geoveil.paper.experiments.taxis import load
from tests.cabspotting import Floats, folder, requires_cabspotting

pytestmark = pytest.mark.slow

#: The probability with which one comparison fails by chance.
FALSE_ALARM = 1e-6
#: Runs behind each number that was measured before.
RUNS = 200
N = 20_000

#: Values and their taxis, by line and measure.
Measured: TypeAlias = dict[tuple[str, str], tuple[Floats, list[str]]]


@dataclass(frozen=True)
class Known:
    """A mean that was measured before; its standard error, where it was stated."""

    cell: Cell
    line: str
    measure: str
    mean: float
    error: float | None = None


def _known() -> list[Known]:
    points = {5e-8: (1.94e6, 1.06e8), 5e-5: (6.16e4, 3.34e6), 5e-4: (1.94e4, 1.04e6)}
    found = [
        Known(PointsCell(N, rho), f"{notion} Basic", "largest error", mean)
        for rho, means in points.items()
        for notion, mean in zip(("CGP", "GP"), means, strict=True)
    ]
    lines: tuple[str, ...] = ("CGP PNN", "GP PNN", "CGP Basic", "GP Basic")
    ratios = {
        5e-5: ((21.8, 1.5), (24.5, 1.6), (22.6, 1.6), (29.6, 1.9)),
        5e-4: ((14.3, 0.9), (16.5, 1.2), (15.3, 1.1), (28.3, 1.9)),
        1e-2: ((4.93, 0.21), (6.47, 0.28), (5.51, 0.25), (22.6, 1.5)),
    }
    for rho, stated in ratios.items():
        asked = NearestCell(N, rho, 100)
        found += [Known(asked, line, "distance ratio", *each) for line, each in zip(lines, stated, strict=True)]
    lines = ("CGP PCH", "GP PCH", "CGP Basic")
    hulls = {5e-8: (0.130, 0.012, 2.5e-4), 5e-5: (0.772, 0.760, 0.181), 5e-4: (0.942, 0.908, 0.562)}
    probes = {5e-8: (16, 16), 5e-5: (22, 16), 5e-4: (48, 16)}
    for rho in hulls:
        cell = HullCell(N, rho)
        found += [Known(cell, line, "Jaccard index", mean) for line, mean in zip(lines, hulls[rho], strict=True)]
        found += [Known(cell, line, "probes", mean) for line, mean in zip(lines, probes[rho], strict=False)]
    return found


KNOWN = _known()
CELLS = list(dict.fromkeys(known.cell for known in KNOWN))


@cache
def study(trajectories: int) -> Study:
    """All taxis that are at hand, cleaned in a folder of their own."""
    place = folder()
    assert place is not None
    taxis = load(place, AUTHORS, Path(mkdtemp()), digest(place))
    return Study(seed=2023, trajectories=trajectories, procedure=AUTHORS, taxis=taxis)


@cache
def measured(
    cell: Cell, repetitions: int = 1, trajectories: int = 80
) -> dict[tuple[str, str], tuple[Floats, list[str]]]:
    """Return the values of a cell and their taxis, by line and measure."""
    found: dict[tuple[str, str], tuple[list[float], list[str]]] = {}
    everything = study(trajectories) if cell.real else Study(2023, trajectories, AUTHORS)
    for repetition in range(repetitions):
        for line, measure, taxi, value in cell.batch(everything, repetition):
            values, taxis = found.setdefault((line, measure), ([], []))
            values.append(value)
            taxis.append(taxi)
    return {key: (np.array(values), taxis) for key, (values, taxis) in found.items()}


def apart(known: Known, values: Floats, taxis: list[str]) -> float:
    """How far the means are apart, in parts of what chance allows."""
    own = Summary.of(values, taxis)
    before = values.std() / math.sqrt(RUNS) if known.error is None else known.error
    allowed = stdtrit(own.taxis - 1, 1 - FALSE_ALARM / 2) * math.hypot(own.error, before)
    # What was written down was rounded to three digits, probes to whole numbers.
    rounding = 0.5 if known.measure == "probes" else 0.005 * abs(known.mean)
    return float(abs(own.mean - known.mean) / (allowed + rounding))


def check_against_known(cell: Cell, found: Measured) -> None:
    """All means of a cell agree with what is known of it."""
    for known in KNOWN:
        if known.cell == cell:
            assert apart(known, *found[known.line, known.measure]) < 1, known


@pytest.mark.deep
@requires_cabspotting
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_means_as_measured(cell: Cell) -> None:
    """With the authors' conventions every mean falls within the joint sampling error, and other noise does not."""
    found = measured(cell)
    check_against_known(cell, found)
    rho = cell.settings()["rho"]
    for known in KNOWN:
        values, taxis = found.get((known.line, known.measure), (np.empty(0), []))
        if known.cell == cell and known.measure == "largest error":
            # Errors of points are proportional to the noise: a tenth more of CGP's, a quarter of GP's.
            assert apart(known, values * (1.1 if known.line == "CGP Basic" else 1.25), taxis) > 1
        elif type(known.cell) is type(cell) and known.line in ("CGP PNN", "CGP PCH") and known.measure != "probes":
            # Another budget, twenty times as large or as small.
            other = known.cell.settings()["rho"]
            assert apart(known, values, taxis) > 1 or max(rho / other, other / rho) < 20


@pytest.mark.long
@requires_cabspotting
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_repeated_means_as_measured(cell: Cell) -> None:
    """Means of ten repetitions of fifty trajectories fall within the joint sampling error."""
    check_against_known(cell, measured(cell, 10, 50))


def mean_of(cell: Cell, line: str, measure: str) -> float:
    """The mean of one line."""
    return float(measured(cell)[line, measure][0].mean())


def significantly_less(cell: Cell, less: str, more: str, measure: str) -> bool:
    """Whether one line is below another on the same tuples, by more than chance allows."""
    (low, taxis), (high, _) = measured(cell)[less, measure], measured(cell)[more, measure]
    own = Summary.of(high - low, taxis)
    return bool(own.mean > own.error * stdtrit(own.taxis - 1, 1 - FALSE_ALARM))


def grows_with(exponent: float, settings: list[float], values: list[float], tolerance: float) -> bool:
    """Whether values are proportional to a power of the settings."""
    slope = np.polyfit(np.log(settings), np.log(values), 1)[0]
    return abs(float(slope) - exponent) < tolerance


@requires_cabspotting
def test_gp_errs_more() -> None:
    """Largest errors of GP Basic and CGP Basic differ by nearly √n, whatever ρ is, and both fall with √ρ."""
    for rho in (5e-8, 5e-5, 5e-4):
        cell = PointsCell(N, rho)
        ratio = mean_of(cell, "GP Basic", "largest error") / mean_of(cell, "CGP Basic", "largest error")
        assert 0.3 < ratio / math.sqrt(N) < 0.5
    for line in ("GP Basic", "CGP Basic"):
        means = [mean_of(PointsCell(N, rho), line, "largest error") for rho in (5e-8, 5e-5, 5e-4)]
        assert grows_with(-0.5, [5e-8, 5e-5, 5e-4], means, 0.02)
        assert not grows_with(-0.55, [5e-8, 5e-5, 5e-4], means, 0.02)


@requires_cabspotting
@pytest.mark.parametrize(("line", "exponent"), [("CGP Basic", 0.5), ("GP Basic", 1.0), ("GP best", 1.0)])
def test_point_errors_grow(line: str, exponent: float) -> None:
    """The mean square error of a point grows with n and n²: the tuple's Euclidean error has √n more."""
    sizes = [1250.0, 2500.0, 5000.0]  # every taxi has as many
    means = [mean_of(PointsCell(int(n), 5e-5), line, "l2 error") / math.sqrt(n) for n in sizes]
    assert grows_with(exponent, sizes, means, 0.01)
    assert not grows_with(exponent + 0.05, sizes, means, 0.01)


@pytest.mark.parametrize(("notion", "exponent"), [("CGP", 0.5), ("GP", 1.0)])
def test_answer_errors_grow(notion: str, exponent: float) -> None:
    """K adaptive questions under one budget cost √k more noise under CGP, and k times as much under GP."""
    ks = [10.0, 100.0, 1000.0]
    means = [float(measured(CompositionCell(int(k)), 3)[notion, "mean error"][0].mean()) for k in ks]
    assert grows_with(exponent, ks, means, 0.08)
    assert not grows_with(exponent + 0.2, ks, means, 0.08)


@pytest.mark.parametrize(("line", "exponent"), [("CGP Basic", 0.5), ("GP Basic", 1.0)])
def test_dimension_errors_grow(line: str, exponent: float) -> None:
    """With √d under CGP and with d under GP; a search's error does not grow at all."""
    d = [2.0, 3.0, 5.0, 10.0]
    means = [mean_of(PointsDimensionCell(int(each)), line, "mean error") for each in d]
    assert grows_with(exponent, d, means, 0.08)
    assert not grows_with(exponent + 0.2, d, means, 0.08)
    few, many = (measured(NearestDimensionCell(each), 2)["CGP PNN", "excess"][0] for each in (2, 10))
    error = math.hypot(few.std(), many.std()) / math.sqrt(len(few))
    assert abs(few.mean() - many.mean()) < 5 * error
    assert abs(1.5 * few.mean() - many.mean()) > 5 * error


@requires_cabspotting
def test_papers_hull_is_flat() -> None:
    """PCH keeps its Jaccard index as tuples grow; that of the baseline falls."""
    small, large = HullCell(1250, 5e-5), HullCell(5000, 5e-5)
    for line in ("CGP PCH", "GP PCH"):
        few, many = (np.asarray(measured(cell)[line, "Jaccard index"][0]) for cell in (small, large))
        assert abs(few.mean() - many.mean()) < 0.1
    assert mean_of(large, "CGP Basic", "Jaccard index") < mean_of(small, "CGP Basic", "Jaccard index") - 0.1


@requires_cabspotting
def test_basic_overtakes_search() -> None:
    """For few neighbours PNN is better than CGP Basic; for many, CGP Basic beats first GP PNN, then CGP PNN."""
    few, many = NearestCell(N, 5e-4, 25), NearestCell(5000, 5e-4, 125)
    assert significantly_less(few, "CGP PNN", "CGP Basic", "distance ratio")
    assert not significantly_less(few, "CGP Basic", "CGP PNN", "distance ratio")
    for line in ("GP PNN", "CGP PNN"):
        assert significantly_less(many, "CGP Basic", line, "distance ratio")
        assert not significantly_less(many, line, "CGP Basic", "distance ratio")
    for cell in (few, many):
        assert significantly_less(cell, "CGP Basic", "GP Basic", "distance ratio")


@requires_cabspotting
@pytest.mark.parametrize("cell", [NearestCell(N, 5e-4, 100), HullCell(N, 5e-5)], ids=lambda cell: cell.name)
def test_best_beats_the_paper(cell: Cell) -> None:
    """Under both notions, by more than chance allows."""
    measure, paper = ("distance ratio", "PNN") if isinstance(cell, NearestCell) else ("Jaccard index", "PCH")
    for notion in ("CGP", "GP"):
        pair = (f"{notion} best", f"{notion} {paper}")
        less, more = pair if paper == "PNN" else pair[::-1]
        assert significantly_less(cell, less, more, measure)
        assert not significantly_less(cell, more, less, measure)
