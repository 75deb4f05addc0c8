"""What a stream promises: a budget for any stretch of time, further limits for longer ones, or nothing."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from geoveil._types import Hide, Rho
from geoveil.errors import InvalidParameter, Message
from geoveil.mechanisms import Gaussian
from geoveil.privacy import CGP, Metric, exact, is_duration, promise, protected_metric

__all__ = ["concentrated", "limit", "mechanism_of", "refuse_budgets", "stretch_metric", "stretch_of"]


def refuse_budgets(**given: object) -> None:
    """Refuse what a precise stream has no use for."""
    for name, value in given.items():
        if value is not None:
            allowed = "left out where outside='precise': nothing is spent, and nothing is promised outside of zones"
            raise InvalidParameter(name, value, allowed, "Leave it out, or leave out outside= for noise.")


def concentrated(hide: Hide, rho: Rho, metric: Metric) -> CGP:
    """Return the promise of a stream; its noise is Gaussian, so that it cannot be pure GP."""
    if (hide is None) == (rho is None):
        remedy = Message("Give {hide} (metres hidden at 75%) or {rho} (per square metre).")
        raise InvalidParameter("hide, rho", (hide, rho), "exactly one of them", remedy)
    guarantee = promise(hide, rho, None, metric)
    assert isinstance(guarantee, CGP)
    return guarantee


def stretch_metric(argument: str, given: object) -> Metric:
    """Return the metric of stretches of time of a length."""
    metric = protected_metric(given) if is_duration(given) else None
    if metric is None:
        remedy = 'Write a number and a unit of time, such as "1 day": a stream has no end.'
        raise InvalidParameter(argument, given, 'a length of time such as "1 day"', remedy)
    return metric


def limit(guarantee: CGP, name: str, given: Rho) -> CGP:
    """Return the promise about a longer stretch."""
    metric = stretch_metric("within", name)
    if metric.stretch is None or metric.stretch <= stretch_of(guarantee):
        allowed = f"a length of time longer than {guarantee.metric.name}"
        raise InvalidParameter("within", name, allowed, Message("Give the shortest one as {protect}."))
    return concentrated(None, given, metric)


def stretch_of(guarantee: CGP) -> int:
    """Return the length of the stretch that a promise is about, in microseconds."""
    stretch = guarantee.metric.stretch
    assert stretch is not None
    return stretch


@lru_cache(maxsize=256)
def mechanism_of(guarantee: CGP, capacity: int, cost: int) -> Gaussian:
    """Return the mechanism that may spend this many quanta of a promise: its budget is rounded down."""
    budget = exact.divide_down(exact.multiply(guarantee.rho, Decimal(cost)), Decimal(capacity))
    return Gaussian(CGP(rho=budget, metric=guarantee.metric), 2)
