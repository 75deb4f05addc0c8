"""`geoveil verify`: check a released file or summary against its certificates, a ledger and a public key."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from geoveil.cli import terminal
from geoveil.cli.command import command
from geoveil.cli.option_names import OPTIONS
from geoveil.cli.options import as_json
from geoveil.requests.accounts import existing_ledger

if TYPE_CHECKING:
    from geoveil import Verification
    from geoveil.certificates import Certificate

#: The word before a check, and its colour.
_SIGNS = {
    ("holds", False): ("ok", "green"),
    ("fails", False): ("wrong", "bold red"),
    ("open", False): ("not checked", "yellow"),
    ("open", True): ("not known", "bold yellow"),
}
#: The exit code of each outcome; 2 is that of a file, a ledger or a key that cannot be read.
_EXIT_CODES = {"holds": 0, "fails": 1, "open": 3}


@command(
    "Is it what was released?",
    "geoveil verify released.csv",
    "Also charged in this ledger?",
    "geoveil verify charged.csv --ledger budget.db",
)
@click.argument("released", metavar="FILE", type=click.Path(readable=False))
@click.option("--ledger", metavar="FILE_OR_URL", help="The ledger that must have charged it; it is verified, too.")
@click.option("--key", metavar="FILE", help="The public key that must have signed it.")
@click.option("--certificate", metavar="FILE", help="The certificate. [default: beside the file]")
@as_json
def verify(released: str, ledger: str | None, key: str | None, certificate: str | None, as_json: bool) -> None:
    """Verify a released FILE against its certificate, a ledger and a public key.

    FILE may be the folder of a summary, whose three files are verified.

    Exits with 0 if nothing is wrong, with 1 if something is, with 2 if it cannot be checked (a file, a ledger or a key
    that cannot be read), and with 3 if the ledger cannot tell, as it recorded an answer and not this file.
    """
    from geoveil import Ledger
    from geoveil import verify as verified
    from geoveil.errors import GeoveilError
    from geoveil.verification import CANNOT_TELL

    try:
        with ExitStack() as stack, terminal.waiting("Verifying"):
            opened = None if ledger is None else stack.enter_context(Ledger(existing_ledger(ledger)))
            files = [released] if certificate is not None else _files(released)
            outcomes = {file: verified(file, ledger=opened, key=key, certificate=certificate) for file in files}
    except GeoveilError as problem:
        raise _Unchecked(problem.worded(OPTIONS, outcome=False)) from None
    if as_json:
        told = {file: outcome.to_dict(OPTIONS) for file, outcome in outcomes.items()}
        terminal.json(told.get(released, {"files": told}))
    else:
        for file, outcome in outcomes.items():
            _tell(file, outcome)
        terminal.answer(CANNOT_TELL)
    worst = next(word for word in ("fails", "open", "holds") if word in {each.outcome for each in outcomes.values()})
    click.get_current_context().exit(_EXIT_CODES[worst])


def _files(released: str) -> list[str]:
    """Return the files to verify: those of a summary, if it is the folder of one; else the file that is named."""
    from geoveil.geo.formats.atomic import certificate_path
    from geoveil.requests.file_request import SUMMARY, summary_file

    path = Path(released)
    files = [path / summary_file(name) for name in SUMMARY]
    # A released folder has one certificate, beside it.
    is_summary = not certificate_path(path).exists() and any(certificate_path(file).exists() for file in files)
    return [*map(str, files)] if is_summary else [released]


def _tell(file: str, outcome: Verification) -> None:
    """Print the checks of a file, and their outcome."""
    from geoveil.text.messages import worded

    lines = [
        (terminal.styled(*_SIGNS[check.outcome, check.asked]), f"{check.name}: {worded(check.text, OPTIONS)}")
        for check in outcome.checks
    ]
    told = f"{file}: {outcome.summary}."
    terminal.answer(terminal.grid(lines), "", terminal.styled(told, "bold" if outcome else "bold red"))
    for warning in _warnings(outcome.certificate) if outcome else []:
        terminal.answer(terminal.styled(warning, "red"))


def _warnings(certificate: Certificate | None) -> list[str]:
    """Return the warnings of a certificate about columns that are released unchanged."""
    return [
        f"Warning: the column {column['name']} is released unchanged, and {', and '.join(column['warnings'])}."
        for column in ([] if certificate is None else certificate.get("unchanged", ()))
        if column["warnings"]
    ]


class _Unchecked(click.ClickException):
    """A file, a ledger or a key that cannot be read."""

    exit_code = 2
