"""The facts of a release as data. `wording` turns them into text, for every face of the program."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from operator import add
from typing import TYPE_CHECKING, Literal, TypeAlias

from geoveil.text.words import counted

if TYPE_CHECKING:
    from geoveil.privacy import Guarantee, SetDistance

__all__ = [
    *("NONE", "SMOOTHED", "CrowdNoise", "ErrorBound", "Facts", "MechanismUse", "Processing", "Provenance", "Reason"),
    *("Removed", "RowCounts", "Unchanged"),
]

#: Why a column is released unchanged: it names persons, it holds times, `keep` asks for it, or the form of the data
#: needs it (the index of a frame, the tracks and segments of a GPX file).
Reason: TypeAlias = Literal["person", "time", "named", "structure"]


#: The beginning of the step that smooths tracks, by which it is known in a certificate.
SMOOTHED = "smoothed with the motion"


@dataclass(frozen=True)
class RowCounts:
    """The numbers of rows that were removed, by reason.

    Parameters
    ----------
    filtered : int
        Rows that do not satisfy the filter.
    missing : int
        Rows without a location.
    outside : int
        Rows with a point outside the area.
    thinned : int
        Rows too soon after another one of the same person: thinning goes by times alone.
    untimed : int
        Rows without a time, where times are needed.
    """

    filtered: int = 0
    missing: int = 0
    outside: int = 0
    thinned: int = 0
    untimed: int = 0

    @property
    def rows(self) -> dict[str, int]:
        """The numbers by reason, as certificates state them."""
        return {each.name: getattr(self, each.name) for each in fields(RowCounts)}

    @property
    def total(self) -> int:
        """The number of all rows that were removed."""
        return sum(self.rows.values())

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(*(map(add, self.rows.values(), other.rows.values())))

    def described(self, where: str | None, columns: Iterable[Hashable] = (), persons: Iterable[str] = ()) -> Removed:
        """Describe the rows, columns and persons of the input that are not in a release."""
        return Removed(**self.rows, columns=tuple(columns), persons=tuple(persons), where=where)

    def __str__(self) -> str:
        reasons = {
            "do not satisfy the filter": self.filtered,
            "have no location": self.missing,
            "have a point outside the area": self.outside,
            "are too soon after another": self.thinned,
            "have no time": self.untimed,
        }
        return ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count)


#: No row was removed.
NONE = RowCounts()


@dataclass(frozen=True)
class Removed(RowCounts):
    """The parts of the input that are not in a release: rows by reason, and what is listed here.

    Parameters
    ----------
    columns : tuple
        The names of columns that were not released.
    persons : tuple of str
        Accounts of a ledger without enough budget.
    where : str, optional
        The filter: a condition on public columns that all rows of the release satisfy.

    Examples
    --------
    >>> frame = geopandas.GeoDataFrame({"note": ["a", "b", "c"]}, geometry=homes)
    >>> gv.Locations(frame, area=bay).points(rho=1e-4).facts().removed.columns
    ('note',)
    """

    columns: tuple[Hashable, ...] = ()
    persons: tuple[str, ...] = ()
    where: str | None = None


@dataclass(frozen=True)
class Unchanged:
    """A column that is released unchanged: nothing in it is hidden.

    Parameters
    ----------
    name : str
        The name of the column.
    reason : {"person", "time", "named", "structure"}
        Why it is released.
    warnings : tuple of str
        The reasons why it may reveal locations. They follow from its name, its released values and the released
        locations, and so reveal nothing more.

    Examples
    --------
    >>> frame = geopandas.GeoDataFrame({"user": ["ann", "bob", "eve"]}, geometry=homes)
    >>> gv.Locations(frame, person="user", area=bay).points(rho=1e-4).facts().unchanged
    (Unchanged(name='user', reason='person', warnings=()),)
    """

    name: Hashable
    reason: Reason
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Processing:
    """The steps taken since a release was drawn, which used public facts only.

    Parameters
    ----------
    steps : tuple of str
        What was done, in order, such as "clamped to a public region".
    bounded : bool
        Whether the error bound still holds after these steps.
    expected : float, optional
        The root mean square error in metres of the plane, if the assumptions named in the steps hold.
    combined : bool
        Whether several releases were combined, so that the guarantee is that of all of them together.
    smoothed : bool
        Whether the points of each person were smoothed as a track.

    Examples
    --------
    >>> region = shapely.box(-123, 37, -122, 38)
    >>> gv.Locations(homes, area=bay).points(rho=1e-4).clamp(region).processing.bounded
    False
    """

    steps: tuple[str, ...] = ()
    bounded: bool = True
    expected: float | None = None
    combined: bool = False
    smoothed: bool = False


@dataclass(frozen=True)
class MechanismUse:
    """A mechanism that was run.

    Parameters
    ----------
    name : str
        Its class, such as "Gaussian".
    scale : float
        The scale of its noise in metres.
    times : int
        How many times in a row it was run.
    """

    name: str
    scale: float
    times: int


@dataclass(frozen=True)
class ErrorBound:
    """A bound on the error that holds with probability 95%, in metres on the ground.

    Parameters
    ----------
    smallest, largest : float
        The bound; where each person has a different one, the smallest and the largest of them.
    about : {"all", "first person", "each person"}
        Whether the bound holds for the only answer, for the first of several persons, or for each person.
    point : float, optional
        The bound of any one released point, where `largest` is that of the worst of several.
    location : float, optional
        The bound of the released location of a neighbour.

    Examples
    --------
    >>> release = gv.Locations(homes, area=bay).points(rho=1e-4)
    >>> bound = release.facts().error
    >>> round(bound.largest), round(bound.point), bound.about
    (350, 300, 'all')
    """

    smallest: float
    largest: float
    about: Literal["all", "first person", "each person"] = "all"
    point: float | None = None
    location: float | None = None


@dataclass(frozen=True)
class CrowdNoise:
    """The noise and the blur of a release about a crowd.

    Parameters
    ----------
    counted : str
        What is counted: "persons" or "visits".
    largest, each : float
        The 95% bounds of the noise on all unprocessed numbers together, and on one of them.
    blur : float
        The standard deviation in metres by which places are blurred along each axis.
    replaced : float
        The ρ of zero-concentrated differential privacy for replacing all places of one unit by any others.
    says_nothing : bool
        Whether that ρ is too large to protect anything.

    """

    counted: str
    largest: float
    each: float
    blur: float
    replaced: float
    says_nothing: bool


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Provenance:
    """Where a release comes from: its input, its guarantee, and the steps from one to the other.

    `Release` and `Facts` are both made of these fields.

    Parameters
    ----------
    guarantee : CGP or GP
        The guarantee for each person, per metre on the ground.
    n : int, optional
        The number of points in the input; None if it is hidden.
    crowd : int, optional
        The number of persons whom one answer is about, where it is about many together.
    outside : {"refuse", "clamp", "drop"}
        What was done about points outside the area before the question was answered: there were none, they were moved
        to its edge, from where errors count, or their rows were removed.
    pseudonyms : bool
        Whether persons have random labels in place of their own.
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
    """

    guarantee: Guarantee
    n: int | None
    crowd: int | None = None
    outside: Literal["refuse", "clamp", "drop"] = "refuse"
    pseudonyms: bool = False
    removed: Removed = Removed()
    unchanged: tuple[Unchanged, ...] = ()
    processing: Processing = Processing()
    times: tuple[str, ...] | None = None
    span: tuple[int, int] | None = None
    inexact: str = ""


@dataclass(frozen=True, kw_only=True)
class Facts(Provenance):
    """All facts about a release except its value: its provenance, and what follows from its answers.

    Parameters
    ----------
    query, method : str
        The question, and the algorithm that answered it.
    items : str
        What the question is about: "point" or "trip".
    persons : int, optional
        The number of persons if each has an answer; None if there is one answer about all points.
    also : CGP or GP, optional
        A second guarantee, of the other notion.
    mechanisms : tuple of MechanismUse
        The mechanisms that were run for the first person, in order.
    error : ErrorBound, optional
        None where no theorem bounds the error.
    expected_error : float, optional
        The root mean square error to expect on the ground, where one is known.
    fn_error : float, optional
        The stated error of a user's function in metres; 0 without a function, None if it was not stated.
    rounding : float
        The largest distance in metres by which a point was rounded before noise was added.
    charged : bool
        Whether it was charged to a ledger.
    noise : CrowdNoise, optional
        The noise and the blur of a release about a crowd, which has no error in metres.
    sets : str, optional
        The distance between sets of points under which the guarantee holds as well; None if the order of a person's
        points is public.

    Examples
    --------
    >>> release = gv.Locations(homes, area=bay).points(rho=1e-4)
    >>> facts = release.facts()
    >>> facts.query, facts.n, facts.guarantee, facts.mechanisms[0].name, facts.charged
    ('points', 3, CGP(rho=0.0001), 'Gaussian', False)
    """

    query: str
    method: str
    items: str = "point"
    persons: int | None
    also: Guarantee | None
    mechanisms: tuple[MechanismUse, ...]
    error: ErrorBound | None
    expected_error: float | None
    fn_error: float | None
    rounding: float
    charged: bool
    noise: CrowdNoise | None = None
    sets: SetDistance | None = None

    @property
    def counted(self) -> str:
        """The number of points in words; only what they are, if their number is hidden."""
        return f"{self.items}s" if self.n is None else counted(self.n, self.items)
