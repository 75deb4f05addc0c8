"""Files: what goes in comes out in the same format, with other places and nothing else that was true."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import geopandas
import gpxpy
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

import geoveil as gv
from geoveil.answering import person_counts, streaming
from geoveil.errors import GeoveilWarning, InvalidCoordinateSystem, InvalidData, InvalidFile, InvalidParameter
from geoveil.geo.formats import csv as csv_files
from geoveil.geo.formats import gdal, location_file, parquet
from geoveil.geo.formats.workspace import workspace
from tests.cabspotting import folder as cabspotting_folder
from tests.cabspotting import requires_cabspotting
from tests.formats import BAY, FORMATS, IN_PLANE, SECRET, degrees_of, make, people, raw_bytes
from tests.questions import release_of, under_metric
from tests.systems import POSIX

EVERY_FORMAT = pytest.mark.parametrize("name", FORMATS)
#: Noise of less than a centimetre, so that released locations can be recognised.
FINE = 1e6


def released(folder: Path, name: str) -> Path:
    """Where the release of a file goes."""
    (folder / "out").mkdir(exist_ok=True)
    return folder / "out" / name


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in many batches, as large ones are."""
    for module in (location_file, gdal, parquet, streaming):
        monkeypatch.setattr(module, "ROWS", 7)
    monkeypatch.setattr(csv_files, "_BLOCK", 400)
    monkeypatch.setattr(person_counts, "_LABELS", 5)


@pytest.mark.slow
@EVERY_FORMAT
@pytest.mark.usefixtures("small_batches")
def test_files_keep_their_rows(name: str, tmp_path: Path) -> None:
    """Rows, their order, persons, times and the system stay; locations get noise, and other columns are removed."""
    path, told = make(name, tmp_path)
    target = released(tmp_path, name)
    release = release_of("points", path, to=target, rho=FINE, **told)
    reading = {"decimal": told["decimal"]} if "decimal" in told else {}
    before, after = gv.Locations(path, **reading).frame(), gv.Locations(target, **reading).frame()
    assert release.value == target
    assert after.crs == before.crs
    assert np.abs(degrees_of(after) - degrees_of(before)).max() < 1e-6
    assert (degrees_of(after) != degrees_of(before)).all()
    assert after[told["person"]].tolist() == before[told["person"]].tolist()
    assert after["time"].tolist() == before["time"].tolist()
    added = set() if name in ("trips.gpx", "cabs") else {"radius_95", "rho"}
    structure = {"trips.gpx": {"kind", "track", "segment"}, "cabs": {"occupied"}}.get(name, set())
    assert set(after.columns) == {told["person"], "time", "geometry"} | added | structure
    assert release.n == 60
    assert len(release.person) == 3


@pytest.mark.slow
@EVERY_FORMAT
def test_released_files_are_releases(name: str, tmp_path: Path) -> None:
    """`load` needs the released file and its certificate alone; guarantee, errors and persons are the same."""
    path, told = make(name, tmp_path)
    target = released(tmp_path, name)
    release = release_of("points", path, to=target, rho=5e-5, **told)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    loaded = gv.load(target)
    assert loaded.guarantee == release.guarantee
    assert loaded.id == release.id
    assert loaded.exact
    assert loaded.person.tolist() == release.person.tolist()
    assert loaded.error(0.05).tolist() == release.error(0.05).tolist()
    if "radius_95" in loaded.value:
        each = loaded.error(0.05, each=True)
        np.testing.assert_allclose(loaded.value["radius_95"], each[loaded.value["user"]], rtol=1e-9)
        assert (loaded.value["rho"] == 5e-5).all()
    inside = loaded.clamp(shapely.box(-122.6, 37.6, -122.3, 37.9))
    assert inside.value.geometry.within(shapely.box(-122.61, 37.59, -122.29, 37.91)).all()
    times = np.arange(len(loaded.value)) * 60.0
    assert loaded.smooth("car", times=times).guarantee == release.guarantee


def test_file_releases_are_processed(tmp_path: Path) -> None:
    """Processing a released file is processing its points, which are read from it."""
    path, told = make("trips.csv", tmp_path)
    release = release_of("points", path, to=tmp_path / "out.csv", rho=1e-4, **told)
    loaded = gv.load(release.value)
    grid = gv.Grid((-1e4, -1e4, 1e4, 1e4), cell=1000)
    steps: list[Any] = [
        lambda released: released.smooth("car", times=np.arange(60)).value.geometry,
        lambda released: released.clamp(shapely.box(-123, 37, -122, 38)).value.geometry,
        lambda released: released.remap(grid).value.geometry,
    ]
    for step in steps:
        assert step(release).geom_equals(step(loaded)).all()
    heat = release.density(grid).value
    assert heat.sum() > 0
    assert (heat == loaded.density(grid).value).all()


@EVERY_FORMAT
def test_nothing_true_leaks(name: str, tmp_path: Path) -> None:
    """No true coordinate, extent, altitude or unlisted column is in any byte of what is written."""
    truth = people()
    path, told = make(name, tmp_path, truth)
    # With a seed, so that no released number begins like a true one by chance.
    release_of("points", path, rng=np.random.default_rng(1), to=released(tmp_path, name), rho=1e-6, **told)
    written = raw_bytes(tmp_path / "out")
    inside = raw_bytes(path if path.is_dir() else tmp_path)
    assert len(written) >= 2
    numbers = degrees_of(truth)
    extremes = [*numbers.min(axis=0), *numbers.max(axis=0)]
    doubles = {struct.pack(order, v) for v in numbers.ravel() for order in ("<d", ">d")}
    texts = {f"{v:.7f}".encode() for v in [*numbers.ravel(), *extremes]}
    texts |= {text.replace(b".", b",") for text in texts} | {SECRET.encode(), SECRET.upper().encode()}
    found = [word for word in doubles | texts if any(word in data for data in inside.values())]
    assert len(found) >= 60  # the search finds what is in the source
    for file, data in written.items():
        for word in doubles | texts:
            assert word not in data, (file, word)


def test_extents_are_released_ones(tmp_path: Path) -> None:
    """Headers and indexes, read by other tools, hold nothing of the true extent."""
    truth = people()
    bounds = {}
    for name in ("trips.gpkg", "trips.shp", "wkb.parquet", "points.parquet", "trips.geojson"):
        path, told = make(name, tmp_path, truth)
        target = released(tmp_path, name)
        release_of("points", path, to=target, rho=1e-6, **told)
        bounds[name] = np.array(gv.load(target).value.total_bounds)
    out = tmp_path / "out"
    header = np.array(struct.unpack("<4d", (out / "trips.shp").read_bytes()[36:68]))
    np.testing.assert_allclose(header, bounds["trips.shp"])
    with sqlite3.connect(out / "trips.gpkg") as store:
        extent = store.execute("SELECT min_x, min_y, max_x, max_y FROM gpkg_contents").fetchone()
        index = store.execute("SELECT min(minx), min(miny), max(maxx), max(maxy) FROM rtree_trips_geom").fetchone()
    store.close()
    np.testing.assert_allclose(extent, bounds["trips.gpkg"])
    np.testing.assert_allclose(index, bounds["trips.gpkg"], rtol=1e-6)
    for name in ("wkb.parquet", "points.parquet"):
        metadata = pq.read_metadata(out / name)
        account = json.loads(metadata.metadata[b"geo"])["columns"]["geometry"]
        assert not {"bbox", "covering"} & set(account)
        assert set(metadata.metadata) <= {b"geo", b"ARROW:schema"}
        names = [metadata.schema.column(i).path for i in range(len(metadata.schema))]
        assert not [n for n in names if "bbox" in n or "address" in n]
    x = pq.read_metadata(out / "points.parquet").row_group(0).column(2).statistics
    assert x.min == pytest.approx(bounds["points.parquet"][0])
    assert "bbox" not in json.loads((out / "trips.geojson").read_text())


def test_altitudes_are_stripped(tmp_path: Path) -> None:
    """What geometries hold beside the plane does not come out, whatever the format."""
    frame = people()
    frame["geometry"] = shapely.force_3d(frame.geometry.array, z=4321.125)
    for name in ("trips.geojson", "trips.gpkg", "trips.shp", "wkb.parquet"):
        path, told = make(name, tmp_path, frame)
        release_of("points", path, to=released(tmp_path, name), rho=1e-6, **told)
        assert not geopandas.read_file(released(tmp_path, name)).has_z.any() if "parquet" not in name else True
    for data in raw_bytes(tmp_path / "out").values():
        assert struct.pack("<d", 4321.125) not in data
        assert b"4321.125" not in data


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_PLANE)
@pytest.mark.parametrize("system", [32610, 2227, 4269])
def test_files_keep_their_system(name: str, system: int, tmp_path: Path) -> None:
    """Files in other systems stay in them. Metres of UTM, feet of California, degrees of North America."""
    frame = people().to_crs(system)
    path, told = make(name, tmp_path, frame)
    release = release_of("points", path, to=released(tmp_path, name), rho=FINE, **told)
    after = geopandas.read_parquet(release.value) if "parquet" in name else geopandas.read_file(release.value)
    assert after.crs.equals(frame.crs) or after.crs.to_epsg() == system
    assert after.to_crs(32610).distance(people().to_crs(32610)).max() < 0.1
    assert gv.load(release.value).n == 60


@pytest.mark.parametrize("name", ["trips.geojson", "trips.gpkg", "wkb.parquet"])
def test_lines_by_vertex(name: str, tmp_path: Path) -> None:
    """A row that is a line is as many points of its person as it has vertices."""
    places = degrees_of(people())
    lines = [shapely.LineString(places[:20]), shapely.MultiPoint(places[20:50]), shapely.LineString(places[50:])]
    frame = geopandas.GeoDataFrame({"user": ["a", "a", "b"], "time": ["x"] * 3}, geometry=lines, crs=4326)
    path, told = make(name, tmp_path, frame)
    release = release_of("points", path, to=released(tmp_path, name), rho=FINE, **told)
    assert release.n == 60
    sizes = {label: answer.query.n for label, answer in zip(release.person, release.answers, strict=True)}
    assert sizes == {"a": 50, "b": 10}
    after = gv.Locations(release.value).frame()
    assert [g.geom_type for g in after.geometry] == ["LineString", "MultiPoint", "LineString"]
    assert np.abs(shapely.get_coordinates(after.geometry.array) - places).max() < 1e-6
    assert gv.load(release.value).n == 60


def truth_and_noise(folder: Path, **how: Any) -> tuple[Any, Any, Any]:
    """Persons with 1 to 400 points, and the metres of noise that a file of them got."""
    rng = np.random.default_rng(3)
    sizes = [np.ones(20, int), rng.integers(2, 100, 5), rng.integers(100, 400, 15)]
    whose = rng.permutation(np.repeat(np.arange(40), np.concatenate(sizes)))
    frame = people(n=len(whose)).to_crs(BAY.crs)
    frame["user"] = whose
    frame["address"] = "x"
    frame.to_parquet(folder / "in.parquet")
    release = release_of("points", folder / "in.parquet", person="user", to=folder / "out.parquet", **how)
    after = geopandas.read_parquet(folder / "out.parquet")
    moved = shapely.get_coordinates(after.geometry.array) - shapely.get_coordinates(frame.geometry.array)
    return whose, moved, release


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.usefixtures("small_batches")
@pytest.mark.filterwarnings("ignore:The points of a person share")
def test_noise_by_person(tmp_path: Path) -> None:
    """Every person has the noise of their own number of points.

    In any order over many batches: σ = √(n/(2ρ)); another σ would be noticed.
    """
    whose, moved, release = truth_and_noise(tmp_path, rho=5e-5)
    sizes = np.bincount(whose)
    sigma = np.sqrt(sizes / (2 * 5e-5)) * BAY.stretch
    np.testing.assert_allclose(release.scale.sort_index(), sigma, rtol=1e-6)
    for share in (moved / sigma[whose][:, None]).T:
        assert stats.kstest(share, "norm").pvalue > 1e-6
        assert stats.kstest(1.25 * share, "norm").pvalue < 1e-6
    crowded = sizes[whose] > sizes.mean()
    ratio = np.std(moved[crowded]) / np.std(moved[~crowded])
    assert ratio > 1.1


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.usefixtures("small_batches")
@pytest.mark.filterwarnings("ignore:Nearly everything would be lost")
def test_joint_noise_over_batches(tmp_path: Path) -> None:
    """Under GP the longest of a person's noises is Gamma(2n, 1/ε), though the person's rows are far apart."""
    whose, moved, _ = truth_and_noise(tmp_path, epsilon=0.01)
    sizes, longest = np.bincount(whose), np.zeros(40)
    np.maximum.at(longest, whose, np.hypot(*moved.T))
    longest *= 0.01 / BAY.stretch
    assert stats.kstest(stats.gamma.cdf(longest, 2 * sizes), "uniform").pvalue > 1e-6
    # Among many points the longest noise varies little. For one of 15 persons with 100 points 1.3 times its length is
    # below the quantile of 0.63 with a probability of 1e-3, and six of them must be for this not to be noticed.
    many = sizes >= 100
    assert many.sum() == 15
    assert stats.kstest(stats.gamma.cdf(1.3 * longest[many], 2 * sizes[many]), "uniform").pvalue < 1e-6


def test_generator_repeats_file(tmp_path: Path) -> None:
    """With a numpy generator, for experiments, the same file comes out again; without one never."""
    path, told = make("wkb.parquet", tmp_path)
    seeded = [
        release_of("points", path, rng=np.random.default_rng(1), to=tmp_path / f"{i}.parquet", rho=1e-4, **told)
        for i in range(2)
    ]
    drawn = [release_of("points", path, to=tmp_path / f"e{i}.parquet", rho=1e-4, **told) for i in range(2)]
    assert seeded[0].digest == seeded[1].digest
    assert not seeded[0].exact
    assert not gv.load(tmp_path / "0.parquet").exact
    assert drawn[0].digest != drawn[1].digest


def test_progress_is_told(tmp_path: Path) -> None:
    """Shares never fall, and end at 1."""
    path, told = make("trips.csv", tmp_path)
    shares: list[float] = []
    release_of("points", path, progress=shares.append, to=tmp_path / "out.csv", rho=1e-4, **told)
    assert shares == sorted(shares)
    assert 0 <= shares[0] < 1
    assert shares[-1] == 1


@EVERY_FORMAT
def test_interruptions_leave_nothing(name: str, tmp_path: Path) -> None:
    """An interrupted release leaves no file, and a file that existed before stays."""
    path, told = make(name, tmp_path)
    target = released(tmp_path, name)
    if not path.is_dir():
        target.write_text("older")

    def stop(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release_of("points", path, progress=stop, to=target, rho=1e-4, overwrite=True, **told)
    assert [p.name for p in (tmp_path / "out").iterdir()] == ([] if path.is_dir() else [name])
    assert path.is_dir() or target.read_text() == "older"


def _swapped(rows: list[str], at: int, other: int) -> list[str]:
    rows[at], rows[other] = rows[other], rows[at]
    return rows


def _with_persons_swapped(rows: list[str]) -> list[str]:
    (at, first), (other, second) = [next((i, r) for i, r in enumerate(rows) if r.startswith(u)) for u in ("u0", "u1")]
    rows[at], rows[other] = "u1" + first[2:], "u0" + second[2:]
    return rows


#: What may happen to the rows of a file between two readings.
CHANGES: dict[str, Any] = {
    "another row": lambda rows: [*rows, rows[-1]],
    "one row less": lambda rows: rows[:-1],
    "other coordinates": lambda rows: [*rows[:-1], rows[-1].replace("-122.", "-122.4", 1)],
    "another order": lambda rows: _swapped(rows, 3, 7),
    "other persons": _with_persons_swapped,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("budget", [{"rho": 1e-4}, {"epsilon": 0.01, "metric": "2"}], ids=["rho", "epsilon"])
def test_changing_files_are_refused(change: str, budget: dict[str, Any], tmp_path: Path) -> None:
    """A file that changes while it is read is refused, also if its time of change stays."""
    path, told = make("trips.csv", tmp_path)
    before = path.stat()
    header, *rows = path.read_text().splitlines()
    changed = CHANGES[change]([*rows])
    assert changed != rows

    def rewrite(share: float) -> None:
        path.write_text("\n".join([header, *changed]) + "\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(InvalidFile, match="unchanged while it is read"):
        release_of("points", path, progress=rewrite, to=tmp_path / "out.csv", **budget, **told)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["trips.csv"]


@pytest.mark.parametrize("name", ["trips.csv", "trips.shp", "cabs"])
def test_changing_columns_are_noticed(name: str, tmp_path: Path) -> None:
    """The file system tells that a part of it was written to: texts that are released unchanged, another taxi."""
    path, told = make(name, tmp_path)
    part = {"trips.shp": path.with_suffix(".dbf"), "cabs": path / "new_u1.txt"}.get(name, path)

    def rewrite(share: float) -> None:
        part.write_bytes(part.read_bytes())

    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(InvalidFile, match="unchanged while it is read"):
        release_of("points", path, progress=rewrite, to=tmp_path / f"out{path.suffix}", rho=1e-4, **told)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The points of a person share:geoveil.errors.GeoveilWarning")
@pytest.mark.parametrize("budget", [{"rho": 1e-4}, {"epsilon": 0.01, "metric": "2"}, {"epsilon": 0.01}], ids=str)
@pytest.mark.parametrize("short", [["u0"], ["u1"], ["u2"], ["u0", "u2"]], ids="-".join)
def test_any_person_is_skipped(short: list[str], budget: dict[str, Any], tmp_path: Path) -> None:
    """Whoever has too little budget, the first or the last; all others are released."""
    path, told = make("trips.csv", tmp_path)
    symbol = next(iter(budget))
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        for user in ("u0", "u1", "u2"):
            ledger.create(user, **under_metric({**budget, symbol: budget[symbol] / (2 if user in short else 1)}))
        release = release_of("points", path, ledger=ledger, short="skip", to=tmp_path / "out.csv", **budget, **told)
    assert release.removed.persons == tuple(sorted(short))
    assert set(gv.load(tmp_path / "out.csv").value["user"]) == {"u0", "u1", "u2"} - {*short}


def test_unreadable_columns_cost_nothing(tmp_path: Path) -> None:
    """With a ledger the first reading reads all that is to be released."""
    users = pa.array(["a", "b"])
    times = pa.array([b"2024", b"\xff\xfe"], pa.binary()).view(pa.string()).dictionary_encode()
    table = pa.table({"user": users, "lat": [37.7, 37.8], "lon": [-122.4, -122.4], "time": times})
    pq.write_table(table, tmp_path / "in.parquet")
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        for user in ("a", "b"):
            ledger.create(user, rho=1)
        with pytest.raises(InvalidFile, match=r"in\.parquet"):
            gv.Locations(tmp_path / "in.parquet", person="user", area=BAY).session(ledger=ledger).points(
                to=tmp_path / "out.parquet", rho=1e-4
            )
        assert [ledger.account(user).spent for user in ("a", "b")] == [0, 0]


def test_formulas_are_told(tmp_path: Path) -> None:
    """They are released unchanged; a warning and the certificate name their columns, also for the names themselves."""
    path = write(
        tmp_path / "in.csv",
        "user,lat,lon,note,phone,=1+1,speed\n"
        "a,37.7,-122.4,=HYPERLINK(0),+1 555 0100,x,-3.5e-2\n@b,37.7,-122.4,fine,-,y,+4\n",
    )
    with pytest.warns(GeoveilWarning, match="user, note, =1.1 as formulas"):
        release = gv.Locations(path, person="user", area=BAY).points(to=tmp_path / "out.csv", keep="all", rho=1e-4)
    assert release.certificate()["file"]["formulas"] == ["user", "note", "=1+1"]
    assert gv.load(tmp_path / "out.csv").value["note"].tolist() == ["=HYPERLINK(0)", "fine"]
    plain = gv.Locations(path, area=BAY).points(to=tmp_path / "plain.csv", rho=1e-4)
    assert "formulas" not in plain.certificate()["file"]


@POSIX
@pytest.mark.slow
def test_killed_runs_are_cleaned(tmp_path: Path) -> None:
    """Files of a killed run are removed by the next, but no file of a running one or of other programs."""
    path, told = make("trips.csv", tmp_path)
    (tmp_path / ".geoveil-analysis").mkdir()
    (tmp_path / ".geoveil-notmine_.aside").symlink_to(tmp_path / ".geoveil-analysis")
    code = (
        "import os, signal\nfrom pathlib import Path\nfrom geoveil.geo.formats.workspace import workspace\n"
        f"with workspace(Path({str(tmp_path)!r})) as folder:\n"
        "    (folder / 'half.csv').write_text('half')\n    print(folder.name, flush=True)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", f"{code}    os.kill(os.getpid(), signal.SIGKILL)"], capture_output=True, text=True
    )
    assert killed.returncode == -signal.SIGKILL
    with subprocess.Popen(
        [sys.executable, "-c", f"{code}    input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as alive:
        assert alive.stdout is not None
        running = alive.stdout.readline().strip()
        assert not (tmp_path / killed.stdout.strip()).exists()
        with workspace(tmp_path) as own:
            release_of("points", path, to=tmp_path / "out.csv", rho=1e-4, **told)
            assert own.is_dir()
        assert (tmp_path / running / "half.csv").read_text() == "half"
        alive.communicate("\n", timeout=60)
    left = {"trips.csv", "out.csv", "out.csv.certificate.json", ".geoveil-analysis", ".geoveil-notmine_.aside"}
    assert {p.name for p in tmp_path.iterdir()} == left


def test_placeless_rows(tmp_path: Path) -> None:
    """Rows without a place are refused or dropped and counted.

    In tables as empty fields, in geometries as nothing, an empty one or not a number.
    """
    frame = people()
    empty = [None, shapely.Point(), shapely.Point(np.nan, np.nan)]
    frame.geometry = [*empty, *frame.geometry.iloc[3:]]
    for name in ("trips.csv", "comma.csv", "plain.parquet", "trips.geojson", "trips.gpkg", "wkb.parquet"):
        path = tmp_path / name
        FORMATS[name](frame, path)
        reading: dict[str, Any] = {"decimal": ","} if name == "comma.csv" else {}
        told: dict[str, Any] = {"person": "user", "area": BAY, "rho": FINE, **reading}
        with pytest.raises(InvalidData, match=rf"^{name}, row 1 = .* 3 of 60 rows .*missing=\"drop\""):
            release_of("points", path, to=released(tmp_path, name), **told)
        release = release_of("points", path, missing="drop", to=released(tmp_path, name), **told)
        assert (release.n, release.removed.missing, release.certificate()["rows_removed"]["missing"]) == (57, 3, 3)
        assert "3 rows without a location" in repr(release)
        kept = gv.Locations(path, missing="drop", **reading).frame()
        assert gv.load(release.value).value["time"].tolist() == kept["time"].tolist()


@pytest.mark.slow
def test_kept_columns(tmp_path: Path) -> None:
    """Columns are kept by name or all together; boxes and other geometries never are; removed columns are named."""
    frame = people()
    frame["speed"] = 1.5
    frame["home"] = geopandas.GeoSeries(frame.geometry.array, crs=4326)
    path = tmp_path / "in.parquet"
    frame.to_parquet(path, write_covering_bbox=True)
    told: dict[str, Any] = {"person": "user", "area": BAY, "rho": 1e-4}
    columns = {}
    for keep in (None, ["speed"], "all"):
        release = release_of("points", path, to=tmp_path / "out.parquet", keep=keep, overwrite=True, **told)
        columns[str(keep)] = (pq.read_schema(tmp_path / "out.parquet").names, release.removed.columns)
    base = ["user", "time", "geometry", "radius_95", "rho"]
    assert columns["None"] == (base, ("address", "speed", "home", "bbox"))
    assert columns["['speed']"] == (
        ["user", "time", "geometry", "speed", "radius_95", "rho"],
        ("address", "home", "bbox"),
    )
    assert columns["all"][1] == ("address", "speed", "home", "bbox")
    for keep, match in ((["height"], "among"), (["home"], "without locations"), (["bbox"], "without locations")):
        with pytest.raises(InvalidParameter, match=match):
            release_of("points", path, to=tmp_path / "out.parquet", keep=keep, overwrite=True, **told)


def test_gpx_structure(tmp_path: Path) -> None:
    """Waypoints, routes, tracks and segments stay; altitude, names and extensions come out on purpose alone."""
    extension = '<extensions><d:hr xmlns:d="urn:device">61</d:hr></extensions>'
    path = tmp_path / "in.gpx"
    path.write_text(f"""<?xml version="1.0"?>
<gpx version="1.1" creator="watch" xmlns="http://www.topografix.com/GPX/1/1">
<metadata><bounds minlat="37.71" minlon="-122.44" maxlat="37.79" maxlon="-122.41"/></metadata>
<wpt lat="37.71" lon="-122.41"><ele>17.25</ele><name>Home &amp; garden</name></wpt>
<rte><name>Way</name><rtept lat="37.72" lon="-122.42"/><rtept lat="37.73" lon="-122.43"/></rte>
<trk><name>Ride</name><trkseg><trkpt lat="37.74" lon="-122.44"><time>2024-01-01T08:00:00Z</time>{extension}</trkpt>
</trkseg><trkseg><trkpt lat="37.75" lon="-122.44"><hdop>2.5</hdop></trkpt></trkseg></trk>
<trk><trkseg><trkpt lat="37.76" lon="-122.44"/></trkseg></trk></gpx>""")
    gv.Locations(path, area=BAY).points(to=tmp_path / "out.gpx", rho=FINE)
    bare = (tmp_path / "out.gpx").read_text()
    for word in ("17.25", "Home", "Way", "Ride", ">61<", "2.5<", "bounds", "watch"):
        assert word not in bare
    found = gpxpy.parse(bare)
    assert (len(found.waypoints), len(found.routes[0].points)) == (1, 2)
    assert [[len(s.points) for s in t.segments] for t in found.tracks] == [[1, 1], [1]]
    assert found.tracks[0].segments[1].points[0].latitude == pytest.approx(37.75, abs=1e-6)
    assert "2024-01-01T08:00:00Z" in bare
    gv.Locations(path, area=BAY).points(to=tmp_path / "all.gpx", rho=FINE, keep="all")
    kept = gpxpy.parse((tmp_path / "all.gpx").read_text())
    assert kept.waypoints[0].name == "Home & garden"
    assert kept.waypoints[0].elevation is None
    gv.Locations(path, area=BAY).points(to=tmp_path / "ele.gpx", rho=FINE, keep=["ele"])
    assert gpxpy.parse((tmp_path / "ele.gpx").read_text()).waypoints[0].elevation == 17.25
    assert kept.tracks[0].name == "Ride"
    assert kept.tracks[0].segments[0].points[0].extensions[0].text == "61"
    assert kept.bounds is None
    assert pyogrio.read_dataframe(tmp_path / "all.gpx", layer="track_points")["hdop"].tolist()[1] == 2.5


labels = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
fields = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), max_size=12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*as formulas", "ignore:.*may reveal locations")
@pytest.mark.parametrize("name", ["trips.csv", "comma.csv", "wkb.parquet", "trips.gpkg", "trips.geojson"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(labels, fields, st.floats(-122.8, -122.1), st.floats(37.5, 38.0)), min_size=1, max_size=12)
)
def test_any_label(name: str, tmp_path: Path, rows: list[Any]) -> None:
    """Any label and any text goes through. Quotation marks, separators, ends of lines and all letters."""
    users, texts, lon, lat = zip(*rows, strict=True)
    frame = geopandas.GeoDataFrame(
        {"user": users, "note": texts}, geometry=geopandas.points_from_xy(lon, lat), crs=4326
    )
    folder = tmp_path / "again"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path, told = make(name, folder, frame)
    release = release_of("points", path, to=folder / f"out-{name}", rho=FINE, keep=["note"], **told)
    after = gv.load(release.value).value
    assert after["user"].tolist() == [*users]
    assert ["" if pd.isna(t) else t for t in after["note"]] == [*texts]
    assert np.abs(degrees_of(after) - np.column_stack([lon, lat])).max() < 1e-6


def test_json_texts_stay(tmp_path: Path) -> None:
    """In GeoJSON files and in answers saved as such; a sequence of features, where they would not, is refused."""
    frame = people(4)
    frame["user"] = ["{}", "[1]", "{", "]"]
    path, told = make("trips.geojson", tmp_path, frame)
    release_of("points", path, to=tmp_path / "out.geojson", rho=FINE, **told)
    release_of("points", frame, rho=FINE, **told).to_file(tmp_path / "saved.geojson")
    for name in ("out.geojson", "saved.geojson"):
        features = json.loads((tmp_path / name).read_text())["features"]
        assert [feature["properties"]["user"] for feature in features] == frame["user"].tolist()
    lines = [json.dumps(feature) for feature in json.loads(path.read_text())["features"]]
    for text, few in (("{}", lines[:1]), (r"\[1\]", lines[1:2])):
        (tmp_path / "in.geojson").write_text("\n".join([*lines[2:], *few]))
        with pytest.raises(InvalidFile, match=rf"row 3, user = '{text}'.*not in braces"):
            release_of("points", tmp_path / "in.geojson", to=tmp_path / "seq.geojson", rho=FINE, **told)
    (tmp_path / "in.geojson").write_text("\n".join(lines[2:]))
    release_of("points", tmp_path / "in.geojson", to=tmp_path / "seq.geojson", rho=FINE, **told)
    assert gv.load(tmp_path / "seq.geojson").value["user"].tolist() == ["{", "]"]


def test_labels_are_compared(tmp_path: Path) -> None:
    """Zeros of either sign are one label; labels that differ by spaces or composition alone are refused."""
    lonely: dict[str, Any] = {"lon": [-122.4] * 4, "lat": [37.7] * 4}
    pq.write_table(pa.table({"user": [0.0, -0.0, 0.0, 1.0], **lonely}), tmp_path / "zero.parquet")
    release = gv.Locations(tmp_path / "zero.parquet", person="user", area=BAY).points(
        to=tmp_path / "o.parquet", rho=5e-5
    )
    assert [answer.query.n for answer in release.answers] == [3, 1]
    assert gv.load(release.value).scale.tolist() == release.scale.tolist()
    for labels in (["ann", "ann ", "bob", "b"], ["Jos\u00e9", "Jose\u0301", "a", "b"]):
        frame = geopandas.GeoDataFrame({"user": labels}, geometry=people(4).geometry.array, crs=4326)
        frame.to_parquet(tmp_path / "in.parquet")
        with pytest.raises(InvalidData, match=r"^user = .*do not look the same"):
            gv.Locations(tmp_path / "in.parquet", person="user", area=BAY).points(
                to=tmp_path / "out.parquet", rho=1e-4
            )
        with pytest.raises(InvalidData, match=r"^user = .*do not look the same"):
            gv.Locations(frame, person="user", area=BAY).mean(rho=1e-4)


@pytest.mark.parametrize("name", ["wkb.parquet", "plain.parquet", "trips.gpkg", "trips.geojson", "trips.shp"])
def test_nobodys_rows_are_refused(name: str, tmp_path: Path) -> None:
    """A missing label is not a person."""
    frame = people(5)
    frame.loc[3, "user"] = None
    path, told = make(name, tmp_path, frame)
    with pytest.raises(InvalidFile, match=rf"^{name}, row 4, user = None"):
        release_of("points", path, to=released(tmp_path, name), rho=1e-4, **told)


def test_labels_of_odd_types(tmp_path: Path) -> None:
    """Views of texts are texts; lists and binaries are no labels."""
    places: dict[str, Any] = {"lon": [-122.4] * 2, "lat": [37.7] * 2}
    pq.write_table(pa.table({"user": pa.array(["a", "b"], pa.string_view()), **places}), tmp_path / "view.parquet")
    assert (
        gv.Locations(tmp_path / "view.parquet", person="user", area=BAY).points(to=tmp_path / "o.parquet", rho=1e-4).n
        == 2
    )
    for name, odd in {"list": [[1], [2]], "binary": [b"a", b"b"]}.items():
        pq.write_table(pa.table({"user": odd, **places}), tmp_path / f"{name}.parquet")
        with pytest.raises(InvalidParameter, match=r"^person = 'user'"):
            gv.Locations(tmp_path / f"{name}.parquet", person="user", area=BAY).points(
                to=tmp_path / f"o-{name}.parquet", rho=1e-4
            )


def test_old_side_files_go(tmp_path: Path) -> None:
    """A journal that SQLite would play back into the new file, and other programs' indexes of the old one."""
    path, told = make("trips.gpkg", tmp_path)
    shutil.copy(path, tmp_path / "out.gpkg")
    (tmp_path / "out.gpkg-wal").write_bytes(b"old")
    release_of("points", path, to=tmp_path / "out.gpkg", rho=1e-4, overwrite=True, **told)
    assert not list(tmp_path.glob("out.gpkg-*"))
    path, told = make("trips.shp", tmp_path)
    for ending in (".sbn", ".qmd", ".shp.xml"):
        (tmp_path / f"out{ending}").write_bytes(b"old")
    release_of("points", path, to=tmp_path / "out.shp", rho=1e-4, overwrite=True, **told)
    found = {p.name for p in tmp_path.glob("out.*")}
    assert not {"out.sbn", "out.qmd", "out.shp.xml"} & found
    assert {"out.shp", "out.shx", "out.dbf", "out.prj"} <= found


def test_dropped_values_stay_behind(tmp_path: Path) -> None:
    """Values of dropped rows and remarks stay behind.

    Categories, metadata of columns and of coordinate systems, names of layers, and binaries that may be places.
    """
    frame = people(6)
    frame["user"] = pd.Categorical(frame["user"], categories=[*sorted(set(frame["user"])), SECRET])
    frame["kind"] = pd.Categorical(["x", SECRET, *"xxxx"])
    frame.loc[1, "geometry"] = None
    frame["blob"] = shapely.to_wkb(people(6).geometry.array)
    frame.drop(columns="address").to_parquet(tmp_path / "in.parquet", compression=None)
    table = pq.read_table(tmp_path / "in.parquet")
    account = json.loads(table.schema.metadata[b"geo"])
    account["columns"]["geometry"] |= {"orientation": SECRET, "epoch": [37.7], "note": SECRET}
    account["columns"]["geometry"]["crs"]["remarks"] = SECRET
    nested = pa.struct([pa.field("k", pa.int64(), metadata={"note": SECRET})])
    table = table.append_column("nested", pa.array([{"k": 1}] * 6, nested))
    pq.write_table(
        table.replace_schema_metadata({"geo": json.dumps(account)}), tmp_path / "in.parquet", compression="none"
    )
    how: dict[str, Any] = {"person": "user", "rho": 1e-4, "area": BAY, "missing": "drop"}
    release = release_of("points", tmp_path / "in.parquet", to=tmp_path / "out.parquet", keep="all", **how)
    assert release.removed.columns == ("blob", "nested")
    assert SECRET.encode() not in (tmp_path / "out.parquet").read_bytes()
    kept = release_of("points", frame, keep="all", **how).value
    assert SECRET not in [*kept["kind"].cat.categories, *kept["user"].cat.categories]
    path, told = make("trips.geojson", tmp_path)
    secret = path.rename(tmp_path / f"{SECRET}.geojson")
    release_of("points", secret, to=tmp_path / "out.geojson", rho=1e-4, **told)
    assert SECRET not in (tmp_path / "out.geojson").read_text()


def test_time_texts_stay(tmp_path: Path) -> None:
    """Times stay the texts they are. Times with zones, with fractions, or in a format that the user names."""
    times = [
        "2024-01-01T00:00:00+02:00",
        "2024-01-01T00:00:00.123456Z",
        "2024/01/01 00:00:00",
        "2024-01-01T00:00Z",
        "",
    ]
    frame = people(5)
    frame["time"] = times
    for name in ("trips.geojson", "trips.csv", "plain.parquet", "trips.gpkg"):
        path, told = make(name, tmp_path, frame)
        release_of("points", path, to=released(tmp_path, name), rho=1e-4, **told)
    out = tmp_path / "out"
    features = json.loads((out / "trips.geojson").read_text())["features"]
    assert [feature["properties"]["time"] for feature in features] == times
    assert pd.read_csv(out / "trips.csv", keep_default_na=False)["time"].tolist() == times
    frame["time"] = pd.to_datetime(["2024-05-01 12:00"] * 5).tz_localize("Europe/Berlin")
    path.unlink()
    path, told = make("trips.gpkg", tmp_path, frame)
    release_of("points", path, to=tmp_path / "zoned.gpkg", rho=1e-4, **told)
    with sqlite3.connect(tmp_path / "zoned.gpkg") as store:
        assert {t for (t,) in store.execute("SELECT time FROM zoned")} == {"2024-05-01T12:00:00+02:00"}
    store.close()
    assert (gv.Locations(tmp_path / "zoned.gpkg").frame()["time"] == frame["time"]).all()


@pytest.mark.filterwarnings("ignore:Nearly everything would be lost")
def test_tables_of_all_kinds(tmp_path: Path) -> None:
    """Marks at the beginning, two-byte encodings, blank lines, wide headers, letters at the edge of a block."""
    rows = "ann,37.78,-122.41\nbob,37.76,-122.45\n"
    wide = ",".join(f"a rather long name of a column, number {i}".replace(",", "") for i in range(3000))
    texts: dict[str, tuple[bytes, dict[str, Any]]] = {
        "mark.csv": (("\ufeffuser,lat,lon\n" + rows).encode(), {}),
        "named.csv": (("\ufeffuser,lat,lon\n" + rows).encode(), {"encoding": "utf8"}),
        "two.csv": (("user,lat,lon\n" + rows).encode("utf-16"), {"encoding": "utf-16"}),
        "blank.csv": (("\r\n\r\nuser,lat,lon\r\n" + rows).encode(), {}),
        "wide.csv": ((f"user,{wide},lat,lon\n" + "ann" + "," * 3001 + "37.7,-122.4\n").encode(), {}),
        "accents.csv": (("user,lat,lon\nx" + ("é" * 7 + ",37.78,-122.41\n") * 8000).encode(), {}),
        "quoted.csv": (('user,lat,lon,"a\nb"\n' + rows.replace("\n", ",1\n")).encode(), {}),
        "CAPITALS.CSV": (("USER,LAT,LON\n" + rows).encode(), {"person": "USER"}),
    }
    for name, (content, more) in texts.items():
        path = write(tmp_path / name, content)
        target = tmp_path / f"out-{name}"
        release = release_of("points", path, to=target, **{"person": "user", "rho": 1e-4, "area": BAY, **more})
        assert gv.load(target).person.tolist() == release.person.tolist()
        assert target.read_bytes().count("\ufeff".encode(more.get("encoding", "utf-8").replace("16", "16-le"))) <= 1


def test_errors_name_file_rows(tmp_path: Path) -> None:
    """Errors name the row of the file, also after dropped rows and for a vertex of a line."""
    path = write(tmp_path / "in.csv", "user,lat,lon\na,,\na,37.7,-122.4\na,10,10\n")
    with pytest.raises(InvalidData, match=r"^in\.csv, row 3 ="):
        gv.Locations(path, person="user", area=BAY, missing="drop").points(to=tmp_path / "out.csv", rho=1e-4)
    lines = [shapely.LineString([(-122.4, 37.7)] * 3), shapely.LineString([(-122.4, 37.7), (0, 0)])]
    geopandas.GeoDataFrame(geometry=lines, crs=4326).to_parquet(tmp_path / "lines.parquet")
    with pytest.raises(InvalidData, match=r"^lines\.parquet, row 2 ="):
        gv.Locations(tmp_path / "lines.parquet", area=BAY).points(to=tmp_path / "out.parquet", rho=1e-4)
    pq.write_table(pa.table({"lon": ["-122.4", "-122.4x"], "lat": ["37.7"] * 2}), tmp_path / "text.parquet")
    with pytest.raises(InvalidFile, match=r"^text\.parquet, row 2 = '-122\.4x'"):
        gv.Locations(tmp_path / "text.parquet", area=BAY).points(to=tmp_path / "out.parquet", rho=1e-4)


def test_geometry_column_stays(tmp_path: Path) -> None:
    """A column called geometry stays, and the locations get another name."""
    path = write(tmp_path / "in.csv", "user,lat,lon,geometry\na,37.7,-122.4,round\n")
    frame = gv.Locations(path).frame()
    assert (frame["geometry"][0], frame.geometry.name) == ("round", "place")


def test_cut_texts_are_refused(tmp_path: Path) -> None:
    """Texts that a shapefile would cut are refused. Two labels that become one would be one person."""
    frame = people(2)
    frame["user"] = ["é" * 120 + "1", "é" * 120 + "2"]
    frame.to_file(tmp_path / "in.shp", encoding="ISO-8859-1")
    assert gv.Locations(tmp_path / "in.shp", person="user", area=BAY).points(to=tmp_path / "ok.shp", rho=1e-4).n == 2
    frame["user"] = ["é" * 200 + "1", "é" * 200 + "2"]
    frame.to_file(tmp_path / "in.shp", encoding="ISO-8859-1")
    with pytest.raises(InvalidFile, match=r"in\.shp, row 1, user = .*at most 254 bytes"):
        gv.Locations(tmp_path / "in.shp", person="user", area=BAY).points(to=tmp_path / "out.shp", rho=1e-4)


def test_gpx_of_all_kinds(tmp_path: Path) -> None:
    """Foreign tags, points without a segment, links, older versions and odd names of spaces."""
    path = write(
        tmp_path / "in.gpx",
        '<gpx version="1.0" xmlns="urn:a?b=1&amp;c=2" xmlns:z="urn:z"><trk><trkpt lat="37.7" lon="-122.4"/>'
        '<trkseg><trkpt lat="37.7" lon="-122.4"><time>2024-01-01T00:00:00Z</time><z:time>home</z:time>'
        f'<link href="x"><text>{SECRET}</text></link><speed>3.5</speed></trkpt></trkseg></trk></gpx>',
    )
    release = gv.Locations(path, area=BAY).points(to=tmp_path / "out.gpx", rho=1e-4)
    text = (tmp_path / "out.gpx").read_text()
    assert release.n == 2
    assert {"link", "speed"} <= set(release.removed.columns)
    assert "<time>2024-01-01T00:00:00Z</time>" in text
    assert "home" not in text
    assert gv.load(tmp_path / "out.gpx").n == 2
    gv.Locations(path, area=BAY).points(to=tmp_path / "kept.gpx", rho=1e-4, keep="all")
    assert f'<link href="x"><text>{SECRET}</text></link>' in (tmp_path / "kept.gpx").read_text()


def test_stated_systems_are_kept(tmp_path: Path) -> None:
    """A system is stated where the file states none."""
    for name in ("trips.gpkg", "wkb.parquet"):
        path, told = make(name, tmp_path)
        for system in (32610, "EPSG:999999"):
            with pytest.raises(InvalidParameter, match=r"^crs = "):
                release_of("points", path, crs=system, to=released(tmp_path, name), rho=1e-4, **told)
        assert release_of("points", path, crs=4326, to=released(tmp_path, name), rho=1e-4, **told).n == 60


def write(path: Path, text: str | bytes) -> Path:
    """A file with this content."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


GPX = '<gpx xmlns="http://www.topografix.com/GPX/1/1"><wpt lat="37.7" lon="-122.4">{}</gpx>'
MALFORMED: dict[str, tuple[str | bytes, str]] = {
    "text.csv": ("user,lat,lon\na,37.7,-122.4\na,north,-122.4\n", r"^text\.csv, row 2 = 'north': must be a number"),
    "comma.csv": ('user,lat,lon\na,"37,700","-122,400"\n', r"^comma\.csv, row 1 = '-122,400'.*decimal=\",\""),
    "swapped.csv": ("user,lat,lon\na,-122.4,37.7\n", r"^swapped\.csv, row 1 = .*swapped"),
    "far.csv": ("user,lat,lon\na,37.7,-122.4\na,37.7,400\n", r"^far\.csv, row 2 = \[400\.0, 37\.7\].*-180 to 360"),
    "outside.csv": ("user,lat,lon\na,37.7,-122.4\na,47.7,-122.4\n", r"^outside\.csv, row 2 = .*inside the area"),
    "short.csv": ("user,lat,lon\na,37.7,-122.4\na,37.7\n", r"short\.csv = .*(Row #3|row).*delimiter"),
    "nowhere.csv": ("user,left,up\na,1,2\n", r"nowhere\.csv = .*columns with coordinates.*lat=.*lon="),
    "unknown.csv": ("user,east,north\na,1,2\n", r"^crs = None.*columns east and north\..*crs=4326"),
    "several.csv": (
        "user,home_lat,home_lon,work_lat,work_lon\na,1,2,3,4\n",
        r'several\.csv = .*Give lat="home_lat" lon="home_lon", or lat="work_lat" lon="work_lon"\.$',
    ),
    "twice.csv": ("user,lat,lon,lat\na,1,2,3\n", r"twice\.csv = \['lat'\].*different names"),
    "nobody.csv": ("user,lat,lon\na,37.7,-122.4\n,37.7,-122.4\n", r"^nobody\.csv, row 2, user = None.*label"),
    "header.csv": ("user,lat,lon\n", r"header\.csv = .*at least one location"),
    "empty.csv": ("", r"empty\.csv = .*The file is empty"),
    "latin.csv": ("user,lat,lon\nJosé,37.7,-122.4\n".encode("latin-1"), r"latin\.csv = .*encoding"),
    "empty.parquet": ("", r"empty\.parquet = .*The file is empty"),
    "other.parquet": ("user,lat,lon\n", r"other\.parquet = .*not a Parquet file"),
    "broken.gpx": (GPX.format("<time>2024</tim></wpt>"), r"broken\.gpx = .*line 1, column \d+.*Correct it there"),
    "cut.gpx": (GPX.format("")[:-20], r"cut\.gpx = .*line 1"),
    "text.gpx": (GPX.format("</wpt>").replace("37.7", "north"), r"^text\.gpx, row 1 = 'north'.*a number"),
    "html.gpx": ("<html></html>", r"html\.gpx = 'a document'.*Save the table"),
    "none.gpx": (GPX.partition("<wpt")[0] + "</gpx>", r"none\.gpx = 0.*at least one"),
    "broken.geojson": ('{"type": "FeatureCollection", "features": [{"ty', r"broken\.geojson = .*GeoJSON"),
    "area.geojson": (
        '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"user": "a"}, "geometry": '
        '{"type": "Polygon", "coordinates": [[[-122.4, 37.7], [-122.3, 37.7], [-122.3, 37.8], [-122.4, 37.7]]]}}]}',
        r"^area\.geojson, row 1 = .*a Point, a LineString, or several of them",
    ),
    "other.gpkg": ("not a database", r"other\.gpkg = .*GPKG"),
    "places.xyz": ("a", r"places\.xyz = '\.xyz'.*ends in one of \.csv.*\.geojson"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_refused(name: str, tmp_path: Path) -> None:
    """Malformed files are refused by name, row and remedy.

    Nothing is written, and the error is one of the library's.
    """
    content, message = MALFORMED[name]
    path = write(tmp_path / name, content)
    with pytest.raises((InvalidData, InvalidParameter)) as refused:
        gv.Locations(path, person=None if "gpx" in name else "user", area=BAY).points(
            to=tmp_path / f"out{path.suffix}", rho=1e-4
        )
    assert re.search(message, str(refused.value), re.DOTALL), str(refused.value)
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["wkb.parquet", "trips.gpkg", "trips.geojson", "trips.csv.gz", "trips.shp"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_truncated_files_are_refused(name: str, share: float, tmp_path: Path) -> None:
    """A truncated file gives an error that names it, and nothing is written."""
    path, told = make(name, tmp_path, people(n=3000))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(InvalidData, match=path.stem):
        release_of("points", path, to=tmp_path / f"out-{name}", rho=1e-4, **told)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_unusable_paths_are_refused(tmp_path: Path) -> None:
    """Paths that cannot be used are refused.

    No file, a folder of other things, the source as target, a folder that is not there, another format.
    """
    path, told = make("trips.csv", tmp_path)
    how: dict[str, Any] = {"rho": 1e-4, **told}
    with pytest.raises(InvalidFile, match="file not found"):
        release_of("points", tmp_path / "none.csv", to=tmp_path / "out.csv", **how)
    with pytest.raises(InvalidFile, match=r"a file of locations.*new_"):
        release_of("points", tmp_path, to=tmp_path / "out.csv", **how)
    with pytest.raises(InvalidParameter, match="a file other than the source"):
        release_of("points", path, to=tmp_path / "." / "trips.csv", **how)
    with pytest.raises(InvalidFile, match="Create the folder first"):
        release_of("points", path, to=tmp_path / "none" / "out.csv", **how)
    with pytest.raises(InvalidParameter, match=r"ends in \.csv"):
        release_of("points", path, to=tmp_path / "out.kml", **how)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidFile, match="an existing folder"):
        release_of("points", path, to=tmp_path / "folder.csv", **how)
    wrong = {"layer": "a", "person": "nobody", "lat": "northing", "decimal": "·", "missing": "maybe", "outside": "in"}
    for option, value in wrong.items():
        with pytest.raises(InvalidParameter, match=f"^{option} = "):
            release_of("points", path, to=tmp_path / "out.csv", **{**how, option: value})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.csv", "trips.csv"]


def test_degrees_need_a_plane(tmp_path: Path) -> None:
    """Degrees without a plane are refused with the remedy. The plane is never found by looking at the data."""
    path, _ = make("trips.geojson", tmp_path)
    with pytest.raises(InvalidCoordinateSystem, match=r"degrees are not metres.*gv\.local.*public knowledge"):
        gv.Locations(path, person="user").points(to=tmp_path / "out.geojson", rho=1e-4)


def test_unknown_systems_are_told(tmp_path: Path) -> None:
    """A file that does not know its system is told.

    Coordinates in columns that are no degrees, GeoParquet without a system, a shapefile without its .prj.
    """
    frame = people().to_crs(32610)
    table = pd.DataFrame({"user": frame.user, "e": frame.geometry.x, "n": frame.geometry.y})
    table.to_csv(tmp_path / "utm.csv", index=False)
    with pytest.raises(InvalidParameter, match=r"^crs = None"):
        gv.Locations(tmp_path / "utm.csv", lat="n", lon="e").frame()
    how: dict[str, Any] = {"lat": "n", "lon": "e", "crs": 32610, "person": "user"}
    release = release_of("points", tmp_path / "utm.csv", to=tmp_path / "out.csv", rho=FINE, **how)
    assert gv.load(release.value).value.distance(frame).max() < 1
    frame.to_file(tmp_path / "utm.shp")
    (tmp_path / "utm.prj").unlink()
    frame.set_crs(None, allow_override=True).to_parquet(tmp_path / "utm.parquet")
    for name, remedy in (("utm.shp", r"no degrees.*crs=32633"), ("utm.parquet", "crs")):
        with pytest.raises(InvalidFile, match=rf"states its coordinate system.*{remedy}"):
            gv.Locations(tmp_path / name).frame()
        target = tmp_path / f"out-{name}"
        gv.Locations(tmp_path / name, person="user", crs=32610).points(to=target, rho=FINE)
        assert gv.load(target).value.distance(frame).max() < 1


def test_changed_files_are_refused(tmp_path: Path) -> None:
    """`load` takes what was released, whole, and nothing else."""
    path, told = make("trips.csv", tmp_path)
    target = tmp_path / "out.csv"
    release_of("points", path, to=target, rho=1e-4, **told)
    beside = tmp_path / "out.csv.certificate.json"
    account = beside.read_text()
    with pytest.raises(InvalidFile, match="certificate not found"):
        gv.load(path)
    for broken in ("{", "{}", "[]", account.replace('"rho": "0.0001"', '"sigma": "1"')):
        beside.write_text(broken)
        with pytest.raises(InvalidFile, match="certificate"):
            gv.load(target)
    beside.write_text(account)
    target.write_text(target.read_text().replace("u1", "u2", 1))
    with pytest.raises(InvalidFile, match="was changed since the release"):
        gv.load(target)


def test_read_projects(tmp_path: Path) -> None:
    """A frame in the plane of an area needs no area= any more, and says what it stretches."""
    path, _ = make("trips.csv", tmp_path)
    frame = gv.Locations(path, area=BAY).frame()
    release = gv.Locations(frame, person="user").points(rho=1e-4)
    assert release.certificate()["area"] == BAY.certificate()
    assert np.abs(frame.total_bounds).max() < BAY.radius
    assert gv.Locations(path).frame().crs == 4326


@pytest.mark.slow
@requires_cabspotting
@pytest.mark.filterwarnings("ignore:Nearly everything would be lost")
@pytest.mark.deep
def test_cabspotting_folder(tmp_path: Path) -> None:
    """Real taxis, by taxi, in their published format; all but the places, and whether taxis are occupied, stays."""
    source = cabspotting_folder()
    assert source is not None
    area = gv.local(lat=37.77, lon=-122.42, radius=100_000)
    release = gv.Locations(source, person="cab", area=area, outside="clamp").points(to=tmp_path / "out", rho=5e-5)
    before, after = (np.loadtxt(folder / "new_abtyff.txt") for folder in (source, tmp_path / "out"))
    assert (before[:, 3] == after[:, 3]).all()
    assert np.isnan(after[:, 2]).all()
    assert not (before[:, :2] == after[:, :2]).any()
    away = shapely.distance(*(shapely.points(t[:, 1], t[:, 0]) for t in (before, after)))
    assert 0.05 < np.median(away) < 0.5  # 15 km
    assert len(release.person) == len(list(source.glob("new_*.txt")))


def test_nested_columns(tmp_path: Path) -> None:
    """Categories, numbers, dates and nested columns of Parquet keep their types."""
    frame = people()
    frame["user"] = frame["user"].astype("category")
    frame["time"] = pd.to_datetime(frame["time"])
    frame["n"] = np.arange(60, dtype="int16")
    frame.to_parquet(tmp_path / "in.parquet")
    gv.Locations(tmp_path / "in.parquet", person="user", area=BAY).points(
        to=tmp_path / "out.parquet", rho=1e-4, keep=["n"]
    )
    before, after = (pq.read_schema(tmp_path / name) for name in ("in.parquet", "out.parquet"))
    for name in ("user", "time", "n"):
        assert before.field(name).type == after.field(name).type
    assert pa.types.is_dictionary(after.field("user").type)
    assert gv.load(tmp_path / "out.parquet").n == 60


def test_rows_are_persons(tmp_path: Path) -> None:
    """Each row has a budget of its own; the released table numbers the rows, and is verified by these numbers."""
    frame = pd.DataFrame({"lat": np.linspace(37.7, 37.8, 20), "lon": np.linspace(-122.5, -122.4, 20), "note": "x"})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    release = gv.Locations(tmp_path / "rows.csv", person="row", area="San Francisco").points(
        hide=100, to=tmp_path / "released.csv"
    )
    assert release.person is not None
    assert len(release.person) == 20
    assert pd.read_csv(tmp_path / "released.csv")["row"].tolist() == [*range(1, 21)]
    alone = gv.Locations(frame[:1], area="San Francisco").points(hide=100)
    assert release.error().max() == alone.error()
    assert gv.verify(tmp_path / "released.csv").holds


def test_row_column_is_person() -> None:
    """Data that has such a column is not numbered anew."""
    frame = pd.DataFrame({"x": [5e5, 5.1e5, 5.2e5], "y": [4.18e6, 4.19e6, 4.2e6], "row": ["ann", "ann", "bob"]})
    release = gv.Locations(frame, lat="y", lon="x", crs=32610, person="row").points(rho=1e-4)
    assert release.person is not None
    assert release.person.tolist() == ["ann", "bob"]
