"""The one way of every question: take any form, check, ask the array query, wrap the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from geoveil.arithmetic import steady
from geoveil.errors import InvalidParameter
from geoveil.facts import Removed
from geoveil.geo import Area, Form, enter
from geoveil.geo.columns import distinct
from geoveil.geo.forms import ArrayForm, FrameForm, Index
from geoveil.geo.plain_values import copied, copied_index
from geoveil.noise import Source, source_of
from geoveil.privacy import CGP, GP, Guarantee, Metric, promise
from geoveil.privacy.exact import Number
from geoveil.queries import Answer, Answers, Persons, Query, ask_each, restored_each
from geoveil.release import Release

__all__ = ["Make", "Opened", "Receipt", "answers_of", "ask", "by_size", "in_the_plane"]

#: Builds a query from the form of the data, the number of points, their dimension and the guarantee.
Make = Callable[[Form, int, int, Guarantee], Query]
Q = TypeVar("Q", bound=Query)


@steady()
def ask(
    make: Make,
    x: Any,
    *,
    rho: Number | CGP | None,
    epsilon: Number | GP | None,
    metric: str | Metric | None,
    by: Any,
    rng: np.random.Generator | None,
    area: Any = None,
    crs: Any = None,
    outside: str = "refuse",
    missing: str = "refuse",
    keep: Any = None,
    key: str | None = None,
) -> Release:
    """Ask one question about one tuple, or about one tuple for each person.

    Parameters are checked and data is let in before anything is charged, and it is charged before anything is drawn.
    """
    guarantee = promise(rho, epsilon, metric)
    source = source_of(rng)
    if key is not None and not isinstance(x, Opened):
        raise InvalidParameter("key", key, "left out, unless in a session with a ledger", "Use gv.Session.")
    opened = x if isinstance(x, Opened) else Opened(enter(x, area, crs=crs, outside=outside, missing=missing), by)
    form = opened.form
    working = in_the_plane(guarantee, form.plane.area if form.plane else None)
    subject = _One(form, make, working) if opened.by is None else _Crowd.of(form, make, working, opened.by)
    kept: list[Any] = []
    left_out: tuple[Any, ...] = ()
    if isinstance(form, FrameForm) and form.has_columns:
        kept, left_out = form.columns(opened.by, keep)
    elif keep is not None:
        raise InvalidParameter("keep", keep, "left out, unless x is a GeoDataFrame", "There are no columns.")
    receipt = opened.charge(guarantee, subject, key)
    outcome: Any
    try:
        subject = subject.without(receipt.skipped)
        if receipt.stored is None:
            outcome = subject.draw(source, opened.progress)
            receipt.store(lambda: subject.kept(outcome))
        else:
            outcome = subject.restored(receipt.stored)
    except BaseException as problem:
        if receipt.spent:
            problem.add_note(receipt.spent)
        raise
    finally:
        receipt.close()
    release = subject.release(outcome, source)
    removed = Removed(form.missing, persons=receipt.skipped_names)
    shown = subject.shown
    if isinstance(shown, FrameForm) and release.query == "points" and hasattr(release.value, "columns"):
        release = replace(release, value=shown.with_columns(release.value, kept))
        removed = replace(removed, columns=left_out)
    return replace(release, guarantee=guarantee, removed=removed, **receipt.stated)


class Receipt:
    """What was charged for a question, and where its answer is stored before it is handed out; here, nowhere."""

    #: The answer, if it was given before.
    stored: Any = None
    #: Which persons are left out, if any are.
    skipped: Any = None
    #: Their accounts.
    skipped_names: tuple[str, ...] = ()
    #: What the release says of the charge.
    stated: Mapping[str, Any] = MappingProxyType({})
    #: What an error says of the charge; nothing if nothing was charged.
    spent: str = ""

    def store(self, content: Callable[[], Any]) -> None:
        """Store the answer before it is handed out."""

    def close(self) -> None:
        """End the attempt: without a stored answer the charge is spent, whatever ended it."""


@dataclass(frozen=True)
class Opened:
    """Data that was let in once, for many questions.

    Parameters
    ----------
    form : Form
        The locations.
    by : object
        Whose they are.
    charge : callable
        Is asked before a question looks at them.
    progress : callable
        Is told how many of the persons have been asked about, from 0 to 1, where that is done one by one.
    """

    form: Form
    by: Any
    charge: Callable[[Guarantee, Any, str | None], Receipt] = lambda guarantee, subject, key: Receipt()
    progress: Callable[[float], None] = lambda share: None


def in_the_plane(guarantee: Guarantee, area: Area | None) -> Guarantee:
    """What must be promised per metre of the plane, so that the guarantee holds per metre on the ground."""
    if area is None or area.stretch == 1:
        return guarantee
    whole = guarantee / area.stretch
    return whole / area.stretch if guarantee.power == 2 else whole


def by_size(sizes: Index, make: Callable[[int], Q]) -> tuple[list[Q], Index]:
    """A query for each number of points that persons have, and which of them is whose."""
    numbers, which = np.unique(sizes, return_inverse=True)
    return [make(int(n)) for n in numbers], np.asarray(which, dtype=np.int64)


def answers_of(queries: Sequence[Query], which: Index) -> tuple[Answer, ...]:
    """What was run about each person, where the values are elsewhere; those with the same query share an answer."""
    shared = [Answer(query.kept, None, query.mechanisms) for query in queries]
    return tuple([shared[i] for i in which])


def _release(form: Form, value: Any, answers: tuple[Answer, ...], source: Source, **more: Any) -> Release:
    inexact = "; ".join(filter(None, (source.inexact, answers[0].query.inexact)))
    return Release(
        value,
        answers=answers,
        plane=form.plane,
        guarantee=answers[0].query.guarantee,
        inexact=inexact,
        clamped=form.clamped,
        **{"n": len(form.coords), **more},
    )


def _shaped(form: Form, answer: Answer) -> Any:
    """The value in the form of the input."""
    kind, value = answer.query.kind, answer.value
    if value is None:
        return None
    if kind == "points":
        return form.points(value)
    if kind == "place":
        return form.place(value)
    if kind == "box":
        return form.box(value)
    if kind == "body":
        return form.body(value)
    if kind == "positions":
        return form.labels(value)
    if kind == "position":
        return _plain(form.labels(np.array([value]))[0])
    return value


def _plain(label: Any) -> Any:
    """Return a label as Python has it, if it is a whole number."""
    return label.item() if isinstance(label, np.integer) else label


class _One:
    """A question about one person's points."""

    def __init__(self, form: Form, make: Make, guarantee: Guarantee) -> None:
        self.form = form
        n, dimension = form.coords.shape
        self.query = make(form, n, dimension, guarantee)

    @property
    def first(self) -> Query:
        """The question."""
        return self.query

    @property
    def shown(self) -> Form:
        """The form of what is released."""
        return self.form

    #: Whose the points are: one person's.
    assignment = ""

    def without(self, skipped: Any) -> _One:
        """Nobody is left out of one."""
        return self

    def draw(self, source: Source, progress: Callable[[float], None]) -> Answer:
        """The answer."""
        return self.query.ask(self.form.coords, source)

    def kept(self, outcome: Answer) -> Any:
        """The answer as it is stored."""
        return outcome.parts()

    def restored(self, stored: Any) -> Answer:
        """The answer that was stored."""
        return self.query.restored(stored)

    def release(self, outcome: Answer, source: Source) -> Release:
        """The answer in the form of the input."""
        return _release(self.form, _shaped(self.form, outcome), (outcome,), source, coords=outcome.coords)


@dataclass(frozen=True)
class _Crowd:
    """A question about each of many persons: `rows` puts the points of one beside each other."""

    form: Form
    persons: Any
    sizes: Index
    rows: Index
    queries: list[Any]
    which: Index
    #: Whether all persons of the form are in it.
    whole: bool = True

    @classmethod
    def of(cls, form: Form, make: Make, guarantee: Guarantee, by: Any) -> _Crowd:
        """The persons that labels tell apart."""
        import pandas as pd
        import pyarrow as pa

        codes, persons = pd.factorize(form.people(by))
        if pd.api.types.is_string_dtype(persons):
            distinct(pa.array(persons, pa.string()), by if isinstance(by, str) else "by", "x")
        sizes = np.bincount(codes)
        queries, which = by_size(sizes, lambda n: make(form, n, form.coords.shape[1], guarantee))
        name = by if isinstance(by, str) else "person"
        index = pd.Index(copied(persons), name=name, copy=False, tupleize_cols=False)
        return cls(form, index, sizes, np.argsort(codes, kind="stable"), queries, which)

    @property
    def assignment(self) -> str:
        """Whose each point is, which is public, in a form that can be compared."""
        return hashlib.sha256(self.rows.tobytes() + self.sizes.tobytes()).hexdigest()

    @property
    def shown(self) -> Form:
        """The form of what is released: without those who are left out."""
        return self.form if self.whole else self.form.chosen(np.sort(self.rows))

    @property
    def first(self) -> Query:
        """The question about some of them."""
        return self.queries[0]  # type: ignore[no-any-return]

    def without(self, skipped: Any) -> _Crowd:
        """The same for all but some persons."""
        if skipped is None:
            return self
        kept = ~skipped
        rows = self.rows[np.repeat(kept, self.sizes)]
        persons = copied_index(self.persons[kept])
        return replace(self, persons=persons, sizes=self.sizes[kept], rows=rows, which=self.which[kept], whole=False)

    @property
    def _asked(self) -> Persons[Query]:
        return Persons(self.queries, self.which)

    def draw(self, source: Source, progress: Callable[[float], None]) -> Answers:
        """Return the answers about all persons."""
        drawn = ask_each(self._asked, self.form.coords[self.rows], source, progress)
        return drawn.renamed(self.rows)

    def kept(self, outcome: Answers) -> Any:
        """Return the answers as they are stored."""
        return outcome.parts()

    def restored(self, stored: Any) -> Answers:
        """Return the answers that were stored."""
        return restored_each(self._asked, stored)

    def release(self, outcome: Answers, source: Source) -> Release:
        """Return the answers in the form of the input."""
        coords = outcome.coords
        if self.first.kind == "points":
            # In the order in which the points came.
            places = self.rows if self.whole else np.argsort(np.argsort(self.rows))
            coords = np.empty_like(outcome.values)
            coords[places] = outcome.values
            value = self.shown.points(coords)
        else:
            value = _table(self.form, outcome, self.persons)
        return _release(self.form, value, outcome.each, source, n=len(self.rows), coords=coords, by=self.persons)


def _table(form: Form, answers: Answers, persons: Any) -> Any:
    """Return a frame with one row for each person; for neighbours, one for each person and rank."""
    import geopandas
    import pandas as pd

    query, values = answers.persons.first, answers.values
    kind = query.kind
    if kind == "positions":
        k = len(values[0])
        ranks = np.tile(np.arange(1, k + 1), len(values))
        index = pd.MultiIndex.from_arrays([persons.repeat(k), ranks], names=[persons.name, "rank"])
        return pd.DataFrame({query.name: np.asarray(form.labels(np.ravel(values)))}, index=index)
    if kind == "place" and not isinstance(form, ArrayForm):
        import shapely

        return geopandas.GeoDataFrame(geometry=shapely.points(form.out(values)), index=persons, crs=form.crs)
    if kind in ("place", "box", "length", "value"):
        if values.shape[1] == 1 and kind != "place":
            return pd.DataFrame({query.name: values[:, 0]}, index=persons)
        shown = form.boxes(values) if kind == "box" else form.out(values) if kind == "place" else values
        return pd.DataFrame(shown, index=persons, columns=_columns(query, values.shape[1]))
    if kind == "position":
        # Labels stay what they are beside None.
        named = np.full(len(persons), None, dtype=object)
        there = np.flatnonzero(values >= 0)
        labels = form.labels(values[there])
        for i, label in zip(there.tolist(), map(labels.__getitem__, range(len(there))), strict=True):
            named[i] = _plain(label)
        return pd.DataFrame({query.name: pd.Series(named, index=persons, dtype=object)})
    shaped = form.bodies(values)
    if hasattr(shaped[0], "geom_type"):
        return geopandas.GeoDataFrame(geometry=shaped, index=persons, crs=form.crs)
    return pd.DataFrame({query.name: pd.Series(shaped, index=persons, dtype=object)})


def _columns(query: Query, size: int) -> list[str]:
    if query.kind == "value":
        return [f"value{i}" for i in range(size)]
    d = query.dimension
    axes = ["x", "y", "z"][:d] if d <= 3 else [f"x{i}" for i in range(d)]
    return axes if query.kind == "place" else [f"min{a}" for a in axes] + [f"max{a}" for a in axes]
