"""The names of the library's arguments and functions on the pages of the studio, and its messages in these names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from geoveil.errors import GeoveilError
from geoveil.settings import SETTINGS
from geoveil.text.messages import Naming

__all__ = ["ON_PAGE", "message_of"]

#: The names of arguments in messages that refuse a value. Grids of cells have arguments of their own.
_ARGUMENTS = {name: row.page.name for name, row in SETTINGS.items() if row.page.name}
_ARGUMENTS |= {"p": _ARGUMENTS["at"], "grid": _ARGUMENTS["cell"], "side": _ARGUMENTS["cell"]}
_ARGUMENTS |= {"west": "the western edge of the cells", "south": "the southern edge of the cells"}
_ARGUMENTS |= {"lattice": "the number of cells", "rows": "the number of rows of cells"}
#: The names of choices in remedies.
_MENTIONS = {name: row.page.mention for name, row in SETTINGS.items() if row.page.mention}
#: The names of choices with a certain value in remedies.
_VALUES = {
    **{("near", value): f"“{value}” under “A place near a known one”" for value in ("same", "another")},
    ("outside", "drop"): "“remove their rows” under “Points outside the area”",
    ("outside", "clamp"): "“move them to the edge” under “Points outside the area”",
    ("missing", "drop"): "“remove them” under “Rows without a location”",
    ("new", "REASON"): "`geoveil budget create --new REASON` in a terminal",
    ("keep", "all"): "a tick at every column under “Columns that are released unchanged”",
}
_FUNCTIONS = {
    "gv.local": "a place and a radius",
    "gv.areas": "The field of the area",
    "gv.suggest_area": "the proposed area",
    "release.smooth": "smoothing",
    "locations.hull": "the hull",
    "locations.center": "the summary",
    "locations.heatmap": "a heat map",
    "locations.points": "points",
    "locations.counts": "counts",
    "locations.flows": "flows",
    "zones.accepted": "'geoveil zones --yes'",
    "request.accepted": "a tick at “Release it even if its error is hopeless”",
    "ledger.create": "step 6",
}
#: Places in a message where a sentence begins with one of these names in small letters.
_BEGINNINGS = re.compile(r"(?<=[.!?] )(?=(?:the|a|thinning|smoothing|pseudonyms|step) )")
#: A list of names as Python writes it.
_LIST = re.compile(r"\[(?:'[^'\]]*'(?:, )?)+\]")


class _OnPage(Naming):
    """The names that arguments and functions have on a page."""

    def argument(self, name: str) -> str:
        """Name an argument that was given.

        Examples
        --------
        >>> ON_PAGE.argument("person"), ON_PAGE.argument("row 3")
        ('the column of persons', 'row 3')
        """
        return _ARGUMENTS.get(name, name)

    def mention_list(self, name: str, values: Sequence[str]) -> str:
        """Name several values that could be chosen together.

        Examples
        --------
        >>> ON_PAGE.mention_list("times", ["start", "end"])
        'the column of times “start” and “end”'
        """
        return f"{self.argument(name)} " + " and ".join(f"“{value}”" for value in values)

    def mention(self, name: str, value: str = "") -> str:
        """Name a choice that could be made, with or without a value.

        Examples
        --------
        >>> ON_PAGE.mention("outside", "drop"), ON_PAGE.mention("thin", "1 minute"), ON_PAGE.mention("release.smooth")
        ('“remove their rows” under “Points outside the area”', 'thinning (1 minute)', 'smoothing')
        """
        if (name, value) in _VALUES:
            return _VALUES[name, value]
        if value in _FUNCTIONS or name in _FUNCTIONS:
            return _FUNCTIONS.get(value) or _FUNCTIONS[name]
        if not value:
            return _MENTIONS.get(name) or self.argument(name)
        if name == "thin":
            return f"thinning ({value})"
        if name == "keep":
            return f"a tick at {value.strip(chr(34))} under {_MENTIONS[name]}"
        # The columns of latitude and longitude are mentioned one after the other, like options of the command line.
        before = "and " if name == "lon" else ""
        return f"{before}{self.argument(name)} “{value.strip(chr(34))}”"

    def refused(self, named: str, value: object, shown: str, allowed: str) -> str:
        """Say that a value is not allowed.

        Examples
        --------
        >>> ON_PAGE.refused("the side of a cell", "abc", "'abc'", "a length such as 500 m")
        'The side of a cell cannot be “abc”: it must be a length such as 500 m.'
        >>> ON_PAGE.refused("the side of a cell", "", "''", "a length such as 500 m")
        'The side of a cell is missing: it must be a length such as 500 m.'
        """
        if named not in _ARGUMENTS.values():
            return self.refused_file(named, value, shown, allowed)
        # Greek letters stay as they are.
        begun = named[0].upper() + named[1:] if named.isascii() else named
        given = _given(value, shown)
        problem = f"cannot be {given}" if given else "is missing"
        return f"{begun} {problem}: it must be {allowed}."

    def refused_file(self, place: str, value: object, shown: str, allowed: str) -> str:
        """Say what is wrong with a file, or at a place in it.

        Examples
        --------
        >>> ON_PAGE.refused_file("trips.csv, row 3", "x", "'x'", "a number")
        'trips.csv, row 3: found “x”; it must be a number.'
        """
        shown_value = _given(value, shown) or "nothing"
        # For a whole file, the value already says in words what is wrong with it.
        shown_value = shown_value if ", row " in place else shown_value.strip("“”")
        return f"{place}: found {shown_value}; it must be {allowed}."


ON_PAGE = _OnPage()


def _given(value: object, shown: str) -> str:
    """Return a value as a person would write it; empty if there is none."""
    if value is None or value == "":
        return ""
    if isinstance(value, str):
        return f"“{value if len(value) <= 120 else value[:117] + '...'}”"
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(each, int) for each in value):
        # Rows and columns of cells.
        return f"{value[0]:,} by {value[1]:,}"
    if isinstance(value, list | tuple) and value:
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:,.10g}"
    return str(value) if isinstance(value, int | float | Decimal) else shown


def message_of(problem: Exception, folder: Path | None = None) -> str:
    """Return a message for a page: what happened and what to do next.

    Parameters
    ----------
    problem : Exception
        The problem.
    folder : Path, optional
        The private folder of the studio; its path is removed from the message, because it says nothing to a reader.
    """
    if isinstance(problem, GeoveilError):
        said = _BEGINNINGS.sub("\0", problem.worded(ON_PAGE))
        said = re.sub("\0(.)", lambda found: found[1].upper(), said)
        said = _LIST.sub(lambda found: found[0][1:-1].replace("'", ""), said)
    elif isinstance(problem, OSError) and problem.filename is not None:
        said = f"{problem.filename}: {problem.strerror}."
    else:
        said = f"{type(problem).__name__}: {problem}. This should not happen."
    return said if folder is None else re.sub(rf"{re.escape(str(folder))}[/\\][a-z]+-\d+[/\\]", "", said)
