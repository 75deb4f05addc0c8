"""The page on which tracks are shared, except where their owner lives: its choices, a look, the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil._types import Progress
from geoveil.errors import GeoveilError, Message
from geoveil.studio.jobs import Job
from geoveil.studio.received_files import typed_path
from geoveil.text.typed_values import LENGTH, read_place
from geoveil.text.words import counted, metres

if TYPE_CHECKING:
    from geoveil.report import Layer
    from geoveil.requests.shared_tracks import CutTracks, TrackFiles
    from geoveil.requests.zones_request import ZonesRequest
    from geoveil.zones import Near

__all__ = ["FIELDS", "PlacesFound", "TracksPage", "TracksShown"]

#: The fields of the form, and what is in them at first.
FIELDS = {
    **{"places": "", "near": "", "hide": "200 m", "centres": "centres.json", "shorten": "", "keep": ""},
    "target": "shared",
}
#: How many places are proposed.
_PROPOSED = 6


@dataclass(frozen=True)
class TracksShown:
    """What the page shows of cut tracks: for their owner alone."""

    #: The layers of the map: what is shared, the discs, and below them what is removed.
    layers: tuple[Layer, ...]
    #: Facts about what is shared.
    facts: tuple[tuple[str, str], ...]
    #: What is removed, in a sentence.
    removed: str
    #: The released file or folder; empty after a look.
    released: str
    #: The same as a command.
    command: str
    #: How near attacks come to each place, and what helps.
    attacks: tuple[Message, ...] = ()

    @classmethod
    def of(
        cls,
        request: ZonesRequest,
        names: Sequence[str],
        cut: CutTracks,
        *,
        released: str = "",
        attacks: Sequence[Message] = (),
    ) -> TracksShown:
        """Return what is shown of a request that was looked at or carried out; `names` are those of its files."""
        radii = ", ".join(metres(zone.radius) for zone in cut.zones)
        facts = (
            ("files", f"{len(cut.shared):,}"),
            ("pieces", f"{len(cut.pieces):,}"),
            ("length", metres(cut.length)),
            ("discs", f"{len(cut.zones)}, of radius {radii}"),
        )
        gone = f"{len(cut.files) - cut.points:,} of {counted(len(cut.files), 'point')} are removed."
        if not cut.passed:
            gone += " No track enters a disc: if they begin or end at your home, check the places to hide."
        named = replace(request, paths=tuple(map(Path, names)))
        return cls(cut.layers(removed=True), facts, gone, released, named.command(), tuple(attacks))


@dataclass(frozen=True)
class PlacesFound:
    """Places where tracks begin and end, for their owner to confirm: each as it is typed, and in words."""

    places: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, files: TrackFiles) -> PlacesFound:
        """Return the places of some files."""
        return cls(
            tuple(
                (
                    f"{each.place.lat:.5f}, {each.place.lon:.5f}",
                    f"{counted(each.ends, 'time')}, {each.nights} of them at night",
                )
                for each in files.proposed()[:_PROPOSED]
            )
        )


class TracksPage:
    """The choices on the page, and the work that they started."""

    def __init__(self) -> None:
        self.fields = dict(FIELDS)
        #: The files or folders, and how their owner calls them.
        self.paths: list[tuple[Path, str]] = []
        self.job: Job[TracksShown | PlacesFound] | None = None

    @property
    def found(self) -> TracksShown | None:
        """What the last look or release found."""
        return None if self.job is None or not isinstance(self.job.result, TracksShown) else self.job.result

    @property
    def proposed(self) -> PlacesFound | None:
        """The places that were found, if they were looked for last."""
        return None if self.job is None or not isinstance(self.job.result, PlacesFound) else self.job.result

    def take(self, path: Path, name: str) -> None:
        """Take a file or a folder that was dropped, in place of the ones before."""
        self.paths, self.job = [(path, name)], None

    def decide(self, given: Mapping[str, str]) -> None:
        """Store what was filled in; a typed path takes the place of dropped files."""
        if typed := given.get("files", ""):
            self.paths = [(typed_path(typed, "file of tracks"), typed)]
        self.fields = {name: given.get(name, "") for name in FIELDS}
        if self.job is not None and self.job.problem is not None:
            # What was wrong before is about other fields.
            self.job = None
        if confirmed := given.get("confirmed", ""):
            self.fields["places"] = f"{self.fields['places'].rstrip()}\n{confirmed}".strip()

    def request(self) -> ZonesRequest:
        """Return the request, or say what is missing."""
        from geoveil.requests.zones_request import ZonesRequest
        from geoveil.zones import Hiding, Rules

        self._check_chosen()
        fields = self.fields
        places = tuple(line.strip() for line in fields["places"].splitlines() if line.strip())
        if not places or any(read_place(place) is None for place in places):
            raise GeoveilError("What to hide is not stated yet.", "Type a place as 47.37, 8.54, one in each line.")
        hide = LENGTH.read(fields["hide"])
        if hide is None:
            remedy = f"Type {LENGTH.allowed}."
            raise GeoveilError(f"“{fields['hide']}” is no length.", remedy)
        for name, what in (("centres", "the file of centres"), ("target", "the released file or folder")):
            if not fields[name]:
                raise GeoveilError(f"The path of {what} is missing.", "Type it.")
        near: Near | None = "same" if fields["near"] == "same" else "another" if fields["near"] == "another" else None
        return ZonesRequest(
            tuple(path for path, _ in self.paths),
            places,
            typed_path(fields["centres"], "file of centres"),
            Hiding.of(hide),
            Rules.of(shorten=fields["shorten"] or None),
            str(typed_path(fields["target"], "released file")),
            keep=tuple(fields["keep"].split()),
            near=near,
        )

    def _check_chosen(self) -> None:
        if not self.paths:
            raise GeoveilError("No tracks are chosen yet.", "Drop a file or a folder on the page, or type its path.")

    def find_places(self) -> None:
        """Find places where tracks begin and end, in the background, for their owner to confirm."""
        self._check_idle()
        self._check_chosen()
        paths = [path for path, _ in self.paths]

        def work(tell: Progress) -> PlacesFound:
            from geoveil.requests.shared_tracks import TrackFiles

            return PlacesFound.of(TrackFiles.read(paths, progress=tell))

        self.job = Job(f"Reading {self.paths[0][1]}", work)

    def start(self, *, share: bool) -> None:
        """Look at what would be left, or share it, in the background. One at a time."""
        self._check_idle()
        request = self.request()
        if Path(request.target).exists():
            raise GeoveilError(f"{request.target} exists.", "Type another name for the released file or folder.")
        request.check(overwrite=False)
        names = [name for _, name in self.paths]

        def work(tell: Progress) -> TracksShown:
            files = request.read(lambda share: tell(share / 2))
            request.check_places(files)
            if not share:
                zones = request.rehearsed()
                attacked = request.attacked(files, zones, progress=lambda share: tell((1 + share) / 2))
                told = [as_it_is.told(others) for as_it_is, *others in attacked]
                return TracksShown.of(request, names, request.cut(files, zones), attacks=told)
            zones, entries = request.zones()
            cut = request.cut(files, zones)
            request.write(cut, entries)
            return TracksShown.of(request, names, cut, released=str(Path(request.target).absolute()))

        self.job = Job(f"{'Sharing' if share else 'Reading'} {self.paths[0][1]}", work)

    def _check_idle(self) -> None:
        if self.job is not None and self.job.running:
            raise GeoveilError("The tracks are still being read.", "Wait until the page shows them.")
