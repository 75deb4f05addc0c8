"""Measure a ledger that many processes charge at once, compared with plain updates of one row in the same run.

Run from the project's root: ``python -m benchmarks.ledger``, with ``--postgres URL`` for another server than
the one that the tests start. 32 processes of 8 threads charge one subject; for comparison, 32 processes commit the
same number of updates of one row.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from geoveil import Ledger
from tests.ledgers import charging, edit, in_processes, updating
from tests.postgres import database

PROCESSES, THREADS, EACH, TURNS = 32, 8, 20, 3


def measured(place: str, yardstick: str) -> tuple[float, float, float]:
    """Return charges per second, updates per second and the longest wait, each the median of several rounds."""
    with Ledger(place) as ledger:
        ledger.create("ann", rho=1)
    edit(yardstick, "CREATE TABLE yardstick (n BIGINT)", "INSERT INTO yardstick VALUES (0)")
    total = PROCESSES * THREADS * EACH
    charges, updates, waits = [], [], []
    for turn in range(TURNS):
        print(f"{turn + 1} of {TURNS}", file=sys.stderr, flush=True)
        _, found = in_processes(updating, yardstick, THREADS * EACH, processes=PROCESSES)
        updates.append(total / max(spent for (spent,) in found))
        _, told = in_processes(charging, place, EACH, THREADS, processes=PROCESSES)
        charges.append(total / max(taken for taken, _ in told))
        waits.append(max(wait for _, all_waits in told for wait in all_waits))
    return statistics.median(charges), statistics.median(updates), max(waits)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres")
    given = parser.parse_args()
    print("| store | charges a second | updates a second | ratio | target | longest wait |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        file, plain = str(Path(folder) / "budget.db"), str(Path(folder) / "plain.db")
        edit(plain, "PRAGMA journal_mode=WAL")
        server = given.postgres or database("bench")
        for name, place, yardstick in (("SQLite", file, plain), ("PostgreSQL", server, server)):
            charges, updates, wait = measured(place, yardstick)
            print(f"| {name} | {charges:,.0f} | {updates:,.0f} | {charges / updates:.2f} | 0.60 | {wait:.1f} s |")


if __name__ == "__main__":
    main()
