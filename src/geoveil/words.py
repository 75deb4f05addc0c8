"""Lengths and numbers for people to read."""

from __future__ import annotations

__all__ = ["counted", "metres"]


def metres(length: float, digits: int = 3) -> str:
    """A length, rounded up.

    Examples
    --------
    >>> metres(244.7), metres(1345), metres(100_000), metres(0.0)
    ('245 m', '1.35 km', '100 km', '0 m')
    """
    # What the command line needs for its help pages must be imported fast.
    from geoveil.privacy import exact

    if length == 0:
        return "0 m"
    kilometres = length > 999
    rounded = float(exact.rounded_up(length / 1000 if kilometres else length, digits))
    return f"{rounded:,.6g} {'km' if kilometres else 'm'}".replace(",", " ")


def counted(count: int, noun: str = "") -> str:
    """So many of something, with thousands apart.

    Examples
    --------
    >>> counted(1), counted(1234567, "point"), counted(1, "person")
    ('1', '1 234 567 points', '1 person')
    """
    return f"{count:_} {noun}".replace("_", " ").rstrip() + ("s" if noun and count != 1 else "")
