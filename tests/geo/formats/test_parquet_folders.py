"""Folders of Parquet files are read like one file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import geoveil as gv
from geoveil.errors import InvalidFile

BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)


def parts(folder: Path, *frames: pd.DataFrame) -> Path:
    """Write frames as the parts of a folder, beside what other programs leave there."""
    folder.mkdir()
    for number, frame in enumerate(frames):
        frame.to_parquet(folder / f"part-{number}.parquet")
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.parquet.crc").touch()
    return folder


def test_folder_is_one_table(tmp_path: Path) -> None:
    """Rows come in the order of the names of files, and a release of them is verified."""
    first = pd.DataFrame({"user": ["ann", "bob"], "lat": [37.7, 37.8], "lon": [-122.4, -122.5]})
    second = first.assign(lat=[37.75, 37.76])
    folder = parts(tmp_path / "trips", first, second)
    assert gv.Locations(folder).frame()["user"].tolist() == ["ann", "bob", "ann", "bob"]
    release = gv.Locations(folder, person="user", area=BAY).points(to=tmp_path / "out.parquet", rho=1e-4)
    assert release.n == 4
    assert gv.verify(tmp_path / "out.parquet")


def test_other_columns_are_refused(tmp_path: Path) -> None:
    """All files of a folder have the same columns."""
    first = pd.DataFrame({"user": ["ann"], "lat": [37.7], "lon": [-122.4]})
    with pytest.raises(InvalidFile, match="part-1"):
        gv.Locations(parts(tmp_path / "trips", first, first.drop(columns="user"))).frame()
