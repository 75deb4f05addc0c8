"""The picture of attacks: the share of persons to whom each attack comes within a distance, and what is allowed."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from geoveil.attacks.attack import FOR_YOU_ONLY, Attack, Attacks
from geoveil.noise.reals import Floats
from geoveil.text.share_charts import ShareChart, drawn_chart, outcome_page
from geoveil.text.words import metres

__all__ = ["curves", "draw", "page"]

#: Colours that are told apart by people who see few of them, and on dark backgrounds.
_COLOURS = ("#0f766e", "#b45309", "#6d28d9", "#be123c", "#1d4ed8", "#4d7c0f", "#0e7490")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 4", "1 3")
_CHART = ShareChart(320, 52, "the attacker comes within", 4)
_BOTTOM = 40


def _measured(attacks: Attacks) -> list[Attack]:
    return [attack for attack in attacks if not attack.linking]


def _distances(attacks: Attacks) -> Floats:
    """Return the distances that the picture shows, from a tenth of the least error to the largest."""
    errors = np.concatenate([attack.off for attack in _measured(attacks)] or [np.ones(1)])
    errors = np.maximum(errors, 0.1)
    return np.geomspace(max(float(errors.min()) / 2, 0.1), float(errors.max()) * 1.5 + 1, 160)


def _shares(attack: Attack, distances: Floats) -> Floats:
    return np.searchsorted(np.sort(attack.off), distances, side="right") / len(attack.off)


def curves(attacks: Attacks) -> str:
    """Return the picture as SVG."""
    distances = _distances(attacks)
    first, last = np.log10(distances[[0, -1]])

    def x(distance: Floats | float) -> Floats:
        return np.asarray(_CHART.left + (np.log10(distance) - first) / (last - first) * (_CHART.right - _CHART.left))

    def y(share: Floats | float) -> Floats:
        return np.asarray((1 - np.asarray(share)) * (_CHART.height - _BOTTOM - 10) + 10)

    def line(shares: Floats) -> str:
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x(distances), y(shares), strict=True))

    parts: list[str] = []
    allowed = attacks.chances(distances)
    if allowed is not None:
        parts += _CHART.allowed(line(allowed), float(y(1.0)))
    parts += _CHART.levels((0.0, 0.5, 1.0), y)
    for power in range(int(np.ceil(first)), int(np.floor(last)) + 1):
        at = float(x(10.0**power))
        parts.append(f'<text x="{at:.1f}" y="{_CHART.height - 22}" text-anchor="middle">{metres(10.0**power)}</text>')
    keys = []
    for number, attack in enumerate(_measured(attacks)):
        colour, dash = _COLOURS[number % len(_COLOURS)], _DASHES[number % len(_DASHES)]
        style = f'fill="none" stroke="{colour}" stroke-width="2.2" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{line(_shares(attack, distances))}" {style}/>')
        keys.append(f'<span style="color:{colour}">&#9644; {escape(attack.name)}</span>')
    if allowed is not None:
        keys.append('<span style="color:#475569">&#9644; the guarantee allows at most</span>')
    label = f"The share of {attacks.of}s to which an attack comes within a distance, for each attack."
    return _CHART.figure(parts, label, f"{label} {' '.join(keys)}")


def page(attacks: Attacks) -> str:
    """Return a page with the verdict, the table and the picture, which loads nothing."""
    headings, rows = attacks.table()
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in headings)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}<small>{escape(attacks[row[0]].does)}</small></th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    style = (
        ".warning{color:#b91c1c;font-weight:600}table{border-collapse:collapse;width:100%}"
        "th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #cbd5e1;vertical-align:top}"
        "td{white-space:nowrap}"
        "small{display:block;font-weight:400;color:#475569}figure{margin:1.5rem 0}figcaption span{margin-right:1rem}"
    )
    return outcome_page(
        "Attacks",
        style,
        f"<h1>Attacks on {escape(attacks.about)}</h1>"
        f'<p class="warning">{FOR_YOU_ONLY}</p><p>{escape(attacks.verdict())}</p>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{curves(attacks)}",
    )


def draw(attacks: Attacks, path: Path) -> None:
    """Draw the picture into a file, in the format of its ending."""
    distances = _distances(attacks)

    def shares(axes: Any) -> None:
        for number, attack in enumerate(_measured(attacks)):
            colour, style = _COLOURS[number % len(_COLOURS)], ("-", "--", ":", "-.")[number % 4]
            axes.plot(distances, _shares(attack, distances), style, color=colour, label=attack.name)
        axes.set(xscale="log", ylim=(0, 1.02), xlabel=_CHART.axis, ylabel=f"share of {attacks.of}s")
        axes.xaxis.set_major_formatter(lambda distance, _: metres(distance))
        axes.legend(frameon=False, fontsize=8)
        axes.set_title(FOR_YOU_ONLY, fontsize=8, color="#b91c1c", loc="left")

    drawn_chart(path, distances, attacks.chances(distances), shares, line="the guarantee allows at most")
