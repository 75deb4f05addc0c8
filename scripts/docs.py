"""Build the site of the documentation, and check it: ``python scripts/docs.py FOLDER``.

Pages are those of docs/, and a few other files of the project. Parts that follow from the program are generated here,
so that they cannot drift: a line ``<!-- generated: NAME -->`` of a page, and the sentence below it for readers of a
clone, are replaced by the result of a function below.
The build fails if a page has a broken link or a missing picture, refers to another host for what it shows, or is too
large.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/geoveil/geoveil/blob/main"
#: Files outside of docs/ that are part of the site, and their paths there.
BESIDE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "benchmarks/strangers-protocol.md": "project/strangers-protocol.md",
    "benchmarks/strangers.md": "project/strangers.md",
    "src/geoveil/noise/ROUNDING.md": "project/rounding.md",
    "src/geoveil/queries/ERRORS.md": "project/error-bounds.md",
    "src/geoveil/queries/crowd/CONSTANTS.md": "project/constants.md",
    "src/geoveil/budget/PROOFS.md": "project/budget.md",
    "src/geoveil/queries/PROOFS.md": "project/questions.md",
    "src/geoveil/attacks/PROOFS.md": "project/attacks.md",
    "src/geoveil/geo/PROOFS.md": "project/projections.md",
    "src/geoveil/live/PROOFS.md": "project/live.md",
    "src/geoveil/zones/PROOFS.md": "project/zones.md",
    "src/geoveil/certificates/certificate.schema.json": "look-up/certificate.schema.json",
}
LARGEST = 300_000
#: The path of the site at its host: the page for missing pages is shown at any depth, so its links begin with it.
HOME = urlsplit(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["site_url"]).path


def commands() -> str:
    """The help page of every command."""
    from geoveil.cli.program import program

    def pages(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
        context = click.Context(command, info_name=name, parent=parent, terminal_width=90, max_content_width=90)
        yield f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
        if isinstance(command, click.Group):
            for child, its in command.commands.items():
                yield from pages(its, child, context)

    return "\n".join(pages(program, "geoveil", None))


def errors() -> str:
    """The tree of errors, and a table of what each means and does."""
    import geoveil.errors
    from geoveil.cli.problems import code_of

    tree = textwrap.dedent((geoveil.errors.__doc__ or "").partition("::\n\n")[2].partition("\n\nWarnings")[0])
    rows = []
    for name in re.findall(r"[A-Z]\w+(?= |$)", tree, re.MULTILINE):
        found = getattr(geoveil.errors, name, None)
        if isinstance(found, type) and issubclass(found, geoveil.errors.GeoveilError):
            meaning = (found.__doc__ or "").splitlines()[0]
            example = found.__new__(found)
            example.argument = ""  # type: ignore[attr-defined]
            rows.append(f"| `{name}` | {meaning} | {code_of(example)} |")
    table = "| error | meaning | exit code of the command line |\n|---|---|---|\n" + "\n".join(rows)
    return f"```text\n{tree}\n```\n\n{table}\n"


def certificate() -> str:
    """The fields of a certificate, from its schema."""
    schema = json.loads((ROOT / "src/geoveil/certificates/certificate.schema.json").read_text(encoding="utf-8"))
    rows = ["| field | type | required | meaning |", "|---|---|---|---|"]

    def resolved(part: dict[str, Any]) -> dict[str, Any]:
        reference = part.get("$ref", "").removeprefix("#/$defs/")
        return {**schema["$defs"][reference], **part} if reference else part

    def kind(part: dict[str, Any]) -> str:
        if "const" in part:
            return f"`{json.dumps(part['const'])}`"
        if "enum" in part:
            return ", ".join(f"`{json.dumps(value)}`" for value in part["enum"])
        if choices := part.get("oneOf", part.get("anyOf")):
            return " or ".join(dict.fromkeys(kind(resolved(choice)) for choice in choices))
        named = part.get("type", "any")
        return " or ".join(named) if isinstance(named, list) else named

    def add(part: dict[str, Any], prefix: str) -> None:
        for name, field in part.get("properties", {}).items():
            field = resolved(field)
            required = "yes" if name in part.get("required", ()) else "no"
            meaning = field.get("description", "").replace("|", "\\|")
            rows.append(f"| `{prefix}{name}` | {kind(field)} | {required} | {meaning} |")
            for inner in (field, *field.get("oneOf", ()), *field.get("anyOf", ())):
                inner = resolved(inner)
                add(inner, f"{prefix}{name}.")
                add(resolved(inner.get("items", {})), f"{prefix}{name}[].")

    add(schema, "")
    return "\n".join(rows)


def crowd() -> str:
    """The table of what a release about a crowd protects, without the rows that all releases share."""
    from geoveil.report.limits_table import CROWD_TABLE, HEADINGS, TABLE

    rows = [(f"**{topic.about}**", *topic[1:]) for topic in CROWD_TABLE if topic not in TABLE]
    return "\n".join(f"| {' | '.join(row)} |" for row in (HEADINGS, ("---",) * len(HEADINGS), *rows))


GENERATED: dict[str, Callable[[], str]] = {
    "commands": commands,
    "errors": errors,
    "certificate": certificate,
    "crowd": crowd,
}


def filled(text: str) -> str:
    """A page with its generated parts; prompts are marked, so that readers copy code without them."""
    text = re.sub(r"^```python\n(?=>>>)", "```pycon\n", text, flags=re.MULTILINE)
    mark = r"^<!-- generated: (\w+) -->\n\*.+\*$"
    return re.sub(mark, lambda found: GENERATED[found[1]](), text, flags=re.MULTILINE)


def linked(text: str, source: str, target: str) -> str:
    """A page whose links to files of the repository now lead to pages of the site, or to the repository online."""

    def link(found: re.Match[str]) -> str:
        path, _, anchor = found[1].partition("#")
        if not path or urlsplit(path).scheme:
            return found[0]
        file = os.path.normpath(os.path.join(os.path.dirname(source), path))
        place = file.removeprefix("docs/") if file.startswith("docs/") else BESIDE.get(file)
        there = f"{REPOSITORY}/{file}" if place is None else os.path.relpath(place, os.path.dirname(target) or ".")
        return f"]({there}{'#' if anchor else ''}{anchor})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else re.sub(r"\]\(([^)\s]+)\)", link, part) for part in parts)


def notebook(page: str) -> str:
    """A page as a notebook: its text, without links, and its Python, without results."""
    cells: list[dict[str, Any]] = []

    def add(kind: str, source: str, **more: Any) -> None:
        if source.strip():
            cell = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": source.strip()}
            cells.append({**cell, **more})

    for part in re.split(r"(^```python\n.*?^```$)", page, flags=re.MULTILINE | re.DOTALL):
        if not part.startswith("```python"):
            add("markdown", re.sub(r"(?<!!)\[([^]]*)\]\([^)]*\)", r"\1", part))
            continue
        code = ""
        # A cell shows its last value alone, so it ends where the page shows one.
        for example in doctest.DocTestParser().get_examples(part):
            code += example.source
            if example.want:
                add("code", code, outputs=[], execution_count=None)
                code = ""
        add("code", code, outputs=[], execution_count=None)
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    found = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def gather(folder: Path) -> None:
    """Put all pages, pictures and settings of the site into a folder."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    for file, place in BESIDE.items():
        (folder / "docs" / place).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, folder / "docs" / place)
    sources = {place: file for file, place in BESIDE.items()}
    for page in (folder / "docs").rglob("*.md"):
        name = page.relative_to(folder / "docs").as_posix()
        text = linked(page.read_text(encoding="utf-8"), sources.get(name, f"docs/{name}"), name)
        page.write_text(filled(text), encoding="utf-8")
    settings = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    (folder / "zensical.toml").write_text(
        settings.replace('paths = ["src"]', f"paths = [{json.dumps(str(ROOT / 'src'))}]")
    )


class Page(HTMLParser):
    """The links of a page, the addresses that it loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a":
            self.links += filter(None, [given.get("href")])
        elif tag == "link":
            stays = given.get("rel") in ("canonical", "prev", "next")
            (self.links if stays else self.loaded).extend(filter(None, [given.get("href")]))
        else:
            self.loaded += filter(None, [given.get("src"), given.get("poster"), given.get("data")])
        self.loaded += re.findall(r"url\([\"']?([^)\"']+)", given.get("style") or "")


def problems(site: Path) -> list[str]:
    """The problems of the pages of a site that was built."""
    pages = {file.resolve(): Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    found = []
    for file, page in pages.items():
        name = file.relative_to(site.resolve()).as_posix()
        if file.stat().st_size > LARGEST:
            found.append(f"{name}: {file.stat().st_size:,} bytes, more than {LARGEST:,}")
        found += [f"{name}: loads {address} of another host" for address in page.loaded if foreign(address)]
        for address in page.links + page.loaded:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            path = unquote(parts.path)
            folder = site if path.startswith(HOME) else file.parent
            target = (folder / path.removeprefix(HOME)).resolve() if path else file
            anchor = unquote(parts.fragment)
            if not target.is_file():
                found.append(f"{name}: {address} does not exist")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                found.append(f"{name}: {address} has no such heading")
    for sheet in site.rglob("*.css"):
        addresses = re.findall(r"url\([\"']?([^)\"']+)|@import\s+[\"']([^\"']+)", sheet.read_text(encoding="utf-8"))
        found += [f"{sheet.name}: loads {a or b} of another host" for a, b in addresses if foreign(a or b)]
    return found


def foreign(address: str) -> bool:
    """Whether an address is at another host; data in the address itself is not."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def build(site: Path) -> list[str]:
    """Build the site in a folder, and return its problems."""
    with tempfile.TemporaryDirectory(prefix="geoveil-docs-") as name:
        folder = Path(name)
        gather(folder)
        done = subprocess.run(
            [sys.executable, "-m", "zensical", "build", "--strict"],
            cwd=folder, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"},
        )  # fmt: skip
        if done.returncode:
            return [re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)]
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(folder / "site", site)
    return problems(site)


def write_notebooks() -> None:
    """Write a notebook beside each page that links to one."""
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        if f"]({page.stem}.ipynb)" in text:
            page.with_suffix(".ipynb").write_text(notebook(text), encoding="utf-8")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write_notebooks()
    wrong = build(target)
    print("\n".join(wrong) or f"The site is in {target}: open {target / 'index.html'}.")
    sys.exit(bool(wrong))
