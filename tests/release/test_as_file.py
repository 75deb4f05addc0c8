"""Releases that are written to files and read again are the same releases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
from jsonschema import Draft202012Validator

import geoveil as gv
from geoveil.errors import InvalidData, InvalidFile, InvalidParameter
from tests.formats import BAY, FORMATS, make, people
from tests.questions import release_of

STATION = geopandas.GeoSeries.from_xy([-122.42], [37.77], crs=4326)
SCHEMA = json.loads((Path(gv.__file__).parent / "certificates" / "certificate.schema.json").read_text())


def saved(release: Any, path: Path) -> dict[str, Any]:
    """The certificate that lies beside a saved release, checked against the schema."""
    assert release.to_file(path) == path
    account: dict[str, Any] = json.loads(path.with_name(path.name + ".certificate.json").read_text())
    Draft202012Validator(SCHEMA).validate(account)
    return account


def smoothed(release: Any) -> Any:
    """A release with its points along a walk through the day."""
    return release.smooth("walking", times=np.arange(release.n) * 60.0)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_smoothed_files_keep_format(form: str, tmp_path: Path) -> None:
    """What was loaded, smoothed and saved is a file like the released one, whose certificate says what was done."""
    source, how = make(form, tmp_path)
    target = tmp_path / f"out{''.join(source.suffixes)}"
    release_of("points", source, to=target, rho=1e-3, **how)
    loaded: Any = gv.load(target)
    account = saved(smoothed(loaded), tmp_path / f"smooth{''.join(source.suffixes)}")
    again: Any = gv.load(tmp_path / f"smooth{''.join(source.suffixes)}")
    assert again.processing == smoothed(loaded).processing
    assert again.n == loaded.n
    assert again.expected_error() == pytest.approx(account["expected_error"])
    np.testing.assert_allclose(again.coords, smoothed(loaded).coords, atol=0.02)
    assert "radius_95" not in again.value
    with pytest.raises(gv.errors.NoErrorBound):
        again.error(0.05)
    with pytest.raises(InvalidData, match="as it was released"):
        smoothed(again)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".geojson", ".gpkg", ".shp", ".parquet"])
def test_memory_points_are_saved(ending: str, tmp_path: Path) -> None:
    """A released frame goes into any of the usual formats, with its persons, and comes back as it was."""
    release: Any = gv.Locations(people(), person="user", area=BAY).points(rho=1e-3)
    account = saved(release, tmp_path / f"out{ending}")
    again: Any = gv.load(tmp_path / f"out{ending}")
    assert account["person"] == "user"
    assert again.guarantee == release.guarantee
    assert again.error(0.05).to_dict() == pytest.approx(release.error(0.05).to_dict())
    np.testing.assert_allclose(again.coords, release.coords, atol=0.02)
    assert "address" not in again.value


@pytest.mark.parametrize("ending", [".csv", ".gpkg", ".parquet"])
def test_metre_points_are_saved(ending: str, tmp_path: Path) -> None:
    """Points in metres are saved and loaded, also where no column says what they are."""
    release: Any = gv.Locations(people().to_crs(32610), person="user").points(rho=1e-3)
    saved(release, tmp_path / f"out{ending}")
    np.testing.assert_allclose(gv.load(tmp_path / f"out{ending}").coords, release.coords, atol=1e-3)  # type: ignore[arg-type]


@pytest.mark.parametrize("by", [None, "user"])
@pytest.mark.parametrize("question", ["hull", "center", "bounds", "mean", "radius", "nearest", "first_within"])
def test_answers_can_be_saved(question: str, by: str | None, tmp_path: Path) -> None:
    """An answer is a file with a row for each person, and its error and budget beside it."""
    options: dict[str, Any] = {"nearest": {"p": STATION, "k": 2}, "first_within": {"p": STATION, "radius": 500}}
    release = getattr(gv.Locations(people(), person=by, area=BAY), question)(rho=1e-2, **options.get(question, {}))
    account = saved(release, tmp_path / "answer.csv")
    assert account["query"] == question
    frame = release.to_frame()
    assert len(frame) == (1 if by is None else 3) * (2 if question == "nearest" else 1)
    assert (frame["rho"] == 1e-2).all()
    assert (frame["excess_95" if question == "nearest" else "radius_95"] > 0).all()
    with pytest.raises(InvalidFile, match="a file of released points"):
        gv.load(tmp_path / "answer.csv")
    if "geometry" in frame:
        saved(release, tmp_path / "answer.geojson")
        shape = geopandas.read_file(tmp_path / "answer.geojson").geometry.iloc[0]
        assert shape.is_valid


def test_neighbour_places_are_saved(tmp_path: Path) -> None:
    """Places that were released stand beside the rows that were found."""
    release: Any = gv.Locations(people(), area=BAY).nearest(STATION, k=3, locations=0.5, rho=1e-2)
    frame = release.to_frame()
    assert frame["rank"].tolist() == [1, 2, 3]
    np.testing.assert_allclose(frame.geometry.x, release.plane.out(release.coords)[:, 0])


def test_date_line_shapes(tmp_path: Path) -> None:
    """GeoJSON has longitudes from -180 to 180; a hull in Fiji is two polygons in it."""
    fiji = geopandas.GeoSeries.from_xy([179.5, -179.6, 179.9], [-17.0, -17.2, -16.5], crs=4326)
    release = gv.Locations(fiji, area=gv.local(lat=-17, lon=180, radius=300_000)).hull(rho=1)
    saved(release, tmp_path / "fiji.geojson")
    shape = geopandas.read_file(tmp_path / "fiji.geojson").geometry.iloc[0]
    assert shape.geom_type == "MultiPolygon"
    west, _, east, _ = shape.bounds
    assert (west, east) == (-180, 180)
    assert shape.area == pytest.approx(release.value.area, rel=1e-9)


def test_heat_map_cells(tmp_path: Path) -> None:
    """Each cell is a square in the system of the points, with how many points are to be expected in it."""
    release = gv.Locations(people(), person="user", area=BAY).points(rho=1e-3)
    heat = release.density(gv.Grid((-4000, -4000, 4000, 4000), cell=2000))
    account = saved(heat, tmp_path / "heat.geojson")
    cells = geopandas.read_file(tmp_path / "heat.geojson")
    assert account["file"]["kind"] == "cells"
    np.testing.assert_allclose(cells["points"].to_numpy().reshape(4, 4), heat.value)
    west, south, east, north = cells.to_crs(BAY.crs).geometry.iloc[0].bounds
    assert (west, south, east, north) == pytest.approx((-4000, -4000, -2000, -2000), abs=1)


def test_unsavable_is_refused(tmp_path: Path) -> None:
    """Metres of no place on Earth, persons without a column, unknown endings, and answers where nothing was placed."""
    with pytest.raises(InvalidData, match="locations on the Earth"):
        gv.Locations([[0.0, 0.0]]).mean(rho=1e-3).to_file(tmp_path / "out.csv")
    frame = people()
    with pytest.raises(InvalidData, match="with a column of persons"):
        gv.Locations(frame.geometry, person=frame["user"], area=BAY).points(rho=1e-3).to_file(tmp_path / "out.csv")
    labelled = frame.assign(person="ann")
    with pytest.raises(InvalidData, match="the labels that the release was made with"):
        gv.Locations(labelled, person=np.arange(60), area=BAY).points(rho=1e-3, keep="all").to_file(
            tmp_path / "out.csv"
        )
    with pytest.raises(InvalidParameter, match="ends in one of"):
        gv.Locations(frame, area=BAY).hull(rho=1e-3).to_file(tmp_path / "out.gpx")
    with pytest.raises(InvalidParameter, match="no locations"):
        gv.Locations(frame, area=BAY).radius(rho=1e-3).to_file(tmp_path / "out.geojson")
    other = gv.Locations(frame, person="user", area=BAY).points(rho=1e-3)
    heat = (
        gv.Locations(frame, person="user", area=BAY)
        .points(rho=1e-3)
        .density(gv.Grid((-4000, -4000, 4000, 4000), cell=2000))
    )
    with pytest.raises(InvalidData, match="of one input"):
        other.remap(heat).to_file(tmp_path / "out.csv")
    assert not [*tmp_path.iterdir()]


def test_ledger_entry_stays(tmp_path: Path) -> None:
    """A smoothed file still says where it was charged, and the ledger agrees."""
    source, how = make("trips.csv", tmp_path)
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    release_of(
        "points", source, ledger=ledger, subject="ann", to=tmp_path / "out.csv", rho=1e-3, **{**how, "person": None}
    )
    account = saved(smoothed(gv.load(tmp_path / "out.csv")), tmp_path / "smooth.csv")
    assert account["entry"]["number"] == 2
    assert ledger.verify([account]) == 3
