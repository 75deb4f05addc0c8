"""Files in the conventions of programs and data standards, made up: tracks of a few persons in one city."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import shapely

__all__ = ["CONVENTIONS"]


def _walks(persons: int = 4, points: int = 60) -> Any:
    """Return random walks from the middle of Zurich: person, number, time, lat, lon."""
    rng = np.random.default_rng(17)
    steps = rng.normal(scale=2e-4, size=(persons, points, 2)).cumsum(axis=1) + np.array([47.3769, 8.5417])
    steps += rng.normal(scale=0.02, size=(persons, 1, 2))
    times = pd.Timestamp("2024-05-01 08:00", tz="UTC") + pd.to_timedelta(np.arange(points) * 60, unit="s")
    return pd.DataFrame(
        {
            "person": np.repeat([f"p{i}" for i in range(persons)], points),
            "number": np.tile(np.arange(points), persons),
            "time": np.tile(times, persons),
            "lat": steps[..., 0].ravel().round(6),
            "lon": steps[..., 1].ravel().round(6),
        }
    )


def _places(walks: Any) -> Any:
    return geopandas.points_from_xy(walks["lon"], walks["lat"], crs=4326)


def _movebank(path: Path) -> None:
    walks = _walks()
    pd.DataFrame(
        {
            "event-id": np.arange(10**9, 10**9 + len(walks)),
            "visible": "true",
            "timestamp": walks["time"].dt.strftime("%Y-%m-%d %H:%M:%S.000"),
            "location-long": walks["lon"],
            "location-lat": walks["lat"],
            "sensor-type": "gps",
            "individual-taxon-canonical-name": "Ciconia ciconia",
            "tag-local-identifier": walks["person"].str[1:],
            "individual-local-identifier": walks["person"],
            "study-name": "made up",
        }
    ).to_csv(path, index=False)


def _movebank_r(path: Path) -> None:
    """Write Movebank's columns as the R package move names them."""
    walks = _walks()
    named = {"location.long": walks["lon"], "location.lat": walks["lat"], "timestamp": walks["time"].astype(str)}
    pd.DataFrame({**named, "individual.local.identifier": walks["person"]}).to_csv(path, index=False)


def _mds(path: Path) -> None:
    """Write telemetry of vehicles as the Mobility Data Specification names it, times in milliseconds."""
    walks = _walks()
    pd.DataFrame(
        {
            "provider_id": "5f7114d1-4091-46ee-b492-e55875f7de00",
            "device_id": walks["person"],
            "timestamp": (walks["time"] - pd.Timestamp(0, tz="UTC")) // pd.Timedelta("1ms"),
            "lat": walks["lat"],
            "lng": walks["lon"],
            "accuracy": 5,
        }
    ).to_csv(path, index=False)


def _ais(path: Path) -> None:
    """Write positions of ships as public archives of AIS messages have them."""
    walks = _walks()
    pd.DataFrame(
        {
            "MMSI": 269_057_000 + walks["person"].str[1:].astype(int),
            "BaseDateTime": walks["time"].dt.strftime("%Y-%m-%dT%H:%M:%S"),
            "LAT": walks["lat"],
            "LON": walks["lon"],
            "SOG": 7.1,
            "COG": 212.0,
            "Heading": 511,
            "VesselName": "STADT " + walks["person"].str.upper(),
            "Status": "",
        }
    ).to_csv(path, index=False)


def _skmob(path: Path) -> None:
    """Write a TrajDataFrame of scikit-mobility, with the index that pandas writes."""
    walks = _walks()
    frame = pd.DataFrame({"uid": walks["person"], "lat": walks["lat"], "lng": walks["lon"]})
    frame.insert(1, "datetime", walks["time"].dt.strftime("%Y-%m-%d %H:%M:%S"))
    frame.to_csv(path)


def _trackintel(path: Path) -> None:
    """Write position fixes of trackintel, with the location as well-known text."""
    walks = _walks()
    frame = pd.DataFrame({"user_id": walks["person"], "tracked_at": walks["time"].astype(str), "accuracy": 10.0})
    frame.assign(geom=shapely.to_wkt(np.asarray(_places(walks)))).to_csv(path, index_label="id")


def _trips(path: Path) -> None:
    """Write rides of a bike share with their start and end in one row."""
    walks = _walks()
    first, last = walks[walks["number"] % 20 == 0], walks[walks["number"] % 20 == 19]
    pd.DataFrame(
        {
            "ride_id": [f"R{i:05d}" for i in range(len(first))],
            "rideable_type": "electric_bike",
            "started_at": first["time"].dt.strftime("%Y-%m-%d %H:%M:%S").to_numpy(),
            "ended_at": last["time"].dt.strftime("%Y-%m-%d %H:%M:%S").to_numpy(),
            "start_lat": first["lat"].to_numpy(),
            "start_lng": first["lon"].to_numpy(),
            "end_lat": last["lat"].to_numpy(),
            "end_lng": last["lon"].to_numpy(),
            "member_casual": "member",
        }
    ).to_csv(path, index=False)


def _geolife(path: Path) -> None:
    """Write the folders of the Geolife data."""
    header = (
        "Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n0,2,255,My Track,0,0,2,8421376\r\n0\r\n"
    )
    for person, walk in _walks().groupby("person"):
        days = (walk["time"] - pd.Timestamp("1899-12-30", tz="UTC")) / pd.Timedelta("1D")
        folder = path / "Data" / f"{int(str(person)[1:]):03d}" / "Trajectory"
        folder.mkdir(parents=True)
        lines = [
            f"{row.lat},{row.lon},0,492,{day:.10f},{row.time:%Y-%m-%d},{row.time:%H:%M:%S}\r\n"
            for row, day in zip(walk.itertuples(), days, strict=True)
        ]
        (folder / f"{walk['time'].iloc[0]:%Y%m%d%H%M%S}.plt").write_text(header + "".join(lines), newline="")


def _excel(path: Path) -> None:
    walks = _walks()
    frame = pd.DataFrame({"Name": walks["person"], "Date/Time": walks["time"].dt.tz_localize(None)})
    frame.assign(Latitude=walks["lat"], Longitude=walks["lon"], Remark="").to_excel(path, index=False)


def _german(path: Path) -> None:
    """Write a table as a German spreadsheet saves it: semicolons, decimal commas, Windows encoding."""
    walks = _walks()
    frame = pd.DataFrame({"Gerät": walks["person"], "Zeit": walks["time"].dt.strftime("%d.%m.%Y %H:%M:%S")})
    frame = frame.assign(**{"Breitengrad": walks["lat"], "Längengrad": walks["lon"]})
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252")


def _moving(path: Path) -> None:
    """Write GeoParquet with the times as the index, as movingpandas and geopandas do."""
    walks = _walks()
    index = pd.DatetimeIndex(walks["time"], name="t")
    frame = geopandas.GeoDataFrame({"traj_id": walks["person"].to_numpy()}, geometry=_places(walks), index=index)
    frame.to_parquet(path)


def _frame() -> Any:
    walks = _walks()
    columns = {"user": walks["person"], "time": walks["time"].astype(str)}
    return geopandas.GeoDataFrame(columns, geometry=_places(walks))


def _gpx(path: Path) -> None:
    """Write waypoints, a route and a track in one file, as hiking devices do."""
    walk = _walks(1)
    points = [(row.lat, row.lon, f"{row.time:%Y-%m-%dT%H:%M:%SZ}") for row in walk.itertuples()]

    def element(tag: str, point: tuple[float, float, str]) -> str:
        return f'<{tag} lat="{point[0]}" lon="{point[1]}"><ele>408</ele><time>{point[2]}</time></{tag}>'

    parts = [element("wpt", points[0]), element("wpt", points[-1]), "<rte><name>plan</name>"]
    parts += [*(element("rtept", point) for point in points[::20]), "</rte><trk><name>walk</name><trkseg>"]
    parts += [*(element("trkpt", point) for point in points), "</trkseg></trk>"]
    head = '<?xml version="1.0"?><gpx version="1.1" creator="made up" xmlns="http://www.topografix.com/GPX/1/1">'
    path.write_text(head + "".join(parts) + "</gpx>")


def _kml() -> str:
    """Return tracks with times as phones record them."""
    tracks = []
    for person, walk in _walks().groupby("person"):
        times = "".join(f"<when>{time:%Y-%m-%dT%H:%M:%SZ}</when>" for time in walk["time"])
        places = "".join(f"<gx:coord>{row.lon} {row.lat} 408</gx:coord>" for row in walk.itertuples())
        tracks.append(f"<Placemark><name>{person}</name><gx:Track>{times}{places}</gx:Track></Placemark>")
    spaces = 'xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2"'
    return f'<?xml version="1.0"?><kml {spaces}><Document>{"".join(tracks)}</Document></kml>'


def _plain_kml(path: Path) -> None:
    path.write_text(_kml())


def _kmz(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("doc.kml", _kml())


def _zipped(path: Path) -> None:
    """Write a zipped shapefile with the times and persons in columns of ten characters."""
    folder = path.with_suffix("")
    folder.mkdir()
    _frame().to_file(folder / "tracks.shp")
    with zipfile.ZipFile(path, "w") as archive:
        for part in sorted(folder.iterdir()):
            archive.write(part, f"export/{part.name}")


#: How files are made, and the column of persons, by the name of the file.
CONVENTIONS: dict[str, tuple[str | None, Callable[[Path], None]]] = {
    "movebank.csv": ("individual-local-identifier", _movebank),
    "movebank-from-r.csv": ("individual.local.identifier", _movebank_r),
    "mds-telemetry.csv": ("device_id", _mds),
    "ais.csv": ("MMSI", _ais),
    "skmob.csv": ("uid", _skmob),
    "trackintel.csv": ("user_id", _trackintel),
    "bike-share.csv": ("ride_id", _trips),
    "geolife": ("user", _geolife),
    "fleet.xlsx": ("Name", _excel),
    "german.csv": ("Gerät", _german),
    "movingpandas.parquet": ("traj_id", _moving),
    "hike.gpx": (None, _gpx),
    "phone.kml": ("name", _plain_kml),
    "phone.kmz": ("name", _kmz),
    "tracks.shp.zip": ("user", _zipped),
    "tracks.fgb": ("user", lambda path: _frame().to_file(path)),
    "tracks.geojsonl": ("user", lambda path: _frame().to_file(path, driver="GeoJSONSeq")),
    "positions.txt": ("user", lambda path: _walks().rename(columns={"person": "user"}).to_csv(path, sep="\t")),
}
