"""One budget for many questions about the same data."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from decimal import Decimal
from types import TracebackType
from typing import Any, Literal, Self
from uuid import uuid4

import numpy as np

from geoveil import questions
from geoveil.answering.how import How
from geoveil.answering.packing import packed, unpacked
from geoveil.answering.pipeline import Opened, Receipt
from geoveil.arithmetic import steady
from geoveil.budget import SPENT, Account, Charge, Ledger, price
from geoveil.errors import BudgetExceeded, IncompatibleGuarantees, InvalidInput, InvalidParameter
from geoveil.geo import enter
from geoveil.privacy import Guarantee, exact, promise
from geoveil.release import Release

__all__ = ["Session"]

#: What a session settles once, for all of its questions.
_SETTLED = ("metric", "by", "rng", "area", "crs", "outside", "missing")


def _asked(question: Callable[..., Release]) -> Any:
    """A question as a method of a session: without x, and without what the session has settled."""

    @functools.wraps(question)
    def method(self: Session, *args: Any, **how: Any) -> Release:
        for name in _SETTLED:
            if name in how:
                remedy = "Leave it out."
                raise InvalidParameter(name, how[name], "settled when the session was opened", remedy)
        return question(self._opened, *args, **how, **self._settled)

    signature = inspect.signature(question)
    left = [p for name, p in signature.parameters.items() if name not in ("x", *_SETTLED)]
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = signature.replace(parameters=[me, *left])  # type: ignore[attr-defined]
    return method


class Session:
    """One tuple of points, or one for each person, and one budget that all questions share.

    Parameters
    ----------
    x : array, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points. They are checked once, now.
    rho, epsilon : optional
        The total, by one of them. With a ledger it may be left out: what the subject's account has left is the limit.
    metric : {"inf", "2", "1"}, default "inf"
        The metric of the total, and of all questions.
    by : str or array of labels, optional
        Whose point each is. The total is then for each person.
    ledger : Ledger, optional
        Where the account is kept between processes and days.
    subject : str, optional
        Whose account it is; with `by` the labels are the subjects, after this and a slash if it is given.
    label : str, optional
        A name of the data, such as "march 2026". The same question about the same data is then answered the same, for
        free, as long as the ledger is there.
    short : {"refuse", "skip"}
        With `by` and a ledger: whether people without enough budget stop a question, or are left out of its answer and
        listed as `skipped`.
    rng, area, crs, outside, missing : optional
        As for a question itself.
    progress : callable, optional
        Is told now and then how much of a question about many persons has been answered, from 0 to 1.

    Notes
    -----
    Budgets may be chosen from earlier answers: all answers together promise the total (docs/budgets.md). A question is
    checked, then charged, and then looks at the data; what is charged is never given back.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> walk = np.column_stack([np.arange(50) * 100.0, np.zeros(50)])
    >>> with gv.Session(walk, rho=1e-4) as s:
    ...     center = s.center(rho=2e-5)
    ...     near = s.nearest((0, 0), k=3, rho=5e-5)
    ...     print(s.spent, s.remaining)
    0.00007 0.00003
    >>> s.hull(rho=5e-5)
    Traceback (most recent call last):
    ...
    geoveil.errors.BudgetExceeded: The budget does not suffice: 0.00005 was asked for, 0.00003 is left. Ask for less, \
or not at all; nothing was charged.
    """

    def __init__(
        self,
        x: Any,
        *,
        rho: Any = None,
        epsilon: Any = None,
        metric: str | None = None,
        by: Any = None,
        ledger: Ledger | None = None,
        subject: str | None = None,
        label: str | None = None,
        short: Literal["refuse", "skip"] = "refuse",
        rng: np.random.Generator | None = None,
        area: Any = None,
        crs: Any = None,
        outside: Literal["refuse", "clamp"] = "refuse",
        missing: Literal["refuse", "drop"] = "refuse",
        progress: Callable[[float], None] | None = None,
    ) -> None:
        if ledger is None:
            for name, given in (("subject", subject), ("label", label)):
                if given is not None:
                    raise InvalidParameter(name, given, "left out without a ledger", "Give ledger=.")
        elif subject is None and by is None:
            raise InvalidParameter("subject", None, "given with a ledger", "It is whose budget is charged.")
        if short not in ("refuse", "skip"):
            raise InvalidParameter("short", short, "'refuse' or 'skip'", "Leave it out to ask about all or none.")
        with steady():
            form = enter(x, area, crs=crs, outside=outside, missing=missing)
        self._ledger, self._subject, self._label = ledger, subject, label
        self._subjects = self._names(form, by)
        if rho is None and epsilon is None and ledger is not None:
            total = ledger.total(self._subjects[0])
            self._account = None
            if metric is not None and metric != total.metric.name:
                raise InvalidParameter(
                    "metric", metric, f"{total.metric.name!r}, as the account has it", "Leave it out."
                )
        else:
            total = promise(rho, epsilon, metric)
            self._account = Account(total)
        self.total: Guarantee = total
        self._settled: How = {"metric": total.metric, "rng": rng}
        self._opened = Opened(form, by, self._charge, progress or (lambda share: None))
        self._by, self._short = by, short
        self._history: list[dict[str, Any]] = []

    def _names(self, form: Any, by: Any) -> list[str]:
        if self._ledger is None:
            return []
        if by is None:
            return [str(self._subject)]
        import pandas as pd

        before = "" if self._subject is None else f"{self._subject}/"
        return [f"{before}{label}" for label in pd.unique(pd.Series(form.people(by)))]

    def _charge(self, guarantee: Guarantee, asked: Any, key: str | None) -> Receipt:
        """Before a question looks at the data."""
        query = asked.first
        form = self._opened.form
        parameters = {
            **query.parameters(),
            guarantee.symbol: exact.written(guarantee.budget),
            "metric": guarantee.metric.name,
            "points": len(form.coords),
            "area": None if form.plane is None else form.plane.area.certificate(),
            "experiment": self._settled["rng"] is not None,
            "rows": asked.assignment,
        }
        if self._ledger is None:
            if key is not None:
                raise InvalidParameter("key", key, "left out without a ledger", "Nothing is stored.")
            assert self._account is not None
            taken = self._account.charge(guarantee)
            line = {"query": query.name, "parameters": parameters, "amount": exact.written(taken.budget)}
            self._history.append({"number": len(self._history) + 1, "event": "charge", **line})
            receipt = Receipt()
            receipt.spent = SPENT
            return receipt
        labelled = key is None and self._label is not None
        if labelled:
            if not query.comparable:
                remedy = "Give key=: functions cannot be compared."
                raise InvalidParameter("key", None, "given, for a function of one's own", remedy)
            people = None if self._by is None else self._subjects
            told = [self._subject, people, query.name, parameters, self._label, self._short]
            key = json.dumps(told, sort_keys=True, default=str)
        identity = uuid4().hex
        reserved = self._reserve(guarantee, key)
        try:
            charge = self._ledger.charge(
                self._subjects,
                guarantee,
                query=query.name,
                parameters=parameters,
                release=identity,
                key=key,
                short=self._short,
            )
        except (BudgetExceeded, InvalidInput, IncompatibleGuarantees) as problem:
            # Nothing was charged. After a failure of the ledger that is not certain.
            if self._account is not None and reserved is not None:
                self._account.give_back(reserved)
            if labelled and isinstance(problem, InvalidInput) and problem.argument == "key":
                # The caller knows the label, and not the key that was made of it.
                raise InvalidParameter("label", self._label, problem.allowed, problem.remedy) from None
            raise
        if self._account is not None and reserved is not None and charge.content is not None:
            self._account.give_back(reserved)
        return _LedgerReceipt(self._ledger, charge, identity, self._subjects)

    def _reserve(self, guarantee: Guarantee, key: str | None) -> Guarantee | None:
        """Take a question off the session's own total, if it has one, before the ledger is charged."""
        if self._account is None:
            return None
        try:
            return self._account.charge(guarantee)
        except BudgetExceeded:
            # A stored answer costs nothing.
            if key is None or self._ledger is None or not self._ledger.is_stored(key):
                raise
            return None

    @property
    def spent(self) -> Decimal:
        """What this session, or the ledger about its subject, has charged."""
        if self._account is not None:
            return self._account.spent
        assert self._ledger is not None
        return exact.subtract(self.total.budget, min(self._ledger.balances(self._subjects).values()))

    @property
    def remaining(self) -> Decimal:
        """What is left, exactly: of the session's total, and of the ledger's if that is less."""
        left = [] if self._account is None else [self._account.remaining]
        if self._ledger is not None:
            left += self._ledger.balances(self._subjects).values()
        return min(left)

    def split(self, k: int) -> list[Guarantee]:
        """What is left in k parts that add up to it exactly."""
        left = self.remaining
        if left <= 0:
            raise BudgetExceeded(Decimal(0), left)
        return [*self.total.with_budget(left).split(k)]

    def cost(self, *, rho: Any = None, epsilon: Any = None) -> tuple[Decimal, Decimal]:
        """What a question with this budget would cost, and what would then be left; nothing is charged."""
        taken = price(promise(rho, epsilon, self.total.metric), self.total).budget
        left = self.remaining
        if taken > left:
            raise BudgetExceeded(taken, left)
        return taken, exact.subtract(left, taken)

    def statement(self) -> list[dict[str, Any]]:
        """What was charged: in this session, or to its subjects in the ledger."""
        if self._ledger is None:
            return [*self._history]
        return [line for name in self._subjects for line in self._ledger.statement(name)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is given back."""

    answer = _asked(questions.answer)
    bounds = _asked(questions.bounds)
    center = _asked(questions.center)
    diameter = _asked(questions.diameter)
    distance = _asked(questions.distance)
    first_within = _asked(questions.first_within)
    hull = _asked(questions.hull)
    mean = _asked(questions.mean)
    median = _asked(questions.median)
    nearest = _asked(questions.nearest)
    points = _asked(questions.points)
    radius = _asked(questions.radius)
    radius_of_gyration = _asked(questions.radius_of_gyration)


class _LedgerReceipt(Receipt):
    """A charge to a ledger, where the answer is stored before it is handed out."""

    spent = SPENT

    def __init__(self, ledger: Ledger, charge: Charge, identity: str, subjects: list[str]) -> None:
        self._ledger, self._charge, self._identity = ledger, charge, identity
        self._open = charge.content is None
        if charge.skipped:
            self.skipped = np.isin(np.array(subjects, dtype=object), charge.skipped)
        if charge.content is not None:
            self.spent = ""
            told = json.loads(charge.content)
            self._identity, self.stored = told["id"], unpacked(told["answer"])
        self.skipped_names = charge.skipped
        self.stated = {"id": self._identity, "entry": charge.entry}

    def store(self, content: Callable[[], Any]) -> None:
        self._ledger.store(self._charge, json.dumps({"id": self._identity, "answer": packed(content())}))
        self._open = False

    def close(self) -> None:
        if self._open:
            self._ledger.abandon(self._charge)
