"""The architecture page is true: who imports whom, how modules and tests are named, where randomness comes from."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "geoveil"
PAGE = ROOT / "ARCHITECTURE.md"
MODULES = sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")])


def allowed_imports() -> dict[str, set[str]]:
    """The table of the architecture page: a part of the package, and the parts it may import."""
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", PAGE.read_text(), flags=re.MULTILINE)
    return {part: set(re.findall(r"`(\w+)`", imports)) for part, imports in rows}


PARTS = {path.relative_to(PACKAGE).parts[0].split(".")[0] for path in MODULES}


def part_of(module: str) -> str:
    """The first name below geoveil; the public names are those of the package itself."""
    part = module.split(".")[1] if "." in module else "__init__"
    return part if part in PARTS else "__init__"


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text())


def imported(path: Path) -> set[str]:
    """The parts of the package that a module imports, anywhere in it; lists of public names alone are relative."""
    found = set()
    for node in ast.walk(parsed(path)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level or path.name == "__init__.pyi"
            package = ["geoveil", *path.relative_to(PACKAGE).parent.parts] if node.level else []
            module = ".".join(filter(None, [*package, node.module]))
            names = [module] if "." in module else [f"{module}.{a.name}" for a in node.names]
        found |= {part_of(name) for name in names if name.split(".")[0] == "geoveil"}
    return found


def test_imports_follow_the_table() -> None:
    """Imports within the package follow the table of the architecture page."""
    rules = allowed_imports()
    for path in MODULES:
        relative = path.relative_to(PACKAGE)
        part = relative.parts[0].split(".")[0]
        assert imported(path) - {part} <= rules[part], relative


def test_page_lists_every_part() -> None:
    """The page and the folder name the same parts."""
    assert set(allowed_imports()) == PARTS


def test_rules_have_no_cycle() -> None:
    """Parts can be put in an order in which each imports only earlier ones."""
    rules = allowed_imports()
    while rules:
        ready = [part for part, imports in rules.items() if not imports & set(rules)]
        assert ready
        for part in ready:
            del rules[part]


def test_only_noise_draws_randomness() -> None:
    """No module outside noise uses a random generator or the system's entropy.

    But for what makes a city up, and for the seeds of experiments.
    """
    seeded = (PACKAGE / "city.py", PACKAGE / "paper" / "experiments" / "cells.py")
    drawn = re.compile(r"os\.urandom|secrets\.|default_rng|import random\b|np\.random\.(?!Generator)")
    others = [path for path in MODULES if path.relative_to(PACKAGE).parts[0] != "noise" and path not in seeded]
    texts = {path: re.sub(r'""".*?"""', "", path.read_text(), flags=re.DOTALL) for path in others}
    assert not [str(path) for path, text in texts.items() if drawn.search(text)]


def test_forbidden_imports_are_noticed(tmp_path: Path) -> None:
    """The reader of imports sees each way of writing one, also inside a function."""
    module = tmp_path / "module.py"
    module.write_text(
        "import geoveil.geo.x\ndef f():\n    from geoveil import queries\n    from geoveil.answering.x import y\n"
    )
    assert imported(module) == {"answering", "queries", "geo"}


def test_modules_have_different_names() -> None:
    """A module is named once in its part of the package, folders inside of it included."""
    modules = [path.relative_to(PACKAGE) for path in MODULES if path.suffix == ".py"]
    names = [(path.parts[0], path.stem) for path in modules if not path.stem.startswith("__")]
    assert sorted(set(names)) == sorted(names)


def test_classes_have_different_names() -> None:
    """A class that does not begin with an underscore is named once in the package."""
    trees = [parsed(path) for path in MODULES if path.suffix == ".py"]
    classes = [node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    public = sorted(name for name in classes if not name.startswith("_"))
    assert sorted(set(public)) == public


def misled(table: str) -> set[str]:
    """Return the modules without one way to their tests, rows about no module, and test files that are gone.

    A module has a test file of its name, or stands in one row of the table.
    """
    rows = [re.findall(r"`([^`]+)`", row) for row in table.splitlines() if row.startswith("| `")]
    listed = [(names[0], name) for names in rows for name in names[1:] if not name.endswith(".py")]
    files = {name for names in rows for name in names if name.endswith(".py")}
    named: set[tuple[str, str]] = set()
    for path in (path.relative_to(PACKAGE) for path in MODULES if path.suffix == ".py" and path.name != "__init__.py"):
        if not (ROOT / "tests" / path.parent / f"test_{path.stem}.py").exists():
            named.add((path.parent.as_posix().replace(".", "geoveil"), path.stem))
    wrong = {f"{part}/{name}" for part, name in named ^ {*listed}}
    twice = {f"{part}/{name}" for part, name in listed if listed.count((part, name)) > 1}
    return wrong | twice | {name for name in files if not (ROOT / "tests" / name).exists()}


def test_modules_have_tests() -> None:
    """Every module has a test file of its name, or one row of tests/README.md, whose files exist."""
    assert not misled((ROOT / "tests" / "README.md").read_text(encoding="utf-8"))


def test_missing_rows_are_noticed() -> None:
    """A row that is missing, doubled, needless or about a file that is gone is noticed."""
    table = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    row = next(line for line in table.splitlines() if line.startswith("| `facts`"))
    assert misled(table.replace(row, "")) == {"facts/facts"}
    assert misled(f"{table}{row}\n") == {"facts/facts"}
    assert misled(f"{table}| `geo` | `areas`, `nothing` | `geo/test_nothing.py` |\n") == {
        *("geo/areas", "geo/nothing", "geo/test_nothing.py")
    }


def test_names_are_short() -> None:
    """The name of a test has at most five words, so that it can be typed after `-k`."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    names = [name for text in texts for name in re.findall(r"^(?:async )?def test_(\w+)", text, flags=re.MULTILINE)]
    assert [name for name in names if name.count("_") > 4] == []
