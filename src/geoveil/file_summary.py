"""Ask for center, radius and bounds within one budget, and combine them into one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from geoveil.certificates import Certificate
from geoveil.facts import Processing
from geoveil.locations import Locations
from geoveil.privacy import Guarantee
from geoveil.release import Release
from geoveil.wording import error_line

__all__ = ["SUMMARY", "ask_summary", "combined", "summary_file"]

#: The questions of a summary; a third of the budget goes to each.
SUMMARY = ("center", "radius", "bounds")


def ask_summary(locations: Locations, guarantee: Guarantee, *, together: bool = False) -> list[Release]:
    """Ask for center, radius and bounds within one budget.

    Parameters
    ----------
    locations : Locations
        The data, or a session about it.
    guarantee : CGP or GP
        The guarantee of the three answers together.
    together : bool
        Whether each is about all persons, rather than one for each.

    Examples
    --------
    >>> with gv.Locations(np.zeros((9, 2))).session(rho=3e-4) as session:
    ...     [release.query for release in ask_summary(session, gv.CGP(rho=3e-4))]
    ['center', 'radius', 'bounds']
    """
    shares = guarantee.split(len(SUMMARY))
    return [
        getattr(locations, name)(**{guarantee.symbol: share}, together=together)
        for name, share in zip(SUMMARY, shares, strict=True)
    ]


def summary_file(question: str) -> str:
    """Return the file name of one of the answers; a radius has no location, so its file is a table."""
    return f"{question}.csv" if question == "radius" else f"{question}.geojson"


def combined(releases: Sequence[Release], guarantee: Guarantee) -> tuple[Release, Certificate, tuple[str, ...]]:
    """Return all answers as one release for a report, the entries of its certificate that differ, and remarks."""
    # Each answer has its own error bound, and none holds for all three.
    whole = replace(releases[0], guarantee=guarantee, processing=Processing(bounded=False, combined=True))
    mechanisms = [step for release in releases for step in release.certificate()["mechanism"]]
    remarks = (f"Error of the {each.query}: {error_line(each.facts(every_error=False))}." for each in releases)
    return whole, {"query": "center, radius and bounds", "mechanism": mechanisms}, tuple(remarks)
