"""Sessions: one budget, adaptive questions; refusals touch nothing, and what is asked again is answered the same."""

from __future__ import annotations

import os
import threading
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import geoveil as gv
from geoveil.budget import SPENT, STORED, Charges, SessionLimit
from geoveil.errors import BudgetExceeded, IncompatibleGuarantees, InvalidData, InvalidParameter, LedgerTimeout
from geoveil.privacy import exact
from tests.formats import BAY, people
from tests.questions import EVERY_QUESTION, QUESTIONS, ask_in, release_of, session_of
from tests.systems import POSIX

WALK = np.column_stack([np.arange(30) * 100.0, np.zeros(30)])


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same to the last bit."""
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a.equals(b)) if hasattr(a, "equals") else bool(a == b)


@EVERY_QUESTION
def test_questions_are_charged(name: str) -> None:
    """Each question is charged its budget exactly, and is refused where less is left."""
    session = gv.Locations(WALK).session(rho="1e-3")
    release = ask_in(session, name, rho="3e-4")
    assert release.guarantee == gv.CGP(rho="3e-4")
    assert (session.spent, session.remaining) == (Decimal("3e-4"), Decimal("7e-4"))
    with pytest.raises(BudgetExceeded) as refused:
        ask_in(session, name, rho="8e-4")
    assert (refused.value.requested, refused.value.remaining) == (Decimal("8e-4"), Decimal("7e-4"))
    assert session.remaining == Decimal("7e-4")
    ask_in(session, name, rho=session.remaining)
    assert session.remaining == 0


def test_refused_questions_see_nothing() -> None:
    """Parameters are checked, then it is charged, and then data is touched."""
    seen: list[int] = []

    def look(x: Any) -> float:
        seen.append(len(x))
        return 0.0

    session = gv.Locations(WALK).session(rho="1e-4")
    with pytest.raises(BudgetExceeded):
        session.answer(look, lipschitz=1.0, rho="2e-4")
    assert not seen
    with pytest.raises(InvalidParameter):
        session.nearest((0, 0), k=0, rho="1e-5")
    assert session.spent == 0
    with pytest.raises(gv.errors.InvalidData):
        session.answer(lambda x: 1 / 0 if False else "no", lipschitz=1.0, rho="1e-5")
    assert session.spent == Decimal("1e-5")  # no refund for what failed after the charge


@settings(max_examples=200)
@given(
    total=st.decimals("1e-9", "1e3", places=9),
    steps=st.lists(
        st.tuples(st.sampled_from(["charge", "split"]), st.integers(1, 7), st.integers(1, 100)), max_size=30
    ),
)
def test_spent_plus_left(total: Decimal, steps: list[tuple[str, int, int]]) -> None:
    """What is spent and what is left are the total. Exactly, after any sequence of charges, refusals and splits."""
    account = SessionLimit(gv.CGP(rho=total))
    for step, k, share in steps:
        left = account.remaining
        if step == "split" and left:
            parts = gv.CGP(rho=left).split(k)
            assert gv.total(parts).budget == left
            account.charge(parts[0])
        else:
            cost = gv.CGP(rho=total) * share / 37
            if cost.rho > left:
                with pytest.raises(BudgetExceeded):
                    account.charge(cost)
                assert account.remaining == left
            else:
                account.charge(cost)
        assert exact.add(account.spent, account.remaining) == total
        assert account.remaining >= 0


def test_session_settles_settings() -> None:
    """Metric, persons, plane and source; one metric and one notion for all."""
    frame = people().drop(columns="address")
    session = gv.Locations(frame, person="user", area=BAY).session(rho=gv.CGP(rho="1e-3", metric="2"))
    released = session.points(rho="1e-4")
    assert len(released.person) == 3
    assert released.guarantee == gv.CGP(rho="1e-4", metric="2")
    assert session.mean(rho="1e-4").value.index.tolist() == released.person.tolist()
    for name, given_value in (("person", "user"), ("area", BAY), ("metric", "1"), ("rng", None)):
        with pytest.raises(TypeError, match=f"has no argument '{name}'"):
            session.mean(rho="1e-4", **{name: given_value})  # type: ignore[arg-type]
    pure = gv.Locations(WALK).session(epsilon="0.1")
    with pytest.raises(IncompatibleGuarantees):
        pure.mean(rho="1e-4")
    mixed = gv.Locations(WALK).session(rho="1e-2")
    mixed.mean(epsilon="0.1")
    assert mixed.spent == Decimal("0.005")


def test_costs_are_free() -> None:
    """Costs are looked at beforehand. Asking for a cost charges nothing."""
    session = gv.Locations(WALK).session(rho="1e-3")
    assert session.cost(rho="4e-4") == (Decimal("4e-4"), Decimal("6e-4"))
    assert session.cost(epsilon="0.02") == (Decimal("2e-4"), Decimal("8e-4"))
    with pytest.raises(BudgetExceeded):
        session.cost(rho="2e-3")
    assert session.spent == 0
    parts = session.split(3)
    assert gv.total(parts).budget == session.remaining
    for part in parts:
        session.mean(rho=part)
    assert session.remaining == 0
    with pytest.raises(BudgetExceeded):
        session.split(2)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "answer"])
@pytest.mark.parametrize("how", ["one", "many", "frame"])
def test_labels_repeat_answers(name: str, how: str, tmp_path: Path) -> None:
    """A question with a label is answered again for free, in this session and the next, to the last bit."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    data: Any = WALK
    opened: dict[str, Any] = {"ledger": ledger, "label": "walk", "subject": "ann"}
    subjects = ["ann"]
    if how == "many":
        opened["person"] = np.repeat(["a", "b", "c"], 10)
        subjects = ["ann/a", "ann/b", "ann/c"]
    if how == "frame":
        geometry = shapely.points(WALK + np.array([551_000, 4_180_000]))
        data = geopandas.GeoDataFrame({"t": range(30)}, geometry=geometry, crs=32610)
    for subject in subjects:
        ledger.create(subject, rho="1e-2")
    first = ask_in(session_of(data, **opened), name, rho="1e-3")
    second = ask_in(session_of(data, **opened), name, rho="1e-3")
    assert second.id == first.id
    assert same(first.value, second.value)
    assert same(first.error(0.05), second.error(0.05))
    assert second.certificate() == first.certificate()
    assert all(ledger.account(subject).spent == Decimal("1e-3") for subject in subjects)
    other = ask_in(session_of(data, **{**opened, "label": "april"}), name, rho="1e-3")
    assert other.id != first.id
    assert ledger.account(subjects[0]).spent == Decimal("2e-3")
    entry: Any = first.certificate()["entry"]
    assert ledger.verify([first.certificate(), other.certificate()])
    assert entry["number"] == (4 if how == "many" else 2)


def test_functions_need_keys(tmp_path: Path) -> None:
    """Functions cannot be compared, and need a key from the caller; without a label every question is new."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho="1e-2")
    labelled = gv.Locations(WALK).session(ledger=ledger, subject="ann", label="walk")
    with pytest.raises(InvalidParameter, match=r"^key = None"):
        labelled.answer(lambda x: 1.0, lipschitz=1.0, rho="1e-3")
    assert ledger.account("ann").spent == 0
    answers = {labelled.answer(lambda x: 1.0, lipschitz=1.0, rho="1e-3", key="mine").value for _ in range(3)}
    assert len(answers) == 1
    plain = gv.Locations(WALK).session(ledger=ledger, subject="ann")
    assert plain.mean(rho="1e-3").id != plain.mean(rho="1e-3").id
    assert ledger.account("ann").spent == Decimal("3e-3")


def test_session_has_own_limit(tmp_path: Path) -> None:
    """A session on a ledger may have a smaller limit of its own."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho="1e-3")
    session = gv.Locations(WALK).session(rho="4e-4", ledger=ledger, subject="ann")
    session.mean(rho="3e-4")
    assert session.remaining == Decimal("1e-4")
    with pytest.raises(BudgetExceeded):
        session.mean(rho="2e-4")
    assert ledger.account("ann").spent == Decimal("3e-4")
    whole = gv.Locations(WALK).session(ledger=ledger, subject="ann")
    assert whole.remaining == Decimal("7e-4")
    assert [line["event"] for line in whole.statement()] == ["create", "charge"]
    for wrong in ({"subject": "ann"}, {"label": "x"}):
        with pytest.raises(InvalidParameter, match="without a ledger"):
            session_of(WALK, rho=1, **wrong)
    with pytest.raises(InvalidParameter, match="given with a ledger"):
        gv.Locations(WALK).session(rho=1, ledger=ledger)


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "answer"])
@pytest.mark.parametrize("framed", [False, True])
def test_short_skip(name: str, framed: bool, tmp_path: Path) -> None:
    """Persons without budget stop the question, or are left out and listed with short="skip"."""
    labels = np.array(["a", "b", "c"])[np.arange(30) % 3]
    data: Any = WALK
    if framed:
        geometry = shapely.points(WALK + np.array([551_000, 4_180_000]))
        data = geopandas.GeoDataFrame({"who": labels}, geometry=geometry, crs=32610, index=np.arange(30) + 100)
    ledger = gv.Ledger(tmp_path / "budget.db")
    for person, rho in (("a", "1e-2"), ("b", "1e-9"), ("c", "1e-2")):
        ledger.create(person, rho=rho)
    opened: dict[str, Any] = {"person": "who" if framed else labels, "ledger": ledger, "label": "x"}
    with pytest.raises(BudgetExceeded, match="of b"):
        ask_in(session_of(data, rho=1, **opened), name, rho="1e-3")
    assert ledger.account("a").spent == 0
    session = session_of(data, rho=1, short="skip", **opened)
    release = ask_in(session, name, rho="1e-3")
    assert release.removed.persons == ("b",)
    assert release.person.tolist() == ["a", "c"]
    assert release.n == 20
    assert [ledger.account(person).spent for person in "abc"] == [Decimal("1e-3"), 0, Decimal("1e-3")]
    if name == "points":
        kept = np.flatnonzero(labels != "b")
        assert len(release.value) == 20
        if framed:
            assert release.value.index.tolist() == (kept + 100).tolist()
            assert release.value["who"].tolist() == labels[kept].tolist()
    if name == "nearest":
        found = release.value["nearest"].to_numpy() - (100 if framed else 0)
        assert (labels[found] == np.array(["a", "c"])).all()
    again = ask_in(session, name, rho="1e-3")
    assert same(release.value, again.value)
    assert again.removed.persons == ("b",)


def test_other_questions_are_charged(tmp_path: Path) -> None:
    """Another place, shape, method, budget, plane or number of points is asked and charged anew."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho="1")
    opened: dict[str, Any] = {"ledger": ledger, "subject": "ann", "label": "x"}
    session = session_of(WALK, **opened)
    road, field = shapely.LineString([(0, 0), (1, 1)]), shapely.box(5, 5, 6, 6)
    asked: list[Any] = [
        lambda: session.distance((0, 0), rho="1e-4"),
        lambda: session.distance((0, 1), rho="1e-4"),
        lambda: session.distance(road, rho="1e-4"),
        lambda: session.distance(field, rho="1e-4"),
        lambda: session.nearest((0, 0), k=2, rho="1e-4"),
        lambda: session.nearest((0, 0), k=2, rho="1e-4", locations=0.5),
        lambda: session.nearest((0, 0), k=1, rho="1e-4"),
        lambda: session.mean(epsilon="1e-4", method="both"),
        lambda: session.mean(epsilon="1e-4"),
        lambda: session.nearest((0, 0), k=2, rho="2e-4"),
        lambda: session.first_within((0, 0), radius=100, rho="1e-4"),
        lambda: session.first_within((0, 0), radius=101, rho="1e-4"),
        lambda: session.hull(rho="1e-4", extent=1000.0),
        lambda: session.hull(rho="1e-4", extent=2000.0),
        lambda: session_of(WALK[:20], **opened).mean(rho="1e-4"),
        lambda: session.mean(rho="1e-4"),
        lambda: session_of(WALK, rng=np.random.default_rng(1), **opened).mean(rho="1e-4"),
        *(
            lambda area=area: session_of(people(), area=area, **opened).mean(rho="1e-4")
            for area in (BAY, gv.local(lat=37.77, lon=-122.42, radius=60_000))
        ),
    ]
    first = [question().id for question in asked]
    assert len(set(first)) == len(asked)
    spent = ledger.account("ann").spent
    assert [question().id for question in asked] == first
    assert ledger.account("ann").spent == spent


def test_keys_are_for_one(tmp_path: Path) -> None:
    """Another question under the same key would be answered with the wrong answer."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    for name in ("ann", "bob"):
        ledger.create(name, rho="1")
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann")
    session.mean(rho="1e-4", key="k")
    wrong: list[Any] = [
        lambda: session.center(rho="1e-4", key="k"),
        lambda: session.mean(rho="2e-4", key="k"),
        lambda: gv.Locations(WALK).session(ledger=ledger, subject="bob").mean(rho="1e-4", key="k"),
    ]
    for refused in wrong:
        with pytest.raises(InvalidParameter, match=r"^key = 'k'"):
            refused()
    assert ledger.account("bob").spent == 0
    with pytest.raises(InvalidParameter, match=r"^key = "):
        gv.Locations(WALK).session(rho=1).mean(rho="1e-4", key="k")


def test_amounts_keep_digits(tmp_path: Path) -> None:
    """Amounts keep all digits, also those that Python's decimals would round."""
    total = gv.CGP(rho=1) / 7
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=total)
    part = total / 3
    for _ in range(3):
        Charges.of(ledger).charge(["ann"], part, query="points")
    left = ledger.account("ann").remaining
    assert ledger.account("ann").total == total
    assert exact.add(ledger.account("ann").spent, left) == total.rho
    assert 0 <= left < Decimal("1e-29")


def test_failed_charge_is_spent(tmp_path: Path) -> None:
    """That a function fails may tell something: the next try is charged anew, and nothing cheap is drawn dearly."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho="1e-3")
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann")

    def bad(x: Any) -> Any:
        raise ValueError

    for _ in range(2):
        with pytest.raises(gv.errors.InvalidData):
            session.answer(bad, lipschitz=1, rho="1e-5", key="k")
    assert ledger.account("ann").spent == Decimal("2e-5")
    with pytest.raises(BudgetExceeded):
        session.points(rho=1000, key="k")


def test_drawn_keys_are_exclusive(tmp_path: Path) -> None:
    """A key that is being drawn is for its own question alone.

    Another question is refused at once, before it waits.
    """
    ledger = gv.Ledger(tmp_path / "budget.db")
    for name in ("ann", "bob"):
        ledger.create(name, rho="1e-6")
    pending = Charges.of(ledger).charge(["ann"], gv.CGP(rho="1e-12"), query="points", parameters={"a": 1}, key="k")
    for subjects, cost, query, parameters in (
        (["ann"], gv.CGP(rho=1000), "points", {"a": 1}),
        (["bob"], gv.CGP(rho="1e-12"), "points", {"a": 1}),
        (["ann"], gv.CGP(rho="1e-12"), "mean", {"a": 1}),
        (["ann"], gv.CGP(rho="1e-12"), "points", {"a": 2}),
        (["ann"], gv.CGP(rho="1e-12", metric="2"), "points", {"a": 1}),
    ):
        with pytest.raises(InvalidParameter, match=r"^key = "):
            Charges.of(ledger).charge(subjects, cost, query=query, parameters=parameters, key="k")
    Charges.of(ledger).store(pending, "answer")
    again = Charges.of(ledger).charge(["ann"], gv.CGP(rho="1e-12"), query="points", parameters={"a": 1}, key="k")
    assert (again.entry, again.content) == (pending.entry, "answer")


@POSIX
def test_forks_share_no_budget() -> None:
    """A budget in memory belongs to one process and cannot be spent in a fork."""
    session = gv.Locations(WALK).session(rho="1e-3")
    child = os.fork()
    if child == 0:
        try:
            session.center(rho="1e-3")
        except gv.errors.BudgetError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    session.center(rho="1e-3")


def test_sessions_keep_columns(tmp_path: Path) -> None:
    """Sessions keep columns, also of frames whose labels repeat and where persons are left out."""
    frame = people(12).drop(columns="time")
    frame.index = [0] * 12
    ledger = gv.Ledger(tmp_path / "budget.db")
    for name, rho in (("u0", "1"), ("u1", "1e-9"), ("u2", "1")):
        ledger.create(name, rho=rho)
    session = gv.Locations(frame, person="user", area=BAY).session(ledger=ledger, short="skip")
    release = session.points(rho="1e-4", keep=["address"])
    assert release.value["user"].tolist() == frame.user[frame.user != "u1"].tolist()
    assert release.value.columns.tolist() == ["user", "address", "geometry"]
    with pytest.raises(InvalidParameter, match=r"^keep = "):
        gv.Locations(WALK).session(rho=1).points(rho="1e-4", keep="all")


def test_later_changes_are_ignored() -> None:
    """A session reads its data once: changes of the array later have no effect."""
    x = WALK.copy()
    session = gv.Locations(x).session(rho=1)
    x += 1e6
    assert abs(session.mean(rho="0.1").value).max() < 1e5


def test_certificates_match_ledger(tmp_path: Path) -> None:
    """Certificates must say what the ledger says. An edited one is noticed, and one that is not whole."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho="1")
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann")
    account: Any = session.center(rho="1e-3").certificate()
    pure = session.mean(epsilon="0.01").certificate()
    smoothed = session.points(rho="1e-3").smooth("car", times=np.arange(30) * 60.0).certificate()
    assert ledger.verify([account, pure, smoothed]) == 7
    for edited in (
        {**account, "rho": "0.0000001"},
        {**account, "query": "mean"},
        {**account, "id": "another"},
        {**account, "entry": {**account["entry"], "number": "two"}},
        {name: value for name, value in account.items() if name != "metric"},
    ):
        with pytest.raises(gv.errors.LedgerTampered):
            ledger.verify([edited])


def test_bad_totals_are_refused(tmp_path: Path) -> None:
    """Totals that are none are refused. Approximate guarantees, other metrics, and what a session does not know."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    with pytest.raises(IncompatibleGuarantees):
        ledger.create("ann", epsilon=gv.GP(epsilon="0.1", delta=1e-6, within=100))
    ledger.create("ann", rho="1")
    with pytest.raises(InvalidParameter, match=r"^rho = .*must be a budget under dist_inf. Give the number alone"):
        ledger.lower("ann", rho=gv.CGP(rho="0.5", metric="2"))
    with pytest.raises(TypeError, match=r"no argument 'metric'\. It belongs to a guarantee"):
        gv.Locations(WALK).session(metric="2", ledger=ledger, subject="ann")  # type: ignore[call-arg]
    with pytest.raises(InvalidParameter, match=r"^short = "):
        gv.Locations(WALK).session(rho=1, short="maybe")  # type: ignore[arg-type]
    for name in ("", "\x00", "\ud800"):
        with pytest.raises(InvalidParameter, match="a name"):
            ledger.create(name, rho="1")
    Charges.of(ledger).charge(["ann"], gv.CGP(rho="0.9"), query="points")
    ledger.lower("ann", rho="0.5")
    with pytest.raises(BudgetExceeded):
        gv.Locations(WALK).session(ledger=ledger, subject="ann").split(2)


def test_decimal_context_is_ignored(tmp_path: Path) -> None:
    """Amounts are exact, whatever the caller's decimal precision is."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho="1")
    odd = gv.CGP(rho="0.000123456789012345678901234567891234")

    def work() -> None:
        with localcontext() as context:
            context.prec = 3
            for _ in range(5):
                Charges.of(ledger).charge(["ann"], odd, query="points")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.account("ann").spent == exact.multiply(odd.rho, Decimal(40))
    assert ledger.verify() == 41


def test_other_persons_are_charged(tmp_path: Path) -> None:
    """The same rows, told apart otherwise, are asked about anew."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    for name in ("a", "b"):
        ledger.create(name, rho="1")
    ids = set()
    for labels in (np.repeat(["a", "b"], 15), np.repeat(["a", "b"], [10, 20]), np.tile(["a", "b"], 15)):
        session = gv.Locations(WALK, person=labels).session(ledger=ledger, label="x")
        ids |= {session.points(rho="1e-4").id, session.points(rho="1e-4").id}
    assert len(ids) == 3


def test_memory_statement() -> None:
    """A session in memory lists its questions and their costs."""
    session = gv.Locations(WALK).session(rho="1e-3")
    session.nearest((0, 0), k=3, rho="1e-4")
    session.mean(epsilon="0.01")
    lines = session.statement()
    assert [(line["query"], line["amount"]) for line in lines] == [("nearest", "0.0001"), ("mean", "0.00005")]
    assert lines[0]["parameters"]["k"] == 3


@pytest.mark.parametrize("kind", [ValueError, ZeroDivisionError, RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("kept", [True, False], ids=["in a ledger", "in memory"])
def test_failing_functions_were_charged(tmp_path: Path, kind: type[BaseException], kept: bool) -> None:
    """However a function fails, the error says that it was charged."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    whose: dict[str, Any] = {"ledger": ledger, "subject": "ann"} if kept else {}
    session = session_of(np.zeros((3, 2)), rho=1, **whose)

    def fails(x: Any) -> float:
        raise kind("why")

    with pytest.raises((InvalidData, KeyboardInterrupt), match="why") as raised:
        session.answer(fails, lipschitz=1, rho="1e-6")
    problem = raised.value
    if issubclass(kind, Exception):
        assert isinstance(problem, InvalidData)
        assert f"{kind.__name__}: why" in str(problem)
        assert isinstance(problem.__cause__, kind)
    else:
        assert type(problem) is kind
    assert problem.__notes__ == [SPENT]
    assert session.spent == Decimal("1e-6")


def test_single_errors_mention_none() -> None:
    """An error of a single question, which has no account, does not mention a charge."""
    with pytest.raises(InvalidData) as raised:
        gv.Locations(np.zeros((3, 2))).answer(lambda x: 1 / 0, lipschitz=1, rho="1e-6")
    assert not hasattr(raised.value, "__notes__")


@pytest.mark.parametrize(
    "step", ["geoveil.answering.streaming.FilePoints.draw", "geoveil.geo.formats.atomic._flush"], ids=["draw", "place"]
)
@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_late_file_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, kind: type[BaseException]
) -> None:
    """A file that fails after its charge says so.

    Also where there is no room, and where the finished file cannot be put in its place.
    """

    def full(*_: Any, **__: Any) -> None:
        raise kind("No space left on device")

    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    (tmp_path / "t.csv").write_text("lat,lon\n37.78,-122.41\n")
    how: dict[str, Any] = {"rho": "1e-6", "area": BAY, "ledger": ledger, "subject": "ann"}
    monkeypatch.setattr(step, full)
    with pytest.raises((InvalidData, KeyboardInterrupt), match="No space") as raised:
        release_of("points", tmp_path / "t.csv", to=tmp_path / "out.csv", **how)
    assert raised.value.__notes__ == [SPENT]
    assert getattr(raised.value, "charged", "spent") == "spent"
    assert not (tmp_path / "out.csv").exists()
    with pytest.raises(BudgetExceeded) as refused:
        release_of("points", tmp_path / "t.csv", to=tmp_path / "out.csv", **{**how, "rho": 2})
    assert not hasattr(refused.value, "__notes__")


@pytest.mark.parametrize("key", ["k", None])
def test_unshaped_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    """An answer that cannot be shaped is spent unless it is stored.

    An error after the answer was stored under a key says that asking again is free, which it is.
    """

    def fails(*_: Any) -> None:
        raise MemoryError("no room")

    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    session = gv.Locations(WALK).session(ledger=ledger, subject="ann")
    with monkeypatch.context() as patched:
        patched.setattr("geoveil.answering.pipeline.shape_answer", fails)
        with pytest.raises(MemoryError, match="no room") as raised:
            session.mean(rho="1e-6", key=key)
    assert raised.value.__notes__ == [STORED if key else SPENT]
    session.mean(rho="1e-6", key=key)
    assert session.spent == Decimal("1e-6") * (1 if key else 2)


def test_packing_needs_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing takes time and memory, which questions without a ledger do not spend."""
    packed: list[Any] = []

    def pack(parts: Any) -> str:
        packed.append(parts)
        return "null"

    monkeypatch.setattr("geoveil.answering.pipeline.packed", pack)
    gv.Locations(WALK).points(rho="1e-6")
    gv.Locations(WALK, person=["a", "b", "c"] * 10).points(rho="1e-6")
    gv.Locations(WALK).session(rho=1).points(rho="1e-6")
    assert not packed
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    gv.Locations(WALK).session(ledger=ledger, subject="ann").points(rho="1e-6")
    assert len(packed) == 1


@pytest.mark.parametrize(("charged", "kept"), [("nothing", 0), ("unknown", 1), (None, 1)])
def test_limit_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, charged: Any, kept: int) -> None:
    """After an error of the ledger, the session's own limit is given back only if certainly nothing was charged."""

    def fails(*_: Any, **__: Any) -> None:
        raise LedgerTimeout("It is busy.", charged=charged)

    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    session = gv.Locations(WALK).session(rho=1, ledger=ledger, subject="ann")
    monkeypatch.setattr(Charges.of(ledger), "charge", fails)
    with pytest.raises(LedgerTimeout, match="busy"):
        session.mean(rho="1e-6")
    assert session.spent == Decimal("1e-6") * kept


def test_forgotten_labels(tmp_path: Path) -> None:
    """A forgotten answer is named by its label. Not by the key that was made of the label and the question."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    session = gv.Locations(np.zeros((3, 2))).session(ledger=ledger, subject="ann", label="may")
    ledger.forget(session.mean(rho="1e-6").id)
    with pytest.raises(InvalidParameter, match=r"^label = 'may': .* was deleted"):
        session.mean(rho="1e-6")
    assert session.spent == Decimal("1e-6")


def test_bad_functions_cost_nothing() -> None:
    """What can be known without the data is refused before the charge."""
    session = gv.Locations(WALK).session(rho=1e-3)
    with pytest.raises(InvalidParameter, match=r"^fn = 'mean'"):
        session.answer("mean", lipschitz=1, rho=1e-4)  # type: ignore[arg-type]
    assert session.spent == 0


def test_ledger_arguments(tmp_path: Path) -> None:
    """A path is no ledger, and persons can be skipped only where they have accounts."""
    (tmp_path / "t.csv").write_text("lat,lon\n37.78,-122.41\n")
    wrong: list[tuple[str, Any]] = [("ledger", "budget.db"), ("short", "skip"), ("short", "all"), ("subject", "ann")]
    for name, value in wrong:
        with pytest.raises(InvalidParameter, match=f"^{name} = "):
            session_of(WALK, rho=1e-3, **{name: value})
        with pytest.raises(InvalidParameter, match=f"^{name} = "):
            session_of(tmp_path / "t.csv", area=BAY, rho=1e-3, **{name: value})


def test_session_repr() -> None:
    """It states how many points and persons there are, the area, the budget and its balance."""
    session = gv.Locations(WALK).session(rho="1e-3")
    assert repr(session).splitlines() == [
        "Session about 30 points of one person",
        "  area     metres without a coordinate system",
        "  budget   CGP with ρ = 0.001 per m²",
        "  balance  0 spent, 0.001 left",
    ]
    session.mean(rho="4e-4")
    session.nearest((0.0, 0.0), k=2, rho="1e-4")
    assert "0.0005 spent, 0.0005 left" in repr(session)
    assert [line["query"] for line in session.statement()] == ["mean", "nearest"]
    by = np.repeat(["ann", "bob"], 15)
    people = repr(gv.Locations(WALK, person=by).session(epsilon="0.1"))
    assert "30 points of 2 persons" in people
    assert "GP with ε = 0.1 per m, for each person" in people
    assert "<dd>0 spent, 0.1 left</dd>" in gv.Locations(WALK, person=by).session(epsilon="0.1")._repr_html_()


def test_session_protection() -> None:
    """In words, unless it is all of a person's locations, of one person or of each of many."""
    x = np.zeros((4, 2)) + 1e6
    assert "protects" not in repr(gv.Locations(x).session(rho=1e-3))
    timed = gv.Locations(x, protect="1 day", times=1.7e9 + np.arange(4) * 60).session(rho=1e-3)
    assert "protects  any day of a person's movements" in repr(timed)
    assert "any day of a person" in timed._repr_html_()
    crowd = gv.Locations(x, person=["ann", "ann", "bob", "eve"])
    assert "protects  all points of a person together" in repr(crowd)
    session = crowd.session(rho=1e-3)
    assert repr(session).splitlines()[0] == "Session about 4 points of 3 persons"
    assert "protects" not in repr(session)
    assert session.mean(rho=1e-4, together=True).guarantee == gv.CGP(rho=1e-4, metric="[person]")
    assert session.spent == Decimal("0.0001")


def test_destinations_are_locations() -> None:
    """Destinations of trips are locations with columns of their own; those outside the area are moved to its edge."""
    area = gv.local(lat=37.77, lon=-122.42, radius=5_000)
    origins = pd.DataFrame({"a": [37.77, 37.78], "b": [-122.42, -122.43], "c": [1.0, 2.0], "d": [3.0, 4.0]})
    ends = origins.assign(a=[37.76, 39.0])
    how: dict[str, Any] = {"lat": "a", "lon": "b", "area": area, "outside": "clamp", "person": np.arange(2)}
    trip = gv.Locations(ends, lat="a", lon="b", area=area, outside="clamp")
    asked = release_of("flows", origins, 5000, trip=trip, rho=1e-4, **how)
    session = session_of(origins, rho=1e-3, **how)
    assert session.flows(5000, trip=trip, rho=1e-4).value.shape == asked.value.shape == (4, 4)


@pytest.mark.parametrize("read", [False, True], ids=["table", "file"])
@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("points", "old.csv"),
        ("points", "new.doc"),
        ("mean", "old.csv"),
        ("mean", "none/new.csv"),
        ("radius", "r.gpkg"),
    ],
)
def test_targets_are_checked_first(tmp_path: Path, question: str, name: str, read: bool) -> None:
    """A file that exists or cannot be written is refused before anything is charged, wherever the rows are."""
    frame = pd.DataFrame({"lat": [37.78, 37.76], "lon": -122.41})
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "old.csv").write_text("old")
    session = gv.Locations(tmp_path / "t.csv" if read else frame, area=BAY).session(rho=1e-3)
    with pytest.raises(gv.errors.GeoveilError):
        getattr(session, question)(rho=1e-4, to=tmp_path / name)
    assert session.spent == 0
    assert (tmp_path / "old.csv").read_text() == "old"


def test_unwritable_is_not_charged(tmp_path: Path) -> None:
    """Arrays have no place on the Earth, and labels that are no column are in no file."""
    array = gv.Locations(WALK).session(rho=1e-3)
    with pytest.raises(InvalidParameter, match=r"^to = .*metres without a place"):
        array.points(rho=1e-4, to=tmp_path / "out.csv")
    frame = pd.DataFrame({"lat": [37.78, 37.76], "lon": -122.41})
    labelled = gv.Locations(frame, person=["a", "b"], area=BAY).session(rho=1e-3)
    with pytest.raises(InvalidParameter, match=r"^person = .*a column of the table"):
        labelled.points(rho=1e-4, to=tmp_path / "out.csv")
    assert array.spent == labelled.spent == 0


def test_labelled_files_once(tmp_path: Path) -> None:
    """A ledger keeps the digest of a file, not the file: the same question is refused and not charged again."""
    (tmp_path / "t.csv").write_text("lat,lon\n37.78,-122.41\n")
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    for how in ({"label": "may"}, {}):
        session = gv.Locations(tmp_path / "t.csv", area=BAY).session(ledger=ledger, subject="ann", **how)  # type: ignore[arg-type]
        key = None if how else "mine"
        before = ledger.account("ann").spent
        session.points(rho="1e-6", to=tmp_path / f"first{key}.csv", key=key)
        with pytest.raises(InvalidParameter, match=r"^to = .*not released before"):
            session.points(rho="1e-6", to=tmp_path / f"second{key}.csv", key=key)
        assert ledger.account("ann").spent - before == Decimal("1e-6")
    assert not [*tmp_path.glob("second*")]
    ledger.verify()


def test_key_file_elsewhere(tmp_path: Path) -> None:
    """A key file that is the released file is refused; one in its folder is warned of, for tables as for files."""
    frame = pd.DataFrame({"who": ["a", "b"], "lat": [37.78, 37.76], "lon": -122.41})
    target = tmp_path / "out.csv"
    with pytest.raises(InvalidParameter, match=r"^pseudonyms = .*a separate file"):
        gv.Locations(frame, person="who", area=BAY, pseudonyms=target).points(rho=1e-4, to=target)
    assert not target.exists()
    with pytest.warns(gv.errors.GeoveilWarning, match="keep it elsewhere"):
        gv.Locations(frame, person="who", area=BAY, pseudonyms=tmp_path / "key").points(rho=1e-4, to=target)
