"""The owner's file of centres: which centre was drawn for which place, so that none is ever drawn twice.

It holds the places themselves, and is kept like a key: readable by its owner only, written whole or not at all, and
copied to a folder of backups before anything is published. Centres are drawn under a lock, and stored before they are
used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from filelock import FileLock

from geoveil._types import Path as PathLike
from geoveil.certificates.certificate import strict_json
from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter, Message
from geoveil.host.private_files import may_be_read_by_others, write_private
from geoveil.mechanisms.discs import Disc
from geoveil.noise import Source, random_bytes
from geoveil.zones.places import HiddenPlace
from geoveil.zones.zone import NEAR, Hiding, Zone

__all__ = ["Centres", "Charging", "Near", "NoCharging", "backup_folder", "holds_centres", "own_centres"]

#: What an owner says of a place near a known one: that it is that one, or another one.
Near: TypeAlias = Literal["same", "another"]
#: Metres from a declared place up to which its owner must say so, and within which it needs no saying.
_ASKED, _SAME = 3 * NEAR, 1
#: The environment variable with the folder of backups.
_BACKUPS = "GEOVEIL_CENTRES_BACKUP"
_FORMAT = "geoveil centres"
_WARNING = (
    "Private: it says where the places are that you hide. Keep it like a key, and keep a copy: without it a second "
    "centre would be drawn, and two centres tell more than one."
)


class Charging(Protocol):
    """Charges for centres."""

    def charging(self, identity: str, law: Disc) -> AbstractContextManager[None]:
        """Charge for a centre, which this identifies, unless it was charged before; then let it be drawn and stored.

        An error is raised if the budget does not suffice, and nothing is drawn.
        """


class NoCharging:
    """Charges nobody."""

    def charging(self, identity: str, law: Disc) -> AbstractContextManager[None]:
        """Let a centre be drawn and stored."""
        return nullcontext()


@dataclass(frozen=True)
class _Known:
    """A place that was declared, with its zone: the first place of a zone is the one for which it was drawn."""

    place: HiddenPlace
    zone: Zone
    #: Whether the noise is seeded.
    experiment: bool

    def written(self) -> dict[str, Any]:
        """Return it as the file states it."""
        place = {"lat": self.place.lat, "lon": self.place.lon}
        return {"place": place, "zone": self.zone.describe(), "experiment": self.experiment}

    @classmethod
    def read(cls, stated: Any) -> _Known:
        """Return what the file states."""
        at = stated["place"]
        return cls(
            HiddenPlace(float(at["lat"]), float(at["lon"])), Zone.described(stated["zone"]), bool(stated["experiment"])
        )


class Centres:
    """The file of centres of one owner or household.

    Parameters
    ----------
    path : str or Path
        The file. It is made when the first centre is drawn.

    Examples
    --------
    >>> from geoveil.noise import source_of
    >>> from geoveil.zones import Centres, Hiding, places_of
    >>> centres = Centres(folder / "centres.json")
    >>> [zone] = centres.zones(places_of("47.37,8.54"), Hiding.of(hide=200), source_of(None))
    >>> again = Centres(folder / "centres.json").zones(places_of("47.3701,8.54"), Hiding.of(hide=200), source_of(None))
    >>> again == [zone]
    True
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)

    def zones(
        self,
        places: Sequence[HiddenPlace],
        hiding: Hiding,
        source: Source,
        charging: Charging | None = None,
        published: Iterable[Zone] = (),
        near: Near | None = None,
    ) -> list[Zone]:
        """Return the zone of each place, each zone once; centres of new places are charged, drawn and stored.

        Parameters
        ----------
        places : sequence of HiddenPlace
            The places. One within `NEAR` metres of a place for which a centre was drawn has that centre.
        hiding : Hiding
            How new places are hidden. A known place must have been hidden in the same way.
        source : Source
            The source of randomness.
        charging : Charging, optional
            Who is charged for a new centre; nobody by default.
        published : sequence of Zone
            Zones of earlier releases, from their certificates: a place that one of them may hide, although the file
            does not know it, is refused, as the file then seems to be an older one or another.
        near : {"same", "another"}, optional
            Whether a place up to three times as far from a known one is that one, which was declared less exactly, or
            another one. Without it, such a place is refused.
        """
        check_near(near)
        charging = NoCharging() if charging is None else charging
        with self._locked():
            known = self._read()
            found = []
            for place in places:
                match = self._match(place, known, near)
                if match is None:
                    self._refuse_second(place, known, published, near)
                    identity = random_bytes(8).hex()
                    with charging.charging(identity, hiding.law):
                        zone = Zone(identity, hiding.law.draw(place.lat, place.lon, source), hiding)
                        match = _Known(place, zone, not source.exact)
                        known = [*known, match]
                        self._write(known)
                elif match.zone.hiding != hiding:
                    raise _hidden_otherwise(hiding, match.zone.hiding)
                elif not match.zone.hides(place):
                    raise _not_covered()
                elif match.experiment and source.exact:
                    allowed = "a file without seeded centres: anyone who knows the seed knows the place"
                    raise InvalidFile(str(self.path), "centres of an experiment", allowed, "Name a new file.")
                else:
                    with charging.charging(match.zone.id, hiding.law):
                        pass
                    if match.place.distance(place) > _SAME:
                        known = [*known, replace(match, place=place)]
                        self._write(known)
                found.append(match.zone)
        return [*dict.fromkeys(found)]

    def rehearsed(
        self, places: Sequence[HiddenPlace], hiding: Hiding, source: Source, near: Near | None = None
    ) -> list[Zone]:
        """Return the zones of known places, and zones of new places that are not kept: for the owner's eyes alone.

        What they would leave of tracks is like what a release would leave. It must not be published, as a release has
        other centres.
        """
        check_near(near)
        known, found = self._read(), []
        for place in places:
            match = self._match(place, known, near)
            if match is None:
                zone = Zone(random_bytes(8).hex(), hiding.law.draw(place.lat, place.lon, source), hiding)
                match = _Known(place, zone, not source.exact)
            elif match.zone.hiding != hiding:
                raise _hidden_otherwise(hiding, match.zone.hiding)
            elif not match.zone.hides(place):
                raise _not_covered()
            known = [*known, replace(match, place=place)]
            found.append(match.zone)
        return [*dict.fromkeys(found)]

    def new(self, places: Iterable[HiddenPlace], near: Near | None = None) -> list[HiddenPlace]:
        """Return the places that are not in the file."""
        check_near(near)
        known = self._read()
        return [place for place in places if self._match(place, known, near) is None]

    def hiding(self, place: HiddenPlace) -> Hiding | None:
        """Return how a place is hidden; None if it is not in the file."""
        match = self._match(place, self._read(), "same")
        return None if match is None else match.zone.hiding

    def known(self) -> list[Zone]:
        """Return the zones in the file."""
        return [*dict.fromkeys(each.zone for each in self._read())]

    @property
    def backup(self) -> Path:
        """The copy of the file, in the folder of backups."""
        name = str(self.path.resolve())
        from hashlib import sha256

        return backup_folder() / f"{sha256(os.fsencode(name)).hexdigest()[:16]}.json"

    @staticmethod
    def _match(place: HiddenPlace, known: Sequence[_Known], near: Near | None) -> _Known | None:
        """Return the known place that a place is taken for, if there is one; refuse to guess.

        Places that are declared later change nothing about it: among several, it is the one that was declared first.
        """
        away = {number: each.place.distance(place) for number, each in enumerate(known)}
        drawn: dict[str, int] = {}
        for number, each in enumerate(known):
            drawn.setdefault(each.zone.id, number)
        # A place that was declared before, or one so near that the disc has room for the margin around it.
        for numbers, limit in ((away, _SAME), (drawn.values(), NEAR)):
            for number in numbers:
                if away[number] <= limit:
                    return known[number]
        asked = [number for number in away if away[number] <= _ASKED]
        if not asked or near == "another":
            return None
        if near == "same":
            return known[min(asked, key=lambda number: away[number])]
        allowed = f"places within {NEAR} m of a known one, or more than {_ASKED} m away, unless you say what it is"
        remedy = Message("Say {near:same} if it is the known place, typed less exactly, or {near:another} if not.")
        raise InvalidParameter("places", "...", allowed, remedy)

    def _refuse_second(
        self, place: HiddenPlace, known: Sequence[_Known], published: Iterable[Zone], near: Near | None
    ) -> None:
        """Refuse to draw a centre for a place that seems to have one elsewhere."""
        for path in sorted(backup_folder().glob("*.json")):
            if path == self.backup:
                continue
            content = _content(path)
            limit = NEAR if near == "another" else _ASKED
            if any(each.place.distance(place) <= limit for each in _entries(path, content)):
                remedy = f"Use {content['path']}, or its copy {path}: a second centre would tell more about the place."
                raise FileUnavailable(str(self.path), "a place has a centre in another file", "that file", remedy)
        held = {each.zone.id for each in known}
        for zone in published:
            # A centre is within reach of its place, so it may be that of this one.
            if zone.id not in held and place.distance(HiddenPlace(zone.lat, zone.lon)) <= zone.hiding.law.reach + NEAR:
                reason = f"zone {zone.id} was released near one of the places, and the file does not know it"
                remedy = (
                    "Use the file of centres that was used then, or a copy of it: a second centre would tell more."
                )
                raise FileUnavailable(str(self.path), reason, "the file with that centre", remedy)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the file while centres are drawn: two programs would draw two for one place."""
        if not self.path.absolute().parent.is_dir():
            remedy = "Create the folder first."
            raise FileUnavailable(str(self.path), "its folder does not exist", "in an existing folder", remedy)
        try:
            # Beside a link there would be a second lock, and writing would replace the link.
            file = self.path.resolve()
            with FileLock(file.with_name(f".{file.name}.lock"), mode=0o600):
                yield
        except OSError as problem:
            why = f"cannot be read or written ({problem.strerror or problem})"
            raise FileUnavailable(
                str(self.path), why, "a file that can be written", "Choose another folder."
            ) from None

    def _read(self) -> list[_Known]:
        """Return the places in the file; none if there is no file and no sign that there was one."""
        if not self.path.exists():
            if self.backup.exists():
                remedy = f"Copy {self.backup} to {self.path}: a second centre would tell more about the place."
                raise FileUnavailable(str(self.path), "centres were drawn, and their file is gone", "the file", remedy)
            return []
        if may_be_read_by_others(self.path):
            remedy = f"Run: chmod 600 {self.path}"
            raise InvalidFile(str(self.path), "readable by others", "a file that only its owner may read", remedy)
        found = _entries(self.path, _content(self.path))
        if self.backup.exists():
            # An older copy may have been put back, and a crash may have come between two writes.
            held = {(each.zone.id, each.place) for each in found}
            kept = _entries(self.backup, _content(self.backup))
            found += [each for each in kept if (each.zone.id, each.place) not in held]
        return found

    def _write(self, known: Sequence[_Known]) -> None:
        """Write the backup and then the file."""
        content = {
            "format": _FORMAT,
            "version": 1,
            "warning": _WARNING,
            "path": str(self.path.resolve()),
            "places": [each.written() for each in known],
        }
        text = json.dumps(content, indent=1) + "\n"
        folder = backup_folder()
        folder.mkdir(parents=True, exist_ok=True)
        write_private(self.backup, text)
        write_private(self.path.resolve(), text)


def _hidden_otherwise(asked: Hiding, known: Hiding) -> InvalidParameter:
    """Return the error about a known place that is to be hidden in another way."""
    name, value = known.asked
    remedy = Message(
        f"Give {{{name}:{value}}} and {{margin:{known.margin}}}: its centre is used as it is, as a second one "
        "would tell more about the place."
    )
    name, value = asked.asked if asked.law != known.law else ("margin", str(asked.margin))
    given = value if name == "rho" else f"{value} m"
    return InvalidParameter(name, given, "as when the place was first hidden", remedy)


def _not_covered() -> InvalidParameter:
    """Return the error about a place that the disc of the known one does not hide as well."""
    allowed = "a place around which the disc of the known one has room for the margin"
    return InvalidParameter("places", "...", allowed, Message("Say {near:another}: it then gets a disc of its own."))


def check_near(near: object) -> None:
    """Refuse what says neither that a place is a known one nor that it is another one."""
    if near not in (None, "same", "another"):
        raise InvalidParameter("near", near, "'same' or 'another'", "Leave it out: it is asked for where it matters.")


def holds_centres(path: Path) -> bool:
    """Return whether a file says where hidden places are: it must never be taken for a file of tracks."""
    with path.open("rb") as file:
        return _FORMAT.encode() in file.read(200)


def backup_folder() -> Path:
    """Return the folder of copies of files of centres: GEOVEIL_CENTRES_BACKUP, or one in the user's data."""
    if given := os.environ.get(_BACKUPS):
        return Path(given)
    from platformdirs import user_data_path

    return user_data_path("geoveil", appauthor=False) / "centres"


def own_centres() -> Path:
    """Return the file of centres of whoever names none, beside the folder of copies."""
    folder = backup_folder().parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "centres.json"


def _content(path: Path) -> Any:
    """Return the content of a file of centres."""
    try:
        content = strict_json(path.read_bytes().decode("utf-8"))
        if content["format"] != _FORMAT or content["version"] != 1:
            raise ValueError("it has another format")
    except OSError:
        raise
    except (ValueError, KeyError, TypeError) as problem:
        raise _damaged(path, problem) from None
    return content


def _entries(path: Path, content: Any) -> list[_Known]:
    try:
        return [_Known.read(each) for each in content["places"]]
    except (ValueError, KeyError, TypeError) as problem:
        raise _damaged(path, problem) from None


def _damaged(path: Path, problem: Exception) -> InvalidFile:
    # The problem may hold what the file says, which is private.
    allowed = "a file of centres, as geoveil wrote it"
    copy = Centres(path).backup
    remedy = (
        f"Copy {copy} to it." if copy.exists() else "Put a copy back, or name a new file if it never held a centre."
    )
    return InvalidFile(str(path), f"another file or a damaged one ({type(problem).__name__})", allowed, remedy)
