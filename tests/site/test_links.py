"""Every link between pages leads somewhere, in the repository as on the site."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").glob("*.md"),
        *(ROOT / "src").rglob("*.md"),
    ]
)


def outside_code(text: str) -> str:
    """The text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", outside_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading)) for heading in plain}


def broken(page: Path) -> list[str]:
    """The links and pictures of a page that lead to no file or to no heading of it."""
    links = re.findall(r"\]\(([^)\s]+)\)", outside_code(page.read_text(encoding="utf-8")))
    found = []
    for link in links:
        if re.match(r"https?://|mailto:", link):
            continue
        target, _, anchor = link.partition("#")
        file = page.parent / target if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            found.append(link)
    return found


def test_links_lead_somewhere() -> None:
    """No page links to a file or a heading that does not exist."""
    assert {str(page.relative_to(ROOT)): links for page in PAGES if (links := broken(page))} == {}


def test_broken_links_are_noticed(tmp_path: Path) -> None:
    """Missing files, missing pictures and missing headings are found; what is inside code is not a link."""
    page = tmp_path / "page.md"
    page.write_text("# One, two\n[a](#one-two) [b](#three) [c](none.md) ![d](none.png)\n```\n[e](f)\n```\n")
    assert broken(page) == ["#three", "none.md", "none.png"]
