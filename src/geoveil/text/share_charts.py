"""A chart of shares by distance beside what a promise allows, as SVG and by matplotlib, and the page that it is on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["ShareChart", "drawn_chart", "outcome_page"]

_RIGHT = 12


@dataclass(frozen=True)
class ShareChart:
    """The frame of a chart in pixels.

    Parameters
    ----------
    height, left : int
        The height of the chart, and the width of the numbers at its left.
    axis : str
        What the distances are.
    axis_at : int
        How far above the lower edge that is written.
    """

    height: int
    left: int
    axis: str
    axis_at: int
    width: int = 640

    @property
    def right(self) -> int:
        """The right end of lines."""
        return self.width - _RIGHT

    def allowed(self, line: str, top: float) -> Iterator[str]:
        """Yield the line of what is allowed, and the shaded part above it."""
        corners = f"{self.left},{top:.1f} {line} {self.right},{top:.1f}"
        yield f'<polygon points="{corners}" fill="#64748b" opacity="0.16"/>'
        yield f'<polyline points="{line}" fill="none" stroke="#475569" stroke-width="2"/>'

    def levels(self, shares: Iterable[float], y: Callable[[float], Any]) -> Iterator[str]:
        """Yield a line across the chart, with its number, for each share."""
        for share in shares:
            at = float(y(share))
            ends = f'x1="{self.left}" x2="{self.right}" y1="{at:.1f}" y2="{at:.1f}"'
            yield f'<line {ends} stroke="#94a3b8" opacity=".5"/>'
            yield f'<text x="{self.left - 6}" y="{at + 4:.1f}" text-anchor="end">{share:.0%}</text>'

    def figure(self, parts: Iterable[str], label: str, caption: str) -> str:
        """Return the chart with a caption in HTML, and a label for those who hear it."""
        axis = f'<text x="{(self.width + self.left) / 2}" y="{self.height - self.axis_at}" text-anchor="middle">'
        return (
            f'<figure style="max-width:44rem"><svg viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(label)}" style="font:12px system-ui,sans-serif" fill="currentColor">'
            f"{''.join(parts)}{axis}{self.axis}</text></svg><figcaption>{caption}</figcaption></figure>"
        )


def drawn_chart(
    path: Path,
    distances: Any,
    allowed: Any,
    draw: Callable[[Any], None],
    *,
    line: str | None = None,
    shaded: str | None = None,
) -> None:
    """Draw a chart by matplotlib into a file: what is allowed, if that is known, and what `draw` adds to the axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.1, 4.2), layout="constrained")
    axes = figure.subplots()
    if allowed is not None:
        axes.fill_between(distances, allowed, 1, color="#64748b", alpha=0.16, linewidth=0, label=shaded)
        axes.plot(distances, allowed, color="#475569", label=line)
    draw(axes)
    figure.savefig(path, dpi=150)


def outcome_page(title: str, style: str, body: str) -> str:
    """Return a page of its own that loads nothing."""
    shared = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1e293b;"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{shared}background:#fff}}{style}</style></head>"
        f"<body><main>{body}</main></body></html>"
    )
