"""Make a release: charge accounts, draw noise, write files, record the release, verify it, and draw the report."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import geoveil as gv
from geoveil._types import Progress
from geoveil.budget.stores import is_database
from geoveil.errors import GeoveilError, LedgerUnavailable, warnings_heard
from geoveil.geo.formats.atomic import certificate_path, check_room
from geoveil.report import Balance, Layer, Report
from geoveil.requests.accounts import ChargeRecord, existing_ledger
from geoveil.requests.file_request import PASSWORD, TRUE_REPORT
from geoveil.studio.choices import StudioRequest
from geoveil.studio.page_words import ON_PAGE, message_of
from geoveil.studio.received_files import regular_size, typed_path
from geoveil.text.words import counted

__all__ = ["Outcome", "make_release", "open_ledger"]

#: Seconds that a ledger may be busy before a release is refused.
_PATIENCE = 20.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """A release that was made."""

    #: What was asked.
    request: StudioRequest
    #: The answers.
    releases: list[gv.Release]
    #: Its report, without true locations.
    report: Report
    #: The files to be downloaded.
    files: list[Path]
    #: Whether each released file belongs to its certificate.
    checks: list[gv.Verification]
    #: The time of the release.
    when: datetime
    #: Warnings, and what could not be done after the release was made.
    remarks: list[str]


def open_ledger(place: str, patience: float) -> gv.Ledger:
    """Open an existing ledger, and wait up to `patience` seconds for a busy one."""
    return gv.Ledger(_regular(place), timeout=patience)


def _regular(place: str) -> str:
    """Return the path or address of an existing ledger; refuse a folder or a device."""
    ledger = existing_ledger(place if is_database(place) else str(typed_path(place, "ledger")))
    if not is_database(ledger) and regular_size(Path(ledger)) < 0:
        raise LedgerUnavailable(f"{place} is no file.", "Type the path of a ledger.")
    return ledger


def make_release(request: StudioRequest, folder: Path, progress: Progress) -> Outcome:
    """Charge accounts, draw noise, write files, record the release, verify it, and draw the report."""
    place, target, charges = request.account.place, folder / request.target, ChargeRecord()
    with charges.opened(_regular(place) if place else "", _PATIENCE) as ledger:
        # The file may have changed while a busy ledger was waited for.
        request.data.check_unchanged()
        check_room(target)
        try:
            with warnings_heard() as warned:
                # The page has already shown what gives cause for concern.
                releases = request.run(
                    target, ledger, lambda share: progress(0.9 * share), confirm=lambda concerns: None
                )
        except Exception as problem:
            if getattr(problem, "charged", None) != "nothing":
                _tell_charged(charges, problem)
            raise
        # From here on the release is made and charged: a later failure becomes a remark and removes no file.
        remarks = [told.replace(f"{folder}{os.sep}", "") for told in warned]
        progress(0.92)
        with suppress(OSError):
            request.record()
        written = request.written(target)
        key = None if request.key is None else request.key.public
        checks = []
        for path in written:
            with _told(remarks, f"{path.name} could not be verified"):
                checks.append(gv.verify(path, ledger=ledger, key=key))
        balances: tuple[Balance, ...] = ()
        with _told(remarks, "The balances of the accounts that were charged could not be read"):
            balances = charges.balances(ledger)
    layers: list[Layer] = []
    with _told(remarks, "The map could not be drawn"):
        layers = request.layers(releases, target)
    report = request.report(f"{request.name}, released", releases, layers, balances)
    files = [file for path in written for file in (path, certificate_path(path))]
    with _told(remarks, "The report could not be written"):
        files += _drawn(folder, report)
    if request.with_truth:
        with _told(remarks, "The report with the true locations could not be written"):
            drawn = request.layers(releases, target, truth=True)
            replace(report, layers=tuple(drawn)).save(folder / TRUE_REPORT)
            files.append(folder / TRUE_REPORT)
    with _told(remarks, "The command could not be written"):
        files += _code(request, folder)
    return Outcome(request, releases, report, files, checks, datetime.now(), remarks)


@contextmanager
def _told(remarks: list[str], what: str) -> Iterator[None]:
    """Turn a failure after the release was made into a remark, and continue."""
    try:
        yield
    except Exception as problem:
        # What an error says about charges is about its own question, not about the release.
        remarks.append(f"{what}: {_plain(problem)}")


def _plain(problem: Exception) -> str:
    return problem.worded(ON_PAGE, outcome=False) if isinstance(problem, GeoveilError) else message_of(problem)


def _tell_charged(charges: ChargeRecord, problem: Exception) -> None:
    """Raise an error that says that accounts were charged for a failed release; return if none was charged."""
    said = f"Nothing was released. Charged for it: {counted(len(charges.paying), 'account')}."
    if charges.asking:
        said = "Nothing was released; whether accounts were charged is not known: see step 6."
    elif not charges.paying:
        return
    raise GeoveilError(_plain(problem), said) from problem


def _code(request: StudioRequest, folder: Path) -> list[Path]:
    """Write the request as a command and as Python code."""
    hint = f"# {PASSWORD}\n" if request.has_password else ""
    texts = {"command.txt": f"{hint}{request.command()}\n", "release.py": request.python()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]


def _drawn(folder: Path, report: Report) -> list[Path]:
    """Draw the report as a page and, where matplotlib is installed, as a figure."""
    files = []
    for name in ("report.html", "map.png"):
        # There is no figure without matplotlib, and none of an answer that has no place on a map.
        with suppress(GeoveilError, ValueError):
            report.save(folder / name)
            files.append(folder / name)
    return files
