"""Store answers in a ledger before they are returned, and delete them on request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from geoveil.budget.entries import Charge
from geoveil.budget.journal import Journal
from geoveil.budget.reading import line_at
from geoveil.budget.storable import digest
from geoveil.budget.stores import Transaction
from geoveil.errors import InvalidParameter, LedgerError, LedgerTampered
from geoveil.processes import this_process

__all__ = ["forget", "store"]


def store(
    transaction: Transaction, journal: Journal, charge: Charge, content: str, written: Mapping[str, str]
) -> None:
    """Record the digest of an answer, and store the answer itself if its question has a key.

    `written` has the digests of the file that holds the answer and of its certificate, if a file was written.
    """
    number = charge.entry.number
    if charge.process != this_process():
        raise LedgerError(f"Entry {number} was charged by the parent of this forked process.", "Ask again here.")
    line = line_at(transaction, number)
    if line.get("hash") != charge.entry.hash:
        raise LedgerTampered(f"The charge of entry {number} is missing from the ledger.")
    attempt = transaction.rows("SELECT stored FROM geoveil_answers WHERE number = ?", (number,))
    if attempt != [(None,)]:
        raise _refused(transaction, charge, is_stored=bool(attempt))
    parameters = json.dumps({"charge": number, "sha256": digest(content), **written})
    same = {"query": line["query"], "release": line["release"], "key": line["key"]}
    entry = journal.add("store", parameters=parameters, **same)
    transaction.write(
        "UPDATE geoveil_answers SET stored = ?, content = ? WHERE number = ?",
        (entry.number, None if charge.key is None else content, number),
    )


def _refused(transaction: Transaction, charge: Charge, *, is_stored: bool) -> LedgerError:
    """Return the error for an attempt that was answered, was abandoned, or was taken over by another process."""
    number, again = charge.entry.number, "Ask again with the same key or label"
    if is_stored:
        problem = f"An answer was already stored for entry {number}."
        remedy = "Ask again, which is charged again." if charge.key is None else f"{again}: it is returned for free."
        return LedgerError(problem, remedy)
    others = "SELECT stored FROM geoveil_answers WHERE key = ?"
    found = [] if charge.key is None else transaction.rows(others, (charge.key,))
    if not found:
        return LedgerError(f"The attempt of entry {number} has ended.", "Ask again, which is charged again.")
    problem = f"The lease of entry {number} expired, and another process was charged for the same question."
    if found[0][0] is None:
        return LedgerError(problem, f"{again}: you get the answer that it draws, for free unless it fails.")
    return LedgerError(problem, f"{again}: you get the answer that it has stored, for free.")


def forget(transaction: Transaction, journal: Journal, releases: set[str], before: datetime | None) -> int:
    """Delete the stored answers of these releases, and of all charged before a time; return the number deleted."""
    kept = transaction.rows(
        "SELECT number, time, query, release, key FROM geoveil_history WHERE number IN "
        "(SELECT number FROM geoveil_answers WHERE content IS NOT NULL) ORDER BY number"
    )
    chosen = [
        (number, query, release, key)
        for number, time, query, release, key in kept
        if release in releases or (before is not None and datetime.fromisoformat(time) < before)
    ]
    for missing in releases - {release for _, _, release, _ in chosen}:
        raise InvalidParameter("release", missing, "the id of a stored answer", "The certificate has the id.")
    deleted = []
    for number, query, release, key in chosen:
        parameters = json.dumps({"charge": number})
        entry = journal.add("forget", parameters=parameters, query=query, release=release, key=key)
        deleted.append((entry.number, number))
    transaction.write("UPDATE geoveil_answers SET content = NULL, forgotten = ? WHERE number = ?", *deleted)
    return len(chosen)
