"""The state of a studio: the file, the decisions, and work in the background.

It lives as long as the program, and does not depend on any open page.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil._types import Progress
from geoveil.errors import GeoveilError, InvalidFile
from geoveil.noise import random_bytes
from geoveil.settings import LEVELS
from geoveil.studio.choices import NO_FILE, NO_LABELS, NO_PERSONS, Choices, StudioRequest, request_of
from geoveil.studio.jobs import Job
from geoveil.studio.later_modules import prepare
from geoveil.studio.page_words import message_of
from geoveil.studio.received_files import Parcel, regular_size, typed_path
from geoveil.studio.shared_tracks import TracksPage

if TYPE_CHECKING:
    from geoveil.advice import Advice
    from geoveil.certificates import SigningKey
    from geoveil.report import Layer
    from geoveil.requests.file_check import Finding, TypicalPerson
    from geoveil.requests.opened_data import OpenedData
    from geoveil.requests.preview import Preview
    from geoveil.studio.map_view import MapView
    from geoveil.studio.releasing import Outcome

__all__ = ["Project"]

#: The most parcels of files that are being received at a time.
_PARCELS = 8
#: The largest file of a private key, in bytes.
_LARGEST_KEY = 65_536

#: The hidden distance in metres for which the first step judges purposes; step 3 chooses another.
_HIDDEN = LEVELS["low"]


@dataclass
class Checked:
    """The findings about the file under the present decisions, its typical person, and what it can be used for."""

    findings: list[Finding] = field(default_factory=list)
    typical: TypicalPerson | None = None
    advice: Advice | None = None


class Project:
    """One person's work in the studio.

    Parameters
    ----------
    folder : Path
        A folder that only its owner can read, and that is removed at the end.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.choices = Choices()
        #: The page on which tracks are shared.
        self.tracks = TracksPage()
        self.reading: Job[OpenedData] | None = None
        self.checking: Job[Checked] | None = None
        self.releasing: Job[Outcome] | None = None
        self.regions: Path | None = None
        #: The key that signs certificates.
        self.key: SigningKey | None = None
        #: The user's own base map, drawn below the data of every map.
        self.basemap: Path | None = None
        #: A message that the next page shows once: a refusal, or what was done.
        self.notice: tuple[str, str] | None = None
        #: The ledger that step 6 shows, the account whose history it shows, and releases made since the studio began.
        self.looked_at, self.statement = "", ""
        self._made: list[Job[Outcome]] = []
        #: Places around which the hidden distance is drawn: latitudes and longitudes.
        self.places: list[tuple[float, float]] = []
        #: The ticket that allows one release, the request that a page offers with it, and the tickets that were used.
        self._ticket, self._used = new_ticket(), set[str]()
        self._offered: tuple[object, ...] = ()
        self._released: tuple[object, ...] = ()
        self._lock = threading.RLock()
        self._checked_for: object = None
        self._previewed: tuple[object, Job[Preview]] | None = None
        self._map: tuple[object, MapView] | None = None
        self._received = 0
        self._superseded: set[Path] = set()
        self._parcels: dict[str, Parcel] = {}

    def told(self, problem: Exception) -> str:
        """Return what happened and what to do next; the studio's own folder is not named."""
        return message_of(problem, self.folder)

    # The data ------------------------------------------------------------------------------------------------------

    def new_folder(self, kind: str) -> Path:
        """Return a new folder for a file that is received, or for a release."""
        with self._lock:
            self._received += 1
            folder = self.folder / f"{kind}-{self._received}"
        folder.mkdir(mode=0o700)
        return folder

    def parcel(self, purpose: str, number: str) -> Parcel:
        """Return the parcel of files that a page sends under a number, to be opened together.

        Without a number, it is a new parcel.
        """
        with self._lock:
            if not number:
                return Parcel(self.new_folder(purpose))
            if number not in self._parcels:
                # Of parcels that were never finished, only the latest are kept.
                self._parcels = dict([*self._parcels.items()][-_PARCELS:])
                self._parcels[number] = Parcel(self.new_folder(purpose))
            return self._parcels[number]

    def open(self, path: Path, name: str, *, demo: bool = False) -> None:
        """Read a file in the background, and forget the decisions about the previous file and its last release.

        A release that is being made continues, and a page says so.
        """
        with self._lock:
            if self.releasing is not None and self.releasing.running:
                going = self.releasing.title.removeprefix("Releasing ")
                self.notice = ("need", f"The release of {going} goes on. Step 5 shows it, and when it is done.")
            self.prepare_another()
            self._discard(self.source_path if self.source_path != path else None, self.regions)
            self.choices = Choices(ledger=self.choices.ledger, sign=self.choices.sign)
            self.places, self.regions, self.checking = [], None, None
            self._read(path, name, demo)

    def take_regions(self, path: Path) -> None:
        """Take a file of public regions in place of the one before."""
        with self._lock:
            before, self.regions = self.regions, path
            self._discard(before)

    def _discard(self, *superseded: Path | None) -> None:
        """Remove received files that others replace; while a release is being made, they are kept until later."""
        received = (path for path in superseded if path is not None and path.is_relative_to(self.folder))
        self._superseded |= {self.folder / path.relative_to(self.folder).parts[0] for path in received}
        if self.releasing is None or not self.releasing.running:
            for folder in self._superseded:
                shutil.rmtree(folder, ignore_errors=True)
            self._superseded.clear()

    def _read(self, path: Path, name: str, demo: bool) -> None:
        self._source = path, name, demo
        settings, received = self.choices.settings(), path.is_relative_to(self.folder)

        def work(tell: Progress) -> OpenedData:
            prepare()
            from geoveil.requests.opened_data import OpenedData

            return OpenedData.open(path, name, settings, tell, demo=demo, received=received)

        self.reading = Job(f"Reading {name}", work)

    def read_again(self) -> None:
        """Read the file again, after it was changed or the way of reading was corrected."""
        self._read(*self._source)

    @property
    def source_name(self) -> str:
        """The name of the file, even if it was refused; empty without a file."""
        return self._source[1] if self.reading is not None else ""

    @property
    def source_path(self) -> Path | None:
        """The path of the file, even if it was refused; None without a file."""
        return self._source[0] if self.reading is not None else None

    @property
    def data(self) -> OpenedData | None:
        """The file, once it was read; until then None."""
        return None if self.reading is None else self.reading.result

    def check(self) -> Job[Checked] | None:
        """Check the file in the background, again whenever a decision about it has changed."""
        from geoveil.privacy import CGP
        from geoveil.requests.file_check import CheckedFile

        data, choices = self.data, self.choices
        if data is None:
            return None
        # What is hidden together changes no finding.
        settings = replace(choices.settings(), protect=None)
        with self._lock:
            if self.checking is None or (data, settings) != self._checked_for:
                self._checked_for = data, settings
                checked = CheckedFile(data.path, settings, CGP(rho=1))

                def work(_: Progress) -> Checked:
                    findings = [*checked.findings(data.frame)]
                    return Checked(
                        findings, checked.typical, checked.advice(CGP.hiding(distance=_HIDDEN, chance=0.75))
                    )

                self.checking = Job(f"Checking {data.name}", work)
            return self.checking

    @property
    def typical(self) -> TypicalPerson | None:
        """The person with the median number of points, if that is known yet."""
        job = None if self.data is None else self.check()
        return None if job is None or job.result is None else job.result.typical

    def map_of_data(self) -> MapView | None:
        """Return the map of the true locations, for their owner."""
        if (data := self.data) is None:
            return None
        known = (data, self.choices.by, self.basemap)
        # No lock is held while it is drawn: other pages would wait.
        drawn = self._map
        if drawn is None or drawn[0] != known:
            drawn = self._map = known, self.view(data.layers(self.choices.by), f"Map of {data.name}")
        return drawn[1]

    def view(self, layers: Sequence[Layer], label: str) -> MapView:
        """Return a map of some layers, on the user's base map if it can be read."""
        from geoveil.studio.map_view import MapView

        basemap = None if self.basemap is None else str(self.basemap)
        try:
            return MapView(layers, label, basemap=basemap)
        except GeoveilError as problem:
            if basemap is None:
                raise
            self.basemap, self.notice = None, ("stop", self.told(problem))
            return MapView(layers, label)

    # The question --------------------------------------------------------------------------------------------------

    def request(self) -> StudioRequest:
        """Return the question as it is decided now; refuse it if a decision is missing."""
        data = self.data
        if data is None:
            raise GeoveilError(NO_FILE, "Step 1 opens one.")
        if self.choices.persons is None:
            raise GeoveilError(NO_PERSONS, "Choose it in step 1.")
        if self.choices.by is not None and self.choices.pseudonyms is None:
            raise GeoveilError(NO_LABELS, "Choose it in step 1.")
        if self.choices.planned is None:
            raise GeoveilError("It is not stated yet how many releases are planned.", "State it in step 2.")
        choices = replace(self.choices, options={**self.choices.options}, reading={**self.choices.reading})
        return request_of(choices, data, self.regions, self.key)

    def previewing(self, request: StudioRequest | None = None) -> Job[Preview]:
        """Compute the preview of the answer in the background, again whenever a decision has changed.

        A preview uses made-up data. Without a request, it is for what is decided now. A preview of another request
        that is still being computed is given up.
        """
        from geoveil.requests.preview import preview

        request = request or self.request()
        # The accounts that a release is charged to and the key that signs it do not change the answer.
        known = (request.question, request.settings, request.options, request.budget, request.data)
        with self._lock:
            if self._previewed is None or self._previewed[0] != known:
                if self._previewed is not None:
                    self._previewed[1].give_up()
                self._previewed = (
                    known,
                    Job("Computing the preview", lambda tell: preview(request, request.data, tell)),
                )
            return self._previewed[1]

    @property
    def previewed(self) -> Job[Preview] | None:
        """The preview that was begun last."""
        return None if self._previewed is None else self._previewed[1]

    def preview(self) -> Preview:
        """Wait for the preview of the answer, and return it."""
        job = self.previewing()
        while not job.wait(60):
            continue
        if job.problem is not None:
            raise job.problem
        assert job.result is not None
        return job.result

    def sign_with(self, path: str, passphrase: str) -> None:
        """Load the private key that signs certificates; an empty path stands for no key. No passphrase is kept."""
        from geoveil.certificates.signing_keys import PassphraseNeeded, SigningKey

        place = str(typed_path(path, "private key")) if path else ""
        if place and Path(place).exists() and not 0 < regular_size(Path(place)) <= _LARGEST_KEY:
            raise GeoveilError(f"{path} is no file with a private key.", "Choose the .pem file of your key.")
        try:
            key = SigningKey.load(place, passphrase=passphrase or None) if place else None
        except PassphraseNeeded:
            raise GeoveilError(f"{place} is encrypted.", "Type its passphrase beside its path.") from None
        except InvalidFile as problem:
            if "passphrase" not in str(problem.value):
                raise
            remedy = "Type it again, or choose another file."
            raise GeoveilError(f"The passphrase is wrong, or {path} is no key that signs.", remedy) from None
        with self._lock:
            self.key, self.choices.sign = key, place

    def keys(self) -> list[str]:
        """Return the paths of private keys beside the file and in the folder in which the studio was started."""
        data = self.data
        folders = [Path.cwd(), *([] if data is None or data.received else [data.path.parent])]
        paths = {str(path) for folder in folders for path in folder.glob("*.pem") if _is_private(path)}
        return sorted(paths)

    # The release ---------------------------------------------------------------------------------------------------

    def ticket(self, request: StudioRequest) -> str:
        """Return the ticket that allows one release of a request; a request with other decisions has another ticket.

        The ticket is for the request that a page shows, not for what another page has decided meanwhile.
        """
        with self._lock:
            # The data is included, because the same file gives other data after its reading was corrected.
            offered = (request.data, *self._identity(request))
            if offered != self._offered:
                self._ticket, self._offered = new_ticket(), offered
            return self._ticket

    def _identity(self, request: StudioRequest) -> tuple[object, ...]:
        """Return everything that identifies a release: decisions, the states of the files it reads, and the key."""
        from geoveil.requests.opened_data import state_of

        path = request.options.regions
        regions = None if path is None else (path, state_of(path))
        signer = None if request.key is None else (request.key.public.name, request.key.public.fingerprint)
        return repr(request.choices), request.data.path, request.data.state, regions, signer

    @property
    def outcomes(self) -> list[Outcome]:
        """The releases that were made since the studio began, the first one first."""
        return [job.result for job in self._made if job.result is not None]

    def differs(self, request: StudioRequest) -> bool:
        """Return whether a request differs from the one that was released last."""
        return self._released != self._identity(request)

    def prepare_another(self) -> None:
        """Prepare another release, unless the last one is still being made.

        The files of the last one stay until the studio ends.
        """
        with self._lock:
            if self.releasing is None or not self.releasing.running:
                self.releasing, self._offered = None, ()

    def release(self, ticket: str, *, with_truth: bool = False, accepted: bool = False) -> None:
        """Make the release that a ticket allows, once: a ticket that was used has no effect.

        Parameters
        ----------
        ticket : str
            The ticket for one release of what is decided now.
        with_truth : bool
            Whether a report with the true locations is written as well, for their owner alone.
        accepted : bool
            Whether points are released even if their error is hopeless.
        """
        from geoveil.studio.releasing import make_release

        with self._lock:
            if ticket in self._used or (self.releasing is not None and self.releasing.running):
                return
            # The request that is compared with the ticket is the one that is released, even if other pages change
            # decisions meanwhile.
            try:
                request = self.request()
                shown = ticket == self.ticket(request)
            except GeoveilError:
                shown = False
            if not shown:
                problem = "another page has changed the decisions, the file or the key that this one showed."
                raise GeoveilError(f"Nothing was released: {problem}", "Look again at what will be released.")
            request.check()
            request.data.check_unchanged()
            self._used.add(ticket)
            self._released, self._offered = self._identity(request), ()
            request = replace(request, with_truth=with_truth, accepted=accepted)
            folder = self.new_folder("release")
            self.releasing = Job(f"Releasing {request.data.name}", lambda tell: make_release(request, folder, tell))
            self._made.append(self.releasing)


def new_ticket() -> str:
    """Return a random text that names one release."""
    return random_bytes(12).hex()


def _is_private(path: Path) -> bool:
    """Return whether a file begins like a private key."""
    try:
        with path.open("rb") as held:
            return b"PRIVATE KEY" in held.read(64)
    except OSError:
        return False
