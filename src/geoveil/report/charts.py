"""Charts of a page, without scripts: an attacker's chance of success, and the budgets that were charged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from geoveil.privacy import Guarantee, exact
from geoveil.report.document import Balance
from geoveil.report.formatting import round_below
from geoveil.report.rendering import templates
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
