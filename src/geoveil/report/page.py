"""A report as one HTML page that loads nothing from elsewhere and in which all data is escaped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from string import Template

from geoveil._version import __version__
from geoveil.privacy import GP
from geoveil.protection import HEADINGS, TABLE
from geoveil.report import palette
from geoveil.report.certificate_table import headline, table_rows
from geoveil.report.charts import attacker_curve, gauges
from geoveil.report.composing import compose
from geoveil.report.document import Report
from geoveil.report.formatting import WARNING, with_units
from geoveil.report.plain_words import summary
from geoveil.report.scene import Group, Scene
from geoveil.report.svg import key_svg, locator_svg, map_svg
from geoveil.wording import paragraphs
from geoveil.words import counted

__all__ = ["drawing", "page", "static"]


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
        variables=palette.variables(),
        style=static("page.css"),
        script=static("page.js"),
        banner=banner,
        title=escape(report.title),
        summary="\n".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(with_units(text))}</dd></div>"
            for name, text in summary(report.facts)
        ),
        map=_map(report),
        lead=escape(headline(report.facts)),
        words="\n".join(f"<p>{escape(text)}</p>" for text in paragraphs(report.facts)),
        charts=_charts(report),
        protection=_protection(),
        details=rows,
        certificate=escape(json.dumps(report.certificate, indent=2, ensure_ascii=False, default=str)),
    )


def _mark(name: str) -> str:
    return ' class="warning"' if name == "Warning" else ""


def _charts(report: Report) -> str:
    """Return the sections on the attacker and on the budget; a section without content is left out."""
    guarantee = report.guarantee
    stated = not isinstance(guarantee, GP) or guarantee.pure
    found = []
    if stated:
        found.append(("attacker", "What an attacker can learn", attacker_curve(guarantee)))
    if report.balances:
        found.append(("budget", "Budget", gauges(report.balances, named=report.names_persons)))
    return "\n".join(
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{heading}</h2>\n{inside}\n</section>'
        for name, heading, inside in found
    )


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
    scene = compose(report.layers, basemap=report.basemap, tiles=report.tiles)
    if scene is None:
        below = _listed([*report.remarks, "The released value has no location on a map."])
        return f'<section class="wide" aria-label="Remarks">{below}</section>'
    label = "Map of " + ", ".join(layer.name for layer in report.layers)
    drawn = drawing(scene, label, report.remarks)
    return f'<section class="map" aria-labelledby="map">\n<h2 id="map">Map</h2>\n{drawn}</section>'


def drawing(scene: Scene, label: str, remarks: Sequence[str] = ()) -> str:
    """Return a map that the script of the page moves and zooms, with its legend and remarks.

    Parameters
    ----------
    scene : Scene
        What the map shows.
    label : str
        The contents of the map in words, for a reader who does not see it.
    remarks : sequence of str
        Sentences to show below the map, before those of the scene.
    """
    keys = "Map: arrow keys move it, plus and minus zoom, zero shows all again."
    locator = (
        ""
        if scene.locator is None
        else f'<div class="locator {scene.locator.corner}">{locator_svg(scene.locator)}</div>'
    )
    legend = "\n".join(_entry(i, group) for i, group in enumerate(scene.groups) if group.role != "ground")
    return (
        f'<div class="frame" tabindex="0" role="group" aria-label="{keys}">\n'
        f"{map_svg(scene, f'{label}. {scene.where}')}\n{locator}\n"
        '<div class="buttons"><button type="button" data-does="in" aria-label="Zoom in">+</button>'
        '<button type="button" data-does="out" aria-label="Zoom out">−</button>'
        '<button type="button" data-does="reset" aria-label="Show all">⤢</button></div>\n'
        f'</div>\n<div class="source">Map: {escape(scene.source)}</div>\n'
        f'<ul class="legend">\n{legend}\n</ul>\n{_listed([*remarks, *scene.remarks])}'
    )


def _listed(remarks: Sequence[str]) -> str:
    listed = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    return f'<ul class="remarks">{listed}</ul>' if listed else ""


def _entry(at: int, group: Group) -> str:
    """Return the entry of a layer in the legend, with the boxes that show and hide it."""
    box = f'<input type="checkbox" checked autocomplete="off" data-layer="{at}">'
    truth = '<strong class="true">true</strong> ' if group.role == "truth" else ""
    first, *others = group.keys
    symbol = key_svg(first) if _visible(first.style) else ""
    parts = [f"<label>{box}{symbol}<span>{truth}{escape(first.text)}</span></label>"]
    parts += [
        f'<span class="key">{key_svg(key) if _visible(key.style) else ""}<span>{escape(key.text)}</span></span>'
        for key in others
    ]
    more = sum(len(part) for shape in group.shapes if shape.on_demand for part in shape.parts)
    if more:
        asked = f'<input type="checkbox" autocomplete="off" data-layer="{at}" data-circles>'
        parts.append(f"<label>{asked}<span>all {counted(more)} circles</span></label>")
    return f"<li>{''.join(parts)}</li>"


def _visible(style: object) -> bool:
    return bool(getattr(style, "width", 0) or getattr(style, "fill", 0))
