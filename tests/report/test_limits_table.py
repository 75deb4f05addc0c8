"""The table of what is protected, what is not, and what to ask."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from geoveil.report.limits_table import CROWD_TABLE, HEADINGS, TABLE, Topic

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("place", "table"),
    [(0, TABLE), (1, [topic for topic in CROWD_TABLE if topic not in TABLE])],
    ids=["points", "a crowd"],
)
def test_the_page_about_limits_has_the_same_tables(place: int, table: Sequence[Topic]) -> None:
    """Row by row, in the same order; the table of a crowd leaves out the rows that are in the first table."""
    lines = (ROOT / "docs" / "understand" / "limits.md").read_text(encoding="utf-8").splitlines()
    start = [i for i, line in enumerate(lines) if HEADINGS[1] in line and line.startswith("|")][place]
    rows = [
        [cell.strip(" *") for cell in lines[start + i].strip("|").split("|")] for i in (0, *range(2, 2 + len(table)))
    ]
    assert rows == [[*HEADINGS], *([*topic] for topic in table)]
    assert not lines[start + 2 + len(table)].startswith("|")
