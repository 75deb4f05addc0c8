"""Only registered coordinate systems are released: one that a user made up may tell where the data is."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pyproj
import pytest
from pyproj.database import query_crs_info
from pyproj.enums import PJType

import geoveil as gv
from geoveil.errors import InvalidCoordinateSystem
from geoveil.geo.areas import area_of
from geoveil.geo.coordinate_systems import horizontal, registered
from geoveil.geo.planes import _operation

BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)
WGS84 = pyproj.CRS(4326)
#: Centred on a home: whoever reads the system needs no data.
HOME = "+proj=aeqd +lat_0=37.771234 +lon_0=-122.429876 +datum=WGS84 +type=crs"
SECRET = "annlivesat37771234"


def marked(crs: Any) -> Any:
    """A system with a word in its name, its remarks and its area."""
    more = {"name": SECRET, "remarks": SECRET, "scope": SECRET, "area": SECRET}
    return pyproj.CRS.from_json_dict(pyproj.CRS(crs).to_json_dict() | more)


def frame(crs: Any) -> Any:
    """Two points near San Francisco in a system."""
    points = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy([-122.43, -122.41], [37.77, 37.78]), crs=4326)
    return points.to_crs(crs)


def claimed(crs: Any, authority: str, code: int) -> Any:
    """A system that claims a code of another one."""
    found: dict[str, Any] = pyproj.CRS(crs).to_json_dict()
    return pyproj.CRS.from_json_dict({**found, "id": {"authority": authority, "code": code}})


BOUND = "+proj=utm +zone=10 +ellps=WGS84 +towgs84=37.771234,0,0 +type=crs"
OWN: list[Any] = [
    HOME,
    marked(HOME),
    claimed(HOME, "EPSG", 32610),
    BOUND,
    "+proj=utm +zone=10 +a=6378137 +rf=298 +type=crs",
]


@pytest.mark.parametrize("own", OWN, ids=["home", "marked", "claimed", "bound", "ellipsoid"])
def test_own_systems_are_refused(own: Any) -> None:
    """Unregistered systems are refused for a frame and as a plane, and the remedy works."""
    crs = pyproj.CRS(own)
    assert registered(crs) is None
    x = frame(crs)
    with pytest.raises(InvalidCoordinateSystem, match=r"public register.*to_crs\(4326\)"):
        gv.Locations(x, area=BAY).points(rho=1e-4)
    with pytest.raises(InvalidCoordinateSystem, match="public register"):
        gv.Locations(x, area=BAY).session(rho=1e-4)
    with pytest.raises(InvalidCoordinateSystem, match="public register"):
        area_of(crs)
    assert gv.Locations(x.to_crs(4326), area=BAY).points(rho=1e-4).n == 2


@pytest.mark.parametrize("code", [4326, 4979, "OGC:CRS84", 32610, 26910, 2227, "ESRI:102003", "EPSG:32610+5703"])
def test_system_remarks_are_removed(code: Any) -> None:
    """The name, remarks, scope and area of a system are removed: releases have those of the register."""
    x = frame(code).set_crs(marked(code), allow_override=True)
    release = gv.Locations(x, area=BAY).points(rho=1e-4)
    assert release.value.crs == pyproj.CRS(code) or release.value.crs == registered(pyproj.CRS(code))
    told = json.dumps(release.certificate()) + release.value.crs.to_wkt() + release.value.crs.to_json() + repr(release)
    assert SECRET not in told
    named = gv.Locations(x, person=["a", "b"], area=BAY).center(rho=1e-4)
    assert SECRET not in named.value.crs.to_json()


def test_own_shifts_are_removed() -> None:
    """A registered system with a datum shift beside it is the registered one."""
    shift = pyproj.crs.coordinate_operation.ToWGS84Transformation(pyproj.CRS(4277), 37.771234, -122.4, 0, 0, 0, 0, 0)
    bound = pyproj.crs.BoundCRS(pyproj.CRS(27700), WGS84, shift)
    x = geopandas.GeoSeries.from_xy([530_000.0], [180_000.0], crs=bound)
    for crs in (None, gv.local(lat=51.5, lon=-0.1, radius=50_000)):
        release = gv.Locations(x, area=crs).points(rho=1e-4)
        assert release.value.crs == pyproj.CRS(27700)
        assert "37.771234" not in release.value.crs.to_json() + json.dumps(release.certificate())


def test_systems_in_other_words() -> None:
    """Systems are recognised as strings of PROJ, and as ESRI writes them into shapefiles."""
    for text, code in (
        ("+proj=utm +zone=10 +datum=WGS84 +type=crs", "EPSG:32610"),
        ("+proj=longlat +datum=WGS84 +type=crs", "OGC:CRS84"),
        (pyproj.CRS(2227).to_wkt("WKT1_ESRI"), "EPSG:2227"),
        (pyproj.CRS(4326).to_wkt("WKT1_ESRI"), "EPSG:4326"),
    ):
        found: Any = registered(pyproj.CRS(text))
        assert found == pyproj.CRS(code)
        assert found.to_string() == code


def write(x: Any, path: Path) -> None:
    """A frame as a file, with all that its system says."""
    if path.suffix == ".parquet":
        x.to_parquet(path)
    else:
        x.to_file(path)


@pytest.mark.parametrize("name", ["x.parquet", "x.gpkg", "x.shp", "x.geojson"])
def test_files_state_registered_systems(name: str, tmp_path: Path) -> None:
    """No byte of what is written has the word that the source's system has."""
    (tmp_path / "out").mkdir()
    source, target = tmp_path / name, tmp_path / "out" / name
    write(frame(32610).set_crs(marked(32610), allow_override=True), source)
    gv.Locations(source, area=BAY).points(to=target, rho=1e-4)
    for path in (tmp_path / "out").iterdir():
        assert SECRET.encode() not in path.read_bytes()
    found: Any = gv.load(target).value.crs
    assert found.to_authority() == ("EPSG", "32610")


@pytest.mark.parametrize("name", ["x.parquet", "x.gpkg", "x.shp"])
def test_own_file_systems_are_refused(name: str, tmp_path: Path) -> None:
    """Nothing is written; `read` leads into the area's plane, which may be released."""
    source, target = tmp_path / name, tmp_path / f"out-{name}"
    write(frame(HOME), source)
    with pytest.raises(InvalidCoordinateSystem, match=r"public register.*ogr2ogr -t_srs EPSG:4326"):
        gv.Locations(source, area=BAY).points(to=target, rho=1e-4)
    assert not target.exists()
    release = gv.Locations(gv.Locations(source, area=BAY).frame()).points(rho=1e-4)
    assert release.value.crs == BAY.crs
    assert "37.771234" not in json.dumps(release.certificate())


def test_own_csv_systems_are_refused(tmp_path: Path) -> None:
    """A CSV file in an unregistered system is refused, as the certificate would hold the system."""
    (tmp_path / "x.csv").write_text("east,north\n1,2\n")
    with pytest.raises(InvalidCoordinateSystem, match="public register"):
        gv.Locations(tmp_path / "x.csv", lat="north", lon="east", crs=HOME, area=BAY).points(
            to=tmp_path / "y.csv", rho=1e-4
        )


#: Systems between whose datum and WGS 84 PROJ knows no shift: a sphere, a county's own ellipsoid, and a survey.
UNKNOWN_SHIFTS = ["EPSG:4053", "ESRI:104700", "EPSG:4199", "EPSG:3408", "ESRI:53026"]


@pytest.mark.parametrize("code", UNKNOWN_SHIFTS)
def test_other_ellipsoids_are_refused(code: str) -> None:
    """A system that PROJ would take for WGS 84, on another ellipsoid, is refused; the remedy of the error works."""
    x = frame(4326).set_crs(code, allow_override=True) if pyproj.CRS(code).is_geographic else frame(code)
    with pytest.raises(InvalidCoordinateSystem, match=r"without taking one ellipsoid for another.*x\.to_crs\(4326\)"):
        gv.Locations(x, area=BAY).points(rho=1e-4)
    assert gv.Locations(x.to_crs(4326), area=BAY).points(rho=1e-4).n == 2


@pytest.mark.parametrize("code", ["EPSG:4053", "EPSG:4008", "IAU_2015:30100"])
def test_gps_on_other_ellipsoids(tmp_path: Path, code: str) -> None:
    """Degrees of GPS in a wrong system are corrected as the errors say: in a frame, a table, and a file."""
    moon = code.startswith("IAU")
    wrong = frame(4326).set_crs(code, allow_override=True)
    told = "another body than the Earth.*" if moon else r"x\.to_crs\(4326\).*"
    with pytest.raises(InvalidCoordinateSystem, match=told + r"x\.set_crs\(4326, allow_override=True\)"):
        gv.Locations(wrong, area=BAY).points(rho=1e-4)
    assert gv.Locations(wrong.set_crs(4326, allow_override=True), area=BAY).points(rho=1e-4).n == 2
    table = pd.DataFrame({"lat": wrong.geometry.y, "lon": wrong.geometry.x})
    with pytest.raises(InvalidCoordinateSystem, match=r"^crs = .*give crs=4326"):
        gv.Locations(table, crs=code, area=BAY).points(rho=1e-4)
    assert gv.Locations(table, crs=4326, area=BAY).points(rho=1e-4).n == 2
    wrong.to_file(tmp_path / "in.gpkg")
    with pytest.raises(InvalidCoordinateSystem, match=r"ogr2ogr -a_srs EPSG:4326 new\.gpkg old\.gpkg"):
        gv.Locations(tmp_path / "in.gpkg", area=BAY).points(to=tmp_path / "out.gpkg", rho=1e-4)


def test_geocentric_coordinates() -> None:
    """Coordinates from the centre of the Earth are refused; degrees from the transformer that the error names work."""
    x = geopandas.GeoSeries.from_xy([-2_706_398.1], [-4_261_312.4], crs=4978)
    with pytest.raises(InvalidCoordinateSystem, match=r"pyproj\.Transformer\.from_crs\(4978, 4979\)"):
        gv.Locations(x, area=BAY).points(rho=1e-4)
    lat, lon, _ = pyproj.Transformer.from_crs(4978, 4979).transform(-2_706_398.1, -4_261_312.4, 3_885_489.6)
    assert gv.Locations(np.array([[lon, lat]]), crs=4326, area=BAY).points(rho=1e-4).n == 1


def test_area_on_other_ellipsoid() -> None:
    """The plane of such an area is refused for degrees of GPS; a local area works."""
    x = geopandas.GeoSeries.from_xy([138.1, 138.2], [9.5, 9.6], crs=4326)
    with pytest.raises(InvalidCoordinateSystem, match=r"without taking one ellipsoid for another.*gv\.local"):
        gv.Locations(x, area=3295).points(rho=1e-4)
    assert gv.Locations(x, area=gv.local(lat=9.55, lon=138.15, radius=50_000)).points(rho=1e-4).n == 2


def geodetic_systems() -> dict[str, pyproj.CRS]:
    """Return the systems of longitudes and latitudes of all registered systems, by their definitions."""
    kinds = [PJType.GEOGRAPHIC_2D_CRS, PJType.PROJECTED_CRS]
    found: dict[str, pyproj.CRS] = {}
    for info in query_crs_info(pj_types=kinds, allow_deprecated=True):
        geodetic = horizontal(pyproj.CRS.from_authority(info.auth_name, info.code)).geodetic_crs
        assert geodetic is not None
        if geodetic.is_geographic:
            found.setdefault(geodetic.to_json(), geodetic)
    return found


@pytest.mark.deep
def test_every_registered_system() -> None:
    """Whatever system PROJ knows, it is refused or 100 m on its ellipsoid are 100 m on the ground, to 5 cm."""
    refused, worst = 0, 0.0
    systems = geodetic_systems()
    for system in systems.values():
        operation = _operation(system, WGS84)
        if operation is None:
            refused += 1
            continue
        west, south, east, north = (0, 40, 1, 41) if system.area_of_use is None else system.area_of_use.bounds
        lon, lat = west + ((east - west) % 360) / 2, (south + north) / 2
        geod = system.get_geod()
        assert geod is not None
        there = np.array([[lon, lat], *(geod.fwd(lon, lat, turn, 100.0)[:2] for turn in (0, 45, 90))])
        unit = system.axis_info[0].unit_conversion_factor / math.radians(1)
        meridian = 0.0 if system.prime_meridian is None else system.prime_meridian.longitude
        own = (there - [meridian * unit, 0]) / unit
        same = operation.startswith("proj=noop")
        ground = own if same else np.column_stack(pyproj.Transformer.from_pipeline(operation).transform(*own.T))
        if not np.isfinite(ground).all():
            continue
        for end in ground[1:]:
            away = pyproj.Geod(ellps="WGS84").inv(*ground[0], *end)[2]
            worst = max(worst, abs(away - 100))
            assert abs(away - 100) < 0.05, (system.name, away)
    assert 0 < refused < len(systems) / 2
