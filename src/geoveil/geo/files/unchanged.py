"""Whether a file stays the same between two readings."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from geoveil.geo.areas import Floats
from geoveil.geo.files.aside import files_of
from geoveil.geo.shapes import Index

__all__ = ["Trace", "hashes", "state_of"]

State: TypeAlias = list[tuple[str, int, int, int, int]]


def state_of(path: Path) -> State:
    """Return what the file system knows about the files of a path: which they are, their sizes and times of change."""
    found = [(file.name, file.stat()) for file in files_of(path)]
    return [(name, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in found]


def hashes(labels: Any) -> Index:
    """Return Python's hashes of labels in a pyarrow array, as texts: the same for equal labels while it runs."""
    return np.fromiter(map(hash, map(str, labels.to_pylist())), np.int64, len(labels))


class Trace:
    """A digest of the points of a file and of whose they are, in their order.

    It depends neither on the columns that are read nor on where batches end. Two readings with the same trace had the
    same points of the same persons.
    """

    def __init__(self) -> None:
        self._points, self._persons = hashlib.sha256(), hashlib.sha256()

    def add(self, coords: Floats, persons: Index) -> None:
        """Add points, with a number for the person of each that is the same in both readings."""
        self._points.update(np.ascontiguousarray(coords).data)
        self._persons.update(np.ascontiguousarray(persons).data)

    @property
    def digest(self) -> bytes:
        """The digest of all that was added."""
        return self._points.digest() + self._persons.digest()
