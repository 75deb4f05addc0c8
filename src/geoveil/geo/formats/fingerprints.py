"""Digests that identify the content of files, and detect changes between two readings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from geoveil.geo.geometries import Floats, Index
from geoveil.geo.texts import bytes_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "SHAPEFILE_PARTS",
    "Fingerprint",
    "State",
    "digest",
    "digest_of_parts",
    "file_state",
    "files_of",
    "label_hashes",
]

#: Endings of the files that belong to a shapefile, beside the .shp file.
SHAPEFILE_PARTS = (".shx", ".dbf", ".prj", ".cpg")

#: Endings of the files in a folder of locations.
_PARTS = (".txt", ".plt", ".parquet")
#: Endings of the files in a folder of tracks.
_TRACKS = (
    *(".gpx", ".tcx", ".fit", ".kml", ".geojson", ".json", ".geojsonl", ".ndjson", ".csv", ".tsv", ".xlsx", ".gpkg"),
    *(".fgb", ".shp", *SHAPEFILE_PARTS),
)

State: TypeAlias = list[tuple[str, int, int, int, int]]


def files_of(path: Path) -> list[Path]:
    """Return the files that belong to a path: those of a folder, or the parts of a shapefile."""
    if path.is_dir():
        # Hidden folders are those of unfinished outputs.
        files = [file for file in path.rglob("*") if file.suffix.lower() in (*_PARTS, *_TRACKS) and file.is_file()]
        shown = [file for file in files if not any(part[0] in "._" for part in file.relative_to(path).parts)]
        # Beside the parts of one table, other files are not parts.
        parts = [file for file in shown if file.suffix.lower() in _PARTS]
        return sorted(parts or shown)
    if path.suffix.lower() == ".shp":
        return [path, *(path.with_suffix(end) for end in SHAPEFILE_PARTS if path.with_suffix(end).exists())]
    return [path]


def digest(path: Path) -> str:
    """Return the SHA-256 of a file; for a folder or a shapefile, that of the names and digests of its files."""
    files, folder = files_of(path), path if path.is_dir() else path.parent
    digests = {}
    for file in files:
        with file.open("rb") as handle:
            digests[file.relative_to(folder).as_posix()] = hashlib.file_digest(handle, "sha256").hexdigest()
    return digests[path.name] if files == [path] else digest_of_parts(digests)


def digest_of_parts(digests: Mapping[str, str]) -> str:
    """Return the SHA-256 of several files, given the digest of each by name.

    The text that is digested is a list of pairs in JSON, sorted by name: no name of a file can imitate the end of one
    pair and the beginning of the next.
    """
    return hashlib.sha256(json.dumps(sorted(digests.items()), separators=(",", ":")).encode()).hexdigest()


def file_state(path: Path) -> State:
    """Return the identities, sizes and modification times of the files that belong to a path."""
    states = [(file.name, file.stat()) for file in files_of(path)]
    return [(name, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in states]


def label_hashes(labels: pa.Array) -> Index:
    """Return Python's hashes of labels as texts: equal for equal labels within one process."""
    return np.fromiter(map(hash, map(str, labels.to_pylist())), np.int64, len(labels))


class Fingerprint:
    """A digest of the points of a file and of their persons, in order.

    It depends neither on the columns that are read nor on where batches end. Two readings with the same fingerprint
    had the same points of the same persons.
    """

    def __init__(self) -> None:
        self._points, self._labels, self._lengths = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()

    def add(self, coords: Floats, persons: pa.Array) -> None:
        """Add points, with the label of the person of each, which has the same type in both readings."""
        self._points.update(np.ascontiguousarray(coords).data)
        # The bytes of all labels one after another, and their lengths, which say where one label ends.
        labels, ends = bytes_of(persons)
        self._labels.update(labels)
        self._lengths.update(np.diff(ends).data)

    @property
    def digest(self) -> bytes:
        """The digest of everything added so far."""
        return self._points.digest() + self._labels.digest() + self._lengths.digest()
