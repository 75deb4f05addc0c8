"""Replay a ledger's history, and check its hash chain, rules, accounts, stored answers and certificates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache

from geoveil.budget.accounts import guarantee_of, price
from geoveil.budget.entries import FIRST, WRITE, WRITE_OFF, Line, Postings, digest, postings_digest
from geoveil.budget.journal import ACCOUNT_ROWS, LINES
from geoveil.budget.stores import Row, Transaction
from geoveil.certificates import certificate_digest
from geoveil.errors import IncompatibleGuarantees, LedgerTampered
from geoveil.privacy import Certificate, Guarantee, certified, exact
from geoveil.privacy.exact import written

__all__ = ["Replay", "lines_after"]

#: Number of rows that are read at once.
_AT_ONCE = 5000
#: Answers, with the fields of the entries that charged, stored and deleted them.
_ANSWERS = """
SELECT answer.number, answer.key, answer.stored, answer.content IS NOT NULL, charge.event, charge.key,
  store.event, store.key, store.parameters, forget.event, forget.key, forget.parameters
FROM geoveil_answers AS answer LEFT JOIN geoveil_history AS charge ON charge.number = answer.number
  LEFT JOIN geoveil_history AS store ON store.number = answer.stored
  LEFT JOIN geoveil_history AS forget ON forget.number = answer.forgotten
WHERE answer.number > ? ORDER BY answer.number LIMIT ?
"""


def lines_after(transaction: Transaction, number: int) -> list[tuple[Line, Postings]]:
    """Return the next entries after a number with their postings: a few thousand, to bound memory."""
    lines = [Line(*row) for row in transaction.rows(f"{LINES} > ? ORDER BY number LIMIT {_AT_ONCE}", (number,))]
    if not lines:
        return []
    between = "FROM geoveil_postings WHERE number BETWEEN ? AND ?"
    counts = f"SELECT number, COUNT(*) {between} GROUP BY number ORDER BY number"
    postings, first, last = 0, lines[0].number, lines[-1].number
    for at, count in transaction.rows(counts, (first, last)):
        postings += count
        if postings > 10 * _AT_ONCE:
            last = at
            break
    posted: dict[int, list[tuple[str, str]]] = {}
    for at, subject, amount in transaction.rows(f"SELECT number, subject, amount {between}", (first, last)):
        posted.setdefault(at, []).append((subject, amount))
    return [(line, posted.get(line.number, [])) for line in lines if line.number <= last]


class Replay:
    """Replays a history entry by entry, in bounded memory, and checks every entry.

    Each of the certificates must agree with the entry that it refers to.
    """

    def __init__(self, ledger: str, secret: bytes | None, certificates: Iterable[Certificate] = ()) -> None:
        self._ledger, self._secret = ledger, secret
        self.number, self.hash = 0, FIRST
        #: Total and spent amount of each subject.
        self._accounts: dict[str, tuple[Guarantee, Decimal]] = {}
        self._stored = self._forgotten = self._posted = 0
        self._written_off = False
        self._certificates: dict[int, list[Certificate]] = {}
        #: Certificates whose charge was found, by its number.
        self._charged: dict[int, list[Certificate]] = {}
        #: The digests of a file and of its certificate that were recorded for these charges, and by which entry.
        self._recorded: dict[int, list[tuple[str, str, int]]] = {}
        for certificate in certificates:
            if certificate.get("entry") is not None:
                self._certificates.setdefault(self._number_in(certificate), []).append(certificate)

    def lines(self, lines: Sequence[tuple[Line, Postings]]) -> bool:
        """Check the next entries and their effect on accounts; tell whether there were any."""
        for line, postings in lines:
            self._line(line, postings)
        return bool(lines)

    def _line(self, line: Line, postings: Postings) -> None:
        """Check the next entry: its position in the chain, and that the rules allowed it at that time."""
        number = self.number + 1
        if line.number != number:
            raise LedgerTampered(f"Entry {number} is missing, moved or duplicated.")
        if line.hash != line.linked(self._ledger, self.hash, self._secret):
            raise LedgerTampered(f"Entry {number}, or one before it, was changed.")
        if line.postings != postings_digest(postings):
            raise LedgerTampered(f"The amounts of entry {number} were changed.")
        self.number, self.hash = number, line.hash
        self._posted += len(postings)
        try:
            self._apply(line, postings)
        except (KeyError, ValueError, TypeError, IncompatibleGuarantees) as problem:
            raise LedgerTampered(f"Entry {number} is invalid: {problem!r}.") from None
        for certificate in self._certificates.pop(number, ()):
            _compare(line, certificate)
            self._charged.setdefault(number, []).append(certificate)

    def _apply(self, line: Line, postings: Postings) -> None:
        """Apply an entry to the replayed accounts and counts."""
        if line.event == "create":
            self._create(line, postings)
        elif line.event in ("lower", "override"):
            self._set(line, postings)
        elif line.event == "charge":
            self._charge(line, postings)
        elif line.event == "store":
            self._stored += 1
            self._note_recorded(line)
        elif line.event == WRITE:
            self._note_recorded(line)
        elif line.event == "forget":
            self._forgotten += 1
        elif line.event == WRITE_OFF:
            self._written_off = True
        else:
            raise ValueError(line.event)

    def _create(self, line: Line, postings: Postings) -> None:
        """Open accounts, none of them twice, which would reset the amount spent."""
        total = guarantee_of(line.notion, line.metric, line.amount)
        if self._written_off and not line.query:
            raise LedgerTampered(f"Entry {line.number} opens an account after a write-off without a reason.")
        for name, amount in postings:
            if name in self._accounts or amount != line.amount:
                raise LedgerTampered(
                    f"Entry {line.number} opens the account of {name!r} again, or with another total."
                )
            self._accounts[name] = total, Decimal(0)

    def _set(self, line: Line, postings: Postings) -> None:
        """Change totals; notion and metric must not change, and only an override may raise a total."""
        total = guarantee_of(line.notion, line.metric, line.amount)
        for name, amount in postings:
            before, spent = self._accounts[name]
            alike = (total.notion, total.metric) == (before.notion, before.metric) and amount == line.amount
            if not alike or (line.event == "lower" and total.budget > before.budget):
                raise LedgerTampered(f"Entry {line.number} sets a total of {name!r} that the rules do not allow.")
            self._accounts[name] = total, spent

    def _charge(self, line: Line, postings: Postings) -> None:
        """Charge accounts; each amount must be the price of the release and at most what was left."""
        cost = guarantee_of(line.notion, line.metric, line.amount)
        for name, amount in postings:
            total, spent = self._accounts[name]
            after = exact.add(spent, Decimal(amount))
            if after > total.budget:
                raise LedgerTampered(f"Entry {line.number} charged {name!r} more than was left.")
            if amount != _price_text(cost, total):
                raise LedgerTampered(f"Entry {line.number} did not charge {name!r} the price of the release.")
            self._accounts[name] = total, after

    def _note_recorded(self, line: Line) -> None:
        """Note the file and the certificate that an entry recorded, if one of the certificates may be that one."""
        recorded = json.loads(line.parameters)
        if recorded["charge"] in self._charged and "certificate" in recorded:
            files = self._recorded.setdefault(recorded["charge"], [])
            files.append((recorded["file"], recorded["certificate"], line.number))

    def _compare_recorded(self) -> None:
        """Compare the certificates with those that were recorded for their files."""
        for charge, files in self._recorded.items():
            for certificate in self._charged[charge]:
                if (file := certificate.get("file")) is None:
                    continue
                # A release that was processed later, and an answer that was written again, may have a file that nobody
                # recorded. Two files of the same content have certificates of their own.
                same = [each for each in files if each[0] == file.get("sha256")]
                if not same and (certificate["processed"] or file.get("kind") != "points"):
                    continue
                try:
                    known = certificate_digest(certificate) in {digested for _, digested, _ in same}
                except (ValueError, TypeError):
                    known = False
                if not known:
                    number = (same or files)[0][2]
                    raise LedgerTampered(f"Entry {number} recorded another certificate for this release.")

    def finish(self, transaction: Transaction) -> None:
        """Check the last entries, and compare the history with the ledger's head, accounts and stored answers."""
        while self.lines(lines_after(transaction, self.number)):
            pass
        ((number, hashed),) = transaction.rows("SELECT number, hash FROM geoveil_head")
        ((posted,),) = transaction.rows("SELECT COUNT(*) FROM geoveil_postings")
        if (number, hashed) != (self.number, self.hash):
            raise LedgerTampered(f"The history ends at entry {self.number}, but the ledger had entry {number}.")
        if posted != self._posted:
            raise LedgerTampered("The ledger contains amounts that belong to no entry.")
        self._compare_recorded()
        if self._certificates:
            raise LedgerTampered(f"Entry {min(self._certificates)}, which a certificate refers to, is missing.")
        self._check_accounts(transaction)
        self._check_answers(transaction)

    def _check_accounts(self, transaction: Transaction) -> None:
        last, page = "", f"{ACCOUNT_ROWS} WHERE subject > ? ORDER BY subject LIMIT {_AT_ONCE}"
        while rows := transaction.rows(page, (last,)):
            for name, *state in rows:
                total, spent = self._accounts.pop(name, (None, Decimal(0)))
                if total is None or state != [
                    *(total.notion, total.metric.name, written(total.budget), written(spent))
                ]:
                    raise LedgerTampered(f"The account of {name!r} does not agree with the history.")
            last = rows[-1][0]
        if self._accounts:
            raise LedgerTampered(f"The account of {min(self._accounts)!r} is missing.")

    def _check_answers(self, transaction: Transaction) -> None:
        """Compare stored answers with the history, one in memory at a time."""
        last = stored = forgotten = 0
        while rows := transaction.rows(_ANSWERS, (last, _AT_ONCE)):
            for row in rows:
                content = None
                if row[3]:
                    ((content,),) = transaction.rows("SELECT content FROM geoveil_answers WHERE number = ?", row[:1])
                if not _is_whole(row, content):
                    raise LedgerTampered(f"The stored answer of entry {row[0]} was changed.")
                stored += row[2] is not None
                forgotten += row[9] is not None
            last = rows[-1][0]
        if (stored, forgotten) != (self._stored, self._forgotten):
            raise LedgerTampered(
                f"The history records {self._stored} stored and {self._forgotten} deleted answers, but the ledger has "
                f"{stored} and {forgotten}."
            )

    def _number_in(self, certificate: Certificate) -> int:
        """Return the number of the entry that a certificate refers to."""
        try:
            ledger, number = certificate["entry"]["ledger"], int(certificate["entry"]["number"])
        except (KeyError, TypeError, ValueError) as problem:
            raise LedgerTampered(f"A certificate is incomplete: {problem!r}.") from None
        if ledger != self._ledger:
            raise LedgerTampered(f"A certificate belongs to another ledger, {ledger!r}.")
        return number


def _is_whole(row: Row, content: str | None) -> bool:
    """Tell whether a row of `_ANSWERS` agrees with the history: it was charged, stored and deleted with its key."""
    number, key, stored, _, *entries = row
    key, charge, store, forget = key or "", entries[:2], entries[2:5], entries[5:]

    def records(event: str, entry: list[str]) -> bool:
        return entry[:2] == [event, key] and json.loads(entry[2])["charge"] == number

    if charge != ["charge", key]:
        return False
    if stored is None:
        return content is None
    if not records("store", store):
        return False
    if content is None:
        return not key or records("forget", forget)
    return forget[0] is None and digest(content) == json.loads(store[2])["sha256"]


def _compare(line: Line, certificate: Certificate) -> None:
    """Raise LedgerTampered if a certificate does not agree with its entry."""
    number = line.number
    try:
        promised, hashed = certified(certificate), certificate["entry"]["hash"]
        query, identity, processed = certificate["query"], certificate["id"], certificate["processed"]
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise LedgerTampered(f"A certificate is incomplete: {problem!r}.") from None
    if hashed != line.hash:
        raise LedgerTampered(f"Entry {number}, which a certificate refers to, is missing: another one has its number.")
    claim = query, promised.notion, promised.metric.name, written(promised.budget)
    charged = line.query, line.notion, line.metric, line.amount
    # An account with another metric was charged another amount; the parameters tell the guarantee of the release.
    asked = json.loads(line.parameters or "{}")
    stated = line.query, promised.notion, asked.get("metric"), asked.get(promised.symbol)
    same = line.event == "charge" and claim in (charged, stated)
    # A release that was processed later has a new id.
    if not same or (not processed and line.release != identity):
        raise LedgerTampered(
            f"Entry {number} charged {line.amount} for {line.query}, but a certificate states something else."
        )


@lru_cache(maxsize=1024)
def _price_text(cost: Guarantee, total: Guarantee) -> str:
    return written(price(cost, total).budget)
