"""`geoveil density`: a heat map of released files, for free."""

from __future__ import annotations

import click

from geoveil.cli import terminal
from geoveil.cli.command import TypedText, command
from geoveil.cli.file_arguments import Target, distinct, target
from geoveil.cli.options import Output, free
from geoveil.cli.presentation import describe, drawable, plain_report
from geoveil.cli.smooth import RELEASED, as_released
from geoveil.requests.file_request import public_place
from geoveil.text.typed_values import AREA, LENGTH
from geoveil.text.words import counted


@command(
    "A heat map as a file and as a page:",
    "geoveil density released.csv -o density.geojson --cell 500m --around 37.77,-122.42,8km --report density.html",
)
@click.argument("released", nargs=-1, required=True, type=RELEASED)
@target
@click.option(
    "--cell", type=TypedText(LENGTH), help="The side of a cell, such as 500m. [default: one that suits the noise]"
)
@click.option(
    "--around",
    type=TypedText(AREA),
    help="The square of the heat map: its centre and half its side. [default: all released points]",
)
@free
def density(
    released: tuple[str, ...],
    target: Target,
    cell: float | None,
    around: tuple[float, float, float] | None,
    output: Output,
) -> None:
    """Estimate a heat map from released points, at no privacy cost.

    The blur of the known noise is removed. RELEASED are files that 'geoveil points' wrote in one coordinate system,
    with their certificates beside them.
    """
    from geoveil import Grid
    from geoveil.geo import form_of
    from geoveil.release.as_file import endings

    if target.path is None and not output.drawn and not output.json:
        raise click.UsageError("Name the heat map's file with -o, --report or --figure, or give --json.")
    distinct({**{path: path for path in released}, "-o": target.path, **output.drawn})
    target.check(endings())
    drawable(output)
    with terminal.waiting("Counting"):
        releases = [as_released(path) for path in released]
        plane = releases[0].plane
        assert plane is not None
        _, unit = plane.grid_system
        side = None if cell is None else cell / unit
        if around is None:
            heat = releases[0].density(side, others=releases[1:])
        else:
            lat, lon, half = around
            middle = form_of(releases[0].value, plane).public_place("around", public_place((lat, lon)))
            west, south, east, north = (float(end) / unit for end in (*(middle - half), *(middle + half)))
            box = west, south, east, north
            heat = releases[0].density(box if side is None else Grid(box, side), others=releases[1:])
    if target.path is not None:
        with target.opened(".geojson") as (path, overwrite):
            heat.to_file(path, sign=target.key, overwrite=overwrite)
    plain_report(output, "Heat map", heat)
    more = [*target.lines, *output.lines]
    if not heat.value.sum():
        terminal.say("No released point is near this area: nothing is known about it.")
    if output.json:
        terminal.json({"counts": heat.value.tolist(), "certificate": heat.certificate()})
    else:
        rows, columns = heat.grid.shape
        head = f"{heat.value.sum():,.0f} of {counted(heat.points_released, 'point')} in {rows:,} by {columns:,} cells"
        describe(heat, head, more)
