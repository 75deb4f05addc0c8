"""A stream beside a ledger: charged before it is drawn, stored before it is shown, and the same after a crash."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import geoveil as gv
from geoveil.budget import Charges
from geoveil.errors import BudgetExceeded, IncompatibleGuarantees, InvalidParameter, LedgerTampered
from geoveil.live.store import LedgerStore
from geoveil.mechanisms import Gaussian
from tests.live.streams import DAY, HOME, MICROSECONDS, START, answers, largest_load, stream
from tests.systems import POSIX


def ledger_at(place: str, rho: float = 5e-5) -> gv.Ledger:
    """A ledger with an account for any day of Ann."""
    ledger = gv.Ledger(place)
    ledger.create("ann", rho=rho, protect="1 day")
    return ledger


def test_streams_survive_processes(place: str) -> None:
    """Opened again, it shows the same place, has the same budget left, and answers no ping again."""
    ledger = ledger_at(place)
    options: dict[str, Any] = {"ledger": ledger, "subject": "ann", "within": {"30 days": 1e-3}}
    one = stream(**options)
    for minute in range(150):
        one.update(START + 60 * minute, **HOME)
    other = stream(**options)
    assert other._position == one._position
    assert other.now(START + 10**5) == one.now(START + 10**5)
    assert [each._held for each in other._schedule.accounts] == [each._held for each in one._schedule.accounts]
    assert answers(other) == answers(one)
    assert other.update(START + 60 * 149, lat=37.0, lon=-122.0) == one.update(START, lat=37.0, lon=-122.0)
    assert len(answers(other)) == 150


def test_the_account_pays_once(place: str) -> None:
    """The whole endless stream is one release under its metric: it is charged when it is opened, and never again."""
    ledger = ledger_at(place, rho=6e-5)
    for _ in range(3):
        stream(ledger=ledger, subject="ann").update(START, **HOME)
    assert ledger.account("ann").spent == Decimal("5e-5")
    assert [line["query"] for line in ledger.statement("ann")] == ["", "stream"]
    assert ledger.verify() == 3
    ledger.create("bob", rho=1e-5, protect="1 day")
    with pytest.raises(BudgetExceeded):
        stream(ledger=ledger, subject="bob")
    stream(rho=1e-5, ledger=ledger, subject="bob")


def test_accounts_pay_understood_promises(tmp_path: Path) -> None:
    """An account for any week pays for the week of a stream; one for all locations together cannot pay for days."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1e-3, protect="7 days")
    stream(ledger=ledger, subject="ann", within={"7 days": 2e-4})
    assert ledger.account("ann").spent == Decimal("2e-4")
    ledger.create("bob", rho=1e-3)
    with pytest.raises(IncompatibleGuarantees):
        stream(ledger=ledger, subject="bob")


def test_another_promise_is_refused(tmp_path: Path) -> None:
    """A stream that is opened again must promise the same."""
    ledger = ledger_at(str(tmp_path / "budget.db"))
    stream(ledger=ledger, subject="ann")
    for changed in ({"rho": 1e-5}, {"every": "5 min"}, {"motion": "vehicle"}, {"within": {"365 days": 1e-3}}):
        with pytest.raises(InvalidParameter, match="the same promise"):
            stream(ledger=ledger, subject="ann", **changed)
    stream(ledger=ledger, subject="ann")


@pytest.mark.parametrize(
    ("of", "step", "turn"),
    [(LedgerStore, "_run", 1), (LedgerStore, "_run", 2), (Charges, "charge", 1), (Charges, "store", 1)],
    ids=["before it is opened", "before its promise is read", "before it is charged", "before its charge is stored"],
)
def test_promises_are_paid(place: str, monkeypatch: pytest.MonkeyPatch, of: type, step: str, turn: int) -> None:
    """Of two processes that open a stream with two promises at once, one pays, and no other goes on."""
    ledger, turns, right = ledger_at(place, rho=2e-2), itertools.count(1), getattr(of, step)
    paid = 1e-2 if step == "store" else 1e-6

    def interrupted(*given: Any, **more: Any) -> Any:
        if next(turns) == turn:
            with pytest.raises(InvalidParameter) if step == "store" else nullcontext():
                stream(rho=1e-6, ledger=gv.Ledger(place), subject="ann")
        return right(*given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(of, step, interrupted)
        with pytest.raises(InvalidParameter, match="the same promise") if paid == 1e-6 else nullcontext():
            stream(rho=1e-2, ledger=ledger, subject="ann").update(START, **HOME)
    assert ledger.account("ann").spent == Decimal(str(paid))
    with pytest.raises(InvalidParameter, match="the same promise"):
        stream(rho=1e-2 + 1e-6 - paid, ledger=ledger, subject="ann")
    stream(rho=paid, ledger=ledger, subject="ann").update(START, **HOME)


def test_charge_before_draw(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks into the database while an answer is drawn finds its charge, and no answer."""
    ledger = ledger_at(place)
    one = stream(ledger=ledger, subject="ann")
    right, looks = Gaussian.sample, []

    def sample(*given: Any) -> Any:
        with gv.Ledger(place)._book.store.reading() as transaction:
            looks.append(transaction.rows("SELECT number, time, answer FROM geoveil_pings ORDER BY number DESC")[0])
        return right(*given)

    monkeypatch.setattr(Gaussian, "sample", sample)
    for each in range(3):
        one.update(START + 60 * each, **HOME)
    assert [tuple(look) for look in looks] == [
        (each + 1, (START + 60 * each) * MICROSECONDS, None) for each in range(3)
    ]


def test_answer_before_showing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it cannot be stored, nobody sees it, its budget is spent, and the stream goes on without it."""
    ledger = ledger_at(str(tmp_path / "budget.db"))
    one = stream(ledger=ledger, subject="ann")
    first = one.update(START, **HOME)
    with monkeypatch.context() as patch:
        patch.setattr(LedgerStore, "answer", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            one.update(START + 60, **HOME)
    again = one.update(START + 60, **HOME)
    assert (again.lat, again.lon, again.time) == (first.lat, first.lon, first.time)
    assert one._schedule.accounts[0].spent == 660 * MICROSECONDS
    assert len(answers(one)) == 1
    assert one.update(START + 120, **HOME).time != first.time


def test_processes_share_a_stream(place: str) -> None:
    """Each notices what the other has charged, learns its answers, and they never spend more than one would."""
    ledger = ledger_at(place)
    one, other = (stream(ledger=ledger, subject="ann") for _ in range(2))
    for each in range(12):
        (one, other)[each % 2].update(START + 60 * each, **HOME)
        (other, one)[each % 2].update(START + 60 * each, **HOME)
    assert len(answers(one)) == 12
    one.update(START + 720, **HOME)
    assert other.update(START + 720, **HOME) == stream(ledger=ledger, subject="ann")._position
    told = [(each.time, 1 / (2 * Fraction(each.scale) ** 2)) for each in answers(one)]
    assert largest_load(told, DAY * MICROSECONDS) <= Fraction("5e-5") * (600 + 720) / 87_000


def test_missing_pings_are_noticed(tmp_path: Path) -> None:
    """A stream whose charges were deleted is not opened."""
    ledger = ledger_at(str(tmp_path / "budget.db"))
    one = stream(ledger=ledger, subject="ann")
    for each in range(3):
        one.update(START + 60 * each, **HOME)
    with ledger._book.store.transaction() as transaction:
        transaction.write("DELETE FROM geoveil_pings WHERE number = 2", ())
    with pytest.raises(LedgerTampered, match="1 pings of the stream 'ann' are missing"):
        stream(ledger=ledger, subject="ann")


def test_crashed_opening_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends after the account has paid does not let it pay again."""
    ledger = ledger_at(str(tmp_path / "budget.db"))
    with monkeypatch.context() as patch:
        patch.setattr(Charges, "store", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            stream(ledger=ledger, subject="ann")
    stream(ledger=ledger, subject="ann").update(START, **HOME)
    assert ledger.account("ann").spent == Decimal("5e-5")


#: A process that sends a ping a minute and says what it was shown, until it is killed.
SENDER = """
import json, sys
import geoveil as gv
stream = gv.Stream(rho=5e-5, protect="1 day", area=gv.local(lat=37.77, lon=-122.42, radius=50_000),
                   ledger=gv.Ledger(sys.argv[1]), subject="ann")
for number in range(int(sys.argv[2]), 10**6):
    seen = stream.update(1_777_881_600 + 60 * number, lat=37.7793, lon=-122.4193)
    print(json.dumps([number, seen.lat, seen.lon, seen.time.timestamp()]), flush=True)
"""


@pytest.mark.slow
@POSIX
def test_kills_repeat_nothing(place: str) -> None:
    """Killed with -9 again and again, each time with a retry of the last pings, a stream keeps its promise."""
    ledger_at(place)
    shown: dict[int, tuple[float, float]] = {}
    number = 0
    for kill in range(6):
        sender = subprocess.Popen(
            [sys.executable, "-c", SENDER, place, str(number)], stdout=subprocess.PIPE, text=True, env=os.environ
        )
        assert sender.stdout is not None
        lines = [sender.stdout.readline() for _ in range(3)]
        time.sleep(0.003 * kill)
        sender.send_signal(signal.SIGKILL)
        rest, _ = sender.communicate()
        # The last line may be cut off.
        lines += rest.splitlines(keepends=True)
        for line in lines:
            if line.endswith("\n"):
                number, lat, lon, at = json.loads(line)
                if at == START + 60 * number:
                    assert shown.setdefault(number, (lat, lon)) == (lat, lon)
        number -= 1
    one = stream(ledger=gv.Ledger(place), subject="ann")
    stored = answers(one)
    times = [each.time for each in stored]
    assert times == sorted(set(times))
    # Whatever was shown is stored, and each kill has cost at most one ping.
    assert {(START + 60 * each) * MICROSECONDS for each in shown} <= set(times)
    assert len(times) <= one._number <= len(times) + 6
    told = [(each.time, 1 / (2 * Fraction(each.scale) ** 2)) for each in stored]
    assert largest_load(told, DAY * MICROSECONDS) <= Fraction("5e-5")
    assert gv.Ledger(place).account("ann").spent == Decimal("5e-5")
