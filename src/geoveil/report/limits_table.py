"""The tables of what a release protects, what it does not, and what to ask: of points, and of numbers of a crowd.

The report page shows one of them. `docs/understand/limits.md` has the first, which a test compares, and the site
adds the rows of the second that are not in it.
"""

from __future__ import annotations

from typing import NamedTuple

from geoveil.facts import Facts
from geoveil.privacy import GP
from geoveil.text.words import hidden

__all__ = ["CROWD_TABLE", "HEADINGS", "TABLE", "Topic", "topics"]

HEADINGS = ("", "Protected", "Not protected", "Ask the analyst")
#: The words of the tables that a page replaces by the distance that its release hides.
_DISTANCE = "the stated distance, such as 100 m,"


class Topic(NamedTuple):
    """A row of the table."""

    about: str
    protected: str
    unprotected: str
    ask: str


#: The most important topics come first.
TABLE = (
    Topic(
        "Where a person was",
        "Small differences. At the stated distance, such as 100 m, someone who starts from even odds is right at most "
        "75% of the time.",
        "Larger differences: the district and the city can be recognised.",
        "Which distance is hidden? Is it large enough here, also where houses are far apart?",
    ),
    Topic(
        "How much of a person's time",
        "What the certificate names: all of a person's locations, any day of them, or each single location.",
        "Differences over a longer time than that, such as a home to which someone returns every day.",
        "What is protected together, and is it long enough for what must stay hidden?",
    ),
    Topic(
        "Who is in the data",
        "Nothing.",
        "The labels of persons, their number, and the number of points of each.",
        "Are the labels pseudonyms? Who has the key to them? Does each person have one label in all files?",
    ),
    Topic(
        "When",
        "Nothing.",
        "Times and the order of points are released unchanged.",
        "Are exact times needed? Were they rounded to hours or days before the release?",
    ),
    Topic(
        "Other columns",
        "Columns that nobody named are removed, except times, the index of a table, and the division of GPX into "
        "tracks and segments.",
        "Columns that were named are released unchanged. Some reveal locations: a street, a cell, a speed.",
        "Which columns were released unchanged, and why was each of them needed?",
    ),
    Topic(
        "Several releases",
        "With a ledger, all releases about a person together stay within one budget.",
        "Without a ledger, each further release about the same person reveals more.",
        "Which releases about these persons exist or are planned? Are all of them charged to one ledger?",
    ),
    Topic(
        "People who are together",
        "Each person's own points.",
        "A household or passengers of one car: their tracks are noisy copies of one track.",
        "Do several labels stand for the same vehicle, household or group?",
    ),
    Topic(
        "What others know already",
        "What the release adds, whatever they know.",
        "What they knew before. Someone who only has to choose between two places far apart can do so, since large "
        "differences are not hidden.",
        "Who receives the release, and what else do they have about these persons?",
    ),
    Topic(
        "The area",
        "Whether a point was outside, if such points were moved to the edge (clamp).",
        "If points outside were refused or removed, it is known that all released points were inside.",
        "Was the area chosen from public knowledge? Were points outside of it removed?",
    ),
    Topic(
        "The original data",
        "Nothing: geoveil protects what is released, not where it comes from.",
        "The original file, backups, reports with true locations, and keys of pseudonyms.",
        "Where are the originals kept, who can read them, and when are they deleted?",
    ),
)
_SHARED = {topic.about: topic for topic in TABLE}
#: The same for heat maps, counts and flows, which release neither points nor labels.
CROWD_TABLE = (
    _SHARED["Where a person was"]._replace(
        unprotected="What is true of many: where people are, and how many. Whether someone was in another part of the "
        "city, unless the release states differential privacy of use.",
        ask="Which distance is hidden? Does the certificate state differential privacy (crowd_noise.zcdp) below 1?",
    ),
    _SHARED["How much of a person's time"],
    Topic(
        "Who is in the data",
        "The labels of persons: none is released.",
        "The number of persons and of points, and what all of them have in common.",
        "Who was asked about, and is it known that somebody was among them?",
    ),
    Topic(
        "When",
        "The times of points: none is released.",
        "With slices of time, how many points are in each slice.",
        "Are slices of time so short that few people were anywhere in one of them?",
    ),
    Topic(
        "Other columns",
        "All columns: none is released.",
        "The cells or regions and their names, which are public.",
        "Were cells or regions chosen from public knowledge?",
    ),
    Topic(
        "Small groups",
        "Each person of a group, however small it is.",
        "What is true of the whole group, such as that all of it was in one region. Small numbers are shown, unless "
        "they were left blank.",
        "Does a rule ask for numbers below a limit to be left blank?",
    ),
    *(_SHARED[about] for about in ("Several releases", "What others know already", "The area", "The original data")),
)


def topics(facts: Facts) -> list[Topic]:
    """Return the table that fits a release, with the distance that it hides."""
    guarantee = facts.guarantee
    table = TABLE if facts.noise is None else CROWD_TABLE
    if isinstance(guarantee, GP) and not guarantee.pure:
        return [*table]
    stated = f"the stated distance, here {hidden(guarantee.hidden(chance=0.75))},"
    return [Topic(*(cell.replace(_DISTANCE, stated) for cell in topic)) for topic in table]
