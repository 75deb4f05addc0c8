"""Temporary folders for the files of one run, removed at its end, or by a later run if it was killed."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil.errors import InvalidFile

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["sweep", "workspace"]

_PREFIX, _SUFFIX, _LOCK = ".geoveil-", ".aside", ".lock"
_NAME = re.compile(r"(\.geoveil-[a-z0-9_]{8}\.aside)(?:\.lock)?")


@contextmanager
def workspace(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder that only its owner can read, and remove it at the end.

    While a run uses a folder it locks a file beside it. The system releases the lock when the process ends, in
    whatever way. Folders of the same user without a lock were left behind by killed runs, and are removed first.

    Parameters
    ----------
    parent : Path, optional
        The folder to make it in; by default the system's folder of temporary files.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    sweep(parent)
    folder, lock = _make(parent)
    try:
        yield folder
    finally:
        _remove(folder, lock)


def _make(parent: Path) -> tuple[Path, BaseFileLock]:
    """Make a folder and lock it; make another one if a sweep removes it before it is locked."""
    from filelock import Timeout

    while True:
        try:
            folder = Path(tempfile.mkdtemp(_SUFFIX, _PREFIX, parent))
        except OSError as problem:
            reason, remedy = str(problem.strerror or problem), "Choose another."
            raise InvalidFile(str(parent), reason, "a folder that can be written to", remedy) from None
        lock = _lock_of(folder)
        try:
            lock.acquire()
        except Timeout:  # a sweep holds it, and removes the folder
            continue
        except (OSError, NotImplementedError):
            # Some network file systems have no locks. A sweep gets none there either, and removes nothing.
            return folder, lock
        if folder.is_dir() and Path(lock.lock_file).exists():
            return folder, lock
        _remove(folder, lock)


def _lock_of(folder: Path) -> BaseFileLock:
    """Return the lock of a folder, which is not acquired yet and does not wait."""
    from filelock import FileLock

    lock = folder.with_name(folder.name + _LOCK)
    return FileLock(lock, timeout=0, mode=0o600, thread_local=False)


def sweep(parent: Path) -> None:
    """Remove the folders in a folder that killed runs of this user have left."""
    with suppress(OSError):
        leftovers = {match[1]: name for name in os.listdir(parent) if (match := _NAME.fullmatch(name))}
        for folder, name in leftovers.items():
            with suppress(OSError, NotImplementedError):
                if _is_own(parent / name):
                    lock = _lock_of(parent / folder)
                    lock.acquire()
                    _remove(parent / folder, lock)


def _is_own(path: Path) -> bool:
    """Return whether a path is a folder or file of this user, and no link to one."""
    state = path.lstat()
    owned = not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
    return owned and (stat.S_ISDIR(state.st_mode) or stat.S_ISREG(state.st_mode))


def _remove(folder: Path, lock: BaseFileLock) -> None:
    """Remove a folder, release its lock and remove the file of the lock."""
    shutil.rmtree(folder, ignore_errors=True)
    # Windows removes no open file. Whoever locks the file in between finds no folder, and removes it too.
    lock.release(force=True)
    with suppress(OSError):
        Path(lock.lock_file).unlink(missing_ok=True)
