"""The arguments that questions about DataFrames share, typed once for editors and type checkers."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from geoveil._types import (
    CoordinateColumns,
    CrsLike,
    Epsilon,
    Method,
    MetricLike,
    Missing,
    Outside,
    Progress,
    Pseudonyms,
    Rho,
    Short,
    UnitLike,
)
from geoveil.answering.crowd import Every
from geoveil.budget import Ledger
from geoveil.certificates import KeyLike
from geoveil.geo import AreaLike
from geoveil.privacy import Duration

__all__ = ["CrowdOptions", "MeanOptions", "PersonOptions"]


class _FrameOptions(TypedDict, total=False):
    """The arguments of all questions about DataFrames."""

    rho: Rho
    epsilon: Epsilon
    metric: MetricLike
    unit: UnitLike
    times: str | None
    thin: Duration | None
    area: AreaLike
    crs: CrsLike
    outside: Outside
    missing: Missing
    where: str | None
    ledger: Ledger | None
    subject: str | None
    short: Short
    key: str | None
    lat: CoordinateColumns
    lon: CoordinateColumns
    geometry: str | None
    progress: Progress | None


class PersonOptions(_FrameOptions, total=False):
    """The arguments of questions about each person of a DataFrame: as for `points`."""

    by: str | None
    method: Method
    pseudonyms: Pseudonyms
    sign: KeyLike


class MeanOptions(_FrameOptions, total=False):
    """The arguments of a mean of all points of a DataFrame: as for `geoveil.mean`, with those of `points`."""

    method: Method
    rng: np.random.Generator | None


class CrowdOptions(MeanOptions, total=False):
    """The arguments of questions about the crowd in a DataFrame: as for `geoveil.heatmap`, with those of `points`."""

    cap: float | None
    bandwidth: float | None
    every: Every
