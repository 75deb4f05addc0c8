"""`geoveil zones`: one disc for a place whatever is run again, files whole or not at all, remedies that work."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import geoveil as gv
from geoveil.geo.recordings import gpx
from geoveil.zones import Centres
from tests import rides
from tests.worlds import HOME, commute

AT = f"{HOME[1]},{HOME[0]}"
HIDDEN = ["--at", AT, "--hide", "200m", "--centres", "centres.json"]
#: A place 60 m away from home.
NEAR = "{1},{0}".format(*rides.offset(*HOME, 0, 60))


@pytest.fixture
def ridden(run: Any, tmp_path: Path) -> Any:
    """Run commands in a folder with rides."""
    make(tmp_path / "rides", commute())
    return run


def make(folder: Path, world: Any, kind: str = "gpx") -> None:
    """Write rides into a new folder."""
    folder.mkdir()
    for name, ride in world:
        rides.make(kind, ride, folder, name)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a released folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_shared(ridden: Any, tmp_path: Path) -> None:
    """A folder goes in and a folder comes out, with a certificate that `verify` confirms; files are named anew."""
    done = ridden("zones", "rides", *HIDDEN, "-o", "shared/")
    assert done.code == 0, done.err
    assert "shared: 3 files, 3 pieces of" in done.out
    assert "200 m at 75%, inside 1 disc of radius 599 m alone" in done.out
    assert "For you only:" in done.out
    assert len(contents(tmp_path / "shared")) == 3
    assert not {path.name for path in (tmp_path / "rides").iterdir()} & set(contents(tmp_path / "shared"))
    checked = ridden("verify", "shared")
    assert (checked.code, "shared: as certified" in checked.out) == (0, True), checked.err
    certificate = json.loads((tmp_path / "shared.certificate.json").read_text())
    assert certificate["columns"] == ["time"]
    assert AT not in json.dumps(certificate)
    with next((tmp_path / "shared").iterdir()).open("a") as file:
        file.write(" ")
    assert ridden("verify", "shared").code == 1


def test_places_are_drawn_once(ridden: Any, tmp_path: Path) -> None:
    """A place is never drawn again.

    The next run, a housemate, and the place declared again nearby have the same disc; the file then stays.
    """
    assert ridden("zones", "rides", *HIDDEN, "-o", "first").code == 0
    for name, place in (("again", AT), ("near", NEAR)):
        assert ridden("zones", "rides", "--at", place, *HIDDEN[2:], "-o", name).code == 0
        assert contents(tmp_path / name) == contents(tmp_path / "first")
    before = (tmp_path / "centres.json").read_bytes()
    both = ridden("zones", "rides", "--at", NEAR, *HIDDEN, "-o", "both", "--json")
    assert [len(json.loads(both.out)["discs"]), (tmp_path / "centres.json").read_bytes()] == [1, before]
    assert contents(tmp_path / "both") == contents(tmp_path / "first")


def test_other_machines_need_centres(ridden: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine needs the file of centres.

    With a copy of the file, another machine draws nothing; discs and files are the same.
    """
    assert ridden("zones", "rides", *HIDDEN, "-o", "first").code == 0
    monkeypatch.setenv("GEOVEIL_CENTRES_BACKUP", str(tmp_path / "other" / "backups"))
    (tmp_path / "other").mkdir()
    shutil.copy2(tmp_path / "centres.json", tmp_path / "other" / "centres.json")
    done = ridden("zones", "rides", *HIDDEN[:4], "--centres", "other/centres.json", "-o", "second")
    assert done.code == 0, done.err
    assert contents(tmp_path / "second") == contents(tmp_path / "first")


def test_lost_file_is_told(ridden: Any, tmp_path: Path) -> None:
    """Before a second draw the owner is told where the copy is; copying it back gives the same disc."""
    assert ridden("zones", "rides", *HIDDEN, "-o", "first").code == 0
    backup = Centres(tmp_path / "centres.json").backup
    (tmp_path / "centres.json").unlink()
    told = ridden("zones", "rides", *HIDDEN, "-o", "second")
    assert told.code == 3
    assert f"Copy {backup} to centres.json" in told.err
    assert not (tmp_path / "second").exists()
    shutil.copy2(backup, tmp_path / "centres.json")
    assert ridden("zones", "rides", *HIDDEN, "-o", "second").code == 0
    assert contents(tmp_path / "second") == contents(tmp_path / "first")


def test_release_remembers_discs(ridden: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the file and its copy, the certificate of the release that is replaced stops a second draw."""
    assert ridden("zones", "rides", *HIDDEN, "-o", "shared").code == 0
    (tmp_path / "centres.json").unlink()
    monkeypatch.setenv("GEOVEIL_CENTRES_BACKUP", str(tmp_path / "empty"))
    told = ridden("zones", "rides", *HIDDEN, "-o", "shared", "--overwrite")
    assert told.code == 3
    assert "a second centre would tell more" in told.err


def test_same_disc_same_files(ridden: Any, tmp_path: Path) -> None:
    """The theorem through the command: with one centre, another home and other points around it change no byte."""
    assert ridden("zones", "rides", *HIDDEN, "-o", "one").code == 0
    make(tmp_path / "other", commute(3))
    assert ridden("zones", "other", "--at", NEAR, *HIDDEN[2:], "-o", "two").code == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_ledger_charges_place_once(ridden: Any, tmp_path: Path) -> None:
    """With ρ, the centre is charged when it is drawn; runs with the same disc cost nothing more."""
    ridden("budget", "create", "b.db", "ann", "--rho", "1e-3")
    asked = ["rides", "--at", AT, "--rho", "4e-4", "--centres", "centres.json", "--ledger", "b.db", "--subject", "ann"]
    spent = []
    for name in ("first", "second"):
        done = ridden("zones", *asked, "-o", name)
        assert done.code == 0, done.err
        with gv.Ledger("b.db") as ledger:
            spent.append(str(ledger.account("ann").spent))
    assert spent == ["0.0004", "0.0004"]
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    assert ridden("verify", "second", "--ledger", "b.db").code == 0
    more = ridden("zones", *asked, "--at", "46.95,7.44", "--yes", "-o", "third", "--json")
    assert more.code == 0, more.err
    assert len(json.loads(more.out)["discs"]) == 2
    # What is left is not enough for a third place.
    over = ridden("zones", *asked, "--at", "46.20,6.14", "--yes", "-o", "fourth")
    assert over.code == 4, over.err
    assert not (tmp_path / "fourth").exists()


def test_uniform_disc_needs_none(ridden: Any) -> None:
    """A uniform disc needs no ledger. A ledger adds up ρ: the refusal of --hide names --rho, which works."""
    ridden("budget", "create", "b.db", "ann", "--rho", "1e-3")
    more = ["--ledger", "b.db", "--subject", "ann", "-o", "shared"]
    told = ridden("zones", "rides", *HIDDEN, *more)
    assert told.code == 2
    assert "--rho" in told.err
    assert ridden("zones", "rides", "--at", AT, "--rho", "1e-4", "--centres", "c.json", *more).code == 0


def test_dry_run_keeps_nothing(ridden: Any, tmp_path: Path) -> None:
    """A dry run shows what would be left, and writes neither files nor a centre."""
    before = {path.name for path in tmp_path.iterdir()}
    done = ridden("zones", "rides", *HIDDEN, "-o", "shared", "--dry-run")
    assert (done.code, "Nothing was released or kept" in done.out) == (0, True)
    assert {path.name for path in tmp_path.iterdir()} == before


def test_folders_are_replaced_whole(ridden: Any, tmp_path: Path) -> None:
    """An existing folder needs --overwrite, and a file of one's own in it stops that."""
    assert ridden("zones", "rides", *HIDDEN, "-o", "shared").code == 0
    told = ridden("zones", "rides", *HIDDEN, "-o", "shared", "--keep", "ele")
    assert (told.code, "--overwrite" in told.err) == (3, True)
    assert ridden("zones", "rides", *HIDDEN, "-o", "shared", "--keep", "ele", "--overwrite").code == 0
    assert all(b"<ele>" in content for content in contents(tmp_path / "shared").values())
    mine = tmp_path / "shared" / "mine.gpx"
    mine.write_text("mine")
    told = ridden("zones", "rides", *HIDDEN, "-o", "shared", "--overwrite")
    assert (told.code, "Move your own files out" in told.err, mine.read_text()) == (3, True, "mine")
    mine.unlink()
    assert ridden("zones", "rides", *HIDDEN, "-o", "shared", "--overwrite").code == 0
    assert not any(b"<ele>" in content for content in contents(tmp_path / "shared").values())


def test_files_are_written_whole(ridden: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written whole or not at all.

    After a fault in the last file nothing is there, and the centre is kept for the next run.
    """
    write, count = gpx.GPXTracks.write, 0

    def failing(self: Any, path: Path, pieces: Any) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise OSError(28, "No space left on device")
        write(self, path, pieces)

    monkeypatch.setattr(gpx.GPXTracks, "write", failing)
    assert ridden("zones", "rides", *HIDDEN, "-o", "shared").code != 0
    left = {path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")}
    assert left == {"rides", "trips.csv", "centres.json"}
    monkeypatch.undo()


def test_one_file_is_shared(ridden: Any, tmp_path: Path) -> None:
    """A file may be named, in its own format; another format is refused with a name that works."""
    [first, *_] = sorted((tmp_path / "rides").iterdir())
    told = ridden("zones", str(first), *HIDDEN, "-o", "ride.fit")
    assert (told.code, "ride.gpx" in told.err) == (2, True)
    done = ridden("zones", str(first), *HIDDEN, "-o", "ride.gpx", "--keep", "hr")
    assert done.code == 0, done.err
    assert "ride.gpx: 1 piece of" in done.out
    assert "gpxtpx:hr" in (tmp_path / "ride.gpx").read_text()
    assert ridden("verify", "ride.gpx").code == 0


def test_same_names(ridden: Any, tmp_path: Path) -> None:
    """With --same-names files have the names of the originals; two of one name are refused."""
    assert ridden("zones", "rides", *HIDDEN, "-o", "shared", "--same-names").code == 0
    names = sorted(path.name for path in (tmp_path / "rides").iterdir())
    assert sorted(contents(tmp_path / "shared")) == names
    (tmp_path / "more").mkdir()
    shutil.copy(tmp_path / "rides" / names[0], tmp_path / "more" / names[0])
    told = ridden("zones", "rides", "more", *HIDDEN, "-o", "both", "--same-names")
    assert (told.code, "Leave --same-names out" in told.err) == (2, True)
    assert ridden("zones", "rides", "more", *HIDDEN, "-o", "both").code == 0


def test_centres_are_no_track(ridden: Any, tmp_path: Path) -> None:
    """Beside the rides it is passed over, as it is a table with the places; given as a track, it is refused."""
    asked = [*HIDDEN[2:4], "--centres", "rides/centres.json"]
    for target, places in (("both", [AT, "47.36,8.60"]), ("one", [AT])):
        done = ridden(
            "zones", "rides", *(f"--at={place}" for place in places), *asked, "-o", target, "--yes", "--json"
        )
        assert json.loads(done.out)["files"] == 3, done.err
    assert contents(tmp_path / "both") == contents(tmp_path / "one")
    shutil.copy(tmp_path / "rides" / "centres.json", tmp_path / "copy.json")
    told = ridden("zones", "copy.json", "--at", AT, *asked, "-o", "track/")
    assert (told.code, "Leave it out" in told.err) == (3, True)


def test_tracks_inside_are_refused(ridden: Any, tmp_path: Path) -> None:
    """If nothing is outside of the discs, that is said, and nothing is written."""
    make(tmp_path / "garden", [("walk", rides.straight(HOME, points=5, step=10.0))])
    told = ridden("zones", "garden", *HIDDEN, "-o", "shared")
    assert (told.code, "no point outside of the discs" in told.err) == (3, True)
    assert not (tmp_path / "shared").exists()


def test_places_from_a_file(ridden: Any, tmp_path: Path) -> None:
    """A file of places hides each of them."""
    (tmp_path / "places.csv").write_text(f"lat,lon\n{AT}\n47.36,8.60\n")
    done = ridden("zones", "rides", "--at", "places.csv", *HIDDEN[2:], "-o", "shared", "--yes", "--json")
    assert len(json.loads(done.out)["discs"]) == 2


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["zones", "rides", *HIDDEN[2:], "-o", "shared"], "--at 47.37,8.54"),
        (["zones", "rides", *HIDDEN], "-o"),
        (["zones", "rides", "--at", AT, "--hide", "200m", "-o", "shared"], "--centres"),
        (["zones", "rides", "--at", AT, "--centres", "c.json", "-o", "shared"], "--hide"),
        (["zones", "nowhere.gpx", *HIDDEN, "-o", "shared"], "file not found"),
        (["zones", "rides", *HIDDEN, "-o", "rides/shared"], "elsewhere"),
        (["zones", "rides", *HIDDEN, "-o", "shared.gpx"], "such as shared."),
        (["zones", "rides", *HIDDEN, "-o", "shared", "--keep", "speed"], "worked out from removed points"),
        (["zones", "rides", *HIDDEN, "-o", "shared", "--subject", "ann"], "--ledger"),
        (["zones", "rides", *HIDDEN, "-o", "centres.json"], "centres.json"),
    ],
)
def test_bad_requests_draw_nothing(ridden: Any, tmp_path: Path, asked: list[str], told: str) -> None:
    """What is missing or wrong is named before a centre is drawn."""
    done = ridden(*asked)
    assert done.code == (3 if told == "file not found" else 2), done.out
    assert told in done.err
    assert not (tmp_path / "centres.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell of Linux or macOS")
@pytest.mark.parametrize("kind", ["csv", "points-geojson", "tcx"])
def test_other_formats_are_shared(run: Any, tmp_path: Path, kind: str) -> None:
    """The command takes every format that tracks come in; tables need no area."""
    make(tmp_path / "tracks", commute(), kind)
    done = run("zones", "tracks", *HIDDEN, "-o", "shared")
    assert done.code == 0, done.err
    endings = {Path(name).suffix for name in contents(tmp_path / "shared")}
    assert endings == {f".{kind.rpartition('-')[2]}"}


def test_report_shows_discs(ridden: Any, tmp_path: Path) -> None:
    """The page has the published length, the discs and the promise; removed pieces are on the owner's page alone."""
    done = ridden("zones", "rides", *HIDDEN, "-o", "shared", "--report", "page.html")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    for told in (
        "1 (radius 599 m)",
        "3 pieces, ",
        "Nothing is published from inside a disc",
        'aria-label="Map of shared, discs',
    ):
        assert told in page
    assert "DO NOT SHARE" not in page
    assert AT not in page
    own = ridden("zones", "rides", *HIDDEN, "-o", "again", "--report", "own.html", "--with-truth")
    assert own.code == 0, own.err
    assert "Map of removed, shared, discs" in (tmp_path / "own.html").read_text()
    assert 'class="banner"' in (tmp_path / "own.html").read_text()
    if sys.platform != "win32":
        assert (tmp_path / "own.html").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_reports_are_pages(ridden: Any, tmp_path: Path) -> None:
    """Another ending is refused before a centre is drawn, with a name that works."""
    told = ridden("zones", "rides", *HIDDEN, "-o", "shared", "--report", "page.pdf")
    assert (told.code, "page.html" in told.err) == (2, True)
    assert not (tmp_path / "centres.json").exists()
    assert ridden("zones", "rides", *HIDDEN, "-o", "shared", "--report", "page.html").code == 0


@pytest.mark.slow
def test_dry_run_attacks(ridden: Any, tmp_path: Path) -> None:
    """The owner sees how near attacks come to each place; straight rides point at home."""
    done = ridden("zones", "rides", *HIDDEN, "-o", "shared", "--dry-run")
    assert done.code == 0, done.err
    assert "For you only: how near attacks come" in done.out
    assert "--shorten '200m'" in done.out
    [attempts] = json.loads(ridden("zones", "rides", *HIDDEN, "-o", "shared", "--dry-run", "--json").out)[
        "for_you_only"
    ]["attacks"]
    assert [each["shorten"] for each in attempts] == ["", "200m", "500m", "2 tracks", "5 tracks"]
    assert attempts[0]["ends"] >= 2
    assert attempts[0]["metres"]["lines"] < 5
    assert attempts[1]["length"] < attempts[0]["length"]


def test_dry_run_gives_remedies(ridden: Any, tmp_path: Path) -> None:
    """How near somebody comes with the owner's tracks, in a sentence; a remedy that it names is accepted."""
    said = " ".join(ridden("zones", "rides", *HIDDEN, "-o", "shared", "--dry-run").out.split())
    assert re.search(
        r"An attacker with the \d+ ends of your tracks at the disc and the roads that they show comes", said
    )
    assert "measured, and not promised" in said
    if "What helps: --shorten" in said:
        option = shlex.split(said.partition("What helps: --shorten ")[2].partition(" (")[0])
        assert ridden("zones", "rides", *HIDDEN, "-o", "shared", "--shorten", *option).code == 0


def test_places_are_proposed(ridden: Any, tmp_path: Path) -> None:
    """Without --at a dry run tells where tracks begin and end, and nothing is drawn; the place is accepted by --at."""
    asked = ["zones", "rides", *HIDDEN[2:], "-o", "shared"]
    told = ridden(*asked)
    assert (told.code, "--dry-run" in told.err) == (2, True)
    done = ridden(*asked, "--dry-run")
    assert done.code == 0, done.err
    assert "For you only: where your tracks begin and end" in done.out
    [home] = json.loads(ridden(*asked, "--dry-run", "--json").out)["for_you_only"]["proposed"]
    assert home["ends"] == 3
    place = f"{home['lat']:.5f},{home['lon']:.5f}"
    assert place in done.out
    assert not (tmp_path / "centres.json").exists()
    assert ridden(*asked, "--at", place).code == 0


def test_proposed_places_are_confirmed(ridden: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a terminal the owner is asked about each place, and for others; without a place nothing is released."""
    import click

    from geoveil.cli import terminal

    answers, prompts = [False], [""]
    monkeypatch.setattr(terminal, "interactive", lambda: True)
    monkeypatch.setattr(click, "confirm", lambda text, **more: answers.pop(0))
    monkeypatch.setattr(click, "prompt", lambda text, **more: prompts.pop(0))
    asked = ["zones", "rides", *HIDDEN[2:], "-o", "shared", "--quiet"]
    assert ridden(*asked).code == 2
    assert not (tmp_path / "centres.json").exists()
    answers, prompts = [True], ["home", "46.95,7.44", ""]
    done = ridden(*asked, "--yes")
    assert done.code == 0, done.err
    assert "a latitude and a longitude" in done.err
    assert len(Centres(tmp_path / "centres.json").known()) == 2


@pytest.mark.slow
def test_dry_run_hides_discs(ridden: Any, tmp_path: Path) -> None:
    """Centres that are drawn for one run each would average out: programs are told no centre, and nothing public."""
    asked = ["zones", "rides", *HIDDEN, "-o", "shared", "--json"]
    for _ in range(2):
        told = json.loads(ridden(*asked, "--dry-run").out)
        assert sorted(told) == ["for_you_only", "radii"]
        assert told["radii"] == [599]
        assert not {"discs", "lat", "lon"} & {*told["for_you_only"]}
    [disc] = json.loads(ridden(*asked).out)["discs"]
    assert sorted(disc) == ["lat", "lon", "radius"]


def test_swapped_place_is_refused(ridden: Any, tmp_path: Path) -> None:
    """Longitude before latitude would hide nothing; a place that no track enters is told about."""
    swapped = f"{HOME[0]},{HOME[1]}"
    told = ridden("zones", "rides", "--at", swapped, *HIDDEN[2:], "-o", "shared")
    assert (told.code, "the other way round" in told.err) == (2, True)
    assert swapped not in told.err
    assert not (tmp_path / "centres.json").exists()
    far = ["zones", "rides", "--at", "46.95,7.44", *HIDDEN[2:], "-o", "shared"]
    for more in ([], ["--dry-run"]):
        told = ridden(*far, *more)
        assert (told.code, "no point within" in " ".join(told.err.split()), "--yes" in told.err) == (2, True, True)
        assert "46.95" not in told.err
        assert not (tmp_path / "centres.json").exists()
        assert not (tmp_path / "shared").exists()
    done = ridden(*far, "--yes")
    assert (done.code, "No track enters a disc" in " ".join(done.out.split())) == (0, True)
    # A place that is known may be far from the rides of a holiday.
    assert ridden(*far, "--overwrite").code == 0
    right = ridden("zones", "rides", *HIDDEN, "-o", "again")
    assert (right.code, "No track enters a disc" in right.out) == (0, False)


@pytest.mark.parametrize("first", [["--hide", "200m"], ["--rho", "2e-5", "--margin", "300m"]])
def test_places_stay_hidden_alike(ridden: Any, tmp_path: Path, first: list[str]) -> None:
    """Another distance for a known place is refused; the options that the message names work."""
    asked = ["zones", "rides", "--at", AT, "--centres", "centres.json", "-o", "shared", "--overwrite"]
    assert ridden(*asked, *first).code == 0
    told = ridden(*asked, "--hide", "500m")
    assert (told.code, "--hide = '500 m'" in told.err) == (2, True)
    [named] = re.findall(r"Give (--\w+ \S+) and (--margin \d+):", told.err)
    assert ridden(*asked, *" ".join(named).split()).code == 0


def test_nearby_place(ridden: Any, tmp_path: Path) -> None:
    """A place 110 m away is refused; the options that the message names work."""
    nearby = "{1},{0}".format(*rides.offset(*HOME, 0, 110))
    assert ridden("zones", "rides", *HIDDEN, "-o", "first").code == 0
    asked = ["zones", "rides", "--at", nearby, *HIDDEN[2:]]
    told = ridden(*asked, "-o", "second")
    assert (told.code, "--near same" in told.err, "--near another" in told.err) == (2, True, True)
    assert nearby[:7] not in told.err
    assert ridden(*asked, "--near", "same", "-o", "second").code == 0
    far = "{1},{0}".format(*rides.offset(*HOME, 0, -290))
    assert ridden("zones", "rides", "--at", far, *HIDDEN[2:], "--near", "another", "-o", "third").code == 0
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    assert contents(tmp_path / "first") != contents(tmp_path / "third")


def test_attacker_with_a_map(ridden: Any, tmp_path: Path) -> None:
    """With a file of roads, attacks follow these; a file of points is refused, and so is a map without a dry run."""
    import geopandas
    import shapely

    streets = [shapely.LineString([rides.offset(*HOME, x, -900), rides.offset(*HOME, x, 900)]) for x in (-400, 0, 400)]
    geopandas.GeoSeries(streets, crs=4326).to_file(tmp_path / "streets.gpkg")
    asked = ["zones", "rides", *HIDDEN, "-o", "shared", "--dry-run", "--json"]
    assert ridden(*asked, "--roads", "streets.gpkg").code == 0
    geopandas.GeoSeries([shapely.Point(HOME)], crs=4326).to_file(tmp_path / "points.gpkg")
    told = ridden(*asked, "--roads", "points.gpkg")
    assert (told.code, "a map with lines" in told.err) == (3, True)
    assert ridden("zones", "rides", *HIDDEN, "-o", "shared", "--roads", "streets.gpkg").code == 2


def test_noise_outside(ridden: Any, tmp_path: Path) -> None:
    """Outside there is noise of any ρ, inside nothing; what is missing or does not fit is refused before a draw."""
    asked = ["zones", "rides", *HIDDEN, "-o", "shared"]
    for more, told in (
        (["--noise", "1"], "--area"),
        (["--noise", "0", "--area", "Zurich"], "rho"),
        (["--noise", "1", "--area", "Nowhere at all"], "Nowhere"),
        (["--noise", "1", "--area", "Zurich", "--shorten", "200m"], "--noise"),
    ):
        refused = ridden(*asked, *more)
        assert (refused.code, told in refused.err) == (2, True), refused.err
    assert not (tmp_path / "centres.json").exists()
    done = ridden(*asked, "--noise", "1", "--area", "Zurich", "--keep", "ele")
    assert done.code == 0, done.err
    assert ridden("zones", "rides", *HIDDEN, "-o", "exact", "--keep", "ele").code == 0
    account = json.loads((tmp_path / "shared.certificate.json").read_text())
    assert account["noise"]["rho"] == "1"
    # A line through noisy points is no length of a track.
    assert "shared: 3 files, 3 pieces\n" in done.out
    assert ridden("verify", "shared").code == 0
    values: list[list[list[str]]] = []
    for name in ("shared", "exact"):
        texts = [content.decode() for content in contents(tmp_path / name).values()]
        values.append(
            [re.findall(pattern, "".join(texts)) for pattern in ('lat="([^"]+)"', "<time>[^<]+", "<ele>[^<]+")]
        )
    (places, *others), (exact, *same) = values
    assert len(places) == len(exact)
    assert not set(places) & set(exact)
    assert [sorted(each) for each in others] == [sorted(each) for each in same]


@pytest.mark.parametrize("kind", ["gpkg", "csv", "lines-gpkg"])
def test_noise_in_file_system(run: Any, tmp_path: Path, kind: str) -> None:
    """Tables and layers in other systems get noise of the same size on the ground."""
    import geopandas

    make(tmp_path / "tracks", commute(), kind)
    done = run("zones", "tracks", *HIDDEN, "-o", "noisy", "--noise", "1", "--area", "Zurich")
    assert done.code == 0, done.err
    assert run("zones", "tracks", *HIDDEN, "-o", "exact").code == 0
    for folder in ("noisy", "exact"):
        assert len(contents(tmp_path / folder)) == 3
    if kind == "lines-gpkg":
        noisy, exact = (
            geopandas.GeoSeries([geopandas.read_file(path).geometry[0] for path in (tmp_path / name).iterdir()])
            for name in ("noisy", "exact")
        )
        away = noisy.extract_unique_points().explode().distance(exact.union_all())
        assert 0 < away.max() < 100


def test_tracks_are_shortened(ridden: Any, tmp_path: Path) -> None:
    """What --shorten takes off is off, and the certificate says so."""
    lengths = []
    for more in ([], ["--shorten", "200m"]):
        name = f"shared{len(more)}"
        lengths.append(json.loads(ridden("zones", "rides", *HIDDEN, "-o", name, *more, "--json").out)["length"])
    assert lengths[0] - lengths[1] > 400
    assert json.loads((tmp_path / "shared2.certificate.json").read_text())["rules"]["trim"] == 200


def test_short_tracks_are_refused(ridden: Any, tmp_path: Path) -> None:
    """If --shorten leaves nothing, that is said; without it the same tracks are shared."""
    make(tmp_path / "walks", [("walk", rides.straight(HOME))])
    told = ridden("zones", "walks", *HIDDEN, "-o", "shared", "--shorten", "2 tracks")
    assert (told.code, "Leave --shorten out" in told.err) == (3, True)
    assert ridden("zones", "walks", *HIDDEN, "-o", "shared").code == 0


def test_departure_times_are_removed(run: Any, tmp_path: Path) -> None:
    """A table's column of departure is the same in every row of a track, and tells when it began."""
    (tmp_path / "walk.csv").write_text(
        "started_at,lat,lon\n" + "".join(f"2024-03-01T08:00:00Z,47.{380 + i},8.54\n" for i in range(20))
    )
    assert run("zones", "walk.csv", *HIDDEN, "-o", "out.csv", "--yes").code == 0
    assert (tmp_path / "out.csv").read_text().startswith("lat,lon\n")
