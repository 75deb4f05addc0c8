"""Purposes of location data: the error of each with the best settings found, from public numbers alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from geoveil.answering.concerns import is_hopeless
from geoveil.answering.crowd import Slices
from geoveil.answering.crowd_requests import heatmap
from geoveil.answering.intake import in_the_plane
from geoveil.answering.public_rows import PublicRows
from geoveil.facts.wording import protected
from geoveil.geo.geometries import Floats
from geoveil.planning import plan
from geoveil.postprocess.flow_cells import advise_flows, round_length
from geoveil.postprocess.motion import CAR, Motion
from geoveil.postprocess.region_totals import count_blurs
from geoveil.postprocess.smoothing import expected_error
from geoveil.privacy import CGP, GP, Guarantee, dist_inf, protected_metric
from geoveil.text.words import counted, metres
from geoveil.zones.zone import MARGIN, Hiding

__all__ = [
    *("PURPOSES", "Outlook", "Purpose", "Verdict", "best_of", "count_outlook", "planned_answer"),
    *("points_outlook", "smoothed_hopeless", "summary_outlook"),
]

Verdict: TypeAlias = Literal["good", "fair", "hopeless"]
_ORDER: tuple[Verdict, ...] = ("good", "fair", "hopeless")
#: An error of points is good up to this many times the hidden distance, about twice that of a single point,
_NEAR = 5
#: and up to this share of the area's radius.
_SHARE = 0.1
#: A map is good if this many cells are along its side, and hopeless with fewer than the second number.
_MANY_CELLS, _FEW_CELLS = 12, 5
#: A lattice has at most so many cells along its side, so that it is soon processed.
_FINEST = 800
#: The noise between squares, or in one, over their side times √ρ; see `kernel_side`.
_NOISE = 0.4
#: The average area of the hexagons of H3 in m², by resolution, the smallest first. They stand for districts.
_HEXAGONS = {
    **{9: 0.105e6, 8: 0.737e6, 7: 5.161e6, 6: 36.129e6, 5: 252.9e6},
    **{4: 1770.3e6, 3: 12_393e6, 2: 86_802e6},
}
#: The smallest number of districts, and the largest of hexagons in the square around the area.
_FEW_DISTRICTS, _MOST_HEXAGONS = 4, 10_000
#: A count is good, or not hopeless, if it is off by at most this share of the persons of an average district.
_GOOD_COUNT, _FAIR_COUNT = 0.2, 1.0
#: The same for flows.
_MANY_PLACES, _FEW_PLACES = 6, 3
#: Somebody with a single point stands out from this noise in persons. Maps with more noise are fair at best.
_STANDS_OUT, _FAIR_NOISE, _MOST_NOISE = 0.1, 0.35, 0.8
#: Where so many times the noise are, they are told from it.
_SEEN = 3
#: The margin in metres of discs that leave more of short tracks.
_SMALL_MARGIN = 100
#: Tracks are worth while outside of a disc if this share of them is left, and good with this one.
_LEFT, _MOSTLY_LEFT = 0.25, 0.5
#: The smallest number of points of a track, and of thinned points; and the largest share of points that thinning may
#: keep, to be worth while.
_FEW_POINTS, _THINNED = 12, 0.8
#: The ratio of the radius that holds 95% of a two-dimensional Gaussian to its standard deviation along an axis, and to
#: its root mean square.
_RADIUS, _MEAN_SQUARE = math.sqrt(2 * math.log(20)), math.sqrt(math.log(20))
#: The smallest crowd: persons, or days of a person if these are what is protected.
_CROWD = 1.5
#: Time is not cut into slices.
_WHOLE = Slices()


@dataclass(frozen=True)
class Outlook:
    """What a purpose can expect under a guarantee, with the best settings found.

    Parameters
    ----------
    error : float
        The error: in metres, or in persons.
    unit : {"m", "persons"}
        Its unit.
    short, text : str
        The error for a table, and in words.
    verdict : {"good", "fair", "hopeless"}
        Whether it is of use.
    data, question : dict
        The settings of the data and those of the question, by their names in Python.
    asks : str
        The question that is asked, if that is not the purpose's.
    """

    error: float
    unit: Literal["m", "persons"]
    short: str
    text: str
    verdict: Verdict
    data: Mapping[str, str] = field(default_factory=dict)
    question: Mapping[str, str | float] = field(default_factory=dict)
    asks: str = ""

    @property
    def settings(self) -> dict[str, str | float]:
        """All settings by their names."""
        return {**self.data, **self.question}


class Purpose(ABC):
    """Something that data is released for."""

    #: Its name, what its owner wishes to publish, and the question that is asked.
    name: ClassVar[str]
    wish: ClassVar[str]
    question: ClassVar[str]

    @abstractmethod
    def suits(self, rows: PublicRows) -> bool:
        """Return whether rows of this kind can serve the purpose at all."""

    @abstractmethod
    def offers(self, rows: PublicRows, guarantee: Guarantee) -> Sequence[Outlook]:
        """Return what can be expected, with the settings of each; those that protect most are first.

        The guarantee is for all points of a person.
        """

    def best(self, offers: Sequence[Outlook], within: float | None = None) -> Outlook:
        """Return the best offer. What was seen of places may change its verdict, and never which one it is."""
        return best_of(offers, within)

    def outlook(self, rows: PublicRows, guarantee: Guarantee, within: float | None = None) -> Outlook:
        """Return the best of all offers, or the first one whose error is within what is wanted."""
        return self.best(self.offers(rows, guarantee), within)


def best_of(offers: Sequence[Outlook], within: float | None = None) -> Outlook:
    """Return the first offer that is good, else the first that is fair, else the one with the smallest error.

    Parameters
    ----------
    offers : sequence of Outlook
        At least one.
    within : float, optional
        The largest error that is of use, in metres or persons. Errors alone decide then.
    """
    nearest = min(offers, key=lambda each: each.error)
    if within is None:
        return next((each for wanted in _ORDER[:2] for each in offers if each.verdict == wanted), nearest)
    useful = [each for each in offers if each.verdict != "hopeless"]
    found = next((each for each in useful if each.error <= within), None)
    if found is not None:
        return replace(found, verdict="good")
    nearest = min(useful or offers, key=lambda each: each.error)
    most = metres(within) if nearest.unit == "m" else f"{within:g} persons"
    return replace(nearest, verdict="hopeless", text=f"{nearest.text}: more than {most}, and nothing found is nearer")


def _hidden(guarantee: Guarantee) -> float:
    return guarantee.hidden(chance=0.75)


def _gaussian_rho(guarantee: Guarantee) -> float:
    """Return the budget of CGP that hides the same distance."""
    return float(guarantee.budget) if isinstance(guarantee, CGP) else math.log(3) / 2 / _hidden(guarantee) ** 2


def _judged(error: float, rows: PublicRows, guarantee: Guarantee) -> Verdict:
    """Judge the error radius of points that holds with probability 95%."""
    alone = _radius(rows, guarantee, 1, 1)
    if is_hopeless(error, alone, rows.plane.area):
        return "hopeless"
    near = error <= min(_NEAR * _hidden(guarantee), _SHARE * rows.plane.area.radius)
    return "good" if near else "fair"


def _radius(rows: PublicRows, guarantee: Guarantee, n: int, largest: int) -> float:
    """Return the 95% error radius of any one of n points, of which at most `largest` are protected together."""
    return _planned("points", rows, guarantee, n, largest, each=True)


def _planned(
    question: str,
    rows: PublicRows,
    guarantee: Guarantee,
    n: int,
    largest: int,
    *,
    each: bool = False,
    **options: Any,
) -> float:
    rho = guarantee if isinstance(guarantee, CGP) else None
    epsilon = guarantee if isinstance(guarantee, GP) else None
    area = rows.plane.area
    return plan(question, n=n, largest=largest, rho=rho, epsilon=epsilon, each=each, area=area, **options).error


class HomePurpose(Purpose):
    """Tracks of one person, as they are but for the surroundings of a place that is hidden."""

    name, wish, question = "home", "share tracks, but hide where I live", "zones"

    def suits(self, rows: PublicRows) -> bool:
        return rows.start is not None and rows.ends == 1 and not rows.named and not rows.by_row

    def offers(self, rows: PublicRows, guarantee: Guarantee) -> Sequence[Outlook]:
        if not isinstance(guarantee, CGP):
            return [Outlook(0.0, "m", "", "discs need the noise of concentrated geo-privacy", "hopeless")]
        # A smaller margin hides less of what happens around a place, and leaves more of short tracks.
        return [self._outlook(rows, guarantee, margin) for margin in (MARGIN, _SMALL_MARGIN)]

    def best(self, offers: Sequence[Outlook], within: float | None = None) -> Outlook:
        return offers[0]

    def _outlook(self, rows: PublicRows, guarantee: Guarantee, margin: int) -> Outlook:
        radius = Hiding.of(hide=round(_hidden(guarantee), 3), margin=margin).radius
        left = None if rows.from_start is None else float((rows.from_start > radius).mean())
        if left is not None and left < _LEFT:
            told = f"a disc of {metres(radius)} around their start would cover {1 - left:.0%} of the tracks"
            return Outlook(0.0, "m", "", f"{told} (this looked at the data)", "hopeless")
        told = (
            f"points are released exactly, but for those in a disc of {metres(radius)} around your home, whose middle "
            "is drawn at random; nothing else is hidden"
        )
        if left is not None:
            told = f"{told}; about {left:.0%} of the points are left (this looked at the data)"
        verdict: Verdict = "fair" if left is not None and left < _MOSTLY_LEFT else "good"
        question: dict[str, str | float] = {} if margin == MARGIN else {"margin": margin}
        return Outlook(0.0, "m", "exact", told, verdict, {}, question)


class TrackPurpose(Purpose):
    """Tracks with times, of one person or of many."""

    name, wish, question = "tracks", "share tracks", "points"

    def suits(self, rows: PublicRows) -> bool:
        return rows.timed and rows.ends == 1 and rows.typical(dist_inf, None).points >= _FEW_POINTS

    def offers(self, rows: PublicRows, guarantee: Guarantee) -> Sequence[Outlook]:
        protects = rows.protects("1 day", "1 hour", "10 minutes")
        return [each for protect in protects for each in self._outlooks(rows, guarantee, protect)]

    def _outlooks(self, rows: PublicRows, guarantee: Guarantee, protect: str | None) -> Iterator[Outlook]:
        wanted = rows.protecting(guarantee, protect)
        for thin in rows.thins("1 minute", "10 minutes"):
            found = rows.typical(wanted.metric, thin)
            if thin is not None and (found.points < _FEW_POINTS or rows.kept_share(thin) > _THINNED):
                continue
            radius = _radius(rows, wanted, found.points, found.largest)
            data = _timed(rows, protect=protect, thin=thin)
            whole = f"{_kept(thin)}protecting {_protecting(protect, rows)}"
            told = f"points are off by up to {metres(radius)}, {whole}"
            plain = Outlook(radius, "m", metres(radius, 2), told, _judged(radius, rows, guarantee), data)
            # Smoothing costs nothing, and is left out where it is not needed.
            if isinstance(guarantee, CGP) and not rows.untimed and plain.verdict != "good":
                error = expected_error(found.seconds, radius / _RADIUS, CAR)
                verdict = _judged(_MEAN_SQUARE * error, rows, guarantee)
                told = f"after smoothing points are typically off by {metres(error)}, {whole}"
                yield Outlook(error, "m", metres(error, 2), told, verdict, data, {"motion": "car"})
            yield plain


def points_outlook(rows: PublicRows, guarantee: Guarantee) -> Outlook:
    """Return what to expect of all points, as they are protected and thinned, without smoothing."""
    wanted = rows.protecting(guarantee, rows.protect)
    found = rows.typical(wanted.metric, None)
    radius = _radius(rows, wanted, found.points, found.largest)
    told = f"points are off by up to {metres(radius)}"
    return Outlook(radius, "m", metres(radius, 2), told, _judged(radius, rows, guarantee))


def smoothed_hopeless(rows: PublicRows, guarantee: Guarantee, motion: Motion) -> bool:
    """Return whether tracks are useless even after smoothing, given the motion that is assumed."""
    found = rows.typical(guarantee.metric, None)
    radius = _radius(rows, guarantee, found.points, found.largest)
    error = _MEAN_SQUARE * expected_error(found.seconds, radius / _RADIUS, motion)
    return is_hopeless(error, _radius(rows, guarantee, 1, 1), rows.plane.area)


class PointPurpose(Purpose):
    """Single points, such as sightings, addresses or visits."""

    name, wish, question = "points", "publish single points for research", "points"

    def suits(self, rows: PublicRows) -> bool:
        return rows.named or not rows.timed

    def offers(self, rows: PublicRows, guarantee: Guarantee) -> Sequence[Outlook]:
        protects = rows.protects("1 day", "1 hour")
        return [each for protect in protects for each in self._outlooks(rows, guarantee, protect)]

    def _outlooks(self, rows: PublicRows, guarantee: Guarantee, protect: str | None) -> Iterator[Outlook]:
        wanted = rows.protecting(guarantee, protect)
        for thin in rows.thins("1 hour", "1 day"):
            if thin is not None and not _FEW_POINTS / rows.points <= rows.kept_share(thin) <= _THINNED:
                continue
            found = rows.typical(wanted.metric, thin)
            radius = _radius(rows, wanted, found.points, found.largest)
            whole = "" if found.points == 1 else f", {_kept(thin)}protecting {_protecting(protect, rows)}"
            told = f"points are off by up to {metres(radius)}{whole}"
            verdict = _judged(radius, rows, guarantee)
            timed = thin is not None or wanted.metric.stretch is not None
            data = _timed(rows, protect=protect, thin=thin) if timed or protect is None else {"protect": protect}
            yield Outlook(radius, "m", metres(radius, 2), told, verdict, data)


class AnswerPurpose(Purpose):
    """Answers about each person: the middle of their points, or center, radius and bounds."""

    name, wish, question = "answers", "answer questions about each person", "mean"

    def suits(self, rows: PublicRows) -> bool:
        return not rows.by_row and rows.typical(dist_inf, None).points > 1

    def offers(self, rows: PublicRows, guarantee: Guarantee) -> Sequence[Outlook]:
        found = []
        for protect in rows.protects("1 day"):
            wanted = rows.protecting(guarantee, protect)
            typical = rows.typical(wanted.metric, None)
            error = _planned("mean", rows, wanted, typical.points, typical.largest)
            whole = f"protecting {_protecting(protect, rows)}"
            told = f"the middle (mean) of a person's points is off by up to {metres(error)}, {whole}"
            verdict, data = _judged(error, rows, guarantee), _timed(rows, protect=protect)
            found.append(Outlook(error, "m", metres(error, 2), told, verdict, data))
        return [found[0], summary_outlook(rows, guarantee), *found[1:]]


def summary_outlook(rows: PublicRows, guarantee: Guarantee) -> Outlook:
    """Return what to expect of center, radius and bounds of each person, which share one budget."""
    wanted = rows.protecting(guarantee, rows.protect)
    typical = rows.typical(wanted.metric, None)
    error = _planned("center", rows, wanted / 3, typical.points, typical.largest)
    told = f"the center of a person's points is off by up to {metres(error)}; radius and bounds come with it"
    data = _timed(rows, protect=rows.protect)
    return Outlook(error, "m", metres(error, 2), told, _judged(error, rows, guarantee), data, asks="summary")


def planned_answer(question: str, rows: PublicRows, guarantee: Guarantee, **options: Any) -> Outlook:
    """Return what to expect of a question about each person, which has options; it is judged by the area alone."""
    wanted = rows.protecting(guarantee, rows.protect)
    found = rows.typical(wanted.metric, None)
    error = _planned(question, rows, wanted, found.points, found.largest, **options)
    told = f"the answer for a typical person is off by up to {metres(error)}"
    # That of a single point, which points are compared with, says little about a hull or a distance.
    verdict: Verdict = "hopeless" if is_hopeless(error, math.inf, rows.plane.area) else "fair"
    return Outlook(error, "m", metres(error, 2), told, verdict)


class MapPurpose(Purpose):
    """A heat map of a crowd."""

    name, wish, question = "map", "publish a map of where people are", "heatmap"

    def suits(self, rows: PublicRows) -> bool:
        return rows.named

    def offers(self, rows: PublicRows, guarantee: Guarantee) -> Sequence[Outlook]:
        wanted = rows.protecting(guarantee, rows.protect, crowd=True)
        crowd, total, side = rows.crowd(wanted.metric), _total(rows, wanted), rows.side
        if total < _CROWD:
            return [_alone(total, "a map of one person")]
        flat, strength = in_the_plane(wanted, rows.plane.area), math.sqrt(_gaussian_rho(wanted))

        def offer(cell: float) -> tuple[float, Outlook]:
            # Finer cells are of use with a kernel that is as narrow; the usual one has the side of the first cells.
            narrow = {} if cell > 0.9 * even else {"bandwidth": float(round(cell / math.sqrt(3)))}
            query = heatmap(cell, rows.plane, **narrow).query(crowd, flat, total, _WHOLE)
            noise = query.mechanism.deviation * cell / query.lattice.cell
            return noise, self._outlook(cell, noise, rows, total, narrow)

        # Squares of the first side have as many persons as noise, if these are spread evenly. Somebody with one point
        # stands out in smaller ones, too, and so do those who stay where they are.
        alone = _NOISE / (_STANDS_OUT * strength) if rows.single else math.inf

        def first_side(width: float) -> float:
            return min(math.cbrt(_NOISE * width**2 / (total * strength)), alone)

        even = first_side(side)
        cell = round_length(max(even, side / _FINEST))
        least = _STANDS_OUT if rows.single else 0.0
        noise, found = offer(cell)
        while noise > 1.5 * max(total * (cell / side) ** 2, least) and cell <= side / _FEW_CELLS:
            cell = round_length(1.05 * cell)
            noise, found = offer(cell)
        if found.verdict == "hopeless":
            finer = cell * first_side(rows.width) / even
            found = replace(found, text=_too_coarse(cell, finer, rows, _units(rows, total), _FEW_CELLS))
        offers = [found]
        while (cell := round_length(cell / 2)) >= side / _FINEST:
            noise, found = offer(cell)
            if noise > _MOST_NOISE:
                break
            offers.append(found)
        return offers

    def best(self, offers: Sequence[Outlook], within: float | None = None) -> Outlook:
        return offers[0] if within is None else best_of(offers, within)

    def _outlook(
        self, cell: float, noise: float, rows: PublicRows, total: float, narrow: Mapping[str, float]
    ) -> Outlook:
        verdict = _resolved(cell, rows, _MANY_CELLS, _FEW_CELLS)
        told = f"cells of {metres(cell)}, each with a noise of {noise:.2g} persons, of {_units(rows, total)}"
        if narrow:
            told += f"; they show where about {counted(math.ceil(_SEEN * noise), 'person')} or more are"
        if noise > _FAIR_NOISE and verdict == "good":
            verdict = "fair"
        return Outlook(cell, "m", metres(cell, 2), told, verdict, {}, {"cell": cell, **narrow})


class CountPurpose(Purpose):
    """Counts by district."""

    name, wish, question = "counts", "publish counts by district", "counts"

    def suits(self, rows: PublicRows) -> bool:
        return rows.named

    def offers(self, rows: PublicRows, guarantee: Guarantee) -> Sequence[Outlook]:
        wanted = rows.protecting(guarantee, rows.protect, crowd=True)
        total, found = _total(rows, wanted), []
        if total < _CROWD:
            return [_alone(total, "counts of one person")]
        for resolution, area in _HEXAGONS.items():
            if _FEW_DISTRICTS * area <= rows.side**2 <= _MOST_HEXAGONS * area:
                public = self._counted(rows, wanted, total, resolution, rows.side)
                found.append((public.verdict, self._counted(rows, wanted, total, resolution, rows.width)))
        # Public numbers decide which one is first, the smallest that show something; where most points are decides
        # how useful it is.
        found.sort(key=lambda each: each[0] == "hopeless")
        none = Outlook(total, "persons", "", "no districts suit the area", "hopeless")
        return [offer for _, offer in found] or [none]

    def best(self, offers: Sequence[Outlook], within: float | None = None) -> Outlook:
        return offers[0] if within is None else best_of(offers, within)

    def _counted(self, rows: PublicRows, guarantee: Guarantee, total: float, resolution: int, width: float) -> Outlook:
        area = _HEXAGONS[resolution]
        areas = np.full(math.ceil(rows.side**2 / area), area)
        districts = max(width**2 / area, 1.0)
        found = replace(_counted(total, guarantee, areas, districts), question={"regions": f"h3:{resolution}"})
        if districts >= _FEW_DISTRICTS:
            return found
        told = f"most points are in {districts:.1f} districts of {_square_km(area)} (this looked at the data)"
        return replace(found, verdict="hopeless", text=f"{told}: name smaller ones, or a smaller area")


def count_outlook(rows: PublicRows, guarantee: Guarantee, areas: Floats) -> Outlook:
    """Return what to expect of counts in regions of these areas in m²."""
    wanted = rows.protecting(guarantee, rows.protect, crowd=True)
    total = _total(rows, wanted)
    return _alone(total, "counts of one person") if total < _CROWD else _counted(total, wanted, areas, len(areas))


def _counted(total: float, guarantee: Guarantee, areas: Floats, districts: float) -> Outlook:
    error = count_blurs(total, _gaussian_rho(guarantee), areas, 4 * np.sqrt(areas)).deviation
    share = error / (total / districts)
    verdict: Verdict = "good" if share <= _GOOD_COUNT else "fair" if share <= _FAIR_COUNT else "hopeless"
    size = _square_km(float(areas.mean()))
    mean = f"{float(f'{total / districts:.2g}'):,.10g}"
    told = f"the count of a district of {size} is typically off by {error:.2g} of {mean} persons"
    return Outlook(error, "persons", f"±{error:.2g} in {size}", told, verdict)


def _alone(total: float, what: str) -> Outlook:
    """Return what to expect of a crowd of one."""
    told = f"{what} would only tell where this person is, blurred: a crowd needs others"
    return Outlook(total, "persons", "", told, "hopeless")


def _square_km(area: float) -> str:
    return f"{float(f'{area / 1e6:.2g}'):,.10g} km²"


class FlowPurpose(Purpose):
    """Flows between places."""

    name, wish, question = "flows", "publish flows between places", "flows"

    def suits(self, rows: PublicRows) -> bool:
        return rows.named and (rows.ends == 2 or rows.trip is not None)

    def offers(self, rows: PublicRows, guarantee: Guarantee) -> Sequence[Outlook]:
        wanted = rows.protecting(guarantee, rows.protect, crowd=True)
        total = _total(rows, wanted)
        if total < _CROWD:
            return [_alone(total, "flows of one person")]
        found = advise_flows(total, rows.side**2, _gaussian_rho(wanted))
        verdict = _resolved(found.cell, rows, _MANY_PLACES, _FEW_PLACES)
        told = f"flows between cells of {metres(found.cell)}, all of them together wrong by about {found.share:.0%}"
        if verdict == "hopeless":
            finer = advise_flows(total, rows.width**2, _gaussian_rho(wanted)).cell
            told = _too_coarse(found.cell, finer, rows, _units(rows, total), _FEW_PLACES)
        question: dict[str, str | float] = {"cell": found.cell}
        if rows.ends == 1 and rows.trip is not None:
            question["trip"] = rows.trip
        return [Outlook(found.cell, "m", metres(found.cell, 2), told, verdict, {}, question)]


#: The purposes, in the order in which they are shown.
PURPOSES: tuple[Purpose, ...] = (
    FlowPurpose(),
    MapPurpose(),
    CountPurpose(),
    HomePurpose(),
    TrackPurpose(),
    PointPurpose(),
    AnswerPurpose(),
)


def _resolved(cell: float, rows: PublicRows, many: int, few: int) -> Verdict:
    """Judge cells by how many of them are along the side of what they show."""
    across = rows.width / cell
    return "good" if across >= many else "fair" if across >= few else "hopeless"


def _too_coarse(cell: float, finer: float, rows: PublicRows, crowd: str, few: int) -> str:
    """Say why cells are too coarse; and that a smaller area helps if cells are then fine enough."""
    told = f"{crowd} in an area {metres(rows.side, 2)} wide show cells of {metres(cell)}"
    if not rows.width or rows.width < few * finer:
        return f"{told}: too few"
    where = f"most points are within {metres(rows.width, 2)} (this looked at the data)"
    return f"{told}, and {where}: with an area as small, cells would be about {metres(round_length(finer))}"


def _total(rows: PublicRows, guarantee: Guarantee) -> float:
    """Return the public total of a crowd: the number of units that are protected, or nearly."""
    sizes, counts = rows.crowd(guarantee.metric).all_sizes
    return float((counts / sizes).sum())


def _timed(rows: PublicRows, **settings: str | None) -> dict[str, str]:
    """Return the settings that are stated; rows without a time are removed where times are used."""
    if rows.untimed:
        settings["missing"] = "drop"
    return {name: value for name, value in settings.items() if value is not None}


def _kept(thin: str | None) -> str:
    return "" if thin is None else f"one point every {thin.removeprefix('1 ')} is kept, "


def _protecting(protect: str | None, rows: PublicRows) -> str:
    """Return what is protected together, in words."""
    metric = protected_metric(protect)
    if metric is not None:
        return protected(metric)
    if rows.by_row:
        return "both places of a row together" if rows.ends == 2 else "all points of a row together"
    return "all points of a person together" if rows.named else "all points together"


def _units(rows: PublicRows, total: float) -> str:
    """Return a number of units of a crowd, in words."""
    number = round(total)
    if rows.protect is None:
        return counted(number, "person")
    return f"{number:,} times {_protecting(rows.protect, rows)}"
