"""Files that only their owner may read, such as keys: written whole or not at all."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from pathlib import Path

__all__ = ["may_be_read_by_others", "write_private"]


def write_private(path: Path, text: str) -> None:
    """Write a file whole, readable by its owner only, and flush it to the disk."""
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # created with mode 0600
    try:
        with open(number, "w", encoding="utf-8", newline="") as held:
            held.write(text)
            held.flush()
            os.fsync(held.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _flush_folder(path.absolute().parent)


def _flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where the system can do that; Windows cannot open a folder."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def may_be_read_by_others(path: Path) -> bool:
    """Return whether other users may read or change a file; Windows has no such permissions."""
    return sys.platform != "win32" and bool(path.stat().st_mode & 0o077)
