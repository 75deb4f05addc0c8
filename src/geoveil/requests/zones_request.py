"""A request to share tracks without what lies around hidden places: read, cut, written whole or not at all."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter, Message
from geoveil.geo.areas import area_of
from geoveil.geo.formats import READ, ending
from geoveil.geo.recordings import recordings_in, released_ending
from geoveil.requests.accounts import ChargedAccounts
from geoveil.requests.shared_tracks import CutTracks, TrackFiles, lines_of, write_files
from geoveil.text.words import counted, hidden, metres

if TYPE_CHECKING:
    from geoveil import Ledger, SigningKey
    from geoveil._types import Progress, Rho
    from geoveil.certificates import Certificate
    from geoveil.report.zones_report import ZonesReport
    from geoveil.zones import Attempt, Hiding, Near, Rules, Zone

__all__ = ["ZonesRequest"]

#: Discs that are drawn to see how near attacks come to a new place.
_DISCS = 3


@dataclass(frozen=True)
class ZonesRequest:
    """Files of tracks, the places to hide, and how."""

    #: The files and folders of tracks.
    paths: tuple[Path, ...]
    #: The places, each as a latitude and a longitude, or as a file of places.
    places: tuple[str, ...]
    #: The owner's file of centres.
    centres: Path
    #: How new places are hidden.
    hiding: Hiding
    #: The public rules of the cut.
    rules: Rules
    #: The released file or folder.
    target: str
    #: The attributes of points that are released besides places and times.
    keep: tuple[str, ...] = ()
    #: The column of times of tables, if it is not recognised.
    time: str | None = None
    #: The options with which tables are read.
    reading: dict[str, object] = field(default_factory=dict)
    #: Whether released files have the names of the originals.
    same_names: bool = False
    #: What a place near a known one is.
    near: Near | None = None
    #: The ρ of noise that published points get as well.
    noise: Rho = None
    #: The public area in which they get it.
    area: str | None = None
    #: Who is charged for new centres.
    account: ChargedAccounts = field(default_factory=ChargedAccounts)
    #: Whether a new place is hidden even if no track comes near it.
    accepted: bool = False
    #: The key that signs the certificate.
    key: SigningKey | None = None

    @cached_property
    def single(self) -> bool:
        """Whether one file is released as one file, rather than into a folder."""
        [*files] = self.paths
        if len(files) != 1 or files[0].is_dir():
            return False
        return bool(Path(self.target).suffix) and not self.target.endswith(("/", "\\"))

    def check(self, *, overwrite: bool) -> None:
        """Refuse files that cannot be read and targets that cannot be written, before a centre is drawn."""
        from geoveil.geo.formats.atomic import check_target

        if self.noise is not None:
            self.rules.check_noise(self.noise)
            if self.area is None:
                public = Message("Name the city or region that the tracks are in with {area}, from public knowledge.")
                raise InvalidParameter("area", None, "stated, as noise is in metres", public)
            area_of(self.area)
        target = Path(self.target)
        for path in self.paths:
            for inner in recordings_in(path):
                if not inner.exists():
                    remedy = f"The folder is {inner.absolute().parent}."
                    raise FileUnavailable(str(inner), "file not found", "a file that exists", remedy)
            if path.is_dir() and target.absolute().is_relative_to(path.absolute()):
                remedy = "Choose a folder elsewhere, so that the next run does not read it."
                raise InvalidParameter("target", self.target, f"outside of the folder {path}", remedy)
        if self.single:
            allowed = released_ending(self.paths[0])
            if ending(target) != allowed:
                remedy = f"Name it {target.with_suffix(allowed).name}, or name a folder."
                raise InvalidParameter("target", self.target, f"a file that ends in {allowed}, or a folder", remedy)
        elif ending(target) in READ and not self.target.endswith(("/", "\\")):
            remedy = f"Name a folder, such as {target.with_suffix('')}."
            raise InvalidParameter("target", self.target, "a folder, as several files are released", remedy)
        elif overwrite and target.is_dir():
            self._check_own(target)
        check_target(target, overwrite=overwrite, folder=not self.single)

    def _check_own(self, folder: Path) -> None:
        """Refuse to replace a folder that holds anything but what was released into it."""
        from geoveil.geo.formats.fingerprints import digest
        from geoveil.geo.formats.side_files import side_files

        account = self._earlier(folder)
        if account is None or account.get("file", {}).get("sha256") != digest(folder) or side_files(folder).read:
            allowed = "a folder as it was released, which can be replaced as a whole"
            remedy = "Move your own files out of it and remove it, or choose another name."
            raise InvalidFile(str(folder), "a folder with other or changed files", allowed, remedy)

    @staticmethod
    def _earlier(target: Path) -> dict[str, Any] | None:
        """Return the certificate of an earlier release at the target, if there is one."""
        from geoveil.certificates import read_certificate
        from geoveil.geo.formats.atomic import certificate_path

        try:
            return dict(read_certificate(certificate_path(target)))
        except InvalidFile:
            return None

    def read(self, progress: Progress | None = None) -> TrackFiles:
        """Read all tracks."""
        return TrackFiles.read(self.paths, keep=self.keep, time=self.time, reading=self.reading, progress=progress)

    def check_places(self, files: TrackFiles) -> None:
        """Refuse places that are swapped, and new ones that no track comes near, before a centre is drawn."""
        from geoveil.zones import Centres, places_of, refuse_far, refuse_swapped

        places = places_of([*self.places])
        refuse_swapped(places, files.degrees)
        if not self.accepted:
            remedy = Message("Correct it or leave it out; {zones.accepted} draws its disc nevertheless.")
            refuse_far(Centres(self.centres).new(places, self.near), files.degrees, self.hiding.within, remedy)

    def zones(self, ledger: Ledger | None = None) -> tuple[list[Zone], list[dict[str, Any]]]:
        """Return the zones of the places, and the entries of the ledger that charged them.

        The centres of new places are charged, drawn and stored.
        """
        from geoveil.answering.charging import LedgerCharger, account_names
        from geoveil.locations.hiding import ChargedCentres
        from geoveil.noise import source_of
        from geoveil.zones import Centres, is_of_zones, places_of, zones_stated

        charging = None
        if ledger is not None:
            subjects = account_names(self.account.subject, None)
            charging = ChargedCentres(LedgerCharger(ledger, subjects, subject=self.account.subject))
        before = self._earlier(Path(self.target))
        published = zones_stated(before) if before is not None and is_of_zones(before) else ()
        drawn = Centres(self.centres).zones(
            places_of([*self.places]), self.hiding, source_of(None), charging, published, self.near
        )
        return drawn, [] if charging is None else [dict(entry) for entry in charging.entries]

    def rehearsed(self) -> list[Zone]:
        """Return zones like those of a release, for the eyes of the owner alone: nothing is charged or kept."""
        from geoveil.noise import source_of
        from geoveil.zones import Centres, places_of

        return Centres(self.centres).rehearsed(places_of([*self.places]), self.hiding, source_of(None), self.near)

    def cut(self, files: TrackFiles, zones: Sequence[Zone]) -> CutTracks:
        """Return what is left of the files."""
        tracks = CutTracks.of(files, zones, self.rules, self.noise, self.area)
        if not tracks.shared:
            kept = "Nothing was written; the centres are kept for the next time."
            if self.rules.shortened:
                shorter = Message(f"Leave {{shorten}} out, or give more tracks. {kept}")
                raise InvalidFile(str(self.paths[0]), "no point that is left", "tracks longer than that", shorter)
            remedy = f"Give more tracks. {kept}"
            raise InvalidFile(str(self.paths[0]), "no point outside of the discs", "tracks that leave them", remedy)
        return tracks

    def attacked(
        self,
        files: TrackFiles,
        zones: Sequence[Zone],
        roads: Path | None = None,
        progress: Progress | None = None,
    ) -> list[list[Attempt]]:
        """Attack the owner's own tracks, as cut by the rules and by others that shorten them, for each place.

        For the eyes of the owner alone. A new place will have another disc, so that several are drawn for it.

        Parameters
        ----------
        files : TrackFiles
            The tracks.
        zones : sequence of Zone
            The zones of the places.
        roads : Path, optional
            A file of lines that an attacker may have as a map; by default they have the published tracks alone.
        progress : callable, optional
            Called with the share of the attacks that were tried.
        """
        from geoveil.zones import SHORTENED, Attempt, Centres, HiddenPlace, attempts, places_of

        rules = [*dict.fromkeys([self.rules, *(replace(each, gap=self.rules.gap) for each in SHORTENED)])]
        lines = None if roads is None else lines_of(roads)
        places = [*dict.fromkeys(places_of([*self.places]))]
        kept = set(zones) <= {*Centres(self.centres).known()}
        worlds = [zones, *(self.rehearsed() for _ in range(0 if kept else _DISCS - 1))]
        attempts_at: list[list[list[Attempt]]] = [[] for _ in places]
        for number, world in enumerate(worlds):
            left = files.outside(world)
            for which, place in enumerate(places):
                zone = min(world, key=lambda zone: place.distance(HiddenPlace(zone.lat, zone.lon)))
                tracks = left.degrees, left.seconds, left.track_of
                attempts_at[which].append(attempts(zone, place, *tracks, zones=world, rules=rules, roads=lines))
                if progress is not None:
                    progress((number * len(places) + which + 1) / (len(worlds) * len(places)))
        return [[Attempt.typical(several) for several in zip(*each, strict=True)] for each in attempts_at]

    def write(
        self, cut: CutTracks, entries: Sequence[dict[str, Any]] = (), *, overwrite: bool = False
    ) -> dict[str, Any]:
        """Write what is left with its certificate, completely or not at all, and return the certificate."""
        from geoveil.certificates import signed
        from geoveil.geo.formats.atomic import staging_folder, write_certificate
        from geoveil.geo.formats.fingerprints import digest
        from geoveil.zones import zones_certificate

        target = Path(self.target)
        account = zones_certificate(cut.zones, self.rules, self.columns(cut), entries=entries, noise=cut.noise)
        with staging_folder(target, overwrite=overwrite, folder=not self.single) as staging:
            new = staging / target.name
            if self.single:
                [only] = cut.shared
                only.write(new)
            else:
                new.mkdir()
                write_files(cut.shared, new, same_names=self.same_names)
            account["file"] = {"name": target.name, "sha256": digest(new)}
            account = dict(signed(cast("Certificate", account), self.key))
            write_certificate(new, account)
        return account

    def report(
        self,
        cut: CutTracks,
        certificate: Mapping[str, object],
        *,
        basemap: str | None = None,
        with_truth: bool = False,
    ) -> ZonesReport:
        """Return the report of shared tracks; with what was removed, it is for their owner alone."""
        from geoveil.report.zones_report import ZonesReport

        discs = ", ".join(f"radius {metres(zone.radius)}" for zone in cut.zones)
        # A line from one noisy point to the next is many times as long as the track.
        length = f", {metres(cut.length)} together" if cut.noise is None else ""
        summary = (
            ("Hidden", f"{hidden(self.hidden)} at 75%"),
            ("Discs", f"{len(cut.zones)} ({discs})"),
            ("Published", counted(len(cut.pieces), "piece") + length),
            ("Released", ", ".join(["places", *self.columns(cut)])),
        )
        layers = cut.layers(removed=with_truth)
        return ZonesReport(f"{Path(self.target).name}: shared tracks", summary, layers, certificate, basemap)

    @staticmethod
    def columns(cut: CutTracks) -> list[str]:
        """Return the names of what is released of points besides their places."""
        return [*dict.fromkeys(name for each in cut.shared for name in each.format.columns)]

    def command(self) -> str:
        """Return the request as a command."""
        words = ["geoveil", "zones", *map(str, self.paths)]
        for place in self.places:
            # A latitude in the south begins with a dash, which must not be read as an option.
            words.append(f"--at={place}")
        name, asked = self.hiding.asked
        words += ["--rho", asked] if name == "rho" else ["--hide", f"{asked}m"]
        words += ["--centres", str(self.centres), "-o", self.target]
        for name in self.keep:
            words += ["--keep", name]
        words += ["--near", self.near] if self.near else []
        words += ["--shorten", self.rules.shortened] if self.rules.shortened else []
        words += ["--same-names"] if self.same_names else []
        words += ["--yes"] if self.accepted else []
        return shlex.join(words)

    @property
    def hidden(self) -> float:
        """The distance that is hidden at 75%, in metres."""
        from geoveil.zones.zone import CHANCE

        return float(self.hiding.law.hidden(CHANCE))
