"""Releases about a crowd: maps, counts in regions, and flows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil._types import CrsLike
from geoveil.certificates import Certificate
from geoveil.facts import CrowdNoise, Facts, Processing
from geoveil.geo import Plane
from geoveil.geo.formats import ending
from geoveil.geo.forms import Floats
from geoveil.geo.geometries import unwrap_longitudes
from geoveil.mechanisms import Laplace
from geoveil.postprocess.grid import Grid
from geoveil.queries.crowd import CrowdQuery
from geoveil.release.answered import ReleaseFields
from geoveil.release.as_file import RASTERS, write_frame, write_raster
from geoveil.release.as_layers import cells_layer, cells_of, flows_layer, regions_layer
from geoveil.release.kinds import Frame
from geoveil.release.release import Release
from geoveil.report import Layer

if TYPE_CHECKING:
    import geopandas
    import pyproj

__all__ = ["CrowdCounts", "CrowdFields", "CrowdFlows", "CrowdHeatMap", "CrowdRelease"]

#: The largest number of flows that are drawn.
_DRAWN = 40


class CrowdFields(ReleaseFields):
    """The fields of a release about a crowd but its value and what its question adds."""

    noisy: Floats
    counted: str
    deviation: float
    slices: tuple[str, ...]
    total: float


@dataclass(frozen=True, eq=False, repr=False)
class CrowdRelease(Release):
    """A release about many persons together: expected numbers of persons or visits.

    Parameters
    ----------
    noisy : array
        The unprocessed numbers: blurred counts with noise, of the shape of the value.
    counted : str
        What the numbers count: "persons", or "visits".
    deviation : float
        The standard deviation of the noise on an unprocessed number.
    slices : tuple of str
        The slices of time, if there are several.
    total : float
        The public sum of all weights: the number of persons, or of visits.

    Examples
    --------
    >>> homes = np.random.default_rng(1).normal(0, 800, size=(500, 2))
    >>> grid = gv.Grid((-2000, -2000, 2000, 2000), cell=1000)
    >>> heat = gv.Locations(homes, person=np.arange(500)).heatmap(grid, rho=5e-5)
    >>> heat.value.shape, heat.noisy.shape, heat.counted
    ((4, 4), (4, 4), 'persons')
    """

    noisy: Floats = field(kw_only=True)
    counted: str = field(kw_only=True)
    deviation: float = field(kw_only=True)
    slices: tuple[str, ...] = field(kw_only=True, default=())
    total: float = field(kw_only=True)

    @property
    def blur(self) -> float:
        """The standard deviation in metres along each axis by which the kernel blurs places, on the ground."""
        blur = self._crowd_query.blur
        return blur if self.plane is None else self.plane.area.ground(blur)

    @property
    def elsewhere(self) -> float:
        """The part of the total that is not in the value: outside of the map or the regions, or in blank numbers."""
        left = self.total - float(np.nansum(self._numbers))
        # The numbers add up to the total but for rounding.
        return left if left > 1e-9 * self.total else 0.0

    @property
    def zcdp(self) -> float:
        """The ρ of ordinary zero-concentrated differential privacy, for replacing all places of one unit."""
        return float(self._crowd_query.zcdp().rho)

    @property
    def _crowd_query(self) -> CrowdQuery[Any]:
        query = self.answers[0].query
        assert isinstance(query, CrowdQuery)
        return query

    @property
    def _numbers(self) -> Floats:
        """The processed numbers."""
        return np.asarray(self.value, dtype=float)

    def error(self, beta: float = 0.05, *, each: bool = False) -> float:
        """Bound the noise on the unprocessed numbers with probability 1-β, in persons or visits; not the blur.

        Parameters
        ----------
        beta : float
            The probability that the noise is larger.
        each : bool
            The noise of any one number instead of the largest of all.

        Examples
        --------
        >>> homes = np.random.default_rng(1).normal(0, 800, size=(500, 2))
        >>> grid = gv.Grid((-2000, -2000, 2000, 2000), cell=1000)
        >>> heat = gv.Locations(homes, person=np.arange(500)).heatmap(grid, rho=5e-5)
        >>> heat.error(0.05, each=True) < heat.error(0.05) < 5
        True
        """
        from scipy.special import ndtri

        checks.beta(beta)
        count, mechanism = 1 if each else self.noisy.size, self._crowd_query.mechanism
        if isinstance(mechanism, Laplace):
            # Laplace noise is drawn together for all numbers. This is the quantile along orthogonal directions, since
            # the numbers are sums of different numbers of the query.
            return float(mechanism.largest_error(beta, count)) * self.deviation / mechanism.deviation
        return float(-self.deviation * ndtri(-np.expm1(np.log1p(-beta) / count) / 2))

    def _together(self) -> Floats:
        """Return the processed numbers, summed over all slices."""
        numbers = np.nan_to_num(self._numbers)
        return np.asarray(numbers.sum(axis=0) if self.slices else numbers)

    def at_least(self, k: float) -> Self:
        """Return the same release without its numbers below k, as rules against small numbers ask for; this is free.

        They are NaN in the value, empty in tables, and not drawn; so are the unprocessed numbers beside them. Flows
        below k are not listed. The guarantee protects people, and stays as it is: a number of at least k may still
        have noise for the most part.

        Parameters
        ----------
        k : number
            The smallest number that is shown.

        Examples
        --------
        >>> homes = np.random.default_rng(1).normal(0, 800, size=(500, 2))
        >>> grid = gv.Grid((-2000, -2000, 2000, 2000), cell=1000)
        >>> heat = gv.Locations(homes, person=np.arange(500)).heatmap(grid, rho=5e-5).at_least(10)
        >>> bool(np.isnan(heat.value).any()), bool(np.nanmin(heat.value) >= 10)
        (True, True)
        """
        k = checks.positive("k", k, remedy=f"It is a number of {self.counted}, such as 10.")
        step = f"numbers below {k:g} {self.counted} are left blank"
        steps = replace(self.processing, steps=(*self.processing.steps, step))
        return self._blanked(self._numbers < k, processing=steps)

    def _blanked(self, small: NDArray[np.bool_], **changes: Any) -> Self:
        """Return the release with changes, and NaN in place of numbers."""
        value, noisy = (np.where(small, np.nan, numbers) for numbers in (self._numbers, self.noisy))
        return replace(self, value=value, noisy=noisy, **changes)

    def _noise_together(self) -> float:
        """Return the 95% bound on the noise of every number of all slices together, which are uncorrelated."""
        return self.error() * math.sqrt(max(len(self.slices), 1))

    def facts(self, *, every_error: bool = True) -> Facts:
        replaced, largest, each = self._crowd_query.zcdp(), self.error(), self.error(each=True)
        noise = CrowdNoise(self.counted, largest, each, self.blur, replaced.rho, replaced.says_nothing)
        return replace(super().facts(every_error=every_error), noise=noise)

    def certificate(self) -> Certificate:
        certificate = super().certificate()
        # No order, times or labels are in a release about a crowd.
        sliced = ["the number of points in each slice of time"] if self.slices else []
        certificate["public"] = ["the number of persons and of points", *sliced, "the parameters of the query"]
        certificate["crowd_noise"] = {
            "counted": self.counted,
            "noise_95": {"largest": self.error(), "each": self.error(each=True)},
            "blur": self.blur,
            "zcdp": self.zcdp,
            "total": self.total,
            "kernel": self._crowd_query.kernel.stated(),
        }
        return certificate


@dataclass(frozen=True, eq=False, repr=False)
class CrowdHeatMap(CrowdRelease):
    """A heat map of a crowd: the expected number of persons or visits in each cell of a grid.

    Parameters
    ----------
    grid : Grid
        Its cells, in the units of the coordinate system.

    Examples
    --------
    >>> homes = np.random.default_rng(1).normal(0, 800, size=(500, 2))
    >>> grid = gv.Grid((-2000, -2000, 2000, 2000), cell=1000)
    >>> heat = gv.Locations(homes, person=np.arange(500)).heatmap(grid, rho=5e-5)
    >>> heat.to_frame().columns.tolist()
    ['persons', 'noisy', 'geometry', 'rho']
    """

    grid: Grid = field(kw_only=True)

    @property
    def crs(self) -> pyproj.CRS | None:
        """The system of the grid: that of the points if it is a plane, else the plane of the area."""
        return None if self.plane is None else self.plane.grid_system[0]

    def _rows(self, crs: CrsLike) -> Frame:
        import pandas as pd

        own = None if self.plane is None else self.plane.crs
        wanted = own if crs is None else crs
        slices = self.slices or ("",)
        values, noisy = (np.reshape(each, (len(slices), -1)) for each in (self.value, self.noisy))
        frames = []
        for name, persons, raw in zip(slices, values, noisy, strict=True):
            cells = cells_of(self.grid, persons, self.crs, wanted, name=self.counted)
            cells.insert(1, "noisy", raw)
            if self.slices:
                cells.insert(0, "slice", name)
            frames.append(cells)
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)

    def _layers(self, plane: Plane, name: str) -> tuple[Layer, ...]:
        return (cells_layer(self.grid, self._together(), plane, name, self.counted, noise=self._noise_together()),)

    def _drawn(self) -> tuple[Frame, str]:
        wanted = None if self.plane is None else self.plane.crs
        return cells_of(self.grid, self._together(), self.crs, wanted, name=self.counted), self.counted

    def _endings(self) -> tuple[str, ...]:
        return (*super()._endings(), *RASTERS)

    def _write(self, path: Path) -> dict[str, Any]:
        if path.suffix.lower() not in RASTERS:
            return super()._write(path)
        write_raster(self, path)
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class CrowdCounts(CrowdRelease):
    """Counts of a crowd in regions; the value is a frame with a row for each region, and for each slice.

    Parameters
    ----------
    numbers : array
        The processed numbers, one for each region, with an axis for slices in front if there are several.
    errors : array
        The 95% error of each processed number, of noise and blur together, as estimated from the release.

    Examples
    --------
    >>> homes = np.random.default_rng(1).normal(0, 800, size=(500, 2))
    >>> halves = geopandas.GeoSeries([shapely.box(-5e3, -5e3, 0, 5e3), shapely.box(0, -5e3, 5e3, 5e3)])
    >>> gv.Locations(homes, person=np.arange(500)).counts(halves, rho=5e-5).value.columns.tolist()
    ['persons', 'error', 'noisy', 'geometry']
    """

    numbers: Floats = field(kw_only=True)
    errors: Floats = field(kw_only=True)

    @property
    def _numbers(self) -> Floats:
        return self.numbers

    def _blanked(self, small: NDArray[np.bool_], **changes: Any) -> Self:
        columns = {self.counted: self.numbers, "error": self.errors, "noisy": self.noisy}
        blank = {name: np.where(small, np.nan, numbers) for name, numbers in columns.items()}
        frame = self.value.assign(**{name: numbers.ravel() for name, numbers in blank.items()})
        numbers, errors, noisy = blank.values()
        return replace(self, value=frame, numbers=numbers, errors=errors, noisy=noisy, **changes)

    def _noise_together(self) -> float:
        """Return the stated error of a typical region, of all slices together."""
        errors = np.sqrt(np.nansum(np.square(self.errors), axis=0)) if self.slices else self.errors
        # All may be blank.
        return float(np.nanmedian(errors)) if np.isfinite(errors).any() else 0.0

    def _write(self, path: Path) -> dict[str, Any]:
        if ending(path) not in (".csv", ".tsv"):
            return super()._write(path)
        # Regions are public, have names, and may have outlines of megabytes.
        return write_frame(self.to_frame().drop(columns="geometry"), path, ())

    def _rows(self, crs: CrsLike) -> Frame:
        frame = self.value.reset_index()
        return frame if crs is None else frame.to_crs(crs)

    def _drawn(self) -> tuple[Frame, str]:
        together = self._together()
        return self.value.iloc[: len(together)].assign(**{self.counted: together}), self.counted

    def _layers(self, plane: Plane, name: str) -> tuple[Layer, ...]:
        if self.value.crs is None:
            return ()
        together = self._together()
        shapes = self.value.geometry.iloc[: len(together)].to_crs(4326)
        return (regions_layer(shapes, together, name, self.counted, noise=self._noise_together()),)


@dataclass(frozen=True, eq=False, repr=False)
class CrowdFlows(CrowdRelease):
    """Flows of a crowd between cells or regions; the value is an array of origins × destinations.

    Frames, files and maps list the flows that are above their noise. `all_flows()` lists the others, too.

    Parameters
    ----------
    places : GeoSeries
        The cells or regions, in the order of the value's rows and columns.
    named : bool
        Whether places have names, which regions have and cells have not.
    floor : float, optional
        Flows up to this number are not listed. None lists all that are not 0.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> origins, destinations = rng.normal(0, 500, size=(2, 300, 2))
    >>> grid = gv.Grid((-1e3, -1e3, 1e3, 1e3), cell=1e3)
    >>> trips = gv.Locations(origins, person=np.arange(300))
    >>> flows = trips.flows(grid, trip=gv.Locations(destinations), rho=1e-4)
    >>> flows.value.shape, flows.to_frame().columns.tolist()
    ((4, 4), ['from_x', 'from_y', 'to_x', 'to_y', 'persons', 'noisy', 'geometry', 'rho'])
    """

    places: geopandas.GeoSeries = field(kw_only=True)
    named: bool = field(kw_only=True, default=False)
    floor: float | None = field(kw_only=True, default=None)

    def above_noise(self) -> CrowdFlows:
        """Return the same release, of which frames, files and maps list the flows that are above noise.

        A flow is listed if both its noisy and its sharpened number are larger than a public one, `floor`. This costs
        nothing.

        Notes
        -----
        The floor is exceeded by the noise on one of all noisy numbers, on average: of N, each exceeds it with
        probability 1/N. Blur may lift numbers beside those of many trips, too.

        Examples
        --------
        >>> x = np.random.default_rng(1).normal(0, 500, size=(300, 2))
        >>> grid = gv.Grid((-1e3, -1e3, 1e3, 1e3), cell=1e3)
        >>> flows = gv.Locations(x, person=np.arange(300)).flows(grid, trip=gv.Locations(x), rho=1e-4)
        >>> flows.all_flows().above_noise().floor == flows.floor
        True
        """
        if self.floor is not None:
            return self
        beta = min(2 / self.noisy.size, 0.5)
        floor = self.error(beta, each=True)
        often = "about one" if self.noisy.size > 3 else "a quarter"
        step = (
            f"listed if above {floor:.3g} {self.counted} ({floor / self.deviation:.2g} standard deviations of noise): "
            f"noise alone lifts {often} of {self.noisy.size:,} numbers above it, on average"
        )
        return replace(self, floor=floor, processing=self._with_steps(*self.processing.steps, step))

    def all_flows(self) -> CrowdFlows:
        """Return the same release, of which frames and files list all flows but those of 0: most of them are noise.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> origins = rng.normal(0, 1000, size=(300, 2))
        >>> trips = gv.Locations(origins, person=np.arange(300), rng=rng)
        >>> grid = gv.Grid((-4e3, -4e3, 4e3, 4e3), cell=2e3)
        >>> flows = trips.flows(grid, trip=gv.Locations(origins + 100), rho=1e-5)
        >>> len(flows.to_frame()) < len(flows.all_flows().to_frame())
        True
        """
        if self.floor is None:
            return self
        return replace(self, floor=None, processing=self._with_steps(*self.processing.steps[:-1]))

    def at_least(self, k: float) -> CrowdFlows:
        # The floor is the last step, so that `all_flows` can take it away.
        blank = super(CrowdFlows, self.all_flows()).at_least(k)
        return blank if self.floor is None else blank.above_noise()

    def _with_steps(self, *steps: str) -> Processing:
        return replace(self.processing, steps=steps)

    def _rows(self, crs: CrsLike) -> Frame:
        import geopandas
        import pandas as pd
        import shapely

        shape = (max(len(self.slices), 1), *(len(self.places),) * 2)
        numbers, noisy = self._numbers.reshape(shape), self.noisy.reshape(shape)
        seen = numbers > 0 if self.floor is None else (numbers > self.floor) & (noisy > self.floor)
        at = np.argwhere(seen)
        at = at[np.argsort(-numbers[seen], kind="stable")]
        part, origin, destination = at.T
        centres = self._centres(crs)
        ends = np.stack([centres[origin], centres[destination]], axis=1)
        columns: dict[str, Any] = {}
        if self.slices:
            columns["slice"] = np.asarray(self.slices, dtype=object)[part]
        if self.named:
            columns |= {"from": self.places.index[origin], "to": self.places.index[destination]}
        columns |= dict(zip(self._ends_named(crs), ends.reshape(-1, 4).T, strict=True))
        columns |= {self.counted: numbers[part, origin, destination], "noisy": noisy[part, origin, destination]}
        lines = shapely.linestrings(ends)
        system = self._frame_system(crs)
        if system is not None and system.is_geographic:
            lines = unwrap_longitudes(lines)
        return geopandas.GeoDataFrame(pd.DataFrame(columns), geometry=np.asarray(lines, dtype=object), crs=system)

    def _frame_system(self, crs: CrsLike = None) -> pyproj.CRS | None:
        """Return the coordinate system of frames: that of the input, unless another one is asked for."""
        import pyproj

        if crs is not None:
            return pyproj.CRS(crs)
        return None if self.plane is None else self.plane.crs

    def _centres(self, crs: CrsLike = None) -> Floats:
        """Return a point in the middle of each cell or region, in the system of frames."""
        import shapely

        system, middles = self._frame_system(crs), self.places.representative_point()
        if self.places.crs is not None and system is not None:
            middles = middles.to_crs(system)
        return np.asarray(shapely.get_coordinates(middles.array))

    def _ends_named(self, crs: CrsLike = None) -> tuple[str, str, str, str]:
        """Return the names of the columns of coordinates: of the origin, then of the destination."""
        system = self._frame_system(crs)
        x, y = ("lon", "lat") if system is not None and system.is_geographic else ("x", "y")
        return f"from_{x}", f"from_{y}", f"to_{x}", f"to_{y}"

    def _write(self, path: Path) -> dict[str, Any]:
        if ending(path) not in (".csv", ".tsv"):
            return super()._write(path)
        reading = write_frame(self.to_frame().drop(columns="geometry"), path, ())
        names, system = self._ends_named(), self._frame_system()
        return reading | {"crs": system.to_string() if system else None, "lat": [*names[1::2]], "lon": [*names[::2]]}

    def _above(self) -> tuple[Floats, float]:
        """Return the flows of all slices together that are above noise, between different places, and the floor."""
        numbers, many = self._together(), max(len(self.slices), 1)
        noisy = np.nan_to_num(self.noisy)
        raw = np.asarray(noisy.sum(axis=0) if self.slices else noisy)
        floor = self.error(min(2 / raw.size, 0.5), each=True) * math.sqrt(many)
        drawn = (numbers > floor) & (raw > floor) & ~np.eye(len(numbers), dtype=bool)
        return np.where(drawn, numbers, 0.0), floor

    def _drawn(self) -> tuple[Frame, str]:
        import geopandas
        import shapely

        at, (numbers, _) = self._centres(), self._above()
        # The largest flows come last, above the others.
        origin, destination = np.unravel_index(np.argsort(numbers, axis=None)[-_DRAWN:], numbers.shape)
        shown = numbers[origin, destination] > 0
        origin, destination = origin[shown], destination[shown]
        lines = shapely.linestrings(np.stack([at[origin], at[destination]], axis=1))
        columns = {self.counted: numbers[origin, destination]}
        return geopandas.GeoDataFrame(columns, geometry=lines, crs=self._frame_system()), self.counted

    def _layers(self, plane: Plane, name: str) -> tuple[Layer, ...]:
        if self.places.crs is None:
            return ()
        numbers, floor = self._above()
        return flows_layer(self._centres(4326), numbers, name, self.counted, least=floor, most=_DRAWN)
