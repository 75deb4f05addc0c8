"""Answers with their provenance: their errors, their facts and their certificate."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, cast
from uuid import uuid4

import numpy as np

from geoveil._types import Labels
from geoveil._version import __version__
from geoveil.budget import Entry
from geoveil.certificates import SCHEMA, Certificate
from geoveil.certificates.certificate import Ends, StatedMechanism
from geoveil.errors import InvalidData, InvalidParameter, NoErrorBound
from geoveil.facts import (
    NONE,
    SMOOTHED,
    ErrorBound,
    Facts,
    MechanismUse,
    Processing,
    Provenance,
    Removed,
    RowCounts,
    Unchanged,
)
from geoveil.facts.wording import heading, lines, moment, paragraphs, protected, steps_line
from geoveil.geo import Area, Form, Pairs, Plane, form_of
from geoveil.geo.forms import Floats, Index
from geoveil.host.arithmetic import steady
from geoveil.mechanisms import Mechanism
from geoveil.privacy import Guarantee, SetDistance, certified
from geoveil.queries import Answer, Nearest
from geoveil.queries.answer import Value
from geoveil.release.kinds import Kind, kind_of
from geoveil.text.cards import Card, Rows

if TYPE_CHECKING:
    import pandas as pd
    import pyproj

__all__ = ["Answered", "PerPerson", "ReleaseFields", "provenance_of", "unchanged_of"]

#: A value, or, where the input has several persons, a pandas.Series of one value for each.
PerPerson: TypeAlias = Value

_COUNT, _ORDER = "the number of points", "their order"
_PUBLIC = [_COUNT, _ORDER, "timestamps", "identifiers", "the parameters of the query"]
#: Points without times are taken as tracks if persons have at least this many on average.
_SEVERAL = 3


class ReleaseFields(TypedDict, total=False):
    """The fields of a release but its value, each stated by the step that knows it."""

    guarantee: Guarantee
    n: int | None
    crowd: int | None
    outside: Literal["refuse", "clamp", "drop"]
    pseudonyms: bool
    removed: Removed
    unchanged: tuple[Unchanged, ...]
    processing: Processing
    times: tuple[str, ...] | None
    span: tuple[int, int] | None
    inexact: str
    answers: tuple[Answer, ...]
    coords: Floats | None
    point_scales: Floats | None
    plane: Plane | None
    pairs: Pairs
    person: pd.Index | None
    entry: Entry | None
    recorder: Callable[..., None] | None
    id: str


@dataclass(frozen=True, eq=False, repr=False)
class Answered(Card, Provenance):
    """A private answer with its provenance: the part of `Release` that knows its errors, facts and certificate."""

    value: Value = field(kw_only=False)
    answers: tuple[Answer, ...] = field(kw_only=True)
    coords: Floats | None = field(kw_only=True, default=None)
    point_scales: Floats | None = field(kw_only=True, default=None)
    plane: Plane | None = field(kw_only=True, default=None)
    pairs: Pairs = field(kw_only=True, default=())
    person: pd.Index = field(kw_only=True, default=None)
    entry: Entry | None = field(kw_only=True, default=None)
    recorder: Callable[..., None] | None = field(kw_only=True, default=None)
    id: str = field(kw_only=True, default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        for array in (self.value, self.coords, self.point_scales):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    def __getstate__(self) -> dict[str, object]:
        # A connection to a ledger cannot be pickled, and a table of Arrow is made again.
        return {**{name: part for name, part in self.__dict__.items() if name != "_arrow"}, "recorder": None}

    def __setstate__(self, state: dict[str, object]) -> None:
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
    def placed_coords(self) -> Floats:
        """The released coordinates, of a release that has them."""
        assert self.coords is not None
        return self.coords

    @property
    def points_released(self) -> int:
        """The number of points, of a release whose number of points is public."""
        assert self.n is not None
        return self.n

    @property
    def is_track(self) -> bool:
        """Whether points are those of tracks: they have times, were smoothed, or persons have several each."""
        if self.n is None or self.answers[0].query.sets is not None:
            return False
        persons = 0 if self.person is None else len(self.person)
        timed = self.times or any(column.reason == "time" for column in self.unchanged)
        several = persons > 0 and self.n >= _SEVERAL * persons
        return bool(timed or self.processing.smoothed or several) and self.n > persons

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
    def kind(self) -> Kind:
        """The kind of the value: points, a place, a box, a body, a length, cells, ..."""
        return kind_of(self.answers[0].query)

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
            known[beta, each] = self.kind.errors(self, beta, each=each)
        bounds = known[beta, each]
        return bounds if self.person is None else bounds.copy()

    def _bound(self, answer: Answer, beta: float, *, each: bool = False) -> float:
        """Return the error bound of an answer, on the ground if there is one."""
        bound = answer.error(beta, each=each) + answer.query.rounding_error
        if self.plane is None:
            return bound
        return self.kind.ground_error(answer.query, bound, self.plane.area)

    @steady()
    def place_error(self, beta: float = 0.05) -> float | None:
        """Bound the error in metres of one released location of a neighbour, with probability 1-β; None without one.

        Examples
        --------
        >>> x = np.column_stack([np.arange(100) * 1000.0, np.zeros(100)])
        >>> round(gv.Locations(x).nearest((0, 0), k=3, locations=0.5, rho=1e-2).place_error(0.05))
        42
        """
        query = self.answers[0].query
        if not isinstance(query, Nearest) or query.placing is None:
            return None
        error = float(query.placing.error(beta, blocks=query.k, each=True)) + self.rounding
        return error if self.plane is None else self.plane.area.ground(error)

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
        >>> smoothed = release.smooth("walking", times=[0, 60, 120])
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
        return self._each_person(lambda a: a.value if self.kind.of_rows else None)

    def _each_person(self, ask: Callable[[Answer], Value], *, by_query: bool = False) -> PerPerson:
        if self.person is None:
            return ask(self.answers[0])
        import pandas as pd

        # Persons with the same number of points share a query, so that nothing is computed twice.
        keys = [id(a.query) if by_query else id(a) for a in self.answers]
        known = {key: ask(answer) for key, answer in dict(zip(keys, self.answers, strict=True)).items()}
        return pd.Series([known[key] for key in keys], index=self.person, name=self.query)

    def _person_index(self, person: Labels = None, form: Form | None = None) -> Index:
        """Return, for each released point, the position of its person among the persons of the release.

        `form` is that of the release, if the caller has it already: it takes long to make for many points.
        """
        import pandas as pd

        if self.person is None:
            if person is not None:
                remedy = "All points of this release belong to one person."
                raise InvalidParameter("person", person, "left out", remedy)
            return np.zeros(self.points_released, dtype=np.int64)
        sizes = np.array([answer.query.n for answer in self.answers])
        form = self.form if form is None else form
        if person is None and self.person.name in form.names:
            person = self.person.name
        if person is None:
            if sizes.max() > 1:
                remedy = "Give the labels that were given to gv.Locations: they are public."
                raise InvalidParameter("person", None, "a label for each point", remedy)
            return np.arange(self.points_released)
        codes, labels = pd.factorize(form.people(person))
        if list(labels) != list(self.person) or (np.bincount(codes) != sizes).any():
            allowed = "the labels that the release was made with"
            raise InvalidData("person", person, allowed, "Give what was given to gv.Locations.")
        return np.asarray(codes, dtype=np.int64)

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
        >>> facts.query, facts.n, facts.guarantee, round(facts.error.largest), facts.inexact
        ('mean', 2, CGP(rho=0.0001), 173, '')
        """
        query = self.answers[0].query
        return Facts(
            **{each.name: getattr(self, each.name) for each in fields(Provenance)},
            query=self.query,
            method=self.method,
            items=self.kind.items,
            persons=None if self.person is None else len(self.person),
            also=self.also,
            mechanisms=tuple(
                MechanismUse(type(mechanism).__name__, mechanism.scale, times)
                for mechanism, times in _runs(self.answers[0])
            ),
            error=self._error_bound(every=every_error) if self.processing.bounded else None,
            expected_error=None if self.processing.expected is None else self.expected_error(),
            fn_error=query.fn_error,
            rounding=self.rounding,
            charged=self.entry is not None,
            sets=self._sets(),
        )

    def _sets(self) -> SetDistance | None:
        """Return the distance between sets of points under which the guarantee holds as well."""
        sets = {each.query.sets for each in {id(answer.query): answer for answer in self.answers}.values()}
        return sets.pop() if len(sets) == 1 else None

    def _error_bound(self, *, every: bool) -> ErrorBound:
        if self.person is not None and not every and not self.answers[0].same_error:
            bound = self._bound(self.answers[0], 0.05)
            return ErrorBound(bound, bound, "first person")
        largest, location = self.error(0.05), self.place_error(0.05)
        if self.person is not None:
            return ErrorBound(float(largest.min()), float(largest.max()), "each person", location=location)
        point = self.error(0.05, each=True) if self.kind.of_points and self.points_released > 1 else None
        return ErrorBound(largest, largest, point=point, location=location)

    @steady()
    def certificate(self) -> Certificate:
        """Return a JSON-ready description of the release and its guarantee.

        Examples
        --------
        >>> certificate = gv.Locations([[0.0, 0.0], [100.0, 0.0]]).mean(rho=1e-4).certificate()
        >>> certificate["notion"], certificate["rho"], certificate["metric"], certificate["query"]
        ('CGP', '0.0001', 'dist_inf', 'mean')
        """
        facts = self.facts()
        return {
            "schema": SCHEMA,
            **cast("Certificate", facts.guarantee.certificate()),
            "protects": protected(facts.guarantee.metric),
            "times": None if facts.times is None else list(facts.times),
            "span": None if facts.span is None else [moment(time) for time in facts.span],
            "also": None if facts.also is None else facts.also.certificate(),
            "words": " ".join(paragraphs(facts)),
            "public": [
                fact
                for fact in _PUBLIC
                if not (facts.sets and fact == _ORDER) and not (facts.n is None and fact == _COUNT)
            ],
            "unchanged": [
                {"name": str(column.name), "reason": column.reason, "warnings": list(column.warnings)}
                for column in facts.unchanged
            ],
            "query": facts.query,
            "method": facts.method,
            "n": facts.n,
            "persons": facts.persons or facts.crowd or 1,
            "pseudonyms": facts.pseudonyms,
            "outside": facts.outside,
            "where": facts.removed.where,
            "rows_removed": None if facts.n is None else facts.removed.rows,
            "crs": self._system(),
            "area": None if self.plane is None else self.plane.area.certificate(),
            "beyond_the_map": self.beyond,
            "exact": self.exact,
            "inexact": facts.inexact,
            "fn_error": facts.fn_error,
            "rounding": facts.rounding,
            "entry": None if self.entry is None else self.entry.certificate(),
            "version": __version__,
            "id": self.id,
            "processed": list(facts.processing.steps),
            "expected_error": facts.expected_error,
            "mechanism": self._mechanisms_stated(),
            "radius_95": self._radius_stated(),
        }

    def _mechanisms_stated(self) -> list[StatedMechanism]:
        """Return the mechanisms; of several persons, each with its smallest and its largest scale."""
        if self.person is None:
            runs = _runs(self.answers[0])
            return [cast("StatedMechanism", {**found.describe(), "times": times}) for found, times in runs]
        scales: dict[str, set[float]] = {}
        for mechanism in {id(m): m for a in self.answers for m in a.mechanisms}.values():
            scales.setdefault(type(mechanism).__name__, set()).add(mechanism.scale)
        return [
            {"name": name, "scale": {"smallest": min(found), "largest": max(found)}} for name, found in scales.items()
        ]

    def _radius_stated(self) -> float | Ends | None:
        """Return the 95% error radius, of points that of each; of several persons, the smallest and the largest."""
        if not self.processing.bounded:
            return None
        radius = self.error(0.05, each=self.kind.of_points)
        if self.person is None:
            return float(radius)
        return {"smallest": float(radius.min()), "largest": float(radius.max())}

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


def provenance_of(certificate: Certificate, area: Area) -> Provenance:
    """Return the provenance that a certificate states; a certificate that breaks the schema may raise any error."""
    times, span, expected = certificate["times"], certificate.get("span"), certificate["expected_error"]
    less = certificate["rows_removed"]
    first_and_last = None if span is None else np.array(span, "M8[us]").astype(int).tolist()
    return Provenance(
        guarantee=certified(certificate),
        n=certificate["n"],
        outside=certificate["outside"],
        pseudonyms=certificate["pseudonyms"],
        removed=(NONE if less is None else RowCounts(**{name: int(less[name]) for name in NONE.rows})).described(
            certificate["where"]
        ),
        unchanged=unchanged_of(certificate),
        processing=Processing(
            tuple(certificate["processed"]),
            bounded=certificate["radius_95"] is not None,
            expected=None if expected is None else float(expected) * area.shrink,
            smoothed=any(step.startswith(SMOOTHED) for step in certificate["processed"]),
        ),
        times=None if times is None else tuple(map(str, times)),
        span=None if first_and_last is None else tuple(first_and_last),
        inexact=certificate["inexact"],
    )


def unchanged_of(certificate: Certificate) -> tuple[Unchanged, ...]:
    """Return the columns that a certificate states as released unchanged."""
    return tuple(
        Unchanged(str(column["name"]), column["reason"], tuple(map(str, column["warnings"])))
        for column in certificate["unchanged"]
    )


def _runs(answer: Answer) -> list[tuple[Mechanism, int]]:
    """Return the mechanisms in order, equal neighbours once, with how many times in a row each was run."""
    return [(mechanism, len(list(run))) for mechanism, run in itertools.groupby(answer.mechanisms)]
