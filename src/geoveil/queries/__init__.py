"""Queries about a tuple of points: frozen values that take arrays in metres and return private answers."""

from geoveil.queries.answer import Answer, Answers, HalfSpaces, answers_without_values
from geoveil.queries.crowd import CrowdMap, CrowdQuery, Flows, Lattice, MapBeside, RegionCounts, Regions
from geoveil.queries.functions import Distance, UserFunction
from geoveil.queries.hull import Hull, HullAnswer
from geoveil.queries.identity import Points
from geoveil.queries.nearest import Nearest
from geoveil.queries.persons import Persons
from geoveil.queries.proximity import FirstWithin
from geoveil.queries.query import Query, ask_each, restored_each
from geoveil.queries.summaries import SUMMARIES
from geoveil.queries.support import EXTENT, SupportHull, SupportHullAnswer, best_hull
from geoveil.queries.unit_sizes import UnitSizes

__all__ = [
    "EXTENT",
    "SUMMARIES",
    "Answer",
    "Answers",
    "CrowdMap",
    "CrowdQuery",
    "Distance",
    "FirstWithin",
    "Flows",
    "HalfSpaces",
    "Hull",
    "HullAnswer",
    "Lattice",
    "MapBeside",
    "Nearest",
    "Persons",
    "Points",
    "Query",
    "RegionCounts",
    "Regions",
    "SupportHull",
    "SupportHullAnswer",
    "UnitSizes",
    "UserFunction",
    "answers_without_values",
    "ask_each",
    "best_hull",
    "restored_each",
]
