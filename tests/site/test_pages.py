"""Every block of code and every command of the docs runs as it stands, in order, in a folder of the page's own."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

import geoveil as gv
from geoveil.text import words
from tests.command_line import shell
from tests.postgres import database
from tests.release.test_crowd_release import districts
from tests.test_crowds import trips

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [
    page
    for page in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "benchmarks").glob("*.md")), *sorted(DOCS.rglob("*.md")))
    if "```" in page.read_text(encoding="utf-8")
]
#: Pages that take more than a second, and one that draws many pictures.
SLOW = {
    "README.md",
    "docs/do/crowds.md",
    "docs/do/heat-map-of-trips.md",
    "docs/do/notebooks.md",
    "docs/do/reports.md",
    "docs/do/share-a-track.md",
    "docs/learn/analyst.md",
    "docs/learn/data-scientist.md",
    "docs/learn/engineer.md",
    "docs/look-up/command-line.md",
}
DEEP = {"docs/gallery.md"}
#: Languages of blocks: what runs, and what is shown only.
LANGUAGES = {"python", "console", "text", "json"}
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
#: A line above a block, which readers see, says why it is not run.
EXEMPT = re.compile(r"^\*(Not run in the tests: .{10,}|Installing; not part of the tests\.)\*\n\n$", re.MULTILINE)
#: A line above a block, which readers see, says that it needs Spark.
SPARK = re.compile(r"^\*Needs Spark: .+\*\n\n$", re.MULTILINE)
#: Commands of README that the tests cannot run inside themselves.
SCRIPTS = ("scripts/demo", "scripts/test")


class Block(NamedTuple):
    """A block of code: its language, its text, the line of the page that it begins in, and whether it needs Spark."""

    language: str
    text: str
    line: int
    spark: bool


class Command(NamedTuple):
    """A command, the output that the page shows, and the exit code that it states."""

    line: str
    shown: str
    code: int


def blocks(text: str) -> list[Block]:
    """The blocks of a page, without those that the page says are not run."""
    found = []
    for match in re.finditer(r"(^\*[IN][^\n]*\*\n\n)?^( *)```(\w*)\n(.*?)^\2```$", text, re.MULTILINE | re.DOTALL):
        above, indent, language, inside = match.groups(default="")
        if not EXEMPT.match(above):
            plain = re.sub(rf"^{indent}", "", inside, flags=re.MULTILINE)
            line = text.count("\n", 0, match.start(3)) + 1
            found.append(Block(language, plain, line, bool(SPARK.match(above))))
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a block, which follow a dollar sign, each with the lines of output below it."""
    joined = block.text.replace("\\\n", " ")
    assert joined.startswith("$ "), f"line {block.line}: a console begins with a command"
    found = []
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        if heredoc := re.search(r"<<'(\w+)'", line):
            script, _, shown = shown.partition(f"\n{heredoc[1]}\n")
            line = f"{line}\n{script}\n{heredoc[1]}\n"
        stated = re.search(r" +# exit code (\d+)$", line)
        found.append(Command(re.sub(r" +# .*$", "", line), shown.strip(), int(stated[1]) if stated else 0))
    return found


def is_shown(shown: str, output: str) -> bool:
    """Whether a page shows the output of a command; dots stand for any text, and lines of dots also for none."""
    begun, ended = shown.removeprefix("...\n"), shown.removesuffix("\n...")
    choices = (shown, begun, ended, begun.removesuffix("\n..."))
    check = doctest.OutputChecker().check_output
    return any(check(f"{choice}\n", f"{output.strip()}\n", OPTIONS) for choice in choices)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that pages speak of."""
    districts().to_frame("geometry").reset_index(names="district").to_file(tmp_path / "districts.geojson")
    trips().rename(columns={"user": "medallion"}).to_csv(tmp_path / "taxi.csv", index=False)
    for sample in ("learn/bike-trips.csv", "do/tour.gpx"):
        shutil.copy(DOCS / sample, tmp_path)
    # README is read at the root of a clone.
    (tmp_path / "docs" / "learn").mkdir(parents=True)
    shutil.copy(DOCS / "learn" / "bike-trips.csv", tmp_path / "docs" / "learn")
    return tmp_path


def run_python(block: Block, page: Path, names: dict[str, Any]) -> None:
    """Run a block of Python with the names of earlier ones, and compare its results with those that are shown."""
    test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line)
    assert test.examples, f"{page.name}, line {block.line}: Python is shown with >>>, so that it can run"
    said: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not said, "".join(said)


def run_commands(block: Block, run: Any, folder: Path) -> None:
    """Run commands, those of geoveil in this process, and compare exit codes and output with those that are shown."""
    for command in commands(block):
        if command.line in SCRIPTS:
            continue
        line = os.path.expandvars(command.line)
        inside = line.startswith("geoveil ") and not re.search(r"[|>]", line)
        done = run(*shlex.split(line)[1:]) if inside else shell(line, folder)
        output = done.out + done.err
        assert done.code == command.code, (command.line, output)
        assert not command.shown or is_shown(command.shown, output), f"{command.line}\n{output}"


def run_page(page: Path, run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, *, spark: bool = False) -> None:
    """Run all blocks of a page, in order; those that need Spark only if it is there."""
    text = page.read_text(encoding="utf-8")
    if "LEDGER_URL" in text:
        monkeypatch.setenv("LEDGER_URL", database(f"pages{os.getpid()}"))
    names: dict[str, Any] = {}
    for block in blocks(text):
        where = f"{page.name}, line {block.line}"
        assert block.language in LANGUAGES, f"{where}: a block needs a language of {LANGUAGES}"
        if block.spark and not spark:
            continue
        if block.language == "python":
            run_python(block, page, names)
        elif block.language == "console":
            run_commands(block, run, folder)
        else:
            hidden = re.search(r"^(\$|>>>|geoveil|pip) ", block.text, re.MULTILINE)
            assert not hidden, f"{where}: code in a block that is not run"


def marked(page: Path) -> Any:
    """A page with its marks."""
    name = page.relative_to(ROOT).as_posix()
    marks = [pytest.mark.slow] if name in SLOW else [pytest.mark.deep] if name in DEEP else []
    return pytest.param(page, marks=marks, id=name)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of rasterio
@pytest.mark.parametrize("page", [*map(marked, PAGES)])
def test_code_and_commands_run(page: Path, run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python gives the results that are shown, and commands their exit codes and their output."""
    run_page(page, run, folder, monkeypatch)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")  # of Spark
@pytest.mark.parametrize("page", [page for page in PAGES if "*Needs Spark:" in page.read_text(encoding="utf-8")])
def test_spark_code_runs(page: Path, run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Spark, all of the page runs."""
    pyspark = pytest.importorskip("pyspark", reason="needs the extra spark, and Java 17")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    try:
        run_page(page, run, folder, monkeypatch, spark=True)
    finally:
        # Java keeps the folder that it was started in: the next page gets a new one.
        if gateway := pyspark.SparkContext._gateway:
            pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(60)


def test_gallery_pictures_are_drawn() -> None:
    """The code above a picture writes a file of its name; scripts/gallery.py draws them anew."""
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^]]+\]\(pictures/([\w-]+\.png)\)", page)
    assert shown == re.findall(r"(?:savefig|report)\(\"([\w-]+\.png)\"", page)
    assert {*shown} == {picture.name for picture in (DOCS / "pictures").iterdir()}


@pytest.mark.parametrize("picture", sorted(DOCS.rglob("*.png")), ids=lambda path: str(path.relative_to(DOCS)))
def test_pictures_are_small(picture: Path) -> None:
    """A page with pictures loads quickly."""
    assert picture.stat().st_size <= (250_000 if picture.name == "demo.png" else 100_000)


def test_budget_tables_are_computed() -> None:
    """What a budget means is the same on the page for choosing one, in the page for officers, and in the program."""
    apart = (10, 50, 100, 200, 500)

    def meaning(rho: str) -> list[str]:
        guarantee = gv.CGP(rho=float(rho))
        return [
            words.hidden(guarantee.hidden(chance=0.75)),
            *(words.chance(guarantee.attacker(distance=d)) for d in apart),
        ]

    page = (DOCS / "decide" / "budget.md").read_text(encoding="utf-8")
    rows = [row.split(" | ") for row in re.findall(r"^\| (\de-\d \| .*) \|$", page, re.MULTILINE)]
    assert len(rows) == 7
    for rho, *shown in rows:
        assert shown == meaning(rho)
    answers = (DOCS / "decide" / "for-officers.md").read_text(encoding="utf-8")
    hidden, _, _, near, far, _ = meaning("5e-5")
    assert f"It hides {hidden} at 75%." in answers
    assert f"right at most {near} of the time if they are 100 m apart, and {far} if they are\n200 m apart" in answers


@pytest.mark.deep
def test_officers_map_noise() -> None:
    """With 200 m hidden the map of the tutorial promises little about far-away places, and with 500 m it protects."""
    trips = pd.read_csv(DOCS / "learn" / "bike-trips.csv")
    area = gv.local(lat=47.38, lon=8.54, radius=8_000)
    rhos = [gv.CGP.hiding(distance=distance, chance=0.75).budget for distance in (200, 500)]
    few, many = (gv.Locations(trips, person="rider", area=area).heatmap(500, rho=rho) for rho in rhos)
    page = (DOCS / "decide" / "for-officers.md").read_text(encoding="utf-8")
    assert f"at most {few.error(0.05, each=True):.2f} persons" in page
    assert f"the blur of {few.blur:.0f} m" in page
    assert f"With 200 m hidden, `zcdp` is {few.zcdp:.1f} (weak). With\n500 m it is {many.zcdp:.1f} (enough)" in page
    assert f"to {many.error(0.05, each=True):.1f} persons" in page


def test_wrong_examples_are_noticed() -> None:
    """Blocks, commands, outputs, exit codes and exemptions are found."""
    exempt = "*Not run in the tests: it takes an hour.*\n\n```console\n$ long\n```\n"
    page = f"{exempt}```console\n$ a \\\n  b   # exit code 3\nout\n$ c\n```\n"
    (block,) = blocks(page)
    assert block.line == 6
    assert commands(block) == [Command("a    b", "out", 3), Command("c", "", 0)]
    assert is_shown("...\na 1\n...", "a  1")
    assert is_shown("a\n...\nc", "a\nb\nc")
    assert not is_shown("...\na 2\n...", "a 1\nb 2")
