"""What ought to be released for given strings of random bits, evaluated slowly and to many digits.

Nothing here knows bounds, balls that grow, or fast ways: every variable is its closed form, at a precision that leaves
no doubt, and every choice is walked step by step. Only the layout is taken from geoveil: which bits are read for which
variable, and in which order.
"""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import mpmath
import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from geoveil.mechanisms import (
    Additive,
    Copies,
    Draws,
    Exponential,
    Gaussian,
    KNorm,
    NearestNeighbour,
    SparseVector,
    Walk,
    sample_people,
)
from geoveil.noise import Entropy, Reals
from geoveil.noise.bits import Bits
from geoveil.noise.rectangles import rectangles
from geoveil.queries.evaluation import away
from tests.oracle import Floats

#: A number of many digits: `mpmath.mpf` or `flint.arb`.
Real: TypeAlias = Any
Counts: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]

#: The longest that a string can get.
LONGEST = 2**16


@dataclass
class Record:
    """One call of the source: what was asked for, how many, and the bytes that were read for it."""

    kind: str
    count: int
    chunks: list[bytes] = field(default_factory=list)

    def words(self, chunk: int = 0) -> list[int]:
        """The first 64 bits of each string."""
        found: list[int] = np.frombuffer(self.chunks[chunk], dtype=np.uint64).tolist()
        return found


class Tape(Entropy):
    """The exact source on bits that are known: it notes which were read for what.

    The first 64 bits of a string come from `words`. Whatever they are, the same tail follows, so that every string is
    known to its end, and does not depend on how much of it, or of another, was asked for. A string is as long as a
    power of two, which tells from the size of a reading where in the tail it starts.

    Parameters
    ----------
    words : callable
        Gives the number of bytes that is asked for.
    tail : bytes
        What follows after 64 bits.
    widened : float
        As that of the source.
    """

    def __init__(self, words: Callable[[int], bytes], tail: bytes, widened: float = 1.0) -> None:
        self.log: list[Record] = []
        self._fresh, self._tail = words, tail
        super().__init__(self._further, widened=widened)

    def _further(self, size: int) -> bytes:
        """The next bytes of a string: they are those of the tail."""
        start = (8 * size & -8 * size) // 8 - 8
        return self._tail[start : start + size]

    def _first(self, size: int) -> bytes:
        """The first bytes of new strings, or coins; they are noted."""
        self.log[-1].chunks.append(self._fresh(size))
        return self.log[-1].chunks[-1]

    def _strings(self, count: int) -> Bits:
        first = [self._first(8 * count)]
        return Bits(count, lambda size: first.pop() if first else self._further(size))

    def begin(self, kind: str, count: int) -> None:
        """Note what is asked for."""
        self.log.append(Record(kind, count))

    def uniform(self, count: int) -> Reals:
        self.begin("uniform", count)
        return super().uniform(count)

    def exponential(self, count: int) -> Reals:
        self.begin("exponential", count)
        return super().exponential(count)

    def gumbel(self, count: int) -> Reals:
        self.begin("gumbel", count)
        return super().gumbel(count)

    def normal(self, count: int) -> Reals:
        self.begin("normal", count)
        return super().normal(count)

    def cosine_and_sine(self, count: int) -> tuple[Reals, Reals]:
        self.begin("turn", count)
        return super().cosine_and_sine(count)

    def octets(self, count: int) -> bytes:
        self.begin("octets", count)
        return self._first(count)


def tape(seed: int, widened: float = 1.0) -> Tape:
    """A tape of random bits, the same for the same seed however wide the bounds are."""
    return Tape(np.random.default_rng(seed).bytes, tail_of(seed), widened)


def tail_of(seed: int) -> bytes:
    """A random tail."""
    return np.random.default_rng([seed, 1]).bytes(LONGEST // 8 - 8)


class Script:
    """What a tape noted, to be read in order."""

    def __init__(self, log: list[Record]) -> None:
        self._log, self._at = log, 0

    def peek(self) -> Record:
        """What comes next."""
        return self._log[self._at]

    def take(self, kind: str, count: int | None = None) -> Record:
        """What comes next, which is of this kind and number."""
        record = self.peek()
        assert record.kind == kind
        assert count is None or record.count == count
        self._at += 1
        return record

    @property
    def done(self) -> bool:
        """Whether all was read."""
        return self._at == len(self._log)

    def coins(self, count: int) -> str:
        """The coins of a number of bytes, as zeros and ones."""
        return "".join(f"{byte:08b}" for byte in self.take("octets", count).chunks[0])

    def below(self, bound: int) -> int:
        """A whole number below the bound: as many coins as the largest such number has digits, until they make one."""
        digits = len(f"{bound - 1:b}") if bound > 1 else 0
        while True:
            found = int("0" + self.coins((digits + 7) // 8)[:digits], 2)
            if found < bound:
                return found


class Digits(ABC):
    """Real numbers to many digits, and the strings of bits as such numbers."""

    @abstractmethod
    def work(self) -> AbstractContextManager[Any]:
        """Sets the precision."""

    @abstractmethod
    def real(self, number: float) -> Real:
        """A double as the number it is."""

    @abstractmethod
    def uniform(self, word: int) -> Real:
        """The string that starts with this word, as a number between 0 and 1."""

    @abstractmethod
    def minus_log(self, word: int) -> Real:
        """-log of the string."""

    @abstractmethod
    def turn(self, word: int) -> tuple[Real, Real]:
        """The cosine and the sine of 2π times the string."""

    @abstractmethod
    def log(self, number: Real) -> Real:
        """Logarithm."""

    @abstractmethod
    def exp(self, number: Real) -> Real:
        """Exponential function."""

    @abstractmethod
    def density(self, number: Real) -> Real:
        """Density of the standard normal law."""

    @abstractmethod
    def sqrt(self, number: Real) -> Real:
        """Root."""

    @abstractmethod
    def circle(self, degrees: float) -> tuple[Real, Real]:
        """The cosine and the sine of an angle in degrees."""

    @abstractmethod
    def nearest(self, number: Real) -> int:
        """The nearest whole number, if there is no doubt."""

    @abstractmethod
    def less(self, a: Real, b: Real) -> bool:
        """Whether a < b, if there is no doubt."""


class Mpmath(Digits):
    """Numbers of mpmath: rounded to a fixed number of bits after each step."""

    def __init__(self, tail: bytes, bits: int = 200) -> None:
        self._bits = bits
        with self.work():
            self._tail = mpmath.ldexp(int.from_bytes(tail, "big"), -8 * len(tail))
            self._log_unit = 64 * mpmath.log(2)
            self._half, self._doubt = mpmath.mpf(0.5), mpmath.ldexp(1, -bits // 2)

    def work(self) -> AbstractContextManager[Any]:
        found: AbstractContextManager[Any] = mpmath.workprec(self._bits)
        return found

    def real(self, number: float) -> Real:
        return mpmath.mpf(number)

    def uniform(self, word: int) -> Real:
        return mpmath.ldexp(word + self._tail, -64)

    def minus_log(self, word: int) -> Real:
        return self._log_unit - mpmath.log(word + self._tail)

    def turn(self, word: int) -> tuple[Real, Real]:
        half_turns = mpmath.ldexp(word + self._tail, -63)
        return mpmath.cospi(half_turns), mpmath.sinpi(half_turns)

    def log(self, number: Real) -> Real:
        return mpmath.log(number)

    def exp(self, number: Real) -> Real:
        return mpmath.exp(number)

    def density(self, number: Real) -> Real:
        return mpmath.npdf(number)

    def sqrt(self, number: Real) -> Real:
        return mpmath.sqrt(number)

    def circle(self, degrees: float) -> tuple[Real, Real]:
        return mpmath.cospi(mpmath.mpf(degrees) / 180), mpmath.sinpi(mpmath.mpf(degrees) / 180)

    def nearest(self, number: Real) -> int:
        moved = number + self._half
        found = mpmath.floor(moved)
        assert self._doubt < moved - found < 1 - self._doubt
        return int(found)

    def less(self, a: Real, b: Real) -> bool:
        assert abs(a - b) > self._doubt * (abs(a) + abs(b))
        return bool(a < b)


class Arb(Digits):
    """Numbers of Arb: balls, so that doubt is known; here there must be none."""

    def __init__(self, tail: bytes, bits: int = 200) -> None:
        self._bits = bits
        with self.work():
            self._tail = arb((int.from_bytes(tail, "big"), -8 * len(tail)))
            self._log_unit = arb(2).log() * 64
            self._half, self._unit = arb(0.5), arb((1, -64))

    def work(self) -> AbstractContextManager[Any]:
        found: AbstractContextManager[Any] = ctx.workprec(self._bits)
        return found

    def real(self, number: float) -> Real:
        return arb(number)

    def uniform(self, word: int) -> Real:
        return (self._tail + word) * self._unit

    def minus_log(self, word: int) -> Real:
        return self._log_unit - (self._tail + word).log()

    def turn(self, word: int) -> tuple[Real, Real]:
        sine, cosine = ((self._tail + word) * self._unit * 2).sin_cos_pi()
        return cosine, sine

    def log(self, number: Real) -> Real:
        return number.log()

    def exp(self, number: Real) -> Real:
        return number.exp()

    def density(self, number: Real) -> Real:
        return (-number * number / 2).exp() / (2 * arb.pi()).sqrt()

    def sqrt(self, number: Real) -> Real:
        return number.sqrt()

    def circle(self, degrees: float) -> tuple[Real, Real]:
        sine, cosine = (arb(degrees) / 180).sin_cos_pi()
        return cosine, sine

    def nearest(self, number: Real) -> int:
        return int((number + self._half).floor().unique_fmpz())

    def less(self, a: Real, b: Real) -> bool:
        assert a < b or a > b
        return bool(a < b)


# Variables, from what was read for them.


def exponentials(digits: Digits, script: Script, count: int | None = None) -> list[Real]:
    """-log u."""
    return [digits.minus_log(word) for word in script.take("exponential", count).words()]


def normals(digits: Digits, script: Script) -> list[Real]:
    """A uniform place in the rectangle that 12 bits choose; if they choose none, the next accepted proposal."""
    record, table = script.take("normal"), rectangles()
    bins, rest = both_sides(table.counts), accepted(digits, record)
    words = record.words()
    return [place(digits, word, bins) if word >> 52 < len(bins) else next(rest) for word in words]


def both_sides(counts: Counts) -> list[int]:
    """Each bin as often as it is counted, then as often the bin on the other side of 0."""
    right = [k for k, count in enumerate(counts.tolist()) for _ in range(count)]
    return right + [-1 - k for k in right]


def place(digits: Digits, word: int, bins: list[int]) -> Real:
    """The place in a bin of width 1/16 that the bits after the first 12 say."""
    return (bins[word >> 52] + 2**12 * digits.uniform(word) - (word >> 52)) / 16


def accepted(digits: Digits, record: Record) -> Iterator[Real]:
    """Proposals whose second string is below the ratio of the wanted density and λ times that of proposals."""
    table = rectangles()
    bins, factor, entries = both_sides(table.shares), digits.real(table.level / 2**12), 2**12
    for chunk in range(1, len(record.chunks)):
        words = record.words(chunk)
        # All first strings come before all second ones.
        for word, level in zip(words[: len(words) // 2], words[len(words) // 2 :], strict=True):
            if word >> 52 < len(bins):
                z, k = place(digits, word, bins), bins[word >> 52]
                side = k if k >= 0 else -1 - k
                wanted = digits.density(z) - digits.real(float(table.counts[side]) * 16 / entries)
                proposed = digits.real(float(table.shares[side]) * 16 / entries)
            else:
                end, share = digits.real(float(table.reach)), 2**13 * digits.uniform(word) - (word >> 51)
                z = end - digits.log(share) / end
                wanted, proposed = digits.density(z), end * share * table.tails / (2 * entries)
                z = -z if word >> 51 & 1 else z
            if digits.less(digits.uniform(level), wanted / (factor * proposed)):
                yield z


def gumbels(digits: Digits, script: Script, count: int) -> list[Real]:
    """-log(-log u)."""
    return [-digits.log(digits.minus_log(word)) for word in script.take("gumbel", count).words()]


def turns(digits: Digits, script: Script, count: int) -> list[tuple[Real, Real]]:
    """(cos 2πv, sin 2πv)."""
    return [digits.turn(word) for word in script.take("turn", count).words()]


def laplaces(digits: Digits, script: Script, count: int) -> list[Real]:
    """Differences of exponentials, of the first half and the second."""
    both = exponentials(digits, script, 2 * count)
    return [one - other for one, other in zip(both[:count], both[count:], strict=True)]


def gammas(digits: Digits, script: Script, shapes: Sequence[int]) -> list[Real]:
    """Return sums of exponentials: their terms are far apart if all sums have the same few terms, else adjacent."""
    terms, count = exponentials(digits, script, sum(shapes)), len(shapes)
    if shapes[0] <= 16 and len(set(shapes)) == 1:
        return [sum(terms[i::count]) for i in range(count)]
    ends = list(itertools.accumulate(shapes))
    return [sum(terms[end - shape : end]) for end, shape in zip(ends, shapes, strict=True)]


def spheres(digits: Digits, script: Script, lengths: Sequence[int], beyond: int) -> list[list[Real]]:
    """Normal variables over their norm, in which pairs beyond those that are kept count too."""
    terms = iter(exponentials(digits, script, sum((length + 1) // 2 + beyond for length in lengths)))
    angles = iter(turns(digits, script, sum((length + 1) // 2 for length in lengths)))
    found = []
    for length in lengths:
        radii = [digits.sqrt(2 * next(terms)) for _ in range((length + 1) // 2)]
        kept = [radius * side for radius in radii for side in next(angles)][:length]
        square = sum(number * number for number in kept) + sum(2 * next(terms) for _ in range(beyond))
        norm = digits.sqrt(square)
        found.append([number / norm for number in kept])
    return found


def laplace_noise(digits: Digits, script: Script, lengths: Sequence[int]) -> Iterator[Real]:
    """Laplace vectors of these dimensions, one after another; as many at once as exponentials were read for."""
    lengths = list(lengths)
    if set(lengths) == {1}:
        while not script.done:
            yield from laplaces(digits, script, script.peek().count // 2)
        return
    while lengths:
        wanted, count = script.peek().count, 0
        while sum(lengths[:count]) < wanted:
            count += 1
        block, lengths = lengths[:count], lengths[count:]
        radii = gammas(digits, script, block)
        flat = set(block) == {2}
        points: Sequence[Sequence[Real]] = (
            turns(digits, script, count) if flat else spheres(digits, script, block, beyond=0)
        )
        for radius, point in zip(radii, points, strict=True):
            yield from (radius * number for number in point)


def knorm_noise(digits: Digits, script: Script, sizes: Sequence[int], dimension: int) -> Iterator[Real]:
    """Gamma variables, one for each tuple, times points that are uniform in balls."""
    radii = gammas(digits, script, [size * dimension + 1 for size in sizes])
    spread = itertools.chain(*(itertools.repeat(radius, size) for radius, size in zip(radii, sizes, strict=True)))
    left = sum(sizes)
    while left:
        points = list(in_balls(digits, script, dimension))
        left -= len(points)
        for point in points:
            radius = next(spread)
            yield from (radius * number for number in point)


def in_balls(digits: Digits, script: Script, dimension: int) -> Iterator[Sequence[Real]]:
    """Points uniform in the unit ball, as many as were read for at once."""
    if dimension > 2:
        count = script.peek().count // ((dimension + 1) // 2 + 1)
        yield from spheres(digits, script, [dimension] * count, beyond=1)
        return
    shares = [digits.uniform(word) for word in script.take("uniform").words()]
    if dimension == 1:
        yield from ([2 * share - 1] for share in shares)
        return
    for share, turn in zip(shares, turns(digits, script, len(shares)), strict=True):
        root = digits.sqrt(share)
        yield [root * side for side in turn]


# Points, of which the reference knows all digits.


@dataclass(frozen=True)
class Located(Reals, ABC):
    """Points in the plane whose doubles are off, as geoveil gets them, and as the reference knows them."""

    @abstractmethod
    def exact(self, digits: Digits) -> list[list[Real]]:
        """The coordinates of each point."""


def exact_rows(digits: Digits, points: Floats | Located) -> list[list[Real]]:
    """The coordinates of each point; doubles are what they are."""
    if isinstance(points, Located):
        return points.exact(digits)
    return [[digits.real(number) for number in point] for point in points.tolist()]


#: Points and a place, again and again.
Asked: TypeAlias = "list[tuple[Floats | Located, Floats]]"
#: Makes located points of doubles, with a generator of numbers at hand.
Locate: TypeAlias = Callable[[Floats, np.random.Generator], "Floats | Located"]


def as_they_are(points: Floats, generator: np.random.Generator) -> Floats:
    """Points that are doubles."""
    return points


# Families of releases: by geoveil, and by the reference.


class Family(ABC):
    """Releases of one kind: `outcome` is geoveil's, `expected` is worked out from the same bits."""

    @abstractmethod
    def inputs(self, seed: int) -> Any:
        """True values."""

    @abstractmethod
    def outcome(self, inputs: Any, source: Tape) -> list[Any]:
        """What geoveil releases."""

    @abstractmethod
    def expected(self, inputs: Any, digits: Digits, script: Script) -> list[Any]:
        """What it ought to release."""

    @abstractmethod
    def draws(self, log: list[Record]) -> int:
        """How many numbers were rounded, or decisions made."""


@dataclass(frozen=True)
class Noise(Family):
    """Noise on rows, one mechanism for each person; `reach` is how large coordinates are."""

    mechanisms: Sequence[Additive]
    sizes: Sequence[int]
    dimension: int
    reach: float = 1e5
    locate: Locate = field(kw_only=True, default=as_they_are)

    def inputs(self, seed: int) -> Floats | Located:
        """Rows of which one in four is in the middle between multiples of the grid, as is one in four coordinates."""
        generator = np.random.default_rng([seed, 2])
        rows = generator.uniform(-self.reach, self.reach, (sum(self.sizes), self.dimension))
        cell = self.mechanisms[0].grid
        edges = np.where(generator.random(rows.shape) < 0.25, (np.floor(rows / cell) + 0.5) * cell, rows)
        return self.locate(edges, generator)

    def outcome(self, inputs: Floats | Reals, source: Tape) -> list[float]:
        if len(self.mechanisms) == 1:
            found = self.mechanisms[0].sample(inputs, source)
        else:
            found = sample_people(self.mechanisms, np.array(self.sizes), inputs, source)
        return found.ravel().tolist()

    def expected(self, inputs: Floats | Located, digits: Digits, script: Script) -> list[float]:
        return self.rounded(itertools.chain(*exact_rows(digits, inputs)), digits, script)

    def rounded(self, centers: Iterable[Real], digits: Digits, script: Script) -> list[float]:
        """The multiples of the grid that are nearest to true values plus noise."""
        people = zip(self.mechanisms, self.sizes, strict=True)
        per_row = [[(each.scale / each.grid, each.grid)] * size * self.dimension for each, size in people]
        rows = zip(itertools.chain(*per_row), centers, self.noise(digits, script), strict=True)
        nearest, real = digits.nearest, digits.real
        return [
            float(nearest(center / real(cell) + real(stretch) * noise)) * cell
            for (stretch, cell), center, noise in rows
        ]

    def noise(self, digits: Digits, script: Script) -> Iterator[Real]:
        """Of scale 1, one number after another."""
        kind = type(self.mechanisms[0])
        if kind is Gaussian:
            while not script.done:
                yield from normals(digits, script)
        elif kind is KNorm:
            yield from knorm_noise(digits, script, self.sizes, self.dimension)
        else:
            sizes = [1] * sum(self.sizes) if kind is Copies else self.sizes
            yield from laplace_noise(digits, script, [size * self.dimension for size in sizes])

    def draws(self, log: list[Record]) -> int:
        return sum(self.sizes) * self.dimension


@dataclass(frozen=True)
class Choice(Family):
    """Choices among n points by their distance from a place, repeated."""

    repeats: int
    n: int
    locate: Locate = field(kw_only=True, default=as_they_are)

    def inputs(self, seed: int) -> Asked:
        """Points, some of them as far as another to within an ulp, and a place."""
        generator = np.random.default_rng([seed, 3])
        found = []
        for _ in range(self.repeats):
            points = generator.uniform(-1000, 1000, (self.n, 2))
            points[: self.n // 4] = np.nextafter(points[self.n // 4 : 2 * (self.n // 4)], np.inf)
            place = generator.uniform(-1000, 1000, 2)
            found.append((self.locate(points, generator), place))
        return found

    def outcome(self, inputs: Asked, source: Tape) -> list[Any]:
        return [self.chosen(points, place, source) for points, place in inputs]

    @staticmethod
    def lengths(digits: Digits, points: Floats | Located, place: Floats) -> list[Real]:
        """Distances of the points from the place."""
        at = [digits.real(number) for number in place.tolist()]
        shifts = ([a - b for a, b in zip(point, at, strict=True)] for point in exact_rows(digits, points))
        return [digits.sqrt(sum(shift * shift for shift in each)) for each in shifts]

    @abstractmethod
    def chosen(self, points: Floats | Located, place: Floats, source: Tape) -> Any:
        """What geoveil chooses among points."""


@dataclass(frozen=True)
class TopK(Choice):
    """The k smallest after subtracting Gumbel noise, in order."""

    mechanism: Exponential
    k: int

    def chosen(self, points: Floats | Located, place: Floats, source: Tape) -> list[int]:
        found: list[int] = self.mechanism.sample_several(away(points, place), self.k, source).tolist()
        return found

    def expected(self, inputs: Asked, digits: Digits, script: Script) -> list[list[int]]:
        scale, found = digits.real(self.mechanism.scale), []
        for each in inputs:
            lengths, noise = self.lengths(digits, *each), gumbels(digits, script, self.n)
            noisy = [a - scale * b for a, b in zip(lengths, noise, strict=True)]
            found.append(ascending(digits, noisy)[: self.k])
        return found

    def draws(self, log: list[Record]) -> int:
        return self.repeats * self.n


def ascending(digits: Digits, numbers: list[Real]) -> list[int]:
    """Places in the order of the numbers."""
    doubles = [float(number) for number in numbers]
    order = sorted(range(len(numbers)), key=lambda i: doubles[i])
    if all(numbers[a] < numbers[b] for a, b in itertools.pairwise(order)):
        return order

    def compared(a: int, b: int) -> int:
        return -1 if digits.less(numbers[a], numbers[b]) else 1

    return sorted(order, key=functools.cmp_to_key(compared))


@dataclass(frozen=True)
class Flips(Choice):
    """Permute-and-flip, k times without replacement."""

    scale: float
    k: int
    #: So many fair coins for a level.
    levels = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64)

    def chosen(self, points: Floats | Located, place: Floats, source: Tape) -> list[int]:
        draws = Draws(away(points, place), self.scale)
        return [draws.choose(source, remove=True) for _ in range(self.k)]

    def expected(self, inputs: Asked, digits: Digits, script: Script) -> list[list[int]]:
        """The order of doubles is a matter of layout: it says which coins are whose."""
        found = []
        for points, place in inputs:
            left: list[int] = np.argsort(away(points, place).values).tolist()
            lengths = self.lengths(digits, points, place)
            chosen: list[int] = []
            for _ in range(self.k):
                chosen.append(self.one(left, lengths, digits, script))
                left.remove(chosen[-1])
            found.append(chosen)
        return found

    def one(self, left: list[int], lengths: list[Real], digits: Digits, script: Script) -> int:
        """Visit those that pass the fair coins of their height, in random order, until one passes its last coin."""
        double = digits.log(digits.real(2.0))
        least = left[ascending(digits, [lengths[j] for j in left])[0]]
        heights = {j: (lengths[j] - lengths[least]) / digits.real(self.scale) for j in left}
        tosses = {}
        for j in left:
            # Those that are as near as the least to within rounding have fewer coins than one to toss.
            doublings = 0 if float(heights[j]) < 0.1 else digits.nearest(heights[j] / double - digits.real(0.5))
            tosses[j] = max(level for level in self.levels if level <= doublings)
        heads = self.heads(left, tosses, script)
        while True:
            # The last one takes the place of the one that is visited.
            nth = script.below(len(heads))
            heads[nth], heads[-1] = heads[-1], heads[nth]
            j = heads.pop()
            if digits.less(heights[j] - tosses[j] * double, exponentials(digits, script, 1)[0]):
                return j

    @staticmethod
    def heads(left: list[int], tosses: dict[int, int], script: Script) -> list[int]:
        """Those whose fair coins all show 0: the first eight of a byte each, then the others of a word each."""
        coins = script.coins(len(left))
        heads = [j for i, j in enumerate(left) if "1" not in coins[8 * i : 8 * i + min(tosses[j], 8)]]
        more = [j for j in heads if tosses[j] > 8]
        if more:
            words = [f"{word:064b}" for word in script.take("octets", 8 * len(more)).words()]
            gone = {j for j, word in zip(more, words, strict=True) if "1" in word[: tosses[j] - 8]}
            heads = [j for j in heads if j not in gone]
        return heads

    def draws(self, log: list[Record]) -> int:
        return sum(record.kind == "exponential" for record in log)


def halted(
    digits: Digits, script: Script, values: list[Real], threshold: Real, scale: float, *, cyclic: bool
) -> int | None:
    """Where a walk past the values halts: visit by visit, the hazard -log P(V > threshold - value) is added up."""
    hazards = []
    for value in values:
        z = (threshold - value) / digits.real(scale)
        below = digits.less(z, digits.real(0.0))
        hazards.append(-digits.log(1 - digits.exp(z) / 2) if below else z + digits.log(digits.real(2.0)))
    low = min((float(value), i) for i, value in enumerate(values))[1]
    far = cyclic and digits.less(threshold - values[low], -40 * digits.real(scale))
    sums = list(itertools.accumulate(hazards))
    if not far:
        target = exponentials(digits, script, 1)[0]
        for j, cumulated in enumerate(sums):
            if digits.less(target, cumulated):
                return j
    if not cyclic:
        return None
    share = digits.uniform(script.take("uniform", 1).words()[0])
    truncated = -digits.log(1 - share * (1 - digits.exp(-sums[-1])))
    return next(j for j, cumulated in enumerate(sums) if digits.less(truncated, cumulated))


@dataclass(frozen=True)
class Walks(Choice):
    """The sparse vector technique on distances; the threshold is relative to the smallest double, in scales."""

    mechanism: SparseVector
    offset: float

    def threshold(self, points: Floats | Located, place: Floats) -> float:
        """Without noise."""
        return float(away(points, place).values.min()) + self.mechanism.scale * self.offset

    def chosen(self, points: Floats | Located, place: Floats, source: Tape) -> int | None:
        return self.mechanism.sample(away(points, place), self.threshold(points, place), source)

    def expected(self, inputs: Asked, digits: Digits, script: Script) -> list[int | None]:
        found = []
        for each in inputs:
            noise = digits.real(self.mechanism.threshold_scale) * laplaces(digits, script, 1)[0]
            threshold = digits.real(self.threshold(*each)) + noise
            lengths = self.lengths(digits, *each)
            scale, cyclic = self.mechanism.scale, self.mechanism.cyclic
            found.append(halted(digits, script, lengths, threshold, scale, cyclic=cyclic))
        return found

    def draws(self, log: list[Record]) -> int:
        return self.repeats


@dataclass(frozen=True)
class Neighbours(Choice):
    """The private nearest neighbour, k times without replacement."""

    mechanism: NearestNeighbour
    k: int

    def chosen(self, points: Floats | Located, place: Floats, source: Tape) -> list[int]:
        walk = Walk(away(points, place), 2 * self.mechanism.scale)
        found = []
        for _ in range(self.k):
            found.append(self.mechanism.visit(walk, source))
            walk.remove(found[-1])
        return found

    def expected(self, inputs: Asked, digits: Digits, script: Script) -> list[list[int]]:
        return [self.search(self.lengths(digits, *each), digits, script) for each in inputs]

    def search(self, lengths: list[Real], digits: Digits, script: Script) -> list[int]:
        """One neighbour after another."""
        order = ascending(digits, lengths)
        left = list(range(len(lengths)))
        found: list[int] = []
        for _ in range(self.k):
            noise = digits.real(self.mechanism.scale) * sum(laplaces(digits, script, 2))
            least = next(lengths[j] for j in order if j not in found)
            threshold = least + digits.real(self.mechanism.gamma0) + noise
            values = [lengths[j] for j in left]
            place = halted(digits, script, values, threshold, 2 * self.mechanism.scale, cyclic=True)
            assert place is not None
            found.append(left.pop(place))
        return found

    def draws(self, log: list[Record]) -> int:
        return self.repeats * self.k
