"""Cells and kernels of flows that a crowd can show, from public numbers alone.

Noise is as large as the mean number of trips between two squares of a certain side, the *balanced side*. Between much
smaller squares flows are noise; between larger ones they are trips.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from geoveil import checks
from geoveil.postprocess.sharpening import Kernel, fitted_kernel

__all__ = ["FlowAdvice", "advise_flows", "balanced_side", "flow_kernel", "most_divisions", "round_length"]

#: The noise between two squares of side S is about this over S·√ρ, as a standard deviation in persons.
_NOISE = 0.31
#: The same, as it enters the balanced side.
_BALANCE = 0.4
#: The expected share of wrong trips at the balanced side, and the power of the side with which it falls. They fit
#: trips in a made-up city and of taxis in San Francisco, of 100 to 100,000 persons, most of them within a factor of 2.
_WRONG, _POWER = 0.5, 1.5
#: The share of trips by which advised cells are expected to be wrong.
_TARGET = 0.15
#: The largest number of pairs of lattice cells, unless the cells that are asked about have more.
_MOST_PAIRS = 2**20
#: The largest number of lattice cells along the side of a cell; more of them gain hardly anything.
_MOST_DIVISIONS = 8
#: The leading digits of a length that is easy to say.
_STEPS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)


@dataclass(frozen=True)
class FlowAdvice:
    """Cells that suit the flows of a crowd, and the error to expect. No theorem bounds it."""

    #: The side of a cell in metres.
    cell: float
    #: The blur that suits these cells, which is the default: a standard deviation in metres.
    bandwidth: float
    #: The expected sum of the errors of all flows, divided by the number of persons.
    share: float
    #: The standard deviation of the noise on one flow, in persons or visits, before sharpening.
    deviation: float


def balanced_side(persons: float, area: float, rho: float) -> float:
    """Return the side in metres of squares between which noise is as large as the mean number of persons.

    A pair of squares of side S is expected to have persons·(S²/area)² of the trips, with noise of 0.4/(S·√ρ).
    """
    return float((_BALANCE / (persons * math.sqrt(rho)) * area**2) ** (1 / 5))


def advise_flows(
    persons: float, area: float, rho: float, *, cap: float = 1.0, cell: float | None = None
) -> FlowAdvice:
    """Return the smallest cells between which flows are expected to be wrong by 15%, and the error to expect.

    Parameters
    ----------
    persons : float
        The public total: the number of units that are protected (persons, days of a person, or trips if each of them
        is a unit); or with a cap, of the visits that count.
    area : float
        The size of the area in m², such as that of the square around it.
    rho : float
        The budget per m².
    cap : float
        The largest number of visits of a person that count; noise is proportional to it.
    cell : float, optional
        The side of other cells in metres, whose error is returned instead.

    Examples
    --------
    >>> advice = advise_flows(100_000, 16_000.0**2, 5e-5)
    >>> advice.cell, round(advice.bandwidth), round(advice.share, 2), round(advice.deviation, 2)
    (1200.0, 299, 0.14, 0.46)
    >>> advise_flows(16, 40_000.0**2, 5e-5, cell=500).share
    2.0
    """
    persons = checks.positive("persons", persons, remedy="Give the number of persons, which is public.")
    area = checks.positive("area", area, remedy="Give square metres.")
    rho = checks.positive("rho", rho, remedy="Give the budget per square metre.")
    cap = checks.positive("cap", cap, remedy="It is 1 if each person counts as one.")
    side = balanced_side(persons / cap, area, rho)
    if cell is None:
        # No cell is larger than the area, however few persons there are.
        cell = round_length(min(side * (_WRONG / _TARGET) ** (1 / _POWER), math.sqrt(area)))
    cell = checks.positive("cell", cell, remedy="It is a length in metres.")
    kernel = min(max(side, cell / _MOST_DIVISIONS), cell)
    # Numbers that are all wrong differ from the truth by twice the total at most.
    share = min(2.0, _WRONG * (side / cell) ** _POWER)
    deviation = cap * _NOISE / (kernel * math.sqrt(rho)) * (cell / kernel) ** 2
    return FlowAdvice(cell, kernel / math.sqrt(3), share, deviation)


def round_length(length: float) -> float:
    """Return a length rounded up to one that is easy to say, such as 120, 500 or 2500; up to 3% less is near enough.

    Examples
    --------
    >>> round_length(830.0), round_length(1020.0), round_length(1040.0)
    (1000.0, 1000.0, 1200.0)
    """
    power = 10.0 ** math.floor(math.log10(length))
    return next((step * power for step in _STEPS if step * power >= 0.97 * length), 10 * power)


def most_divisions(cells: int, slices: int = 1) -> int:
    """Return the largest number of lattice cells along the side of a cell that are soon processed."""
    fitting = math.isqrt(math.isqrt(max(_MOST_PAIRS // (cells**2 * slices), 1)))
    return max(1, min(_MOST_DIVISIONS, fitting))


def flow_kernel(persons: float, rho_s2: float, cells: int, slices: int = 1, *, most: int = _MOST_DIVISIONS) -> Kernel:
    """Choose the lattice and the kernel of flows between cells from public numbers, as `kernel_side` does for maps.

    The kernel has the balanced side, and is no wider than a cell: wider ones blur trips into neighbouring cells, from
    where sharpening does not bring them back.

    Examples
    --------
    >>> flow_kernel(100_000, 5e-5 * 1000**2, 16 * 16)
    Kernel(divisions=2, cells=1)
    >>> flow_kernel(100_000, 5e-5 * 4000**2, 4 * 4)
    Kernel(divisions=8, cells=1)
    >>> flow_kernel(100, 5e-5 * 1000**2, 16 * 16)
    Kernel(divisions=2, cells=2)
    >>> flow_kernel(100, 5e-5 * 1000**2, 40 * 40)
    Kernel(divisions=1, cells=1)
    """
    side = balanced_side(persons, float(cells), rho_s2)
    return fitted_kernel(min(side, 1.0), min(most, most_divisions(cells, slices)))
