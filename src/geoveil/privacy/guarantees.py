"""The two privacy guarantees as immutable values: GP(epsilon) and CGP(rho).

A guarantee has a budget and a metric. Guarantees can be added, divided, compared and converted, and each computes the
success probability of an attacker.
"""

from __future__ import annotations

import functools
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, TypeAlias, cast

from geoveil import checks
from geoveil.errors import IncompatibleGuarantees, InvalidParameter, Message
from geoveil.privacy import conversion, exact, meaning
from geoveil.privacy.exact import Number
from geoveil.privacy.metrics import Metric, as_metric, dist_inf
from geoveil.settings.other_names import foreign_names_refused
from geoveil.text.typed_values import read_length

__all__ = ["CGP", "GP", "UNITS", "Certificate", "Guarantee", "certified", "promise", "total"]

#: A release's certificate, as read from JSON.
Certificate: TypeAlias = Mapping[str, Any]

#: Units of length in metres.
UNITS = {
    "m": Decimal(1),
    "km": Decimal(1000),
    "ft": Decimal("0.3048"),
    "mi": Decimal("1609.344"),
}


def _metres(unit: str, power: int) -> Decimal:
    if unit not in UNITS:
        raise InvalidParameter("unit", unit, " or ".join(map(repr, UNITS)), 'Budgets are per "m" by default.')
    return UNITS[unit] if power == 1 else exact.multiply(UNITS[unit], UNITS[unit])


class Guaranteed(Protocol):
    """Anything with a guarantee, such as a release."""

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee."""


class Guarantee(ABC):
    """A privacy guarantee: an exact budget per metre (GP) or per square metre (CGP), under a metric.

    Examples
    --------
    >>> release = gv.Locations(homes, area=bay).mean(rho=1e-4)
    >>> release.guarantee.budget, release.guarantee.symbol, isinstance(release.guarantee, gv.Guarantee)
    (Decimal('0.0001'), 'rho', True)
    """

    metric: Metric
    #: Name of the definition of privacy: "GP" or "CGP".
    notion: ClassVar[str]
    #: Name of the budget: "epsilon" or "rho".
    symbol: ClassVar[str]
    #: The budget is per metre to this power: 1 for GP, 2 for CGP.
    power: ClassVar[int]

    @property
    @abstractmethod
    def budget(self) -> Decimal:
        """The budget: epsilon per metre, or rho per square metre."""

    @abstractmethod
    def with_budget(self, budget: Decimal) -> Self:
        """Return the same guarantee with another budget.

        Examples
        --------
        >>> from decimal import Decimal
        >>> gv.CGP(rho=1e-4).with_budget(Decimal("5e-5"))
        CGP(rho=5e-05)
        """

    @abstractmethod
    def hidden(self, *, chance: float) -> float:
        """Return the distance in metres at which an attacker tells two locations apart with at most this chance.

        Examples
        --------
        >>> round(gv.CGP(rho=1e-4).hidden(chance=0.75))
        74
        """

    @abstractmethod
    def attacker(self, *, distance: float) -> float:
        """Return the largest chance of guessing right which of two inputs at this distance is the true one.

        Examples
        --------
        >>> round(gv.CGP(rho=1e-4).attacker(distance=50), 2)
        0.67
        """

    def per(self, unit: str) -> Decimal:
        """Return the budget per unit of length (for CGP: per its square), rounded up to 30 digits.

        Examples
        --------
        >>> gv.CGP(rho=1e-4).per("km"), gv.GP(epsilon=0.01).per("km")
        (Decimal('100.0000'), Decimal('10.00'))
        """
        return exact.multiply_up(self.budget, _metres(unit, self.power))

    def under(self, metric: str | Metric, *, n: int) -> Self:
        """Return the guarantee that this one implies under another metric, for tuples of n points.

        Notes
        -----
        dist_inf ≤ dist_2 ≤ dist_1, so a guarantee holds unchanged for every larger metric. For a smaller one,
        epsilon is multiplied by the largest ratio of the two metrics, and rho by its square. A guarantee for a unit
        holds for every smaller unit inside it. What it implies for a larger unit depends on the mechanism and on how
        the points are spread over units: a session with a ledger computes it for accounts with another unit.

        Examples
        --------
        >>> gv.CGP(rho=1e-4, metric="1").under("inf", n=10)
        CGP(rho=0.01)
        >>> gv.GP(epsilon=0.1, metric="inf").under("2", n=10)
        GP(epsilon=0.1, metric='2')
        """
        n = checks.count("n", n, low=1, remedy="It is the number of points.")
        target = as_metric(metric)
        ratio = self.metric.stretch_squared(target, n)
        if ratio is None:
            raise IncompatibleGuarantees(
                f"What a guarantee under {self.metric} implies under {target} depends on the release.",
                "release.cost(unit) computes it, where it is known; or ask with that unit.",
            )
        squared = Decimal(ratio)
        if squared == 1:
            return self._replace(budget=self.budget, metric=target)
        factor = squared if self.power == 2 else exact.sqrt_up(squared)
        return self._replace(budget=exact.multiply_up(self.budget, factor), metric=target)

    def under_unit(self, metric: Metric, factor: Decimal = Decimal(1)) -> Self:
        """Return a guarantee under another metric with a multiple of the budget, rounded up.

        The caller must know that it holds.

        Examples
        --------
        >>> gv.CGP(rho=1e-4).under_unit(gv.dist_1)
        CGP(rho=0.0001, metric='1')
        """
        budget = self.budget if factor == 1 else exact.multiply_up(self.budget, factor)
        return self._replace(budget=budget, metric=metric)

    @abstractmethod
    def _replace(self, *, budget: Decimal, metric: Metric) -> Self: ...

    def certificate(self) -> dict[str, str]:
        """Return the guarantee's fields of a certificate.

        Examples
        --------
        >>> gv.GP(epsilon=0.01).certificate()
        {'notion': 'GP', 'epsilon': '0.01', 'unit': 'per metre', 'metric': 'dist_inf'}
        """
        return {
            "notion": self.notion,
            self.symbol: str(self.budget),
            "unit": f"per {'square ' if self.power == 2 else ''}metre",
            "metric": str(self.metric),
        }

    def split(self, k: int) -> list[Self]:
        """Return k parts that add up to this guarantee exactly; the last part takes the remainder.

        Examples
        --------
        >>> parts = gv.CGP(rho=1).split(3)
        >>> gv.total(parts) == gv.CGP(rho=1)
        True
        """
        k = checks.count("k", k, low=1, remedy="It is the number of parts.")
        part = self / k
        rest = exact.subtract(self.budget, exact.multiply(part.budget, Decimal(k - 1)))
        return [part] * (k - 1) + [self.with_budget(rest)]

    def _same_kind(self, other: object) -> Self:
        if not isinstance(other, type(self)):
            remedy = "Turn GP into CGP with .as_cgp()." if isinstance(other, Guarantee) else "Give a guarantee."
            raise IncompatibleGuarantees(f"{self!r} and {other!r} cannot be added or compared.", remedy)
        if other.metric != self.metric:
            raise IncompatibleGuarantees(
                f"A guarantee under {self.metric} and one under {other.metric} cannot be added or compared.",
                f"Convert one with .under({self.metric.name!r}, n=...).",
            )
        return other

    def __add__(self, other: object) -> Self:
        if other == 0 and isinstance(other, int):
            return self
        return self._compose(self._same_kind(other))

    __radd__ = __add__

    def _compose(self, other: Self) -> Self:
        return self.with_budget(exact.add(self.budget, other.budget))

    def __sub__(self, other: object) -> Self:
        """Return the budget that remains after the other is spent; raise InvalidParameter if none remains."""
        return self.with_budget(exact.subtract(self.budget, self._same_kind(other).budget))

    def __mul__(self, factor: Number) -> Self:
        if isinstance(factor, Fraction):
            return self * factor.numerator / factor.denominator
        return self.with_budget(exact.multiply(self.budget, exact.to_budget("factor", factor)))

    __rmul__ = __mul__

    def __truediv__(self, k: Number) -> Self:
        if isinstance(k, Fraction):
            return self * k.denominator / k.numerator
        return self.with_budget(exact.divide_down(self.budget, exact.to_budget("k", k)))

    def portions(self, share: Number) -> tuple[Self, Self]:
        """Return a share of the budget, between 0 and 1, and the rest; the two add up to the budget exactly.

        Examples
        --------
        >>> gv.CGP(rho=1).portions(0.7)
        (CGP(rho=0.7), CGP(rho=0.3))
        """
        if exact.to_budget("share", share) >= 1:
            raise InvalidParameter("share", share, "between 0 and 1", "It is a fraction of the budget.")
        part = self * share
        return part, self.with_budget(exact.subtract(self.budget, part.budget))

    def __le__(self, other: object) -> bool:
        return self.budget <= self._same_kind(other).budget

    def __lt__(self, other: object) -> bool:
        return self <= other and self != other

    def __ge__(self, other: object) -> bool:
        return self._same_kind(other) <= self

    def __gt__(self, other: object) -> bool:
        return self >= other and self != other


@dataclass(frozen=True, init=False, repr=False)
class CGP(Guarantee):
    """ρ-concentrated geo-privacy: D_α(M(x) ‖ M(x')) ≤ α·ρ·dist(x, x')² for all x, x' and all α > 1.

    Parameters
    ----------
    rho : float, str, Decimal or Fraction
        The budget per square metre; a float is read as the decimal its author wrote.
    metric : {"inf", "2", "1"} or the name of a unit, such as "1 day"
        The distance between tuples of points.
    unit : {"m", "km", "ft", "mi"}
        The unit of length: `rho` is per square of it.

    Notes
    -----
    Definition 3 of Liang and Yi, Concentrated Geo-Privacy (2023). Adaptive composition adds ρ (Theorem 3.2).

    Examples
    --------
    >>> gv.CGP(rho=50, unit="km") == gv.CGP(rho=5e-5)
    True
    >>> sum([gv.CGP(rho=0.1)] * 10) == gv.CGP(rho=1)
    True
    >>> gv.CGP(rho=2e-5) < gv.CGP(rho=5e-5)   # smaller is more private
    True
    """

    rho: Decimal
    metric: Metric

    notion: ClassVar[str] = "CGP"
    symbol: ClassVar[str] = "rho"
    power: ClassVar[int] = 2

    @foreign_names_refused
    def __init__(self, *, rho: Number, metric: str | Metric = dist_inf, unit: str = "m") -> None:
        budget = exact.to_budget("rho", rho)
        if unit != "m":
            budget = exact.to_budget("rho", exact.divide_down(budget, _metres(unit, 2)))
        object.__setattr__(self, "rho", budget)
        object.__setattr__(self, "metric", as_metric(metric))

    @property
    def budget(self) -> Decimal:
        return self.rho

    def with_budget(self, budget: Decimal) -> CGP:
        return CGP(rho=budget, metric=self.metric)

    def _replace(self, *, budget: Decimal, metric: Metric) -> CGP:
        return CGP(rho=budget, metric=metric)

    def as_cgp(self) -> CGP:
        """Return this guarantee; GP has the same method.

        Examples
        --------
        >>> gv.CGP(rho=1e-4).as_cgp()
        CGP(rho=0.0001)
        """
        return self

    def as_gp(self, *, delta: Number, within: Number, form: str = "tight") -> GP:
        """Return the (ε, δ, Δ)-GP that this guarantee implies.

        Parameters
        ----------
        delta : float
            The probability δ.
        within : float
            The distance Δ in metres up to which it holds.
        form : {"tight", "paper", "paper-s", "gaussian"}
            "paper" is Lemma 3.7 and "paper-s" its refinement in Appendix C; "tight" is better than both. All three
            hold for every CGP mechanism. "gaussian" is the exact curve if every release has Gaussian noise.

        Examples
        --------
        >>> rho = gv.CGP(rho=5e-5)
        >>> for form in ("paper", "paper-s", "tight", "gaussian"):
        ...     print(form, round(float(rho.as_gp(delta=1e-10, within=1000, form=form).epsilon), 4))
        paper 0.1179
        paper-s 0.1171
        tight 0.1162
        gaussian 0.1128
        """
        epsilon = conversion.epsilon_of(
            float(self.rho),
            delta=float(exact.to_decimal("delta", delta)),
            within=float(exact.to_decimal("within", within)),
            form=form,
        )
        # If (0, δ, Δ)-GP holds, ε is the smallest budget that can be written.
        return GP(epsilon=max(Decimal(epsilon), exact.SMALLEST), delta=delta, within=within, metric=self.metric)

    @classmethod
    def implying(
        cls,
        *,
        epsilon: Number,
        delta: Number,
        within: Number,
        form: str = "tight",
        metric: str | Metric = dist_inf,
    ) -> CGP:
        """Return the largest ρ, rounded down to 6 digits, that implies (ε, δ, Δ)-GP: the inverse of `as_gp`.

        Examples
        --------
        >>> gv.CGP.implying(epsilon=0.0722, delta=1e-10, within=150)
        CGP(rho=5.09196e-05)
        """
        rho = conversion.rho_of(
            float(exact.to_budget("epsilon", epsilon)),
            delta=float(exact.to_decimal("delta", delta)),
            within=float(exact.to_decimal("within", within)),
            form=form,
        )
        return cls(rho=exact.round_down(rho, 6), metric=metric)

    @classmethod
    def hiding(
        cls, distance: float | str, *, chance: float = 0.75, gaussian: bool = False, metric: str | Metric = dist_inf
    ) -> CGP:
        """Return the budget that limits an attacker's chance of telling two locations apart.

        Parameters
        ----------
        distance : float
            Distance of the two locations in metres. For tuples of points it is their distance under the metric: if
            all of n points move by r, it is √n·r under dist_2 and n·r under dist_1.
        chance : float
            Largest probability that the attacker guesses right, between 0.5 (a coin flip) and 1.
        gaussian : bool
            Whether every release has Gaussian noise, which allows a larger budget. If False, the budget holds for
            every CGP mechanism.
        metric : {"inf", "2", "1"}
            The metric of the guarantee.

        Examples
        --------
        >>> gv.CGP.hiding(distance=200)
        CGP(rho=1.37326e-05)
        >>> gv.CGP.hiding(distance=200, chance=0.6)
        CGP(rho=2.02732e-06)
        """
        distance, chance = meaning.check_distance(distance), meaning.check_chance(chance)
        rho = (meaning.rho_hiding_gaussian if gaussian else meaning.rho_hiding)(distance, chance)
        return cls(rho=exact.round_down(rho, 6), metric=metric)

    def hidden(self, *, chance: float) -> float:
        """Return the distance in metres at which an attacker tells two locations apart with at most this chance.

        Examples
        --------
        >>> round(gv.CGP(rho=1.37326e-05).hidden(chance=0.75))
        200
        """
        return math.sqrt(meaning.rho_hiding(1.0, meaning.check_chance(chance)) / float(self.rho))

    def attacker(self, *, distance: float, gaussian: bool = False) -> float:
        """Return the largest chance that an attacker tells two locations, or tuples, at this distance apart.

        Examples
        --------
        >>> round(gv.CGP(rho=5e-5).attacker(distance=200), 3)
        0.917
        >>> round(gv.CGP(rho=5e-5).attacker(distance=200, gaussian=True), 3)
        0.841
        """
        attacker = meaning.attacker_gaussian if gaussian else meaning.attacker_cgp
        return attacker(float(self.rho), meaning.check_distance(distance))

    def __repr__(self) -> str:
        return f"CGP(rho={exact.shown(self.rho)}{_shown_metric(self.metric)})"

    def __str__(self) -> str:
        return f"CGP with ρ = {exact.rounded_up(self.rho)} per m²{_worded_metric(self.metric)}"


@dataclass(frozen=True, init=False, repr=False)
class GP(Guarantee):
    """ε-geo-privacy: P[M(x) ∈ S] ≤ exp(ε·dist(x, x'))·P[M(x') ∈ S] for all x, x' and events S.

    Parameters
    ----------
    epsilon : float, str, Decimal or Fraction
        The budget per metre; a float is read as the decimal its author wrote.
    delta : float, default 0
        Probability that is added to the right-hand side: (ε, δ)-GP.
    within : float, optional
        Largest distance in metres at which it holds: (ε, δ, Δ)-GP. By default it holds at every distance.
    metric : {"inf", "2", "1"} or the name of a unit, such as "1 day"
        The distance between tuples of points.
    unit : {"m", "km", "ft", "mi"}
        The unit of length: `epsilon` is per unit.

    Notes
    -----
    Definition 2 of Liang and Yi (2023), also called geo-indistinguishability (Andrés et al., 2013). Adaptive
    composition adds ε and δ (Lemma 2.7); nothing better holds (Theorem 3.5).

    Examples
    --------
    >>> gv.GP(epsilon=2, unit="km") + gv.GP(epsilon=0.001)
    GP(epsilon=0.003)
    >>> gv.GP(epsilon=0.1).as_cgp()
    CGP(rho=0.005)
    """

    epsilon: Decimal
    delta: Decimal
    within: Decimal | None
    metric: Metric

    notion: ClassVar[str] = "GP"
    symbol: ClassVar[str] = "epsilon"
    power: ClassVar[int] = 1

    @foreign_names_refused
    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number = 0,
        within: Number | None = None,
        metric: str | Metric = dist_inf,
        unit: str = "m",
    ) -> None:
        budget = exact.to_budget("epsilon", epsilon)
        if unit != "m":
            budget = exact.to_budget("epsilon", exact.divide_down(budget, _metres(unit, 1)))
        chance = exact.to_decimal("delta", delta)
        if not 0 <= chance < 1:
            raise InvalidParameter("delta", delta, "at least 0 and below 1", "delta=0 is pure geo-privacy.")
        reach = None if within is None else exact.to_budget("within", within)
        object.__setattr__(self, "epsilon", budget)
        object.__setattr__(self, "delta", chance)
        object.__setattr__(self, "within", reach)
        object.__setattr__(self, "metric", as_metric(metric))

    @property
    def pure(self) -> bool:
        """Whether the guarantee holds with δ = 0 at every distance."""
        return self.delta == 0 and self.within is None

    @property
    def budget(self) -> Decimal:
        return self.epsilon

    def with_budget(self, budget: Decimal) -> GP:
        return self._replace(budget=budget, metric=self.metric)

    def _replace(self, *, budget: Decimal, metric: Metric) -> GP:
        if metric != self.metric and not self.pure:
            raise IncompatibleGuarantees(f"{self!r} cannot change its metric: only pure GP can.")
        return GP(epsilon=budget, delta=self.delta, within=self.within, metric=metric)

    def __mul__(self, factor: Number) -> GP:
        self._require_pure("scaled")
        return super().__mul__(factor)

    __rmul__ = __mul__

    def __truediv__(self, k: Number) -> GP:
        self._require_pure("divided")
        return super().__truediv__(k)

    def __sub__(self, other: object) -> GP:
        self._require_pure("subtracted from")
        self._same_kind(other)._require_pure("subtracted")
        return super().__sub__(other)

    def _compose(self, other: GP) -> GP:
        reaches = [reach for reach in (self.within, other.within) if reach is not None]
        return GP(
            epsilon=exact.add(self.epsilon, other.epsilon),
            delta=exact.add(self.delta, other.delta),
            within=min(reaches, default=None),
            metric=self.metric,
        )

    def __le__(self, other: object) -> bool:
        that = self._same_kind(other)
        reaches_as_far = self.within is None or (that.within is not None and that.within <= self.within)
        return self.epsilon <= that.epsilon and self.delta <= that.delta and reaches_as_far

    def as_cgp(self, *, dimension: int = 1) -> CGP:
        """Return the CGP that pure ε-GP implies: ρ = ε²/2 (the paper's Lemma 3.6).

        Parameters
        ----------
        dimension : int
            Dimension of the Laplace noise, if a single vector of it gives the guarantee. Then ρ is only
            ε²/(2·dimension). Leave it out for several vectors side by side.

        Examples
        --------
        >>> GP(epsilon=0.01).as_cgp(), GP(epsilon=0.01).as_cgp(dimension=2)
        (CGP(rho=5e-05), CGP(rho=2.5e-05))
        """
        self._require_pure("turned into CGP")
        checks.count("dimension", dimension, low=1, remedy="It is the dimension of one vector of Laplace noise.")
        square = exact.multiply(self.epsilon, self.epsilon)
        return CGP(rho=exact.divide_up(square, Decimal(2 * dimension)), metric=self.metric)

    @classmethod
    def of_laplace(cls, guarantee: CGP, dimension: int) -> GP:
        """Return the GP of Laplace noise in R^dimension that implies the given CGP: ε = √(2·dimension·ρ).

        Examples
        --------
        >>> gv.GP.of_laplace(gv.CGP(rho="0.00005"), 2).as_cgp(dimension=2)
        CGP(rho=0.0000499999999999999999999999999994)
        """
        epsilon = exact.sqrt_down(exact.multiply(Decimal(2 * dimension), guarantee.rho))
        return cls(epsilon=epsilon, metric=guarantee.metric)

    @classmethod
    def hiding(cls, distance: float | str, *, chance: float = 0.75, metric: str | Metric = dist_inf) -> GP:
        """Return the budget that limits an attacker's chance of telling two locations apart; see `CGP.hiding`.

        Examples
        --------
        >>> gv.GP.hiding(distance=200)
        GP(epsilon=0.00549306)
        """
        distance, chance = meaning.check_distance(distance), meaning.check_chance(chance)
        return cls(epsilon=exact.round_down(meaning.epsilon_hiding(distance, chance), 6), metric=metric)

    def hidden(self, *, chance: float) -> float:
        """Return the distance in metres at which an attacker tells two locations apart with at most this chance.

        Examples
        --------
        >>> round(gv.GP(epsilon=0.01).hidden(chance=0.75))
        110
        """
        self._require_pure("interpreted")
        return meaning.epsilon_hiding(1.0, meaning.check_chance(chance)) / float(self.epsilon)

    def attacker(self, *, distance: float) -> float:
        """Return the largest chance that an attacker tells two locations at this distance apart.

        Examples
        --------
        >>> round(gv.GP(epsilon=0.01).attacker(distance=110), 2)
        0.75
        """
        self._require_pure("interpreted")
        return meaning.attacker_gp(float(self.epsilon), meaning.check_distance(distance))

    def _require_pure(self, done: str) -> None:
        if not self.pure:
            raise IncompatibleGuarantees(f"{self!r} cannot be {done}: only pure GP (delta=0, no within) can.")

    def __repr__(self) -> str:
        extra = f", delta={exact.shown(self.delta)}" if self.delta else ""
        extra += f", within={exact.shown(self.within)}" if self.within is not None else ""
        return f"GP(epsilon={exact.shown(self.epsilon)}{extra}{_shown_metric(self.metric)})"

    def __str__(self) -> str:
        extra = f", δ = {float(self.delta):g}" if self.delta else ""
        extra += f", within {float(self.within):g} m" if self.within is not None else ""
        return f"GP with ε = {exact.rounded_up(self.epsilon)} per m{_worded_metric(self.metric)}{extra}"


def _shown_metric(metric: Metric) -> str:
    return "" if metric == dist_inf else f", metric={metric.name!r}"


def _worded_metric(metric: Metric) -> str:
    return "" if metric == dist_inf else f" under {metric}"


def total(guarantees: Iterable[Guarantee | Guaranteed]) -> Guarantee:
    """Return the sum of several guarantees, or of the guarantees of several releases: their composition.

    Examples
    --------
    >>> x = [[0.0, 0.0], [100.0, 0.0]]
    >>> gv.total([gv.Locations(x).mean(rho=1e-4), gv.Locations(x).center(rho=2e-4)])
    CGP(rho=0.0003)
    """
    parts = cast("list[Guarantee]", [getattr(part, "guarantee", part) for part in guarantees])
    if not parts:
        raise InvalidParameter("guarantees", parts, "at least one guarantee", "Give guarantees or releases to add up.")
    return functools.reduce(operator.add, parts)


def promise(
    hide: float | str | None,
    rho: Number | Guarantee | None,
    epsilon: Number | Guarantee | None,
    metric: str | Metric | None,
) -> Guarantee:
    """Return the guarantee that a caller asks for with hide, rho or epsilon.

    Parameters
    ----------
    hide : float or str, optional
        The distance that is hidden at 75%: in metres, or a text such as "200 m".
    rho, epsilon : number or guarantee, optional
        The budget.
    metric : str or Metric, optional
        The metric of what is hidden together; None if a guarantee's own metric holds, which is "inf" by default.

    Examples
    --------
    >>> promise("200 m", None, None, None), promise(None, CGP(rho=1e-4), None, "1 day")
    (CGP(rho=1.37326e-05), CGP(rho=0.0001, metric='1 day'))
    """
    if sum(given is not None for given in (hide, rho, epsilon)) != 1:
        raise InvalidParameter(
            "hide, rho, epsilon",
            (hide, rho, epsilon),
            "exactly one of them",
            Message("Give {hide} (metres hidden at 75%), {rho} (CGP, per square metre) or {epsilon} (GP, per metre)."),
        )
    used = dist_inf if metric is None else as_metric(metric)
    if hide is not None:
        distance = read_length(hide) if isinstance(hide, str) else hide
        if distance is None:
            raise InvalidParameter("hide", hide, "a distance in metres, such as 200", "Give a positive length.")
        in_metres = Message("Try {hide:200}: it is in metres.")
        return CGP.hiding(distance=checks.number("hide", distance, above=0, below=1e12, remedy=in_metres), metric=used)
    given: Number | Guarantee = rho if rho is not None else epsilon  # type: ignore[assignment]
    kind: type[CGP] | type[GP] = CGP if rho is not None else GP
    if not isinstance(given, Guarantee):
        return CGP(rho=given, metric=used) if kind is CGP else GP(epsilon=given, metric=used)
    if not isinstance(given, kind) or (isinstance(given, GP) and not given.pure):
        wanted = "{rho} takes a CGP guarantee" if kind is CGP else "{epsilon} takes a pure GP guarantee"
        raise IncompatibleGuarantees(Message(wanted + ", not {given}.", given=repr(given)))
    if metric is None or used == given.metric:
        return given
    if given.metric != dist_inf:
        remedy = "Give the number alone, without a metric of its own."
        raise InvalidParameter("rho" if kind is CGP else "epsilon", repr(given), f"a budget under {used}", remedy)
    # A budget that states no metric holds for whatever is hidden together.
    return given.under_unit(used)


def certified(certificate: Certificate) -> CGP | GP:
    """Return the guarantee that a certificate states."""
    kind: type[CGP] | type[GP] = CGP if CGP.symbol in certificate else GP
    return kind(**{kind.symbol: certificate[kind.symbol], "metric": certificate["metric"].removeprefix("dist_")})
