"""Prepare the release of a file: check the arguments and count the points of each person, without charging."""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from geoveil._types import Columns, Progress
from geoveil.answering.charging import Charger, note_charge
from geoveil.answering.counted_rows import CountedRows, count_rows
from geoveil.answering.pipeline import OutputFile, answer
from geoveil.answering.pseudonyms import check_key_file, check_pseudonyms, pseudonyms_of
from geoveil.answering.row_rules import RowRules
from geoveil.answering.settings import Settings
from geoveil.answering.streaming import FilePoints, FileRelease
from geoveil.budget import SPENT
from geoveil.errors import InvalidFile, InvalidParameter, Message, warn
from geoveil.facts import Reason
from geoveil.geo import Area
from geoveil.geo.columns import choose, reasons_of
from geoveil.geo.formats import LocationFile, ending
from geoveil.geo.formats.atomic import (
    ROOM,
    certificate_path,
    check_room,
    check_target,
    replaced_files,
    staging_folder,
)
from geoveil.geo.formats.fingerprints import files_of
from geoveil.geo.formats.output_formats import form_of
from geoveil.geo.planes import Plane, plane_of
from geoveil.geo.point_times import chosen_time_columns
from geoveil.geo.row_selection import check_column
from geoveil.geo.seconds import time_column
from geoveil.noise import Source
from geoveil.privacy import CGP, Guarantee, dist_inf
from geoveil.queries import Persons, Query, UnitSizes
from geoveil.words import metres

#: Nearly everything is lost if the noise on half of the points exceeds the area's radius divided by this.
_LOST = 4
#: The owner is told if the noise is at least this many times that of a person with one point,
_TIMES = 10
#: and, in a file with a column of persons, at least this many metres: less noise leaves the streets recognisable.
_FAR = 500

C = TypeVar("C", bound=CountedRows)

__all__ = [
    "Concern",
    "PreparedFile",
    "check_columns",
    "concerns_of",
    "concerns_of_rows",
    "for_release",
    "plane_of_file",
    "prepare",
    "rehearse",
    "rules_of",
]


class Concern(Message):
    r"""A concern about a release, which its owner should know before it is made; `str` gives its text.

    Parameters
    ----------
    template : str
        The text, with placeholders for the names of arguments and for data.
    grave : bool
        Whether someone at a terminal is asked before the release, rather than only told.
    **data : object
        The values of the placeholders for data.

    Examples
    --------
    >>> _ = (folder / "trips.csv").write_text("lat,lon\n" + "37.78,-122.41\n" * 400)
    >>> told = []
    >>> _ = gv.Locations(folder / "trips.csv", area=bay, confirm=told.extend).points(to=folder / "out.csv", rho=5e-5)
    >>> str(told[0])[:57], told[0].grave
    ('All 400 points belong to one person and share the budget:', True)
    """

    def __init__(self, template: str, /, *, grave: bool, **data: object) -> None:
        super().__init__(template, **data)
        self.grave = grave


@dataclass(frozen=True)
class PreparedFile:
    """The release of a file that was checked and counted, before anything is charged or drawn."""

    inquiry: FilePoints
    charger: Charger
    source: Source
    output: OutputFile

    def release(self, progress: Progress, key: str | None = None) -> FileRelease:
        """Charge, draw and write the file with its certificate; a ledger stores its digest under the key."""
        target = self.output.path
        release: FileRelease | None = None
        try:
            with staging_folder(target, overwrite=self.output.overwrite) as folder:
                written = replace(self.inquiry, target=folder / target.name, final=target)
                release = answer(written, self.source, self.charger, key, progress)
        except BaseException as problem:
            if release is not None and release.entry is not None:
                # The file was charged for and written, but could not be renamed into place.
                note_charge(problem, SPENT)
            if isinstance(problem, OSError):
                raise _unwritable(target, problem) from None
            raise
        progress(1.0)
        return release


def concerns_of(
    persons: Persons[Any], alone: Query, guarantee: Guarantee, area: Area, *, several: bool, timed: bool
) -> list[Concern]:
    """Return the concerns about a release of points, which follow from public facts.

    These facts are the number of points of each person, the budget and the area. Locations are not looked at.

    Parameters
    ----------
    persons : Persons
        The query of each person.
    alone : Query
        The query about a person with a single point.
    guarantee, area
        Those of the release.
    several, timed : bool
        Whether persons are named, and whether each point has a time.
    """
    order = np.argsort(persons.sizes, kind="stable")
    sizes = persons.sizes[order]
    points = int(sizes.sum())
    # Half of all points belong to persons with at least this many points, and so with at least this noise.
    at = int(np.searchsorted(np.cumsum(sizes), points / 2))
    size = int(sizes[at])
    queries = (persons.queries[int(persons.which[order[at]])] if size > 1 else alone, alone)
    typical, one = (area.ground(query.error(0.05, each=True)) for query in queries)
    if lost := typical > area.radius / _LOST:
        problem = (
            "Nearly everything would be lost: released points would typically be up to {typical} from the true "
            "ones (with probability 95%), in an area of {area}."
        )
    elif typical < _TIMES * one or (several and typical < _FAR):
        return []
    elif several:
        problem = (
            "The points of a person share that person's budget: those of a person with {size} points, which is "
            "typical here, would be up to {typical} from the true ones (with probability 95%). A single point of "
            "a person would be up to {alone} away."
        )
    else:
        problem = (
            "All {n} points belong to one person and share the budget: released points would be up to {typical} "
            "from the true ones (with probability 95%). A single point of a person would be up to {alone} away."
        )
    helps = [] if several else ["name the column of persons with {person} if there are several"]
    if size > 1 and timed and guarantee.metric == dist_inf:
        helps.append('protect any day instead of all of a person\'s locations with {protect:"1 day"}')
    if size > 1:
        helps.append('keep fewer rows, such as one a minute with {thin:"1 minute"}')
    if isinstance(guarantee, CGP):
        helps.append("smooth the released tracks with {release.smooth}")
    helps += ["ask another question, such as {locations.hull} or {locations.center}", "give a larger budget"]
    told = {"typical": metres(typical), "alone": metres(one), "n": f"{points:,}", "area": area.name}
    # Tracks of known persons are expected to have much noise; a forgotten column of persons is likely a mistake.
    grave = lost or not several
    return [Concern(f"{problem} What helps: {'; '.join(helps)}.", grave=grave, size=f"{size:,}", **told)]


def concerns_of_rows(rows: CountedRows) -> list[Concern]:
    """Return the concerns about the release of points that were counted."""
    rules = rows.rules
    units = UnitSizes(1) if rows.counted.largest is not None else None
    return concerns_of(
        rows.persons,
        rules.query(1, units),
        rules.guarantee,
        rules.plane.area,
        several=rows.people.by is not None,
        timed=len(rules.file.time_columns) == rules.file.points_in_a_row,
    )


def prepare(
    file: LocationFile,
    settings: Settings,
    guarantee: Guarantee,
    method: str,
    keep: Columns,
    output: OutputFile,
    progress: Progress,
) -> FilePoints:
    """Check a file and the arguments of its release, and count its points."""
    target = _checked_target(output.path, file, overwrite=output.overwrite)
    form = form_of(file, target, ending(target), ending(file.path))
    rules = rules_of(file, settings, guarantee, form=form, method=method, keep=keep)
    check_key_file(settings.pseudonyms, file.path, target, certificate_path(target))
    # A column that cannot be read is refused before anything is charged.
    rows = for_release(CountedRows(rules, count_rows(rules, progress, every_column=True)))
    inquiry = FilePoints(rows=rows, sign=output.sign)
    check_room(target, ROOM + inquiry.estimated_size)
    if formulas := [name for name in rows.rules.kept if name in rows.counted.found.formulas]:
        message = f"{target}: a spreadsheet would run texts in {', '.join(formulas)} as formulas."
        warn(message)
    return inquiry


def for_release(rows: C) -> C:
    """Return counted rows without columns in which places were found, and with pseudonyms if these are wanted."""
    rules, pseudonyms = rows.rules, rows.rules.settings.pseudonyms
    if placed := rows.counted.found.placed:
        kept, removed = _columns(rules.file, rules.form, rules.settings, rules.keep, rules.guarantee.symbol, placed)
        rules = replace(rules, kept=kept, removed=removed)
    rules.form.check_columns([*rules.kept])
    drawn = None if pseudonyms is False else pseudonyms_of(rows.people.persons.to_pylist(), pseudonyms)
    return replace(rows, rules=rules, pseudonyms=drawn)


def _unwritable(target: Path, problem: OSError) -> InvalidFile:
    """Return the error for a target that cannot be written; it states whether the release was charged."""
    remedy = "Check that there is room on the disk and that you may write there."
    refused = InvalidFile(str(target), str(problem), "a file that can be written", remedy, charged="nothing")
    if SPENT in getattr(problem, "__notes__", []):
        note_charge(refused, SPENT)
    return refused


def rules_of(
    file: LocationFile,
    settings: Settings,
    guarantee: Guarantee,
    *,
    form: LocationFile | None = None,
    method: str = "best",
    keep: Columns = None,
    timed: bool = False,
    released: bool = True,
) -> RowRules:
    """Check the arguments of a question against the columns of its file, and return how rows are read and released.

    Parameters
    ----------
    file, settings, guarantee
        The file, which of its rows are used, and the guarantee for each person.
    form : LocationFile, optional
        The format that is written, if it is another one than that of the file.
    method, keep
        As for `geoveil.Locations.points`.
    timed : bool
        Whether the time of each row is needed, besides for units and thinning.
    released : bool
        Whether columns are released, so that they are chosen now and looked at when rows are counted.
    """
    form = form or file
    times: tuple[str, ...] = ()
    if timed or guarantee.metric.stretch is not None or settings.step is not None:
        each = file.points_in_a_row
        times = chosen_time_columns(settings.times, file.time_columns, [*file.columns], each, file.path.name)
    kept: dict[str, Reason] = {}
    removed: tuple[str, ...] = ()
    if released:
        kept, removed = _columns(file, form, settings, keep, guarantee.symbol)
        if settings.pseudonyms is not False and settings.by in form.structure:
            allowed = f"left out with the column {settings.by!r}, whose numbers are the structure of the file"
            raise InvalidParameter("pseudonyms", str(settings.pseudonyms), allowed, "Release it to a CSV file.")
    return RowRules(
        file=file,
        form=form,
        plane=plane_of_file(file, settings),
        guarantee=guarantee,
        settings=settings,
        method=method,
        where=file.row_filter(settings.where),
        times=times,
        keep=keep,
        kept=kept,
        removed=removed,
    )


def rehearse(
    file: LocationFile, settings: Settings, guarantee: Guarantee, *, timed: bool = False, released: bool = True
) -> CountedRows:
    """Count the points of a file as a release does before its charge, so that what it would refuse is refused now.

    Parameters
    ----------
    file : LocationFile
        The file.
    settings : Settings
        Whose rows they are, and which of them are used.
    guarantee : CGP or GP
        The guarantee, whose metric may be that of a length of time.
    timed : bool
        Whether the times of points are read in any case.
    released : bool
        Whether columns are released, and are read and searched for places.
    """
    check_columns(file, settings)
    rules = rules_of(file, settings, guarantee, timed=timed, released=released)
    counted = count_rows(rules, lambda share: None, every_column=True)
    if counted.found.placed:
        _columns(file, file, settings, None, rules.guarantee.symbol, counted.found.placed)
    return CountedRows(rules, counted)


def plane_of_file(file: LocationFile, settings: Settings, *, released: bool = True) -> Plane:
    """Return the plane of a file's area; errors name the file."""
    stated_by = f"the coordinate system of {file.path.name}"
    return plane_of(file.crs, settings.area, released=released, stated_by=stated_by)


def _checked_target(target: Path, file: LocationFile, *, overwrite: bool) -> Path:
    own = {_identity(path) for path in (file.path, *files_of(file.path))}
    if not own.isdisjoint(map(_identity, replaced_files(target))):
        allowed = "a file other than the source, and not one that is part of it"
        raise InvalidParameter("to", str(target), allowed, "Choose another name.")
    if not ending(target) and target.exists():
        raise InvalidFile(str(target), "a folder or file that exists", "a new folder", "Choose another name.")
    if target.suffix.lower() == ".shp" and target.suffix != ".shp":
        raise InvalidParameter("to", str(target), "a file that ends in .shp, in lower case", "Rename it.")
    beside = certificate_path(target)
    if beside.is_dir():
        raise InvalidFile(str(beside), "a folder", "free for the certificate", "Remove it, or choose another name.")
    check_target(target, overwrite=overwrite, setting="locations.overwrite")
    return target


def _identity(path: Path) -> str:
    """Return a text that is the same for all names of one file: links, and on Windows other capitals."""
    return os.path.normcase(os.path.realpath(path))


def check_columns(file: LocationFile, settings: Settings) -> None:
    """Refuse a column of persons that a file does not have or that is no label, and pseudonyms of what it names."""
    import pyarrow as pa

    by = settings.by
    check_column("person", by, [name for name in file.columns if name not in file.unsafe], file.path.name)
    if by is not None:
        kind = file.columns[by]
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        usable = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        numbers_too = (pa.types.is_boolean, pa.types.is_float32, pa.types.is_float64, pa.types.is_decimal)
        if not any(test(plain) for test in (*usable, *numbers_too, pa.types.is_temporal)):
            raise InvalidParameter(
                "person", by, f"a column of texts or numbers; this one is {kind}", "Convert it first."
            )
    check_pseudonyms(settings.pseudonyms, by, file.row_filter(settings.where))


def _columns(
    file: LocationFile,
    form: LocationFile,
    settings: Settings,
    keep: Columns,
    symbol: str,
    places: Set[str] = frozenset(),
) -> tuple[dict[str, Reason], tuple[str, ...]]:
    """Return the columns that are released unchanged and why, and those that are removed.

    `places` are columns of texts in which geometries were found.
    """
    unsafe, by = file.unsafe | places, settings.by
    check_column("person", by, [name for name in file.columns if name not in unsafe], file.path.name)
    always = [*file.time_columns, *(name for name in file.structure if name in file.columns)]
    if isinstance(keep, list):
        # A column of times that is released may be named with its unit.
        keep = [time_column(name, file.columns) if isinstance(name, str) else name for name in keep]
    kept, left = choose([*file.columns], times=always, by=by, keep=keep, places=unsafe)
    for name in kept:
        if form.extensible and name.casefold() in ("radius_95", symbol):
            raise InvalidParameter("keep", name, "columns without this name: released ones have it", "Rename it.")
    return reasons_of(kept, by=by, times=file.time_columns, structure=file.structure), left
