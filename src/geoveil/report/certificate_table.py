"""The facts and the certificate of a release as rows of a table."""

from __future__ import annotations

from geoveil.certificates import Certificate
from geoveil.certificates.certificate import StatedMechanism
from geoveil.facts import Facts
from geoveil.facts.wording import guarantee_line, lines, moment, protected
from geoveil.report.formatting import lengths
from geoveil.text.words import counted

__all__ = ["headline", "table_rows"]

_METRICS = {
    "inf": "dist_inf: the largest movement of any point",
    "2": "dist_2: the root of the sum of squared movements",
    "1": "dist_1: the sum of movements",
}


def headline(facts: Facts) -> str:
    """Return one line with the question, the number of points and persons, and the guarantee."""
    persons = counted(facts.persons or facts.crowd or 1, "person")
    question = f"Release of {facts.query.replace('_', ' ')}"
    return " · ".join((question, facts.counted, persons, guarantee_line(facts.guarantee, facts.also)))


def table_rows(facts: Facts, certificate: Certificate) -> list[tuple[str, str]]:
    """Return the name and the text of each row; a row without a text is left out.

    Parameters
    ----------
    facts : Facts
        The facts of a release.
    certificate : Certificate
        The certificate of the release. It adds entries that the facts lack: the mechanisms of all persons, the area,
        the coordinate system, the ledger's entry and the version.
    """
    worded = dict(lines(facts))
    area, entry = certificate.get("area"), certificate.get("entry")
    rows = [
        ("Guarantee", worded["guarantee"]),
        ("Protected", protected(facts.guarantee.metric)),
        ("Metric", _METRICS.get(facts.guarantee.metric.name, f"{facts.guarantee.metric}: chains of such movements")),
        ("Question", facts.query),
        ("Method", facts.method),
        ("Mechanism", "; ".join(map(_mechanism, certificate.get("mechanism", ())))),
        ("Error", worded["error"]),
        ("Points", "their number is hidden" if facts.n is None else counted(facts.n)),
        ("Persons", "" if facts.persons is None else counted(facts.persons)),
        ("Hidden too", worded.get("hidden too", "")),
        ("Pseudonyms", worded.get("persons", "")),
        ("Filter", facts.removed.where or ""),
        ("Rows removed by the filter", counted(facts.removed.filtered) if facts.removed.filtered else ""),
        ("Rows without a location", counted(facts.removed.missing) if facts.removed.missing else ""),
        ("Rows outside the area", counted(facts.removed.outside) if facts.removed.outside else ""),
        ("Times", "" if facts.span is None else " to ".join(moment(time).replace("T", " ") for time in facts.span)),
        ("Released unchanged", worded.get("unchanged", "")),
        ("Warning", worded.get("warning", "")),
        ("Area", "" if area is None else f"{area['name']}; its plane stretches {_stretch(area['stretch'])}"),
        ("Outside the area", worded.get("outside", "")),
        ("Coordinate system", certificate.get("crs") or ""),
        ("Post-processing", worded.get("post-processing", "")),
        ("Exact", worded["exact"]),
        ("Public", ", ".join(certificate.get("public", ()))),
        ("Entry in the ledger", "" if entry is None else f"{entry['number']} of {entry['ledger']}, {entry['hash']}"),
        ("Release", certificate.get("id", "")),
        ("Version", f"geoveil {certificate['version']}" if "version" in certificate else ""),
    ]
    return [(name, text) for name, text in rows if text]


def _stretch(stretch: float) -> str:
    return "nothing" if stretch == 1 else f"lengths by at most {stretch:.6g}"


def _mechanism(use: StatedMechanism) -> str:
    """Return a mechanism in words; for several persons, with the smallest and the largest of their scales."""
    scale = use["scale"]
    ends = (scale["smallest"], scale["largest"]) if isinstance(scale, dict) else (scale,)
    times = f"{use['times']} × " if use.get("times", 1) > 1 else ""
    return f"{times}{use['name']} of scale {lengths(ends)}"
