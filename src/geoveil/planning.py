"""Plan a question before any data is used: the error of a budget, or the budget for an error."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal, NoReturn

import numpy as np

from geoveil import checks
from geoveil._types import Length, Method
from geoveil.answering.intake import in_the_plane
from geoveil.errors import GeoveilError, InvalidParameter, Message, NoErrorBound
from geoveil.facts.wording import guarantee_line, protected
from geoveil.geo.areas import Area, AreaLike, area_of
from geoveil.geo.geometries import Floats
from geoveil.host.arithmetic import steady
from geoveil.mechanisms import Lipschitz
from geoveil.noise import rehearsal
from geoveil.privacy import (
    CGP,
    GP,
    Duration,
    Guarantee,
    Metric,
    as_duration,
    as_metric,
    dist_1,
    dist_inf,
    exact,
    promise,
    protected_metric,
    regular_stretch_size,
)
from geoveil.privacy.exact import Number
from geoveil.queries import (
    EXTENT,
    SUMMARIES,
    Distance,
    FirstWithin,
    Nearest,
    Points,
    Query,
    UnitSizes,
    UserFunction,
    best_hull,
)
from geoveil.release.kinds import kind_of
from geoveil.text.cards import Card, Rows
from geoveil.text.words import metres

__all__ = ["COMPARED", "Plan", "plan"]

#: The units that a plan compares, by the names of their metrics.
COMPARED = ("inf", "1 day", "1 hour", "1")
_ALL = protected(dist_inf)
#: The logarithm of the largest ε that plans consider: noise of millimetres.
_FARTHEST = 9.0


@dataclass(frozen=True, repr=False)
class Plan(Card):
    """The cost and the error of a question that has not been asked yet.

    Parameters
    ----------
    question : str
        Its name.
    guarantee : CGP or GP
        The guarantee of its answer, which is its cost.
    error : float
        The bound on the error in metres that holds with probability 1-β.
    beta : float
        β.
    assumes : str
        Further assumptions of the error bound; empty if it is the bound of the release.
    units : dict
        With `every`: the error with the same budget for each unit: all points, any day, any hour, each point.
    remark : str
        A note if a smaller unit would not reduce the error; empty if it would.

    Examples
    --------
    >>> gv.plan("mean", n=100, rho=1e-4)
    Plan of mean: nothing was asked or charged
      guarantee  74.1 m hidden at 75% (CGP with ρ = 0.0001 per m²)
      error      at most 174 m with probability 95%
    >>> gv.plan("distance", n=100, rho=1e-4, every="1 minute").remark
    'a smaller unit changes nothing for distance'
    """

    question: str
    guarantee: Guarantee
    error: float
    beta: float
    assumes: str = ""
    units: dict[str, float] = field(default_factory=dict)
    remark: str = ""

    def _card(self) -> tuple[str, Rows]:
        rows = [
            ("guarantee", guarantee_line(self.guarantee)),
            ("error", f"at most {metres(self.error)} with probability {100 * (1 - self.beta):.6g}%"),
            ("assumes", self.assumes),
            *((f"for {protected(as_metric(name))}", metres(error)) for name, error in self.units.items()),
            ("units", self.remark),
        ]
        return f"Plan of {self.question}: nothing was asked or charged", [row for row in rows if row[1]]

    def __str__(self) -> str:
        text = (
            f"{self.question} under {self.guarantee}: at most {self.error:.6g} m with probability {1 - self.beta:.6g}"
        )
        return f"{text}, {self.assumes}" if self.assumes else text


@steady()
def plan(
    question: str,
    *,
    n: int,
    error: Length | None = None,
    hide: float | str | None = None,
    rho: Number | CGP | None = None,
    epsilon: Number | GP | None = None,
    beta: float = 0.05,
    notion: Literal["CGP", "GP"] | Guarantee = "CGP",
    protect: str | timedelta | None = None,
    together: bool = False,
    largest: int | None = None,
    every: Duration | None = None,
    method: Method = "best",
    dimension: int = 2,
    each: bool = False,
    area: AreaLike = None,
    k: int | None = None,
    locations: float | None = None,
    extent: Length | None = None,
    **options: Any,
) -> Plan:
    """Compute the error of a budget, or the budget that an error needs, before any data is used.

    Parameters
    ----------
    question : str
        The name of a question: "points", "nearest", "hull", "mean", ...
    n : int
        The number of points of one person.
    error : float, optional
        The error wanted, in metres or as a text such as "500m". Give this, or a budget.
    hide, rho, epsilon : optional
        The budget, as for the question itself.
    beta : float
        The probability that the error is larger.
    notion : {"CGP", "GP"}, or guarantee
        The notion of privacy to plan for, where `error` is given; a guarantee also states its metric.
    protect : str or timedelta, optional
        What is hidden together: a length of time such as "1 day", or "point".
    together : bool
        Whether there is one answer about many persons, whose points n counts.
    largest : int, optional
        With a length of time as `protect`: the largest number of a person's points in a stretch of that length.
        With `together`: the largest number of points of one person.
    every : str, timedelta or number, optional
        The time between two points of a person, in place of `largest`. The plan then compares units: see `Plan.units`.
    method : {"best", "both"}
        As for the question itself.
    dimension : int
        The number of coordinates of a point.
    each : bool
        The error of any one point instead of the largest, as in `Release.error`.
    area : Area, str, or code of a projected system, optional
        The area of the question, as for `Locations`: noise grows by the factor that its plane stretches distances.
    k, locations, extent, **options : optional
        Arguments of the question itself, also `lipschitz`, `size`, ...

    Returns
    -------
    Plan
        Its `error` is the one that the release will state, under the assumptions in `assumes`. The error of a hull
        depends on the released hull: the plan is for a regular hexagon (in more dimensions, a cross-polytope) that
        extends over `extent` metres. With `area=`, the error of a length also contains a share of the released length,
        which `assumes` states. Rounding by PROJ, of millimetres at most for ordinary systems, is not part of a plan.

    Examples
    --------
    >>> gv.plan("nearest", n=20_000, k=10, error=300).guarantee
    CGP(rho=0.0128301)
    >>> round(gv.plan("nearest", n=20_000, k=10, rho=1e-2).error)
    340
    >>> print(gv.plan("hull", n=20_000, rho=5e-5, extent=50_000))       # doctest: +ELLIPSIS
    hull under CGP with ρ = 5e-05 per m²: at most 3... m with probability 0.95, for points that extend over 50 km
    """
    n = checks.count("n", n, low=1, remedy="It is the number of points of one person.")
    metric = protected_metric(protect, crowd=together)
    if method not in ("best", "both"):
        raise InvalidParameter("method", method, "'best' or 'both'", "Leave it out for the least noise.")
    step = None if every is None else as_duration("every", every)
    dimension = checks.count("dimension", dimension, low=1, remedy="It is 2 for places on a map.")
    checks.beta(beta)
    extent = None if extent is None else checks.length("extent", extent)
    options |= {
        name: given for name, given in (("k", k), ("locations", locations), ("extent", extent)) if given is not None
    }
    extent = EXTENT if extent is None else extent
    make = _maker(question, n, dimension, method, options)
    stated = None if area is None else area_of(area)

    def error_of(guarantee: Guarantee) -> float:
        query = make(in_the_plane(guarantee, stated), _units(guarantee.metric, n, largest, step))
        try:
            bound = query.error(beta, each=each)
        except NoErrorBound:
            bound = query.ask(_reference(dimension, extent), rehearsal()).error(beta, each=each)
        return bound if stated is None else kind_of(query).ground_error(query, bound, stated, planned=True)

    if error is None:
        promised = promise(hide, rho, epsilon, metric)
    elif any(budget is not None for budget in (hide, rho, epsilon)):
        raise InvalidParameter("error", error, "left out if a budget is given", "Give one of them.")
    else:
        error = checks.length("error", error)
        if notion not in ("CGP", "GP") and not isinstance(notion, Guarantee):
            raise InvalidParameter("notion", notion, "'CGP' or 'GP'", "CGP is the default.")
        unit = CGP(rho=1) if notion == "CGP" else GP(epsilon=1) if notion == "GP" else notion.with_budget(Decimal(1))
        promised = _least(error_of, unit if metric is None else unit.under_unit(metric), error)
    units = {}
    if step is not None and not promised.metric.persons:
        units = {name: error_of(promised.under_unit(as_metric(name))) for name in COMPARED}
    error = error_of(promised)
    remark = "" if step is None or not units else _compared(question, n, step, units)
    if not units and _smaller(promised.metric) and _as_large(error, error_of(promised.under_unit(dist_inf))):
        remark = f"{protected(promised.metric)} needs as much noise for {question} as {_ALL}"
    return Plan(question, promised, error, beta, _assumed(question, extent, stated, options), units, remark)


def _smaller(metric: Metric) -> bool:
    """Return whether a metric protects less than all points of one person."""
    return metric == dist_1 or metric.stretch is not None


def _compared(question: str, n: int, step: int, units: dict[str, float]) -> str:
    """Say which smaller units do not reduce the error of n points at equal intervals; empty if all do."""
    same = [as_metric(name) for name, error in units.items() if name != "inf" and _as_large(error, units["inf"])]
    if len(same) == len(units) - 1:
        return f"a smaller unit changes nothing for {question}"
    whole = [
        metric for metric in same if metric.stretch is not None and regular_stretch_size(metric.stretch, step) >= n
    ]
    rest = [metric for metric in same if metric not in whole]
    told = [] if not whole else [f"{_listed(whole)} {'holds' if len(whole) == 1 else 'hold'} all {n:,} points"]
    told += [] if not rest else [f"{_listed(rest)} {'changes' if len(rest) == 1 else 'change'} nothing for {question}"]
    return "; ".join(told)


def _as_large(error: float, other: float) -> bool:
    """Return whether an error is at most 1% smaller than another one."""
    return error >= 0.99 * other


def _listed(metrics: list[Metric]) -> str:
    """Return the units of metrics in a sentence, without "of a person's movements"."""
    return " and ".join(protected(metric).removesuffix(" of a person's movements") for metric in metrics)


def _units(metric: Metric, n: int, largest: int | None, step: int | None) -> UnitSizes | None:
    """Return the size of the largest unit of n points, as it is given or for points at equal intervals."""
    if not metric.of_unit:
        return None
    if metric.stretch is not None and not metric.persons and step is not None and largest is None:
        largest = regular_stretch_size(metric.stretch, step)
    if largest is None:
        allowed = (
            f"a number of points, the most that {'one person has' if metric.persons else f'{protected(metric)} holds'}"
        )
        remedy = Message("Or give {every}, the time between two points.")
        raise InvalidParameter("largest", None, allowed, "" if metric.persons else remedy)
    return UnitSizes(min(checks.count("largest", largest, low=1, remedy="It is a number of points."), n))


def _assumed(question: str, extent: float, area: Area | None, options: Mapping[str, Any]) -> str:
    """Return the further assumptions of a plan's error bound, in words."""
    if question == "hull":
        return f"for points that extend over {extent / 1000:g} km"
    if area is None:
        return ""
    if question == "nearest" or (question == "first_within" and "radius" in options):
        return "for a place in the area"
    lengths = ("diameter", "distance", "radius", "radius_of_gyration")
    of = "length" if question in lengths else "radius" if question == "first_within" else ""
    if not of:
        return ""
    share = max(1 / area.shrink - 1, 1 - 1 / area.stretch)
    return f"and for the plane up to {100 * share:.2g}% of the {of}"


def _maker(
    question: str, n: int, dimension: int, method: str, options: Mapping[str, Any]
) -> Callable[[Guarantee, UnitSizes | None], Query]:
    """Return a function that builds the query for a guarantee."""
    origin = np.zeros(dimension)
    kinds: dict[str, Callable[..., Query]] = {
        **SUMMARIES,
        "points": Points,
        "nearest": lambda *args, **more: Nearest(*args, p=origin, **more),
        "first_within": lambda *args, radius=1.0, **more: FirstWithin(
            *args, p=origin, radius=checks.length("radius", radius), **more
        ),
        "distance": lambda *args, **more: Distance(*args, measure=_nowhere, **more),
        "hull": best_hull,
        "answer": _own,
    }
    if not isinstance(question, str) or question not in kinds:
        raise InvalidParameter("question", question, ", ".join(sorted(kinds)), "It is the name of the function.")

    def make(guarantee: Guarantee, units: UnitSizes | None) -> Query:
        more = options if units is None else {**options, "units": units}
        try:
            return kinds[question](n, dimension, guarantee, method, **more)
        except TypeError as problem:
            if isinstance(problem, GeoveilError):
                raise
            # Python's message names the missing or unknown argument after the name of a class that users never see.
            reason = str(problem).partition("() ")[2]
            remedy = f"{question} {reason}. Give what gv.{question} takes, without the data and the place."
            raise InvalidParameter("options", sorted(options), f"those of {question}", remedy) from None

    return make


def _own(
    n: int,
    dimension: int,
    guarantee: Guarantee,
    method: str,
    *,
    lipschitz: float,
    size: int = 1,
    units: UnitSizes | None = None,
) -> Query:
    fn = Lipschitz(_nowhere, lipschitz, guarantee.metric)
    return UserFunction(n, dimension, guarantee, method, fn=fn, numbers=size, units=units)


def _nowhere(x: object) -> NoReturn:
    raise TypeError("A plan has no data.")


def _reference(dimension: int, extent: float) -> Floats:
    """Return the vertices of the body of this diameter for which a hull is planned."""
    if dimension == 2:
        angle = 0.1 + np.pi / 3 * np.arange(6)
        return extent / 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    return extent / 2 * np.concatenate([np.eye(dimension), -np.eye(dimension)])


def _least(error_of: Callable[[Guarantee], float], unit: Guarantee, error: float) -> Guarantee:
    """Return the least budget, to six digits, whose error is at most this.

    Errors are proportional to the noise, so one step finds the budget. The error of a hull is only nearly
    proportional, and its budget is found up to 1%.
    """
    step, log_budget = math.inf, 0.0
    for _ in range(12):
        step = unit.power * math.log(error_of(_budget(unit, log_budget, error)) / error)
        log_budget += step
        if abs(step) < 0.01:
            break
    # The error bound of a hull is not quite monotone in the budget.
    more = min(max(abs(step), 1e-9), 0.01)
    while error_of(_budget(unit, log_budget, error)) > error:
        log_budget += more
        more *= 2
    return _budget(unit, log_budget, error)


def _budget(unit: Guarantee, log_budget: float, error: float) -> Guarantee:
    if log_budget > _FARTHEST * unit.power:
        remedy = Message(
            "No budget is large enough: noise is never finer than a millimetre, a hull is known in some directions "
            "only, and a wide plane distorts distances. State a smaller area with {area}, or allow a larger error."
        )
        raise InvalidParameter("error", error, "an error that some budget reaches", remedy)
    return unit.with_budget(exact.to_budget("error", exact.rounded_up(math.exp(log_budget))))
