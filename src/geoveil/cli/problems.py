"""Errors as one message with a remedy, in the words of the command line, and the exit codes."""

from __future__ import annotations

import click

from geoveil.cli.option_names import OPTIONS
from geoveil.errors import BudgetExceeded, GeoveilError, InvalidCoordinateSystem, InvalidData, LedgerError
from geoveil.settings import SETTINGS, own_name
from geoveil.settings.other_names import AMOUNTS, own_question

__all__ = ["CODES", "code_of", "message_of", "usage"]

#: Exit codes, and what they mean.
CODES = {
    0: "done",
    1: "an unexpected problem; geoveil --debug shows where",
    2: "invalid option or value",
    3: "a file that cannot be read, used or written",
    4: "not enough budget; nothing was charged",
    5: "a busy, unavailable or tampered ledger",
    130: "stopped by Ctrl-C",
}


def code_of(problem: BaseException) -> int:
    """Return the exit code of an error."""
    if isinstance(problem, BudgetExceeded):
        return 4
    if isinstance(problem, LedgerError):
        return 5
    if isinstance(problem, InvalidCoordinateSystem) and problem.argument == "area":
        return 2
    if isinstance(problem, (InvalidData, InvalidCoordinateSystem, OSError)):
        return 3
    return 2 if isinstance(problem, GeoveilError) else 1


def usage(problem: click.ClickException) -> str:
    """Return the error in a command line, and the command that shows its help."""
    said = _own_name(problem) or problem.format_message()
    if not isinstance(problem, click.UsageError):
        # It may begin with the name of a file.
        return said
    said = f"{said[:1].upper()}{said[1:].rstrip('.')}"
    said += "" if said.endswith("?") else "."
    where = "geoveil" if problem.ctx is None else problem.ctx.command_path
    return f"{said} See '{where} --help'."


def _own_name(problem: click.ClickException) -> str:
    """Return an error that names the right command or option for one typed by its name in another library; else ""."""
    if question := own_question(getattr(problem, "command_name", None) or ""):
        return f"{problem.format_message().rstrip('.')}. Use 'geoveil {question}'"
    if not isinstance(problem, click.NoSuchOption) or problem.ctx is None:
        return ""
    foreign = problem.option_name.lstrip("-").replace("-", "_")
    if foreign in AMOUNTS:
        return f"No such option {problem.option_name!r}. Give one of --hide (such as 200m), --rho and --epsilon"
    name = own_name(foreign)
    if name is None or not any(SETTINGS[name].option in param.opts for param in problem.ctx.command.params):
        return ""
    return f"No such option {problem.option_name!r}. It is called {SETTINGS[name].option}"


def message_of(problem: Exception, *, outcome: bool = True) -> str:
    """Return what happened and what to do next, for someone at a terminal.

    Parameters
    ----------
    problem : Exception
        The error.
    outcome : bool
        Whether the message says what was charged, where the error knows.
    """
    if isinstance(problem, GeoveilError):
        return problem.worded(OPTIONS, outcome=outcome)
    if isinstance(problem, OSError) and problem.filename is not None:
        return f"{problem.filename}: {problem.strerror}"
    return str(problem)
