"""A chain of entries, each with the hash of the one before: what is changed later is noticed."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geoveil.errors import InvalidParameter

__all__ = ["FIRST", "link", "secret_of"]

#: What the first entry follows.
FIRST = "0" * 64
_VARIABLE = "GEOVEIL_LEDGER_KEY"


def link(previous: str, entry: Mapping[str, Any], key: bytes | None = None) -> str:
    """Return the hash of an entry that follows another: SHA-256, or HMAC-SHA-256 with a key."""
    content = json.dumps([previous, dict(entry)], sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    if key is None:
        return hashlib.sha256(content).hexdigest()
    return hmac.new(key, content, hashlib.sha256).hexdigest()


def secret_of(key: bytes | os.PathLike[str] | None) -> bytes | None:
    """Return the key of the chain: given, in a file, in the environment variable GEOVEIL_LEDGER_KEY, or none."""
    if key is None:
        told = os.environ.get(_VARIABLE)
        if not told:
            return None
        found = told.encode()
    elif isinstance(key, bytes):
        found = key
    else:
        try:
            found = Path(key).read_bytes().strip()
        except (OSError, TypeError) as problem:
            raise InvalidParameter("key", str(key), "bytes, or a file that holds the key", str(problem)) from None
    if len(found) < 16:
        raise InvalidParameter("key", "...", "at least 16 bytes", "Let a program draw 32 random bytes.")
    return found
