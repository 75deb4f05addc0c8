"""The picture of an audit: how often guesses are right at each distance, and what the claim allows; and its page."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from geoveil.audit.chances import guess_chances
from geoveil.audit.outcome import Audit
from geoveil.geo.geometries import Floats
from geoveil.text.share_charts import ShareChart, drawn_chart, outcome_page
from geoveil.text.words import metres

__all__ = ["curve", "draw", "page"]

_CHART = ShareChart(330, 56, "distance between the two places", 6)
_BOTTOM = 46
_OVER, _WITHIN = "#be123c", "#0f766e"
#: Outcomes of a test that speak against the tool.
_BAD = ("FOUND", "MORE THAN CLAIMED", "NOT AS ASSUMED")
_CAPTION = (
    "How often somebody who sees the released file guesses right between two places, by the distance between them. "
    "A coin is right half of the time. The shaded part is what the claim does not allow; the bars show what chance "
    "leaves open (99%). A point whose whole bar is in the shaded part breaks the claim."
)


def _distances(audit: Audit) -> Floats:
    return np.linspace(0.01, 1.2 * max([each.distance for each in audit.guesses] or [1000.0]), 160)


def curve(audit: Audit) -> str:
    """Return the picture as SVG."""
    distances = _distances(audit)
    allowed = guess_chances(audit.claim, distances)

    def x(distance: Floats | float) -> Floats:
        return np.asarray(_CHART.left + np.asarray(distance) / distances[-1] * (_CHART.right - _CHART.left))

    def y(share: Floats | float) -> Floats:
        return np.asarray((1 - (np.asarray(share) - 0.4) / 0.6) * (_CHART.height - _BOTTOM - 14) + 14)

    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x(distances), y(allowed), strict=True))
    parts = [*_CHART.allowed(line, float(y(1.0))), *_CHART.levels((0.5, 0.75, 1.0), y)]
    worst = audit.worst_distance()
    for each in audit.guesses:
        colour, at = _OVER if each.low > each.allowed else _WITHIN, float(x(each.distance))
        low, high, middle = (
            float(np.clip(y(share), 10, _CHART.height - _BOTTOM)) for share in (each.low, each.high, each.right)
        )
        seen = f"{metres(each.distance)}: {each.right:.0%} of {each.trials} guesses are right"
        parts.append(
            f"<g><title>{seen}, the claim allows {each.allowed:.0%}</title>"
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{colour}" stroke-width="2"/>'
            f'<circle cx="{at:.1f}" cy="{middle:.1f}" r="5" fill="{colour}"/></g>'
        )
        clearest = worst is not None and abs(each.distance / worst - 1) < 0.1
        weight, named = (' font-weight="700"', " (clearest)") if clearest else ("", "")
        parts.append(
            f'<text x="{at:.1f}" y="{_CHART.height - 26}" text-anchor="middle"{weight}>'
            f"{metres(each.distance)}{named}</text>"
        )
    return _CHART.figure(parts, _CAPTION, _CAPTION)


def page(audit: Audit) -> str:
    """Return a page with the verdict, the table and the picture, which loads nothing."""
    headings, rows = audit.table()
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in headings)
    body = "".join(
        f'<tr class="{"over" if row[1] in _BAD else ""}"><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in audit.notes)
    style = (
        ".verdict{font-size:1.15rem;border-left:5px solid;padding:.4rem 1rem;margin:1rem 0}"
        f".found{{border-color:{_OVER}}}.nothing{{border-color:{_WITHIN}}}"
        "table{border-collapse:collapse;width:100%;margin:1rem 0}"
        "th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid #cbd5e1;vertical-align:top}"
        "tbody th{font-weight:400}td:nth-child(2){white-space:nowrap}"
        f"thead th{{font-weight:600}}.over th,.over td{{color:{_OVER};font-weight:600}}"
        "figure{margin:1.5rem 0}figcaption,.small{color:#475569;font-size:.9rem}"
    )
    return outcome_page(
        "Audit of a tool",
        style,
        f'<h1>Audit of a tool</h1><p class="verdict {"found" if audit.found else "nothing"}">'
        f"{escape(audit.verdict())}</p>"
        f"<p><strong>Next:</strong> {escape(audit.following())}</p>"
        f"<p>{escape(audit.explained())}</p>{curve(audit)}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f'<p>{escape(audit.assumptions())}</p><ul class="small">{notes}</ul>'
        f'<p class="small">{escape(audit.about())}</p>',
    )


def draw(audit: Audit, path: Path) -> None:
    """Draw the picture into a file, in the format of its ending."""
    distances = _distances(audit)

    def guesses(axes: Any) -> None:
        for each in audit.guesses:
            colour = _OVER if each.low > each.allowed else _WITHIN
            axes.plot([each.distance] * 2, [each.low, each.high], color=colour)
            axes.plot(each.distance, each.right, "o", color=colour)
        axes.set(ylim=(0.4, 1.02), xlabel=_CHART.axis, ylabel="right guesses")
        axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        axes.set_xticks([each.distance for each in audit.guesses], [metres(each.distance) for each in audit.guesses])
        axes.minorticks_off()
        axes.legend(frameon=False, fontsize=8, loc="upper left")

    drawn_chart(path, distances, guess_chances(audit.claim, distances), guesses, shaded="more than the claim allows")
