"""Ask for center, radius and bounds within one budget, and combine them into one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from geoveil.facts import Processing
from geoveil.privacy import Guarantee
from geoveil.release import Release
from geoveil.session import Session
from geoveil.wording import error_line

__all__ = ["SUMMARY", "ask_summary", "combined", "summary_file"]

#: The questions of a summary; a third of the budget goes to each.
SUMMARY = ("center", "radius", "bounds")


def ask_summary(session: Session, guarantee: Guarantee) -> list[Release]:
    """Ask for center, radius and bounds within one budget.

    Examples
    --------
    >>> import numpy as np
    >>> import geoveil as gv
    >>> with gv.Session(np.zeros((9, 2)), rho=3e-4) as session:
    ...     [release.query for release in ask_summary(session, gv.CGP(rho=3e-4))]
    ['center', 'radius', 'bounds']
    """
    shares = guarantee.split(len(SUMMARY))
    return [getattr(session, name)(**{guarantee.symbol: share}) for name, share in zip(SUMMARY, shares, strict=True)]


def summary_file(question: str) -> str:
    """Return the file name of one of the answers; a radius has no location, so its file is a table."""
    return f"{question}.csv" if question == "radius" else f"{question}.geojson"


def combined(releases: Sequence[Release], guarantee: Guarantee) -> tuple[Release, dict[str, Any], tuple[str, ...]]:
    """Return all answers as one release for a report, the entries of its certificate that differ, and remarks."""
    # Each answer has its own error bound, and none holds for all three.
    whole = replace(releases[0], guarantee=guarantee, processing=Processing(bounded=False, combined=True))
    mechanisms: list[Any] = [step for release in releases for step in release.certificate()["mechanism"]]
    remarks = (f"Error of the {each.query}: {error_line(each.facts(every_error=False))}." for each in releases)
    return whole, {"query": "center, radius and bounds", "mechanism": mechanisms}, tuple(remarks)
