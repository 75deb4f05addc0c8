"""The program: help pages, examples, versions, completion and the values that people write."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import geoveil as gv
from geoveil.cli.command import TypedText
from geoveil.cli.problems import CODES
from geoveil.cli.program import program
from geoveil.geo.formats.workspace import workspace
from geoveil.settings import LEVELS
from geoveil.text.typed_values import AREA, CHANCE, LENGTH, PLACE
from geoveil.text.words import metres
from tests.command_line import shell
from tests.release.test_crowd_release import districts
from tests.test_crowds import trips

ROOT = Path(__file__).parents[2]


def commands(group: click.Group = program, path: str = "geoveil") -> Iterator[tuple[str, Any]]:
    """All commands, by how they are called."""
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


EVERY = dict(commands())


@pytest.mark.parametrize("name", EVERY)
def test_help_pages_fit(name: str, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page says what its command is for, ends with examples, and no line is wider than a narrow terminal."""
    monkeypatch.setenv("COLUMNS", "60")
    page = run(*name.split()[1:], "--help")
    assert page.code == 0
    assert "Examples:\n" in page.out
    assert all(len(line) <= 60 for line in page.out.splitlines())
    assert re.search(r"^  --?\w", page.out, re.MULTILINE)


@pytest.mark.parametrize("group", [[], ["budget"], ["experiments"]])
def test_bare_groups_show_help(group: list[str], run: Any) -> None:
    """A group without a command shows its help. The help page on stdout, as with --help, and no error."""
    done = run(*group)
    assert (done.code, done.err) == (0, "")
    assert done.out == run(*group, "--help").out


@pytest.mark.deep
@pytest.mark.slow
def test_every_example_runs(run: Any, tmp_path: Path) -> None:
    """What help pages show works as it stands, in this order: accounts are opened first."""
    lines = [line for command in (program, *EVERY.values()) for _, line in command.examples]
    # A studio and a service serve until they are ended: their own tests start them, as those of zones make rides, and
    # those of attacks and audits what other tools released.
    other_tools = ("geoveil attack trips.csv blurred.csv", "geoveil attack rides.gpx", "geoveil audit read")
    apart = ("geoveil serve", "geoveil studio", "geoveil zones", *other_tools)
    lines = [line for line in dict.fromkeys(lines) if "eval" not in line and not line.startswith(apart)]
    opened = [line for line in lines if line.startswith("geoveil budget create")]
    assert len(lines) > 35
    districts().to_frame("geometry").to_file(tmp_path / "districts.geojson")
    trips().rename(columns={"user": "medallion"}).to_csv(tmp_path / "taxi.csv", index=False)
    for line in [*opened, *(line for line in lines if line not in opened)]:
        # Each example of audits makes a secret of its own.
        (tmp_path / "audit.json").unlink(missing_ok=True)
        done = shell(line, tmp_path) if "|" in line else run(*shlex.split(line)[1:])
        # A check says by its code that an area has to be stated.
        assert done.code == (3 if line == "geoveil check trips.csv" else 0), (line, done.err)
        assert done.out, line


def test_levels_are_explained(run: Any) -> None:
    """Each level names its distance, its chance and the ρ that it is."""
    page = " ".join(run("explain", "--help").out.split())
    for level, distance in LEVELS.items():
        rho = gv.CGP.hiding(distance=distance, chance=0.75).budget
        assert f"{level}: {distance:g} m, ρ = {float(rho):.3g}" in page
        told = json.loads(run("explain", "--privacy", level, "--json").out)
        assert told["rho"] == str(rho)
        assert told["hidden_75"] == pytest.approx(distance, rel=1e-5)
    assert "75%" in page


def test_exit_codes_are_listed(run: Any) -> None:
    """The help page lists all exit codes with their meanings."""
    page = run("--help").out
    assert all(re.search(rf"^ +{code} +{re.escape(meaning)}$", page, re.MULTILINE) for code, meaning in CODES.items())


def test_help_imports_little(tmp_path: Path) -> None:
    """Whoever asks for help does not wait for numpy, pandas or rich."""
    code = (
        "import sys\nfrom geoveil.cli import main\n"
        "try:\n    main(['points', '--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'pandas', 'rich', 'scipy', 'pyproj', 'shapely'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_version_and_module(tmp_path: Path) -> None:
    """The installed command, and python -m geoveil, say which version they are."""
    for line in ("geoveil --version", f"{shlex.quote(sys.executable)} -m geoveil --version"):
        assert shell(line, tmp_path).out == f"geoveil {gv.__version__}\n"


@pytest.mark.slow
def test_shell_completion(tmp_path: Path) -> None:
    """Bash is told how, and is then given the commands, options and choices that begin so."""
    assert "_GEOVEIL_COMPLETE" in shell("geoveil completion bash", tmp_path).out
    for words, at, expected in (
        ("geoveil po", 1, "points"),
        ("geoveil points --person", 2, "--person"),
        ("geoveil points --privacy m", 3, "medium"),
    ):
        done = shell(f"_GEOVEIL_COMPLETE=bash_complete COMP_WORDS='{words}' COMP_CWORD={at} geoveil", tmp_path)
        assert expected in done.out


@pytest.mark.slow
def test_the_demo(run: Any, tmp_path: Path) -> None:
    """The demo makes up a city, releases it, and draws the map."""
    done = run("demo", "--out", "city")
    assert done.code == 0, done.err
    made = {path.name for path in (tmp_path / "city").iterdir()}
    assert {"taxis.csv", "released.csv", "hull.geojson", "map.html", "map.png"} <= made
    assert "The certificate, in words" in done.out


def test_settings_of_other_tools(run: Any) -> None:
    """Location Guard has ε = 2/r; what rounds has no guarantee, and cells as their makers document them."""
    told = json.loads(run("convert-setting", "location-guard", "medium", "--json").out)
    assert told["here"] == "--epsilon 0.004"
    # Degrees of a cell's height and width, as the makers of these codes document them.
    cells = {
        ("decimals", "3"): (0.001, 0.001),
        ("geohash", "6"): (0.0054931640625, 0.010986328125),
        ("plus-code", "8"): (0.0025, 0.0025),
        ("plus-code", "11"): (0.000025, 0.00003125),
        ("meshtastic", "13"): (0.0524288, 0.0524288),
        ("meshtastic", "16"): (0.0065536, 0.0065536),
    }
    for setting, (high, wide) in cells.items():
        told = json.loads(run("convert-setting", *setting, "--json").out)
        # A degree at the equator of WGS 84.
        north, east = high * 110_574.3, wide * 111_319.5
        assert told["cell"] == f"{metres(north)} by {metres(east)}"
        assert told["guarantee"].startswith("none")
        rho = re.match(r"--rho (\S+),", told["nearest"])
        assert rho is not None
        assert gv.CGP(rho=rho[1]).hidden(chance=0.75) == pytest.approx(max(north, east), rel=1e-4)
    narrower = json.loads(run("convert-setting", "decimals", "3", "--lat", "60", "--json").out)
    assert narrower["cell"] == "112 m by 55.9 m"


@pytest.mark.parametrize(
    ("kind", "text", "meaning"),
    [
        (LENGTH, "200m", 200.0),
        (LENGTH, "1.5 km", 1500.0),
        (LENGTH, "42", 42.0),
        (LENGTH, "1e3ft", 304.8),
        (LENGTH, "-5m", None),
        (LENGTH, "0", None),
        (LENGTH, "nan", None),
        (CHANCE, "75%", 0.75),
        (CHANCE, "0.75", 0.75),
        (CHANCE, "75", None),
        (PLACE, "37.77,-122.42", (37.77, -122.42)),
        (PLACE, "-122.42,37.77", None),
        (PLACE, "37.77", None),
        (AREA, "37.77,-122.42,50km", (37.77, -122.42, 50_000.0)),
        (AREA, "37.77,-122.42", None),
    ],
)
def test_what_people_write(kind: Any, text: str, meaning: Any) -> None:
    """Lengths, chances, places and areas; what is none of them is refused."""
    if meaning is None:
        with pytest.raises(click.BadParameter):
            TypedText(kind).convert(text, None, None)
    else:
        assert TypedText(kind).convert(text, None, None) == pytest.approx(meaning)


def test_commands_remove_leftovers(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any command removes the temporary folder of a killed run, which may hold true locations."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed = tmp_path / ".geoveil-abcd1234.aside"
    killed.mkdir()
    (killed / "stdin.csv").write_text("lat,lon\n37.78,-122.41\n")
    with workspace() as running:
        killed.mkdir(exist_ok=True)
        assert run("areas", "Utrecht").code == 0
        assert running.is_dir()
    assert not killed.exists()
