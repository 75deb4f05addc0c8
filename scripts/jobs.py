"""Check that the jobs on GitHub run every test: ``python scripts/jobs.py`` prints them, and fails if one is left out.

A test is left out if no step of a job on Linux selects its markers. Every set of markers that a test could have is
tried, so new tests need no change here.
"""

from __future__ import annotations

import itertools
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTEST: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"][
    "ini_options"
]
MARKERS = [line.partition(":")[0] for line in PYTEST["markers"]]


@dataclass(frozen=True)
class Run:
    """A run of pytest by a job: its name, its system, whether Spark is installed, and the markers that it selects."""

    job: str
    system: str
    spark: bool
    selects: str

    def takes(self, markers: set[str]) -> bool:
        """Return whether a test with these markers runs, on Linux."""
        if "ubuntu" not in self.system or ("spark" in markers and not self.spark):
            return False
        return bool(eval(self.selects or "True", {}, {name: name in markers for name in MARKERS}))


def filled(text: str, matrix: dict[str, str]) -> str:
    """Return a text with the values of a matrix."""
    return re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda found: str(matrix.get(found[1], "")), text)


def runs(workflows: dict[str, Any]) -> Iterator[Run]:
    """Yield all runs of pytest in workflows, given by name, but for those of one test or folder, or on a condition."""
    usual = marker_of(PYTEST["addopts"])
    for name, workflow in workflows.items():
        for job, its in workflow["jobs"].items():
            if "if" in its:
                continue
            steps = [step.get("run", "") for step in its["steps"] if "if" not in step]
            spark = any("spark" in step for step in steps if "pip install" in step)
            for matrix in its.get("strategy", {}).get("matrix", {}).get("include", [{}]):
                for step in steps:
                    command = filled(step, matrix)
                    if "-m pytest" not in command or re.search(r" (tests|src)/", command):
                        continue
                    selects = marker_of(command.partition("-m pytest")[2], usual)
                    yield Run(f"{name}: {job}", filled(its["runs-on"], matrix), spark, selects)


def marker_of(options: str, usual: str = "") -> str:
    """Return the expression of markers among options of pytest."""
    words = shlex.split(options)
    return words[words.index("-m") + 1] if "-m" in words else usual


def left_out(found: list[Run]) -> list[set[str]]:
    """Return the sets of markers that no run takes."""
    sets = [set(some) for size in range(len(MARKERS) + 1) for some in itertools.combinations(MARKERS, size)]
    return [markers for markers in sets if not any(run.takes(markers) for run in found)]


def main() -> int:
    """Print the runs, and what they leave out."""
    found = list(runs({path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS}))
    for run in found:
        print(f"{run.job:12} {run.system:16} {'with Spark' if run.spark else '':11} {run.selects or 'everything'}")
    missing = left_out(found)
    for markers in missing:
        print("No job runs tests marked", " and ".join(sorted(markers)) or "with nothing")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
