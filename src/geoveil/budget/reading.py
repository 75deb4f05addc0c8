"""Read a ledger's tables: accounts, entries with their postings, and stored answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from geoveil.budget.history import COLUMNS, Line, Postings, StoredAnswer, guarantee_of
from geoveil.budget.stores import Row, Statement, Transaction
from geoveil.privacy import Guarantee

__all__ = [
    "FIELDS",
    "Accounts",
    "account_question",
    "accounts_of",
    "all_accounts",
    "all_answers",
    "line_at",
    "lines_after",
    "postings_of",
    "read_accounts",
    "statement",
]

#: Total and spent amount of each subject.
Accounts: TypeAlias = dict[str, tuple[Guarantee, Decimal]]

#: All columns of the history.
FIELDS = (*COLUMNS, "hash")
_LINES = f"SELECT {', '.join(FIELDS)} FROM geoveil_history WHERE number"
_ACCOUNTS = "SELECT subject, notion, metric, total, spent FROM geoveil_accounts"
#: Number of rows that are read at once.
_AT_ONCE = 5000
_ANSWERS = f"""
SELECT answer.number, answer.key, answer.stored, answer.content IS NOT NULL, charge.event, charge.key,
  store.event, store.key, store.parameters, forget.event, forget.key, forget.parameters
FROM geoveil_answers AS answer LEFT JOIN geoveil_history AS charge ON charge.number = answer.number
  LEFT JOIN geoveil_history AS store ON store.number = answer.stored
  LEFT JOIN geoveil_history AS forget ON forget.number = answer.forgotten
WHERE answer.number > ? ORDER BY answer.number LIMIT {_AT_ONCE}
"""


def read_accounts(transaction: Transaction, names: Sequence[str]) -> Accounts:
    """Return the total and the spent amount of every named subject that has an account."""
    return accounts_of(transaction.rows(*account_question(transaction, names)))


def line_at(transaction: Transaction, number: int) -> Line:
    """Return the entry with this number, or an empty mapping if it is missing."""
    return next((_named(row) for row in transaction.rows(f"{_LINES} = ?", (number,))), {})


def postings_of(transaction: Transaction, number: int) -> list[tuple[str, str]]:
    """Return the postings of an entry: pairs of a subject and an amount."""
    found = transaction.rows("SELECT subject, amount FROM geoveil_postings WHERE number = ?", (number,))
    return [(subject, amount) for subject, amount in found]


def lines_after(transaction: Transaction, number: int) -> list[tuple[Line, Postings]]:
    """Return the next entries after a number with their postings: a few thousand, to bound memory."""
    found = transaction.rows(f"{_LINES} > ? ORDER BY number LIMIT {_AT_ONCE}", (number,))
    if not found:
        return []
    between = "FROM geoveil_postings WHERE number BETWEEN ? AND ?"
    counts = f"SELECT number, COUNT(*) {between} GROUP BY number ORDER BY number"
    postings, first, last = 0, found[0][0], found[-1][0]
    for at, count in transaction.rows(counts, (first, last)):
        postings += count
        if postings > 10 * _AT_ONCE:
            last = at
            break
    posted: dict[int, list[tuple[str, str]]] = {}
    for at, subject, amount in transaction.rows(f"SELECT number, subject, amount {between}", (first, last)):
        posted.setdefault(at, []).append((subject, amount))
    return [(_named(row), posted.get(row[0], [])) for row in found if row[0] <= last]


def _named(row: Row) -> Line:
    return dict(zip(FIELDS, row, strict=True))


def account_question(transaction: Transaction, names: Sequence[str]) -> Statement:
    """Return the SQL statement that reads the accounts of these subjects, and its parameters."""
    condition, parameters = transaction.among(names)
    return f"{_ACCOUNTS} WHERE subject {condition}", parameters


def accounts_of(rows: list[Row]) -> Accounts:
    """Return accounts from the rows of `account_question`."""
    return {name: (guarantee_of(notion, metric, total), Decimal(spent)) for name, notion, metric, total, spent in rows}


def all_accounts(transaction: Transaction) -> Iterator[Row]:
    """Iterate over all accounts: subject, notion, metric, total and spent amount."""
    last = ""
    while found := transaction.rows(f"{_ACCOUNTS} WHERE subject > ? ORDER BY subject LIMIT {_AT_ONCE}", (last,)):
        yield from found
        last = found[-1][0]


def all_answers(transaction: Transaction) -> Iterator[StoredAnswer]:
    """Iterate over all answers with the entries that they refer to, one answer in memory at a time."""
    last = 0
    while found := transaction.rows(_ANSWERS, (last,)):
        for number, key, stored, kept, *rest in found:
            content = None
            if kept:
                ((content,),) = transaction.rows("SELECT content FROM geoveil_answers WHERE number = ?", (number,))
            charge, store, forget = tuple(rest[:2]), tuple(rest[2:5]), tuple(rest[5:])
            yield StoredAnswer(number, key or "", stored, content, charge, store, forget)
        last = found[-1][0]


def statement(transaction: Transaction, subject: str) -> list[dict[str, Any]]:
    """Return the entries about one subject, with amounts in the unit of the account."""
    columns = ("number", "time", "event", "query", "parameters", "release", "key", "hash")
    rows = transaction.rows(
        f"SELECT {', '.join('line.' + name for name in columns)}, account.notion, account.metric, posting.amount "
        "FROM geoveil_postings AS posting JOIN geoveil_history AS line ON line.number = posting.number "
        "JOIN geoveil_accounts AS account ON account.subject = posting.subject "
        "WHERE posting.subject = ? ORDER BY posting.number",
        (subject,),
    )
    names = (*columns, "notion", "metric", "amount")
    return [{"subject": subject, **dict(zip(names, row, strict=True))} for row in rows]
