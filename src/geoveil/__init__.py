"""Locations, trajectories and answers about them, released under concentrated geo-privacy."""

from geoveil import errors
from geoveil._version import __version__
from geoveil.api.files import load, points_file, read
from geoveil.api.mapping import Grid, density, remap
from geoveil.api.planning import Plan, plan
from geoveil.api.processing import clamp, smooth
from geoveil.api.questions import (
    answer,
    bounds,
    center,
    diameter,
    distance,
    first_within,
    hull,
    mean,
    median,
    nearest,
    points,
    radius,
    radius_of_gyration,
)
from geoveil.api.session import Session
from geoveil.budget import Ledger
from geoveil.geo import local
from geoveil.mechanisms import Lipschitz
from geoveil.privacy import CGP, GP, dist_1, dist_2, dist_inf, total
from geoveil.release import Release

__all__ = [
    "CGP",
    "GP",
    "Grid",
    "Ledger",
    "Lipschitz",
    "Plan",
    "Release",
    "Session",
    "__version__",
    "answer",
    "bounds",
    "center",
    "clamp",
    "density",
    "diameter",
    "dist_1",
    "dist_2",
    "dist_inf",
    "distance",
    "errors",
    "first_within",
    "hull",
    "load",
    "local",
    "mean",
    "median",
    "nearest",
    "plan",
    "points",
    "points_file",
    "radius",
    "radius_of_gyration",
    "read",
    "remap",
    "smooth",
    "total",
]
