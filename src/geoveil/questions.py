"""The public questions, in the manner of numpy and shapely."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, Unpack

from numpy.typing import ArrayLike

from geoveil import checks
from geoveil.answering.how import How, known, question
from geoveil.answering.pipeline import ask
from geoveil.errors import InvalidParameter
from geoveil.geo import Form
from geoveil.mechanisms import Lipschitz
from geoveil.noise import Reals, as_reals
from geoveil.privacy import Guarantee, as_metric
from geoveil.queries import (
    EXTENT,
    SUMMARIES,
    Distance,
    FirstWithin,
    Hull,
    Nearest,
    Points,
    Query,
    UserFunction,
    best_hull,
)
from geoveil.queries.evaluation import away, displacement
from geoveil.release import Release

__all__ = [
    "answer",
    "bounds",
    "center",
    "diameter",
    "distance",
    "first_within",
    "hull",
    "mean",
    "median",
    "nearest",
    "points",
    "radius",
    "radius_of_gyration",
]


def _ask(
    query: Callable[..., Query],
    x: Any,
    how: How,
    options: Callable[[Form], dict[str, Any]] = lambda _: {},
    **more: Any,
) -> Release:
    """Ask a query whose own options may need the form of x."""

    def make(form: Form, n: int, d: int, guarantee: Guarantee) -> Query:
        return query(n, d, guarantee, how.get("method", "best"), **{"rounding": form.rounding, **options(form)})

    known(how, How)
    return ask(
        make,
        x,
        rho=how.get("rho"),
        epsilon=how.get("epsilon"),
        metric=how.get("metric"),
        by=how.get("by"),
        rng=how.get("rng"),
        area=how.get("area"),
        crs=how.get("crs"),
        outside=how.get("outside", "refuse"),
        missing=how.get("missing", "refuse"),
        key=how.get("key"),
        **more,
    )


@question
def points(x: Any, *, keep: Any = None, **how: Unpack[How]) -> Release:
    """Release every point of a tuple: a place, a set of places or a trajectory.

    Parameters
    ----------
    keep : list of columns or "all", optional
        Which columns of a GeoDataFrame are released unchanged, beside times and the one named by `by`. The others are
        removed, as they may give places away; the release's `removed.columns` names them. "all" is without columns
        whose names tell places ("lat", "city", "zip_code"); those that hold geometries, bytes or nested values are
        never released.

    Returns
    -------
    Release
        Its value is like x. `error(beta)` is the largest error over the tuple, `error(beta, each=True)` any point's.

    Notes
    -----
    n points of one person share the budget under "inf": noise grows with √n under CGP and with n under GP. So say
    with `by` whose points they are.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> walk = np.column_stack([np.arange(5) * 100.0, np.zeros(5)])
    >>> release = gv.points(walk, rho=5e-5)
    >>> release.value.shape
    (5, 2)
    >>> release
    Release of points: 5 points, taken as one person's
      guarantee  5e-05-CGP per m² under dist_inf
      mechanism  Gaussian of scale 223.7 m
      error      at most 678 m with probability 95%; any one point 548 m
      exact      yes
    """
    return _ask(Points, x, how, keep=keep)


@question
def nearest(
    x: Any, p: Any, *, k: int, locations: float | None = None, gamma0: float = 0.0, **how: Unpack[How]
) -> Release:
    """Find the k points nearest to a public place.

    The answer names points, not places. Looking the places up in one's own data and publishing them would be a leak:
    `locations` releases them too.

    Parameters
    ----------
    p : array or shapely Point
        The place, in the coordinate system of x; or a GeoSeries of one Point in any.
    k : int
        How many neighbours.
    locations : float, optional
        The share of the budget that releases the places of the neighbours, as the release's `coords`.
    gamma0 : float
        The paper's γ0 in metres: below 0 more accurate.

    Returns
    -------
    Release
        Its value is the positions of the neighbours, or the index labels of a frame, in the order found;
        `release.positions` are positions in any case. `error(beta)` is how much farther than the true neighbours they
        are. Places released by `locations` have an error of their own: `release.mechanism[-1].error(beta, blocks=k)`.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> x = np.column_stack([np.arange(100) * 1000.0, np.zeros(100)])
    >>> len(gv.nearest(x, (0, 0), k=3, rho=1e-3).value)
    3
    """

    def options(form: Form) -> dict[str, Any]:
        return {"p": form.public_place("p", p), "k": k, "locations": locations, "gamma0": gamma0}

    return _ask(Nearest, x, how, options)


@question
def hull(
    x: Any,
    *,
    k: int | Literal["optimal", "authors"] = "optimal",
    share: float = 0.5,
    distinct: bool = False,
    gamma0: float = 0.0,
    beta: float = 0.1,
    extent: float = EXTENT,
    **how: Unpack[How],
) -> Release:
    """Release the convex hull of the points, in two or more dimensions.

    What gets noise is the support function: how far the points reach in k directions. The paper releases points near
    the boundary instead, with far more noise; `share`, `distinct`, `gamma0` and `beta` are for method="paper" alone.

    Parameters
    ----------
    k : int, "optimal" or "authors"
        How many directions, an even number; with method="paper", how many probes stand around the points: those that
        minimise the error bound, or as in the experiments of the paper's authors.
    share : float
        The share of the budget that finds vertices; the rest releases their places.
    distinct : bool
        Whether a point that was found is taken out, as the authors' code does.
    gamma0 : float
        The paper's γ0 in metres.
    beta : float
        The probability of failure for which the circle of probes is widened and k is chosen.
    extent : float
        A public guess of how far the points extend, in metres, for the number of directions under `epsilon`, and above
        the plane. A wrong one costs accuracy, never privacy.

    Returns
    -------
    Release
        In the plane a shapely Polygon (a Point or LineString if the noise left no more); above it an (m, d) array
        whose convex hull is the answer, or, above five dimensions and unless noise is small, half-spaces:
        `directions` and `offsets`.
        `error(beta)` is the Hausdorff distance to the true hull.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> x = np.random.default_rng(0).normal(scale=20_000, size=(500, 2))
    >>> gv.hull(x, rho=1e-3).value.geom_type
    'Polygon'
    """
    paper = {"k": k, "share": share, "distinct": distinct, "gamma0": gamma0, "beta": beta}
    method = how.get("method", "best")
    if method == "paper":
        return _ask(Hull, x, how, lambda _: paper)
    if method != "best":
        raise InvalidParameter("method", method, "'best' or 'paper'", "Leave it out.")
    for name, default in {"share": 0.5, "distinct": False, "gamma0": 0.0, "beta": 0.1}.items():
        if paper[name] != default:
            raise InvalidParameter(name, paper[name], 'left out, unless method="paper"', "The best method has none.")
    return _ask(best_hull, x, how, lambda _: {"k": k, "extent": extent})


@question
def first_within(x: Any, p: Any, *, radius: float, **how: Unpack[How]) -> Release:
    """Find the first point, in their order, within a radius of a public place.

    Parameters
    ----------
    p : array or shapely Point
        The place, in the coordinate system of x.
    radius : float
        In metres.

    Returns
    -------
    Release
        Its value is the position (or index label) of the first visit, or None. Within `error(beta)`: the point found
        lies within radius + error, and no earlier one within radius - error.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> x = np.column_stack([np.arange(100) * 1000.0, np.zeros(100)])
    >>> release = gv.first_within(x, (50_000, 0), radius=500, rho=1e-4)
    >>> round(release.error(0.05))
    2016
    """
    return _ask(FirstWithin, x, how, lambda form: {"p": form.public_place("p", p), "radius": radius})


@question
def distance(x: Any, p: Any, *, fn_error: float | None = None, **how: Unpack[How]) -> Release:
    """Release the distance from a public place to the nearest of the points.

    Parameters
    ----------
    p : array or shapely geometry
        A place, line or area, in the coordinate system of x.
    fn_error : float, optional
        How wrong the distance to a line or an area, as GEOS computes it, can be, in metres; see `answer`. Nobody has
        proved a bound; 1e-6 is thousands of roundings of coordinates below 10^7 m. The distance to a place is exact.

    Returns
    -------
    Release
        Its value is in metres of the plane, at least 0; `error(beta)` is from the length on the ground.

    Examples
    --------
    >>> import shapely
    >>> import geoveil as gv
    >>> road = shapely.LineString([(0, 0), (1000, 0)])
    >>> gv.distance([[500.0, 300.0]], road, rho=1e-4).value >= 0
    True
    """

    def options(form: Form) -> dict[str, Any]:
        dimension = form.coords.shape[1]
        geometry = form.public_geometry(p)
        if geometry is None:
            place = checks.place("p", form.public_place("p", p), dimension)
            return {"measure": functools.partial(away, p=place, public=True), "fn_error": fn_error or 0.0}
        if dimension != 2:
            raise InvalidParameter("p", p, "coordinates, unless x is in the plane", "Give d numbers.")
        measure = functools.partial(_to_geometry, geometry=geometry)
        return {"measure": measure, "fn_error": fn_error, "rounding": _rounding_of_doubles(form)}

    return _ask(Distance, x, how, options)


def _rounding_of_doubles(form: Form) -> float:
    """Return how far the doubles that a function gets can be from the points, in metres."""
    return form.rounding + displacement(form.coords)


def _to_geometry(x: Reals, geometry: Any) -> Reals:
    import shapely

    shapely.prepare(geometry)
    return as_reals(shapely.distance(shapely.points(x.values), geometry))


@question
def answer(
    x: Any,
    fn: Callable[[Any], ArrayLike] | Lipschitz,
    *,
    lipschitz: float | None = None,
    size: int = 1,
    fn_error: float | None = None,
    **how: Unpack[How],
) -> Release:
    """Answer a Lipschitz question of one's own.

    Parameters
    ----------
    fn : callable or Lipschitz
        Takes an (n, d) array in metres, gives a number or a vector. The guarantee is only as good as the claim that
        ‖fn(x) - fn(x')‖ ≤ lipschitz · dist(x, x').
    lipschitz : float, optional
        The constant; a `Lipschitz` carries its own.
    size : int
        How many numbers `fn` gives.
    fn_error : float, optional
        How far what `fn` computes, as doubles, can be from the function it stands for, in metres: 0 if it does not
        round, as a largest coordinate does not. The guarantee then holds as if all inputs were 2·fn_error/lipschitz
        farther from each other, and the release is exact. Without it the release says that it is not. Points in
        degrees reach `fn` as doubles in metres; by how much these are rounded is stated in the release.

    Returns
    -------
    Release
        Its value is a number or a vector.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> x = np.array([[0.0, 0.0], [3000.0, 4000.0]])
    >>> release = gv.answer(x, lambda x: np.linalg.norm(x[-1] - x[0]), lipschitz=2, rho=1e-4)
    >>> round(release.error(0.05))
    277
    """
    metric = how.get("metric")
    for given in (how.get("rho"), how.get("epsilon")):
        metric = given.metric if isinstance(given, Guarantee) else metric
    if isinstance(fn, Lipschitz):
        if lipschitz is not None and lipschitz != fn.constant:
            raise InvalidParameter("lipschitz", lipschitz, f"{fn.constant}, as fn has it", "Leave it out.")
        if metric is not None and as_metric(metric) != fn.metric:
            raise InvalidParameter("metric", metric, f"{fn.metric.name!r}, as fn has it", "Leave it out.")
        own = fn
        if how.get("metric") is None and metric is None:
            how["metric"] = fn.metric
    elif lipschitz is None:
        raise InvalidParameter("lipschitz", None, "given", "It is how fast fn can change: 1 for a distance.")
    else:
        own = Lipschitz(fn, lipschitz, "inf" if metric is None else metric)
    checks.count("size", size, low=1, remedy="It is how many numbers fn gives.")

    def options(form: Form) -> dict[str, Any]:
        return {"fn": own, "numbers": size, "fn_error": fn_error, "rounding": _rounding_of_doubles(form)}

    return _ask(UserFunction, x, how, options)


@question
def center(x: Any, **how: Unpack[How]) -> Release:
    """Release the middle of the bounding box: √d-Lipschitz.

    Returns
    -------
    Release
        Its value is a place: d coordinates, or a shapely Point.
    """
    return _ask(SUMMARIES["center"], x, how)


@question
def mean(x: Any, **how: Unpack[How]) -> Release:
    """Release the mean of the points: 1-Lipschitz.

    Returns
    -------
    Release
        Its value is a place: d coordinates, or a shapely Point.
    """
    return _ask(SUMMARIES["mean"], x, how)


@question
def median(x: Any, **how: Unpack[How]) -> Release:
    """Release the median of each coordinate: √d-Lipschitz.

    Returns
    -------
    Release
        Its value is a place: d coordinates, or a shapely Point.

    Notes
    -----
    The geometric median is not offered: moving points by a metre can move it by any distance.
    """
    return _ask(SUMMARIES["median"], x, how)


@question
def bounds(x: Any, **how: Unpack[How]) -> Release:
    """Release the bounding box: √(2d)-Lipschitz.

    Returns
    -------
    Release
        Its value is 2d numbers, the smallest coordinates first. In degrees, longitudes go on beyond 180 across the
        antimeridian (179.9 to 180.1). `error(beta)` is the largest error of any of them.
    """
    return _ask(SUMMARIES["bounds"], x, how)


@question
def radius(x: Any, **how: Unpack[How]) -> Release:
    """Release the radius of the smallest ball that contains the points: 1-Lipschitz.

    Returns
    -------
    Release
        Its value is in metres of the plane, at least 0; `error(beta)` is from the length on the ground.
    """
    return _ask(SUMMARIES["radius"], x, how)


@question
def radius_of_gyration(x: Any, **how: Unpack[How]) -> Release:
    """Release the root mean square distance of the points from their mean: 1-Lipschitz.

    Returns
    -------
    Release
        Its value is in metres of the plane, at least 0; `error(beta)` is from the length on the ground.
    """
    return _ask(SUMMARIES["radius_of_gyration"], x, how)


@question
def diameter(x: Any, **how: Unpack[How]) -> Release:
    """Release the largest distance between two of the points: 2-Lipschitz.

    Returns
    -------
    Release
        Its value is in metres of the plane, at least 0; `error(beta)` is from the length on the ground.
    """
    return _ask(SUMMARIES["diameter"], x, how)
