from . import errors
from ._version import __version__
from .api.files import points_file, read
from .api.mapping import Grid, density, remap
from .api.planning import Plan, plan
from .api.processing import clamp, smooth
from .api.questions import (
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
from .api.released import load, save
from .api.session import Session
from .budget import Ledger
from .geo import local
from .mechanisms import Lipschitz
from .privacy import CGP, GP, dist_1, dist_2, dist_inf, total
from .release import Release

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
    "save",
    "smooth",
    "total",
]
