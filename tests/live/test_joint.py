"""One commit for the pings of many streams: all of them are charged and stored, or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import geoveil as gv
from geoveil.budget.stores import Transaction
from geoveil.errors import LedgerError
from geoveil.live.joint import JointCommit
from tests.postgres import database

START = 1_777_881_600.0
HOME = {"lat": 37.7793, "lon": -122.4193}


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger may be."""
    return str(tmp_path / "budget.db") if request.param == "SQLite" else database("joint")


def opened(place: str, *names: str) -> tuple[JointCommit, list[gv.Stream]]:
    """Streams that share commits, as a process opens them."""
    ledger = gv.Ledger(place)
    new = [name for name in names if name not in ledger.accounts()]
    if new:
        ledger.create(*new, rho=5e-4, protect="1 day")
    joint = JointCommit(ledger)
    streams = [
        gv.Stream(rho=5e-4, protect="1 day", area="San Francisco", ledger=ledger, subject=name) for name in names
    ]
    for stream in streams:
        joint.join(stream)
    return joint, streams


def stored(place: str) -> list[tuple[str, int, int, Any]]:
    """All pings: the stream, the number, the time in minutes since the start, and the answer."""
    with gv.Ledger(place)._book.store.reading() as transaction:
        rows = transaction.rows("SELECT stream, number, time, answer FROM geoveil_pings ORDER BY stream, number")
    return [(name, number, round((time / 1e6 - START) / 60), answer) for name, number, time, answer in rows]


def test_commits_store_together(place: str) -> None:
    """Nothing is stored before the commit; afterwards everything is, and another process goes on from there."""
    joint, streams = opened(place, "ann", "bob")
    for minute in range(70):
        for stream in streams:
            stream.update(START + 60 * minute, **HOME)
    assert stored(place) == []
    joint.commit()
    found = stored(place)
    assert [row[:3] for row in found] == [(name, n, n - 1) for name in ("ann", "bob") for n in range(1, 71)]
    assert all(answer for *_, answer in found)
    _, again = opened(place, "ann", "bob")
    for old, new in zip(streams, again, strict=True):
        seen = (old.update(START, **HOME), new.update(START, **HOME))
        assert (seen[0].lat, seen[0].lon) == (seen[1].lat, seen[1].lon)
        assert seen[0].remaining == seen[1].remaining


def test_failed_commits_undo_everything(place: str) -> None:
    """If what goes with a commit fails, no ping was charged, and the streams go on from what is stored."""
    joint, (ann, bob) = opened(place, "ann", "bob")
    first = ann.update(START, **HOME)
    joint.commit()
    ann.update(START + 60, **HOME)
    bob.update(START, **HOME)

    def fail(transaction: Transaction) -> None:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        joint.commit(fail)
    assert [row[:3] for row in stored(place)] == [("ann", 1, 0)]
    assert ann.now().remaining == first.remaining
    # The same pings are then answered, and only once.
    for stream, minute in ((ann, 1), (bob, 0), (ann, 1)):
        stream.update(START + 60 * minute, **HOME)
    joint.commit()
    assert [row[:3] for row in stored(place)] == [("ann", 1, 0), ("ann", 2, 1), ("bob", 1, 0)]


def test_processes_answer_once(place: str) -> None:
    """A process whose stream another one has updated is refused, reads what is stored, and goes on."""
    first, (ann,) = opened(place, "ann")
    second, (other,) = opened(place, "ann")
    ann.update(START, **HOME)
    first.commit()
    other.update(START, **HOME)
    with pytest.raises(LedgerError, match="Another process"):
        second.commit()
    seen = other.update(START, **HOME)
    assert not second._pending
    shown = ann.update(START, **HOME)
    assert (seen.lat, seen.lon) == (shown.lat, shown.lon)
    other.update(START + 60, **HOME)
    second.commit()
    assert [row[:3] for row in stored(place)] == [("ann", 1, 0), ("ann", 2, 1)]


def test_undo_forgets_pending(place: str) -> None:
    """After an undo the streams are where the last commit left them."""
    joint, (ann,) = opened(place, "ann")
    ann.update(START, **HOME)
    joint.undo()
    joint.commit()
    assert stored(place) == []
    assert ann.now().time is None
