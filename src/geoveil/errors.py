"""Every error that geoveil raises on purpose.

::

    GeoveilError
    ├── InvalidInput (also a ValueError)
    │   ├── InvalidParameter          a parameter: rho, epsilon, k, beta, metric, ...
    │   ├── InvalidData               the locations: not finite, empty, of the wrong shape or type
    │   │   └── InvalidFile           a file of locations, or a row of it
    │   │       └── FileUnavailable   a file that does not exist or cannot be written
    │   └── InvalidCoordinateSystem   coordinates that are not metres on the ground
    ├── IncompatibleGuarantees (also a TypeError)   guarantees that cannot be added, compared or converted
    ├── NoErrorBound                  an error bound that no theorem gives
    ├── UnreliableArithmetic          a processor or numpy that does not compute as proofs take it to
    └── BudgetError                   an account that cannot be charged; nothing was released
        ├── BudgetExceeded            it has less left than was asked for
        └── LedgerError               the ledger itself
            ├── LedgerTimeout         it was busy for too long
            ├── LedgerUnavailable     it cannot be opened, read or written
            └── LedgerTampered        its history is not what it was

Warnings are GeoveilWarning. Parameters and data are refused before anything random is drawn.
"""

from __future__ import annotations

from decimal import Decimal

__all__ = [
    "BudgetError",
    "BudgetExceeded",
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
    "NoErrorBound",
    "UnreliableArithmetic",
]


class GeoveilError(Exception):
    """The root of all errors raised by geoveil."""


class GeoveilWarning(UserWarning):
    """What is done differently from what the data may have been meant for."""


class InvalidInput(GeoveilError, ValueError):
    """An argument that cannot be used.

    Parameters
    ----------
    argument : str
        Its name, as the caller wrote it.
    value : object
        What was given.
    allowed : str
        What may be given.
    remedy : str
        What to do next.
    """

    def __init__(self, argument: str, value: object, allowed: str, remedy: str) -> None:
        # All four go to Exception so that the error survives pickling between processes.
        super().__init__(argument, value, allowed, remedy)
        self.argument = argument
        self.value = value
        self.allowed = allowed
        self.remedy = remedy

    def __str__(self) -> str:
        try:
            shown = repr(self.value)
        except ValueError:  # Python writes no whole number of more than some thousand digits
            shown = f"a {type(self.value).__name__} too large to write"
        if len(shown) > 120:
            shown = shown[:117] + "..."
        return f"{self.argument} = {shown}: must be {self.allowed}. {self.remedy}"


class InvalidParameter(InvalidInput):
    """A parameter outside what is allowed."""


class InvalidData(InvalidInput):
    """Locations that cannot be used."""


class InvalidFile(InvalidData):
    """A file of locations that cannot be used."""


class FileUnavailable(InvalidFile):
    """A file that does not exist or cannot be written; `value` says why."""

    def __str__(self) -> str:
        return f"{self.argument}: {self.value}. {self.remedy}"


class InvalidCoordinateSystem(InvalidInput):
    """Coordinates that are not metres on the ground."""


class IncompatibleGuarantees(GeoveilError, TypeError):
    """Guarantees that cannot be added, compared or converted."""


class NoErrorBound(GeoveilError):
    """An error bound was asked for that no theorem gives."""


class UnreliableArithmetic(GeoveilError):
    """A processor, or numpy, does not compute as bounds on errors take it to; nothing was released."""


class BudgetError(GeoveilError):
    """An account that cannot be charged; nothing was released."""


class BudgetExceeded(BudgetError):
    """An account has less left than was asked for. Nothing was charged, and it can be used further.

    Parameters
    ----------
    requested, remaining : Decimal
        What was asked for, and what is left.
    subject : str
        Whose account it is, if it has a name.
    """

    def __init__(self, requested: Decimal, remaining: Decimal, subject: str = "") -> None:
        super().__init__(requested, remaining, subject)
        self.requested = requested
        self.remaining = remaining
        self.subject = subject

    def __str__(self) -> str:
        whose = f" of {self.subject}" if self.subject else ""
        return (
            f"The budget{whose} does not suffice: {self.requested} was asked for, {self.remaining} is left. "
            "Ask for less, or not at all; nothing was charged."
        )


class LedgerError(BudgetError):
    """The ledger itself; nothing was released."""


class LedgerTimeout(LedgerError):
    """The ledger was busy for too long; nothing was charged."""


class LedgerUnavailable(LedgerError):
    """The ledger cannot be opened, read or written."""


class LedgerTampered(LedgerError):
    """The ledger's history is not what it was."""
