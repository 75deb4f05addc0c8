"""Points that doubles do not hold, degrees above all, are released as real arithmetic releases them."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import geopandas
import mpmath
import numpy as np
import pytest
import shapely
from flint import arb, ctx

import geoveil as gv
from geoveil.geo import enter, tangent
from geoveil.locations import locations as asking
from geoveil.mechanisms import Copies, Exponential, Gaussian, KNorm, Laplace, NearestNeighbour, SparseVector
from geoveil.noise import Entropy, Reals, as_reals
from geoveil.privacy import CGP, GP
from geoveil.queries import SUMMARIES, ball_points, evaluation
from geoveil.queries.hull import Hull
from geoveil.report.certificate_table import table_rows
from tests.located import BAY, RADIUS, TRUTHS, Summaries, all_different, geocentric, of_degrees, projected, shifted
from tests.mechanisms.test_bit_strings import differences, expected, inflated, refined, released
from tests.noise.test_exactness import cells, divergence
from tests.questions import release_of
from tests.reference import (
    Arb,
    Digits,
    Family,
    Flips,
    Locate,
    Mpmath,
    Neighbours,
    Noise,
    Script,
    Tape,
    TopK,
    Walks,
    ascending,
    gumbels,
    halted,
    laplaces,
    tail_of,
    tape,
)

RHO, EPSILON = CGP(rho=0.5), GP(epsilon=1)


def summary(name: str, locate: Locate, *, together: bool = True, persons: int = 150) -> Summaries:
    """A summary of persons with 6 points each, at a scale of some 50 metres."""
    guarantee = GP(epsilon=0.02) if name in ("median", "diameter") else CGP(rho=2e-4)
    return Summaries(name, persons, 6, guarantee, locate, together)


#: How many points persons have.
PEOPLE = [1, 3, 200] * 6


def families(locate: Locate, different: Locate) -> dict[str, Family]:
    """Every way from points to a release; choices are among points that are all different."""
    scale = 50.0
    points = {
        "gaussian": Noise([Gaussian(RHO, 4_000, scale)], [2_000], 2, 30_000.0, locate=locate),
        "gaussian, fine": Noise([Gaussian(RHO, 2_000, 0.1)], [1_000], 2, 30_000.0, locate=locate),
        "laplace": Noise([Copies(Laplace(EPSILON, 2, scale), 1_000)], [1_000], 2, 30_000.0, locate=locate),
        "knorm": Noise([KNorm(GP(epsilon=0.02), 3, 2)] * 300, [3] * 300, 2, 30_000.0, locate=locate),
        "people": Noise([Laplace(EPSILON, 2 * size, scale) for size in PEOPLE], PEOPLE, 2, 30_000.0, locate=locate),
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


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("name", DEGREES)
def test_degrees_as_real_arithmetic(name: str) -> None:
    """Releases of degrees are those of real arithmetic.

    With 60 digits of mpmath from geocentric vectors, with bounds as they are and wide ones: a third is refined.
    """
    family, digits = DEGREES[name], Mpmath(tail_of(21))
    found, read = released(family, 21)
    assert refined(family, read) < (0.05 if "fine" in name else 0.02)
    wanted = expected(family, 21, digits, read)
    assert differences(found, wanted) == []
    again, reread = released(family, 21, inflated(family, 21))
    assert refined(family, reread) >= 1 / 3
    assert differences(again, wanted) == []


@pytest.mark.slow
def test_degree_comparisons_are_many() -> None:
    """The families above make more than 20 000 draws."""
    assert sum(family.draws(released(family, 21)[1].log) for family in DEGREES.values()) > 20_000


#: Doubles that are off by up to 2 mm: a tenth of the cells of the grid.
OFF = families(shifted(2e-3), shifted(2e-3))


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OFF if "fine" not in name])
def test_far_points_release_alike(name: str) -> None:
    """Releases of points that are far off are those of real arithmetic.

    Doubles may be off by a share of the grid: what is released is that of the points themselves.
    """
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


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", NUMBERS)
def test_forgotten_errors_are_noticed(name: str) -> None:
    """Points whose doubles are said to be exact, or whose balls are those of the doubles, give other releases."""
    family = OFF[name]
    right, _ = released(family, 22)
    assert broken(family, 22, lambda x: Reals(x.values, x.error, x.ball)) == right
    assert broken(family, 22, lambda x: Reals(x.values, 0.0, x.ball)) != right
    assert broken(family, 22, lambda x: Reals(x.values, x.error, as_reals(x.values).ball)) != right


@pytest.mark.statistical
@pytest.mark.parametrize("name", [name for name in NUMBERS if isinstance(OFF[name], Summaries)])
def test_point_errors_are_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each evaluation adds the error of points to its own; one that does not gives other releases."""
    family = OFF[name]
    right, _ = released(family, 22)
    monkeypatch.setattr(evaluation, "displacement", lambda x: 0.0)
    monkeypatch.setattr(evaluation, "coordinate_error", lambda x: 0.0)
    if "bounds" in name and "apart" in name:  # these are coordinates themselves
        assert released(family, 22)[0] == right
    else:
        assert released(family, 22)[0] != right


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", ["gumbel", "flips", "walks", "cyclic walks", "neighbours"])
def test_double_balls_are_noticed(name: str) -> None:
    """Where points are off by metres and all is refined, balls of doubles choose other points."""
    family: Any = replace(OFF[name], locate=shifted(30.0))  # type: ignore[type-var]
    inputs = family.inputs(23)
    alike = [(Reals(x.values, 1e-9, x.ball), place) for x, place in inputs]
    spoilt = [(Reals(x.values, 1e-9, as_reals(x.values).ball), place) for x, place in inputs]
    found, other = (family.outcome(some, tape(23, 1e18)) for some in (alike, spoilt))
    assert found != other


@pytest.mark.slow
@pytest.mark.parametrize("locate", [projected, shifted(2e-3)], ids=["degrees", "off"])
@pytest.mark.parametrize("name", TRUTHS)
def test_values_keep_their_bounds(name: str, locate: Locate) -> None:
    """Values of real points are as near to the truth as they say.

    Doubles are within their bound of the truth, balls contain it, and shrink as bits are added.
    """
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


def test_value_bounds_are_public() -> None:
    """Bounds on values follow from the area and the dimension, whatever the points are."""
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
def test_papers_hull_ignores_bounds(guarantee: CGP | GP, distinct: bool) -> None:
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


@pytest.mark.deep
@pytest.mark.slow
def test_nanometre_losses_are_bounded() -> None:
    """Places nanometres apart lose in proportion to their distance.

    On the grid, from the points' balls: never more than α·ρ·dist²; from their doubles, often far more.
    """
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


@pytest.mark.statistical
def test_nanometre_pairs_release_alike() -> None:
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


def test_projection_bound_is_public() -> None:
    """The bound depends on the stated radius, not on where points are."""
    near, far = (BAY.forward(BAY.inverse(np.array([[at, 0.0]])), RADIUS) for at in (1.0, 40_000.0))
    assert near.error == far.error == tangent.rounding(RADIUS)


# -------------------------------------------------------------------------------------------------- on the way in


def test_other_numbers_are_exact() -> None:
    """Decimals, fractions and long doubles come in as they are; what is no number is refused."""
    third, tenth = Fraction(1, 3), Decimal("0.1")
    fine = np.longdouble(1) + np.finfo(np.longdouble).eps
    numbers = [(tenth, Fraction(1, 10)), (third, third), (7, Fraction(7)), (np.int64(5), Fraction(5))]
    for number, ratio in (*numbers, (np.float32(0.1), Fraction(float(np.float32(0.1))))):
        coords = enter(np.array([[number, Decimal(1)]], dtype=object)).coords
        with ctx.workprec(200):
            assert (coords.ball(0, 136) - arb(ratio.numerator) / ratio.denominator).contains(0)
            assert abs(coords.ball(0, 136) - float(coords.values[0, 0])) <= coords.error
    coords = enter(np.array([[fine, fine]])).coords
    with ctx.workprec(200):
        assert coords.ball(1, 136) > 1 or np.finfo(np.longdouble).eps == np.finfo(float).eps
    for wrong in ([["0.1", tenth]], [[mpmath.mpf(1), tenth]], [[object(), tenth]]):
        with pytest.raises(gv.errors.InvalidData, match="x"):
            gv.Locations(np.array(wrong, dtype=object)).points(rho=1e-4)
    with pytest.raises(gv.errors.InvalidData, match="nan"):
        gv.Locations([[Decimal("NaN"), tenth]]).points(rho=1e-4)
    assert gv.Locations([[tenth, third]]).points(rho=1e-4).exact


def test_later_changes_are_ignored() -> None:
    """Neither the doubles nor the balls of a question change when its array changes later."""
    x = np.array([[1.5, 2.5], [3.5, 4.5]])
    coords = enter(x, crs="metres").coords
    x[:] = 9.0
    assert coords.values.tolist() == [[1.5, 2.5], [3.5, 4.5]]
    assert coords.ball(3, 128) == 4.5


AREA = gv.local(lat=BAY.lat, lon=BAY.lon, radius=RADIUS)
PUBLIC = shapely.Point(-122.4125, 37.7675)
#: Every question about one person's points, and the number of points.
COUNT = 7
ASKED: dict[str, Callable[[Any, dict[str, Any]], gv.Release]] = {
    "points": lambda x, how: release_of("points", x, **how),
    **{name: lambda x, how, name=name: release_of(name, x, **how) for name in TRUTHS if name in SUMMARIES},  # type: ignore[misc]
    "distance": lambda x, how: release_of("distance", x, PUBLIC, **how),
    "nearest": lambda x, how: release_of("nearest", x, PUBLIC, k=3, **how),
    "nearest, placed": lambda x, how: release_of("nearest", x, PUBLIC, k=3, locations=0.5, **how),
    "first_within": lambda x, how: release_of("first_within", x, PUBLIC, radius=900.0, **how),
    "hull": lambda x, how: release_of("hull", x, k=12, **how),
}


def rounded_release(
    name: str, release: gv.Release, rows: list[list[Any]], place: list[Any], digits: Digits, script: Script
) -> Any:
    """What a question ought to release about the points, from what was read."""
    mechanism: Any = release.mechanism
    lengths = [digits.sqrt(sum((a - b) ** 2 for a, b in zip(p, place, strict=True))) for p in rows]
    if name == "nearest, placed":
        found = rounded_release("nearest", release, rows, place, digits, script)
        places = Noise([mechanism[-1]], [3], 2).rounded(itertools.chain(*(rows[j] for j in found)), digits, script)
        return [*found, *places]
    if name == "nearest":
        chosen = mechanism[0]
        if isinstance(chosen, Exponential):
            noise = gumbels(digits, script, COUNT)
            noisy = [a - digits.real(chosen.scale) * b for a, b in zip(lengths, noise, strict=True)]
            return ascending(digits, noisy)[:3]
        left = sorted(range(COUNT), key=lambda i: lengths[i])
        found = []
        for _ in range(3):
            found.append(Flips(1, COUNT, chosen.scale, 3).one(left, lengths, digits, script))
            left.remove(found[-1])
        return found
    if name == "first_within":
        shift = digits.real(mechanism.threshold_scale) * laplaces(digits, script, 1)[0]
        return halted(digits, script, lengths, digits.real(900.0) + shift, mechanism.scale, cyclic=False)
    if name == "points":
        return Noise([mechanism], [COUNT], 2).rounded(itertools.chain(*rows), digits, script)
    if name == "hull":
        directions: Any = release.answers[0].query.directions  # type: ignore[attr-defined]
        values = [
            max(sum(a * digits.real(float(b)) for a, b in zip(p, u, strict=True)) for p in rows) for u in directions
        ]
    elif name == "distance":
        values = [min(lengths)]
    else:
        values = TRUTHS[name](digits, rows)
    return Noise([mechanism], [len(values)], 1).rounded(values, digits, script)


def released_numbers(name: str, release: gv.Release) -> Any:
    """The numbers of a release, in metres."""
    if name.startswith("nearest"):
        return [*release.value, *([] if release.coords is None else release.coords.ravel().tolist())]
    if name == "first_within":
        return release.value
    if name == "hull":
        return release.answers[0].support.tolist()  # type: ignore[attr-defined]
    return [release.value] if release.coords is None else release.coords.ravel().tolist()


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("budget", [{"rho": 2e-3}, {"epsilon": 0.05}], ids=["CGP", "GP"])
@pytest.mark.parametrize("name", ASKED)
def test_degree_questions_are_exact(name: str, budget: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """From a frame in degrees to the release: the same bits give what geocentric vectors in 60 digits give."""
    digits = Mpmath(tail_of(31))
    place = of_degrees(shapely.get_coordinates(PUBLIC)).values[0].tolist()
    for seed in range(31, 51):
        degrees = BAY.inverse(np.random.default_rng([seed, 5]).uniform(-1500, 1500, (COUNT, 2)))
        frame = geopandas.GeoSeries(shapely.points(degrees), crs=4326)
        for widened in (1.0, 2.0**40 if name in ("nearest", "nearest, placed", "first_within") else 2.0**24):
            read = Tape(np.random.default_rng(seed).bytes, tail_of(31), widened)
            monkeypatch.setattr(asking, "source_of", lambda rng, read=read: read)
            release = ASKED[name](frame, {**budget, "area": AREA})
            assert release.exact
            assert release.rounding == 0
            with digits.work():
                rows, at = of_degrees(degrees).exact(digits), [digits.real(number) for number in place]
                wanted = rounded_release(name, release, rows, at, digits, Script(read.log))
            if isinstance(wanted, list) and name not in ("nearest", "nearest, placed", "hull"):
                query: Any = release.answers[0].query
                wanted = query.corrected(np.array([wanted])).ravel().tolist() if name != "points" else wanted
            assert released_numbers(name, release) == wanted
            assert widened == 1 or read.refined > 0


@pytest.mark.parametrize("name", ["points", "mean", "median", "bounds", "radius", "diameter", "nearest", "hull"])
@pytest.mark.parametrize("budget", [{"rho": 2e-3}, {"epsilon": 0.05}], ids=["CGP", "GP"])
def test_persons_have_own_balls(name: str, budget: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is refined, the same bits give the same release: each ball is that of the person's own point."""
    degrees = BAY.inverse(np.random.default_rng(41).uniform(-1500, 1500, (60, 2)))
    frame = geopandas.GeoSeries(shapely.points(degrees), crs=4326)
    labels = np.random.default_rng(42).permutation(np.repeat(["ann", "bob", "cid", "dan"], [3, 7, 20, 30]))
    found = []
    for widened in (1.0, 2.0**40 if name == "nearest" else 2.0**24):
        read = tape(43, widened)
        monkeypatch.setattr(asking, "source_of", lambda rng, read=read: read)
        release = ASKED[name](frame, {**budget, "area": AREA, "person": labels})
        held = release.coords if name != "hull" else np.concatenate([a.support for a in release.answers])  # type: ignore[attr-defined]
        found.append(release.value.to_numpy().ravel().tolist() if held is None else held.ravel().tolist())
    assert read.refined > 0
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:.*points belong to one person", "ignore:Nearly everything would be lost")
def test_files_of_degrees_are_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's points get the noise of the bits read, point by point or all of a person's at once."""
    digits = Mpmath(tail_of(32))
    degrees = BAY.inverse(np.random.default_rng(32).uniform(-1500, 1500, (400, 2)))
    source = tmp_path / "trips.csv"
    source.write_text("lon,lat\n" + "\n".join(f"{lon!r},{lat!r}" for lon, lat in degrees.tolist()) + "\n")
    for i, budget in enumerate(({"rho": 2e-4}, {"epsilon": 0.05})):
        read = Tape(np.random.default_rng(32 + i).bytes, tail_of(32), 2.0**20)
        monkeypatch.setattr(asking, "source_of", lambda rng, read=read: read)
        release = release_of("points", source, area=AREA, to=tmp_path / f"released{i}.csv", **budget)
        assert read.refined > 0
        assert release.rounding == 0
        noise = Noise([release.mechanism], [len(degrees)], 2)
        with digits.work():
            rows = of_degrees(degrees).exact(digits)
            wanted = np.array(noise.rounded(itertools.chain(*rows), digits, Script(read.log))).reshape(-1, 2)
        written = np.loadtxt(tmp_path / f"released{i}.csv", delimiter=",", skiprows=1)
        assert release.plane is not None
        assert (written[:, :2] == release.plane.out(wanted)).all()


def test_functions_state_degree_error() -> None:
    """Of degrees, not of metres; a place's distance is refined and needs no such figure."""
    degrees = geopandas.GeoSeries.from_xy([-122.42, -122.4], [37.77, 37.75], crs=4326)
    how: dict[str, Any] = {"rho": 1e-4, "area": AREA}
    road = shapely.LineString([(-122.5, 37.7), (-122.3, 37.8)])
    plain = gv.Locations([[0.0, 1.0]]).answer(lambda x: x[:, 0].max(), lipschitz=1, fn_error=0, rho=1e-4)
    own = release_of("answer", degrees, lambda x: x[:, 0].max(), lipschitz=1, fn_error=0, **how)
    to_road = release_of("distance", degrees, road, fn_error=1e-6, **how)
    assert plain.rounding == release_of("distance", degrees, PUBLIC, **how).rounding == 0
    for release in (own, to_road):
        assert release.exact
        assert release.rounding == pytest.approx(math.sqrt(2) * tangent.rounding(RADIUS))
        assert release.certificate()["rounding"] == release.rounding
        assert "points are rounded by at most 5.3e-07 m" in repr(release)
        assert "5.3e-07 m" in release.certificate()["words"]
    assert own.error(0.05) == pytest.approx(plain.error(0.05) + own.rounding, rel=1e-4)
    assert own.error(0.05) > plain.error(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["inf", "2", "1"])
def test_rounded_points_widen_errors(metric: str) -> None:
    """Rounded points widen error bounds. By what moving all points by so much moves the value."""
    x = np.random.default_rng(33).normal(scale=100.0, size=(9, 2))
    rounding = 0.5
    rng = np.random.default_rng(34)
    for name, kind in SUMMARIES.items():
        query = kind(9, 2, CGP(rho=1e-4, metric=metric), rounding=rounding)
        turned = rng.normal(size=(200, 9, 2))
        turned *= rounding / np.linalg.norm(turned, axis=2, keepdims=True)
        moved = max(
            float(np.linalg.norm(query.evaluate(x + step).values - query.evaluate(x).values)) for step in turned
        )
        assert 0.05 * query.rounding_error < moved <= query.rounding_error * (1 + 1e-9), name


def test_proj_rounding_is_stated(tmp_path: Path) -> None:
    """What PROJ rounds is stated.

    In the text, the certificate and the error bound, of frames and files, and it is there after loading.
    """
    frame = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy([550_000.0], [4_180_000.0]), crs=32610)
    release = gv.Locations(frame, area=AREA).points(rho=1e-4)
    assert 0 < release.rounding < 1e-4
    assert release.exact
    assert "points are rounded by at most" in repr(release)
    assert "points are rounded by at most" in dict(table_rows(release.facts(), release.certificate()))["Exact"]
    assert release.error(0.05) > gv.Locations(np.zeros((1, 2))).points(rho=1e-4).error(0.05)
    source = tmp_path / "trips.csv"
    source.write_text("x,y\n550000,4180000\n")
    written = gv.Locations(source, lat="y", lon="x", crs=32610, area=AREA).points(
        to=tmp_path / "released.csv", rho=1e-4
    )
    assert written.rounding == release.rounding
    assert gv.load(tmp_path / "released.csv").rounding == release.rounding
    assert gv.Locations(frame).points(rho=1e-4).rounding == 0


def test_read_frames_state_rounding(tmp_path: Path) -> None:
    """A release of a frame that was projected from degrees says by how much its doubles were rounded."""
    source = tmp_path / "trips.csv"
    source.write_text("lon,lat\n-122.42,37.77\n-122.41,37.76\n")
    made = gv.Locations(source, area=AREA).frame()
    for crs in (None, AREA, gv.local(lat=BAY.lat, lon=BAY.lon, radius=2 * RADIUS)):
        assert gv.Locations(made, area=crs).points(rho=1e-4).rounding >= math.sqrt(2) * tangent.rounding(RADIUS)
    assert gv.Locations(gv.Locations(source).frame(), area=AREA).points(rho=1e-4).rounding == 0
    assert gv.Locations(source, area=AREA).points(to=tmp_path / "released.csv", rho=1e-4).rounding == 0


def test_edge_moves_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points that are moved to the edge are moved exactly.

    Far from the area, beyond its edge and within nanometres of it, as real numbers.
    """
    small, digits = 1000.0, Mpmath(tail_of(51))
    area = gv.local(lat=BAY.lat, lon=BAY.lon, radius=small)
    rng = np.random.default_rng(51)
    angle = rng.uniform(0, 2 * np.pi, 300)
    away = small * np.concatenate([rng.uniform(0.5, 2, 100), 1 + rng.uniform(-1e-11, 1e-11, 100), np.full(100, 4e3)])
    degrees = BAY.inverse(away[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))
    frame = geopandas.GeoSeries(shapely.points(degrees), crs=4326)
    for widened in (1.0, 2.0**24):
        read = tape(52, widened)
        monkeypatch.setattr(asking, "source_of", lambda rng, read=read: read)
        release = gv.Locations(frame, area=area, outside="clamp").points(rho=0.5)
        with digits.work():
            edge = digits.real(small * (1 - 2.0**-40))
            moved = []
            for row in of_degrees(degrees, radius=5e6).exact(digits):
                length = digits.sqrt(sum(number * number for number in row))
                moved += [number * edge / length if edge < length else number for number in row]
            script = Script(read.log)
            wanted = Noise([release.mechanism], [300], 2).rounded(moved, digits, script)
        assert widened == 1 or read.refined > 200
        assert release.coords is not None
        assert release.coords.ravel().tolist() == wanted


def test_feet_convert_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product with the unit has more digits than a double: whatever is refined, the same bits give the same."""
    feet = np.random.default_rng(53).uniform(0, 1000, (300, 2)) + np.array([6e6, 2.1e6])
    frame = geopandas.GeoSeries(shapely.points(feet), crs=2227)
    unit, digits = 1200 / 3937, Mpmath(tail_of(54))
    for widened in (1.0, 2.0**24):
        read = tape(54, widened)
        monkeypatch.setattr(asking, "source_of", lambda rng, read=read: read)
        release = gv.Locations(frame).points(rho=0.5)
        assert release.rounding == 0
        with digits.work():
            metres = [digits.real(number) * digits.real(unit) for number in feet.ravel().tolist()]
            wanted = Noise([release.mechanism], [300], 2).rounded(metres, digits, Script(read.log))
        assert release.coords is not None
        assert release.coords.ravel().tolist() == wanted


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(10))
@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_many_degree_releases_exact(name: str, chunk: int) -> None:
    """Many releases of degrees are those of real arithmetic.

    With 200 bits of Arb, on 10^6 draws in all, with bounds as they are and 1000 times as wide.
    """
    mechanism = Gaussian(RHO, 50_000, 50.0) if name == "gaussian" else Copies(Laplace(EPSILON, 2, 50.0), 25_000)
    family, seed = Noise([mechanism], [25_000], 2, 30_000.0, locate=projected), 200 + chunk
    found, read = released(family, seed)
    assert refined(family, read) < 1e-3
    wanted = expected(family, seed, Arb(tail_of(seed)), read)
    assert differences(found, wanted) == []
    again, reread = released(family, seed, 1000.0)
    assert refined(family, reread) > 0.02
    assert differences(again, wanted) == []


def test_diameter_compares_few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The balls tell which points can be the ends; the doubles tell nothing, and all pairs would be too many."""
    rng = np.random.default_rng(8)
    degrees = np.array([-122.42, 37.77]) + rng.integers(-400, 400, (300, 2)) * np.array([1.5e-14, 7.2e-15])
    x = tangent.Tangent(37.77, -122.42).forward(degrees, RADIUS)
    compared = 0
    honest = ball_points.squared_distance

    def counted(a: Any, b: Any) -> Any:
        nonlocal compared
        compared += 1
        return honest(a, b)

    monkeypatch.setattr(evaluation, "squared_distance", counted)
    with ctx.workprec(192):
        found = evaluation.widest(x).ball(0, 128)
        points = [[x.ball(2 * i + axis, 128) for axis in (0, 1)] for i in range(len(degrees))]
        squares = [honest(a, b) for i, a in enumerate(points) for b in points[:i]]
        true = functools.reduce(lambda a, b: a.max(b), squares).sqrt()
        assert found.overlaps(true)
        assert float(found.rad()) < 1e-30
    assert 0 < compared < 2 * len(degrees)
