"""`geoveil points`: release every point of a file."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geoveil.cli import terminal
from geoveil.cli.command import Command
from geoveil.cli.file_arguments import Target, target
from geoveil.cli.file_questions import FileQuestion, question
from geoveil.cli.option_names import OPTIONS
from geoveil.cli.options import pseudonyms
from geoveil.cli.presentation import cost_and_error, describe
from geoveil.cli.smooth import MOTIONS, check_times, smoothed
from geoveil.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from geoveil import Concern, Ledger, Release

_AREA = "--area 37.77,-122.42,50km"


@click.command(
    cls=Command,
    examples=(
        (
            "Trips of many users, hiding 500 m at 75%:",
            f"geoveil points trips.csv -o released.csv --person user {_AREA} --privacy medium",
        ),
        (
            "A budget by its meaning, trajectories smoothed as those of taxis, with a map:",
            f"geoveil points trips.csv -o smooth.csv --person user {_AREA} --hide 200m --smooth taxi "
            "--report map.html",
        ),
        (
            "The cost and the error, without a release:",
            f"geoveil points trips.csv --person user {_AREA} --rho 5e-5 --dry-run",
        ),
        (
            "One person's trips, charged to their account:",
            f"geoveil points trips.csv -o charged.csv {_AREA} --rho 1e-4 --ledger budget.db --subject ann",
        ),
        ("Through a pipe:", f"cat trips.csv | geoveil points - -o - --person user {_AREA} --rho 5e-5 | head -3"),
    ),
)
@target
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="A column to release unchanged. 'all': every column whose name does not suggest a location; refused while "
    "one of these reveals locations and is not named as well. May be repeated.",
)
@click.option(
    "--smooth",
    "motion",
    type=click.Choice(MOTIONS),
    help="Remove noise from the released trajectories, given how people move; at no privacy cost.",
)
@click.option(
    "--method",
    type=click.Choice(["best", "both"]),
    default="best",
    show_default=True,
    help="The least noise, or noise that guarantees CGP and GP at once ('both').",
)
@click.option("--yes", "-y", is_flag=True, help="Release without asking, even if nearly everything would be lost.")
@pseudonyms
@partial(question, labelled=False)
def points(
    target: Target,
    keep: tuple[str, ...],
    motion: str | None,
    method: str,
    yes: bool,
    **asked: Any,
) -> None:
    """Release every point of a file, with noise.

    CSV, Excel, GPX, KML, GeoJSON, GeoParquet, GeoPackage, Shapefile, FlatGeobuf, a zipped one of these, or a folder of
    Geolife or cabspotting data. Locations get noise; times and the --person column are released unchanged; other
    columns are removed unless --keep names them. The released file has the format that its ending names.
    """
    from geoveil import load
    from geoveil.geo.formats import opener_of, targets
    from geoveil.geo.formats.workspace import workspace

    asking = FileQuestion(**asked)
    times = [*asking.protection.times]
    if times and motion is None and asking.protection.protect is None and asking.protection.thin is None:
        raise click.UsageError("--time goes with --smooth, --protect or --thin.")
    time = times[0] if times else None
    if motion is not None and asking.budget.guarantee.symbol != "rho":
        raise click.UsageError("--smooth needs the noise of concentrated geo-privacy: give --rho, or leave it out.")
    with asking.source_and_ledger() as (path, ledger):
        opener_of(path)
        if asking.output.dry_run:
            _show_plan(asking, path, ledger, method)
            return
        if target.path is None:
            raise click.UsageError("Name the released file with -o; - is stdout.")
        kinds = targets(path)
        asking.check(target, kinds)
        if motion is not None:
            check_times(path, asking.reading_options, time)
        # Times are public: a column of times that is named is released.
        how = {**asking.budget.keywords, "method": method, "keep": [*keep, *times] or None}
        with target.opened(kinds[0]) as (written, overwrite):
            # With a motion, only the smoothed release is written.
            aside = nullcontext() if motion is None else workspace(written.absolute().parent)
            with aside as folder:
                first = written if folder is None else folder / written.name
                sign = target.key if motion is None else None
                with terminal.progress(f"Releasing {path.name}") as tell:
                    confirm = tell.paused(partial(_confirm, asking, path, yes))
                    locations = asking.locations(path, ledger, progress=tell, confirm=confirm, sign=sign)
                    release: Release = locations.points(to=first, overwrite=overwrite, **how)
                if motion is not None:
                    with terminal.waiting("Smoothing"):
                        tracks = smoothed(load(first), motion, time)
                        tracks.to_file(written, sign=target.key, overwrite=overwrite)
                    release = replace(tracks, removed=release.removed)
            asking.record(path)
            drawn = [load(written)] if asking.output.drawing.files else []
        lines = asking.report(path, ledger, drawn, f"{asking.title}, released", whole=release)
        if asking.output.json:
            terminal.json({"output": target.path, "certificate": release.certificate()})
        else:
            head = f"{target.name}: {counted(release.n, 'point')} of {_whose(release.person)}"
            describe(release, head, [*target.lines[-1:], *lines])


def _confirm(asking: FileQuestion, path: Path, yes: bool, concerns: Sequence[Concern]) -> None:
    """Tell of earlier releases and of concerns about this one; someone at a terminal is asked about grave ones."""
    asking.tell_earlier(path)
    for concern in concerns:
        terminal.note(concern.worded(OPTIONS))
    if any(concern.grave for concern in concerns) and not yes and terminal.interactive():
        click.confirm("Release it nevertheless?", abort=True, err=True)


def _show_plan(asking: FileQuestion, path: Path, ledger: Ledger | None, method: str) -> None:
    foreseen = asking.foreseen(path, released=True)
    told, lines = cost_and_error("points", foreseen, asking.guarantee, ledger, asking.account, method=method)
    sizes, persons = foreseen.sizes, foreseen.persons
    if asking.output.json:
        terminal.json({**told, "points": sum(sizes), "persons": len(sizes)})
    else:
        each = "" if persons is None else f", {_range(sizes)} each"
        terminal.answer(f"{counted(sum(sizes), 'point')} of {_whose(persons)}{each}. Nothing was released or charged.")
        terminal.answer(terminal.grid(lines))


def _range(sizes: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(f"{size:,}" for size in (min(sizes), max(sizes))))


def _whose(persons: Any) -> str:
    return "one person" if persons is None else counted(len(persons), "person")
