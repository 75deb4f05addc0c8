"""Budgets as people state them: as the distance that is hidden, or as ρ or ε."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from geoveil.errors import GeoveilError, Message

if TYPE_CHECKING:
    from geoveil.privacy import CGP, GP, Guarantee

__all__ = ["CHANCE", "Budget", "BudgetKind", "rho_and_epsilon"]

#: The ways to state a budget.
BudgetKind: TypeAlias = Literal["hide", "rho", "epsilon"]
#: The largest chance that a guess between two places at the hidden distance is right.
CHANCE = 0.75


@dataclass(frozen=True)
class Budget:
    """A budget as it was stated.

    Examples
    --------
    >>> Budget("hide", "200").guarantee, Budget("rho", "1e-4").protecting("1 day")
    (CGP(rho=1.37326e-05), CGP(rho=0.0001, metric='1 day'))
    >>> Budget("hide", "200").option, Budget("hide", "200").argument
    (('--hide', '200m'), ('hide', 200.0))
    """

    #: A distance in metres, ρ per square metre, or ε per metre.
    kind: BudgetKind
    #: The number.
    text: str
    #: With a distance: the chance of a right guess, and the notion of privacy.
    chance: float = CHANCE
    notion: Literal["CGP", "GP"] = "CGP"
    #: The metric, if one was stated.
    metric: str | None = None

    @cached_property
    def guarantee(self) -> Guarantee:
        """The guarantee for all points of a person, or under the stated metric."""
        from geoveil.privacy import CGP, GP, promise

        if self.kind == "hide" and (self.chance, self.notion) != (CHANCE, "CGP"):
            notion = GP if self.notion == "GP" else CGP
            return notion.hiding(distance=float(self.text), chance=self.chance, metric=self.metric or "inf")
        hide = float(self.text) if self.kind == "hide" else None
        rho, epsilon = (self.text if self.kind == kind else None for kind in ("rho", "epsilon"))
        return promise(hide, rho, epsilon, self.metric)

    def protecting(self, protect: str | None, *, crowd: bool = False) -> Guarantee:
        """Return the guarantee for what is hidden together; with `crowd`, for one answer about many persons."""
        from geoveil.privacy import protected_metric

        metric = protected_metric(protect, crowd=crowd)
        if metric is None:
            return self.guarantee
        if self.guarantee.metric.name != "inf":
            named = "{person}" if protect is None else "{protect}"
            raise GeoveilError(Message(named + " and {metric} both say what is protected."), "Give one.")
        return self.guarantee.under_unit(metric)

    @property
    def argument(self) -> tuple[str, float | str]:
        """The budget as an argument in Python: its name and its value."""
        return self.kind, float(self.text) if self.kind == "hide" else self.text

    @property
    def option(self) -> tuple[str, str]:
        """The budget as an option of the command line: its name and its value."""
        return f"--{self.kind}", f"{float(self.text):g}m" if self.kind == "hide" else self.text


def rho_and_epsilon(guarantee: Guarantee) -> tuple[CGP | None, GP | None]:
    """Return a guarantee as the arguments `rho` and `epsilon` of a question: one of them is None."""
    from geoveil.privacy import CGP, GP

    return (guarantee if isinstance(guarantee, CGP) else None), (guarantee if isinstance(guarantee, GP) else None)
