"""Privacy guarantees, the metrics under which they are stated, and what they mean for an attacker."""

from geoveil.privacy.guarantees import CGP, GP, Certificate, Guarantee, certified, promise, total
from geoveil.privacy.metrics import METRICS, Metric, as_metric, dist_1, dist_2, dist_inf

__all__ = [
    "CGP",
    "GP",
    "METRICS",
    "Certificate",
    "Guarantee",
    "Metric",
    "as_metric",
    "certified",
    "dist_1",
    "dist_2",
    "dist_inf",
    "promise",
    "total",
]
