"""The command line for tests: commands run in this process, or in a shell as a person runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Where the installed commands are.
BIN = Path(sys.executable).parent


LOCAL = ["--area", "37.77,-122.42,50km"]


STATION = "37.77,-122.42"


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str


def shell(line: str, folder: Path, **more: Any) -> Ran:
    """Runs a line as a person's shell does."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, **more
    )
    return Ran(done.returncode, done.stdout, done.stderr)
