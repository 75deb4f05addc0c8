"""The base class of crowd questions: weighted sums of kernels with noise that does not grow with the crowd."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from geoveil import checks
from geoveil.errors import InvalidParameter
from geoveil.mechanisms import Additive, Laplace
from geoveil.mechanisms.mechanism import Floats
from geoveil.noise import Source
from geoveil.privacy import SetDistance, exact
from geoveil.queries.additive import AdditiveQuery, additive
from geoveil.queries.answer import Answer
from geoveil.queries.crowd.lattice import WIDEST, Lattice
from geoveil.queries.crowd.sums import KernelSums, PairedSums, place_error

__all__ = ["SLACK", "CrowdKernel", "CrowdQuery", "Replacement"]

#: Weights such as 1/3 are rounded to doubles, so the weights of a unit may add up to a little more than they should.
#: The constant has this factor for it.
SLACK = 1 + Fraction(1, 2**40)
#: A zCDP budget beyond which a guarantee for replacing a whole unit means nothing: ε is above 40 at δ = 1e-10.
_EMPTY = 10.0

S = TypeVar("S", bound=KernelSums | PairedSums)


class Replacement(NamedTuple):
    """The ordinary differential privacy of a crowd answer: all places of one unit are replaced by any others."""

    #: The budget ρ of zero-concentrated differential privacy, rounded up.
    rho: float
    #: Whether the budget is so large that it protects nothing.
    says_nothing: bool


@dataclass(frozen=True)
class CrowdKernel:
    """The public numbers from which the noise of a question about a crowd follows, beside its guarantee.

    Parameters
    ----------
    cell : float
        The side of a lattice cell, in metres of the plane.
    side : int
        The side of the kernel in cells.
    weight : float
        The largest weight of a unit: 1 for persons, the cap for visits.
    numbers : int
        How many numbers have noise.
    cover, squared_norm : float, optional
        Of regions: the largest sum of the shares of one cell, and a bound on the squared norm of the matrix of shares.
    map_cell, map_side, map_gain : optional
        Of a map beside counts: the side of its cells and of its kernel, and its gain.
    """

    cell: float
    side: int
    weight: float
    numbers: int
    cover: float | None = None
    squared_norm: float | None = None
    map_cell: float | None = None
    map_side: int | None = None
    map_gain: float | None = None

    def stated(self) -> dict[str, float]:
        """Return the numbers by name, without those that do not apply."""
        return {name: number for name, number in vars(self).items() if number is not None}

    def constant(self, each: float) -> float:
        """Return the Lipschitz constant of the sum over a unit, rounded up, given that of the kernel per metre."""
        return exact.root_up((Fraction(self.weight) * Fraction(each) * SLACK) ** 2)


@dataclass(frozen=True)
class CrowdQuery(AdditiveQuery, Generic[S]):
    """Release f(x) = Σ_i w_i·κ(a_i) plus noise, where κ is a kernel on a public lattice.

    Parameters
    ----------
    n : int
        The number of points (or trips); public.
    dimension : int
        2, the number of coordinates of a point.
    guarantee : CGP or GP
        The guarantee of the answer.
    method : {"best", "both"}
        "both" adds Laplace noise, which meets CGP and GP at once.
    lattice : Lattice
        The cells.
    side : int
        The side of the kernel in cells. The kernel blurs by side·cell/√3 (standard deviation along each axis).
    weight : float
        c, the largest sum of the weights of the points that one unit of the guarantee's metric holds. Under dist_inf
        and dist_2 one unit holds all points, under dist_1 each point is a unit.
    total : float, optional
        The largest sum of all weights; public. It is the weight if one unit holds all points, and n times the weight
        otherwise, unless it is given.
    slices : int
        The number of slices of time; each has a block of its own in the value.

    Notes
    -----
    If κ is K-Lipschitz, f is cK-Lipschitz under the metric of the units: one step of length Δ moves the points of one
    unit, each by at most Δ, so f moves by at most Σ w_i·K·Δ ≤ cKΔ; along a chain of steps the lengths add up. Slices
    are public: the kernel of a point enters the block of its slice alone, and the triangle inequality is the same.
    """

    lattice: Lattice = field(kw_only=True)
    side: int = field(kw_only=True, default=1)
    weight: float = field(kw_only=True, default=1.0)
    total: float | None = field(kw_only=True, default=None)
    slices: int = field(kw_only=True, default=1)

    methods = ("best", "both")  # type: ignore[assignment]
    of_set = True

    @property
    def sets(self) -> SetDistance | None:
        """The earth mover's distance of each person's points, which all weigh the same; slices tell them apart.

        Notes
        -----
        If κ is K-Lipschitz, the mean of κ over two distributions differs by at most K times their earth mover's
        distance (Kantorovich and Rubinstein); over all persons these add up.
        """
        sets = super().sets if self.slices == 1 else None
        return "earth mover" if sets == "bottleneck" else sets

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.count("dimension", self.dimension, low=2, high=2, remedy="Crowds are counted in the plane.")
        checks.count("n", self.n, low=1, high=2**40, remedy="It is the number of points.")
        checks.count("side", self.side, low=1, high=WIDEST, remedy="For a wider kernel make the cells larger.")
        checks.count("slices", self.slices, low=1, remedy="It is the number of slices of time.")
        checks.positive("weight", self.weight, remedy="It is 1 if each person counts as one.")
        if self.total is None:
            object.__setattr__(self, "total", self.weight if self._together else self.weight * self.n)
        checks.positive("total", self.total, remedy="It is the number of persons if each counts as one.")
        if self._together and self.all_weights > self.weight:
            raise InvalidParameter(
                "total",
                self.total,
                f"at most the weight {self.weight:g}, since one unit of {self.guarantee.metric} holds all points",
                "Use a metric whose units are persons.",
            )
        self.mechanism  # noqa: B018 - validates the budget early

    @property
    def _together(self) -> bool:
        """Whether one unit of the metric holds all points."""
        return self.guarantee.metric.name in ("inf", "2")

    @property
    def all_weights(self) -> float:
        """The largest sum of all weights."""
        assert self.total is not None
        return self.total

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one slice of the value."""

    @property
    def kernel(self) -> CrowdKernel:
        """The public numbers from which the noise follows."""
        return CrowdKernel(self.lattice.cell, self.side, self.weight, self.size)

    @staticmethod
    @abstractmethod
    def constant_of(kernel: CrowdKernel) -> float:
        """Return the Lipschitz constant of a kernel, per metre, rounded up."""

    @property
    def kernel_constant(self) -> float:
        """The Lipschitz constant of the kernel, per metre, rounded up."""
        return self.constant_of(self.kernel)

    @property
    @abstractmethod
    def squared_norm(self) -> Fraction:
        """The largest squared Euclidean norm of a kernel, or an upper bound."""

    @abstractmethod
    def accumulator(self) -> S:
        """Return empty sums, to which points are added in batches."""

    @abstractmethod
    def value(self, sums: S) -> Floats:
        """Return the true value as doubles: an axis for slices, then `shape`."""

    @property
    @abstractmethod
    def sums_error(self) -> float:
        """A public bound on the Euclidean norm of the value's error; see `value_error`."""

    @property
    def place_error(self) -> float:
        """The largest distance in metres between a point and the place at which doubles evaluate its kernel."""
        return place_error(self.lattice)

    @property
    def size(self) -> int:
        """The number of entries of the value."""
        return self.slices * math.prod(self.shape)

    @cached_property
    def constant(self) -> float:
        """The Lipschitz constant of f under the guarantee's metric, rounded up."""
        return self.kernel.constant(self.kernel_constant)

    @cached_property
    def mechanism(self) -> Additive:
        """The mechanism that adds noise to every number."""
        return additive(self.guarantee, self.size, self.constant, self.method)

    @cached_property
    def sums_rounding(self) -> float:
        """Half of the distance in metres that doubles add between two versions of a unit; add it to `rounding`.

        Notes
        -----
        Doubles evaluate the kernel at a place within `place_error` of the point, and the value is wrong by at most η
        in the Euclidean norm. So the noiseless answers for two versions of a unit that are Δ apart differ by at most
        cK(Δ + 2·place_error) + 2η = cK(Δ + 2·sums_rounding).
        """
        return (self.place_error + self.sums_error / self.constant) * (1 + 2.0**-50)

    @property
    def blur(self) -> float:
        """The standard deviation of the kernel along each axis, in metres."""
        return self.side * self.lattice.cell / math.sqrt(3)

    def ask_sums(self, sums: S, source: Source) -> Answer:
        """Return the private answer from sums that were added up in batches."""
        return self._answer(self.mechanism.sample(self.value(sums).ravel(), source))

    def _answer(self, noisy: Floats) -> Answer:
        """Return the answer with the noisy numbers in the shape of the value, without the axis of a single slice."""
        shape = self.shape if self.slices == 1 else (self.slices, *self.shape)
        return Answer(self.kept, noisy.reshape(shape), self.mechanisms)

    def error(self, beta: float, *, each: bool = False) -> float:
        """Return the exact 1-β quantile of the largest noise on a number, or with `each` of that on one number."""
        return self.mechanism.error(beta, blocks=self.size, each=each)

    @property
    def rounding_error(self) -> float:
        """The error of a number from rounding the points and from doubles: at most K times all weights."""
        moved = self.rounding + self.place_error
        return (self.all_weights * self.kernel_constant * moved + self.sums_error) * (1 + 2.0**-50)

    def zcdp(self) -> Replacement:
        """Return the zCDP of the answer for replacing all places of one unit by any others, rounded up.

        Notes
        -----
        Let X and Y be the sums of w·κ over the unit's places before and after. Kernels are not negative, so
        ‖X - Y‖² = ‖X‖² + ‖Y‖² - 2⟨X, Y⟩ ≤ 2c²·sup‖κ‖² = S². Gaussian noise is then (S²/(2σ²))-zCDP. Laplace noise of
        scale b in D dimensions is (S²/(2Db²))-zCDP. S is enlarged by twice the error of the sums.
        """
        moved = exact.root_up(2 * (Fraction(self.weight) * SLACK) ** 2 * self.squared_norm)
        moved += 2 * self.sums_error + math.ulp(moved)
        divisor = self.mechanism.dimension if isinstance(self.mechanism, Laplace) else 1
        squared = Fraction(moved) ** 2 / (2 * divisor * Fraction(self.mechanism.scale) ** 2)
        rho = math.nextafter(float(squared), math.inf)
        return Replacement(rho, rho > _EMPTY)

    def _described(self) -> dict[str, object]:
        """Return the parameters by name, with those of the lattice in place of the lattice."""
        described = super()._described()
        lattice = described.pop("lattice")
        assert isinstance(lattice, Lattice)
        return described | {name: getattr(lattice, name) for name in ("west", "south", "cell", "rows", "columns")}

    def _equal_weights(self) -> Floats:
        """Return the weight of each point if all are equal."""
        return np.full(self.n, self.all_weights / self.n)
