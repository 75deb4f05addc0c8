"""Combine released points with a public map: remap them to expected places, and estimate heat maps."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from geoveil import checks
from geoveil._types import CrsLike, Labels
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.facts import Processing
from geoveil.geo.forms import Floats
from geoveil.geo.planes import Plane, plane_of
from geoveil.mechanisms import Copies, Gaussian, KNorm, Laplace, Mechanism
from geoveil.postprocess import deconvolution, remapping
from geoveil.postprocess.grid import Grid
from geoveil.postprocess.kernels import Noise, NoisyPoints
from geoveil.privacy import Guarantee, total
from geoveil.queries import Answer
from geoveil.release.as_layers import cells_layer, cells_of
from geoveil.release.kinds import KINDS, Frame, Kind
from geoveil.release.release import Prior, Release
from geoveil.report import Layer
from geoveil.text.cards import Rows
from geoveil.text.words import counted

if TYPE_CHECKING:
    import geopandas
    import pandas as pd
    import pyproj

__all__ = ["HeatMap", "deconvolved", "noise_of", "remapped"]


@dataclass(frozen=True, eq=False, repr=False)
class HeatMap(Release):
    """A release whose value is the expected number of points in each cell of a grid.

    Parameters
    ----------
    grid : Grid
        Its cells, in the units of the coordinate system.
    made_of : tuple of str
        The identifiers of the releases whose points it counts.

    Examples
    --------
    >>> released = gv.Locations(homes, area=bay).points(rho=1e-4)
    >>> heat = released.density(gv.Grid((-5000, -5000, 5000, 5000), cell=2500))
    >>> heat.value.shape
    (4, 4)
    >>> heat.to_frame().columns.tolist()
    ['points', 'geometry', 'rho']
    """

    grid: Grid = field(kw_only=True)
    made_of: tuple[str, ...] = field(kw_only=True)

    @property
    def crs(self) -> pyproj.CRS | None:
        """The system of the grid: that of the points if it is a plane, else the plane they were released in."""
        return _grid_system(self)[0]

    @property
    def kind(self) -> Kind:
        return KINDS["cells"]

    def _card(self) -> tuple[str, Rows]:
        rows, columns = self.grid.shape
        whose = "" if self.person is None else f" of {counted(len(self.person), 'person')}"
        _, told = super()._card()
        return f"Heat map of {rows} by {columns} cells: {counted(self.points_released, 'point')}{whose}", told

    def _rows(self, crs: CrsLike) -> Frame:
        own = None if self.plane is None else self.plane.crs
        return cells_of(self.grid, self.value, self.crs, own if crs is None else crs)

    def _layers(self, plane: Plane, name: str) -> tuple[Layer, ...]:
        return (cells_layer(self.grid, self.value, plane, name),)

    def _drawn(self) -> tuple[Frame, str]:
        return self.to_frame(), "points"


def remapped(
    release: Release, prior: Prior, weights: ArrayLike | None, to: Literal["mean", "place"], person: Labels
) -> Release:
    """Return the points of a release moved to their expected places; see `Release.remap`."""
    noisy = _noisy(release, person, "Remap first, then clamp.")
    if to not in ("mean", "place"):
        raise InvalidParameter("to", to, "'mean' or 'place'", 'to="mean" has the least error.')
    dimension = noisy.points.shape[1]
    guarantee, combined, known = release.guarantee, False, "a public prior"
    system, _ = _grid_system(release)
    if isinstance(prior, HeatMap):
        if weights is not None:
            raise InvalidParameter("weights", weights, "left out with a heat map", "Its counts are the weights.")
        if prior.crs != system:
            raise InvalidData(
                "prior", prior.crs, f"in the system of the release's plane, {system}", "Make it from such points."
            )
        # A heat map that counts this same release already has its guarantee, wherever its points were read from.
        counts_it = release.id in prior.made_of
        guarantee = prior.guarantee if counts_it else _joint_guarantee([release, prior])
        combined = prior.processing.combined or not counts_it
        weights, prior, known = prior.value, prior.grid, "a released heat map"
    if isinstance(prior, Grid):
        if dimension != 2:
            raise InvalidData("prior", prior, f"{dimension}-dimensional places", "A grid is in the plane.")
        grid = _on_the_map(release, prior, "prior")
        likely = _weights(weights, grid.shape)
        places = grid.centers.reshape(-1, 2)
        moved = remapping.over_cells(noisy, grid, likely)
        size = f"{likely.size} cells"
    else:
        places = _places(prior, release, dimension)
        likely = _weights(weights, (len(places),))
        moved = remapping.over_places(noisy, places, likely)
        size = f"{likely.size} places"
    if to == "place":
        moved = remapping.choose(moved, places, likely.ravel())
    step = f"remapped to the {'posterior mean' if to == 'mean' else 'best place'} under {known} of {size}"
    result = release._moved(moved.mean, step, bounded=False, expected=float(np.sqrt(moved.variance.mean())))
    return replace(result, guarantee=guarantee, processing=replace(result.processing, combined=combined))


def deconvolved(
    several: Sequence[Release], grid: Grid | float | tuple[float, float, float, float] | None, person: Labels
) -> HeatMap:
    """Return the heat map of the points of several releases; see `Release.density`."""
    if not all(isinstance(release, Release) for release in several):
        raise InvalidData("others", several[1:], "a sequence of releases", "Use Locations.points.")
    if person is not None and len(several) > 1:
        raise InvalidParameter(
            "person", person, "left out with other releases", "Release frames by one of their columns."
        )
    if len({release.id for release in several}) < len(several):
        raise InvalidData("others", several[1:], "different from one another", "Give each of them once.")
    several = [release.in_memory() for release in several]
    first = several[0]
    noisy = [_noisy(release, person, "Give what Locations.points returned.") for release in several]
    if any(part.points.shape[1] != 2 for part in noisy) or any(
        _grid_system(release) != _grid_system(first) for release in several
    ):
        raise InvalidData("others", several[1:], "in the plane, in one coordinate system", "Reproject points first.")
    grid = _grid(grid, noisy, _grid_system(first)[1])
    whose, answers = (first.person, first.answers) if len(several) == 1 else _merged(several)
    step = f"deconvolved to a heat map of {grid.shape[0]} by {grid.shape[1]} cells"
    return HeatMap(
        deconvolution.deconvolve(noisy, _on_the_map(first, grid, "grid")),
        answers=answers,
        n=sum(release.points_released for release in several),
        plane=first.plane,
        person=whose,
        inexact="; ".join(dict.fromkeys(release.inexact for release in several if release.inexact)),
        guarantee=first.guarantee if len(several) == 1 else _joint_guarantee(several),
        processing=Processing((step,), bounded=False, combined=len(several) > 1),
        grid=grid,
        made_of=tuple(release.id for release in several),
    )


def _grid(given: object, noisy: Sequence[NoisyPoints], unit: float) -> Grid:
    """Return the grid that was given, or one that suits released points in metres and their noise.

    The grid is in a system whose units have `unit` metres.
    """
    if isinstance(given, Grid):
        return given
    box, cell = None, None
    if isinstance(given, Real | str) and not isinstance(given, bool):
        cell = checks.length("grid", given) / (unit if isinstance(given, str) else 1.0)
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
    noises = {id(a): noise_of(a.mechanisms[0], a.query.n) for a in {id(a): a for a in release.answers}.values()}
    kind = noises[id(release.answers[0])][0]
    if release.point_scales is not None:
        if person is not None:
            release._person_index(person)
        return NoisyPoints(release.coords, kind, release.point_scales)
    scales = np.array([noises[id(answer)][1] for answer in release.answers])
    # Labels are needed only where scales differ; labels that are given are always checked.
    alike = person is None and (scales == scales[0]).all()
    scale = np.full(release.points_released, scales[0]) if alike else scales[release._person_index(person)]
    return NoisyPoints(release.coords, kind, scale)


def noise_of(mechanism: Mechanism, n: int) -> tuple[Noise, float]:
    """Return the distribution and the scale of noise that is independent for each point; refuse any other."""
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
    likely = np.ones(shape) if weights is None else _numbers(weights)
    if likely.shape != shape:
        given = getattr(weights, "shape", weights)
        raise InvalidParameter("weights", given, f"of shape {shape}", "Give one for each cell or place.")
    if not (np.isfinite(likely) & (likely >= 0)).all() or not likely.any():
        allowed = "finite and not negative, at least one of them positive"
        raise InvalidParameter("weights", weights, allowed, "0 rules a place out.")
    return likely


def _numbers(given: object) -> Floats:
    """Return numbers as an array; an empty one of no dimension for anything else."""
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        return np.empty(())


def _places(prior: Prior, release: Release, dimension: int) -> Floats:
    """Return the places of a prior in metres."""
    system, unit = _grid_system(release)
    if hasattr(prior, "geometry") and hasattr(prior, "crs"):
        import shapely

        frame: geopandas.GeoSeries = prior.geometry
        if frame.crs is None and system is not None:
            raise InvalidData("prior.crs", None, "known, as the release's is", "State it with set_crs(...).")
        if system is not None:
            frame = frame.to_crs(system)
        elif frame.crs is not None:
            unit = plane_of(frame.crs, None).grid_system[1]
        geometry = np.asarray(frame.array)
        if (shapely.get_type_id(geometry) != 0).any() or shapely.is_empty(geometry).any():
            raise InvalidData("prior", frame.geom_type.unique().tolist(), "of Points", "Use representative_point().")
        places: Floats = shapely.get_coordinates(geometry) * unit
    else:
        places = _numbers(prior)
        if release.plane is not None and places.ndim == 2 and places.shape[1] == 2:
            # Coordinates in the system of the release.
            places = release.plane.into(places)
    if places.ndim != 2 or places.shape[1] != dimension or len(places) == 0 or not np.isfinite(places).all():
        allowed = f"a Grid, an (m, {dimension}) array of finite coordinates, a frame of Points, or a heat map"
        raise InvalidData("prior", getattr(prior, "shape", prior), allowed, "Give at least one place.")
    return places


def _grid_system(release: Release) -> tuple[pyproj.CRS | None, float]:
    """Return the coordinate system of grids and priors for a release, and the metres in one of its units."""
    return (None, 1.0) if release.plane is None else release.plane.grid_system


def _on_the_map(release: Release, grid: Grid, argument: str) -> Grid:
    """Return the grid in metres; refuse a tiny one, which was probably given in degrees."""
    system, unit = _grid_system(release)
    metres = grid.scaled(unit)
    west, south, east, north = metres.bounds
    plane, side = release.plane, max(east - west, north - south)
    if plane is not None and system is not None and system != release.crs and side < plane.area.radius / 100:
        remedy = "Give it in metres east and north of the area's middle, which is (0, 0)."
        if plane.area.disc is None:
            remedy = f"Give it in the system {system.to_string()}."
        raise InvalidParameter(argument, grid.bounds, f"in metres of the plane, {plane.area.name}", remedy)
    return metres


def _joint_guarantee(releases: Sequence[Release]) -> Guarantee:
    """Return the guarantee of several releases together: their sum or, if persons are known, the largest one's."""
    whole: Guarantee = total(releases)
    if (labels := _same_labels(releases)) is None:
        return whole
    known: dict[Hashable, int] = {}
    for i, persons in enumerate(labels):
        for person in persons:
            known[person] = known.get(person, 0) | 1 << i
    sums: list[Guarantee] = [
        total(release for i, release in enumerate(releases) if held >> i & 1) for held in set(known.values())
    ]
    return max(sums, key=lambda guarantee: guarantee.budget)


def _same_labels(releases: Sequence[Release]) -> list[pd.Index] | None:
    """Return the persons of each release if different labels mean different persons, else None.

    They do if labels are of one type and from columns of one name.
    """
    labels = [release.person for release in releases if release.person is not None and release.person.name != "person"]
    alike = len(labels) == len(releases) and len({(each.name, str(each.dtype)) for each in labels}) == 1
    return labels if alike else None


def _merged(releases: Sequence[Release]) -> tuple[pd.Index | None, tuple[Answer, ...]]:
    """Return the persons of several releases, and the joint answer of each; None and one answer if unknown."""
    import pandas as pd

    if (labels := _same_labels(releases)) is None:
        # Persons with equal noise share an answer.
        return None, (
            _joint([answer for release in releases for answer in {id(a): a for a in release.answers}.values()]),
        )
    about: dict[Hashable, list[Answer]] = {}
    for persons, release in zip(labels, releases, strict=True):
        for person, answer in zip(persons, release.answers, strict=True):
            about.setdefault(person, []).append(answer)
    keys = {person: tuple(map(id, answers)) for person, answers in about.items()}
    shared = {keys[person]: answers for person, answers in about.items()}
    joint = {key: _joint(answers) for key, answers in shared.items()}
    index = pd.Index(list(about), name=labels[0].name, tupleize_cols=False)
    return index, tuple(joint[key] for key in keys.values())


def _joint(answers: Sequence[Answer]) -> Answer:
    return Answer(answers[0].query, None, tuple(mechanism for answer in answers for mechanism in answer.mechanisms))
