"""The tables of a ledger, in the SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

from geoveil.budget.chain import FIRST

__all__ = ["TABLES", "VERSION"]

#: Raised whenever the tables change.
VERSION = 2

#: Amounts are decimals as text: exact, and the same in every hash. The head has one row, which is there from the
#: beginning: whoever writes locks it first.
#:
#: - `history`: one line for each event, whomever it is about; `head` is its last line.
#: - `postings`: what a line did to each account: the amount taken, or the total set.
#: - `accounts`: what the lines make of each account.
#: - `answers`: one row for each charge that is being drawn or has been answered. `key` is the digest of the question's
#:   key, if it has one, `owner` whoever draws, `stored` the line that says it was stored, `content` the answer,
#:   which is kept for questions with a key only, and `forgotten` the line that says it was deleted.
#: - `witness`: the last line of other ledgers, whose witness this place is.
TABLES = f"""
CREATE TABLE IF NOT EXISTS geoveil_ledger (version INTEGER NOT NULL, id TEXT NOT NULL, created TEXT NOT NULL,
  seal TEXT);
CREATE TABLE IF NOT EXISTS geoveil_head (one INTEGER PRIMARY KEY CHECK (one = 1), number BIGINT NOT NULL,
  hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS geoveil_accounts (subject TEXT PRIMARY KEY, notion TEXT NOT NULL, metric TEXT NOT NULL,
  total TEXT NOT NULL, spent TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS geoveil_history (number BIGINT PRIMARY KEY, time TEXT NOT NULL, event TEXT NOT NULL,
  query TEXT NOT NULL, parameters TEXT NOT NULL, notion TEXT NOT NULL, metric TEXT NOT NULL, amount TEXT NOT NULL,
  release TEXT NOT NULL, key TEXT NOT NULL, postings TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS geoveil_postings (number BIGINT NOT NULL, subject TEXT NOT NULL, amount TEXT NOT NULL,
  PRIMARY KEY (number, subject));
CREATE INDEX IF NOT EXISTS geoveil_postings_subject ON geoveil_postings (subject, number);
CREATE TABLE IF NOT EXISTS geoveil_answers (number BIGINT PRIMARY KEY, key TEXT UNIQUE, owner TEXT NOT NULL,
  stored BIGINT, content TEXT, forgotten BIGINT);
CREATE TABLE IF NOT EXISTS geoveil_witness (ledger TEXT PRIMARY KEY, number BIGINT NOT NULL, hash TEXT NOT NULL);
INSERT INTO geoveil_head (one, number, hash) VALUES (1, 0, '{FIRST}') ON CONFLICT DO NOTHING
"""
