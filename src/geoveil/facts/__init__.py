"""The facts of a release as data, and the text that describes them."""

from geoveil.facts.facts import (
    NONE,
    SMOOTHED,
    CrowdNoise,
    ErrorBound,
    Facts,
    MechanismUse,
    Processing,
    Provenance,
    Reason,
    Removed,
    RowCounts,
    Unchanged,
)

__all__ = [
    "NONE",
    "SMOOTHED",
    "CrowdNoise",
    "ErrorBound",
    "Facts",
    "MechanismUse",
    "Processing",
    "Provenance",
    "Reason",
    "Removed",
    "RowCounts",
    "Unchanged",
]
