"""Charts of a page, without scripts: an attacker's chance of success, and the budgets that were charged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from html import escape

import numpy as np

from geoveil.privacy import Guarantee, exact
from geoveil.report.document import Balance
from geoveil.report.formatting import round_below
from geoveil.words import apart, chance, counted, hidden, metres

__all__ = ["attacker_curve", "gauges"]

#: The number of accounts that are shown, those with the least budget left first.
_SUBJECTS = 10
#: The attacker's chance of success at the right end of the curve, and at the mark on it.
_SURE, _MARKED = 0.99, 0.75


def attacker_curve(guarantee: Guarantee, later: Sequence[int] = ()) -> str:
    """Return a chart of an attacker's largest chance to pick the true one of two inputs, against their distance.

    Parameters
    ----------
    guarantee : CGP or GP
        The guarantee.
    later : sequence of int
        Numbers of releases under the same guarantee; the chart has a further curve for each number.
    """
    marked = guarantee.hidden(chance=_MARKED)
    most = guarantee.hidden(chance=_SURE)
    step = round_below(most / 2)
    most = step * np.ceil(most / step)

    def across(distance: float) -> float:
        return 1000 * distance / float(most)

    def down(chance: float) -> float:
        return 500 * (1 - (chance - 0.5) / 0.5)

    distances = np.linspace(float(most) / 120, float(most), 120)

    def drawn(under: Guarantee) -> str:
        curve = [(across(d), down(under.attacker(distance=float(d)))) for d in distances]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in [(0.0, 500.0), *curve])

    points = drawn(guarantee)
    more = "".join(f'<polyline class="curve later" points="{drawn(guarantee * times)}"/>' for times in later)
    x, y = across(marked), down(_MARKED)
    ticks = np.arange(0, float(most) + step / 2, step)
    rows = [0.5, 0.75, 1.0]
    grid = "".join(f'<line x1="0" x2="1000" y1="{down(c):.1f}" y2="{down(c):.1f}"/>' for c in rows)
    said = f"75% at {hidden(marked)}"
    label = (
        f"Largest chance that an attacker chooses the right one of two: 50% at 0 m, {said}, "
        f"{chance(guarantee.attacker(distance=float(most)))} at {metres(float(most))}."
    )
    across_text = "".join(
        f'<span class="x" style="left: {across(t) / 10:.2f}%">{metres(t) if t else "0"}</span>' for t in ticks
    )
    up_text = "".join(f'<span class="y" style="top: {down(c) / 5:.2f}%">{100 * c:.0f}%</span>' for c in rows)
    between = apart("a given distance", guarantee.metric.name)
    return (
        f"<p>An attacker knows that one of {between} is the true one, and has to choose. The curve is the largest "
        "chance that the choice is right, by that distance.</p>"
        f'<div class="chart" id="curve" data-most="{float(most):.6g}">'
        f'<svg viewBox="0 0 1000 500" preserveAspectRatio="none" role="img" aria-label="{escape(label)}">'
        f'<g class="grid">{grid}</g>{more}<polygon class="under" points="{points} 1000,500"/>'
        f'<path class="marked" d="M{x:.1f} 500V{y:.1f}"/>'
        f'<polyline class="curve" points="{points}"/><path class="dot" d="M{x:.1f} {y:.1f}h0"/></svg>'
        f'{across_text}{up_text}<b style="left: {x / 10:.2f}%; top: {y / 5:.2f}%">{said}</b></div>'
    )


def gauges(balances: Sequence[Balance], *, named: bool) -> str:
    """Return a bar for each account: the budget spent before, the cost of this release, and the budget left.

    Without names, accounts with the same amounts share one bar, which states how many they are.
    """
    accounts = Counter(balance if named else replace(balance, subject="") for balance in balances)
    least = sorted(accounts, key=lambda balance: balance.left / balance.total)[:_SUBJECTS]
    bars = []
    for balance in least:
        before = balance.spent - balance.cost
        symbol = {"rho": "ρ", "epsilon": "ε"}.get(balance.symbol, balance.symbol)
        amounts = {"before": before, "cost": balance.cost, "left": balance.left}
        filled = "".join(
            f'<i class="{part}" style="width: {100 * amount / balance.total:.3f}%"></i>'
            for part, amount in amounts.items()
        )
        said = (
            f"{exact.shown(before)} spent before",
            f"{exact.shown(balance.cost)} this release",
            f"{exact.shown(balance.left)} left of {symbol} = {exact.shown(balance.total)}",
        )
        shown = " · ".join(f"<span>{escape(part)}</span>" for part in said)
        bars.append(
            f'<li><span class="subject">{escape(balance.subject or counted(accounts[balance], "account"))}</span>'
            f'<div class="gauge" role="img" aria-label="{escape(", ".join(said))}">{filled}</div>'
            f'<div class="said">{shown}</div></li>'
        )
    more = len(balances) - sum(accounts[balance] for balance in least)
    others = counted(more, "other account")
    rest = f'<p class="said">Left in {others}: at least as much.</p>' if more else ""
    parts = {"before": "spent before", "cost": "this release", "left": "left"}
    key = " ".join(f'<i class="{part}"></i>{text}' for part, text in parts.items())
    return f'<p class="key">{key}</p><ul class="gauges">{"".join(bars)}</ul>{rest}'
