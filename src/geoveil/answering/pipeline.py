"""The path of every question: take in, charge, draw, store, shape.

`answer` is the path. A prepared question is about data that has been taken in: about points in memory (below), about a
crowd (`answering.crowd`), or about the points of a file (`answering.streaming`). They differ in where the points are
and where the answer is put.
"""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Columns, Progress
from geoveil._types import Path as PathLike
from geoveil.answering.charging import Bill, Charger, NoCharger, Receipt
from geoveil.answering.intake import Intake, People, in_the_plane
from geoveil.answering.packing import packed, unpacked
from geoveil.answering.requests import Question
from geoveil.answering.shaping import Shaped, SplitColumns, shape_answer, shape_answers
from geoveil.budget import unknown_price
from geoveil.certificates import SigningKey
from geoveil.facts import NONE, Removed
from geoveil.geo import Area
from geoveil.noise import Source
from geoveil.privacy import Guarantee, Metric, dist_1, dist_2, unit_metric
from geoveil.queries import Answer, Answers, Persons, Query, UnitSizes, ask_each, restored_each
from geoveil.release import Release
from geoveil.release.answered import ReleaseFields
from geoveil.release.as_file import write_release
from geoveil.release.kinds import kind_of

__all__ = [
    "OutputFile",
    "PreparedQuestion",
    "answer",
    "ask",
    "noise_ratio",
    "prepared_question",
    "priced",
    "without_counts",
]

#: The type of the answer that a prepared question draws.
D = TypeVar("D")
A = TypeVar("A", Answer, Answers)
R = TypeVar("R", bound=Release, covariant=True)


@dataclass(frozen=True)
class OutputFile:
    """The file to which a release is written, whether an existing one is replaced, and the key that signs it."""

    to: PathLike
    overwrite: bool = False
    sign: SigningKey | None = None

    @property
    def path(self) -> Path:
        """The path of the file."""
        return Path(self.to)

    def write(self, release: Release, before: Callable[[dict[str, str]], None] | None = None) -> None:
        """Write a release; `before` is called with the digests of the file and its certificate before they appear."""
        write_release(release, self.path, self.sign, overwrite=self.overwrite, before=before)


def prepared_question(data: Intake, question: Question, guarantee: Guarantee, keep: Columns = None) -> InMemory[Any]:
    """Return a question about data in memory, ready to be charged and drawn.

    The guarantee is that for each person, per metre on the ground; `keep` names columns that are released unchanged.
    """
    kind: type[InMemory[Any]] = OnePerson if data.people is None else ManyPersons
    return kind(data, question, guarantee, keep)


def ask(data: Intake, question: Question, guarantee: Guarantee, source: Source) -> Release:
    """Answer a question about data in memory, for which nobody is charged."""
    return answer(prepared_question(data, question, guarantee), source, NoCharger())


def answer(
    prepared: PreparedQuestion[D, R],
    source: Source,
    charger: Charger,
    key: str | None = None,
    progress: Progress = lambda _: None,
    output: OutputFile | None = None,
) -> R:
    """Charge for a prepared question, draw its answer, store it, and return it in the form of the input.

    Everything that can be refused was refused when the question was prepared. What is charged is never given back.
    With an `output` the release is also written to a file, whose digest is stored before the file appears.
    """
    with charger.charge(Bill(prepared, prepared.price(charger.metric), not source.exact), key) as receipt:
        prepared = prepared.without(receipt.skipped)
        if receipt.stored is not None:
            release = prepared.shape(prepared.unpacked(receipt.stored), source, receipt)
            if output is not None:
                output.write(release)
            return release
        with receipt.held() if prepared.takes_long else nullcontext():
            drawn = prepared.draw(source, progress)
        if output is None:
            if receipt.stores:
                receipt.store(prepared.packed(drawn), prepared.digests(drawn, source, receipt))
            return prepared.shape(drawn, source, receipt)
        release = prepared.shape(drawn, source, receipt)

        def store(digests: dict[str, str]) -> None:
            if receipt.stores:
                receipt.store(prepared.packed(drawn), digests)

        output.write(release, store)
        return release


def priced(
    question: str,
    guarantee: Guarantee,
    account: Metric | None,
    ratio: Callable[[Metric], float | None],
    *,
    crowd: bool = False,
) -> Guarantee:
    """Return the price of a release for accounts with a metric: the largest price of any person.

    An account belongs to one person. For it, the unit of a question about a crowd is that of each person in the crowd.

    Parameters
    ----------
    question : str
        The question, for errors.
    guarantee : CGP or GP
        The guarantee of the release.
    account : Metric, optional
        The metric of the accounts; None if nobody is charged.
    ratio : callable
        Returns the factor by which the noise would grow under another metric; None if it is not known.
    crowd : bool
        Whether one answer is about many persons.
    """
    own = guarantee.metric
    if account is None or account == own:
        return guarantee
    if own.of_one_person == account:
        return guarantee.under_unit(account)
    target = unit_metric(stretch=account.stretch, persons=True) if crowd and account != dist_1 else account
    # Some persons of a crowd may be left out later, and a ratio computed for all persons need not hold for the others.
    known = None if crowd else ratio(target)
    if known is None and not own.is_at_most(target):
        raise unknown_price(question, account)
    factor = 1.0 if known is None else known**guarantee.power
    # Ratios are computed in doubles: one part in a billion covers their rounding.
    return guarantee.under_unit(account, Decimal(factor * (1 + 1e-9)) if factor != 1 else Decimal(1))


def noise_ratio(persons: Persons[Query], others: Persons[Query]) -> float | None:
    """Return the largest factor by which the noise of any person grows with other queries; None if it is not known."""
    both = {*zip(persons.which.tolist(), others.which.tolist(), strict=True)}
    ratios = [persons.queries[i].sensitivity_ratio(others.queries[j]) for i, j in both]
    return None if None in ratios else max(ratio for ratio in ratios if ratio is not None)


class PreparedQuestion(ABC, Generic[D, R]):
    """A question about data that has been taken in, ready to be charged and drawn."""

    #: Whether drawing may take longer than a lease of the ledger lasts, which is then renewed meanwhile.
    takes_long = False
    #: The guarantee of the release, per metre on the ground.
    guarantee: Guarantee

    @property
    @abstractmethod
    def first(self) -> Query:
        """The query about the first person; those about others differ only in the number of points."""

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of points of all persons, or of trips."""

    @property
    @abstractmethod
    def area(self) -> Area | None:
        """The public area of the data."""

    @abstractmethod
    def recorded(self) -> dict[str, object]:
        """Return the public facts by which a ledger tells the data from other data."""

    @abstractmethod
    def price(self, account: Metric | None) -> Guarantee:
        """Return what each account is charged, given the metric of accounts; None if nobody is charged."""

    @abstractmethod
    def without(self, skipped: NDArray[np.bool_] | None) -> Self:
        """Return the prepared question without the persons that are skipped."""

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

    def released(self, described: ReleaseFields, source: Source, receipt: Receipt) -> ReleaseFields:
        """Return the fields of a release that describe its data, with those of its guarantee, noise and charge."""
        return {
            **described,
            "guarantee": self.guarantee,
            "inexact": source.inexact,
            "entry": receipt.entry,
            "recorder": receipt.recorder,
            "id": receipt.id,
        }


class InMemory(PreparedQuestion[A, Release]):
    """A prepared question about points in memory."""

    def __init__(self, data: Intake, question: Question, guarantee: Guarantee, keep: Columns = None) -> None:
        self.data, self.guarantee = data, guarantee
        self._question, self._keep = question, keep

    def _split_columns(self) -> SplitColumns:
        """Return the columns that are released unchanged and those that are removed; only points have any."""
        return self.data.form.columns(self.data.by, self._keep) if kind_of(self.first).of_points else ({}, ())

    def query(self, n: int, units: UnitSizes | None, metric: Metric | None = None) -> Query:
        """Return the query about n points with units of these sizes, under another metric if one is given."""
        promised = self.guarantee if metric is None else self.guarantee.under_unit(metric)
        working = in_the_plane(promised, self.data.area)
        return self._question.about(n, self.data.dimension, working, rounding=self.data.form.rounding, units=units)

    @property
    def n(self) -> int:
        return len(self.data.form.coords)

    @property
    def area(self) -> Area | None:
        return self.data.area

    def recorded(self) -> dict[str, object]:
        told = self.data.recorded(timed=self.guarantee.metric.stretch is not None)
        # The digest of persons' rows depends on how many there are.
        return {name: fact for name, fact in told.items() if name != "rows" or not self.first.hides_count}

    def price(self, account: Metric | None) -> Guarantee:
        return priced(self.first.name, self.guarantee, account, self._ratio, crowd=self.data.crowd is not None)

    def _adds_up(self, target: Metric) -> bool:
        """Return whether the budgets of points add up over a unit: always, but for GP under dist_2."""
        return target != dist_2 or self.guarantee.power == 2

    def _share_ratio(self, shares: NDArray[np.float64], target: Metric) -> float:
        """Return the ratio of noise, given the share of a person's budget that each point has."""
        return float(self.data.facts(target).largest_sum(shares, target) ** (1 / self.guarantee.power))

    @property
    @abstractmethod
    def persons(self) -> Persons[Query]:
        """The query of each person; of one, if there is one answer about all points."""

    @abstractmethod
    def _ratio(self, target: Metric) -> float | None:
        """Return the factor by which the noise would grow under another metric; None if it is not known."""

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
        fields: ReleaseFields = {
            **self.released(self.data.described(self.guarantee.metric), source, receipt),
            "answers": answers,
            "n": len(form.coords) if people is None else len(people.rows),
            "coords": shaped.coords,
            "point_scales": shaped.scales,
            "pairs": form.pairs,
            "person": None if people is None else people.released,
            "pseudonyms": people is not None and people.pseudonyms is not None,
            "removed": form.selection.removed.described(form.condition, shaped.removed, self._left_out(receipt)),
            "unchanged": shaped.unchanged,
            "inexact": "; ".join(filter(None, (source.inexact, answers[0].query.inexact))),
        }
        if self.first.hides_count:
            fields |= without_counts(answers, fields["removed"])
        return Release(shaped.value, **fields)


def without_counts(answers: tuple[Answer, ...], removed: Removed) -> ReleaseFields:
    """Return the fields of a release that would tell numbers of points, without these."""
    # All answers get one query: which of them shared one would tell whose numbers are equal.
    query = answers[0].query.kept
    alone = replace(answers[0], query=query, mechanisms=query.mechanisms)
    own = [alone] * len(answers)
    if alone.value is not None:
        own = [replace(answer, query=query, mechanisms=query.mechanisms) for answer in answers]
    unnumbered = NONE.described(removed.where, removed.columns, removed.persons)
    return {"answers": tuple(own), "n": None, "removed": unnumbered}


class OnePerson(InMemory[Answer]):
    """A question with one answer about all points."""

    def __init__(self, data: Intake, question: Question, guarantee: Guarantee, keep: Columns = None) -> None:
        super().__init__(data, question, guarantee, keep)
        sizes = data.unit_sizes(guarantee.metric)
        units = None if sizes is None else UnitSizes(int(sizes.max()), sizes)
        self._only = self.query(len(data.form.coords), units)
        self._columns = self._split_columns()

    @property
    def first(self) -> Query:
        return self._only

    @property
    def persons(self) -> Persons[Query]:
        return Persons([self._only], np.zeros(1, dtype=np.int64))

    def _ratio(self, target: Metric) -> float | None:
        if self._only.hides_count:
            return None
        shares = self._only.budget_shares()
        if shares is not None and self._adds_up(target):
            return self._share_ratio(shares, target)
        sizes = self.data.unit_sizes(target)
        units = None if sizes is None else UnitSizes(int(sizes.max()), sizes)
        return self._only.sensitivity_ratio(self.query(self._only.n, units, target))

    def without(self, skipped: NDArray[np.bool_] | None) -> Self:
        """Return the question about the persons of a crowd who are not skipped."""
        if skipped is None or self.data.crowd is None:
            return self
        return type(self)(self.data.without(skipped), self._question, self.guarantee, self._keep)

    def draw(self, source: Source, progress: Progress) -> Answer:
        return self._only.ask(self.data.form.coords, source)

    def unpacked(self, stored: dict[str, Any]) -> Answer:
        return self._only.restored(unpacked(stored["answer"]))

    def shape(self, drawn: Answer, source: Source, receipt: Receipt) -> Release:
        return self._released(shape_answer(self.data.form, drawn, self._columns), (drawn,), source, receipt)


class ManyPersons(InMemory[Answers]):
    """A question about each of many persons, whom the query answers in one call."""

    def __init__(self, data: Intake, question: Question, guarantee: Guarantee, keep: Columns = None) -> None:
        super().__init__(data, question, guarantee, keep)
        assert data.people is not None
        self.people = data.people
        sizes = data.unit_sizes(guarantee.metric)
        units = None if sizes is None else sizes[data.people.rows]
        self._persons = Persons.by_size(data.people.sizes, self.query, units)
        self._columns = self._split_columns()

    @property
    def first(self) -> Query:
        return self._persons.first

    @property
    def persons(self) -> Persons[Query]:
        return self._persons

    def _ratio(self, target: Metric) -> float | None:
        if self.first.hides_count:
            return None
        shares, rows = self._persons.budget_shares(), self.people.rows
        if shares is not None and self._adds_up(target):
            in_order = np.empty(len(shares))
            in_order[rows] = shares
            return self._share_ratio(in_order, target)
        sizes = self.data.unit_sizes(target)
        make = functools.partial(self.query, metric=target)
        return noise_ratio(
            self._persons, Persons.by_size(self.people.sizes, make, None if sizes is None else sizes[rows])
        )

    def without(self, skipped: NDArray[np.bool_] | None) -> Self:
        if skipped is None:
            return self
        some = copy.copy(self)
        some.people = self.people.without(skipped)
        some._persons = self._persons.without(skipped)
        return some

    def draw(self, source: Source, progress: Progress) -> Answers:
        rows = self.people.rows
        return ask_each(self._persons, self.data.form.coords[rows], source, progress).renamed(rows)

    def unpacked(self, stored: dict[str, Any]) -> Answers:
        return restored_each(self._persons, unpacked(stored["answer"]))

    def shape(self, drawn: Answers, source: Source, receipt: Receipt) -> Release:
        shaped = shape_answers(self.data.form, drawn, self.people, self._columns)
        return self._released(shaped, drawn.each, source, receipt, self.people)
