"""Build questions from the arguments of callers, and check them as far as possible without looking at points."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from geoveil import checks
from geoveil._types import Count, Epsilon, Function, Length, MetricLike, Order, PlaceLike, Rho, ShapeLike
from geoveil.answering.intake import Intake
from geoveil.errors import InvalidParameter, Message
from geoveil.mechanisms import Lipschitz
from geoveil.noise import Reals, as_reals
from geoveil.privacy import Guarantee, as_metric, dist_inf
from geoveil.queries import (
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
from geoveil.queries.evaluation import away

if TYPE_CHECKING:
    import shapely

__all__ = [
    "Question",
    "distance",
    "first_within",
    "hull",
    "lipschitz_function",
    "nearest",
    "own_function",
    "points",
    "summary",
]


@dataclass(frozen=True)
class Question:
    """A question, before it is known how many points each person has."""

    #: The class of its query, or a function that builds one.
    query: Callable[..., Query]
    #: The algorithm: "best", "paper" or "both".
    method: str
    #: The question's own parameters.
    options: Mapping[str, Any] = field(default_factory=dict)

    def about(
        self, n: int, dimension: int, guarantee: Guarantee, *, rounding: float = 0.0, units: UnitSizes | None = None
    ) -> Query:
        """Build the query about n points with units of these sizes, and check its parameters."""
        more = {"rounding": rounding, "units": units, **self.options}
        return self.query(n, dimension, guarantee, self.method, **more)


def points(data: Intake, method: str, order: Order = "public") -> Question:
    """Ask for every point."""
    return Question(Points, method, {"order": "hidden"} if _is_hidden("order", order) else {})


def summary(data: Intake, name: str, method: str, count: Count = "public") -> Question:
    """Ask for a summary, such as the mean or the diameter."""
    return Question(SUMMARIES[name], method, _hiding(data, count))


def nearest(data: Intake, p: PlaceLike, k: int, locations: float | None) -> Question:
    """Ask for the nearest neighbours of a public place."""
    return Question(Nearest, "best", {"p": data.form.public_place("p", p), "k": k, "locations": locations})


def first_within(data: Intake, p: PlaceLike, radius: Length) -> Question:
    """Ask for the first point within a radius of a public place."""
    return Question(
        FirstWithin, "best", {"p": data.form.public_place("p", p), "radius": checks.length("radius", radius)}
    )


def hull(data: Intake, k: int | Literal["optimal"], extent: Length, count: Count = "public") -> Question:
    """Ask for the convex hull, by its support function."""
    return Question(best_hull, "best", {"k": k, "extent": checks.length("extent", extent), **_hiding(data, count)})


def distance(data: Intake, p: ShapeLike, fn_error: float | None, method: str, count: Count = "public") -> Question:
    """Ask for the distance to a public place, line or area."""
    geometry, hiding = data.form.public_geometry(p), _hiding(data, count)
    if geometry is None:
        place = checks.place("p", data.form.public_place("p", p), data.dimension)
        measure = functools.partial(away, p=place, public=True)
        return Question(Distance, method, {"measure": measure, "fn_error": fn_error or 0.0, **hiding})
    if data.dimension != 2:
        raise InvalidParameter("p", p, "coordinates, unless x is in the plane", "Give d numbers.")
    measure = functools.partial(_to_geometry, geometry=geometry)
    return Question(
        Distance, method, {"measure": measure, "fn_error": fn_error, "rounding": data.doubles_rounding, **hiding}
    )


def _hiding(data: Intake, count: Count) -> dict[str, bool]:
    """Return the option of a query that hides the number of points, if that is asked for."""
    if not _is_hidden("count", count):
        return {}
    if data.form.outside == "drop":
        remedy = Message("Use {outside:clamp}, or leave {count} out.")
        raise InvalidParameter("outside", "drop", "left out where the number of points is hidden", remedy)
    return {"hides_count": True}


def _is_hidden(argument: str, value: str) -> bool:
    """Return whether the order or the number of points is hidden."""
    if value not in ("public", "hidden"):
        raise InvalidParameter(argument, value, "'public' or 'hidden'", "Leave it out: it is public.")
    return value == "hidden"


def _to_geometry(x: Reals, geometry: shapely.Geometry) -> Reals:
    import shapely

    shapely.prepare(geometry)
    return as_reals(shapely.distance(shapely.points(x.values), geometry))


def lipschitz_function(
    fn: Function | Lipschitz, lipschitz: float | None, metric: MetricLike, rho: Rho, epsilon: Epsilon
) -> Lipschitz:
    """Return a user's function with its Lipschitz constant and the metric for which it is stated.

    The constant of a plain function is taken to hold under the metric that is asked for, or else that of the budget.
    """
    for given in (rho, epsilon):
        if metric is None and isinstance(given, Guarantee) and given.metric != dist_inf:
            metric = given.metric
    if isinstance(fn, Lipschitz):
        if lipschitz is not None and lipschitz != fn.constant:
            raise InvalidParameter("lipschitz", lipschitz, f"{fn.constant}, the constant of fn", "Leave it out.")
        if metric is not None and as_metric(metric) != fn.metric:
            allowed = f"a Lipschitz function under {as_metric(metric)}, the metric of what is hidden"
            raise InvalidParameter("fn", f"Lipschitz under {fn.metric}", allowed, "State its constant there.")
        return fn
    if not callable(fn):
        remedy = "The data is in Locations: gv.Locations(x).answer(fn, ...)."
        raise InvalidParameter("fn", fn, "a function of an (n, d) array, or a Lipschitz", remedy)
    if lipschitz is None:
        raise InvalidParameter("lipschitz", None, "given", "It is how fast fn can change: 1 for a distance.")
    return Lipschitz(fn, lipschitz, "inf" if metric is None else metric)


def own_function(data: Intake, fn: Lipschitz, size: int, fn_error: float | None, method: str) -> Question:
    """Ask for the value of a user's function."""
    checks.count("size", size, low=1, remedy="It is the number of values that fn returns.")
    return Question(
        UserFunction, method, {"fn": fn, "numbers": size, "fn_error": fn_error, "rounding": data.doubles_rounding}
    )
