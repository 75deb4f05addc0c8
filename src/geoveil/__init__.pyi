from . import errors
from ._version import __version__
from .budget import Ledger
from .files import points_file, read
from .geo import local
from .heatmaps import Grid, density, remap
from .improve import clamp, smooth
from .mechanisms import Lipschitz
from .planning import Plan, plan
from .privacy import CGP, GP, dist_1, dist_2, dist_inf, total
from .questions import (
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
from .release import Release
from .saving import load, save
from .session import Session

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
