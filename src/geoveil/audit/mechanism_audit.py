"""Audit a mechanism in Python: find the pair of inputs that it tells apart best, and make it simple."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geoveil import checks
from geoveil.audit.canaries import Bools, Canaries
from geoveil.audit.outputs_score import OutputsScore, learn_outputs_score, table_of, unseen_outputs_ratios
from geoveil.audit.tested import Scored, Way, ways
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.noise import Source, source_of
from geoveil.noise.reals import Floats
from geoveil.privacy import CGP, GP

__all__ = ["MechanismAudit", "audit_mechanism"]

#: Draws by which a pair is compared with others, and by which the best few are compared again.
_GLANCE, _LOOK, _FEW = 200, 1000, 4

#: Distances of the search, by the strength of what is claimed at them: ρd² or εd.
_STRENGTHS = (0.1, 1.5)

#: Steps that try to make the worst pair simpler.
_SIMPLER = 12


@dataclass(frozen=True)
class MechanismAudit:
    """What a mechanism gives away at least, at the worst pair of inputs that was found.

    Parameters
    ----------
    guarantee : CGP or GP
        The claim.
    level : float
        The largest probability that the bound is too large.
    x, y : array
        The pair of inputs.
    distance : float
        Their distance under the metric of the guarantee.
    bound : float
        The lower bound on the budget: ρ for CGP, ε for GP.
    estimate : float
        The same without confidence.
    runs : int
        The outputs on which it was tested, which no search has seen.

    Examples
    --------
    >>> rng = np.random.default_rng(5)
    >>> found = gv.audit_mechanism(lambda x: x + rng.normal(scale=50, size=2), gv.CGP(rho=5e-5), rng=rng, runs=2000)
    >>> found.found, found.bound < 2e-4
    (True, True)
    """

    guarantee: CGP | GP
    level: float
    x: Floats
    y: Floats
    distance: float
    bound: float
    estimate: float
    runs: int

    @property
    def claimed(self) -> float:
        """The claimed budget."""
        return float(self.guarantee.budget)

    @property
    def found(self) -> bool:
        """Whether the mechanism gives away more than it claims. If not, nothing is proved."""
        return self.bound > self.claimed

    def __str__(self) -> str:
        pair = f"{self.x.tolist()} and {self.y.tolist()}, {self.distance:g} m apart"
        symbol = "ρ" if isinstance(self.guarantee, CGP) else "ε"
        told = f"{symbol} is at least {self.bound:.3g} with {1 - self.level:.4g} confidence"
        if self.found:
            return f"It gives away more than it claims: for {pair}, {told}; {self.claimed:g} is claimed."
        return f"Nothing was found, which proves nothing: {told}, {self.claimed:g} is claimed, at worst for {pair}."


@dataclass(frozen=True)
class _Pair:
    """Two inputs, and the budget that the search expects to refute at them."""

    x: Floats
    y: Floats
    distance: float
    expected: float = 0.0
    way: Way | None = field(default=None, repr=False)
    score: OutputsScore | None = field(default=None, repr=False)


def audit_mechanism(
    fn: Callable[[Floats], Any],
    guarantee: CGP | GP,
    *,
    inputs: ArrayLike | None = None,
    runs: int = 10_000,
    level: float = 0.01,
    rng: np.random.Generator | None = None,
    progress: Callable[[float], object] | None = None,
) -> MechanismAudit:
    """Return what a mechanism gives away at least, and the simplest pair of inputs that shows it.

    To audit a tool that reads and writes files, without its code, use `gv.audit`.

    Parameters
    ----------
    fn : callable
        The mechanism: from locations in metres, an array of shape (n, d), to its output: a number, an array, or None.
        Its randomness has to be new in every call.
    guarantee : CGP or GP
        What it claims, under the metric of the guarantee: "inf", "2" or "1".
    inputs : array, optional
        Locations from which the search starts: an array of shape (n, d). One point in the plane by default.
    runs : int
        The outputs that are drawn for the final test. The search draws about as many.
    level : float
        The largest probability that the bound is too large: that a correct mechanism is accused. Below 1/4, as for
        `judge`.
    rng : numpy generator, optional
        For tests and experiments; by default all choices are made by the operating system's randomness.
    progress : callable, optional
        Called with the share that is done.

    Examples
    --------
    A mechanism that rounds its input before it adds noise:

    >>> rng = np.random.default_rng(1)
    >>> def rounded(x):
    ...     return np.round(x, -3) + rng.normal(scale=100, size=x.shape)
    >>> found = gv.audit_mechanism(rounded, gv.CGP(rho=5e-5), inputs=[[480.0, 0.0]], runs=2000, rng=rng)
    >>> found.found
    True
    """
    checks.number("level", level, above=0, below=0.25, remedy="0.01 accuses one correct mechanism in a hundred.")
    checks.count("runs", runs, low=200, remedy="With fewer outputs nothing can be shown.")
    if not callable(fn):
        raise InvalidParameter("fn", fn, "a function of locations", "Give the mechanism, as in lambda x: x + noise.")
    if not isinstance(guarantee, CGP | GP):
        raise InvalidParameter("guarantee", guarantee, "CGP or GP", "CGP.hiding(distance=200) hides 200 m.")
    if guarantee.metric.of_unit:
        remedy = "Give the guarantee under metric='inf', '2' or '1', and all locations of one unit."
        raise InvalidParameter("guarantee", guarantee, "a metric of locations alone", remedy)
    try:
        start = np.zeros((1, 2)) if inputs is None else np.array(inputs, dtype=float, ndmin=2)
    except (TypeError, ValueError):
        start = np.empty(0)
    if start.ndim != 2 or not start.size:
        raise InvalidParameter("inputs", inputs, "an array of shape (n, d) in metres", "[[0, 0]] is one point.")
    if not np.isfinite(start).all():
        raise InvalidParameter("inputs", start.tolist(), "finite metres", "Leave out missing points.")
    search = _Search(fn, guarantee, level, runs, source_of(rng), progress or (lambda share: None))
    return search.audit(start)


@dataclass(frozen=True)
class _Search:
    """The mechanism, and how it is searched."""

    fn: Callable[[Floats], Any]
    guarantee: CGP | GP
    level: float
    runs: int
    source: Source
    progress: Callable[[float], object]
    #: The lengths of outputs that were drawn, and whether they had a number.
    kinds: set[tuple[int, bool]] = field(default_factory=set)

    def audit(self, start: Floats) -> MechanismAudit:
        """Search, make the worst pair simple, and test it on outputs that no search has seen."""
        pairs = list(self._pairs(start))
        looked = []
        for i, pair in enumerate(pairs):
            looked.append(self._looked_at(pair, _GLANCE))
            self.progress(0.3 * (i + 1) / len(pairs))
        if len(self.kinds) == 1 and not any(numbers for _, numbers in self.kinds):
            remedy = "Let it return the locations that it releases."
            raise InvalidData("fn", "no number for any input", "a function that returns numbers", remedy)
        best = sorted(looked, key=lambda pair: -pair.expected)[:_FEW]
        best = [self._looked_at(pair, _LOOK) for pair in best]
        self.progress(0.5)
        worst = max(best, key=lambda pair: pair.expected)
        simple = self._simplified(worst)
        self.progress(0.7)
        tested = [simple] if simple is worst else [simple, worst]
        found = [self._tested(pair, self.level / len(tested)) for pair in tested]
        self.progress(1.0)
        return next((each for each in found if each.found), max(found, key=lambda each: each.bound))

    def _pairs(self, start: Floats) -> Iterator[_Pair]:
        """Yield pairs: each input, also where numbers are round or large, moved in several ways by several lengths."""
        n, d = start.shape
        far = self._uniform(n * d).reshape(n, d) * 2e4 - 1e4
        places = [start, start + np.round(far[:1]), far]
        signs = np.where(np.arange(n) % 2, -1.0, 1.0)[:, None]
        first = np.zeros((n, 1))
        first[0] = 1.0
        axes = [np.eye(d)[i] for i in range(d)] + [np.ones(d) / math.sqrt(d)] * (d > 1)
        for strength in _STRENGTHS:
            for x in places:
                out = x - x.mean(axis=0)
                moves = [np.ones((n, 1)) * axis for axis in axes]
                if n > 1:
                    moves += [first * axes[0], signs * axes[0], out / max(np.linalg.norm(out, axis=1).max(), 1e-9)]
                for move in moves:
                    yield from self._moved(x, move, strength)

    def _moved(self, x: Floats, move: Floats, strength: float) -> Iterator[_Pair]:
        """Yield an input and the same moved so far that the claim has a certain strength, forwards and backwards."""
        length = self._distance(np.zeros_like(x), move)
        if not length > 0:
            return
        budget = float(self.guarantee.budget)
        far = math.sqrt(strength / budget) if isinstance(self.guarantee, CGP) else strength / budget
        if isinstance(self.guarantee, GP) and self.guarantee.within is not None:
            far = min(far, float(self.guarantee.within))
        for sign in (1.0, -1.0):
            y = x + sign * move * far / length
            yield _Pair(x, y, self._distance(x, y))

    def _distance(self, x: Floats, y: Floats) -> float:
        return float(self.guarantee.metric(x, y))

    def _looked_at(self, pair: _Pair, draws: int) -> _Pair:
        """Return a pair with what the search expects of it."""
        coins, outputs = self._draw(pair, draws)
        score = learn_outputs_score(coins, table_of(outputs))
        seen = _scored(pair, coins, unseen_outputs_ratios(coins, table_of(outputs), score))
        forecast = seen.forecast(float(self.runs))
        tuned = [way.tuned(forecast, self.level, self.runs) for way in ways(self.guarantee, forecast, gaussian=False)]
        way, expected = max(tuned, key=lambda each: each[1])
        return replace(pair, expected=expected, way=way, score=score)

    def _draw(self, pair: _Pair, draws: int) -> tuple[Bools, list[Any]]:
        """Return fair coins, and an output for each: of the second input if it shows heads, else of the first."""
        coins = self._uniform(draws) < 0.5
        outputs = [_numbers_of(self.fn((pair.y if coin else pair.x).copy())) for coin in coins]
        for output in outputs:
            self.kinds.add((len(output), bool((~np.isnan(output)).any())))
        return coins, outputs

    def _uniform(self, count: int) -> Floats:
        return self.source.uniform(count).values

    def _tested(self, pair: _Pair, level: float) -> MechanismAudit:
        """Return the bound of a pair on outputs that the search has not seen."""
        assert pair.way is not None
        assert pair.score is not None
        coins, outputs = self._draw(pair, self.runs)
        scored = _scored(pair, coins, pair.score.ratios(coins, table_of(outputs, like=pair.score.width)))
        return MechanismAudit(
            self.guarantee,
            self.level,
            pair.x,
            pair.y,
            pair.distance,
            pair.way.bound(scored, level),
            pair.way.estimate(scored),
            self.runs,
        )

    def _simplified(self, worst: _Pair) -> _Pair:
        """Return a simpler pair that the search expects to refute the claim as well, if the worst one does."""
        claimed = float(self.guarantee.budget)
        best = worst
        if best.expected <= 1.1 * claimed:
            return best
        for _ in range(_SIMPLER):
            simpler = (self._tried(x, y) for x, y in _simpler(best))
            found = next((pair for pair in simpler if pair is not None and pair.expected > 1.1 * claimed), None)
            if found is None:
                return best
            best = found
        return best

    def _tried(self, x: Floats, y: Floats) -> _Pair | None:
        """Return a simpler pair with what the search expects of it, or None if the mechanism refuses it."""
        distance = self._distance(x, y)
        within = self.guarantee.within if isinstance(self.guarantee, GP) else None
        if not distance > 0 or (within is not None and distance > float(within)):
            return None
        try:
            return self._looked_at(_Pair(x, y, distance), _LOOK)
        except (ValueError, IndexError):
            return None


def _numbers_of(output: Any) -> Floats:
    """Return the numbers of an output; None has none."""
    try:
        return np.zeros(0) if output is None else np.asarray(output, dtype=float).ravel()
    except (TypeError, ValueError):
        allowed = "a function that returns a number, an array of numbers, or None"
        raise InvalidData("fn", output, allowed, "Let it return numbers; of text, the number of its value.") from None


def _simpler(pair: _Pair) -> Iterator[tuple[Floats, Floats]]:
    """Yield simpler pairs, the simplest first: fewer points, at the origin, with round numbers."""
    x, y = pair.x, pair.y
    for i in range(len(x) if len(x) > 1 else 0):
        yield np.delete(x, i, axis=0), np.delete(y, i, axis=0)
    candidates: list[tuple[Floats, Floats]] = [(x - x[0], y - x[0])]
    for unit in (1000.0, 100.0, 10.0, 1.0):
        candidates.append((np.round(x / unit) * unit, np.round(y / unit) * unit))
        candidates.append((np.round(x / unit) * unit, np.round(x / unit) * unit + np.round((y - x) / unit) * unit))
    for new_x, new_y in candidates:
        if _complexity(new_x, new_y) < _complexity(x, y):
            yield new_x + 0.0, new_y + 0.0


def _complexity(x: Floats, y: Floats) -> int:
    """Return the number of characters that a pair takes, without zeros."""
    return sum(len(f"{value:.17g}") for value in [*x.ravel(), *y.ravel()] if value)


def _scored(pair: _Pair, coins: Bools, ratios: Floats) -> Scored:
    """Return outputs with their ratios as canaries of one distance."""
    n = len(coins)
    a, b = np.zeros((n, 2)), np.tile([pair.distance, 0.0], (n, 1))
    return Scored(Canaries(a, b, coins, np.zeros((0, 2)), np.zeros(0, dtype=np.int64)), ratios)
