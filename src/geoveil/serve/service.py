"""The service: what its addresses, its clock and its outbox share."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil.budget.ledger import Ledger
from geoveil.budget.stores import open_store
from geoveil.host.private_files import may_be_read_by_others
from geoveil.live.stream import Stream
from geoveil.serve.config import Config, PersonConfig
from geoveil.serve.desk import Desk, Taken, stream_of
from geoveil.serve.metrics import Metrics
from geoveil.serve.published import PublishedPlace
from geoveil.serve.rates import RateLimit
from geoveil.serve.readings import PingReading
from geoveil.serve.tables import Tables
from geoveil.serve.tokens import TokenBook
from geoveil.text.words import counted

if TYPE_CHECKING:
    from geoveil.serve.broker import Broker
    from geoveil.serve.outbox import DeliveryState, Outbox

__all__ = ["Service", "open_accounts"]

#: Time limits in seconds of a call of the database: at the start, which is patient, and later, when clients that wait
#: are told to come back.
_START, _TIMEOUT = 60.0, 1.5
#: Requests a second of a device, and its burst: a queue of a week is flushed without a pause. And of an address whose
#: tokens are wrong.
_DEVICE = 50.0, 200
_GUESSES = 5.0, 5
_LOG = logging.getLogger("geoveil.serve")


class Service:
    """What runs behind the addresses.

    Parameters
    ----------
    config : Config
        The configuration. Persons without an account in the ledger get one, with the budget of their stream.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.persons = {person.name: person for person in config.persons}
        pairs = [(person, each) for person in config.persons for each in person.devices]
        self.devices = {f"{person.name}/{each.name}": (person, each) for person, each in pairs}
        #: The devices that gateways name.
        self.gatewayed = {each.unique_id: (person, each) for person, each in pairs if each.unique_id}
        #: The promise of each person, as a stream that is never used.
        self.promises = {person.name: stream_of(person) for person in config.persons}
        self.ledger = Ledger(config.ledger, timeout=_START)
        open_accounts(self.ledger, self.promises)
        store = open_store(config.ledger, _START)
        self.tables = Tables(store)
        self.tables.create()
        self.metrics = Metrics()
        self.rates, self.guesses = RateLimit(*_DEVICE), RateLimit(*_GUESSES)
        self.desk = Desk(config, self.ledger, self.tables.latest(), self.tables.paused())
        self.desk.open()
        self.links = self.tables.links()
        self._tokens = TokenBook(self.tables.tokens())
        self.outbox: Outbox | None = None
        self.broker: Broker | None = None
        self._watched: Path | None = None
        self.ledger._book.store.timeout = store.timeout = _TIMEOUT

    def start(self) -> None:
        """Begin to take in pings."""
        self.desk.start()

    def stop(self) -> None:
        """Finish what waits, and end."""
        self.desk.stop()

    def close(self) -> None:
        """Close the connections of the database."""
        self.tables.close()
        self.ledger._book.store.close()

    def holder(self, token: str) -> str | None:
        """Return who holds a token."""
        return self._tokens.holder(token)

    def refresh(self) -> None:
        """Learn of tokens that were made meanwhile."""
        self._tokens = TokenBook(self.tables.tokens())

    def holders(self) -> set[str]:
        """Return all who hold a token."""
        return self._tokens.holders()

    def watch(self, path: Path) -> None:
        """Warn of other users of the machine who may read the configuration: it may contain credentials."""
        self._watched = path

    def target_states(self) -> list[DeliveryState]:
        """Return how the targets are doing."""
        return self.outbox.states if self.outbox is not None else []

    def resume_target(self, name: str) -> None:
        """Try a target again that was stopped."""
        if self.outbox is not None:
            self.outbox.resume(name)

    def warnings(self) -> list[str]:
        """Return what the owner should change."""
        found = self.kept_zones()
        if self._watched is not None and may_be_read_by_others(self._watched):
            found.append(f"Others on this machine may read {self._watched.name}: run chmod 600 {self._watched.name}.")
        if self.broker is not None and self.broker.warning:
            found.append(self.broker.warning)
        for state in self.target_states():
            if state.stopped:
                found.append(f"{state.target.name} refused places and was stopped. They are kept for it.")
            most = state.target.max_gps_accuracy or math.inf
            places = {name: place for name in state.target.persons if (place := self.shown(name)) is not None}
            found += [
                f"{state.target.name} ignores the place of {name}: its radius of {place.radius} m is above "
                f"max_gps_accuracy = {most:g}. Raise that setting there and here."
                for name, place in places.items()
                if place.radius > most
            ]
        return found

    def kept_zones(self) -> list[str]:
        """Return which persons have zones that the configuration does not name, for the owner."""
        return [
            f"{name} has {counted(count, 'zone')} that the configuration does not name. What is left out there stays "
            "hidden: name it again, or show it by giving the person another name, with a new stream and budget."
            for name, count in self.desk.unnamed.items()
            if count
        ]

    def measured(self) -> str:
        """Return what Prometheus reads."""
        for state in self.target_states():
            waiting = sum(
                self.desk.latest[name].number - sent for name, sent in state.sent.items() if name in self.desk.latest
            )
            self.metrics.set("geoveil_waiting_places", waiting, target=state.target.name)
        for name, remaining in self.desk.remaining.items():
            self.metrics.set("geoveil_budget_left", float(remaining / self.promises[name].guarantee.rho), person=name)
        return self.metrics.text({"geoveil_turns_total": self.desk.turns.items()})

    def shown(self, person: str) -> PublishedPlace | None:
        """Return the place of a person that others may see now."""
        return None if person in self.desk.paused else self.desk.latest.get(person)

    async def take(self, kind: str, person: PersonConfig, device: str, reading: PingReading) -> list[Taken]:
        """Take in what was read from a body, and return what became of each point."""
        taken = await self.desk.take(person.name, [fix for _, fix in reading.fixes])
        found: list[Taken] = [Taken(None, reading.unused.get(at)) for at in range(reading.size)]
        for (at, _), each in zip(reading.fixes, taken, strict=True):
            found[at] = each
        for outcome in {each.unused for each in found}:
            times = sum(each.unused == outcome for each in found)
            self.metrics.count("geoveil_pings_total", times, format=kind, outcome=outcome or "answered")
        _LOG.info("pings", extra={"format": kind, "person": person.name, "device": device, **_outcomes(found)})
        return found


def _outcomes(found: Sequence[Taken]) -> dict[str, int]:
    answered = sum(each.unused is None for each in found)
    return {"answered": answered, "unused": len(found) - answered}


def open_accounts(ledger: Ledger, promises: Mapping[str, Stream]) -> None:
    """Give an account to each person who has none, with the budget of their stream."""
    known = ledger.accounts()
    new: dict[tuple[Decimal, str], list[str]] = {}
    for name, stream in promises.items():
        if name not in known:
            new.setdefault((stream.guarantee.rho, stream.guarantee.metric.name), []).append(name)
    for (rho, protect), names in new.items():
        ledger.create(*names, rho=rho, protect=protect)
