"""Measure the load that `geoveil serve` bears, next to the same service that only stores each ping.

Run from the project's root: ``python -m benchmarks.serve``, with ``--pings`` and ``--devices`` for other loads.

A thousand devices send plain pings, each 61 seconds after its last by the time of the fix, over 50 connections to a
real server on 127.0.0.1. The service for comparison has the same addresses, tokens, checks, thread, logs and commits;
it writes each ping into a table as it is, which no service of ours does. Both run in turn, on SQLite and PostgreSQL.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

from geoveil.serve.config import read_config
from geoveil.serve.desk import Desk, Taken, Turn
from geoveil.serve.logs import configure_logs
from geoveil.serve.readings import Fix
from geoveil.serve.server import _listen, server_of
from geoveil.serve.service import Service
from geoveil.serve.tokens import digest_of
from tests.postgres import database

CONNECTIONS, TURNS = 50, 3
_HEAD = '[service]\nlisten = "127.0.0.1:0"\nledger = "{ledger}"\npublish = "every ping"\n'
_PERSON = """
[[person]]
name = "p{0}"
rho = 5e-4
protect = "1 day"
area = "San Francisco"
[[person.device]]
name = "phone"
"""


class StoringDesk(Desk):
    """A desk that writes true pings into a table, and does nothing else with them."""

    def _take(self, turn: Turn, person: str, fix: Fix, received: int) -> Taken:
        row = (person, fix.time, json.dumps([fix.lat, fix.lon]))
        turn.write(("INSERT INTO plain_pings (person, time, place) VALUES (?, ?, ?)", row))
        return Taken(None)


def serve(path: Path, kind: str, devices: int) -> None:
    """Serve, and print the port."""
    config = read_config(path)
    configure_logs()
    service = Service(config)
    store = service.ledger._book.store
    with store.transaction() as transaction:
        transaction.insert(
            "geoveil_tokens", ("holder", "digest"), [(f"p{i}/phone", digest_of(_token(i))) for i in range(devices)]
        )
        transaction.ask(("CREATE TABLE plain_pings (person TEXT, time BIGINT, place TEXT)", ()))
    service.refresh()
    if kind == "stores":
        service.desk = StoringDesk(config, service.ledger, {})
    listening = _listen(config)
    print(listening.getsockname()[1], flush=True)
    server_of(service).run(sockets=[listening])


def _token(device: int) -> str:
    return f"a-token-for-device-{device}"


async def load(
    port: int, devices: int, pings: int, start: int, size: int = CONNECTIONS
) -> tuple[list[float], Counter[int]]:
    """Send pings of all devices in turn, and return the time of each answer, and the statuses."""
    turns = iter(range(pings))
    seconds: list[float] = []
    statuses: Counter[int] = Counter()

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in turns:
            device = number % devices
            at = start + 61 * (number // devices)
            body = json.dumps({"time": at, "lat": 37.75 + 1e-5 * device, "lon": -122.42 + 1e-4 * (number // devices)})
            writer.write(
                f"POST /v1/ping HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {_token(device)}\r\n"
                f"content-length: {len(body)}\r\n\r\n{body}".encode()
            )
            began = time.perf_counter()
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            answer = await reader.readexactly(length)
            seconds.append(time.perf_counter() - began)
            status = int(head[9:12])
            statuses[status if status != 200 or b'"reason"' not in answer else 0] += 1
        writer.close()

    await asyncio.gather(*(connection() for _ in range(size)))
    return seconds, statuses


def measured(kind: str, ledger: str, devices: int, pings: int) -> dict[str, float]:
    """Return pings a second, processor time a ping, quantiles and errors of one run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "geoveil.toml"
        path.write_text(_HEAD.format(ledger=ledger) + "".join(_PERSON.format(i) for i in range(devices)))
        command = [sys.executable, "-m", "benchmarks.serve", "--serve", kind, str(path), "--devices", str(devices)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            start = int(time.time()) - 20 * 86_400
            # Streams are opened at the first ping of each.
            asyncio.run(load(port, devices, devices, start, 4))
            process = psutil.Process(server.pid)
            used, began = sum(process.cpu_times()[:2]), time.monotonic()
            seconds, statuses = asyncio.run(load(port, devices, pings, start + 61))
            passed = time.monotonic() - began
            used = sum(process.cpu_times()[:2]) - used
        finally:
            server.terminate()
            server.wait()
    seconds.sort()
    return {
        "pings/s": pings / passed,
        "ms of processor": 1000 * used / pings,
        "median ms": 1000 * seconds[len(seconds) // 2],
        "p99 ms": 1000 * seconds[int(0.99 * len(seconds))],
        "errors": float(pings - statuses[200]),
    }


def main() -> None:
    """Print a table for each store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", nargs=2, metavar=("KIND", "FILE"))
    parser.add_argument("--devices", type=int, default=1000)
    parser.add_argument("--pings", type=int, default=5000)
    parser.add_argument("--stores", nargs="+", default=["SQLite", "PostgreSQL"])
    given = parser.parse_args()
    if given.serve:
        serve(Path(given.serve[1]), given.serve[0], given.devices)
        return
    for store in given.stores:
        runs: dict[str, list[dict[str, float]]] = {"answers": [], "stores": []}
        for turn in range(TURNS):
            for kind, found in runs.items():
                print(f"{store}, turn {turn + 1} of {TURNS}: {kind}", file=sys.stderr)
                ledger = "budget.db" if store == "SQLite" else database("serve")
                found.append(measured(kind, ledger, given.devices, given.pings))
        print(f"{store}, {given.devices} devices, {given.pings} pings, best of {TURNS}\n")
        print("| service | " + " | ".join(runs["answers"][0]) + " |")
        print("|---|" + "---|" * len(runs["answers"][0]))
        best = {kind: max(found, key=lambda each: each["pings/s"]) for kind, found in runs.items()}
        for kind, row in best.items():
            print(f"| {kind} | " + " | ".join(f"{value:.3g}" for value in row.values()) + " |")
        for name, up in (("pings/s", True), ("ms of processor", False)):
            pairs = zip(runs["answers"], runs["stores"], strict=True)
            ratios = sorted(a[name] / b[name] if up else b[name] / a[name] for a, b in pairs)
            print(f"\nratio of {name}: {', '.join(f'{each:.2f}' for each in ratios)}")
        print()


if __name__ == "__main__":
    main()
