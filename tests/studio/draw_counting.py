"""Counts draws of randomness while true locations are in play, from whatever source they come.

The system's randomness is counted always: a preview has no use for it. Draws of numpy's generators, of which previews
on made-up data have many, are counted where a function that is running holds true locations: a table, points or an
array with a true coordinate, rows that were read from a file, or the path of the true file.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

from geoveil.answering.row_rules import ReadRows
from geoveil.noise import Entropy

__all__ = ["Draws"]

#: Arrays of more numbers than this are judged by their first numbers.
_MANY = 200_000


class Draws:
    """The draws that were made, each by the name of what drew and its number of variables or bytes.

    Parameters
    ----------
    path : Path
        The true file, in which every column of numbers is a coordinate.
    monkeypatch : MonkeyPatch
        Restores the sources at the end of a test.
    """

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[str, int]] = []
        self._name = path.name
        self._true = pd.read_csv(path).select_dtypes("number").to_numpy(dtype=float).ravel()
        (read,) = Entropy.__init__.__defaults__ or ()

        def counted(size: int) -> bytes:
            self.made.append(("system", size))
            return bytes(read(size))

        monkeypatch.setattr(Entropy.__init__, "__defaults__", (counted,))
        monkeypatch.setattr(np.random, "default_rng", self._generator)
        # Memory that was used before may still hold true coordinates, until it is written to.
        for name in ("empty", "empty_like"):
            monkeypatch.setattr(np, name, _cleared(getattr(np, name)))

    def _generator(self, seed: Any = None) -> np.random.Generator:
        draws = self

        class Counted(np.random.Generator):
            """A generator whose draws are counted."""

            def __getattribute__(self, name: str) -> Any:
                found = super().__getattribute__(name)
                if name.startswith("_") or not callable(found):
                    return found

                @functools.wraps(found)
                def drawn(*args: Any, **keywords: Any) -> Any:
                    values = found(*args, **keywords)
                    if draws.in_play(sys._getframe(1)):
                        draws.made.append((name, np.size(values)))
                    return values

                return drawn

        return Counted(np.random.PCG64(seed))

    def in_play(self, frame: FrameType | None) -> bool:
        """Return whether a function of the library that is running, from this one outwards, holds true locations."""
        while frame is not None:
            own = str(frame.f_globals.get("__name__")).startswith("geoveil.")
            if own and any(self._is_true(value) for value in frame.f_locals.values()):
                return True
            frame = frame.f_back
        return False

    def _is_true(self, value: Any) -> bool:
        numbers: Any = None
        if isinstance(value, Path):
            # Made-up data has no file.
            return value.name == self._name
        if isinstance(value, ReadRows):
            # What a thread that draws is given.
            numbers = value.coords
        elif isinstance(value, geopandas.GeoDataFrame | geopandas.GeoSeries):
            numbers = shapely.get_coordinates(value.geometry.array)
        elif isinstance(value, geopandas.array.GeometryArray):
            numbers = shapely.get_coordinates(value)
        elif isinstance(value, pd.DataFrame):
            numbers = value.select_dtypes("number").to_numpy(dtype=float, na_value=np.nan)
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            numbers = value
        return numbers is not None and bool(np.isin(numbers.ravel()[:_MANY], self._true).any())


def _cleared(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes an array as another one does, with zeros for what is not written yet."""

    def made(*args: Any, **keywords: Any) -> Any:
        found = make(*args, **keywords)
        if found.dtype.kind == "f":
            found[...] = 0.0
        return found

    return made
