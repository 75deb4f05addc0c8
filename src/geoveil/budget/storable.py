"""Texts that every store can hold."""

from __future__ import annotations

from typing import Any

from geoveil.errors import InvalidParameter

__all__ = ["subject_name", "unknown"]


def subject_name(subject: Any) -> str:
    """Return a subject's name, or refuse what is none."""
    usable = isinstance(subject, str) and subject.strip() and "\x00" not in subject
    if not usable or subject.encode(errors="replace").decode() != subject:
        raise InvalidParameter("subject", subject, "a name", "Give a text: of a person, a device or a data set.")
    return str(subject)


def unknown(subject: str) -> InvalidParameter:
    """Return the error about a subject without an account."""
    return InvalidParameter("subject", subject, "someone with an account", "Open one with create().")
