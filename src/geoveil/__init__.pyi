from . import audit, errors, paper
from ._version import __version__
from .advice import Advice
from .answering.concerns import Concern
from .answering.loading import load
from .audit.mechanism_audit import audit_mechanism
from .budget import Account, Entry, Ledger
from .certificates import PublicKey, SigningKey
from .geo import Area, areas, local, suggest_area
from .live.stream import Stream
from .locations import Locations, Session
from .mechanisms import Lipschitz, Mechanism
from .planning import Plan, plan
from .postprocess.grid import Grid
from .postprocess.motion import Motion
from .privacy import CGP, GP, Guarantee, Metric, dist_1, dist_2, dist_inf, total
from .queries import HalfSpaces
from .release import CrowdCounts, CrowdFlows, CrowdHeatMap, CrowdRelease, HeatMap, Release
from .verification import Check, Verification, verify
from .zones import ZonesRelease

__all__ = [
    "CGP",
    "GP",
    "Account",
    "Advice",
    "Area",
    "Check",
    "Concern",
    "CrowdCounts",
    "CrowdFlows",
    "CrowdHeatMap",
    "CrowdRelease",
    "Entry",
    "Grid",
    "Guarantee",
    "HalfSpaces",
    "HeatMap",
    "Ledger",
    "Lipschitz",
    "Locations",
    "Mechanism",
    "Metric",
    "Motion",
    "Plan",
    "PublicKey",
    "Release",
    "Session",
    "SigningKey",
    "Stream",
    "Verification",
    "ZonesRelease",
    "__version__",
    "areas",
    "audit",
    "audit_mechanism",
    "dist_1",
    "dist_2",
    "dist_inf",
    "errors",
    "load",
    "local",
    "paper",
    "plan",
    "suggest_area",
    "total",
    "verify",
]
