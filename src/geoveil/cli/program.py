"""The program: its commands, and how errors and interruptions are reported."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from geoveil._version import __version__
from geoveil.cli.area_names import areas
from geoveil.cli.attack import attack
from geoveil.cli.audit import audit
from geoveil.cli.budgets import budget
from geoveil.cli.check import check
from geoveil.cli.command import Program, command
from geoveil.cli.demo import demo
from geoveil.cli.density import density
from geoveil.cli.explain import explain
from geoveil.cli.keys import key
from geoveil.cli.other_tools import convert_setting
from geoveil.cli.plan import plan
from geoveil.cli.problems import CODES, code_of, message_of, usage
from geoveil.cli.questions import counts, flows, heatmap, hull, mean, nearest, points, summary, within
from geoveil.cli.reproduction import experiments
from geoveil.cli.serve import serve
from geoveil.cli.smooth import smooth
from geoveil.cli.studio import studio
from geoveil.cli.terminal import State, broken_pipe, complain
from geoveil.cli.verify import verify
from geoveil.cli.zones import zones
from geoveil.errors import GeoveilWarning

__all__ = ["main", "program"]

_CODES = "\n".join(f"  {code:<4}{meaning}" for code, meaning in CODES.items())


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"Exit codes:\n\n\b\n{_CODES}",
    examples=(("See it work on a simulated city:", "geoveil demo"),),
)
@click.version_option(__version__, message="geoveil %(version)s")
@click.option("--debug", is_flag=True, help="Show where in the program an error arose.")
@click.pass_obj
def program(state: State, debug: bool) -> None:
    """Release locations, and answers about them, under a mathematical guarantee.

    A file of locations goes in; a file with noise comes out, with a certificate that states what is hidden. Each
    command has a help page with examples: geoveil points --help.
    """
    state.debug = debug


_HOW = {
    "bash": 'eval "$(geoveil completion bash)"',
    "zsh": 'eval "$(geoveil completion zsh)"',
    "fish": "geoveil completion fish | source",
}


@command("In ~/.bashrc:", _HOW["bash"])
@click.argument("shell", type=click.Choice([*_HOW]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands and options in a shell."""
    shell_class = get_completion_class(shell)
    assert shell_class is not None
    click.echo(shell_class(ctx.find_root().command, {}, "geoveil", "_GEOVEIL_COMPLETE").source())


for each in (
    *(demo, studio, points, mean, hull, nearest, within, summary, heatmap, counts, flows, zones, smooth),
    *(density, serve),
    *(explain, plan, check, attack, audit, verify, key, areas, convert_setting, budget, experiments, completion),
):
    program.add_command(each)


#: Signals that end a command: a shutdown, and a terminal that is closed.
if sys.platform == "win32":
    _ENDINGS = (signal.SIGTERM, signal.SIGBREAK)
else:
    _ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class _Ended(BaseException):
    """The command was terminated by a signal: temporary files are to be removed."""


def _end(number: int, _: object) -> None:
    raise _Ended(number)


def _remove_leftovers() -> None:
    """Remove the temporary folders of runs that were killed: they may hold true locations."""
    folder = tempfile.gettempdir()
    with suppress(OSError):
        if any(name.startswith(".geoveil-") for name in os.listdir(folder)):
            from geoveil.geo.formats.workspace import sweep

            sweep(Path(folder))


@contextmanager
def _tidy() -> Iterator[None]:
    """Clean up after signals as after Ctrl-C, and replace characters that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Signals that are ignored, as under nohup, stay ignored.
    ending = [number for number in _ENDINGS if signal.getsignal(number) is signal.SIG_DFL]
    before = {number: signal.signal(number, _end) for number in ending}
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _note
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line, and leave with its exit code."""
    state = State()
    code: Any
    try:
        with _tidy():
            _remove_leftovers()
            code = program.main(args, prog_name="geoveil", standalone_mode=False, obj=state) or 0
    except (click.Abort, _Ended) as stopped:
        released = f"{state.released} was released" if state.released else "Nothing was released"
        _complain(f"Stopped. {released}, and no partial file is left. {state.charged}".rstrip())
        code = 128 + int(stopped.args[0]) if stopped.args else 130
    except click.ClickException as problem:
        _complain(usage(problem))
        code = problem.exit_code
    except BrokenPipeError:
        broken_pipe()
        code = 0
    except Exception as problem:
        if state.debug:
            raise
        code = code_of(problem)
        unexpected = f"{type(problem).__name__}: {problem}. This should not happen: 'geoveil --debug ...' shows where."
        # The command may have charged for earlier questions too, so all of its charges are stated.
        charged = bool(state.charges.paying)
        said = message_of(problem, outcome=not charged) if code != 1 else unexpected
        if charged:
            said = f"{said} {state.charged}"
        _complain(f"{said} {state.released} was released." if state.released else said)
    sys.exit(code if isinstance(code, int) else 0)


def _note(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print geoveil's warnings; those of libraries are for programmers."""
    if issubclass(category, GeoveilWarning):
        complain(f"geoveil: note: {message}")


def _complain(message: str) -> None:
    complain(f"geoveil: {message}")
