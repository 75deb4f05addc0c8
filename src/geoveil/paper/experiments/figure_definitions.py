"""The figures: the cells and axes of each panel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from geoveil.errors import InvalidParameter
from geoveil.paper.experiments.cells import Cell
from geoveil.paper.experiments.extension_cells import (
    CompositionCell,
    NearestDimensionCell,
    PointsDimensionCell,
    RelationCell,
    SmoothingCell,
)
from geoveil.paper.experiments.taxi_cells import HullCell, NearestCell, PointsCell
from geoveil.paper.experiments.tightness_cells import TightnessCell

__all__ = ["Figure", "Panel", "ParameterRanges", "figures", "select_figures"]

#: The fixed sizes, budgets and numbers of neighbours of panels.
N, RHO, LOW_RHO = 20_000, 5e-5, 1e-2
KS = (50, 75, 100, 125)


@dataclass(frozen=True)
class ParameterRanges:
    """The values on the horizontal axes of the paper's figures."""

    #: The budgets of the main figures, per square metre.
    rho: Sequence[float] = (5e-8, 9e-7, 5e-5, 2.5e-4, 5e-4)
    #: The budgets of the appendix, with low privacy.
    low: Sequence[float] = (1e-4, 1e-2, 1e-1, 1.0)
    #: The numbers of points.
    n: Sequence[int] = (5_000, 10_000, 20_000, 30_000)


@dataclass(frozen=True)
class Panel:
    """One diagram of a figure."""

    #: Its name, such as "fig3a".
    name: str
    #: The parameter that is fixed.
    title: str
    #: The parameter on the horizontal axis; empty where cells are listed one below the other.
    axis: str
    #: The measure on the vertical axis.
    measure: str
    #: Its cells, from left to right.
    cells: tuple[Cell, ...]
    #: The logarithmic axes: "", "x", "y" or "xy".
    log: str


@dataclass(frozen=True)
class Figure:
    """A figure of panels in rows of two."""

    name: str
    title: str
    panels: tuple[Panel, ...]

    @property
    def cells(self) -> list[Cell]:
        """The distinct cells of all panels."""
        return list(dict.fromkeys(cell for panel in self.panels for cell in panel.cells))


def figures(ranges: ParameterRanges) -> dict[str, Figure]:
    """Return all figures by name: those of the paper with its numbers, and those beyond it."""
    made = [*_paper("", ranges.rho, RHO, ranges.n, 2), _relation()]
    made += _paper(" in the low privacy regime", ranges.low, LOW_RHO, ranges.n, 7)
    made += [_dimensions(), _composition(), _tightness(), _smoothing()]
    return {figure.name: figure for figure in made}


#: The figures of each group.
_GROUPS: dict[str, tuple[str, ...]] = {
    "paper": ("fig2", "fig3", "fig4", "fig5"),
    "low-privacy": ("fig7", "fig8", "fig9", "fig10"),
    "epsilon-delta": ("fig6",),
    "figures": tuple(f"fig{number}" for number in range(2, 11)),
    "beyond": ("dimensions", "composition", "tightness", "smoothing"),
}


def select_figures(names: Iterable[str], ranges: ParameterRanges) -> list[Figure]:
    """Return the figures of some names, in order; a name is that of a figure, a panel or a group, or "all".

    Examples
    --------
    >>> from geoveil.paper.experiments.figure_definitions import ParameterRanges, select_figures
    >>> [(figure.name, len(figure.panels)) for figure in select_figures(["fig5", "fig3b"], ParameterRanges())]
    [('fig3', 1), ('fig5', 2)]
    """
    every = figures(ranges)
    known = {*every, *(panel.name for figure in every.values() for panel in figure.panels)}
    wanted: set[str] = set()
    for name in names:
        if name == "all":
            wanted |= set(every)
        elif name in _GROUPS:
            wanted |= set(_GROUPS[name])
        elif name in known:
            wanted.add(name)
        else:
            allowed = "all, " + ", ".join([*_GROUPS, *every]) + ", or a panel such as fig3a"
            raise InvalidParameter("figure", name, allowed, "fig2 to fig10 have the paper's numbers.")
    selected = []
    for figure in every.values():
        panels = tuple(panel for panel in figure.panels if {panel.name, figure.name} & wanted)
        if panels:
            selected.append(replace(figure, panels=panels))
    return selected


def _paper(regime: str, rhos: Sequence[float], rho: float, ns: Sequence[int], first: int) -> list[Figure]:
    """Return the paper's four figures of one privacy regime, numbered from `first`."""
    made: list[Figure] = []

    def add(title: str, panels: Sequence[tuple[str, str, str, tuple[Cell, ...], str]]) -> None:
        name = f"fig{first + len(made)}"
        lettered = zip("abcd", panels, strict=False)
        made.append(Figure(name, title + regime, tuple(Panel(name + letter, *rest) for letter, rest in lettered)))

    def by_rho(cell: Callable[..., Cell], **more: float) -> tuple[Cell, ...]:
        return tuple(cell(n=N, rho=each, **more) for each in rhos)

    def by_n(cell: Callable[..., Cell], **more: float) -> tuple[Cell, ...]:
        return tuple(cell(n=each, rho=rho, **more) for each in ns)

    fixed_n, fixed_rho = f"n = {N}", f"ρ = {rho:g}"
    add(
        "Releasing a collection of points",
        [
            (fixed_n, "rho", "largest error", by_rho(PointsCell), "xy"),
            (fixed_n, "rho", "l2 error", by_rho(PointsCell), "xy"),
            (fixed_rho, "n", "largest error", by_n(PointsCell), "y"),
            (fixed_rho, "n", "l2 error", by_n(PointsCell), "y"),
        ],
    )
    add(
        "Nearest neighbours: error with respect to the privacy level",
        [(f"k = {k}", "rho", "distance ratio", by_rho(NearestCell, k=k), "xy") for k in KS],
    )
    add(
        "Nearest neighbours: error with respect to the size of the tuple",
        [(f"k = {k}", "n", "distance ratio", by_n(NearestCell, k=k), "y") for k in KS],
    )
    add(
        "Convex hull",
        [
            (fixed_n, "rho", "Jaccard index", by_rho(HullCell), "x"),
            (fixed_rho, "n", "Jaccard index", by_n(HullCell), ""),
        ],
    )
    return made


def _relation() -> Figure:
    cells = tuple(RelationCell(s) for s in (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.4, 13.0, 16.0, 20.0))
    fixed = f"ρ = {RelationCell.rho:g}"
    panels = (Panel("fig6a", fixed, "s", "Δ", cells, "y"), Panel("fig6b", fixed, "s", "ε", cells, "y"))
    return Figure("fig6", "(ε, δ, Δ)-GP implied by CGP", panels)


def _dimensions() -> Figure:
    points = tuple(PointsDimensionCell(d) for d in (2, 3, 5, 10))
    nearest = tuple(NearestDimensionCell(d) for d in (2, 3, 5, 10))
    return Figure(
        "dimensions",
        "Synthetic points in d dimensions",
        (
            Panel("dimensions-points", "points", "d", "mean error", points, "xy"),
            Panel("dimensions-nearest", f"nearest, k = {NearestDimensionCell.k}", "d", "excess", nearest, "xy"),
        ),
    )


def _composition() -> Figure:
    cells = tuple(CompositionCell(k) for k in (1, 3, 10, 30, 100, 300, 1000))
    panel = Panel("composition-noise", f"ρ = {CompositionCell.rho:g} for all", "k", "mean error", cells, "xy")
    return Figure("composition", "k adaptive questions under one budget", (panel,))


def _tightness() -> Figure:
    cells = (
        TightnessCell(N, RHO, "points"),
        TightnessCell(N, LOW_RHO, "nearest"),
        TightnessCell(N, 1e-3, "hull"),
    )
    return Figure(
        "tightness", "Bounds against measured 95% quantiles", (Panel("tightness-bounds", "", "", "", cells, "x"),)
    )


def _smoothing() -> Figure:
    cells = tuple(SmoothingCell(N, rho) for rho in (5e-7, 5e-5, 5e-3))
    panel = Panel("smoothing-error", f"n = {N}", "rho", "rms error", cells, "xy")
    return Figure("smoothing", "Released trajectories, smoothed", (panel,))
