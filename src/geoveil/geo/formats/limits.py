"""Limits on what a file may cost to read, so that a damaged or hostile one ends in an error and not in lost memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geoveil.errors import InvalidFile, InvalidParameter

__all__ = ["COLUMNS", "DEPTH", "EXPANSION", "LINE", "METADATA", "UNPACKED", "Limit", "check_names"]


@dataclass(frozen=True)
class Limit:
    """A limit that the environment can raise.

    Parameters
    ----------
    variable : str
        The environment variable that sets another limit.
    default : int
        The limit without it.
    what : str
        What is counted, as errors name it.
    """

    variable: str
    default: int
    what: str

    @property
    def value(self) -> int:
        """The limit that holds now."""
        written = os.environ.get(self.variable, "").strip()
        if not written:
            return self.default
        if not (written.isascii() and written.isdigit() and len(written) < 19 and int(written) > 0):
            raise InvalidParameter(self.variable, written, "a whole number above 0", f"Unset it for {self.default}.")
        return int(written)

    def check(self, path: Path, found: float) -> None:
        """Refuse a file that has more."""
        if found > self.value:
            remedy = f"If it is what you expect, raise the limit with the environment variable {self.variable}."
            shown = int(found) if float(found).is_integer() else round(found, 1)
            raise InvalidFile(str(path), shown, f"a file with at most {self.value} {self.what}", remedy)


COLUMNS = Limit("GEOVEIL_MAX_COLUMNS", 16_384, "columns")
#: Bytes unpacked for each byte of a compressed file, once more than UNPACKED bytes have come out of it.
EXPANSION = Limit("GEOVEIL_MAX_EXPANSION", 100, "bytes unpacked from each compressed one")
#: Every compressed file may grow to this size in bytes, however small it is.
UNPACKED = 2**28
#: Bytes in the footer of a Parquet file, which is held in memory several times over.
METADATA = Limit("GEOVEIL_MAX_METADATA", 2**26, "bytes of metadata")
#: Levels of tags in XML and of geometries in collections. The parsers call themselves for each level.
DEPTH = 64
#: Bytes in a line of CSV, and characters in a text of GPX.
LINE = 2**23


def check_names(path: Path, names: Sequence[str], fold: Any = str) -> None:
    """Refuse too many columns, and columns of the same name.

    Parameters
    ----------
    path : Path
        The file, for the error.
    names : sequence of str
        The names of its columns.
    fold : callable
        Maps names that count as the same to one value.
    """
    COLUMNS.check(path, len(names))
    twice = sorted(name for name, count in Counter(map(fold, names)).items() if count > 1)
    if twice:
        different = "columns of different names" if fold is str else "columns whose names differ by more than capitals"
        raise InvalidFile(str(path), twice, different, "Rename them.")
