"""The table of what is protected, what is not, and what to ask."""

from __future__ import annotations

from pathlib import Path

from geoveil.report.limits_table import HEADINGS, TABLE

ROOT = Path(__file__).parents[2]


def test_limits_page_agrees() -> None:
    """Row by row, in the same order; the rows of crowds are generated when the site is built."""
    lines = (ROOT / "docs" / "understand" / "limits.md").read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if HEADINGS[1] in line and line.startswith("|"))
    rows = [
        [cell.strip(" *") for cell in lines[start + i].strip("|").split("|")] for i in (0, *range(2, 2 + len(TABLE)))
    ]
    assert rows == [[*HEADINGS], *([*topic] for topic in TABLE)]
    assert not lines[start + 2 + len(TABLE)].startswith("|")
