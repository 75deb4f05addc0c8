"""Files that are dropped on the studio: odd names, the parts of a shapefile, folders, and what is no file."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from geoveil.errors import GeoveilError
from geoveil.studio import server
from geoveil.studio.received_files import Parcel, ReceivedName
from geoveil.studio.server import Studio
from tests.formats import people
from tests.studio.driving import Answered, asked

pytestmark = pytest.mark.slow

ROWS = "user,lat,lon\nann,37.78,-122.41\nbob,37.76,-122.45\n"
#: A file of the Geolife data.
TRACK = """Geolife trajectory
WGS 84
Altitude is in Feet
Reserved 3
0,2,255,My Track,0,0,2,8421376
0
39.98,116.31,0,492,39744.1,2008-10-23,02:53:04
39.99,116.32,0,492,39744.2,2008-10-23,02:54:04
"""


def send(studio: Studio, query: str, content: bytes = ROWS.encode()) -> Answered:
    """Send a file to the studio, as its pages do."""
    own = {"Origin": f"http://{urlsplit(studio.address).netloc}"}
    return asked(studio.address, f"upload?{query}", method="POST", body=content, headers=own)


#: Names that some system gives a file, and the name under which it is stored.
ODD = {
    "x" * 300 + ".csv": "x" * 176 + ".csv",
    "ö" * 255 + ".geojsonl.gz": "ö" * 84 + ".geojsonl.gz",
    "a." + "b" * 300: "a." + "b" * 178,
    "C:\\data\\may.csv": "may.csv",
    "../../escaped.csv": "escaped.csv",
    "may.csv. .": "may.csv",
    "nul.csv": "_nul.csv",
    "COM1": "_COM1",
    'a<b>:"c|d?.csv': "a_b___c_d_.csv",
    "-rf.csv": "-rf.csv",
    "旅行 🚲.csv": "旅行 🚲.csv",
    "e\u0301te\u0301.csv": "été.csv",
}


@pytest.mark.parametrize("given", ODD, ids=range(len(ODD)))
def test_odd_names(given: str, studio: Studio) -> None:
    """Names that a disk does not take are changed there, the ending of the format stays, and the file is opened."""
    assert ReceivedName(given).stored == ODD[given]
    answer = send(studio, f"as=data&name={quote(given, safe='')}")
    assert answer.status == 200, answer.body
    assert [path.name for path in studio.project.folder.rglob("*") if path.is_file()] == [ODD[given]]
    assert asked(studio.address, "data").status == 200


REFUSED = {
    "nul\0.csv": "The name of the file has a character that cannot be shown. Rename it first.",
    "line\nbreak.csv": "The name of the file has a character that cannot be shown.",
    "turned\u202evsc.csv": "The name of the file has a character that cannot be shown.",
    "": "The file has no name.",
    "..": "The file has no name.",
    " . ": "The file has no name.",
    ".hidden": ".hidden is a hidden file.",
}


@pytest.mark.parametrize("given", REFUSED, ids=range(len(REFUSED)))
def test_names_that_are_refused(given: str, studio: Studio) -> None:
    """A name that no file can have, or that passes for another, is refused in words, and nothing is kept."""
    answer = send(studio, f"as=data&name={quote(given, safe='')}")
    assert answer.status == 400
    assert answer.body.decode().startswith(REFUSED[given])
    assert not [path for path in studio.project.folder.rglob("*") if path.is_file()]
    assert studio.project.reading is None


def test_full_disk(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be kept is refused with the reason."""

    async def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(server, "_receive", full)
    answer = send(studio, "as=data&name=may.csv")
    assert (answer.status, answer.body) == (507, b"The file cannot be kept: No space left on device.\n")


def test_shapefile_parts(studio: Studio, tmp_path: Path) -> None:
    """A shapefile's parts that are sent together are opened as one file."""
    people().to_file(tmp_path / "trips.shp")
    for path in sorted(tmp_path.glob("trips.*")):
        answer = send(studio, f"as=data&parcel=1&name={path.name}", path.read_bytes())
        assert (answer.status, answer.body) == (200, b'{"next":null}')
    assert send(studio, "as=data&parcel=1", b"").status == 200
    job = studio.project.reading
    assert job is not None
    assert job.wait(60)
    assert job.problem is None
    assert studio.project.source_name == "trips.shp"
    assert len(studio.project.data.frame) == len(people())  # type: ignore[union-attr]


def test_a_folder(studio: Studio) -> None:
    """A folder that is sent file by file is read like a folder on disk."""
    for user in ("000", "001"):
        name = quote(f"Geolife/{user}/Trajectory/20081023025304.plt", safe="")
        assert send(studio, f"as=data&parcel=2&name={name}", TRACK.encode()).status == 200
    assert send(studio, "as=data&parcel=2", b"").status == 200
    job = studio.project.reading
    assert job is not None
    assert job.wait(60)
    assert job.problem is None
    assert studio.project.source_name == "Geolife"
    assert sorted({*studio.project.data.frame["user"]}) == ["000", "001"]  # type: ignore[union-attr]
    for path in studio.project.folder.rglob("*") if os.name == "posix" else ():
        assert path.stat().st_mode & 0o077 == 0, path


def test_unrelated_files_are_refused(tmp_path: Path) -> None:
    """Several files, a lonely part and an empty folder are refused with what to give instead."""

    def given(number: int, *names: str) -> str:
        folder = tmp_path / str(number)
        folder.mkdir()
        parcel = Parcel(folder)
        for name in names:
            parcel.place(name).touch()
        with pytest.raises(GeoveilError) as refused:
            parcel.whole()
        return str(refused.value)

    assert given(1, "a.csv", "b.csv") == (
        "2 files were given at once: a.csv, b.csv. "
        "Give one file, the parts of one shapefile, or the folder that holds them."
    )
    assert given(2, "a.shp", "a.prj").startswith("a.shp is one part of a shapefile; a.shx and a.dbf are missing.")
    assert given(3, "a.shp", "a.SHX").startswith("a.shp is one part of a shapefile; a.dbf is missing.")
    assert given(4) == "The folder holds no files. Choose another one."
    for bad in ("../a.csv", "a/../b.csv", "a/./b.csv", "/".join("abcdefghijklmnop")):
        with pytest.raises(GeoveilError):
            Parcel(tmp_path).place(bad)
    (tmp_path / "5").mkdir()
    twice = Parcel(tmp_path / "5")
    twice.place("a.csv")
    with pytest.raises(GeoveilError, match="Two files are called"):
        twice.place("a.csv")


def test_regions_that_are_none(studio: Studio) -> None:
    """A file of regions that cannot be read is refused on its page, which can still be opened."""
    studio.project.choices.question = "counts"
    assert send(studio, "as=regions&name=regions.geojson", b"nothing").status == 200
    assert asked(studio.address, "question").status == 200
