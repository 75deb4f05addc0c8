"""A certificate as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geoveil.privacy import Guarantee
from geoveil.report.texts import lengths
from geoveil.words import counted, metres

__all__ = ["details", "summary"]

_METRICS = {
    "dist_inf": "dist_inf: the largest movement of any point",
    "dist_2": "dist_2: the root of the sum of squared movements",
    "dist_1": "dist_1: the sum of movements",
}


def summary(guarantee: Guarantee, certificate: Mapping[str, Any]) -> str:
    """What was released of how many, and under what."""
    told = []
    if "query" in certificate:
        told.append(f"Release of {str(certificate['query']).replace('_', ' ')}")
    if "n" in certificate:
        told.append(counted(certificate["n"], "point"))
    if "persons" in certificate:
        told.append(counted(certificate["persons"], "person"))
    return " · ".join([*told, str(guarantee)])


def details(guarantee: Guarantee, certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a certificate says, a name and a text each; what it does not say is left out."""
    area, entry, also = (certificate.get(name) or {} for name in ("area", "entry", "also"))
    rows: list[tuple[str, Any]] = [
        ("Guarantee", f"{guarantee}, for each person"),
        ("Besides", also and f"{also.get('epsilon', also.get('rho'))}-{also['notion']} {also['unit']}"),
        ("Metric", _METRICS.get(str(certificate.get("metric")), certificate.get("metric"))),
        ("Query", certificate.get("query")),
        ("Method", certificate.get("method")),
        ("Mechanism", "; ".join(_mechanism(step) for step in certificate.get("mechanism", ()))),
        ("95% radius", _radius(certificate)),
        ("Points", counted(certificate["n"]) if "n" in certificate else None),
        ("Persons", counted(certificate["persons"]) if "persons" in certificate else None),
        ("Rows without a place", certificate.get("missing") or None),
        ("Area", area and f"{area['name']}; its plane stretches {_stretched(area['stretch'])}"),
        ("Points outside of it", "moved to its edge" if certificate.get("outside") == "clamp" else None),
        ("Coordinate system", certificate.get("crs")),
        ("Since then", "; ".join(certificate.get("processed", ()))),
        ("Exact", _exact(certificate) if "exact" in certificate else None),
        ("Public", ", ".join(certificate.get("public", ()))),
        ("Ledger's entry", entry and f"number {entry['number']} of {entry['ledger']}, {entry['hash']}"),
        ("Release", certificate.get("id")),
        ("Version", certificate.get("version") and f"geoveil {certificate['version']}"),
    ]
    return [(name, str(text)) for name, text in rows if text]


def _stretched(stretch: float) -> str:
    return "nothing" if stretch == 1 else f"lengths by at most {stretch:.6g}"


def _mechanism(step: Mapping[str, Any]) -> str:
    scale = step["scale"]
    ends = (scale["smallest"], scale["largest"]) if isinstance(scale, Mapping) else (scale,)
    times = f"{step['times']} × " if step.get("times", 1) > 1 else ""
    return f"{times}{step['name']} of scale {lengths(ends)}"


def _radius(certificate: Mapping[str, Any]) -> str | None:
    radius = certificate.get("radius_95")
    if radius is None:
        return "not bounded by a theorem" if "radius_95" in certificate else None
    return lengths((radius["smallest"], radius["largest"])) if isinstance(radius, Mapping) else metres(radius)


def _exact(certificate: Mapping[str, Any]) -> str:
    if not certificate["exact"]:
        return f"no: {certificate.get('inexact', '')}"
    rounding = certificate.get("rounding", 0)
    return f"yes; points are rounded by at most {metres(rounding, digits=2)}" if rounding else "yes"
