"""Write the outcome of a measurement as a page, a picture or numbers, by the ending of a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from geoveil.errors import InvalidParameter
from geoveil.geo.formats.atomic import check_target

__all__ = ["check_ending", "write_outcome"]


def check_ending(argument: str, path: Path) -> None:
    """Refuse a file that ends in no format of outcomes."""
    if path.suffix not in (".html", ".png", ".svg", ".pdf", ".json"):
        allowed = "a file that ends in .html, .png, .svg, .pdf or .json"
        raise InvalidParameter(argument, str(path), allowed, "Choose one.")


def write_outcome(
    path: Path,
    *,
    overwrite: bool,
    data: Callable[[], object],
    page: Callable[[], str],
    draw: Callable[[Path], None],
) -> Path:
    """Write an outcome, and return the path.

    Parameters
    ----------
    path : Path
        A file that ends in .html, .png, .svg, .pdf or .json.
    overwrite : bool
        Whether an existing file is replaced.
    data, page, draw : callable
        Return the numbers, return the page, and draw the picture into a file.
    """
    check_ending("path", path)
    check_target(path, overwrite=overwrite)
    if path.suffix == ".json":
        path.write_text(json.dumps(data(), indent=2), encoding="utf-8")
    elif path.suffix == ".html":
        path.write_text(page(), encoding="utf-8")
    else:
        draw(path)
    return path
