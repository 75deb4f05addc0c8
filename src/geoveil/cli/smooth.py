"""`geoveil smooth`: denoise released trajectories, for free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geoveil.cli import terminal
from geoveil.cli.command import Command
from geoveil.cli.file_arguments import Target, distinct, target
from geoveil.cli.options import Output, free
from geoveil.cli.presentation import describe, drawable, report
from geoveil.errors import InvalidParameter
from geoveil.words import counted

if TYPE_CHECKING:
    from geoveil.geo.formats import LocationFile

__all__ = ["MOTIONS", "RELEASED", "as_released", "check_times", "smooth", "smoothed"]

MOTIONS = ["walking", "cycling", "car", "taxi"]
RELEASED = click.Path(readable=False)


@click.command(
    cls=Command,
    examples=(("Tracks of taxis:", "geoveil smooth released.csv -o smoother.csv --motion taxi"),),
)
@click.argument("released", type=RELEASED)
@target
@click.option("--motion", type=click.Choice(MOTIONS), help="How people move, from public knowledge. [required]")
@click.option("--time", metavar="COLUMN", help="The column of times, if its name is not recognised.")
@free
def smooth(released: str, target: Target, motion: str | None, time: str | None, output: Output) -> None:
    """Remove noise from released trajectories, at no privacy cost.

    It uses that people move continuously, and looks at nothing private. RELEASED is a file that 'geoveil points'
    wrote, with its certificate beside it.
    """
    from geoveil.geo.formats import ending
    from geoveil.release.as_file import endings

    if motion is None:
        raise click.UsageError(
            f"Say with --motion how people move: {', '.join(MOTIONS[:-1])} or {MOTIONS[-1]}. It is public knowledge, "
            "and is not measured on the data."
        )
    if target.path is None:
        raise click.UsageError("Name the smoothed file with -o; - is stdout.")
    kind = ending(Path(released))
    distinct({"RELEASED": released, "-o": target.path, "--certificate": target.certificate, **output.drawing.files})
    target.check([kind, *endings()])
    drawable(output)
    with terminal.waiting("Smoothing"):
        release = smoothed(as_released(released), motion, time)
    with target.opened(kind) as (path, overwrite):
        release.to_file(path, sign=target.key, overwrite=overwrite)
    report(output, f"{Path(released).name}, smoothed", [release])
    if output.json:
        terminal.json({"output": target.path, "certificate": release.certificate()})
    else:
        describe(
            release,
            f"{target.name}: {counted(release.n, 'point')}, smoothed",
            [*target.lines[-1:], *output.drawing.lines],
        )


def as_released(path: str) -> Any:
    """Load a file of released points, or refuse one that was processed since."""
    from geoveil import load
    from geoveil.errors import InvalidFile

    release = load(path)
    if release.processing.steps:
        remedy = "Give the file that 'geoveil points' wrote, without --smooth."
        raise InvalidFile(path, release.processing.steps[0], "a released file that was not processed further", remedy)
    return release


def _column(file: LocationFile, given: str | None) -> str:
    """Return the name of the column of times."""
    from geoveil.geo.seconds import time_column

    chosen = next(iter(file.time_columns), None) if given is None else time_column(given, file.columns)
    if chosen is None or chosen not in file.columns:
        allowed = f"a column of times, one of {list(file.columns)}"
        raise InvalidParameter("--time", chosen, allowed, "Smoothing needs the time of each point.")
    return chosen


def check_times(path: Path, how: dict[str, Any], given: str | None) -> None:
    """Refuse times that cannot be read, before anything is charged; times are public."""
    import pyarrow as pa

    from geoveil.geo.formats import open_locations
    from geoveil.geo.seconds import seconds_of

    file = open_locations(path, **{name: value for name, value in how.items() if name not in ("missing", "where")})
    chosen = _column(file, given)
    times = pa.concat_tables(batch.columns for batch in file.batches([chosen])).to_pandas(ignore_metadata=True)
    seconds_of(times[chosen], chosen)


def smoothed(release: Any, motion: str, given: str | None) -> Any:
    """Smooth a loaded release by its column of times."""
    return release.smooth(motion, times=_column(release.file, given))
