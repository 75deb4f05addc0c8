"""Messages that name arguments in the words of their reader: `area=` in Python, `--area` on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any, TypeAlias

__all__ = ["Message", "Naming", "Text", "keyword", "worded"]

#: Names an argument or a function, with or without a value: ("outside", "clamp") -> 'outside="clamp"'.
Naming: TypeAlias = Callable[[str, str], str]


class Message:
    """A text with placeholders for arguments, functions and data.

    Parameters
    ----------
    template : str
        ``{area}`` names an argument, ``{outside:clamp}`` an argument with a value, and ``{gv.points}`` a function.
    **data : object
        Values for the placeholders that are not names. They are inserted as they are, whatever braces they contain.

    Examples
    --------
    >>> message = Message("{count} points are outside: {outside:clamp} moves them.", count=3)
    >>> str(message)
    '3 points are outside: outside="clamp" moves them.'
    >>> message.worded(lambda name, value: f"--{name} {value}".rstrip())
    '3 points are outside: --outside clamp moves them.'
    """

    def __init__(self, template: str, /, **data: object) -> None:
        self.template = template
        self.data = data

    def worded(self, naming: Naming) -> str:
        """Return the text with names as `naming` gives them."""
        return _Formatter(self.data, naming).format(self.template)

    def __str__(self) -> str:
        return self.worded(keyword)

    def __repr__(self) -> str:
        return repr(str(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.template, self.data) == (other.template, other.data)

    def __hash__(self) -> int:
        return hash(self.template)


#: A text that is the same for every reader, or a message.
Text: TypeAlias = str | Message


def worded(text: Text, naming: Naming) -> str:
    """Return a text with names as `naming` gives them."""
    return text.worded(naming) if isinstance(text, Message) else text


def keyword(name: str, value: str = "") -> str:
    """Name an argument or a function as Python does.

    Examples
    --------
    >>> keyword("area"), keyword("outside", "clamp"), keyword("k", "5"), keyword("gv.points")
    ('area=', 'outside="clamp"', 'k=5', 'gv.points')
    """
    if "." in name:
        return name
    plain = not value or value[0].isdigit() or value.startswith("gv.")
    return f"{name}={value}" if plain else f'{name}="{value}"'


class _Formatter(Formatter):
    """Fills in data where there is some, and names everywhere else."""

    def __init__(self, data: Mapping[str, object], naming: Naming) -> None:
        self._data = data
        self._naming = naming

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[object, str]:
        return self._data.get(field_name, _Name(field_name)), field_name

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, _Name):
            return self._naming(value, format_spec)
        return format(value, format_spec)


class _Name(str):
    """The name of an argument or a function, as opposed to a text that was given as data."""
