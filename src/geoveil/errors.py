"""Every error that geoveil raises on purpose.

::

    GeoveilError
    ├── InvalidInput (also a ValueError)
    │   ├── InvalidParameter          a parameter: rho, epsilon, k, beta, metric, ...
    │   ├── InvalidData               locations that are not finite, empty, or of the wrong shape or type
    │   │   └── InvalidFile           a file of locations, or a row of it
    │   │       └── FileUnavailable   a file that does not exist or cannot be written
    │   └── InvalidCoordinateSystem   coordinates that are not metres on the ground
    ├── IncompatibleGuarantees (also a TypeError)   guarantees that cannot be added, compared or converted
    ├── NoErrorBound                  an error bound that no theorem gives
    ├── UnreliableArithmetic          a processor or numpy that is less accurate than the proofs assume
    └── BudgetError                   an account that cannot be charged; nothing was released
        ├── BudgetExceeded            less budget is left than was asked for
        └── LedgerError               a ledger that cannot be used
            ├── LedgerTimeout         it was busy for too long
            ├── LedgerUnavailable     it cannot be opened, read or written
            └── LedgerTampered        its history was changed

Warnings are GeoveilWarning. Parameters and data are refused before anything random is drawn.

An error carries its parts as data: the problem or the argument, its value and what is allowed; the remedy; and whether
something was charged. `worded` turns these parts into text with the names that a reader knows; `str` does so for
readers who write Python.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from pathlib import Path
from typing import Literal, TypeAlias

from geoveil.text.messages import PYTHON, Mention, Message, Naming, Text, worded

__all__ = [
    "BudgetError",
    "BudgetExceeded",
    "Charged",
    "FileUnavailable",
    "GeoveilError",
    "GeoveilWarning",
    "IncompatibleGuarantees",
    "InvalidCoordinateSystem",
    "InvalidData",
    "InvalidFile",
    "InvalidInput",
    "InvalidParameter",
    "LedgerError",
    "LedgerTampered",
    "LedgerTimeout",
    "LedgerUnavailable",
    "Mention",
    "Message",
    "NoErrorBound",
    "Text",
    "UnreliableArithmetic",
]


#: What became of the budget before an error was raised.
Charged: TypeAlias = Literal["nothing", "spent", "unknown"]


class GeoveilError(Exception):
    """The root of all errors raised by geoveil.

    Parameters
    ----------
    problem : str or Message
        What is wrong, in whole sentences.
    remedy : str or Message
        What to do next, in whole sentences.
    charged : {"nothing", "spent", "unknown"}, optional
        Whether a budget was charged before the error; None if no budget was at stake.
    """

    def __init__(self, problem: Text = "", remedy: Text = "", *, charged: Charged | None = None) -> None:
        # Pickling calls the class with Exception's arguments, and then restores the attributes.
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy
        self.charged = charged

    def worded(self, naming: Naming, *, outcome: bool = True) -> str:
        """Return the error as a text, with the names of arguments that a reader knows.

        Parameters
        ----------
        naming : Naming
            The reader's names of arguments and functions.
        outcome : bool
            Whether the text says what was charged, where that is known.
        """
        said = _OUTCOMES[self.charged] if outcome else ""
        return " ".join(filter(None, (self._problem(naming), said, worded(self.remedy, naming))))

    def _problem(self, naming: Naming) -> str:
        return worded(self.problem, naming)

    def __str__(self) -> str:
        return self.worded(PYTHON)


#: The sentence of an error about the budget, by what was charged.
_OUTCOMES: dict[Charged | None, str] = {
    None: "",
    "nothing": "Nothing was charged or released.",
    "spent": "Nothing was released, and the charge is spent.",
    "unknown": "Nothing was released; whether it was charged is not known.",
}


class GeoveilWarning(UserWarning):
    """Something is handled in another way than the user may expect."""


#: The files of geoveil, and that of the decorators around its functions.
_OWN_FILES = (str(Path(__file__).parent) + os.sep, contextlib.__file__)


_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


@contextmanager
def warnings_heard() -> Iterator[list[str]]:
    """Yield a list to which warnings are added while a question is asked here, in place of showing them.

    Examples
    --------
    >>> with warnings_heard() as found:
    ...     warn("Heights are dropped.")
    >>> found
    ['Heights are dropped.']
    """
    heard: list[str] = []
    before = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(before)


def warn(message: str) -> None:
    """Warn the user; the warning names the line of the user's program that called geoveil."""
    if (heard := _heard.get()) is not None:
        if message not in heard:
            heard.append(message)
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, GeoveilWarning, stacklevel=level)


class InvalidInput(GeoveilError, ValueError):
    """An argument that cannot be used.

    Parameters
    ----------
    argument : str
        The name of the argument, as the caller wrote it.
    value : object
        The value that was given.
    allowed : str or Message
        The values that are allowed, as in "must be ...".
    remedy : str or Message
        What to do next, in whole sentences.
    charged : {"nothing", "spent", "unknown"}, optional
        Whether a budget was charged before the error; None if no budget was at stake.
    """

    def __init__(
        self, argument: str, value: object, allowed: Text, remedy: Text, *, charged: Charged | None = None
    ) -> None:
        super().__init__(remedy=remedy, charged=charged)
        self.args = (argument, value, allowed, remedy)
        self.argument = argument
        self.value = value
        self.allowed = allowed

    def _problem(self, naming: Naming) -> str:
        named = naming.argument(self.argument)
        return naming.refused(named, self.value, self._shown(), worded(self.allowed, naming))

    def _shown(self) -> str:
        """Return the value as Python writes it, shortened."""
        try:
            shown = repr(self.value)
        except ValueError:  # Python writes no whole number of more than some thousand digits
            shown = f"a {type(self.value).__name__} too large to write"
        if "\n" in shown:  # a table, or an array
            shown = type(self.value).__name__
        return shown if len(shown) <= 120 else shown[:117] + "..."


class InvalidParameter(InvalidInput):
    """A parameter outside what is allowed."""


class InvalidData(InvalidInput):
    """Locations that cannot be used."""


class InvalidFile(InvalidData):
    """A file of locations that cannot be used; `argument` is its path, or a place in it."""

    def _problem(self, naming: Naming) -> str:
        return naming.refused_file(self.argument, self.value, self._shown(), worded(self.allowed, naming))


class FileUnavailable(InvalidFile):
    """A file that does not exist or cannot be written; `value` says why."""

    def _problem(self, naming: Naming) -> str:
        return f"{self.argument}: {self.value}."


class InvalidCoordinateSystem(InvalidInput):
    """Coordinates that are not metres on the ground."""


class IncompatibleGuarantees(GeoveilError, TypeError):
    """Guarantees that cannot be added, compared or converted."""


class NoErrorBound(GeoveilError):
    """An error bound that no theorem gives."""


class UnreliableArithmetic(GeoveilError):
    """A processor, or numpy, that does not compute as accurately as the proofs assume; nothing was released."""


class BudgetError(GeoveilError):
    """An account that cannot be charged; nothing was released."""


class BudgetExceeded(BudgetError):
    """An account with less budget left than was asked for. Nothing was charged, and it can still be used.

    Parameters
    ----------
    requested, remaining : Decimal
        The budget that was asked for, and the budget that is left.
    subject : str
        The name of the account, if it has one.
    accounts : int
        The number of accounts, if none of several has enough; the budgets are those of the one that is nearest to it.
    """

    def __init__(self, requested: Decimal, remaining: Decimal, subject: str = "", accounts: int = 1) -> None:
        super().__init__(remedy="Give a smaller budget.", charged="nothing")
        self.args = (requested, remaining, subject, accounts)
        self.accounts = accounts
        self.requested = requested
        self.remaining = remaining
        self.subject = subject

    def _problem(self, naming: Naming) -> str:
        if self.accounts > 1:
            return (
                f"None of the accounts of {self.accounts:,} persons has enough budget: {self.requested} was asked "
                f"for, and the nearest has {self.remaining or 0} left."
            )
        account = f" of {self.subject}" if self.subject else ""
        return f"The budget{account} does not suffice: {self.requested} was asked for, {self.remaining or 0} is left."


class LedgerError(BudgetError):
    """A ledger that cannot be used; nothing was released."""


class LedgerTimeout(LedgerError):
    """A ledger that was busy for too long."""


class LedgerUnavailable(LedgerError):
    """A ledger that cannot be opened, read or written."""


class LedgerTampered(LedgerError):
    """A ledger whose history was changed."""
