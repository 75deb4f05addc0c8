"""A report as one HTML page that loads nothing from elsewhere and in which all data is escaped, and parts of it."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from geoveil._version import __version__
from geoveil.facts.wording import paragraphs
from geoveil.privacy import GP, Guarantee, exact
from geoveil.report import palette
from geoveil.report.certificate_table import headline, table_rows
from geoveil.report.composing import compose
from geoveil.report.document import Balance, Report
from geoveil.report.formatting import WARNING, round_below, with_units
from geoveil.report.limits_table import HEADINGS, topics
from geoveil.report.plain_words import summary
from geoveil.report.scene import Scene
from geoveil.report.svg import MARKERS, Pen, attributes
from geoveil.text.words import apart, chance, counted, hidden, metres

if TYPE_CHECKING:
    import jinja2

__all__ = ["attacker_curve", "drawing", "gauges", "page", "static", "templates"]

#: The number of accounts that are shown, those with the least budget left first.
_SUBJECTS = 10
#: The attacker's chance of success at the right end of the curve, and at the mark on it.
_SURE, _MARKED = 0.99, 0.75


@functools.cache
def templates(package: str = "geoveil.report") -> jinja2.Environment:
    """Return the templates of reports or of the studio, in which all data is escaped."""
    import jinja2

    loader = jinja2.PackageLoader(package)
    made = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    made.filters |= {"counted": counted, "metres": metres, "round_below": round_below, "attributes": attributes}
    made.globals |= {"MARKERS": MARKERS, "Pen": Pen}
    return made


def static(name: str) -> str:
    """Return the text of a file of this package."""
    return resources.files("geoveil.report").joinpath(name).read_text(encoding="utf-8")


def page(report: Report) -> str:
    """Return the page of a report as HTML. A section without content is left out."""
    guarantee = report.guarantee
    stated = not isinstance(guarantee, GP) or guarantee.pure
    return templates().get_template("page.html").render(
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
        protection=topics(report.facts),
        details=table_rows(report.facts, report.certificate),
        certificate=json.dumps(report.certificate, indent=2, ensure_ascii=False, default=str),
    )  # fmt: skip


def drawing(scene: Scene, label: str) -> str:
    """Return a map that the script of the page moves and zooms, with its legend and remarks.

    Parameters
    ----------
    scene : Scene
        What the map shows.
    label : str
        The contents of the map in words, for a reader who does not see it.
    """
    return templates().get_template("map.html").render(scene=scene, label=label, remarks=())


def attacker_curve(guarantee: Guarantee, later: Sequence[int] = ()) -> str:
    """Return a chart of an attacker's largest chance to pick the true one of two inputs, against their distance.

    Parameters
    ----------
    guarantee : CGP or GP
        The guarantee.
    later : sequence of int
        Numbers of releases under the same guarantee; the chart has a further curve for each number.
    """
    marked, most = (guarantee.hidden(chance=sure) for sure in (_MARKED, _SURE))
    step = round_below(most / 2)
    most = float(step * np.ceil(most / step))

    def down(chance: float) -> float:
        return 1000 * (1 - chance)

    def line(under: Guarantee) -> str:
        distances = np.linspace(most / 120, most, 120).tolist()
        curve = [(1000 * away / most, down(under.attacker(distance=away))) for away in distances]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in [(0.0, 500.0), *curve])

    text = f"75% at {hidden(marked)}"
    end = f"{chance(guarantee.attacker(distance=most))} at {metres(most)}"
    ticks = np.arange(0, most + step / 2, step).tolist()
    return templates().get_template("curve.html").render(
        between=apart("a given distance", guarantee.metric.name),
        label=f"Largest chance that an attacker chooses the right one of two: 50% at 0 m, {text}, {end}.",
        most=most,
        line=line(guarantee),
        later=[line(guarantee * times) for times in later],
        ticks=[(100 * tick / most, metres(tick) if tick else "0") for tick in ticks],
        x=1000 * marked / most,
        y=down(_MARKED),
        marked=text,
    )  # fmt: skip


def gauges(balances: Sequence[Balance], *, named: bool) -> str:
    """Return a bar for each account: the budget spent before, the cost of this release, and the budget left.

    Without names, accounts with the same amounts share one bar, which states how many they are.
    """
    accounts = Counter(balance if named else replace(balance, subject="") for balance in balances)
    least = sorted(accounts, key=lambda balance: balance.left / balance.total)[:_SUBJECTS]
    bars = []
    for balance in least:
        amounts = {"before": balance.spent - balance.cost, "cost": balance.cost, "left": balance.left}
        before, cost, left, total = map(exact.shown, (*amounts.values(), balance.total))
        symbol = {"rho": "ρ", "epsilon": "ε"}.get(balance.symbol, balance.symbol)
        bars.append(
            (
                balance.subject or counted(accounts[balance], "account"),
                {part: 100 * amount / balance.total for part, amount in amounts.items()},
                (f"{before} spent before", f"{cost} this release", f"{left} left of {symbol} = {total}"),
            )
        )
    others = len(balances) - sum(accounts[balance] for balance in least)
    return templates().get_template("gauges.html").render(
        bars=bars, others=counted(others, "other account") if others else ""
    )  # fmt: skip
