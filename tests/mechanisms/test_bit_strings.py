"""For given strings of random bits, every release is the one that real arithmetic gives."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from flint import arb

from geoveil.mechanisms import (
    Additive,
    Copies,
    Exponential,
    Gaussian,
    KNorm,
    Laplace,
    NearestNeighbour,
    SparseVector,
)
from geoveil.noise import Ball, Reals, rectangles, source
from geoveil.noise.bits import Bits
from geoveil.privacy import CGP, GP
from tests.oracle import Floats
from tests.reference import (
    Arb,
    Digits,
    Family,
    Flips,
    Mpmath,
    Neighbours,
    Noise,
    Script,
    Tape,
    TopK,
    Walks,
    exponentials,
    gumbels,
    normals,
    tail_of,
    tape,
    turns,
)

#: Under these, the scale of noise is the Lipschitz constant.
RHO, EPSILON = CGP(rho=0.5), GP(epsilon=1)


def gaussian(n: int, scale: float = 50.0, reach: float = 1e5, dimension: int = 2) -> Noise:
    """Normal noise on n rows."""
    return Noise([Gaussian(RHO, n * dimension, scale)], [n], dimension, reach)


def laplace(n: int, dimension: int, scale: float = 50.0) -> Noise:
    """Independent Laplace noise for each of n rows."""
    return Noise([Copies(Laplace(EPSILON, dimension, scale), n)], [n], dimension)


def knorm(n: int, dimension: int) -> Noise:
    """The noise of dist_inf on n rows."""
    return Noise([KNorm(GP(epsilon=0.02), n, dimension)], [n], dimension)


def people(kind: Callable[[int, float], Additive], times: int) -> Noise:
    """People with 1 to 600 rows of the plane, each with another scale."""
    sizes = [1, 3, 1, 20, 2, 600, 7, 8, 9] * times
    scales = np.random.default_rng(5).uniform(1, 1000, len(sizes)).tolist()
    return Noise([kind(size, scale) for size, scale in zip(sizes, scales, strict=True)], sizes, 2)


def top(repeats: int, n: int = 500, k: int = 20) -> TopK:
    """Gumbel noise on the distances of n points."""
    return TopK(repeats, n, Exponential(GP(epsilon=0.02)), k)


def walks(repeats: int, offset: float, *, cyclic: bool) -> Walks:
    """Walks past 40 values, with a threshold that is the given number of scales above the smallest of them."""
    return Walks(repeats, 40, SparseVector(GP(epsilon=0.1), cyclic=cyclic), offset)


#: How many draws of each family are compared with mpmath: some 10^5 in all, with bounds as they are and inflated.
FAMILIES: dict[str, Family] = {
    "gaussian": gaussian(8_000),
    "gaussian, a power of two": gaussian(3_000, 64.0),
    "gaussian, above a power of two": gaussian(3_000, math.nextafter(64, math.inf)),
    "gaussian, below a power of two": gaussian(3_000, 64 - 2.0**-44),
    "gaussian, fine": gaussian(5_000, 2.0**-16, 1e8),
    "gaussian, coarse": gaussian(3_000, 9e29),
    "gaussian, on the line": gaussian(3_001, dimension=1),
    "laplace in R^1": laplace(9_000, 1),
    "laplace in R^2": laplace(6_000, 2),
    "laplace in R^3": laplace(2_000, 3),
    "laplace in R^5": laplace(1_000, 5),
    "laplace in R^1600": Noise([Laplace(EPSILON, 1600)], [800], 2),
    "knorm in R^1": knorm(6_000, 1),
    "knorm in R^2": knorm(5_000, 2),
    "knorm in R^3": knorm(2_000, 3),
    "knorm of one point": knorm(1, 2),
    "gaussian people": people(lambda size, scale: Gaussian(RHO, 2 * size, scale), 2),
    "laplace people": people(lambda size, scale: Laplace(EPSILON, 2 * size, scale), 2),
    "knorm people": people(lambda size, scale: KNorm(GP(epsilon=1 / scale), size, 2), 2),
    "gumbel": top(20),
    "gumbel, all": top(20, 40, 40),
    "flips": Flips(20, 60, 100.0, 5),
    "walks": walks(100, 0.5, cyclic=False),
    "walks, below": walks(100, -3.0, cyclic=False),
    "cyclic walks": walks(100, -0.5, cyclic=True),
    "cyclic walks, below": walks(100, -20.0, cyclic=True),
    "cyclic walks, far below": walks(100, -41.0, cyclic=True),
    "neighbours": Neighbours(30, 30, NearestNeighbour(GP(epsilon=0.02)), 4),
    "neighbours, below": Neighbours(30, 30, NearestNeighbour(GP(epsilon=0.5), -250.0), 4),
}


def released(family: Family, seed: int, widened: float = 1.0) -> tuple[list[object], Tape]:
    """What geoveil releases, and what it read."""
    tape_of_seed = tape(seed, widened)
    return family.outcome(family.inputs(seed), tape_of_seed), tape_of_seed


def expected(family: Family, seed: int, digits: Digits, read: Tape) -> list[object]:
    """What it ought to release, from what it read."""
    script = Script(read.log)
    with digits.work():
        found = family.expected(family.inputs(seed), digits, script)
    assert script.done
    return found


def differences(found: list[object], wanted: list[object]) -> list[tuple[int, object, object]]:
    """Where they differ, and how."""
    pairs = enumerate(zip(found, wanted, strict=True))
    return [(i, one, other) for i, (one, other) in pairs if one != other]


def refined(family: Family, read: Tape) -> float:
    """The share of draws that took more than doubles."""
    return read.refined / family.draws(read.log)


def inflated(family: Family, seed: int) -> float:
    """How wide bounds have to be for more than a third of the draws to be refined."""
    widened = 2.0**16
    while refined(family, released(family, seed, widened)[1]) < 0.36:
        widened *= 2 if isinstance(family, Noise) else 4
    return widened


def compare(family: Family, seed: int, digits: Digits, widened: float) -> None:
    """Nothing differs from the reference, with bounds as they are and with wide ones."""
    found, read = released(family, seed)
    assert refined(family, read) < 1e-3
    wanted = expected(family, seed, digits, read)
    assert differences(found, wanted) == []
    again, reread = released(family, seed, widened)
    assert [record.chunks for record in reread.log] == [record.chunks for record in read.log]
    assert refined(family, reread) >= 1 / 3
    assert differences(again, wanted) == []


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_releases_as_real_arithmetic(name: str) -> None:
    """Releases are those of real arithmetic. With 60 digits of mpmath, on 10^5 draws in all."""
    family = FAMILIES[name]
    compare(family, 11, Mpmath(tail_of(11)), inflated(family, 11))


def test_comparisons_are_many() -> None:
    """The families above make 10^5 draws."""
    assert sum(family.draws(released(family, 11)[1].log) for family in FAMILIES.values()) >= 100_000


#: 2.5 million draws of each, in chunks of a twentieth; and smaller ones of the kind, to see how wide bounds must be.
SOAKED: dict[str, tuple[Family, Family]] = {
    "gaussian": (gaussian(62_500), gaussian(2_000)),
    "laplace in R^2": (laplace(62_500, 2), laplace(2_000, 2)),
    "knorm in R^2": (knorm(62_500, 2), knorm(2_000, 2)),
    "gumbel": (top(25, 5_000, 100), top(1, 5_000, 100)),
}


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(20))
@pytest.mark.parametrize("name", SOAKED)
def test_many_releases_as_real(name: str, chunk: int) -> None:
    """Many releases are those of real arithmetic. With 200 bits of Arb, on 10^7 draws in all."""
    family, small = SOAKED[name]
    compare(family, 100 + chunk, Arb(tail_of(100 + chunk)), inflated(small, 99))


#: Smaller families, and relative errors of a uniform variable that they are to notice.
NOTICED: dict[str, tuple[Family, float]] = {
    "gaussian": (gaussian(1_000), 1e-5),
    "laplace in R^1": (laplace(2_000, 1), 1e-5),
    "laplace in R^2": (laplace(1_000, 2), 1e-5),
    "laplace in R^3": (laplace(700, 3), 1e-5),
    "knorm in R^1": (knorm(2_000, 1), 1e-5),
    "knorm in R^2": (knorm(1_000, 2), 1e-5),
    "knorm in R^3": (knorm(700, 3), 1e-5),
    "people": (people(lambda size, scale: Laplace(EPSILON, 2 * size, scale), 1), 1e-5),
    "gumbel": (top(5), 1e-2),
    "flips": (Flips(60, 60, 100.0, 5), 0.1),
    "walks": (walks(100, 0.5, cyclic=False), 0.1),
    "cyclic walks": (walks(100, -20.0, cyclic=True), 0.1),
    "neighbours": (Neighbours(30, 30, NearestNeighbour(GP(epsilon=0.02)), 4), 0.1),
}


def wanted_of(family: Family) -> list[object]:
    """What a family ought to release."""
    return expected(family, 12, Arb(tail_of(12)), released(family, 12)[1])


def spoil_doubles(monkeypatch: pytest.MonkeyPatch, off: float, scaled: float = 1.0) -> None:
    """Make doubles of normal variables, of uniform ones and of their logarithms wrong by about this share."""
    uniform, normal = source._fractions, rectangles._places
    monkeypatch.setattr(source, "_fractions", lambda drawn: uniform(drawn) ** (1 + off) * scaled)
    monkeypatch.setattr(rectangles, "_places", lambda corners, words: normal(corners, words) * (1 + off))


def spoil_balls(monkeypatch: pytest.MonkeyPatch, off: float) -> None:
    """Do the same to balls."""
    plain = Bits.ball
    monkeypatch.setattr(Bits, "ball", lambda drawn, i, count: plain(drawn, i, count) ** arb(1 + off) * arb(1 - off))


@pytest.mark.statistical
@pytest.mark.parametrize("name", NOTICED)
def test_wrong_doubles_are_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubles that are farther off than their bounds give other releases."""
    family, off = NOTICED[name]
    wanted = wanted_of(family)
    assert released(family, 12)[0] == wanted
    spoil_doubles(monkeypatch, off, scaled=1 - off)
    assert released(family, 12)[0] != wanted


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", NOTICED)
def test_wrong_balls_are_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Balls that do not contain what they ought to give other releases, where they are looked at."""
    family, off = NOTICED[name]
    wanted, widened = wanted_of(family), inflated(family, 12)
    assert released(family, 12, widened)[0] == wanted
    spoil_balls(monkeypatch, off)
    assert released(family, 12, widened)[0] != wanted


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", [name for name, (family, _) in NOTICED.items() if isinstance(family, Noise)])
def test_bounds_decide_refinement(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubles that are off, but by less than their bounds, are put right; with bounds that are less they are not."""
    family = NOTICED[name][0]
    wanted, widened = wanted_of(family), inflated(family, 12)
    # Logarithms are off by this share, also where they are near 0.
    spoil_doubles(monkeypatch, 3e-6)
    assert released(family, 12, widened)[0] == wanted
    assert released(family, 12)[0] != wanted


#: Words at the ends, at powers of two, and on both sides of where doubles are no longer trusted.
WORDS = np.array(
    [0, 1, 2]
    + [2**bits + off for bits in (34, 44, 61, 62, 63) for off in (-1, 0, 1)]
    + [2**64 - off for off in (2**62, 2**44 + 1, 2**44, 2**44 - 1, 2**34 + 1, 2**34, 2**34 - 1, 2, 1)],
    dtype=np.uint64,
)
#: After the first 64 bits: random ones, or 136 that are all the same and then random ones.
TAILS = {
    "random": tail_of(13),
    "zeros": bytes(17) + tail_of(13)[17:],
    "ones": b"\xff" * 17 + tail_of(13)[17:],
}
#: Enough bits to hold the distance to 1 of 200 ones.
FINE = 2048


def crafted(tail: str) -> Tape:
    """A tape on which nothing but those words stands, in random order; coins are random where they are no words."""
    generator = np.random.default_rng(14)

    def words(size: int) -> bytes:
        return generator.bytes(size) if size % 8 else generator.choice(WORDS, size // 8).tobytes()

    return Tape(words, TAILS[tail])


def check_close(drawn: Reals, wanted: list[Ball]) -> None:
    """Doubles are finite and as near to the reference as their bound says; balls contain it."""
    assert np.isfinite(drawn.values).all()
    for i, (value, number) in enumerate(zip(drawn.values.tolist(), wanted, strict=True)):
        assert abs(number - value) <= drawn.error
        assert drawn.ball(i, 1024).contains(number)
        assert drawn.ball(i, 1024).rel_accuracy_bits() > 500


@pytest.mark.parametrize("tail", TAILS)
def test_crafted_words_give_variables(tail: str) -> None:
    """Strings of 200 zeros or ones, and words at the edges, give finite variables that keep their bounds."""
    digits, read, count = Arb(TAILS[tail], FINE), crafted(tail), 500
    with digits.work():
        drawn = [read.exponential(count), read.gumbel(count), read.normal(2 * count), *read.cosine_and_sine(count)]
        script = Script(read.log)
        wanted = [exponentials(digits, script), gumbels(digits, script, count), normals(digits, script)]
        wanted += [list(side) for side in zip(*turns(digits, script, count), strict=True)]
        for one, other in zip(drawn, wanted, strict=True):
            check_close(one, other)


def tuned(family: Noise, digits: Digits, tail: str, steps: int) -> Floats:
    """True values that put noisy ones in the middle between two multiples of the grid, or some doubles off."""
    read = crafted(tail)
    family.outcome(np.zeros((sum(family.sizes), family.dimension)), read)
    cell, stretch = family.mechanisms[0].grid, digits.real(family.mechanisms[0].scale / family.mechanisms[0].grid)
    with digits.work():
        shifts = [stretch * noise for noise in family.noise(digits, Script(read.log))]
        # The difference of two equal strings is nothing, and has no place in the middle.
        near = (digits.nearest(shift) - shift + (0.25 if shift.contains(0) else 0.5) for shift in shifts)
        rests = np.array([float(rest) for rest in near])
    for _ in range(abs(steps)):
        rests = np.nextafter(rests, math.copysign(math.inf, steps))
    return rests.reshape(-1, family.dimension) * cell


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize(
    "family",
    [
        gaussian(500),
        laplace(1_000, 1),
        laplace(500, 2),
        laplace(300, 3),
        knorm(1_000, 1),
        knorm(500, 2),
        knorm(300, 3),
    ],
    ids=["gaussian", "laplace 1", "laplace 2", "laplace 3", "knorm 1", "knorm 2", "knorm 3"],
)
def test_crafted_words_round_right(family: Noise, tail: str) -> None:
    """Crafted words are rounded right.

    Noisy values that are as near to the middle between two multiples as doubles can put them.
    """
    for steps in (-1, 0, 1):
        digits, read = Arb(TAILS[tail], FINE), crafted(tail)
        centers = tuned(family, digits, tail, steps)
        found = family.outcome(centers, read)
        with digits.work():
            wanted = family.expected(centers, digits, Script(read.log))
        assert np.isfinite(found).all()
        assert differences(list(found), list(wanted)) == []
        assert refined(family, read) > 0.8


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if not isinstance(family, Noise)])
def test_crafted_words_choose_right(name: str, tail: str) -> None:
    """No choice is taken in by a variable that doubles would make infinite."""
    family, digits, read = FAMILIES[name], Arb(TAILS[tail], FINE), crafted(tail)
    inputs = family.inputs(15)
    found = family.outcome(inputs, read)
    with digits.work():
        wanted = family.expected(inputs, digits, Script(read.log))
    assert differences(found, wanted) == []
