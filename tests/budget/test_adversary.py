"""What the page on attackers says of ledgers: who reads one learns nothing about locations."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import geoveil as gv
from tests.questions import EVERY_QUESTION, ask_in

#: Coordinates with all their digits, so that none of them stands in a file by chance.
TRUTH = np.random.default_rng(31).uniform(1e3, 9e3, size=(12, 2))


def traces(coords: NDArray[np.float64]) -> Iterator[bytes]:
    """Yield each coordinate as it could be written: a double, base64 at each alignment, or its leading digits."""
    for number in map(float, coords.ravel()):
        for raw in (np.float64(number).tobytes(), np.float64(number).byteswap().tobytes()):
            yield raw
            for shift in range(3):
                # The characters at both ends depend on neighbours.
                yield base64.b64encode(bytes(shift) + raw)[2 if shift else 0 : -4]
        yield f"{number:.6f}"[:-1].encode()


def read_all(folder: Path) -> bytes:
    """Return the bytes of all files of a folder, journals of the database included."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_planted_traces_are_found(tmp_path: Path) -> None:
    """A ledger that stored the truth, in any of these ways, would be noticed."""
    for content in (TRUTH.tobytes(), base64.b64encode(b"x" + TRUTH.tobytes()), repr(TRUTH.tolist()).encode()):
        (tmp_path / "ledger.db").write_bytes(content)
        assert any(trace in read_all(tmp_path) for trace in traces(TRUTH))


@EVERY_QUESTION
def test_ledgers_hold_no_location(name: str, tmp_path: Path) -> None:
    """The rows of a ledger tell charges and releases; no byte of its files holds a true location."""
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("ann", rho=1)
    session = gv.Locations(TRUTH).session(ledger=ledger, subject="ann")
    ask_in(session, name, key="first")
    held = read_all(tmp_path)
    assert b"ann" in held
    assert not any(trace in held for trace in traces(TRUTH))
