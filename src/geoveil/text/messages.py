"""Messages that name arguments in the words of their reader: `area=` in Python, `--area` on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any, TypeAlias

__all__ = ["PYTHON", "Mention", "Message", "Naming", "Text", "worded"]

_NUMBER = re.compile(r"\d[\d.e+-]*")


class Naming:
    """The names of arguments and functions for a kind of reader; this class is for readers who write Python."""

    #: Calls that are shown with their arguments.
    _CALLS: Mapping[str, str] = {
        "gv.local": "gv.local(lat=..., lon=..., radius=...)",
        "gv.areas": "gv.areas(name)",
        "locations.overwrite": "gv.Locations(..., overwrite=True)",
        "request.accepted": "FileRequest(..., accepted=True)",
        "zones.accepted": "ZonesRequest(..., accepted=True)",
        "gv.suggest_area": "gv.suggest_area(x)",
        "x.to_crs": "x.to_crs(4326) (for a file, `ogr2ogr -t_srs EPSG:4326 new.gpkg old.gpkg`)",
        "x.set_crs": (
            "x.set_crs(4326, allow_override=True) (for a file, `ogr2ogr -a_srs EPSG:4326 new.gpkg old.gpkg`)"
        ),
    }

    def argument(self, name: str) -> str:
        """Name an argument that was given."""
        return name

    def mention_list(self, name: str, values: Sequence[str]) -> str:
        """Name an argument that could be given as a list.

        Examples
        --------
        >>> PYTHON.mention_list("times", ["start", "end"])
        "times=['start', 'end']"
        """
        return f"{name}={[*values]}"

    def mention(self, name: str, value: str = "") -> str:
        """Name an argument that could be given, with or without a value, or a function that could be called.

        Examples
        --------
        >>> PYTHON.mention("area"), PYTHON.mention("outside", "clamp"), PYTHON.mention("k", "5")
        ('area=', 'outside="clamp"', 'k=5')
        >>> PYTHON.mention("overwrite", "True"), PYTHON.mention("shorten", "2 tracks")
        ('overwrite=True', 'shorten="2 tracks"')
        >>> PYTHON.mention("locations.points"), PYTHON.mention("area", "gv.local")
        ('locations.points()', 'area=gv.local(...)')
        """
        if "." in name:
            return self._CALLS.get(name, f"{name}()")
        if value in self._CALLS:
            return f"{name}={value}(...)"
        plain = not value or _NUMBER.fullmatch(value) is not None or value[0] == '"' or value == "True"
        return f"{name}={value}" if plain else f'{name}="{value}"'

    def refused(self, named: str, value: object, shown: str, allowed: str) -> str:
        """Say that a value is not allowed.

        Parameters
        ----------
        named : str
            The argument, in the reader's words; of a file, its path or a place in it.
        value : object
            The value.
        shown : str
            The value as Python writes it, shortened.
        allowed : str
            The values that are allowed, as in "must be ...".

        Examples
        --------
        >>> PYTHON.refused("k", 0, "0", "at least 1")
        'k = 0: must be at least 1.'
        """
        return f"{named} = {shown}: must be {allowed}."

    def refused_file(self, place: str, value: object, shown: str, allowed: str) -> str:
        """Say what is wrong with a file, or at a place in it; the parameters are those of `refused`."""
        return self.refused(place, value, shown, allowed)


PYTHON = Naming()


class Message:
    """A text with placeholders for arguments, functions and data.

    Parameters
    ----------
    template : str
        ``{area}`` mentions an argument, ``{outside:clamp}`` an argument with a value, and ``{locations.points}`` a
        function.
    **data : object
        Values for the placeholders that are not names. They are inserted as they are, whatever braces they contain.

    Examples
    --------
    >>> str(Message("{count} points are outside: {outside:clamp} moves them.", count=3))
    '3 points are outside: outside="clamp" moves them.'
    """

    def __init__(self, template: str, /, **data: object) -> None:
        self.template = template
        self.data = data

    def worded(self, naming: Naming) -> str:
        """Return the text, with the names that a reader knows.

        Examples
        --------
        >>> Message("Give {area}.").worded(PYTHON)
        'Give area=.'
        """
        return _Formatter(self.data, naming).format(self.template)

    def __str__(self) -> str:
        return self.worded(PYTHON)

    def __repr__(self) -> str:
        return repr(str(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.template, self.data) == (other.template, other.data)

    def __hash__(self) -> int:
        return hash(self.template)


@dataclass(frozen=True)
class Mention:
    """An argument with a value that is data: a column's name may contain braces, which a template cannot.

    Examples
    --------
    >>> str(Message("Give {column}.", column=Mention("lat", "pickup {lat}")))
    'Give lat="pickup {lat}".'
    >>> str(Message("Give {columns}.", columns=Mention("times", ("start", "end"))))
    "Give times=['start', 'end']."
    """

    name: str
    value: str | tuple[str, ...]


#: A text that is the same for every reader, or a message.
Text: TypeAlias = str | Message


def worded(text: Text, naming: Naming) -> str:
    """Return a text, with the names that a reader knows."""
    return text.worded(naming) if isinstance(text, Message) else text


class _Formatter(Formatter):
    """Fills in data where there is some, and names everywhere else."""

    def __init__(self, data: Mapping[str, object], naming: Naming) -> None:
        self._data = data
        self._naming = naming

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[object, str]:
        return self._data.get(field_name, _Name(field_name)), field_name

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, _Name):
            return self._naming.mention(value, format_spec)
        if isinstance(value, Mention):
            several = isinstance(value.value, tuple)
            naming = self._naming
            return (naming.mention_list if several else naming.mention)(value.name, value.value)  # type: ignore[arg-type]
        if isinstance(value, Message):
            return value.worded(self._naming)
        return format(value, format_spec)


class _Name(str):
    """The name of an argument or a function, as opposed to a text that was given as data."""
