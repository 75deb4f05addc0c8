"""A chain of entries, each with the hash of the one before: what is changed later is noticed."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geoveil.errors import InvalidParameter

__all__ = ["FIRST", "link", "secret_of"]

#: What the first entry follows.
FIRST = "0" * 64
#: Environment variables with the key itself, and with the path of a file that holds it.
_KEY = "GEOVEIL_LEDGER_KEY"
_KEY_FILE = "GEOVEIL_LEDGER_KEY_FILE"
#: Stands for a key in messages, which must not repeat it.
_HIDDEN = "..."


def link(previous: str, entry: Mapping[str, Any], key: bytes | None = None) -> str:
    """Return the hash of an entry that follows another: SHA-256, or HMAC-SHA-256 with a key."""
    content = json.dumps([previous, dict(entry)], sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    if key is None:
        return hashlib.sha256(content).hexdigest()
    return hmac.new(key, content, hashlib.sha256).hexdigest()


def secret_of(key: bytes | os.PathLike[str] | None) -> bytes | None:
    """Return the key of the chain: the one given, the one in the environment, or none.

    Parameters
    ----------
    key : bytes or Path, optional
        The key, or a file that holds it. Otherwise the environment variable GEOVEIL_LEDGER_KEY is the key itself, or
        GEOVEIL_LEDGER_KEY_FILE the path of a file that holds it.
    """
    if key is not None:
        return _long_enough("key", key if isinstance(key, bytes) else _read("key", key))
    told, path = os.environ.get(_KEY), os.environ.get(_KEY_FILE)
    if told and path:
        raise InvalidParameter(_KEY, _HIDDEN, f"left out where {_KEY_FILE} is given", "Set one of the two.")
    if path:
        return _long_enough(_KEY_FILE, _read(_KEY_FILE, path))
    if not told:
        return None
    if _is_path(told):
        remedy = f"Put the path of a file that holds the key into {_KEY_FILE}."
        raise InvalidParameter(_KEY, _HIDDEN, "the key itself, and this is the path of a file", remedy)
    return _long_enough(_KEY, os.fsencode(told))


def _read(argument: str, path: str | os.PathLike[str]) -> bytes:
    """Return the key in a file: all of its bytes, without the newline at the end that editors add."""
    try:
        found = Path(path).read_bytes()
    except (OSError, TypeError, ValueError) as problem:
        # What was given may be the key itself, given as a text: the message does not repeat it.
        why = getattr(problem, "strerror", None) or "it is no path"
        allowed = "the path of a file that holds the key" + (", or the key as bytes" if argument == "key" else "")
        raise InvalidParameter(argument, _HIDDEN, allowed, f"The file cannot be read: {why}.") from None
    return re.sub(rb"\r?\n\Z", b"", found)


def _is_path(told: str) -> bool:
    """Tell whether a text is the path of a file, or of one that is missing from an existing folder."""
    folder = os.path.dirname(told)
    return os.path.exists(told) or (folder.strip("/") != "" and os.path.isdir(folder))


def _long_enough(argument: str, found: bytes) -> bytes:
    if len(found) < 16:
        remedy = "Let a program draw 32 random bytes."
        raise InvalidParameter(argument, _HIDDEN, "a key of at least 16 bytes", remedy)
    return found
