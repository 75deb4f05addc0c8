"""Reports as files: a page, or a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.formats.atomic import staging_folder
from geoveil.report.content import Report
from geoveil.report.figure import draw
from geoveil.report.page import page

__all__ = ["check", "write"]


def check(path: Any, argument: str = "path") -> None:
    """Refuse a path to which no report can be written: by its ending, or as matplotlib is not there."""
    ending = Path(path).suffix.lower()
    if ending not in (".html", ".png", ".pdf"):
        raise InvalidParameter(argument, str(path), "a file that ends in .html, .png or .pdf", "Rename it.")
    if ending != ".html":
        try:
            import matplotlib.figure  # noqa: F401
        except ImportError:
            remedy = "Use pip install 'geoveil[plot]', or a path that ends in .html."
            raise InvalidParameter(argument, str(path), "a page, unless matplotlib is installed", remedy) from None


def write(path: Any, report: Report) -> None:
    """Write a report: a page with a map, or the map alone. It is there as a whole, or not at all.

    Parameters
    ----------
    path : str or Path
        Ends in .html for a page that works from the disk and loads nothing, in .png or .pdf for a figure, which takes
        matplotlib.
    report : Report
        What it shows. With a layer of truth it must not be shared, and says so.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import geopandas
    >>> import geoveil as gv
    >>> from geoveil.report import Report, layers_of, write
    >>> people = geopandas.GeoSeries.from_xy([-122.41, -122.45], [37.78, 37.76], crs=4326)
    >>> bay = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    >>> release = gv.points(people, by=["ann", "bob"], rho=1e-4, area=bay)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write(path, Report("Two homes", layers_of(release), release.guarantee, release.certificate()))
    >>> path.read_text()[:15]
    '<!DOCTYPE html>'
    """
    path = Path(path)
    check(path)
    try:
        with staging_folder(path) as folder:
            if path.suffix.lower() == ".html":
                (folder / path.name).write_text(page(report), encoding="utf-8", newline="\n")
            else:
                draw(folder / path.name, report)
            if report.truth:
                (folder / path.name).chmod(0o600)
    except OSError as problem:
        remedy = "Is there room, and may one write there?"
        raise InvalidFile(str(path), str(problem), "a file that can be written", remedy) from None
