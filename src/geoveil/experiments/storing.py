"""Files of a run that are there as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["written"]


def written(path: Path, write: Callable[[Path], Any]) -> None:
    """Have a file written aside and take its place when it is whole, whatever happens meanwhile."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
