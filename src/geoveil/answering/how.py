"""What every question takes beside its subject: the budget, and how it is spent."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, TypedDict, TypeVar

import numpy as np

from geoveil.privacy import CGP, GP, Metric
from geoveil.privacy.exact import Number

__all__ = ["FileHow", "How", "Reading", "file_question", "known", "question", "reader"]

F = TypeVar("F", bound=Callable[..., Any])


class How(TypedDict, total=False):
    """The keywords that all questions share."""

    rho: Number | CGP | None
    epsilon: Number | GP | None
    metric: str | Metric | None
    method: str
    by: Any
    rng: np.random.Generator | None
    area: Any
    crs: Any
    outside: Literal["refuse", "clamp"]
    missing: Literal["refuse", "drop"]
    key: str | None


class Reading(TypedDict, total=False):
    """The keywords that say how a file is read."""

    crs: Any
    x: str | None
    y: str | None
    delimiter: str | None
    decimal: str | None
    encoding: str | None
    layer: str | None


class FileHow(How, Reading, total=False):
    """The keywords of a question about a file."""


_DEFAULTS = {"method": "best", "outside": "refuse", "missing": "refuse"}

_SUBJECT = """
    x : array, GeoSeries, GeoDataFrame or shapely MultiPoint
        The points; in metres, unless it says its coordinate system or `crs` does.
    crs : what pyproj takes as a coordinate system, optional
        The system of the coordinates, as in GeoPandas, where x does not say it: 4326 for an array of longitudes and
        latitudes. An array without one is in metres.
"""

_SHARED = """
    rho : float, str, Decimal, Fraction or CGP
        The budget for concentrated geo-privacy, per square metre. Give this or `epsilon`.
    epsilon : float, str, Decimal, Fraction or GP
        The budget for pure geo-privacy, per metre.
    metric : {"inf", "2", "1"}, default "inf"
        Which distance between tuples the budget is for.
    method : {"best", "paper", "both"}
        How the question is answered: with the least noise known for the guarantee, or as the paper does. "both", for
        points, summaries and functions of one's own, promises CGP and GP at once.
    by : str or array of labels, optional
        Whose point each is: a column of a frame, or one label for each point. Each person's points are then a tuple
        of their own. Without it all points are one person's.
    rng : numpy.random.Generator, optional
        For tests and experiments only; by default a cryptographic generator keyed by the operating system.
    area : Area from `local`, what pyproj takes as a projected system, or a region's name, optional
        Where the points are, from public knowledge: the plane in which they get their noise. It may be left out if
        their own system is such a plane. The budget is per metre on the ground: noise grows by what the plane
        stretches.
    outside : {"refuse", "clamp"}
        What becomes of a frame's points outside of that area: with "clamp" they are moved to its edge first.
    missing : {"refuse", "drop"}
        What becomes of a frame's rows without a place: with "drop" they are left out, and counted.
    key : str, optional
        In a session with a ledger: a name for the question, by which its answer is stored and found again.
"""


_READING = """
    crs : what pyproj takes as a coordinate system, optional
        The system of the file's coordinates, where the file does not say: WGS 84 if columns are called longitude and
        latitude.
    x, y : str, optional
        The columns of a CSV or Parquet file that hold coordinates, longitude as x, where they are not found by name.
    delimiter, decimal, encoding : str, optional
        How a CSV file is written: what stands between fields (found in the header), before decimals ("."), and in
        which encoding ("utf-8").
    layer : str, optional
        Of a GeoPackage with several.
"""


def question(function: F) -> F:
    """Write x and the shared keywords, once, into a function's signature and documentation."""
    return _described(function, How, (_SUBJECT, "", _SHARED))


def file_question(function: F) -> F:
    """The same for a question about a file, whose subject the function documents itself."""
    return _described(function, FileHow, ("", _READING, _SHARED))


def reader(function: F) -> F:
    """The same for what only reads a file."""
    return _described(function, Reading, ("", _READING, ""))


def known(given: Any, kind: Any) -> None:
    """Refuse keywords that are not of this kind, as Python does."""
    names = list(kind.__annotations__)
    for name in given:
        if name not in names:
            raise TypeError(f"unexpected keyword {name!r}; the keywords are {', '.join(names)}")


def _described(function: F, kind: Any, texts: tuple[str, str, str]) -> F:
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    shared = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_DEFAULTS.get(name),
            annotation=getattr(annotation, "__forward_arg__", annotation),
        )
        for name, annotation in kind.__annotations__.items()
    ]
    function.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    head, _, tail = inspect.cleandoc(function.__doc__ or "").partition("\n\nReturns\n")
    head, _, described = head.partition("\n\nParameters\n----------\n")
    parameters = [inspect.cleandoc(text) for text in (texts[0], described, *texts[1:]) if text]
    function.__doc__ = "\n".join([f"{head}\n\nParameters\n----------", *parameters, f"\nReturns\n{tail}"])
    return function
