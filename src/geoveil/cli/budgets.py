"""`geoveil budget`: manage the accounts of a ledger, and protect it against lost charges."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from geoveil.cli import terminal
from geoveil.cli.command import Program, command
from geoveil.cli.options import as_json, protect
from geoveil.cli.options import budget as budget_options
from geoveil.facts.wording import guarantee_line, protected, unit_name
from geoveil.requests.accounts import existing_ledger
from geoveil.requests.budgets import Budget, rho_and_epsilon
from geoveil.text.words import counted, hidden

if TYPE_CHECKING:
    from geoveil import Guarantee, Ledger
    from geoveil.budget import StatementLine
    from geoveil.certificates import Certificate

LEDGER = click.argument("ledger", metavar="LEDGER")
SUBJECT = click.argument("subject")
#: The largest number of accounts shown if none is named: nobody reads a longer table.
_MOST = 1000
#: Columns of a terminal that has room for a gauge beside the unit of each account.
_WIDE = 100
CERTIFICATES = click.argument("certificates", nargs=-1, type=click.Path(exists=True, dir_okay=False))


@click.group(cls=Program, examples=(("An account for ann:", "geoveil budget create budget.db ann --rho 1e-3"),))
def budget() -> None:
    """Manage the accounts that releases are charged to.

    LEDGER is a file, or the URL of a PostgreSQL database. 'geoveil points --ledger LEDGER ...' charges it.
    """


@command(
    "An account for ann:",
    "geoveil budget create budget.db ann --rho 1e-3",
    "Two accounts, with a budget by its meaning:",
    "geoveil budget create budget.db bob eve --hide 100m",
    "One that protects any day:",
    "geoveil budget create budget.db dan --hide 100m --protect '1 day'",
    group=budget,
)
@LEDGER
@click.argument("subjects", nargs=-1, required=True)
@budget_options
@protect
@click.option(
    "--new",
    metavar="REASON",
    help="Why these subjects never had an account. A ledger that was restored with --write-off asks for it.",
)
@as_json
def create(
    ledger: str, subjects: tuple[str, ...], budget: Budget, protect: str | None, new: str | None, as_json: bool
) -> None:
    """Open accounts, each with a total budget for all time. The ledger is created if it does not exist."""
    from geoveil import Ledger

    guarantee = budget.protecting(protect)
    rho, epsilon = rho_and_epsilon(guarantee)
    with Ledger(ledger) as opened:
        entry = opened.create(*subjects, rho=rho, epsilon=epsilon, new=new)
    if as_json:
        total = str(guarantee.budget)
        terminal.json([{"subject": subject, "total": total, **entry.certificate()} for subject in subjects])
    else:
        for subject in subjects:
            terminal.say(f"{subject}: a total budget of {guarantee_line(guarantee)}.")


@command("All accounts:", "geoveil budget show budget.db", "One:", "geoveil budget show budget.db ann", group=budget)
@LEDGER
@click.argument("subjects", nargs=-1)
@as_json
def show(ledger: str, subjects: tuple[str, ...], as_json: bool) -> None:
    """Show the total, the spent and the remaining budget of accounts."""
    from geoveil import Ledger
    from geoveil.privacy import exact

    with Ledger(existing_ledger(ledger)) as opened:
        accounts = opened.accounts(subjects or None)
    told = [
        {
            "subject": name,
            "notion": account.total.notion,
            "metric": account.metric.name,
            "protects": unit_name(account.metric),
            "total": str(account.total.budget),
            "spent": exact.written(account.spent),
            "remaining": exact.written(account.remaining),
        }
        for name, account in accounts.items()
    ]
    if as_json:
        terminal.json(told)
        return
    shown = told if subjects else told[:_MOST]
    columns = ["subject", "notion", "total", "spent", "remaining"]
    drawn = [_gauge(line) for line in shown]
    if any(line["metric"] != "inf" for line in shown):
        columns.insert(2, "protects")
        drawn = drawn if terminal.console().width >= _WIDE else []
    rows = [tuple(line[name] for name in columns) for line in shown]
    if drawn:
        rows = [(*row, gauge) for row, gauge in zip(rows, drawn, strict=True)]
    terminal.answer(terminal.table([*columns, *([""] if drawn else [])], rows, total=len(told)))


def _gauge(line: dict[str, str], width: int = 10) -> str:
    filled = min(round(width * float(line["spent"]) / float(line["total"])), width)
    return "█" * filled + "░" * (width - filled)


@command("What was asked about ann?", "geoveil budget statement budget.db ann", group=budget)
@LEDGER
@SUBJECT
@as_json
def statement(ledger: str, subject: str, as_json: bool) -> None:
    """Show the history of an account: the time, the question and the cost of each charge."""
    from geoveil import Ledger

    with Ledger(existing_ledger(ledger)) as opened:
        lines = opened.statement(subject)
        account = opened.account(subject)
    left, total = account.remaining, account.total
    if as_json:
        terminal.json(lines)
        return
    columns = ["time", "event", "query", "amount"]
    shown = terminal.table(columns, [_row(line) for line in lines])
    shown.columns[1].justify = shown.columns[2].justify = "left"
    terminal.answer(shown, f"{left:.6g} is left of {total}.")
    if total.metric.name != "inf":
        terminal.say(f"It protects {protected(total.metric)}.")
    if left > 0:
        away = hidden(total.with_budget(left).hidden(chance=0.75))
        terminal.say(f"A release that spends all of it hides {away} at 75%.")


def _row(line: StatementLine) -> list[str]:
    """Return the time to the second, the event, the query and the rounded amount; --json has all digits."""
    from decimal import Decimal

    return [line["time"][:19].replace("T", " "), line["event"], line["query"], f"{Decimal(line['amount']):.6g}"]


@command(
    "Is the history intact?",
    "geoveil budget verify budget.db",
    "And does it contain this release?",
    "geoveil budget verify budget.db charged.csv.certificate.json",
    group=budget,
)
@LEDGER
@CERTIFICATES
@as_json
def verify(ledger: str, certificates: tuple[str, ...], as_json: bool) -> None:
    """Verify that the history is intact, agrees with the accounts, and contains the releases of CERTIFICATES."""
    accounts = certificates_in(certificates)
    from geoveil import Ledger

    with Ledger(existing_ledger(ledger)) as opened, terminal.waiting("Verifying"):
        entries = opened.verify(accounts)
    if as_json:
        terminal.json({"entries": entries, "certificates": len(accounts)})
        return
    known = sum(account.get("entry") is not None for account in accounts)
    terminal.say(
        f"The history is intact: {entries:,} {'entry' if entries == 1 else 'entries'}"
        + (f", with those of {counted(known, 'certificate')}." if accounts else ".")
    )
    if known < len(accounts):
        terminal.say(f"{counted(len(accounts) - known, 'certificate')} of releases that were not charged to a ledger.")


@command("All answers of last year:", "geoveil budget forget budget.db --before 2026-01-01", group=budget)
@LEDGER
@click.argument("releases", nargs=-1, metavar="[ID]...")
@click.option("--before", type=click.DateTime(["%Y-%m-%d"]), help="All that were charged before this day (UTC).")
def forget(ledger: str, releases: tuple[str, ...], before: datetime | None) -> None:
    """Delete stored answers. What they cost stays spent, and their labels and keys are never answered again.

    An answer's ID is in its certificate.
    """
    from geoveil import Ledger

    if not releases and before is None:
        raise click.UsageError("Name releases by their ids, or give --before.")
    with Ledger(existing_ledger(ledger)) as opened:
        count = opened.forget(*releases, before=before and before.replace(tzinfo=UTC))
    terminal.say(f"{counted(count, 'answer')} deleted.")


@command("Less from now on:", "geoveil budget lower budget.db ann --rho 5e-4", group=budget)
@LEDGER
@SUBJECT
@budget_options
def lower(ledger: str, subject: str, budget: Budget) -> None:
    """Set a smaller total. What has been spent stays spent."""
    from geoveil import Ledger

    with Ledger(existing_ledger(ledger)) as opened:
        total = _like(opened, subject, budget)
        rho, epsilon = rho_and_epsilon(total)
        opened.lower(subject, rho=rho, epsilon=epsilon)
        left = opened.account(subject).remaining
    terminal.say(f"{subject}: a total budget of {guarantee_line(total)}; {left:.6g} is left.")


@command(
    "A larger total than was promised:",
    "geoveil budget override budget.db ann --rho 2e-3 --reason 'ann agreed'",
    group=budget,
)
@LEDGER
@SUBJECT
@budget_options
@click.option("--reason", required=True, help="Who decided it, and why. The history keeps it.")
def override(ledger: str, subject: str, budget: Budget, reason: str) -> None:
    """Set a larger total than was promised. The history records it with the reason."""
    from geoveil import Ledger

    with Ledger(existing_ledger(ledger)) as opened:
        total = _like(opened, subject, budget)
        rho, epsilon = rho_and_epsilon(total)
        opened.override(subject, rho=rho, epsilon=epsilon, reason=reason)
        left = opened.account(subject).remaining
    terminal.say(
        f"{subject}: a total budget of {guarantee_line(total)}; {left:.6g} is left. The reason "
        "is recorded in the history."
    )


def _like(ledger: Ledger, subject: str, budget: Budget) -> Guarantee:
    """Return a budget for the unit of an account, unless --metric says otherwise."""
    guarantee, metric = budget.guarantee, ledger.account(subject).metric
    return guarantee.under_unit(metric) if guarantee.metric.name == "inf" else guarantee


def certificates_in(paths: Sequence[str]) -> list[Certificate]:
    """Return the certificates in files."""
    from geoveil.certificates import read_certificate

    return [read_certificate(Path(path)) for path in paths]


WITNESS = click.option(
    "--witness",
    metavar="PLACE",
    help="Where the ledger's last entry is kept: a file, or the URL of a PostgreSQL database.",
)


@command("While it is in use:", "geoveil budget backup budget.db monday.db", group=budget)
@LEDGER
@click.argument("target", metavar="FILE", type=click.Path(dir_okay=False))
def backup(ledger: str, target: str) -> None:
    """Copy a ledger, also one in use, into a FILE that can be read and restored, but not charged.

    A PostgreSQL database is backed up with its own tools.
    """
    from geoveil import Ledger

    with Ledger(existing_ledger(ledger)) as opened, terminal.waiting("Copying"):
        entries = opened.backup(target)
    terminal.say(f"{target}: {entries:,} entries, verified.")


@command(
    "With the newest certificate:",
    "geoveil budget restore monday.db restored.db charged.csv.certificate.json",
    "If nobody knows what was charged later:",
    "geoveil budget restore monday.db closed.db --write-off 'the disk broke'",
    group=budget,
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


@command("Record the last entry:", "geoveil budget witness budget.db witness.db", group=budget)
@LEDGER
@click.argument("place", metavar="WITNESS")
def witness(ledger: str, place: str) -> None:
    """Record a ledger's last entry in a second database, to detect if the ledger is replaced by an older copy.

    GEOVEIL_LEDGER_WITNESS=WITNESS in the environment does it after every charge.
    """
    from geoveil import Ledger
    from geoveil.budget.stores import without_password

    with Ledger(existing_ledger(ledger), witness=place) as opened:
        number = opened.testify()
    terminal.say(f"{without_password(place)}: {without_password(ledger)} has {number:,} entries.")
