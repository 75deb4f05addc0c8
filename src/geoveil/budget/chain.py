"""Hash chain of a ledger's entries: each hash covers the entry and the hash before it, so changes are detected."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from geoveil.errors import InvalidParameter

__all__ = ["FIRST", "link", "secret_of"]

#: The hash before the first entry.
FIRST = "0" * 64
#: Environment variables with the key itself, and with the path of a file that holds it.
_KEY = "GEOVEIL_LEDGER_KEY"
_KEY_FILE = "GEOVEIL_LEDGER_KEY_FILE"
#: Shown instead of a key in messages, which must not repeat it.
_HIDDEN = "..."


def link(previous: str, entry: Mapping[str, str | int | None], key: bytes | None = None) -> str:
    """Return the hash of an entry, given the hash of the previous one: SHA-256, or HMAC-SHA-256 with a key."""
    content = json.dumps([previous, dict(entry)], sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    if key is None:
        return hashlib.sha256(content).hexdigest()
    return hmac.new(key, content, hashlib.sha256).hexdigest()


def secret_of(key: bytes | os.PathLike[str] | None) -> bytes | None:
    """Return the key of the chain: the given one, the one in the environment, or None.

    Parameters
    ----------
    key : bytes or Path, optional
        The key, or the path of a file that contains it. By default the environment variable GEOVEIL_LEDGER_KEY is the
        key itself, or GEOVEIL_LEDGER_KEY_FILE is the path of a file that contains it.
    """
    if key is not None:
        return _long_enough("key", key if isinstance(key, bytes) else _read("key", key))
    value, path = os.environ.get(_KEY), os.environ.get(_KEY_FILE)
    if value and path:
        raise InvalidParameter(_KEY, _HIDDEN, f"left out where {_KEY_FILE} is given", "Set one of the two.")
    if path:
        return _long_enough(_KEY_FILE, _read(_KEY_FILE, path))
    if not value:
        return None
    if _is_path(value):
        remedy = f"Put the path of a file that contains the key into {_KEY_FILE}."
        raise InvalidParameter(_KEY, _HIDDEN, "the key itself, not the path of a file", remedy)
    return _long_enough(_KEY, os.fsencode(value))


def _read(argument: str, path: str | os.PathLike[str]) -> bytes:
    """Return the key in a file: all of its bytes except a newline at the end, which editors add."""
    try:
        found = Path(path).read_bytes()
    except (OSError, TypeError, ValueError) as problem:
        # The caller may have given the key itself as a text, so the message does not repeat it.
        why = getattr(problem, "strerror", None) or "it is not a path"
        allowed = "the path of a file that contains the key" + (", or the key as bytes" if argument == "key" else "")
        raise InvalidParameter(argument, _HIDDEN, allowed, f"The file cannot be read: {why}.") from None
    return re.sub(rb"\r?\n\Z", b"", found)


def _is_path(value: str) -> bool:
    """Tell whether a text is the path of a file, existing or missing, in an existing folder."""
    folder = os.path.dirname(value)
    return os.path.exists(value) or (folder.strip("/") != "" and os.path.isdir(folder))


def _long_enough(argument: str, found: bytes) -> bytes:
    if len(found) < 16:
        remedy = "Generate 32 random bytes: head -c 32 /dev/urandom > ledger.key"
        raise InvalidParameter(argument, _HIDDEN, "a key of at least 16 bytes", remedy)
    return found
