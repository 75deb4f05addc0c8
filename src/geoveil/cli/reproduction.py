"""`geoveil experiments`: the paper's figures, redrawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from geoveil.cli import terminal
from geoveil.cli.command import Program, command
from geoveil.errors import InvalidParameter

__all__ = ["experiments"]


class Interrupted(click.ClickException):
    """Raised if Ctrl-C interrupts a run; the results so far are kept."""

    exit_code = 130


_EXAMPLE = "geoveil experiments run composition --out results --repetitions 2 --no-figures"


@click.group(cls=Program, examples=(("Noise against the number of queries:", _EXAMPLE),))
def experiments() -> None:
    """Reproduce and extend the paper's experiments."""


@command("Noise against the number of queries, which takes no data:", _EXAMPLE, group=experiments)
@click.argument("figures", nargs=-1, metavar="[FIGURE]...")
@click.option("--data", type=click.Path(path_type=Path), help="The cabspotting folder, with new_*.txt files.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="The folder of the results; if it exists, the run is resumed.",
)
@click.option("--repetitions", type=click.IntRange(1, 999), default=25, show_default=True)
@click.option(
    "--trajectories",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="The number of trajectories in each repetition.",
)
@click.option("--workers", type=click.IntRange(1), default=os.cpu_count(), show_default="all processors")
@click.option("--faithful", is_flag=True, help="The conventions of the authors' programs instead of the paper's text.")
@click.option("--seed", type=click.IntRange(0), default=2023, show_default=True)
@click.option("--rho", type=float, multiple=True, help="Budgets of the main figures instead of the usual ones.")
@click.option("--low-rho", type=float, multiple=True, help="The same for the low privacy regime.")
@click.option("--n", "sizes", type=int, multiple=True, help="Sizes of tuples instead of the usual ones.")
@click.option("--cache", type=click.Path(path_type=Path), help="Folder of the cleaned data.  [default: OUT]")
@click.option("--no-figures", is_flag=True, help="Tables only.")
def run(figures: tuple[str, ...], workers: int, **options: Any) -> None:
    """Run experiments and draw figures.

    FIGURE is a figure of the paper (fig2 to fig10), one of its panels (fig3a), a group (paper, low-privacy,
    epsilon-delta, figures, beyond), one of ours (dimensions, composition, tightness, smoothing, time), or all.

    An interrupted run goes on where it was when the same command is given again, with the same results.
    """
    try:
        _run(figures or ("all",), workers, **options)
        click.echo(f"Tables and figures are in {options['out']}.")
    except KeyboardInterrupt:
        raise Interrupted("Interrupted: the same command goes on from here") from None


def _run(names: tuple[str, ...], workers: int, *, out: Path, **options: Any) -> None:
    from geoveil.geo.formats.fingerprints import digest
    from geoveil.paper.experiments import plots, tables
    from geoveil.paper.experiments.figure_definitions import ParameterRanges, select_figures
    from geoveil.paper.experiments.runner import RunPlan, RunSettings, run

    if not options["no_figures"]:
        plots.require_matplotlib()
    timed = bool({"time", "beyond", "all"} & set(names))
    usual = ParameterRanges()
    ranges = ParameterRanges(options["rho"] or usual.rho, options["low_rho"] or usual.low, options["sizes"] or usual.n)
    figures = select_figures([name for name in names if name != "time"], ranges)
    cells = list(dict.fromkeys(cell for figure in figures for cell in figure.cells))
    data: Path | None = options["data"]
    real = any(cell.real for cell in cells)
    if real and (data is None or not data.is_dir()):
        remedy = "Give the folder of new_*.txt files of the cabspotting data."
        raise InvalidParameter("--data", None if data is None else str(data), "an existing folder", remedy)
    out.mkdir(parents=True, exist_ok=True)
    cache: Path = options["cache"] or out
    cache.mkdir(parents=True, exist_ok=True)
    known = digest(data) if real and data is not None else None
    settings = {name: options[name] for name in ("seed", "repetitions", "trajectories", "faithful")}
    run_settings = RunSettings(data=known, **settings)
    run_settings.save_or_check(out)
    plan = RunPlan(run_settings, cells, out, data, cache)
    if real:
        plan.study()  # read and clean once, before the workers read the cache
    if cells:
        with _counting("Measuring", sum(map(plan.weight, plan.tasks()))) as advance:
            run(plan, workers, lambda task: advance(plan.weight(task)))
        summaries = tables.summaries(plan)
        tables.write(plan, figures, summaries)
        if not options["no_figures"]:
            for figure in figures:
                plots.draw(figure, summaries, out / "figures")
    if timed:
        _time(out, run_settings.seed, draw=not options["no_figures"])


def _time(out: Path, seed: int, *, draw: bool) -> None:
    """Measure times, which differ between runs and therefore have a separate table."""
    from geoveil.geo.formats.atomic import write_atomically
    from geoveil.paper.experiments import plots, timing

    with _counting("Timing", len(timing.SIZES) * len(timing.questions(1000))) as advance:
        times = timing.seconds(seed, done=lambda: advance(1.0))
    rows = [f"{name};{n};{spent:.6f}" for name, by_size in times.items() for n, spent in by_size.items()]
    text = "\n".join(["question;n;seconds", *rows, ""])
    write_atomically(out / "times.csv", lambda temporary: temporary.write_text(text, encoding="utf-8", newline="\n"))
    if draw:
        plots.draw_times(times, out / "figures")


@contextmanager
def _counting(what: str, total: float) -> Iterator[Callable[[float], None]]:
    """Show a progress bar, and yield a function that advances it by a part of the total."""
    done = 0.0
    with terminal.progress(what) as tell:

        def advance(part: float) -> None:
            nonlocal done
            done += part
            tell(done / total)

        yield advance
