"""Releases are the ideal mechanism, rounded: what numpy is trusted with, attacks, and the divergence on the grid."""

from __future__ import annotations

import copy
import itertools
import json
import math
import os
import pickle
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import geoveil as gv
from geoveil.mechanisms import Additive, Copies, Gaussian, KNorm, Laplace
from geoveil.noise import Entropy, Reals, Source, as_reals, grid, normal, round_to_grid, source_of
from geoveil.noise.bits import Bits
from geoveil.noise.source import ACCURACY
from geoveil.privacy import CGP, GP
from geoveil.queries import evaluation
from tests.oracle import Floats
from tests.questions import EVERY_QUESTION, ask
from tests.systems import POSIX

# ------------------------------------------------------------------------------------------ what numpy is trusted with

RNG = np.random.default_rng(1)
NEAR_ONE = 1 - np.geomspace(2.0**-52, 0.5, 3000)
FUNCTIONS: dict[str, tuple[Callable[[Any], Floats], Callable[[Any], Any], Floats]] = {
    "log": (np.log, arb.log, np.concatenate([np.geomspace(2.0**-63, 1, 9000)[:-1], NEAR_ONE, RNG.random(9000)])),
    "log of exponentials": (np.log, arb.log, np.concatenate([np.geomspace(2.0**-31, 45, 9000), 1 / NEAR_ONE])),
    "log1p": (np.log1p, arb.log1p, -np.concatenate([np.geomspace(1e-300, 0.5, 9000), NEAR_ONE, RNG.random(9000)])),
    "exp": (np.exp, arb.exp, np.concatenate([np.linspace(-745, 600, 9000), RNG.normal(size=9000)])),
    "expm1": (np.expm1, arb.expm1, -np.concatenate([np.geomspace(1e-300, 700, 9000), RNG.random(9000)])),
    "sin": (
        np.sin,
        arb.sin,
        np.concatenate([np.geomspace(1e-19, np.pi / 4, 9000), np.linspace(-np.pi / 4, np.pi / 4, 9000)]),
    ),
    "sqrt": (np.sqrt, arb.sqrt, np.concatenate([np.geomspace(2.0**-63, 90, 9000), RNG.random(9000)])),
}


def relative_errors(function: Callable[[Any], Floats], true: Callable[[Any], Any], x: Floats) -> Floats:
    """How wrong numpy is, relatively, at each x; subnormal results do not count."""
    found = function(x)
    with ctx.workprec(160):
        off = [float(abs(arb(y) / true(arb(at)) - 1)) for at, y in zip(x.tolist(), found.tolist(), strict=True)]
    return np.where(np.abs(found) > 2.3e-308, off, 0.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_is_accurate(name: str) -> None:
    """Numpy is as good as it is trusted to be.

    Against balls, on this machine, over the whole range: 2048 units in the last place are assumed, 8 are found.
    """
    function, true, x = FUNCTIONS[name]
    errors = relative_errors(function, true, x)
    assert errors.max() <= ACCURACY
    assert errors.max() < 8 * 2.0**-52
    if name == "sqrt":
        assert errors.max() <= 2.0**-53


@pytest.mark.parametrize("name", FUNCTIONS)
def test_memory_layout_is_irrelevant(name: str) -> None:
    """Short arrays, strides and odd addresses take other ways through numpy, which are as good."""
    function, true, x = FUNCTIONS[name]
    part = x[:: len(x) // 200]
    for laid_out in (np.repeat(part, 3)[::3], np.append(0.5, part)[1:], part[::-1][::-1]):
        assert relative_errors(function, true, laid_out).max() < 8 * 2.0**-52
    assert max(relative_errors(function, true, np.array([at])).max() for at in part) < 8 * 2.0**-52


def test_worse_logarithm_is_noticed() -> None:
    """The measurement sees an error a tenth above what is assumed."""
    function, true, x = FUNCTIONS["log"]
    assert relative_errors(lambda at: function(at) * (1 + 1.1 * ACCURACY), true, x).max() > ACCURACY


# -------------------------------------------------------------------------------------------------- bounds of samplers


def words(*chosen: int) -> Callable[[int], bytes]:
    """A reader that gives these words first, again and again in the first request, and random bytes after that."""
    rest = np.random.default_rng(3)
    first = True

    def read(count: int) -> bytes:
        nonlocal first
        if first and count % 8 == 0:
            first = False
            return np.resize(np.array(chosen, dtype=np.uint64), count // 8).tobytes()
        return rest.bytes(count)

    return read


EDGES = [
    *(2**k + shift for k in (0, 1, 10, 33, 34, 35, 43, 44, 45, 53, 61, 62, 63) for shift in (-1, 0, 1)),
    *(2**64 - 2**k + shift for k in (1, 10, 11, 33, 34, 43, 44, 53, 61, 62) for shift in (-1, 0, 1)),
    2**64 - 1,
]


def noise_of(mechanism: Additive, rows: int, columns: int) -> Callable[[Entropy, int], Reals]:
    """The first block of noise of a mechanism for many tuples."""
    return lambda source, n: next(mechanism.noise(source, np.full(n // (rows * columns) + 1, rows), columns))[1]


VARIABLES: dict[str, Callable[[Entropy, int], Reals]] = {
    "uniform": lambda source, n: source.uniform(n),
    "exponential": lambda source, n: source.exponential(n),
    "gumbel": lambda source, n: source.gumbel(n),
    "normal": lambda source, n: source.normal(2 * n),
    "cosine": lambda source, n: source.cosine_and_sine(n)[0],
    "sine": lambda source, n: source.cosine_and_sine(n)[1],
    "Laplace on the line": noise_of(Laplace(GP(epsilon=1), 1), 1, 1),
    "Laplace in the plane": noise_of(Laplace(GP(epsilon=1), 2), 1, 2),
    "Laplace in space": noise_of(Laplace(GP(epsilon=1), 3), 1, 3),
    "Laplace of 10 points": noise_of(Laplace(GP(epsilon=1), 20), 10, 2),
    "Laplace of 7 points in 5 dimensions": noise_of(Laplace(GP(epsilon=1), 35), 7, 5),
    "K-norm on the line": noise_of(KNorm(GP(epsilon=1), 4, 1), 4, 1),
    "K-norm in the plane": noise_of(KNorm(GP(epsilon=1), 3, 2), 3, 2),
    "K-norm in space": noise_of(KNorm(GP(epsilon=1), 5, 3), 5, 3),
    "K-norm in 4 dimensions": noise_of(KNorm(GP(epsilon=1), 2, 4), 2, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("chosen", [EDGES, []], ids=["words at the edges", "random words"])
def test_variables_keep_their_bounds(name: str, chosen: list[int]) -> None:
    """No double is farther from its ball than its bound, and bounds are no wider than a millionth or so."""
    read = words(*chosen) if chosen else np.random.default_rng(4).bytes
    drawn = VARIABLES[name](Entropy(read), len(EDGES) if chosen else 1000)
    errors = np.broadcast_to(drawn.error, drawn.values.shape).ravel()
    for i, (value, error) in enumerate(zip(drawn.values.ravel().tolist(), errors.tolist(), strict=True)):
        assert math.isfinite(value)
        with ctx.workprec(400):
            assert abs(drawn.ball(i, 320) - value) < error, (i, value, error)
    assert np.median(errors) < 2.0**-20


def test_drawn_bits_stay() -> None:
    """However many bits are asked for, and in whatever order, a string begins as it did before."""
    bits = Bits(5, np.random.default_rng(5).bytes)
    seen = {count: bits.leading(3, count) for count in (64, 1024, 128, 200, 4096, 63, 65)}
    for short, long in itertools.combinations(sorted(seen), 2):
        assert seen[long] >> long - short == seen[short]
    assert bits.leading(3, 64) == int(bits.words[3])
    assert seen[4096] % 2**1000 not in (0, 2**1000 - 1)


def test_products_of_variables() -> None:
    """One logarithm of a product is the sum of logarithms."""
    bits = Bits(300, np.random.default_rng(6).bytes)
    for count in (64, 128, 256, 512):
        with ctx.workprec(count + 64):
            apart = sum(-bits.ball(i, max(count, 128)).log() for i in range(300))
            together = bits.minus_log_product(0, 300, count)
            assert together.overlaps(apart)
            assert together.rad() < 2.0 ** (12 - max(count - 64, 64) if count > 128 else -50)


# ------------------------------------------------------------------------------------------------------------- attacks

SIGMA = 50.0
FIFTY = CGP(rho=2e-4)  # σ = 50 m


def naive(center: float, count: int, rng: np.random.Generator) -> Floats:
    """What most tools release: a double plus a double."""
    return center + SIGMA * rng.standard_normal(count)


def reachable(y: Floats, center: float) -> Floats:
    """Whether some double of noise, added to the centre, gives this output."""
    noise = y - center
    near = np.stack([noise, np.nextafter(noise, np.inf), np.nextafter(noise, -np.inf)])
    return np.asarray((center + near == y).any(axis=0))


@pytest.mark.statistical
def test_low_bits_tell_nothing() -> None:
    """Of doubles released from 0, some are impossible from 64; of multiples of the public grid none are."""
    rng = np.random.default_rng(7)
    found = naive(0.0, 100_000, rng)
    assert 1 - reachable(found, 64.0).mean() > 0.4
    mechanism = Gaussian(FIFTY, 1)
    for center in (0.0, 64.0, 1e-3, -7.123456789, 5e6 + 1 / 3):
        ours = mechanism.sample(np.full((20_000, 1), center), source_of(None))
        cells = ours / mechanism.grid
        assert (cells == np.rint(cells)).all()
        assert reachable(cells, center - center % 1).all()
        assert not np.signbit(ours[ours == 0]).any()


@pytest.mark.statistical
def test_zero_has_no_sign() -> None:
    """Values just below 0 are released as 0, never as -0."""
    mechanism = Gaussian(CGP(rho=1e-3), 1)
    for center in (-1e-12, 1e-12, -0.0):
        ours = mechanism.sample(np.full((200_000, 1), center), source_of(None))
        assert (ours == 0).sum() > 5
        assert not np.signbit(ours[ours == 0]).any()


def rounded_first(center: Floats, mechanism: Additive, source: Source) -> Floats:
    """What privacy libraries do: round the input, then add noise on the grid."""
    return mechanism.sample(np.rint(center / mechanism.grid) * mechanism.grid, source)


@pytest.mark.statistical
def test_cell_edges_tell_nothing() -> None:
    """The edges of cells tell nothing.

    Two places 10^-9 m apart on two sides of an edge: with the same bits almost every release is the same.
    """
    mechanism = Gaussian(FIFTY, 1)
    edge = 1000 * mechanism.grid + mechanism.grid / 2
    sides = [np.full((50_000, 1), edge + side * 5e-10) for side in (-1, 1)]

    def told(sample: Callable[[Floats, Source], Floats]) -> float:
        one, other = (sample(side, Entropy(np.random.default_rng(8).bytes)) for side in sides)
        return float((one != other).mean())

    assert told(lambda center, source: rounded_first(center, mechanism, source)) == 1
    assert told(mechanism.sample) < 1e-4


def zeros_then_random(zeros: int) -> Callable[[int], bytes]:
    """A reader whose first bytes are zeros."""
    rest, left = np.random.default_rng(9), zeros

    def read(count: int) -> bytes:
        nonlocal left
        given = min(left, count)
        left -= given
        return bytes(given) + rest.bytes(count - given)

    return read


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(GP(epsilon=0.01), 1),
        Laplace(GP(epsilon=0.01), 2),
        Laplace(GP(epsilon=0.01), 3),
        KNorm(GP(epsilon=0.01), 1, 2),
    ],
    ids=lambda m: f"{type(m).__name__} {m.dimension}",
)
def test_no_tail_is_cut(mechanism: Additive) -> None:
    """A radius beyond 40/ε comes out if the bits say so; from 53 bits of the same string it never does."""
    center = np.zeros((1, mechanism.dimension))
    lengths, from_53_bits = [], []
    for zeros in range(8, 200, 8):
        ours = mechanism.sample(center, Entropy(zeros_then_random(zeros)))
        assert np.isfinite(ours).all()
        lengths.append(float(np.linalg.norm(ours)) / mechanism.scale)
        word = int.from_bytes(zeros_then_random(zeros)(8), "big")
        from_53_bits.append(-math.log(((word >> 11) + 0.5) * 2.0**-53))
    assert max(lengths) > 120
    assert sum(length > 40 for length in lengths) > 15
    assert max(from_53_bits) < 40


def test_normal_noise_is_unbounded() -> None:
    """Normal noise has no end. Beyond 8.6 σ, where √(-2 log u) ends for u of 53 bits."""
    mechanism, zeros = Gaussian(FIFTY, 2), zeros_then_random(1000)
    requests = itertools.count()

    def read(count: int) -> bytes:
        # Strings that begin with 12 ones choose no rectangle, then the tail. Second strings of proposals are zeros.
        ones = [count // 8, count // 16, 0][min(next(requests), 2)]
        return np.full(ones, 4095 << 52, dtype=np.uint64).tobytes() + zeros(count - 8 * ones)

    ours = mechanism.sample(np.zeros((1, 2)), Entropy(read))
    assert 8.6 * 50 < np.abs(ours).max() < math.inf


@pytest.mark.statistical
def test_seeds_reveal_differences() -> None:
    """With one seed, the difference of two releases is that of the inputs; without a seed it is not."""
    x, y = np.zeros((50, 2)), np.full((50, 2), 300.0)
    one, other = (gv.Locations(z, rng=np.random.default_rng(10)).points(rho=2e-4).value for z in (x, y))
    np.testing.assert_allclose(other - one, y - x, rtol=0, atol=1e-6)
    one, other = (gv.Locations(z).points(rho=2e-4).value for z in (x, y))
    # Equal noise happens in 1 of 10^4 coordinates, as it is on a grid.
    assert (np.abs(other - one - 300) > 1e-3).mean() > 0.9


def in_a_fork(draw: Callable[[], Floats]) -> Floats:
    """What a forked child draws."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(send, draw().tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    found = os.read(receive, 2**16)
    os.close(receive)
    os.close(send)
    return np.frombuffer(found)


@POSIX
@pytest.mark.usefixtures("bits_of_the_system")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_workers_differ() -> None:
    """Two workers that inherit a numpy generator release the same noise; two of ours do not."""
    shared = np.random.default_rng()
    assert (in_a_fork(lambda: naive(0.0, 20, shared)) == in_a_fork(lambda: naive(0.0, 20, shared))).all()
    x = np.zeros((20, 2))
    gv.Locations(x).points(rho=2e-4)
    released_by = [in_a_fork(lambda: gv.Locations(x).points(rho=2e-4).value.ravel()) for _ in range(2)]
    assert (released_by[0] == released_by[1]).mean() < 0.2


# ---------------------------------------------------------------------------------------------- divergence on the grid

DISTANCES = [1e-12, 1e-9, 1e-6, 1e-3, 0.01, 0.3, 1.0, 7.0]


def gaussian_tail(z: Any) -> Any:
    """P(Z > z)."""
    return (z / arb(2).sqrt()).erfc() / 2


def laplace_tail(z: Any) -> Any:
    """P(V > z)."""
    return (-z).exp() / 2 if z > 0 else 1 - z.exp() / 2


def cells(mechanism: Additive, center: Any, unit: float, reach: int) -> list[Any]:
    """The probability of every multiple of the unit that is within reach, and of what is beyond on either side."""
    tail = gaussian_tail if isinstance(mechanism, Gaussian) else laplace_tail
    ends = [(arb(k) - arb(1) / 2) * arb(unit) for k in range(-reach, reach + 2)]
    above = [arb(1), *(tail((end - center) / arb(mechanism.scale)) for end in ends), arb(0)]
    return [a - b for a, b in itertools.pairwise(above)]


def divergence(p: list[Any], q: list[Any], alpha: Any) -> Any:
    """D_α(P ‖ Q)."""
    return sum(b * (a / b) ** alpha for a, b in zip(p, q, strict=True)).log() / (alpha - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("coarse", "place"), [(1, 1 / 3), *itertools.product([64, 1024, 8192], [0.0, 0.49999, 0.5, 1 / 3])]
)
def test_rounding_keeps_the_guarantee(coarse: int, place: float) -> None:
    """Rounding keeps the guarantee at every distance.

    On the grid and on coarser ones, at no distance more than α·ρ·dist², or ε·dist, and nearly all of it.
    """
    gaussian, laplace = Gaussian(CGP(rho=0.5), 1), Laplace(GP(epsilon=1), 1)
    for mechanism in (gaussian, laplace):
        unit = coarse * mechanism.grid
        reach = int(8 * mechanism.scale / unit) + 1 if coarse > 1 else 1500
        center = place * unit
        with ctx.workprec(500):
            p = cells(mechanism, arb(center), unit, reach)
        for distance in DISTANCES:
            with ctx.workprec(500):
                q = cells(mechanism, arb(center) + arb(distance), unit, reach)
                if mechanism is laplace:
                    worst = max((a / b).log().mid() for a, b in zip(p, q, strict=True))
                    assert worst <= arb(distance) / arb(laplace.scale) * (1 + arb(1e-100))
                    continue
                for alpha in (arb("1.01"), arb(2), arb(10)):
                    used = divergence(p, q, alpha) / (alpha * arb(distance) ** 2 / 2 / arb(gaussian.scale) ** 2)
                    assert used < 1
                    if coarse == 64 and distance < 1:
                        assert used > 0.99


def test_input_rounding_breaks_guarantee() -> None:
    """The same sum finds the loss of two cells where the inputs are 10^-9 m apart."""
    mechanism = Gaussian(CGP(rho=0.5), 1)
    unit = 64 * mechanism.grid
    with ctx.workprec(300):
        p, q = (cells(mechanism, arb(k * unit), unit, 400) for k in (0, 1))
        assert divergence(p, q, arb(2)) > 1e9 * arb(1e-9) ** 2


@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism", [Gaussian(CGP(rho=0.5), 1), Laplace(GP(epsilon=1), 1)], ids=["Gaussian", "Laplace"]
)
def test_release_follows_grid_law(mechanism: Additive) -> None:
    """Counts on a coarse grid are those of the law whose divergence is computed."""
    unit, center, count = 0.5, 0.2, 200_000
    source = Entropy(np.random.default_rng(12).bytes)
    noise = mechanism.noise(source, np.ones(count, dtype=np.int64), 1)
    ours = round_to_grid(as_reals(np.full((count, 1), center)), mechanism.scale, unit, noise, source)
    with ctx.workprec(100):
        law = np.array([float(p) for p in cells(mechanism, arb(center), unit, 10)])
    found = np.bincount(np.clip(ours[:, 0] / unit, -11, 11).astype(int) + 11, minlength=23)
    assert stats.chisquare(found, law / law.sum() * count).pvalue > 1e-6
    moved = np.array([float(p) for p in cells(mechanism, arb(center + 0.1), unit, 10)])
    assert stats.chisquare(found, moved / moved.sum() * count).pvalue < 1e-6


# ------------------------------------------------------------------------------------------------------------ the grid


@pytest.mark.slow
@given(deviation=st.floats(2.0**-16, 1e40))
def test_grid_is_below_noise(deviation: float) -> None:
    """The grid is a power of two below the noise. Between a 4096th of the noise and a 2048th of it."""
    unit = grid(deviation)
    assert math.frexp(unit)[0] == 0.5
    assert deviation / 4096 <= unit < deviation / 2048


@pytest.mark.parametrize(
    "mechanism",
    [
        Gaussian(CGP(rho=1e-4), 4),
        Laplace(GP(epsilon=0.01), 1),
        Laplace(GP(epsilon=0.01), 2),
        Copies(Laplace(GP(epsilon=0.01, metric="1"), 2), 3, 1),
        KNorm(GP(epsilon=0.01), 1, 2),
    ],
    ids=lambda m: f"{type(m).__name__} {m.dimension}",
)
def test_one_point_grid(mechanism: Additive) -> None:
    """The grid of one point is finer than a thousandth of the scale."""
    assert mechanism.grid < mechanism.scale / 2**10


@pytest.mark.statistical
@pytest.mark.parametrize(
    "mechanism",
    [
        Gaussian(CGP(rho=1e-4), 6),
        Laplace(GP(epsilon=0.01), 6),
        KNorm(GP(epsilon=0.01), 3, 2),
        KNorm(GP(epsilon=0.01), 6, 1),
    ],
    ids=["Gaussian", "Laplace", "KNorm", "KNorm of the cube"],
)
def test_stated_deviations_hold(mechanism: Additive) -> None:
    """Deviations are those of the noise. The root mean square of a coordinate, measured."""
    size = mechanism.size if isinstance(mechanism, KNorm) else 2
    sizes = np.full(20_000, 6 // size)
    noise = np.concatenate([drawn.values for _, drawn in mechanism.noise(source_of(None), sizes, size)])
    assert math.sqrt((noise**2).mean()) * mechanism.scale == pytest.approx(mechanism.deviation, rel=0.03)


@pytest.mark.statistical
def test_any_scale_of_noise() -> None:
    """From the finest scale on the largest coordinates to the coarsest: multiples of the grid, of the right spread."""
    for rho, center in (
        (2.0**31 * 0.999, 1e8 - 1 / 3),
        (2.0**31 * 0.999, -1e8),
        (1e-59, 1e8),
        (1e-4, 1e-300),
        (1e-4, 5e-324),
    ):
        mechanism = Gaussian(CGP(rho=rho), 1)
        ours = mechanism.sample(np.full((2000, 1), center), source_of(None))
        noise = (ours - center) / mechanism.scale
        assert abs(noise.std() - 1) < 0.1
        if mechanism.grid > 1e-7:
            assert (ours % mechanism.grid == 0).all()


# ----------------------------------------------------------------------------------------------------------- questions


@EVERY_QUESTION
def test_releases_are_exact(name: str) -> None:
    """Releases are exact unless they say why not.

    By default every question is; a numpy generator, or a function of unknown rounding, is not.
    """
    x = np.random.default_rng(2).normal(scale=500, size=(12, 2))
    for budget in ({"rho": 1e-4}, {"epsilon": 0.01}):
        release = ask(name, x, **budget)
        assert release.exact == (name != "answer")
        assert release.certificate()["exact"] == release.exact
        seeded = ask(name, x, **budget, rng=np.random.default_rng(1))
        assert not seeded.exact
        assert "numpy generator" in seeded.inexact


def test_stated_rounding_is_exact() -> None:
    """A stated bound makes the release exact and stands in its certificate; nonsense is refused."""
    import shapely

    x = [[0.0, 0.0], [3.0, 4.0]]
    road = shapely.LineString([(0, 10), (100, 10)])
    for fn_error in (0, 1e-9):
        release = gv.Locations(x).answer(lambda x: x[:, 0].max(), lipschitz=1, rho=1e-4, fn_error=fn_error)
        assert release.exact
        assert release.certificate()["fn_error"] == fn_error
        assert gv.Locations(x).distance(road, rho=1e-4, fn_error=fn_error).exact
    assert not gv.Locations(x).distance(road, rho=1e-4).exact
    assert gv.Locations(x).distance((0.0, 0.0), rho=1e-4).exact
    for wrong in (-1e-9, math.nan, math.inf, "small", 1e6):
        with pytest.raises(gv.errors.InvalidParameter, match="fn_error"):
            gv.Locations(x).answer(lambda x: x[:, 0].max(), lipschitz=1, rho=1e-4, fn_error=wrong)  # type: ignore[arg-type]
        for p in ((0.0, 0.0), road):
            with pytest.raises(gv.errors.InvalidParameter, match="fn_error"):
                gv.Locations(x).distance(p, rho=1e-4, fn_error=wrong)  # type: ignore[arg-type]


def test_stated_rounding_is_shown() -> None:
    """The error bound includes it, the text shows it, and the certificate is JSON whatever number was given."""
    x = [[0.0, 0.0], [3.0, 4.0]]
    plain, stated = (
        gv.Locations(x).answer(lambda x: x[:, 0].max(), lipschitz=1, rho=1e-4, fn_error=wrong)  # type: ignore[arg-type]
        for wrong in (0, Fraction(1, 3))
    )
    assert stated.error(0.05) - plain.error(0.05) == pytest.approx(1 / 3)
    assert "0.333333 m, as stated" in repr(stated)
    assert "stated" not in repr(plain)
    assert Fraction(json.loads(json.dumps(stated.certificate()))["fn_error"]) >= Fraction(1, 3)
    numbers: list[Any] = [np.float32(0.5), np.int64(1)]
    for number in numbers:
        release = gv.Locations(x).answer(lambda x: x[:, 0].max(), lipschitz=numbers[1], rho=1e-4, fn_error=number)
        assert json.loads(json.dumps(release.certificate()))["fn_error"] == number


def test_unpickled_arrays_are_readonly() -> None:
    """Arrays of an unpickled release are read-only, as those of the release are."""
    release = pickle.loads(pickle.dumps(gv.Locations([[0.0, 0.0]]).points(rho=1e-4)))
    for array in (release.value, release.coords, copy.deepcopy(release).value):
        assert not array.flags.writeable


# -------------------------------------------------------------------------------------------------------------- values

VALUES: dict[str, Callable[[Floats], Reals]] = {
    "mean": evaluation.mean,
    "median": evaluation.median,
    "midrange": evaluation.midrange,
    "extremes": evaluation.extremes,
    "gyration": evaluation.gyration,
    "widest": evaluation.widest,
    "radius": evaluation.enclosing_radius,
    "distances": lambda x: evaluation.away(x, np.full(x.shape[1], 0.1)),
    "farthest": lambda x: evaluation.farthest(x, np.full(x.shape[1], 1e7)),
    "support": lambda x: evaluation.support(x, np.vstack([np.eye(x.shape[1]), -np.eye(x.shape[1])])),
}


def tuples() -> Iterator[Floats]:
    """Tuples of all kinds: scattered, on a lattice, on a circle, on a line, in one place; near and far."""
    rng = np.random.default_rng(11)
    angle = 2 * np.pi * np.arange(24) / 24
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    for d, n in ((1, 1), (1, 7), (2, 1), (2, 2), (2, 40), (3, 25), (5, 9), (12, 20)):
        x = rng.normal(size=(n, d))
        yield from (1000 * x, 1000 * x + 9e7, (3 * x).round(), np.repeat(x[:1], 5, axis=0), 1e-300 * x)
        yield np.outer(rng.normal(size=n), np.ones(d))
    yield from (circle, 5000 * circle + [5e5, 4e6], (1000 * circle).round())


@pytest.mark.parametrize("name", VALUES)
def test_values_keep_their_bounds(name: str) -> None:
    """Doubles are within their bound of the balls, and balls shrink as bits are added."""
    for x in tuples():
        value = VALUES[name](x)
        errors = np.broadcast_to(value.error, value.values.shape).ravel()
        for i in range(min(value.values.size, 8)):
            with ctx.workprec(400):
                ball = value.ball(i, 320)
                assert ball.rad() <= 1e-60 * max(1, np.abs(x).max())
                assert abs(ball - float(value.values.flat[i])) <= errors[i], (x, i)


@pytest.mark.slow
@settings(max_examples=30)
@given(seed=st.integers(0, 2**32))
def test_doubtful_values_are_refined(seed: int) -> None:
    """With the bound so wide that everything is refined, the same bits give the same releases."""
    rng = np.random.default_rng(seed)
    x = rng.normal(scale=100, size=(int(rng.integers(1, 12)), 2)) + 5e6
    for name, value in VALUES.items():
        if name == "distances":
            continue
        center = value(x).reshaped(-1, 1)
        plain, wide = (
            round_to_grid(center, 10.0, 2.0**-9, normal(source, len(center.values), 1), source)
            for source in (Entropy(np.random.default_rng(seed).bytes, widened=w) for w in (1, 1e12))
        )
        assert (plain == wide).all(), name


def smallest_ball(points: list[list[Any]]) -> Any:
    """The squared radius of the smallest ball of points in the plane: the largest of all pairs and triples."""

    def square(a: list[Any], b: list[Any]) -> Any:
        return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])

    found = [square(a, b) / 4 for a, b in itertools.combinations(points, 2)]
    for triple in itertools.combinations(points, 3):
        sides = sorted((square(a, b) for a, b in itertools.combinations(triple, 2)), key=lambda side: side.mid())
        if sides[0] + sides[1] > sides[2]:  # an acute triangle: the radius is abc/(4·area)
            (ax, ay), (bx, by), (cx, cy) = triple
            doubled = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
            found.append(sides[0] * sides[1] * sides[2] / (4 * doubled * doubled))
    return max(found, key=lambda radius: radius.mid())


def test_support_points_hold_balls() -> None:
    """A radius known to e leaves the centre free by √(2·radius·e): a point 1 cm inside may be what holds it."""
    x = np.array(
        [
            [18929320.398801353, -18744538.134774435],
            [23338799.74201038, -12844349.23415064],
            [23324027.468175188, -12871154.699959882],
            [-23338799.777106166, 12844349.170379914],
            [23338799.87888914, -12844348.985435361],
            [23338798.61032134, -12844351.290483797],
        ]
    )
    rng = np.random.default_rng(13)
    for points in (x, *(rng.normal(size=(6, 2)) * [1e7, 10.0 ** -rng.uniform(0, 9)] for _ in range(20))):
        value = evaluation.enclosing_radius(points)
        with ctx.workprec(900):
            ball = value.ball(0, 800)
            assert ball.rad() < 1e-60
            assert ball.overlaps(
                smallest_ball([[arb(number) for number in point] for point in points.tolist()]).sqrt()
            )
            assert abs(ball - value.values.item()) <= value.error


@pytest.mark.parametrize("d", [2, 3])
def test_points_on_a_sphere(d: int) -> None:
    """Doubles find the radius of any number of points on a sphere."""
    rng = np.random.default_rng(14)
    for n in (30, 300, 3000):
        x = rng.normal(size=(n, d))
        x *= 1e4 / np.linalg.norm(x, axis=1, keepdims=True)
        for y in (x, x.round(2), x + 4e6):
            value = evaluation.enclosing_radius(y)
            assert value.error < 1e-4
            assert float(value.values) == pytest.approx(1e4, rel=1e-2)


@pytest.mark.slow
def test_equal_points_refine_fast() -> None:
    """Thousands of equal points are one point, whatever is asked of them, in any dimension."""
    x = np.full((5000, 3), 1234.5)
    for value in VALUES.values():
        known = value(x)
        with ctx.workprec(200):
            assert known.ball(0, 128).is_finite()


def test_infinite_places_are_refused() -> None:
    """A place that squares to infinity is refused, not waited for."""
    for p in ((1e200, 0.0), (0.0, math.inf), (2e8, 0.0)):
        with pytest.raises(gv.errors.InvalidParameter, match="at most 1e"):
            gv.Locations([[0.0, 0.0]]).nearest(p, k=1, epsilon=1e-3)
    with pytest.raises(gv.errors.InvalidData, match="at most 1e"):
        gv.Locations([[0.0, 0.0]]).answer(lambda x: 1e300, lipschitz=1, rho=1, fn_error=0)
