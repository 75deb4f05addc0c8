"""Entries of a ledger's history, and the charge for a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from geoveil.processes import this_process

__all__ = ["MAYBE_STORED", "SPENT", "STORED", "Charge", "Entry"]

#: Note on every error that is raised between a charge and its release.
SPENT = "The charge is spent, since the data may have been read. Asking again costs again."
#: The note on an error while an answer with a key was stored: it may be stored, as may that of another process.
MAYBE_STORED = (
    "The charge is spent. Asking again with the same key or label costs nothing if an answer is stored by then, and "
    "costs again otherwise."
)
#: The note on an error after the answer was stored under a key.
STORED = "The answer was charged and stored. Asking again with the same key or label costs nothing."


@dataclass(frozen=True)
class Entry:
    """An entry of the history, to which a certificate refers.

    Parameters
    ----------
    ledger : str
        Id of the ledger.
    number : int
        Number of the entry, counted from 1.
    hash : str
        Hash of the entry and of all entries before it.

    Examples
    --------
    >>> ledger = gv.Ledger(folder / "budget.db")
    >>> _ = ledger.create("ann", "bob", rho=1e-3)
    >>> entry = ledger.create("eve", rho=1e-3)
    >>> entry.number, entry.ledger == ledger.id
    (2, True)
    """

    ledger: str
    number: int
    hash: str

    def certificate(self) -> dict[str, str | int]:
        """Return the entry's fields of a certificate.

        Examples
        --------
        >>> ledger = gv.Ledger(folder / "budget.db")
        >>> _ = ledger.create("ann", "bob", rho=1e-3)
        >>> sorted(ledger.create("eve", rho=1e-3).certificate())
        ['hash', 'ledger', 'number']
        """
        return {"ledger": self.ledger, "number": self.number, "hash": self.hash}


@dataclass(frozen=True)
class Charge:
    """The charge for a release. It pays for one attempt to draw it.

    Parameters
    ----------
    entry : Entry
        The entry of the history.
    amounts : dict
        The amount charged to the account of each subject.
    skipped : tuple of str
        Subjects without enough budget, who must be removed from the release.
    key : str, optional
        Digest of the question's key, if it has one.
    content : str, optional
        The release, if it was stored before; then nothing was charged.
    token : str
        Identifies the attempt.
    process : tuple
        The process that was charged; a fork of it may not store an answer.

    Examples
    --------
    >>> ledger = gv.Ledger(folder / "budget.db")
    >>> _ = ledger.create("ann", "bob", rho=1e-3)
    >>> charge = ledger.charge(["ann"], gv.CGP(rho=1e-4), query="points")
    >>> charge.amounts, charge.entry.number
    ({'ann': Decimal('0.0001')}, 2)
    """

    entry: Entry
    amounts: Mapping[str, Decimal]
    skipped: tuple[str, ...]
    key: str | None = None
    content: str | None = None
    token: str = ""
    process: tuple[int, bytes] = field(default_factory=this_process)
