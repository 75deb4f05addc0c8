"""`geoveil heatmap`, `counts` and `flows`: questions about the crowd in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from geoveil.cli import terminal
from geoveil.cli.command import Command, Option
from geoveil.cli.file_arguments import Target, target
from geoveil.cli.file_questions import FileQuestion, question
from geoveil.cli.options import crowd_output
from geoveil.cli.parameter_types import LENGTH
from geoveil.cli.presentation import describe
from geoveil.words import counted

if TYPE_CHECKING:
    from geoveil import CrowdRelease

__all__ = ["counts", "flows", "heatmap"]

F = TypeVar("F", bound=Callable[..., Any])
_AREA = "--area 37.77,-122.42,50km"
#: The number of rows that are shown.
_ROWS = 10

_CELL = click.option("--cell", type=LENGTH, cls=Option, help="The side of a cell of the map, such as 500m.")
_REGIONS = click.option("--regions", metavar="FILE", help="A file of public regions: polygons, in any format.")
_NAME = click.option("--name", metavar="COLUMN", help="The column of --regions that names them.")


def _crowd(command: F) -> F:
    """Add the options of questions about a crowd."""
    own = (
        click.option(
            "--every", metavar="LENGTH", help="Slices of time (UTC): '1 hour', 'hour of day' or 'day of week'."
        ),
        click.option("--cap", type=float, help="Count visits, at most this many of each person, instead of persons."),
        click.option("--bandwidth", type=LENGTH, help="How far places are blurred. [default: from public numbers]"),
    )
    command = question(command, labelled=False, shown=crowd_output)
    for decorate in (*own, target):
        command = decorate(command)
    return command


def _released(
    question: str, of: Any, asked: dict[str, Any], target: Target, endings: tuple[str, ...], **more: Any
) -> CrowdRelease | None:
    """Ask about the crowd of a file, and write the answer, if a file was named."""
    how = {**more, **{name: asked.pop(name) for name in ("every", "cap", "bandwidth")}}
    asking = FileQuestion(**asked, together=True)
    if asking.person is None:
        terminal.note("All points are taken as one person's: --person names the column of persons.")
    asking.check(target, endings)
    with asking.source_and_ledger() as (path, ledger):
        asking.tell_earlier(path)
        with terminal.progress(f"Adding up {asking.title}") as tell:
            locations = asking.locations(path, ledger, progress=tell)
            release: CrowdRelease = getattr(locations, question)(of, **asking.budget.keywords, **how)
        asking.record(path)
        if target.path is not None:
            with terminal.waiting(f"Writing {target.name}"), target.opened(endings[0]) as (written, overwrite):
                release.to_file(written, sign=target.key, overwrite=overwrite)
        lines = asking.report(path, ledger, [release], f"{release.query.capitalize()} of {asking.title}")
        if asking.output.json:
            terminal.json({"answer": _numbers(release), "certificate": release.certificate()})
            return None
        describe(release, more=[("total", f"{release.total:.6g} {release.counted}"), *target.lines, *lines])
        return release


def _numbers(release: CrowdRelease) -> Any:
    """Return the numbers of a release as JSON."""
    frame = release.to_frame()
    return frame.drop(columns="geometry", errors="ignore").to_dict("records")


def _top(release: CrowdRelease, columns: list[str]) -> None:
    """Show the largest numbers."""
    frame = release.to_frame().sort_values(release.counted, ascending=False)
    rows = [[_shown(line[name]) for name in columns] for line in frame.head(_ROWS).to_dict("records")]
    terminal.answer(terminal.table(columns, rows, total=len(frame)))


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@click.command(
    cls=Command,
    examples=(
        (
            "Where are people, in cells of 500 m? Each user counts as one:",
            f"geoveil heatmap trips.csv --cell 500m --person user {_AREA} --hide 200m -o heat.gpkg --report heat.html",
        ),
        (
            "By hour of the day, protecting any day of a user:",
            f"geoveil heatmap trips.csv --cell 1km --person user --protect '1 day' --every 'hour of day' {_AREA} "
            "--hide 200m",
        ),
    ),
)
@_CELL
@_crowd
def heatmap(cell: float | None, target: Target, **asked: Any) -> None:
    """Release a heat map of a crowd: how many persons are expected in each cell.

    Noise is added once to the whole map, so it is small beside a crowd. --person names the column of persons.
    """
    from geoveil.release.as_file import endings

    if cell is None:
        raise click.UsageError("Give --cell, the side of a cell, such as --cell 500m.")
    release = _released("heatmap", cell, asked, target, (*endings(), ".tif"))
    if release is not None:
        slices = f", {counted(len(release.slices), 'slice')} of time" if release.slices else ""
        rows, columns = release.grid.shape  # type: ignore[attr-defined]
        terminal.answer(f"{rows} by {columns} cells{slices}; {release.elsewhere:.3g} {release.counted} elsewhere.")


@click.command(
    cls=Command,
    examples=(
        (
            "How many users are in each district?",
            f"geoveil counts trips.csv --regions districts.geojson --person user {_AREA} --hide 200m -o counts.gpkg",
        ),
    ),
)
@_REGIONS
@_NAME
@_crowd
def counts(regions: str | None, name: str | None, target: Target, **asked: Any) -> None:
    """Release how many persons are expected in each of several public regions."""
    from geoveil.release.as_file import endings

    known = _named(regions, name)
    release = _released("counts", known, asked, target, endings())
    if release is not None:
        _top(release, [*(["slice"] if release.slices else []), known.index.name, release.counted, "noisy"])


@click.command(
    cls=Command,
    examples=(
        (
            "Trips with an origin and a destination in each row, between cells of 2 km:",
            f"geoveil flows taxi.csv --cell 2km --person medallion {_AREA} --hide 200m -o flows.csv",
        ),
    ),
)
@_CELL
@_REGIONS
@_NAME
@click.option("--trip", metavar="COLUMN", help="The column of trips, whose first and last points are counted.")
@_crowd
def flows(
    cell: float | None, regions: str | None, name: str | None, trip: str | None, target: Target, **asked: Any
) -> None:
    """Release how many persons are expected to go from one cell or region to another.

    Rows have an origin and a destination; or --trip names the column of trips.
    """
    if (cell is None) == (regions is None):
        raise click.UsageError("Give --cell, the side of a cell, or --regions, a file of polygons.")
    between = cell if regions is None else _named(regions, name)
    release = _released("flows", between, asked, target, (".csv", ".tsv", ".parquet"), trip=trip)
    if release is not None:
        _top(release, [*(["slice"] if release.slices else []), "origin", "destination", release.counted])


def _named(path: str | None, name: str | None) -> Any:
    """Read a file of regions, with the column that names them as the index."""
    if path is None:
        raise click.UsageError("Give --regions, a file of polygons.")
    from geoveil.geo.region_files import read_regions

    frame = read_regions(Path(path))
    if name is not None and name not in frame:
        others = ", ".join(column for column in frame if column != frame.geometry.name)
        raise click.UsageError(f"--name {name}: there is no such column in {path}. The columns are {others}.")
    return frame.set_index(name).geometry if name is not None else frame.geometry.rename_axis("region")
