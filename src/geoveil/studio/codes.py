"""Values together with the Python code that makes them, so that a page shows the code that was run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Code", "call", "statement"]

#: The largest length of a line of code.
_WIDE = 88


@dataclass(frozen=True)
class Code:
    """A value, and the text of a Python expression that gives it.

    Examples
    --------
    >>> Code.of("1 day")
    Code(text="'1 day'", value='1 day')
    """

    text: str
    value: Any

    @classmethod
    def of(cls, value: Any) -> Code:
        """Return the code of a plain value."""
        return cls(repr(value), value)


def call(name: str, function: Callable[..., Any], *args: Code, **keywords: Code) -> Code:
    """Return the value of a call, with its text.

    Examples
    --------
    >>> call("max", max, Code.of(1), Code.of(2)).text
    'max(1, 2)'
    """
    value = function(*(arg.value for arg in args), **{key: given.value for key, given in keywords.items()})
    return Code(f"{name}({', '.join(_arguments(args, keywords))})", value)


def statement(head: str, args: tuple[Code, ...], keywords: dict[str, Code], tail: str = "") -> list[str]:
    """Return the lines of a call that begins with `head`; in a long call, each argument has its own line.

    Examples
    --------
    >>> statement("x = f", (Code.of(1),), {"rho": Code.of(2)})
    ['x = f(1, rho=2)']
    """
    arguments = _arguments(args, keywords)
    line = f"{head}({', '.join(arguments)}){tail}"
    if len(line) <= _WIDE:
        return [line]
    indent = " " * (len(head) - len(head.lstrip()))
    return [f"{head}(", *(f"{indent}    {argument}," for argument in arguments), f"{indent}){tail}"]


def _arguments(args: tuple[Code, ...], keywords: dict[str, Code]) -> list[str]:
    """Return arguments as they stand in a call."""
    return [*(arg.text for arg in args), *(f"{key}={given.text}" for key, given in keywords.items())]
