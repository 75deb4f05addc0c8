"""The templates of reports and of the studio, in which all data is escaped."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from geoveil.words import counted, metres

if TYPE_CHECKING:
    import jinja2

__all__ = ["templates"]


@functools.cache
def templates(package: str = "geoveil.report") -> jinja2.Environment:
    """Return the templates of a package."""
    import jinja2

    loader = jinja2.PackageLoader(package)
    found = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    found.filters |= {"counted": counted, "metres": metres}
    return found
