"""`geoveil points`: files, pipes, dry runs and columns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geoveil as gv
from tests.command_line import LOCAL, STATION, shell
from tests.formats import FORMATS, SECRET, make, people


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_points_of_every_format(form: str, run: Any, tmp_path: Path) -> None:
    """A file of any format goes in, one of the same format comes out with a certificate and without secrets."""
    source, how = make(form, tmp_path)
    target = tmp_path / f"out{''.join(source.suffixes)}"
    more = ["--decimal", ","] if "decimal" in how else []
    done = run("points", str(source), "-o", str(target), "--person", how["person"], *LOCAL, "--privacy", "low", *more)
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
        f"cat {source.name} | geoveil points - -o - --format {kind[1:]} --person {how['person']} {' '.join(LOCAL)} "
        f"--rho 1e-3 --certificate told.json > out{kind}"
    )
    done = shell(line, tmp_path)
    assert (done.code, done.out) == (0, "")
    (tmp_path / f"out{kind}.certificate.json").write_text((tmp_path / "told.json").read_text())
    account = json.loads((tmp_path / "told.json").read_text())
    assert account["file"]["name"] == f"stdout{kind}"
    assert gv.load(tmp_path / f"out{kind}").n == 60
    assert "60 points" in done.err


@pytest.mark.deep
@pytest.mark.slow
def test_odd_names(tmp_path: Path) -> None:
    """Files, columns and persons may be called as people call them."""
    frame = people().rename(columns={"user": "Größe und 名前"})
    frame["Größe und 名前"] = "Zoë [red] 🚕"
    frame.to_file(tmp_path / "mes trajets été 2026.geojson", driver="GeoJSON")
    done = shell(
        f"geoveil points 'mes trajets été 2026.geojson' -o 'veröffentlicht 1.geojson' --person 'Größe und 名前' "
        f"{' '.join(LOCAL)} --rho 1e-3 --report 'carte été.html' --keep 'Größe und 名前'",
        tmp_path,
    )
    assert done.code == 0, done.err
    assert gv.load(tmp_path / "veröffentlicht 1.geojson").person.tolist() == ["Zoë [red] 🚕"]
    assert "mes trajets été 2026.geojson" in (tmp_path / "carte été.html").read_text()
    done = shell(
        f"geoveil summary 'mes trajets été 2026.geojson' --person 'Größe und 名前' {' '.join(LOCAL)} --rho 1 "
        "--keep 'Größe und 名前'",
        tmp_path,
    )
    assert "Zoë [red]" in done.out


def test_smoothing_on_the_way(run: Any, tmp_path: Path) -> None:
    """With --smooth the file that comes out is smoothed, and no unsmoothed one is left."""
    done = run(
        "points", "trips.csv", "-o", "out.csv", "--person", "user", *LOCAL, "--rho", "1e-3", "--smooth", "walking"
    )
    assert done.code == 0, done.err
    assert "expected error" in done.out
    assert gv.load(tmp_path / "out.csv").processing.steps[0].startswith("smoothed")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "out.csv.certificate.json", "trips.csv"]


def test_dry_run_agrees(run: Any, tmp_path: Path) -> None:
    """The error foreseen is the one stated; nothing is written or charged."""
    asked = ["trips.csv", "--person", "user", *LOCAL, "--rho", "1e-3", "--json"]
    foreseen = json.loads(run("points", *asked, "--dry-run").out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trips.csv"]
    assert run("points", *asked, "-o", "out.csv").code == 0
    stated = gv.load(tmp_path / "out.csv").error(0.05)
    assert foreseen["error_95"] == pytest.approx({"smallest": stated.min(), "largest": stated.max()})
    assert (foreseen["points"], foreseen["persons"]) == (60, 3)


@pytest.mark.slow
def test_other_output_format(run: Any, tmp_path: Path) -> None:
    """CSV goes in, GeoPackage or GeoJSON comes out; the released CSV is not left."""
    for name in ("out.gpkg", "out.geojson"):
        done = run("points", "trips.csv", "-o", name, "--person", "user", *LOCAL, "--rho", "1e-3")
        assert done.code == 0, done.err
        assert "address (--keep" in done.out
        assert gv.load(tmp_path / name).person.tolist() == people()["user"].unique().tolist()
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".gpkg", ".geojson", ".json"}


@pytest.mark.slow
def test_dry_run_adds_distortion(run: Any, tmp_path: Path) -> None:
    """A dry run adds the distortion of the file's own system to the noise."""
    people().to_crs(32610).to_file(tmp_path / "utm.gpkg")
    foreseen = json.loads(run("points", "utm.gpkg", "--rho", "1e-4", "--dry-run", "--json").out)
    assert run("points", "utm.gpkg", "-o", "out.gpkg", "--rho", "1e-4").code == 0
    assert foreseen["error_95"]["largest"] == pytest.approx(gv.load(tmp_path / "out.gpkg").error(0.05))
    assert run("points", "trips.csv", "--rho", "1e-4", "--dry-run").code == 3


def test_columns_stay_behind(run: Any, tmp_path: Path) -> None:
    """Columns that may give locations away are named, and released only on request."""
    done = run("points", "trips.csv", "-o", "out.csv", "--person", "user", *LOCAL, "--rho", "1e-3")
    assert "address (--keep releases columns unchanged)" in done.out
    assert run("points", "trips.csv", "-o", "kept.csv", *LOCAL, "--rho", "1e-3", "--keep", "address").code == 0
    assert "address" not in pd.read_csv(tmp_path / "out.csv")
    assert "address" in pd.read_csv(tmp_path / "kept.csv")


def test_smooth_takes_released_files(run: Any, tmp_path: Path) -> None:
    """Files that were released can be improved; others are refused."""
    assert run("points", "trips.csv", "-o", "out.csv", "--person", "user", *LOCAL, "--rho", "1e-3", "-q").code == 0
    told = json.loads(run("smooth", "out.csv", "-o", "smooth.csv", "--motion", "car", "--json").out)
    assert told["certificate"]["processed"][0].startswith("smoothed")
    for chosen in ([], ["--cell", "2km"], ["--around", f"{STATION},10km"]):
        assert json.loads(run("density", "out.csv", *chosen, "--json").out)["counts"]
    heat = json.loads(run("density", "out.csv", "--cell", "2km", "--around", f"{STATION},10km", "--json").out)
    assert len(heat["counts"]) == 10
    assert 0 < sum(map(sum, heat["counts"])) <= 60.001
    refused = run("smooth", "trips.csv", "-o", "no.csv", "--motion", "car")
    assert refused.code == 3
    assert "certificate" in refused.err


@pytest.mark.slow
def test_report_with_truth(run: Any, tmp_path: Path) -> None:
    """With --with-truth there is a banner; without it, neither that nor a true place."""
    asked = ["points", "trips.csv", "-o", "out.csv", "--overwrite", "--person", "user", *LOCAL, "--rho", "1e-6", "-y"]
    assert run(*asked, "--report", "map.html").code == 0
    assert run(*asked, "--report", "own.html", "--with-truth").code == 0
    shared, own = ((tmp_path / name).read_text() for name in ("map.html", "own.html"))
    assert "must not be shared" in own
    assert "must not be shared" not in shared
    assert "true places" not in shared


@pytest.mark.slow
def test_pseudonym_report_names_nobody(run: Any, tmp_path: Path) -> None:
    """Accounts are named in a report of labels that are released, and not in one of pseudonyms or of a crowd."""
    names = {"u0": "Anne Secret", "u1": "Bruno Secret", "u2": "Chloe Secret"}
    frame = pd.read_csv(tmp_path / "trips.csv")
    frame.assign(user=frame["user"].map(names)).to_csv(tmp_path / "trips.csv", index=False)
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create(*names.values(), rho=1)
    points = ["points", "trips.csv", "--person", "user", *LOCAL, "--rho", "1e-3", "--ledger", "budget.db"]
    crowd = ["heatmap", "trips.csv", "--person", "user", *LOCAL, "--rho", "1e-3", "--ledger", "budget.db"]
    assert run(*points, "-o", "a.csv", "--report", "named.html").code == 0
    assert run(*points, "-o", "b.csv", "--pseudonyms", "--report", "pseudonyms.html").code == 0
    assert run(*crowd, "-o", "c.csv", "--cell", "20km", "--report", "crowd.html").code == 0
    assert "Anne Secret" in (tmp_path / "named.html").read_text(encoding="utf-8")
    for name in ("pseudonyms.html", "crowd.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "Secret" not in text
        assert "3 accounts" in text


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
def test_page_and_figure(run: Any, tmp_path: Path) -> None:
    """Both are drawn and named, the figure as wide as asked for; what goes with neither is refused."""
    asked = ["hull", "trips.csv", *LOCAL, "--rho", "0.25"]
    done = run(*asked, "--report", "map.html", "--figure", "map.svg", "--figure-width", "85")
    assert done.code == 0, done.err
    assert "map.html" in done.out
    assert "map.svg" in done.out
    assert re.search(r'width="240\.9\d*pt"', (tmp_path / "map.svg").read_text(encoding="utf-8"))  # 85 mm
    for wrong, said in (
        (["--figure", "map.html"], r"\.png, \.svg or \.pdf"),
        (["--figure-width", "85"], "--figure-width goes with --figure"),
        (["--basemap", "trips.csv"], "--basemap goes with --report or --figure"),
        (["--report", "x.html", "--basemap", "nowhere.gpkg"], "--basemap"),
    ):
        done = run(*asked, *wrong)
        assert done.code == 2, wrong
        assert re.search(said, done.err), done.err
    assert not (tmp_path / "x.html").exists()


def test_darwin_core_table(run: Any, tmp_path: Path) -> None:
    """The released points are written with the terms of Darwin Core as well, if these can hold for them."""
    asked = ["points", "trips.csv", "-o", "released.csv", *LOCAL, "--hide", "200m", "--yes"]
    for wrong, said in (
        (["--darwin-core", "register.gpkg"], r"--darwin-core.*ends in \.csv"),
        (["--darwin-core", "released.csv"], "both released.csv"),
        (["--darwin-core", "register.csv", "--smooth", "walking"], "leave --smooth out"),
    ):
        done = run(*asked, *wrong)
        assert done.code == 2, done.err
        assert re.search(said, done.err), done.err
    assert not (tmp_path / "released.csv").exists()
    done = run(*asked, "--darwin-core", "register.csv")
    assert done.code == 0, done.err
    assert "register.csv" in done.out
    register, released = (pd.read_csv(tmp_path / name) for name in ("register.csv", "released.csv"))
    assert register.decimalLatitude.to_numpy() == pytest.approx(released.latitude.to_numpy())
    assert (register.coordinateUncertaintyInMeters >= released.radius_95).all()
    assert register.dataGeneralizations.str.contains("200 m hidden").all()


def test_trips_are_released(run: Any, tmp_path: Path) -> None:
    """Origins and destinations need no option; one of them is named, and check says which columns are meant."""
    head = "user,pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude,tip"
    rows = ["ann,-122.41,37.78,-122.42,37.77,2", "bob,-122.43,37.76,-122.40,37.75,3"]
    (tmp_path / "taxi.csv").write_text("\n".join([head, *rows]))
    how = ["--person", "user", *LOCAL, "--rho", "1e-4"]
    assert run("points", "taxi.csv", "-o", "both.csv", *how).code == 0
    assert (tmp_path / "both.csv").read_text().splitlines()[0] == head.replace("tip", "radius_95,rho")
    named = ["--lat", "dropoff_latitude", "--lon", "dropoff_longitude"]
    assert run("points", "taxi.csv", "-o", "one.csv", *how, *named).code == 0
    first = (tmp_path / "one.csv").read_text().splitlines()[0]
    assert first == "user,dropoff_longitude,dropoff_latitude,radius_95,rho"
    two = ["--y", "pickup_latitude", "--y", "dropoff_latitude", "--x", "pickup_longitude", "--x", "dropoff_longitude"]
    assert run("points", "taxi.csv", "-o", "two.csv", *how, *two).code == 0
    assert "4 points" in run("check", "taxi.csv", "--person", "user", *LOCAL).out


def test_time_unit_is_stated(run: Any, tmp_path: Path) -> None:
    """Numbers in doubt are refused, and the option that the error names says what they count."""
    numbers = [30 * 86_400_000 + 60_000 * i for i in range(90)]
    pd.DataFrame({"t": numbers, "lat": 37.77, "lon": -122.42}).to_csv(tmp_path / "in.csv", index=False)
    how = [
        str(tmp_path / "in.csv"),
        "-o",
        str(tmp_path / "out.csv"),
        *LOCAL,
        "--rho",
        "1",
        "--protect",
        "1 hour",
        "--keep",
        "t",
    ]
    refused = run("points", *how, "--time", "t")
    assert refused.code != 0
    assert "--time 't [s]'" in " ".join(refused.err.split())
    assert run("points", *how, "--time", "t [ms]").code == 0
    assert json.loads((tmp_path / "out.csv.certificate.json").read_text())["times"] == ["t [ms]"]
    assert run("verify", str(tmp_path / "out.csv")).code == 0
