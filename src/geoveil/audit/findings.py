"""What no model of noise predicts, each looked for by name, and how likely it is if the tool keeps its claim.

`judge` asks how well places are guessed. A test here asks for one fault, and names it. The coins and the places of
canaries are drawn anew for each file, so every chance below is over them and the noise alone. CGP bounds means over
all outputs, so no test leaves out canaries without a released point: they are guessed by a coin, or are misses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geoveil.audit.canaries import Canaries
from geoveil.audit.canary_places import BESIDE, DECIMALS, GRIDS, PAIR, Sites, quarter_of
from geoveil.audit.chances import at_least, guess_chances, likeliest, most_near, sign_test
from geoveil.audit.evidence import judge
from geoveil.audit.outputs import ReleasedFile
from geoveil.audit.secret import Secret
from geoveil.city import generator
from geoveil.geo.geometries import Floats, Index
from geoveil.geo.planes import Plane
from geoveil.privacy import CGP, GP

__all__ = ["DEPENDENT", "REPEATED", "TESTS", "Case", "Fault", "find"]

_NUMBER = re.compile(r"[-+]?\d+\.\d{4,}")
#: Lengths in metres within which places, and noises, are the same: coordinates as they are, and rounded to a metre.
_SAME = (0.02, 1.0)
#: Metres of a degree of latitude.
_DEGREE = 111_195.0


@dataclass(frozen=True)
class Fault:
    """One test by name.

    Parameters
    ----------
    name : str
        The fault that was looked for.
    chance : float
        The chance, at most, that a tool looks so that keeps its claim; or, if nothing about the claim is tested, that
        one does whose noise is new for each person and run.
    level : float
        The largest chance that counts as found: this test's share of the level of the audit.
    told : str
        What was seen, in words; where nothing was found, what was looked for.
    refutes : bool
        Whether the claim is broken if it is found. If not, something else is not as assumed: noise that repeats in
        another run, or that persons share. Tools may do so and keep their claim.
    independent : bool
        Whether the chance assumes that the noise of one person does not depend on that of others.
    """

    name: str
    chance: float
    level: float
    told: str
    refutes: bool = True
    independent: bool = True

    @property
    def found(self) -> bool:
        """Whether luck does not explain it."""
        return self.chance <= self.level


@dataclass(frozen=True, eq=False)
class Case:
    """All that tests look at: the persons of one made file, and what one or several runs of a tool made of it.

    Parameters
    ----------
    secret : Secret
        Where canaries are.
    outputs : sequence of ReleasedFile
        The released files of one made file; the first is tested, others show what repeats.
    plane : Plane
        The plane of the area, for degrees.
    claim : CGP or GP
        What the tool claims.
    """

    secret: Secret
    outputs: Sequence[ReleasedFile]
    plane: Plane
    claim: CGP | GP

    @property
    def output(self) -> ReleasedFile:
        """The released file."""
        return self.outputs[0]

    @cached_property
    def sites(self) -> Sites:
        """The pairs of places."""
        return self.secret.sites(self.output.made)

    @cached_property
    def ends(self) -> Floats:
        """The places A and B of each canary in metres."""
        return np.asarray(self.sites.metres(self.plane)[self.sites.site])

    @cached_property
    def side(self) -> Index:
        """The secret coins."""
        return self.output.made.side

    @cached_property
    def true(self) -> Floats:
        """Where each canary is, in metres."""
        return np.asarray(self.ends[np.arange(len(self.side)), self.side])

    @cached_property
    def degrees(self) -> Floats:
        """Where each canary is, in degrees."""
        return self.sites.places(self.side)

    @cached_property
    def paired(self) -> NDArray[np.bool_]:
        """Which canaries are at pairs at a distance, and not at the edge of a grid."""
        return np.array([kind == PAIR for kind in self.sites.kinds])[self.sites.site]

    @cached_property
    def apart(self) -> Floats:
        """The distance between the two places of each canary."""
        return np.asarray(np.hypot(*(self.ends[:, 1] - self.ends[:, 0]).T))

    @cached_property
    def shown(self) -> Index:
        """The first released point of each canary; -1 for none."""
        return self.output.first

    @cached_property
    def moved(self) -> Floats:
        """From the true place to the first released point in metres; NaN for none."""
        return self.moved_in(self.output)

    def moved_in(self, output: ReleasedFile) -> Floats:
        """From the true place to the first released point of an output in metres; NaN for none."""
        there = output.first >= 0
        moved = np.full((len(self.side), 2), np.nan)
        moved[there] = output.metres[output.first[there]] - self.true[there]
        return moved

    @cached_property
    def one_each(self) -> Index:
        """One canary of each pair of places, so that their places are independent, with a released point or not."""
        paired = np.flatnonzero(self.paired)
        _, firsts = np.unique(self.sites.site[paired], return_index=True)
        return np.asarray(paired[firsts])

    def chance_in_pairs(self, hits: NDArray[np.bool_], each: float) -> float:
        """Bound the chance that so many pairs of places have a hit, given that of each canary.

        Places of different pairs are independent; those of one pair are not, so their chances are added up.
        """
        pairs, canaries = np.unique(self.sites.site[self.paired], return_counts=True)
        number = len(np.intersect1d(pairs, self.sites.site[self.paired & hits]))
        return at_least(number, np.minimum(1.0, each * canaries)) if number else 1.0

    def canaries(self) -> Canaries:
        """Return the persons at pairs, and what was released for them."""
        chosen = np.flatnonzero(self.paired)
        number = np.full(len(self.side), -1)
        number[chosen] = np.arange(len(chosen))
        person = np.where(self.output.person >= 0, number[self.output.person], -1)
        own = np.flatnonzero(person >= 0)
        quarters = ("middle", "east", "north", "west", "south")
        middles = self.ends[chosen].mean(axis=1)
        place = np.array([quarters.index(each) for each in quarter_of(middles, self.plane)], dtype=np.int64)
        return Canaries(
            self.ends[chosen, 0],
            self.ends[chosen, 1],
            self.side[chosen] == 1,
            self.output.metres[own],
            person[own],
            place,
        )


#: A test: from a case and its share of the level to the chance and what was seen, or None where it does not apply.
Test = Callable[["Case", float], "tuple[float, str] | None"]


def find(case: Case, level: float) -> list[Fault]:
    """Run all tests that apply, which share the level evenly."""
    share = level / len(TESTS)
    found = []
    for name, (test, looked) in TESTS.items():
        seen = test(case, share)
        if seen is not None:
            chance, told = min(1.0, seen[0]), seen[1] if seen[0] <= share else looked
            found.append(Fault(name, chance, share, told, name not in (REPEATED, DEPENDENT), name not in _WHATEVER))
    return found


# True coordinates ----------------------------------------------------------------------------------------------------


def _true_coordinates(case: Case, level: float) -> tuple[float, str]:
    """Look for true coordinates among released points, in other columns, in metadata and in files beside."""
    metadata, told = _in_metadata(case)
    tried = [*_exact_points(case), _in_columns(case), _bounds_in_metadata(case)]
    # Half of the level for places in metadata, whose chance is bounded by their mean number alone.
    return min((2 * metadata, told), *((2 * len(tried) * chance, told) for chance, told in tried))


def _exact_points(case: Case) -> Iterator[tuple[float, str]]:
    away = np.hypot(*case.moved.T)
    for within in _SAME:
        chance = case.chance_in_pairs(away <= within, most_near(case.claim, within))
        shown = "exactly" if within < 0.1 else f"within {within:g} m"
        yield chance, f"{np.mean(away <= within):.0%} of the persons are released {shown} where they are"


def _in_columns(case: Case) -> tuple[float, str]:
    """Look for latitude and longitude in the other columns of a canary's first row."""
    names = [*case.output.columns.columns]
    there = np.flatnonzero(case.paired & (case.shown >= 0))
    if not names or not len(there):
        return 1.0, ""
    hits, most, where = np.zeros(len(case.side), dtype=bool), 2, ""
    rows = case.output.columns.iloc[case.shown[there]]
    texts = [" | ".join(map(str, row)) for row in zip(*(rows[name].tolist() for name in names), strict=True)]
    for row, (text, (lon, lat)) in enumerate(zip(texts, case.degrees[there].tolist(), strict=True)):
        numbers = [float(number) for number in _NUMBER.findall(text)]
        most = max(most, len(numbers))
        if any(abs(each - lat) < 1e-6 for each in numbers) and any(abs(each - lon) < 1e-6 for each in numbers):
            hits[there[row]] = True
            where = where or _column_of(rows, row, lat)
    each = min(1.0, most**2 * most_near(case.claim, 0.2))
    share = hits.sum() / case.paired.sum()
    return case.chance_in_pairs(hits, each), f"the column {where} holds the true place of {share:.0%} of the persons"


def _column_of(rows: pd.DataFrame, row: int, lat: float) -> str:
    for name in rows.columns:
        if any(abs(float(each) - lat) < 1e-6 for each in _NUMBER.findall(str(rows[name].iloc[row]))):
            return str(name)
    return ""


def _in_metadata(case: Case) -> tuple[float, str]:
    """Look for true places outside of rows: two numbers behind each other.

    A header may be about all persons at once, so their places in it are not independent. The share of candidates that
    are true has a bounded mean, whatever their number: Markov's inequality bounds the chance of the share.
    """
    numbers = _candidates(case)
    places = np.round(case.degrees[case.paired], DECIMALS)
    held, candidates = np.zeros(len(places), dtype=bool), 0
    for swap in (1, -1):
        both = np.column_stack([numbers[:-1], numbers[1:]])[:, ::swap]
        low, high = places.min(axis=0, initial=np.inf), places.max(axis=0, initial=-np.inf)
        both = np.unique(both[((both >= low - 0.1) & (both <= high + 0.1)).all(axis=1)], axis=0)
        candidates += len(both)
        seen = {*map(tuple, np.round(both * 10**DECIMALS).astype(np.int64).tolist())}
        held |= [tuple(place) in seen for place in np.round(places * 10**DECIMALS).astype(np.int64).tolist()]
    hits = int(held.sum())
    if not hits:
        return 1.0, ""
    # Half a unit of the last decimal, along both axes.
    within = 10.0**-DECIMALS / 2 * _DEGREE * np.sqrt(2)
    chance = len(places) * most_near(case.claim, within) * candidates / hits
    return chance, f"metadata holds the true places of {hits} persons"


def _bounds_in_metadata(case: Case) -> tuple[float, str]:
    """Look for the ends of the ranges of all true coordinates outside of rows."""
    numbers = np.unique(_candidates(case))
    ends = [float(end(case.degrees[:, axis])) for axis in (0, 1) for end in (np.min, np.max)]
    held = sum(bool((np.abs(numbers - each) < 2e-7).any()) for each in ends)
    if held < 2:
        return 1.0, ""
    near = int(
        ((numbers[:, None] > case.degrees.min(axis=0) - 1) & (numbers[:, None] < case.degrees.max(axis=0) + 1))
        .any(axis=1)
        .sum()
    )
    spread = float(np.ptp(case.degrees, axis=0).min())
    # Density of an end: at most that of each coordinate, 4/π times that of an even spread, times their number.
    luck = min(1.0, near * 4e-7 * 4 / np.pi * len(case.side) / max(spread, 1e-6))
    return math.comb(4, held) * luck**held, f"metadata holds {held} of the 4 bounds of all true coordinates"


def _candidates(case: Case) -> Floats:
    """Return the first numbers of the metadata."""
    return np.array(case.output.header()[:20_000], dtype=float)


# Noise ---------------------------------------------------------------------------------------------------------------


def _same_noise(case: Case, level: float) -> tuple[float, str]:
    """Look for the same displacement of persons at different places."""
    from scipy.spatial import cKDTree

    # Who is not moved at all is found by another test.
    usable = np.flatnonzero(case.paired & (case.shown >= 0) & (np.hypot(*case.moved.T) > _SAME[0]))
    moved, site = case.moved[usable], case.sites.site[usable]
    best = 1.0, "no two persons are moved alike"
    if len(usable) < 2:
        return best
    order = np.argsort(site, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(site[order])) + 1)
    for within in _SAME:
        tree = cKDTree(moved)
        alike = tree.count_neighbors(tree, within) - len(moved)
        inside = sum(_alike(moved[group], within) for group in groups)
        pairs = (int(alike) - inside) // 2
        expected = math.comb(int(case.paired.sum()), 2) * most_near(case.claim, within)
        # The pairs depend on each other: Markov's inequality bounds the chance of so many.
        chance = min(1.0, expected / pairs) if pairs else 1.0
        if chance < best[0]:
            near, _ = tree.query(moved, k=2)
            share = float((near[:, 1] <= within).mean())
            best = chance, f"{share:.0%} of the persons are moved exactly as another one is, elsewhere"
    return min(1.0, len(_SAME) * best[0]), best[1]


def _alike(moved: Floats, within: float) -> int:
    """Return how many ordered pairs of displacements are within a distance of each other."""
    apart = np.hypot(*(moved[:, None] - moved[None]).transpose(2, 0, 1))
    return int((apart <= within).sum()) - len(moved)


def _repeated_noise(case: Case, level: float) -> tuple[float, str] | None:
    """Look for the same noise in another run on the same file: more often than for another canary at the place."""
    if len(case.outputs) < 2:
        return None
    other = case.outputs[1]
    usable = np.flatnonzero((case.shown >= 0) & (other.first >= 0))
    key = 2 * case.sites.site[usable] + case.side[usable]
    order = np.argsort(key, kind="stable")
    usable, key = usable[order], key[order]
    # Two canaries of each place: the noise of one in both runs, or that of one and of the other.
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    pairs = starts[np.diff(np.append(starts, len(key))) >= 2]
    one, two = usable[pairs], usable[pairs + 1]
    first, again = case.output, other

    def same(of: Index, then: Index) -> NDArray[np.bool_]:
        apart = first.metres[first.first[of]] - again.metres[again.first[then]]
        return np.asarray(np.hypot(*apart.T) < _SAME[0])

    itself, neighbour = same(one, one), same(one, two)
    wins, losses = int((itself & ~neighbour).sum()), int((neighbour & ~itself).sum())
    share = float(same(usable, usable).mean()) if len(usable) else 0.0
    told = f"{share:.0%} of the persons are released at the same place again: the noise is not drawn anew"
    return sign_test(wins, losses), told if wins else "a second run draws its noise anew"


def _from_the_place(case: Case, level: float) -> tuple[float, str]:
    """Look for canaries of one place that are released at one place: what is released follows from the truth."""
    there = case.shown >= 0
    cells = np.round(case.output.metres[case.shown[there]] / (2 * _SAME[0])).astype(np.int64)
    values = np.array([f"nothing {number}" for number in range(len(there))], dtype=object)
    values[there] = [f"{x},{y}" for x, y in cells.tolist()]
    chance, _ = _guess_by_twins(case, values)
    keys = [f"{site} {value}" for site, value in zip(2 * case.sites.site + case.side, values, strict=True)]
    alike = pd.Series(keys)[case.paired & there].duplicated(keep=False).mean()
    return chance, f"{alike:.0%} of the persons are released exactly where others from the same true place are"


def _together(case: Case, level: float) -> tuple[float, str] | None:
    """Look for noise that is alike for neighbouring persons of the file."""
    from scipy.special import ndtr

    # Who is not moved at all has no direction.
    usable = np.flatnonzero(case.paired & (case.shown >= 0) & (np.hypot(*case.moved.T) > _SAME[0]))
    if len(usable) < 50:
        return None
    usable = usable[np.argsort(case.output.made.rows[usable], kind="stable")]
    # Persons of one pair of places may be moved alike by a coarse grid: they are no neighbours.
    ways = case.moved[usable] - np.median(case.moved[usable], axis=0)
    length = np.hypot(*ways.T)
    ways = ways / np.maximum(length, 1e-9)[:, None]
    apart = np.diff(case.sites.site[usable]) != 0
    cosines = (ways[:-1] * ways[1:]).sum(axis=1)[apart]
    if len(cosines) < 50:
        return None
    # The order of canaries is random: the mean over neighbours is that over all pairs, and about as uncertain.
    gram = ways.T @ ways
    mean = float((ways.sum(axis=0) ** 2).sum() - len(ways)) / (len(ways) * (len(ways) - 1))
    square = float((gram**2).sum() - len(ways)) / (len(ways) * (len(ways) - 1))
    sd = np.sqrt(max(square - mean**2, 1e-12) * (1 + 2 * abs(mean)) / len(cosines))
    score = (float(cosines.mean()) - mean) / sd
    told = f"the directions of neighbours' displacements have a mean cosine of {cosines.mean():+.2f}"
    return 2 * float(ndtr(-abs(score))), told


def _averaging(case: Case, level: float) -> tuple[float, str] | None:
    """Look for noise that averages out over the points of a person."""
    if case.secret.pings < 2 or case.output.counts.max() < 2:
        return None
    means = case.output.means()
    both = []
    for guessed in (means, np.where((case.shown >= 0)[:, None], case.output.metres[case.shown], np.nan)):
        both.append(_guess_by_projection(case, guessed, case.paired))
    (chance, mean), (_, first) = both
    if mean <= first:
        return 1.0, "the mean of a person's points tells no more than the first"
    told = (
        f"the mean of a person's points tells the place of {mean:.0%} of the persons, the first point of {first:.0%}"
    )
    return chance, told


# What else follows the place -----------------------------------------------------------------------------------------


def _row_order(case: Case, level: float) -> tuple[float, str]:
    """Look for an order of rows that follows the places."""
    values = np.where(case.shown >= 0, case.output.rows[case.shown].astype(float), np.nan)
    chance, guessed = _guess_by_twins(case, values)
    return chance, f"from the order of rows, {guessed:.0%} of guesses are right"


def _dropped_rows(case: Case, level: float) -> tuple[float, str]:
    """Look for rows whose absence follows the place."""
    chance, guessed = _guess_by_twins(case, case.output.counts.astype(str).astype(object))
    missing = float((case.output.counts == 0).mean())
    return chance, f"{missing:.0%} of the persons have no row; from the rows left, {guessed:.0%} of guesses are right"


def _other_columns(case: Case, level: float) -> tuple[float, str] | None:
    """Look for other columns that follow the place."""
    best, tried = (1.0, "no other column follows the place"), 0
    for name in case.output.columns.columns:
        values = _values_of(case, name)
        if values is None:
            continue
        tried += 1
        chance, guessed = _guess_by_twins(case, values)
        if chance < best[0]:
            best = chance, f"from the column {name}, {guessed:.0%} of guesses are right"
    return (min(1.0, tried * best[0]), best[1]) if tried else None


def _values_of(case: Case, name: str) -> NDArray[np.object_] | Floats | None:
    """Return the value of a column for each canary, as numbers or texts; None if it is always the same."""
    there = case.shown >= 0
    column = case.output.columns[name].iloc[case.shown[there]]
    if column.astype(str).nunique() < 2:
        return None
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().mean() > 0.9:
        values = np.full(len(case.side), np.nan)
        values[there] = numbers.to_numpy(dtype=float)
        return values
    texts = np.array([f"nothing {number}" for number in range(len(there))], dtype=object)
    texts[there] = column.astype(str).to_numpy(dtype=object)
    return texts


def _guess_by_twins(case: Case, values: NDArray[np.object_] | Floats) -> tuple[float, float]:
    """Guess the coins of half the persons from values, knowing those of the other half at the same pair of places.

    Only pairs count at which the known half tells the two sides apart. A guess about which nothing is known is a coin,
    which counts as well: what is guessed never depends on how clear the value of the one who is guessed is.

    Returns
    -------
    tuple of float
        The chance of so many right guesses, and their share.
    """
    numeric = values.dtype != object
    site, side = case.sites.site, case.side
    chosen = np.flatnonzero(case.paired)
    order = chosen[np.argsort(site[chosen], kind="stable")]
    coin = generator(len(order)).integers(0, 2, size=len(side))
    guessed, guesses = [], []
    for group in np.split(order, np.flatnonzero(np.diff(site[order])) + 1):
        known, hidden = group[::2], group[1::2]
        tell = _by_value if numeric else _by_equality
        rule = tell(values[known], side[known])
        if rule is not None:
            found = rule(values[hidden])
            guesses.append(np.where(found >= 0, found, coin[hidden]))
            guessed.append(hidden)
    if not guessed:
        return 1.0, 0.5
    tested = np.concatenate(guessed)
    right = np.concatenate(guesses) == side[tested]
    chance = at_least(int(right.sum()), guess_chances(case.claim, case.apart[tested]))
    return chance, float(right.mean())


def _by_value(values: NDArray[Any], side: Index) -> Callable[[NDArray[Any]], Index] | None:
    """Return a rule that tells the side by a number; None if the numbers of both sides overlap."""
    one, other = (values[(side == each) & np.isfinite(values)] for each in (0, 1))
    if not len(one) or not len(other) or not (one.max() < other.min() or other.max() < one.min()):
        return None
    middle = (one.max() + other.min()) / 2 if one.max() < other.min() else (other.max() + one.min()) / 2
    above = int(other.min() > middle)
    return lambda seen: np.where(np.isnan(seen), -1, np.where(seen > middle, above, 1 - above)).astype(np.int64)


def _by_equality(values: NDArray[Any], side: Index) -> Callable[[NDArray[Any]], Index] | None:
    """Return a rule that tells the side by a text, -1 for unknown ones; None if both sides have one in common."""
    known = dict(zip(values.tolist(), side.tolist(), strict=True))
    if len(set(side.tolist())) < 2 or any(known[value] != own for value, own in zip(values, side, strict=True)):
        return None
    return lambda seen: np.array([known.get(value, -1) for value in seen.tolist()], dtype=np.int64)


def _guess_by_projection(case: Case, points: Floats, chosen: NDArray[np.bool_]) -> tuple[float, float]:
    """Guess coins by which place is nearer, after a shift that all points share, which other canaries tell.

    The coin of a canary without a point is guessed by a coin: a tool may drop points that give much away.
    """
    usable = np.flatnonzero(chosen)
    learnt, tested = usable[::2], usable[1::2]
    known = points[learnt] - case.true[learnt]
    known = known[np.isfinite(known).all(axis=1)]
    if len(known) < 10:
        return 1.0, 0.0
    shift = np.median(known, axis=0)
    way = case.ends[tested, 1] - case.ends[tested, 0]
    along = ((points[tested] - shift - case.ends[tested].mean(axis=1)) * way).sum(axis=1)
    coin = generator(len(tested)).integers(0, 2, size=len(tested)) == 1
    right = np.where(np.isnan(along), coin, along > 0) == (case.side[tested] == 1)
    return at_least(int(right.sum()), guess_chances(case.claim, case.apart[tested])), float(right.mean())


# Numbers -------------------------------------------------------------------------------------------------------------


def _grid_edges(case: Case, level: float) -> tuple[float, str]:
    """Look for places on both sides of a grid's edge, two metres apart, that are told apart."""
    from scipy.stats import norm, rankdata

    kinds = np.array(case.sites.kinds, dtype=object)[case.sites.site]
    chances: dict[str, float] = {}
    clear = 0
    for grid in GRIDS:
        chosen = np.flatnonzero(kinds == grid.name)
        side = case.side[chosen]
        at_b, at_a = int(side.sum()), int((1 - side).sum())
        if min(at_a, at_b) < 5:
            continue
        way = case.ends[chosen, 1] - case.ends[chosen, 0]
        middle = case.ends[chosen].mean(axis=1)
        along = ((case.true[chosen] + case.moved[chosen] - middle) * way).sum(axis=1) / case.apart[chosen]
        # Nothing is known about those without a point: they are alike.
        along = np.nan_to_num(along)
        area = (rankdata(along)[side == 1].sum() - at_b * (at_b + 1) / 2) / (at_a * at_b)
        clear += area > 0.85
        # What the claim allows at this distance, as the total variation between the two sides.
        allowed = 2 * float(guess_chances(case.claim, case.apart[chosen]).max()) - 1
        sd = np.sqrt((at_a + at_b + 1) / (12 * at_a * at_b))
        chances[grid.name] = float(norm.sf((area - 0.5 - allowed) / sd))
    if not chances:
        return 1.0, "no grid was tested"
    name, chance = min(chances.items(), key=lambda each: each[1])
    chance *= len(chances)
    if chance > level:
        return chance, "places beside the edges of known grids are not told apart"
    near = f"places {2 * BESIDE:.0f} m apart are told apart"
    if clear > len(chances) / 2:
        return chance, f"{near}, wherever they are: there is no noise of their own"
    where = f"{near} if they are on two sides of an edge of a grid (coordinates {name})"
    return chance, f"{where}: places are moved to a grid before noise is added, or without any"


def _low_digits(case: Case, level: float) -> tuple[float, str]:
    """Look for last digits of true coordinates that remain in the released ones."""
    one = case.one_each
    there = case.shown[one] >= 0
    if not there.any():
        return 1.0, "no last digits remain"
    # A place without a point is a miss, as no comparison with NaN holds.
    out = np.full((len(one), 2), np.nan)
    out[there] = case.output.degrees[case.shown[one][there]]
    unit = next((10.0**-k for k in range(1, 8) if (np.abs(out - np.round(out, k))[there] < 1e-10).all()), 1e-7)
    within = unit / 2 + 2e-8
    best, tried = (1.0, "no last digits remain"), 0
    for decimals in (3, 4, 5):
        step = 10.0**-decimals
        if within > step / 20:
            continue
        tried += 1
        rest = (out - case.degrees[one]) / step
        kept = (np.abs(rest - np.round(rest)) * step <= within).all(axis=1)
        # Who is not moved at all is found by another test.
        hits = int((kept & (np.hypot(*case.moved[one].T) > _SAME[0])).sum())
        # Inside a cell of the step all last digits are equally likely.
        blind = (2 * within / step + 1e-7 / step) ** 2
        each = likeliest(case.claim, blind, step * _DEGREE * np.sqrt(2))
        chance = at_least(hits, np.full(len(one), each))
        if chance < best[0]:
            kind = f"the digits of the true ones after decimal {decimals}"
            best = chance, f"{hits / len(one):.0%} of the released coordinates end in {kind}"
    return min(1.0, max(tried, 1) * best[0]), best[1]


def _degrees_as_metres(case: Case, level: float) -> tuple[float, str] | None:
    """Look for noise that is narrower from east to west by the cosine of the latitude, and too narrow there."""
    moved = case.moved[case.shown >= 0]
    if len(moved) < 50:
        return None
    moved = moved - np.median(moved, axis=0)
    lat = float(np.abs(case.degrees[:, 1].mean()))
    narrow = float(np.median(np.abs(moved[:, 1])) / max(np.median(np.abs(moved[:, 0])), 1e-9))
    expected = 1 / np.cos(np.radians(lat))
    wins = int((np.abs(moved[:, 0]) < np.abs(moved[:, 1])).sum())
    chance = sign_test(wins, len(moved) - wins)
    told = f"the noise is {narrow:.2f} times as wide from north to south as from east to west"
    if chance > level or not 0.85 < narrow / expected < 1.18:
        return max(chance, level * 1.01), told
    canaries = case.canaries()
    sideways = np.flatnonzero((canaries.direction < 45) | (canaries.direction > 135))
    if len(sideways) < 150 or not judge(canaries.take(sideways), case.claim, level=level / 2).found:
        return level * 1.01, f"{told}, which the claim allows"
    return level, f"{told}, as when degrees are taken as metres at {lat:.0f}° of latitude"


#: The tests that do not test the claim, but what is assumed beside it.
REPEATED = "the same noise in a second run"
DEPENDENT = "noise of persons that depends on each other"
_SAME_NOISE = "the same noise for several persons"
#: The tests whose chances hold whatever the dependence between persons: by Markov's inequality.
_WHATEVER = (_SAME_NOISE, REPEATED, DEPENDENT)

#: The tests, by the name of the fault, and what each looks for.
TESTS: dict[str, tuple[Test, str]] = {
    "true coordinates in the output": (
        _true_coordinates,
        "no true place was seen in points, columns, the header or files beside",
    ),
    _SAME_NOISE: (_same_noise, "no two persons at different places are moved alike"),
    REPEATED: (_repeated_noise, "a second run draws its noise anew"),
    "offsets that follow from the place": (_from_the_place, "persons at one place are not released at one place"),
    DEPENDENT: (_together, "persons that are neighbours in the file are not moved alike"),
    "noise that averages out over a person's points": (
        _averaging,
        "the mean of a person's points tells no more than claimed",
    ),
    "order of rows": (_row_order, "the order of rows does not tell the place"),
    "dropped rows": (_dropped_rows, "which rows are missing does not tell the place"),
    "other columns": (_other_columns, "no other column tells the place"),
    "grid edges": (_grid_edges, "places beside the edges of known grids are not told apart"),
    "last digits": (_low_digits, "no last digits of true coordinates remain"),
    "degrees taken as metres": (_degrees_as_metres, "the noise is not too narrow from east to west"),
}
