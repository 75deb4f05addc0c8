"""A private record of earlier releases, so that a second release of a file can warn that budgets add up.

It is kept in the user's state folder, readable by the user only, and holds dates, budgets, and keyed digests (HMAC) of
the content and the path of files. The key is random and never leaves the folder: without it, a digest tells nothing
about a file. Nothing of it goes into a release.
"""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil.text.messages import Message
from geoveil.text.words import counted, hidden

if TYPE_CHECKING:
    from geoveil.privacy import Guarantee

__all__ = ["SETTING", "Earlier", "ReleaseRecord", "adds_up"]

#: The environment variable that names the folder of the record; "off" keeps none.
SETTING = "GEOVEIL_RECORD"


@dataclass(frozen=True)
class Earlier:
    """An earlier release of a file."""

    #: The day of the release.
    date: str
    #: Its guarantee.
    guarantee: Guarantee
    #: Whether the file had the same content; otherwise it had the same path.
    same: bool


@dataclass(frozen=True)
class ReleaseRecord:
    """The record of releases in a folder."""

    folder: Path

    @classmethod
    def of_user(cls) -> ReleaseRecord | None:
        """Return the user's record, or None if it is switched off."""
        given = os.environ.get(SETTING)
        if given == "off":
            return None
        if given:
            return cls(Path(given))
        from platformdirs import user_state_path

        return cls(user_state_path("geoveil", appauthor=False))

    def earlier(self, path: Path, *, named: bool) -> list[Earlier]:
        """Return the earlier releases of a file, or of an earlier version of it at the same path.

        Parameters
        ----------
        path : Path
            The file.
        named : bool
            Whether its path identifies it; a pipe's does not.
        """
        from geoveil.privacy import certified

        try:
            lines = self._file.read_text(encoding="utf-8").splitlines()
        except OSError:
            return []
        content, place = self._marks(path, named)
        releases = []
        for line in lines:
            try:
                told = json.loads(line)
                same = told["content"] == content
                if same or (place is not None and told["path"] == place):
                    releases.append(Earlier(str(told["date"]), certified(told), same))
            except (ValueError, KeyError, TypeError, AttributeError):
                # A full disk may have cut a line short.
                continue
        return releases

    def add(self, path: Path, guarantee: Guarantee, *, named: bool) -> None:
        """Record a release of a file."""
        content, place = self._marks(path, named)
        today = datetime.date.today().isoformat()
        told = {"date": today, "content": content, "path": place, **guarantee.certificate()}
        number = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(number, "a", encoding="utf-8") as held:
            held.write(json.dumps(told) + "\n")

    @property
    def _file(self) -> Path:
        return self.folder / "releases.jsonl"

    def _marks(self, path: Path, named: bool) -> tuple[str, str | None]:
        """Return keyed digests of the content and of the path of a file."""
        from geoveil.geo.formats.archives import within_archive
        from geoveil.geo.formats.fingerprints import digest

        key = self._key()
        place = _mark(key, "path", os.path.realpath(path)) if named else None
        return _mark(key, "content", digest(within_archive(path)[0])), place

    def _key(self) -> bytes:
        from geoveil.noise import random_bytes

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.folder / "key"
        try:
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return path.read_bytes()
        with open(number, "wb") as held:
            key = random_bytes(32)
            held.write(key)
        return key


def _mark(key: bytes, kind: str, text: str) -> str:
    import hmac

    return hmac.digest(key, f"{kind}\0{text}".encode(errors="surrogateescape"), "sha256").hex()


def adds_up(name: str, earlier: list[Earlier], guarantee: Guarantee) -> Message:
    """Return a text that says how the budgets of a file's releases add up.

    Parameters
    ----------
    name : str
        The file.
    earlier : list of Earlier
        Its earlier releases.
    guarantee : CGP or GP
        The guarantee of the release that is about to be made.
    """
    dates = ", ".join(dict.fromkeys(each.date for each in earlier[-3:]))
    several = "" if len(earlier) <= 3 else "most recently "
    changed = "" if any(each.same for each in earlier) else ", with other content"
    said = f"{name} was released {counted(len(earlier), 'time')} before ({several}{dates}{changed})."
    together = _together(earlier, guarantee)
    return Message(
        "{said} {together} A ledger ({ledger.create}) keeps account of this for each person.",
        said=said,
        together=together,
    )


def _together(earlier: list[Earlier], guarantee: Guarantee) -> str:
    from geoveil.errors import IncompatibleGuarantees

    total = guarantee
    try:
        for each in earlier:
            total = total + each.guarantee
    except IncompatibleGuarantees:
        return "Their budgets add up with that of this release; they are of different kinds."
    alone, both = (hidden(each.hidden(chance=0.75)) for each in (guarantee, total))
    return f"Together with this release they are {total}: {both} hidden at 75% instead of {alone}."
