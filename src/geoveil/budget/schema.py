"""The tables of a ledger, in the SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

from geoveil.budget.chain import FIRST

__all__ = ["TABLES", "VERSION"]

#: Raised whenever the tables change.
VERSION = 1

#: Amounts are decimals as text: exact, and the same in every hash. The head has one row, which is there from the
#: beginning: whoever writes locks it first.
TABLES = f"""
CREATE TABLE IF NOT EXISTS geoveil_ledger (version INTEGER NOT NULL, id TEXT NOT NULL, created TEXT NOT NULL,
  seal TEXT);
CREATE TABLE IF NOT EXISTS geoveil_head (one INTEGER PRIMARY KEY CHECK (one = 1), number BIGINT NOT NULL,
  hash TEXT NOT NULL, time TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS geoveil_accounts (subject TEXT PRIMARY KEY, notion TEXT NOT NULL, metric TEXT NOT NULL,
  total TEXT NOT NULL, spent TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS geoveil_history (number BIGINT PRIMARY KEY, time TEXT NOT NULL, subject TEXT NOT NULL,
  event TEXT NOT NULL, query TEXT NOT NULL, parameters TEXT NOT NULL, notion TEXT NOT NULL, metric TEXT NOT NULL,
  amount TEXT NOT NULL, release TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS geoveil_history_subject ON geoveil_history (subject, number);
CREATE TABLE IF NOT EXISTS geoveil_answers (key TEXT PRIMARY KEY, number BIGINT NOT NULL, entries BIGINT NOT NULL,
  owner TEXT NOT NULL, content TEXT);
INSERT INTO geoveil_head (one, number, hash, time) VALUES (1, 0, '{FIRST}', '1970-01-01T00:00:00.000000+00:00')
  ON CONFLICT DO NOTHING
"""
