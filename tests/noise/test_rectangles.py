"""Normal variables from rectangles: their tables, their law and their error bounds, and mistakes that are noticed."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray
from scipy import stats

from geoveil.noise import Entropy, Reals, rectangles
from geoveil.noise.bits import Bits
from geoveil.noise.rectangles import Rectangles
from geoveil.noise.source import ACCURACY
from tests.oracle import Floats
from tests.reference import Tape, tape

#: How far bins reach: as in releases, and so little that the tail has a large part of the mass.
REACHES = [6, 2, 1]
N, H = 2**12, 1 / 16
#: With fixed streams a test either always passes or never; this is how likely a right sampler was to get a bad one.
FALSE_ALARM = 1e-9


def density(z: float) -> arb:
    """φ(z)."""
    return (-(arb(z) ** 2) / 2).exp() / (2 * arb.pi()).sqrt()


# -------------------------------------------------------------------------------------------------------------- tables


def check_tables(table: Rectangles) -> None:
    """Every inequality of the proof, in ball arithmetic."""
    with ctx.workprec(200):
        factor = arb(table.level) / N
        for k, (count, share) in enumerate(zip(table.counts.tolist(), table.shares.tolist(), strict=True)):
            assert arb(count) / (N * arb(H)) <= density((k + 1) * H)
            assert arb(count + 1) / (N * arb(H)) > density((k + 1) * H)
            assert factor * share / (N * arb(H)) >= density(k * H) - arb(count) / (N * arb(H))
        assert factor * table.tails / N >= 2 * density(table.reach) / table.reach
        assert factor * table.tails / N >= (arb(table.reach) / arb(2).sqrt()).erfc()
        # No count depends on the last digits of the density.
        near = [N * arb(H) * density(k * H) for k in range(1, len(table.counts) + 1)]
        assert max(float(abs(box - box.mid().floor() - 0.5)) for box in near) < 0.5 - 1e-15
    assert len(table.counts) == len(table.shares) == table.reach / H
    assert 2 * table.counts.sum() <= N
    assert 2 * table.shares.sum() + table.tails == N


@pytest.mark.parametrize("reach", REACHES)
def test_tables_satisfy_the_proof(reach: int) -> None:
    """Rectangles are below the density, and proposals cover the rest and the tail."""
    check_tables(Rectangles(reach))


@pytest.mark.parametrize("wrong", ["counts", "shares", "tails"])
def test_wrong_tables_are_noticed(wrong: str) -> None:
    """One entry more for a rectangle, or one less for proposals, breaks an inequality."""
    table = Rectangles(2)
    if wrong == "tails":
        table.tails -= 2
        table.shares[7] += 1
    else:
        getattr(table, wrong)[20] += 1 if wrong == "counts" else -1
    with pytest.raises(AssertionError):
        check_tables(table)


def test_tables_cover_the_law() -> None:
    """All but 154 of 4096 entries choose a rectangle, and more than half of the proposals are accepted."""
    table = rectangles.rectangles()
    assert 2 * table.counts.sum() == 3942
    assert (N - 3942) / table.level > 0.58
    assert rectangles.rectangles() is table


def test_tables_ignore_the_host() -> None:
    """Settings of decimals that the host program made change no entry."""
    with decimal.localcontext(decimal.Context(prec=3, rounding=decimal.ROUND_UP, traps=[decimal.Inexact])):
        table = Rectangles()
    assert (table.counts == Rectangles().counts).all()
    assert (table.shares == Rectangles().shares).all()


def strings_of(*chunks: NDArray[np.uint64]) -> Callable[[int], Bits]:
    """Strings that begin with chosen words, and go on with random bits."""
    left, rest = list(chunks), np.random.default_rng(1)

    def strings(count: int) -> Bits:
        first = [left.pop(0).tobytes()] if left else []
        bits = Bits(count, lambda size: first.pop() if first else rest.bytes(size))
        assert len(bits.words) == count
        return bits

    return strings


@pytest.mark.parametrize("share", [0.0, 0.5, 1 - 2.0**-40])
def test_entries_choose_their_bins(share: float) -> None:
    """Of all 4096 first bits, n_k choose a place in bin k, and as many in its mirror image."""
    table = rectangles.rectangles()
    words = (np.arange(N, dtype=np.uint64) << np.uint64(52)) + np.uint64(share * 2**52)
    drawn, _ = table.draw(N, strings_of(words))
    found = np.floor(drawn.values[:3942] / H).astype(int)
    for k, count in enumerate(table.counts.tolist()):
        assert (found == k).sum() == (found == -1 - k).sum() == count
    np.testing.assert_array_equal(drawn.values[:3942], H * (found + share))


# ----------------------------------------------------------------------------------------------------------------- law


def cells(width: float, end: float) -> tuple[Floats, Floats]:
    """Edges of cells up to the end on either side, and the probabilities of the cells and of what is beyond."""
    edges = np.linspace(-end, end, round(2 * end / width) + 1)
    return edges, np.diff(stats.norm.cdf(edges), prepend=0.0, append=1.0)


def pvalue(table: Rectangles, draws: int, seed: int, width: float = 1 / 32, end: float = 4.0) -> float:
    """The chi-square test of many variables, from a fixed stream."""
    edges, law = cells(width, end)
    law[0] = law[-1] = stats.norm.sf(end)
    counts = np.zeros(len(law))
    read = np.random.default_rng(seed).bytes
    for start in range(0, draws, 2**18):
        values = table.draw(min(2**18, draws - start), lambda count: Bits(count, read))[0].values
        counts += np.bincount(np.searchsorted(edges, values), minlength=len(law))
    assert counts.sum() == draws
    return float(stats.chisquare(counts, draws * law).pvalue)


def check_law(draws: int = 2_000_000) -> None:
    """Many variables against the normal law, in cells of half a bin."""
    assert pvalue(Rectangles(), draws, 2) > FALSE_ALARM


def check_law_of_tails(reach: int = 2) -> None:
    """Variables of tables in which the tail matters, in coarser cells."""
    assert pvalue(Rectangles(reach), 40_000, 3, width=1 / 4) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.statistical
def test_variables_are_normal() -> None:
    """Ten million variables follow the normal law."""
    check_law(10_000_000)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("reach", [1, 2])
def test_tails_are_normal(reach: int) -> None:
    """So do those beyond the bins, where balls decide all that is accepted."""
    check_law_of_tails(reach)


@pytest.mark.slow
@pytest.mark.statistical
def test_moments_are_normal() -> None:
    """Mean, variance, skewness, kurtosis and correlation of neighbours are within six standard errors."""
    n = 4_000_000
    z = Entropy(np.random.default_rng(4).bytes).normal(n).values
    moments = [(z, 1), (z**2 - 1, 2), (z**3, 15), (z**4 - 3, 96), (z[1:] * z[:-1], 1)]
    for sample, variance in moments:
        assert abs(sample.mean()) < 6 * math.sqrt(variance / n)


# ----------------------------------------------------------------------------------------------------------- precision


def drawn_from(table: Rectangles, read: Tape, count: int) -> tuple[Reals, int]:
    """Variables from the strings of a tape, and how many proposals balls decided."""
    read.begin("normal", count)
    return table.draw(count, read._strings, read.widened)


@cache
def at_once(reach: int, count: int) -> Reals:
    """Variables as doubles decide them, from the strings of one seed."""
    return drawn_from(Rectangles(reach), tape(5), count)[0]


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("widened", [2.0**20, math.inf])
def test_balls_decide_like_doubles(reach: int, widened: float) -> None:
    """The same strings give the same variables, however many proposals are decided by balls."""
    wanted = at_once(reach, 8_000)
    found, refined = drawn_from(Rectangles(reach), tape(5, widened), 8_000)
    assert refined > (300 if widened == math.inf else 0)
    np.testing.assert_array_equal(found.values, wanted.values)
    for i in range(0, 8_000, 50):
        assert (found.ball(i, 200) - wanted.ball(i, 200)).is_zero() or found.ball(i, 200).overlaps(wanted.ball(i, 200))


def test_rough_arithmetic_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """If numpy's exponential function is bad, balls decide every proposal, and nothing else depends on it."""
    plain = rectangles._density
    monkeypatch.setattr(rectangles, "_density", lambda z: 1.3 * plain(z) + 0.01)
    found, _ = drawn_from(Rectangles(6), tape(5, math.inf), 8_000)
    np.testing.assert_array_equal(found.values, at_once(6, 8_000).values)


@pytest.mark.parametrize("reach", REACHES)
def test_doubles_keep_their_bound(reach: int) -> None:
    """Doubles are within their bound.

    The bound is 2^-50, or one unit in the last place in the tail, whatever the further bits are.
    """
    wanted = at_once(reach, 8_000)
    assert wanted.error == 2.0**-50 or reach < 6
    assert wanted.error <= max(2.0**-50, 2.0**-52 * np.abs(wanted.values).max())
    check_errors(wanted)


def check_errors(drawn: Reals) -> None:
    """No double is farther from its ball than the bound; of many, some are a sixteenth as far."""
    with ctx.workprec(400):
        balls = (drawn.ball(i, 320) for i in range(len(drawn)))
        errors = [float(abs(ball - value)) for ball, value in zip(balls, drawn.values.tolist(), strict=True)]
    assert max(errors) < drawn.error
    assert max(errors) > drawn.error / 16 or len(errors) < 1000


@pytest.mark.parametrize("further", [b"\0", b"\xff"], ids=["zeros", "ones"])
def test_extreme_strings(further: bytes) -> None:
    """Places at the ends and in the middle of every rectangle keep the bound, with further bits all alike."""
    entries = np.arange(3942, dtype=np.uint64) << np.uint64(52)
    words = np.concatenate([entries + np.uint64(share) for share in (0, 1, 2**51 + 15, 2**52 - 1)])
    first = [words.tobytes()]
    drawn, _ = rectangles.rectangles().draw(
        len(words), lambda count: Bits(count, lambda size: first.pop() if first else further * size)
    )
    check_errors(drawn)


@pytest.mark.parametrize("reach", REACHES)
def test_acceptance_probabilities(reach: int) -> None:
    """Acceptance probabilities are within their bound.

    Doubles are within 2^-28 of the ratio of densities, with what numpy's exponential function is trusted with.
    """
    table, places = Rectangles(reach), Bits(20_000, np.random.default_rng(6).bytes)
    values = rectangles._places(table._proposed_corners, places.words)
    found = table._chances(values, places.words)
    below = np.flatnonzero(np.isfinite(values)).tolist()
    with ctx.workprec(200):
        off = max(float(abs(table._chance(places, i, 128) - found[i])) for i in below)
        assert all(0 <= table._chance(places, i, 128) <= 1 for i in below)
        tails = np.flatnonzero(np.isinf(values)).tolist()
        assert tails
        assert all(table._chance(places, i, 128) <= found[i] * (1 + 2.0**-40) for i in tails)
    # The bound allows for an exponential function that is far worse than numpy's.
    largest = float((rectangles._density(np.where(np.isinf(values), 0, values)) / table._ceilings.min()).max())
    assert off + ACCURACY * largest < rectangles._DOUBT


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("zeros", "least"), [(1, 6.1), (30, 9.0), (50, 11.0)])
def test_far_values_come_out(zeros: int, least: float, sign: int) -> None:
    """A proposal in the tail whose bits begin with many zeros is accepted if its second string is smaller still."""
    table, tail = rectangles.rectangles(), 4095 << 52
    proposals = np.full(6, tail + (2**51 if sign < 0 else 0) + 2 ** (51 - zeros) - 1, dtype=np.uint64)
    pairs = np.concatenate([proposals, np.zeros(6, dtype=np.uint64)])
    drawn, refined = table.draw(1, strings_of(np.array([tail], dtype=np.uint64), pairs))
    assert refined == 6
    assert sign * drawn.values[0] > least
    assert drawn.error >= 2.0**-52 * abs(drawn.values[0])
    check_errors(drawn)
