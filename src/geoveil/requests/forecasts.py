"""The cost and the error of a request before it is run, from public numbers of its file; nothing is charged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyproj

from geoveil.geo.coordinate_systems import GEOGRAPHIC
from geoveil.geo.planes import plane_of
from geoveil.planning import Plan, plan
from geoveil.requests.accounts import ForeseenCharge, foresee_charges
from geoveil.requests.budgets import rho_and_epsilon
from geoveil.requests.file_request import SUMMARY, FileRequest

if TYPE_CHECKING:
    from geoveil.budget import Ledger
    from geoveil.geo import Area
    from geoveil.privacy import Guarantee

__all__ = ["Forecast", "PublicNumbers", "foresee"]

#: The largest number of plans made for a file: planning a hull takes a while.
_NUMBERS = 32


@dataclass(frozen=True)
class PublicNumbers:
    """What the error of a question depends on, besides its budget."""

    #: The number of points that each answer is about.
    sizes: list[int]
    #: The largest number of them that are hidden together, where these are not all points of a person.
    largest: list[int] | None
    #: The labels of the persons, if there are several.
    persons: Sequence[object] | None
    #: The area of the file.
    area: Area


@dataclass(frozen=True)
class Forecast:
    """The cost and the error of a question."""

    #: The question.
    question: str
    #: The guarantee of its answer.
    guarantee: Guarantee
    #: The bounds on the error at 95% for the persons with the least and with the most noise.
    smallest: float
    largest: float
    #: Of points: the bound for any one point.
    single: float | None
    #: What the bounds assume, and a note on the unit.
    assumes: str
    remark: str
    #: What the accounts will pay.
    charges: list[ForeseenCharge]


def foresee(request: FileRequest, ledger: Ledger | None) -> tuple[PublicNumbers, list[Forecast]]:
    """Count the points of a file, refuse what a release would refuse, and return the forecast of each question."""
    numbers = _counted(request)
    if request.options.at is not None:
        # A public place far from the area is refused, such as one with a missing minus sign.
        lat, lon = request.options.at
        plane_of(pyproj.CRS(GEOGRAPHIC), numbers.area).place("p", np.array([lon, lat]))
    questions = SUMMARY if request.question == "summary" else (request.question,)
    shares = request.guarantee.split(len(questions))
    names = request.account.names(numbers.persons)
    return numbers, [
        _forecast(request, question, share, numbers, [] if ledger is None else foresee_charges(ledger, names, share))
        for question, share in zip(questions, shares, strict=True)
    ]


def _counted(request: FileRequest) -> PublicNumbers:
    metric = request.guarantee.metric
    # Columns are looked at only where some are released.
    released = request.question == "points"
    rows = request.settings.rehearse(request.file, request.guarantee, released=released)
    sizes: list[int] = rows.people.sizes.tolist()
    largest = sizes if metric.persons and metric.stretch is None else None
    if rows.counted.largest is not None:
        largest = rows.counted.largest.tolist()
    if request.options.together:
        sizes, largest = [sum(sizes)], None if largest is None else [max(largest)]
    names = rows.people.names
    return PublicNumbers(sizes, largest, None if names is None else [*names], rows.plane.area)


def _forecast(
    request: FileRequest,
    question: str,
    guarantee: Guarantee,
    numbers: PublicNumbers,
    charges: list[ForeseenCharge],
) -> Forecast:
    rho, epsilon = rho_and_epsilon(guarantee)
    its = request.options

    def planned(size: tuple[int, int | None], *, each: bool = False) -> Plan:
        n, most = size
        return plan(
            question,
            n=n,
            largest=most,
            area=numbers.area,
            rho=rho,
            epsilon=epsilon,
            method=its.method,
            each=each,
            k=its.k,
            locations=its.locations,
        )

    # Errors need not grow with the number of points, so several numbers are planned for: if there are very many, an
    # evenly spread selection.
    held: Sequence[int | None] = numbers.largest or [None] * len(numbers.sizes)
    pairs = sorted({*zip(numbers.sizes, held, strict=True)}, key=lambda pair: pair[1] or pair[0])
    plans = [planned(pair) for pair in pairs[:: -(-len(pairs) // _NUMBERS)] + pairs[-1:]]
    errors = [each.error for each in plans]
    single = planned(pairs[-1], each=True).error if question == "points" else None
    return Forecast(question, guarantee, min(errors), max(errors), single, plans[0].assumes, plans[-1].remark, charges)
