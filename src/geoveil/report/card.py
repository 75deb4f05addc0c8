"""The card of a release: what it guarantees, how wrong it is and a small map, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from geoveil.facts import Facts
from geoveil.report.layers import Layer
from geoveil.report.page import static
from geoveil.report.small_map import small_map
from geoveil.wording import heading, lines, paragraphs

__all__ = ["card"]


def card(facts: Facts, layers: Sequence[Layer]) -> str:
    """Return a release as HTML without scripts that loads nothing, of at most some ten kilobytes.

    Parameters
    ----------
    facts : Facts
        The facts of the release.
    layers : sequence of Layer
        The layers of its map; without any, there is no map.
    """
    svg, said = small_map(layers)
    figure = f"<figure>{svg}<figcaption>{'<br>'.join(map(escape, said))}</figcaption></figure>" if svg else ""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in lines(facts))
    style = static("card.css")
    return (
        f'<style>{style}</style><div class="geoveil-card"><div><b>{escape(heading(facts))}</b>'
        f"<p>{escape(paragraphs(facts)[0])}</p><dl>{rows}</dl></div>{figure}</div>"
    )
