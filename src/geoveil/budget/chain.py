"""A chain of entries, each with the hash of the one before: what is changed later is noticed."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["FIRST", "link"]

#: What the first entry follows.
FIRST = "0" * 64


def link(previous: str, entry: Mapping[str, Any], key: bytes | None = None) -> str:
    """The hash of an entry that follows another: SHA-256, or HMAC-SHA-256 where there is a key."""
    content = json.dumps([previous, dict(entry)], sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    if key is None:
        return hashlib.sha256(content).hexdigest()
    return hmac.new(key, content, hashlib.sha256).hexdigest()
