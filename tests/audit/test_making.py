"""Files of canaries: coins, places, formats, crowds, and the rows of a user's own file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil.audit.canary_places import GRIDS, PAIR, usual_distance
from geoveil.audit.secret import Secret
from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter

AREA = "37.77,-122.42,10km"


def made(folder: Path, name: str = "canaries.csv", **how: Any) -> tuple[Path, Secret]:
    """A file of canaries, and its secret."""
    how = {"hide": 200, "area": AREA, "canaries": 400, "rng": np.random.default_rng(1), **how}
    [path] = gv.audit.make(folder / name, secret=folder / "audit.json", **how)
    return path, Secret.read(folder / "audit.json")


def test_system_draws_coins(tmp_path: Path) -> None:
    """Two files have other coins and places; both sides are as frequent; the secret is readable by its owner only."""
    _, one = made(tmp_path, rng=None, canaries=2000)
    _, other = made(tmp_path, rng=None, canaries=2000, overwrite=True)
    assert (one.made[0].side != other.made[0].side).sum() > 800
    assert not np.allclose(one.ends[0], other.ends[0])
    # A share of heads beyond these has a probability below 10^-9.
    assert 850 < one.made[0].side.sum() < 1150
    assert os.stat(tmp_path / "audit.json").st_mode & 0o077 == 0


def test_rows_follow_the_secret(tmp_path: Path) -> None:
    """Each canary is exactly at its side of its pair, to seven decimals, in a random order."""
    path, secret = made(tmp_path)
    rows, run = pd.read_csv(path), secret.made[0]
    assert [*rows.person] == [*run.persons]
    assert np.array_equal(rows[["longitude", "latitude"]].to_numpy(), secret.ends[run.site, run.side])
    assert len(set(run.persons)) == 400
    assert abs(np.corrcoef(np.arange(400), run.site)[0, 1]) < 0.9


def test_pairs_are_spread(tmp_path: Path) -> None:
    """Pairs are in all directions, at three distances up to the usual one, in all parts of the area; with edges."""
    _, secret = made(tmp_path, canaries=2000)
    plane = gv.local(lat=37.77, lon=-122.42, radius=10_000)
    pairs = np.array([kind == PAIR for kind in secret.kinds])
    away = np.diff(secret.ends[pairs], axis=1)[:, 0] * 111_195 * [np.cos(np.radians(37.77)), 1]
    distances = np.unique(np.round(np.hypot(*away.T) / usual_distance(secret.claim), 2))
    assert distances.tolist() == [0.5, 0.75, 1.0]
    directions = np.histogram(np.arctan2(*away.T), bins=8, range=(-np.pi, np.pi))[0]
    assert directions.min() >= 18
    assert {*secret.kinds} == {PAIR, *(grid.name for grid in GRIDS)}
    assert plane.radius > np.abs(secret.ends[:, :, 1] - 37.77).max() * 111_195 > 6000


@pytest.mark.parametrize("name", ["canaries.csv", "canaries.gpx", "canaries.geojson", "canaries.parquet"])
def test_formats_agree(name: str, tmp_path: Path) -> None:
    """Each format holds the same points, which an audit finds again; a tool that copies is found."""
    path, secret = made(tmp_path, name, pings=3)
    assert len(gv.Locations(path).frame()) == 1200
    found = gv.audit.read(path, secret=tmp_path / "audit.json")
    assert (found.persons, found.canaries) == (400, 400)
    assert "true coordinates in the output" in found.faults
    assert secret.pings == 3


def test_a_crowd_surrounds_them(tmp_path: Path) -> None:
    """Canaries are among persons of a made-up city, who look alike and are near."""
    path, secret = made(tmp_path, crowd=300, pings=4)
    rows = pd.read_csv(path)
    assert (len(rows), rows.person.nunique()) == (2800, 700)
    own = rows.person.isin(secret.made[0].persons).to_numpy()
    assert 0.3 < np.flatnonzero(own).mean() / len(rows) < 0.7
    assert rows.person.str.len().nunique() == 1
    assert rows.groupby("person").size().eq(4).all()


def test_canaries_hide_among_rows(tmp_path: Path) -> None:
    """In a user's own file canaries have its columns, labels of its kind, and its order; its rows are unchanged."""
    rng = np.random.default_rng(5)
    rows = pd.DataFrame(
        {
            "uid": rng.integers(100, 999, 500),
            "when": pd.date_range("2026-05-04", periods=500, freq="min").strftime("%Y-%m-%d %H:%M:%S"),
            "speed": rng.integers(0, 60, 500),
            "lon": np.round(-122.42 + rng.normal(0, 0.03, 500), 6),
            "lat": np.round(37.77 + rng.normal(0, 0.03, 500), 6),
        }
    )
    rows.to_csv(tmp_path / "own.csv", index=False)
    path, secret = made(tmp_path, among=tmp_path / "own.csv", person="uid")
    both = pd.read_csv(path, dtype={"uid": str})
    assert [*both.columns] == [*rows.columns]
    assert both.uid.str.fullmatch("[0-9]{3,}").all()
    assert not {*rows.uid.astype(str)} & {*secret.made[0].persons}
    left = both[~both.uid.isin([*secret.made[0].persons])].reset_index(drop=True)
    pd.testing.assert_frame_equal(left.astype({"uid": int}), rows)
    assert gv.audit.read(path, secret=tmp_path / "audit.json").persons == 400


def test_own_rows_are_near(tmp_path: Path) -> None:
    """Rows of one's own that are all outside the area hide nobody; the area of the rows does."""
    rows = pd.DataFrame({"person": range(100), "latitude": 37.77, "longitude": np.linspace(-122.45, -122.4, 100)})
    rows.to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(InvalidParameter, match=r"an area with rows of .*own\.csv"):
        made(tmp_path, among=tmp_path / "own.csv", area="47.37,8.54,10km")
    made(tmp_path, among=tmp_path / "own.csv")


def test_files_have_own_coins(tmp_path: Path) -> None:
    """Runs are files of a folder, with other labels and coins at the same pairs."""
    files = gv.audit.make(tmp_path / "made", secret=tmp_path / "audit.json", hide=200, area=AREA, canaries=100, runs=3)
    assert [path.name for path in files] == ["run-1.csv", "run-2.csv", "run-3.csv"]
    one, other, _ = Secret.read(tmp_path / "audit.json").made
    assert not {*one.persons} & {*other.persons}
    assert (one.side != other.side).any()


def test_nonsense_is_refused(tmp_path: Path) -> None:
    """What cannot be made is refused before anything is written, with a remedy."""
    for how, named in (
        ({"canaries": 5}, "canaries"),
        ({"area": "37.77,-122.42,300m"}, "area"),
        ({"pings": 0}, "pings"),
        ({"name": "canaries.kml"}, "target"),
        ({"runs": 0}, "runs"),
        ({"crowd": 5, "among": tmp_path / "own.csv"}, "crowd"),
    ):
        with pytest.raises(InvalidParameter, match=named):
            made(tmp_path, **how)
    assert not [*tmp_path.iterdir()]
    made(tmp_path)
    with pytest.raises(FileUnavailable, match="exists"):
        made(tmp_path)
    told = json.loads((tmp_path / "audit.json").read_text())
    told["files"][0]["side"] = "AB"
    (tmp_path / "audit.json").write_text(json.dumps(told))
    with pytest.raises(InvalidFile, match="secret file"):
        Secret.read(tmp_path / "audit.json")
