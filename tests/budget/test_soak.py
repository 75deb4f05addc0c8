"""Steady load: a process that charges for hours does not grow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOAD = """
import sys, threading
import geoveil as gv
from geoveil.budget import Charges
ledger = gv.Ledger(sys.argv[1], witness=sys.argv[2])
ledger.create("ann", rho=1)

def work(count):
    for _ in range(count):
        charge = Charges.of(ledger).charge(["ann"], gv.CGP(rho="1e-9"), query="points", parameters={"k": 5})
        Charges.of(ledger).store(charge, "an answer")

def kilobytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))

for count in map(int, sys.argv[3:]):
    threads = [threading.Thread(target=work, args=(count,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    work(count)
    for thread in threads:
        thread.join()
    print(kilobytes(), flush=True)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_steady_load_keeps_memory(tmp_path: Path) -> None:
    """A process that charges and stores in three threads, with a witness, grows by less than 100 bytes a charge."""
    counts = (2_000, 10_000)
    places = str(tmp_path / "budget.db"), str(tmp_path / "witness.db")
    command = [sys.executable, "-c", LOAD, *places, *map(str, counts)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # Connections fill their caches, of 2 MB each, and threads their arenas, in the first part.
    warm, end = (1024 * int(line) for line in done.stdout.split())
    assert end - warm < 100 * 3 * counts[1]
