"""Checks of the beginning of XML documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.parsers import expat

from geoveil.errors import InvalidFile
from geoveil.geo.formats.limits import LINE

__all__ = ["check_prolog", "malformed"]


class _Begun(Exception):
    """Raised when the parser reaches the first tag of a document."""


def check_prolog(path: Path, root: str) -> None:
    """Refuse documents with another root, and those that declare entities, which can expand without limit."""

    def declared(*_: Any) -> None:
        allowed = f"{root.upper()}, which declares no document type"
        raise InvalidFile(str(path), "<!DOCTYPE", allowed, "Remove the declaration.")

    def begun(name: str, _: Any) -> None:
        kind = name.rpartition("}")[2]
        if kind != root:
            remedy = "Check the format of the file."
            raise InvalidFile(str(path), kind, f"a {root.upper()} file, whose outermost tag is {root}", remedy)
        raise _Begun

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = declared, begun
    try:
        with path.open("rb") as file:
            parser.Parse(file.read(LINE), False)
        raise InvalidFile(str(path), "no tag", "XML that begins with a tag", "Check the format of the file.")
    except _Begun:
        pass
    except expat.ExpatError as problem:
        raise malformed(path, expat.errors.messages[problem.code], problem.lineno, problem.offset) from None


def malformed(path: Path, what: str, line: int, column: int) -> InvalidFile:
    """Return the error of XML that is not well-formed."""
    at = f"line {line}, column {column}"
    return InvalidFile(str(path), f"{what} at {at}", "well-formed XML", "Correct it there.")
