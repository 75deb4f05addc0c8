"""The same releases on Apache Spark: `import geoveil.spark as gvs`.

Counting is a first job, the ledger is charged once in the driver, and a second job draws noise and writes. Needs the
extra `geoveil[spark]`, Spark 4 and Java 17.
"""

from geoveil.spark.crowd_answers import counts, flows, heatmap
from geoveil.spark.frame_persons import PersonRelease
from geoveil.spark.frame_points import SparkRelease
from geoveil.spark.person_answers import (
    bounds,
    center,
    diameter,
    distance,
    first_within,
    hull,
    mean,
    median,
    nearest,
    radius,
    radius_of_gyration,
)
from geoveil.spark.point_questions import points
from geoveil.spark.question_options import CrowdOptions, MeanOptions, PersonOptions

__all__ = [
    "CrowdOptions",
    "MeanOptions",
    "PersonOptions",
    "PersonRelease",
    "SparkRelease",
    "bounds",
    "center",
    "counts",
    "diameter",
    "distance",
    "first_within",
    "flows",
    "heatmap",
    "hull",
    "mean",
    "median",
    "nearest",
    "points",
    "radius",
    "radius_of_gyration",
]
