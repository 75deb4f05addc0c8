"""What people ask about a tuple of points, on arrays in metres."""

from geoveil.queries.hull import Hull, HullAnswer
from geoveil.queries.identity import Points
from geoveil.queries.nearest import Nearest
from geoveil.queries.proximity import FirstWithin
from geoveil.queries.query import Answer, Answers, Persons, Query, ask_each, restored_each
from geoveil.queries.summaries import SUMMARIES, Distance, OwnQuery
from geoveil.queries.support import EXTENT, HalfSpaces, SupportHull, SupportHullAnswer, best_hull

__all__ = [
    "EXTENT",
    "SUMMARIES",
    "Answer",
    "Answers",
    "Distance",
    "FirstWithin",
    "HalfSpaces",
    "Hull",
    "HullAnswer",
    "Nearest",
    "OwnQuery",
    "Persons",
    "Points",
    "Query",
    "SupportHull",
    "SupportHullAnswer",
    "ask_each",
    "best_hull",
    "restored_each",
]
