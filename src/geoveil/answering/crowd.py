"""Questions about a crowd: charge everybody, add up kernels, draw noise once, and estimate the true numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from geoveil import checks
from geoveil._types import Progress
from geoveil.answering.charging import Receipt
from geoveil.answering.crowd_sources import CrowdAdder, CrowdBatch, CrowdSource
from geoveil.answering.intake import in_the_plane
from geoveil.answering.packing import packed, unpacked
from geoveil.answering.pipeline import PreparedQuestion
from geoveil.budget import price_of
from geoveil.errors import InvalidParameter
from geoveil.facts import Processing
from geoveil.geo import Area
from geoveil.geo.forms import Floats
from geoveil.geo.geometries import Index
from geoveil.noise import Source
from geoveil.postprocess.flow_cells import advise_flows, flow_kernel, most_divisions, round_length
from geoveil.postprocess.flow_sharpening import sharpen_flows
from geoveil.postprocess.grid import Grid
from geoveil.postprocess.region_totals import (
    COUNTS_SHARE,
    RegionTotals,
    Surroundings,
    count_blurs,
    region_totals,
    totals_of_counts,
)
from geoveil.postprocess.sharpening import kernel_side, sharpen, simplex, spline_taps
from geoveil.privacy import (
    CGP,
    Duration,
    Guarantee,
    Metric,
    as_duration,
    dist_1,
    dist_2,
    dist_inf,
    duration_words,
    is_duration,
)
from geoveil.queries import (
    Answer,
    CrowdMap,
    CrowdQuery,
    Flows,
    Lattice,
    MapBeside,
    Query,
    RegionCounts,
    Regions,
    UnitSizes,
)
from geoveil.queries.crowd.lattice import MOST_CELLS, WIDEST
from geoveil.queries.crowd.sums import KernelSums, PairedSums
from geoveil.release import Release
from geoveil.release.answered import ReleaseFields
from geoveil.release.crowd_release import CrowdCounts, CrowdFields, CrowdFlows, CrowdHeatMap, CrowdRelease
from geoveil.text.words import metres

if TYPE_CHECKING:
    import geopandas

__all__ = [
    "CountsQuestion",
    "CrowdQuestion",
    "CrowdSums",
    "FlowsQuestion",
    "HeatMapQuestion",
    "PreparedCrowd",
    "Slices",
    "slices_of",
]

#: An array of polygons.
Shapes: TypeAlias = NDArray[np.object_]
Q = TypeVar("Q", bound=CrowdQuery[Any])
R = TypeVar("R", bound=Release, covariant=True)
#: How time is cut into slices: intervals of a length, the hours of the day, or the days of the week, in UTC.
Every: TypeAlias = "Duration | Literal['hour of day', 'day of week'] | None"

_HOUR, _DAY = 3600 * 10**6, 86_400 * 10**6
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MOST_SLICES = 2_000
#: The ratio of a kernel's side to the standard deviation of its blur.
_SIDE = math.sqrt(3)
#: The side of the kernel in lattice cells, for counts in regions. A region covers a share of each cell.
_FINE = 4
#: The largest number of lattice cells for regions, and beyond which the kernel has only one cell.
_REGION_CELLS, _REFINED_CELLS = 4_000_000, 1_000_000
#: The largest number of lattice cells for regions of flows if the blur is given, and if it is not.
_FLOW_CELLS, _FEW_FLOW_CELLS = 80 * 80, 32 * 32
#: The side of the kernel of the map beside counts, in its cells, and the largest number of its cells.
_BESIDE, _BESIDE_CELLS = 2, 2**18


@dataclass(frozen=True)
class Slices:
    """Slices of time: that of a time t in microseconds is (t // step - offset), modulo the cycle if there is one."""

    #: Their names; empty if time is not cut.
    names: tuple[str, ...] = ()
    step: int = 1
    offset: int = 0
    cycle: int | None = None

    @property
    def count(self) -> int:
        """The number of slices; 1 if time is not cut."""
        return max(len(self.names), 1)

    @property
    def described(self) -> dict[str, int | str | None]:
        """The public facts that tell these slices from other slices of the same number."""
        return {"slice": self.step, "cycle": self.cycle, "first_slice": self.names[0]} if self.names else {}

    def of(self, times: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Return the slice of each time."""
        if not self.names:
            return None
        assert times is not None
        number = times // self.step - self.offset
        return number if self.cycle is None else number % self.cycle


def slices_of(every: Every, source: CrowdSource) -> Slices:
    """Return the slices of time that are asked for; times are public."""
    if every is None:
        return Slices()
    # Read the times even if the slices do not depend on them: missing times are refused before anybody is charged.
    span = source.span
    if every == "hour of day":
        return Slices(tuple(f"{hour:02d}:00" for hour in range(24)), _HOUR, 0, 24)
    if every == "day of week":
        # The first day of 1970 was a Thursday.
        return Slices(_DAYS, _DAY, -3, 7)
    if isinstance(every, str) and not is_duration(every):
        allowed = 'a length of time such as "1 hour", "hour of day" or "day of week"'
        raise InvalidParameter("every", every, allowed, "Leave it out for one map of all times.")
    step = as_duration("every", every)
    first, last = (time // step for time in span)
    count = last - first + 1
    if count > _MOST_SLICES:
        remedy = "Give longer slices, or choose rows of a shorter time."
        raise InvalidParameter("every", every, f"long enough for at most {_MOST_SLICES} slices", remedy)
    return Slices(tuple(_moment(number * step) for number in range(first, last + 1)), step, first)


def _moment(microseconds: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")


class PublicCrowd(Protocol):
    """The public numbers of a crowd's items, from which the query follows; see `CrowdSource`."""

    @property
    def n(self) -> int: ...

    @property
    def all_sizes(self) -> tuple[Index, Index]: ...

    @property
    def rounding(self) -> float: ...


class CommonFields(TypedDict):
    """The fields of a query about a crowd that do not depend on the question."""

    weight: float
    total: float
    slices: int
    rounding: float
    units: UnitSizes


@dataclass(frozen=True)
class CrowdQuestion(ABC, Generic[Q]):
    """A question about a crowd."""

    #: Count visits, at most this many of each unit; by default every unit counts as one person.
    cap: float | None = None
    #: The standard deviation in metres by which places are blurred; by default it follows from public numbers.
    bandwidth: float | None = None
    #: How time is cut into slices.
    every: Every = None
    method: str = "best"

    name: str = field(init=False, default="crowd")

    def __post_init__(self) -> None:
        if self.cap is not None:
            checks.positive("cap", self.cap, remedy="It is the largest number of visits of a person that count.")
        if self.bandwidth is not None:
            object.__setattr__(self, "bandwidth", checks.length("bandwidth", self.bandwidth))

    def counted(self, metric: Metric) -> str:
        """Return what is counted: visits, or units such as persons or days of a person."""
        if self.cap is not None:
            return "visits"
        if metric == dist_1:
            return "points"
        number, _, unit = ("", "", "") if metric.stretch is None else duration_words(metric.stretch).partition(" ")
        if not unit:
            return "persons"
        return f"person-{unit}s" if number == "1" else f"persons in {number} {unit}"

    @property
    def weight(self) -> float:
        """The largest weight of a unit."""
        return 1.0 if self.cap is None else float(self.cap)

    def weights(self, sizes: NDArray[np.int64]) -> Floats:
        """Return the weight of items, given the number of items in the largest unit that holds each.

        The weights of one unit u add up to at most the cap, since the size given for each of its items is at least
        |u|.
        """
        return 1 / sizes if self.cap is None else np.minimum(1.0, self.cap / sizes)

    @abstractmethod
    def query(self, source: PublicCrowd, guarantee: Guarantee, total: float, slices: Slices) -> Q:
        """Return the query about the items, in metres of the plane."""

    @abstractmethod
    def release(self, query: Q, drawn: Answer, total: float, slices: Slices, more: ReleaseFields) -> CrowdRelease:
        """Return the release: the noisy numbers, and an estimate made from them."""

    def _told(
        self,
        query: Q,
        noisy: Floats,
        steps: tuple[str, ...],
        total: float,
        slices: Slices,
        more: ReleaseFields,
        *,
        sums: int = 1,
    ) -> CrowdFields:
        """Return the fields of a release, each of whose numbers is the sum of some of the query's."""
        return {
            **more,
            "processing": Processing(steps, bounded=False),
            "counted": self.counted(query.guarantee.metric),
            "total": total,
            "slices": slices.names,
            "noisy": noisy,
            "deviation": query.mechanism.deviation * math.sqrt(sums),
        }

    def _is_gaussian(self, guarantee: Guarantee) -> bool:
        return isinstance(guarantee, CGP) and self.method == "best"

    def _gaussian_rho(self, guarantee: Guarantee, numbers: int) -> float:
        """Return the budget of CGP whose Gaussian noise is as large as the noise on so many numbers."""
        if self._is_gaussian(guarantee):
            return float(guarantee.budget)
        epsilon = float(guarantee.budget) if guarantee.power == 1 else math.sqrt(2 * float(guarantee.budget))
        return epsilon**2 / (2 * (numbers + 1))

    def _side(self, wanted: float, cell: float, divisions: int = 1) -> int:
        """Return the side of a kernel in lattice cells, given its side in the grid's cells."""
        side = max(1, round(wanted * divisions))
        if side > WIDEST:
            allowed = f"at most {WIDEST * cell / divisions / _SIDE:g} m for cells of {cell:g} m"
            raise InvalidParameter("bandwidth", self.bandwidth, allowed, "Make the cells larger.")
        return side

    def _common(self, source: PublicCrowd, total: float, slices: Slices) -> CommonFields:
        largest = int(source.all_sizes[0].max())
        # One part in a billion covers the rounding of the total, which is not needed if one unit holds all points.
        return {
            "weight": self.weight,
            "total": self.weight if largest == source.n else total * (1 + 1e-9),
            "slices": slices.count,
            "rounding": source.rounding,
            "units": UnitSizes(largest),
        }


@dataclass(frozen=True)
class HeatMapQuestion(CrowdQuestion[CrowdMap]):
    """Ask for the expected number of persons or visits in each cell of a grid."""

    #: The cells, in metres of the plane and in units of the coordinate system.
    grid: Grid = field(kw_only=True)
    shown: Grid = field(kw_only=True)
    #: Whether all points are known to be on the grid.
    covers: bool = field(kw_only=True, default=False)

    name: str = field(init=False, default="heatmap")

    def _kernel(self, guarantee: Guarantee, total: float, slices: Slices) -> tuple[int, int]:
        """Return how many lattice cells are along the side of a cell, and the side of the kernel in lattice cells."""
        rows, columns = self.grid.shape
        cells = rows * columns * slices.count
        if self.bandwidth is not None:
            wanted = self.bandwidth * _SIDE / self.grid.cell
            divisions = max(1, min(8, math.ceil(2 / wanted)))
            return divisions, self._side(wanted, self.grid.cell, divisions)
        # Laplace noise grows with the number of cells, so the lattice is not refined.
        rho, most = self._gaussian_rho(guarantee, cells), 8 if self._is_gaussian(guarantee) else 1
        # Noise is proportional to the cap. Divided by the cap, a total of visits is like a number of persons.
        kernel = kernel_side(max(total / self.weight, 1.0), rho * self.grid.cell**2, cells, most_divisions=most)
        return kernel.divisions, kernel.cells

    def query(self, source: PublicCrowd, guarantee: Guarantee, total: float, slices: Slices) -> CrowdMap:
        divisions, side = self._kernel(guarantee, total, slices)
        cell, pad = self.grid.cell / divisions, 2 * side + 1
        rows, columns = (length * divisions + 2 * pad for length in self.grid.shape)
        west, south = (end - pad * cell for end in self.grid.bounds[:2])
        lattice = Lattice(west, south, cell, rows, columns)
        common = self._common(source, total, slices)
        return CrowdMap(source.n, 2, guarantee, self.method, lattice=lattice, side=side, **common)

    def release(
        self, query: CrowdMap, drawn: Answer, total: float, slices: Slices, more: ReleaseFields
    ) -> CrowdHeatMap:
        maps = np.reshape(drawn.value, (slices.count, *query.lattice.shape))
        divisions, pad = round(self.grid.cell / query.lattice.cell), 2 * query.side + 1
        sharp = sharpen(maps, spline_taps(query.side), query.mechanism.deviation, total, at_most=not self.covers)
        value, noisy = (self._cropped(numbers, pad, divisions) for numbers in (sharp, maps))
        if self.covers and value.sum() > 0:
            # All points are known to be on the grid, so the estimate outside of it is moved inside.
            value *= total / value.sum()
        step = f"sharpened by maximum entropy from a lattice of {query.lattice.rows} by {query.lattice.columns} cells"
        shape = (slices.count, *self.grid.shape) if slices.names else self.grid.shape
        return CrowdHeatMap(
            value.reshape(shape),
            grid=self.shown,
            **self._told(query, noisy.reshape(shape), (step,), total, slices, more, sums=divisions**2),
        )

    def _cropped(self, maps: Floats, pad: int, divisions: int) -> Floats:
        """Return the sums of lattice cells in the cells of the grid, without the margin."""
        inside = maps[:, pad:-pad, pad:-pad]
        rows, columns = self.grid.shape
        return np.asarray(inside.reshape(len(maps), rows, divisions, columns, divisions).sum(axis=(2, 4)))


def region_lattice(shapes: Shapes, bandwidth: float, *, most: int = _REGION_CELLS) -> tuple[Lattice, int]:
    """Return the lattice on which regions are counted, and the side of its kernel in cells.

    The lattice is as fine as its number of cells allows, up to four cells along the side of the kernel.
    """
    for fine in range(_FINE, 0, -1):
        lattice = _lattice_around(shapes, bandwidth, fine)
        if lattice is not None and lattice.cells <= (min(most, _REFINED_CELLS) if fine > 1 else most):
            return lattice, fine
    remedy = "Give a larger bandwidth, or fewer regions."
    raise InvalidParameter("bandwidth", bandwidth, f"large enough for at most {most:,} cells", remedy)


def _lattice_around(shapes: Shapes, bandwidth: float, fine: int) -> Lattice | None:
    """Return a lattice that holds the kernels of all places in regions; None if it has far too many cells."""
    import shapely

    west, south, east, north = shapely.total_bounds(shapes)
    cell = bandwidth * _SIDE / fine
    pad = 2 * fine + 1
    columns, rows = (math.ceil(length / cell) + 2 * pad for length in (east - west, north - south))
    if rows * columns > MOST_CELLS:
        return None
    return Lattice(west - pad * cell, south - pad * cell, cell, rows, columns)


@dataclass(frozen=True)
class CountsQuestion(CrowdQuestion[RegionCounts]):
    """Ask for the expected number of persons or visits in each region."""

    #: The regions, in metres of the plane and as they were given.
    shapes: Shapes = field(kw_only=True)
    regions: geopandas.GeoSeries = field(kw_only=True)

    name: str = field(init=False, default="counts")

    def _bandwidth(self, guarantee: Guarantee, total: float, slices: int) -> tuple[float, float | None]:
        """Return the blurs in metres of the counts, and of the map beside them if their noise is Gaussian.

        Both are large enough for their lattices to hold all regions. Laplace noise grows with the number of cells, so
        no map is beside it: then the noise of a count is small beside a typical count, and the blur is at most a
        quarter of the root of a typical area.
        """
        import shapely

        areas = shapely.area(self.shapes)
        west, south, east, north = shapely.total_bounds(self.shapes)
        longest = max(east - west, north - south)
        least, least_beside = (
            longest / (0.9 * math.sqrt(most / slices) * _SIDE / fine)
            for most, fine in ((_REGION_CELLS, 1), (_BESIDE_CELLS, _BESIDE))
        )
        if not isinstance(guarantee, CGP) or self.method != "best":
            epsilon = float(guarantee.budget) if guarantee.power == 1 else math.sqrt(2 * float(guarantee.budget))
            noise = max(0.005 * total / len(self.shapes), 0.3 * self.weight)
            wanted = self.weight / (math.sqrt(math.pi) * epsilon * noise)
            return self.bandwidth or max(min(wanted, math.sqrt(float(np.median(areas))) / 4), least), None
        blurs = count_blurs(total / slices, float(guarantee.rho), areas, shapely.length(self.shapes), unit=self.weight)
        narrow = self.bandwidth or max(blurs.counts, least)
        return narrow, max(blurs.map, least_beside, 2 * narrow)

    @cached_property
    def _known(self) -> dict[tuple[float, float | None], tuple[int, Regions, Surroundings]]:
        return {}

    def _regions(self, bandwidth: float, beside: float | None) -> tuple[int, Regions, Surroundings]:
        """Return the side of the kernel, the regions on its lattice, and the borders on that of the map beside.

        Without a map the borders are on the lattice of the counts. Computed once.
        """
        if (bandwidth, beside) not in self._known:
            lattice, side = region_lattice(self.shapes, bandwidth)
            regions = Regions.of(self.shapes, lattice)
            at, shares = lattice, regions.shares
            if beside is not None:
                around = _lattice_around(self.shapes, beside, _BESIDE)
                assert around is not None
                at, shares = around, Regions.of(self.shapes, around).shares
            borders = Surroundings.of(self.shapes, shares, (at.west, at.south), at.cell, at.shape)
            self._known[bandwidth, beside] = side, regions, borders
        return self._known[bandwidth, beside]

    def query(self, source: PublicCrowd, guarantee: Guarantee, total: float, slices: Slices) -> RegionCounts:
        bandwidth, beside = self._bandwidth(guarantee, total, slices.count)
        side, regions, _ = self._regions(bandwidth, beside)
        common = self._common(source, total, slices)
        alone = RegionCounts(
            source.n, 2, guarantee, self.method, lattice=regions.lattice, side=side, regions=regions, **common
        )
        if beside is None:
            return alone
        around = _lattice_around(self.shapes, beside, _BESIDE)
        assert around is not None
        gain = alone.counts_constant / MapBeside(around, _BESIDE, 1.0).constant
        return replace(alone, beside=MapBeside(around, _BESIDE, gain * math.sqrt(1 / COUNTS_SHARE - 1)))

    def _totals(self, query: RegionCounts, drawn: Answer, total: float) -> tuple[RegionTotals, Floats, str]:
        """Return the estimated totals and their errors, the released counts, and the steps in words."""
        counts, maps = query.parts(drawn.value)
        deviation = query.mechanism.deviation
        how = {"unit": min(self.weight, total)}
        bandwidth, beside = self._bandwidth(query.guarantee, total, query.slices)
        around = self._regions(bandwidth, beside)[2]
        if query.beside is None or maps is None:
            totals = totals_of_counts(counts, deviation, query.blur, around, **how)
            return totals, counts, "corrected for the blur across borders"
        at, noise = query.beside, deviation / query.beside.gain
        taps = spline_taps(at.side)
        sharp = sharpen(maps, taps, noise, total, at_most=True)
        totals = region_totals(counts, deviation, query.blur, around, maps, sharp, noise, taps, **how)
        step = f"combined with a sharpened map of {at.lattice.rows} by {at.lattice.columns} cells"
        return totals, counts, step

    def release(
        self, query: RegionCounts, drawn: Answer, total: float, slices: Slices, more: ReleaseFields
    ) -> CrowdCounts:
        import pandas as pd

        totals, noisy, step = self._totals(query, drawn, total)
        numbers, projected = _projected(totals.value, query.regions, total)
        frames = []
        for name, *columns in zip(slices.names or ("",), numbers, totals.error, noisy, strict=True):
            frame = self.regions.to_frame("geometry").set_geometry("geometry")
            for position, title in enumerate((self.counted(query.guarantee.metric), "error", "noisy")):
                frame.insert(position, title, columns[position])
            if slices.names:
                frame.insert(0, "slice", name)
            frames.append(frame)
        shape = noisy.shape if slices.names else noisy.shape[1:]
        return CrowdCounts(
            frames[0] if len(frames) == 1 else pd.concat(frames),
            numbers=numbers.reshape(shape),
            errors=totals.error.reshape(shape),
            **self._told(query, noisy.reshape(shape), (step, projected), total, slices, more),
        )


@dataclass(frozen=True)
class FlowsQuestion(CrowdQuestion[Flows]):
    """Ask for the expected number of persons or visits that go from one cell or region to another."""

    #: The cells or the regions, in metres of the plane; one of them is given.
    grid: Grid | None = field(kw_only=True, default=None)
    shapes: Shapes | None = field(kw_only=True, default=None)
    #: The cells or the regions, as they are shown.
    places: geopandas.GeoSeries = field(kw_only=True)

    name: str = field(init=False, default="flows")

    def query(self, source: PublicCrowd, guarantee: Guarantee, total: float, slices: Slices) -> Flows:
        common = self._common(source, total, slices)
        if self.grid is not None:
            self._check_shown(guarantee, total, slices)
            divisions, side = self._kernel(guarantee, total, slices)
            rows, columns = (length * divisions for length in self.grid.shape)
            lattice = Lattice(*self.grid.bounds[:2], self.grid.cell / divisions, rows, columns)
            return Flows(source.n, 2, guarantee, self.method, lattice=lattice, side=side, **common)
        assert self.shapes is not None
        if self.bandwidth is not None:
            lattice, side = region_lattice(self.shapes, self.bandwidth, most=_FLOW_CELLS)
        else:
            lattice, side = region_lattice(self.shapes, self._region_blur(), most=_FEW_FLOW_CELLS)
        regions = Regions.of(self.shapes, lattice)
        return Flows(source.n, 2, guarantee, self.method, lattice=lattice, side=side, regions=regions, **common)

    def _kernel(self, guarantee: Guarantee, total: float, slices: Slices) -> tuple[int, int]:
        """Return how many lattice cells are along the side of a cell, and the side of the kernel in lattice cells."""
        assert self.grid is not None
        cells = math.prod(self.grid.shape)
        most = most_divisions(cells, slices.count) if self._is_gaussian(guarantee) else 1
        if self.bandwidth is not None:
            wanted = self.bandwidth * _SIDE / self.grid.cell
            # Two lattice cells along a kernel or a cell tell most of what there is.
            divisions = min(most, max(2, math.ceil(2 / wanted)))
            return divisions, self._side(wanted, self.grid.cell, divisions)
        rho = self._gaussian_rho(guarantee, cells**2 * slices.count)
        persons = max(total / self.weight / slices.count, 1.0)
        kernel = flow_kernel(persons, rho * self.grid.cell**2, cells, slices.count, most=most)
        return kernel.divisions, kernel.cells

    def _region_blur(self) -> float:
        """Return a quarter of a typical region's side, or more if a lattice of few cells needs it."""
        import shapely

        assert self.shapes is not None
        typical = math.sqrt(float(np.median(shapely.area(self.shapes))))
        west, south, east, north = shapely.total_bounds(self.shapes)
        # A lattice has a margin of three cells on each side, for a kernel of one.
        least = max(east - west, north - south) / ((math.isqrt(_FEW_FLOW_CELLS) - 7) * _SIDE)
        return float(max(typical / 4, least))

    def _check_shown(self, guarantee: Guarantee, total: float, slices: Slices) -> None:
        """Refuse cells between which all flows are expected to be wrong; only public numbers decide."""
        assert self.grid is not None
        given, cell, budget = self.grid.cell, self.grid.cell, float(guarantee.budget)
        extent = [length * given for length in self.grid.shape]

        def share(cell: float, times: float = 1.0) -> float:
            """Return the share of wrong trips, with other cells or a budget that is so many times as large."""
            lengths = [math.ceil(length / cell * (1 - 1e-9)) for length in extent]
            rho = self._gaussian_rho(guarantee, math.prod(lengths) ** 2 * slices.count)
            # The noise of GP falls with ε, that of CGP with √ρ.
            rho *= float(times ** (2 / guarantee.power))
            area = math.prod(lengths) * cell**2
            return advise_flows(total / slices.count, area, rho, cap=self.weight, cell=cell).share

        if share(given) <= 1:
            return
        while share(cell) > 1 and 2 * (larger := round_length(1.05 * cell)) <= max(extent):
            cell = larger
        if share(cell) <= 1:
            remedy = f"Make the cells at least {metres(cell)}."
        else:
            times = 2.0
            while share(cell, times) > 0.95:
                times *= 2
            remedy = f"Make the cells {metres(cell)}, and {guarantee.symbol} at least {budget * times:.2g}."
        many = self.counted(guarantee.metric)
        shown = "one person" if total == 1 and many == "persons" else f"{total:.6g} {many}"
        shown += " in all slices" if slices.names else ""
        raise InvalidParameter("cell", metres(given), f"large enough for flows of {shown} to be above noise", remedy)

    def release(self, query: Flows, drawn: Answer, total: float, slices: Slices, more: ReleaseFields) -> CrowdFlows:
        noisy = np.asarray(drawn.value, dtype=float)
        sums = 1
        if self.grid is not None:
            deviation = query.mechanism.deviation
            flows = sharpen_flows(noisy, query.lattice.shape, spline_taps(query.side), deviation, total)
            divisions = round(self.grid.cell / query.lattice.cell)
            flows, noisy = (self._joined(numbers, divisions) for numbers in (flows, noisy))
            sums = divisions**4
            step = "sharpened by least squares without negative numbers"
        else:
            assert query.regions is not None
            flows, step = _projected(noisy, query.regions, total)
        told = self._told(query, noisy, (step,), total, slices, more, sums=sums)
        return CrowdFlows(flows, places=self.places, named=self.grid is None, **told).above_noise()

    def _joined(self, flows: Floats, divisions: int) -> Floats:
        """Return the sums of flows between lattice cells, between the cells of the grid."""
        assert self.grid is not None
        rows, columns = self.grid.shape
        parts = flows.reshape(-1, *(rows, divisions, columns, divisions) * 2)
        for axis in (2, 3, 4, 5):
            # numpy's sum over several short axes takes ten times as long.
            first, *others = np.moveaxis(parts, axis, 0)
            parts = sum(others, start=first)
        return np.asarray(parts).reshape(*flows.shape[:-2], rows * columns, rows * columns)


def _projected(noisy: Floats, regions: Regions, total: float) -> tuple[Floats, str]:
    """Return numbers that are not negative, at most the total if regions are disjoint, and the step in words."""
    step = "projected to numbers that are not negative"
    if regions.cover >= 1 + 1e-6:
        return np.maximum(noisy, 0.0), step
    return simplex(noisy.ravel(), total, at_most=True).reshape(noisy.shape), f"{step} and at most the public total"


@dataclass(frozen=True)
class WeightedSums(CrowdAdder[KernelSums | PairedSums]):
    """The sums of kernels that a question needs; the question knows the weights."""

    query: CrowdQuery[Any]
    question: CrowdQuestion[Any]
    slices: Slices

    @property
    def timed(self) -> bool:  # type: ignore[override]
        """Whether the time of each item is needed."""
        return bool(self.slices.names)

    def empty(self) -> KernelSums | PairedSums:
        sums: KernelSums | PairedSums = self.query.accumulator()
        return sums

    def add(self, sums: KernelSums | PairedSums, batch: CrowdBatch) -> None:
        sums.add(*batch.places, self.question.weights(batch.sizes), self.slices.of(batch.times))  # type: ignore[union-attr, call-arg]


class CrowdSums(PreparedQuestion[Answer, R]):
    """A question with one answer, which follows from sums over all points or trips of a crowd."""

    takes_long = True
    crowd: CrowdSource
    query: Query

    @property
    def first(self) -> Query:
        return self.query

    @property
    def n(self) -> int:
        return self.crowd.n

    @property
    def area(self) -> Area | None:
        return None if self.crowd.plane is None else self.crowd.plane.area

    def recorded(self) -> dict[str, object]:
        return self.crowd.recorded()

    def price(self, account: Metric | None) -> Guarantee:
        return price_of(self.query.name, self.guarantee, account)

    def facts(self, source: Source, receipt: Receipt) -> ReleaseFields:
        """Return the fields of the release that do not depend on the question."""
        described = self.crowd.described()
        described["removed"] = replace(described["removed"], persons=receipt.skipped_names)
        return self.released(described, source, receipt)


class PreparedCrowd(CrowdSums[CrowdRelease]):
    """A question about a crowd: the expected numbers of persons in cells or regions, or of trips between them."""

    query: CrowdQuery[Any]

    def __init__(self, crowd: CrowdSource, question: CrowdQuestion[Any], guarantee: Guarantee) -> None:
        self.crowd, self.question, self.guarantee = crowd, question, guarantee
        self.slices = slices_of(question.every, crowd)
        sizes, counts = crowd.all_sizes
        self.total = float((question.weights(sizes) * counts).sum())
        if guarantee.metric in (dist_inf, dist_2):
            # One unit holds all items, so their weights add up to at most its weight, up to rounding.
            self.total = min(self.total, question.weight)
        self.query = question.query(crowd, in_the_plane(guarantee, self.area), self.total, self.slices)

    def recorded(self) -> dict[str, object]:
        return {**super().recorded(), **self.slices.described}

    def without(self, skipped: NDArray[np.bool_] | None) -> PreparedCrowd:
        return self if skipped is None else PreparedCrowd(self.crowd.without(skipped), self.question, self.guarantee)

    def draw(self, source: Source, progress: Progress) -> Answer:
        sums = self.crowd.added_up(WeightedSums(self.query, self.question, self.slices), progress)
        return self.query.ask_sums(sums, source)

    def packed(self, drawn: Answer) -> dict[str, Any]:
        return {"answer": packed({"value": drawn.value})}

    def unpacked(self, stored: dict[str, Any]) -> Answer:
        return Answer(self.query, unpacked(stored["answer"])["value"], self.query.mechanisms)

    def shape(self, drawn: Answer, source: Source, receipt: Receipt) -> CrowdRelease:
        query = replace(self.query, rounding=self.query.rounding + self.query.sums_rounding)
        more: ReleaseFields = {**self.facts(source, receipt), "answers": (Answer(query, None, drawn.mechanisms),)}
        return self.question.release(self.query, drawn, self.total, self.slices, more)
