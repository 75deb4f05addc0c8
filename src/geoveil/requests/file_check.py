"""Check whether a file is ready to be released: findings for its owner, and settings that would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np

from geoveil.advice import Advice, advise
from geoveil.answering.concerns import concerns_of_labels
from geoveil.answering.counted_rows import CountedRows
from geoveil.answering.public_rows import PublicRows
from geoveil.errors import GeoveilError, Message
from geoveil.geo.areas import local
from geoveil.geo.columns import ROW, reasons_of, tells_places
from geoveil.geo.disclosure import label_suspicions, sampled, suspicions, unchanged_columns
from geoveil.geo.gazetteer import ground_distances
from geoveil.geo.geometries import Floats
from geoveil.geo.plain_values import may_hold_places
from geoveil.geo.planes import Plane, plane_of
from geoveil.geo.proposals import LOOKED, AreaSuggestion, propose_area, seem_swapped, to_degrees
from geoveil.geo.row_locations import GeometryRows
from geoveil.geo.row_selection import select_rows
from geoveil.planning import COMPARED, plan
from geoveil.privacy import Guarantee, as_duration, as_metric
from geoveil.requests.budgets import rho_and_epsilon
from geoveil.requests.file_request import FileSettings
from geoveil.requests.persons import guess_person, has_tracks, recognised_trips, recorded_by_one, unclear_persons
from geoveil.requests.time_guesses import guess_times
from geoveil.text.messages import PYTHON, Mention, Naming, Text, worded
from geoveil.text.words import counted, metres

if TYPE_CHECKING:
    import geopandas
    import pyproj

    from geoveil.geo import AreaLike
    from geoveil.geo.formats.location_file import LocationFile

__all__ = ["CheckedFile", "Finding", "Proposed", "TypicalPerson"]

#: Steps of thinning; the first that leaves at most half of the points is proposed.
_STEPS = ("1 minute", "10 minutes", "1 hour", "1 day")
#: An area is proposed where that of the coordinate system is so many times as wide.
_FAR_LARGER = 4


class Proposed(TypedDict, total=False):
    """Settings that a finding proposes."""

    area: AreaSuggestion
    outside: Literal["drop"]
    missing: Literal["drop"]
    person: str
    times: str


@dataclass(frozen=True)
class Finding:
    """A fact about a file that its owner should know."""

    #: "good": nothing to do; "note": worth knowing; "need": must be stated before a release; "stop": must be corrected
    #: first.
    kind: Literal["good", "note", "need", "stop"]
    #: The fact, or the error with which a release would refuse the file.
    what: Text | GeoveilError
    #: What can be done about it.
    remedy: Text = ""
    #: The settings that do so, by the names of arguments. A release needs those of the kind "need"; those of a note
    #: are a suggestion. An area is an `AreaSuggestion`.
    settings: Proposed = field(default_factory=Proposed)
    #: The decision that the finding is about, for pages that ask for it in their own way: who the persons are, which
    #: columns are released unchanged, or which are removed.
    about: Literal["", "persons", "unchanged", "removed"] = ""
    #: The columns that are released unchanged or removed.
    columns: tuple[str, ...] = ()

    def applied_to(self, settings: FileSettings) -> FileSettings:
        """Return the settings of a file with those that the finding proposes."""
        area = self.settings.get("area")
        given = {name: value for name, value in self.settings.items() if name != "area"}
        if area is not None:
            given["area"] = area.text
        return replace(settings, **given)  # type: ignore[arg-type]

    def told(self, naming: Naming) -> tuple[str, str]:
        """Return the fact and the remedy, with the names that a reader knows."""
        what = self.what.worded(naming) if isinstance(self.what, GeoveilError) else worded(self.what, naming)
        return what, worded(self.remedy, naming)


class _Proposal(Message):
    """The area that is proposed for a file, in words."""

    def __init__(self, area: AreaSuggestion) -> None:
        super().__init__("Proposed: {area} {looked} {gv.areas} shows the areas of other places.", looked=LOOKED)
        self._area = area

    def worded(self, naming: Naming) -> str:
        self.data["area"] = self._area.described(option=naming is not PYTHON)
        return super().worded(naming)


@dataclass(frozen=True)
class TypicalPerson:
    """The person of a file with the median number of points: public numbers, from which noise follows."""

    #: The number of points.
    points: int
    #: Whether the file has one person only.
    alone: bool
    #: The largest number of points in a unit, by the names of metrics.
    largest: dict[str, int]
    #: The interval in which one point would be kept; empty if thinning is not worth while.
    step: str
    #: The number of points that would remain.
    thinned: int
    #: The largest number of points in a unit after thinning.
    fewer: dict[str, int]
    #: The area of the file.
    area: AreaLike

    def noise(self, budget: Guarantee, *, thinned: bool = False) -> dict[str, float]:
        """Return the 95% error radius of a single point at the busiest time, by the names of the units' metrics."""
        n, errors = self.thinned if thinned else self.points, {}
        for name, most in (self.fewer if thinned else self.largest).items():
            rho, epsilon = rho_and_epsilon(budget.under_unit(as_metric(name)))
            planned = plan("points", rho=rho, epsilon=epsilon, n=n, largest=most, each=True, area=self.area)
            errors[name] = planned.error
        return errors

    @classmethod
    def of(cls, rows: CountedRows) -> TypicalPerson | None:
        """Return the typical person of a file that was counted; None if that person has one point.

        If no times were read, nothing is known about lengths of time.
        """
        sizes, timed = rows.people.sizes, rows.counted.timed
        typical = int(np.argsort(sizes, kind="stable")[len(sizes) // 2])
        if timed is None:
            n = int(sizes[typical])
            whole = {name: n if name == "inf" else 1 for name in COMPARED if as_metric(name).stretch is None}
            return None if n < 2 else cls(n, len(sizes) == 1, whole, "", n, {}, rows.plane.area)
        mine = timed.facts.chosen(timed.points & (timed.facts.persons == typical))
        n = len(mine)
        if n < 2:
            return None
        step, rest = "", mine
        for each in _STEPS:
            rest = mine.chosen(mine.kept_of_thinned(as_duration("thin", each)))
            if 2 * len(rest) <= n:
                step = each
                break
        largest, fewer = (
            {name: int(points.unit_sizes(as_metric(name)).max()) for name in COMPARED} for points in (mine, rest)
        )
        return cls(n, len(sizes) == 1, largest, step, len(rest), fewer, rows.plane.area)


@dataclass
class CheckedFile:
    r"""A file that is checked for its owner. Nothing is drawn, charged or released.

    Examples
    --------
    >>> path = folder / "trips.csv"
    >>> _ = path.write_text("user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n")
    >>> checked = CheckedFile(path, FileSettings(person="user", area="San Francisco"), gv.CGP(rho=1))
    >>> [finding.kind for finding in checked.findings()]
    ['good', 'good', 'note', 'good', 'good']
    """

    #: The file.
    path: Path
    #: What the data is, and who and what is protected.
    settings: FileSettings
    #: The guarantee of the release.
    guarantee: Guarantee
    #: The person with the median number of points, if that is more than one; known after `findings`.
    typical: TypicalPerson | None = None
    #: The public numbers of the file, if a release is possible; known after `findings`.
    rows: PublicRows | None = None
    #: Whether some rows are lines; known after `findings`.
    lines: bool = False
    #: The settings with those that findings propose; known after `findings`.
    completed: FileSettings = field(init=False)

    def __post_init__(self) -> None:
        self.completed = self.settings

    def findings(self, frame: geopandas.GeoDataFrame | None = None) -> Iterator[Finding]:
        """Yield the findings about the file, and find its typical person and its public numbers.

        Parameters
        ----------
        frame : GeoDataFrame, optional
            The rows that have a location, if they were read before.
        """
        import shapely

        file = self.settings.open(self.path)
        try:
            frame = self.settings.of_true_rows.locations(self.path).frame() if frame is None else frame
        except GeoveilError as problem:
            try:
                self._rehearse(file)
            except GeoveilError:
                # A release would refuse the file for this reason, so proposing an area does not help.
                yield Finding("stop", problem)
            else:
                yield Finding("note", problem, "One of the columns to be removed cannot be read.")
            return
        self.lines = bool((shapely.get_type_id(frame.geometry.array) != 0).any())
        findings = [*_about(file, frame, self.settings)]
        yield from findings
        for finding in findings:
            self.completed = finding.applied_to(self.completed)
        # A finding of kind "stop" says more than the error of the release, which is yielded only without one.
        if any(finding.kind == "stop" for finding in findings):
            return
        try:
            rows = self._rehearse(file)
        except GeoveilError as problem:
            yield Finding("stop", problem)
            return
        for name in sorted(rows.counted.found.formulas):
            what = f"The column {name!r} has texts that a spreadsheet would run as formulas."
            yield Finding("note", what, "They are released unchanged: clean them, or warn the recipient.")
        degrees = to_degrees(shapely.get_coordinates(frame.geometry.array), file.crs)
        first = (float(degrees[0, 1]), float(degrees[0, 0]))
        recorded = recorded_by_one(file, frame) and has_tracks(self.path)
        self.rows = PublicRows.of(
            rows,
            trip=recognised_trips(file, frame),
            untimed=bool(rows.counted.removed.untimed) and self.completed.missing != "drop",
            reach=_reach(degrees),
            start=first if recorded else None,
            from_start=ground_distances(*first, *degrees[:, ::-1].T) if recorded else None,
            unsure=self.completed.person is None and bool(unclear_persons(file, frame)),
        )

    def _rehearse(self, file: LocationFile) -> CountedRows:
        """Run a release up to its charge, and read the times of points if possible."""
        settings = self.completed
        file = file.with_persons(settings.person)
        timed = settings.times or len(file.time_columns) == file.points_in_a_row
        # The release itself may need no times, and rows without one can be removed where it does.
        ways = [(settings, True), (replace(settings, missing="drop"), True)] if timed else []
        for way, with_times in ways:
            try:
                rows = way.rehearse(file, self.guarantee, timed=with_times)
                break
            except GeoveilError:
                continue
        else:
            rows = settings.rehearse(file, self.guarantee)
        # If the persons are only guessed, nobody is typical yet.
        if settings.person == self.settings.person:
            self.typical = TypicalPerson.of(rows)
        return rows

    def advice(self, guarantee: Guarantee, within: float | None = None) -> Advice | None:
        """Return what the file can be used for, once it was checked; None if something must be corrected first.

        Parameters
        ----------
        guarantee : CGP or GP
            The guarantee for all points of a person together.
        within : float, optional
            The largest error that is of use, in metres or, for counts, persons.
        """
        return None if self.rows is None else advise(self.rows, guarantee, within)


def _reach(degrees: Floats) -> float:
    """Return the radius in metres that holds 80% of the points: for their owner alone."""
    lon, lat = np.median(degrees, axis=0)
    return float(np.quantile(ground_distances(float(lat), float(lon), *degrees[:, ::-1].T), 0.8))


def _about(file: LocationFile, frame: geopandas.GeoDataFrame, settings: FileSettings) -> Iterator[Finding]:
    rows, chosen = 0, file.row_filter(settings.where)
    for batch in file.batches([] if chosen is None else chosen.columns):
        rows += len(batch) if chosen is None else int(chosen.rows(batch.columns, batch.name).sum())
    if chosen is not None:
        yield Finding("good", f"{counted(rows, 'row')} satisfy the filter; it is stated in the certificate.")
    if len(frame) < rows:
        what = f"{rows - len(frame):,} of {counted(rows, 'row')} have no location."
        if settings.missing == "drop":
            yield Finding("note", what, "They are removed.")
        else:
            yield Finding("need", what, Message("{missing:drop} removes them."), {"missing": "drop"})
    plane, about = _system(file, frame, settings.area)
    yield about
    if plane is not None and settings.area is None:
        yield from _smaller_area(file, frame, plane)
    if plane is not None and settings.outside == "drop":
        inside = select_rows(GeometryRows(frame), plane, None, missing="drop", outside="drop").rows
        if inside is not None:
            out = counted(len(frame) - int(inside.sum()), "row")
            frame = frame[inside]
            yield Finding(
                "note",
                f"Removed: {out} with a point outside the area.",
                "Which rows were outside is not hidden.",
            )
    yield from _places(file, frame, plane, settings)
    if settings.times is None and not file.time_columns and (times := guess_times(file, frame)) is not None:
        what = f"It is assumed that {times.column!r} counts {times.unit_name} from a start: {times.span} in all."
        other = Message("If not, say so: {unit}.", unit=Mention("times", times.other))
        yield Finding("note", what, other, Proposed(times=times.stated))
    if settings.times is None and len(file.time_columns) > file.points_in_a_row == 1:
        first, *others = file.time_columns
        what = f"It is assumed that the time of a row is in {first!r}."
        other = Message("If not, say so, such as with {other}.", other=Mention("times", others[0]))
        yield Finding("note", what, other, Proposed(times=first))
    people = [*_people(file, frame, settings.person, plane)]
    yield from people
    guessed = next((name for finding in people if (name := finding.settings.get("person")) is not None), None)
    yield from _columns(file, frame, settings.person, plane, guessed)


def _system(file: LocationFile, frame: geopandas.GeoDataFrame, area: str | None) -> tuple[Plane | None, Finding]:
    """Return the plane of the noise, if one can be used, and the findings about the coordinate system."""
    import shapely

    unit = str(file.crs.axis_info[0].unit_name)
    units = {"metre": "metres", "foot": "feet"}.get(unit, unit) if not file.crs.is_geographic else "degrees"
    try:
        plane = plane_of(file.crs, area)
    except GeoveilError as problem:
        if area is not None:
            return None, Finding("stop", problem)
        try:
            told, settings = _proposed(shapely.get_coordinates(frame.geometry.array), file.crs)
        except GeoveilError as refused:
            return None, Finding("stop", refused)
        own = f"degrees ({file.crs.name})" if file.crs.is_geographic else file.crs.name
        what = f"Its coordinates are in {own}, and noise is added in metres on the ground: an area is needed."
        return None, Finding("need" if settings else "stop", what, told, settings)
    most = plane.area.stretch - 1
    stretched = f"stretches distances by at most {most:.3%}" if most > 0 else "does not stretch distances"
    more = f" Noise is added in the plane of {plane.area.name}, which {stretched}."
    located = getattr(file, "located", None)
    columns = "" if located is None else f", in {_listed(located.names)},"
    return plane, Finding("good", f"Its coordinates{columns} are in {units} ({file.crs.name}).{more}")


def _smaller_area(file: LocationFile, frame: geopandas.GeoDataFrame, plane: Plane) -> Iterator[Finding]:
    """Propose an area if the coordinate system's own is far larger than the data."""
    import shapely

    degrees = to_degrees(shapely.get_coordinates(frame.geometry.array), file.crs)
    found = propose_area(degrees)
    side = max(high - low for low, high in zip(plane.area.low, plane.area.high, strict=True))
    if found is None or found.outside or side < _FAR_LARGER * 2 * found.radius:
        return
    what = (
        f"The area of {plane.area.name} is {metres(side, 2)} wide; maps, counts and flows are finer in a smaller one."
    )
    yield Finding("note", what, _Proposal(found), {"area": found})


def _listed(names: Sequence[str]) -> str:
    """Return the names of columns of locations in a sentence."""
    if len(names) == 1:
        return f"the column {names[0]!r}"
    return "the columns " + ", ".join(map(repr, names[:-1])) + f" and {names[-1]!r}"


def _proposed(coords: Floats, crs: pyproj.CRS) -> tuple[Text, Proposed]:
    """Return a text that proposes an area for some coordinates, and the settings that state it.

    The settings are empty if no area can be proposed. An area that a release would refuse raises its error.
    """
    degrees = to_degrees(coords, crs)
    proposed = propose_area(degrees[:, ::-1] if seem_swapped(degrees) else degrees)
    if proposed is None:
        why = Message(
            "No area can be proposed, since all points are at 0, 0."
            if not degrees.any()
            else "It is spread wider than the largest area, 3000 km around a point: release it part by part, each "
            "with its own {area} and {outside:drop}."
        )
        return Message("State where the data is with {area}, from public knowledge. {why}", why=why), {}
    plane_of(crs, local(lat=proposed.lat, lon=proposed.lon, radius=proposed.radius))
    return _Proposal(proposed), {"area": proposed, "outside": "drop"} if proposed.outside else {"area": proposed}


def _places(
    file: LocationFile, frame: geopandas.GeoDataFrame, plane: Plane | None, stated: FileSettings
) -> Iterator[Finding]:
    """Find rows without a location, far outliers, and repeated locations."""
    import shapely

    coords = shapely.get_coordinates(frame.geometry.array)
    yield Finding("good", f"{counted(len(frame), 'row')} with a location, {counted(len(coords), 'point')}.")
    zero = int((coords == 0).all(axis=1).sum())
    if zero:
        yield Finding(
            "note", f"{counted(zero, 'point')} at 0, 0, which devices write if they have no fix.", "Remove them."
        )
    if file.crs.is_geographic and (np.abs(coords) > [180, 90]).any():
        metres: Text = (
            "The file states a wrong coordinate system: correct it, such as with `ogr2ogr -a_srs EPSG:3857 new.gpkg "
            "old.geojson` for Web Mercator, the system of web maps."
            if getattr(file, "located", None) is None
            else Message("Give {crs}, such as {crs:3857} for Web Mercator, the system of web maps.")
        )
        remedy = (
            Message("Longitude and latitude seem to be swapped: {lat} and {lon} name the columns the other way round.")
            if seem_swapped(coords)
            else metres
        )
        yield Finding("stop", "Some coordinates are not degrees: latitudes go to 90, longitudes to 180.", remedy)
    elif plane is None and file.crs.is_geographic and seem_swapped(coords):
        yield Finding(
            "stop",
            "Longitude and latitude seem to be swapped: few points are near a city, and exchanged nearly all are.",
            Message("{lat} and {lon} name the columns the other way round."),
        )
    elif plane is not None:
        try:
            plane.enter(coords, stated.outside, lambda row: f"point {row + 1}")
        except GeoveilError as problem:
            told, settings = _proposed(coords, file.crs) if stated.area is None else ("", Proposed())
            yield Finding("need" if settings else "stop", problem, told, settings)
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


def _decimals(coords: Floats) -> int | None:
    """Return the number of decimals of all coordinates if it is at most 3, else None."""
    for digits in range(4):
        if np.allclose(coords, np.round(coords, digits), rtol=0, atol=1e-9):
            return digits
    return None


def _people(
    file: LocationFile, frame: geopandas.GeoDataFrame, person: str | None, plane: Plane | None
) -> Iterator[Finding]:
    """Find how many points each person has, and how uneven that is."""
    if person is None:
        yield _guessed(file, frame, plane)
        return
    if person == ROW and person not in frame:
        yield Finding("good", f"{counted(len(frame), 'person')}: each row is another person.")
        return
    if person not in frame:
        yield Finding(
            "stop",
            f"There is no column {person!r}.",
            f"The columns are {', '.join(map(str, frame.columns.drop(frame.geometry.name)))}.",
        )
        return
    if frame[person].isna().any():
        yield Finding(
            "stop",
            f"{counted(int(frame[person].isna().sum()), 'row')} without a value in {person!r}.",
            "Every row needs a person.",
        )
    sizes = frame[person].value_counts()
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


def _guessed(file: LocationFile, frame: geopandas.GeoDataFrame, plane: Plane | None) -> Finding:
    """Return the assumption about whose the points are."""
    guess, rows = guess_person(file, frame, plane), counted(len(frame), "row")
    if guess is None:
        what = f"It is assumed that all {rows} are of one person."
        unclear = unclear_persons(file, frame)
        if unclear:
            what = f"It is assumed that all {rows} are of one person, but {unclear[0]!r} may name persons."
            stated = Mention("person", unclear[0])
            # A release refuses rows of nobody.
            labels = frame[unclear[0]]
            filled = ", fill in its empty rows and" * bool((labels.isna() | (labels.astype(str) == "")).any())
            remedy = Message("If it does{filled} say so: {stated}.", filled=filled or ",", stated=stated)
            return Finding("note", what, remedy, about="persons")
        likely = [name for name in file.recognised.persons if name not in file.structure]
        named = f" (such as {', '.join(map(str, likely))})" if likely else ""
        remedy = Message("If they are not, give {person} COLUMN{named}, or {person:row}.", named=named)
        return Finding("note", what, remedy, about="persons")
    if guess == ROW:
        what = f"It is assumed that each of the {rows} is another person."
        remedy = Message("If not, give {person} COLUMN; if all are of one person, leave out {person:row}.")
    else:
        persons = counted(frame[guess].nunique(), "person")
        what = f"It is assumed that each value of {guess!r} is one person: {persons}."
        remedy = Message("If not, give another {person} COLUMN, or {person:row} if each row is another person.")
    return Finding("note", what, remedy, Proposed(person=guess), about="persons")


def _columns(
    file: LocationFile, frame: geopandas.GeoDataFrame, person: str | None, plane: Plane | None, guessed: str | None
) -> Iterator[Finding]:
    """Find the columns that are released unchanged, and those that would reveal locations if they were."""
    import shapely

    geometry = frame.geometry
    names = [name for name in frame if name != geometry.name]
    unsafe = {*file.unsafe, *(name for name in names if may_hold_places(frame[name].array))}
    names = [name for name in names if name not in unsafe and name != guessed]
    always = [*([person] if person is not None else []), *file.time_columns, *file.structure]
    released = [name for name in dict.fromkeys(always) if name in names]
    rows = sampled(len(frame))
    places = shapely.get_coordinates(shapely.centroid(geometry.array[rows]))
    sample = {name: frame[name].iloc[rows] for name in names}
    if released:
        columns = tuple(map(str, released))
        what = f"These columns are released unchanged: {', '.join(columns)}."
        yield Finding("good", what, about="unchanged", columns=columns)
    reasons = reasons_of(released, by=person, times=file.time_columns, structure=file.structure)
    for column in unchanged_columns({name: sample[name] for name in released}, reasons, places, plane):
        if column.warnings:
            what = f"The column {column.name!r} is released unchanged: {', and '.join(column.warnings)}."
            yield Finding("note", what, "The certificate and the report say so.")
    if person in released and (why := label_suspicions(person, sample[person], places, plane)):
        (concern,) = concerns_of_labels(person, why, None)
        yield Finding("note", concern, columns=(str(person),))
    left = [name for name in names if name not in released]
    telling = {name: why for name in left if (why := suspicions(name, sample[name], places, plane))}
    for name, why in telling.items():
        named = Mention("keep", str(name))
        yield Finding(
            "note",
            f"The column {name!r} may reveal locations: {', and '.join(why)}.",
            Message("It is removed, also with {keep:all}, unless you name it: {named}.", named=named)
            if tells_places(name)
            else Message("It is removed, unless you name it: {named}. Until then {keep:all} is refused.", named=named),
            about="removed",
            columns=(str(name),),
        )
    safe = [name for name in left if name not in telling]
    if safe:
        listed = ", ".join(map(str, safe))
        gone = Message("These columns are removed unless {keep} names them: {listed}.", listed=listed)
        yield Finding("good", gone, about="removed", columns=tuple(map(str, safe)))
    for name in file.recognised.unclear_times:
        unclear = f"The column {name!r} may hold times, but its name or its values do not say so."
        remedy = Message("It is removed unless {keep} names it: {named}.", named=Mention("keep", str(name)))
        yield Finding("note", unclear, remedy, about="removed", columns=(str(name),))
    for name in sorted(unsafe):
        yield Finding("note", f"The column {name!r} may contain locations.", "It is never released.")
