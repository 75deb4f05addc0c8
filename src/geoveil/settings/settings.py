"""The table of settings: the name of each in Python, on the command line, on a page and in other libraries.

The options of commands, the fields of forms, the names of arguments in messages, and the errors about names that
other libraries use are all made from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from geoveil.text.typed_values import CHANCE, LENGTH, PLACE, SHARE, WHOLE, TypedValue

__all__ = ["HEADINGS", "LEVELS", "MOTIONS", "PURPOSES", "READING", "SETTINGS", "OnPage", "Setting", "own_name"]

#: What a value is: a text, a number, a flag, one of several words, or something that people write with a unit.
Kind: TypeAlias = type[str] | type[float] | type[bool] | tuple[str, ...] | TypedValue[object]

#: Levels of privacy: the distance in metres of two locations between which a guess is right at most 75% of the time.
LEVELS = {"low": 100.0, "medium": 500.0, "high": 2000.0}
#: What data is released for.
PURPOSES = ("flows", "map", "counts", "home", "tracks", "points", "answers")
#: How people move, for smoothing.
MOTIONS = ("person", "walking", "cycling", "car", "taxi")


@dataclass(frozen=True)
class OnLine:
    """A setting on the command line: the names of its option, its placeholder, and whether it may be repeated.

    One of several words has the first one as its default, unless it is `optional`.
    """

    names: tuple[str, ...] = ()
    metavar: str | None = None
    multiple: bool = False
    optional: bool = False


@dataclass(frozen=True)
class OnPage:
    """A setting on the pages of the studio."""

    #: What messages call it, and what remedies call it if that differs.
    name: str = ""
    mention: str = ""
    #: The label of its field in a form, and the text in the empty field.
    field: str = ""
    hint: str = ""
    #: The questions in whose forms it is.
    questions: tuple[str, ...] = ()
    #: Its name among the facts before a release, the text for a value, and perhaps the text without one.
    fact: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """A setting: its name in Python, its help, what its value is, and its names for other readers."""

    name: str
    help: str = ""
    kind: Kind = str
    line: OnLine = OnLine()
    page: OnPage = OnPage()
    elsewhere: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        """The name of the option."""
        return self.line.names[0] if self.line.names else f"--{self.name.replace('_', '-')}"


def _levels() -> str:
    # A guess between places d apart is right 75% of the time at ρ·d² = ln(3)/2; `CGP.hiding` rounds it down.
    return "; ".join(f"{name}: {away:g} m, ρ = {math.log(3) / 2 / away**2:.3g}" for name, away in LEVELS.items())


_COLUMN, _LENGTH, _FILE, _NAME = (OnLine(metavar=name) for name in ("COLUMN", "LENGTH", "FILE", "NAME"))
_COLUMNS, _FILES = OnLine(metavar="COLUMN", multiple=True), OnLine(metavar="FILE", multiple=True)
_NUMBER, _TEXT, _OPTIONAL = OnLine(metavar="NUMBER"), OnLine(metavar="TEXT"), OnLine(optional=True)

#: The settings by the heading of their options on a help page.
HEADINGS: Mapping[str, tuple[Setting, ...]] = {
    "What is protected": (
        Setting(
            "protect",
            "What is hidden together: '1 day', or any length of time: any stretch of that length; 'point': each "
            "single point. To protect less needs less noise. [default: all points of a person]",
            line=OnLine(metavar="LENGTH|point"),
            page=OnPage("what is protected"),
            elsewhere=("unit", "privacy_unit", "protection"),
        ),
        Setting(
            "times",
            "The column of times for --protect, --thin and --smooth, if it is not recognised.",
            line=OnLine(("--time",), "COLUMN", multiple=True),
            page=OnPage("the column of times", "the choice “When?”"),
            elsewhere=("time", "timestamp", "timestamps", "datetime", "time_column", "time_col"),
        ),
        Setting(
            "thin",
            "Keep only one row of a person in every interval of this length, such as '1 minute'.",
            line=_LENGTH,
            page=OnPage(
                "the interval in which one row is kept",
                "thinning",
                "Keep one row of a person in every interval of",
                "all rows; or 1 minute",
                ("points", "heatmap", "counts"),
                ("Thinning", "one row of a person in every {}", "none: all rows are used"),
            ),
        ),
    ),
    "Budget (one of these)": (
        Setting(
            "privacy",
            "A level: from even odds, a guess between two locations this far apart is right at most 75% of the time. "
            f"{_levels()}.",
            tuple(LEVELS),
            _OPTIONAL,
        ),
        Setting(
            "hide",
            "By meaning: from even odds, a guess between two locations at this distance (200m, 1.5km, 300ft, 2mi) is "
            "right at most 75% of the time ...",
            LENGTH,
            page=OnPage("the hidden distance", "metres"),
            elsewhere=("radius", "distance", "meters", "metres", "hidden"),
        ),
        Setting("chance", "... or at most this share of the time.", CHANCE),
        Setting("rho", "Concentrated geo-privacy, per square metre.", line=_NUMBER, page=OnPage("ρ")),
        Setting(
            "epsilon",
            "Geo-privacy (geo-indistinguishability), per metre.",
            line=_NUMBER,
            page=OnPage("ε"),
            elsewhere=("eps",),
        ),
        Setting("notion", "The notion, unless --rho or --epsilon says it. [default: CGP]", ("CGP", "GP"), _OPTIONAL),
        Setting(
            "metric",
            "The distance between two versions of a person's points: the largest movement of any point (inf), root "
            "sum of squares (2), or sum (1). [default: inf]",
            ("inf", "2", "1"),
            _OPTIONAL,
        ),
    ),
    "Places to hide": (
        Setting(
            "centres",
            "Your file of centres: which disc hides which place. It is made at the first run, and every later run "
            "needs it. Keep it like a key.",
            line=_FILE,
            page=OnPage("the file of centres"),
        ),
        Setting(
            "margin",
            "How far around a place nothing that happens changes what is released. [default: 250m]",
            LENGTH,
            page=OnPage("the margin around a place"),
        ),
        Setting(
            "near",
            "What a place 100 to 300 m from a known one is: the same one, typed less exactly, or another one, which "
            "gets a disc of its own.",
            ("same", "another"),
            _OPTIONAL,
            page=OnPage("what a place near a known one is"),
        ),
        Setting(
            "gap",
            "Begin a new piece of a track if the next released point is more than this later. [default: 10 minutes]",
            line=OnLine(metavar="DURATION"),
            page=OnPage("the time between two pieces"),
        ),
        Setting(
            "shorten",
            "What else is taken off the ends of pieces near a disc: a length such as 200m; or '2 tracks', everything "
            "up to where so many tracks run together.",
            line=OnLine(metavar="LENGTH|TRACKS"),
            page=OnPage("shortening"),
        ),
        Setting(
            "noise",
            "Also give released points noise of this ρ per square metre: outside of discs they have a guarantee of "
            "their own, and from inside nothing is released. It needs --area.",
            line=_NUMBER,
            page=OnPage("the noise of points"),
        ),
        Setting(
            "same_names",
            "Give released files the names of the originals, although these may tell when or where a track began.",
            bool,
            page=OnPage("the choice of names"),
        ),
    ),
    "Where the data is, from public knowledge": (
        Setting(
            "area",
            "The name of a city, region or country ('San Francisco', 'Switzerland'); or latitude, longitude and "
            "radius (37.77,-122.42,50km); or a system in metres (32610). Not needed if the file itself is in such a "
            "system. 'geoveil areas NAME' shows the meaning of a name.",
            line=OnLine(metavar="AREA"),
            page=OnPage("the area", "the field of the area"),
            elsewhere=("local", "bbox"),
        ),
        Setting(
            "outside",
            "How to treat locations outside the area: clamp moves them to its edge, which hides who was outside; drop "
            "removes their rows, which does not.",
            ("refuse", "clamp", "drop"),
            page=OnPage("the choice about points outside the area", "“Points outside the area”"),
        ),
    ),
    "Reading the file": (
        Setting(
            "format",
            "The format of piped data. [default: csv]",
            ("csv", "tsv", "geojson", "gpx", "parquet", "gpkg"),
            _OPTIONAL,
        ),
        Setting(
            "missing",
            "How to treat rows without a location.",
            ("refuse", "drop"),
            page=OnPage("the choice about rows without a location", "“Rows without a location”"),
        ),
        Setting(
            "where",
            "Use only rows that satisfy a condition on public columns, such as \"mode = 'bike'\".",
            line=OnLine(metavar="CONDITION"),
            page=OnPage("the filter of rows"),
            elsewhere=("query", "filter"),
        ),
        Setting(
            "crs",
            "The file's coordinate system, if it does not state one.",
            line=OnLine(metavar="CODE"),
            page=OnPage("the coordinate system", field="Coordinate system, such as 2056"),
            elsewhere=("epsg", "srid", "projection"),
        ),
        Setting(
            "lat",
            "The column of latitude or northing, if it is not recognised. Give it twice for rows with an origin and a "
            "destination.",
            line=OnLine(("--lat", "--y"), "COLUMN", multiple=True),
            page=OnPage("the column of latitude", field="Column of latitude or northing"),
            elsewhere=("latitude", "y", "lat_col", "lat_column"),
        ),
        Setting(
            "lon",
            "The column of longitude or easting, likewise.",
            line=OnLine(("--lon", "--x"), "COLUMN", multiple=True),
            page=OnPage("the column of longitude", field="Column of longitude or easting"),
            elsewhere=("longitude", "lng", "x", "lon_col", "lon_column"),
        ),
        Setting(
            "geometry",
            "The column of geometries as text (WKT, GeoJSON), if it is not recognised.",
            line=_COLUMN,
            page=OnPage("the column of geometries", field="Column of geometries"),
        ),
        Setting(
            "delimiter",
            "The separator of fields in a CSV file, if not recognised.",
            line=_TEXT,
            page=OnPage("the separator of fields", field="Separator of fields"),
            elsewhere=("sep", "separator", "delim"),
        ),
        Setting(
            "decimal",
            "The decimal mark in a CSV file, if not recognised.",
            line=_TEXT,
            page=OnPage("the decimal mark", field="Decimal mark"),
        ),
        Setting(
            "encoding",
            "The encoding of a CSV file, if not recognised.",
            line=_NAME,
            page=OnPage("the encoding", field="Encoding"),
        ),
        Setting(
            "names",
            "The names of the columns of a CSV file without a header: user,time,lat,lon.",
            line=OnLine(metavar="NAMES"),
            page=OnPage("the list of column names", field="Names of the columns, if the file has no header"),
        ),
        Setting(
            "layer",
            "The layer of a GeoPackage with several layers.",
            line=_NAME,
            page=OnPage("the layer", field="Layer or sheet"),
            elsewhere=("sheet", "sheet_name"),
        ),
    ),
    "Ledger": (
        Setting(
            "ledger",
            "Charge accounts in this ledger: a file or a PostgreSQL database.",
            line=OnLine(metavar="FILE_OR_URL"),
            page=OnPage("the ledger", "a ledger"),
        ),
        Setting(
            "subject",
            "The name of the account; with --person, the prefix of the persons' accounts.",
            line=_NAME,
            page=OnPage("the name of the account"),
        ),
        Setting("short", "With --person: how to treat persons whose account has too little left.", ("refuse", "skip")),
        Setting(
            "label",
            "A name of the data: a repeated question about it gets the stored answer at no cost.",
            line=_NAME,
        ),
    ),
    "Options": (
        Setting(
            "person",
            "The column of persons, or 'row' if each row is another person. Without it all points belong to one "
            "person and share the budget.",
            line=_COLUMN,
            page=OnPage("the column of persons"),
            elsewhere=("user", "user_id", "user_col", "uid", "id", "by", "persons", "groupby", "traj_id"),
        ),
        Setting(
            "pseudonyms",
            "With --person: replace persons' labels by random ones. KEYFILE keeps them, for you and for later "
            "releases.",
            line=OnLine(metavar="[KEYFILE]"),
            page=OnPage("the choice of pseudonyms", "pseudonyms"),
        ),
        Setting(
            "order",
            "'hidden': the released points of a person are sorted by their places and have no times, so that nothing "
            "tells the order in which they were visited.",
            ("public", "hidden"),
            page=OnPage(
                "the choice about the order of points",
                field="Order of a person's points",
                questions=("points",),
                fact=("Order of a person's points", "{}"),
            ),
        ),
        Setting(
            "count",
            "'hidden': neither the answer nor its noise tells the number of a person's points.",
            ("public", "hidden"),
            page=OnPage(
                "the choice about the number of points",
                field="Number of a person's points",
                questions=("hull", "summary"),
                fact=("Number of a person's points", "{}"),
            ),
        ),
        Setting("together", "With --person: one answer about all persons, instead of one for each.", bool),
        Setting(
            "keep",
            "A column to release unchanged. 'all': every column whose name does not suggest a location; refused while "
            "one of these reveals locations and is not named as well. May be repeated.",
            line=_COLUMNS,
            page=OnPage("the choice of columns to release unchanged", "“Columns that are released unchanged”"),
            elsewhere=("columns", "usecols", "keep_columns"),
        ),
        Setting(
            "motion",
            "Remove noise from the released trajectories, given how people move; at no privacy cost.",
            MOTIONS,
            OnLine(("--smooth",), optional=True),
            OnPage(
                field="Smooth the released tracks, at no cost",
                questions=("points",),
                fact=("Smoothing", "motion: {}", "none"),
            ),
        ),
        Setting("method", "The least noise, or noise that guarantees CGP and GP at once ('both').", ("best", "both")),
        Setting(
            "cell",
            "The side of a cell of the map, such as 500m.",
            LENGTH,
            page=OnPage(
                "the side of a cell",
                field="Side of a cell",
                hint="500 m",
                questions=("heatmap", "flows"),
                fact=("Side of a cell", "{}"),
            ),
            elsewhere=("cell_size", "cellsize", "grid", "grid_size", "resolution", "bin_size"),
        ),
        Setting(
            "regions",
            "A file of public regions: polygons, in any format; or cells of H3, such as h3:8.",
            line=_FILE,
            page=OnPage("the file of regions", questions=("counts",), fact=("Regions", "{}")),
            elsewhere=("zones", "districts", "polygons", "areas"),
        ),
        Setting(
            "name",
            "The column of --regions that names them.",
            line=_COLUMN,
            page=OnPage(
                field="Column that names them", questions=("counts",), fact=("Names of regions", "in {}", "numbers")
            ),
        ),
        Setting(
            "every",
            "Slices of time (UTC): '1 hour', 'hour of day' or 'day of week'.",
            line=_LENGTH,
            page=OnPage(
                "the length of a slice of time",
                field="Slices of time",
                hint="one map; or hour of day",
                questions=("heatmap", "counts"),
                fact=("Slices of time", "{}", "one for the whole time"),
            ),
            elsewhere=("freq", "interval", "slices"),
        ),
        Setting(
            "trip",
            "The column of trips, whose first and last points are counted.",
            line=_COLUMN,
            page=OnPage(
                "the column of trips",
                field="Column of trips, whose first and last points are counted",
                questions=("flows",),
                fact=("Trips", "the first and last points of each {}"),
            ),
        ),
        Setting("cap", "Count visits, at most this many of each person, instead of persons.", float),
        Setting("at_least", "Leave numbers below this one blank, such as 10; flows, out of the list.", WHOLE),
        Setting("bandwidth", "How far places are blurred. [default: from public numbers]", LENGTH),
        Setting(
            "at",
            "The public place, such as 37.795,-122.394.",
            PLACE,
            page=OnPage(
                "the place asked about",
                field="Public place: latitude, longitude",
                hint="37.795, -122.394",
                questions=("nearest",),
                fact=("Place", "{}"),
            ),
            elsewhere=("place", "point", "location", "to_point"),
        ),
        Setting("radius", "The distance from the place, such as 500m.", LENGTH, page=OnPage("the radius of the area")),
        Setting(
            "k",
            "The number of neighbours.",
            WHOLE,
            OnLine(("-k",)),
            OnPage(
                "the number of neighbours",
                field="How many neighbours",
                questions=("nearest",),
                fact=("Neighbours", "{}"),
            ),
        ),
        Setting(
            "locations",
            "Also release their locations, with this share of the budget.",
            SHARE,
            page=OnPage(
                "the share of the budget for locations",
                field="Also release their locations, with this share of the budget",
                hint="no; or 50%",
                questions=("nearest",),
                fact=("Locations of neighbours", "for {} of the budget", "not released"),
            ),
        ),
        Setting(
            "target",
            "The output file; - is stdout.",
            line=OnLine(("-o", "--output"), "FILE"),
            page=OnPage("the released file"),
            elsewhere=("output", "out", "path", "file", "filename", "outfile"),
        ),
        Setting("certificate", "The file of the certificate. [default: beside the output]", line=_FILE),
        Setting(
            "sign",
            "Sign the certificate with this private key ('geoveil key create').",
            line=OnLine(metavar="KEYFILE"),
            page=OnPage("the key that signs"),
        ),
        Setting(
            "report",
            "A map with the certificate as a page (.html), or the map alone (.png, .svg, .pdf).",
            line=_FILES,
        ),
        Setting(
            "darwin_core",
            "A table (.csv) of the released points with the terms of Darwin Core, such as "
            "coordinateUncertaintyInMeters and dataGeneralizations, beside the output.",
            line=_FILE,
        ),
        Setting("figure", "The map as a figure for print: .pdf, .svg or .png.", line=_FILES),
        Setting("figure_width", "The width of the figure in mm; 180 by default.", float, OnLine(metavar="MM")),
        Setting(
            "basemap",
            "Your own map, drawn below in grey: .gpkg, .geojson, .parquet, .shp or .pmtiles.",
            line=_FILE,
            page=OnPage("the base map"),
        ),
        Setting("with_truth", "The map also shows the true locations: do not share it.", bool),
        Setting("dry_run", "Only show the cost and the error; nothing is charged or released.", bool),
        Setting("overwrite", "Replace existing files, and their certificates.", bool),
        Setting("json", "Print JSON.", bool),
        Setting("quiet", "Print nothing but errors.", bool, OnLine(("--quiet", "-q"))),
        # Arguments of single commands and functions, whose help is with them.
        Setting("error", "The largest error, such as 500m: the plan finds the budget.", LENGTH),
        *map(Setting, ("beta", "n", "largest", "write_off", "witness", "reason", "before", "new")),
        Setting("rng", elsewhere=("seed", "random_state", "random_seed")),
    ),
}
#: The settings by their names in Python.
SETTINGS: Mapping[str, Setting] = {row.name: row for rows in HEADINGS.values() for row in rows}
#: The settings that correct how a file is read.
READING = ("lat", "lon", "geometry", "crs", "delimiter", "decimal", "encoding", "names", "layer")

_FOREIGN = {name: row.name for row in SETTINGS.values() for name in row.elsewhere}


def own_name(foreign: str) -> str | None:
    """Return the name of a setting here, given its name in another library; None for other names."""
    return _FOREIGN.get(foreign)
