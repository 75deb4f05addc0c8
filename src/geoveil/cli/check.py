"""`geoveil check`: tell the owner of a file whether it is ready to be released."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from geoveil.cli import terminal
from geoveil.cli.command import Command, broken
from geoveil.cli.file_arguments import SOURCE, incoming
from geoveil.cli.options import LEVELS, Budget, Protected, area, as_json, persons, possible, protection, reading
from geoveil.cli.unit_noise import NoiseOfUnits, noise_of_units
from geoveil.errors import InvalidParameter
from geoveil.words import counted

if TYPE_CHECKING:
    from geoveil.privacy import Guarantee


@dataclass(frozen=True)
class Finding:
    """A fact about a file that its owner should know.

    A release needs the `options` of every finding of the kind "need"; those of a note are a suggestion.
    """

    kind: Literal["good", "note", "need", "stop"]
    what: str
    remedy: str = ""
    options: str = ""


#: The word before a finding, and its colour.
_SIGNS = {"good": ("ok", "green"), "note": ("note", "yellow"), "need": ("need", "cyan"), "stop": ("stop", "red")}


@click.command(
    cls=Command,
    examples=(("Is it ready?", "geoveil check trips.csv --by user --local 37.77,-122.42,50km"),),
)
@SOURCE
@persons
@possible
@protection
@area
@reading
@as_json
def check(
    source: str,
    by: str | None,
    budget: Budget | None,
    protection: Protected,
    area: dict[str, Any],
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Check whether a file is ready to be released. Nothing is spent, released or charged.

    The output is about the true data and must not be shared. It ends with the command that releases the file. Exits
    with 3 if something must be stated or corrected first.
    """
    asked = budget or Budget(_lowest())
    protected = protection.promised(asked, by)
    if protected.guarantee.metric.persons:
        remedy = "check is about the release of every point: name the column of persons with --by."
        raise InvalidParameter("unit", protection.unit, "a length of time such as '1 day', or 'point'", remedy)
    with incoming(source, reading.pop("format")) as path, terminal.waiting(f"Looking at {path.name}"):
        checked = _Checked(path, by, area, reading, protection, asked.guarantee, protected.guarantee)
        found = [*checked.findings()]
    noise = checked.noise
    if noise is not None:
        found.append(Finding("note", noise.sentence("--privacy low" if budget is None else "this budget")))
    ready = all(finding.kind in ("good", "note") for finding in found)
    line = next_command(source, found, "" if budget is not None else "--privacy low")
    if as_json:
        told = {"ready": ready, "findings": [vars(finding) for finding in found], "next": line}
        terminal.json(told if noise is None else {**told, "noise": noise.data()})
    else:
        lines = [
            (terminal.styled(*_SIGNS[finding.kind]), f"{finding.what} {finding.remedy}".rstrip()) for finding in found
        ]
        terminal.answer(terminal.grid(lines))
        if noise is not None:
            terminal.answer(*noise.shown())
        terminal.answer("", terminal.bold(_verdict(found)))
        if line is not None:
            _show_next(line, found, budget is None)
    if not ready:
        click.get_current_context().exit(3)


def _lowest() -> Guarantee:
    """Return the guarantee of the lowest level of privacy, which is taken where no budget is given."""
    from geoveil.privacy import CGP

    return CGP.hiding(distance=LEVELS["low"], chance=0.75)


def next_command(source: str, found: Sequence[Finding], budget: str = "--privacy low") -> str | None:
    """Return the command that releases a file, or None if something must be corrected first."""
    if any(finding.kind == "stop" for finding in found):
        return None
    typed = click.get_current_context().meta["geoveil.typed"]
    given = [shlex.quote(word) for word in typed if word != "--json"]
    options = [finding.options for finding in found if finding.options]
    return " ".join(filter(None, ["geoveil points", *given, "-o", _target(source), *options, budget]))


def _target(source: str) -> str:
    """Return a name for the released file, in the format of the source if that can be written."""
    from geoveil.geo.formats import targets

    return f"released{targets(Path(source))[0]}"


def _verdict(found: Sequence[Finding]) -> str:
    kinds = {finding.kind for finding in found}
    if "stop" in kinds:
        return "Not ready yet: first correct what is marked with stop."
    return "Nearly ready: add what is marked with need." if "need" in kinds else "Ready."


def _show_next(line: str, found: Sequence[Finding], guessed: bool) -> None:
    """Print the command that releases the file, to be copied, and what in it is a suggestion."""
    suggested = [finding.options for finding in found if finding.options]
    terminal.answer("", "Next:")
    width = terminal.console().width
    # A backslash continues a command in the shells of Linux and macOS alone.
    for part in [f"  {line}"] if os.name == "nt" else broken(line, width, prompt=" "):
        click.echo(part)
    more = []
    if guessed:
        more.append("--privacy low hides 100 m at 75%: choose what your data needs ('geoveil explain --privacy low').")
    for option in suggested:
        if option.startswith("--by "):
            more.append(
                f"{option} is a guess: keep it only if each person has one value of their own in this column. Leave "
                "it out if all rows are of one person."
            )
        elif option.startswith(("--area", "--local")):
            more.append(f"{option} was found by looking at the data: replace it if you would have named another area.")
        else:
            more.append(f"{option} removes rows, and that they were removed is stated in the certificate.")
    if more:
        terminal.answer("", *more)


@dataclass
class _Checked:
    """A file that is looked at, with the budget and the unit of its release."""

    path: Path
    by: str | None
    area: dict[str, Any]
    reading: dict[str, Any]
    protection: Protected
    budget: Guarantee
    guarantee: Guarantee
    #: The noise of points for several units, if the file has times.
    noise: NoiseOfUnits | None = None

    def findings(self) -> Iterator[Finding]:
        """Yield what there is to say about the file, and find the noise of its points."""
        from geoveil import read
        from geoveil.cli.problems import message_of
        from geoveil.errors import GeoveilError
        from geoveil.geo.formats import open_locations

        missing, where = self.reading["missing"], self.reading.get("where")
        how = {name: value for name, value in self.reading.items() if name not in ("missing", "where")}
        file = open_locations(self.path, **how)
        refused = None
        try:
            formulas = sorted(self._rehearse(file).formulas)
        except GeoveilError as problem:
            refused, formulas = problem, []
        stopped = False
        try:
            frame = read(self.path, **how, missing="drop", where=where)
        except GeoveilError as problem:
            if refused is None:
                yield Finding("note", message_of(problem), "One of the columns to be removed cannot be read.")
            else:
                # A release would refuse the file sooner or later for this, and an area is of no use to it.
                refused = problem
        else:
            for finding in _about(file, frame, self.by, self.area, missing, where):
                stopped = stopped or finding.kind in ("stop", "need")
                yield finding
        for name in formulas:
            what = f"The column {name!r} has texts that a spreadsheet would run as formulas."
            yield Finding("note", what, "They are released unchanged: clean them, or warn the recipient.")
        # What is found above says more; whatever else a release refuses is told in its words.
        if refused is not None and not stopped:
            yield Finding("stop", message_of(refused))

    def _rehearse(self, file: Any) -> Any:
        """Return the release up to its charge, with the times of points where they can be read."""
        from geoveil.errors import GeoveilError
        from geoveil.files import rehearse

        given = {name: value for name, value in self.protection.keywords.items() if name != "unit"}
        asked = {"guarantee": self.guarantee, "by": self.by, **given, **self.area, **self.reading}
        timed = given.get("times") or len(file.time_columns) == file.points_in_a_row
        # Rows of several persons say nothing about the number of points of each.
        if timed and (self.by is not None or not file.recognised.persons):
            try:
                inquiry = rehearse(self.path, **asked, timed=True)
            except GeoveilError:
                # The release itself may need no times.
                return rehearse(self.path, **asked)
            self.noise = noise_of_units(inquiry, self.budget)
            return inquiry
        return rehearse(self.path, **asked)


def _about(
    file: Any, frame: Any, by: str | None, area: dict[str, Any], missing: str, where: str | None
) -> Iterator[Finding]:
    rows, chosen = 0, file.row_filter(where)
    for batch in file.batches([] if chosen is None else chosen.columns):
        rows += len(batch) if chosen is None else int(chosen.rows(batch.columns, batch.name).sum())
    if chosen is not None:
        yield Finding("good", f"{counted(rows, 'row')} satisfy the filter; it is stated in the certificate.")
    if len(frame) < rows:
        what = f"{rows - len(frame):,} of {counted(rows, 'row')} have no location."
        if missing == "drop":
            yield Finding("note", what, "They are removed.")
        else:
            yield Finding("need", what, "--missing drop removes them.", "--missing drop")
    plane, about = _system(file, frame, area)
    yield about
    if plane is not None and area["outside"] == "drop":
        from geoveil.geo.row_locations import GeometryRows
        from geoveil.geo.row_selection import select_rows

        inside = select_rows(GeometryRows(frame), plane, None, missing="drop", outside="drop").rows
        if inside is not None:
            out = counted(len(frame) - int(inside.sum()), "row")
            frame = frame[inside]
            yield Finding(
                "note",
                f"Removed: {out} with a point outside the area.",
                "Which rows were outside is not hidden.",
            )
    yield from _places(file, frame, plane, area)
    yield from _people(file, frame, by)
    yield from _columns(file, frame, by, plane)


def _system(file: Any, frame: Any, area: dict[str, Any]) -> tuple[Any, Finding]:
    """Return the plane in which noise is drawn, if there is one, and what there is to say of the coordinate system."""
    import shapely

    from geoveil.cli.area_proposals import proposed_area
    from geoveil.cli.problems import message_of
    from geoveil.errors import GeoveilError
    from geoveil.geo.planes import plane_of

    unit = str(file.crs.axis_info[0].unit_name)
    units = {"metre": "metres", "foot": "feet"}.get(unit, unit) if not file.crs.is_geographic else "degrees"
    try:
        plane = plane_of(file.crs, area["area"])
    except GeoveilError as problem:
        if area["area"] is not None:
            return None, Finding("stop", message_of(problem))
        try:
            told, options = proposed_area(shapely.get_coordinates(frame.geometry.array), file.crs)
        except GeoveilError as refused:
            return None, Finding("stop", message_of(refused))
        own = f"degrees ({file.crs.name})" if file.crs.is_geographic else file.crs.name
        what = f"Its coordinates are in {own}, and noise is added in metres on the ground: an area is needed."
        return None, Finding("need" if options else "stop", what, told, options)
    most = plane.area.stretch - 1
    stretched = f"stretches distances by at most {most:.3%}" if most > 0 else "does not stretch distances"
    more = f" Noise is added in the plane of {plane.area.name}, which {stretched}."
    located = getattr(file, "located", None)
    columns = "" if located is None else f", in {_listed(located.names)},"
    return plane, Finding("good", f"Its coordinates{columns} are in {units} ({file.crs.name}).{more}")


def _listed(names: Sequence[str]) -> str:
    """Return the names of columns of locations in a sentence."""
    if len(names) == 1:
        return f"the column {names[0]!r}"
    return "the columns " + ", ".join(map(repr, names[:-1])) + f" and {names[-1]!r}"


def _places(file: Any, frame: Any, plane: Any, area: dict[str, Any]) -> Iterator[Finding]:
    """Find rows without a location, far outliers, and repeated locations."""
    import numpy as np
    import shapely

    from geoveil.cli.area_proposals import proposed_area
    from geoveil.cli.problems import message_of
    from geoveil.errors import GeoveilError
    from geoveil.geo.proposals import seem_swapped

    coords = shapely.get_coordinates(frame.geometry.array)
    yield Finding("good", f"{counted(len(frame), 'row')} with a location, {counted(len(coords), 'point')}.")
    zero = int((coords == 0).all(axis=1).sum())
    if zero:
        yield Finding(
            "note", f"{counted(zero, 'point')} at 0, 0, which devices write if they have no fix.", "Remove them."
        )
    if file.crs.is_geographic and (np.abs(coords) > [180, 90]).any():
        metres = (
            "The file states a wrong coordinate system: correct it, such as with `ogr2ogr -a_srs EPSG:3857 new.gpkg "
            "old.geojson` for Web Mercator, the system of web maps."
            if getattr(file, "located", None) is None
            else "Give --crs, such as --crs 3857 for Web Mercator, the system of web maps."
        )
        remedy = (
            "Longitude and latitude seem to be swapped: --lat and --lon name the columns the other way round."
            if seem_swapped(coords)
            else metres
        )
        yield Finding("stop", "Some coordinates are not degrees: latitudes go to 90, longitudes to 180.", remedy)
    elif plane is None and file.crs.is_geographic and seem_swapped(coords):
        yield Finding(
            "stop",
            "Longitude and latitude seem to be swapped: few points are near a city, and exchanged nearly all are.",
            "--lat and --lon name the columns the other way round.",
        )
    elif plane is not None:
        try:
            plane.enter(coords, area["outside"], lambda row: f"point {row + 1}")
        except GeoveilError as problem:
            told, options = proposed_area(coords, file.crs) if area["area"] is None else ("", "")
            yield Finding("need" if options else "stop", message_of(problem), told, options)
    unique = len(np.unique(coords, axis=0))
    if unique < len(coords):
        share = 1 - unique / len(coords)
        yield Finding(
            "note",
            f"{counted(len(coords) - unique, 'point')} ({share:.0%}) have the same coordinates as another point.",
            "If rows are duplicates, remove them: each copy adds noise to all points of its person.",
        )
    decimals = _decimals(coords)
    if file.crs.is_geographic and decimals is not None and decimals <= 3:
        yield Finding(
            "note",
            f"Coordinates are rounded to {counted(decimals, 'decimal')}.",
            "That is fine, but it hides nothing.",
        )


def _decimals(coords: Any) -> int | None:
    """Return the number of decimals of all coordinates if it is at most 3, else None."""
    import numpy as np

    for digits in range(4):
        if np.allclose(coords, np.round(coords, digits), rtol=0, atol=1e-9):
            return digits
    return None


def _people(file: Any, frame: Any, by: str | None) -> Iterator[Finding]:
    """Find how many points each person has, and how uneven that is."""
    if by is None:
        likely = file.recognised.persons
        named = f" Columns that may identify the person: {', '.join(map(str, likely))}." if likely else ""
        yield Finding(
            "note",
            f"Without --by all rows ({len(frame):,}) belong to one person and share the budget.{named}",
            "If they are of several persons, name the column of persons with --by COLUMN.",
            next((f"--by {shlex.quote(str(name))}" for name in likely if _labels_all(file, frame, name)), ""),
        )
        return
    if by not in frame:
        yield Finding(
            "stop",
            f"There is no column {by!r}.",
            f"The columns are {', '.join(map(str, frame.columns.drop(frame.geometry.name)))}.",
        )
        return
    if frame[by].isna().any():
        yield Finding(
            "stop",
            f"{counted(int(frame[by].isna().sum()), 'row')} without a value in {by!r}.",
            "Every row needs a person.",
        )
    sizes = frame[by].value_counts()
    if not len(sizes):
        return
    each = counted(sizes.max(), "row")
    if sizes.min() < sizes.max():
        each = f"{sizes.min():,} to {each} each (median {sizes.median():,.12g})"
    yield Finding("good", f"{counted(len(sizes), 'person')} with {each}.")
    if sizes.max() > 20 * sizes.median():
        yield Finding(
            "note",
            f"{sizes.index[0]!r} has {counted(sizes.max(), 'row')}, far more than others.",
            "Noise grows with the number of rows: consider keeping fewer of them.",
        )


def _labels_all(file: Any, frame: Any, name: Any) -> bool:
    """Return whether a column names a person in every row, so that a release by it is not refused."""
    if name in file.structure or name not in frame:
        return False
    return not (frame[name].isna() | (frame[name].astype(str).str.strip() == "")).any()


def _columns(file: Any, frame: Any, by: str | None, plane: Any) -> Iterator[Finding]:
    """Find the columns that are released unchanged, and those that would reveal locations if they were."""
    import shapely

    from geoveil.geo.columns import reasons_of, tells_places
    from geoveil.geo.disclosure import sampled, suspicions, unchanged_columns
    from geoveil.geo.plain_values import may_hold_places

    geometry = frame.geometry
    names = [name for name in frame if name != geometry.name]
    unsafe = {*file.unsafe, *(name for name in names if may_hold_places(frame[name].array))}
    names = [name for name in names if name not in unsafe]
    always = [*([by] if by is not None else []), *file.time_columns, *file.structure]
    released = [name for name in dict.fromkeys(always) if name in names]
    rows = sampled(len(frame))
    places = shapely.get_coordinates(shapely.centroid(geometry.array[rows]))
    sample = {name: frame[name].iloc[rows] for name in names}
    if released:
        yield Finding("good", f"These columns are released unchanged: {', '.join(map(str, released))}.")
    reasons = reasons_of(released, by=by, times=file.time_columns, structure=file.structure)
    for column in unchanged_columns({name: sample[name] for name in released}, reasons, places, plane):
        if column.warnings:
            what = f"The column {column.name!r} is released unchanged: {', and '.join(column.warnings)}."
            yield Finding("note", what, "The certificate and the report say so.")
    left = [name for name in names if name not in released]
    telling = {name: why for name in left if (why := suspicions(name, sample[name], places, plane))}
    for name, why in telling.items():
        yield Finding(
            "note",
            f"The column {name!r} may reveal locations: {', and '.join(why)}.",
            f"It is removed, also with --keep all, unless you name it: --keep {name}."
            if tells_places(name)
            else f"It is removed, unless you name it: --keep {name}. Until then --keep all is refused.",
        )
    safe = [name for name in left if name not in telling]
    if safe:
        yield Finding("good", f"These columns are removed unless --keep names them: {', '.join(map(str, safe))}.")
    for name in file.recognised.unclear_times:
        what = f"The column {name!r} may hold times, but its name or its values do not say so."
        yield Finding("note", what, f"It is removed unless --keep names it: --keep {shlex.quote(str(name))}.")
    for name in sorted(unsafe):
        yield Finding("note", f"The column {name!r} may contain locations.", "It is never released.")
