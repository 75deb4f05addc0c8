"""Concerns about a release of points, which its owner should know before it is made.

Errors follow from public numbers. What labels tell is found by looking at the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geoveil._types import Columns
from geoveil.answering.counted_rows import CountedRows
from geoveil.errors import Mention, Message
from geoveil.geo import Area
from geoveil.geo.columns import named_in
from geoveil.geo.geometries import Index
from geoveil.privacy import CGP, Guarantee, dist_inf
from geoveil.queries import Persons, Query, UnitSizes
from geoveil.text.words import metres

__all__ = ["Concern", "concerns_of", "concerns_of_labels", "concerns_of_rows", "half_of_points", "is_hopeless"]

#: An error of points is hopeless if it exceeds the area's radius divided by this,
_LOST = 4
#: or this many metres and this many times the error of a person with a single point.
_USELESS, _SHARED = 2_000, 5
#: The owner is told if the noise is at least this many times that of a person with one point,
_TIMES = 10
#: and, in a file with a column of persons, at least this many metres: less noise leaves the streets recognisable.
_FAR = 500


class Concern(Message):
    r"""A concern about a release, which its owner should know before it is made; `str` gives its text.

    Parameters
    ----------
    problem : str
        The text, with placeholders for the names of arguments and for data.
    helps : sequence of str or Message, optional
        What helps, each with placeholders of its own; they follow the problem in one sentence.
    grave : bool
        Whether someone at a terminal is asked before the release, rather than only told.
    hopeless : bool
        Whether the error is hopeless (see `is_hopeless`): commands refuse the release unless they are told to go on.
    column : str, optional
        A column whose labels are released and seem to tell places: commands refuse the release until it is named.
    **data : object
        The values of the placeholders for data.

    Examples
    --------
    >>> _ = (folder / "trips.csv").write_text("lat,lon\n" + "37.78,-122.41\n" * 400)
    >>> told = []
    >>> _ = gv.Locations(folder / "trips.csv", area=bay, confirm=told.extend).points(to=folder / "out.csv", rho=5e-5)
    >>> str(told[0])[:57], told[0].grave
    ('All 400 points belong to one person and share the budget:', True)
    """

    def __init__(
        self,
        problem: str,
        /,
        *,
        grave: bool,
        hopeless: bool = False,
        column: str | None = None,
        helps: Sequence[str | Message] = (),
        **data: object,
    ) -> None:
        listed = {f"help{at}": Message(each) if isinstance(each, str) else each for at, each in enumerate(helps)}
        remedies = f" What helps: {'; '.join(f'{{{name}}}' for name in listed)}." if helps else ""
        super().__init__(f"{problem}{remedies}", **data, **listed)
        self.grave, self.hopeless, self.column = grave, hopeless, column
        self._problem = problem
        self._told: dict[str, Any] = data

    def helped_by(self, helps: Sequence[str | Message]) -> Concern:
        r"""Return the same concern with other remedies.

        Examples
        --------
        >>> from geoveil.answering.concerns import Concern
        >>> str(Concern("It is far.", grave=True, helps=["walk"]).helped_by(["run", "give {area}"]))
        'It is far. What helps: run; give area=.'
        """
        grave, hopeless, column = self.grave, self.hopeless, self.column
        return Concern(self._problem, grave=grave, hopeless=hopeless, column=column, helps=helps, **self._told)


def is_hopeless(error: float, alone: float, area: Area) -> bool:
    """Return whether points with an error are useless for any purpose. Public numbers alone decide.

    Parameters
    ----------
    error : float
        The error radius in metres that holds for a single point with probability 95%, for the typical person.
    alone : float
        The same for a person with one point.
    area : Area
        The area.

    Examples
    --------
    >>> is_hopeless(13_000, 234, bay), is_hopeless(1500, 234, bay), is_hopeless(4700, 4700, bay)
    (True, False, False)
    """
    return error > area.radius / _LOST or error > max(_USELESS, _SHARED * alone)


def half_of_points(sizes: Index) -> int:
    """Return the position of the typical person: half of all points belong to persons with at least as many points.

    Examples
    --------
    >>> half_of_points(np.array([1, 100, 5, 40]))
    1
    """
    order = np.argsort(sizes, kind="stable")
    return int(order[np.searchsorted(np.cumsum(sizes[order]), int(sizes.sum()) / 2)])


def concerns_of(
    persons: Persons[Any], alone: Query, guarantee: Guarantee, area: Area, *, several: bool, timed: bool
) -> list[Concern]:
    """Return the concerns about a release of points, which follow from public facts.

    These facts are the number of points of each person, the budget and the area. Locations are not looked at.

    Parameters
    ----------
    persons : Persons
        The query of each person.
    alone : Query
        The query about a person with a single point.
    guarantee, area
        Those of the release.
    several, timed : bool
        Whether persons are named, and whether each point has a time.
    """
    points = int(persons.sizes.sum())
    at = half_of_points(persons.sizes)
    size = int(persons.sizes[at])
    queries = (persons.queries[int(persons.which[at])] if size > 1 else alone, alone)
    typical, one = (area.ground(query.error(0.05, each=True)) for query in queries)
    hopeless = is_hopeless(typical, one, area)
    if typical > area.radius / _LOST:
        problem = (
            "Nearly everything would be lost: released points would typically be up to {typical} from the true "
            "ones (with probability 95%), in an area of {area}."
        )
    elif not hopeless and (typical < _TIMES * one or (several and typical < _FAR)):
        return []
    elif several:
        problem = (
            "The points of a person share that person's budget: those of a person with {size} points, which is "
            "typical here, would be up to {typical} from the true ones (with probability 95%). A single point of "
            "a person would be up to {alone} away."
        )
    else:
        problem = (
            "All {n} points belong to one person and share the budget: released points would be up to {typical} "
            "from the true ones (with probability 95%). A single point of a person would be up to {alone} away."
        )
    helps = ["publish a map of all of them with {locations.heatmap}"] if several else []
    helps += [] if several else ["name the column of persons with {person} if there are several"]
    if size > 1 and timed and guarantee.metric == dist_inf:
        helps.append('protect any day instead of all of a person\'s locations with {protect:"1 day"}')
    if size > 1 and timed:
        helps.append('keep fewer rows, such as one a minute with {thin:"1 minute"}')
    if isinstance(guarantee, CGP) and timed:
        helps.append("smooth the released tracks with {release.smooth}")
    helps += ["ask another question, such as {locations.mean}", "give a larger budget"]
    told = {"typical": metres(typical), "alone": metres(one), "n": f"{points:,}", "area": area.name}
    # Tracks of known persons are expected to have much noise; a forgotten column of persons is likely a mistake.
    grave = hopeless or not several
    told |= {"size": f"{size:,}"}
    return [Concern(problem, grave=grave, hopeless=hopeless, helps=helps, **told)]


def concerns_of_labels(column: object, why: Sequence[str], keep: Columns) -> list[Concern]:
    """Return the concern that released labels of persons tell places. It looks at the data, for its owner alone.

    Parameters
    ----------
    column : str
        The column of persons, whose labels are released.
    why : sequence of str
        What was found, see `label_suspicions`.
    keep : "all" or sequence of names, optional
        Columns that are released unchanged: naming the column there says that its labels may be public.
    """
    name = str(column)
    if not why or column in named_in(keep, [name]):
        return []
    told = (
        "The labels of persons in {name!r} are released unchanged, and may reveal locations: {why}. Release "
        "pseudonyms in their place with {pseudonyms:True}, or say that these labels may be public with {named}."
    )
    return [Concern(told, grave=True, column=name, name=name, why=", and ".join(why), named=Mention("keep", name))]


def concerns_of_rows(rows: CountedRows) -> list[Concern]:
    """Return the concerns about the release of points that were counted."""
    rules = rows.rules
    units = UnitSizes(1) if rows.counted.largest is not None else None
    labels = concerns_of_labels(rules.settings.by, rows.counted.telling, rules.keep)
    return labels + concerns_of(
        rows.persons,
        rules.query(1, units),
        rules.guarantee,
        rules.plane.area,
        several=rows.people.by is not None,
        timed=len(rules.file.time_columns) == rules.file.points_in_a_row,
    )
