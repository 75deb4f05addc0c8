"""Reports: a map, the facts of a release, its certificate and the balances of accounts, as a page or a figure."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from dataclasses import dataclass, field
from decimal import Decimal
from html import escape
from pathlib import Path

from geoveil.certificates import Certificate
from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.facts import Facts
from geoveil.facts.wording import warning_line
from geoveil.geo.formats.atomic import staging_folder
from geoveil.privacy import Guarantee
from geoveil.report.formatting import WARNING
from geoveil.report.layers import Layer

__all__ = ["Balance", "Report", "check_path"]


@dataclass(frozen=True)
class Balance:
    """The balance of an account of a ledger after a release."""

    #: The name of the account.
    subject: str
    #: "rho" or "epsilon".
    symbol: str
    #: The total budget.
    total: Decimal
    #: The budget spent so far, including this release.
    spent: Decimal
    #: The budget that this release cost.
    cost: Decimal

    def __post_init__(self) -> None:
        if not 0 <= self.cost <= self.spent <= self.total or not self.total > 0:
            given = f"cost {self.cost}, spent {self.spent}, total {self.total}"
            allowed = "0 ≤ cost ≤ spent ≤ total"
            raise InvalidParameter("balance", given, allowed, "Include the cost of this release in `spent`.")

    @property
    def left(self) -> Decimal:
        """The budget that can still be spent."""
        return self.total - self.spent


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A report: a notebook shows its page, `save` writes it, `show_in_browser` opens it.

    It contains no true locations, unless one of its layers has the role "truth". Then it must not be shared, and says
    so.

    Examples
    --------
    >>> from geoveil.report import Report
    >>> release = gv.Locations(homes, area=bay).points(rho=1e-4)
    >>> report = Report("Three homes", release.layers(), release.facts(), release.certificate())
    >>> report.save(folder / "report.html").read_text()[:15]
    '<!DOCTYPE html>'
    """

    #: The heading of the report.
    title: str
    #: The layers of the map, the first at the bottom.
    layers: tuple[Layer, ...]
    #: The facts of the release, from `Release.facts`. The page and the figure put them into words.
    facts: Facts
    #: The certificate of the release, from `Release.certificate`, which the page shows in full.
    certificate: Certificate
    #: The accounts that were charged; empty if none was. Accounts are named only if the release names the persons.
    balances: tuple[Balance, ...] = field(default=())
    #: Sentences to show below the map.
    remarks: tuple[str, ...] = field(default=())
    #: Sentences about what an attacker gains by averages and smoothing, from public facts.
    attacker: tuple[str, ...] = field(default=(), kw_only=True)
    #: The path of the user's own base map, which is drawn in quiet greys.
    basemap: str | None = None
    #: The width of a figure in millimetres; 180 by default.
    width: float | None = None

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for each person."""
        return self.facts.guarantee

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that a reader must not miss: about true locations, and about columns that may reveal them."""
        told = warning_line(self.facts)
        return (*((WARNING,) if self.shows_truth else ()), *((f"Warning: {told}.",) if told else ()))

    @property
    def names_persons(self) -> bool:
        """Whether the release contains the labels of persons.

        It does not if they are replaced by pseudonyms, or if the answer is about a crowd or one person.
        """
        return any(column.reason == "person" for column in self.facts.unchanged)

    @property
    def shows_truth(self) -> bool:
        """Whether the report shows true locations."""
        return any(layer.role == "truth" for layer in self.layers)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the report into a file, completely or not at all, and return its path.

        With .html it becomes a page with a map, which loads nothing from elsewhere; with .png, .svg or .pdf a figure
        of the map, which requires matplotlib. An existing file is refused, or replaced with `overwrite`.
        """
        from geoveil.report.figure import draw
        from geoveil.report.page import page

        target = Path(path)
        check_path(target)
        try:
            with staging_folder(target, overwrite=overwrite) as folder:
                written = folder / target.name
                if target.suffix.lower() == ".html":
                    written.write_text(page(self), encoding="utf-8", newline="\n")
                else:
                    draw(written, self)
                if self.shows_truth:
                    written.chmod(0o600)
        except OSError as problem:
            remedy = "Check that there is space on the disk and that you may write there."
            raise InvalidFile(str(target), str(problem), "a file that can be written", remedy) from None
        return target

    def show_in_browser(self) -> Path:
        """Open the page in a browser, and return the temporary file that holds it."""
        path = self.save(Path(tempfile.mkdtemp(prefix="geoveil-")) / "report.html")
        webbrowser.open(path.as_uri())
        return path

    def __repr__(self) -> str:
        return f"Report({self.title!r}): save(path) writes the page, show_in_browser() opens it"

    def _repr_html_(self) -> str:
        from geoveil.report.page import page

        # The page is isolated in a frame: it may run its own script, and reaches neither the notebook nor the network.
        return (
            f'<iframe srcdoc="{escape(page(self))}" sandbox="allow-scripts" title="{escape(self.title)}" '
            'style="width: 100%; height: 46rem; border: 0; border-radius: 12px"></iframe>'
        )


def check_path(path: str | os.PathLike[str], argument: str = "path", *, figure: bool = False) -> None:
    """Refuse a path to which no report can be written, by its extension or because matplotlib is missing."""
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
