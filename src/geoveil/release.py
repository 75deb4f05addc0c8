"""What is released: a private answer with its guarantee and its error."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from geoveil._version import __version__
from geoveil.arithmetic import steady
from geoveil.budget import Entry
from geoveil.errors import NoErrorBound
from geoveil.geo import Plane
from geoveil.geo.areas import Area
from geoveil.privacy import Guarantee
from geoveil.queries import Answer, FirstWithin, Nearest, Query
from geoveil.words import counted, hidden, metres

__all__ = ["Release", "on_the_ground"]

_PUBLIC = ["the number of points", "their order", "timestamps", "identifiers", "the parameters of the query"]


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A private answer, with what it guarantees and how wrong it can be. It never holds the input.

    Parameters
    ----------
    value : object
        What is released, in the form of the input.
    coords : array, optional
        Released coordinates in metres, where there are any.
    plane : Plane, optional
        The plane of these metres, and the coordinate system of the input.
    n : int
        Points in the input.
    by : pandas.Index, optional
        The persons, in the order of their answers; None where all points are one person's.
    inexact : str
        Why the noise is not the ideal one to the last bit; empty if it is.
    answers : tuple of Answer
        One for each person.
    processed : tuple of str
        What was done to it since it was released, with public facts only.
    bounded : bool
        Whether the error bound has survived that.
    asked : CGP or GP, optional
        What it guarantees per metre on the ground, where its query promises more per metre of a plane that stretches.
    promised : CGP or GP, optional
        What it guarantees, if it was made of several releases; else what its query does.
    expected : float, optional
        The root mean square error to expect, in metres, if what was assumed in processing holds.
    missing : int
        Rows of the input that had no place and were left out.
    clamped : bool
        Whether points outside of the area were moved to its edge before they were looked at; errors are from there.
    entry : Entry, optional
        The line of a ledger's history that charged it, if one did.
    skipped : tuple of str
        Subjects of a ledger without enough budget, who were left out.
    left_out : tuple of str
        Columns of the input that stayed behind.
    """

    value: Any
    answers: tuple[Answer, ...] = field(kw_only=True)
    n: int = field(kw_only=True)
    coords: NDArray[np.float64] | None = field(kw_only=True, default=None)
    plane: Plane | None = field(kw_only=True, default=None)
    by: Any = field(kw_only=True, default=None)
    inexact: str = field(kw_only=True, default="")
    processed: tuple[str, ...] = field(kw_only=True, default=())
    bounded: bool = field(kw_only=True, default=True)
    asked: Guarantee | None = field(kw_only=True, default=None)
    promised: Guarantee | None = field(kw_only=True, default=None)
    expected: float | None = field(kw_only=True, default=None)
    missing: int = field(kw_only=True, default=0)
    clamped: bool = field(kw_only=True, default=False)
    entry: Entry | None = field(kw_only=True, default=None)
    skipped: tuple[str, ...] = field(kw_only=True, default=())
    left_out: tuple[Any, ...] = field(kw_only=True, default=())
    id: str = field(kw_only=True, default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        for array in (self.value, self.coords):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        # What comes out of a pickle may be written to.
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def crs(self) -> Any:
        """The coordinate system of the input, and of the value."""
        return None if self.plane is None else self.plane.own

    @property
    def beyond(self) -> int:
        """How many released points the map of their system does not reach; they stand where it ends."""
        return 0 if self.plane is None or self.coords is None else self.plane.beyond(self.coords)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, for each person."""
        return self.promised or self.asked or self.answers[0].query.guarantee

    @property
    def also(self) -> Guarantee | None:
        """A guarantee of the other notion that it carries besides; for each person, the weakest."""
        # Persons with equally many points share an answer's query.
        distinct = {id(a.query): a.query for a in self.answers}.values()
        carried = [] if self.promised else [query.also for query in distinct]
        most = max((g for g in carried if g is not None), key=lambda g: g.budget, default=None)
        if most is None or self.plane is None:
            return most
        # What is promised per metre of the plane is as much weaker per metre on the ground as the plane stretches.
        stretch = self.plane.area.stretch
        return most * stretch * stretch if most.power == 2 else most * stretch

    @property
    def query(self) -> str:
        """What was asked."""
        return self.answers[0].query.name

    @property
    def method(self) -> str:
        """How it was answered."""
        return self.answers[0].query.method

    @property
    def exact(self) -> bool:
        """Whether the noise is the ideal one to the last bit; if not, `inexact` says why."""
        return not self.inexact

    @property
    def mechanism(self) -> Any:
        """The mechanism that was run, or the tuple of them in their order; by person, a Series."""
        return self._each_person(lambda a: a.mechanisms[0] if len(a.mechanisms) == 1 else a.mechanisms)

    @property
    def scale(self) -> Any:
        """The noise's scale in metres; a tuple where several mechanisms were run; by person, a Series."""
        return self._each_person(
            lambda a: a.mechanisms[0].scale if len(a.mechanisms) == 1 else tuple(m.scale for m in a.mechanisms)
        )

    @steady()
    def error(self, beta: float, *, each: bool = False) -> Any:
        """With probability 1-β the error is at most this, in metres; by person, a Series.

        Parameters
        ----------
        beta : float
            The probability that the error is larger.
        each : bool
            For points, neighbours and bounds: the error of any one of them instead of the largest.

        Examples
        --------
        >>> import numpy as np
        >>> import geoveil as gv
        >>> release = gv.points(np.zeros((100, 2)), rho=5e-5)
        >>> round(release.error(0.05)), round(release.error(0.05, each=True))
        (3892, 2448)
        """
        if not self.bounded:
            see = "" if self.expected is None else "; see expected_error()"
            raise NoErrorBound(f"No theorem bounds the error of a release that was {self._steps()}{see}.")
        # A hull's bound takes milliseconds, and of many persons it is asked for again and again.
        known = self.__dict__.setdefault("_errors", {})
        if (beta, each) not in known:
            known[beta, each] = self._lengthened(
                self._each_person(lambda a: self._bound(a, beta, each=each), by_query=self.answers[0].same_error)
            )
        found = known[beta, each]
        return found if self.by is None else found.copy()

    def _bound(self, answer: Answer, beta: float, *, each: bool = False) -> float:
        """Return the error bound of an answer: on the ground, but for lengths, which are in metres of the plane."""
        bound = answer.error(beta, each=each) + answer.query.displaced
        if self.plane is None or answer.query.kind == "length":
            return bound
        return float(on_the_ground(answer.query, bound, self.plane.area))

    def _lengthened(self, bound: Any) -> Any:
        """Return error bounds of lengths on the ground, where they depend on the length that was released."""
        query = self.answers[0].query
        if self.plane is None or query.kind != "length":
            return bound
        length = np.asarray(self.value, dtype=float).reshape(np.shape(bound))
        found = on_the_ground(query, np.asarray(bound), self.plane.area, length=length)
        return float(found) if self.by is None else bound * 0 + found

    @property
    def rounding(self) -> float:
        """How far a point that was asked about can be from the point that it stands for, in metres.

        It is 0 for metres, and for degrees in a plane of `gv.local`, which are projected as precisely as it takes.
        Other projections round, and so do the doubles that a function of one's own gets: the guarantee then holds as
        if every point were twice as much farther from every other.
        """
        return max([answer.query.rounding for answer in self.answers])

    def expected_error(self) -> float:
        """The root mean square error to expect, in metres, if the prior named in `processed` holds. Not a bound."""
        if self.expected is None:
            raise NoErrorBound("An expected error is known of smoothed and remapped points only.")
        return self.expected if self.plane is None else self.expected / self.plane.area.shrink

    def _ground(self, error: float) -> float:
        """Return the ground distance that an error in the plane is, at most."""
        return error if self.plane is None else self.plane.area.ground(error)

    @property
    def positions(self) -> Any:
        """Where in the input the points stand that were found, vertex by vertex; by person, a Series of arrays."""
        return self._each_person(lambda a: a.value if a.query.kind in ("positions", "position") else None)

    def _each_person(self, ask: Callable[[Answer], Any], *, by_query: bool = False) -> Any:
        if self.by is None:
            return ask(self.answers[0])
        import pandas as pd

        # Persons with equally many points share a query, if not an answer; nothing is computed twice.
        keys = [id(a.query) if by_query else id(a) for a in self.answers]
        known = {key: ask(answer) for key, answer in dict(zip(keys, self.answers, strict=True)).items()}
        return pd.Series([known[key] for key in keys], index=self.by, name=self.query)

    @steady()
    def certificate(self) -> dict[str, Any]:
        """A plain, JSON-ready account of what was released and what it guarantees.

        Examples
        --------
        >>> import geoveil as gv
        >>> certificate = gv.mean([[0.0, 0.0], [100.0, 0.0]], rho=1e-4).certificate()
        >>> certificate["notion"], certificate["rho"], certificate["metric"], certificate["query"]
        ('CGP', '0.0001', 'dist_inf', 'mean')
        """
        account: dict[str, Any] = {
            **self.guarantee.certificate(),
            "also": None if self.also is None else self.also.certificate(),
            "words": self._words(),
            "public": _PUBLIC,
            "query": self.query,
            "method": self.method,
            "n": self.n,
            "persons": 1 if self.by is None else len(self.by),
            "missing": self.missing,
            "outside": "clamp" if self.clamped else "refuse",
            "crs": self._system(),
            "area": None if self.plane is None else self.plane.area.certificate(),
            "beyond_the_map": self.beyond,
            "exact": self.exact,
            "inexact": self.inexact,
            "fn_error": self.answers[0].query.fn_error,
            "rounding": self.rounding,
            "entry": None if self.entry is None else self.entry.certificate(),
            "version": __version__,
            "id": self.id,
        }
        account["processed"] = list(self.processed)
        account["expected_error"] = None if self.expected is None else self.expected_error()
        radius = self.error(0.05, each=self.query == "points") if self.bounded else None
        if self.by is None:
            account["mechanism"] = _described(self.answers[0])
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
        """The system of the value, for certificates."""
        if self.plane is None:
            return None
        if self.crs is self.plane.area.crs and self.plane.area.disc is not None:
            return str(self.plane.area.certificate()["plane"])
        return str(self.crs.to_string())

    def _words(self) -> str:
        """What it means, for people."""
        away = hidden(self.guarantee.hidden(chance=0.75))
        differing = {
            "inf": f"in which no location differs by more than {away}",
            "2": f"whose locations differ by at most {away} together (root sum of squares)",
            "1": f"whose locations differ by at most {away} together (sum)",
        }[self.guarantee.metric.name]
        sentences = [
            f"Anyone trying to tell apart two versions of a person's data {differing} will be right at most 75% of "
            "the time. Versions that differ less are harder to tell apart, others easier.",
            "How many points there are, their order, their times and whose they are is not hidden.",
        ]
        if self.bounded:
            sentences.append(f"The answer is wrong by {self._error_line(quickly=False)}.")
        if self.clamped:
            sentences.append("Points outside of the area were moved to its edge first; the error is from there.")
        if not self.exact:
            sentences.append(f"The noise is not exact: {self.inexact}.")
        if self.rounding:
            moved, apart = (metres(times * self.rounding, digits=2) for times in (1, 2))
            sentences.append(
                f"Rounding moved points by at most {moved} first: two versions count as up to {apart} farther apart."
            )
        if self.entry is not None:
            sentences.append("It was charged to a ledger, where budgets about the same person add up.")
        else:
            sentences.append("Other releases about the same person add to what it tells.")
        return " ".join(sentences)

    def __repr__(self) -> str:
        persons = "one person's" if self.by is None else f"those of {counted(len(self.by), 'person')}"
        lines = [
            f"Release of {self.query}: {counted(self.n, 'point')}, taken as {persons}",
            f"  guarantee  {self._promise_line()}" + ("" if self.by is None else ", for each person"),
            f"  mechanism  {', '.join(self._mechanism_lines())}",
            *([f"  processed  {self._steps()}"] if self.processed else []),
            f"  error      {self._error_line()}",
            f"  exact      {self._exact_line()}",
        ]
        if self.left_out:
            lines.append(f"  left out   {', '.join(map(str, self.left_out))} (keep= lets columns out)")
        if self.clamped:
            lines.append("  outside    points outside of the area were moved to its edge; errors are from there")
        if self.skipped:
            lines.append(f"  skipped    {counted(len(self.skipped), 'person')} without enough budget")
        if self.missing:
            lines.append(f"  missing    {counted(self.missing, 'row')} without a place, left out")
        return "\n".join(lines)

    def _exact_line(self) -> str:
        if not self.exact:
            return "no: " + self.inexact
        stated = self.answers[0].query.fn_error
        line = f"yes, if the function is wrong by at most {stated:g} m, as stated" if stated else "yes"
        return f"{line}; points are rounded by at most {metres(self.rounding, digits=2)}" if self.rounding else line

    def _steps(self) -> str:
        return ", then ".join(self.processed)

    def _promise_line(self) -> str:
        return str(self.guarantee) if self.also is None else f"{self.guarantee} and {self.also}"

    def _mechanism_lines(self) -> list[str]:
        lines = []
        for step in _described(self.answers[0]):
            times = f"{step['times']} × " if step["times"] > 1 else ""
            lines.append(f"{times}{step['name']} of scale {metres(step['scale'], digits=4)}")
        return lines if self.by is None else [line + " (first person)" for line in lines]

    @steady()
    def place_error(self, beta: float) -> float | None:
        """With probability 1-β any one released place of a neighbour is at most so far off, in metres; None without.

        Examples
        --------
        >>> import numpy as np
        >>> import geoveil as gv
        >>> x = np.column_stack([np.arange(100) * 1000.0, np.zeros(100)])
        >>> round(gv.nearest(x, (0, 0), k=3, locations=0.5, rho=1e-2).place_error(0.05))
        42
        """
        query: Any = self.answers[0].query
        placing = getattr(query, "placing", None)
        if placing is None:
            return None
        return self._ground(float(placing.error(beta, blocks=query.k, each=True)) + self.rounding)

    def _error_line(self, *, quickly: bool = True) -> str:
        if not self.bounded:
            return "no bound" if self.expected is None else f"no bound; {metres(self.expected_error())} to be expected"
        if quickly and self.by is not None and not self.answers[0].same_error:
            # Each person has a bound of their own, that may take a while.
            return f"at most {metres(self._bound(self.answers[0], 0.05))} with probability 95% (first person)"
        bound = self.error(0.05)
        if self.by is not None:
            ends = list(dict.fromkeys((metres(bound.min()), metres(bound.max()))))
            return f"at most {' to '.join(ends)} for each person with probability 95%{self._placed_line()}"
        line = f"at most {metres(bound)} with probability 95%"
        if self.query == "points" and self.n > 1:
            line += f"; any one point {metres(self.error(0.05, each=True))}"
        return line + self._placed_line()

    def _placed_line(self) -> str:
        off = self.place_error(0.05)
        return "" if off is None else f"; each released place {metres(off)}"


def on_the_ground(query: Query, error: Any, area: Area, *, length: Any = None, planned: bool = False) -> Any:
    """Return the bound on an answer's error on the ground, given that in the plane of an area.

    Parameters
    ----------
    query : Query
        What was asked.
    error : float or array
        The bound in metres of the plane.
    area : Area
        The area.
    length : array, optional
        Of a length, the one that was released. Without it only the noise is looked at.
    planned : bool
        Whether the place that is asked about is not known yet: then it can be anywhere in the area.

    Notes
    -----
    The plane draws a ground length g as one of shrink·g to stretch·g. docs/places.md derives the bounds.
    """
    p = None if planned else getattr(query, "p", None)
    away = 0.0 if p is None else float(np.hypot(*(p - area.middle)))
    if query.kind == "length":
        if length is None:
            return error / area.shrink
        reach = min(_corner(query, area), area.radius + float(np.max(length + error)))
        least, most = area.lengths(np.maximum(length - error, 0.0), length + error, reach=reach)
        return np.maximum(most - length, length - least)
    if isinstance(query, FirstWithin):
        least, most = area.lengths(max(query.radius - error, 0.0), query.radius + error, reach=away)
        return float(max(most - query.radius, query.radius - least))
    if isinstance(query, Nearest):
        farthest = area.lengths(0.0, area.farthest(p), reach=away)[1]
        return float(area.lengths(0.0, area.stretch * farthest + error, reach=away)[1] - farthest)
    return area.ground(error)


def _corner(query: Query, area: Area) -> float:
    """Return how far from the middle of an area the public place or shape is whose distance is asked for."""
    held = getattr(getattr(query, "measure", None), "keywords", {})
    if "p" in held:
        corners = np.array([held["p"]])
    elif "geometry" in held:
        import shapely

        corners = shapely.get_coordinates(held["geometry"])
    else:
        return 0.0
    return float(np.hypot(*(corners - area.middle).T).max())


def _described(answer: Answer) -> list[dict[str, Any]]:
    """The mechanisms as certificates list them: equal neighbours once, with their number."""
    grouped = itertools.groupby(answer.mechanisms)
    return [{**mechanism.describe(), "times": len(list(run))} for mechanism, run in grouped]
