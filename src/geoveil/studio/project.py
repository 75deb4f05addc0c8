"""The state of a studio: the file, the decisions, and what goes on. It lives as long as the program, not the page."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import geoveil as gv
from geoveil._types import Progress
from geoveil.budget.stores import is_database
from geoveil.errors import GeoveilError, InvalidParameter, LedgerUnavailable
from geoveil.file_check import CheckedFile, Finding
from geoveil.file_summary import combined
from geoveil.geo.formats.atomic import certificate_path
from geoveil.geo.formats.fingerprints import State, file_state
from geoveil.noise import random_bytes
from geoveil.privacy import CGP, exact
from geoveil.release_record import ReleaseRecord
from geoveil.report import Balance, Layer, Report, write
from geoveil.studio.choices import Choices
from geoveil.studio.file_request import FileRequest
from geoveil.studio.jobs import Job
from geoveil.studio.map_view import MapView
from geoveil.studio.opened_data import OpenedData
from geoveil.studio.page_words import message_of
from geoveil.studio.preview import Preview, preview
from geoveil.unit_noise import TypicalPerson

__all__ = ["Outcome", "Project"]

#: Seconds that a ledger may be busy before a release is refused.
_PATIENCE = 20.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """A release that was made.

    Parameters
    ----------
    request : FileRequest
        What was asked.
    releases : list of Release
        The answers.
    report : Report
        Its report, without true locations.
    files : list of Path
        The files to be downloaded.
    checks : list of Verification
        Whether each released file belongs to its certificate.
    when : datetime
        The time of the release.
    """

    request: FileRequest
    releases: list[gv.Release]
    report: Report
    files: list[Path]
    checks: list[gv.Verification]
    when: datetime


@dataclass
class Checked:
    """What is known about the file with the present decisions."""

    findings: list[Finding] = field(default_factory=list)
    typical: TypicalPerson | None = None


class Project:
    """One person's work in the studio.

    Parameters
    ----------
    folder : Path
        A folder that its owner alone can read, which is removed at the end.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.choices = Choices()
        self.reading: Job[OpenedData] | None = None
        self.checking: Job[Checked] | None = None
        self.releasing: Job[Outcome] | None = None
        self.regions: Path | None = None
        #: What maps stand on besides the ground that geoveil brings: a file of the user, and tiles from the network.
        self.basemap: Path | None = None
        self.tiles = ""
        #: What a page says once: a refusal, or what was done.
        self.notice: tuple[str, str] | None = None
        #: Places around which the hidden distance is drawn: latitudes and longitudes.
        self.places: list[tuple[float, float]] = []
        #: The right to make one release of what was decided when a page showed it, and the rights that were used.
        self._ticket, self._decided, self._used = new_ticket(), "", set[str]()
        self._lock = threading.RLock()
        self._checked_for: Any = None
        self._previewed: tuple[Any, Preview] | None = None
        self._map: tuple[Any, MapView] | None = None
        self._received = 0

    # The data ------------------------------------------------------------------------------------------------------

    def new_folder(self, kind: str) -> Path:
        """Return a new folder for a file that is received, or for a release."""
        with self._lock:
            self._received += 1
            folder = self.folder / f"{kind}-{self._received}"
        folder.mkdir(mode=0o700)
        return folder

    def open(self, path: Path, name: str, *, demo: bool = False) -> None:
        """Read a file in the background, and forget what was decided about another one."""
        with self._lock:
            self.choices = Choices(ledger=self.choices.ledger)
            self.places, self.regions, self.checking = [], None, None
            self._read(path, name, demo)

    def _read(self, path: Path, name: str, demo: bool) -> None:
        reading, where = {**self.choices.reading}, self.choices.where
        more = {"demo": demo, "received": path.is_relative_to(self.folder)}
        self.reading = Job(f"Reading {name}", lambda tell: OpenedData.open(path, name, reading, where, tell, **more))
        self._source, self._state = (path, name, demo), _state(path)

    def read_again(self) -> None:
        """Read the file anew, after the way of reading was corrected."""
        self._read(*self._source)

    @property
    def source_name(self) -> str:
        """The name of the file, also of one that is refused; empty without one."""
        return self._source[1] if self.reading is not None else ""

    @property
    def data(self) -> OpenedData | None:
        """The file, once it was read."""
        return None if self.reading is None else self.reading.result

    def check(self) -> Job[Checked] | None:
        """Look in the background at what there is to know about the file, whenever a decision about it changed."""
        data, choices = self.data, self.choices
        if data is None:
            return None
        settings = (data, choices.by, choices.area, choices.outside, choices.missing, choices.where, choices.times)
        with self._lock:
            if self.checking is None or settings != self._checked_for:
                self._checked_for = settings
                checked = CheckedFile(
                    data.path,
                    choices.by,
                    {"area": None if choices.area is None else choices.area.value, "outside": choices.outside},
                    {**choices.reading, "missing": choices.missing, "where": choices.where or None},
                    {"times": choices.times} if choices.times else {},
                    CGP(rho=1),
                )

                def work(_: Progress) -> Checked:
                    return Checked([*checked.findings(data.frame)], checked.typical)

                self.checking = Job(f"Checking {data.name}", work)
            return self.checking

    @property
    def typical(self) -> TypicalPerson | None:
        """The person with the median number of points, if that is known yet."""
        job = self.check()
        return None if job is None or job.result is None else job.result.typical

    def map_of_data(self) -> MapView | None:
        """Return the map of the true locations, for their owner."""
        if (data := self.data) is None:
            return None
        known = (data, self.choices.by, self.basemap, self.tiles)
        with self._lock:
            if self._map is None or self._map[0] != known:
                self._map = known, self.view(data.layers(self.choices.by), f"Map of {data.name}")
            return self._map[1]

    def view(self, layers: Sequence[Layer], label: str) -> MapView:
        """Return a map of some layers, on what the user has chosen; without that if it cannot be read or fetched."""
        basemap = None if self.basemap is None else str(self.basemap)
        try:
            return MapView(layers, label, basemap=basemap, tiles=self.tiles or None)
        except GeoveilError as problem:
            if basemap is None and not self.tiles:
                raise
            self.basemap, self.tiles, self.notice = None, "", ("stop", message_of(problem))
            return MapView(layers, label)

    # The question --------------------------------------------------------------------------------------------------

    def request(self) -> FileRequest:
        """Return the question as it is decided now, or refuse one that is not ready."""
        data = self.data
        if data is None:
            raise InvalidParameter("file", None, "chosen in step 1", "Choose a file first.")
        if self.choices.persons is None:
            raise InvalidParameter("by", None, "chosen in step 1", "Say whose points they are.")
        if self.choices.planned is None:
            raise InvalidParameter("planned", None, "stated in step 2", "Say how many releases are planned.")
        return FileRequest(replace(self.choices, options={**self.choices.options}), data, self.regions)

    def preview(self) -> Preview:
        """Return what the answer will look like, on made-up data."""
        request = self.request()
        known = (repr(request.choices), request.data.path, self.regions)
        with self._lock:
            if self._previewed is None or self._previewed[0] != known:
                self._previewed = known, preview(request)
            return self._previewed[1]

    # The release ---------------------------------------------------------------------------------------------------

    @property
    def ticket(self) -> str:
        """The right to make one release of what is decided now; another decision takes another ticket."""
        with self._lock:
            decided = repr((self.choices, self._received, self.regions))
            if decided != self._decided:
                self._ticket, self._decided = new_ticket(), decided
            return self._ticket

    def prepare_another(self) -> None:
        """Forget the last release, unless it is still being made."""
        with self._lock:
            if self.releasing is None or not self.releasing.running:
                self.releasing, self._decided = None, ""

    def release(self, ticket: str) -> None:
        """Make the release that a ticket is for, once: a ticket that was used changes nothing."""
        with self._lock:
            if ticket in self._used or (self.releasing is not None and self.releasing.running):
                return
            if ticket != self.ticket:
                remedy = "Look again at what will be released: another page has changed it."
                raise InvalidParameter("ticket", None, "that of the decisions which this page showed", remedy)
            request = self.request()
            request.check()
            if _state(self._source[0]) != self._state:
                remedy = "Open it again in step 1, and look at it."
                raise InvalidParameter("file", self._source[1], "unchanged since it was read", remedy)
            self._used.add(ticket)
            self._decided = ""
            folder = self.new_folder("release")
            self.releasing = Job(f"Releasing {request.data.name}", lambda tell: _released(request, folder, tell))


def _state(path: Path) -> State | None:
    """Return the state of a file, a folder or a shapefile; None if it is gone."""
    try:
        return file_state(path)
    except OSError:
        return None


def new_ticket() -> str:
    """Return a random text that names one release."""
    return random_bytes(12).hex()


def open_ledger(place: str, patience: float) -> gv.Ledger:
    """Open a ledger that exists, so that a misspelt name creates no new one; wait so many seconds for a busy one."""
    if not is_database(place) and not Path(place).expanduser().exists():
        raise LedgerUnavailable(f"{place}: there is no such ledger. Step 6 makes one.")
    return gv.Ledger(place if is_database(place) else Path(place).expanduser(), timeout=patience)


def _released(request: FileRequest, folder: Path, progress: Progress) -> Outcome:
    """Charge, draw, write, record, draw the report and verify."""
    with ExitStack() as stack:
        ledger = (
            stack.enter_context(open_ledger(request.choices.ledger, _PATIENCE)) if request.choices.ledger else None
        )
        before = None if ledger is None else _spent(ledger)
        releases = request.run(folder, ledger, lambda share: progress(0.9 * share))
        progress(0.92)
        _record(request)
        written = (
            [*(folder / request.target).iterdir()] if request.question == "summary" else [folder / request.target]
        )
        written = [path for path in written if not path.name.endswith(".certificate.json")]
        checks = [gv.verify(path, ledger=ledger) for path in written]
        balances = () if ledger is None or before is None else _balances(ledger, before)
    report = _report(request, releases, balances)
    files = [file for path in written for file in (path, certificate_path(path))]
    files += [*_drawn(folder, report), *_code(request, folder)]
    return Outcome(request, releases, report, files, checks, datetime.now())


def _code(request: FileRequest, folder: Path) -> list[Path]:
    """Write the command and the Python that do the same."""
    texts = {"command.txt": f"{request.command()}\n", "release.py": request.python()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]


def _spent(ledger: gv.Ledger) -> dict[str, Any]:
    return {name: spent for name, (_, spent) in ledger.accounts(ledger.subjects()).items()}


def _balances(ledger: gv.Ledger, before: dict[str, Any]) -> tuple[Balance, ...]:
    """Return the balances of the accounts that were charged."""
    found = []
    for name, (total, spent) in ledger.accounts([*before]).items():
        cost = exact.subtract(spent, before[name])
        if cost > 0:
            found.append(Balance(name, total.symbol, total.budget, spent, cost))
    return tuple(found)


def _record(request: FileRequest) -> None:
    """Record the release, for later ones of the same file; the record never stops one."""
    record = ReleaseRecord.of_user()
    if record is not None and not request.data.demo:
        try:
            record.add(request.data.path, request.guarantee, named=not request.data.received)
        except OSError:
            return


def _report(request: FileRequest, releases: list[gv.Release], balances: tuple[Balance, ...]) -> Report:
    title = f"{request.data.name}, released"
    layers: tuple[Layer, ...] = tuple(layer for release in releases for layer in release.layers())
    if request.question == "summary":
        whole, different, remarks = combined(releases, request.guarantee)
        return Report(title, layers, whole.facts(), {**whole.certificate(), **different}, balances, remarks)
    (release,) = releases
    return Report(title, layers, release.facts(), release.certificate(), balances)


def _drawn(folder: Path, report: Report) -> list[Path]:
    """Draw the report as a page and, where matplotlib is installed, as a figure."""
    files = []
    for name in ("report.html", "map.png"):
        try:
            write(folder / name, report)
        except (GeoveilError, ValueError):
            # No figure without matplotlib, and none of an answer that has no place.
            continue
        files.append(folder / name)
    return files
