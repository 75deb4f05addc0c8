"""Links of readers: whom they show, until when, how far back, at which hours, and whether they are paused."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from geoveil.budget.stores import Statement
from geoveil.errors import InvalidParameter
from geoveil.noise import random_bytes
from geoveil.privacy import as_duration, duration_words
from geoveil.serve.tokens import new_secret

__all__ = ["LINK", "ReaderLink"]

#: How holders of links are named among holders of tokens.
LINK = "link:"
_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)")


@dataclass(frozen=True)
class ReaderLink:
    """A link for one reader.

    Parameters
    ----------
    id : str
        Names the link for its owner; it is no secret.
    name : str
        Who the reader is, in the owner's words.
    persons : tuple of str
        Whom it shows.
    expires : int
        When it ends, in microseconds since 1970.
    window : int
        How far back it shows places, in microseconds; 0 shows the last place only.
    hours : str
        The hours of a day at which it shows anything, such as "08:00-18:00"; empty for all.
    zone : str
        The time zone of the hours.
    paused : bool
        Whether it shows nothing for now.
    """

    id: str
    name: str
    persons: tuple[str, ...]
    expires: int
    window: int = 0
    hours: str = ""
    zone: str = "UTC"
    paused: bool = False

    @classmethod
    def made(cls, given: Mapping[str, object], persons: Collection[str], now: int) -> tuple[Self, str]:
        """Return a new link, made from what its owner asked for, and its token, which is shown once."""
        asked = given.get("persons")
        named = tuple(asked) if isinstance(asked, (list, tuple)) else (asked,)
        for person in named:
            if not isinstance(person, str) or person not in persons:
                raise InvalidParameter("persons", person, f"one of {', '.join(persons)}", "Name whom the link shows.")
        expires = now + as_duration("expires", str(given.get("expires") or "7 days"))
        window = as_duration("window", str(given["window"])) if given.get("window") else 0
        hours, zone = str(given.get("hours") or ""), str(given.get("zone") or "UTC")
        if hours and not _HOURS.fullmatch(hours):
            raise InvalidParameter("hours", hours, "such as 08:00-18:00", "Leave it out for the whole day.")
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise InvalidParameter("zone", zone, "a time zone such as Europe/Zurich", "Or leave it out.") from None
        name = str(given.get("name") or "a reader")[:80]
        identity = random_bytes(6).hex()
        persons_named = tuple(str(person) for person in named)
        return cls(identity, name, persons_named, expires, window, hours, zone), new_secret()

    @classmethod
    def of(cls, identity: str, content: Mapping[str, Any]) -> Self:
        """Return a link from what is stored."""
        return cls(identity, **{**content, "persons": tuple(content["persons"])})

    def writing(self) -> list[Statement]:
        """Return the statements that store the link, in place of an earlier one with its id."""
        content = {name: value for name, value in asdict(self).items() if name != "id"}
        row = (self.id, json.dumps(content))
        return [self.deleting()[0], ("INSERT INTO geoveil_links (id, content) VALUES (?, ?)", row)]

    def deleting(self) -> list[Statement]:
        """Return the statements that remove the link with its token."""
        return [
            ("DELETE FROM geoveil_links WHERE id = ?", (self.id,)),
            ("DELETE FROM geoveil_tokens WHERE holder = ?", (self.holder,)),
        ]

    def with_pause(self, paused: bool) -> Self:
        """Return the link, paused or not."""
        return replace(self, paused=paused)

    def state(self, now: int) -> str:
        """Return "open", or why the link shows nothing: "expired", "paused" or "closed"."""
        if now >= self.expires:
            return "expired"
        if self.paused:
            return "paused"
        return "open" if self._is_open(now) else "closed"

    def _is_open(self, now: int) -> bool:
        match = _HOURS.fullmatch(self.hours)
        if match is None:
            return True
        local = datetime.fromtimestamp(now / 10**6, ZoneInfo(self.zone))
        minute = 60 * local.hour + local.minute
        since, until = (60 * int(match[at]) + int(match[at + 1]) for at in (1, 3))
        return since <= minute < until if since < until else minute >= since or minute < until

    def shows(self, time: int, now: int) -> bool:
        """Return whether the link shows a place of the past, by its time."""
        return now - self.window <= time <= now and self._is_open(time)

    @property
    def holder(self) -> str:
        """The name of the link among holders of tokens."""
        return f"{LINK}{self.id}"

    @property
    def words(self) -> str:
        """What the link shows, in words."""
        back = f"the last {duration_words(self.window)}" if self.window else "the last place"
        return f"{back}, {self.hours} {self.zone}" if self.hours else back
