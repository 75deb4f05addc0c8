"""Detect texts that a spreadsheet would run as formulas when a CSV file is opened in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geoveil.geo.text_bytes import any_begins_with

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["has_formulas"]

#: The characters with which formulas begin.
_BEGINNINGS = "=+-@\t\r"
_BEGINNING = r"^[=+\-@\t\r]"
#: Matches numbers and telephone numbers, which begin like formulas.
_NUMBER = r"^[+\-][0-9.,:/() \-]*([eE][+\-]?[0-9]+)?$"


def has_formulas(texts: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether any text of a pyarrow array would be run as a formula.

    Examples
    --------
    >>> import pyarrow as pa
    >>> has_formulas(pa.array(["-122.4", "+1 (555) 010-99", "a=b", None]))
    False
    >>> has_formulas(pa.array(["ann", "=1+1"])), has_formulas(pa.array(["-2+cmd|' /C calc'!A0"]))
    (True, True)
    """
    import pyarrow.compute as pc

    if not any_begins_with(texts, _BEGINNINGS):
        return False
    begun = pc.match_substring_regex(texts, _BEGINNING)
    found = texts.filter(pc.fill_null(begun, False))
    return not pc.all(pc.match_substring_regex(found, _NUMBER)).as_py()
