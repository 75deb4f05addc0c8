"""Pseudonyms of persons: random, forgotten or kept in a key file, in every form of a release."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest

import geoveil as gv
from geoveil.answering import pseudonyms as module
from geoveil.errors import GeoveilWarning, InvalidData, InvalidFile, InvalidParameter
from tests.command_line import LOCAL
from tests.questions import release_of

BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)
WHO = ["ann", "bob", "ann", "cat"]


def frame(who: Any = WHO) -> geopandas.GeoDataFrame:
    """Four points of three persons."""
    places = geopandas.points_from_xy([-122.4, -122.41, -122.42, -122.43], [37.7, 37.71, 37.72, 37.73])
    return geopandas.GeoDataFrame({"user": who}, geometry=places, crs=4326)


def csv(folder: Path) -> Path:
    """The same as a file."""
    rows = zip(WHO, [37.7, 37.71, 37.72, 37.73], [-122.4, -122.41, -122.42, -122.43], strict=True)
    lines = ["user,lat,lon", *(f"{who},{lat},{lon}" for who, lat, lon in rows)]
    (folder / "trips.csv").write_text("\n".join(lines) + "\n")
    return folder / "trips.csv"


def out(folder: Path) -> Path:
    """A folder for what is released, away from the key file."""
    (folder / "out").mkdir(exist_ok=True)
    return folder / "out"


def _points(folder: Path, **how: Any) -> list[str]:
    found = release_of("points", frame(), person="user", area=BAY, rho=1e-4, **how)
    assert [*found.person] == [*dict.fromkeys(found.value["user"])]
    return [*found.value["user"]]


def _file(folder: Path, **how: Any) -> list[str]:
    path = out(folder) / "o.csv"
    found = release_of("points", csv(folder), person="user", area=BAY, to=path, rho=1e-4, overwrite=True, **how)
    loaded = gv.load(path)
    assert loaded.pseudonyms
    assert [*found.person] == [*loaded.person] == [*dict.fromkeys(loaded.value["user"])]
    return [*loaded.value["user"]]


EVERYWHERE = pytest.mark.parametrize("labels", [_points, _file])


@EVERYWHERE
def test_pseudonyms_are_random(labels: Callable[..., list[str]], tmp_path: Path) -> None:
    """Rows of one person have one pseudonym, and a second release has others."""
    first, second = labels(tmp_path, pseudonyms=True), labels(tmp_path, pseudonyms=True)
    for found in (first, second):
        assert all(re.fullmatch("[bcdfghjklmnpqrst]{12}", label) for label in found)
        assert found[0] == found[2]
        assert len(set(found)) == 3
    assert set(first).isdisjoint(second)


@EVERYWHERE
def test_key_file_keeps_pseudonyms(labels: Callable[..., list[str]], tmp_path: Path) -> None:
    """A key file keeps them. It is readable by its owner only, and a later release has the same pseudonyms."""
    key = tmp_path / "keys.csv"
    first, second = labels(tmp_path, pseudonyms=key), labels(tmp_path, pseudonyms=str(key))
    assert first == second
    told = dict(line.split(",") for line in key.read_text().split())
    assert told == {"person": "pseudonym", "ann": first[0], "bob": first[1], "cat": first[3]}
    if os.name == "posix":
        assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_new_persons_join_key_file(tmp_path: Path) -> None:
    """Those it has keep their pseudonyms, also if they are not in the data."""
    key = tmp_path / "keys.csv"
    before = module.pseudonyms_of(["ann", "bob"], key)
    after = module.pseudonyms_of(["dan", "ann"], key)
    assert after[1] == before[0]
    assert module.pseudonyms_of(["bob"], key) == before[1:]
    assert len(key.read_text().split()) == 4


def test_pseudonyms_ignore_labels() -> None:
    """Two mappings of the same labels share nothing: a planted bug that hashes labels is caught."""

    def independent(draw: Callable[[list[str]], list[str]]) -> bool:
        names = [str(i) for i in range(200)]
        return set(draw(names)).isdisjoint(draw(names))

    assert independent(lambda names: module.pseudonyms_of(names, True))
    assert not independent(lambda names: [hashlib.sha256(name.encode()).hexdigest()[:12] for name in names])


def test_pseudonym_letters_are_uniform() -> None:
    """Each of sixteen letters is as likely at each place: the counts are within 6 standard deviations."""
    n = 20_000
    found = np.array([list(each) for each in module.pseudonyms_of(range(n), True)])
    assert len(np.unique(found.view("<U12") if False else ["".join(row) for row in found])) == n
    for place in found.T:
        counts = np.array([(place == letter).sum() for letter in "bcdfghjklmnpqrst"])
        assert np.abs(counts - n / 16).max() < 6 * np.sqrt(n / 16)


def test_pseudonyms_are_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is taken is drawn again."""
    drawn = iter(["bbbb", "bbbb", "cccc"])
    monkeypatch.setattr(module, "_random", lambda: next(drawn))
    assert module.pseudonyms_of(["ann", "bob"], True) == ["bbbb", "cccc"]


def test_session_answers_share_pseudonyms() -> None:
    """Their index has them, and no answer names a person."""
    with gv.Locations(frame(), person="user", area=BAY, pseudonyms=True).session(rho=1) as session:
        center, near = session.center(rho=1e-3), session.nearest((-122.4, 37.7), k=1, rho=1e-3)
        points = session.points(rho=1e-3)
    assert [*center.value.index] == [*near.value.index.get_level_values(0)] == [*points.person]
    assert points.facts().unchanged == ()
    for found in (center, near, points):
        assert not {"ann", "bob", "cat"} & {str(label) for label in found.person}
        assert found.certificate()["pseudonyms"] is True


def test_array_labels_get_pseudonyms() -> None:
    """The release names persons by them."""
    found = gv.Locations(np.zeros((4, 2)), person=[1, 2, 1, 3], pseudonyms=True).points(rho=1)
    assert all(isinstance(label, str) and len(label) == 12 for label in found.person)


def test_ledger_charges_true_labels(tmp_path: Path) -> None:
    """Persons without enough budget are listed by pseudonyms."""
    with gv.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("ann", "bob", "cat", rho=1e-3)
        _file(tmp_path, pseudonyms=True, ledger=ledger)
        assert float(ledger.account("ann").remaining) == pytest.approx(9e-4)
        ledger.lower("bob", rho=1.5e-4)
        key = tmp_path / "keys.csv"
        found = (
            gv.Locations(csv(tmp_path), person="user", area=BAY, pseudonyms=key, overwrite=True)
            .session(ledger=ledger, short="skip")
            .points(to=out(tmp_path) / "o.csv", rho=1e-4)
        )
        told = dict(line.split(",") for line in key.read_text().split())
        assert found.removed.persons == (told["bob"],)
        assert told["bob"] not in (out(tmp_path) / "o.csv").read_text()


def test_releases_name_nobody(tmp_path: Path) -> None:
    """Nothing of a release names a person.

    Neither the file nor its certificate, which says that pseudonyms do not make people anonymous.
    """
    _file(tmp_path, pseudonyms=True)
    for path in out(tmp_path).iterdir():
        assert not re.search("ann|bob|cat\\b", path.read_text().replace("certificate", "").replace("cannot", ""))
    account = json.loads((out(tmp_path) / "o.csv.certificate.json").read_text())
    assert account["pseudonyms"] is True
    assert account["unchanged"] == []
    assert "do not make people anonymous" in account["words"]


@pytest.mark.parametrize("ending", [".parquet", ".gpkg", ".geojson"])
def test_every_format_has_pseudonyms(ending: str, tmp_path: Path) -> None:
    """Also where labels are numbers."""
    path, target = tmp_path / f"t{ending}", out(tmp_path) / f"o{ending}"
    data = frame([1, 2, 1, 3])
    data.to_parquet(path) if ending == ".parquet" else data.to_file(path)
    gv.Locations(path, person="user", area=BAY, pseudonyms=True).points(to=target, rho=1e-4)
    users = [*gv.load(target).value["user"]]
    assert all(len(user) == 12 for user in users)
    assert users[0] == users[2]


def test_taxi_files_get_pseudonyms(tmp_path: Path) -> None:
    """The cabspotting folder has a file for each taxi, which is named by the pseudonym."""
    folder = tmp_path / "cabs"
    folder.mkdir()
    for name in ("abo", "oki"):
        (folder / f"new_{name}.txt").write_text("37.75 -122.39 0 1213084687\n37.76 -122.40 1 1213084659\n")
    gv.Locations(folder, person="cab", area=BAY, pseudonyms=True).points(to=out(tmp_path) / "cabs", rho=1e-4)
    names = sorted(path.name for path in (out(tmp_path) / "cabs").glob("new_*.txt"))
    assert len(names) == 2
    assert all(re.fullmatch(r"new_[b-t]{12}\.txt", name) for name in names)


def test_naming_persons_is_refused(tmp_path: Path) -> None:
    """A filter that is stated, an index, and a key file that is another file."""
    with pytest.raises(InvalidParameter, match="certificates state the filter"):
        gv.Locations(frame(), person="user", area=BAY, pseudonyms=True, where="user = 'ann'").points(rho=1)
    with pytest.raises(InvalidData, match=r"x\.index"):
        gv.Locations(frame().set_index("user", drop=False), person="user", area=BAY, pseudonyms=True).points(rho=1)
    with pytest.raises(InvalidParameter, match="left out without person="):
        gv.Locations(frame(), area=BAY, pseudonyms=True).points(rho=1)
    with pytest.raises(InvalidParameter, match="key file"):
        gv.Locations(frame(), person="user", area=BAY, pseudonyms=3).points(rho=1)  # type: ignore[arg-type]
    path, target = csv(tmp_path), out(tmp_path) / "o.csv"
    before = path.read_bytes()
    for key in (path, target, Path(f"{target}.certificate.json")):
        with pytest.raises(InvalidParameter, match="a separate file"):
            gv.Locations(path, person="user", area=BAY, pseudonyms=key).points(to=target, rho=1)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(InvalidFile, match="a key file"):
        gv.Locations(path, person="user", area=BAY, pseudonyms=other).points(to=target, rho=1)
    assert (path.read_bytes(), other.read_text()) == (before, "a,b\n1,2\n")
    assert not target.exists()


def test_near_key_file_warns(tmp_path: Path) -> None:
    """Whoever shares the folder would share it."""
    with pytest.warns(GeoveilWarning, match="keep it elsewhere"):
        gv.Locations(csv(tmp_path), person="user", area=BAY, pseudonyms=tmp_path / "k.csv").points(
            to=tmp_path / "o.csv", rho=1e-4
        )


def test_command_line_pseudonyms(run: Any, tmp_path: Path) -> None:
    """The command line has pseudonyms. With and without a key file."""
    csv(tmp_path)
    line = ["points", "trips.csv", "-o", "o.csv", "--overwrite", "--person", "user", *LOCAL, "--rho", "1e-4"]
    ran = run(*line, "--pseudonyms")
    assert ran.code == 0, ran.err
    assert "pseudonyms" in ran.out
    assert "ann" not in (tmp_path / "o.csv").read_text()
    (tmp_path / "private").mkdir()
    ran = run(*line, "--pseudonyms", "private/keys.csv")
    assert "ann" in (tmp_path / "private" / "keys.csv").read_text()
    ran = run("summary", "trips.csv", "--person", "user", *LOCAL, "--rho", "1e-4", "--pseudonyms", "private/keys.csv")
    assert "ann" not in ran.out
    assert (tmp_path / "private" / "keys.csv").read_text().split(",")[2][:4] in ran.out
    assert run("points", "trips.csv", "-o", "o.csv", *LOCAL, "--rho", "1", "--pseudonyms").code == 2
    assert run(*line, "--pseudonyms", "o.csv").code == 2


def test_no_needless_warning(tmp_path: Path) -> None:
    """A key file in another folder is not warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _file(tmp_path, pseudonyms=tmp_path / "keys.csv")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "duckdb"])
def test_tables_have_pseudonyms(kind: str) -> None:
    """The column of persons holds them, in a table of the same library."""
    import pandas as pd
    import pyarrow as pa

    plain = pd.DataFrame({"user": [1, 2, 1], "lat": [37.7, 37.71, 37.72], "lon": [-122.4, -122.41, -122.42]})
    if kind == "polars":
        given: Any = pytest.importorskip("polars").DataFrame(plain.to_dict("list"))
    elif kind == "duckdb":
        given = pytest.importorskip("duckdb").from_arrow(pa.Table.from_pandas(plain))
    else:
        given = plain if kind == "pandas" else pa.Table.from_pandas(plain)
    found = gv.Locations(given, person="user", area=BAY, pseudonyms=True).points(rho=1e-4)
    assert type(found.value) is type(given)
    column = found.value.project("user").fetchall() if kind == "duckdb" else [[user] for user in found.value["user"]]
    users = [str(user) for (user,) in column]
    assert [*dict.fromkeys(users)] == [*found.person]
    assert users[0] == users[2] != users[1]
    assert len(users[0]) == 12
