from . import errors
from ._version import __version__
from .budget import Charge, Entry, Ledger
from .certificates import PublicKey, SigningKey
from .crowd_files import counts_file, flows_file, heatmap_file
from .crowds import counts, flows, heatmap
from .facts import CrowdNoise, ErrorBound, Exactness, Facts, MechanismUse, Processing, Removed, Unchanged
from .files import Concern, FileRelease, load, points_file, read
from .geo import Area, AreaSuggestion, areas, local, suggest_area
from .heatmaps import Grid, HeatMap, density, remap
from .improve import Motion, clamp, smooth
from .mechanisms import Lipschitz, Mechanism
from .planning import Plan, plan
from .privacy import CGP, GP, Guarantee, Metric, dist_1, dist_2, dist_inf, total
from .queries import HalfSpaces
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
from .release import CrowdCounts, CrowdFlows, CrowdHeatMap, CrowdRelease, Release
from .session import Session
from .verification import Check, Verification, verify

__all__ = [
    "CGP",
    "GP",
    "Area",
    "AreaSuggestion",
    "Charge",
    "Check",
    "Concern",
    "CrowdCounts",
    "CrowdFlows",
    "CrowdHeatMap",
    "CrowdNoise",
    "CrowdRelease",
    "Entry",
    "ErrorBound",
    "Exactness",
    "Facts",
    "FileRelease",
    "Grid",
    "Guarantee",
    "HalfSpaces",
    "HeatMap",
    "Ledger",
    "Lipschitz",
    "Mechanism",
    "MechanismUse",
    "Metric",
    "Motion",
    "Plan",
    "Processing",
    "PublicKey",
    "Release",
    "Removed",
    "Session",
    "SigningKey",
    "Unchanged",
    "Verification",
    "__version__",
    "answer",
    "areas",
    "bounds",
    "center",
    "clamp",
    "counts",
    "counts_file",
    "density",
    "diameter",
    "dist_1",
    "dist_2",
    "dist_inf",
    "distance",
    "errors",
    "first_within",
    "flows",
    "flows_file",
    "heatmap",
    "heatmap_file",
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
    "suggest_area",
    "total",
    "verify",
]
