"""Files beside a release that programs read together with it: none changes a release that is verified."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

import geoveil as gv
from geoveil.errors import FileUnavailable, InvalidFile
from geoveil.geo.formats.side_files import side_files
from tests.formats import BAY, people
from tests.systems import POSIX

#: A released file, and a file beside it that programs read.
READ = [
    *(("out.gpkg", f"out.gpkg{ending}") for ending in ("-journal", "-wal", "-shm", ".aux.xml")),
    *(("out.shp", f"out{ending}") for ending in (".qix", ".qpj", ".sbn", ".sbx", ".idm", ".dbt", ".user.atx", ".DBF")),
    *(("out.csv", f"out{ending}") for ending in (".csvt", ".prj", ".csv.aux.xml")),
    *(
        ("out.tif", f"out{ending}")
        for ending in (".tif.aux.xml", ".tif.ovr", ".tif.msk", ".tfw", ".TFW", ".wld", ".tab", ".tif.vat.dbf")
    ),
    ("out.tif", "out_rpc.txt"),
]


def release(path: Path) -> Path:
    """A release in the format of a path."""
    if path.suffix == ".tif":
        return gv.Locations(people(), person="user", area=BAY).heatmap(5000, rho=1e-4).to_file(path)
    return gv.Locations(people(), person="user", area=BAY).points(rho=1e-4).to_file(path)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of rasterio
@pytest.mark.parametrize(("name", "beside"), READ)
def test_read_files_fail(name: str, beside: str, tmp_path: Path) -> None:
    """A file that programs read together with the released one, and that was not released, fails the verification."""
    path = release(tmp_path / name)
    assert gv.verify(path)
    (tmp_path / beside).write_bytes(b"crafted")
    found = gv.verify(path)
    assert found.outcome == "fails"
    assert beside in str(found.checks[1].text)


@pytest.mark.parametrize(
    ("name", "beside"), [("out.gpkg", "out.qml"), ("out.shp", "out.shp.xml"), ("out.csv", "out.sld")]
)
def test_styles_are_named(name: str, beside: str, tmp_path: Path) -> None:
    """A style beside a release is named by its verification, which holds."""
    path = release(tmp_path / name)
    (tmp_path / beside).write_text("<qgis/>")
    found = gv.verify(path)
    assert found
    assert beside in str(found.checks[1].text)


def test_other_data_is_ignored(tmp_path: Path) -> None:
    """Files of other data beside a release, such as its source, do not concern its verification."""
    path = release(tmp_path / "out.geojson")
    for name in ("out.csv", "out.prj", "out.geojson.bak", "out.shp", "outer.gpkg-journal"):
        (tmp_path / name).write_text("x")
    found = gv.verify(path)
    assert found
    assert str(found.checks[1].text) == "It is the file that was released with this certificate."


def test_journals_change_nothing(tmp_path: Path) -> None:
    """A log of SQLite that replaces every row is found before the GeoPackage is opened and changed by it."""
    path = release(tmp_path / "out.gpkg")
    forged = tmp_path / "forged.gpkg"
    shutil.copy(path, forged)
    with sqlite3.connect(forged) as store:
        store.execute("PRAGMA journal_mode = WAL")
        for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            store.execute(f'DROP TRIGGER "{name}"')
        store.execute("UPDATE out SET user = 'mallory'")
        store.commit()
        shutil.copy(f"{forged}-wal", f"{path}-wal")
    store.close()
    before = path.read_bytes()
    assert not gv.verify(path)
    with pytest.raises(InvalidFile, match=r"out\.gpkg-wal"):
        gv.load(path)
    assert path.read_bytes() == before


@POSIX
def test_links_are_followed(tmp_path: Path) -> None:
    """A journal beside the file that a link leads to fails the verification: SQLite looks for it there."""
    (tmp_path / "real").mkdir()
    path = release(tmp_path / "real" / "out.gpkg")
    link = tmp_path / "out.gpkg"
    link.symlink_to(path)
    certificate = path.with_name("out.gpkg.certificate.json")
    assert gv.verify(link, certificate=certificate)
    (tmp_path / "real" / "out.gpkg-journal").write_bytes(b"crafted")
    assert not gv.verify(link, certificate=certificate)


def test_files_in_folders_fail(tmp_path: Path) -> None:
    """A file in a released folder that its digest does not cover fails the verification."""
    taxis = tmp_path / "taxis"
    taxis.mkdir()
    (taxis / "new_a.txt").write_text("37.78 -122.41 0 1213084687\n")
    gv.Locations(taxis, person="cab", area=BAY).points(to=tmp_path / "out", rho=1e-4)
    assert gv.verify(tmp_path / "out")
    (tmp_path / "out" / "_metadata").write_bytes(b"crafted")
    assert not gv.verify(tmp_path / "out")


def test_targets_among_other_data(tmp_path: Path) -> None:
    """A target that programs would read together with a file of other data is refused, which stays."""
    (tmp_path / "out.prj").write_text("of a shapefile")
    with pytest.raises(FileUnavailable, match=r"would read out\.prj together with it"):
        gv.Locations(people(), person="user", area=BAY).points(rho=1e-4).to_file(tmp_path / "out.csv", overwrite=True)
    assert (tmp_path / "out.prj").read_text() == "of a shapefile"


def test_shapefile_beside_release(tmp_path: Path) -> None:
    """A shapefile whose .prj file programs would read with a released table is refused; another name works."""
    release = gv.Locations(people(), area=BAY).points(rho=1e-4)
    table = release.to_file(tmp_path / "rel.csv")
    with pytest.raises(FileUnavailable, match=r"rel\.csv, which was released"):
        release.to_file(tmp_path / "rel.shp")
    assert gv.verify(table)
    assert gv.verify(release.to_file(tmp_path / "rel2.shp"))
    (tmp_path / "true.csv").write_text("not released")
    assert gv.verify(release.to_file(tmp_path / "true.shp"))


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of a Shapefile are its own, and nothing is named twice, however the path is given."""
    monkeypatch.chdir(tmp_path)
    gv.Locations(people(), person="user", area=BAY).points(rho=1e-4, to="out.shp")
    assert gv.verify("out.shp").holds
    assert gv.load("out.shp").n == 60
    gv.Locations(people(), person="user", area=BAY).points(rho=1e-4, to="out.gpkg")
    (tmp_path / "out.gpkg-wal").write_bytes(b"x")
    assert [file.name for file in side_files(Path("out.gpkg")).read] == ["out.gpkg-wal"]
