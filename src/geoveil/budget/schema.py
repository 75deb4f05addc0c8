"""The tables of a ledger, in the SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

from geoveil.budget.chain import FIRST

__all__ = ["TABLES", "VERSION"]

#: Version of the tables, raised whenever they change.
VERSION = 2

#: Amounts are decimals as text: exact, and the same in every hash. The head has one row from the beginning; every
#: writing transaction locks it first.
#:
#: - `history`: one entry for each event; `head` is the last entry.
#: - `postings`: the effect of an entry on each account: the amount charged, or the total set.
#: - `accounts`: the state of each account after the last entry.
#: - `answers`: one row per charge whose answer is being drawn or was stored. `key` is the digest of the question's
#:   key, if it has one; `owner` is the holder of the lease; `stored` is the entry that recorded the storage; `content`
#:   is the answer, which is kept only for questions with a key; `forgotten` is the entry that recorded the deletion.
#: - `witness`: the last entry of each ledger whose witness this database is.
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
CREATE INDEX IF NOT EXISTS geoveil_write_offs ON geoveil_history (number) WHERE event = 'write off';
CREATE TABLE IF NOT EXISTS geoveil_postings (number BIGINT NOT NULL, subject TEXT NOT NULL, amount TEXT NOT NULL,
  PRIMARY KEY (number, subject));
CREATE INDEX IF NOT EXISTS geoveil_postings_subject ON geoveil_postings (subject, number);
CREATE TABLE IF NOT EXISTS geoveil_answers (number BIGINT PRIMARY KEY, key TEXT UNIQUE, owner TEXT NOT NULL,
  stored BIGINT, content TEXT, forgotten BIGINT);
CREATE TABLE IF NOT EXISTS geoveil_witness (ledger TEXT PRIMARY KEY, number BIGINT NOT NULL, hash TEXT NOT NULL);
INSERT INTO geoveil_head (one, number, hash) VALUES (1, 0, '{FIRST}') ON CONFLICT DO NOTHING
"""
