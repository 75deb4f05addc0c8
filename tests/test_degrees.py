"""Points that doubles do not hold, degrees above all: what is released is what real arithmetic gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

from geoveil.geo import tangent
from geoveil.mechanisms import Copies, Exponential, Gaussian, KNorm, Laplace, NearestNeighbour, SparseVector
from geoveil.noise import Entropy, Reals, as_reals
from geoveil.privacy import CGP, GP
from geoveil.queries import evaluation
from geoveil.queries.hull import Hull
from tests.located import BAY, RADIUS, TRUTHS, Summaries, all_different, geocentric, of_degrees, projected, shifted
from tests.reference import (
    Digits,
    Family,
    Flips,
    Locate,
    Mpmath,
    Neighbours,
    Noise,
    TopK,
    Walks,
    tail_of,
    tape,
)
from tests.test_bit_strings import differences, expected, inflated, refined, released
from tests.test_exactness import cells, divergence

pytestmark = pytest.mark.once

RHO, EPSILON = CGP(rho=0.5), GP(epsilon=1)


def summary(name: str, locate: Locate, *, together: bool = True, persons: int = 150) -> Summaries:
    """A summary of persons with 6 points each, at a scale of some 50 metres."""
    guarantee = GP(epsilon=0.02) if name in ("median", "diameter") else CGP(rho=2e-4)
    return Summaries(name, persons, 6, guarantee, locate, together)


def families(locate: Locate, different: Locate) -> dict[str, Family]:
    """Every way from points to a release; choices are among points that are all different."""
    scale = 50.0
    points = {
        "gaussian": Noise([Gaussian(RHO, 4_000, scale)], [2_000], 2, 30_000.0, locate=locate),
        "gaussian, fine": Noise([Gaussian(RHO, 2_000, 0.1)], [1_000], 2, 30_000.0, locate=locate),
        "laplace": Noise([Copies(Laplace(EPSILON, 2, scale), 1_000)], [1_000], 2, 30_000.0, locate=locate),
        "knorm": Noise([KNorm(GP(epsilon=0.02), 3, 2)] * 300, [3] * 300, 2, 30_000.0, locate=locate),
        "people": Noise(
            [Laplace(EPSILON, 2 * size, scale) for size in (1, 3, 200)], [1, 3, 200], 2, 30_000.0, locate=locate
        ),
    }
    choices: dict[str, Family] = {
        "gumbel": TopK(10, 300, Exponential(GP(epsilon=0.02)), 20, locate=different),
        "flips": Flips(20, 60, 100.0, 5, locate=different),
        "walks": Walks(60, 40, SparseVector(GP(epsilon=0.1)), 0.5, locate=different),
        "cyclic walks": Walks(60, 40, SparseVector(GP(epsilon=0.1), cyclic=True), -20.0, locate=different),
        "neighbours": Neighbours(20, 30, NearestNeighbour(GP(epsilon=0.02)), 4, locate=different),
    }
    summaries = {
        f"{name}, {how}": summary(name, locate, together=together)
        for name in TRUTHS
        for how, together in (("together", True), ("apart", False))
    }
    return {**points, **choices, **summaries}


DEGREES = families(projected, all_different)


@pytest.mark.parametrize("name", DEGREES)
def test_releases_of_degrees_are_those_of_real_arithmetic(name: str) -> None:
    """With 60 digits of mpmath from geocentric vectors, with bounds as they are and wide ones: a third is refined."""
    family, digits = DEGREES[name], Mpmath(tail_of(21))
    found, read = released(family, 21)
    assert refined(family, read) < (0.05 if "fine" in name else 0.02)
    wanted = expected(family, 21, digits, read)
    assert differences(found, wanted) == []
    again, reread = released(family, 21, inflated(family, 21))
    assert refined(family, reread) >= 1 / 3
    assert differences(again, wanted) == []


def test_comparisons_of_degrees_are_many() -> None:
    """The families above make more than 20 000 draws."""
    assert sum(family.draws(released(family, 21)[1].log) for family in DEGREES.values()) > 20_000


#: Doubles that are off by up to 2 mm: a tenth of the cells of the grid.
OFF = families(shifted(2e-3), shifted(2e-3))


@pytest.mark.parametrize("name", [name for name in OFF if "fine" not in name])
def test_releases_of_points_that_are_far_off_are_those_of_real_arithmetic(name: str) -> None:
    """Doubles may be off by a share of the grid: what is released is that of the points themselves."""
    family = OFF[name]
    found, read = released(family, 22)
    assert differences(found, expected(family, 22, Mpmath(tail_of(22)), read)) == []


def broken(family: Family, seed: int, spoil: Any) -> list[Any]:
    """What is released if points come in spoilt."""
    inputs = family.inputs(seed)
    if isinstance(inputs, list):
        return family.outcome([(spoil(points), place) for points, place in inputs], tape(seed))
    return family.outcome(spoil(inputs), tape(seed))


NUMBERS = [name for name, family in OFF.items() if isinstance(family, Noise | Summaries) and "fine" not in name]


@pytest.mark.parametrize("name", NUMBERS)
def test_an_error_that_is_left_out_is_noticed(name: str) -> None:
    """Points whose doubles are said to be exact, or whose balls are those of the doubles, give other releases."""
    family = OFF[name]
    right, _ = released(family, 22)
    assert broken(family, 22, lambda x: Reals(x.values, x.error, x.ball)) == right
    assert broken(family, 22, lambda x: Reals(x.values, 0.0, x.ball)) != right
    assert broken(family, 22, lambda x: Reals(x.values, x.error, as_reals(x.values).ball)) != right


@pytest.mark.parametrize("name", [name for name in NUMBERS if isinstance(OFF[name], Summaries)])
def test_a_bound_without_the_error_of_points_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each evaluation adds the error of points to its own; one that does not gives other releases."""
    family = OFF[name]
    right, _ = released(family, 22)
    monkeypatch.setattr(evaluation, "displacement", lambda x: 0.0)
    monkeypatch.setattr(evaluation, "coordinate_error", lambda x: 0.0)
    if "bounds" in name and "apart" in name:  # these are coordinates themselves
        assert released(family, 22)[0] == right
    else:
        assert released(family, 22)[0] != right


@pytest.mark.parametrize("name", ["gumbel", "flips", "walks", "cyclic walks", "neighbours"])
def test_choices_by_balls_of_doubles_are_noticed(name: str) -> None:
    """Where points are off by metres and all is refined, balls of doubles choose other points."""
    family: Any = replace(OFF[name], locate=shifted(30.0))  # type: ignore[type-var]
    inputs = family.inputs(23)
    alike = [(Reals(x.values, 1e-9, x.ball), place) for x, place in inputs]
    spoilt = [(Reals(x.values, 1e-9, as_reals(x.values).ball), place) for x, place in inputs]
    found, other = (family.outcome(some, tape(23, 1e18)) for some in (alike, spoilt))
    assert found != other


@pytest.mark.parametrize("locate", [projected, shifted(2e-3)], ids=["degrees", "off"])
@pytest.mark.parametrize("name", TRUTHS)
def test_values_of_real_points_are_as_near_to_the_truth_as_they_say(name: str, locate: Locate) -> None:
    """Doubles are within their bound of the truth, balls contain it, and shrink as bits are added."""
    digits: Digits = Mpmath(tail_of(24), 400)
    for together in (True, False):
        family = summary(name, locate, together=together, persons=40)
        inputs = family.inputs(24)
        known = family.evaluated(inputs)
        with digits.work():
            truths = family.truths(inputs, digits)
        errors = np.broadcast_to(known.error, known.shape).ravel()
        for i, (value, truth) in enumerate(zip(known.values.ravel().tolist(), truths, strict=True)):
            with digits.work():
                assert abs(truth - value) <= errors[i]
            with ctx.workprec(256):
                ball = known.ball(i, 192)
                assert ball.rad() < 1e-40
                assert abs(ball - arb(mpmath.nstr(truth, 90))) < 1e-40


def test_bounds_on_values_are_public() -> None:
    """They follow from the area and the dimension, whatever the points are."""
    rng = np.random.default_rng(25)
    for name in TRUTHS:
        found = set()
        for spread in (1e-6, 1.0, 1e4):
            family = summary(name, lambda points, _: of_degrees(BAY.inverse(spread * points / 1e3)), persons=5)  # noqa: B023
            found.add(float(np.max(family.evaluated(family.inputs(int(rng.integers(100)))).error)))
        assert len(found) == 1
        assert found.pop() < 1e-5


@pytest.mark.parametrize("guarantee", [CGP(rho=1e-3), GP(epsilon=0.05)], ids=["CGP", "GP"])
@pytest.mark.parametrize("distinct", [False, True])
def test_the_papers_hull_of_real_points_does_not_depend_on_bounds(guarantee: CGP | GP, distinct: bool) -> None:
    """Center, radius, searches and vertices come out the same whatever is refined."""
    x = shifted(1e-4)(np.random.default_rng(26).normal(scale=500, size=(40, 2)), np.random.default_rng(27))
    query = Hull(40, 2, guarantee, k=12, distinct=distinct)
    sources = [tape(26, widened) for widened in (1.0, 1e3, 1e9)]
    plain, wide, widest = (query.ask(x, source) for source in sources)
    assert sources[2].refined > 20
    for other in (wide, widest):
        assert (other.value == plain.value).all()
        assert (other.center == plain.center).all()
        assert other.radius == plain.radius


# --------------------------------------------------------------------------------------------- nanometres apart


def chord(a: Any, b: Any) -> Any:
    """The distance of two places through the Earth, which is at most that on the ground, with many digits."""
    digits = Mpmath(tail_of(1))
    with digits.work():
        one, other = (geocentric(digits, float(lon), float(lat)) for lon, lat in (a, b))
        return mpmath.sqrt(sum((s - t) ** 2 for s, t in zip(one, other, strict=True)))


def neighbours(count: int) -> tuple[Any, Any]:
    """Degrees of the area, and the next double to the east or to the north of each: nanometres away."""
    rng = np.random.default_rng(28)
    degrees = BAY.inverse(rng.uniform(-35_000, 35_000, (count, 2)))
    moved = degrees.copy()
    axis = rng.integers(0, 2, count)
    moved[np.arange(count), axis] = np.nextafter(moved[np.arange(count), axis], np.inf)
    return degrees, moved


def test_places_nanometres_apart_lose_in_proportion_to_their_distance() -> None:
    """On the grid, from the points' balls: never more than α·ρ·dist²; from their doubles, often far more."""
    mechanism = Gaussian(CGP(rho=0.5), 1)
    unit, reach = 64 * mechanism.grid, 500
    from_balls: list[float] = []
    from_doubles: list[float] = []
    for one, other in zip(*neighbours(12), strict=True):
        distance = arb(mpmath.nstr(chord(one, other), 40))
        assert 1e-10 < float(distance) < 1e-8
        points = [of_degrees(degrees[None]) for degrees in (one, other)]
        with ctx.workprec(500):
            for axis in (0, 1):
                balls = [point.ball(axis, 400) for point in points]
                doubles = [arb(float(point.values[0, axis])) for point in points]
                for centers, used in ((balls, from_balls), (doubles, from_doubles)):
                    shift = (centers[0].mid() / unit).floor() * unit
                    p, q = (cells(mechanism, center - shift, unit, reach) for center in centers)
                    used.append(float(divergence(p, q, arb(2)) / (2 * distance**2 / 2 / arb(mechanism.scale) ** 2)))
    assert max(from_balls) < 1
    assert max(from_balls) > 0.9
    assert max(from_doubles) > 1


def test_places_nanometres_apart_are_nearly_always_released_alike() -> None:
    """With the same bits, two releases of places 10^-9 m apart on two sides of a cell's edge hardly ever differ."""
    degrees, moved = neighbours(30_000)
    mechanism = Gaussian(CGP(rho=2e-4), degrees.size)
    one, other = (
        mechanism.sample(BAY.forward(some, RADIUS), Entropy(np.random.default_rng(29).bytes))
        for some in (degrees, moved)
    )
    assert (one != other).sum() <= 2
    rounded = (np.rint(BAY.forward(some, RADIUS).values / 1e-9) for some in (degrees, moved))
    assert (next(rounded) != next(rounded)).sum() > 1_000


def test_the_projections_bound_is_that_of_the_area() -> None:
    """It depends on the radius that was stated, not on where points are."""
    near, far = (BAY.forward(BAY.inverse(np.array([[at, 0.0]])), RADIUS) for at in (1.0, 40_000.0))
    assert near.error == far.error == tangent.rounding(RADIUS)
