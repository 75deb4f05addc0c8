"""Measure what charges cost: with each journal of a file, and by many processes at once.

Run from the project's root: ``python -m benchmarks.ledger``, with ``--postgres URL`` for another server than
the one that the tests start, and ``--folder`` for another disk than that of temporary files.

One process charges a file, alone and in threads that share commits, with a rollback journal and with a write-ahead log
in turn; strace, if it is installed, counts the flushes to the disk. Then 32 processes of 8 threads charge one subject;
for comparison, 32 processes commit the same number of updates of one row.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from geoveil import Ledger
from tests.ledgers import charging, edit, in_processes, updating
from tests.postgres import database

PROCESSES, THREADS, EACH, TURNS = 32, 8, 20, 3

#: Charges a new file, and prints charges per second and milliseconds of processor time per charge.
CHARGING = """
import sys, threading, time
from geoveil import CGP, Ledger
from geoveil.budget import Charges, sqlite_store

folder, journal, witness, threads, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
if journal == "rollback journal":
    sqlite_store._COMMITS = sys.maxsize
ledger = Ledger(f"{folder}/budget.db", witness=witness and f"{folder}/witness.db")
ledger.create("ann", rho=1)

def charge(times):
    for _ in range(times):
        Charges.of(ledger).charge(["ann"], CGP(rho="1e-9"), query="points")

charge(20)
workers = [threading.Thread(target=charge, args=(count,)) for _ in range(threads)]
began, used = time.monotonic(), time.process_time()
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
total = max(threads * count, 1)
print(total / (time.monotonic() - began), 1000 * (time.process_time() - used) / total)
"""


def charged(disk: str | None, *given: str, tracing: bool = False) -> list[float]:
    """Return what CHARGING prints in a new folder on a disk, or the number of flushes."""
    with tempfile.TemporaryDirectory(dir=disk) as folder:
        command = [sys.executable, "-c", CHARGING, folder, *given]
        if tracing:
            command = ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", *command]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    if tracing:
        return [sum(float(count) for count in re.findall(r"(\d+) +f(?:data)?sync$", done.stderr, re.MULTILINE))]
    return [float(value) for value in done.stdout.split()]


def journals(disk: str | None) -> None:
    """Print a table of the journals of a file."""
    print("| one process | journal | flushes a charge | processor time a charge | charges a second |")
    print("|---|---|---|---|---|")
    kinds = ("rollback journal", "write-ahead log")
    for name, witness, threads, count in (
        ("alone", "", 1, 300),
        ("alone, with a witness", "yes", 1, 300),
        ("8 threads", "", 8, 100),
        ("32 threads", "", 32, 50),
    ):
        found: dict[str, list[list[float]]] = {kind: [] for kind in kinds}
        for _ in range(TURNS):
            for kind in kinds:
                found[kind].append(charged(disk, kind, witness, str(threads), str(count)))
        for kind in kinds:
            speed, used = (statistics.median(values) for values in zip(*found[kind], strict=True))
            flushes = "?"
            if shutil.which("strace"):
                many, none = (
                    charged(disk, kind, witness, str(threads), n, tracing=True)[0] for n in (str(count), "0")
                )
                flushes = f"{(many - none) / (threads * count):.2f}"
            print(f"| {name} | {kind} | {flushes} | {used:.2f} ms | {speed:,.0f} |", flush=True)
    print()


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
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres")
    parser.add_argument("--folder", help="a folder on the disk to measure; a tmpfs never flushes")
    given = parser.parse_args()
    journals(given.folder)
    print("| store | charges a second | updates a second | ratio | target | longest wait |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        file, plain = str(Path(folder) / "budget.db"), str(Path(folder) / "plain.db")
        edit(plain, "PRAGMA journal_mode=WAL")
        server = given.postgres or database("bench")
        for name, place, yardstick in (("SQLite", file, plain), ("PostgreSQL", server, server)):
            charges, updates, wait = measured(place, yardstick)
            print(f"| {name} | {charges:,.0f} | {updates:,.0f} | {charges / updates:.2f} | 0.60 | {wait:.1f} s |")


if __name__ == "__main__":
    main()
