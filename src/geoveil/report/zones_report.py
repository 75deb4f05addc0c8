"""The report of tracks that were cut around hidden places: a page with a map of the discs and of what remains."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from geoveil._version import __version__
from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.formats.atomic import staging_folder
from geoveil.report import palette
from geoveil.report.composing import compose
from geoveil.report.formatting import WARNING, with_units
from geoveil.report.layers import Layer
from geoveil.report.page import static, templates

__all__ = ["ZonesReport", "check_page"]


@dataclass(frozen=True, eq=False)
class ZonesReport:
    """A page about shared tracks. It shows nothing that was removed, unless a layer has the role "truth"."""

    #: The heading.
    title: str
    #: The facts at the top: the name and the text of each.
    summary: tuple[tuple[str, str], ...]
    #: The layers of the map, the first at the bottom.
    layers: tuple[Layer, ...]
    #: The certificate, whose words are on the page.
    certificate: Mapping[str, object]
    #: The path of the user's own base map, which is drawn in quiet greys.
    basemap: str | None = None

    @property
    def shows_truth(self) -> bool:
        """Whether the page shows what was removed."""
        return any(layer.role == "truth" for layer in self.layers)

    def page(self) -> str:
        """Return the page as HTML."""
        return templates().get_template("zones.html").render(
            version=__version__,
            warning=WARNING if self.shows_truth else "",
            style=palette.variables() + static("page.css"),
            script=static("page.js"),
            title=self.title,
            summary=[(name, with_units(text)) for name, text in self.summary],
            names=", ".join(layer.name for layer in self.layers),
            scene=compose(self.layers, basemap=self.basemap),
            words=self.certificate["words"],
            certificate=json.dumps(self.certificate, indent=2, ensure_ascii=False),
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the page into a file that ends in .html, completely or not at all, and return its path."""
        target = Path(path)
        check_page(target)
        try:
            with staging_folder(target, overwrite=overwrite) as folder:
                written = folder / target.name
                written.write_text(self.page(), encoding="utf-8", newline="\n")
                if self.shows_truth:
                    written.chmod(0o600)
        except OSError as problem:
            remedy = "Check that there is space on the disk and that you may write there."
            raise InvalidFile(str(target), str(problem), "a file that can be written", remedy) from None
        return target


def check_page(path: Path, argument: str = "report") -> None:
    """Refuse a path that is not that of a page."""
    if path.suffix.lower() != ".html":
        remedy = f"Name it {path.with_suffix('.html').name}."
        raise InvalidParameter(argument, str(path), "a page, which ends in .html", remedy)
