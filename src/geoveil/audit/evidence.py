"""Judge a tool by its canaries: search on some of them, test on others, and say what is given away at least.

Every bound holds with the stated confidence: the search chooses the score, the clipping, the stakes and the groups of
canaries from its own part; the other part is seen once, by tests that share the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from geoveil import checks
from geoveil.audit.canaries import Canaries, Ints
from geoveil.audit.scores import learn_score, unseen_ratios
from geoveil.audit.tested import Scored, Way, ways
from geoveil.errors import InvalidParameter
from geoveil.noise.reals import Floats
from geoveil.privacy import CGP, GP

__all__ = ["LEAST_CANARIES", "LEAST_RUNS", "Evidence", "Verdict", "judge", "split"]

#: Runs that are needed for CGP if the noise of persons may depend on each other: each is one trial.
LEAST_RUNS = 20

#: The share of the canaries on which the search works, and how many it uses at most. For Gaussian-like claims hardly
#: anything has to be learnt: which place is nearer.
_SEARCHED, _SEARCHED_GAUSSIAN, _ENOUGH = 0.2, 0.1, 10_000

#: The share of the level for the main test; the worst distance, place and direction share the rest.
_MAIN = 0.9

#: The main test is that of all canaries unless a part of them promises so many times as much.
_ADVANTAGE = 1.5

#: Fewest canaries of which the smaller share is enough.
_LEAST_GAUSSIAN = 1500

#: Fewest canaries of a group in the search.
_GROUP = 30

#: Fewest canaries at a distance of which something can be said.
LEAST_CANARIES = 5 * _GROUP


@dataclass(frozen=True)
class Evidence:
    """A lower bound on the budget that a tool spends, from one group of canaries.

    Parameters
    ----------
    group : str
        "all", "distance", "place" or "direction": by what the canaries were chosen.
    value : float
        The distance in metres, the number of the place, or the direction in degrees from east towards north; 0 of all.
    budget : float
        The lower bound: ρ per square metre for CGP, ε per metre for GP.
    level : float
        The largest probability that it is too large: this test's share.
    estimate : float
        The estimate of the budget without confidence.
    n : int
        The canaries on which it was tested, which no search has seen.
    distance : float
        The root mean square distance between their two places in metres.
    """

    group: str
    value: float
    budget: float
    level: float
    estimate: float
    n: int
    distance: float


@dataclass(frozen=True)
class Verdict:
    """What a tool gives away at least, beside what it claims.

    Parameters
    ----------
    guarantee : CGP or GP
        The claim.
    level : float
        The largest probability that any of the bounds is too large.
    independent : bool
        Whether the bounds assume that each person's noise is independent of the others'. If not, they hold under any
        dependence.
    gaussian : bool
        Whether the claim was read as Gaussian noise.
    evidence : tuple of Evidence
        All tests: first that of the main group, then those of the worst distance, place and direction.
    score : str
        What the score was made of.
    hits, false_alarms : array
        The attacker's curve on the tested canaries of the main group: of those at one place, the share that is told
        so; of those at the other place, the share that is told so wrongly. One pair for each threshold.
    """

    guarantee: CGP | GP
    level: float
    independent: bool
    gaussian: bool
    evidence: tuple[Evidence, ...]
    score: str
    hits: Floats = field(repr=False, compare=False)
    false_alarms: Floats = field(repr=False, compare=False)

    @property
    def claimed(self) -> float:
        """The claimed budget: ρ per square metre for CGP, ε per metre for GP."""
        return float(self.guarantee.budget)

    @property
    def worst(self) -> Evidence:
        """The test with the largest lower bound."""
        return max(self.evidence, key=lambda tested: tested.budget)

    @property
    def bound(self) -> float:
        """The largest lower bound: the tool spends more than this with probability at least 1 - level."""
        return self.worst.budget

    @property
    def found(self) -> bool:
        """Whether the tool gives away more than it claims. If not, nothing is proved."""
        return self.bound > self.claimed


def judge(
    canaries: Canaries,
    guarantee: CGP | GP,
    *,
    level: float = 0.01,
    gaussian: bool = False,
    independent: bool = True,
) -> Verdict:
    """Return what a tool gives away at least, with confidence, from what it released for canaries.

    Parameters
    ----------
    canaries : Canaries
        The canaries and what was released.
    guarantee : CGP or GP
        What the tool claims for each person.
    level : float
        The largest probability that a tool that keeps its claim is accused: below 1/4, as the limits of rates for
        canaries of different rates hold up to there.
    gaussian : bool
        Whether the claim is Gaussian noise with this CGP, which refutes more than any mechanism with it.
    independent : bool
        Whether each person's noise is independent of the others'. If False, the bounds hold under any dependence: CGP
        then needs at least 20 runs, each of which is one trial. Pure GP never needs independence.

    Examples
    --------
    >>> import numpy as np
    >>> from geoveil.audit import Canaries, judge
    >>> rng = np.random.default_rng(7)
    >>> a, b = np.zeros((2000, 2)), np.tile([200.0, 0.0], (2000, 1))
    >>> coins = rng.random(2000) < 0.5
    >>> noisy = np.where(coins[:, None], b, a) + rng.normal(scale=50, size=(2000, 2))
    >>> verdict = judge(Canaries(a, b, coins, noisy, np.arange(2000)), gv.CGP(rho=5e-5))
    >>> verdict.found, verdict.bound < 2e-4
    (True, True)
    """
    checks.number("level", level, above=0, below=0.25, remedy="0.01 accuses one honest tool in a hundred.")
    usable = np.arange(len(canaries))
    if isinstance(guarantee, GP) and guarantee.within is not None:
        usable = np.flatnonzero(canaries.distance <= float(guarantee.within))
    pure = isinstance(guarantee, GP) and guarantee.delta == 0
    by_run = not independent and not pure
    runs = len(np.unique(canaries.run))
    if by_run and runs < LEAST_RUNS:
        remedy = "Run the tool on more files of canaries, or assume that the noise of persons is independent."
        raise InvalidParameter("runs", runs, f"at least {LEAST_RUNS} under any dependence", remedy)
    canaries = canaries.take(usable)
    share = _SEARCHED_GAUSSIAN if gaussian and not by_run and len(canaries) >= _LEAST_GAUSSIAN else _SEARCHED
    searched, tested = split(canaries, by_run=by_run, share=share)
    if min(len(searched), len(tested)) < _GROUP:
        raise InvalidParameter("canaries", len(usable), f"at least {LEAST_CANARIES} persons", "Make more canaries.")
    score = learn_score(seen := canaries.take(searched))
    search = Scored(seen, unseen_ratios(seen, score), by_run)
    unseen = canaries.take(tested)
    final = Scored(unseen, score.ratios(unseen), by_run)
    plans = _plans(search, guarantee, gaussian=gaussian, level=_MAIN * level, times=final.trials / search.trials)
    rest = (1 - _MAIN) * level / max(len(plans) - 1, 1)
    shares = [_MAIN * level if len(plans) > 1 else level, *[rest] * (len(plans) - 1)]
    evidence = tuple(_test(plan, final, share) for plan, share in zip(plans, shares, strict=True))
    hits, alarms = _curve(plans[0].group.of(final))
    return Verdict(guarantee, level, independent, gaussian, evidence, score.name, hits, alarms)


def split(canaries: Canaries, *, by_run: bool, share: float = _SEARCHED) -> tuple[Ints, Ints]:
    """Return the canaries of the search and those of the tests; whole runs, if a run is one trial."""
    if by_run:
        runs, run = np.unique(canaries.run, return_inverse=True)
        early = run < round(share * len(runs))
        return np.flatnonzero(early), np.flatnonzero(~early)
    # Multiples of the golden ratio are evenly spread over all residues, so both parts hold all kinds of canaries.
    order = np.argsort((np.arange(len(canaries)) * ((math.sqrt(5) - 1) / 2)) % 1, kind="stable")
    size = min(round(share * len(canaries)), _ENOUGH)
    return order[:size], order[size:]


def _group_of(canaries: Canaries, kind: str) -> Floats:
    """Return the group of each canary by its distance, place or direction."""
    if kind == "place":
        return canaries.place.astype(float)
    if kind == "direction":
        return 45.0 * np.round(canaries.direction / 45) % 180
    # Distances within 5% of each other belong together.
    steps: Floats = np.round(np.log(canaries.distance) / math.log(1.05))
    return np.round(1.05**steps, 6)


@dataclass(frozen=True)
class _Group:
    """Canaries that are tested together: all, or those of one distance, place or direction."""

    kind: str
    value: float

    def of(self, scored: Scored) -> Scored:
        """Return the canaries of the group."""
        if self.kind == "all":
            return scored
        return scored.take(np.flatnonzero(_group_of(scored.canaries, self.kind) == self.value))


@dataclass(frozen=True)
class _Plan:
    """A group, the way to test it, and the bound that the search expects."""

    group: _Group
    way: Way
    expected: float


def _planned(
    group: _Group, search: Scored, guarantee: CGP | GP, *, gaussian: bool, level: float, times: float
) -> _Plan:
    """Return the way that promises most for a group."""
    among = group.of(search)
    trials = times * among.trials
    forecast = among.forecast(trials)
    tuned = [way.tuned(forecast, level, trials) for way in ways(guarantee, forecast, gaussian=gaussian)]
    way, expected = max(tuned, key=lambda each: each[1])
    return _Plan(group, way, expected)


def _groups(canaries: Canaries, kind: str) -> list[_Group]:
    """Return the groups of a kind that have enough canaries in the search, if there are several."""
    labels, counts = np.unique(_group_of(canaries, kind), return_counts=True)
    return [_Group(kind, float(label)) for label, count in zip(labels, counts, strict=True) if count >= _GROUP] * (
        len(labels) > 1
    )


def _plans(search: Scored, guarantee: CGP | GP, *, gaussian: bool, level: float, times: float) -> list[_Plan]:
    """Return what is tested: the group that promises most, then all or the worst distance, place and direction."""

    def planned(group: _Group) -> _Plan:
        return _planned(group, search, guarantee, gaussian=gaussian, level=level, times=times)

    best = [planned(_Group("all", 0.0))]
    for kind in ("distance", "place", "direction"):
        if plans := [planned(group) for group in _groups(search.canaries, kind)]:
            best.append(max(plans, key=lambda plan: plan.expected))
    # The main test has most of the level. A part of the canaries promises a little more by luck.
    return sorted(best, key=lambda plan: -plan.expected * (_ADVANTAGE if plan.group.kind == "all" else 1.0))


def _test(plan: _Plan, final: Scored, level: float) -> Evidence:
    """Return the bound of a plan on canaries that the search has not seen."""
    among = plan.group.of(final)
    distance = float(np.sqrt((among.canaries.distance**2).mean())) if len(among.ratios) else 0.0
    value = distance if plan.group.kind == "distance" else plan.group.value
    if not len(among.ratios):
        return Evidence(plan.group.kind, value, 0.0, level, 0.0, 0, distance)
    return Evidence(
        plan.group.kind,
        value,
        plan.way.bound(among, level),
        level,
        plan.way.estimate(among),
        len(among.ratios),
        distance,
    )


def _curve(scored: Scored) -> tuple[Floats, Floats]:
    """Return the rates at which the true place, and the other one, is told to be the true one."""
    thresholds = np.quantile(scored.ratios, np.linspace(0, 1, 201))
    hits, alarms = ((sign * scored.ratios[:, None] > thresholds).mean(axis=0) for sign in (1, -1))
    return hits, alarms
