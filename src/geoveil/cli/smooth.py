"""`geoveil smooth`: denoise released trajectories, for free."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from geoveil.cli import terminal
from geoveil.cli.command import command
from geoveil.cli.file_arguments import Target, distinct, target
from geoveil.cli.options import Output, free
from geoveil.cli.presentation import describe, drawable, plain_report
from geoveil.requests.file_request import one_or_several, smoothing_times
from geoveil.settings import MOTIONS
from geoveil.text.words import counted

if TYPE_CHECKING:
    from geoveil.answering.loading import LoadedRelease

__all__ = ["RELEASED", "as_released", "smooth"]

RELEASED = click.Path(readable=False)


@command("Tracks of taxis:", "geoveil smooth released.csv -o smoother.csv --motion taxi")
@click.argument("released", type=RELEASED)
@target
@click.option("--motion", type=click.Choice(MOTIONS), help="How people move, from public knowledge. [required]")
@click.option(
    "--time",
    metavar="COLUMN",
    multiple=True,
    help="The column of times, if its name is not recognised; one for each place of a row, in their order.",
)
@free
def smooth(released: str, target: Target, motion: str | None, time: tuple[str, ...], output: Output) -> None:
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
    distinct({"RELEASED": released, "-o": target.path, "--certificate": target.certificate, **output.drawn})
    target.check([kind, *endings()])
    drawable(output)
    with terminal.waiting("Smoothing"):
        noisy = as_released(released)
        release = noisy.smooth(motion, times=one_or_several(smoothing_times(noisy.file, time)) if time else None)
    with target.opened(kind) as (path, overwrite):
        release.to_file(path, sign=target.key, overwrite=overwrite)
    plain_report(output, f"{Path(released).name}, smoothed", release)
    if output.json:
        terminal.json({"output": target.path, "certificate": release.certificate()})
    else:
        describe(
            release,
            f"{target.name}: {counted(release.points_released, 'point')}, smoothed",
            [*target.lines[-1:], *output.lines],
        )


def as_released(path: str) -> LoadedRelease:
    """Load a file of released points, or refuse one that was processed since."""
    from geoveil import load
    from geoveil.errors import InvalidFile

    release = load(path)
    if release.processing.steps:
        remedy = "Give the file that 'geoveil points' wrote, without --smooth."
        raise InvalidFile(path, release.processing.steps[0], "a released file that was not processed further", remedy)
    return cast("LoadedRelease", release)
