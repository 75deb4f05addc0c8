"""The price of a query: which guarantees an account can pay for, and what they cost."""

from __future__ import annotations

from geoveil.errors import IncompatibleGuarantees, Message
from geoveil.privacy import CGP, GP, Guarantee, Metric

__all__ = ["price", "price_of", "unknown_price"]


def price(cost: Guarantee, total: Guarantee) -> Guarantee:
    """Return the amount that an account with this total is charged for a query with this guarantee.

    Notes
    -----
    A CGP account pays ρ for a CGP query, and ε²/2 (the paper's Lemma 3.6), rounded up, for a pure ε-GP query. A GP
    account pays for pure GP queries only, since CGP does not imply ε-GP for any ε. Neither pays for (ε, δ)-GP, since δ
    does not add up with distance. All guarantees must be under the account's metric. docs/do/budgets.md proves that
    queries may then be chosen depending on earlier answers.
    """
    if cost.metric != total.metric:
        raise IncompatibleGuarantees(
            f"The account is under {total.metric} and the query under {cost.metric}.",
            "Ask for what the account protects, or open another account.",
        )
    if isinstance(cost, GP) and not cost.pure:
        raise IncompatibleGuarantees(
            f"No account can pay for {cost!r}.", Message("Ask with {rho}, or with a pure {epsilon}.")
        )
    if isinstance(total, CGP) and isinstance(cost, CGP | GP):
        return cost.as_cgp()
    if not isinstance(cost, GP):
        raise IncompatibleGuarantees(f"A GP account cannot pay for {cost!r}.", Message("Ask with {epsilon}."))
    return cost


def price_of(question: str, guarantee: Guarantee, account: Metric | None) -> Guarantee:
    """Return the price of a release for accounts with this metric: the budget of its guarantee.

    An account belongs to one person. A release that may protect less than the unit of the account is refused.
    """
    if account is None or account == guarantee.metric:
        return guarantee
    if not guarantee.metric.of_one_person.is_at_most(account):
        raise unknown_price(question, account)
    return guarantee.under_unit(account)


def unknown_price(question: str, account: Metric) -> IncompatibleGuarantees:
    """Return the error for a release whose price under the metric of an account is not known."""
    remedy = Message("Ask with the unit of the account, or open an account for this unit.")
    return IncompatibleGuarantees(f"The cost of {question} under {account} is not known.", remedy)
