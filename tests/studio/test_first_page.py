"""The first page is shown before anything large is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

#: Shows the first page twice, of an empty studio and while a file is read, and prints what was imported by then.
PROGRAM = """
import pathlib, sys, threading
from geoveil.studio import later_modules, server
from geoveil.studio.pages import render, style
from geoveil.studio.project import Project

project = Project(pathlib.Path(sys.argv[1]))
assert "Choose a file" in render("data", project)
before = {name for name in sys.modules if name.startswith("geoveil.")}
assert style()
assert {name for name in sys.modules if name.startswith("geoveil.")} == before
go = threading.Event()
project_module = sys.modules["geoveil.studio.project"]
project_module.prepare = lambda: (go.wait(60), later_modules.prepare())
project.open(pathlib.Path(sys.argv[2]), "trips.csv")
assert "Reading trips.csv" in render("data", project)
print(*sorted({"pandas", "geopandas", "pyproj", "shapely", "pyarrow", "scipy", "matplotlib"} & {*sys.modules}))
go.set()
assert project.reading.wait(60)
assert project.reading.problem is None, project.reading.problem
assert "trips.csv" in render("data", project)
print("pandas" in sys.modules)
"""


def test_first_page_is_light(trips: Path, tmp_path: Path) -> None:
    """Neither the empty page nor the one of a file that is being read needs tables, maps or projections.

    Nor does its style import anything: it is asked for while another thread imports what later pages need.
    """
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), str(trips)], capture_output=True, text=True, timeout=120
    )
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == ["", "True"]
