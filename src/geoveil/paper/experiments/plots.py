"""Plots of the figures, arranged as in the paper: means as lines with bands between the quartiles."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil.errors import InvalidParameter
from geoveil.geo.formats.atomic import write_atomically
from geoveil.paper.experiments.figure_definitions import Figure, Panel
from geoveil.paper.experiments.tables import Summaries, bounded, looseness, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = ["draw", "draw_times", "require_matplotlib"]

_COLOURS = {"GP": "tab:red", "CGP": "tab:blue"}
#: The paper's baseline, the paper's algorithms, and geoveil's best method.
_STYLES = {"Basic": ":", "PNN": "--", "PCH": "--", "best": "-"}
_AXES = {"rho": "ρ (per m²)", "n": "n", "k": "k", "d": "d", "s": "s"}
_UNITS = {
    "largest error": "largest error (m)",
    "l2 error": "Euclidean error of the tuple (m)",
    "distance ratio": "sum of distances / true sum",
    "mean error": "mean error (m)",
    "excess": "mean excess distance (m)",
    "rms error": "root mean square error (m)",
    "Δ": "Δ (m)",
    "ε": "ε (per m)",
}


def require_matplotlib() -> None:
    """Raise an error if matplotlib is not installed, before anything is measured."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        remedy = "Install geoveil with the extra plot, or leave figures out with --no-figures."
        raise InvalidParameter("figures", "wanted", "drawn by matplotlib, which is not installed", remedy) from None


def draw(figure: Figure, summaries: Summaries, folder: Path) -> None:
    """Plot one figure as PNG and as SVG."""
    columns = min(len(figure.panels), 2)
    rows = math.ceil(len(figure.panels) / columns)
    canvas, axes = _canvas(rows, columns, figure.title)
    for panel, ax in zip(figure.panels, axes, strict=False):
        if panel.axis:
            _panel(ax, panel, summaries)
        else:
            _bounds(ax, panel, summaries)
    _save(canvas, folder / figure.name)


def draw_times(times: dict[str, dict[int, float]], folder: Path) -> None:
    """Plot the time of every question against the number of points."""
    canvas, (ax,) = _canvas(1, 1, "Time of one answer")
    for number, (question, seconds) in enumerate(times.items()):
        style = ("-", "--", ":")[number // 10 % 3]
        ax.plot(list(seconds), list(seconds.values()), style, marker=".", linewidth=1, label=question)
    ax.set(xscale="log", yscale="log", xlabel="n", ylabel="seconds")
    ax.legend(fontsize=6, ncol=2)
    _save(canvas, folder / "time")


def _panel(ax: Axes, panel: Panel, summaries: Summaries) -> None:
    x = [cell.settings()[panel.axis] for cell in panel.cells]
    for line in shown(panel, summaries):
        there = [summaries[cell.name, line, panel.measure] for cell in panel.cells]
        notion, _, method = line.partition(" ")
        means, style = [each.mean for each in there], _STYLES.get(method, "-")
        (drawn,) = ax.plot(x, means, marker=".", label=line, color=_COLOURS.get(notion), linestyle=style)
        low, high = [each.low for each in there], [each.high for each in there]
        ax.fill_between(x, low, high, color=drawn.get_color(), alpha=0.12, linewidth=0)
    ax.set(title=f"({panel.name}) {panel.title}", xlabel=_AXES[panel.axis])
    ax.set_ylabel(_UNITS.get(panel.measure, panel.measure))
    ax.set_xscale("log" if "x" in panel.log else "linear")
    ax.set_yscale("log" if "y" in panel.log else "linear")
    ax.legend(fontsize=6)


def _bounds(ax: Axes, panel: Panel, summaries: Summaries) -> None:
    """Plot each bound as a multiple of the measured quantile."""
    rows = [(cell, line) for cell in panel.cells for line in bounded(cell, summaries)]
    for measure, marker in (("our bound", "o"), ("theorem", "s")):
        at = [i for i, (cell, line) in enumerate(rows) if (cell.name, line, measure) in summaries]
        ax.plot([looseness(*rows[i], measure, summaries) for i in at], at, marker, label=measure)
    ax.axvline(1, color="black", linewidth=0.8)
    ax.set_yticks(range(len(rows)), [line for _, line in rows], fontsize=7)
    ax.set(xscale="log", xlabel="bound / measured 95% quantile")
    ax.invert_yaxis()
    ax.legend(fontsize=7)


def _canvas(rows: int, columns: int, title: str) -> tuple[Canvas, list[Axes]]:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(4.2 * columns, 3.1 * rows + 0.3), layout="constrained")
    canvas.suptitle(title, fontsize=10)
    axes = canvas.subplots(rows, columns, squeeze=False).ravel().tolist()
    for ax in axes:
        ax.title.set_fontsize(9)
        ax.grid(alpha=0.3)
    return canvas, axes


def _save(canvas: Canvas, path: Path) -> None:
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    # Identifiers and the date are fixed, so that equal results give equal files.
    with matplotlib.rc_context({"svg.hashsalt": "geoveil"}):
        png, svg = (path.with_name(f"{path.name}.{kind}") for kind in ("png", "svg"))
        write_atomically(png, lambda temporary: canvas.savefig(temporary, format="png", dpi=130))
        write_atomically(svg, lambda temporary: canvas.savefig(temporary, format="svg", metadata={"Date": None}))
