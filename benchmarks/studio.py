"""Measure the studio: its first page, its slider, and a large file from drop to map.

The slider is measured in processor time, which other programs on the machine change little; of the others, the best
of several turns counts.
"""

from __future__ import annotations

import http.client
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

import geoveil as gv
from geoveil.city import write_taxis
from geoveil.requests.budgets import Budget
from geoveil.requests.foresight import DISTANCES
from geoveil.studio import pages
from geoveil.studio.actions import act
from geoveil.studio.project import Project

TURNS = 7
ROWS = 1_000_000


def first_page(file: Path | None = None) -> tuple[float, float]:
    """Return the seconds from the command to its first page, and those of importing the toolkit, the best of some."""
    shown, imports = [], []
    for _ in range(TURNS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import starlette.applications, uvicorn, jinja2"], check=True)
        imports.append(time.perf_counter() - start)
        line = [sys.executable, "-m", "geoveil", "studio", "--no-browser", *([] if file is None else [str(file)])]
        start = time.perf_counter()
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            page = _request(found[0] + "data")
            shown.append(time.perf_counter() - start)
            assert b"geoveil studio" in page
            process.terminate()
    return min(shown), min(imports)


def _request(address: str, body: Path | None = None) -> bytes:
    """Send a request to a studio, with a file as its body if there is one."""
    parts = urlsplit(address)
    headers = {"Host": parts.netloc, "Origin": f"http://{parts.netloc}"}
    with closing(http.client.HTTPConnection("127.0.0.1", parts.port or 80, timeout=300)) as connection:
        held = None if body is None else body.open("rb")
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request("GET" if held is None else "POST", path, held, headers)
        found = connection.getresponse().read()
        if held is not None:
            held.close()
    return found


def slider(folder: Path) -> list[float]:
    """Return the milliseconds of processor time of new numbers, for each distance of the slider."""
    project = Project(folder)
    act("data", project, {"do": ["demo"]})
    assert project.reading is not None
    project.reading.wait(60)
    project.choices.persons, project.choices.pseudonyms = "taxi", False
    project.choices.area = "San Francisco"
    project.choices.unit, project.choices.planned = "1 day", 3
    checking = project.check()
    assert checking is not None
    checking.wait(60)
    pages.numbers(project, Budget("hide", "90"))
    found = []
    for away in DISTANCES:
        start = time.process_time()
        pages.numbers(project, Budget("hide", f"{away:g}"))
        found.append(1000 * (time.process_time() - start))
    return found


def large_file(folder: Path) -> tuple[float, float]:
    """Return the seconds of a million rows from drop to map, and those of reading them alone, the best of three."""
    rng = np.random.default_rng(1)
    path = folder / "million.csv"
    middles = rng.normal([37.77, -122.42], 0.03, size=(2000, 2))
    user = rng.integers(2000, size=ROWS)
    places = middles[user] + rng.normal(0, 0.01, size=(ROWS, 2))
    when = pd.Timestamp("2026-05-04") + pd.to_timedelta(np.arange(ROWS), unit="s")
    columns = {"user": user, "time": when, "latitude": places[:, 0].round(6), "longitude": places[:, 1].round(6)}
    pd.DataFrame(columns).to_csv(path, index=False)
    line = [sys.executable, "-m", "geoveil", "studio", "--no-browser"]
    read, dropped = [], []
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        # Someone has opened the first page.
        _request(found[0])
        gv.Locations(path).frame()
        for _ in range(3):
            start = time.perf_counter()
            gv.Locations(path).frame()
            read.append(time.perf_counter() - start)
            start = time.perf_counter()
            _request(found[0] + "upload?as=data&name=million.csv", path)
            while b'class="frame"' not in _request(found[0] + "data"):
                time.sleep(0.02)
            dropped.append(time.perf_counter() - start)
            # The check of the file goes on meanwhile.
            while b'"running":[]' not in _request(found[0] + "status"):
                time.sleep(0.1)
        process.terminate()
    return min(dropped), min(read)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page, toolkit = first_page()
        write_taxis(folder / "taxis.csv")
        opened, again = first_page(folder / "taxis.csv")
        print("the first page is measured", file=sys.stderr)
        numbers = slider(folder)
        print("the slider is measured", file=sys.stderr)
        dropped, read = large_file(folder)
    print("| what | measured | target |\n|---|---|---|")
    print(f"| first page, beyond the import of the toolkit ({toolkit:.2f} s) | {page - toolkit:.2f} s | 2 s |")
    print(f"| the same with a file ({again:.2f} s) | {opened - again:.2f} s | 2 s |")
    print(f"| slider to new numbers, median | {statistics.median(numbers):.0f} ms | 100 ms |")
    print(f"| slider to new numbers, slowest of {len(numbers)} | {max(numbers):.0f} ms | 100 ms |")
    print(f"| a million rows, from drop to map, over reading them ({read:.2f} s) | {dropped / read:.2f} | 1.5 |")


if __name__ == "__main__":
    main()
