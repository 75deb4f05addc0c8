"""Prepare the release of a file: check the arguments and count the points of each person, without charging."""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from geoveil._types import Columns, Progress
from geoveil.answering.charging import Charger, note_charge
from geoveil.answering.counted_rows import CountedRows, count_rows
from geoveil.answering.pipeline import OutputFile, answer
from geoveil.answering.pseudonyms import check_key_file, check_pseudonyms, pseudonyms_of
from geoveil.answering.row_rules import RowRules
from geoveil.answering.settings import Settings
from geoveil.answering.streaming import FilePoints, FileRelease
from geoveil.budget import SPENT
from geoveil.errors import InvalidFile, InvalidParameter, warn
from geoveil.facts import Reason
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
from geoveil.privacy import Guarantee

C = TypeVar("C", bound=CountedRows)

__all__ = [
    "check_columns",
    "for_release",
    "plane_of_file",
    "prepare",
    "rehearse",
    "released",
    "rules_of",
]


def released(
    prepared: FilePoints, charger: Charger, source: Source, output: OutputFile, key: str | None, progress: Progress
) -> FileRelease:
    """Charge, draw and write what was checked and counted, with its certificate; a ledger stores its digest."""
    target = output.path
    release: FileRelease | None = None
    try:
        with staging_folder(target, overwrite=output.overwrite) as folder:
            written = replace(prepared, target=folder / target.name, final=target)
            release = answer(written, source, charger, key, progress)
    except BaseException as problem:
        if release is not None and release.entry is not None:
            # The file was charged for and written, but could not be renamed into place.
            note_charge(problem, SPENT)
        if isinstance(problem, OSError):
            raise _unwritable(target, problem) from None
        raise
    progress(1.0)
    return release


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
    prepared = FilePoints(rows=rows, sign=output.sign)
    check_room(target, ROOM + prepared.estimated_size)
    if formulas := [name for name in rows.rules.kept if name in rows.counted.found.formulas]:
        message = f"{target}: a spreadsheet would run texts in {', '.join(formulas)} as formulas."
        warn(message)
    return prepared


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
