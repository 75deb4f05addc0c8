"""The command line, as a person uses it: files, pipes, help pages, errors and what is left when one stops it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import geopandas
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.answering import streaming
from geoveil.cli import main
from geoveil.cli.options import LEVELS
from geoveil.cli.parameter_types import AREA, CHANCE, LENGTH, PLACE
from geoveil.cli.problems import CODES
from geoveil.cli.program import program
from geoveil.words import metres
from tests.formats import BAY, FORMATS, SECRET, make, people

ROOT = Path(__file__).parents[2]
#: Where the installed commands are.
BIN = Path(sys.executable).parent
LOCAL = ["--local", "37.77,-122.42,50km"]
STATION = "37.77,-122.42"


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command in this process, in a folder with trips.csv."""
    people().assign(longitude=lambda f: f.geometry.x, latitude=lambda f: f.geometry.y).drop(columns="geometry").to_csv(
        tmp_path / "trips.csv", index=False
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def command(*args: str) -> Ran:
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main(args)
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        # Styles are shown, not written.
        assert not re.search(r"\[/|\[(bold|dim|green|yellow|red)\b", out + err)
        return Ran(int(str(left.value.code)), out, err)

    return command


def shell(line: str, folder: Path, **more: Any) -> Ran:
    """Runs a line as a person's shell does."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, **more
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def commands(group: click.Group = program, path: str = "geoveil") -> Iterator[tuple[str, Any]]:
    """All commands, by how they are called."""
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


EVERY = dict(commands())


# -------------------------------------------------------------------------------------------------------- help pages


@pytest.mark.parametrize("name", EVERY)
def test_every_help_page_has_an_example_and_fits_into_sixty_columns(
    name: str, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page says what its command is for, ends with examples, and no line is wider than a narrow terminal."""
    monkeypatch.setenv("COLUMNS", "60")
    page = run(*name.split()[1:], "--help")
    assert page.code == 0
    assert "Examples:\n" in page.out
    assert all(len(line) <= 60 for line in page.out.splitlines())
    assert re.search(r"^  --?\w", page.out, re.MULTILINE)


@pytest.mark.parametrize("group", [[], ["budget"], ["experiments"]])
def test_a_group_without_a_command_shows_its_help(group: list[str], run: Any) -> None:
    """The help page on stdout, as with --help, and no error."""
    done = run(*group)
    assert (done.code, done.err) == (0, "")
    assert done.out == run(*group, "--help").out


@pytest.mark.slow
def test_every_example_runs(run: Any, tmp_path: Path) -> None:
    """What help pages, README and docs show works as it stands, in this order: accounts are opened first."""
    lines = [line for command in (program, *EVERY.values()) for _, line in command.examples]
    for page in ("README.md", "docs/command-line.md"):
        lines += re.findall(r"^\$ (.*)$", (ROOT / page).read_text(), re.MULTILINE)
    lines = [line for line in dict.fromkeys(lines) if "eval" not in line]
    opened = [line for line in lines if line.startswith("geoveil budget create")]
    assert len(lines) > 35
    for line in [*opened, *(line for line in lines if line not in opened)]:
        done = shell(line, tmp_path) if "|" in line else run(*shlex.split(line)[1:])
        assert done.code == 0, (line, done.err)
        assert done.out, line


def test_the_levels_on_the_help_page_are_what_they_say(run: Any) -> None:
    """Each level names its distance, its chance and the ρ that it is."""
    page = " ".join(run("explain", "--help").out.split())
    for level, distance in LEVELS.items():
        rho = gv.CGP.hiding(distance=distance, chance=0.75).budget
        assert f"{level}: {distance:g} m, ρ = {float(rho):.3g}" in page
        told = json.loads(run("explain", "--privacy", level, "--json").out)
        assert told["rho"] == str(rho)
        assert told["hidden_75"] == pytest.approx(distance, rel=1e-5)
    assert "75%" in page


def test_the_exit_codes_are_on_the_help_page(run: Any) -> None:
    """All of them, with what they mean."""
    page = run("--help").out
    assert all(re.search(rf"^ +{code} +{re.escape(meaning)}$", page, re.MULTILINE) for code, meaning in CODES.items())


def test_the_help_page_imports_nothing_heavy(tmp_path: Path) -> None:
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
def test_shells_complete_commands_and_options(tmp_path: Path) -> None:
    """Bash is told how, and is then given the commands, options and choices that begin so."""
    assert "_GEOVEIL_COMPLETE" in shell("geoveil completion bash", tmp_path).out
    for words, at, expected in (
        ("geoveil po", 1, "points"),
        ("geoveil points --by", 2, "--by"),
        ("geoveil points --privacy m", 3, "medium"),
    ):
        done = shell(f"_GEOVEIL_COMPLETE=bash_complete COMP_WORDS='{words}' COMP_CWORD={at} geoveil", tmp_path)
        assert expected in done.out


# ------------------------------------------------------------------------------------------------------------- points


@pytest.mark.parametrize("form", FORMATS)
def test_points_of_every_format(form: str, run: Any, tmp_path: Path) -> None:
    """A file of any format goes in, one of the same format comes out with a certificate and without secrets."""
    source, how = make(form, tmp_path)
    target = tmp_path / f"out{''.join(source.suffixes)}"
    more = ["--decimal", ","] if "decimal" in how else []
    done = run("points", str(source), "-o", str(target), "--by", how["by"], *LOCAL, "--privacy", "low", *more)
    assert done.code == 0, done.err
    assert "0.0000549306" in str(gv.load(target).guarantee.budget)
    assert "certificate" in done.out
    files = [target] if target.is_file() else [*target.iterdir()]
    assert not any(SECRET.encode() in path.read_bytes() for path in files)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["trips.csv", "trips.geojson", "trips.gpx", "wkb.parquet", "trips.gpkg"])
def test_pipes(form: str, tmp_path: Path) -> None:
    """Data comes through stdin and goes through stdout, and nothing else does; the certificate goes where one says."""
    source, how = make(form, tmp_path)
    kind = source.suffix
    line = (
        f"cat {source.name} | geoveil points - -o - --format {kind[1:]} --by {how['by']} {' '.join(LOCAL)} --rho 1e-3 "
        f"--certificate told.json > out{kind}"
    )
    done = shell(line, tmp_path)
    assert (done.code, done.out) == (0, "")
    (tmp_path / f"out{kind}.certificate.json").write_text((tmp_path / "told.json").read_text())
    account = json.loads((tmp_path / "told.json").read_text())
    assert account["file"]["name"] == f"stdout{kind}"
    assert gv.load(tmp_path / f"out{kind}").n == 60
    assert "60 points" in done.err


@pytest.mark.slow
def test_names_with_spaces_and_letters_of_all_kinds(tmp_path: Path) -> None:
    """Files, columns and persons may be called as people call them."""
    frame = people().rename(columns={"user": "Größe und 名前"})
    frame["Größe und 名前"] = "Zoë [red] 🚕"
    frame.to_file(tmp_path / "mes trajets été 2026.geojson", driver="GeoJSON")
    done = shell(
        f"geoveil points 'mes trajets été 2026.geojson' -o 'veröffentlicht 1.geojson' --by 'Größe und 名前' "
        f"{' '.join(LOCAL)} --rho 1e-3 --report 'carte été.html'",
        tmp_path,
    )
    assert done.code == 0, done.err
    assert gv.load(tmp_path / "veröffentlicht 1.geojson").by.tolist() == ["Zoë [red] 🚕"]
    assert "mes trajets été 2026.geojson" in (tmp_path / "carte été.html").read_text()
    done = shell(
        f"geoveil summary 'mes trajets été 2026.geojson' --by 'Größe und 名前' {' '.join(LOCAL)} --rho 1", tmp_path
    )
    assert "Zoë [red]" in done.out


def test_smoothing_on_the_way(run: Any, tmp_path: Path) -> None:
    """With --smooth the file that comes out is smoothed, and no unsmoothed one is left."""
    done = run("points", "trips.csv", "-o", "out.csv", "--by", "user", *LOCAL, "--rho", "1e-3", "--smooth", "walking")
    assert done.code == 0, done.err
    assert "to be expected" in done.out
    assert gv.load(tmp_path / "out.csv").processing.steps[0].startswith("smoothed")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "out.csv.certificate.json", "trips.csv"]


def test_what_a_dry_run_says_is_what_the_release_says(run: Any, tmp_path: Path) -> None:
    """The error foreseen is the one stated; nothing is written or charged."""
    asked = ["trips.csv", "--by", "user", *LOCAL, "--rho", "1e-3", "--json"]
    foreseen = json.loads(run("points", *asked, "--dry-run").out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trips.csv"]
    assert run("points", *asked, "-o", "out.csv").code == 0
    stated = gv.load(tmp_path / "out.csv").error(0.05)
    assert foreseen["error_95"] == pytest.approx({"smallest": stated.min(), "largest": stated.max()})
    assert (foreseen["points"], foreseen["persons"]) == (60, 3)


@pytest.mark.slow
def test_another_format_comes_out_if_one_names_it(run: Any, tmp_path: Path) -> None:
    """CSV goes in, GeoPackage or GeoJSON comes out; the released CSV is not left."""
    for name in ("out.gpkg", "out.geojson"):
        done = run("points", "trips.csv", "-o", name, "--by", "user", *LOCAL, "--rho", "1e-3")
        assert done.code == 0, done.err
        assert "address (--keep" in done.out
        assert gv.load(tmp_path / name).by.tolist() == people()["user"].unique().tolist()
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".gpkg", ".geojson", ".json"}


@pytest.mark.slow
def test_a_dry_run_knows_the_files_own_system(run: Any, tmp_path: Path) -> None:
    """What a system stretches is paid for, also if nobody names it."""
    people().to_crs(32610).to_file(tmp_path / "utm.gpkg")
    foreseen = json.loads(run("points", "utm.gpkg", "--rho", "1e-4", "--dry-run", "--json").out)
    assert run("points", "utm.gpkg", "-o", "out.gpkg", "--rho", "1e-4").code == 0
    assert foreseen["error_95"]["largest"] == pytest.approx(gv.load(tmp_path / "out.gpkg").error(0.05))
    assert run("points", "trips.csv", "--rho", "1e-4", "--dry-run").code == 3


def test_columns_stay_behind_unless_kept(run: Any, tmp_path: Path) -> None:
    """Columns that may give locations away are named, and released only on request."""
    done = run("points", "trips.csv", "-o", "out.csv", "--by", "user", *LOCAL, "--rho", "1e-3")
    assert "address (--keep releases columns unchanged)" in done.out
    assert run("points", "trips.csv", "-o", "kept.csv", *LOCAL, "--rho", "1e-3", "--keep", "address").code == 0
    assert "address" not in pd.read_csv(tmp_path / "out.csv")
    assert "address" in pd.read_csv(tmp_path / "kept.csv")


# ------------------------------------------------------------------------------------------------------------ answers


def test_nearest_names_rows_from_one(run: Any, tmp_path: Path) -> None:
    """Rows are those of the file, counted from one, with their times; places come only where they are paid for."""
    asked = ["nearest", "trips.csv", "--at", STATION, "-k", "1", *LOCAL, "--rho", "1e3"]
    frame = people()
    true = frame.to_crs(BAY.crs).geometry.distance(geopandas.GeoSeries.from_xy([0], [0])[0]).argmin()
    done = run(*asked)
    assert re.search(rf"^ 1 +{true + 1} +{frame['time'].iloc[true]}", done.out, re.MULTILINE)
    told = json.loads(run(*asked, "--json").out)
    assert told["answer"][0]["nearest"] == true + 1
    assert "latitude" not in done.out
    placed = run(*asked, "--locations", "50%")
    assert "each released location" in placed.out
    assert f"{frame.geometry.iloc[true].y:.3f}" in placed.out


def test_rows_are_counted_in_the_file_also_where_some_have_no_place(run: Any, tmp_path: Path) -> None:
    """Rows that are left out still count."""
    table = pd.read_csv(tmp_path / "trips.csv")
    table.loc[0, ["latitude", "longitude"]] = None
    table.loc[59, ["latitude", "longitude"]] = [37.77, -122.42]
    table.to_csv(tmp_path / "holes.csv", index=False)
    asked = ["nearest", "holes.csv", "--at", STATION, "-k", "1", *LOCAL, "--rho", "1e3", "--json"]
    assert run(*asked).code == 3
    assert json.loads(run(*asked, "--missing", "drop").out)["answer"][0]["nearest"] == 60


def test_within_and_summary(run: Any, tmp_path: Path) -> None:
    """The first visit, and center, radius and bounds: with little noise they are the true ones."""
    frame = people().to_crs(BAY.crs)
    away = frame.geometry.distance(geopandas.GeoSeries.from_xy([0], [0])[0])
    first = int((away < 5000).argmax()) + 1
    asked = ["within", "trips.csv", "--at", STATION, "--radius", "5km", *LOCAL, "--rho", "1e3", "--json"]
    assert json.loads(run(*asked).out)["answer"][0]["first_within"] == first
    told = json.loads(run("summary", "trips.csv", *LOCAL, "--rho", "1e3", "--json").out)
    west, south, east, north = frame.total_bounds
    radius = told["answers"]["radius"][0]["radius"]
    assert max(east - west, north - south) / 2 < radius < 1.5 * max(east - west, north - south)
    lon, lat = told["answers"]["center"]["features"][0]["geometry"]["coordinates"]
    assert (lon, lat) == pytest.approx(people().geometry.union_all().envelope.centroid.coords[0], abs=0.001)
    assert [account["rho"] for account in told["certificates"]] == ["333.333333333333333333333333333"] * 2 + [
        "333.333333333333333333333333334"
    ]
    shown = run("summary", "trips.csv", *LOCAL, "--rho", "1e3", "--by", "user")
    assert len(re.findall(r"^ u\d ", shown.out, re.MULTILINE)) == 3
    assert "1e+03-CGP" in shown.out or "1000-CGP" in shown.out


@pytest.mark.parametrize("system", [4326, 3460])
def test_answers_across_the_antimeridian_are_no_complement(system: int, run: Any, tmp_path: Path) -> None:
    """Summaries and hulls of places in Fiji are shown from 179.9 to 180.1 degrees, also from its grid in metres."""
    fiji = geopandas.GeoSeries.from_xy([179.9, -179.9, 179.95], [-17.0, -17.1, -16.9], crs=4326).to_crs(system)
    fiji.to_file(tmp_path / "fiji.gpkg")
    how = ["fiji.gpkg", "--local", "-17,180,100km", "--rho", "1"]
    told = json.loads(run("summary", *how, "--json").out)
    ring = told["answers"]["bounds"]["features"][0]["geometry"]["coordinates"][0]
    wide = max(at[0] for at in ring) - min(at[0] for at in ring)
    assert wide == pytest.approx(0.2, abs=0.01)
    assert re.search(r"179\.(8|9)\d+ to 180\.(0|1)\d+", " ".join(run("summary", *how).out.split()))
    west, _, east, _ = shapely.from_wkt(run("hull", *how).out.splitlines()[0]).bounds
    assert east - west == pytest.approx(0.2, abs=0.01)


def test_hull_without_a_file_is_printed(run: Any) -> None:
    """As text that other programs take."""
    done = run("hull", "trips.csv", *LOCAL, "--rho", "1", "--quiet")
    assert done.out.startswith("POLYGON ((-122.")
    assert done.out.count("\n") == 1


def test_smooth_and_density_take_what_points_wrote(run: Any, tmp_path: Path) -> None:
    """Files that were released can be improved; others are refused."""
    assert run("points", "trips.csv", "-o", "out.csv", "--by", "user", *LOCAL, "--rho", "1e-3", "-q").code == 0
    told = json.loads(run("smooth", "out.csv", "-o", "smooth.csv", "--motion", "car", "--json").out)
    assert told["certificate"]["processed"][0].startswith("smoothed")
    heat = json.loads(run("density", "out.csv", "--cell", "2km", "--around", f"{STATION},10km", "--json").out)
    assert len(heat["counts"]) == 10
    assert 0 < sum(map(sum, heat["counts"])) <= 60.001
    refused = run("smooth", "trips.csv", "-o", "no.csv", "--motion", "car")
    assert refused.code == 3
    assert "certificate" in refused.err


# ------------------------------------------------------------------------------------------------- errors and codes

BAD = {
    "no budget": (2, "points trips.csv -o o.csv"),
    "two budgets": (2, "points trips.csv -o o.csv --rho 1 --epsilon 1"),
    "half a meaning": (2, "points trips.csv -o o.csv --hide 200m"),
    "no such length": (2, "points trips.csv -o o.csv --hide 200parsec --chance 75%"),
    "a chance of a coin": (2, "points trips.csv -o o.csv --local 37.77,-122.42,50km --hide 200m --chance 50%"),
    "a negative budget": (2, "points trips.csv -o o.csv --local 37.77,-122.42,50km --rho -1"),
    "a budget that is no number": (2, "points trips.csv -o o.csv --local 37.77,-122.42,50km --rho much"),
    "no output": (2, "points trips.csv --local 37.77,-122.42,50km --rho 1"),
    "two areas": (2, "points trips.csv -o o.csv --local 37.77,-122.42,50km --area 32610 --rho 1"),
    "truth without a report": (2, "points trips.csv -o o.csv --rho 1 --with-truth"),
    "a subject without a ledger": (2, "points trips.csv -o o.csv --rho 1 --subject ann"),
    "json into a pipe": (2, "points trips.csv -o - --json --rho 1 --local 37.77,-122.42,50km"),
    "a format of a file": (2, "points trips.csv -o o.csv --format csv --rho 1"),
    "no such column": (2, "points trips.csv -o o.csv --by nobody --local 37.77,-122.42,50km --rho 1"),
    "no such column to ask by": (2, "hull trips.csv --by nobody --local 37.77,-122.42,50km --rho 1 --dry-run"),
    "another format": (2, "points trips.csv -o o.gpx --local 37.77,-122.42,50km --rho 1"),
    "too many neighbours": (2, "nearest trips.csv --at 37.77,-122.42 -k 1000 --local 37.77,-122.42,50km --rho 1"),
    "a report of rows": (2, "nearest trips.csv --at 37,-122 -k 1 --local 37.77,-122.42,50km --rho 1 --report m.html"),
    "two reports": (2, "hull trips.csv --local 37.77,-122.42,50km --rho 1 --report m.html --report m.png"),
    "a report of no format": (2, "hull trips.csv --local 37.77,-122.42,50km --rho 1 --report m.docx"),
    "smoothing Laplace noise": (2, "points trips.csv -o o.csv --local 37.77,-122.42,50km --epsilon 1 --smooth car"),
    "no such command": (2, "pints trips.csv"),
    "no such file": (3, "points nothing.csv -o o.csv --rho 1"),
    "degrees": (3, "points trips.csv -o o.csv --rho 1"),
    "Mercator": (2, "points trips.csv -o o.csv --rho 1 --area 3857"),
    "no such region": (2, "points trips.csv -o o.csv --rho 1 --area Atlantis"),
    "another place": (3, "points trips.csv -o o.csv --rho 1 --local 52.5,13.4,50km"),
    "no folder": (3, "points trips.csv -o nowhere/o.csv --rho 1 --local 37.77,-122.42,50km"),
    "no ledger": (5, "budget show nothing.db"),
    "no such ledger": (5, "hull trips.csv --local 37.77,-122.42,50km --rho 1 --ledger l.db --subject nobody"),
    "a place in China": (2, "nearest trips.csv --at 37.77,122.42 -k 1 --local 37.77,-122.42,50km --rho 1"),
    "an answer over the data": (2, "hull trips.csv -o trips.csv --local 37.77,-122.42,50km --rho 1"),
    "a certificate over the data": (
        2,
        "points trips.csv -o o.csv --certificate trips.csv --local 37.77,-122.42,50km --rho 1",
    ),
    "neighbours of no number": (2, "plan nearest --n 10 --error 300m"),
    "too large an area": (2, "points trips.csv -o o.csv --local 37.77,-122.42,6000km --rho 1"),
    "no geohash": (2, "convert-setting geohash 13"),
    "no setting": (2, "convert-setting location-guard huge"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_are_one_message_in_the_words_of_the_command_line(case: str, run: Any, tmp_path: Path) -> None:
    """What is wrong and what to do, in one line that names options, and nothing is written."""
    code, line = BAD[case]
    done = run(*shlex.split(line))
    assert done.code == code, done.err
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert done.err.startswith("geoveil: ")
    assert not re.search(r"\bgv\.|\w=[\"'\w.]*[,)]|area=|by=|None", done.err), done.err
    assert not [path for path in tmp_path.iterdir() if path.name != "trips.csv"]


@pytest.mark.posix
@pytest.mark.parametrize("command", ["check", "points", "hull", "density"])
def test_a_file_that_may_not_be_read_is_about_the_data(command: str, run: Any, tmp_path: Path) -> None:
    """Its exit code is that of data, as for one that is not there."""
    asked = {
        "check": ["check", "trips.csv", *LOCAL],
        "points": ["points", "trips.csv", "--dry-run", *LOCAL, "--rho", "1e-4"],
        "hull": ["hull", "trips.csv", *LOCAL, "--rho", "1e-4"],
        "density": ["density", "trips.csv", "--cell", "500m", "--json"],
    }[command]
    run(*asked)  # all modules are loaded now, which another user may not be able to
    before = os.getresuid()
    (tmp_path / "trips.csv").chmod(0)
    if before[1] == 0:
        os.setresuid(65534, 65534, 0)
    try:
        done = run(*asked)
    finally:
        os.setresuid(*before)
    assert done.code == 3
    assert "trips.csv" in done.err


@pytest.mark.slow
def test_debug_shows_where(tmp_path: Path) -> None:
    """With --debug an error is a traceback."""
    done = shell("geoveil --debug points nothing.csv -o o.csv --rho 1", tmp_path)
    assert done.code == 1
    assert "Traceback" in done.err


def test_the_unexpected_is_one_message_too(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours names itself and the way to see more."""

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(streaming.FilePoints, "count", broken)
    done = run("points", "trips.csv", "-o", "o.csv", *LOCAL, "--rho", "1")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "ZeroDivisionError: oh" in done.err
    assert "--debug" in done.err


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    """As of head."""
    make("trips.csv", tmp_path)
    line = f"geoveil points trips.csv -o - {' '.join(LOCAL)} --rho 1 -q | head -1; echo ${{PIPESTATUS[0]}}"
    done = shell(line, tmp_path)
    assert done.out.splitlines()[-1] == "0"
    assert done.err == ""


# ------------------------------------------------------------------------------------------------------------ ledger


def test_budgets_from_creation_to_verification(run: Any, tmp_path: Path) -> None:
    """Accounts are opened, charged, refused when short, lowered, overridden, and proved whole."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    asked = ["trips.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann"]
    foreseen = json.loads(run("hull", *asked, "--rho", "4e-4", "--dry-run", "--json").out)
    assert foreseen["remaining"] == "0.001"
    assert run("hull", *asked, "--rho", "4e-4", "-o", "hull.geojson").code == 0
    short = run("points", *asked, "--rho", "7e-4", "-o", "out.csv")
    assert short.code == 4
    assert "0.0007 was asked for, 0.0006 is left" in short.err
    assert not (tmp_path / "out.csv").exists()
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert (line["total"], line["spent"], line["remaining"]) == ("0.001", "0.0004", "0.0006")
    assert "0.0006" in run("budget", "show", "b.db", "ann").out
    assert "hull" in run("budget", "statement", "b.db", "ann").out
    assert "Whole: 3 entries" in run("budget", "verify", "b.db", "hull.geojson.certificate.json").out
    assert run("budget", "lower", "b.db", "ann", "--rho", "5e-4").code == 0
    assert run("budget", "lower", "b.db", "ann", "--rho", "1").code == 2
    assert run("budget", "override", "b.db", "ann", "--rho", "1", "--reason", "she said so").code == 0
    (events,) = [json.loads(run("budget", "statement", "b.db", "ann", "--json").out)]
    assert [event["event"] for event in events] == ["create", "charge", "lower", "override"]


@pytest.mark.parametrize(
    "more",
    [
        "-o hull.docx",
        "-o nowhere/hull.csv",
        "--report map.docx",
        "--report nowhere/map.html",
        "-o hull.csv --certificate nowhere/c.json",
        "-o - --json",
    ],
)
@pytest.mark.parametrize("command", ["hull", "points"])
def test_what_could_not_be_written_is_not_charged(command: str, more: str, run: Any) -> None:
    """Files that cannot be are refused before the budget is touched."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    asked = [command, "trips.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann", "--rho", "6e-4"]
    needed = ["-o", "out.csv"] if "-o" not in more else []
    assert run(*asked, *needed, *more.split()).code in (2, 3)
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert line["spent"] == "0"


def test_a_label_answers_again_for_free(run: Any) -> None:
    """The same question about the same data is answered the same."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    asked = ["hull", "trips.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann", "--rho", "6e-4", "--label", "May"]
    answers = [json.loads(run(*asked, "--json").out)["answer"] for _ in range(2)]
    assert answers[0] == answers[1]
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert line["spent"] == "0.0006"


def test_people_without_budget_are_skipped_if_one_says_so(run: Any, tmp_path: Path) -> None:
    """With --short skip the others are released."""
    assert run("budget", "create", "b.db", "u0", "u1", "--rho", "1e-3").code == 0
    assert run("budget", "create", "b.db", "u2", "--rho", "1e-5").code == 0
    asked = ["points", "trips.csv", "-o", "out.csv", *LOCAL, "--by", "user", "--ledger", "b.db", "--rho", "1e-4"]
    assert run(*asked).code == 4
    assert run(*asked, "--short", "skip").code == 0
    assert set(gv.load(tmp_path / "out.csv").by) == {"u0", "u1"}


# -------------------------------------------------------------------------------------------------------- stopping


@pytest.mark.parametrize("charged", [False, True])
def test_ctrl_c_leaves_no_half_file_and_says_what_was_charged(
    charged: bool, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the charge nothing is gone; after it the charge stands, and is named."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    before = sorted(tmp_path.iterdir())

    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(streaming.FilePoints, "draw" if charged else "count", stopped)
    asked = ["points", "trips.csv", "-o", "out.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann", "--rho", "4e-4"]
    done = run(*asked)
    assert done.code == 130
    assert sorted(path for path in tmp_path.iterdir() if "-wal" not in path.name and "-shm" not in path.name) == before
    assert ("0.0004 of ann" in done.err) == charged
    assert ("Nothing was charged" in done.err) != charged
    with gv.Ledger(tmp_path / "b.db") as ledger:
        assert str(ledger.spent("ann")) == ("0.0004" if charged else "0")


def begun(line: list[str], folder: Path, **environment: str) -> Any:
    """A command that waits for its input. Signals end it, also where those of these tests are ignored, as by nohup."""

    def mortal() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    return subprocess.Popen(
        line,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=mortal,
    )


def ended(running: Any, number: signal.Signals) -> int:
    """The exit code of a command that gets a signal; again, if it came just before the command began to wait."""
    for _ in range(6):
        running.send_signal(number)
        try:
            return int(running.wait(timeout=10))
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("it did not end")


@pytest.mark.posix
@pytest.mark.slow
def test_a_real_interruption(tmp_path: Path) -> None:
    """A signal while the command waits for its input."""
    line = [str(BIN / "geoveil"), "points", "-", "-o", "out.csv", *LOCAL, "--rho", "1"]
    with begun(line, tmp_path) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        # It reads until the end, which does not come: once this is taken from the pipe it is at work.
        running.stdin.write("lat,lon\n" * 20_000)
        running.stdin.flush()
        assert ended(running, signal.SIGINT) == 130
        said = running.stderr.read()
    assert said.strip().startswith("geoveil: Stopped.")
    assert not [*tmp_path.iterdir()]


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_what_came_through_a_pipe_does_not_stay_when_the_command_is_ended(name: str, tmp_path: Path) -> None:
    """A closed terminal or a scheduler's patience leaves nothing true behind, aside or here."""
    aside = tmp_path / "aside"
    aside.mkdir()
    line = [str(BIN / "geoveil"), "points", "-", "-o", "out.csv", *LOCAL, "--rho", "1"]
    with begun(line, tmp_path, TMPDIR=str(aside)) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdin.write("lat,lon\n" * 20_000)
        running.stdin.flush()
        (held,) = aside.rglob("stdin.csv")
        assert held.stat().st_mode & 0o077 == 0
        assert ended(running, signal.Signals[name]) == 128 + signal.Signals[name]
        assert "Stopped." in running.stderr.read()
    assert [*tmp_path.rglob("*")] == [aside]


def test_what_was_charged_is_said_when_something_fails_afterwards(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error after the charge names it, and what was released already."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    asked = ["points", "trips.csv", "-o", "out.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann", "--rho", "4e-4"]
    with monkeypatch.context() as patched:
        patched.setattr(streaming.FilePoints, "draw", full)
        done = run(*asked)
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert "0.0004 of ann" in done.err
    assert "Nothing was" not in done.err
    with monkeypatch.context() as patched:
        patched.setattr("geoveil.report.write", full)
        done = run(*asked, "--report", "map.html")
    assert done.code == 3
    assert "0.0004 of ann" in done.err
    assert "out.csv was released" in done.err
    assert (tmp_path / "out.csv").exists()


@pytest.mark.slow
def test_a_summary_is_charged_as_a_whole_or_not_at_all(run: Any) -> None:
    """Three questions, of which the first two would be paid for, cost nothing if the third would not be."""
    assert run("budget", "create", "b.db", "ann", "--rho", "5e-5").code == 0
    asked = ["summary", "trips.csv", *LOCAL, "--ledger", "b.db", "--subject", "ann"]
    assert run(*asked, "--rho", "9e-5").code == 4
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert line["spent"] == "0"
    assert run(*asked, "--rho", "3e-5", "--report", "map.html").code == 0
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert line["spent"] == "0.00003"
    page = Path("map.html").read_text()
    assert "3e-05-CGP" in page
    assert "2e-05-CGP" not in page


# ----------------------------------------------------------------------------------------------------------- reports


@pytest.mark.slow
def test_a_report_holds_truth_only_if_asked_to(run: Any, tmp_path: Path) -> None:
    """With --with-truth there is a banner; without it, neither that nor a true place."""
    asked = ["points", "trips.csv", "-o", "out.csv", "--by", "user", *LOCAL, "--rho", "1e-6"]
    assert run(*asked, "--report", "map.html").code == 0
    assert run(*asked, "--report", "own.html", "--with-truth").code == 0
    shared, own = ((tmp_path / name).read_text() for name in ("map.html", "own.html"))
    assert "must not be shared" in own
    assert "must not be shared" not in shared
    assert "true places" not in shared


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["html", "png", "pdf"])
def test_reports_of_all_kinds(ending: str, run: Any, tmp_path: Path) -> None:
    """A page, a picture or a document, with the ledger's gauge."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1").code == 0
    asked = ["hull", "trips.csv", *LOCAL, "--rho", "0.25", "--ledger", "b.db", "--subject", "ann"]
    done = run(*asked, "--report", f"map.{ending}", "-q")
    assert done.code == 0, done.err
    head = (tmp_path / f"map.{ending}").read_bytes()[:15]
    assert head.startswith({"html": b"<!DOCTYPE html>", "png": b"\x89PNG", "pdf": b"%PDF-"}[ending])


@pytest.mark.slow
def test_the_demo(run: Any, tmp_path: Path) -> None:
    """It makes a city up, releases it, and draws the map."""
    done = run("demo", "--out", "city")
    assert done.code == 0, done.err
    made = {path.name for path in (tmp_path / "city").iterdir()}
    assert {"taxis.csv", "released.csv", "hull.geojson", "map.html", "map.png"} <= made
    assert "The certificate, in words" in done.out


@pytest.mark.slow
def test_answers_fit_into_sixty_columns(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown wraps on a narrow terminal."""
    monkeypatch.setenv("COLUMNS", "60")
    lines = [
        ["points", "trips.csv", "-o", "out.csv", "--by", "user", *LOCAL, "--rho", "1e-3"],
        ["points", "trips.csv", "--by", "user", *LOCAL, "--rho", "1e-3", "--dry-run"],
        ["nearest", "trips.csv", "--at", STATION, "-k", "3", "--locations", "50%", *LOCAL, "--rho", "1"],
        ["summary", "trips.csv", "--by", "user", *LOCAL, "--rho", "1"],
        ["explain", "--rho", "5e-5", "--n", "1000"],
        ["plan", "points", "--n", "100", "--error", "500m"],
        ["check", "trips.csv", "--by", "user", *LOCAL],
        ["convert-setting", "location-guard", "medium"],
        ["budget", "create", "b.db", "ann", "--rho", "1e-3"],
        ["budget", "show", "b.db"],
        ["budget", "statement", "b.db", "ann"],
    ]
    for line in lines:
        done = run(*line)
        assert done.code == 0, done.err
        assert all(len(text) <= 60 for text in done.out.splitlines()), (line, done.out)


# -------------------------------------------------------------------------------------------- meaning, checks, kinds


@pytest.mark.parametrize("asked", [["--rho", "5e-5"], ["--epsilon", "0.01"], ["--rho", "5e-5", "--metric", "2"]])
def test_explain_says_what_the_library_says(asked: list[str], run: Any) -> None:
    """Chances, errors and what more releases change are those of guarantees and plans."""
    told = json.loads(run("explain", *asked, "--n", "100", "--json").out)
    metric = told["metric"]
    guarantee = gv.CGP(rho=told["rho"], metric=metric) if "rho" in told else gv.GP(epsilon=told["epsilon"])
    for away, chance in told["attacker"].items():
        assert chance == guarantee.attacker(distance=float(away))
    budget: dict[str, Any] = {guarantee.symbol: guarantee}
    assert told["error_95"]["points"] == gv.plan("points", n=100, **budget).error
    fewer = told["releases"]["1"]["hidden_75"] / told["releases"]["100"]["hidden_75"]
    assert fewer == pytest.approx(10 if "rho" in told else 100, rel=1e-6)
    chances = [*told["attacker"].values()]
    assert chances == sorted(chances)
    assert chances[0] < 0.53
    assert chances[-1] > 0.98


def test_plan_is_the_other_way_of_explain(run: Any) -> None:
    """The budget that an error takes gives that error."""
    told = json.loads(run("plan", "nearest", "--n", "20000", "-k", "10", "--error", "300m", "--json").out)
    assert told["rho"] == str(gv.plan("nearest", n=20_000, k=10, error=300).guarantee.budget)
    assert told["error"] <= 300


def test_check_finds_what_gives_places_away(run: Any, tmp_path: Path) -> None:
    """Names, numbers and codes that tell where a place is; duplicates, holes, and places without a fix."""
    table = pd.read_csv(tmp_path / "trips.csv")
    table["zone"] = (table["latitude"] * 20).astype(int).astype(str)
    table["reading"] = table["longitude"] * 1000 + 5
    table["battery"] = [(7 * i) % 60 for i in range(60)]
    table.loc[5, ["latitude", "longitude"]] = table.loc[4, ["latitude", "longitude"]]
    table.loc[7, ["latitude", "longitude"]] = 0.0
    table.loc[9, ["latitude", "longitude"]] = None
    table.to_csv(tmp_path / "odd.csv", index=False)
    told = json.loads(run("check", "odd.csv", "--by", "user", "--json").out)
    words = "\n".join(finding["what"] for finding in told["findings"])
    assert not told["ready"]
    for expected in (
        "'address' may give",
        "'reading' may give",
        "1 of 60 rows have no location",
        "at 0, 0",
        "degrees",
    ):
        assert expected in words
    assert "'battery'" not in words
    table.assign(t="POINT (1 2)").to_csv(tmp_path / "shapes.csv", index=False)
    found = json.loads(run("check", "shapes.csv", "--json").out)["findings"]
    assert [line["remedy"] for line in found if "'t' may hold places itself" in line["what"]] == [
        "It is never released."
    ]
    assert [line["what"] for line in found if "released unchanged" in line["what"]] == [
        "These columns are released unchanged: time."
    ]
    assert "'zone' may give" in json.dumps(json.loads(run("check", "odd.csv", "--json").out))
    bad = run("check", "odd.csv", *LOCAL)
    assert bad.code == 3
    assert "Not ready yet." in bad.out
    assert run("check", "trips.csv", "--by", "nobody").code == 3


@pytest.mark.slow
def test_the_remedy_for_a_system_of_no_register_is_a_command(run: Any, tmp_path: Path) -> None:
    """It can be typed, and check says it once."""
    own = "+proj=laea +lat_0=37.7654 +lon_0=-122.4321 +datum=WGS84"
    people().to_crs(own).to_file(tmp_path / "own.gpkg")
    for command in (["check", "own.gpkg"], ["points", "own.gpkg", "-o", "o.gpkg", "--rho", "1e-4"]):
        done = run(*command, *LOCAL)
        words = " ".join((done.out + done.err).split())
        assert done.code == 3
        assert words.count("ogr2ogr -t_srs EPSG:4326 new.gpkg old.gpkg") == 1
        assert words.count("public register") == 1
        assert "to_crs" not in words


def test_what_check_says_of_columns_is_what_a_release_does(run: Any, tmp_path: Path) -> None:
    """Those it says are removed with --keep all are, and no others; the structure of GPX is released."""
    names = [
        "city",
        "zip_code",
        "plate",
        "platform",
        "calculated_total",
        "translation",
        "vocabulary",
        "paid",
        "user_id",
    ]
    table = pd.read_csv(tmp_path / "trips.csv")
    table.assign(**{name: [(7 * i) % 60 for i in range(60)] for name in names}).to_csv(tmp_path / "many.csv")
    found = json.loads(run("check", "many.csv", *LOCAL, "--json").out)["findings"]
    removed = {line["what"].split("'")[1] for line in found if "also with --keep all" in line["remedy"]}
    assert {"city", "zip_code", "address"} <= removed
    assert removed.isdisjoint({"plate", "platform", "calculated_total", "translation"})
    run("points", "many.csv", "-o", "out.csv", *LOCAL, "--rho", "1e-3", "--keep", "all")
    assert removed.isdisjoint(pd.read_csv(tmp_path / "out.csv").columns)
    assert {"plate", "platform"} <= {*pd.read_csv(tmp_path / "out.csv").columns}
    (persons,) = [line["what"] for line in found if "Columns that may tell" in line["what"]]
    assert "user_id" in persons
    assert not re.search("vocabulary|paid", persons)
    path, _ = make("trips.gpx", tmp_path)
    found = json.loads(run("check", path.name, *LOCAL, "--json").out)["findings"]
    (released,) = [line["what"] for line in found if "released unchanged" in line["what"]]
    assert {"kind", "track", "segment"} <= set(re.findall(r"\w+", released))
    assert not [line for line in found if "are removed" in line["what"] and "segment" in line["what"]]


def test_messages_are_sentences(run: Any, tmp_path: Path) -> None:
    """What is missing or read-only is said plainly, and no sentence ends twice."""
    assert "nothing.csv: file not found." in run("points", "nothing.csv", "-o", "o.csv", *LOCAL, "--rho", "1").err
    assert "?." not in run("--hlp").err
    (tmp_path / "empty").mkdir()
    assert "new_*.txt" in run("check", "empty", *LOCAL).err
    words = json.loads(run("hull", "trips.csv", *LOCAL, "--rho", "1e-4", "--json").out)["certificate"]["words"]
    assert words.startswith(
        "Anyone trying to tell apart two versions of a person's data in which no location differs by"
    )
    assert "at most 75% of the time" in words
    (tmp_path / "one.csv").write_text("user,lat,lon\nann,37.77,-122.42\n")
    said = " ".join(run("check", "one.csv", "--by", "user", *LOCAL).out.split())
    assert "1 row with a place, 1 point." in said
    assert "1 person with 1 row." in said
    assert "the columns 'lon' and 'lat'" in said
    refused = run("points", "trips.csv", "-o", "o.gpx", *LOCAL, "--rho", "1").err
    assert refused.count(".csv,") == 1


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
            kind.convert(text, None, None)
    else:
        assert kind.convert(text, None, None) == pytest.approx(meaning)


CRASHING = """
import os, sys
import geoveil as gv
from geoveil.cli import main
gv.Ledger.store = lambda ledger, charge, content: os._exit(9)
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_command_that_crashed_can_be_run_again(run: Any) -> None:
    """The second run is charged again, and its certificate verifies; the third gets the same answer for free."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    asked = ["hull", "trips.csv", *LOCAL, "--rho", "1e-4", "--ledger", "b.db", "--subject", "ann", "--label", "may"]
    assert subprocess.run([sys.executable, "-c", CRASHING, *asked], timeout=120, check=False).returncode == 9
    for name in ("once", "twice"):
        assert run(*asked, "-o", f"{name}.geojson").code == 0
        checked = run("budget", "verify", "b.db", f"{name}.geojson.certificate.json")
        assert "Whole: 4 entries" in checked.out
    (line,) = json.loads(run("budget", "show", "b.db", "--json").out)
    assert line["spent"] == "0.0002"


def test_stored_answers_are_forgotten(run: Any) -> None:
    """By id or by day; the label is then spent."""
    assert run("budget", "create", "b.db", "ann", "--rho", "1e-3").code == 0
    asked = ["hull", "trips.csv", *LOCAL, "--rho", "1e-4", "--ledger", "b.db", "--subject", "ann"]
    ids = []
    for label in ("may", "june"):
        answered = json.loads(run(*asked, "--label", label, "--json").out)
        ids.append(answered["certificate"]["id"])
    assert "1 answer deleted" in run("budget", "forget", "b.db", ids[0]).out
    refused = run(*asked, "--label", "may")
    assert (refused.code, "deleted" in refused.err) == (2, True)
    assert run("budget", "forget", "b.db", ids[0]).code == 2
    assert run("budget", "forget", "b.db").code == 2
    assert "0 answers deleted" in run("budget", "forget", "b.db", "--before", "2000-01-01").out
    assert "1 answer deleted" in run("budget", "forget", "b.db", "--before", "9000-01-01").out
    assert "Whole: 7 entries" in run("budget", "verify", "b.db").out


@pytest.mark.parametrize("question", ["points", "hull"])
def test_a_dry_run_looks_at_the_accounts(question: str, run: Any) -> None:
    """At those that would be charged, with --by too: who has none is refused, who has too little is told."""
    asked = [question, "trips.csv", *LOCAL, "--rho", "1e-4", "--dry-run", "--ledger", "b.db"]
    run("budget", "create", "b.db", "u0", "u1", "--rho", "1e-3")
    assert run(*asked).code == 2
    assert "u2" in run(*asked, "--by", "user").err
    run("budget", "create", "b.db", "u2", "--rho", "1e-5")
    assert "at least 0.00001 left; too little for 1 of them" in " ".join(run(*asked, "--by", "user").out.split())
    told = json.loads(run(*asked, "--by", "user", "--json").out)
    assert (told["remaining"], told["too_little"]) == ("0.00001", ["u2"])
    assert "u2 has 0.00001 left, which is too little" in run(*asked, "--subject", "u2").out
    assert json.loads(run(*asked, "--subject", "u0", "--json").out)["too_little"] == []
    with gv.Ledger("b.db") as ledger:
        assert ledger.spent("u0") == 0


def test_a_statement_fits_into_a_terminal(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line for each event, also with amounts of many digits; --json has all of them."""
    monkeypatch.setenv("COLUMNS", "80")
    run("budget", "create", "b.db", "ann", "--rho", "1e-3")
    with gv.Ledger("b.db") as ledger:
        ledger.charge(["ann"], gv.CGP(rho="0.0001234567890123456789012345678901234"), query="radius_of_gyration")
    lines = run("budget", "statement", "b.db", "ann").out.splitlines()
    (line,) = [line.strip() for line in lines if "charge" in line]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d +charge +radius_of_gyration +0\.000123457", line)
    assert "could be told apart at most 75% of the time" in " ".join(" ".join(lines).split())
    (_, event) = json.loads(run("budget", "statement", "b.db", "ann", "--json").out)
    assert event["amount"] == "0.0001234567890123456789012345678901234"
