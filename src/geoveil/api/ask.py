"""The one way of every question: take any form, check, ask the array query, wrap the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from geoveil.errors import IncompatibleGuarantees, InvalidParameter
from geoveil.geo import Form, Plane, enter
from geoveil.geo.forms import FrameForm, Index
from geoveil.mechanisms import sample_people
from geoveil.noise import Source, source_of, stacked
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
    working = in_the_plane(guarantee, form.plane)
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


def in_the_plane(guarantee: Guarantee, plane: Plane | None) -> Guarantee:
    """What must be promised per metre of the plane, so that the guarantee holds per metre on the ground."""
    if plane is None or plane.area.stretch == 1:
        return guarantee
    stretch = plane.area.stretch
    return guarantee / stretch / stretch if guarantee.power == 2 else guarantee / stretch


def _release(form: Form, value: Any, answers: tuple[Answer, ...], source: Source, **more: Any) -> Release:
    inexact = "; ".join(filter(None, (source.inexact, answers[0].query.inexact)))
    return Release(
        value,
        answers=answers,
        n=len(form.coords),
        plane=form.plane,
        inexact=inexact,
        missing=form.missing,
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


def _ask_people(make: Make, form: Form, guarantee: Guarantee, source: Source, by: Any) -> Release:
    import pandas as pd

    codes, persons = pd.factorize(form.people(by))
    persons = pd.Index(persons, name=by if isinstance(by, str) else "person")
    sizes = np.bincount(codes)
    rows = np.argsort(codes, kind="stable")
    dimension = form.coords.shape[1]
    # Queries of persons with equally many points are the same.
    by_size = {int(n): make(form, int(n), dimension, guarantee) for n in np.unique(sizes)}
    queries: list[Any] = [by_size[int(n)] for n in sizes]
    if isinstance(queries[0], Points):
        return _points_of_people(form, by_size, queries, sizes, rows, source, persons)
    groups = np.split(rows, np.cumsum(sizes)[:-1])
    if isinstance(queries[0], LipschitzQuery):
        # Everyone's value is there before anyone's noise is drawn: a function that fails one person fails all.
        values = [query.evaluate(form.coords[group]) for query, group in zip(queries, groups, strict=True)]
        alone = np.ones(len(values), dtype=np.int64)
        noisy = sample_people([query.mechanism for query in queries], alone, stacked(values), source)
        answers = [
            query.finish(row.reshape(value.values.shape))
            for query, row, value in zip(queries, noisy, values, strict=True)
        ]
    else:
        answers = [
            _renamed(query.ask(form.coords[group], source), group)
            for query, group in zip(queries, groups, strict=True)
        ]
    released = [answer.coords for answer in answers if answer.coords is not None]
    coords = np.concatenate(released) if released else None
    return _release(form, _frame(form, answers, persons), tuple(answers), source, coords=coords, by=persons)


def _points_of_people(
    form: Form,
    by_size: dict[int, Query],
    queries: list[Any],
    sizes: Index,
    rows: Index,
    source: Source,
    persons: Any,
) -> Release:
    released = np.empty_like(form.coords)
    mechanisms = [query.mechanism for query in queries]
    released[rows] = sample_people(mechanisms, sizes, form.coords[rows], source)
    shared = {n: Answer(query, None, query.mechanisms) for n, query in by_size.items()}
    value = form.points(released)
    answers = tuple(shared[int(n)] for n in sizes)
    return _release(form, value, answers, source, coords=released, by=persons)


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
    if query.kind in ("place", "body") and hasattr(values[0], "geom_type"):
        return geopandas.GeoDataFrame(geometry=values, index=persons, crs=form.crs)
    if isinstance(values[0], np.ndarray) and values[0].ndim == 1:
        return pd.DataFrame(np.array(values), index=persons, columns=_columns(query, len(values[0])))
    kept = object if query.kind in ("body", "position") else None  # labels stay what they are beside None
    return pd.DataFrame({query.name: pd.Series(values, index=persons, dtype=kept)})


def _columns(query: Query, size: int) -> list[str]:
    if query.kind == "value":
        return [f"value{i}" for i in range(size)]
    d = query.dimension
    axes = ["x", "y", "z"][:d] if d <= 3 else [f"x{i}" for i in range(d)]
    return axes if query.kind == "place" else [f"min{a}" for a in axes] + [f"max{a}" for a in axes]
