"""Prepare the release of a file: check the arguments and count the points of each person, without charging."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geoveil._types import Columns, Missing, Outside, Progress, Pseudonyms
from geoveil._types import Path as PathLike
from geoveil.answering.charging import Charger, note_charge
from geoveil.answering.person_counts import PersonCounts
from geoveil.answering.pipeline import answer
from geoveil.answering.pseudonyms import check_key_file, check_pseudonyms, pseudonyms_of
from geoveil.answering.streaming import FilePoints, FileRelease
from geoveil.budget import SPENT
from geoveil.certificates import SigningKey
from geoveil.errors import InvalidFile, InvalidParameter, Message, warn
from geoveil.facts import Reason
from geoveil.geo import AreaLike
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
from geoveil.geo.planes import plane_of
from geoveil.geo.seconds import TimeColumn, time_column
from geoveil.noise import Source
from geoveil.privacy import CGP, Duration, Guarantee, as_duration, dist_inf
from geoveil.words import metres

#: Nearly everything is lost if the noise on half of the points exceeds the area's radius divided by this.
_LOST = 4
#: The owner is told if the noise is at least this many times that of a person with one point,
_TIMES = 10
#: and, in a file with a column of persons, at least this many metres: less noise leaves the streets recognisable.
_FAR = 500

__all__ = [
    "Concern",
    "PreparedFile",
    "check_person",
    "concerns_of",
    "count",
    "inquiry_of",
    "prepare",
    "read_crowd",
    "rehearse",
    "system_of",
    "time_columns_of",
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
    """The release of a file that was checked and counted, before anything is charged or drawn.

    Parameters
    ----------
    inquiry : FilePoints
        The points, already counted for each person.
    charger : Charger
        Who is charged.
    source : Source
        The source of randomness.
    target : Path
        The released file.
    overwrite : bool
        Whether an existing target is replaced.
    """

    inquiry: FilePoints
    charger: Charger
    source: Source
    target: Path
    overwrite: bool

    def release(self, progress: Progress, key: str | None = None) -> FileRelease:
        """Charge, draw and write the file with its certificate; a ledger stores its digest under the key."""
        target = self.target
        release: FileRelease | None = None
        try:
            with staging_folder(target, overwrite=self.overwrite) as folder:
                written = self.inquiry.writing_to(folder / target.name, target)
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


def concerns_of(inquiry: FilePoints) -> list[Concern]:
    """Return the concerns about a release, which follow from public facts.

    These facts are the number of points of each person, the budget and the area. Locations are not looked at.
    """
    area = inquiry.plane.area
    sizes = np.sort(inquiry.people.sizes)
    points = int(sizes.sum())
    # Half of all points belong to persons with at least this many points, and so with at least this noise.
    size = int(sizes[np.searchsorted(np.cumsum(sizes), points / 2)])
    typical, alone = (area.ground(inquiry.query_of(n).error(0.05, each=True)) for n in (size, 1))
    several = inquiry.people.by is not None
    if lost := typical > area.radius / _LOST:
        problem = (
            "Nearly everything would be lost: released points would typically be up to {typical} from the true "
            "ones (with probability 95%), in an area of {area}."
        )
    elif typical < _TIMES * alone or (several and typical < _FAR):
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
    timed = len(inquiry.file.time_columns) == inquiry.file.points_in_a_row
    if size > 1 and timed and inquiry.guarantee.metric == dist_inf:
        helps.append('protect any day instead of all of a person\'s locations with {protect:"1 day"}')
    if size > 1:
        helps.append('keep fewer rows, such as one a minute with {thin:"1 minute"}')
    if isinstance(inquiry.guarantee, CGP):
        helps.append("smooth the released tracks with {release.smooth}")
    helps += ["ask another question, such as {locations.hull} or {locations.center}", "give a larger budget"]
    told = {"typical": metres(typical), "alone": metres(alone), "n": f"{points:,}", "area": area.name}
    # Tracks of known persons are expected to have much noise; a forgotten column of persons is likely a mistake.
    grave = lost or not several
    return [Concern(f"{problem} What helps: {'; '.join(helps)}.", grave=grave, size=f"{size:,}", **told)]


def prepare(
    file: LocationFile,
    target: PathLike,
    *,
    guarantee: Guarantee,
    noise: Source,
    method: str,
    person: str | None,
    times: str | Sequence[str] | None,
    thin: int | None,
    area: AreaLike,
    outside: Outside,
    missing: Missing,
    where: str | None,
    pseudonyms: Pseudonyms,
    keep: Columns,
    charger: Callable[[Sequence[object] | None], Charger],
    sign: SigningKey | None,
    overwrite: bool,
    progress: Progress,
) -> PreparedFile:
    """Check a file and the arguments of its release, and count its points.

    Parameters
    ----------
    file : LocationFile
        The file.
    target : str or Path
        The file to be released.
    guarantee : CGP or GP
        The guarantee for each person.
    noise : Source
        The source of randomness.
    method, person, times, area, outside, missing, where, pseudonyms, keep
        As for `geoveil.Locations` and its `points`.
    thin : int, optional
        The length in microseconds of the intervals in which a person keeps one row.
    charger : callable
        Returns who is charged, given the labels of the persons.
    sign : SigningKey, optional
        The key that signs the certificate.
    overwrite : bool
        Whether an existing target is replaced.
    progress : callable
        Called with the share of the whole work that is done, from 0 to 1.
    """
    target = _checked_target(Path(target), file, overwrite=overwrite)
    form = form_of(file, target, ending(target), ending(file.path))
    timed = guarantee.metric.stretch is not None or thin is not None
    columns = time_columns_of(file, times) if timed else ()
    inquiry = inquiry_of(file, form, guarantee, method, person, area, outside, missing, where, keep)
    inquiry.times, inquiry.thin = columns, thin
    check_key_file(pseudonyms, file.path, target, certificate_path(target))
    inquiry.key = sign
    # A column that cannot be read is refused before anything is charged.
    count(inquiry, pseudonyms, progress, every_column=True)
    check_room(target, ROOM + inquiry.estimated_size)
    if formulas := [name for name in inquiry.kept if name in inquiry.formulas]:
        message = f"{target}: a spreadsheet would run texts in {', '.join(formulas)} as formulas."
        warn(message)
    return PreparedFile(inquiry, charger(inquiry.people.names), noise, target, overwrite)


def count(inquiry: FilePoints, pseudonyms: Pseudonyms, progress: Progress, *, every_column: bool) -> None:
    """Take the first pass: count points, remove columns in which places were found, and choose pseudonyms."""
    form, by = inquiry.form, inquiry.people.by
    check_pseudonyms(pseudonyms, by, inquiry.where)
    if pseudonyms is not False and by in form.structure:
        allowed = f"left out with the column {by!r}, whose numbers are the structure of the file"
        raise InvalidParameter("pseudonyms", str(pseudonyms), allowed, "Release it to a CSV file.")
    inquiry.count(progress, every_column=every_column)
    if inquiry.placed:
        symbol = inquiry.guarantee.symbol
        inquiry.kept, inquiry.removed = _columns(inquiry.file, form, by, inquiry.keep, symbol, places=inquiry.placed)
    form.check_columns([*inquiry.kept])
    if pseudonyms is not False:
        inquiry.pseudonyms = pseudonyms_of(inquiry.people.persons.to_pylist(), pseudonyms)


def _unwritable(target: Path, problem: OSError) -> InvalidFile:
    """Return the error for a target that cannot be written; it states whether the release was charged."""
    remedy = "Check that there is room on the disk and that you may write there."
    refused = InvalidFile(str(target), str(problem), "a file that can be written", remedy, charged="nothing")
    if SPENT in getattr(problem, "__notes__", []):
        note_charge(refused, SPENT)
    return refused


def inquiry_of(
    file: LocationFile,
    form: LocationFile,
    guarantee: Guarantee,
    method: str,
    by: str | None,
    area: AreaLike,
    outside: Outside,
    missing: Missing,
    where: str | None,
    keep: Columns,
    kind: type[FilePoints] = FilePoints,
    **more: Any,
) -> FilePoints:
    """Check the arguments of a release against the header of its file."""
    plane = plane_of(file.crs, area, stated_by=system_of(file))
    kept, removed = _columns(file, form, by, keep, guarantee.symbol)
    return kind(
        file=file,
        form=form,
        plane=plane,
        guarantee=guarantee,
        method=method,
        people=PersonCounts(by),
        where=file.row_filter(where),
        outside=outside,
        missing=missing,
        kept=kept,
        removed=removed,
        keep=keep,
        **more,
    )


def rehearse(
    file: LocationFile,
    *,
    guarantee: Guarantee,
    person: str | None,
    times: str | Sequence[str] | None,
    thin: Duration | None,
    area: AreaLike,
    outside: Outside,
    missing: Missing,
    where: str | None,
    timed: bool,
) -> FilePoints:
    """Take the steps of a release of points up to its charge, so that every file it would refuse is refused now.

    Parameters
    ----------
    file : LocationFile
        The file.
    guarantee : CGP or GP
        The guarantee, whose metric may be that of a length of time.
    person, times, thin, area, outside, missing, where : optional
        As for `geoveil.Locations`.
    timed : bool
        Whether the times of points are read in any case, and kept as `timed.points`.

    Returns
    -------
    FilePoints
        It knows the number of points of each person.
    """
    inquiry = inquiry_of(file, file, guarantee, "best", person, area, outside, missing, where, None)
    if inquiry.guarantee.metric.stretch is not None or thin is not None or timed:
        inquiry.times = time_columns_of(file, times)
        inquiry.thin = None if thin is None else as_duration("thin", thin)
        inquiry.keep_times = timed
    inquiry.count(lambda share: None, every_column=True)
    if inquiry.placed:
        _columns(file, file, person, None, inquiry.guarantee.symbol, places=inquiry.placed)
    return inquiry


def read_crowd(
    file: LocationFile,
    guarantee: Guarantee,
    persons: str | None,
    times: str | Sequence[str] | None,
    *,
    timed: bool,
    thin: int | None,
    area: AreaLike,
    outside: Outside,
    missing: Missing,
    where: str | None,
    progress: Progress,
    kind: type[FilePoints] = FilePoints,
    **more: Any,
) -> FilePoints:
    """Count the points of a file for a question about its crowd; no column of it is released.

    Parameters
    ----------
    file : LocationFile
        The file.
    guarantee : CGP or GP
        The guarantee.
    persons : str, optional
        The column of persons.
    times, thin, area, outside, missing, where : optional
        As for `prepare`.
    timed : bool
        Whether the time of each row is needed.
    progress : callable
        Called with the share of the whole work that is done, from 0 to 1.
    kind, **more : optional
        The class that reads the points, and further arguments of its constructor.
    """
    about = (file, file, guarantee, "best", persons, area, outside, missing, where, None)
    inquiry = inquiry_of(*about, kind, **more)
    inquiry.kept, inquiry.removed = {}, ()
    if timed or guarantee.metric.stretch is not None or thin is not None:
        inquiry.times, inquiry.thin = time_columns_of(file, times), thin
    inquiry.count(progress)
    return inquiry


def time_columns_of(file: LocationFile, times: str | Sequence[str] | None) -> tuple[TimeColumn, ...]:
    """Return the columns of times that are named, or those that are recognised."""
    each = file.points_in_a_row
    known = {str(name): name for name in file.time_columns}
    named = [times] if isinstance(times, str) else [*(known if times is None else times)]
    found = [known.get(name) or time_column(name, file.columns) for name in named]
    if len(found) == each and set(found) <= {*file.columns}:
        return tuple(found)
    needed = "one column of times" if each == 1 else f"{each} columns of times, one for each point of a row"
    allowed = f"{needed} of {file.path.name}, among {[*file.columns]}"
    shown = found[0] if len(found) == 1 else found or None
    raise InvalidParameter("times", shown, allowed, Message("Name it with {times}."))


def system_of(file: LocationFile) -> str:
    """Return the name of a file's coordinate system in errors."""
    return f"the coordinate system of {file.path.name}"


def _checked_target(target: Path, file: LocationFile, *, overwrite: bool) -> Path:
    own = {_identity(path) for path in (file.path, *files_of(file.path))}
    if not own.isdisjoint(map(_identity, replaced_files(target))):
        allowed = "a file other than the source, and not one that is part of it"
        raise InvalidParameter("target", str(target), allowed, "Choose another name.")
    if not ending(target) and target.exists():
        raise InvalidFile(str(target), "a folder or file that exists", "a new folder", "Choose another name.")
    if target.suffix.lower() == ".shp" and target.suffix != ".shp":
        raise InvalidParameter("target", str(target), "a file that ends in .shp, in lower case", "Rename it.")
    beside = certificate_path(target)
    if beside.is_dir():
        raise InvalidFile(str(beside), "a folder", "free for the certificate", "Remove it, or choose another name.")
    check_target(target, overwrite=overwrite)
    return target


def _identity(path: Path) -> str:
    """Return a text that is the same for all names of one file: links, and on Windows other capitals."""
    return os.path.normcase(os.path.realpath(path))


def check_person(file: LocationFile, person: str | None, unsafe: Set[str]) -> None:
    """Refuse a column of persons that the file does not have, or that may hold places."""
    safe = [name for name in file.columns if name not in unsafe]
    if person is not None and person not in safe:
        remedy = "Leave it out if all rows belong to one person."
        raise InvalidParameter("person", person, f"a column of {file.path.name}, one of {safe}", remedy)


def _columns(
    file: LocationFile, form: LocationFile, by: str | None, keep: Columns, symbol: str, places: Set[str] = frozenset()
) -> tuple[dict[str, Reason], tuple[str, ...]]:
    """Return the columns that are released unchanged and why, and those that are removed.

    `places` are columns of texts in which geometries were found.
    """
    import pyarrow as pa

    unsafe = file.unsafe | places
    check_person(file, by, unsafe)
    if by is not None:
        kind = file.columns[by]
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        usable = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        numbers_too = (pa.types.is_boolean, pa.types.is_float32, pa.types.is_float64, pa.types.is_decimal)
        if not any(test(plain) for test in (*usable, *numbers_too, pa.types.is_temporal)):
            raise InvalidParameter(
                "person", by, f"a column of texts or numbers; this one is {kind}", "Convert it first."
            )
    always = [*file.time_columns, *(name for name in file.structure if name in file.columns)]
    if isinstance(keep, list):
        # A column of times that is released may be named with its unit.
        keep = [time_column(name, file.columns) if isinstance(name, str) else name for name in keep]
    kept, left = choose([*file.columns], times=always, by=by, keep=keep, places=unsafe)
    for name in kept:
        if form.extensible and name.casefold() in ("radius_95", symbol):
            raise InvalidParameter("keep", name, "columns without this name: released ones have it", "Rename it.")
    return reasons_of(kept, by=by, times=file.time_columns, structure=file.structure), left
