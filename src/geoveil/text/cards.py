"""Cards: a heading and rows of names and texts, as plain text for prompts and as HTML for notebooks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from html import escape
from typing import TypeAlias

__all__ = ["Card", "Rows", "as_html", "as_text"]

#: The name and the text of each row.
Rows: TypeAlias = Iterable[tuple[str, str]]

#: Colours come from the notebook's own text, so that a card is readable on light and on dark backgrounds.
_STYLE = """
.geoveil-card { max-width: 62rem; padding: .9rem 1.1rem; display: flex; flex-wrap: wrap; gap: .6rem 1.6rem;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 10px;
  font: 14px/1.5 system-ui, sans-serif; }
.geoveil-card > div { flex: 1 1 22rem; min-width: 0; }
.geoveil-card > figure { flex: 0 1 360px; margin: 0; }
.geoveil-card b { display: block; font-size: 15px; font-weight: 650; }
.geoveil-card p { margin: .4rem 0; }
.geoveil-card dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .15rem 1rem;
  margin: .5rem 0 0; }
.geoveil-card dt { margin: 0; font-weight: 400; opacity: .7; }
.geoveil-card dd { margin: 0; overflow-wrap: anywhere; }
.geoveil-card .warning { color: #dc2626; font-weight: 600; opacity: 1; }
.geoveil-card svg { display: block; width: 100%; height: auto; border-radius: 6px;
  background: color-mix(in srgb, #38bdf8 9%, transparent); }
.geoveil-card figcaption { margin-top: .3rem; font-size: 12px; opacity: .8; }
"""


class Card:
    """An object that is shown as a card: `_card` gives the heading and the rows."""

    @abstractmethod
    def _card(self) -> tuple[str, Rows]:
        """Return the heading and the rows."""

    def __repr__(self) -> str:
        return as_text(*self._card())

    def _repr_html_(self) -> str:
        return as_html(*self._card())


def as_text(heading: str, rows: Rows) -> str:
    """Return a card as text, its rows in two columns.

    Examples
    --------
    >>> print(as_text("Ledger", [("accounts", "3"), ("entries", "12")]))
    Ledger
      accounts  3
      entries   12
    """
    told = list(rows)
    width = max((len(name) for name, _ in told), default=0)
    return "\n".join([heading, *(f"  {name:<{width}}  {text}" for name, text in told)])


def as_html(heading: str, rows: Rows, *, lead: str = "", figure: str = "") -> str:
    """Return a card as HTML, which loads nothing and runs no script.

    Parameters
    ----------
    heading : str
        The first line.
    rows : iterable of (str, str)
        The name and the text of each row; one that is named "warning" is red.
    lead : str
        A sentence between the heading and the rows.
    figure : str
        HTML that is shown beside them.
    """
    listed = "".join(
        f"<dt{_mark(name)}>{escape(name)}</dt><dd{_mark(name)}>{escape(text)}</dd>" for name, text in rows
    )
    said = f"<p>{escape(lead)}</p>" if lead else ""
    return (
        f'<style>{_STYLE}</style><div class="geoveil-card"><div><b>{escape(heading)}</b>{said}<dl>{listed}</dl></div>'
        f"{figure}</div>"
    )


def _mark(name: str) -> str:
    """Return the class of a row that is shown in red."""
    return ' class="warning"' if name == "warning" else ""
