"""Make a release: charge accounts, draw noise, write files, record the release, verify it, and draw the report."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import geoveil as gv
from geoveil._types import Progress
from geoveil.budget.stores import is_database
from geoveil.errors import GeoveilError, LedgerUnavailable
from geoveil.file_summary import combined
from geoveil.geo.formats.atomic import certificate_path, check_room
from geoveil.privacy import exact
from geoveil.release.as_layers import truth_layer
from geoveil.release_record import ReleaseRecord
from geoveil.report import Balance, Layer, Report
from geoveil.studio.file_request import PASSWORD, TRUE_REPORT, FileRequest
from geoveil.studio.page_words import ON_PAGE, message_of
from geoveil.studio.typed_paths import regular_size, typed_path
from geoveil.studio.warning_collector import own_warnings
from geoveil.words import counted

__all__ = ["Outcome", "make_release", "open_ledger"]

#: Seconds that a ledger may be busy before a release is refused.
_PATIENCE = 20.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """A release that was made.

    Parameters
    ----------
    request : FileRequest
        What was asked.
    releases : list of Release
        The answers.
    report : Report
        Its report, without true locations.
    files : list of Path
        The files to be downloaded.
    checks : list of Verification
        Whether each released file belongs to its certificate.
    when : datetime
        The time of the release.
    remarks : list of str
        Warnings, and what could not be done after the release was made.
    """

    request: FileRequest
    releases: list[gv.Release]
    report: Report
    files: list[Path]
    checks: list[gv.Verification]
    when: datetime
    remarks: list[str]


def open_ledger(place: str, patience: float) -> gv.Ledger:
    """Open an existing ledger: a misspelt name creates no new one. Wait up to `patience` seconds for a busy one."""
    if is_database(place):
        _check_address(place)
        return gv.Ledger(place, timeout=patience)
    path = typed_path(place, "ledger")
    if not path.exists():
        raise LedgerUnavailable(f"{place}: there is no such ledger.", "Step 6 makes one.")
    if regular_size(path) < 0:
        raise LedgerUnavailable(f"{place} is no file.", "Type the path of a ledger.")
    return gv.Ledger(path, timeout=patience)


def _check_address(place: str) -> None:
    """Refuse an address that cannot be read, without the driver's message, which may repeat parts of the password."""
    try:
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        # The ledger itself says what has to be installed.
        return
    try:
        conninfo_to_dict(place)
    except Error:
        remedy = "An address is like postgresql://user@host/database; in a password, % is written %25 and @ is %40."
        raise LedgerUnavailable("The address of the database cannot be read.", remedy) from None


def make_release(request: FileRequest, folder: Path, progress: Progress) -> Outcome:
    """Charge accounts, draw noise, write files, record the release, verify it, and draw the report."""
    remarks: list[str] = []
    with ExitStack() as stack:
        ledger = (
            stack.enter_context(open_ledger(request.choices.ledger, _PATIENCE)) if request.choices.ledger else None
        )
        before = None if ledger is None else _spent(ledger)
        # The file may have changed while a busy ledger was waited for.
        request.data.check_unchanged()
        check_room(folder / request.target)
        try:
            with own_warnings() as warned:
                releases = request.run(folder, ledger, lambda share: progress(0.9 * share))
        except Exception as problem:
            if ledger is not None and before is not None and getattr(problem, "charged", None) != "nothing":
                _tell_charged(ledger, before, problem)
            raise
        # From here on the release is made and charged: a later failure becomes a remark and removes no file.
        remarks += [told.replace(f"{folder}{os.sep}", "") for told in warned]
        progress(0.92)
        _record(request)
        written = (
            [*(folder / request.target).iterdir()] if request.question == "summary" else [folder / request.target]
        )
        written = [path for path in written if not path.name.endswith(".certificate.json")]
        key = None if request.key is None else request.key.public
        checks = []
        for path in written:
            with _told(remarks, f"{path.name} could not be verified"):
                checks.append(gv.verify(path, ledger=ledger, key=key))
        balances: tuple[Balance, ...] = ()
        with _told(remarks, "The balances of the accounts that were charged could not be read"):
            balances = () if ledger is None or before is None else _balances(ledger, before)
    layers: tuple[Layer, ...] = ()
    with _told(remarks, "The map could not be drawn"):
        layers = tuple(layer for release in releases for layer in release.layers())
    report = _report(request, releases, layers, balances)
    files = [file for path in written for file in (path, certificate_path(path))]
    with _told(remarks, "The report could not be written"):
        files += _drawn(folder, report)
    with _told(remarks, "The report with the true locations could not be written"):
        files += _with_truth(request, folder, report, releases)
    with _told(remarks, "The command could not be written"):
        files += _code(request, folder)
    return Outcome(request, releases, report, files, checks, datetime.now(), remarks)


@contextmanager
def _told(remarks: list[str], what: str) -> Iterator[None]:
    """Turn a failure after the release was made into a remark, and continue."""
    try:
        yield
    except GeoveilError as problem:
        # What an error says about charges is about its own question, not about the release.
        remarks.append(f"{what}: {problem.worded(ON_PAGE, outcome=False)}")
    except Exception as problem:
        remarks.append(f"{what}: {message_of(problem)}")


def _tell_charged(ledger: gv.Ledger, before: dict[str, Any], problem: Exception) -> None:
    """Raise an error that says that accounts were charged for a failed release; return if none was charged."""
    try:
        charged = len(_balances(ledger, before))
    except Exception:
        said = "Nothing was released; whether accounts were charged is not known, as the ledger cannot be read."
    else:
        if not charged:
            return
        said = f"Nothing was released. Charged for it: {counted(charged, 'account')}."
    plain = problem.worded(ON_PAGE, outcome=False) if isinstance(problem, GeoveilError) else message_of(problem)
    raise GeoveilError(plain, said) from problem


def _with_truth(request: FileRequest, folder: Path, report: Report, releases: list[gv.Release]) -> list[Path]:
    """Write a second report with the true locations, if their owner has asked for it; the report says what it is."""
    if not request.choices.with_truth:
        return []
    truth = truth_layer(request.data.frame, releases[0])
    replace(report, layers=(truth, *report.layers)).save(folder / TRUE_REPORT)
    return [folder / TRUE_REPORT]


def _code(request: FileRequest, folder: Path) -> list[Path]:
    """Write the request as a command and as Python code."""
    hint = f"# {PASSWORD}\n" if request.has_password else ""
    texts = {"command.txt": f"{hint}{request.command()}\n", "release.py": request.python()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]


def _spent(ledger: gv.Ledger) -> dict[str, Any]:
    return {name: account.spent for name, account in ledger.accounts().items()}


def _balances(ledger: gv.Ledger, before: dict[str, Any]) -> tuple[Balance, ...]:
    """Return the balances of the accounts that were charged."""
    found = []
    for name, account in ledger.accounts([*before]).items():
        cost = exact.subtract(account.spent, before[name])
        if cost > 0:
            found.append(Balance(name, account.total.symbol, account.total.budget, account.spent, cost))
    return tuple(found)


def _record(request: FileRequest) -> None:
    """Record the release, for later ones of the same file; if that fails, the release is not stopped."""
    record = ReleaseRecord.of_user()
    if record is not None and not request.data.demo:
        try:
            record.add(request.data.path, request.guarantee, named=not request.data.received)
        except OSError:
            return


def _report(
    request: FileRequest, releases: list[gv.Release], layers: tuple[Layer, ...], balances: tuple[Balance, ...]
) -> Report:
    title = f"{request.data.name}, released"
    if request.question == "summary":
        whole, different, remarks = combined(releases, request.guarantee)
        return Report(title, layers, whole.facts(), whole.certificate() | different, balances, remarks)
    (release,) = releases
    return Report(title, layers, release.facts(), release.certificate(), balances)


def _drawn(folder: Path, report: Report) -> list[Path]:
    """Draw the report as a page and, where matplotlib is installed, as a figure."""
    files = []
    for name in ("report.html", "map.png"):
        try:
            report.save(folder / name)
        except (GeoveilError, ValueError):
            # There is no figure without matplotlib, and none of an answer that has no place on a map.
            continue
        files.append(folder / name)
    return files
