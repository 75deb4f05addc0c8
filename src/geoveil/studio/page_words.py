"""The names that arguments and functions of the library have on the pages of the studio."""

from __future__ import annotations

from geoveil.errors import GeoveilError
from geoveil.messages import Naming

__all__ = ["ON_PAGE", "message_of"]

_ARGUMENTS = {
    "by": "the column of persons",
    "area": "the area",
    "outside": "points outside the area",
    "missing": "rows without a location",
    "keep": "columns to release unchanged",
    "where": "the filter of rows",
    "crs": "the coordinate system",
    "lat": "the column of latitude",
    "lon": "the column of longitude",
    "geometry": "the column of geometries",
    "delimiter": "the separator of fields",
    "decimal": "the decimal mark",
    "layer": "the layer",
    "times": "the column of times",
    "thin": "thinning",
    "unit": "what is protected",
    "rho": "ρ",
    "epsilon": "ε",
    "k": "the number of neighbours",
    "p": "the place asked about",
    "ledger": "a ledger",
    "subject": "the name of the account",
    "pseudonyms": "pseudonyms",
    "regions": "the file of regions",
    "grid": "the side of a cell",
    "target": "the released file",
}
#: What an argument with a value is on a page.
_VALUES = {
    ("outside", "drop"): "removing points outside the area",
    ("outside", "clamp"): "moving points outside to the edge of the area",
    ("missing", "drop"): "removing rows without a location",
    ("keep", "all"): "releasing all columns",
}
_FUNCTIONS = {
    "gv.local": "a place and a radius",
    "gv.areas": "The field of the area",
    "gv.suggest_area": "the proposed area",
    "gv.smooth": "smoothing",
    "gv.hull": "the hull",
    "gv.center": "the summary",
    "ledger.create": "the account page",
    "gv.read": "a program",
}


class _OnPage(Naming):
    """The names that arguments and functions have on a page."""

    def argument(self, name: str) -> str:
        """Name an argument that was given.

        Examples
        --------
        >>> ON_PAGE.argument("by"), ON_PAGE.argument("row 3")
        ('the column of persons', 'row 3')
        """
        return _ARGUMENTS.get(name, name)

    def mention(self, name: str, value: str = "") -> str:
        """Name a choice that could be made, with or without a value.

        Examples
        --------
        >>> ON_PAGE.mention("outside", "drop"), ON_PAGE.mention("thin", "1 minute"), ON_PAGE.mention("gv.smooth")
        ('removing points outside the area', 'thinning (1 minute)', 'smoothing')
        """
        if (name, value) in _VALUES:
            return _VALUES[name, value]
        if value in _FUNCTIONS or name in _FUNCTIONS:
            return _FUNCTIONS.get(value) or _FUNCTIONS[name]
        named = self.argument(name)
        return f"{named} ({value.strip(chr(34))})" if value else named


ON_PAGE = _OnPage()


def message_of(problem: Exception) -> str:
    """Return what happened and what to do next, for someone at a page."""
    if isinstance(problem, GeoveilError):
        return problem.worded(ON_PAGE)
    if isinstance(problem, OSError) and problem.filename is not None:
        return f"{problem.filename}: {problem.strerror}"
    return f"{type(problem).__name__}: {problem}. This should not happen."
