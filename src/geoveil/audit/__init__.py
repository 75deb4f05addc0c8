"""Audits: lower bounds on what a tool or a mechanism gives away, from canaries whose places a secret coin decided."""

from geoveil.audit.canaries import Canaries
from geoveil.audit.evidence import Evidence, Verdict, judge
from geoveil.audit.file_audit import make, read, tool
from geoveil.audit.findings import Fault
from geoveil.audit.mechanism_audit import MechanismAudit, audit_mechanism
from geoveil.audit.outcome import Audit
from geoveil.audit.scores import Score, learn_score

__all__ = [
    "Audit",
    "Canaries",
    "Evidence",
    "Fault",
    "MechanismAudit",
    "Score",
    "Verdict",
    "audit_mechanism",
    "judge",
    "learn_score",
    "make",
    "read",
    "tool",
]
