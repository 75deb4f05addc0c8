"""A report that a notebook shows as a page, and a browser opens."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from dataclasses import dataclass
from html import escape
from pathlib import Path

from geoveil.report.document import Report
from geoveil.report.page import page
from geoveil.report.writing import write

__all__ = ["ReportView"]


@dataclass(frozen=True, eq=False, repr=False)
class ReportView:
    """The page of a report: a notebook shows it, `save` writes it, `show_in_browser` opens it.

    Parameters
    ----------
    report : Report
        The report.
    """

    report: Report

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the report into a file that ends in .html, .png or .pdf, and return its path.

        An existing file is refused, or replaced with `overwrite`.
        """
        write(path, self.report, overwrite=overwrite)
        return Path(path)

    def show_in_browser(self) -> Path:
        """Open the page in a browser, and return the temporary file that holds it."""
        path = self.save(Path(tempfile.mkdtemp(prefix="geoveil-")) / "report.html")
        webbrowser.open(path.as_uri())
        return path

    def __repr__(self) -> str:
        return f"ReportView({self.report.title!r}): save(path) writes the page, show_in_browser() opens it"

    def _repr_html_(self) -> str:
        # The page is isolated in a frame: it may run its own script, and reaches neither the notebook nor the network.
        document, title = escape(page(self.report)), escape(self.report.title)
        return (
            f'<iframe srcdoc="{document}" sandbox="allow-scripts" title="{title}" '
            'style="width: 100%; height: 46rem; border: 0; border-radius: 12px"></iframe>'
        )
