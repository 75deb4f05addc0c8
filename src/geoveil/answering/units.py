"""The unit of protection that a caller asks for: all points, a stretch of time, a person's points, or a point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from geoveil._types import Labels, MetricLike, UnitLike
from geoveil.errors import InvalidParameter, Message
from geoveil.privacy import Guarantee, as_duration, as_unit, is_duration, unit_metric

__all__ = ["Unit", "unit_of"]


@dataclass(frozen=True)
class Unit:
    """A unit of protection.

    Parameters
    ----------
    metric : Metric or its name, optional
        Its metric; None if the caller stated none, so that the budget's own metric holds.
    persons : str or array of labels, optional
        The person of each point, where one answer is about the points of many persons.
    """

    metric: MetricLike = None
    persons: Labels = None

    def under(self, guarantee: Guarantee) -> Unit:
        """Return the unit with the metric of a guarantee, which may be a budget's own."""
        return replace(self, metric=guarantee.metric)


def unit_of(unit: UnitLike, metric: MetricLike = None, *, by: Labels = None) -> Unit:
    """Return the unit that a caller means by `unit=` or `metric=`.

    Parameters
    ----------
    unit : str, timedelta, labels or tuple, optional
        "point"; a length of time such as "1 day"; a column or labels of persons; or labels and a length of time.
    metric : str, optional
        The metric, where no unit is given.
    by : str or array of labels, optional
        The person of each point, where every person gets an answer of their own.
    """
    if unit is None:
        return Unit(metric)
    if metric is not None:
        raise InvalidParameter("metric", metric, Message("left out if {unit} is given"), "A unit has its own metric.")
    if isinstance(unit, str | timedelta) and (own := as_unit(unit)) is not None:
        return Unit(own)
    labels, stretch = unit, None
    if isinstance(unit, tuple) and len(unit) == 2 and is_duration(unit[1]):
        labels, stretch = unit[0], as_duration("unit", unit[1])
    if by is not None:
        if isinstance(labels, str) and isinstance(by, str) and labels == by:
            return Unit(unit_metric(stretch=stretch))
        allowed = '"point" or a length of time such as "1 day", with {by}: every person gets an answer of their own'
        remedy = Message("Leave {by} out for one answer about all persons.")
        raise InvalidParameter("unit", unit, Message(allowed), remedy)
    if labels is None:
        allowed = "the person of each point, and a length of time"
        raise InvalidParameter("unit", unit, allowed, 'Try ("user", "1 day").')
    return Unit(unit_metric(stretch=stretch, persons=True), labels)
