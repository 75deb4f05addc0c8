"""Questions about a file: `geoveil points`, `hull`, `nearest`, `within`, `summary`, `heatmap`, `counts`, `flows`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from geoveil.cli import terminal
from geoveil.cli.command import command, gathered
from geoveil.cli.file_arguments import SOURCE, Target, distinct, incoming, tabular, target_of, writable
from geoveil.cli.option_names import OPTIONS
from geoveil.cli.options import DRAWING, PRINTING, Output, budget_of, output_of
from geoveil.cli.presentation import (
    describe,
    drawable,
    forecast_data,
    forecast_lines,
    in_degrees,
    lines_of,
    value_of,
    write_report,
)
from geoveil.errors import InvalidParameter
from geoveil.requests.accounts import ChargedAccounts
from geoveil.requests.file_request import (
    FileRequest,
    FileSettings,
    QuestionOptions,
    ReadingOptions,
    as_tuple,
    combined,
)
from geoveil.requests.release_record import SETTING
from geoveil.settings import READING
from geoveil.text.words import counted, metres

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from geoveil import Concern, CrowdRelease, Ledger, Release
    from geoveil.release.kinds import Frame

__all__ = [
    *("DATA", "counts", "flows", "heatmap", "hull", "mean", "nearest", "points", "settings_of", "summary", "within"),
]

_AREA = "--area 37.77,-122.42,50km"
#: The largest number of rows of an answer that the terminal shows; files and JSON have all.
_ROWS, _TOP = 40, 10
_BUDGET = ("privacy", "hide", "chance", "rho", "epsilon", "notion", "metric")
DATA = ("protect", "times", "thin", "area", "outside", "format", "missing", "where", *READING)
_ACCOUNT = ("ledger", "subject", "short")
_FILE = ("target", "certificate", "sign")
_CROWD = ("every", "cap", "bandwidth", "at_least")
#: The options for showing an answer, and one about a crowd, whose error is not foreseen.
_ANSWERED = (*DRAWING, "with_truth", "dry_run", *PRINTING)
_DRAWN = (*DRAWING, "with_truth", *PRINTING)
F = TypeVar("F", bound=Callable[..., object])


def settings_of(given: dict[str, Any]) -> FileSettings:
    """Return the settings of a file that options state, and remove them from what is given."""
    reading = ReadingOptions(**{name: text for name in READING if (text := given.pop(name))})  # type: ignore[typeddict-item]
    times: tuple[str, ...] = given.pop("times")
    data = {name: given.pop(name) for name in ("protect", "thin", "area", "outside", "missing", "where", "person")}
    pseudonyms = given.pop("pseudonyms", None)
    return FileSettings(
        times=times[0] if len(times) == 1 else times or None,
        pseudonyms=pseudonyms is not None and (pseudonyms or True),
        reading=reading,
        **data,
    )


@dataclass(frozen=True)
class FileQuestion:
    """A command that asks about a file."""

    request: FileRequest
    source: str
    format: str | None
    target: Target
    output: Output
    #: The file of a table with the terms of Darwin Core.
    darwin_core: str | None = None
    yes: bool = False

    @classmethod
    def of(cls, question: str, source: str, given: dict[str, Any]) -> FileQuestion:
        """Return the question that options state."""
        account = ChargedAccounts(
            given.pop("ledger") or "", given.pop("subject"), given.pop("short"), given.pop("label", None)
        )
        for option, stated in (("subject", account.subject), ("label", account.label)):
            if not account.place and stated is not None:
                raise click.UsageError(f"--{option} needs --ledger, the ledger that is charged.")
        if not account.place and account.short != "refuse":
            raise click.UsageError("--short needs --ledger, the ledger that is charged.")
        terminal.state().account = account
        output = output_of(**{name: given.pop(name) for name in _ANSWERED if name in given})
        target = target_of(given.pop("target"), given.pop("certificate", None), given.pop("sign"))
        budget, settings = budget_of(**{name: given.pop(name) for name in _BUDGET}), settings_of(given)
        form, yes, register = given.pop("format"), given.pop("yes", False), given.pop("darwin_core", None)
        if question == "points" and settings.times and given["order"] == "public":
            # Times are public: a column of times that is named is released.
            given["keep"] = (*given["keep"], *as_tuple(settings.times))
        options = QuestionOptions(**given)
        name = "stdin" if source == "-" else Path(source).name
        request = FileRequest(
            question,
            Path(source),
            name,
            settings,
            budget,
            options,
            account,
            target.path or "",
            target.sign,
            target.key,
            named=source != "-",
        )
        return cls(request, source, form, target, output, register, yes)

    def __post_init__(self) -> None:
        """Refuse options that contradict each other, before anything is read."""
        request, settings = self.request, self.request.settings
        if request.account.place and request.account.subject is None and settings.person is None:
            raise click.UsageError("--ledger needs the accounts to charge: give --subject NAME or --person COLUMN.")
        if settings.pseudonyms is not False and (settings.person is None or request.options.together):
            raise click.UsageError("--pseudonyms needs --person COLUMN, and an answer for each person.")
        if request.options.together and settings.person is None:
            raise click.UsageError("--together needs --person COLUMN: without it all points are one person's.")
        others = [name for name in request.options.keep if name != settings.person]
        if request.question != "points" and others:
            raise click.UsageError("--keep goes with the --person column here: answers have no other columns.")
        smooth = request.options.motion is not None
        if smooth and request.budget.guarantee.symbol != "rho":
            raise click.UsageError(
                "--smooth needs the noise of concentrated geo-privacy: give --rho, or leave it out."
            )
        if smooth and self.darwin_core is not None:
            raise click.UsageError(
                "--darwin-core states an error of each point, which smoothed ones do not have: leave --smooth out."
            )
        if settings.times and settings.thin is None and not smooth and not request.crowd:
            if request.question == "points" and settings.protect is None:
                raise click.UsageError("--time goes with --smooth, --protect or --thin.")
            if request.question != "points" and request.guarantee.metric.stretch is None:
                raise click.UsageError("--time goes with --thin, or with a length of time as --protect.")

    def answer(self, show: Callable[[ShownAnswer], None]) -> None:
        """Ask the question within its budget, write and draw the answer, and show it; or show its cost and error."""
        charges = terminal.state().charges
        with incoming(self.source, self.format) as path, charges.opened(self.request.account.place) as ledger:
            # Someone at a terminal is asked about a hopeless error.
            request = replace(self.request, path=path, accepted=self.yes or terminal.interactive())
            if request.question == "points":
                from geoveil.geo.formats import opener_of

                opener_of(path)
            if self.output.dry_run:
                self._show_forecast(request, ledger)
                return
            endings = self._endings(path)
            self._check(endings)
            request.check()
            with self._written(endings) as (written, overwrite):
                releases = self._run(request, ledger, written, overwrite)
                if self.darwin_core is not None:
                    _write_register(self.darwin_core, releases[0])
                report = None
                if self.output.drawn:
                    with terminal.waiting("Drawing the map"):
                        report = request.report(
                            f"{request.name}, released"
                            if request.question == "points"
                            else f"{request.question.capitalize()} of {request.name}",
                            releases,
                            request.layers(releases, written, truth=self.output.with_truth),
                            charges.balances(ledger),
                            basemap=self.output.basemap,
                            width=self.output.width,
                        )
            if report is not None:
                write_report(self.output, report)
            show(ShownAnswer(request, releases, self.target, self.output))

    def _endings(self, path: Path) -> Sequence[str]:
        """Return the endings of the files to which the answer can be written; that of a pipe comes first."""
        from geoveil.geo.formats import targets
        from geoveil.release.as_file import endings

        placed = self.request.question in ("hull", "mean") or self.request.options.locations is not None
        special = {
            "points": targets(path),
            "heatmap": (*endings(), ".tif"),
            "counts": endings(),
            "flows": endings(),
        }
        return special.get(self.request.question) or endings(placed=placed)

    def _check(self, endings: Sequence[str]) -> None:
        """Refuse outputs that cannot be written, before anything is charged."""
        target, keys = self.target, self.request.settings.pseudonyms
        if self.request.question == "points" and target.path is None:
            raise click.UsageError("Name the released file with -o; - is stdout.")
        if target.path == "-" and self.output.json:
            raise click.UsageError("-o - and --json both write to stdout: name a file with -o.")
        named = {"FILE": self.source, "-o": target.path, "--certificate": target.certificate, **self.output.drawn}
        named["--darwin-core"] = self.darwin_core
        distinct(
            {**named, "--ledger": self.request.account.place, "--pseudonyms": keys if isinstance(keys, str) else None}
        )
        if self.request.question != "summary":
            target.check(endings)
        elif target.path is not None:
            folder = Path(target.path)
            if folder.exists() and not folder.is_dir():
                raise InvalidParameter("-o", target.path, "a folder", "Choose another name.")
            if folder.is_dir() and not terminal.state().overwrite:
                remedy = "Choose another name, or replace the files of an earlier summary with --overwrite."
                raise InvalidParameter("-o", target.path, "a new folder", remedy)
            for path in self.request.written(folder) if folder.is_dir() else [folder]:
                writable(str(path))
        drawable(self.output)
        if self.darwin_core is not None:
            tabular(self.darwin_core, "--darwin-core")

    @contextmanager
    def _written(self, endings: Sequence[str]) -> Iterator[tuple[Path | None, bool]]:
        """Yield the path to write the answer to, if it is written, and whether an existing file is replaced there."""
        if self.target.path is None:
            yield None, False
        elif self.request.question == "summary":
            yield Path(self.target.path), terminal.state().overwrite
            terminal.state().released = self.target.path
        else:
            with self.target.opened(endings[0]) as (path, overwrite):
                yield path, overwrite

    def _run(
        self, request: FileRequest, ledger: Ledger | None, written: Path | None, overwrite: bool
    ) -> list[Release]:
        doing = "Releasing" if request.question == "points" else "Asking about"
        with terminal.progress(f"{doing} {request.name}") as tell:
            if request.question != "points":
                _tell_earlier(request)
            confirm = tell.paused(partial(self._confirm, request))
            releases = request.run(written, ledger, tell, confirm=confirm, overwrite=overwrite)
        try:
            request.record()
        except OSError as problem:
            lost = "A later release will not mention this one, as the record of releases could not be written"
            terminal.note(f"{lost} ({problem}); {SETTING}=off keeps none.")
        return releases

    def _confirm(self, request: FileRequest, concerns: Sequence[Concern]) -> None:
        """Tell of earlier releases and of concerns about this one; someone at a terminal is asked about grave ones."""
        if request.question == "points":
            _tell_earlier(request)
        for concern in concerns:
            # A release that is refused says why; smoothed tracks are better than these.
            if request.accepted or not concern.hopeless:
                terminal.note(concern.worded(OPTIONS))
        if any(concern.grave for concern in concerns) and not self.yes and terminal.interactive():
            click.confirm("Release it nevertheless?", abort=True, err=True)

    def _show_forecast(self, request: FileRequest, ledger: Ledger | None) -> None:
        """Show the cost and the error of a question, without asking it."""
        from geoveil.requests.forecasts import foresee

        with terminal.waiting("Counting"):
            numbers, forecasts = foresee(request, ledger)
        told = [forecast_data(each) for each in forecasts]
        sizes, persons = numbers.sizes, numbers.persons
        if request.question == "points":
            if self.output.json:
                terminal.json({**told[0], "points": sum(sizes), "persons": len(sizes)})
                return
            span = " to ".join(dict.fromkeys(f"{size:,}" for size in (min(sizes), max(sizes))))
            each = "" if persons is None else f", {span} each"
            said = f"{counted(sum(sizes), 'point')} of {_whose(persons)}{each}. Nothing was released or charged."
            terminal.answer(said, terminal.grid(forecast_lines(forecasts[0], numbers)))
            return
        if self.output.json:
            terminal.json(told[0] if len(told) == 1 else told)
            return
        for forecast in forecasts:
            lines = terminal.grid(forecast_lines(forecast, numbers))
            terminal.answer(terminal.bold(f"{forecast.question} of {request.name}"), lines)
        terminal.answer("Nothing was released or charged.")


def _write_register(path: str, release: Release) -> None:
    """Write released points as a table with the terms of Darwin Core."""
    from geoveil.geo.formats.atomic import write_atomically

    table = release.darwin_core()
    write_atomically(Path(path), lambda new: table.to_csv(new, index=False))


def _tell_earlier(request: FileRequest) -> None:
    """Say before a release that it adds up with earlier ones; the record never stops a release."""
    with suppress(OSError):
        if (earlier := request.earlier()) is not None:
            terminal.note(earlier.worded(OPTIONS))


def _whose(persons: Sequence[object] | None) -> str:
    return "one person" if persons is None else counted(len(persons), "person")


def question(name: str, own: Sequence[str], shown: Sequence[str], file: Sequence[str] = _FILE) -> Callable[[F], F]:
    """Return a decorator that adds the argument and the options of a question about a file.

    Parameters
    ----------
    name : str
        The question.
    own, shown, file : sequence of str
        The settings of the question itself, for showing the answer, and for writing it.
    """
    names = (*file, *own, "person", *_BUDGET, *DATA, *shown, *_ACCOUNT)

    def build(**given: Any) -> Callable[[str], FileQuestion]:
        return lambda source: FileQuestion.of(name, source, given)

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def run(source: str, asking: Callable[[str], FileQuestion], **more: object) -> object:
            return command(asking(source), **more)

        return SOURCE(gathered("asking", build, names, required=("at", "k", "radius"))(run))  # type: ignore[return-value]

    return decorate


@dataclass(frozen=True)
class ShownAnswer:
    """A question that was answered, for those who show the answer."""

    request: FileRequest
    releases: list[Release]
    target: Target
    output: Output

    @property
    def each(self) -> str | None:
        """The column of persons, if each of them has an answer."""
        return None if self.request.options.together else self.request.settings.person

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The lines that name the files."""
        return [*self.target.lines, *self.output.lines]

    def show(self, table: Callable[[], Table] | None = None) -> None:
        """Show the answer, with a table if one is made, or as JSON."""
        (release,) = self.releases
        if self.output.json:
            terminal.json({"answer": value_of(release), "certificate": release.certificate()})
            return
        if table is not None:
            terminal.answer(table())
        describe(release, more=self.lines)

    def show_rows(self) -> None:
        """Show the rows found, with their public times, and with their places if these were released."""
        self.show(self._rows)

    def _rows(self) -> Table:
        import pyarrow as pa

        (release,), file = self.releases, self.request.file
        times = pa.concat_tables(batch.columns for batch in file.batches([*file.time_columns]))
        whole = release.to_frame()
        head = whole.head(_ROWS)
        columns = [name for name in (self.each or "", "rank") if name in head]
        rows = []
        for line in head.to_dict("records"):
            row = line[release.query]
            told = [""] * times.num_columns if row is None else [str(column[row - 1]) for column in times.columns]
            rows.append([*(str(line[name]) for name in columns), "none" if row is None else str(row), *told])
        columns += ["row", *times.column_names]
        if "geometry" in head:
            columns += ["latitude", "longitude"]
            places = head.to_crs(4326).geometry
            rows = [[*cells, f"{p.y:.5f}", f"{p.x:.5f}"] for cells, p in zip(rows, places, strict=True)]
        return terminal.table(columns, rows, total=len(whole))


_yes = click.option("--yes", "-y", is_flag=True, help="Release without asking, even if the error is hopeless.")

# The commands ------------------------------------------------------------------------------------------------------


@command(
    "Trips of many users, hiding 500 m at 75%:",
    f"geoveil points trips.csv -o released.csv --person user {_AREA} --privacy medium",
    "A budget by its meaning, trajectories smoothed as those of taxis, with a map:",
    f"geoveil points trips.csv -o smooth.csv --person user {_AREA} --hide 200m --smooth taxi --report map.html",
    "The cost and the error, without a release:",
    f"geoveil points trips.csv --person user {_AREA} --rho 5e-5 --dry-run",
    "One person's trips, charged to their account:",
    f"geoveil points trips.csv -o charged.csv {_AREA} --rho 1e-4 --ledger budget.db --subject ann",
    "Through a pipe:",
    f"cat trips.csv | geoveil points - -o - --person user {_AREA} --rho 5e-5 | head -3",
)
@_yes
@question("points", ("keep", "motion", "order", "method", "pseudonyms"), _ANSWERED, (*_FILE, "darwin_core"))
def points(asking: FileQuestion, yes: bool) -> None:
    """Release every point of a file, with noise.

    CSV, Excel, GPX, KML, GeoJSON, GeoParquet, GeoPackage, Shapefile, FlatGeobuf, a zipped one of these, or a folder of
    Geolife or cabspotting data. Locations get noise; times and the --person column are released unchanged; other
    columns are removed unless --keep names them. The released file has the format that its ending names.
    """

    def show(done: ShownAnswer) -> None:
        (release,), target = done.releases, done.target
        if done.output.json:
            terminal.json({"output": target.path, "certificate": release.certificate()})
        else:
            head = f"{target.name}: {release.facts(every_error=False).counted} of {_whose(release.person)}"
            register = [] if asking.darwin_core is None else [("Darwin Core", asking.darwin_core)]
            describe(release, head, [*target.lines[-1:], *register, *done.output.lines])

    replace(asking, yes=yes).answer(show)


@command(
    "The convex hull of all locations:",
    f"geoveil hull trips.csv -o hull.geojson {_AREA} --rho 1e-4",
    "For each user, with a map:",
    f"geoveil hull trips.csv -o hulls.gpkg --person user {_AREA} --rho 1e-3 --report hulls.html",
)
@_yes
@question("hull", ("keep", "together", "count", "pseudonyms", "label"), _ANSWERED)
def hull(asking: FileQuestion, yes: bool) -> None:
    """Release the convex hull of a file's locations: a polygon.

    The output's ending tells its format: .geojson, .gpkg, .shp, .parquet or .csv.
    """

    def show(done: ShownAnswer) -> None:
        if done.target.path is None and not done.output.json:
            # Written without line breaks, so that other programs can read it.
            click.echo(_wkt(done.releases[0]))
        done.show()

    replace(asking, yes=yes).answer(show)


def _wkt(release: Release) -> str:
    """Return shapes as WKT in degrees, to be pasted into other programs."""
    import geopandas
    import shapely

    several = release.person is not None
    answers = release.value.geometry if several else geopandas.GeoSeries([release.value], crs=release.crs)
    # Edges follow the ground, in many short steps.
    shapes = shapely.simplify(in_degrees(answers).array, 1e-5)
    return "\n".join(shapely.to_wkt(shape, rounding_precision=5) for shape in shapes)


@command(
    "Where is the middle of each user's trips, protecting any day?",
    f"geoveil mean trips.csv -o middles.geojson --person user --protect '1 day' {_AREA} --hide 200m",
)
@_yes
@question("mean", ("keep", "together", "count", "pseudonyms", "label"), _ANSWERED)
def mean(asking: FileQuestion, yes: bool) -> None:
    """Release the mean of a file's locations, or of each person's: the middle of where they are.

    The noise is that of a single point, however many points there are; if any day is protected, it is as much smaller
    as a person has more days.
    """

    def show(done: ShownAnswer) -> None:
        done.show(None if done.target.path is not None else lambda: _middles(done))

    replace(asking, yes=yes).answer(show)


def _middles(done: ShownAnswer) -> Table:
    """Return the first answers with their errors."""
    whole = done.releases[0].to_frame()
    head = whole.head(_ROWS)
    names, places = [done.each] if done.each else [], head.to_crs(4326).geometry
    errors = zip(head["radius_95"], places, strict=True)
    rows = [
        [*(str(head[name].iloc[at]) for name in names), f"{place.y:.5f}, {place.x:.5f}", f"±{metres(off)}"]
        for at, (off, place) in enumerate(errors)
    ]
    return terminal.table([*names, "middle", "error"], rows, total=len(whole))


@command(
    "Which rows are nearest to a station?",
    f"geoveil nearest trips.csv --at 37.795,-122.394 -k 5 {_AREA} --rho 1e-2",
    "With their locations, which get half of the budget:",
    f"geoveil nearest trips.csv --at 37.795,-122.394 -k 5 --locations 50% {_AREA} --rho 1e-2 -o near.csv",
)
@_yes
@question("nearest", ("at", "k", "locations", "keep", "together", "pseudonyms", "label"), _ANSWERED)
def nearest(asking: FileQuestion, yes: bool) -> None:
    """Find the k rows nearest to a public place.

    Rows are counted from 1. Do not look up their locations in the data and publish them: --locations releases
    them with noise.
    """
    if asking.output.drawn and asking.request.options.locations is None:
        raise click.UsageError("A map draws locations: add --locations, which releases them.")
    replace(asking, yes=yes).answer(ShownAnswer.show_rows)


@command(
    "When was each user first within 500 m of a station?",
    f"geoveil within trips.csv --at 37.795,-122.394 --radius 500m --person user {_AREA} --rho 1e-3",
)
@_yes
@question("first_within", ("at", "radius", "keep", "together", "pseudonyms", "label"), ("dry_run", *PRINTING))
def within(asking: FileQuestion, yes: bool) -> None:
    """Find the first row within a distance of a public place, if there is one."""
    replace(asking, yes=yes).answer(ShownAnswer.show_rows)


@command(
    "Where were users, and over which area?",
    f"geoveil summary trips.csv --person user {_AREA} --rho 1e-4",
    "As files with certificates:",
    f"geoveil summary trips.csv -o summary --person user {_AREA} --rho 1e-4",
)
@_yes
@question("summary", ("keep", "together", "count", "pseudonyms", "label"), _ANSWERED, ("target", "sign"))
def summary(asking: FileQuestion, yes: bool) -> None:
    """Release center, radius and bounds of a file's locations.

    The radius is that of the smallest circle around all locations. A third of the budget goes to each of the three.
    The output is a folder for the three answers, each with its certificate.
    """
    if asking.request.account.short == "skip":
        raise click.UsageError("--short skip works for a single question, and a summary asks three: leave it out.")

    def show(done: ShownAnswer) -> None:
        if done.output.json:
            answers = {release.query: value_of(release) for release in done.releases}
            terminal.json({"answers": answers, "certificates": [each.certificate() for each in done.releases]})
            return
        terminal.answer(_summary(done.releases, done.each))
        whole, _, _ = combined(done.releases, done.request.guarantee)
        files = [] if done.target.path is None else [("folder", done.target.path)]
        terminal.say(terminal.grid([("guarantee", lines_of(whole)[0][1]), *files, *done.output.lines]))

    replace(asking, yes=yes).answer(show)


def _summary(releases: list[Release], by: str | None) -> Table:
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


@command(
    "Where are people, in cells of 500 m? Each user counts as one:",
    f"geoveil heatmap trips.csv --cell 500m --person user {_AREA} --hide 200m -o heat.gpkg --report heat.html",
    "By hour of the day, protecting any day of a user:",
    f"geoveil heatmap trips.csv --cell 1km --person user --protect '1 day' --every 'hour of day' {_AREA} --hide 200m",
)
@_yes
@question("heatmap", ("cell", *_CROWD), _DRAWN)
def heatmap(asking: FileQuestion, yes: bool) -> None:
    """Release a heat map of a crowd: how many persons are expected in each cell.

    Noise is added once to the whole map, so it is small beside a crowd. --person names the column of persons.
    """
    if asking.request.options.cell is None:
        raise click.UsageError("Give --cell, the side of a cell, such as --cell 500m.")

    def show(release: CrowdRelease) -> None:
        slices = f", {counted(len(release.slices), 'slice')} of time" if release.slices else ""
        rows, columns = release.grid.shape  # type: ignore[attr-defined]
        terminal.answer(f"{rows} by {columns} cells{slices}; {_number(release.elsewhere, 3, release)} elsewhere.")

    _ask_crowd(replace(asking, yes=yes), show)


@command(
    "How many users are in each district?",
    f"geoveil counts trips.csv --regions districts.geojson --person user {_AREA} --hide 200m -o counts.gpkg",
)
@_yes
@question("counts", ("regions", "name", *_CROWD), _DRAWN)
def counts(asking: FileQuestion, yes: bool) -> None:
    """Release how many persons are expected in each of several public regions."""
    if asking.request.options.regions is None:
        raise click.UsageError("Give --regions, a file of polygons.")
    named = asking.request.options.name or "region"
    _ask_crowd(replace(asking, yes=yes), lambda release: _show_top(release, named, release.counted, "noisy"))


@command(
    "Trips with an origin and a destination in each row, between cells of 2 km:",
    f"geoveil flows taxi.csv --cell 10km --person medallion {_AREA} --hide 200m -o flows.csv",
)
@question("flows", ("cell", "regions", "name", "trip", *_CROWD), _DRAWN)
def flows(asking: FileQuestion) -> None:
    """Release how many persons are expected to go from one cell or region to another.

    Rows have an origin and a destination; or --trip names the column of trips.
    """
    if (asking.request.options.cell is None) == (asking.request.options.regions is None):
        raise click.UsageError("Give --cell, the side of a cell, or --regions, a file of polygons.")

    def show(release: CrowdRelease) -> None:
        frame = release.to_frame()
        if "from" not in frame:
            digits = 5 if "from_lat" in frame else 0
            for end in ("from", "to"):
                x, y = (name for name in frame if name.startswith(f"{end}_"))
                first, second = (y, x) if digits else (x, y)
                frame[end] = [
                    f"{a:.{digits}f}, {b:.{digits}f}" for a, b in zip(frame[first], frame[second], strict=True)
                ]
        _show_top(release, "from", "to", release.counted, frame=frame)

    _ask_crowd(asking, show)


def _ask_crowd(asking: FileQuestion, show: Callable[[CrowdRelease], None]) -> None:
    """Ask about the crowd of a file."""
    if asking.request.settings.person is None:
        terminal.note("All points are taken as one person's: --person names the column of persons.")

    def shown(done: ShownAnswer) -> None:
        release = cast("CrowdRelease", done.releases[0])
        if done.output.json:
            frame = release.to_frame().drop(columns="geometry", errors="ignore").astype(object)
            numbers = frame.where(frame.notna(), None).to_dict("records")
            terminal.json({"answer": numbers, "certificate": release.certificate()})
            return
        describe(release, more=[("total", _number(release.total, 6, release)), *done.lines])
        show(release)

    asking.answer(shown)


def _number(number: float, digits: int, release: CrowdRelease) -> str:
    """Return a number of what a release counts, in words: "1 person", "1,800 persons"."""
    shown = f"{number:,.{digits}g}"
    return f"{shown} {release.counted.removesuffix('s') if shown == '1' else release.counted}"


def _show_top(release: CrowdRelease, *columns: str, frame: Frame | None = None) -> None:
    """Show the largest numbers of the release, or of its frame with more columns."""
    names = [*(["slice"] if release.slices else []), *columns]
    frame = (release.to_frame() if frame is None else frame).sort_values(release.counted, ascending=False)
    shown = frame[frame[release.counted].notna()]
    rows = [
        [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in (line[name] for name in names)]
        for line in shown.head(_TOP).to_dict("records")
    ]
    terminal.answer(terminal.table(names, rows, total=len(frame)))
