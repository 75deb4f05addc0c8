"""Tables of results: all measurements, and their means, quartiles and standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geoveil.geo.formats.atomic import write_atomically
from geoveil.mechanisms.mechanism import Floats
from geoveil.paper.experiments.cells import Cell
from geoveil.paper.experiments.figure_definitions import Figure, Panel
from geoveil.paper.experiments.runner import COLUMNS, RunPlan

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Summary", "clustered_error", "collect", "markdown", "summaries", "write"]


@dataclass(frozen=True)
class Summary:
    """A summary of the measurements of one line in one cell."""

    #: The mean, the lower and the upper quartile.
    mean: float
    low: float
    high: float
    #: The standard error of the mean; measurements on one trajectory are not taken as independent.
    error: float
    #: The 95% quantile.
    quantile: float
    #: The number of measurements, and of trajectories.
    count: int
    taxis: int

    @classmethod
    def of(cls, values: Floats, taxis: ArrayLike) -> Summary:
        """Summarise values and the trajectories that they were measured on."""
        _, clusters = np.unique(taxis, return_inverse=True)
        low, high, quantile = np.quantile(values, [0.25, 0.75, 0.95])
        error = clustered_error(values, clusters)
        numbers = (float(values.mean()), float(low), float(high), error, float(quantile))
        return cls(*numbers, len(values), int(clusters.max()) + 1)


def clustered_error(values: Floats, clusters: NDArray[np.intp]) -> float:
    """Return the standard error of the mean of values in clusters.

    Parameters
    ----------
    values : array
        The values.
    clusters : array of int
        The cluster of each value, from 0 on.

    Examples
    --------
    >>> round(clustered_error(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1])), 6)   # as of two values
    1.0
    """
    off = np.bincount(clusters, weights=values - values.mean())
    count = len(off)
    if count == 1:
        return math.nan
    return float(np.sqrt(np.square(off).sum() * count / (count - 1)) / len(values))


def collect(plan: RunPlan) -> pa.Table:
    """Return all measurements of a run as a pyarrow table, in the order of its tasks."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa.concat_tables([pq.ParquetFile(plan.part(task)).read() for task in plan.tasks()]).combine_chunks()


#: Summaries by the name of a cell, a line and a measure.
Summaries = dict[tuple[str, str, str], Summary]


def summaries(plan: RunPlan) -> Summaries:
    """Return the summary of each measure of each line in each cell."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    summarised: Summaries = {}
    tasks = plan.tasks()
    for cell in plan.cells:
        parts = [pq.ParquetFile(plan.part(task)).read() for task in tasks if task[0] == cell]
        table = pa.concat_tables(parts)
        lines, measures, taxis = (np.array(table[name].to_pylist()) for name in ("line", "measure", "taxi"))
        values = np.from_dlpack(table["value"].combine_chunks())
        for line, measure in dict.fromkeys(zip(lines.tolist(), measures.tolist(), strict=True)):
            here = (lines == line) & (measures == measure)
            summarised[cell.name, line, measure] = Summary.of(values[here], taxis[here])
    return summarised


def write(plan: RunPlan, figures: Iterable[Figure], summaries: Summaries) -> None:
    """Write the results and their summary as Parquet and CSV, and the summary as Markdown."""
    import pyarrow as pa

    _both(plan.out / "results", collect(plan))
    rows = []
    cells = {cell.name: cell for cell in plan.cells}
    for (name, line, measure), summary in summaries.items():
        cell = cells[name]
        settings = {column: cell.settings().get(column) for column in COLUMNS}
        rows.append({"experiment": cell.experiment, **settings, "line": line, "measure": measure, **vars(summary)})
    _both(plan.out / "summary", pa.Table.from_pylist(rows))
    text = markdown(plan, figures, summaries)
    write_atomically(
        plan.out / "summary.md", lambda temporary: temporary.write_text(text, encoding="utf-8", newline="\n")
    )


def _both(path: Path, table: pa.Table) -> None:
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    write_atomically(path.with_suffix(".parquet"), lambda temporary: pq.write_table(table, temporary))
    write_atomically(path.with_suffix(".csv"), lambda temporary: pc.write_csv(table, temporary))


def markdown(plan: RunPlan, figures: Iterable[Figure], summaries: Summaries) -> str:
    """Return a table of means and quartiles for every panel, as Markdown."""
    settings = plan.settings
    procedure = "the authors' programs" if settings.faithful else "the paper's text"
    text = [f"# Results by the procedure of {procedure}", ""]
    drawn = f"{settings.repetitions} repetitions of {settings.trajectories} trajectories, seed {settings.seed}"
    text += [f"{drawn}. Mean [25th, 75th percentile]; ± is the standard error, by trajectory.", ""]
    for figure in figures:
        text += [f"## {figure.name}: {figure.title}", ""]
        for panel in figure.panels:
            text += _bounds(panel, summaries) if panel.axis == "" else _table(panel, summaries)
    return "\n".join(text)


def _table(panel: Panel, summaries: Summaries) -> list[str]:
    lines = shown(panel, summaries)
    heading = f"{panel.name}, {panel.title}: {panel.measure}"
    text = [f"| {heading}, by {panel.axis} | " + " | ".join(lines) + " |", "|---" * (len(lines) + 1) + "|"]
    for cell in panel.cells:
        values = [_cell(summaries[cell.name, line, panel.measure]) for line in lines]
        text.append(f"| {cell.settings()[panel.axis]:g} | " + " | ".join(values) + " |")
    return [*text, ""]


def _cell(summary: Summary) -> str:
    if summary.count == 1:
        return f"{summary.mean:.4g}"
    error = "" if math.isnan(summary.error) else f" ± {summary.error:.2g}"
    return f"{summary.mean:.4g}{error} [{summary.low:.3g}, {summary.high:.3g}]"


def _bounds(panel: Panel, summaries: Summaries) -> list[str]:
    columns = ("question", "ρ", "measured 95% quantile, m", "our bound, m", "/ measured", "theorem, m", "/ measured")
    text = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    rows = [(cell, line) for cell in panel.cells for line in bounded(cell, summaries)]
    for cell, line in rows:
        measured = summaries[cell.name, line, "error"].quantile
        row = [line, f"{cell.settings()['rho']:g}", f"{measured:.4g}"]
        for measure in ("our bound", "theorem"):
            bound = summaries.get((cell.name, line, measure))
            row += (
                ["", ""]
                if bound is None
                else [f"{bound.mean:.4g}", f"{looseness(cell, line, measure, summaries):.2f}"]
            )
        text.append("| " + " | ".join(row) + " |")
    return [*text, ""]


def looseness(cell: Cell, line: str, bound: str, summaries: Summaries) -> float:
    """Return the ratio of a bound to the measured quantile that it bounds."""
    quantile = summaries[cell.name, line, f"error / {bound}"].quantile
    return 1 / quantile if quantile > 0 else math.inf


def shown(panel: Panel, summaries: Summaries) -> list[str]:
    """Return the lines of a panel, in order."""
    first = panel.cells[0].name
    return [line for name, line, measure in summaries if name == first and measure == panel.measure]


def bounded(cell: Cell, summaries: Summaries) -> list[str]:
    """Return the lines of a cell that measures errors and their bounds."""
    return [line for name, line, measure in summaries if name == cell.name and measure == "error"]
