"""The ledger: accounts, charges and totals, none of which any number of processes exceeds."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import geoveil as gv
from geoveil.budget import Charges, Ledger, SessionLimit
from geoveil.budget.entries import digest, secret_of
from geoveil.budget.journal import line_at
from geoveil.certificates import certificate_digest
from geoveil.errors import (
    BudgetExceeded,
    IncompatibleGuarantees,
    InvalidParameter,
    LedgerError,
)
from tests.ledgers import COST, KEY, charge, charging, in_processes
from tests.questions import release_of
from tests.systems import POSIX


def test_an_account_is_kept(place: str) -> None:
    """Totals, what is spent and the history are there for whoever opens the ledger next."""
    ledger = Ledger(place)
    ledger.create("ann", rho="1e-4")
    ledger.create("bob", epsilon=gv.GP(epsilon="0.1", metric="2"))
    found = charge(ledger, "ann", cost=gv.CGP(rho="4e-5"), parameters={"k": 3}, release="r1")
    assert found.entry.number == 3
    with pytest.raises(BudgetExceeded) as refused:
        charge(ledger, "ann", cost=gv.CGP(rho="7e-5"))
    assert (refused.value.requested, refused.value.remaining) == (Decimal("7e-5"), Decimal("6e-5"))
    ledger.close()
    again = Ledger(place)
    assert again.id == ledger.id
    assert [*again.accounts()] == ["ann", "bob"]
    assert (
        again.account("ann").spent + again.account("ann").remaining
        == again.account("ann").total.budget
        == Decimal("1e-4")
    )
    assert again.account("bob").total == gv.GP(epsilon="0.1", metric="2")
    lines = again.statement("ann")
    assert [line["event"] for line in lines] == ["create", "charge"]
    assert (lines[1]["query"], json.loads(lines[1]["parameters"]), lines[1]["release"]) == ("points", {"k": 3}, "r1")
    assert again.verify() == 3


def test_units_enter_at_prices(place: str) -> None:
    """ε-GP enters an account of ρ as ε²/2; nothing enters an account of ε but pure GP; metrics do not mix."""
    ledger = Ledger(place)
    ledger.create("rho", rho=1)
    ledger.create("epsilon", epsilon=1)
    Charges.of(ledger).charge(["rho"], gv.GP(epsilon="0.1"), query="points")
    assert ledger.account("rho").spent == Decimal("0.005")
    Charges.of(ledger).charge(["epsilon"], gv.GP(epsilon="0.1"), query="points")
    assert ledger.account("epsilon").spent == Decimal("0.1")
    for subject, cost in (
        ("epsilon", gv.CGP(rho="1e-4")),
        ("rho", gv.CGP(rho="1e-4", metric="2")),
        ("rho", gv.GP(epsilon="0.1", delta=1e-6, within=100)),
    ):
        with pytest.raises(IncompatibleGuarantees):
            Charges.of(ledger).charge([subject], cost, query="points")
    assert ledger.account("rho").spent == Decimal("0.005")


@pytest.mark.slow
def test_ten_thousand_parts(tmp_path: Path) -> None:
    """Charges of a total divided all pass, and the next is refused."""
    total = gv.CGP(rho=1) / 3
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=total)
    part = total / 1000
    names = [f"p{i}" for i in range(10)]
    for name in names:
        ledger.create(name, rho=total)
    for _ in range(1000):
        Charges.of(ledger).charge(["ann", *names], part, query="points")
    left = ledger.account("ann").remaining
    assert 0 <= left < part.budget
    with pytest.raises(BudgetExceeded):
        Charges.of(ledger).charge(["ann"], part, query="points")
    account = SessionLimit(total)
    small = total / 10_000
    for _ in range(10_000):
        account.charge(small)
    with pytest.raises(BudgetExceeded):
        account.charge(small)


def test_all_or_none_charged(place: str) -> None:
    """All or none are charged unless some are skipped.

    One person without budget stops a release about all, or is left out and listed.
    """
    ledger = Ledger(place)
    for name, rho in (("ann", "1e-4"), ("bob", "1e-7"), ("cy", "1e-4")):
        ledger.create(name, rho=rho)
    with pytest.raises(BudgetExceeded, match="of bob"):
        charge(ledger, "ann", "bob", "cy")
    assert ledger.account("ann").spent == 0
    found = charge(ledger, "ann", "bob", "cy", skip=True)
    assert found.skipped == ("bob",)
    assert found.amounts == {"ann": Decimal("1e-6"), "cy": Decimal("1e-6")}
    assert [ledger.account(name).spent for name in ("ann", "bob", "cy")] == [Decimal("1e-6"), 0, Decimal("1e-6")]
    assert ledger.verify() == 4


def test_errors_name_no_one(place: str) -> None:
    """The error tells how much the account that is nearest to enough has left: so much can be asked for."""
    ledger = Ledger(place)
    for name, rho in (("ann", "1e-7"), ("bob", "2e-7"), ("cy", "1e-8")):
        ledger.create(name, rho=rho)
    with pytest.raises(BudgetExceeded, match=r"^None of the accounts of 3 persons .*nearest has 2E-7 left") as problem:
        charge(ledger, "ann", "bob", "cy", skip=True)
    assert problem.value.remaining == ledger.account("bob").remaining == Decimal("2e-7")


@pytest.mark.slow
def test_many_charged_at_once(place: str) -> None:
    """Many people are charged at once. In one transaction, with one line of the history."""
    ledger = Ledger(place)
    names = [f"p{i}" for i in range(12_000)]
    ledger.create(*names, rho=1)
    with pytest.raises(InvalidParameter, match=r"'p7'.*without an account"):
        ledger.create("new", "p7", rho=1)
    found = charge(ledger, *names)
    assert len(found.amounts) == 12_000
    assert {account.remaining for account in ledger.accounts(names).values()} == {1 - Decimal("1e-6")}
    assert [line["number"] for line in ledger.statement("p7")] == [1, 2]
    assert ledger.verify() == 2


def test_totals_change_on_record(place: str) -> None:
    """Totals are lowered and raised only on record. A larger total takes an override with a reason."""
    ledger = Ledger(place)
    ledger.create("ann", rho="1e-4")
    ledger.lower("ann", rho="5e-5")
    with pytest.raises(InvalidParameter, match="at most"):
        ledger.lower("ann", rho="1e-4")
    with pytest.raises(InvalidParameter, match="reason"):
        ledger.override("ann", rho="1e-4", reason=" ")
    with pytest.raises(InvalidParameter, match="like the account"):
        ledger.lower("ann", epsilon="0.1")
    ledger.override("ann", rho="1e-4", reason="the board, 3 May")
    assert ledger.account("ann").total == gv.CGP(rho="1e-4")
    assert [line["event"] for line in ledger.statement("ann")] == ["create", "lower", "override"]
    assert ledger.statement("ann")[2]["query"] == "the board, 3 May"
    with pytest.raises(InvalidParameter, match="without an account"):
        ledger.create("ann", rho=1)
    with pytest.raises(InvalidParameter, match="with an account"):
        charge(ledger, "nobody")


def test_keys_are_charged_once(place: str) -> None:
    """An answer with a key is released again for free, and no other is stored for the same charge."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    first = charge(ledger, "ann", key="k")
    Charges.of(ledger).store(first, "answer")
    second = charge(ledger, "ann", key="k")
    assert (second.content, second.entry) == ("answer", first.entry)
    with pytest.raises(LedgerError, match="already stored"):
        Charges.of(ledger).store(first, "another")
    assert ledger.account("ann").spent == Decimal("1e-6")
    assert ledger.verify() == 3


@pytest.mark.parametrize("key", ["k", None])
def test_unanswered_attempts_are_spent(place: str, key: str | None) -> None:
    """An attempt without an answer is spent.

    The next one is charged anew, and what the first one draws later is refused.
    """
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    half = charge(ledger, "ann", key=key, release="r1")
    Charges.of(ledger).abandon(half)
    again = charge(ledger, "ann", key=key, release="r2")
    assert (again.content, again.entry.number) == (None, 3)
    Charges.of(ledger).store(again, "mine")
    if key is not None:
        with pytest.raises(LedgerError, match="the charge is spent"):
            Charges.of(ledger).store(half, "late")
        assert charge(ledger, "ann", key=key).content == "mine"
    assert ledger.account("ann").spent == Decimal("2e-6")
    assert ledger.verify() == 4


@POSIX
@pytest.mark.slow
def test_concurrent_charges_never_overspend(place: str) -> None:
    """Eight processes of 8 threads: no charge is lost, and the total is met to the last one."""
    ledger = Ledger(place)
    # Two of three get something.
    ledger.create("ann", rho=COST.rho * 128)
    ledger.close()
    _, found = in_processes(charging, place, 3, 8, processes=8)
    done = [wait for _, waits in found for wait in waits]
    print(f"longest wait {max(done):.2f} s")
    assert len(done) == 128
    assert ledger.account("ann").remaining == 0
    assert ledger.verify() == 129


@POSIX
def test_forks_have_own_connections(place: str) -> None:
    """A forked process opens another connection instead of using its parent's."""
    ledger = Ledger(place)
    ledger.create("ann", rho=1)
    charge(ledger, "ann")
    child = os.fork()
    if child == 0:
        try:
            charge(ledger, "ann")
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    charge(ledger, "ann")
    assert ledger.account("ann").spent == Decimal("3e-6")


@pytest.mark.filterwarnings("ignore:Nearly everything would be lost")
@pytest.mark.parametrize("budget", [{"rho": "1e-6"}, {"epsilon": "0.001"}], ids=["CGP", "GP"])
def test_file_charges_everyone(tmp_path: Path, budget: dict[str, str]) -> None:
    """All or none; people without budget stop it, or are left out and listed; the ledger keeps a digest."""
    from tests.formats import make, people

    frame = people(n=40)
    path, told = make("wkb.parquet", tmp_path, frame)
    ledger = Ledger(tmp_path / "budget.db")
    for name, rho in (("u0", "1e-4"), ("u1", "1e-9"), ("u2", "1e-4")):
        ledger.create(f"taxi/{name}", rho=rho)
    how: dict[str, Any] = {**told, **budget, "ledger": ledger, "subject": "taxi"}
    with pytest.raises(BudgetExceeded, match="of taxi/u1"):
        release_of("points", path, to=tmp_path / "out.parquet", **how)
    assert sorted(p.name for p in tmp_path.iterdir() if "out" in p.name) == []
    assert ledger.account("taxi/u0").spent == 0
    release = release_of("points", path, short="skip", to=tmp_path / "out.parquet", **how)
    assert release.removed.persons == ("taxi/u1",)
    loaded = gv.load(tmp_path / "out.parquet")
    kept = frame[frame.user != "u1"]
    assert loaded.value["user"].tolist() == kept["user"].tolist()
    assert loaded.value["time"].tolist() == kept["time"].tolist()
    assert loaded.person.tolist() == release.person.tolist()
    assert loaded.scale.tolist() == release.scale.tolist()
    assert ledger.account("taxi/u0").spent > 0
    assert ledger.account("taxi/u1").spent == 0
    assert ledger.verify([release.certificate()]) == 5
    note = json.dumps({"id": release.id, "sha256": release.digest})
    with ledger._book.store.reading() as transaction:
        line = line_at(transaction, 5)
        assert line is not None
        assert json.loads(line.parameters) == {
            "charge": 4,
            "sha256": digest(note),
            "file": release.digest,
            "certificate": certificate_digest(release.certificate()),
        }
        assert transaction.rows("SELECT content FROM geoveil_answers") == [(None,)]
    before = ledger.account("taxi/u0").spent
    release_of("points", path, short="skip", to=tmp_path / "out.parquet", overwrite=True, **how)
    assert ledger.account("taxi/u0").spent == 2 * before
    with pytest.raises(InvalidParameter, match="given with a ledger"):
        release_of("points", path, to=tmp_path / "out.parquet", **{**how, "person": None, "subject": None})


def test_environment_key_or_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable is the key, another one names its file; a path is not taken for a key."""
    file = tmp_path / "ledger.key"
    file.write_bytes(KEY + b"\n")
    monkeypatch.setenv("GEOVEIL_LEDGER_SECRET", KEY.decode())
    Ledger(tmp_path / "budget.db").close()
    for path in (file, tmp_path / "misspelt.key"):
        monkeypatch.setenv("GEOVEIL_LEDGER_SECRET", str(path))
        with pytest.raises(InvalidParameter, match="GEOVEIL_LEDGER_SECRET_FILE"):
            Ledger(tmp_path / "budget.db")
    monkeypatch.setenv("GEOVEIL_LEDGER_SECRET_FILE", str(file))
    with pytest.raises(InvalidParameter, match="one of the two"):
        Ledger(tmp_path / "budget.db")
    monkeypatch.delenv("GEOVEIL_LEDGER_SECRET")
    Ledger(tmp_path / "budget.db").close()
    monkeypatch.setenv("GEOVEIL_LEDGER_SECRET_FILE", str(tmp_path / "none"))
    with pytest.raises(InvalidParameter, match="No such file"):
        Ledger(tmp_path / "budget.db")


@pytest.mark.parametrize("key", [b" \t thirty bytes of which some ", b"\n" * 17, bytes(range(32))])
def test_key_file_bytes_count(tmp_path: Path, key: bytes) -> None:
    """Only a newline at the end is left out, which editors add."""
    for name, end in (("plain", b"\n"), ("windows", b"\r\n")):
        (tmp_path / name).write_bytes(key + end)
        assert secret_of(tmp_path / name) == key


def test_messages_hide_keys() -> None:
    """A text is taken as the path of a file; the message about it may be about the key itself."""
    with pytest.raises(InvalidParameter) as refused:
        Ledger("budget.db", secret="hunter2, and more than 16 bytes")  # type: ignore[arg-type]
    assert "hunter2" not in str(refused.value)


def test_ledger_repr(place: str) -> None:
    """Its repr states the place, the accounts and the entries, and so does a notebook."""
    ledger = gv.Ledger(place)
    ledger.create("ann", "bob", rho=1e-3)
    Charges.of(ledger).charge(["ann"], gv.CGP(rho=1e-4), query="mean")
    heading, accounts, entries, *rest = repr(ledger).splitlines()
    assert heading.startswith("Ledger in ")
    assert accounts.split() == ["accounts", "2"]
    assert entries.split() == ["entries", "2"]
    assert [line.split()[:2] for line in rest] == [["secret", "none"], ["witness", "none"]]
    assert "<dt>accounts</dt><dd>2</dd>" in ledger._repr_html_()


def test_accounts_have_units(place: str) -> None:
    """The unit is that of the total; a metric beside it, or what is no unit of one person, is refused."""
    ledger = gv.Ledger(place)
    ledger.create("ann", rho=1e-3, protect="1 day")
    ledger.create("bob", epsilon=1e-2, protect=timedelta(hours=1))
    ledger.create("eve", rho=1e-3, protect="point")
    ledger.create("dan", rho=1e-3)
    assert [ledger.account(name).total.metric.name for name in ("ann", "bob", "eve", "dan")] == [
        "1 day",
        "1 hour",
        "1",
        "inf",
    ]
    ledger.lower("ann", rho=5e-4)
    assert ledger.account("ann").total == gv.CGP(rho=5e-4, metric="1 day")
    with pytest.raises(gv.errors.InvalidParameter, match=r"a budget under dist_\[1 day\]. Give the number alone"):
        ledger.create("joe", rho=gv.CGP(rho=1e-3, metric="1"), protect="1 day")
    with pytest.raises(gv.errors.InvalidParameter, match="protect = 'user': must be a length of time"):
        ledger.create("joe", rho=1e-3, protect="user")
    (line,) = [line for line in repr(ledger).splitlines() if line.startswith("  protect ")]
    assert "any day of a person's movements (1)" in line
    assert "all of a person's locations (1)" in line
    assert ledger.verify() == 5


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@127.0.0.1:1/budgets?sslpassword=hunter3",
        "host=127.0.0.1 port=1 dbname=budgets user=ann password=hunter2 sslpassword=hunter3",
    ],
)
def test_repr_hides_passwords(url: str) -> None:
    """A PostgreSQL ledger is named by database, host, port and user, and nothing else of its connection string."""
    from geoveil.budget.stores import open_store

    assert open_store(url, 1.0).name == "PostgreSQL, dbname budgets, host 127.0.0.1, port 1, user ann"
