"""Ledgers for tests: charges, edits behind a ledger's back, and many processes at once."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import geoveil as gv
from geoveil.budget import Charge, Charges, Ledger
from geoveil.errors import (
    BudgetExceeded,
)

KEY = b"a key of more than sixteen bytes"


COST = gv.CGP(rho="1e-6")


WALK = np.column_stack([np.arange(20) * 100.0, np.zeros(20)])


def charge(ledger: Ledger, *subjects: str, cost: gv.CGP = COST, **more: Any) -> Charge:
    """Charge some subjects."""
    return Charges.of(ledger).charge(list(subjects), cost, query="points", **more)


def connection_of(ledger: Ledger) -> Any:
    """Return the open connection of a ledger's store."""
    return ledger._book.store._opened


def charging(place: str, count: int, threads: int, results: Any) -> None:
    """Charge ann in several threads until the budget is spent, and tell how long each charge took."""
    ledger = Ledger(place)
    began = time.monotonic()
    done: list[float] = []

    def work() -> None:
        for _ in range(count):
            start = time.monotonic()
            try:
                charge(ledger, "ann")
            except BudgetExceeded:
                continue
            done.append(time.monotonic() - start)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    results.put((time.monotonic() - began, done))


def updating(place: str, count: int, results: Any) -> None:
    """The same number of plain updates of one row."""
    if place.endswith(".db"):
        connection: Any = sqlite3.connect(place, timeout=60, isolation_level=None)
        connection.execute("PRAGMA synchronous=FULL")
        start = time.monotonic()
        for _ in range(count):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE yardstick SET n = n + 1")
            connection.execute("COMMIT")
    else:
        import psycopg

        connection = psycopg.connect(place, autocommit=True)
        start = time.monotonic()
        for _ in range(count):
            connection.execute("UPDATE yardstick SET n = n + 1")
    connection.close()
    results.put([time.monotonic() - start])


def in_processes(work: Callable[..., None], *given: Any, processes: int = 32) -> tuple[float, list[Any]]:
    """Seconds, and what all processes say."""
    # Processes that begin with what they need, and nothing of this one's.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["geoveil", "psycopg", "shapely", "flint", "scipy.special"])
    results = context.Queue()
    workers = [context.Process(target=work, args=(*given, results)) for _ in range(processes)]
    start = time.monotonic()
    for worker in workers:
        worker.start()
    found = [results.get(timeout=240) for _ in workers]
    for worker in workers:
        worker.join()
    return time.monotonic() - start, found


def edit(place: str, *statements: str) -> None:
    """What someone does who can edit the store."""
    if place.endswith(".db"):
        with sqlite3.connect(place) as store:
            for statement in statements:
                store.execute(statement)
        store.close()
        return
    import psycopg

    with psycopg.connect(place, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def cut(place: str, number: int, hash: str) -> None:
    """Set a ledger back to an entry, as a restored old copy of it is."""
    tables = ("history", "postings", "answers")
    edit(
        place,
        *(f"DELETE FROM geoveil_{table} WHERE number > {number}" for table in tables),
        f"UPDATE geoveil_head SET number = {number}, hash = '{hash}'",
        "UPDATE geoveil_accounts SET spent = '0'",
    )
