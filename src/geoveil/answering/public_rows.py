"""The public numbers of rows, from which every error follows: persons, points, times and the area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from geoveil.answering.concerns import half_of_points
from geoveil.answering.counted_rows import CountedRows
from geoveil.answering.point_facts import PointFacts
from geoveil.errors import InvalidParameter
from geoveil.geo.columns import ROW
from geoveil.geo.geometries import Floats, Index
from geoveil.geo.planes import Plane
from geoveil.geo.seconds import ReadTimes
from geoveil.privacy import Guarantee, Metric, as_duration, dist_1, protected_metric

__all__ = ["ForeseenCrowd", "PublicRows", "Typical", "protect_of"]

#: The largest number of points of a track from which the error after smoothing is computed.
_TRACK = 5_000


@dataclass(frozen=True)
class ForeseenCrowd:
    """The public numbers of a crowd's items, as `CrowdQuestion.query` reads them."""

    n: int
    all_sizes: tuple[Index, Index]
    #: Noise does not depend on it.
    rounding: float = 0.0


@dataclass(frozen=True)
class Typical:
    """The typical person: half of all points belong to persons with at least as many points."""

    #: The number of points.
    points: int
    #: The largest number of them that are protected together.
    largest: int
    #: Their times in order, at most 5 000 of them; empty without times.
    seconds: Floats


@dataclass(frozen=True, eq=False)
class PublicRows:
    """The public numbers of rows."""

    #: The person, the row and the time of each point.
    facts: PointFacts
    #: The plane of the area.
    plane: Plane
    #: Whether persons are named; otherwise all points are one person's.
    named: bool
    #: The number of places of a row: 2 if rows have an origin and a destination.
    ends: int = 1
    #: What is protected together, if that is stated.
    protect: str | None = None
    #: The interval in which one row was kept, if that is stated: the facts are about the rows that were kept.
    thin: str | None = None
    #: The column of trips, if one is recognised.
    trip: str | None = None
    #: Whether each row is another person.
    by_row: bool = False
    #: Whether there are further rows, which have no time; the facts leave them out.
    untimed: bool = False
    #: The radius in metres that holds 80% of the points, around their middle. It looks at the data, and changes
    #: verdicts for their owner alone: never a setting.
    reach: float | None = None
    #: The latitude and longitude of the first point of a recording of one person: likely to be where they live, and
    #: for them alone.
    start: tuple[float, float] | None = None
    #: The distance in metres of each point from there; it looks at the data like `reach`.
    from_start: Floats | None = None
    #: The times, as they were read: not all can be counted in every length of time.
    read: ReadTimes | None = None
    unsure: bool = False
    _thinned: dict[str, PointFacts] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, rows: CountedRows, **more: Any) -> PublicRows:
        """Return the public numbers of a file that was counted."""
        settings, timed, file = rows.rules.settings, rows.counted.timed, rows.rules.file
        named, ends = rows.people.by is not None, file.points_in_a_row
        if timed is None:
            codes = np.repeat(np.arange(len(rows.people.sizes)), rows.people.sizes)
            facts = PointFacts(codes if named else None, np.arange(len(codes)) // ends)
        else:
            facts, more = timed.facts.chosen(timed.points), {"read": timed.read, **more}
        protect = protect_of(rows.rules.guarantee.metric)
        thin = None if settings.thin is None else str(settings.thin)
        return cls(facts, rows.plane, named, ends, protect, thin, by_row=rows.people.by == ROW, **more)

    @property
    def timed(self) -> bool:
        """Whether each point has a time."""
        return self.facts.times is not None

    @property
    def points(self) -> int:
        """The number of points."""
        return len(self.facts)

    @cached_property
    def persons(self) -> int:
        """The number of persons."""
        return 1 if self.facts.persons is None else len(np.unique(self.facts.persons))

    @cached_property
    def single(self) -> bool:
        """Whether each person has one point, or one row with two places."""
        return self.points == self.ends * self.persons

    @property
    def side(self) -> float:
        """The side in metres of the square around the area."""
        area = self.plane.area
        return float(max(high - low for low, high in zip(area.low, area.high, strict=True)))

    @property
    def width(self) -> float:
        """The side of the area, or of the part of it in which most points are if that is known."""
        return self.side if self.reach is None else min(self.side, 3 * self.reach)

    def protecting(self, guarantee: Guarantee, protect: str | None, *, crowd: bool = False) -> Guarantee:
        """Return a guarantee for what is protected together."""
        metric = protected_metric(protect, crowd=crowd and self.named)
        return guarantee if metric is None else guarantee.under_unit(metric)

    def protects(self, *others: str) -> Sequence[str | None]:
        """Return what may be protected together, the most first: what is stated, or all points and some lengths."""
        if self.protect is not None:
            return (self.protect,)
        usable = self.timed and not self.unsure
        return (None, *(length for length in others if usable and self._counts_in(length)))

    def _counts_in(self, length: str) -> bool:
        """Return whether a release accepts the times for this protected length."""
        metric = protected_metric(length)
        if self.read is None or metric is None or metric.stretch is None:
            return True
        try:
            self.read.for_units(metric.stretch)
        except InvalidParameter:
            return False
        return True

    def thins(self, *steps: str) -> Sequence[str | None]:
        """Return intervals in which one row may be kept, all rows first."""
        return (None,) if self.thin is not None or not self.timed else (None, *steps)

    def crowd(self, metric: Metric) -> ForeseenCrowd:
        """Return the items of a crowd, each row with two places one item."""
        sizes = self._kept(None).unit_sizes(metric)[:: self.ends] // self.ends
        distinct, counts = np.unique(np.maximum(sizes, 1), return_counts=True)
        return ForeseenCrowd(len(sizes), (distinct, counts))

    def typical(self, metric: Metric, thin: str | None) -> Typical:
        """Return the typical person, given what is protected together and the interval in which a row is kept."""
        facts = self._kept(thin)
        codes = np.zeros(len(facts), dtype=np.int64) if facts.persons is None else facts.persons
        sizes = np.bincount(codes)
        who = half_of_points(sizes)
        mine = facts.chosen(codes == who)
        largest = int(facts.unit_sizes(metric)[codes == who].max())
        times = np.zeros(0) if mine.times is None else np.sort(mine.times)[:_TRACK] / 1e6
        return Typical(len(mine), largest, times)

    def _kept(self, thin: str | None) -> PointFacts:
        if thin is None:
            return self.facts
        if thin not in self._thinned:
            self._thinned[thin] = self.facts.chosen(self.facts.kept_of_thinned(as_duration("thin", thin)))
        return self._thinned[thin]

    def kept_share(self, thin: str | None) -> float:
        """Return the share of points that remain after thinning."""
        return len(self._kept(thin)) / len(self.facts)


def protect_of(metric: Metric | None) -> str | None:
    """Return what a metric protects, as the argument `protect`; None for all points of a person.

    Examples
    --------
    >>> protect_of(gv.dist_1), protect_of(gv.dist_inf)
    ('point', None)
    """
    if metric == dist_1:
        return "point"
    return None if metric is None or metric.stretch is None else metric.name
