"""Where a stream is kept: in memory, or beside a ledger, where it survives a crash.

A ping takes two commits. The first charges it, before anything is drawn; the second stores its answer, before anybody
sees it. A process that ends in between has spent the budget of one ping and shown nothing.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import uuid4

from geoveil.budget.charges import Charges
from geoveil.budget.stores import Row, Statement, Store, Transaction
from geoveil.budget.turns import uninterrupted
from geoveil.errors import BudgetError, InvalidParameter, LedgerTampered
from geoveil.host.processes import this_process
from geoveil.live.schedule import Held, Paid
from geoveil.privacy import CGP

if TYPE_CHECKING:
    from geoveil.budget.ledger import Ledger

__all__ = [
    *("LedgerStore", "MemoryStore", "ReleasedPing", "Saved", "StreamStore", "stored_zones", "written", "zones_of"),
]

T = TypeVar("T")

#: Pings are numbered from 1 in each stream. `answer` is empty while it is being drawn; `checkpoint` is the state of
#: the stream after ping number `checked`.
_TABLES = """
CREATE TABLE IF NOT EXISTS geoveil_streams (name TEXT PRIMARY KEY, id TEXT NOT NULL, last BIGINT NOT NULL,
  checkpoint TEXT NOT NULL, checked BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS geoveil_pings (stream TEXT NOT NULL, number BIGINT NOT NULL, time BIGINT NOT NULL,
  active BIGINT NOT NULL, cost BIGINT NOT NULL, answer TEXT, PRIMARY KEY (stream, number));
CREATE INDEX IF NOT EXISTS geoveil_pings_time ON geoveil_pings (stream, time);
CREATE TABLE IF NOT EXISTS geoveil_stream_zones (stream TEXT NOT NULL, id TEXT NOT NULL, zone TEXT NOT NULL,
  PRIMARY KEY (stream, id))
"""
#: What the account has paid for a stream: the first charge, if several were made.
_PROMISE = "SELECT parameters FROM geoveil_history WHERE event = 'charge' AND release = ? ORDER BY number LIMIT 1"
_PINGS = "FROM geoveil_pings WHERE stream = ?"
#: Pings in zones cost nothing, and no account holds them.
_CHARGED = f"{_PINGS} AND cost > 0"
#: The first ping since the last gap that is longer than a stretch, and the one before it.
_BEGAN = f"""SELECT time, before FROM (SELECT time, LAG(time) OVER (ORDER BY number) AS before {_CHARGED}) AS pings
  WHERE before IS NULL OR time - before > ? ORDER BY time DESC LIMIT 1"""


class ReleasedPing(NamedTuple):
    """A released point: its time in microseconds, its metres in the plane, and the scale of its noise.

    For a ping in a zone, whose id is given then, it is the centre of the zone with half of its radius.
    """

    time: int
    x: float
    y: float
    scale: float
    zone: str = ""


@dataclass
class Saved:
    """A stream as it was stored: how many pings were charged, and what is needed to go on."""

    last: int = 0
    #: The time of the last of them.
    latest: int = 0
    #: What the account of each stretch holds.
    held: Sequence[Held] = ()
    #: The last checkpoint, if there is one, and what was released since.
    checkpoint: str = ""
    since: Sequence[ReleasedPing] = ()
    #: The zones, as JSON.
    zones: Sequence[str] = ()


class StreamStore(ABC):
    """Keeps the pings of one stream."""

    @abstractmethod
    def load(self, stretches: Sequence[tuple[int, int]]) -> Saved:
        """Return the stream as it is stored, given the lengths and the grains of its stretches."""

    @abstractmethod
    def charge(self, number: int, paid: Paid) -> bool:
        """Charge the ping with this number, durably.

        Return False, and charge nothing, if it is not the next one, or if the zones are not those that were loaded:
        another process has declared one since, and the ping may be in it.
        """

    @abstractmethod
    def answer(self, number: int, answer: ReleasedPing, checkpoint: str | None) -> None:
        """Store the answer of a ping, durably, and now and then a checkpoint of the stream after it."""

    @abstractmethod
    def answers(self, since: int, until: int) -> list[ReleasedPing]:
        """Return what was released from one time to another, in order of time."""

    @abstractmethod
    def add_zone(self, identity: str, zone: str) -> None:
        """Store a zone as JSON, durably, in place of an earlier one with this id."""


@dataclass
class MemoryStore(StreamStore):
    """Keeps a stream in this process: with it end the account and all that was released."""

    _paid: list[Paid] = field(default_factory=list)
    _answers: list[ReleasedPing] = field(default_factory=list)
    _zones: dict[str, str] = field(default_factory=dict)
    _process: tuple[int, bytes] = field(default_factory=this_process)

    def load(self, stretches: Sequence[tuple[int, int]]) -> Saved:
        zones = [*self._zones.values()]
        if not self._paid:
            return Saved(zones=zones)
        held = [self._held(length) for length, _ in stretches]
        return Saved(len(self._paid), self._paid[-1].time, held, since=self._answers, zones=zones)

    def _held(self, stretch: int) -> Held:
        """Return what the account of a stretch holds."""
        charged = [each for each in self._paid if each.cost]
        if not charged:
            return Held(None, None, [])
        gaps = [i for i in range(1, len(charged)) if charged[i].time - charged[i - 1].time > stretch]
        began = gaps[-1] if gaps else 0

        def last(paid: Sequence[Paid]) -> list[Paid]:
            return [each for each in paid if each.time >= paid[-1].time - stretch]

        before = sum(each.active for each in last(charged[:began])) if began else None
        return Held(charged[began].time, before, last(charged))

    def charge(self, number: int, paid: Paid) -> bool:
        if this_process() != self._process:
            raise BudgetError(
                "A stream in memory cannot be used in a forked process, which would spend its budget a second time.",
                "Open it with ledger= in this process.",
                charged="nothing",
            )
        self._paid.append(paid)
        return True

    def answer(self, number: int, answer: ReleasedPing, checkpoint: str | None) -> None:
        self._answers.append(answer)

    def answers(self, since: int, until: int) -> list[ReleasedPing]:
        return [each for each in self._answers if since <= each.time <= until]

    def add_zone(self, identity: str, zone: str) -> None:
        self._zones[identity] = zone


class LedgerStore(StreamStore):
    """Keeps a stream in the database of a ledger, whose account pays for it once, when it is opened.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    subject : str
        The subject whose account pays, and the name of the stream.
    promise : dict
        What the stream promises; one that is opened again must promise the same.
    guarantees : sequence of CGP
        The guarantees of the stream, each under another metric. The account pays the one under its own metric.
    """

    def __init__(self, ledger: Ledger, subject: str, promise: dict[str, Any], guarantees: Sequence[CGP]) -> None:
        self._store: Store[Any] = ledger._book.store
        self.name = subject
        #: The zones that this process knows, by their ids.
        self.zones: dict[str, str] = {}
        account = ledger.account(subject)
        identity = self._run(self._opened)
        if self._promise(identity) is None:
            cost = next((each for each in guarantees if each.metric == account.total.metric), guarantees[0])
            charges = Charges.of(ledger)
            try:
                charge = charges.charge(
                    [subject], cost, query="stream", parameters=promise, release=identity, key=identity
                )
            except InvalidParameter:
                # The account has paid for another promise since it was looked at, which is refused below.
                if self._promise(identity) is None:
                    raise
            else:
                if charge.content is None:
                    charges.store(charge, identity)
        # What was paid is the promise, whatever other processes have asked for in between.
        if (paid := self._promise(identity)) != json.loads(json.dumps(promise)):
            raise InvalidParameter(
                "subject",
                subject,
                f"one whose stream was opened with the same promise: it was {json.dumps(paid, sort_keys=True)}",
                "Open it as it was, or use another subject.",
            )

    def _opened(self, transaction: Transaction) -> str:
        """Return the id of the stream, which is given to a new one."""
        # One process at a time, so that tables and streams are made once.
        transaction.rows("SELECT 1 FROM geoveil_head WHERE one = 1 FOR UPDATE")
        for statement in _TABLES.strip().split(";\n"):
            transaction.ask((statement, ()))
        found = transaction.rows("SELECT id FROM geoveil_streams WHERE name = ?", (self.name,))
        if found:
            return str(found[0][0])
        identity = uuid4().hex
        row = (self.name, identity, 0, "", 0)
        transaction.insert("geoveil_streams", ("name", "id", "last", "checkpoint", "checked"), [row])
        return identity

    def _promise(self, identity: str) -> object:
        """Return the promise that the account has paid for; None if it has not paid yet."""
        paid = self._run(lambda transaction: transaction.rows(_PROMISE, (identity,)))
        return json.loads(paid[0][0]) if paid else None

    def _run(self, work: Callable[[Transaction], T]) -> T:
        """Return what a transaction returns; an interruption of the caller does not interrupt it."""

        def working() -> T:
            with self._store.transaction() as transaction:
                return work(transaction)

        return uninterrupted(working)

    def load(self, stretches: Sequence[tuple[int, int]]) -> Saved:
        return self._run(lambda transaction: self._loaded(transaction, stretches))

    def _loaded(self, transaction: Transaction, stretches: Sequence[tuple[int, int]]) -> Saved:
        ((last, checkpoint, checked),) = transaction.rows(
            "SELECT last, checkpoint, checked FROM geoveil_streams WHERE name = ?", (self.name,)
        )
        self.zones = stored_zones(*transaction.ask(zones_of(transaction, [self.name]))).get(self.name, {})
        known = [*self.zones.values()]
        if not last:
            return Saved(zones=known)
        ((latest, count),) = transaction.rows(f"SELECT MAX(time), COUNT(*) {_PINGS}", (self.name,))
        if count != last:
            raise LedgerTampered(f"{last - count} pings of the stream {self.name!r} are missing from the ledger.")
        since = f"SELECT time, answer {_PINGS} AND number > ? AND answer IS NOT NULL ORDER BY number"
        ((charged,),) = transaction.rows(f"SELECT MAX(time) {_CHARGED}", (self.name,))
        return Saved(
            last,
            latest,
            [self._held(transaction, charged, *each) for each in stretches],
            checkpoint,
            [_read(*row) for row in transaction.rows(since, (self.name, checked))],
            known,
        )

    def _held(self, transaction: Transaction, latest: int | None, stretch: int, grain: int) -> Held:
        """Return what the account of a stretch holds, given the time of the last ping that was charged."""
        if latest is None:
            return Held(None, None, [])
        ((began, end),) = transaction.rows(_BEGAN, (self.name, stretch))
        before = None
        if end is not None:
            summed = f"SELECT SUM(active) {_CHARGED} AND time >= ? AND time <= ?"
            before = int(transaction.rows(summed, (self.name, end - stretch, end))[0][0])
        grouped = f"SELECT MAX(time), SUM(active), SUM(cost) {_CHARGED} AND time >= ? GROUP BY time / ? ORDER BY 1"
        rows = transaction.rows(grouped, (self.name, latest - stretch, grain))
        return Held(began, before, [Paid(*map(int, row)) for row in rows])

    def charge(self, number: int, paid: Paid) -> bool:
        def work(transaction: Transaction) -> bool:
            held = "SELECT last FROM geoveil_streams WHERE name = ? FOR UPDATE"
            last, zones = transaction.ask((held, (self.name,)), zones_of(transaction, [self.name]))
            if last != [(number - 1,)] or stored_zones(zones).get(self.name, {}) != self.zones:
                return False
            transaction.insert("geoveil_pings", ("stream", "number", *Paid._fields), [(self.name, number, *paid)])
            transaction.write("UPDATE geoveil_streams SET last = ? WHERE name = ?", (number, self.name))
            return True

        return self._run(work)

    def answer(self, number: int, answer: ReleasedPing, checkpoint: str | None) -> None:
        def work(transaction: Transaction) -> None:
            transaction.write(
                "UPDATE geoveil_pings SET answer = ? WHERE stream = ? AND number = ? AND answer IS NULL",
                (written(answer), self.name, number),
            )
            if checkpoint is not None:
                transaction.write(
                    "UPDATE geoveil_streams SET checkpoint = ?, checked = ? WHERE name = ? AND checked < ?",
                    (checkpoint, number, self.name, number),
                )

        self._run(work)

    def answers(self, since: int, until: int) -> list[ReleasedPing]:
        asked = f"SELECT time, answer {_PINGS} AND time >= ? AND time <= ? AND answer IS NOT NULL ORDER BY number"
        rows = self._run(lambda transaction: transaction.rows(asked, (self.name, since, until)))
        return [_read(*row) for row in rows]

    def add_zone(self, identity: str, zone: str) -> None:
        def work(transaction: Transaction) -> None:
            # Not while another process charges a ping.
            transaction.rows("SELECT last FROM geoveil_streams WHERE name = ? FOR UPDATE", (self.name,))
            transaction.write("DELETE FROM geoveil_stream_zones WHERE stream = ? AND id = ?", (self.name, identity))
            transaction.insert("geoveil_stream_zones", ("stream", "id", "zone"), [(self.name, identity, zone)])

        self._run(work)
        self.zones[identity] = zone


def zones_of(transaction: Transaction, names: Sequence[str]) -> Statement:
    """Return the question for the zones of streams."""
    condition, given = transaction.among(names)
    return f"SELECT stream, id, zone FROM geoveil_stream_zones WHERE stream {condition} ORDER BY id", given


def stored_zones(rows: Sequence[Row]) -> dict[str, dict[str, str]]:
    """Return the answer: of each stream that has zones, these by their ids."""
    found: dict[str, dict[str, str]] = {}
    for stream, identity, zone in rows:
        found.setdefault(stream, {})[identity] = zone
    return found


def written(answer: ReleasedPing) -> str:
    """Return an answer as it is stored beside its time."""
    return json.dumps([answer.x, answer.y, answer.scale, *([answer.zone] if answer.zone else [])])


def _read(time: int, answer: str) -> ReleasedPing:
    return ReleasedPing(time, *json.loads(answer))
