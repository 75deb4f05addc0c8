"""The output of every command as a terminal of 60, 80 and 120 columns shows it.

``python -m tests.cli.test_outputs`` writes the expected outputs anew, in `tests/cli/outputs`: read what has changed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli.test_program import EVERY
from tests.systems import POSIX

pytestmark = [POSIX, pytest.mark.deep, pytest.mark.slow]

OUTPUTS = Path(__file__).parent / "outputs"
WIDTHS = (60, 80, 120)
_AREA = "--area 37.77,-122.42,50km"
_DATA = "geoveil-demo/taxis.csv"

#: Commands whose outputs are the same every time: these are compared with files.
FIXED = (
    f"check {_DATA} --person taxi {_AREA}",
    f"check {_DATA}",
    f"check {_DATA} --person taxi {_AREA} --hide 50m --protect '1 hour' --thin '1 minute'",
    f"points {_DATA} --person taxi {_AREA} --privacy low --dry-run",
    f"hull {_DATA} {_AREA} --rho 1e-3 --dry-run",
    f"points {_DATA} --person taxi {_AREA} --privacy low --protect '1 hour' --thin '1 minute' --dry-run",
    f"hull {_DATA} --person taxi --together {_AREA} --rho 1e-3 --dry-run",
    f"nearest {_DATA} --at 37.8,-122.4 -k 2 --person taxi --together --protect '1 hour' {_AREA} --rho 1e-3 --dry-run",
    "explain --privacy low --n 1000",
    "explain --epsilon 0.01",
    "explain --hide 100m --n 10000 --every 1min",
    "explain --hide 100m --n 10000 --every 1min --protect '1 day'",
    "plan points --n 100 --error 500m",
    "plan nearest --n 20000 -k 10 --error 300m",
    "plan hull --n 1000 --error 1km",
    "plan points --n 20000 --every 30s --hide 100m",
    "plan center --n 20000 --every 30s --error 500m",
    "plan center --n 1000 --protect '1 hour' --largest 60 --rho 1e-4",
    "convert-setting location-guard medium",
    "convert-setting decimals 3 --lat 59.9",
    "convert-setting geohash 6",
    'areas "San Francisco"',
    "budget create b.db ann bob --rho 1e-3",
    "budget show b.db",
    "budget lower b.db bob --rho 5e-4",
    "budget override b.db bob --rho 2e-3 --reason agreed",
    "budget create u.db dan --hide 100m --protect '1 day'",
    "budget create u.db eve --rho 1e-3",
    "budget show u.db",
    "budget lower u.db dan --hide 200m",
    "budget verify b.db",
    "budget witness b.db w.db",
    "budget backup b.db copy.db",
    # Mistakes.
    "",
    "blub",
    "points",
    f"points {_DATA} -o r.csv {_AREA}",
    f"points {_DATA} -o r.csv --rho 1e-3",
    f"points {_DATA} -o r.csv --rho banana {_AREA}",
    f"points {_DATA} -o r.xyz --rho 1e-3 {_AREA}",
    f"points {_DATA} -o r.csv --rho 1e-3 --person nobody {_AREA}",
    f"points {_DATA} -o r.csv --rho 1e-3 --area 0,0,1km",
    f"points {_DATA} -o r.csv --rho 1e-3 --protect taxi {_AREA}",
    f"points {_DATA} -o r.csv --rho 1e-3 --protect '1 day' --time nobody {_AREA}",
    f"hull {_DATA} --rho 1 --person nobody {_AREA}",
    f"hull {_DATA} --rho 1 --thin 60 {_AREA}",
    "plan points --n 10",
    "plan points --n 10 --error 5m --rho 1",
    "plan points --n 10 --error 5m --protect '1 day'",
    "explain --rho 1 --n 10 --protect '1 day'",
    f"hull {_DATA} --rho -1 {_AREA}",
    f"hull {_DATA} --rho 1 {_AREA} --ledger nowhere.db --subject ann",
    f"hull {_DATA} --rho 1 {_AREA} --ledger b.db --subject ann",
)
#: Commands whose outputs have noise, times or ids.
DRAWN = (
    "demo",
    f"points {_DATA} -o r.csv --person taxi {_AREA} --privacy low --report map.html",
    f"points {_DATA} -o all.csv {_AREA} --rho 1e-3",
    f"hull {_DATA} -o hull.geojson {_AREA} --rho 1e-3",
    f"mean {_DATA} -o mean.geojson --person taxi {_AREA} --rho 1e-3",
    f"attack {_DATA} r.csv --person taxi {_AREA}",
    f"nearest {_DATA} --at 37.795,-122.394 -k 5 --locations 50% {_AREA} --rho 1e-2",
    f"nearest {_DATA} --person taxi --at 37.795,-122.394 -k 2 {_AREA} --rho 1e-2",
    f"within {_DATA} --at 37.795,-122.394 --radius 500m {_AREA} --rho 1e-2",
    f"summary {_DATA} {_AREA} --rho 1e-2",
    f"summary {_DATA} --person taxi {_AREA} --rho 1e-2",
    "smooth r.csv -o smooth.csv --motion taxi",
    "density r.csv -o density.geojson --cell 2km",
    f"heatmap {_DATA} --cell 5km --person taxi {_AREA} --hide 200m -o heat.gpkg",
    f"counts {_DATA} --regions density.geojson --person taxi {_AREA} --hide 200m",
    f"flows {_DATA} --cell 25km --person taxi --trip taxi {_AREA} --hide 200m",
    f"hull {_DATA} -o charged.geojson {_AREA} --rho 4e-4 --ledger b.db --subject ann",
    "verify r.csv",
    f"audit make -o canaries.csv --secret audit.json --hide 200m {_AREA} --canaries 500",
    "audit read canaries.csv --secret audit.json",
    "key create lab",
    "key show lab.pub.pem",
    "key trust lab.pub.pem",
    "budget statement b.db ann",
    "budget verify b.db charged.geojson.certificate.json",
    "points nowhere.csv -o r.csv --rho 1",
)
#: Markup of rich, and codes of a terminal that it would not show as they are.
_RAW = re.compile(r"\[/|\[(bold|dim|green|yellow|red)\b|\x1b")
#: A number that is on another line than its unit, an equation that is broken, a word that is.
_BROKEN = re.compile(r"\d\n +k?m\b|=\n|\bper\n")
#: Runs all commands at each width, in a new folder; one process, so that everything is imported once.
_RUN = """
import fcntl, json, os, pathlib, struct, sys, termios
from geoveil.cli import main
widths, commands = json.loads(sys.argv[1])
top = pathlib.Path.cwd()
for width in widths:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    folder = top / str(width)
    folder.mkdir()
    os.chdir(folder)
    os.environ["GEOVEIL_TRUSTED_KEYS"] = str(folder / "trusted")
    for number, args in enumerate(commands):
        print(f"<{number}>", flush=True)
        try:
            main(args)
        except SystemExit:
            sys.stdout.flush()
"""


@cache
def _outputs() -> dict[int, dict[str, str]]:
    """By width, the commands with what a terminal shows after each of them, which is as wide as it wants to be."""
    import pyte

    lines = ["demo", *(line for line in (*FIXED, *DRAWN) if line != "demo")]
    with TemporaryDirectory() as folder:
        raw = _in_terminal(Path(folder), [shlex.split(line) for line in lines])
    found = {}
    for width, shown in zip(WIDTHS, raw.split(b"<0>\r\n")[1:], strict=True):
        # Wider than the terminal, so that lines which it would break stay whole.
        screen = pyte.Screen(2 * width, shown.count(b"\n") + 1)
        screen.set_mode(pyte.modes.LNM)
        pyte.ByteStream(screen).feed(shown)
        text = "\n".join(line.rstrip() for line in screen.display).rstrip()
        parts = re.split(r"^<\d+>\n", f"{text}\n", flags=re.MULTILINE)
        found[width] = {line: part.rstrip("\n") for line, part in zip(lines, parts, strict=True)}
    return found


def _in_terminal(folder: Path, commands: list[list[str]]) -> bytes:
    """Run commands one after another in a terminal of each width; return all that they write to it."""
    import pty

    mine, other = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    running = subprocess.Popen(
        [sys.executable, "-c", _RUN, json.dumps([WIDTHS, commands])],
        cwd=folder,
        env={**environment, "TERM": "xterm-256color", "GEOVEIL_RECORD": "off"},
        stdin=subprocess.DEVNULL,
        stdout=other,
        stderr=other,
    )
    os.close(other)
    found = bytearray()
    while True:
        try:
            part = os.read(mine, 1 << 16)
        except OSError:  # the other end was closed
            part = b""
        if not part:
            break
        found += part
    os.close(mine)
    assert running.wait() == 0, found.decode()
    return bytes(found)


def expected(width: int) -> str:
    """The outputs that are the same every time, in one text."""
    found = _outputs()[width]
    return "\n\n".join(f"$ geoveil {line}\n{found[line]}" for line in FIXED) + "\n"


@pytest.mark.parametrize("width", WIDTHS)
def test_outputs_are_unchanged(width: int) -> None:
    """Outputs are as they were read and approved.

    Explanations, plans, checks, budgets and mistakes, letter by letter.
    """
    assert expected(width) == (OUTPUTS / f"{width}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", WIDTHS)
def test_outputs_fit_the_terminal(width: int) -> None:
    """No output is wider than the terminal. Nor has it markup, a broken number or a traceback."""
    for line, shown in _outputs()[width].items():
        assert shown, line
        wide = [part for part in shown.splitlines() if len(part) > width]
        assert not wide, (line, wide)
        assert not _RAW.search(shown), (line, shown)
        assert not _BROKEN.search(shown), (line, shown)
        assert "Traceback" not in shown, (line, shown)


def test_every_command_has_output() -> None:
    """Every command is looked at.

    Apart from those that print a script, change nothing that is seen, take hours, or serve pages.
    """
    seen = {
        f"geoveil {' '.join(line.split()[: 2 if line.startswith(('audit', 'budget', 'key')) else 1])}"
        for line in (*FIXED, *DRAWN)
    }
    other = {"geoveil budget", "geoveil key", "geoveil experiments", "geoveil experiments run", "geoveil completion"}
    other |= {
        "geoveil budget forget",
        "geoveil budget restore",
        "geoveil serve",
        "geoveil studio",
        "geoveil zones",
        "geoveil audit",
    }
    assert {*EVERY} - other <= seen


if __name__ == "__main__":
    for columns in WIDTHS:
        (OUTPUTS / f"{columns}.txt").write_text(expected(columns), encoding="utf-8")
