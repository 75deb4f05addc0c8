"""Output on the terminal: progress, tables and JSON."""

from __future__ import annotations

import json as texts
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from geoveil.requests.accounts import ChargedAccounts, ChargeRecord

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

__all__ = [
    "Bar",
    "State",
    "answer",
    "bold",
    "console",
    "fold",
    "grid",
    "interactive",
    "json",
    "note",
    "progress",
    "say",
    "styled",
    "table",
    "waiting",
]


#: Spaces at which a line is not broken: within "20 km", "ρ = 5e-05" and "per m²".
_TIED = re.compile(r"(?<=\d) (?=k?m(?:²|\b))|(?<=\d) (?=per m)|(?<=per) (?=m)| (?== )|(?<= =) ")
_TIE = "\N{NO-BREAK SPACE}"


T = TypeVar("T")


class State:
    """The state of a running command."""

    def __init__(self) -> None:
        self.debug = False
        self.quiet = False
        #: Whether released data is written to stdout, so that text must go to stderr.
        self.piped = False
        #: The accounts that the command charges, and its charges so far.
        self.account = ChargedAccounts()
        self.charges = ChargeRecord()
        #: Whether existing files are replaced.
        self.overwrite = False
        #: The files that were released already.
        self.released = ""

    @property
    def charged(self) -> str:
        """What was charged, in words, for a command that was stopped or that failed; empty without a ledger."""
        paying, said = self.charges.paying, []
        if paying:
            others = f", and {len(paying) - 1} other subjects" if len(paying) > 1 else ""
            cost = self.charges.costs[paying[0]]
            said.append(f"{cost} of {paying[0]}{others} was charged, and is not refunded.")
        if self.charges.asking:
            said.append("'geoveil budget statement' tells whether more was charged.")
        elif not paying and self.account.place:
            said.append("Nothing was charged.")
        return " ".join(said)


def state() -> State:
    """Return the state of the running command."""
    return click.get_current_context().find_object(State) or State()


def console(*, err: bool = False) -> Console:
    """Return the console for text: stdout, or stderr where released data goes through stdout."""
    from rich.console import Console

    return Console(stderr=err or state().piped, highlight=False, soft_wrap=False)


def say(*parts: object) -> None:
    """Print something, unless --quiet was given."""
    if not state().quiet:
        answer(*parts)


def answer(*parts: object) -> None:
    """Print an answer, even with --quiet."""
    shown = console()
    for part in parts:
        # Names of files and people may look like markup.
        shown.print(fold(part, shown.width) if isinstance(part, str) else part, markup=False)


def fold(text: str, width: int) -> str:
    """Break a text into lines that fit, between words and not between a number and its unit.

    Examples
    --------
    >>> print(fold("two places that are 100 m apart", 22))
    two places that are
    100 m apart
    """
    lines = [
        textwrap.fill(_TIED.sub(_TIE, line), max(width, 1), break_on_hyphens=False, break_long_words=False)
        for line in text.split("\n")
    ]
    return "\n".join(lines).replace(_TIE, " ")


def complain(text: str) -> None:
    """Print an error or a warning to stderr; lines are broken on a terminal alone, for others may search them."""
    if sys.stderr.isatty():
        text = fold(text, os.get_terminal_size(sys.stderr.fileno()).columns)
    click.echo(text, err=True)


def bold(text: str) -> Text:
    """Return a heading."""
    return styled(text, "bold")


def styled(text: str, style: str) -> Text:
    """Return a text in a style of rich, such as "green"; markup in texts is not interpreted."""
    from rich.text import Text

    return Text(text, style=style)


def json(account: object) -> None:
    """Print JSON."""
    # A pipe on Windows has the encoding of the country, which lacks most letters.
    everything = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    click.echo(texts.dumps(account, indent=2, ensure_ascii=not everything, default=str))


def grid(lines: Iterable[tuple[str | Text, str | Text]]) -> Table:
    """Return a grid of names and texts, plain or styled, whose second column wraps."""
    from rich.table import Table
    from rich.text import Text

    lines = list(lines)
    shown = Table.grid(padding=(0, 2, 0, 0))
    shown.add_column(no_wrap=True, style="dim")
    shown.add_column(overflow="fold")
    width = console().width - max((len(name) for name, _ in lines), default=0) - 4
    for name, text in lines:
        styled_text = text if isinstance(text, Text) else Text(text)
        shown.add_row(Text.assemble("  ", name), Text(fold(styled_text.plain, width), style=styled_text.style))
    return shown


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, total: int = 0) -> Table:
    """Return a table of rows, the first ones of `total` if there are more; columns but the first are numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        shown.add_column(Text(column), justify="right" if number else "left", overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))
    if total > len(rows):
        shown.caption = f"and {total - len(rows):,} more; --json prints all"
    return shown


def note(text: str) -> None:
    """Print something that the user should know on stderr, unless --quiet was given."""
    if not state().quiet:
        complain(f"geoveil: note: {text}")


def interactive() -> bool:
    """Return whether someone at a terminal can be asked."""
    return not state().quiet and sys.stdin.isatty() and sys.stderr.isatty()


class Bar:
    """A progress bar, which is called with the share of the work that is done, from 0 to 1."""

    def __init__(self, shown: Progress, what: str) -> None:
        self._shown = shown
        self._task = shown.add_task(what, total=1.0)

    def __call__(self, share: float) -> None:
        """Set the bar."""
        self._shown.update(self._task, completed=share)

    def paused(self, work: Callable[[T], None]) -> Callable[[T], None]:
        """Return a function that hides the bar while it does some work, such as asking a question."""

        def run(given: T) -> None:
            self._shown.stop()
            work(given)
            if not self._shown.disable:
                self._shown.start()

        return run


@contextmanager
def progress(what: str) -> Iterator[Bar]:
    """Show a progress bar, and yield it."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    shown = console(err=True)
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TimeRemainingColumn(compact=True))
    hidden = state().quiet or not shown.is_terminal
    with Progress(*columns, console=shown, transient=True, disable=hidden) as bar:
        yield Bar(bar, what)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show a spinner while something of unknown duration is done."""
    shown = console(err=True)
    if state().quiet or not shown.is_terminal:
        yield
    else:
        with shown.status(what):
            yield


def broken_pipe() -> None:
    """Silence stdout after its reader has gone, also when Python flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
