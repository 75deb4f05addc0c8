"""The contents of a report: a map, the facts of a release, its certificate, and the balances of accounts."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from geoveil.certificates import Certificate
from geoveil.errors import InvalidParameter
from geoveil.facts import Facts
from geoveil.privacy import Guarantee
from geoveil.report.formatting import WARNING
from geoveil.report.layers import Layer
from geoveil.wording import warning_line

__all__ = ["Balance", "Report"]


@dataclass(frozen=True)
class Balance:
    """The balance of an account of a ledger after a release.

    Parameters
    ----------
    subject : str
        The name of the account.
    symbol : str
        "rho" or "epsilon".
    total : Decimal
        The total budget.
    spent : Decimal
        The budget spent so far, including this release.
    cost : Decimal
        The budget that this release cost.
    """

    subject: str
    symbol: str
    total: Decimal
    spent: Decimal
    cost: Decimal

    def __post_init__(self) -> None:
        if not 0 <= self.cost <= self.spent <= self.total or not self.total > 0:
            given = f"cost {self.cost}, spent {self.spent}, total {self.total}"
            allowed = "0 ≤ cost ≤ spent ≤ total"
            raise InvalidParameter("balance", given, allowed, "Include the cost of this release in `spent`.")

    @property
    def left(self) -> Decimal:
        """The budget that can still be spent."""
        return self.total - self.spent


@dataclass(frozen=True)
class Report:
    """A report before it is written. It contains no true locations, unless one of its layers has the role "truth".

    Parameters
    ----------
    title : str
        The heading of the report.
    layers : tuple of Layer
        The layers of the map, the first at the bottom.
    facts : Facts
        The facts of the release, from `Release.facts`. The page and the figure put them into words.
    certificate : Certificate
        The certificate of the release, from `Release.certificate`, which the page shows in full.
    balances : tuple of Balance
        The accounts that were charged; empty if none was. Accounts are named only if the release names the persons.
    remarks : tuple of str
        Sentences to show below the map.
    basemap : str, optional
        The path of the user's own base map, which is drawn in quiet greys.
    width : float, optional
        The width of a figure in millimetres; 180 by default.
    """

    title: str
    layers: tuple[Layer, ...]
    facts: Facts
    certificate: Certificate
    balances: tuple[Balance, ...] = field(default=())
    remarks: tuple[str, ...] = field(default=())
    basemap: str | None = None
    width: float | None = None

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for each person."""
        return self.facts.guarantee

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that a reader must not miss: about true locations, and about columns that may reveal them."""
        told = warning_line(self.facts)
        return (*((WARNING,) if self.shows_truth else ()), *((f"Warning: {told}.",) if told else ()))

    @property
    def names_persons(self) -> bool:
        """Whether the release contains the labels of persons.

        It does not if they are replaced by pseudonyms, or if the answer is about a crowd or one person.
        """
        return any(column.reason == "person" for column in self.facts.unchanged)

    @property
    def shows_truth(self) -> bool:
        """Whether the report shows true locations."""
        return any(layer.role == "truth" for layer in self.layers)
