"""The report as one page that works from the disk: nothing in it is loaded from elsewhere, all data is escaped."""

from __future__ import annotations

import json
import re
from html import escape
from importlib import resources
from string import Template

from geoveil._version import __version__
from geoveil.report import look
from geoveil.report.charts import attacker_curve, gauges
from geoveil.report.content import Report
from geoveil.report.details import details, summary
from geoveil.report.sheet import Shapes, Sheet, lay_out
from geoveil.report.svg import map_svg
from geoveil.report.texts import WARNING, number
from geoveil.words import counted

__all__ = ["page"]

#: So many gauges are as high as the attacker's curve.
_HALF = 3


def page(report: Report) -> str:
    """The whole page."""
    warning = f"{WARNING} " if report.truth else ""
    banner = f'<div class="banner" role="alert">{WARNING}</div>\n' if report.truth else ""
    rows = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>'
        for name, text in details(report.guarantee, report.certificate)
    )
    return Template(_static("page.html")).substitute(
        version=escape(__version__),
        page_title=escape(warning + report.title),
        variables=look.variables(),
        style=_static("page.css"),
        script=_static("page.js"),
        banner=banner,
        title=escape(report.title),
        lead=escape(summary(report.guarantee, report.certificate)),
        map=_map(report),
        words=_paragraphs(str(report.certificate.get("words", ""))),
        # Two columns, unless one would be far longer than the other.
        half="" if len(report.balances) <= _HALF else ' class="wide"',
        curve=attacker_curve(report.guarantee),
        gauges=gauges(report.balances),
        details=rows,
        certificate=escape(json.dumps(report.certificate, indent=2, ensure_ascii=False, default=str)),
    )


def _static(name: str) -> str:
    return resources.files("geoveil.report").joinpath(name).read_text(encoding="utf-8")


def _paragraphs(words: str) -> str:
    """The first sentences, which say what is hidden, and the rest."""
    cut = words.find(" The number of points, their order")
    parts = [words] if cut < 0 else [words[:cut], words[cut + 1 :]]
    # A number stays on a line with its unit.
    kept = (re.sub(r"(?<=\d) (?=k?m\b)", "\N{NO-BREAK SPACE}", part) for part in parts)
    return "\n".join(f"<p>{escape(part)}</p>" for part in kept if part)


def _map(report: Report) -> str:
    sheet = lay_out(report.layers)
    remarks = [*report.remarks, *(sheet.remarks if sheet else ("What is released has no place on a map.",))]
    listed = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    below = f'<ul class="remarks">{listed}</ul>' if listed else ""
    if sheet is None:
        return f'<section class="wide" aria-label="Remarks">{below}</section>'
    label = "Map of " + ", ".join(layer.name for layer in report.layers)
    keys = "Map: arrow keys move it, plus and minus zoom, zero shows all again."
    return (
        '<section class="map" aria-labelledby="map">\n<h2 id="map">Map</h2>\n'
        f'<div class="frame" tabindex="0" role="group" aria-label="{keys}">\n'
        f"{map_svg(sheet, label)}\n"
        '<div class="buttons"><button type="button" data-does="in" aria-label="Zoom in">+</button>'
        '<button type="button" data-does="out" aria-label="Zoom out">−</button>'
        '<button type="button" data-does="reset" aria-label="Show all">⤢</button></div>\n'
        '<div class="source">Land: Natural Earth, public domain</div>\n</div>\n'
        f'<ul class="legend">\n{_legend(sheet)}\n</ul>\n{below}</section>'
    )


def _legend(sheet: Sheet) -> str:
    return "\n".join(_entry(i, shapes) for i, shapes in enumerate(sheet.shapes))


def _entry(at: int, shapes: Shapes) -> str:
    layer = shapes.layer
    hue = f"var({look.name(layer.role, shapes.colour)})"
    box = f'<input type="checkbox" checked autocomplete="off" data-layer="{at}">'
    picture = f'<svg viewBox="0 0 26 18" aria-hidden="true" style="color: {hue}">{_glyph(shapes)}</svg>'
    said = f" <small>{escape(shapes.meaning)}</small>" if shapes.radius else ""
    parts = [f"<label>{box}{picture}<span>{escape(layer.name)}{said}</span></label>"]
    if len(shapes.more):
        more = f'<input type="checkbox" autocomplete="off" data-layer="{at}" data-circles>'
        parts.append(f"<label>{more}<span>all {counted(len(shapes.more))} circles</span></label>")
    if shapes.shades:
        steps = "".join(
            f'<span><i style="--hue: {hue}; opacity: {look.opacity(i):.2f}"></i>{number(low)} to {number(high)}</span>'
            for i, low, high, _ in shapes.shades
        )
        parts.append(f'<span class="shades">{steps}</span>')
    return f"<li>{''.join(parts)}</li>"


def _glyph(shapes: Shapes) -> str:
    layer = shapes.layer
    if layer.kind == "grid":
        return '<rect class="mark" x="4" y="3" width="18" height="12" fill-opacity=".6"/>'
    if layer.kind == "area":
        return (
            '<rect x="3" y="3" width="20" height="12" rx="2" stroke-width="2" fill="currentColor" fill-opacity=".15"/>'
        )
    if layer.kind == "lines":
        return '<path d="M3 13 10 5l6 7 7-8" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"/>'
    ring = '<circle cx="13" cy="9" r="8" stroke-width="1.3"/>' if shapes.radius else ""
    if layer.kind == "marks" and layer.role == "public":
        return ring + '<path class="mark" d="M13 3.5 18.5 9 13 14.5 7.5 9z"/>'
    if layer.role == "truth":  # told apart also by those who do not see colours
        return ring + '<rect class="mark" x="10.5" y="6.5" width="5" height="5"/>'
    return ring + f'<circle class="mark" cx="13" cy="9" r="{4 if layer.kind == "marks" else 2.5}"/>'
