"""The one way of every question: take any form, check, ask the array query, wrap the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geoveil.errors import IncompatibleGuarantees, InvalidParameter
from geoveil.geo import Area, Form, enter
from geoveil.geo.columns import distinct
from geoveil.geo.forms import ArrayForm, FrameForm, Index
from geoveil.mechanisms import sample_people
from geoveil.noise import Source, source_of
from geoveil.privacy import CGP, GP, Guarantee, Metric, as_metric
from geoveil.privacy.exact import Number
from geoveil.queries import Answer, Points, Query
from geoveil.queries.summaries import LipschitzQuery
from geoveil.release import Release

__all__ = ["Make", "ask", "budget", "in_the_plane"]

#: Builds a query from the form of the data, the number of points, their dimension and the guarantee.
Make = Callable[[Form, int, int, Guarantee], Query]


def budget(rho: Number | CGP | None, epsilon: Number | GP | None, metric: str | Metric | None) -> Guarantee:
    """The guarantee that the caller asks for, by exactly one of rho and epsilon."""
    if (rho is None) == (epsilon is None):
        raise InvalidParameter(
            "rho, epsilon",
            (rho, epsilon),
            "exactly one of them",
            "Give rho= (CGP, per square metre) or epsilon= (GP, per metre); gv.CGP.hiding() finds one by meaning.",
        )
    given: Number | Guarantee = rho if rho is not None else epsilon  # type: ignore[assignment]
    kind: type[CGP] | type[GP] = CGP if rho is not None else GP
    if isinstance(given, Guarantee):
        if not isinstance(given, kind) or (isinstance(given, GP) and not given.pure):
            wanted = "rho= takes a CGP guarantee" if kind is CGP else "epsilon= takes a pure GP guarantee"
            raise IncompatibleGuarantees(f"{wanted}, not {given!r}.")
        if metric is not None and as_metric(metric) != given.metric:
            raise InvalidParameter(
                "metric", metric, f"{given.metric.name!r}, as the guarantee has it", "Leave metric out."
            )
        return given
    used = "inf" if metric is None else metric
    return CGP(rho=given, metric=used) if kind is CGP else GP(epsilon=given, metric=used)


def ask(
    make: Make,
    x: Any,
    *,
    rho: Number | CGP | None,
    epsilon: Number | GP | None,
    metric: str | Metric | None,
    by: Any,
    rng: np.random.Generator | None,
    crs: Any = None,
    outside: str = "refuse",
    missing: str = "refuse",
    keep: Any = None,
) -> Release:
    """Ask one question about one tuple, or about one tuple for each person.

    Parameters are checked and data is let in before anything random is drawn.
    """
    guarantee = budget(rho, epsilon, metric)
    source = source_of(rng)
    form = enter(x, crs, outside=outside, missing=missing)
    working = in_the_plane(guarantee, form.plane.area if form.plane else None)
    if by is None:
        n, dimension = form.coords.shape
        query = make(form, n, dimension, working)
        answer = query.ask(form.coords, source)
        release = _release(form, _shaped(form, answer), (answer,), source, coords=answer.coords)
    else:
        release = _ask_people(make, form, working, source, by)
    if working is not guarantee:
        release = replace(release, asked=guarantee)
    if release.query == "points" and hasattr(release.value, "columns"):
        assert isinstance(form, FrameForm)
        value, left_out = form.with_columns(release.value, by, keep)
        release = replace(release, value=value, left_out=left_out)
    return release


def in_the_plane(guarantee: Guarantee, area: Area | None) -> Guarantee:
    """What must be promised per metre of the plane, so that the guarantee holds per metre on the ground."""
    if area is None or area.stretch == 1:
        return guarantee
    whole = guarantee / area.stretch
    return whole / area.stretch if guarantee.power == 2 else whole


def _release(form: Form, value: Any, answers: tuple[Answer, ...], source: Source, **more: Any) -> Release:
    inexact = "; ".join(filter(None, (source.inexact, answers[0].query.inexact)))
    return Release(
        value,
        answers=answers,
        n=len(form.coords),
        plane=form.plane,
        inexact=inexact,
        missing=form.missing,
        clamped=form.clamped,
        **more,
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
        label = form.labels(np.array([value]))[0]
        return label.item() if isinstance(label, np.integer) else label
    return value


@dataclass(frozen=True)
class _Crowd:
    """Many persons' points: `rows` puts those of one beside each other, sizes[i] of them the i-th's."""

    persons: Any
    sizes: Index
    rows: Index
    queries: list[Any]
    which: Index

    @property
    def each(self) -> list[Any]:
        """The query of each person; those with equally many points share one."""
        return [self.queries[i] for i in self.which]

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What was run about each person, where the values are elsewhere."""
        shared = [Answer(getattr(query, "kept", query), None, query.mechanisms) for query in self.queries]
        return tuple([shared[i] for i in self.which])


def _ask_people(make: Make, form: Form, guarantee: Guarantee, source: Source, by: Any) -> Release:
    import pandas as pd
    import pyarrow as pa

    codes, persons = pd.factorize(form.people(by))
    if pd.api.types.is_string_dtype(persons):
        distinct(pa.array(persons, pa.string()), by if isinstance(by, str) else "by", "x")
    sizes = np.bincount(codes)
    numbers, which = np.unique(sizes, return_inverse=True)
    dimension = form.coords.shape[1]
    crowd = _Crowd(
        pd.Index(persons, name=by if isinstance(by, str) else "person"),
        sizes,
        np.argsort(codes, kind="stable"),
        [make(form, int(n), dimension, guarantee) for n in numbers],
        which,
    )
    if isinstance(crowd.queries[0], Points):
        return _points_of_people(form, crowd, source)
    if isinstance(crowd.queries[0], LipschitzQuery):
        return _values_of_people(form, crowd, source)
    groups = np.split(crowd.rows, np.cumsum(sizes)[:-1])
    answers = [
        _renamed(query.ask(form.coords[group], source), group) for query, group in zip(crowd.each, groups, strict=True)
    ]
    released = [answer.coords for answer in answers if answer.coords is not None]
    coords = np.concatenate(released) if released else None
    value = _frame(form, answers, crowd.persons)
    return _release(form, value, tuple(answers), source, coords=coords, by=crowd.persons)


def _points_of_people(form: Form, crowd: _Crowd, source: Source) -> Release:
    released = np.empty_like(form.coords)
    mechanisms = [query.mechanism for query in crowd.each]
    released[crowd.rows] = sample_people(mechanisms, crowd.sizes, form.coords[crowd.rows], source)
    return _release(form, form.points(released), crowd.answers, source, coords=released, by=crowd.persons)


def _values_of_people(form: Form, crowd: _Crowd, source: Source) -> Release:
    """Everyone's value is there before anyone's noise is drawn: a function that fails one person fails all."""
    query = crowd.queries[0]
    values = query.evaluate_people(form.coords[crowd.rows], crowd.sizes)
    mechanisms = [query.mechanism for query in crowd.each]
    alone = np.ones(len(crowd.sizes), dtype=np.int64)
    right = query.put_right(sample_people(mechanisms, alone, values, source))
    value = _table(form, query, right, crowd.persons)
    return _release(form, value, crowd.answers, source, coords=query.places(right), by=crowd.persons)


def _renamed(answer: Answer, group: Index) -> Answer:
    """Positions among one person's points, if that is the answer, as positions among all."""
    if answer.value is None or answer.query.kind not in ("positions", "position"):
        return answer
    return replace(answer, value=group[answer.value])


def _frame(form: Form, answers: list[Answer], persons: Any) -> Any:
    """One row for each person; for neighbours, one for each person and rank."""
    import geopandas
    import pandas as pd

    query = answers[0].query
    values = [_shaped(form, answer) for answer in answers]
    if query.kind == "positions":
        k = len(values[0])
        ranks = np.tile(np.arange(1, k + 1), len(values))
        index = pd.MultiIndex.from_arrays([persons.repeat(k), ranks], names=[persons.name, "rank"])
        return pd.DataFrame({query.name: np.concatenate(values)}, index=index)
    if query.kind == "body" and hasattr(values[0], "geom_type"):
        return geopandas.GeoDataFrame(geometry=values, index=persons, crs=form.crs)
    # Labels stay what they are beside None.
    return pd.DataFrame({query.name: pd.Series(values, index=persons, dtype=object)})


def _table(form: Form, query: LipschitzQuery, values: Any, persons: Any) -> Any:
    """Values of persons, as rows, in a frame."""
    import geopandas
    import pandas as pd

    if query.kind == "place" and not isinstance(form, ArrayForm):
        import shapely

        return geopandas.GeoDataFrame(geometry=shapely.points(form.out(values)), index=persons, crs=form.crs)
    if query.size == 1 and query.kind != "place":
        return pd.DataFrame({query.name: values[:, 0]}, index=persons)
    shown = form.boxes(values) if query.kind == "box" else values
    return pd.DataFrame(shown, index=persons, columns=_columns(query, query.size))


def _columns(query: Query, size: int) -> list[str]:
    if query.kind == "value":
        return [f"value{i}" for i in range(size)]
    d = query.dimension
    axes = ["x", "y", "z"][:d] if d <= 3 else [f"x{i}" for i in range(d)]
    return axes if query.kind == "place" else [f"min{a}" for a in axes] + [f"max{a}" for a in axes]
