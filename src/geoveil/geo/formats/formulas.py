"""Texts that a spreadsheet would run as formulas when someone opens a CSV file."""

from __future__ import annotations

from typing import Any

__all__ = ["has_formulas"]

#: How a formula may begin.
_BEGINNING = r"^[=+\-@\t\r]"
#: What begins like a formula and is a number, or a telephone number.
_NUMBER = r"^[+\-][0-9.,:/() \-]*([eE][+\-]?[0-9]+)?$"


def has_formulas(texts: Any) -> bool:
    """Whether a pyarrow array of texts has any that a spreadsheet would run.

    Examples
    --------
    >>> import pyarrow as pa
    >>> has_formulas(pa.array(["-122.4", "+1 (555) 010-99", "a=b", None]))
    False
    >>> has_formulas(pa.array(["ann", "=1+1"])), has_formulas(pa.array(["-2+cmd|' /C calc'!A0"]))
    (True, True)
    """
    import pyarrow.compute as pc

    begun = pc.match_substring_regex(texts, _BEGINNING)
    if not pc.any(begun).as_py():
        return False
    found = texts.filter(pc.fill_null(begun, False))
    return not pc.all(pc.match_substring_regex(found, _NUMBER)).as_py()
