"""The summary of a release in plain words, without symbols: what was released, what is hidden, and the error."""

from __future__ import annotations

import re

from geoveil.facts import Facts
from geoveil.facts.wording import protected, steps_line
from geoveil.report.formatting import number
from geoveil.text.words import counted, hidden, metres

__all__ = ["summary"]

#: What each question releases.
_RELEASED = {
    "points": "The locations themselves, each moved at random",
    "mean": "The mean of all locations, with random noise",
    "center": "The centre of all locations, with random noise",
    "median": "The median of all locations, with random noise",
    "bounds": "A box around all locations, with random noise",
    "hull": "The convex hull around all locations, with random noise",
    "nearest": "Which locations are nearest to a public place, up to random noise",
    "distance": "The distance from a public place, with random noise",
    "first_within": "The first visit near a public place, up to random noise",
    "radius": "How far the locations spread, with random noise",
    "radius_of_gyration": "How far the locations spread, with random noise",
    "diameter": "The largest distance between locations, with random noise",
    "heatmap": "How many are in each cell of a grid, with random noise",
    "counts": "How many are in each region, with random noise",
    "flows": "How many go from each place to each other, with random noise",
}


def summary(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Return three headings, each with one or two sentences: what was released, what is hidden, and the error.

    Examples
    --------
    >>> import textwrap
    >>> for heading, text in summary(gv.Locations([[0.0, 0.0], [100.0, 0.0]]).mean(rho=1e-4).facts()):
    ...     print(*textwrap.wrap(f"{heading}: {text}", 111), sep=chr(10))
    Released: The mean of all locations, with random noise: 2 points of one person.
    Hidden: Which of two versions of all of a person's locations is true, if they differ by up to 74.1 m. Starting
    from even odds, nobody guesses right more than 75% of the time.
    Error: At most 174 m, with probability 95%.
    """
    return (("Released", _released(facts)), ("Hidden", _hidden(facts)), ("Error", _error(facts)))


def _released(facts: Facts) -> str:
    what = _RELEASED.get(facts.query, "An answer with random noise")
    # The summary only names the steps; the details describe them.
    steps = (re.split(" (?:with|by|from|to|that) ", step)[0] for step in facts.processing.steps)
    after = f", then {steps_line(tuple(steps))}"
    whose = counted(facts.persons or facts.crowd or 1, "person").replace("1 person", "one person", 1)
    if facts.persons is None and facts.crowd is None:
        whose = "one person"
    return f"{what}{after if facts.processing.steps else ''}: {facts.counted} of {whose}."


def _hidden(facts: Facts) -> str:
    away, what = hidden(facts.guarantee.hidden(chance=0.75)), protected(facts.guarantee.metric)
    what = what.replace("each single", "any single")
    return (
        f"Which of two versions of {what} is true, if they differ by up to {away}. Starting from even odds, nobody "
        "guesses right more than 75% of the time."
    )


def _error(facts: Facts) -> str:
    bound, noise = facts.error, facts.noise
    if noise is not None:
        return (
            f"With probability 95%, noise moves no number by more than {number(noise.largest)} {noise.counted}. "
            f"Locations are blurred by {metres(noise.blur)} (standard deviation)."
        )
    if bound is None and facts.expected_error is not None:
        off = metres(facts.expected_error)
        return f"Locations are expected to be about {off} off (root mean square). This is no guaranteed bound."
    if bound is None:
        return "There is no guaranteed bound after these steps."
    ends = " to ".join(dict.fromkeys((metres(bound.smallest), metres(bound.largest))))
    of = {"each person": " for each person", "first person": " for the first person"}.get(bound.about, "")
    text = f"At most {ends}{of}, with probability 95%."
    if bound.point is not None:
        point = f"95% of true locations lie within {metres(bound.point)} of the released ones"
        text = f"{point}; all of them within {ends}, with probability 95%."
    return text if bound.location is None else f"{text} Each released location is within {metres(bound.location)}."
