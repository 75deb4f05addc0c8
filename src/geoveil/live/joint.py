"""One commit for the pings of many streams, so that a service with many devices waits for one flush to the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from geoveil.budget.ledger import Ledger
from geoveil.budget.stores import Transaction
from geoveil.errors import LedgerError
from geoveil.live.schedule import Paid
from geoveil.live.store import LedgerStore, ReleasedPing, Saved, StreamStore, stored_zones, written, zones_of
from geoveil.live.stream import Stream

__all__ = ["JointCommit"]


@dataclass
class _Pending:
    """The pings of one stream since the last commit, and the last checkpoint with its number."""

    pings: list[tuple[int, Paid, ReleasedPing | None]]
    checkpoint: tuple[str, int] | None = None


class JointCommit:
    """Charges and stores the pings of the streams that joined, with one commit for all.

    The noise of these pings is drawn before their charge is durable. So nothing that an update returned may leave the
    program before `commit` has returned. If it fails, or if the process ends, the pings were never charged, drawn or
    shown: the streams read again what is stored.

    Parameters
    ----------
    ledger : Ledger
        The ledger of the streams.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._store = ledger._book.store
        self._streams: dict[str, Stream] = {}
        self._kept: dict[str, LedgerStore] = {}
        self._pending: dict[str, _Pending] = {}

    def join(self, stream: Stream) -> None:
        """Let the pings of a stream wait for `commit`."""
        kept = stream._store
        assert isinstance(kept, LedgerStore)
        assert kept._store is self._store
        self._streams[kept.name], self._kept[kept.name] = stream, kept
        stream._store = _JointStore(kept, self._pending)

    def commit(self, also: Callable[[Transaction], None] = lambda transaction: None) -> None:
        """Charge and store what is pending, durably, with what `also` writes; undo all of it if that fails."""
        pending = {name: each for name, each in self._pending.items() if each.pings}
        try:
            with self._store.transaction() as transaction:
                if pending:
                    _write(transaction, pending, self._kept)
                also(transaction)
        except BaseException:
            self.undo()
            raise
        self._pending.clear()

    def undo(self) -> None:
        """Forget what is pending: the streams read again what is stored."""
        for name in self._pending:
            self._streams[name]._doubtful = True
        self._pending.clear()


class _JointStore(StreamStore):
    """Keeps the pings of one stream for the commit that it shares."""

    def __init__(self, kept: LedgerStore, pending: dict[str, _Pending]) -> None:
        self._kept, self._pending = kept, pending

    def load(self, stretches: Sequence[tuple[int, int]]) -> Saved:
        if self._pending.get(self._kept.name):
            raise LedgerError("An update of a stream failed before its commit.", "Undo the joint commit.")
        return self._kept.load(stretches)

    def charge(self, number: int, paid: Paid) -> bool:
        self._pending.setdefault(self._kept.name, _Pending([])).pings.append((number, paid, None))
        return True

    def answer(self, number: int, answer: ReleasedPing, checkpoint: str | None) -> None:
        pending = self._pending[self._kept.name]
        charged, paid, _ = pending.pings[-1]
        assert charged == number
        pending.pings[-1] = number, paid, answer
        if checkpoint is not None:
            pending.checkpoint = checkpoint, number

    def answers(self, since: int, until: int) -> list[ReleasedPing]:
        return self._kept.answers(since, until)

    def add_zone(self, identity: str, zone: str) -> None:
        self._kept.add_zone(identity, zone)


def _write(transaction: Transaction, pending: dict[str, _Pending], kept: dict[str, LedgerStore]) -> None:
    condition, names = transaction.among([*pending])
    held = f"SELECT name, last FROM geoveil_streams WHERE name {condition} ORDER BY name FOR UPDATE"
    found, answered = transaction.ask((held, names), zones_of(transaction, [*pending]))
    last: dict[str, int] = dict(found)
    zones = stored_zones(answered)
    rows: list[tuple[str | int, ...]] = []
    for name, each in pending.items():
        if last[name] != each.pings[0][0] - 1:
            raise LedgerError(f"Another process updates the stream {name!r}.", "Let one process update it.")
        if zones.get(name, {}) != kept[name].zones:
            raise LedgerError(f"Another process has declared a zone of the stream {name!r}.", "Send the pings again.")
        for number, paid, answer in each.pings:
            assert answer is not None
            rows.append((name, number, *paid, written(answer)))
    transaction.insert("geoveil_pings", ("stream", "number", *Paid._fields, "answer"), rows)
    ends = [(each.pings[-1][0], name) for name, each in pending.items()]
    transaction.update("geoveil_streams", "last", "name", ends)
    checked = [(*each.checkpoint, name) for name, each in pending.items() if each.checkpoint is not None]
    transaction.write("UPDATE geoveil_streams SET checkpoint = ?, checked = ? WHERE name = ?", *checked)
