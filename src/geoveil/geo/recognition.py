"""Columns of coordinates, geometries, times and persons in a table, found by names, types and some first values.

The values serve to tell formats apart, never places: whether texts are WKT, whether numbers are times. Unclear columns
are left to the owner of the table, with a list of candidates.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from geoveil.errors import InvalidParameter, Message
from geoveil.geo.columns import tells_places, words
from geoveil.geo.seconds import EPOCH, EPOCH_UNITS

__all__ = [
    *("MISSING", "SAMPLE", "WKT", "Encoding", "Pair", "Recognised", "are_times", "degrees_of", "encoding_of"),
    *("is_missing", "is_number", "may_be_times", "names_persons", "recognise", "unit_of"),
]

#: Number of first rows that are looked at.
SAMPLE = 1000

#: How a column holds locations: WKT, GeoJSON, WKB in hexadecimal or bytes, "37.77, -122.42", "-122.42, 37.77" or
#: "[-122.42, 37.77]", or pairs of the numbers x and y.
Encoding: TypeAlias = Literal["wkt", "geojson", "hex", "wkb", "lat,lon", "lon,lat", "[lon,lat]", "x,y"]
#: The columns of x and y: longitude and latitude, or easting and northing.
Pair: TypeAlias = tuple[Any, Any]


@dataclass(frozen=True)
class Recognised:
    """The columns of a table that were recognised."""

    #: The columns of coordinates: none, those of one location for each row, or of an origin and a destination.
    pairs: tuple[Pair, ...] = ()
    #: Whether the names of `pairs` say that they are longitude and latitude.
    degrees: bool = False
    #: The column of geometries, where there are no columns of coordinates.
    geometry: tuple[Any, Encoding] | None = None
    #: The columns that hold times, by name and content.
    times: tuple[Any, ...] = ()
    #: Columns whose content looks like times but not their name, or the name but not the content.
    unclear_times: tuple[Any, ...] = ()
    #: Columns that may name persons, the likeliest first.
    persons: tuple[Any, ...] = ()
    #: All pairs of columns that may hold coordinates.
    candidates: tuple[Pair, ...] = ()
    #: All columns that hold geometries as texts or bytes, and their encodings.
    geometries: dict[Any, Encoding] = field(default_factory=dict)

    def named_pairs(self, lat: Sequence[Any], lon: Sequence[Any]) -> tuple[Pair, ...]:
        """Return the pairs of columns that a caller names, one for each place of a row.

        If only one column of a pair is named, the column that is recognised as its partner is taken.

        Examples
        --------
        >>> rows = {"o_lat": [40.7], "o_lon": [-73.9], "d_lat": [40.8], "d_lon": [-73.8]}
        >>> recognise(rows).named_pairs(["d_lat"], [])
        (('d_lon', 'd_lat'),)
        """
        x_of, y_of = {y: x for x, y in self.candidates}, dict(self.candidates)
        if not lat and all(name in y_of for name in lon):
            lat = [y_of[name] for name in lon]
        if not lon and all(name in x_of for name in lat):
            lon = [x_of[name] for name in lat]
        fewer, given, more = ("lat", lat, lon) if len(lat) < len(lon) else ("lon", lon, lat)
        if not lat or len(lat) != len(lon) or len({*lat, *lon}) < 2 * len(lat):
            allowed = f"as many columns as the {len(more)} of the other coordinate, {[*more]}, each named once"
            remedy = Message("Give {lat} and {lon} together, with the places of a row in the same order in both.")
            raise InvalidParameter(fewer, [*given] or None, allowed, remedy)
        return tuple(zip(lon, lat, strict=True))


def recognise(sample: Mapping[Any, Sequence[object]], types: Mapping[Any, Any] | None = None) -> Recognised:
    """Recognise the columns of a table.

    Parameters
    ----------
    sample : mapping
        The first values of each column, by name; about `SAMPLE` of them.
    types : mapping, optional
        The types of columns, as pandas, polars or pyarrow write them: "datetime64[ns]", "timestamp[us, tz=UTC]".

    Examples
    --------
    >>> places = {"start_lat": [40.7], "start_lng": [-73.9], "end_lat": [40.8], "end_lng": [-73.8]}
    >>> found = recognise({"user_id": [1], "started_at": ["2024-05-01 08:30"], **places})
    >>> found.pairs
    (('start_lng', 'start_lat'), ('end_lng', 'end_lat'))
    >>> found.times, found.persons
    (('started_at',), ('user_id',))
    >>> recognise({"geom": ["POINT (8.5 47.4)"], "t": [1_211_018_404_000]}).geometry
    ('geom', 'wkt')
    """
    types = types or {}
    values = {name: [value for value in found[:SAMPLE] if not is_missing(value)] for name, found in sample.items()}
    geometries = {name: code for name, found in values.items() if (code := encoding_of(name, found)) is not None}
    degrees, metres = _pairs([name for name in sample if name not in geometries], values)
    pairs = _chosen(degrees)
    geometry = None if pairs or degrees else _main_geometry(geometries)
    if not pairs and not degrees and geometry is None and not geometries:
        pairs = _chosen(metres)
    places = {*geometries, *(name for pair in (*degrees.values(), *metres.values()) for name in pair)}
    others = {name: found for name, found in values.items() if name not in places}
    times = {name: are_times(name, types.get(name), found) for name, found in others.items()}
    return Recognised(
        pairs=pairs,
        degrees=bool(pairs) and pairs[0] in degrees.values(),
        geometry=geometry,
        times=tuple(name for name, sure in times.items() if sure),
        unclear_times=tuple(name for name, sure in times.items() if sure is None),
        persons=_persons({name: found for name, found in others.items() if not times[name]}),
        candidates=(*degrees.values(), *metres.values()),
        geometries=geometries,
    )


def is_missing(value: object) -> bool:
    """Return whether a value stands for a missing one: None, NaN, an empty text, NA, null."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    if isinstance(value, str):
        return value.strip().casefold() in MISSING
    return type(value).__name__ in ("NAType", "NaTType")


#: Texts that stand for a missing value.
MISSING = ("", "na", "n/a", "nan", "nat", "null", "none")


# Coordinates ---------------------------------------------------------------------------------------------------------

#: Names of axes, the usual ones first: those of degrees, then those of unknown coordinate systems.
_LONGITUDES = (
    "longitude",
    "lon",
    "lng",
    "long",
    "longitud",
    "longitudine",
    "längengrad",
    "laengengrad",
    "länge",
    "laenge",
)
_LATITUDES = ("latitude", "lat", "latitud", "latitudine", "breitengrad", "breite")
_EASTINGS = ("x", "easting", "eastings", "east", "rechtswert", "ostwert", "e")
_NORTHINGS = ("y", "northing", "northings", "north", "hochwert", "nordwert", "n")
_AXES = {
    word: (axis, degrees, rank)
    for axis, degrees, names in (
        ("x", True, _LONGITUDES),
        ("y", True, _LATITUDES),
        ("x", False, _EASTINGS),
        ("y", False, _NORTHINGS),
    )
    for rank, word in enumerate(names)
}
#: Words in one piece: "decimallatitude", "gpslon", "xcoord", "pointy".
_JOINED = (
    re.compile(r"(?P<more>\w{2,}?)(?P<axis>latitude|longitude|lat|lon|lng|long)"),
    re.compile(r"(?P<axis>latitude|longitude|lat|lon|lng|long|[xy])(?P<more>deg|degrees|dd|coord|coordinate|pos|utm)"),
    re.compile(r"(?P<more>coord|coordinate|point|pos|utm|gps|loc)(?P<axis>[xy])"),
)
#: Words that do not tell the locations of a row apart.
_NEUTRAL = frozenset(
    (
        *("deg", "degree", "degrees", "dd", "decimal", "wgs", "84", "wgs84", "gps", "gnss", "gis", "geo", "geom"),
        *("raw",),
        *("location", "loc", "position", "pos", "point", "coord", "coords", "coordinate", "coordinates", "centroid"),
        *("center", "centre", "value", "event", "utm", "4326", "epsg", "gcs", "map", "place", "venue", "site"),
    )
)
#: Words for the origin of a trip, each with those for its destination.
_TRIPS = {
    "pickup": ("dropoff", "destination"),
    "start": ("end", "stop", "finish"),
    "starting": ("ending",),
    "begin": ("end",),
    "origin": ("destination", "dest", "dst"),
    "orig": ("dest", "destination"),
    "o": ("d",),
    "from": ("to",),
    "source": ("target", "destination", "dest"),
    "src": ("dst", "dest"),
    "departure": ("arrival",),
    "dep": ("arr",),
    "boarding": ("alighting",),
    "board": ("alight",),
    "first": ("last",),
    "a": ("b",),
    "1": ("2",),
}
Rest: TypeAlias = tuple[str, ...]


def _tokens(name: object) -> list[str]:
    """Split a name into words and numbers in small letters; "pick up" and "drop off" are one word each."""
    words = re.findall(r"[A-Z]+(?![^\W\dA-Z_])|[A-Z]?[^\W\dA-Z_]+|\d+", str(name))
    text = " ".join(word.casefold() for word in words)
    return text.replace("pick up", "pickup").replace("drop off", "dropoff").split()


def _axis(name: object) -> tuple[str, bool, int, Rest] | None:
    """Return the axis that a name says, whether it is in degrees, its rank among names, and the other words."""
    said: list[tuple[str, bool, int]] = []
    rest: list[str] = []
    for word in _tokens(name):
        match = next((match for pattern in _JOINED if (match := pattern.fullmatch(word))), None)
        if word in _AXES:
            said.append(_AXES[word])
        elif match is not None:
            said.append(_AXES[match["axis"]])
            rest.append(match["more"])
        else:
            rest.append(word)
    if not said or len({axis for axis, _, _ in said}) > 1:
        return None
    axis, degrees, rank = min(said, key=lambda each: (not each[1], each[2]))
    return axis, degrees, rank, tuple(rest)


def _pairs(
    names: Sequence[object], values: Mapping[Any, Sequence[object]]
) -> tuple[dict[Rest, Pair], dict[Rest, Pair]]:
    """Return the pairs of columns that may be coordinates, by their other words: degrees, and unknown systems."""
    by_kind: dict[bool, dict[Rest, dict[str, tuple[int, Any]]]] = {True: {}, False: {}}
    for name in names:
        said = _axis(_FRACTION.sub("", str(name)))
        if said is None or not (_are_numbers(values[name]) or _are_angles(values[name])):
            continue
        axis, degrees, rank, rest = said
        if _FRACTION.search(str(name)) and unit_of(name, values[name]) == 1:
            continue
        best = by_kind[degrees].setdefault(rest, {})
        if axis not in best or rank < best[axis][0]:
            best[axis] = rank, name
    whole = {
        kind: {rest: (both["x"][1], both["y"][1]) for rest, both in named.items() if len(both) == 2}
        for kind, named in by_kind.items()
    }
    return whole[True], whole[False]


def _are_numbers(values: Sequence[object]) -> bool:
    """Return whether most values are numbers; the others are reported when their rows are read."""
    return 2 * sum(map(is_number, values)) >= len(values)


def is_number(value: object) -> bool:
    """Return whether a value is a number, or a text of one, with a decimal point or comma."""
    return not isinstance(value, bool) and _NUMBER.fullmatch(str(value).strip()) is not None


_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
#: The end of the name of a column of whole numbers of millionths or ten-millionths of degrees: latitudeE7.
_FRACTION = re.compile(r"_?[eE]([67])$")
#: The names of Garmin's columns of semicircles, of which 2^31 are 180 degrees.
_SEMICIRCLES = re.compile(r"position_(lat|long?)|.*semicircles?", re.IGNORECASE)
#: Whole numbers up to this one may be degrees.
_LARGEST_ANGLE = 360
#: An angle as text: 52.52N, N52.52, 52°31.2'N, 52°31'12"N, 52.52°.
_ANGLE = re.compile(
    r"""([NSEW])?\s*([+-]?)(\d{1,3}(?:[.,]\d+)?)\s*[°º]?\s*(?:(\d{1,2}(?:[.,]\d+)?)\s*['′’]\s*)?"""
    r"""(?:(\d{1,2}(?:[.,]\d+)?)\s*(?:["″”]|'')\s*)?([NSEW])?""",
    re.IGNORECASE,
)


def unit_of(name: object, values: Sequence[object]) -> float | None:
    """Return the unit of a column of coordinates, in degrees; 1 for other units too, and None for texts of angles.

    Parameters
    ----------
    name : object
        The name of the column, which tells ten-millionths of degrees from semicircles.
    values : sequence
        Some of its values, without those that are missing.

    Examples
    --------
    >>> unit_of("latitudeE7", [525_200_000]), unit_of("position_lat", ["626569830"]), unit_of("lat", [52.52])
    (1e-07, 8.381903171539307e-08, 1.0)
    >>> print(unit_of("lat", ["52.52N"]))
    None
    """
    if _are_angles(values):
        return None
    fraction = _FRACTION.search(str(name))
    unit = 10.0 ** -int(fraction[1]) if fraction else 180 / 2**31 if _SEMICIRCLES.fullmatch(str(name)) else 1.0
    if unit == 1 or not values or not all(_WHOLE.fullmatch(str(value).strip()) for value in values):
        return 1.0
    sizes = [abs(float(str(value))) for value in values]
    return unit if _LARGEST_ANGLE < max(sizes) <= 180 / unit else 1.0


def _are_angles(values: Sequence[object]) -> bool:
    """Return whether values are texts of angles, of which some are not plain numbers."""
    angles = [value for value in values if isinstance(value, str) and degrees_of(value) is not None]
    return bool(angles) and 2 * len(angles) >= len(values) and not all(map(is_number, angles))


def degrees_of(text: str) -> float | None:
    r"""Return the degrees of a text such as 52.52N or 52°31'12"N, negative in the south and west; None for others.

    Examples
    --------
    >>> degrees_of("52°30'36\"S"), degrees_of("w 13.5"), degrees_of("N13.4E"), degrees_of("Berlin")
    (-52.51, -13.5, None, None)
    """
    angle = _ANGLE.fullmatch(text.strip())
    if angle is None or (angle[1] and angle[6]) or (angle[2] and (angle[1] or angle[6])):
        return None
    degrees, minutes, seconds = (float((angle[i] or "0").replace(",", ".")) for i in (3, 4, 5))
    if minutes >= 60 or seconds >= 60:
        return None
    size = degrees + minutes / 60 + seconds / 3600
    return -size if angle[2] == "-" or (angle[1] or angle[6] or "").upper() in ("S", "W") else size


def _chosen(pairs: Mapping[Rest, Pair]) -> tuple[Pair, ...]:
    """Return the location of a row, or its origin and destination; nothing if several pairs may be meant."""
    if () in pairs:
        return (pairs[()],)
    plain = [pair for rest, pair in pairs.items() if _NEUTRAL.issuperset(rest)]
    if plain:
        return (plain[0],) if len(plain) == 1 else ()
    trips = [(pair, pairs[other]) for rest, pair in pairs.items() for other in _destinations(rest) if other in pairs]
    if len(trips) == 1:
        return trips[0]
    return tuple(pairs.values()) if len(pairs) == 1 else ()


def _destinations(rest: Rest) -> list[Rest]:
    """Return the words that name the destination where these name the origin."""
    return [(*rest[:at], other, *rest[at + 1 :]) for at, word in enumerate(rest) for other in _TRIPS.get(word, ())]


# Geometries ----------------------------------------------------------------------------------------------------------

#: WKT without geometries inside of geometries.
WKT = re.compile(
    r"\s*(SRID\s*=\s*\d+\s*;)?\s*(MULTI)?(POINT|LINESTRING|POLYGON)\s*(Z|M|ZM)?\s*(\(|EMPTY)", re.IGNORECASE
)
_HEX = re.compile(r"(0[01])[0-9a-f]{40,}", re.IGNORECASE)
_GEOJSON = re.compile(r'\s*\{.*"(coordinates|features|geometry)"\s*:', re.DOTALL)
_TWO = re.compile(r"\s*[(\[]?\s*([+-]?\d{1,3}\.\d+)\s*[,; ]\s*([+-]?\d{1,3}\.\d+)\s*[)\]]?\s*")
#: Names of columns of geometries, the usual ones first.
_GEOMETRIES = (
    *("geometry", "geom", "the_geom", "wkt", "wkt_geom", "shape", "wkb_geometry", "geojson", "route", "location"),
)


def encoding_of(name: object, values: Sequence[object]) -> Encoding | None:
    """Return how the values of a column hold locations, or None.

    Parameters
    ----------
    name : object
        The name of the column. It tells a location such as "12.5, 30.25" from two other numbers, and x, y from y, x.
    values : sequence
        Some of its values, without those that are missing.

    Examples
    --------
    >>> encoding_of("where", ["LINESTRING (8.5 47.4, 8.6 47.4)"]), encoding_of("latlng", ["37.77,-122.42"])
    ('wkt', 'lat,lon')
    """
    if not values:
        return None
    if all(isinstance(value, bytes) and value[:1] in (b"\0", b"\1") and len(value) >= 21 for value in values):
        return "wkb"
    written = [value for value in values if isinstance(value, str)]
    if len(written) < len(values):
        return None
    patterns: tuple[tuple[re.Pattern[str], Encoding], ...] = ((WKT, "wkt"), (_GEOJSON, "geojson"))
    for pattern, encoding in patterns:
        if all(pattern.match(value) for value in written):
            return encoding
    if all(len(value) % 2 == 0 and _HEX.fullmatch(value) for value in written):
        return "hex"
    two = [match.groups() for value in written if (match := _TWO.fullmatch(value))]
    if len(two) < len(values) or not (tells_places(name) or "lat" in str(name).casefold()):
        return None
    first, second = (max(abs(float(pair[i])) for pair in two) for i in (0, 1))
    if first > 180 or second > 180 or (first > 90 and second > 90):
        return None
    east_first = re.match(r".*(lon|lng|long|longitude)\W*_?lat", str(name).casefold()) is not None
    # In JSON a list is [longitude, latitude], unless its name or its values say otherwise.
    listed = all(value.lstrip().startswith("[") for value in written) and "lat" not in str(name).casefold()
    if listed and second <= 90:
        return "[lon,lat]"
    return "lon,lat" if first > 90 or (east_first and second <= 90) else "lat,lon"


def _main_geometry(geometries: Mapping[Any, Encoding]) -> tuple[Any, Encoding] | None:
    """Return the column of the geometry of a row: the only one, or the one with the usual name."""
    if len(geometries) == 1:
        return next(iter(geometries.items()))
    known = {str(name).casefold(): name for name in geometries}
    usual = next((known[name] for name in _GEOMETRIES if name in known), None)
    return None if usual is None else (usual, geometries[usual])


# Persons -------------------------------------------------------------------------------------------------------------

#: Words in the names of columns of persons, then of columns that often stand for persons.
_PERSONS = frozenset(
    (
        *("user", "uid", "userid", "username", "person", "persons", "personid", "people", "individual", "subject"),
        *("participant", "respondent", "patient", "member", "customer", "client", "passenger", "rider", "driver"),
        *("owner", "host", "employee", "worker", "student", "visitor", "guest", "agent", "device", "deviceid"),
        *("phone",),
        *("imei", "imsi", "msisdn", "mmsi", "imo", "callsign", "vessel", "ship", "taxi", "cab", "vehicle", "car"),
        *("bike", "scooter", "animal", "bird", "tag", "collar", "tracker", "sensor", "logger", "account", "nutzer"),
        *("caller", "subscriber", "household", "aircraft", "icao", "icao24", "medallion", "hack"),
        *("kunde", "kunden", "kundennr", "fahrer", "mitarbeiter", "teilnehmer", "proband", "probanden", "personen"),
        *("haushalt", "fahrzeug", "gerät", "geraet", "utilisateur", "usager", "personne", "conducteur", "véhicule"),
        *("vehicule", "ménage", "usuario", "cliente", "persona", "paciente", "conductor", "vehículo", "vehiculo"),
        *("utente", "gebruiker", "klant"),
    )
)
_PERHAPS = frozenset(
    ("id", "ids", "identifier", "name", "track", "trackid", "traj", "trajectory", "tid", "trip", "tripid")
)
_NOBODY = frozenset(
    (
        *("obs", "observation", "row", "index", "record", "event", "point", "fix", "venue", "station", "type", "kind"),
        *("casual", "count", "number", "age", "gender", "sex", "category", "class", "status", "code", "zone"),
        *("taxon", "species", "breed", "state", "county", "country"),
    )
)


def names_persons(name: object) -> bool:
    """Return whether a column's name says that it names persons.

    Examples
    --------
    >>> names_persons("user_id"), names_persons("deviceId"), names_persons("id")
    (True, True, False)
    """
    said = {*_tokens(name), "".join(_tokens(name))}
    return _NOBODY.isdisjoint(said) and not _PERSONS.isdisjoint(said)


def _persons(values: Mapping[Any, Sequence[Hashable]]) -> tuple[Any, ...]:
    """Return the columns that may name persons, the likeliest first."""
    sure: list[Any] = []
    perhaps: list[Any] = []
    for name, column in values.items():
        said = {*_tokens(name), "".join(_tokens(name))}
        # Numbers with decimals are measurements.
        if column and all(
            is_number(value) and not float(str(value).replace(",", ".")).is_integer() for value in column
        ):
            continue
        if column and all(isinstance(value, bool) or str(value).casefold() in ("true", "false") for value in column):
            continue
        # A column in which every row has another value numbers the rows.
        repeated = len(column) < 10 or len({str(value) for value in column}) < len(column)
        if not _NOBODY.isdisjoint(said):
            continue
        if not _PERSONS.isdisjoint(said):
            sure.append(name)
        elif not _PERHAPS.isdisjoint(said) and repeated:
            perhaps.append(name)
    return (*sure, *perhaps)


# Times ---------------------------------------------------------------------------------------------------------------
# They are released unchanged, so a column counts as times only if its name says so and its values are times.

#: Words that say that a column holds times.
_TIMES = frozenset(
    (
        *("time", "times", "timestamp", "datetime", "date", "dates", "stamp", "ts", "utc", "gmt", "epoch", "unix"),
        *("when", "hms", "ymd", "datum", "zeit", "uhrzeit", "zeitstempel", "zeitpunkt", "fecha", "hora", "heure"),
        *("horodatage",),
    )
)
#: Words for events. A column named by one holds times or something else, such as the station where a trip started.
_EVENTS = frozenset(
    (
        *("start", "started", "begin", "end", "ended", "finish", "finished", "stop", "stopped", "pickup", "dropoff"),
        *("departure", "departed", "leaving", "arrival", "arrived", "arriving", "checkin", "checkout", "recorded"),
        *("observed", "tracked", "measured", "received", "created", "updated", "seen", "reported"),
    )
)
#: Words in the names of dates that describe a person rather than a moment at a place.
_PERSONAL = frozenset(
    (
        *("birth", "born", "birthday", "birthdate", "dob", "geburtstag", "geburtsdatum", "death", "died", "deceased"),
        *("expiry", "expires", "expired", "expire", "expiration", "hire", "hired", "joined", "registration"),
        *("registered", "signup", "enrolled", "enrolment", "enrollment", "passport", "licence", "license", "visa"),
        *("wedding", "married", "graduation", "retirement", "since"),
    )
)
#: Words that may surround times of day, such as 08:30; with others, "travel_time" may be a duration.
_OF_DAY = _TIMES | _EVENTS | frozenset(("of", "day", "local", "gps", "fix", "hour", "event", "trip", "t"))

_CLOCK = r"\d{1,2}[:h.]\d{2}([:.]\d{2}([.,]\d+)?)?\s*([AaPp]\.?[Mm]\.?)?"
_ZONE = r"\s*(Z|z|UTC|GMT|[+-]\d{2}(:?\d{2})?)?(\[[\w/+-]+\])?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
#: Dates, with or without a time of day: 2021-03-20T00:22Z, 20/03/2021 00:22, 3 April 2012, Apr 3, 2012 6:00 PM,
#: 04/Nov/2022 08:01, Tue Apr 03 18:00:09 +0000 2012, 20210320T002200.
_DATE = re.compile(
    rf"(\d{{4}}([-/.])\d{{1,2}}\2\d{{1,2}}|\d{{1,2}}([-/.])\d{{1,2}}\3(\d{{4}}|\d{{2}}))([T ,]+{_CLOCK}{_ZONE})?"
    rf"|([a-z]{{3,9}},?\s+)?(\d{{1,2}}[\s/-]+{_MONTH}|{_MONTH}[\s-]+\d{{1,2}}),?[\s/-]+\d{{2,4}}([\s,]+{_CLOCK}{_ZONE})?"
    rf"|([a-z]{{3,9}},?\s+)?{_MONTH}\s+\d{{1,2}}\s+{_CLOCK}\s*([+-]\d{{4}}|[A-Z]{{3,4}})?\s+\d{{4}}"
    r"|(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(T?\d{4}(\d{2}(\.\d+)?)?Z?)?",
    re.IGNORECASE,
)
_TIME_OF_DAY = re.compile(rf"\d{{1,2}}:\d{{2}}(:\d{{2}}([.,]\d+)?)?\s*([ap]\.?m\.?)?{_ZONE}", re.IGNORECASE)


def are_times(name: object, kind: object, values: Sequence[object]) -> bool | None:
    """Return whether a column holds times: by its name and its values; None if only one of them says so.

    Parameters
    ----------
    name : object
        The name of the column.
    kind : object
        Its type, as pandas, polars or pyarrow write it.
    values : sequence
        Some of its values, without those that are missing: times, texts, or seconds since 1970 or multiples of them.

    Examples
    --------
    >>> are_times("ais_pos_timestamp", "string", ["20/03/2021 00:22"]), are_times("t", "int64", [1_211_018_404])
    (True, True)
    >>> are_times("birth_date", "string", ["1990-05-01"]), are_times("status", "string", ["ok"])
    (False, False)
    >>> print(are_times("last_review", "string", ["2019-05-21"]), are_times("time", "int64", [17]))
    None None
    """
    said = words(name)
    if not _PERSONAL.isdisjoint(said) or any(word.startswith("birth") for word in said):
        return False
    by_name = said == ["t"] or any(word in _TIMES or word.endswith(("time", "date", "stamp")) for word in said)
    perhaps = by_name or said[-1:] in (["at"], ["on"]) or not _EVENTS.isdisjoint(said)
    if _have_type(kind, values) or (values and all(_is_text_of_time(said, perhaps, value) for value in values)):
        return True if perhaps else None
    return None if by_name else False


def may_be_times(name: object) -> bool:
    """Return whether a column with this name may hold times; its values tell whether it does.

    Examples
    --------
    >>> may_be_times("recorded_at"), may_be_times("pulse")
    (True, False)
    """
    return are_times(name, None, ["2026-05-01T08:30:00Z"]) is True


def _have_type(kind: object, values: Sequence[object]) -> bool:
    said = str(kind).casefold()
    if said.startswith(("datetime", "timestamp", "date", "time")) and "delta" not in said:
        return True
    return bool(values) and all(isinstance(value, datetime.date | datetime.time) for value in values)


def _is_text_of_time(name: Sequence[str], named: bool, value: object) -> bool:
    """Return whether a value is a date or, in a column named like times, a time of day or a number of seconds."""
    text = str(value).strip()
    if not named:
        return isinstance(value, str) and not text.isdigit() and _is_date(text)
    of_day = _OF_DAY.issuperset(name) and _TIME_OF_DAY.fullmatch(text) is not None
    return of_day or _is_epoch(text) or _is_date(text)


def _is_date(text: str) -> bool:
    return len(text) < 60 and _DATE.fullmatch(text) is not None


def _is_epoch(text: str) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    return any(EPOCH[0] <= number / unit <= EPOCH[1] for unit in EPOCH_UNITS)
