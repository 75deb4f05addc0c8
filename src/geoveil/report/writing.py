"""Write a report into a file: an HTML page, or a figure."""

from __future__ import annotations

import os
from pathlib import Path

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.formats.atomic import staging_folder
from geoveil.report.document import Report
from geoveil.report.figure import draw
from geoveil.report.page import page

__all__ = ["check_path", "write"]


def check_path(path: str | os.PathLike[str], argument: str = "path", *, figure: bool = False) -> None:
    """Refuse a path to which no report can be written, by its extension or because matplotlib is missing.

    Parameters
    ----------
    path : str or Path
        The file to write.
    argument : str
        The name of the argument, for the error.
    figure : bool
        Whether it must be a figure.
    """
    ending = Path(path).suffix.lower()
    allowed = [".png", ".svg", ".pdf"] if figure else [".html", ".png", ".svg", ".pdf"]
    if ending not in allowed:
        listed = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        raise InvalidParameter(argument, str(path), f"a file that ends in {listed}", "Rename it.")
    if ending != ".html":
        try:
            import matplotlib.figure  # noqa: F401
        except ImportError:
            remedy = "Use pip install 'geoveil[plot]', or --report with a page that ends in .html."
            raise InvalidParameter(argument, str(path), "a page, unless matplotlib is installed", remedy) from None


def write(path: str | os.PathLike[str], report: Report, *, overwrite: bool = False) -> None:
    """Write a report into a file, completely or not at all.

    Parameters
    ----------
    path : str or Path
        The file. With .html it becomes a page with a map, which loads nothing from elsewhere; with .png, .svg or
        .pdf it becomes a figure of the map, which requires matplotlib.
    report : Report
        The report. With a layer of the role "truth" it must not be shared, and says so.
    overwrite : bool
        Whether an existing file is replaced; otherwise it is refused.

    Examples
    --------
    >>> from geoveil.report import Report, write
    >>> people = geopandas.GeoSeries.from_xy([-122.41, -122.45], [37.78, 37.76], crs=4326)
    >>> release = gv.Locations(people, person=["ann", "bob"], area=bay).points(rho=1e-4)
    >>> path = folder / "report.html"
    >>> write(path, Report("Two homes", release.layers(), release.facts(), release.certificate()))
    >>> path.read_text()[:15]
    '<!DOCTYPE html>'
    """
    target = Path(path)
    check_path(target)
    try:
        with staging_folder(target, overwrite=overwrite) as folder:
            if target.suffix.lower() == ".html":
                (folder / target.name).write_text(page(report), encoding="utf-8", newline="\n")
            else:
                draw(folder / target.name, report)
            if report.shows_truth:
                (folder / target.name).chmod(0o600)
    except OSError as problem:
        remedy = "Check that there is space on the disk and that you may write there."
        raise InvalidFile(str(target), str(problem), "a file that can be written", remedy) from None
