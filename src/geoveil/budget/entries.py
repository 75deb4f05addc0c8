"""Lines of a ledger's history, and what was charged for one release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

__all__ = ["Charge", "Entry"]


@dataclass(frozen=True)
class Entry:
    """A line of the history: what a certificate refers to.

    Parameters
    ----------
    ledger : str
        Id of the ledger.
    number : int
        Number of the line, counted from 1.
    hash : str
        Hash of the line and of all lines before it.
    subject : str
        Whose budget it is about.
    amount : Decimal
        What was taken, or the total that was set.
    """

    ledger: str
    number: int
    hash: str
    subject: str
    amount: Decimal

    @classmethod
    def of(cls, ledger: str, line: Mapping[str, Any]) -> Entry:
        """Make an entry of a line of the history."""
        return cls(ledger, int(line["number"]), line["hash"], line["subject"], Decimal(line["amount"]))

    def certificate(self) -> dict[str, Any]:
        """Return the entry as a certificate states it."""
        return {"ledger": self.ledger, "number": self.number, "hash": self.hash}


@dataclass(frozen=True)
class Charge:
    """What was charged for one release.

    Parameters
    ----------
    entries : tuple of Entry
        A line for each subject.
    skipped : tuple of str
        Subjects without enough budget, who are to be left out.
    key : str
        The key under which the release is stored.
    content : str, optional
        The release, if it was made and stored before: nothing was charged.
    token : str
        Identifies the one who is to draw it.
    """

    entries: tuple[Entry, ...]
    skipped: tuple[str, ...]
    key: str
    content: str | None = None
    token: str = ""
