"""Every test runs on GitHub: the jobs of the workflows together are the whole suite."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / ".github").exists(), reason="an unpacked sdist has no workflows")


def script() -> Any:
    """The module of scripts/jobs.py."""
    specification = importlib.util.spec_from_file_location("scripts_jobs", ROOT / "scripts" / "jobs.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # Dataclasses look their module up.
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def test_jobs_run_every_test(capsys: pytest.CaptureFixture[str]) -> None:
    """No set of markers is left out, on Linux; macOS and Windows have all but deep and long tests."""
    assert script().main() == 0
    shown = capsys.readouterr().out
    for system in ("macos-latest", "windows-latest"):
        assert re.search(rf"{system} +not long and not deep$", shown, re.MULTILINE)


def test_forgotten_tests_are_found() -> None:
    """Where the usual markers leave out deep tests and no job names them, they are reported."""
    steps = {
        "oldest": ["python -m pytest -n auto"],
        "newest": ['python -m pytest -m "not long and not slow"'],
        "long": ['pip install -e ".[spark]"', "python -m pytest -m long"],
        "one": ['python -m pytest -m "" tests/geo/'],
    }
    found = {job: {"runs-on": "ubuntu-latest", "steps": [{"run": run} for run in runs]} for job, runs in steps.items()}
    mac = {"runs-on": "macos-latest", "steps": [{"run": 'python -m pytest -m ""'}]}
    jobs = script()
    left = [set(markers) for markers in jobs.left_out([*jobs.runs({"test": {"jobs": {**found, "mac": mac}}})])]
    assert {"deep", "slow"} in left
    assert {"spark"} in left
    assert {"deep"} not in left
    assert not any("long" in markers for markers in left)


@pytest.mark.parametrize(
    ("now", "then", "lost"),
    [
        ('tests: "not long", coverage', 'tests: "not long and not deep", coverage', {"deep"}),
        ('tests: "not long", coverage', 'tests: "not long and not statistical", coverage', {"slow", "statistical"}),
        ('ubuntu-latest, python: "3.11"', 'macos-latest, python: "3.11"', {"slow"}),
        ('-m "${{ matrix.tests }}"', "", {"deep"}),
        ('"spark and not long"', '"spark and not long and not slow"', {"slow", "spark"}),
        ('".[all,spark]"', '".[all]"', {"spark"}),
        ("    name: Spark\n", "    name: Spark\n    if: false\n", {"spark"}),
        ("-m long", '-m "long and not spark"', {"long", "spark"}),
        ("-m long", "-m long tests/noise/", {"long"}),
    ],
)
def test_lost_markers_are_found(now: str, then: str, lost: set[str]) -> None:
    """If a job loses a marker, its system, Spark or its tests, what no job runs any more is reported."""
    jobs = script()
    texts = {path.stem: path.read_text(encoding="utf-8") for path in jobs.WORKFLOWS}
    assert any(now in text for text in texts.values())
    changed = {name: yaml.safe_load(text.replace(now, then)) for name, text in texts.items()}
    assert lost in jobs.left_out([*jobs.runs(changed)])


def test_markers_are_few() -> None:
    """A reader knows all markers: there are at most five."""
    assert len(script().MARKERS) <= 5
