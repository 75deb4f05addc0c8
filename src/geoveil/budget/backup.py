"""Back up a ledger, and restore a backup without losing charges.

A copy appears in its place with a table that says that it is unfinished. A copy with this table is never charged, read
or restored. Removing the table is the last step, so that a copy whose writer was killed stays unusable.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

from geoveil.budget.charges import Charges
from geoveil.budget.entries import WRITE_OFF, text
from geoveil.budget.journal import Head, Witness, head_questions
from geoveil.budget.ledger import Ledger
from geoveil.budget.sqlite_store import UNFINISHED, SQLite, create_tables
from geoveil.budget.stores import is_database
from geoveil.errors import InvalidParameter, LedgerTampered, LedgerUnavailable, Message
from geoveil.host.sqlite_files import open_to_read
from geoveil.privacy import Certificate, Guarantee

__all__ = ["back_up", "restore"]


class _Copy(Ledger):
    """A copy of a ledger that is not finished."""

    def _open(self, place: str | os.PathLike[str], timeout: float) -> SQLite:
        return SQLite(place, timeout, unfinished=True)


def back_up(ledger: Ledger, target: str | os.PathLike[str]) -> int:
    """Copy a ledger into a file: see `Ledger.backup`."""
    store, path = ledger._book.store, Path(os.path.realpath(target))
    if not isinstance(store, SQLite):
        raise LedgerUnavailable(
            "A PostgreSQL database is backed up with its own tools.", "Use pg_dump, or a base backup."
        )
    with _making("file", path, like=store.path):
        # With a connection of its own, so that an interruption leaves the ledger's alone.
        with closing(store.another()) as source, source.reading():
            assert source._opened is not None
            _copy(source._opened, path, "CREATE TABLE geoveil_backup (of TEXT)")
        with _Copy(path, secret=ledger._book.secret, witness="") as copied:
            entries = copied.verify()
    return entries


def restore(
    backup: str | os.PathLike[str],
    place: str | os.PathLike[str],
    *,
    secret: bytes | os.PathLike[str] | None,
    certificates: Iterable[Certificate],
    witness: str | os.PathLike[str] | None,
    write_off: str | None,
) -> Ledger:
    """Restore a ledger from a backup: see `Ledger.restore`."""
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
    with _making("place", path, like=source):
        try:
            with closing(open_to_read(source)) as opened:
                opened.execute("BEGIN")
                _copy(opened, path)
        except sqlite3.Error as problem:
            raise LedgerUnavailable(
                f"{backup}: {problem}. Nothing was restored.", "Is it a backup of a ledger?"
            ) from problem
        seen = Witness.of(witness, 60.0)
        with _Copy(path, secret=secret, witness="") as ledger:
            if seen is not None:
                seen.check_apart(ledger.id)
            if write_off is None:
                _check(ledger, charged, seen)
            else:
                ledger.verify()
                last = _write_off(ledger, write_off)
                if seen is not None:
                    # Before the copy is finished, so that whatever it replaces is refused from now on.
                    seen.record(ledger.id, last, replace=True)
    restored = Ledger(path, secret=secret, witness=witness)
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
    (heads,) = ledger._book.read(lambda transaction: transaction.ask(*head_questions([known])))
    if known.number and heads != [(known.hash,)]:
        raise LedgerTampered(f"Entry {known.number} of the backup differs from the one that the witness has.", remedy)


def _write_off(ledger: Ledger, reason: str) -> Head:
    """Record the write-off, charge the rest of every account, and return the last entry."""
    with ledger._book.writing() as (transaction, journal):
        journal.add(WRITE_OFF, query=text("write_off", reason))
        journal.write(transaction)
    alike: dict[Guarantee, list[str]] = defaultdict(list)
    for name, account in ledger.accounts().items():
        if account.remaining > 0:
            alike[account.total.with_budget(account.remaining)].append(name)
    charges = Charges.of(ledger)
    for left, names in alike.items():
        charges.abandon(charges.charge(names, left, query="write off", parameters={"reason": reason}))
    with ledger._book.writing() as (_, journal):
        return Head(journal.number, journal.hash)


@contextmanager
def _making(argument: str, path: Path, *, like: Path) -> Iterator[None]:
    """Begin a copy where no file is, with the permissions of the original; after the block, finish or delete it."""
    # SQLite would take the journal of an earlier file with this name for the new file's.
    for ending in ("", "-journal", "-wal"):
        if path.with_name(path.name + ending).exists():
            raise _taken(argument, path, ending)
    _begin(argument, path, stat.S_IMODE(like.stat().st_mode))
    try:
        yield
        with _editing(path) as copy:
            copy.execute(f"DROP TABLE {UNFINISHED}")
    except BaseException:
        _delete(path)
        raise
    _sync(path.parent)


def _begin(argument: str, path: Path, mode: int) -> None:
    """Put an unfinished copy in its place in one step: an empty file would be taken for a new ledger."""
    begun = path.with_name(f".{path.name}.{uuid4().hex}.unfinished")
    try:
        begun.touch(mode, exist_ok=False)
        with _editing(begun) as copy:
            copy.execute(f"CREATE TABLE {UNFINISHED} (of TEXT)")
            create_tables(copy)
        try:
            # Of threads and processes that begin at the same time, one alone succeeds.
            os.link(begun, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            path.touch(mode, exist_ok=False)
            os.replace(begun, path)
    except FileExistsError:
        raise _taken(argument, path) from None
    finally:
        _delete(begun)


def _delete(path: Path) -> None:
    for ending in ("", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _taken(argument: str, path: Path, ending: str = "") -> InvalidParameter:
    remedy = f"Move {path.name} and {path.name}-journal away."
    return InvalidParameter(argument, f"{path}{ending}", "a file that does not exist", remedy)


@contextmanager
def _editing(path: Path) -> Iterator[sqlite3.Connection]:
    """Change a copy in one transaction, which is flushed to the disk at the end of the block."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=EXTRA")
        connection.execute("BEGIN EXCLUSIVE")
        yield connection
        connection.execute("COMMIT")


def _copy(source: sqlite3.Connection, path: Path, *statements: str) -> None:
    """Copy the rows of a ledger into a copy that has been begun, and run statements on it, all in one transaction."""
    if source.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (UNFINISHED,)).fetchall():
        raise LedgerUnavailable("The backup is unfinished: its writer was stopped.", "Use another backup.")
    with _editing(path) as copy:
        listed = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> ?"
        for (table,) in copy.execute(listed, (UNFINISHED,)).fetchall():
            copy.execute(f"DELETE FROM {table}")
            rows = source.execute(f"SELECT * FROM {table}")
            places = ", ".join("?" * len(rows.description))
            copy.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
        for statement in statements:
            copy.execute(statement)


def _sync(folder: Path) -> None:
    """Flush a folder to the disk, so that renamed files survive a loss of power."""
    if sys.platform != "win32":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
