"""Releases: private answers with their guarantee, their error bounds and their certificate."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from geoveil._types import Labels, Times
from geoveil._version import __version__
from geoveil.arithmetic import steady
from geoveil.budget import Entry
from geoveil.cards import Rows
from geoveil.certificates import SCHEMA
from geoveil.errors import NoErrorBound
from geoveil.facts import ErrorBound, Exactness, Facts, MechanismUse, Processing, Removed, Unchanged
from geoveil.geo import Form, Pairs, Plane, form_of
from geoveil.ground_error import ground_error, ground_length_error
from geoveil.mechanisms import Mechanism
from geoveil.privacy import Guarantee, dist_inf, protected_metric
from geoveil.queries import Answer
from geoveil.release.shown import Shown
from geoveil.wording import heading, lines, moment, paragraphs, protected, steps_line

if TYPE_CHECKING:
    import pyproj

__all__ = ["Release"]

#: A value, or, where the input has several persons, a pandas.Series of one value for each.
PerPerson: TypeAlias = Any

_PUBLIC = ["the number of points", "their order", "timestamps", "identifiers", "the parameters of the query"]


@dataclass(frozen=True, eq=False, repr=False)
class Release(Shown):
    """A private answer, with its guarantee and its error bounds. It never holds the input.

    Parameters
    ----------
    value : object
        The answer, in the form of the input.
    answers : tuple of Answer
        The answer about each person.
    guarantee : CGP or GP
        The guarantee for each person, per metre on the ground.
    n : int
        The number of points in the input.
    coords : array, optional
        The released coordinates in metres of the plane, where there are any.
    point_scales : array, optional
        The scale of the noise of each released point in metres, where the points of a person differ in it.
    plane : Plane, optional
        The plane of these metres, and the coordinate system of the input.
    pairs : tuple of pairs of names
        The columns of coordinates, longitude and latitude or x and y, where the value is a table without geometries.
    person : pandas.Index, optional
        The persons, in the order of their answers; None where all points are taken as one person's.
    crowd : int, optional
        The number of persons whom one answer is about, where it is about many together.
    outside : {"refuse", "clamp", "drop"}
        What was done about points outside the area before the question was answered: there were none, they were moved
        to its edge, from where errors count, or their rows were removed.
    pseudonyms : bool
        Whether the persons have random labels in place of their own.
    removed : Removed
        The rows, columns and persons of the input that are not in the release.
    unchanged : tuple of Unchanged
        The columns of the input that are in the release as they were.
    processing : Processing
        The steps taken since it was drawn, and what they did to the error bound.
    times : tuple of str, optional
        The columns of times from which stretches of time were counted, where the guarantee is about these.
    span : (int, int), optional
        The first and the last of these times, in microseconds since 1970 or from the beginning of durations.
    inexact : str
        The reason why the noise is not ideal to the last bit; empty if it is.
    entry : Entry, optional
        The entry in a ledger's history that charged it, if one did.
    id : str
        Identifies the release in certificates and ledgers.

    Examples
    --------
    >>> release = gv.Locations(homes, area=bay).points(rho=1e-4)
    >>> release
    Release of points: 3 points of one person
      guarantee  74.1 m hidden at 75% (CGP with ρ = 0.0001 per m²)
      mechanism  Gaussian of scale 122.5 m
      error      at most 350 m with probability 95%; a single point at most 300 m
      exact      yes
    >>> release.value.geom_type.tolist()
    ['Point', 'Point', 'Point']
    >>> round(release.error()), round(release.error(each=True))
    (350, 300)
    """

    value: Any
    answers: tuple[Answer, ...] = field(kw_only=True)
    guarantee: Guarantee = field(kw_only=True)
    n: int = field(kw_only=True)
    coords: NDArray[np.float64] | None = field(kw_only=True, default=None)
    point_scales: NDArray[np.float64] | None = field(kw_only=True, default=None)
    plane: Plane | None = field(kw_only=True, default=None)
    pairs: Pairs = field(kw_only=True, default=())
    person: Any = field(kw_only=True, default=None)
    crowd: int | None = field(kw_only=True, default=None)
    outside: Literal["refuse", "clamp", "drop"] = field(kw_only=True, default="refuse")
    pseudonyms: bool = field(kw_only=True, default=False)
    removed: Removed = field(kw_only=True, default=Removed())
    unchanged: tuple[Unchanged, ...] = field(kw_only=True, default=())
    processing: Processing = field(kw_only=True, default=Processing())
    times: tuple[str, ...] | None = field(kw_only=True, default=None)
    span: tuple[int, int] | None = field(kw_only=True, default=None)
    inexact: str = field(kw_only=True, default="")
    entry: Entry | None = field(kw_only=True, default=None)
    id: str = field(kw_only=True, default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        for array in (self.value, self.coords, self.point_scales):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays that were unpickled are writeable.
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def form(self) -> Form:
        """The form of released points, which knows their columns and returns them with other coordinates."""
        return form_of(self.value, self.plane, self.pairs)

    @property
    def crs(self) -> pyproj.CRS | None:
        """The coordinate system of the input, and of the value."""
        return None if self.plane is None else self.plane.crs

    @property
    def beyond(self) -> int:
        """The number of released points outside the domain of their coordinate system, moved to its edge."""
        return 0 if self.plane is None or self.coords is None else self.plane.beyond(self.coords)

    @property
    def also(self) -> Guarantee | None:
        """A second guarantee, of the other notion, that holds for each person; None if there is none."""
        # Persons with equally many points share an answer's query.
        distinct = {id(a.query): a.query for a in self.answers}.values()
        carried = [] if self.processing.combined else [query.also for query in distinct]
        most = max((g for g in carried if g is not None), key=lambda g: g.budget, default=None)
        if most is None or self.plane is None:
            return most
        # A guarantee per metre of the plane is weaker per metre on the ground by the factor that the plane stretches.
        stretch = self.plane.area.stretch
        return most * stretch * stretch if most.power == 2 else most * stretch

    @property
    def query(self) -> str:
        """The name of the question."""
        return self.answers[0].query.name

    @property
    def kind(self) -> str:
        """The kind of the value: "points", "place", "box", "body", "length", "position", "cells", ..."""
        return self.answers[0].query.kind

    @property
    def method(self) -> str:
        """The algorithm that answered it."""
        return self.answers[0].query.method

    @property
    def exact(self) -> bool:
        """Whether the noise is ideal to the last bit; if not, `inexact` says why."""
        return not self.inexact

    @property
    def mechanism(self) -> PerPerson:
        """The mechanism that was run, or a tuple of several in their order; with several persons, a Series."""
        return self._each_person(lambda a: a.mechanisms[0] if len(a.mechanisms) == 1 else a.mechanisms)

    @property
    def scale(self) -> PerPerson:
        """The noise scale in metres, or a tuple for several mechanisms; with several persons, a Series."""
        return self._each_person(
            lambda a: a.mechanisms[0].scale if len(a.mechanisms) == 1 else tuple(m.scale for m in a.mechanisms)
        )

    @steady()
    def error(self, beta: float = 0.05, *, each: bool = False) -> PerPerson:
        """Bound the error in metres with probability 1-β; with several persons, the error of each.

        Parameters
        ----------
        beta : float
            The probability that the error is larger.
        each : bool
            For points, neighbours and bounds: the error of any one of them instead of the largest.

        Returns
        -------
        float or pandas.Series
            The bound, or that of each person.

        Examples
        --------
        >>> release = gv.Locations(np.zeros((100, 2))).points(rho=5e-5)
        >>> round(release.error(0.05)), round(release.error(0.05, each=True))
        (3892, 2448)
        """
        if not self.processing.bounded:
            see = "" if self.processing.expected is None else "; see expected_error()"
            steps = steps_line(self.processing.steps)
            raise NoErrorBound(f"No theorem bounds the error of a release that was {steps}{see}.")
        # The bound of a hull takes milliseconds, and releases of many persons are asked for it again and again.
        known = self.__dict__.setdefault("_errors", {})
        if (beta, each) not in known:
            known[beta, each] = self._lengthened(
                self._each_person(lambda a: self._bound(a, beta, each=each), by_query=self.answers[0].same_error)
            )
        found = known[beta, each]
        return found if self.person is None else found.copy()

    def _bound(self, answer: Answer, beta: float, *, each: bool = False) -> float:
        """Return the error bound of an answer: on the ground or, for lengths, in metres of the plane."""
        bound = answer.error(beta, each=each) + answer.query.rounding_error
        if self.plane is None or answer.query.kind == "length":
            return bound
        return ground_error(answer.query, bound, self.plane.area)

    def _lengthened(self, bound: PerPerson) -> PerPerson:
        """Return error bounds of lengths on the ground, where they depend on the length that was released."""
        query = self.answers[0].query
        if self.plane is None or query.kind != "length":
            return bound
        length = np.asarray(self.value, dtype=float).reshape(np.shape(bound))
        found = ground_length_error(query, np.asarray(bound), self.plane.area, length)
        return float(found) if self.person is None else bound * 0 + found

    @steady()
    def place_error(self, beta: float = 0.05) -> float | None:
        """Bound the error in metres of one released location of a neighbour, with probability 1-β; None without one.

        Examples
        --------
        >>> x = np.column_stack([np.arange(100) * 1000.0, np.zeros(100)])
        >>> round(gv.Locations(x).nearest((0, 0), k=3, locations=0.5, rho=1e-2).place_error(0.05))
        42
        """
        query: Any = self.answers[0].query
        placing = getattr(query, "placing", None)
        if placing is None:
            return None
        error = float(placing.error(beta, blocks=query.k, each=True)) + self.rounding
        return error if self.plane is None else self.plane.area.ground(error)

    def cost(self, protect: str | timedelta | None = None, *, times: Times = None, person: Labels = None) -> Guarantee:
        """Return the guarantee of the release if something else is hidden together, from the cost of its mechanism.

        Parameters
        ----------
        protect : str or timedelta, optional
            What is hidden together: a length of time such as "1 day", or "point"; by default all points of a person.
        times : str, array or Series, optional
            The public time of each released point, for a length of time.
        person : array of labels, optional
            The person of each point, if the release does not know it.

        Returns
        -------
        CGP or GP
            The guarantee. An error is raised if it is not known.

        Examples
        --------
        >>> hours = np.arange("2026-05-04", "2026-05-06", dtype="datetime64[h]")
        >>> walk = np.zeros((48, 2))
        >>> release = gv.Locations(walk, protect="1 day", times=hours).points(rho=1e-4)
        >>> round(float(release.cost().rho), 6), release.cost("1 hour", times=hours).metric
        (0.000192, dist_[1 hour])
        """
        from geoveil.release.unit_costs import unit_cost

        return unit_cost(self, protected_metric(protect) or dist_inf, times, person)

    @property
    def rounding(self) -> float:
        """The largest distance in metres by which a point was rounded before the question was answered.

        It is 0 for metres, and for degrees in a plane of `gv.local`, which are projected to any precision. Other
        projections round, and so do the doubles that a user's own function gets: the guarantee then holds as if every
        point were twice this distance farther from every other.
        """
        return max([answer.query.rounding for answer in self.answers])

    def expected_error(self) -> float:
        """Return the root mean square error to expect in metres, if the prior named in `processing` holds.

        It is not a bound.

        Examples
        --------
        >>> release = gv.Locations(homes, area=bay).points(rho=1e-4)
        >>> smoothed = gv.smooth(release, times=[0, 60, 120], motion="walking")
        >>> smoothed.expected_error() < release.error()
        True
        """
        expected = self.processing.expected
        if expected is None:
            raise NoErrorBound("Only smoothed and remapped points have an expected error.")
        return expected if self.plane is None else expected / self.plane.area.shrink

    @property
    def positions(self) -> PerPerson:
        """The positions in the input of the points found, counting vertices; with several persons, a Series."""
        return self._each_person(lambda a: a.value if a.query.kind in ("positions", "position") else None)

    def _each_person(self, ask: Callable[[Answer], Any], *, by_query: bool = False) -> PerPerson:
        if self.person is None:
            return ask(self.answers[0])
        import pandas as pd

        # Persons with the same number of points share a query, so that nothing is computed twice.
        keys = [id(a.query) if by_query else id(a) for a in self.answers]
        known = {key: ask(answer) for key, answer in dict(zip(keys, self.answers, strict=True)).items()}
        return pd.Series([known[key] for key in keys], index=self.person, name=self.query)

    @steady()
    def facts(self, *, every_error: bool = True) -> Facts:
        """Return the facts about the release as data.

        Parameters
        ----------
        every_error : bool
            Whether the error bound covers all persons, which can take a while; otherwise, where each person's must
            be computed separately, it is that of the first person.

        Examples
        --------
        >>> facts = gv.Locations([[0.0, 0.0], [100.0, 0.0]]).mean(rho=1e-4).facts()
        >>> facts.query, facts.points, facts.guarantee, round(facts.error.largest), facts.exactness.inexact
        ('mean', 2, CGP(rho=0.0001), 173, '')
        """
        return Facts(
            query=self.query,
            method=self.method,
            points=self.n,
            persons=None if self.person is None else len(self.person),
            crowd=self.crowd,
            guarantee=self.guarantee,
            also=self.also,
            mechanisms=tuple(
                MechanismUse(type(mechanism).__name__, mechanism.scale, times)
                for mechanism, times in _runs(self.answers[0])
            ),
            error=self._error_bound(every=every_error) if self.processing.bounded else None,
            expected_error=None if self.processing.expected is None else self.expected_error(),
            exactness=Exactness(self.inexact, self.answers[0].query.fn_error, self.rounding),
            outside=self.outside,
            pseudonyms=self.pseudonyms,
            removed=self.removed,
            unchanged=self.unchanged,
            times=self.times,
            span=self.span,
            processed=self.processing.steps,
            charged=self.entry is not None,
        )

    def _error_bound(self, *, every: bool) -> ErrorBound:
        if self.person is not None and not every and not self.answers[0].same_error:
            bound = self._bound(self.answers[0], 0.05)
            return ErrorBound(bound, bound, "first person")
        found, location = self.error(0.05), self.place_error(0.05)
        if self.person is not None:
            return ErrorBound(float(found.min()), float(found.max()), "each person", location=location)
        point = self.error(0.05, each=True) if self.query == "points" and self.n > 1 else None
        return ErrorBound(found, found, point=point, location=location)

    @steady()
    def certificate(self) -> dict[str, Any]:
        """Return a JSON-ready description of the release and its guarantee.

        Examples
        --------
        >>> certificate = gv.Locations([[0.0, 0.0], [100.0, 0.0]]).mean(rho=1e-4).certificate()
        >>> certificate["notion"], certificate["rho"], certificate["metric"], certificate["query"]
        ('CGP', '0.0001', 'dist_inf', 'mean')
        """
        facts = self.facts()
        account: dict[str, Any] = {
            "schema": SCHEMA,
            **facts.guarantee.certificate(),
            "protects": protected(facts.guarantee.metric),
            "times": None if facts.times is None else list(facts.times),
            "span": None if facts.span is None else [moment(time) for time in facts.span],
            "also": None if facts.also is None else facts.also.certificate(),
            "words": " ".join(paragraphs(facts)),
            "public": _PUBLIC,
            "unchanged": [
                {"name": str(column.name), "reason": column.reason, "warnings": list(column.warnings)}
                for column in facts.unchanged
            ],
            "query": facts.query,
            "method": facts.method,
            "n": facts.points,
            "persons": facts.persons or facts.crowd or 1,
            "pseudonyms": facts.pseudonyms,
            "outside": facts.outside,
            "where": facts.removed.where,
            "rows_removed": {
                "filtered": facts.removed.filtered,
                "missing": facts.removed.missing,
                "outside": facts.removed.outside,
                "thinned": facts.removed.thinned,
                "untimed": facts.removed.untimed,
            },
            "crs": self._system(),
            "area": None if self.plane is None else self.plane.area.certificate(),
            "beyond_the_map": self.beyond,
            "exact": self.exact,
            "inexact": facts.exactness.inexact,
            "fn_error": facts.exactness.fn_error,
            "rounding": facts.exactness.rounding,
            "entry": None if self.entry is None else self.entry.certificate(),
            "version": __version__,
            "id": self.id,
            "processed": list(facts.processed),
            "expected_error": facts.expected_error,
        }
        radius = self.error(0.05, each=self.query == "points") if self.processing.bounded else None
        if self.person is None:
            account["mechanism"] = [{**found.describe(), "times": times} for found, times in _runs(self.answers[0])]
            account["radius_95"] = radius
        else:
            scales: dict[str, set[float]] = {}
            for mechanism in {id(m): m for a in self.answers for m in a.mechanisms}.values():
                scales.setdefault(type(mechanism).__name__, set()).add(mechanism.scale)
            account["mechanism"] = [
                {"name": name, "scale": {"smallest": min(found), "largest": max(found)}}
                for name, found in scales.items()
            ]
            bounds = None if radius is None else {"smallest": float(radius.min()), "largest": float(radius.max())}
            account["radius_95"] = bounds
        return account

    def _system(self) -> str | None:
        """Return the coordinate system of the value, as certificates name it."""
        if self.plane is None or self.crs is None:
            return None
        if self.crs is self.plane.area.crs and self.plane.area.disc is not None:
            return str(self.plane.area.certificate()["plane"])
        return str(self.crs.to_string())

    def _card(self) -> tuple[str, Rows]:
        facts = self.facts(every_error=False)
        return heading(facts), lines(facts)


def _runs(answer: Answer) -> list[tuple[Mechanism, int]]:
    """Return the mechanisms in order, equal neighbours once, with how many times in a row each was run."""
    return [(mechanism, len(list(run))) for mechanism, run in itertools.groupby(answer.mechanisms)]
