"""Combine released points with a public map: remap them to expected places, and estimate heat maps."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from geoveil import checks
from geoveil._types import CrsLike, Labels
from geoveil.arithmetic import steady
from geoveil.cards import Rows
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.facts import Processing
from geoveil.geo.forms import Floats
from geoveil.geo.planes import Plane, plane_of
from geoveil.improve import grid_system, in_memory, with_coordinates
from geoveil.mechanisms import Copies, Gaussian, KNorm, Laplace, Mechanism
from geoveil.postprocess import deconvolution, remapping
from geoveil.postprocess.grid import Grid
from geoveil.postprocess.kernels import Noise, NoisyPoints
from geoveil.privacy import Guarantee, total
from geoveil.queries import Answer
from geoveil.release import Release, persons
from geoveil.release.map_cells import cells_layer, cells_of
from geoveil.report import Layer
from geoveil.words import counted

if TYPE_CHECKING:
    import geopandas

__all__ = ["Grid", "HeatMap", "density", "remap"]

#: Where true points can be: cells of a grid, single places, or a heat map.
Prior: TypeAlias = Union["Grid", "ArrayLike", "geopandas.GeoSeries", "geopandas.GeoDataFrame", "HeatMap"]


@dataclass(frozen=True, eq=False, repr=False)
class HeatMap(Release):
    """A release whose value is the expected number of points in each cell of a grid.

    Parameters
    ----------
    grid : Grid
        Its cells, in the units of the coordinate system.

    Examples
    --------
    >>> released = gv.Locations(homes, area=bay).points(rho=1e-4)
    >>> heat = gv.density(released, gv.Grid((-5000, -5000, 5000, 5000), cell=2500))
    >>> heat.value.shape
    (4, 4)
    >>> heat.to_frame().columns.tolist()
    ['points', 'geometry', 'rho']
    """

    grid: Grid = field(kw_only=True)

    @property
    def crs(self) -> Any:
        """The system of the grid: that of the points if it is a plane, else the plane they were released in."""
        return grid_system(self)[0]

    @property
    def kind(self) -> str:
        return "cells"

    def _card(self) -> tuple[str, Rows]:
        rows, columns = self.grid.shape
        whose = "" if self.person is None else f" of {counted(len(self.person), 'person')}"
        _, told = super()._card()
        return f"Heat map of {rows} by {columns} cells: {counted(self.n, 'point')}{whose}", told

    def layers(self, *, name: str | None = None) -> tuple[Layer, ...]:
        return (
            ()
            if self.plane is None
            else (cells_layer(self.grid, self.value, self.plane, name or "released heat map"),)
        )

    def _rows(self, crs: CrsLike) -> Any:
        own = None if self.plane is None else self.plane.crs
        return cells_of(self.grid, self.value, self.crs, own if crs is None else crs)


@steady()
def remap(
    release: Release,
    prior: Prior,
    *,
    weights: ArrayLike | None = None,
    to: Literal["mean", "place"] = "mean",
    person: Labels = None,
) -> Release:
    """Move released points to the expected places of the true points under a public prior, at no cost.

    Parameters
    ----------
    release : Release
        Of `points`, with noise that is independent on each point.
    prior : Grid, (m, d) array, GeoSeries or GeoDataFrame of Points, or HeatMap from `density`
        Where true points can be: anywhere in the cells of a grid, or at single places. It is in the coordinate system
        of the release, and known without looking at the data.
    weights : array, optional
        The weight of each cell or place, in any unit: an array of the grid's shape, or m numbers. Equal by default.
    to : {"mean", "place"}
        The posterior mean; or that of the prior's places (of a grid, the cells' centres) with the least expected
        square distance.
    person : array of labels, optional
        The person of each point, as given to `Locations`. Needed only if the noise differs between persons, and not
        for a table whose column names the persons.

    Returns
    -------
    Release
        A release with the same guarantee. If the prior is the heat map of other releases, the guarantee is the sum of
        both; if both are of frames released by a column of the same name, it is the largest sum of any person. No
        theorem bounds its error; `expected_error()` is the root mean square error if true points do come from the
        prior.

    Examples
    --------
    >>> stations = np.array([[0.0, 0.0], [900.0, 0.0], [300.0, 800.0]])
    >>> released = gv.Locations([[900.0, 0.0]], rng=np.random.default_rng(1)).points(rho=1e-4)
    >>> gv.remap(released, stations, to="place").value
    array([[900.,   0.]])
    >>> gv.remap(released, gv.Grid((0, 0, 1000, 1000), cell=500)).guarantee
    CGP(rho=0.0001)
    """
    release = in_memory(release)
    noisy = _noisy(release, person, "Remap first, then clamp.")
    if to not in ("mean", "place"):
        raise InvalidParameter("to", to, "'mean' or 'place'", 'to="mean" has the least error.')
    dimension = noisy.points.shape[1]
    guarantee, combined, known = release.guarantee, False, "a public prior"
    system, _ = grid_system(release)
    if isinstance(prior, HeatMap):
        if weights is not None:
            raise InvalidParameter("weights", weights, "left out with a heat map", "Its counts are the weights.")
        if prior.crs != system:
            raise InvalidData(
                "prior", prior.crs, f"in the system of the release's plane, {system}", "Make it from such points."
            )
        # A heat map made of this same release reveals nothing more about anyone.
        if prior.answers is not release.answers:
            guarantee, combined = _joint_guarantee([release, prior]), True
        weights, prior, known = prior.value, prior.grid, "a released heat map"
    if isinstance(prior, Grid):
        if dimension != 2:
            raise InvalidData("prior", prior, f"{dimension}-dimensional places", "A grid is in the plane.")
        grid = _on_the_map(release, prior, "prior")
        likely = _weights(weights, grid.shape)
        places = grid.centers.reshape(-1, 2)
        found = remapping.over_cells(noisy, grid, likely)
        size = f"{likely.size} cells"
    else:
        places = _places(prior, release, dimension)
        likely = _weights(weights, (len(places),))
        found = remapping.over_places(noisy, places, likely)
        size = f"{likely.size} places"
    if to == "place":
        found = remapping.choose(found, places, likely.ravel())
    step = f"remapped to the {'posterior mean' if to == 'mean' else 'best place'} under {known} of {size}"
    result = with_coordinates(release, found.mean, step, bounded=False, expected=float(np.sqrt(found.variance.mean())))
    return replace(result, guarantee=guarantee, processing=replace(result.processing, combined=combined))


@steady()
def density(
    releases: Release | Sequence[Release],
    grid: Grid | float | tuple[float, float, float, float] | None = None,
    *,
    person: Labels = None,
) -> HeatMap:
    """Estimate a heat map of the true points from released ones, at no cost: the effect of the noise is removed.

    Parameters
    ----------
    releases : Release or sequence of Release
        Of `points` in the plane, with noise that is independent on each point; all in one coordinate system.
    grid : Grid, number, or (west, south, east, north), optional
        The cells, in that system; for points in degrees, in metres of the plane they were released in. A number is the
        side of a cell, and the grid then covers all released points. A box gets cells that suit the noise: at least
        half of its scale and a hundredth of the longer side, rounded up to 1, 2 or 5 times a power of ten. Without it,
        box and cells are chosen from the released points and their noise, which costs nothing.
    person : array of labels, optional
        For one release: the person of each point, as given to `Locations`. Needed only if the noise differs between
        persons, and not for a table whose column names the persons.

    Returns
    -------
    HeatMap
        A release; its value is the expected number of true points in each cell, rows from south to north. True points
        may lie outside the grid, so they add up to at most all. The heat map of one release has its guarantee. That of
        several has their sum, since the same person may be in all of them; if all are frames released by a column of
        the same name, it has the largest sum of any person.

    Notes
    -----
    Expectation-maximisation (Richardson and Lucy), stopped where two halves of the released points predict each other
    best; which half a point is in goes by its position. Cells much smaller than the noise cannot be told apart, and
    with few points the map stays blurred.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> homes = rng.normal([1000.0, 1000.0], 100.0, size=(20_000, 2))
    >>> released = gv.Locations(homes, person=np.arange(20_000), rng=rng).points(rho=5e-6)
    >>> grid = gv.Grid((0, 0, 2000, 2000), cell=200)
    >>> heat, truth = gv.density(released, grid), grid.count(homes)
    >>> bool(abs(heat.value - truth).sum() < 0.5 * abs(grid.count(released.value) - truth).sum())
    True
    >>> heat.guarantee
    CGP(rho=5e-06)
    >>> gv.density(released).grid.cell
    200.0
    """
    several = [releases] if isinstance(releases, Release) else list(releases if hasattr(releases, "__iter__") else ())
    if not several or not all(isinstance(release, Release) for release in several):
        raise InvalidData("releases", releases, "a Release or a sequence of them", "Use Locations.points.")
    if person is not None and len(several) > 1:
        raise InvalidParameter(
            "person", person, "left out with several releases", "Release frames by one of their columns."
        )
    if len({release.id for release in several}) < len(several):
        raise InvalidData("releases", releases, "different from one another", "Give each of them once.")
    several = [in_memory(release) for release in several]
    first = several[0]
    noisy = [_noisy(release, person, "Give what Locations.points returned.") for release in several]
    if any(part.points.shape[1] != 2 for part in noisy) or any(
        grid_system(release) != grid_system(first) for release in several
    ):
        raise InvalidData("releases", releases, "in the plane, in one coordinate system", "Reproject points first.")
    grid = _grid(grid, noisy, grid_system(first)[1])
    whose, answers = (first.person, first.answers) if len(several) == 1 else _merged(several)
    return HeatMap(
        deconvolution.deconvolve(noisy, _on_the_map(first, grid, "grid")),
        answers=answers,
        n=sum(release.n for release in several),
        plane=first.plane,
        person=whose,
        inexact="; ".join(dict.fromkeys(release.inexact for release in several if release.inexact)),
        guarantee=first.guarantee if len(several) == 1 else _joint_guarantee(several),
        processing=Processing(
            (f"deconvolved to a heat map of {grid.shape[0]} by {grid.shape[1]} cells",),
            bounded=False,
            combined=len(several) > 1,
        ),
        grid=grid,
    )


def _grid(given: Any, noisy: Sequence[NoisyPoints], unit: float) -> Grid:
    """Return the grid that was given, or one that suits released points and their noise.

    Parameters
    ----------
    given : Grid, number, box or None
        What the user gave, in the system of the map.
    noisy : sequence of NoisyPoints
        The released points, in metres.
    unit : float
        Metres in a unit of the system.
    """
    if isinstance(given, Grid):
        return given
    box, cell = None, None
    if isinstance(given, Real) and not isinstance(given, bool):
        cell = checks.positive("grid", given, remedy="Give the side of a cell, for example 500.0.")
    elif isinstance(given, (tuple, list, np.ndarray)):
        # `Grid` refuses numbers that are not a box.
        box = Grid(given, 1e300).bounds  # type: ignore[arg-type]
    elif given is not None:
        allowed = "a Grid, the side of a cell, or (west, south, east, north)"
        remedy = "Use gv.Grid(bounds, cell=...), or leave it out for a grid that suits the noise."
        raise InvalidParameter("grid", given, allowed, remedy)
    coords = np.concatenate([part.points for part in noisy]) / unit
    low, high = (coords.min(axis=0), coords.max(axis=0)) if box is None else (np.array(box[:2]), np.array(box[2:]))
    if cell is None:
        scale = float(np.median(np.concatenate([part.scale for part in noisy]))) / unit
        cell = _round_up(max(scale / 2, float((high - low).max()) / 100))
    if box is None:
        # The edges are multiples of the cell, so that the box has a size even around a single point.
        low, high = np.floor(low / cell) * cell, (np.floor(high / cell) + 1) * cell
    west, south, east, north = (float(end) for end in (*low, *high))
    return Grid((west, south, east, north), cell)


def _round_up(length: float) -> float:
    """Return the smallest length of 1, 2 or 5 times a power of ten that is at least this length."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= length * (1 - 1e-9)))


def _noisy(release: Release, person: Labels, remedy: str) -> NoisyPoints:
    """Return released points with their noise scales; refuse noise that is not independent for each point."""
    if release.query != "points" or release.coords is None:
        raise InvalidData("release", release, "of points", "Use Locations.points.")
    if release.processing.steps:
        raise InvalidData("release", repr(release), "as it was released", remedy)
    # Persons with the same number of points share an answer.
    noises = {id(a): _noise(a.mechanisms[0], a.query.n) for a in {id(a): a for a in release.answers}.values()}
    kind = noises[id(release.answers[0])][0]
    if release.point_scales is not None:
        if person is not None:
            persons(release, person)
        return NoisyPoints(release.coords, kind, release.point_scales)
    scales = np.array([noises[id(answer)][1] for answer in release.answers])
    # Labels are needed only where scales differ; labels that are given are always checked.
    alike = person is None and (scales == scales[0]).all()
    scale = np.full(release.n, scales[0]) if alike else scales[persons(release, person)]
    return NoisyPoints(release.coords, kind, scale)


def _noise(mechanism: Mechanism, n: int) -> tuple[Noise, float]:
    if isinstance(mechanism, Gaussian):
        return "gaussian", mechanism.scale
    # The K-norm of one point is its length.
    if isinstance(mechanism, Copies) or (isinstance(mechanism, (Laplace, KNorm)) and n == 1):
        return "laplace", mechanism.scale
    raise InvalidData(
        "release",
        f"{type(mechanism).__name__} noise on {n} points together",
        "with noise that is independent on each point",
        "Use Locations.points with rho=, or gv.paper.identity with epsilon=, or release one point of each person.",
    )


def _weights(weights: ArrayLike | None, shape: tuple[int, ...]) -> Floats:
    """Return the prior weight of each cell or place, checked."""
    if weights is None:
        return np.ones(shape)
    try:
        likely = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        likely = np.empty(())
    if likely.shape != shape:
        raise InvalidParameter(
            "weights", getattr(weights, "shape", weights), f"of shape {shape}", "Give one for each cell or place."
        )
    if not (np.isfinite(likely) & (likely >= 0)).all() or not likely.any():
        raise InvalidParameter(
            "weights", weights, "finite and not negative, at least one of them positive", "0 rules a place out."
        )
    return likely


def _places(prior: Any, release: Release, dimension: int) -> Floats:
    """Return the places of a prior in metres."""
    system, unit = grid_system(release)
    if hasattr(prior, "geometry") and hasattr(prior, "crs"):
        import shapely

        if prior.crs is None and system is not None:
            raise InvalidData("prior.crs", None, "known, as the release's is", "State it with set_crs(...).")
        if system is not None:
            prior = prior.to_crs(system)
        elif prior.crs is not None:
            unit = plane_of(prior.crs, None).grid_system[1]
        geometry = np.asarray(prior.geometry.array)
        if (shapely.get_type_id(geometry) != 0).any() or shapely.is_empty(geometry).any():
            raise InvalidData("prior", prior.geom_type.unique().tolist(), "of Points", "Use representative_point().")
        prior = shapely.get_coordinates(geometry) * unit
    elif release.plane is not None:
        # Coordinates in the system of the release.
        prior = _to_metres(release.plane, prior)
    try:
        places = np.asarray(prior, dtype=float)
    except (TypeError, ValueError):
        places = np.empty(())
    if places.ndim != 2 or places.shape[1] != dimension or len(places) == 0 or not np.isfinite(places).all():
        raise InvalidData(
            "prior",
            getattr(prior, "shape", prior),
            f"a Grid, an (m, {dimension}) array of finite coordinates, a frame of Points, or what gv.density gave",
            "Give at least one place.",
        )
    return places


def _on_the_map(release: Release, grid: Grid, argument: str) -> Grid:
    """Return the grid in metres; refuse a tiny one, which was probably given in degrees."""
    system, unit = grid_system(release)
    metres = grid.scaled(unit)
    west, south, east, north = metres.bounds
    plane = release.plane
    if plane is not None and system != release.crs and max(east - west, north - south) < plane.area.radius / 100:
        remedy = "Give it in metres east and north of the area's middle, which is (0, 0)."
        if plane.area.disc is None:
            remedy = f"Give it in the system {system.to_string()}."
        raise InvalidParameter(argument, grid.bounds, f"in metres of the plane, {plane.area.name}", remedy)
    return metres


def _to_metres(plane: Plane, places: Any) -> Any:
    """Convert coordinates of the release's system to metres of the plane; return anything else unchanged."""
    try:
        coords = np.asarray(places, dtype=float)
    except (TypeError, ValueError):
        return places
    return plane.into(coords) if coords.ndim == 2 and coords.shape[1] == 2 else places


def _joint_guarantee(releases: Sequence[Release]) -> Guarantee:
    """Return the guarantee of several releases together: their sum or, if persons are known, the largest one's."""
    whole: Guarantee = total(releases)
    if not _same_labels(releases):
        return whole
    known: dict[Hashable, int] = {}
    for i, release in enumerate(releases):
        for person in release.person:
            known[person] = known.get(person, 0) | 1 << i
    sums: list[Guarantee] = [
        total(release for i, release in enumerate(releases) if held >> i & 1) for held in set(known.values())
    ]
    return max(sums, key=lambda guarantee: guarantee.budget)


def _same_labels(releases: Sequence[Release]) -> bool:
    """Return whether different labels mean different persons: labels of one type, from columns of one name."""
    kinds = {(release.person.name, str(release.person.dtype)) for release in releases if release.person is not None}
    named = all(release.person is not None and release.person.name != "person" for release in releases)
    return named and len(kinds) == 1


def _merged(releases: Sequence[Release]) -> tuple[Any, tuple[Answer, ...]]:
    """Return the persons of several releases, and the joint answer of each; None and one answer if unknown."""
    import pandas as pd

    if not _same_labels(releases):
        # Persons with equal noise share an answer.
        return None, (
            _joint([answer for release in releases for answer in {id(a): a for a in release.answers}.values()]),
        )
    about: dict[Hashable, list[Answer]] = {}
    for release in releases:
        for person, answer in zip(release.person, release.answers, strict=True):
            about.setdefault(person, []).append(answer)
    keys = {person: tuple(map(id, found)) for person, found in about.items()}
    shared = {keys[person]: found for person, found in about.items()}
    joint = {key: _joint(found) for key, found in shared.items()}
    index = pd.Index(list(about), name=releases[0].person.name, tupleize_cols=False)
    return index, tuple(joint[key] for key in keys.values())


def _joint(answers: Sequence[Answer]) -> Answer:
    return Answer(answers[0].query, None, tuple(mechanism for answer in answers for mechanism in answer.mechanisms))
