"""Texts that every store can hold, checked before a request joins those of others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from geoveil.errors import InvalidParameter

__all__ = ["digest", "key_digest", "parameters_text", "subject_name", "text", "unknown"]

#: Characters of a name: PostgreSQL's indexes hold 2 704 bytes, and a character takes up to 4.
_LONGEST = 500


def subject_name(subject: Any) -> str:
    """Return a subject's name, or refuse what is none."""
    if not _is_text(subject) or not subject.strip() or "\x00" in subject or len(subject) > _LONGEST:
        allowed = f"a name of at most {_LONGEST} characters"
        raise InvalidParameter("subject", subject, allowed, "Give a text: of a person, a device or a data set.")
    return str.__str__(subject)


def text(argument: str, value: Any) -> str:
    """Return a text that a column can hold, or refuse it."""
    if not _is_text(value) or "\x00" in value:
        remedy = "Leave out NUL characters and lone surrogates."
        raise InvalidParameter(argument, value, "a text that can be written in UTF-8", remedy)
    return str.__str__(value)


def parameters_text(parameters: Mapping[str, Any] | None) -> str:
    """Return parameters as JSON, the same for equal parameters."""
    try:
        return json.dumps(dict(parameters or {}), sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError) as problem:
        remedy = f"Give numbers and texts: {problem}."
        raise InvalidParameter("parameters", parameters, "what JSON can hold", remedy) from None


def key_digest(key: Any) -> str:
    """Return the digest that stands for a key of any length in the ledger.

    It is a digest of the question, which is public, and never of the data: whoever knows the digest of a location
    could find the location by trying all of them.
    """
    if not _is_text(key):
        raise InvalidParameter("key", key, "a text that can be written in UTF-8", "Leave out lone surrogates.")
    return digest(key)


def digest(content: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(content.encode()).hexdigest()


def unknown(subject: str) -> InvalidParameter:
    """Return the error about a subject without an account."""
    return InvalidParameter("subject", subject, "someone with an account", "Open one with create().")


def _is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        str.encode(value)
    except UnicodeEncodeError:
        return False
    return True
