"""A report as one HTML page that loads nothing from elsewhere and in which all data is escaped."""

from __future__ import annotations

import json
from importlib import resources

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
from geoveil.report.rendering import templates
from geoveil.report.scene import Scene
from geoveil.report.svg import key_svg, locator_svg, map_svg
from geoveil.wording import paragraphs

__all__ = ["drawing", "page", "static"]

_SVG = {"map_svg": map_svg, "locator_svg": locator_svg, "key_svg": key_svg}


def page(report: Report) -> str:
    """Return the page of a report as HTML. A section without content is left out."""
    guarantee = report.guarantee
    stated = not isinstance(guarantee, GP) or guarantee.pure
    return templates().get_template("page.html").render(
        _SVG,
        version=__version__,
        warning=WARNING,
        style=palette.variables() + static("page.css"),
        script=static("page.js"),
        report=report,
        summary=[(name, with_units(text)) for name, text in summary(report.facts)],
        scene=compose(report.layers, basemap=report.basemap),
        paragraphs=paragraphs(report.facts),
        lead=headline(report.facts),
        curve=attacker_curve(guarantee) if stated else "",
        budget=gauges(report.balances, named=report.names_persons) if report.balances else "",
        headings=HEADINGS,
        protection=TABLE,
        details=table_rows(report.facts, report.certificate),
        certificate=json.dumps(report.certificate, indent=2, ensure_ascii=False, default=str),
    )  # fmt: skip


def static(name: str) -> str:
    """Return the text of a file of this package."""
    return resources.files("geoveil.report").joinpath(name).read_text(encoding="utf-8")


def drawing(scene: Scene, label: str) -> str:
    """Return a map that the script of the page moves and zooms, with its legend and remarks.

    Parameters
    ----------
    scene : Scene
        What the map shows.
    label : str
        The contents of the map in words, for a reader who does not see it.
    """
    return templates().get_template("map.html").render(_SVG, scene=scene, label=label, remarks=())
