"""The same releases on Apache Spark: `import geoveil.spark as gvs`.

Counting is a first job, the ledger is charged once in the driver, and a second job draws noise and writes. Needs the
extra `geoveil[spark]`, Spark 4 and Java 17.
"""

from geoveil.spark.crowd_answers import counts, flows, heatmap, mean
from geoveil.spark.frame_points import SparkRelease
from geoveil.spark.point_questions import points

__all__ = ["SparkRelease", "counts", "flows", "heatmap", "mean", "points"]
