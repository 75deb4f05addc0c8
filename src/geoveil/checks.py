"""Validate parameters.

Each function returns the validated value, or raises InvalidParameter with the argument, the value, what is allowed and
the remedy.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from geoveil.errors import InvalidParameter, Text
from geoveil.text.typed_values import read_length

__all__ = ["FARTHEST", "beta", "between", "count", "length", "number", "place", "positive"]


#: Largest absolute coordinate in metres: far beyond the Earth, and small enough that a double still resolves the
#: finest noise.
FARTHEST = 1e8


def number(argument: str, value: Any, *, above: float = -math.inf, below: float = math.inf, remedy: Text) -> float:
    """Return a real number strictly between `above` and `below`."""
    usable = isinstance(value, (Real, np.floating)) and not isinstance(value, bool)
    if not usable or not above < value < below:
        if above == -math.inf:
            allowed = "a finite number" if below == math.inf else f"a number below {below:g}"
        else:
            allowed = "a positive, finite number" if (above, below) == (0, math.inf) else f"above {above:g}"
            allowed += "" if below == math.inf else f" and below {below:g}"
        raise InvalidParameter(argument, value, allowed, remedy)
    return float(value)


def between(argument: str, value: Any, low: float, high: float, *, remedy: Text) -> float:
    """Return a real number from `low` to `high`, both included."""
    usable = isinstance(value, (Real, np.floating)) and not isinstance(value, bool)
    if not usable or not low <= value <= high:
        raise InvalidParameter(argument, value, f"a number from {low:g} to {high:g}", remedy)
    return float(value)


def positive(argument: str, value: Any, *, remedy: Text = "Give a number of metres.") -> float:
    """Return a positive, finite number."""
    return number(argument, value, above=0, remedy=remedy)


def length(
    argument: str,
    value: Any,
    *,
    below: float = math.inf,
    remedy: Text = "Give a number of metres, or a text such as '500m' or '1.5km'.",
) -> float:
    """Return a length in metres: a positive, finite number, or a text such as "500m"."""
    metres = read_length(value) if isinstance(value, str) else value
    return number(argument, value if metres is None else metres, above=0, below=below, remedy=remedy)


def beta(value: Any) -> float:
    """Return the probability `beta` of an error bound, strictly between 0 and 1."""
    return number("beta", value, above=0, below=1, remedy="error(0.05) is exceeded in at most 5% of releases.")


def count(argument: str, value: Any, *, low: int, high: int | None = None, remedy: Text) -> int:
    """Return a whole number from `low` to `high`, both included."""
    usable = isinstance(value, Integral) and not isinstance(value, bool)
    if not usable or value < low or (high is not None and value > high):
        allowed = f"a whole number of at least {low}" + ("" if high is None else f" and at most {high}")
        raise InvalidParameter(argument, value, allowed, remedy)
    return int(value)


def place(argument: str, value: Any, dimension: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a public location as a read-only array of `dimension` finite coordinates."""
    p = np.array(value, dtype=float)
    p.flags.writeable = False
    if p.shape != (dimension,) or not (np.abs(p) <= FARTHEST).all():
        allowed = f"{dimension} finite coordinates of at most {FARTHEST:g} m"
        raise InvalidParameter(argument, p.tolist(), allowed, "Give it in the coordinate system of x.")
    return p
