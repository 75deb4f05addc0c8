"""A report as one HTML page that loads nothing from elsewhere and in which all data is escaped."""

from __future__ import annotations

import json
from html import escape
from importlib import resources
from string import Template

from geoveil._version import __version__
from geoveil.protection import HEADINGS, TABLE
from geoveil.report import colours
from geoveil.report.certificate_table import headline, table_rows
from geoveil.report.charts import attacker_curve, gauges
from geoveil.report.document import Report
from geoveil.report.formatting import WARNING, number
from geoveil.report.map_layout import MapLayout, Shapes, lay_out
from geoveil.report.svg import map_svg
from geoveil.wording import paragraphs
from geoveil.words import counted

__all__ = ["legend", "page", "static"]

#: The number of gauges that are as high together as the chart of the attacker.
_GAUGES_BESIDE_CHART = 3


def page(report: Report) -> str:
    """Return the page of a report as HTML."""
    warning = f"{WARNING} " if report.shows_truth else ""
    banner = "".join(f'<div class="banner" role="alert">{escape(text)}</div>\n' for text in report.warnings)
    rows = "\n".join(
        f'<tr{_mark(name)}><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>'
        for name, text in table_rows(report.facts, report.certificate)
    )
    return Template(static("page.html")).substitute(
        version=escape(__version__),
        page_title=escape(warning + report.title),
        variables=colours.variables(),
        style=static("page.css"),
        script=static("page.js"),
        banner=banner,
        title=escape(report.title),
        lead=escape(headline(report.facts)),
        map=_map(report),
        words="\n".join(f"<p>{escape(text)}</p>" for text in paragraphs(report.facts)),
        # Two columns, unless one would be far longer than the other.
        half="" if len(report.balances) <= _GAUGES_BESIDE_CHART else ' class="wide"',
        curve=attacker_curve(report.guarantee),
        gauges=gauges(report.balances),
        protection=_protection(),
        details=rows,
        certificate=escape(json.dumps(report.certificate, indent=2, ensure_ascii=False, default=str)),
    )


def _mark(name: str) -> str:
    return ' class="warning"' if name == "Warning" else ""


def _protection() -> str:
    """Return the table of what is protected; each cell names its column, for small screens."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in HEADINGS)
    rows = []
    for about, *cells in TABLE:
        said = "".join(
            f'<td data-column="{escape(name)}">{escape(text)}</td>'
            for name, text in zip(HEADINGS[1:], cells, strict=True)
        )
        rows.append(f'<tr><th scope="row">{escape(about)}</th>{said}</tr>')
    listed = "\n".join(rows)
    return f'<table class="protection">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{listed}\n</tbody>\n</table>'


def static(name: str) -> str:
    """Return the text of a file of this package."""
    return resources.files("geoveil.report").joinpath(name).read_text(encoding="utf-8")


def _map(report: Report) -> str:
    """Return the section with the map, its legend and its remarks."""
    layout = lay_out(report.layers)
    remarks = [*report.remarks, *(layout.remarks if layout else ("The released value has no location on a map.",))]
    listed = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    below = f'<ul class="remarks">{listed}</ul>' if listed else ""
    if layout is None:
        return f'<section class="wide" aria-label="Remarks">{below}</section>'
    label = "Map of " + ", ".join(layer.name for layer in report.layers)
    keys = "Map: arrow keys move it, plus and minus zoom, zero shows all again."
    return (
        '<section class="map" aria-labelledby="map">\n<h2 id="map">Map</h2>\n'
        f'<div class="frame" tabindex="0" role="group" aria-label="{keys}">\n'
        f"{map_svg(layout, label)}\n"
        '<div class="buttons"><button type="button" data-does="in" aria-label="Zoom in">+</button>'
        '<button type="button" data-does="out" aria-label="Zoom out">−</button>'
        '<button type="button" data-does="reset" aria-label="Show all">⤢</button></div>\n'
        '<div class="source">Land: Natural Earth, public domain</div>\n</div>\n'
        f'<ul class="legend">\n{legend(layout)}\n</ul>\n{below}</section>'
    )


def legend(layout: MapLayout) -> str:
    """Return the entries of the legend of a map."""
    return "\n".join(_entry(i, shapes) for i, shapes in enumerate(layout.shapes))


def _entry(at: int, shapes: Shapes) -> str:
    """Return the entry of a layer in the legend, with the boxes that show and hide it."""
    layer = shapes.layer
    hue = f"var({colours.variable(layer.role, shapes.colour)})"
    box = f'<input type="checkbox" checked autocomplete="off" data-layer="{at}">'
    picture = f'<svg viewBox="0 0 26 18" aria-hidden="true" style="color: {hue}">{_glyph(shapes)}</svg>'
    said = f" <small>{escape(shapes.meaning)}</small>" if shapes.radius else ""
    parts = [f"<label>{box}{picture}<span>{escape(layer.name)}{said}</span></label>"]
    if len(shapes.more):
        more = f'<input type="checkbox" autocomplete="off" data-layer="{at}" data-circles>'
        parts.append(f"<label>{more}<span>all {counted(len(shapes.more))} circles</span></label>")
    if shapes.shades:
        steps = "".join(
            f'<span><i style="--hue: {hue}; opacity: {colours.opacity(i):.2f}"></i>'
            f"{number(low)} to {number(high)}</span>"
            for i, low, high, _ in shapes.shades
        )
        parts.append(f'<span class="shades">{steps}</span>')
    return f"<li>{''.join(parts)}</li>"


def _glyph(shapes: Shapes) -> str:
    """Return the symbol of a layer in the legend."""
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
    if layer.role == "truth":  # also recognised by readers who cannot see its colour
        return ring + '<rect class="mark" x="10.5" y="6.5" width="5" height="5"/>'
    return ring + f'<circle class="mark" cx="13" cy="9" r="{4 if layer.kind == "marks" else 2.5}"/>'
