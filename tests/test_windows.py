"""Nothing is called that Windows does not have, as far as that can be found out on another system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil  # noqa: F401 (asks for the platform when it is imported)
import pytest

from geoveil.host import processes

#: Packages of others, as far as the run below needs them.
_OUTSIDE = (
    "pytest",
    *("asyncio", "multiprocessing.util", "concurrent.futures.process", "subprocess", "tempfile", "sqlite3", "shutil"),
    *("click", "click.shell_completion", "lazy_loader", "rich.console", "rich.progress", "rich.table", "rich.text"),
    *("numpy", "scipy.optimize", "scipy.spatial", "scipy.stats", "shapely", "pyproj", "geopandas", "pyogrio"),
    *("cryptography.hazmat.primitives.ciphers", "pyarrow.csv", "pyarrow.parquet", "pyarrow.compute", "flint"),
    *("filelock", "psutil", "psycopg", "matplotlib.figure", "pandas"),
)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="takes from Linux what Windows lacks")
def test_runs_without_posix(tmp_path: Path) -> None:
    """Geoveil runs without the calls that Windows lacks.

    Every module is imported; a file is released and charged, a ledger restored, and commands are run.
    """
    told = subprocess.run(
        [
            *(sys.executable, "-X", "warn_default_encoding"),
            *(str(Path(__file__).with_name("windows.py")), str(tmp_path), ",".join(_OUTSIDE)),
        ],
        capture_output=True,
        encoding="cp1252",
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.endswith("ran\n")
    assert {"out.csv", "again.csv", "report.html", "restored.db"} <= {path.name for path in tmp_path.iterdir()}
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".geoveil")]


def test_psutil_replaces_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their identity comes from psutil, and no signal is sent: on Windows that would end them."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        with monkeypatch.context() as windows:
            windows.setattr(sys, "platform", "win32")
            windows.setattr(processes, "_PAGE", None)
            windows.delattr(os, "kill")
            number, start = processes.this_process()
            assert number == os.getpid()
            assert start == processes._start(number) != b""
            assert processes.is_running((number, start))
            assert not processes.is_running((number, b"1.0"))
            other = (child.pid, processes._start(child.pid))
            assert processes.is_running(other)
            assert other != processes.this_process()
        child.communicate(b"\n")
    monkeypatch.setattr(sys, "platform", "win32")
    assert not processes.is_running(other)
