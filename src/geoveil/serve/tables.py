"""What the service keeps beside the ledger: tokens, links, pauses, published places, and what targets have received.

No table has a column for a true place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from geoveil.budget.stores import Row, Statement, Store, Transaction
from geoveil.serve.links import ReaderLink
from geoveil.serve.published import PublishedPlace

__all__ = ["DELIVERED", "Tables", "place_row"]

#: A holder has one token. `sent` is the number of the last place of a person that a target has received.
_TABLES = """
CREATE TABLE IF NOT EXISTS geoveil_tokens (holder TEXT PRIMARY KEY, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS geoveil_links (id TEXT PRIMARY KEY, content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS geoveil_paused (person TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS geoveil_published (person TEXT NOT NULL, number BIGINT NOT NULL, time BIGINT NOT NULL,
  place TEXT NOT NULL, PRIMARY KEY (person, number));
CREATE INDEX IF NOT EXISTS geoveil_published_time ON geoveil_published (person, time);
CREATE TABLE IF NOT EXISTS geoveil_deliveries (target TEXT NOT NULL, person TEXT NOT NULL, sent BIGINT NOT NULL,
  PRIMARY KEY (target, person))
"""
_LATEST = """
SELECT p.person, p.number, p.time, p.place FROM geoveil_published AS p
JOIN (SELECT person, MAX(number) AS number FROM geoveil_published GROUP BY person) AS last
ON p.person = last.person AND p.number = last.number
"""
DELIVERED = "UPDATE geoveil_deliveries SET sent = ? WHERE target = ? AND person = ?"


class Tables:
    """Reads the tables with a connection of its own, so that readers do not wait for pings.

    Parameters
    ----------
    store : Store
        The database of the ledger.
    """

    def __init__(self, store: Store[Any]) -> None:
        self._store = store

    def create(self) -> None:
        """Create what is missing."""
        with self._store.transaction() as transaction:
            # One process at a time.
            transaction.rows("SELECT 1 FROM geoveil_head WHERE one = 1 FOR UPDATE")
            for statement in _TABLES.strip().split(";\n"):
                transaction.ask((statement, ()))

    def _rows(self, *question: Any) -> list[Row]:
        with self._store.reading() as transaction:
            return transaction.rows(*question)

    def tokens(self) -> list[tuple[str, str]]:
        """Return the holders and the digests of all tokens."""
        return [(holder, digest) for holder, digest in self._rows("SELECT holder, digest FROM geoveil_tokens")]

    def give(self, holder: str, digest: str) -> None:
        """Keep the digest of a holder's new token, in place of the old one."""
        self._write(*self.giving(holder, digest))

    @staticmethod
    def giving(holder: str, digest: str) -> list[Statement]:
        """Return the statements that keep a token."""
        return [
            ("DELETE FROM geoveil_tokens WHERE holder = ?", (holder,)),
            ("INSERT INTO geoveil_tokens (holder, digest) VALUES (?, ?)", (holder, digest)),
        ]

    def links(self) -> dict[str, ReaderLink]:
        """Return the links by their ids."""
        rows = self._rows("SELECT id, content FROM geoveil_links")
        return {name: ReaderLink.of(name, json.loads(content)) for name, content in rows}

    def paused(self) -> set[str]:
        """Return the persons who are paused."""
        return {person for (person,) in self._rows("SELECT person FROM geoveil_paused")}

    def latest(self) -> dict[str, PublishedPlace]:
        """Return the last place of each person."""
        return {person: _place(*rest) for person, *rest in self._rows(_LATEST)}

    def since(self, person: str, number: int, limit: int) -> list[PublishedPlace]:
        """Return the places of a person after the one with this number, in order."""
        columns = "SELECT number, time, place FROM geoveil_published WHERE person = ?"
        rows = self._rows(f"{columns} AND number > ? ORDER BY number LIMIT ?", (person, number, limit))
        return [_place(*row) for row in rows]

    def between(self, person: str, since: int, until: int, limit: int) -> list[PublishedPlace]:
        """Return the last places of a person from one time to another, in order."""
        columns = "SELECT number, time, place FROM geoveil_published WHERE person = ?"
        asked = f"{columns} AND time >= ? AND time <= ? ORDER BY number DESC LIMIT ?"
        return [_place(*row) for row in self._rows(asked, (person, since, until, limit))][::-1]

    def deliveries(self, targets: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Return what each target has received of each person; a new target begins with the next place."""
        sent = {(target, person): number for target, person, number in self._rows("SELECT * FROM geoveil_deliveries")}
        latest = self.latest()
        new = [(*pair, latest[pair[1]].number if pair[1] in latest else 0) for pair in targets if pair not in sent]
        with self._store.transaction() as transaction:
            transaction.insert("geoveil_deliveries", ("target", "person", "sent"), new)
        return sent | {(target, person): number for target, person, number in new}

    def prune(self, before: int) -> None:
        """Forget places published before a time, but for the last one of each person."""
        last = "SELECT MAX(number) FROM geoveil_published AS other WHERE other.person = geoveil_published.person"
        self._write((f"DELETE FROM geoveil_published WHERE time < ? AND number < ({last})", (before,)))

    def close(self) -> None:
        """Close the connection."""
        self._store.close()

    def _write(self, *statements: Statement) -> None:
        with self._store.transaction() as transaction:
            write(transaction, statements)


def write(transaction: Transaction, statements: Iterable[Statement]) -> None:
    """Run statements with the commit."""
    for sql, parameters in statements:
        transaction.write(sql, parameters)


def place_row(person: str, place: PublishedPlace) -> tuple[str, int, int, str]:
    """Return the row of a published place."""
    return person, place.number, place.time, json.dumps([place.lat, place.lon, place.radius])


def _place(number: int, time: int, place: str) -> PublishedPlace:
    return PublishedPlace(number, time, *json.loads(place))
