"""Limits on the memory that reading a file takes, so that a damaged or hostile file ends in an error."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from geoveil.errors import InvalidFile, InvalidParameter

__all__ = ["COLUMNS", "DEPTH", "EXPANSION", "LINE", "METADATA", "UNPACKED", "Limit", "check_names"]


@dataclass(frozen=True)
class Limit:
    """A limit that can be changed by an environment variable."""

    #: The name of the environment variable.
    variable: str
    #: The limit if the variable is not set.
    default: int
    #: The name of the counted quantity in errors.
    what: str

    @property
    def value(self) -> int:
        """The current limit."""
        written = os.environ.get(self.variable, "").strip()
        if not written:
            return self.default
        if not (written.isascii() and written.isdigit() and len(written) < 19 and int(written) > 0):
            raise InvalidParameter(self.variable, written, "a whole number above 0", f"Unset it for {self.default}.")
        return int(written)

    def check(self, path: Path, number: float) -> None:
        """Refuse a file that exceeds the limit."""
        if number > self.value:
            remedy = f"If you trust the file, raise the limit with the environment variable {self.variable}."
            shown = int(number) if float(number).is_integer() else round(number, 1)
            raise InvalidFile(str(path), shown, f"a file with at most {self.value} {self.what}", remedy)


COLUMNS = Limit("GEOVEIL_MAX_COLUMNS", 16_384, "columns")
#: Largest ratio of unpacked to compressed bytes, for files of more than UNPACKED bytes when unpacked.
EXPANSION = Limit("GEOVEIL_MAX_EXPANSION", 100, "bytes unpacked from each compressed one")
#: Number of bytes to which every file may be unpacked, however small it is.
UNPACKED = 2**28
#: Bytes in the footer of a Parquet file, of which several copies are held in memory.
METADATA = Limit("GEOVEIL_MAX_METADATA", 2**26, "bytes of metadata")
#: Nesting depth of elements in XML and of geometry collections. Parsers recurse at each level.
DEPTH = 64
#: Bytes in a line of CSV, and characters in a text of GPX.
LINE = 2**23


def check_names(path: Path, names: Sequence[str], fold: Callable[[str], str] = str) -> None:
    """Refuse files with too many columns, or with columns of the same name.

    Parameters
    ----------
    path : Path
        The file, for the error.
    names : sequence of str
        The names of its columns.
    fold : callable
        A function that maps names regarded as the same to one value.
    """
    COLUMNS.check(path, len(names))
    twice = sorted(name for name, count in Counter(map(fold, names)).items() if count > 1)
    if twice:
        different = "columns of different names" if fold is str else "columns whose names differ by more than capitals"
        raise InvalidFile(str(path), twice, different, "Rename them.")
