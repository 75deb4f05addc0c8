"""What people ask about a tuple of points, on arrays in metres."""

from geoveil.queries.hull import Hull, HullAnswer
from geoveil.queries.nearest import Nearest
from geoveil.queries.points import Points
from geoveil.queries.proximity import FirstWithin
from geoveil.queries.query import Answer, Query
from geoveil.queries.summaries import SUMMARIES, Distance, OwnQuery
from geoveil.queries.support import EXTENT, HalfSpaces, SupportHull, SupportHullAnswer, best_hull

__all__ = [
    "EXTENT",
    "SUMMARIES",
    "Answer",
    "Distance",
    "FirstWithin",
    "HalfSpaces",
    "Hull",
    "HullAnswer",
    "Nearest",
    "OwnQuery",
    "Points",
    "Query",
    "SupportHull",
    "SupportHullAnswer",
    "best_hull",
]
