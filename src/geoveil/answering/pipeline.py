"""The path of every question: take in, charge, draw, store, shape.

`answer` is the path. An inquiry is a question about data that has been taken in: about points in memory (below), or
about a file (`answering.streaming`). The two kinds differ in where the points are and where the answer is put.
"""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from contextlib import nullcontext
from decimal import Decimal
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Columns, Progress
from geoveil.answering.charging import Bill, Charger, NoCharger, Receipt
from geoveil.answering.intake import Intake, People, in_the_plane, removed
from geoveil.answering.packing import packed, unpacked
from geoveil.answering.requests import Question
from geoveil.answering.shaping import Shaped, SplitColumns, shape_answer, shape_answers
from geoveil.budget import unknown_price
from geoveil.noise import Source
from geoveil.privacy import Guarantee, Metric, dist_1, dist_2, unit_metric
from geoveil.queries import Answer, Answers, Persons, Query, UnitSizes, ask_each, restored_each
from geoveil.release import Release
from geoveil.release.kinds import kind_of

__all__ = ["Inquiry", "answer", "ask", "inquiry_about"]

#: The type of the answer that an inquiry draws.
D = TypeVar("D")
A = TypeVar("A", Answer, Answers)
R = TypeVar("R", bound=Release, covariant=True)


def inquiry_about(data: Intake, question: Question, guarantee: Guarantee, keep: Columns = None) -> _InMemory[Any]:
    """Return a question about data in memory, ready to be charged and drawn.

    Parameters
    ----------
    data : Intake
        The data.
    question : Question
        The question.
    guarantee : CGP or GP
        The guarantee for each person, per metre on the ground.
    keep : list of columns or "all", optional
        Columns of a frame that are released unchanged.
    """
    kind: type[_InMemory[Any]] = OnePerson if data.people is None else ManyPersons
    return kind(data, question, guarantee, keep)


def ask(data: Intake, question: Question, guarantee: Guarantee, source: Source) -> Release:
    """Answer a question about data in memory, for which nobody is charged.

    Parameters
    ----------
    data : Intake
        The data.
    question : Question
        The question.
    guarantee : CGP or GP
        The guarantee for each person, per metre on the ground.
    source : Source
        The source of randomness.
    """
    return answer(inquiry_about(data, question, guarantee), source, NoCharger())


def answer(
    inquiry: Inquiry[D, R],
    source: Source,
    charger: Charger,
    key: str | None = None,
    progress: Progress = lambda _: None,
) -> R:
    """Charge for an inquiry, draw its answer, store it, and return it in the form of the input.

    Everything that can be refused was refused when the inquiry was made. What is charged is never given back.
    """
    with charger.charge(inquiry.bill(source, charger.metric), key) as receipt:
        inquiry = inquiry.without(receipt.skipped)
        if receipt.stored is None:
            with receipt.held() if inquiry.takes_long else nullcontext():
                drawn = inquiry.draw(source, progress)
            if receipt.stores:
                receipt.store(inquiry.packed(drawn), inquiry.digests(drawn, source, receipt))
        else:
            drawn = inquiry.unpacked(receipt.stored)
        return inquiry.shape(drawn, source, receipt)


class Inquiry(ABC, Generic[D, R]):
    """A question about data that has been taken in, ready to be charged and drawn."""

    #: Whether drawing may take longer than a lease of the ledger lasts, which is then renewed meanwhile.
    takes_long = False

    @abstractmethod
    def bill(self, source: Source, account: Metric | None) -> Bill:
        """Return the bill for each person, given the metric of their accounts."""

    @abstractmethod
    def without(self, skipped: NDArray[np.bool_] | None) -> Self:
        """Return the inquiry without the persons that are skipped."""

    @abstractmethod
    def draw(self, source: Source, progress: Progress) -> D:
        """Return the private answer, in metres of the plane."""

    @abstractmethod
    def packed(self, drawn: D) -> dict[str, Any]:
        """Return the answer as a ledger stores it."""

    def digests(self, drawn: D, source: Source, receipt: Receipt) -> dict[str, str]:
        """Return the digests of the file that holds the answer and of its certificate; empty if there is no file."""
        return {}

    @abstractmethod
    def unpacked(self, stored: dict[str, Any]) -> D:
        """Return the answer that a ledger has stored."""

    @abstractmethod
    def shape(self, drawn: D, source: Source, receipt: Receipt) -> R:
        """Return the release: the answer in the form of the input, with its guarantee and its facts."""


class _InMemory(Inquiry[A, Release]):
    """An inquiry about points in memory."""

    def __init__(self, data: Intake, question: Question, guarantee: Guarantee, keep: Columns) -> None:
        self.data, self.guarantee = data, guarantee
        self._question, self._keep = question, keep

    def _split_columns(self) -> SplitColumns:
        """Return the columns that are released unchanged and those that are removed; only points have any."""
        return self.data.form.columns(self.data.by, self._keep) if kind_of(self.first).of_points else ({}, ())

    def _query(self, n: int, units: UnitSizes | None, metric: Metric | None = None) -> Query:
        """Return the query about n points with units of these sizes, under another metric if one is given."""
        promised = self.guarantee if metric is None else self.guarantee.under_unit(metric)
        working = in_the_plane(promised, self.data.area)
        return self._question.about(n, self.data.dimension, working, rounding=self.data.form.rounding, units=units)

    def bill(self, source: Source, account: Metric | None) -> Bill:
        form, people = self.data.form, self.data.people or self.data.crowd
        return Bill(
            self.guarantee,
            self.guarantee if account in (None, self.guarantee.metric) else self.price(account),
            self.first,
            len(form.coords),
            self.data.area,
            not source.exact,
            people=people,
            outside=form.outside,
            where=form.condition,
            times=None if self.guarantee.metric.stretch is None else self.data.times_digest,
        )

    def price(self, account: Metric) -> Guarantee:
        """Return the price of the release for accounts with another metric: the largest price of any person.

        An account belongs to one person. For it, the unit of a question about a crowd is that of each person in the
        crowd.
        """
        own = self.guarantee.metric
        if own.of_one_person == account:
            return self.guarantee.under_unit(account)
        crowd = self.data.crowd is not None
        target = unit_metric(stretch=account.stretch, persons=True) if crowd and account != dist_1 else account
        # Some persons of a crowd may be left out later, and a ratio computed for all persons need not hold for the
        # others.
        ratio = None if crowd else self._ratio(target)
        if ratio is None and not own.is_at_most(target):
            raise unknown_price(self.first.name, account)
        factor = 1.0 if ratio is None else ratio**self.guarantee.power
        # Ratios are computed in doubles: one part in a billion covers their rounding.
        return self.guarantee.under_unit(account, Decimal(factor * (1 + 1e-9)) if factor != 1 else Decimal(1))

    def _adds_up(self, target: Metric) -> bool:
        """Return whether the budgets of points add up over a unit: always, but for GP under dist_2."""
        return target != dist_2 or self.guarantee.power == 2

    @abstractmethod
    def _ratio(self, target: Metric) -> float | None:
        """Return the factor by which the noise would grow under another metric; None if it is not known."""

    @property
    @abstractmethod
    def first(self) -> Query:
        """The query about the first person."""

    def _left_out(self, receipt: Receipt) -> tuple[str, ...]:
        """Return the accounts of persons without enough budget, or their pseudonyms."""
        people = self.data.people
        if people is None or people.pseudonyms is None or receipt.skipped is None:
            return receipt.skipped_names
        return tuple(people.pseudonyms[receipt.skipped])

    def packed(self, drawn: A) -> dict[str, Any]:
        return {"answer": packed(drawn.parts())}

    def _released(
        self,
        shaped: Shaped,
        answers: tuple[Answer, ...],
        source: Source,
        receipt: Receipt,
        people: People | None = None,
    ) -> Release:
        form = self.data.form
        return Release(
            shaped.value,
            answers=answers,
            guarantee=self.guarantee,
            n=len(form.coords) if people is None else len(people.rows),
            coords=shaped.coords,
            point_scales=shaped.scales,
            plane=form.plane,
            pairs=form.pairs,
            person=None if people is None else people.released,
            crowd=None if self.data.crowd is None else len(self.data.crowd.sizes),
            pseudonyms=people is not None and people.pseudonyms is not None,
            outside=form.outside,
            removed=removed(form.selection.removed, form.condition, shaped.removed, self._left_out(receipt)),
            unchanged=shaped.unchanged,
            times=self.data.time_columns(self.guarantee.metric),
            span=self.data.time_span(self.guarantee.metric),
            inexact="; ".join(filter(None, (source.inexact, answers[0].query.inexact))),
            entry=receipt.entry,
            id=receipt.id,
        )


class OnePerson(_InMemory[Answer]):
    """A question with one answer about all points."""

    def __init__(self, data: Intake, question: Question, guarantee: Guarantee, keep: Columns) -> None:
        super().__init__(data, question, guarantee, keep)
        sizes = data.unit_sizes(guarantee.metric)
        units = None if sizes is None else UnitSizes(int(sizes.max()), sizes)
        self.query = self._query(len(data.form.coords), units)
        self._columns = self._split_columns()

    @property
    def first(self) -> Query:
        return self.query

    def _ratio(self, target: Metric) -> float | None:
        shares = self.query.budget_shares()
        if shares is not None and self._adds_up(target):
            return float(self.data.largest_sum(shares, target) ** (1 / self.guarantee.power))
        sizes = self.data.unit_sizes(target)
        units = None if sizes is None else UnitSizes(int(sizes.max()), sizes)
        return self.query.sensitivity_ratio(self._query(self.query.n, units, target))

    def without(self, skipped: NDArray[np.bool_] | None) -> Self:
        """Return the question about the persons of a crowd who are not skipped."""
        if skipped is None or self.data.crowd is None:
            return self
        return type(self)(self.data.without(skipped), self._question, self.guarantee, self._keep)

    def draw(self, source: Source, progress: Progress) -> Answer:
        return self.query.ask(self.data.form.coords, source)

    def unpacked(self, stored: dict[str, Any]) -> Answer:
        return self.query.restored(unpacked(stored["answer"]))

    def shape(self, drawn: Answer, source: Source, receipt: Receipt) -> Release:
        return self._released(shape_answer(self.data.form, drawn, self._columns), (drawn,), source, receipt)


class ManyPersons(_InMemory[Answers]):
    """A question about each of many persons, whom the query answers in one call."""

    def __init__(self, data: Intake, question: Question, guarantee: Guarantee, keep: Columns) -> None:
        super().__init__(data, question, guarantee, keep)
        assert data.people is not None
        self.people = data.people
        sizes = data.unit_sizes(guarantee.metric)
        units = None if sizes is None else sizes[data.people.rows]
        self.persons = Persons.by_size(data.people.sizes, self._query, units)
        self._columns = self._split_columns()

    @property
    def first(self) -> Query:
        return self.persons.first

    def _ratio(self, target: Metric) -> float | None:
        shares, sizes = self.persons.budget_shares(), self.data.unit_sizes(target)
        rows = self.people.rows
        if shares is not None and self._adds_up(target):
            in_order = np.empty(len(shares))
            in_order[rows] = shares
            return float(self.data.largest_sum(in_order, target) ** (1 / self.guarantee.power))
        make = functools.partial(self._query, metric=target)
        others = Persons.by_size(self.people.sizes, make, None if sizes is None else sizes[rows])
        both = {*zip(self.persons.which.tolist(), others.which.tolist(), strict=True)}
        ratios = [self.persons.queries[i].sensitivity_ratio(others.queries[j]) for i, j in both]
        return None if None in ratios else max(ratio for ratio in ratios if ratio is not None)

    def without(self, skipped: NDArray[np.bool_] | None) -> Self:
        if skipped is None:
            return self
        some = copy.copy(self)
        some.people = self.people.without(skipped)
        some.persons = self.persons.without(skipped)
        return some

    def draw(self, source: Source, progress: Progress) -> Answers:
        rows = self.people.rows
        return ask_each(self.persons, self.data.form.coords[rows], source, progress).renamed(rows)

    def unpacked(self, stored: dict[str, Any]) -> Answers:
        return restored_each(self.persons, unpacked(stored["answer"]))

    def shape(self, drawn: Answers, source: Source, receipt: Receipt) -> Release:
        shaped = shape_answers(self.data.form, drawn, self.people, self._columns)
        return self._released(shaped, drawn.each, source, receipt, self.people)
