"""Lines of a ledger's history, and what was charged for one release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from geoveil.processes import this_process

__all__ = ["SPENT", "Charge", "Entry"]

#: What an error says that comes after a charge and before the release.
SPENT = "The charge is spent: the data may have been looked at. Asking again costs again."


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
    """

    ledger: str
    number: int
    hash: str

    def certificate(self) -> dict[str, Any]:
        """Return the entry as a certificate states it."""
        return {"ledger": self.ledger, "number": self.number, "hash": self.hash}


@dataclass(frozen=True)
class Charge:
    """What was charged for one release. It pays for one attempt to draw it.

    Parameters
    ----------
    entry : Entry
        The line of the history.
    amounts : dict
        What was taken from the account of each subject.
    skipped : tuple of str
        Subjects without enough budget, who are to be left out.
    key : str, optional
        The digest of the question's key, if it has one.
    content : str, optional
        The release, if it was made and stored before: nothing was charged.
    token : str
        Identifies the attempt.
    process : tuple
        The process that was charged: a fork of it may not store an answer.
    """

    entry: Entry
    amounts: Mapping[str, Decimal]
    skipped: tuple[str, ...]
    key: str | None = None
    content: str | None = None
    token: str = ""
    process: tuple[int, bytes] = field(default_factory=this_process)
