"""Audits: lower bounds on what a tool or a mechanism gives away, from canaries whose places a secret coin decided."""

from geoveil.audit.canaries import Canaries
from geoveil.audit.evidence import Evidence, Verdict, judge
from geoveil.audit.scores import Score, learn_score

__all__ = ["Canaries", "Evidence", "Score", "Verdict", "judge", "learn_score"]
