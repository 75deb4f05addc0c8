"""Folders for the files of one run, which are removed at its end, or by a later run if it was killed."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from geoveil.errors import InvalidFile

__all__ = ["workspace"]

_BEFORE, _AFTER = ".geoveil-", ".aside"
_NAME = re.compile(r"\.geoveil-[a-z0-9_]{8}\.aside")


@contextmanager
def workspace(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder that only its owner can read, and remove it at the end.

    Who uses a folder holds a lock on it, which the system releases when the process ends in whatever way. Folders of
    the same user that nobody holds were left behind by a kill, and are removed first.

    Parameters
    ----------
    parent : Path, optional
        The folder to make it in; that of temporary files by default.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    _sweep(parent)
    folder, lock = _made(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _made(parent: Path) -> tuple[Path, int]:
    """Make a folder and lock it; make another one if somebody sweeps it away before it is locked."""
    while True:
        try:
            folder = Path(tempfile.mkdtemp(_AFTER, _BEFORE, parent))
        except OSError as problem:
            reason, remedy = str(problem.strerror or problem), "Choose another."
            raise InvalidFile(str(parent), reason, "a folder that can be written to", remedy) from None
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY)
            _lock(lock)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), folder.stat()):
                    return folder, lock
            os.close(lock)


def _lock(folder: int) -> bool:
    """Lock a folder, if nobody else has; not where the file system knows no locks, as on some networks."""
    try:
        import fcntl

        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _sweep(parent: Path) -> None:
    """Remove the folders that killed runs of this user have left."""
    with suppress(OSError):
        for name in os.listdir(parent):
            if _NAME.fullmatch(name):
                with suppress(OSError):
                    _remove(parent / name)


def _remove(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(lock)
        own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if own and stat.S_ISDIR(found.st_mode) and _lock(lock):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
