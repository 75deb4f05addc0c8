"""Joins geo and queries: any form in, a Release out."""

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

__all__ = [
    "answer",
    "bounds",
    "center",
    "diameter",
    "distance",
    "first_within",
    "hull",
    "mean",
    "median",
    "nearest",
    "points",
    "radius",
    "radius_of_gyration",
]
