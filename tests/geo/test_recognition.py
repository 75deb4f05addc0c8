"""Columns of coordinates, geometries, times and persons are recognised under the names that people give them."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from geoveil.geo.recognition import are_times, recognise

#: Pairs of names of longitude and latitude.
DEGREES = [
    *(("lon", "lat"), ("longitude", "latitude"), ("lng", "lat"), ("long", "lat"), ("LON", "LAT"), ("Lon", "Lat")),
    *(("centroid_lon", "centroid_lat"), ("location.long", "location.lat"), ("location-long", "location-lat")),
    *(("Longitude_deg", "Latitude_deg"), ("gps_lon", "gps_lat"), ("lon_dd", "lat_dd"), ("gpsLon", "gpsLat")),
    *(("decimalLongitude", "decimalLatitude"), ("decimallongitude", "decimallatitude"), ("gpslon", "gpslat")),
    *(("stop_lon", "stop_lat"), ("x_lon", "y_lat"), ("lon_wgs84", "lat_wgs84"), ("Longitud", "Latitud")),
    *((" longitude ", " latitude "), ("home_lng", "home_lat"), ("Longitude (deg)", "Latitude (deg)")),
    *(("Längengrad", "Breitengrad"), ("londeg", "latdeg"), ("LONG", "LAT"), ("location_lng", "location_lat")),
]
#: Pairs of names of an unknown system.
UNKNOWN = [
    *(("x", "y"), ("X", "Y"), ("easting", "northing"), ("point_x", "point_y"), ("POINT_X", "POINT_Y")),
    *(("x_coord", "y_coord"), ("XCOORD", "YCOORD"), ("utm-easting", "utm-northing"), ("Eastings", "Northings")),
    *(("X Coordinate", "Y Coordinate"), ("Rechtswert", "Hochwert"), ("e", "n"), ("coord_x", "coord_y")),
]
#: Names of origins and destinations, before an axis.
TRIPS = [
    *(("pickup_", "dropoff_"), ("start_", "end_"), ("origin_", "destination_"), ("Start ", "End "), ("from_", "to_")),
    *(("start station ", "end station "), ("Pickup Centroid ", "Dropoff Centroid "), ("orig_", "dest_")),
    *(("start_location.", "end_location."), ("o_", "d_"), ("pick_up_", "drop_off_"), ("trip_start_", "trip_end_")),
]


@pytest.mark.parametrize(("x", "y"), DEGREES)
def test_degrees_are_recognised(x: str, y: str) -> None:
    """Whatever the order of the columns and whatever is around them."""
    for names in ((x, y), (y, x)):
        found = recognise({"platform": ["ios"], **{name: ["12.5"] for name in names}, "long_name": ["a"]})
        assert found.pairs == ((x, y),)
        assert found.degrees


@pytest.mark.parametrize(("x", "y"), UNKNOWN)
def test_unknown_systems_are_recognised(x: str, y: str) -> None:
    """Coordinates of unknown systems are recognised as such. Their system is not guessed."""
    found = recognise({y: [5_000_000.0], "user": ["a"], x: [400_000.0]})
    assert found.pairs == ((x, y),)
    assert not found.degrees


@pytest.mark.parametrize(("origin", "destination"), TRIPS)
@pytest.mark.parametrize(("x", "y"), [("lon", "lat"), ("longitude", "latitude"), ("Lng", "Lat")])
def test_trips_are_recognised(origin: str, destination: str, x: str, y: str) -> None:
    """Both are locations of the row, in this order."""
    names = [destination + y, destination + x, origin + x, origin + y]
    found = recognise({name: [1.5] for name in names})
    assert found.pairs == ((origin + x, origin + y), (destination + x, destination + y))
    assert found.degrees


def test_numbered_points() -> None:
    """Numbered points are origin and destination. lat1, lon1, lat2, lon2."""
    assert recognise({name: [1.5] for name in ("lat1", "lon1", "lat2", "lon2")}).pairs == (
        ("lon1", "lat1"),
        ("lon2", "lat2"),
    )


def test_plain_pair_wins() -> None:
    """The plain pair is the location of a row. Others may be its home, or the same place in another system."""
    names = ["lat", "lon", "home_lat", "home_lon", "utm-easting", "utm-northing"]
    found = recognise({name: [1.5] for name in names})
    assert found.pairs == (("lon", "lat"),)
    assert len(found.candidates) == 3
    assert recognise({n: [1.0] for n in ("lat", "longitude", "latitude", "lon")}).pairs == (("longitude", "latitude"),)


@pytest.mark.parametrize(
    "names",
    [
        ("home_lat", "home_lon", "work_lat", "work_lon"),
        ("gps_lat", "gps_lon", "centroid_lat", "centroid_lon"),
        ("start_lat", "start_lon", "end_lat", "end_lon", "origin_lat", "origin_lon", "dest_lat", "dest_lon"),
    ],
)
def test_several_pairs_are_candidates(names: tuple[str, ...]) -> None:
    """None is chosen, and all are candidates."""
    found = recognise({name: [1.5] for name in names})
    assert found.pairs == ()
    assert found.geometry is None
    assert len(found.candidates) == len(names) // 2


@pytest.mark.parametrize("names", [("lat", "name"), ("platform", "translation"), ("flat", "plan"), ("long", "short")])
def test_similar_names_are_not(names: tuple[str, ...]) -> None:
    """A pair needs both axes."""
    assert recognise({name: [1.5] for name in names}).candidates == ()


def test_text_axes_are_not() -> None:
    """Letters and sizes may be called x and y."""
    assert recognise({"x": ["left", "right"], "y": ["up", "down"]}).candidates == ()


@pytest.mark.parametrize(
    ("name", "value", "encoding"),
    [
        ("geom", "POINT (8.5 47.4)", "wkt"),
        ("whatever", "SRID=4326;LINESTRING Z (8.5 47.4 1, 8.6 47.4 2)", "wkt"),
        ("geom", "POINT EMPTY", "wkt"),
        ("geo", '{"type": "Point", "coordinates": [8.5, 47.4]}', "geojson"),
        ("route", '{"type": "FeatureCollection", "features": []}', "geojson"),
        ("wkb", "0101000000000000000000214033333333333347" + "40", "hex"),
        ("geometry", bytes.fromhex("010100000000000000000021403333333333334740"), "wkb"),
        ("location", "37.77,-122.42", "lat,lon"),
        ("geo_point_2d", "(37.77, -122.42)", "lat,lon"),
        ("latlng", "37.77 37.42", "lat,lon"),
        ("lon_lat", "37.77,37.42", "lon,lat"),
        ("coordinates", "-122.42, 37.77", "lon,lat"),
    ],
)
def test_geometry_columns_by_content(name: str, value: Any, encoding: str) -> None:
    """Missing values do not matter."""
    found = recognise({"id": [1, 2, 3], name: [None, value, ""]})
    assert found.geometry == (name, encoding)
    assert found.pairs == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [("price", "10.50,20.30"), ("location", "Zürich"), ("location", "247.77,300.2"), ("coords", "47,37")],
)
def test_other_texts_are_not(name: str, value: str) -> None:
    """Other texts are no geometries. Two prices, a city, metres, and a number with a decimal comma."""
    assert recognise({name: [value]}).geometries == {}


def test_coordinates_before_geometries() -> None:
    """Degrees first, then geometries, then coordinates of an unknown system."""
    texts = {"where": ["POINT (8.5 47.4)"]}
    assert recognise({**texts, "lat": [47.4], "lon": [8.5]}).geometry is None
    found = recognise({**texts, "x": [2_600_000.0], "y": [1_200_000.0]})
    assert (found.geometry, found.pairs) == (("where", "wkt"), ())
    two = recognise({**texts, "there": ["POINT (8.5 47.4)"]})
    assert (two.geometry, [*two.geometries]) == (None, ["where", "there"])
    assert recognise({**texts, "geom": ["POINT (8.5 47.4)"]}).geometry == ("geom", "wkt")


TIMES = [
    *(("ais_pos_timestamp", "20/03/2021 00:22"), ("Date/Time", "3/20/2021 1:05:00 PM"), ("tracked_at", "2012-12-18")),
    *(("started_at", "2012-12-18T21:30:35Z"), ("datetime", "2008-10-23 03:05:10.178999901"), ("t", 1_211_018_404)),
    *(("epoch", "1211018404"), ("ts_ms", 1_211_018_404_000), ("unix", 1.211018404e9), ("time", "21:30:35")),
    *(
        ("utc", "Tue Apr 03 18:00:09 +0000 2012"),
        ("tpep_pickup_datetime", "2015-01-15 19:05:39"),
        ("date", "20210320"),
    ),
    *(
        ("BaseDateTime", "2021-03-20T00:22:00"),
        ("leaving_datetime", "2021-03-20 00:22:00+01:00"),
        ("Datum", "1.5.2024"),
    ),
    *(("createdAt", "May 1, 2024 6:00 PM"), ("when", "1 May 2024"), ("departure", datetime.datetime(2024, 5, 1))),
    *(
        ("date", datetime.date(2024, 5, 1)),
        ("starttime", "2013-07-01 00:00:00"),
        ("timestamp", "2024-05-01 08:30 UTC"),
    ),
    *(("# Timestamp", "01/05/2024 00:00:00"), ("event_time", "2024-05-01T08:30:00.000+02:00"), ("ts", 1211018404.5)),
]


@pytest.mark.parametrize(("name", "value"), TIMES)
def test_times_are_recognised(name: str, value: Any) -> None:
    """Times are recognised by name and content. Under any usual name; a missing value does not matter."""
    found = recognise({"lat": [1.5, 1.5], "lon": [1.5, 1.5], name: [value, None]})
    assert found.times == (name,)
    assert found.unclear_times == ()


@pytest.mark.parametrize(
    "kind", ["datetime64[ns]", "timestamp[us, tz=UTC]", "date32[day]", "Datetime(time_unit='us')"]
)
def test_time_types_count(kind: str) -> None:
    """Types of times count as content. Also in tables without rows."""
    assert recognise(
        {"t": [], "birthdate": [], "other": []}, dict.fromkeys(["t", "birthdate", "other"], kind)
    ).times == ("t",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("last_review", "2018-10-19"), ("time", 17), ("time", "soon"), ("travel_time", "00:17"), ("t", 0.5)),
        *(("date", 20.5), ("timestamp", "u1"), ("period", datetime.datetime(2024, 5, 1))),
    ],
)
def test_half_times_are_unclear(name: str, value: Any) -> None:
    """Such columns are not taken as times, and are told."""
    found = recognise({name: [value]})
    assert (found.times, found.unclear_times) == ((), (name,))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("birth_date", "1990-05-01"), ("dob", "1990-05-01"), ("expiry_date", "2030-05-01"), ("birthdate", 20240501)),
        *(("mmsi", 366_123_456), ("start_station_id", 72), ("status", "ok"), ("version", "1.5"), ("id", 20240501)),
        *(("date_of_birth", datetime.date(1990, 5, 1)), ("elapsed", datetime.timedelta(1)), ("platform", "iOS 17")),
    ],
)
def test_other_columns_are_not(name: str, value: Any) -> None:
    """Other columns are no times.

    Dates of persons, numbers that happen to be those of seconds, and events that are no times.
    """
    found = recognise({name: [value]})
    assert (found.times, found.unclear_times) == ((), ())


def test_mixed_times_are_unclear() -> None:
    """A text among dates would be released unchanged."""
    assert are_times("time", "string", ["2024-05-01", "2024-05-02"]) is True
    assert are_times("time", "string", ["2024-05-01", "Wisteria Lane 7"]) is None


@pytest.mark.parametrize(
    "name",
    [
        *("user_id", "uid", "mmsi", "taxi_id", "individual-local-identifier", "device_id", "userId", "user", "MMSI"),
        *("imei", "tag-local-identifier", "vehicle_id", "driver", "host_id", "icao24", "person", "cab"),
    ],
)
def test_persons_are_candidates(name: str) -> None:
    """Columns of persons are candidates. Before those that only may be, such as an id that repeats."""
    rows = 20
    table = {"id": [0] * rows, name: [7] * rows, "obs_id": [*range(rows)], "member_casual": ["member"] * rows}
    assert recognise(table).persons == (name, "id")


def test_groups_are_no_persons() -> None:
    """The species of animals and the names of states are those of many."""
    table = {"individual-taxon-canonical-name": ["stork"] * 20, "STATE_NAME": ["Ohio"] * 20, "tag": ["a", "b"] * 10}
    assert recognise(table).persons == ("tag",)


def test_row_numbers_are_not() -> None:
    """Numbers of rows are no persons. An id with another value in each row, and numbers with decimals."""
    assert recognise({"id": [*range(20)], "name": [1.5] * 20, "count": [1] * 20, "trip": ["2.5"] * 20}).persons == ()


PRESETS: dict[str, tuple[dict[str, Any], Any, tuple[str, ...], str]] = {
    "scikit-mobility": (
        {"uid": 1, "lat": 39.98, "lng": 116.31, "datetime": "2008-10-23 05:53:05"},
        (("lng", "lat"),),
        ("datetime",),
        "uid",
    ),
    "scikit-mobility stops": (
        {"user": 1, "lat": 39.9, "lng": 116.3, "datetime": "2008-10-23 05:53", "leaving_datetime": "2008-10-23 09:53"},
        (("lng", "lat"),),
        ("datetime", "leaving_datetime"),
        "user",
    ),
    "trackintel": (
        {"id": 1, "user_id": 0, "tracked_at": "2008-10-23 02:53:04+00:00", "geom": "POINT (116.318417 39.984702)"},
        ("geom", "wkt"),
        ("tracked_at",),
        "user_id",
    ),
    "Movebank": (
        {
            "event-id": 1,
            "visible": "true",
            "timestamp": "2009-05-27 14:00:00.000",
            "location-long": 24.58617,
            "location-lat": 61.24783,
            "tag-local-identifier": "91732",
            "individual-local-identifier": "91732A",
        },
        (("location-long", "location-lat"),),
        ("timestamp",),
        "tag-local-identifier",
    ),
    "MDS": (
        {
            "device_id": "a1",
            "trip_id": "b2",
            "start_time": 1_529_968_782_421,
            "end_time": 1_529_969_782_421,
            "route": '{"type": "FeatureCollection", "features": [{"type": "Feature"}]}',
        },
        ("route", "geojson"),
        ("start_time", "end_time"),
        "device_id",
    ),
    "GBFS": (
        {"bike_id": "a1", "lat": 12.34, "lon": 56.78, "is_reserved": 0, "last_reported": 1_640_887_163},
        (("lon", "lat"),),
        ("last_reported",),
        "bike_id",
    ),
    "check-ins": (
        {
            "user": 0,
            "check-in time": "2010-10-19T23:55:27Z",
            "latitude": 30.2,
            "longitude": -97.7,
            "location id": 22847,
        },
        (("longitude", "latitude"),),
        ("check-in time",),
        "user",
    ),
    "AIS": (
        {"MMSI": 367_123_456, "BaseDateTime": "2021-03-20T00:22:00", "LAT": 29.9, "LON": -90.1, "SOG": 3.2},
        (("LON", "LAT"),),
        ("BaseDateTime",),
        "MMSI",
    ),
}


@pytest.mark.parametrize("name", PRESETS)
def test_known_tools_are_recognised(name: str) -> None:
    """Their columns follow from the same rules as all others."""
    row, places, times, person = PRESETS[name]
    found = recognise({column: [value] for column, value in row.items()})
    assert (found.pairs or found.geometry) == places
    assert found.times == times
    assert found.persons[0] == person
