"""Locations with an account: one budget for many questions about the same data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from geoveil._types import Epsilon, Hide, Labels, Rho, Short
from geoveil.answering.charging import AccountCharger, LedgerCharger, SessionCharger, account_names, check_ledger
from geoveil.answering.rows import Rows
from geoveil.budget import Charges, Ledger, SessionLimit, price, price_of
from geoveil.errors import BudgetExceeded, InvalidParameter, LedgerError
from geoveil.facts.wording import protected
from geoveil.locations.locations import Locations
from geoveil.privacy import Guarantee, Metric, dist_inf, exact, promise
from geoveil.settings.other_names import DATA
from geoveil.text.cards import Rows as CardRows

if TYPE_CHECKING:
    from geoveil.locations.hiding import ChargedCentres

__all__ = ["Session"]


class Session(Locations):
    """Locations with an account: the questions are those of `Locations`, and are charged to it.

    `Locations.session` makes one. Budgets may be chosen from earlier answers: all answers together keep the total
    (budget/PROOFS.md). A question is checked, then charged, and only then uses the data; a charge is never refunded.

    Parameters
    ----------
    locations : Locations
        The data.
    hide, rho, epsilon, ledger, subject, label, short : optional
        As for `Locations.session`.

    Examples
    --------
    >>> with gv.Locations(homes, area=bay).session(rho=1e-4) as s:
    ...     center = s.center(rho=6e-5)
    >>> s.hull(rho=5e-5)
    Traceback (most recent call last):
    ...
    geoveil.errors.BudgetExceeded: The budget does not suffice: 0.00005 was asked for, 0.00004 is left. \
Nothing was charged or released. Give a smaller budget.
    """

    def __init__(
        self,
        locations: Locations,
        *,
        hide: Hide = None,
        rho: Rho = None,
        epsilon: Epsilon = None,
        ledger: Ledger | None = None,
        subject: str | None = None,
        label: str | None = None,
        short: Short = "refuse",
    ) -> None:
        if not isinstance(locations, Locations):
            given = f"Session() takes Locations, and not {type(locations).__name__}"
            raise TypeError(f"{given}. Did you mean {DATA}.session(rho=1e-3)?")
        self.__dict__.update(locations.__dict__)
        check_ledger(ledger, person=self._has_persons, subject=subject, label=label, short=short)
        self._ledger, self._subject, self._label, self._short = ledger, subject, label, short
        self._skips = short == "skip"
        limited = ledger is None or any(given is not None for given in (hide, rho, epsilon))
        limit = promise(hide, rho, epsilon, super()._metric(together=False)) if limited else None
        #: The session's own limit, in memory.
        self._limit = None if limit is None else SessionLimit(limit)
        self._own = None if self._limit is None or ledger is not None else AccountCharger(self._limit)
        if ledger is not None and (self._rows.labels_at_hand or not self._has_persons):
            # An account that is missing is refused now.
            _ = self._accounts.metric

    def _metric(self, *, together: bool) -> Metric | None:
        stated = super()._metric(together=together)
        return self._limit.total.metric if stated is None and self._limit is not None else stated

    def _charger(self, labels: Iterable[object] | None) -> SessionCharger:
        if self._own is not None:
            return self._own
        assert self._ledger is not None
        return LedgerCharger(
            self._ledger,
            account_names(self._subject, labels),
            short=self._short,
            label=self._label,
            subject=self._subject,
            persons=labels is not None,
            account=self._limit,
        )

    @cached_property
    def _accounts(self) -> SessionCharger:
        """The accounts of all persons in the data."""
        return self._charger(self._rows.labels())

    def _is_stored(self, key: str) -> bool:
        return super()._is_stored(key) if self._ledger is None else Charges.of(self._ledger).is_stored(key)

    def _check_named(self, trip: Labels | Locations, key: str | None) -> None:
        if isinstance(trip, Locations) and self._label is not None and key is None:
            allowed = "given with destinations in a session with a label, which names the session's data alone"
            raise InvalidParameter("key", None, allowed, "Name the question, with its destinations.")

    def _charging(self) -> ChargedCentres:
        from geoveil.locations.hiding import ChargedCentres

        return ChargedCentres(self._accounts)

    def _of_rows(self, rows: Rows, public: Mapping[str, object]) -> Self:
        some = super()._of_rows(rows, public)
        if self._label is not None:
            # The label names all rows: others would get the answer that was stored for these.
            some._label = json.dumps([self._label, public], sort_keys=True, default=str)
        return some

    @cached_property
    def total(self) -> Guarantee:
        """The guarantee of all answers together, for each person."""
        if self._limit is not None:
            return self._limit.total
        assert isinstance(self._accounts, LedgerCharger)
        return self._accounts.ledger.account(self._accounts.subjects[0]).total

    @property
    def spent(self) -> Decimal:
        """The budget that this session, or the ledger for its accounts, has charged."""
        return exact.subtract(self.total.budget, self.remaining) if self._limit is None else self._limit.spent

    @property
    def remaining(self) -> Decimal:
        """The exact budget that is left: of the session's total or of the ledger, whichever is less."""
        return self._accounts.remaining

    def split(self, k: int) -> list[Guarantee]:
        """Split the remaining budget into k parts that add up to it exactly.

        Examples
        --------
        >>> gv.Locations(homes, area=bay).session(rho=1e-3).split(2)
        [CGP(rho=0.0005), CGP(rho=0.0005)]
        """
        left = self.remaining
        if left <= 0:
            raise BudgetExceeded(Decimal(0), left)
        return [*self.total.with_budget(left).split(k)]

    def cost(self, *, hide: Hide = None, rho: Rho = None, epsilon: Epsilon = None) -> tuple[Decimal, Decimal]:
        """Return the cost of a question with this budget, and the budget that would then be left; nothing is charged.

        Examples
        --------
        >>> gv.Locations(homes, area=bay).session(rho=1e-3).cost(rho=4e-4)
        (Decimal('0.0004'), Decimal('0.0006'))
        """
        asked, left = promise(hide, rho, epsilon, self._metric(together=False)), self.remaining
        for account in {self.total.metric, self._accounts.metric}:
            # What is protected may be less than the unit of an account: the price then depends on the question.
            price_of("a question", asked, account)
        taken = price(asked.under_unit(self.total.metric), self.total).budget
        if taken > left:
            raise BudgetExceeded(taken, left)
        return taken, exact.subtract(left, taken)

    def statement(self) -> list[dict[str, Any]]:
        """Return the charges of this session, or those of its accounts in the ledger.

        Examples
        --------
        >>> session = gv.Locations(homes, area=bay).session(rho=1e-3)
        >>> _ = session.mean(rho=4e-4)
        >>> [(line["query"], line["amount"]) for line in session.statement()]
        [('mean', '0.0004')]
        """
        return self._accounts.statement()

    def _card(self) -> tuple[str, CardRows]:
        heading, (area, _) = super()._card()
        try:
            balance = f"{exact.shown(self.spent)} spent, {exact.shown(self.remaining)} left"
        except LedgerError:
            balance = "the ledger cannot be read now"
        rows = [
            area,
            ("budget", f"{self.total}{', for each person' if self._has_persons else ''}"),
            *([] if self.total.metric == dist_inf else [("protects", protected(self.total.metric))]),
            ("balance", balance),
        ]
        return heading.replace("Locations:", "Session about", 1), rows

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the session; nothing is given back."""
