"""What a query costs an account: the rules by which guarantees enter it."""

from __future__ import annotations

from geoveil.errors import IncompatibleGuarantees
from geoveil.privacy import CGP, GP, Guarantee

__all__ = ["price"]


def price(cost: Guarantee, total: Guarantee) -> Guarantee:
    """What is taken off an account for a query with this guarantee.

    Notes
    -----
    A CGP account takes CGP queries at their ρ, and pure ε-GP queries at ε²/2 (the paper's Lemma 3.6), rounded up. A GP
    account takes pure GP queries alone: no ε bounds what a CGP query may tell. (ε, δ)-GP enters neither, as δ does not
    add up with distance. All are under the account's metric. docs/budgets.md proves that queries may then be chosen
    from earlier answers.
    """
    if cost.metric != total.metric:
        raise IncompatibleGuarantees(
            f"The account is under {total.metric} and the query under {cost.metric}; "
            f"ask it with metric={total.metric.name!r}."
        )
    if isinstance(cost, GP) and not cost.pure:
        raise IncompatibleGuarantees(f"{cost!r} enters no account; ask with rho=, or with a pure epsilon=.")
    if isinstance(total, CGP) and isinstance(cost, CGP | GP):
        return cost.as_cgp()
    if not isinstance(cost, GP):
        raise IncompatibleGuarantees(f"{cost!r} enters no account of epsilon; ask with epsilon=.")
    return cost
