"""Guarantees: exact budgets, units, order, addition, metrics, and what they mean to an attacker."""

from __future__ import annotations

import copy
import decimal
import functools
import itertools
import math
import operator
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import geoveil as gv
from geoveil.errors import IncompatibleGuarantees, InvalidParameter

Guarantee = gv.CGP | gv.GP

FEW = settings(max_examples=100)
METRICS = {"inf": gv.dist_inf, "2": gv.dist_2, "1": gv.dist_1}
KINDS = pytest.mark.parametrize(
    "make", [lambda b, **more: gv.CGP(rho=b, **more), lambda b, **more: gv.GP(epsilon=b, **more)], ids=["CGP", "GP"]
)

# Budgets as people write them, up to the 30 digits that a division leaves.
budgets = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent),
    st.integers(1, 10**6) | st.integers(10**29, 10**30 - 1),
    st.integers(-60, 20),
)
guarantees = st.one_of(budgets.map(lambda b: gv.CGP(rho=b)), budgets.map(lambda b: gv.GP(epsilon=b)))
cgps = budgets.map(lambda b: gv.CGP(rho=b))
gps = st.builds(
    lambda b, delta, within: gv.GP(epsilon=b, delta=delta, within=within),
    budgets,
    st.decimals(0, Decimal("0.3"), places=12),
    st.none() | st.integers(1, 10**6),
)


# ------------------------------------------------------------------------------------------------- exact budgets


@KINDS
def test_ten_times_a_tenth_is_one(make: Any) -> None:
    """A float is read as the decimal its author wrote, so ten times 0.1 is 1."""
    assert sum([make(0.1)] * 10) == make(1)
    assert make(0.1) * 3 == make("0.3")
    assert make(0.1).budget == Decimal("0.1")


@KINDS
@pytest.mark.parametrize(
    "written", [5e-5, "5e-5", " 0.00005 ", Decimal("0.00005"), Fraction(1, 20_000), np.float64(5e-5), np.float32(5e-5)]
)
def test_every_way_of_writing_a_number_is_read_alike(make: Any, written: Any) -> None:
    """Floats of any width, strings, decimals and fractions of one number give one guarantee."""
    assert make(written) == make(Decimal("5e-5"))
    assert hash(make(written)) == hash(make(Decimal("5e-5")))


@KINDS
@pytest.mark.parametrize("whole", [3, np.int64(3), np.uint8(3), Fraction(3)])
def test_whole_numbers_are_read_exactly(make: Any, whole: Any) -> None:
    """Whole numbers of any type are themselves."""
    assert make(whole).budget == 3


def test_a_fraction_that_no_decimal_meets_is_rounded_down() -> None:
    """One third is read as the largest decimal of 30 digits below it."""
    assert gv.CGP(rho=Fraction(1, 3)).rho == Decimal("0." + "3" * 30)
    assert gv.CGP(rho=Fraction(2, 3)).rho == Decimal("0." + "6" * 30)


@pytest.mark.slow
@FEW
@given(guarantees, st.integers(1, 200))
def test_parts_add_up_exactly(g: Guarantee, k: int) -> None:
    """split(k) gives k positive parts whose sum is the whole, to the last digit."""
    parts = g.split(k)
    assert len(parts) == k
    assert gv.total(parts) == g
    assert sum(Fraction(part.budget) for part in parts) == Fraction(g.budget)
    assert all(part.budget > 0 for part in parts)


@FEW
@given(guarantees, st.integers(2, 200))
def test_parts_are_as_good_as_equal(g: Guarantee, k: int) -> None:
    """The last part of a split takes no more than the rounding of the others."""
    first, *_, last = g.split(k)
    assert 0 <= Fraction(last.budget) - Fraction(first.budget) <= Fraction(first.budget) * k / 10**29


@KINDS
def test_ten_thousand_parts_add_up(make: Any) -> None:
    """A budget in ten thousand parts is the budget, however it is written."""
    for g in (make(5e-5), make("0.123456789"), make(1) / 7):
        assert gv.total(g.split(10_000)) == g


@FEW
@given(guarantees, st.integers(1, 10**6))
def test_a_quotient_taken_back_never_exceeds_the_whole(g: Guarantee, k: int) -> None:
    """A part times the number of parts is at most the whole, and less by no more than a rounding at 30 digits."""
    back = g / k * k
    assert back <= g
    assert Fraction(back.budget) >= Fraction(g.budget) * (1 - Fraction(1, 10**29))


@FEW
@given(guarantees, st.floats(1e-6, 0.999999) | st.fractions(Fraction(1, 1000), Fraction(999, 1000)))
def test_two_portions_are_the_whole(g: Guarantee, share: float | Fraction) -> None:
    """A share of a budget and the rest add up exactly, and the share is what its author wrote, or rounded down."""
    part, rest = g.portions(share)
    assert part + rest == g
    written = share if isinstance(share, Fraction) else Fraction(str(share))
    exact = Fraction(g.budget) * written
    assert exact * (1 - Fraction(1, 10**29)) <= Fraction(part.budget) <= exact


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.5, "nan", True])
def test_shares_outside_their_range_are_refused(share: Any) -> None:
    """A share is strictly between 0 and 1."""
    with pytest.raises(InvalidParameter, match=r"^share = "):
        gv.CGP(rho=1).portions(share)


@pytest.mark.parametrize("k", [np.int64(3), np.uint8(3), 3])
def test_numbers_of_parts_may_come_from_numpy(k: Any) -> None:
    """A number of parts or of points is any whole number, numpy's too."""
    assert len(gv.CGP(rho=1).split(k)) == 3
    assert gv.CGP(rho=1, metric="1").under("inf", n=k) == gv.CGP(rho=9)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "three", math.nan])
def test_numbers_of_parts_that_are_none_are_refused(k: Any) -> None:
    """split(k) and under(n=k) take whole numbers of at least 1."""
    with pytest.raises(InvalidParameter, match=r"^k = "):
        gv.CGP(rho=1).split(k)
    with pytest.raises(InvalidParameter, match=r"^n = "):
        gv.CGP(rho=1, metric="1").under("inf", n=k)


def _computed() -> list[object]:
    g = gv.CGP(rho="1.23456789e-5", metric="1")
    e = gv.GP(epsilon="0.0123456789", metric="1")
    x = np.zeros((7, 2))
    rng = np.random.default_rng(0)
    return [
        *(made for h in (g, e) for made in (h / 3, h * 7, *h.portions(0.37), *h.split(3), h.under("inf", n=12_345))),
        *(h.per(unit) for h in (g, e) for unit in ("km", "mi", "ft")),
        gv.CGP(rho="1.23456789", unit="mi"),
        e.as_cgp(),
        gv.points(x, rho=g, rng=rng).scale,
        gv.points(x, epsilon=e, rng=rng).scale,
        gv.mean(x, rho="1.23456789e-5", rng=rng).scale,
        gv.nearest(x, (0, 0), k=2, rho="1.23456789e-5", rng=rng).scale,
        gv.hull(x, rho="1.23456789e-5", rng=rng).scale,
        gv.hull(x, k=3, rho="1.23456789e-5", method="paper", rng=rng).scale,
        gv.first_within(x, (0, 0), radius=1, epsilon="1.23456789e-5", rng=rng).scale,
    ]


@pytest.mark.parametrize("rounding", [decimal.ROUND_UP, decimal.ROUND_DOWN])
def test_the_callers_decimal_context_changes_nothing(rounding: str) -> None:
    """Budgets and scales do not depend on the precision that a program has set for its own decimals."""
    usual = _computed()
    with decimal.localcontext(prec=3, rounding=rounding):
        low = _computed()
    assert low == usual


# --------------------------------------------------------------------------------------------------------- units


@pytest.mark.parametrize(("unit", "metres"), [("m", "1"), ("km", "1000"), ("ft", "0.3048"), ("mi", "1609.344")])
def test_units_are_exact(unit: str, metres: str) -> None:
    """A budget per unit is the budget per metre times the unit, squared for CGP, and comes back."""
    size = Decimal(metres)
    assert gv.GP(epsilon=size, unit=unit) == gv.GP(epsilon=1)
    assert gv.CGP(rho=size * size, unit=unit) == gv.CGP(rho=1)
    assert gv.GP(epsilon=1).per(unit) == size
    assert gv.CGP(rho=1).per(unit) == size * size


@FEW
@given(budgets, st.sampled_from(["km", "ft", "mi"]))
def test_a_budget_per_unit_is_rounded_down(budget: Decimal, unit: str) -> None:
    """Reading a budget per unit never makes it larger."""
    metres = {"km": Fraction(1000), "ft": Fraction(3048, 10_000), "mi": Fraction(1_609_344, 1000)}[unit]
    for power, read in ((1, gv.GP(epsilon=budget, unit=unit).epsilon), (2, gv.CGP(rho=budget, unit=unit).rho)):
        exact = Fraction(budget) / metres**power
        assert exact * (1 - Fraction(1, 10**29)) <= Fraction(read) <= exact


@pytest.mark.parametrize("unit", ["yd", "metres", "", "KM"])
def test_an_unknown_unit_is_refused(unit: str) -> None:
    """Only the units that are listed are taken, and the message lists them."""
    with pytest.raises(InvalidParameter, match="'km'"):
        gv.CGP(rho=1, unit=unit)
    with pytest.raises(InvalidParameter, match="'km'"):
        gv.GP(epsilon=1).per(unit)


# -------------------------------------------------------------------------------------------- order and addition


@KINDS
def test_smaller_budgets_come_first(make: Any) -> None:
    """Guarantees of a kind are ordered by their budget."""
    small, large = make(2e-5), make(5e-5)
    assert small < large
    assert small <= large
    assert large > small
    assert large >= small
    assert small != large
    assert not small > large
    assert not small >= large
    assert small <= make("2e-5") <= small
    assert sorted([large, small]) == [small, large]


def test_gp_is_ordered_in_all_its_parts() -> None:
    """A GP guarantee is at most another only if its epsilon, its delta and its reach all are."""
    g = gv.GP(epsilon=1, delta=1e-6, within=100)
    assert gv.GP(epsilon=1) < gv.GP(epsilon=1, delta=1e-6) < g
    assert gv.GP(epsilon=1, delta=1e-6, within=200) < g
    other = gv.GP(epsilon=0.5, delta=1e-3, within=100)
    assert not other <= g
    assert not g <= other


@pytest.mark.parametrize("kind", ["CGP", "GP"])
@FEW
@given(data=st.data())
def test_addition_is_associative_and_commutative(kind: str, data: st.DataObject) -> None:
    """Sums of guarantees depend neither on order nor on brackets, and sum() gives them."""
    one: st.SearchStrategy[Any] = cgps if kind == "CGP" else gps
    a, b, c = (data.draw(one) for _ in range(3))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert sum([a, b, c]) == gv.total([a, b, c]) == a + b + c
    assert a + 0 == a
    assert a < a + b


def test_deltas_add_and_the_shortest_reach_is_kept() -> None:
    """(ε, δ, Δ)-GP composes by adding epsilon and delta, up to the smaller distance."""
    g = gv.GP(epsilon=0.1, delta=1e-9, within=500) + gv.GP(epsilon=0.2, delta=2e-9, within=300)
    assert g == gv.GP(epsilon="0.3", delta="3e-9", within=300)
    assert g + gv.GP(epsilon="0.7") == gv.GP(epsilon=1, delta="3e-9", within=300)
    assert not g.pure
    assert gv.GP(epsilon=1).pure


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (gv.CGP(rho=1), gv.GP(epsilon=1)),
        (gv.GP(epsilon=1), gv.CGP(rho=1)),
        (gv.CGP(rho=1), gv.CGP(rho=1, metric="2")),
        (gv.GP(epsilon=1, metric="1"), gv.GP(epsilon=1)),
        (gv.CGP(rho=1), 0.5),
        (gv.GP(epsilon=1), "1"),
        (gv.CGP(rho=1), None),
    ],
)
def test_mixtures_are_refused(a: Any, b: Any) -> None:
    """What is not of one kind and metric is neither added nor compared, and never equal."""
    for mix in (operator.add, operator.le, operator.lt, operator.ge, operator.gt):
        with pytest.raises(IncompatibleGuarantees):
            mix(a, b)
    with pytest.raises(IncompatibleGuarantees):
        gv.total([a, b])
    assert a != b


def test_a_refused_mixture_says_how_to_convert() -> None:
    """The message names the conversion that helps."""
    with pytest.raises(IncompatibleGuarantees, match=r"as_cgp\(\)"):
        gv.CGP(rho=1) + gv.GP(epsilon=1)
    with pytest.raises(IncompatibleGuarantees, match=r"under\('inf', n=...\)"):
        gv.CGP(rho=1) + gv.CGP(rho=1, metric="1")


@KINDS
@pytest.mark.parametrize(
    "budget",
    [
        0,
        0.0,
        -1,
        "-5e-5",
        math.nan,
        math.inf,
        -math.inf,
        "nan",
        "sNaN",
        "Infinity",
        Decimal("NaN"),
        True,
        False,
        np.True_,
        None,
        "",
        "five",
        "0.1 per metre",
        1e-200,
        1e200,
        "1e-101",
        "1e101",
        10**5000,
        1 + 2j,
        [0.1],
        np.array([0.1]),
    ],
    ids=lambda v: repr(v)[:20] if not isinstance(v, int) or abs(v) < 10**9 else "huge",
)
def test_numbers_that_are_no_budgets_are_refused(make: Any, budget: Any) -> None:
    """A budget is a positive, finite number for which noise has a scale; the message names it."""
    with pytest.raises(InvalidParameter, match=r"^(rho|epsilon) = ") as caught:
        make(budget)
    assert caught.value.remedy in str(caught.value)


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, "nan", True, "much"])
def test_deltas_outside_their_range_are_refused(delta: Any) -> None:
    """Delta is at least 0 and below 1."""
    with pytest.raises(InvalidParameter, match="delta"):
        gv.GP(epsilon=1, delta=delta)


@pytest.mark.parametrize("within", [0, -1, math.inf, math.nan, True, "far"])
def test_reaches_that_are_no_distances_are_refused(within: Any) -> None:
    """A reach is positive and finite; without one the guarantee holds at any distance."""
    with pytest.raises(InvalidParameter, match="within"):
        gv.GP(epsilon=1, delta=1e-9, within=within)


@pytest.mark.parametrize("g", [gv.GP(epsilon=1, delta=1e-9), gv.GP(epsilon=1, within=100)])
def test_what_only_pure_gp_can_do_is_refused_to_others(g: gv.GP) -> None:
    """Only pure GP scales, divides, changes its metric, becomes CGP or bounds an attacker."""
    for do in (
        lambda: g * 2,
        lambda: 2 * g,
        lambda: g / 2,
        lambda: g.split(2),
        lambda: g.under("1", n=2),
        g.as_cgp,
        lambda: g.attacker(distance=100),
    ):
        with pytest.raises(IncompatibleGuarantees, match="only pure GP"):
            do()


@pytest.mark.parametrize(
    "g",
    [
        gv.CGP(rho=5e-5),
        gv.CGP(rho=1, metric="2") / 3,
        gv.GP(epsilon=0.07, delta=1e-10, within=1000),
        gv.GP(epsilon=2, unit="km", metric="1"),
    ],
)
def test_guarantees_are_values(g: Guarantee) -> None:
    """A guarantee survives pickling and copying, can be a key and cannot be changed."""
    assert pickle.loads(pickle.dumps(g)) == g
    assert copy.deepcopy(g) == g
    assert {g: 1}[copy.copy(g)] == 1
    with pytest.raises(AttributeError):
        g.metric = gv.dist_1  # type: ignore[misc]


def test_guarantees_read_as_a_person_would_write_them() -> None:
    """The repr is the call that makes the guarantee; the text names its unit and metric."""
    assert repr(gv.CGP(rho=5e-5)) == "CGP(rho=5e-05)"
    assert repr(gv.GP(epsilon="0.3", delta=1e-9, within=300, metric="2")) == (
        "GP(epsilon=0.3, delta=1e-09, within=300, metric='2')"
    )
    assert repr(gv.CGP(rho=1) / 3) == f"CGP(rho=0.{'3' * 30})"
    assert str(gv.CGP(rho=5e-5)) == "5e-05-CGP per m² under dist_inf"
    assert str(gv.GP(epsilon=1, delta=1e-9, within=20)) == "1-GP per m under dist_inf, delta 1e-09, within 20 m"


# ------------------------------------------------------------------------------------------------------- metrics


@st.composite
def pairs(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two tuples of 1..6 points in 1..4 dimensions, with ties, equal points and points that stay."""
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    numbers = st.lists(st.sampled_from([0.0, 1.0, -2.5]) | st.floats(-1e4, 1e4), min_size=n * d, max_size=n * d)
    x, y = (np.array(draw(numbers)).reshape(n, d) for _ in range(2))
    stays = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    return x, np.where(stays[:, None], x, y)


@pytest.mark.slow
@FEW
@given(pairs())
def test_the_metrics_are_ordered(pair: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    """dist_inf ≤ dist_2 ≤ dist_1 ≤ √n·dist_2 ≤ n·dist_inf."""
    x, y = pair
    n, slack = len(x), 1 + 1e-12
    assert gv.dist_inf(x, y) <= gv.dist_2(x, y) * slack
    assert gv.dist_2(x, y) <= gv.dist_1(x, y) * slack
    assert gv.dist_1(x, y) <= math.sqrt(n) * gv.dist_2(x, y) * slack
    assert gv.dist_2(x, y) <= math.sqrt(n) * gv.dist_inf(x, y) * slack


@pytest.mark.slow
@FEW
@given(pairs())
def test_the_metrics_are_what_they_say(pair: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    """The three metrics are the largest, the root of the squares and the sum of the points' distances."""
    x, y = pair
    each = np.linalg.norm(x - y, axis=1)
    assert gv.dist_inf(x, y) == pytest.approx(each.max(), rel=1e-12, abs=1e-300)
    assert gv.dist_2(x, y) == pytest.approx(math.sqrt((each**2).sum()), rel=1e-12, abs=1e-150)
    assert gv.dist_1(x, y) == pytest.approx(each.sum(), rel=1e-12, abs=1e-300)
    assert gv.dist_1(x, y) == gv.dist_1(y, x)


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), list(itertools.product(METRICS, METRICS)))
@settings(max_examples=50)
@given(pair=pairs(), factor=st.floats(1e-6, 10))
def test_a_guarantee_under_another_metric_allows_as_much(
    source: str, target: str, pair: tuple[NDArray[np.float64], NDArray[np.float64]], factor: float
) -> None:
    """What is promised under another metric is never less than what the guarantee allowed, on any two tuples."""
    x, y = pair
    before, after = METRICS[source](x, y), METRICS[target](x, y)
    gp = gv.GP(epsilon=factor, metric=source)
    cgp = gv.CGP(rho=factor, metric=source)
    slack = 1 + 1e-12
    assert float(gp.epsilon) * before <= float(gp.under(target, n=len(x)).epsilon) * after * slack
    assert float(cgp.rho) * before**2 <= float(cgp.under(target, n=len(x)).rho) * after**2 * slack


@pytest.mark.parametrize("n", [1, 2, 10, 20_000])
@pytest.mark.parametrize(
    ("source", "target", "power"),
    [
        ("inf", "inf", 0),
        ("inf", "2", 0),
        ("inf", "1", 0),
        ("2", "1", 0),
        ("2", "2", 0),
        ("1", "1", 0),
        ("2", "inf", 1),
        ("1", "2", 1),
        ("1", "inf", 2),
    ],
)
def test_smaller_metrics_cost_the_ratio_and_its_square(source: str, target: str, power: int, n: int) -> None:
    """Towards a smaller metric epsilon grows by n^(power/2), rho by n^power; towards a larger one neither changes."""
    rho = gv.CGP(rho=1e-4, metric=source).under(target, n=n)
    assert rho == gv.CGP(rho=Decimal("1e-4") * n**power, metric=target)
    epsilon = gv.GP(epsilon="0.25", metric=source).under(target, n=n)
    assert epsilon.metric == METRICS[target]
    squared = Fraction(epsilon.epsilon) ** 2
    exact = Fraction(1, 16) * n**power
    assert exact <= squared <= exact * (1 + Fraction(1, 10**28))
    if power == 0:
        assert epsilon.epsilon == Decimal("0.25")


@pytest.mark.parametrize(("source", "target"), [("2", "inf"), ("1", "2"), ("1", "inf")])
def test_the_cost_of_a_smaller_metric_is_met(source: str, target: str) -> None:
    """Where all points move alike the converted guarantee allows exactly what the first one did: none is smaller."""
    x = np.arange(14.0).reshape(7, 2)
    y = x + np.array([3.0, 4.0])
    before, after = METRICS[source](x, y), METRICS[target](x, y)
    gp, cgp = gv.GP(epsilon=0.1, metric=source), gv.CGP(rho=0.1, metric=source)
    assert float(gp.under(target, n=7).epsilon) * after == pytest.approx(0.1 * before, rel=1e-12)
    assert float(cgp.under(target, n=7).rho) * after**2 == pytest.approx(0.1 * before**2, rel=1e-12)


@pytest.mark.parametrize("target", ["inf", "2", "1"])
def test_a_sum_of_many_digits_is_unchanged_under_larger_metrics(target: str) -> None:
    """Towards a larger metric not even the digits beyond the thirtieth change."""
    many = gv.CGP(rho=1) / 3 + gv.CGP(rho=10**10) / 3
    assert many.under(target, n=5).rho == many.rho


@pytest.mark.parametrize("metric", ["3", "euclid", "", 3, None, "Inf"])
def test_an_unknown_metric_is_refused(metric: Any) -> None:
    """The metrics are "inf", "2" and "1", and the message says so."""
    for do in (lambda: gv.CGP(rho=1, metric=metric), lambda: gv.GP(epsilon=1).under(metric, n=2)):
        with pytest.raises(InvalidParameter, match='"inf", "2" or "1"'):
            do()


@pytest.mark.parametrize("shapes", [((2, 2), (3, 2)), ((2, 2), (2, 3)), ((4,), (4,)), ((2, 2, 2), (2, 2, 2))])
def test_tuples_that_are_not_alike_have_no_distance(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """A metric takes two (n, d) tuples of one shape."""
    with pytest.raises(gv.errors.InvalidData, match="shape"):
        gv.dist_inf(np.zeros(shapes[0]), np.zeros(shapes[1]))


# ---------------------------------------------------------------------------------------- what budgets mean


@pytest.mark.slow
@FEW
@given(budgets)
@example(Decimal("0.100000000000000000000000000022"))
def test_pure_gp_implies_half_its_square_in_cgp(epsilon: Decimal) -> None:
    """ε-GP is (ε²/2)-CGP: exactly, or rounded up at 30 digits."""
    try:
        rho = gv.GP(epsilon=epsilon, metric="2").as_cgp()
    except InvalidParameter:
        assert not Decimal("1e-100") <= epsilon**2 / 2 <= Decimal("1e100")
        return
    exact = Fraction(epsilon) ** 2 / 2
    assert exact <= Fraction(rho.rho) <= exact * (1 + Fraction(1, 10**28))
    assert rho.metric == gv.dist_2
    assert rho.as_cgp() is rho


chances = st.floats(0.5001, 0.9999)
lengths = st.floats(0.1, 1e6)


@FEW
@given(chances, lengths)
def test_hiding_and_attacker_are_inverse(chance: float, distance: float) -> None:
    """An attacker against a budget made for a chance has that chance, or 0.00001 less."""
    for reached in (
        gv.GP.hiding(distance=distance, chance=chance).attacker(distance=distance),
        gv.CGP.hiding(distance=distance, chance=chance).attacker(distance=distance),
        gv.CGP.hiding(distance=distance, chance=chance, gaussian=True).attacker(distance=distance, gaussian=True),
    ):
        assert chance - 1e-5 <= reached <= chance + 1e-12


@pytest.mark.slow
@FEW
@given(st.floats(1e-10, 1), st.floats(1e-10, 1), st.floats(1, 1e5), st.floats(1, 1e5))
def test_attackers_gain_with_budget_and_distance(b1: float, b2: float, r1: float, r2: float) -> None:
    """An attacker is right at least half the time, and more often for larger budgets and places farther apart."""
    (low, high), (near, far) = sorted([b1, b2]), sorted([r1, r2])
    asks: list[Any] = [
        lambda b, r: gv.GP(epsilon=b).attacker(distance=r),
        lambda b, r: gv.CGP(rho=b).attacker(distance=r),
        lambda b, r: gv.CGP(rho=b).attacker(distance=r, gaussian=True),
    ]
    for ask in asks:
        assert 0.5 <= ask(low, near) <= ask(high, near) + 1e-12
        assert ask(high, near) <= ask(high, far) + 1e-12 <= 1 + 1e-12


@FEW
@given(st.floats(1e-10, 1), st.floats(1, 1e4))
def test_gaussian_noise_leaves_an_attacker_less_than_others_may(rho: float, distance: float) -> None:
    """The bound for Gaussian noise is below the bound for any mechanism, which is below that of pure GP √(2ρ)."""
    g = gv.CGP(rho=rho)
    gaussian, general = g.attacker(distance=distance, gaussian=True), g.attacker(distance=distance)
    # Lemma 3.6 the other way: a pure √(2ρ)-GP mechanism is ρ-CGP, so its attacker is within the general bound.
    assert gaussian <= general + 1e-12
    assert gv.GP(epsilon=math.sqrt(2 * rho)).attacker(distance=distance) <= general + 1e-12


@pytest.mark.statistical
def test_the_gaussian_attacker_is_the_likelihood_ratio_test() -> None:
    """An attacker who takes the nearer of two places is as often right as the bound for Gaussian noise says."""
    rho, distance, runs = 5e-5, 200.0, 200_000
    noise = np.random.default_rng(3).normal(scale=1 / math.sqrt(2 * rho), size=runs)
    right = float((noise < distance / 2).mean())
    bound = gv.CGP(rho=rho).attacker(distance=distance, gaussian=True)
    assert abs(right - bound) < 5 * math.sqrt(bound * (1 - bound) / runs)
    assert abs(right - gv.CGP(rho=1.3 * rho).attacker(distance=distance, gaussian=True)) > 0.01


def _renyi(a: float, alpha: float) -> float:
    """D_α of randomised response that tells the truth with probability a."""
    step = (alpha - 1) * math.log(a / (1 - a))
    if step > 1:
        return float(np.logaddexp(math.log(a) + step, math.log1p(-a) - step)) / (alpha - 1)
    return math.log1p(a * math.expm1(step) + (1 - a) * math.expm1(-step)) / (alpha - 1)


@pytest.mark.parametrize("a", [0.501, 0.55, 0.75, 0.9, 0.99, 0.999999])
def test_randomised_response_attains_the_bounds(a: float) -> None:
    """Randomised response that is right with probability a is ρ-CGP and ε-GP with the budgets of hiding(a)."""
    r = 150.0
    logit = math.log(a / (1 - a))
    rho = (2 * a - 1) * logit / r**2
    for alpha in np.concatenate([1 + np.geomspace(1e-4, 1, 60), np.geomspace(2, 1e4, 60)]):
        assert _renyi(a, float(alpha)) <= alpha * rho * r**2 * (1 + 1e-9)
    # As α → 1 the bound is met: no smaller ρ would do, so hiding() gives no more than this.
    assert _renyi(a, 1 + 1e-5) == pytest.approx(rho * r**2, rel=1e-3)
    assert float(gv.CGP.hiding(distance=r, chance=a).rho) == pytest.approx(rho, rel=1e-5)
    assert gv.CGP(rho=rho).attacker(distance=r) == pytest.approx(a, abs=1e-9)
    assert float(gv.GP.hiding(distance=r, chance=a).epsilon) * r == pytest.approx(logit, rel=1e-5)
    assert gv.GP(epsilon=logit / r).attacker(distance=r) == pytest.approx(a, abs=1e-9)


def test_budgets_that_hide_are_rounded_down_at_six_digits() -> None:
    """hiding() gives six digits, never more than the formula."""
    g = gv.CGP.hiding(distance=200, chance=0.75)
    exact = 0.5 * math.log(3) / 200**2
    assert len(g.rho.as_tuple().digits) <= 6
    assert exact * (1 - 1e-5) <= float(g.rho) <= exact
    assert gv.CGP.hiding(distance=200, chance=0.75, gaussian=True) > g
    assert gv.CGP.hiding(distance=200, chance=0.75, metric="1").metric == gv.dist_1


@pytest.mark.parametrize("distance", [0, -1, math.inf, math.nan, "200", None])
def test_distances_that_are_none_are_refused(distance: Any) -> None:
    """A distance between places is positive and finite."""
    for do in (
        functools.partial(gv.CGP(rho=1).attacker, distance=distance),
        functools.partial(gv.GP(epsilon=1).attacker, distance=distance),
        functools.partial(gv.CGP.hiding, distance=distance, chance=0.75),
        functools.partial(gv.GP.hiding, distance=distance, chance=0.75),
    ):
        with pytest.raises(InvalidParameter, match="distance"):
            do()


@pytest.mark.parametrize("chance", [0.5, 1, 0, 1.5, -1, math.nan, "often", None])
def test_chances_that_are_none_are_refused(chance: Any) -> None:
    """A chance is above a coin flip and below certainty."""
    for hiding in (gv.CGP.hiding, gv.GP.hiding):
        with pytest.raises(InvalidParameter, match="chance"):
            hiding(distance=200, chance=chance)


def test_parts_of_nothing_have_no_total() -> None:
    """The total of no guarantees is an error, not a guarantee of nothing."""
    with pytest.raises(InvalidParameter, match="at least one"):
        gv.total([])


@pytest.mark.parametrize("make", [lambda b: gv.CGP(rho=b), lambda b: gv.GP(epsilon=b)], ids=["CGP", "GP"])
def test_what_is_left_is_what_was_not_spent(make: Any) -> None:
    """Subtraction is exact, and a budget that is used up cannot be written."""
    assert make("0.3") - make("0.1") == make("0.2")
    for spent in ("0.3", "0.4"):
        with pytest.raises(InvalidParameter, match="positive"):
            make("0.3") - make(spent)


@pytest.mark.slow
@FEW
@given(guarantees, st.fractions(Fraction(1, 100), Fraction(100)))
def test_fractions_divide_and_multiply_downwards(g: Guarantee, fraction: Fraction) -> None:
    """A part is never more than the fraction says, and not noticeably less."""
    for part, exact in ((g / fraction, Fraction(g.budget) / fraction), (g * fraction, Fraction(g.budget) * fraction)):
        assert exact * (1 - Fraction(1, 10**29)) <= Fraction(part.budget) <= exact
