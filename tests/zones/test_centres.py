"""The file of centres: one centre for each place, kept like a key, drawn once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter
from geoveil.host.private_files import write_private
from geoveil.mechanisms.discs import Disc
from geoveil.noise import source_of
from geoveil.zones import Centres, Hiding, Zone, backup_folder, distances, places_of
from tests.systems import POSIX

HIDING = Hiding.of(hide=200)
HOME = "47.37,8.54"
#: About 50 m and 450 m to the north of it.
NEIGHBOUR, BLOCK = "47.37045,8.54", "47.37405,8.54"


def zones(path: Path, *places: str, hiding: Hiding = HIDING, **how: object) -> list[Zone]:
    """Return the zones of places in a file."""
    return Centres(path).zones(places_of([*places]), hiding, source_of(None), **how)  # type: ignore[arg-type]


def check_rerun(path: Path) -> None:
    """The same place has the same centre, however often it is asked for."""
    first = zones(path, HOME)
    assert zones(path, HOME) == first
    assert zones(path, HOME, HOME) == first


def test_centre_is_drawn_once(tmp_path: Path) -> None:
    """A second run, in another object, finds the first one's centre."""
    check_rerun(tmp_path / "centres.json")


def north(metres: float) -> str:
    """Return a place so far to the north of the home."""
    return f"{47.37 + metres / 110_574},8.54"


def test_housemates_share_a_centre(tmp_path: Path) -> None:
    """A place within 100 m of a known one is taken for it, and one that is far away is not."""
    path = tmp_path / "centres.json"
    [home] = zones(path, HOME)
    assert zones(path, NEIGHBOUR) == [home]
    assert zones(path, HOME, NEIGHBOUR) == [home]
    assert home not in zones(path, BLOCK)
    assert len(Centres(path).known()) == 2


def test_nearby_place_is_asked(tmp_path: Path) -> None:
    """A home typed 60 m off twice, on two sides, is refused; either remedy works, and needs no repeating."""
    for near, same in (("same", True), ("another", False)):
        path, first, second = tmp_path / f"{near}.json", "10,60.0005", "10,59.9994"
        if not same:
            first, second = "20,60.0005", "20,59.9994"
        [zone] = zones(path, first)
        with pytest.raises(InvalidParameter, match=r"same.*another") as refused:
            zones(path, second)
        assert "59.9" not in str(refused.value)
        with pytest.raises(InvalidParameter, match=r"same.*another"):
            Centres(path).rehearsed(places_of(second), HIDING, source_of(None))
        [other] = zones(path, second, near=near)
        assert (other == zone) is same
        assert zones(path, second) == [other]
        assert zones(path, first) == [zone]
    with pytest.raises(InvalidParameter, match="'same' or 'another'"):
        zones(path, first, near="maybe")


def test_far_known_place(tmp_path: Path) -> None:
    """A home 290 m from where its disc was drawn has its margin inside, or is refused; the remedy works."""
    small, refused = Hiding.of(hide=200, margin=50), 0
    for number in range(25):
        path, lat = tmp_path / f"{number}.json", 20 + number
        [zone] = zones(path, f"{lat},8", hiding=small)
        [home] = places_of(f"{lat + 290 / 110_574},8")
        if zone.hides(home):
            assert Centres(path).zones([home], small, source_of(None), near="same") == [zone]
        else:
            refused += 1
            for ask in (Centres(path).rehearsed, Centres(path).zones):
                with pytest.raises(InvalidParameter, match="another"):
                    ask([home], small, source_of(None), near="same")
            [zone] = Centres(path).zones([home], small, source_of(None), near="another")
        away = distances(zone, np.array([[home.lon, home.lat]]))[0]
        assert away <= zone.radius - small.margin
    assert 0 < refused < 25


def test_later_places_change_nothing(tmp_path: Path) -> None:
    """A place between two known ones keeps the zone of the first, whether it was declared before or not."""
    path = tmp_path / "centres.json"
    [home] = zones(path, north(0))
    assert zones(path, north(90)) == [home]
    # Near the second name of the home, but too far from where its centre was drawn.
    with pytest.raises(InvalidParameter, match="another"):
        zones(path, north(170))
    [other] = zones(path, north(185), near="another")
    assert other != home
    for metres in (90, 93, 97):
        assert zones(path, north(metres)) == [home]
    assert [each["zone"]["id"] for each in json.loads(path.read_text())["places"]].count(home.id) == 4


def test_links_stay_links(tmp_path: Path) -> None:
    """Centres are kept in the file itself, under its own lock."""
    path, link = tmp_path / "centres.json", tmp_path / "there" / "link.json"
    link.parent.mkdir()
    [home] = zones(path, HOME)
    link.symlink_to(path)
    [other] = zones(link, "10,10")
    assert link.is_symlink()
    assert Centres(path).known() == Centres(link).known() == [home, other]
    assert [each.name for each in link.parent.iterdir()] == ["link.json"]


@pytest.mark.slow
def test_margin_of_each_place(tmp_path: Path) -> None:
    """A place that shares a centre is as far inside of the disc as the one for which it was drawn."""
    small = Hiding.of(hide=200, margin=50)
    for number in range(60):
        path, lat = tmp_path / f"{number}.json", 40 + number / 10
        [zone] = zones(path, f"{lat},8", hiding=small)
        [near] = places_of(f"{lat + 95 / 110_574},8")
        assert Centres(path).zones([near], small, source_of(None)) == [zone]
        away = distances(zone, np.array([[near.lon, near.lat]]))[0]
        assert away <= zone.radius - small.margin


def test_zones_hide_the_place(tmp_path: Path) -> None:
    """The description of a zone, which certificates state, is that of a centre."""
    [zone] = zones(tmp_path / "centres.json", HOME)
    assert zone.steps != (4737000, 854000)
    assert "47.37," not in json.dumps(zone.describe())
    assert Zone.described(json.loads(json.dumps(zone.describe()))) == zone


def check_one_size(path: Path) -> None:
    """The radius is the same wherever the place is."""
    places = [f"{lat},{lon}" for lat in (-60, 0, 30.5, 71) for lon in (-100, 0.25, 170)]
    assert {zone.radius for zone in zones(path, *places)} == {599}


def test_the_radius_is_public(tmp_path: Path) -> None:
    """A dozen places on all continents have discs of one size."""
    check_one_size(tmp_path / "centres.json")


@POSIX
def test_file_is_private(tmp_path: Path) -> None:
    """Only its owner may read it and its copy; a file with other permissions is refused, and the remedy helps."""
    path = tmp_path / "centres.json"
    zones(path, HOME)
    assert path.stat().st_mode & 0o777 == 0o600
    assert Centres(path).backup.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    with pytest.raises(InvalidFile, match="chmod 600"):
        zones(path, HOME)
    path.chmod(0o600)
    zones(path, HOME)


def test_lost_file_is_told(tmp_path: Path) -> None:
    """No second centre is drawn: the error names the copy, and putting it back gives the first centre again."""
    path = tmp_path / "centres.json"
    first = zones(path, HOME)
    path.unlink()
    with pytest.raises(FileUnavailable, match="is gone") as refused:
        zones(path, HOME)
    backup = Centres(path).backup
    assert f"Copy {backup} to {path}" in str(refused.value)
    assert not path.exists()
    shutil.copy2(backup, path)
    assert zones(path, HOME) == first


def test_old_file_is_completed(tmp_path: Path) -> None:
    """If an older file is put back, the centres that it lacks come from the copy."""
    path = tmp_path / "centres.json"
    first = zones(path, HOME)
    older = path.read_text()
    both = zones(path, HOME, BLOCK)
    path.write_text(older)
    assert zones(path, HOME, BLOCK) == both
    assert both[0] == first[0]


def test_place_in_another_file(tmp_path: Path) -> None:
    """A place that has a centre in another file is refused, and that file's centre is offered."""
    first = zones(tmp_path / "mine.json", HOME)
    with pytest.raises(FileUnavailable, match=r"mine\.json"):
        zones(tmp_path / "yours.json", NEIGHBOUR)
    assert not (tmp_path / "yours.json").exists()
    assert zones(tmp_path / "mine.json", NEIGHBOUR) == first
    assert zones(tmp_path / "yours.json", "-30,20")


def test_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the file is needed: the copy is for the case that it is lost."""
    first = zones(tmp_path / "centres.json", HOME)
    moved = tmp_path / "elsewhere" / "centres.json"
    moved.parent.mkdir()
    shutil.copy2(tmp_path / "centres.json", moved)
    monkeypatch.setenv("GEOVEIL_CENTRES_BACKUP", str(tmp_path / "other machine"))
    assert zones(moved, HOME) == first


def test_missing_zone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier certificate near the place shows that the file is not the one that was used."""
    first = zones(tmp_path / "centres.json", HOME)
    monkeypatch.setenv("GEOVEIL_CENTRES_BACKUP", str(tmp_path / "other machine"))
    with pytest.raises(FileUnavailable, match=first[0].id):
        zones(tmp_path / "new.json", HOME, published=first)
    assert zones(tmp_path / "new.json", "10,10", published=first)
    assert zones(tmp_path / "centres.json", HOME, published=first) == first


def test_one_way_of_hiding(tmp_path: Path) -> None:
    """A known place keeps its disc; the error says how it was hidden, and that is accepted."""
    path = tmp_path / "centres.json"
    first = zones(path, HOME)
    for other in (Hiding.of(hide=300), Hiding.of(hide=200, margin=500), Hiding.of(rho=5e-5)):
        with pytest.raises(InvalidParameter, match="Give hide=200 and margin=250"):
            zones(path, HOME, hiding=other)
    assert zones(path, HOME, hiding=Hiding.of(hide=200, margin=250)) == first
    [gaussian] = zones(path, "1,1", hiding=Hiding.of(rho=5e-5))
    with pytest.raises(InvalidParameter, match=r"rho=0\.00005"):
        zones(path, "1,1")
    assert zones(path, "1,1", hiding=Hiding.of(rho="0.00005")) == [gaussian]


@pytest.mark.parametrize("hide", [2.5, 34, 55, 160, 200, 250.5, 1000])
def test_same_disc_again(hide: float) -> None:
    """The distance that is named gives the same disc, whatever distance was asked for first."""
    name, value = Hiding.of(hide=hide).asked
    assert name == "hide"
    assert Hiding.of(hide=float(value)) == Hiding.of(hide=hide)


def test_seeded_centres_are_refused(tmp_path: Path) -> None:
    """A centre of an experiment is not used for a release: whoever knows the seed knows the place."""
    path = tmp_path / "centres.json"
    seeded = Centres(path).zones(places_of(HOME), HIDING, source_of(np.random.default_rng(1)))
    assert Centres(path).zones(places_of(HOME), HIDING, source_of(np.random.default_rng(2))) == seeded
    with pytest.raises(InvalidFile, match="Name a new file"):
        zones(path, HOME)


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '{"format": "geoveil centres", "version": 1, "places": [{"place": 3}]}', "\x00"]
)
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    """A damaged file is not overwritten, and its content is not repeated."""
    path = tmp_path / "centres.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InvalidFile, match="a damaged one"):
        zones(path, HOME)
    assert path.read_text() == content


def test_damaged_file_has_copy(tmp_path: Path) -> None:
    """The refusal of a damaged file names its copy, which works."""
    path = tmp_path / "centres.json"
    drawn = zones(path, HOME)
    path.write_text(path.read_text()[:200])
    with pytest.raises(InvalidFile, match="Copy ") as told:
        zones(path, HOME)
    assert str(Centres(path).backup) in str(told.value)
    path.write_text(Centres(path).backup.read_text())
    assert zones(path, HOME) == drawn


def test_changed_radius_is_noticed(tmp_path: Path) -> None:
    """A file in which a zone does not follow from its law is refused."""
    path = tmp_path / "centres.json"
    zones(path, HOME)
    path.write_text(path.read_text().replace('"radius": 599', '"radius": 300'))
    with pytest.raises(InvalidFile, match="a damaged one"):
        zones(path, HOME)


def test_missing_folder_is_told(tmp_path: Path) -> None:
    """The centre would have no place to be kept."""
    with pytest.raises(FileUnavailable, match="Create the folder first"):
        zones(tmp_path / "none" / "centres.json", HOME)


class Counting:
    """Counts the centres that are charged, and may refuse."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses, self.charged = refuses, 0

    @contextmanager
    def charging(self, identity: str, law: Disc) -> Iterator[None]:
        """Charge."""
        self.charged += 1
        if self.refuses:
            raise RuntimeError("no budget")
        yield


def test_refused_charge_draws_nothing(tmp_path: Path) -> None:
    """The charge comes first: without it there is no centre, in the file or in its copy."""
    path = tmp_path / "centres.json"
    with pytest.raises(RuntimeError, match="no budget"):
        zones(path, HOME, charging=Counting(refuses=True))
    assert not path.exists()
    assert not Centres(path).backup.exists()
    paid = Counting()
    zones(path, HOME, BLOCK, charging=paid)
    assert paid.charged == 2


def test_programs_share_a_draw(tmp_path: Path) -> None:
    """Whoever comes second waits, and finds the centre of the first."""
    found: list[list[Zone]] = []
    threads = [Thread(target=lambda: found.append(zones(tmp_path / "centres.json", HOME))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(each == found[0] for each in found)


def test_crash_loses_no_centre(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy is written first; a centre that it has is the place's centre."""
    path = tmp_path / "centres.json"
    zones(path, BLOCK)
    from geoveil.zones import centres

    right = write_private

    def crashing(file: Path, text: str) -> None:
        if file == path:
            raise KeyboardInterrupt
        right(file, text)

    with monkeypatch.context() as patch:
        patch.setattr(centres, "write_private", crashing)
        with pytest.raises(KeyboardInterrupt):
            zones(path, HOME)
    drawn = json.loads(Centres(path).backup.read_text())["places"][-1]["zone"]["id"]
    assert [zone.id for zone in zones(path, HOME)] == [drawn]


def test_place_forms(tmp_path: Path) -> None:
    """Texts, pairs, lists, frames and files declare places; an error never repeats them."""
    import geopandas

    frame = geopandas.GeoSeries.from_xy([8.54], [47.37], crs=4326)
    (tmp_path / "places.csv").write_text("name,lat,lon\nhome,47.37,8.54\nwork,47.4,8.5\n")
    assert places_of(HOME) == places_of((47.37, 8.54)) == places_of(frame) == places_of(frame.to_crs(4326))
    assert places_of(frame.to_crs(2056))[0].distance(places_of(HOME)[0]) < 1
    assert [place.lat for place in places_of(tmp_path / "places.csv")] == [47.37, 47.4]
    assert len(places_of([HOME, (1.0, 2.0), str(tmp_path / "places.csv")])) == 4
    area = frame.to_crs(2056).buffer(1)
    refused_ones: list[Any] = [
        "97,0",
        "47.37;8.54",
        (91.0, 0.0),
        [],
        3,
        frame.set_crs(None, allow_override=True),
        area,
    ]
    for wrong in refused_ones:
        with pytest.raises(InvalidParameter, match="LAT,LON") as refused:
            places_of(wrong)
        assert "47.37;" not in str(refused.value)
    assert repr(places_of(HOME)[0]) == "HiddenPlace(...)"


def test_copies_folder() -> None:
    """Copies are in the folder that the environment names. Tests, and users, may name it."""
    assert backup_folder().name
