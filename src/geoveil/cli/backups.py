"""`geoveil budget backup`, `restore` and `witness`: protect a ledger against lost charges."""

from __future__ import annotations

import click

from geoveil.cli import terminal
from geoveil.cli.budgets import CERTIFICATES, LEDGER, budget, certificates_in
from geoveil.cli.options import existing

__all__ = ["budget"]

WITNESS = click.option(
    "--witness",
    metavar="PLACE",
    help="Where the ledger's last entry is kept: a file, or the URL of a PostgreSQL database.",
)


@budget.command(examples=(("While it is in use:", "geoveil budget backup budget.db monday.db"),))
@LEDGER
@click.argument("target", metavar="FILE", type=click.Path(dir_okay=False))
def backup(ledger: str, target: str) -> None:
    """Copy a ledger, also one in use, into a FILE that can be read and restored, but not charged.

    A PostgreSQL database is backed up with its own tools.
    """
    from geoveil import Ledger

    with Ledger(existing(ledger)) as opened, terminal.waiting("Copying"):
        entries = opened.backup(target)
    terminal.say(f"{target}: {entries:,} entries, verified.")


@budget.command(
    examples=(
        (
            "With the newest certificate:",
            "geoveil budget restore monday.db restored.db charged.csv.certificate.json",
        ),
        (
            "If nobody knows what was charged later:",
            "geoveil budget restore monday.db closed.db --write-off 'the disk broke'",
        ),
    )
)
@click.argument("backup", metavar="BACKUP", type=click.Path(exists=True, dir_okay=False))
@LEDGER
@CERTIFICATES
@WITNESS
@click.option(
    "--write-off",
    metavar="REASON",
    help="Spend the rest of all budgets, since the charges after the backup are unknown. Give the reason.",
)
def restore(
    backup: str, ledger: str, certificates: tuple[str, ...], witness: str | None, write_off: str | None
) -> None:
    """Make a LEDGER from a BACKUP, unless something was charged after the backup.

    The CERTIFICATES of the latest releases, or the ledger's witness, show whether something was.
    """
    from geoveil import Ledger
    from geoveil.budget.stores import without_password

    with terminal.waiting("Restoring"):
        opened = Ledger.restore(
            backup, ledger, certificates=certificates_in(certificates), witness=witness, write_off=write_off
        )
        entries = opened.verify()
        opened.close()
    shown = without_password(str(ledger))
    terminal.say(f"{shown}: {entries:,} entries, verified." + (" Nothing is left to spend." if write_off else ""))


@budget.command(examples=(("Record the last entry:", "geoveil budget witness budget.db witness.db"),))
@LEDGER
@click.argument("place", metavar="WITNESS")
def witness(ledger: str, place: str) -> None:
    """Record a ledger's last entry in a second database, to detect if the ledger is replaced by an older copy.

    GEOVEIL_LEDGER_WITNESS=WITNESS in the environment does it after every charge.
    """
    from geoveil import Ledger
    from geoveil.budget.stores import without_password

    with Ledger(existing(ledger), witness=place) as opened:
        number = opened.testify()
    terminal.say(f"{without_password(place)}: {without_password(ledger)} has {number:,} entries.")
