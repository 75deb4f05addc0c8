"""Recompute the noise of a release from its guarantee, its area, and what its file and certificate state."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from geoveil.answering.intake import in_the_plane
from geoveil.answering.person_counts import PersonCounts
from geoveil.answering.timed_rows import TimedRows, times_of
from geoveil.certificates import Certificate
from geoveil.errors import GeoveilError
from geoveil.geo.areas import Area, area_of, local
from geoveil.geo.formats import open_locations
from geoveil.geo.geometries import Index
from geoveil.geo.seconds import time_column
from geoveil.privacy import Guarantee, certified
from geoveil.queries import SUMMARIES, CrowdMap, CrowdQuery, Flows, Persons, Points, RegionCounts, UnitSizes
from geoveil.queries.additive import additive
from geoveil.queries.crowd import CrowdKernel
from geoveil.text.words import hidden

__all__ = ["noise_problems"]

#: The questions about a crowd, by name.
_CROWDS: dict[str, type[CrowdQuery[Any]]] = {query.name: query for query in (CrowdMap, RegionCounts, Flows)}

#: Largest relative amount by which a stated scale may be smaller, since other processors round differently.
_ROUNDING = 1e-9
#: Versions of PROJ measure the distortion of an area a little differently.
_MEASURED = 1e-6


def noise_problems(path: Path, certificate: Certificate) -> tuple[list[str], bool]:
    """Return the contradictions in a certificate, and whether the scale of its noise could be recomputed.

    Parameters
    ----------
    path : Path
        The released file, whose digest agrees with the certificate.
    certificate : dict
        The certificate, valid by the schema.
    """
    try:
        guarantee = certified(certificate)
        problems = _words(certificate, guarantee)
        stated = certificate["area"]
        if stated is None:
            return problems, False
        area = Area.certified(stated)
        problems += _area(area, local(**stated["disc"]) if stated.get("disc") else area_of(stated["plane"]))
        working = in_the_plane(guarantee, area)
        if "crowd_noise" in certificate:
            return [*problems, *_crowd(certificate, working, area)], True
        if guarantee.metric.persons:
            # The persons of a crowd are not stated.
            return problems, False
        if certificate["file"].get("kind", "points") == "points":
            return [*problems, *_points(path, certificate, working, area)], True
        # The sizes of an answer's units are not stated.
        known = certificate["persons"] == 1 and not certificate["processed"] and not guarantee.metric.of_unit
        if certificate["query"] in SUMMARIES and known:
            made = SUMMARIES[certificate["query"]]
            n, rounding = certificate["n"], certificate["rounding"]
            asked = made(n or 0, 2, working, certificate["method"], rounding=rounding, hides_count=n is None)
            needed = asked.mechanism
            return [*problems, *_scales(certificate, type(needed).__name__, needed.scale, needed.scale)], True
    except (GeoveilError, KeyError, TypeError, ValueError, AttributeError) as problem:
        return [" ".join(str(problem).split())[:300] or type(problem).__name__], False
    return problems, False


def _words(certificate: Certificate, guarantee: Guarantee) -> list[str]:
    """Compare the distance in the certificate's plain words with its guarantee."""
    away = hidden(guarantee.hidden(chance=0.75))
    return [] if away in certificate["words"] else [f"its words do not name {away}, which its guarantee hides"]


def _area(stated: Area, measured: Area) -> list[str]:
    """Compare the stated distortion of the area with the measured one."""
    if stated.stretch < measured.stretch * (1 - _MEASURED) or stated.shrink > measured.shrink * (1 + _MEASURED):
        return [f"the area {stated.name} stretches distances by {measured.stretch:.9g}, not by {stated.stretch:.9g}"]
    return []


def _points(path: Path, certificate: Certificate, working: Guarantee, area: Area) -> list[str]:
    """Compare numbers of points, columns and noise with the file."""
    file = open_locations(path, **certificate["file"]["reading"]).with_persons(certificate["person"])
    # Pseudonyms are not unchanged, and are in the column of persons.
    listed = {
        "radius_95",
        "rho",
        "epsilon",
        str(certificate["person"]),
        *(each["name"] for each in certificate["unchanged"]),
    }
    # Shapefiles cut the names of columns.
    listed |= {name[:10] for name in listed}
    by = certificate["person"]
    by = by if by is None or by in file.columns else by[:10]
    unlisted = [name for name in file.columns if name not in listed and name not in file.numbered]
    people, filled = PersonCounts(by), set[str]()
    times = tuple(time_column(name, file.columns) for name in certificate["times"] or ())
    timed = TimedRows(people, times, None, working.metric)
    for batch in file.batches([*dict.fromkeys([*([] if by is None else [by]), *unlisted, *times])]):
        coded = people.labels(batch).dictionary_encode()
        codes: Index = np.asarray(coded.indices)[batch.rows]
        people.add(coded.dictionary, np.bincount(codes, minlength=len(coded.dictionary)))
        if times:
            timed.add(coded.dictionary, codes, batch, times_of(batch, times))
        filled |= {name for name in unlisted if _has_values(batch.columns[name])}
    problems = []
    counts = (("n", certificate["n"], int(people.sizes.sum())), ("persons", certificate["persons"], len(people.sizes)))
    for name, number, drawn in counts:
        if number != drawn:
            problems.append(f"it states {name} = {number}, and the file has {drawn}")
    if filled:
        problems.append(f"the file has columns that the certificate does not list: {', '.join(sorted(filled))}")

    def query(n: int, units: UnitSizes | None) -> Points:
        return Points(n, 2, working, certificate["method"], rounding=certificate["rounding"], units=units)

    largest = timed.counted().largest if times else None
    if largest is None:
        queries = Persons.by_size(people.sizes, query).queries
    else:
        queries = Persons.by_largest(people.sizes, largest, query).queries
    needed = [query.mechanism for query in queries]
    scales = [mechanism.scale for mechanism in needed]
    problems += _scales(certificate, type(needed[0]).__name__, min(scales), max(scales))
    radii = [area.ground(query.error(0.05, each=True) + query.rounding_error) for query in queries]
    return problems + _radii(certificate["radius_95"], min(radii), max(radii))


def _crowd(certificate: Certificate, working: Guarantee, area: Area) -> list[str]:
    """Compare the noise and the blur of a map, of counts or of flows with the public numbers of its kernel."""
    stated = certificate["crowd_noise"]
    kernel, counted = CrowdKernel(**stated["kernel"]), stated["counted"]
    problems = []
    if counted != "visits" and kernel.weight != 1:
        problems.append(f"it counts {counted}, and each has the weight {kernel.weight:g}")
    blur = area.ground(kernel.side * kernel.cell / math.sqrt(3))
    if abs(stated["blur"] - blur) > _MEASURED * blur:
        problems.append(f"it states a blur of {stated['blur']:.6g} m, and its kernel has {blur:.6g} m")
    constant = kernel.constant(_CROWDS[certificate["query"]].constant_of(kernel))
    needed = additive(working, kernel.numbers, constant, certificate["method"])
    return problems + _scales(certificate, type(needed).__name__, needed.scale, needed.scale, counted)


def _has_values(column: Any) -> bool:
    """Return whether a column has values; some formats write required columns empty."""
    return any(str(value) not in ("None", "nan", "") for value in column.unique().to_pylist())


def _scales(certificate: Certificate, name: str, smallest: float, largest: float, unit: str = "m") -> list[str]:
    """Compare the stated scales of noise with those that the guarantee needs."""
    stated = [use for use in certificate["mechanism"] if use["name"] == name]
    if len(stated) != 1 or len(certificate["mechanism"]) != 1:
        return [f"it states other mechanisms than {name}, which answers this question"]
    for end, needed in zip(_ends(stated[0]["scale"]), (smallest, largest), strict=True):
        if end < needed * (1 - _ROUNDING):
            return [f"its noise has the scale {end:.6g} {unit}, and the guarantee needs {needed:.6g} {unit}"]
    return []


def _radii(stated: Any, smallest: float, largest: float) -> list[str]:
    """Compare the stated error radius, if there is one, with that of the required noise."""
    if stated is None:
        return []
    for end, radius in zip(_ends(stated), (smallest, largest), strict=True):
        if abs(end - radius) > _MEASURED * radius:
            return [f"it states an error of {end:.6g} m, and its noise gives {radius:.6g} m"]
    return []


def _ends(stated: Any) -> tuple[float, float]:
    """Return the smallest and the largest value; a number that holds for everybody is both."""
    return (stated["smallest"], stated["largest"]) if isinstance(stated, dict) else (stated, stated)
