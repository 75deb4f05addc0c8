"""Back up a ledger, and restore a backup without losing charges."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil.budget.sqlite_store import SQLite
from geoveil.budget.stores import is_database
from geoveil.budget.witness import Witness, head_questions
from geoveil.errors import InvalidParameter, LedgerTampered, LedgerUnavailable, Message
from geoveil.privacy import Certificate, Guarantee, exact
from geoveil.sqlite_files import open_to_read

if TYPE_CHECKING:
    from geoveil.budget.ledger import Ledger

__all__ = ["back_up", "restore"]


def back_up(ledger: Ledger, target: str | os.PathLike[str]) -> int:
    """Copy a ledger into a file: see `Ledger.backup`."""
    from geoveil.budget.ledger import Ledger

    store, path = ledger._store, Path(os.path.realpath(target))
    if not isinstance(store, SQLite):
        raise LedgerUnavailable(
            "A PostgreSQL database is backed up with its own tools.", "Use pg_dump, or a base backup."
        )
    part = _new("file", path)
    try:
        with store.reading() as transaction:
            transaction.rows("SELECT 1 FROM geoveil_head")
            _copy(store._opened, part, "CREATE TABLE geoveil_backup (of TEXT)")
        with Ledger(part, key=ledger._secret, witness="") as copied:
            entries = copied.verify()
        part.replace(path)
    finally:
        _discard(part)
    _sync(path.parent)
    return entries


def restore(
    backup: str | os.PathLike[str],
    place: str | os.PathLike[str],
    *,
    key: bytes | os.PathLike[str] | None,
    certificates: Iterable[Certificate],
    witness: str | os.PathLike[str] | None,
    write_off: str | None,
) -> Ledger:
    """Restore a ledger from a backup: see `Ledger.restore`."""
    from geoveil.budget.ledger import Ledger

    if is_database(backup) or is_database(place):
        raise LedgerUnavailable(
            "A PostgreSQL database is restored with its own tools.", "Use pg_restore, or a base backup."
        )
    if not Path(backup).is_file():
        raise InvalidParameter("backup", str(backup), "a file that `geoveil budget backup` wrote", "Check the path.")
    if write_off is not None and not write_off.strip():
        raise InvalidParameter("write_off", write_off, "a text", "It is recorded: say who decided it, and why.")
    charged = [certificate for certificate in certificates if certificate.get("entry") is not None]
    source, path = Path(os.path.realpath(backup)), Path(os.path.realpath(place))
    part = _new("place", path)
    try:
        with closing(open_to_read(source)) as opened:
            _copy(opened, part, "DROP TABLE IF EXISTS geoveil_backup")
        seen = Witness.of(witness, 60.0)
        with Ledger(part, key=key, witness="") as ledger:
            if seen is not None:
                seen.check_apart(ledger.id)
            if write_off is None:
                _check(ledger, charged, seen)
            else:
                ledger.verify()
                _write_off(ledger, write_off)
        if write_off is not None and seen is not None:
            seen.forget(ledger.id)
        part.replace(path)
    except sqlite3.Error as problem:
        raise LedgerUnavailable(
            f"{backup}: {problem}. Nothing was restored.", "Is it a backup of a ledger?"
        ) from problem
    finally:
        _discard(part)
    _sync(path.parent)
    restored = Ledger(path, key=key, witness=witness)
    if seen is not None:
        restored.testify()
    return restored


def _check(ledger: Ledger, certificates: list[Certificate], witness: Witness | None) -> None:
    """Raise LedgerTampered unless certificates or the witness show that nothing was charged after the backup."""
    known = None if witness is None else witness.head(ledger.id)
    remedy = Message(
        "Nothing was restored. Give a newer backup, or {write_off:REASON}, which spends the rest of all budgets."
    )
    if known is None and not certificates:
        raise LedgerTampered(
            "It is unknown what was charged after the backup.",
            Message("Give the certificates of the latest releases, or the ledger's witness. {rest}", rest=remedy),
        )
    try:
        end = ledger.verify(certificates)
    except LedgerTampered as problem:
        raise LedgerTampered(f"The backup does not contain the latest charges. {problem}", remedy) from None
    if known is None:
        return
    if known.number > end:
        raise LedgerTampered(
            f"The backup ends at entry {end}, but the witness has entry {known.number}: something was recorded after "
            "the backup.",
            remedy,
        )
    with ledger._store.reading() as transaction:
        (found,) = transaction.ask(*head_questions([known]))
    if known.number and found != [(known.hash,)]:
        raise LedgerTampered(f"Entry {known.number} of the backup differs from the one that the witness has.", remedy)


def _write_off(ledger: Ledger, reason: str) -> None:
    """Charge the rest of every account."""
    alike: dict[Guarantee, list[str]] = defaultdict(list)
    for name, (total, spent) in ledger.accounts(ledger.subjects()).items():
        rest = exact.subtract(total.budget, spent)
        if rest > 0:
            alike[total.with_budget(rest)].append(name)
    for left, names in alike.items():
        ledger.abandon(ledger.charge(names, left, query="write off", parameters={"reason": reason}))


def _new(argument: str, path: Path) -> Path:
    """Return the temporary path of a new file, which is renamed when it is complete."""
    # SQLite would take the journal of an earlier file with this name for the new file's.
    for ending in ("", "-journal", "-wal"):
        if path.with_name(path.name + ending).exists():
            remedy = f"Move {path.name} and {path.name}-journal away."
            raise InvalidParameter(argument, f"{path}{ending}", "a file that does not exist", remedy)
    return path.with_name(f"{path.name}.{os.getpid()}.part")


def _discard(part: Path) -> None:
    for ending in ("", "-journal"):
        part.with_name(part.name + ending).unlink(missing_ok=True)


def _copy(source: sqlite3.Connection, target: Path, statement: str) -> None:
    """Copy a snapshot of a database, run a statement on the copy, and flush it to the disk."""
    with closing(sqlite3.connect(target, isolation_level=None)) as copied:
        source.backup(copied)
        copied.execute("PRAGMA synchronous=FULL")
        copied.execute(statement)


def _sync(folder: Path) -> None:
    """Flush a folder to the disk, so that renamed files survive a loss of power."""
    if sys.platform != "win32":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
