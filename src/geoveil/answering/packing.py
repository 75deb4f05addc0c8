"""Answers as a ledger stores them: arrays, numbers and texts as JSON, and nothing that could run."""

from __future__ import annotations

import base64
import io
import json

import numpy as np

from geoveil.queries.answer import Value

__all__ = ["packed", "unpacked"]


def packed(kept: object) -> str:
    """Return arrays, numbers, texts, and lists and dicts of them, as JSON."""
    return json.dumps(_plain(kept), separators=(",", ":"))


def unpacked(content: str) -> Value:
    """Return the values that were packed."""
    return _rebuilt(json.loads(content))


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        written = io.BytesIO()
        np.save(written, value, allow_pickle=False)
        return {"array": base64.b64encode(written.getvalue()).decode()}
    if isinstance(value, dict):
        return {"parts": {name: _plain(part) for name, part in value.items()}}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _rebuilt(value: object) -> object:
    if isinstance(value, list):
        return [_rebuilt(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.load(io.BytesIO(base64.b64decode(value["array"])), allow_pickle=False)
    return {name: _rebuilt(part) for name, part in value["parts"].items()}
