"""Privacy guarantees, the metrics under which they are stated, and what they mean for an attacker."""

from geoveil.privacy.durations import Duration, as_duration, duration_words, is_duration
from geoveil.privacy.guarantees import CGP, GP, Certificate, Guarantee, certified, promise, total
from geoveil.privacy.meaning import least_error
from geoveil.privacy.metrics import (
    METRICS,
    Metric,
    SetDistance,
    as_metric,
    dist_1,
    dist_2,
    dist_inf,
    protected_metric,
    unit_distance,
    unit_metric,
)
from geoveil.privacy.stretches import (
    kept_of_thinned,
    largest_stretch_sum,
    regular_stretch_size,
    stretch_sizes,
    trip_stretch_sizes,
)

__all__ = [
    "CGP",
    "GP",
    "METRICS",
    "Certificate",
    "Duration",
    "Guarantee",
    "Metric",
    "SetDistance",
    "as_duration",
    "as_metric",
    "certified",
    "dist_1",
    "dist_2",
    "dist_inf",
    "duration_words",
    "is_duration",
    "kept_of_thinned",
    "largest_stretch_sum",
    "least_error",
    "promise",
    "protected_metric",
    "regular_stretch_size",
    "stretch_sizes",
    "total",
    "trip_stretch_sizes",
    "unit_distance",
    "unit_metric",
]
