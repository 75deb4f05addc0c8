"""Validate the texts that a ledger stores, before a request joins a batch with others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeGuard

from geoveil.errors import InvalidParameter, Message

__all__ = ["digest", "key_digest", "parameters_text", "subject_name", "text", "unknown"]

#: Largest number of characters in a name: PostgreSQL's indexes hold 2 704 bytes, and a character takes up to 4.
_LONGEST = 500


def subject_name(subject: object) -> str:
    """Return a subject's name, or raise InvalidParameter if it is not a valid one."""
    if not _is_text(subject) or not subject.strip() or "\x00" in subject or len(subject) > _LONGEST:
        allowed = f"a name of at most {_LONGEST} characters"
        raise InvalidParameter("subject", subject, allowed, "Give the name of a person, a device or a data set.")
    return str.__str__(subject)


def text(argument: str, value: object) -> str:
    """Return a text, or raise InvalidParameter if a database column cannot hold it."""
    if not _is_text(value) or "\x00" in value:
        remedy = "Leave out NUL characters and lone surrogates."
        raise InvalidParameter(argument, value, "a text that can be written in UTF-8", remedy)
    return str.__str__(value)


def parameters_text(parameters: Mapping[str, Any] | None) -> str:
    """Return parameters as canonical JSON: the same text for equal parameters."""
    try:
        return json.dumps(dict(parameters or {}), sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError) as problem:
        remedy = f"Give numbers and texts: {problem}."
        raise InvalidParameter("parameters", parameters, "valid JSON values", remedy) from None


def key_digest(key: object) -> str:
    """Return the digest of a question's key, which the ledger stores instead of the key.

    It is a digest of the question, which is public, and never of the data: from the digest of a location, anyone could
    find the location by trying all locations.
    """
    if not _is_text(key):
        raise InvalidParameter("key", key, "a text that can be written in UTF-8", "Leave out lone surrogates.")
    return digest(key)


def digest(content: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(content.encode()).hexdigest()


def unknown(subject: str) -> InvalidParameter:
    """Return the error for a subject without an account."""
    return InvalidParameter(
        "subject", subject, "a subject with an account", Message("Open an account with {ledger.create}.")
    )


def _is_text(value: object) -> TypeGuard[str]:
    if not isinstance(value, str):
        return False
    try:
        str.encode(value)
    except UnicodeEncodeError:
        return False
    return True
