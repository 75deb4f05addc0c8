"""`geoveil hull`, `nearest`, `within` and `summary`: answers about the places of a file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geoveil.cli import terminal
from geoveil.cli.command import Command, Option
from geoveil.cli.file_arguments import Target, private_key, target, writable
from geoveil.cli.file_questions import FileQuestion, question
from geoveil.cli.options import pseudonyms, row_output, together
from geoveil.cli.parameter_types import LENGTH, PLACE, SHARE
from geoveil.cli.presentation import in_degrees, lines_of, public_place, value_of
from geoveil.errors import InvalidParameter
from geoveil.words import metres

if TYPE_CHECKING:
    import pyarrow as pa

    from geoveil import Release

_AREA = "--area 37.77,-122.42,50km"
#: The largest number of rows of an answer that the terminal shows; files and JSON have all.
_ROWS = 40
_AT = click.option("--at", type=PLACE, required=True, cls=Option, help="The public place, such as 37.795,-122.394.")


@click.command(
    cls=Command,
    examples=(
        (
            "The convex hull of all locations:",
            f"geoveil hull trips.csv -o hull.geojson {_AREA} --rho 1e-4",
        ),
        (
            "For each user, with a map:",
            f"geoveil hull trips.csv -o hulls.gpkg --person user {_AREA} --rho 1e-3 --report hulls.html",
        ),
    ),
)
@target
@together
@pseudonyms
@question
def hull(target: Target, **asked: Any) -> None:
    """Release the convex hull of a file's locations: a polygon.

    The output's ending tells its format: .geojson, .gpkg, .shp, .parquet or .csv.
    """
    asking = FileQuestion(**asked)
    with asking.opened(target) as opened:
        if asking.output.dry_run:
            opened.show_plan("hull")
            return
        release = opened.ask(lambda locations: locations.hull(**asking.budget.keywords, together=asking.together))
        more = opened.write(release, target)
        more += opened.report([release], f"Hull of {asking.title}")
        if target.path is None and not asking.output.json:
            # Written without line breaks, so that other programs can read it.
            click.echo(_wkt(release))
        opened.show(release, more)


def _wkt(release: Release) -> str:
    """Return shapes as WKT in degrees, to be pasted into other programs."""
    import geopandas
    import shapely

    several = release.person is not None
    found = release.value.geometry if several else geopandas.GeoSeries([release.value], crs=release.crs)
    # Edges follow the ground, in many short steps.
    shapes = shapely.simplify(in_degrees(found).array, 1e-5)
    return "\n".join(shapely.to_wkt(shape, rounding_precision=5) for shape in shapes)


@click.command(
    cls=Command,
    examples=(
        (
            "Which rows are nearest to a station?",
            f"geoveil nearest trips.csv --at 37.795,-122.394 -k 5 {_AREA} --rho 1e-2",
        ),
        (
            "With their locations, which get half of the budget:",
            f"geoveil nearest trips.csv --at 37.795,-122.394 -k 5 --locations 50% {_AREA} --rho 1e-2 -o near.csv",
        ),
    ),
)
@_AT
@click.option("-k", type=click.IntRange(min=1), required=True, cls=Option, help="The number of neighbours.")
@click.option(
    "--locations", type=SHARE, cls=Option, help="Also release their locations, with this share of the budget."
)
@target
@together
@pseudonyms
@question
def nearest(
    at: tuple[float, float],
    k: int,
    locations: float | None,
    target: Target,
    **asked: Any,
) -> None:
    """Find the k rows nearest to a public place.

    Rows are counted from 1. Do not look up their locations in the data and publish them: --locations releases
    them with noise.
    """
    asking = FileQuestion(**asked)
    if asking.output.drawing.files and locations is None:
        raise click.UsageError("A map draws locations: add --locations, which releases them.")
    with asking.opened(target, placed=locations is not None) as opened:
        if asking.output.dry_run:
            opened.show_plan("nearest", at=at, k=k, locations=locations)
            return
        how = {**asking.budget.keywords, "locations": locations, "together": asking.together}
        release = opened.ask(lambda asked: asked.nearest(public_place(at), k, **how))
        more = opened.write(release, target, placed=locations is not None)
        more += opened.report([release], f"Nearest of {asking.title}")
        opened.show(release, more, lambda: _rows(release, opened.times(), asking.each))


def _rows(release: Release, times: pa.Table, by: str | None) -> Any:
    """Return a table of the rows found, with their public times and with their places if these were released."""
    whole = release.to_frame()
    found = whole.head(_ROWS)
    columns = [name for name in (by or "", "rank") if name in found]
    rows = []
    for line in found.to_dict("records"):
        row = line[release.query]
        told = [""] * times.num_columns if row is None else [str(column[row - 1]) for column in times.columns]
        rows.append([*(str(line[name]) for name in columns), "none" if row is None else str(row), *told])
    columns += ["row", *times.column_names]
    if "geometry" in found:
        columns += ["latitude", "longitude"]
        places = found.to_crs(4326).geometry
        rows = [[*cells, f"{p.y:.5f}", f"{p.x:.5f}"] for cells, p in zip(rows, places, strict=True)]
    return terminal.table(columns, rows, total=len(whole))


@click.command(
    cls=Command,
    examples=(
        (
            "When was each user first within 500 m of a station?",
            f"geoveil within trips.csv --at 37.795,-122.394 --radius 500m --person user {_AREA} --rho 1e-3",
        ),
    ),
)
@_AT
@click.option("--radius", type=LENGTH, required=True, cls=Option, help="The distance from the place, such as 500m.")
@target
@together
@pseudonyms
@partial(question, shown=row_output)
def within(at: tuple[float, float], radius: float, target: Target, **asked: Any) -> None:
    """Find the first row within a distance of a public place, if there is one."""
    asking = FileQuestion(**asked)
    with asking.opened(target, placed=False) as opened:
        if asking.output.dry_run:
            opened.show_plan("first_within", at=at)
            return
        how = {**asking.budget.keywords, "together": asking.together}
        release = opened.ask(lambda locations: locations.first_within(public_place(at), radius, **how))
        more = opened.write(release, target, placed=False)
        opened.show(release, more, lambda: _rows(release, opened.times(), asking.each))


@click.command(
    cls=Command,
    examples=(
        ("Where were users, and over which area?", f"geoveil summary trips.csv --person user {_AREA} --rho 1e-4"),
        ("As files with certificates:", f"geoveil summary trips.csv -o summary --person user {_AREA} --rho 1e-4"),
    ),
)
@click.option(
    "--output",
    "-o",
    "folder",
    type=click.Path(path_type=Path),
    help="A new folder for the three answers, each with its certificate.",
)
@click.option("--sign", metavar="KEYFILE", help="Sign the certificates with this private key ('geoveil key create').")
@together
@pseudonyms
@question
def summary(folder: Path | None, sign: str | None, **asked: Any) -> None:
    """Release center, radius and bounds of a file's locations.

    The radius is that of the smallest circle around all locations. A third of the budget goes to each of the three.
    """
    from geoveil.file_summary import SUMMARY, ask_summary, combined, summary_file

    asking = FileQuestion(**asked)
    if asking.account.short == "skip":
        raise click.UsageError("--short skip works for a single question, and a summary asks three: leave it out.")
    if sign is not None and folder is None:
        raise click.UsageError("--sign goes with -o: a certificate is signed together with its file.")
    key = None if sign is None else private_key(sign)
    if folder is not None:
        writable(str(folder))
        if folder.exists():
            raise InvalidParameter("-o", str(folder), "a new folder", "Choose another name.")
    with asking.opened() as opened:
        if asking.output.dry_run:
            opened.show_plan(*SUMMARY)
            return
        releases = opened.ask(
            lambda locations: ask_summary(locations, asking.guarantee, together=asking.together), several=True
        )
        if folder is not None:
            folder.mkdir()
            for release in releases:
                release.to_file(folder / summary_file(release.query), sign=key)
            terminal.state().released = str(folder)
        whole, different, remarks = combined(releases, asking.guarantee)
        title = f"Summary of {asking.title}"
        more = opened.report(releases, title, whole=whole, more=different, remarks=remarks)
        if asking.output.json:
            answers = {release.query: value_of(release) for release in releases}
            terminal.json({"answers": answers, "certificates": [release.certificate() for release in releases]})
        else:
            terminal.answer(_summary(releases, asking.each))
            files = [] if folder is None else [("folder", str(folder))]
            terminal.say(terminal.grid([("guarantee", lines_of(whole)[0][1]), *files, *more]))


def _summary(releases: list[Release], by: str | None) -> Any:
    """Return center, radius and bounds of the first persons, with their errors."""
    total = 1 if releases[0].person is None else len(releases[0].person)
    center, radius, bounds = (release.to_frame().head(_ROWS) for release in releases)
    places, boxes = center.to_crs(4326).geometry, in_degrees(bounds.geometry).bounds
    rows = []
    for at in range(len(center)):
        box, place, off = boxes.iloc[at], places.iloc[at], metres(bounds["radius_95"].iloc[at])
        rows.append(
            [
                *([str(center[by].iloc[at])] if by else []),
                f"{place.y:.5f}, {place.x:.5f}\n±{metres(center['radius_95'].iloc[at])}",
                f"{metres(radius['radius'].iloc[at])}\n±{metres(radius['radius_95'].iloc[at])}",
                f"{box.miny:.5f} to {box.maxy:.5f}\n{box.minx:.5f} to {box.maxx:.5f}\n±{off}",
            ]
        )
    return terminal.table([*([by] if by else []), "center", "radius", "bounds"], rows, total=total)
