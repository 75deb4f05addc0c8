"""The desk: one thread that updates streams and writes, with one commit for all that waits.

A ping is answered in one transaction: it is charged, drawn, stored and published, or nothing of it happened. Only
then does its sender hear of it. If the process dies before, the sender repeats the ping.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time as clock
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from geoveil.budget.ledger import Ledger
from geoveil.budget.stores import Statement, Transaction
from geoveil.errors import GeoveilError, LedgerError
from geoveil.live.joint import JointCommit
from geoveil.live.positions import LivePosition
from geoveil.live.stream import Stream
from geoveil.serve.config import Config, PersonConfig
from geoveil.serve.published import PublishedPlace
from geoveil.serve.readings import Fix, Unused
from geoveil.serve.tables import place_row, write

__all__ = ["Desk", "Taken", "Turn", "Unavailable", "stream_of"]

T = TypeVar("T")

#: A ping may be this many microseconds ahead of the service's clock.
_AHEAD = 300 * 10**6
#: Seconds within which a request is answered: Traccar waits for five.
_PATIENCE = 2.0
#: The most requests that wait, and the most pings of one turn.
_WAITING = 2000
_TURN = 256
#: Pings of a large batch that are one job, so that others need not wait for all of it.
_CHUNK = 100

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOG = logging.getLogger("geoveil.serve")


class Unavailable(Exception):
    """The store is busy or broken, or too much waits: try again later."""


@dataclass(frozen=True)
class Taken:
    """What became of a ping: what the world may see, and why the ping was not used, if it was not."""

    position: LivePosition | None
    unused: Unused | None = None


@dataclass
class Turn:
    """What is done with one commit: statements that go with it, and what follows once it is durable."""

    places: dict[str, PublishedPlace] = field(default_factory=dict)
    rows: list[tuple[str, int, int, str]] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    followers: list[Callable[[], None]] = field(default_factory=list)

    def write(self, *statements: Statement) -> None:
        """Run statements with the commit."""
        self.statements += statements

    def then(self, follower: Callable[[], None]) -> None:
        """Call a function after the commit, in the thread of the desk."""
        self.followers.append(follower)

    def commit(self, transaction: Transaction) -> None:
        """Write what was collected."""
        transaction.insert("geoveil_published", ("person", "number", "time", "place"), self.rows)
        write(transaction, self.statements)


@dataclass
class _Work(Generic[T]):
    """Work for a turn, the number of its pings, and where its result goes."""

    do: Callable[[Turn], T]
    size: int
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[T]
    result: T | None = None
    failed: bool = False

    def deliver(self) -> None:
        if self.future.done():  # nobody waits any more
            return
        if self.failed:
            self.future.set_exception(Unavailable())
        else:
            self.future.set_result(self.result)  # type: ignore[arg-type]


class Desk:
    """Takes in pings and publishes places.

    Parameters
    ----------
    config : Config
        The configuration.
    ledger : Ledger
        The ledger with an account for each person.
    latest : dict
        The last published place of each person, as it is stored.
    paused : set of str
        The persons who are paused.
    """

    def __init__(
        self, config: Config, ledger: Ledger, latest: dict[str, PublishedPlace], paused: Iterable[str] = ()
    ) -> None:
        self._config, self._ledger = config, ledger
        self._persons = {person.name: person for person in config.persons}
        self._streams: dict[str, Stream] = {}
        #: The time of the last answered ping of each person in microseconds, 0 if there is none, where it is known.
        self._answered: dict[str, int] = {}
        self._joint = JointCommit(ledger)
        self._work: SimpleQueue[_Work[Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="geoveil-desk", daemon=True)
        self.latest = latest
        self.paused = set(paused)
        #: The number of zones in each person's stream that the configuration does not name.
        self.unnamed: dict[str, int] = {}
        #: What is left of the budget of each person's present stretch.
        self.remaining: dict[str, Decimal] = {}
        #: Called in the thread of the desk after places were published.
        self.published: Callable[[], None] = lambda: None
        self.turns: Counter[str] = Counter()

    def open(self) -> None:
        """Open the streams of all persons, before the start: one that promises something else is refused then."""
        for person in self._persons:
            self._stream(person)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, and end."""
        self._work.put(None)
        self._thread.join()

    @property
    def is_working(self) -> bool:
        """Whether requests are answered."""
        return self._thread.is_alive() and self._work.qsize() <= _WAITING

    async def run(self, do: Callable[[Turn], T], size: int = 1, deadline: float | None = None) -> T:
        """Return what work returns, after its commit; raise Unavailable if it fails or takes too long.

        Parameters
        ----------
        do : callable
            The work.
        size : int
            The number of its pings.
        deadline : float, optional
            The time of the loop until which somebody waits.
        """
        if not self.is_working:
            self.turns["overload"] += 1
            raise Unavailable
        loop = asyncio.get_running_loop()
        work: _Work[T] = _Work(do, size, loop, loop.create_future())
        self._work.put(work)
        try:
            patience = _PATIENCE if deadline is None else max(deadline - loop.time(), 0.0)
            return await asyncio.wait_for(work.future, patience)
        except TimeoutError:
            self.turns["timeout"] += 1
            raise Unavailable from None

    async def take(self, person: str, fixes: Sequence[Fix]) -> list[Taken]:
        """Take in pings of a person in order, and return what became of each.

        If a long list takes too long, its sender repeats it, and what was answered before is only looked up.
        """
        received = int(clock.time() * 10**6)
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        found: list[Taken] = []
        for start in range(0, len(fixes), _CHUNK):
            chunk = fixes[start : start + _CHUNK]
            found += await self.run(
                lambda turn, chunk=chunk: [self._take(turn, person, fix, received) for fix in chunk],  # type: ignore[misc]
                len(chunk),
                deadline,
            )
        return found

    async def position(self, person: str) -> LivePosition:
        """Return what the world may see of a person."""
        return await self.run(lambda turn: self._stream(person).now())

    async def publish(self, person: str, tick: int) -> None:
        """Publish the estimate at a time of the service's clock, whether pings have come or not."""
        await self.run(lambda turn: self._publish_at(turn, person, tick))

    async def pause(self, person: str, paused: bool) -> None:
        """Pause or resume a person: while they are paused, pings are dropped and nothing is published or shown."""

        def do(turn: Turn) -> None:
            turn.write(("DELETE FROM geoveil_paused WHERE person = ?", (person,)))
            if paused:
                # What waits in this turn was sent before.
                self.paused.add(person)
                turn.write(("INSERT INTO geoveil_paused (person) VALUES (?)", (person,)))
            else:
                turn.then(lambda: self.paused.discard(person))

        await self.run(do)

    def _take(self, turn: Turn, person: str, fix: Fix, received: int) -> Taken:
        if person in self.paused:
            return Taken(None, "paused")
        if not received - self._config.max_age <= fix.time <= received + _AHEAD:
            return Taken(None, "clock")
        stream = self._stream(person)
        before = self._answered[person]
        position = stream.update(_EPOCH + timedelta(microseconds=fix.time), lat=fix.lat, lon=fix.lon)
        self.remaining[person] = position.remaining
        answered = _answered(position)
        if answered == before:
            return Taken(position, "late" if fix.time <= before else "soon")
        self._answered[person] = answered
        if not self._config.publish:
            self._publish(turn, person, fix.time, position)
        return Taken(position)

    def _publish_at(self, turn: Turn, person: str, tick: int) -> None:
        stream = self._stream(person)
        answered = self._answered[person]
        if answered and person not in self.paused:
            at = _EPOCH + timedelta(microseconds=max(tick, answered))
            self._publish(turn, person, tick, stream.now(at))

    def _publish(self, turn: Turn, person: str, time: int, position: LivePosition) -> None:
        last = turn.places.get(person) or self.latest.get(person)
        if last is not None and time <= last.time:
            return
        number = last.number + 1 if last is not None else 1
        place = PublishedPlace.of(number, time, position.lat, position.lon, position.radius_95)
        turn.places[person] = place
        turn.rows.append(place_row(person, place))

    def _stream(self, person: str) -> Stream:
        stream = self._streams.get(person)
        if stream is None:
            stream = stream_of(self._persons[person], self._ledger)
            named = _declared(self._persons[person], stream, self._config.centres)
            self.unnamed[person] = len(stream.zones) - len(named)
            self._joint.join(stream)
            self._streams[person] = stream
        if person not in self._answered:
            position = stream.now()
            self._answered[person] = _answered(position)
            self.remaining[person] = position.remaining
        return stream

    def _serve(self) -> None:
        """Work until the end."""
        while (first := self._work.get()) is not None:
            waiting, size = [first], first.size
            ended = False
            while size < _TURN:
                try:
                    work = self._work.get_nowait()
                except Empty:
                    break
                if work is None:
                    ended = True
                    break
                waiting.append(work)
                size += work.size
            problem = self._tried(waiting)
            if len(waiting) > 1 and problem is not None and not isinstance(problem, LedgerError):
                # What one request has broken must not fail the others.
                for each in waiting:
                    each.failed = False
                    self._tried([each])
            loops = {id(each.loop): each.loop for each in waiting}
            for loop in loops.values():
                mine = [each for each in waiting if each.loop is loop]
                try:
                    loop.call_soon_threadsafe(lambda mine=mine: [each.deliver() for each in mine])  # type: ignore[misc]
                except RuntimeError:  # the loop has ended
                    continue
            if ended:
                return

    def _tried(self, waiting: list[_Work[Any]]) -> Exception | None:
        """Do work with one commit; if that fails, nothing of it happened, and the error is returned."""
        turn = Turn()
        try:
            for each in waiting:
                each.result = each.do(turn)
            self._joint.commit(turn.commit)
        except Exception as problem:
            self._joint.undo()
            self._answered.clear()
            for each in waiting:
                each.failed = True
            self.turns["failed"] += 1
            # The text of an error may contain a place.
            _LOG.error("store", extra={"problem": type(problem).__name__})
            return problem
        self.turns["committed"] += 1
        self.latest.update(turn.places)
        for follow in turn.followers:
            follow()
        if turn.places:
            self.published()
        return None


def stream_of(person: PersonConfig, ledger: Ledger | None = None) -> Stream:
    """Return the stream of a person, kept in a ledger or, to check the configuration, in memory."""
    kept: dict[str, Any] = {} if ledger is None else {"ledger": ledger, "subject": person.name}
    with _naming(person):
        return Stream(
            rho=person.rho,
            hide=person.hide,
            protect=person.protect,
            area=person.area,
            within=person.within,
            motion=person.motion,  # type: ignore[arg-type]
            every=person.every,
            **kept,
        )


def _declared(person: PersonConfig, stream: Stream, centres: str) -> set[str]:
    """Declare the zones of a person, and return their ids."""
    with _naming(person):
        return {stream.zone(each.place, hide=each.hide, name=each.name, centres=centres).id for each in person.zones}


@contextmanager
def _naming(person: PersonConfig) -> Iterator[None]:
    """Let an error say whose configuration it is about."""
    try:
        yield
    except GeoveilError as problem:
        problem.add_note(f"[[person]] {person.name}")
        raise


def _answered(position: LivePosition) -> int:
    return 0 if position.time is None else (position.time - _EPOCH) // timedelta(microseconds=1)
