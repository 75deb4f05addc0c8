"""The text that describes a release: its repr, the lines on the terminal and the words of the certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from geoveil.facts import CrowdNoise, ErrorBound, Facts, MechanismUse
from geoveil.text.messages import PYTHON, Message, Naming
from geoveil.text.words import counted, hidden, metres

if TYPE_CHECKING:
    from geoveil.privacy import Guarantee, Metric

__all__ = [
    *("error_line", "guarantee_line", "heading", "lines", "paragraphs", "protected", "steps_line", "unit_name"),
    "warning_line",
]

#: Two versions of a person's data that the guarantee is about, by metric.
_DIFFERING = {
    "inf": "in which no location differs by more than {}",
    "2": "whose locations differ by at most {} together (root sum of squares)",
    "1": "whose locations differ by at most {} together (sum)",
}
#: What is hidden together, by metric.
_PROTECTED = {
    "inf": "all of a person's locations",
    "2": "all of a person's locations, by the root of the sum of their squared movements",
    "1": "each single location",
}
#: Distances between sets of points.
_SETS = {
    "bottleneck": "the bottleneck distance",
    "matching": "the distance after the best matching of points",
    "earth mover": "the earth mover's distance",
    "Hausdorff": "the Hausdorff distance, between sets of any sizes",
    "Wasserstein": "the Wasserstein distance of infinite order, between sets of any sizes",
}
_NAMED = {"inf": "all points", "2": "all points, by squares", "1": "each point"}


#: The line about pseudonyms in a repr.
_PSEUDONYMS = "random pseudonyms in place of their labels, which alone do not make people anonymous"
#: The line about points outside the area in a repr.
_OUTSIDE = {
    "clamp": "points outside the area were moved to its edge; errors are measured from there",
    "drop": "rows with a point outside the area were removed; which rows were outside is not hidden",
}


def heading(facts: Facts) -> str:
    """Return the first line: the question, and the number of points and persons."""
    persons = counted(facts.persons, "person") if facts.persons is not None else "one person"
    if facts.crowd is not None:
        persons = f"{counted(facts.crowd, 'person')} together"
    return f"Release of {facts.query}: {facts.counted} of {persons}"


def lines(facts: Facts, naming: Naming = PYTHON) -> list[tuple[str, str]]:
    """Return the name and the text of each fact, as the lines of a repr or a terminal.

    Parameters
    ----------
    facts : Facts
        Those of a release.
    naming : Naming
        The reader's names of arguments.
    """
    named_texts = [
        ("guarantee", guarantee_line(facts.guarantee, facts.also, each=facts.persons is not None)),
        ("mechanism", ", ".join(_mechanism(use, facts) for use in facts.mechanisms)),
        ("post-processing", steps_line(facts.processing.steps)),
        ("error", error_line(facts)),
        ("exact", _exact(facts)),
        ("persons", _PSEUDONYMS if facts.pseudonyms else ""),
        ("outside", _OUTSIDE.get(facts.outside, "")),
        ("removed", _removed(facts, naming)),
        ("hidden too", _hidden_too(facts)),
        ("unchanged", ", ".join(f"{column.name} ({column.reason})" for column in facts.unchanged)),
        ("warning", warning_line(facts)),
    ]
    return [(name, text) for name, text in named_texts if text]


def moment(microseconds: int) -> str:
    """Return a time in microseconds since 1970 as ISO 8601 writes it; a duration as time since 1970.

    Examples
    --------
    >>> moment(1_777_624_200_500_000)
    '2026-05-01T08:30:00.500000'
    """
    import numpy as np

    return str(np.datetime64(microseconds, "us")).removesuffix(".000000")


def paragraphs(facts: Facts) -> tuple[str, str]:
    """Describe a release in words: the meaning of its guarantee, its error, and all other facts."""
    away = hidden(facts.guarantee.hidden(chance=0.75))
    metric = facts.guarantee.metric
    hides = (
        f"Starting from even odds, anyone trying to tell apart two versions of a person's data "
        f"{_differing(metric, away)} will be right at most 75% of the time. Smaller differences are harder to detect, "
        "larger ones easier."
    )
    if metric.stretch is not None:
        hides += " Differences over a longer time are easier to detect as well."
    if facts.span is not None:
        first, last = (moment(time).replace("T", " ") for time in facts.span)
        hides += f" The points of {protected(metric)} were counted from times between {first} and {last}."
    sentences = [_not_hidden(facts)]
    if facts.unchanged:
        names = ", ".join(str(column.name) for column in facts.unchanged)
        sentences.append(f"Released unchanged, so that nothing in them is hidden: {names}.")
    if warned := warning_line(facts):
        sentences.append(f"Warning: {warned}.")
    if facts.error is not None:
        sentences.append(f"The error of the answer is {error_line(facts)}.")
    if facts.noise is not None:
        sentences.append(f"The numbers have {error_line(facts)}.")
        sentences.append(_replaced(facts.noise))
    if facts.pseudonyms:
        sentences.append(
            "Persons have random pseudonyms in place of their labels. Pseudonyms do not make people anonymous: "
            "someone may be recognised by other facts, such as times and the number of points."
        )
    if facts.outside == "clamp":
        sentences.append(
            "Points outside the area were moved to its edge before noise was added; the error is measured from there."
        )
    if facts.outside == "drop":
        outside = counted(facts.removed.outside, "row")
        sentences.append(
            f"Rows with a point outside the area were removed ({outside}). Which rows and persons were outside is not "
            "hidden; moving points to the edge of the area instead, which is called clamping, hides it."
        )
    if facts.removed.where is not None:
        filtered = "" if facts.n is None else f" ({counted(facts.removed.filtered, 'row')})"
        where = facts.removed.where
        sentences.append(
            f"Rows that do not satisfy the filter ({where}) were removed{filtered}; the filter is public."
        )
    if facts.inexact:
        sentences.append(f"The noise is not exact: {facts.inexact}.")
    if facts.rounding:
        moved, apart = (metres(times * facts.rounding, digits=2) for times in (1, 2))
        sentences.append(
            f"Before noise was added, rounding moved points by at most {moved}: the guarantee holds as if two "
            f"versions differed by up to {apart} more."
        )
    if facts.charged:
        sentences.append(
            "It was charged to a ledger, which adds up the budgets of all releases about the same person."
        )
    else:
        sentences.append("Each further release about the same person reveals more.")
    return hides, " ".join(sentences)


def _not_hidden(facts: Facts) -> str:
    """Return what the guarantee is not about, and the distance between sets of points that it is about as well."""
    if facts.noise is not None:
        counted = "No point is released, and no person's label. The number of points and of persons is not hidden."
        return " ".join(filter(None, (counted, _about_sets(facts))))
    if facts.sets is None:
        return "The number of points, their order, their times and the persons they belong to are not hidden."
    if facts.n is None:
        return f"The persons that points belong to are not hidden. {_about_sets(facts)}"
    return f"The number of points, their times and the persons they belong to are not hidden. {_about_sets(facts)}"


def _about_sets(facts: Facts) -> str:
    """Return what the guarantee hides besides locations, under a distance between sets of points."""
    if facts.sets is None:
        return ""
    of = " of each person's points, added up over persons" if facts.guarantee.metric.persons else ""
    what, is_secret = ("the number and the order", "are") if facts.n is None else ("the order", "is")
    # Which rows remain may depend on what a place shares its row with, such as a time.
    points = "a person's remaining points" if facts.removed.total else "a person's points"
    return f"The guarantee also holds if {what} of {points} {is_secret} secret (under {_SETS[facts.sets]}{of})."


def _hidden_too(facts: Facts) -> str:
    """Return what an answer hides besides locations because that was asked for."""
    if facts.n is None and facts.sets is not None:
        return f"the number and the order of a person's points, under {_SETS[facts.sets]}"
    if facts.sets is not None and facts.query == "points":
        return f"the order of a person's points, under {_SETS[facts.sets]}"
    return ""


def protected(metric: Metric) -> str:
    """Return the unit that a metric protects, in words.

    Examples
    --------
    >>> from geoveil.privacy import as_metric
    >>> protected(as_metric("1 day")), protected(as_metric("person, 12 hours")), protected(as_metric("person"))
    ("any day of a person's movements", "any 12 hours of a person's movements", "all of a person's locations")
    """
    if metric.stretch is None:
        return _PROTECTED["inf" if metric.persons else metric.name]
    return f"any {_length(metric.stretch)} of a person's movements"


def unit_name(metric: Metric) -> str:
    """Name the unit that a metric protects in two or three words, for the heading of a column.

    Examples
    --------
    >>> from geoveil.privacy import as_metric
    >>> [unit_name(as_metric(name)) for name in ("inf", "1 day", "12 hours", "1", "person", "person, 1 hour")]
    ['all points', 'any day', 'any 12 hours', 'each point', 'each person', 'any hour of each person']
    """
    if metric.stretch is None:
        return "each person" if metric.persons else _NAMED[metric.name]
    return f"any {_length(metric.stretch)}" + (" of each person" if metric.persons else "")


def _length(stretch: int) -> str:
    """Return a length of time in words; a single day is a day."""
    from geoveil.privacy import duration_words

    return duration_words(stretch).removeprefix("1 ")


def _replaced(noise: CrowdNoise) -> str:
    """Return a sentence about the ordinary differential privacy of a crowd question."""
    if noise.says_nothing:
        return (
            "It does not hide far-away differences: for replacing all of a person's locations by any others, the "
            "noise gives no meaningful differential privacy."
        )
    return (
        f"For replacing all of a person's locations by any others it is also differentially private (zCDP with ρ = "
        f"{noise.replaced:.3g})."
    )


def _differing(metric: Metric, away: str) -> str:
    """Describe the difference between two versions of a person's data that the guarantee hides."""
    from geoveil.privacy import duration_words

    if metric.stretch is None:
        return _DIFFERING["inf" if metric.persons else metric.name].format(away)

    within = duration_words(metric.stretch)
    within = f"one {within[2:]}" if within.startswith("1 ") else within
    return f"that differ only within {within}, and there in no location by more than {away},"


def warning_line(facts: Facts) -> str:
    """Return a warning that names unchanged columns that may reveal locations; empty if there are none."""
    return "; ".join(
        f"the column {column.name} is released unchanged, and {', and '.join(column.warnings)}"
        for column in facts.unchanged
        if column.warnings
    )


def steps_line(steps: tuple[str, ...]) -> str:
    """Return the steps of processing in one line."""
    return ", then ".join(steps)


def error_line(facts: Facts) -> str:
    """Return the error of the answer in one line."""
    bound, noise = facts.error, facts.noise
    if noise is not None:
        largest, each = (f"{number:.3g} {noise.counted}" for number in (noise.largest, noise.each))
        return (
            f"noise of at most {largest} in any number with probability 95% ({each} in one), before processing; "
            f"places are blurred by {metres(noise.blur)} (standard deviation)"
        )
    if bound is None:
        expected = facts.expected_error
        known = "" if expected is None else f"; expected error {metres(expected)} (root mean square)"
        return f"no guaranteed bound{known}"
    ends = " to ".join(dict.fromkeys((metres(bound.smallest), metres(bound.largest))))
    return _bound(bound, ends) + _parts(bound)


def _bound(bound: ErrorBound, ends: str) -> str:
    if bound.about == "each person":
        return f"at most {ends} for each person with probability 95%"
    line = f"at most {ends} with probability 95%"
    return f"{line} (first person)" if bound.about == "first person" else line


def _parts(bound: ErrorBound) -> str:
    point = "" if bound.point is None else f"; a single point at most {metres(bound.point)}"
    location = "" if bound.location is None else f"; each released location at most {metres(bound.location)}"
    return point + location


def guarantee_line(
    guarantee: Guarantee, also: Guarantee | None = None, *, each: bool = False, plain: bool = False
) -> str:
    """Return a guarantee in words, with its budget.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee.
    also : Guarantee, optional
        A second guarantee that holds as well.
    each : bool
        Whether it holds for each of several persons.
    plain : bool
        Whether the symbol of the metric is left out, for readers to whom it says nothing.

    Examples
    --------
    >>> from geoveil.privacy import CGP
    >>> guarantee_line(CGP(rho=5e-5), each=True)
    '104 m hidden at 75% for each person (CGP with ρ = 5e-05 per m²)'
    >>> guarantee_line(CGP(rho=5e-5, metric="1 day"))
    '104 m hidden at 75% within any day (CGP with ρ = 5e-05 per m² under dist_[1 day])'
    >>> guarantee_line(CGP(rho=5e-5, metric="1 day"), plain=True)
    '104 m hidden at 75% within any day (CGP with ρ = 5e-05 per m²)'
    """
    held: list[Any] = [each for each in (guarantee, also) if each is not None]
    budgets = " and ".join(str(replace(each, metric="inf") if plain else each) for each in held)
    stretch = guarantee.metric.stretch
    within = " at any single point" if guarantee.metric.name == "1" else ""
    within = within if stretch is None else f" within any {_length(stretch)}"
    persons = " for each person" if each or guarantee.metric.persons else ""
    return f"{hidden(guarantee.hidden(chance=0.75))} hidden at 75%{within}{persons} ({budgets})"


def _mechanism(use: MechanismUse, facts: Facts) -> str:
    times = f"{use.times} × " if use.times > 1 else ""
    scale = metres(use.scale, digits=4) if facts.noise is None else f"{use.scale:.4g} {facts.noise.counted}"
    line = f"{times}{use.name} of scale {scale}"
    return line if facts.persons is None else f"{line} (first person)"


def _exact(facts: Facts) -> str:
    if facts.inexact:
        return f"no: {facts.inexact}"
    stated, rounding = facts.fn_error, facts.rounding
    line = f"yes, if the error of the function is at most {stated:g} m, as stated" if stated else "yes"
    return f"{line}; points are rounded by at most {metres(rounding, digits=2)}" if rounding else line


def _removed(facts: Facts, naming: Naming) -> str:
    removed, parts = facts.removed, []
    if removed.columns:
        names = ", ".join(map(str, removed.columns))
        noun = "the column" if len(removed.columns) == 1 else "the columns"
        parts.append(Message("{noun} {names} ({keep} releases columns unchanged)", noun=noun, names=names))
    if removed.where is not None:
        filtered = "rows" if facts.n is None else counted(removed.filtered, "row")
        parts.append(Message("{rows} that do not satisfy {filter}", rows=filtered, filter=removed.where))
    if removed.missing:
        parts.append(Message("{rows} without a location", rows=counted(removed.missing, "row")))
    if removed.untimed:
        parts.append(Message("{rows} without a time", rows=counted(removed.untimed, "row")))
    if removed.thinned:
        parts.append(Message("{rows} by thinning", rows=counted(removed.thinned, "row")))
    if removed.outside:
        parts.append(Message("{rows} with a point outside the area", rows=counted(removed.outside, "row")))
    if removed.persons:
        parts.append(Message("{who} without enough budget", who=counted(len(removed.persons), "person")))
    return "; ".join(part.worded(naming) for part in parts)
