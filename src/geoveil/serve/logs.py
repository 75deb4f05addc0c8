"""Structured logs: a line of JSON for each event, with names from the configuration and words of the program."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from geoveil.serve.published import iso

__all__ = ["configure_logs"]

#: What a line may contain besides its time, its level and its event.
_FIELDS = ("format", "person", "device", "answered", "unused", "target", "outcome", "problem", "status", "address")


class _Lines(logging.Formatter):
    """Writes a record as JSON. The text of an exception is left out: it may quote what a client has sent."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {"time": iso(int(record.created * 10**6)), "level": record.levelname.lower()}
        # Other programs' events have texts of their own, which may quote requests.
        line["event"] = record.getMessage() if record.name == "geoveil.serve" else record.name
        line |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[0] is not None:
            line["problem"] = record.exc_info[0].__name__
        return json.dumps(line)


def configure_logs(level: int = logging.INFO) -> None:
    """Write events of the service and errors of its server to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name, least in (("geoveil.serve", level), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(least)
    # Addresses of targets have credentials in them.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
