"""Releases about a crowd: maps, counts in regions, and flows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil import checks
from geoveil._types import CrsLike
from geoveil.certificates import Certificate
from geoveil.facts import CrowdNoise, Facts
from geoveil.geo import Plane
from geoveil.geo.forms import Floats
from geoveil.mechanisms import Laplace
from geoveil.postprocess.grid import Grid
from geoveil.queries.crowd import CrowdQuery
from geoveil.release.as_file import RASTERS, write_raster
from geoveil.release.as_layers import cells_layer, cells_of, flows_layer, regions_layer
from geoveil.release.kinds import Frame
from geoveil.release.release import Release
from geoveil.report import Layer

if TYPE_CHECKING:
    import geopandas
    import pyproj

__all__ = ["CrowdCounts", "CrowdFlows", "CrowdHeatMap", "CrowdRelease"]

#: The largest number of flows that are drawn.
_DRAWN = 80


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
        """The part of the total that is not in the value: persons or visits outside of the map or the regions."""
        left = self.total - float(np.sum(self._numbers))
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
        return np.asarray(self._numbers.sum(axis=0) if self.slices else self._numbers)

    def _noise_together(self) -> float:
        """Return the 95% bound on the noise of every number of all slices together, which are uncorrelated."""
        return self.error() * math.sqrt(max(len(self.slices), 1))

    def facts(self, *, every_error: bool = True) -> Facts:
        replaced, largest, each = self._crowd_query.zcdp(), self.error(), self.error(each=True)
        noise = CrowdNoise(self.counted, largest, each, self.blur, replaced.rho, replaced.says_nothing)
        return replace(super().facts(every_error=every_error), noise=noise)

    def certificate(self) -> Certificate:
        account = super().certificate()
        account["crowd_noise"] = {
            "counted": self.counted,
            "noise_95": {"largest": self.error(), "each": self.error(each=True)},
            "blur": self.blur,
            "zcdp": self.zcdp,
            "total": self.total,
            "kernel": self._crowd_query.kernel.stated(),
        }
        return account


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

    def _noise_together(self) -> float:
        """Return the stated error of a typical region, of all slices together."""
        errors = np.sqrt(np.square(self.errors).sum(axis=0)) if self.slices else self.errors
        return float(np.median(errors))

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

    Parameters
    ----------
    places : GeoSeries
        The cells or regions, in the order of the value's rows and columns.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> origins, destinations = rng.normal(0, 500, size=(2, 300, 2))
    >>> grid = gv.Grid((-1e3, -1e3, 1e3, 1e3), cell=1e3)
    >>> trips = gv.Locations(origins, person=np.arange(300))
    >>> flows = trips.flows(grid, trip=gv.Locations(destinations), rho=1e-4)
    >>> flows.value.shape, flows.to_frame().columns.tolist()
    ((4, 4), ['origin', 'destination', 'persons', 'noisy', 'rho'])
    """

    places: geopandas.GeoSeries = field(kw_only=True)

    def _rows(self, crs: CrsLike) -> Frame:
        import pandas as pd

        slices = self.slices or ("",)
        count, labels = len(self.places), self.places.index
        frames = []
        shape = (len(slices), count, count)
        for name, persons, raw in zip(slices, self._numbers.reshape(shape), self.noisy.reshape(shape), strict=True):
            origin, destination = np.nonzero(persons > 0)
            frame = pd.DataFrame(
                {
                    "origin": labels[origin],
                    "destination": labels[destination],
                    self.counted: persons[origin, destination],
                    "noisy": raw[origin, destination],
                }
            )
            if self.slices:
                frame.insert(0, "slice", name)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True).sort_values(self.counted, ascending=False, ignore_index=True)

    def _drawn(self) -> tuple[Frame, str]:
        import geopandas
        import shapely

        at = shapely.get_coordinates(self.places.representative_point().array)
        numbers = self._together()
        # The largest flows come last, above the others.
        origin, destination = np.unravel_index(np.argsort(numbers, axis=None)[-_DRAWN:], numbers.shape)
        apart = (origin != destination) & (numbers[origin, destination] > 0)
        origin, destination = origin[apart], destination[apart]
        lines = shapely.linestrings(np.stack([at[origin], at[destination]], axis=1))
        columns = {self.counted: numbers[origin, destination]}
        return geopandas.GeoDataFrame(columns, geometry=lines, crs=self.places.crs), self.counted

    def _layers(self, plane: Plane, name: str) -> tuple[Layer, ...]:
        if self.places.crs is None:
            return ()
        centres = self.places.representative_point().to_crs(4326)
        return flows_layer(centres, self._together(), name, self.counted, least=self._noise_together(), most=_DRAWN)
