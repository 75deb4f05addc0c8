"""The path of every question: take in, charge, draw, store, shape.

`answer` is the path. An inquiry is a question about data that has been taken in: about points in memory (below), or
about a file (`answering.streaming`). They differ in where the points are and where the answer is put.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Columns, Progress
from geoveil.answering.charging import Bill, Charger, NoCharger, Receipt
from geoveil.answering.intake import Intake, People, in_the_plane, removed
from geoveil.answering.packing import packed, unpacked
from geoveil.answering.requests import Question
from geoveil.answering.shaping import Shaped, shape_answer, shape_answers
from geoveil.noise import Source
from geoveil.privacy import Guarantee
from geoveil.queries import Answer, Answers, Persons, Query, ask_each, restored_each
from geoveil.release import Release

__all__ = ["Inquiry", "answer", "ask"]

#: What an inquiry draws.
D = TypeVar("D")
A = TypeVar("A", Answer, Answers)
R = TypeVar("R", bound=Release, covariant=True)


def ask(
    data: Intake,
    question: Question,
    guarantee: Guarantee,
    source: Source,
    *,
    charger: Charger | None = None,
    key: str | None = None,
    keep: Columns = None,
    progress: Progress = lambda share: None,
) -> Release:
    """Answer a question about data in memory.

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
    charger : Charger, optional
        Who is charged; nobody by default.
    key : str, optional
        The key under which the answer is stored.
    keep : list of columns or "all", optional
        Columns of a frame that are released unchanged.
    progress : callable
        Called with the share of persons answered so far, from 0 to 1.
    """
    charger = charger or NoCharger()
    if data.people is None:
        return answer(OnePerson(data, question, guarantee, keep), source, charger, key, progress)
    return answer(ManyPersons(data, question, guarantee, keep), source, charger, key, progress)


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
    with charger.charge(inquiry.bill(source), key) as receipt:
        inquiry = inquiry.without(receipt.skipped)
        if receipt.stored is None:
            drawn = inquiry.draw(source, progress)
            if receipt.stores:
                receipt.store(inquiry.packed(drawn))
        else:
            drawn = inquiry.unpacked(receipt.stored)
        return inquiry.shape(drawn, source, receipt)


class Inquiry(ABC, Generic[D, R]):
    """A question about data that has been taken in, ready to be charged and drawn."""

    @abstractmethod
    def bill(self, source: Source) -> Bill:
        """Return what is to be charged to each person."""

    @abstractmethod
    def without(self, skipped: NDArray[np.bool_] | None) -> Self:
        """Return the inquiry without the persons that are skipped."""

    @abstractmethod
    def draw(self, source: Source, progress: Progress) -> D:
        """Return the private answer, in metres of the plane."""

    @abstractmethod
    def packed(self, drawn: D) -> dict[str, Any]:
        """Return the answer as a ledger stores it."""

    @abstractmethod
    def unpacked(self, stored: dict[str, Any]) -> D:
        """Return the answer that a ledger has stored."""

    @abstractmethod
    def shape(self, drawn: D, source: Source, receipt: Receipt) -> R:
        """Return the release: the answer in the form of the input, with all that is to be said about it."""


class _InMemory(Inquiry[A, Release]):
    """An inquiry about points in memory."""

    def __init__(self, data: Intake, question: Question, guarantee: Guarantee, keep: Columns) -> None:
        self.data, self.guarantee = data, guarantee
        self._columns = data.form.columns(data.by, keep)
        self._question = question

    def _query(self, n: int) -> Query:
        """Return the query about n points of one person."""
        working = in_the_plane(self.guarantee, self.data.area)
        return self._question.about(n, self.data.dimension, working, rounding=self.data.form.rounding)

    def bill(self, source: Source) -> Bill:
        form, people = self.data.form, self.data.people
        return Bill(
            self.guarantee,
            self.first,
            len(form.coords),
            self.data.area,
            not source.exact,
            people=people,
            outside=form.outside,
            where=form.condition,
        )

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
            plane=form.plane,
            pairs=form.pairs,
            by=None if people is None else people.released,
            pseudonyms=people is not None and people.pseudonyms is not None,
            outside=form.outside,
            removed=removed(form.selection.removed, form.condition, shaped.removed, self._left_out(receipt)),
            unchanged=shaped.unchanged,
            inexact="; ".join(filter(None, (source.inexact, answers[0].query.inexact))),
            entry=receipt.entry,
            id=receipt.id,
        )


class OnePerson(_InMemory[Answer]):
    """A question about points that are taken as one person's."""

    def __init__(self, data: Intake, question: Question, guarantee: Guarantee, keep: Columns) -> None:
        super().__init__(data, question, guarantee, keep)
        self.query = self._query(len(data.form.coords))

    @property
    def first(self) -> Query:
        return self.query

    def without(self, skipped: NDArray[np.bool_] | None) -> Self:
        return self

    def draw(self, source: Source, progress: Progress) -> Answer:
        return self.query.ask(self.data.form.coords, source)

    def unpacked(self, stored: dict[str, Any]) -> Answer:
        return self.query.restored(unpacked(stored["answer"]))

    def shape(self, drawn: Answer, source: Source, receipt: Receipt) -> Release:
        return self._released(shape_answer(self.data.form, drawn, self._columns), (drawn,), source, receipt)


class ManyPersons(_InMemory[Answers]):
    """A question about each of many persons, which the query answers for all of them together."""

    def __init__(self, data: Intake, question: Question, guarantee: Guarantee, keep: Columns) -> None:
        super().__init__(data, question, guarantee, keep)
        assert data.people is not None
        self.people = data.people
        self.persons = Persons.by_size(data.people.sizes, self._query)

    @property
    def first(self) -> Query:
        return self.persons.first

    def without(self, skipped: NDArray[np.bool_] | None) -> Self:
        if skipped is None:
            return self
        some = copy.copy(self)
        some.people = self.people.without(skipped)
        some.persons = Persons(self.persons.queries, self.persons.which[~skipped])
        return some

    def draw(self, source: Source, progress: Progress) -> Answers:
        rows = self.people.rows
        return ask_each(self.persons, self.data.form.coords[rows], source, progress).renamed(rows)

    def unpacked(self, stored: dict[str, Any]) -> Answers:
        return restored_each(self.persons, unpacked(stored["answer"]))

    def shape(self, drawn: Answers, source: Source, receipt: Receipt) -> Release:
        shaped = shape_answers(self.data.form, drawn, self.people, self._columns)
        return self._released(shaped, drawn.each, source, receipt, self.people)
