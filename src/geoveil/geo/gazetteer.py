"""Places by name and by location: public knowledge.

Countries, regions, cities, towns and villages are those of GeoNames (`scripts/places` packs them); further regions are
the areas of use of the coordinate systems in PROJ's database.
"""

from __future__ import annotations

import difflib
import functools
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geoveil.geo.geometries import Floats

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = [
    *("Kind", "Place", "Towns", "cities_near", "find_place", "folded", "ground_distances", "place_file"),
    *("places_around", "places_beginning", "places_inside", "places_named", "regions", "similar_places"),
    *("similar_regions", "towns_near"),
]

Kind: TypeAlias = Literal["country", "region", "city"]

#: A name clearly means a place whose weight is this many times that of every other place of the name.
_CLEARLY = 5.0
#: A name means the city, and not the region of the same name around it, if this share of the region's people live
#: there.
_SEAT = 1 / 10
#: Factors on populations when places are ranked: for regions, and for names that are not the main one.
_REGION, _OTHER_NAME = 1 / 5, 1 / 5
#: Words that say which kind of place is meant, before or after a name.
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(["country", "republic", "kingdom", "nation"], "country"),
    **dict.fromkeys(["state", "region", "province", "canton", "county", "department", "prefecture"], "region"),
    **dict.fromkeys(["oblast", "district", "territory", "land"], "region"),
    **dict.fromkeys(["city", "metro", "metropolitan area", "greater", "urban area", "town"], "city"),
}

#: Letters that Unicode does not take apart into a base letter and an accent.
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ə": "e"})
_WORDS = {"st": "saint", "ste": "sainte", "mt": "mount", "ft": "fort", "&": "and"}
#: Everything but letters, digits and & separates words; an apostrophe or a full stop within a word does not.
_WITHIN, _BETWEEN = re.compile(r"(?<=\w)['’‘ʻʼ`.](?=\w)"), re.compile(r"[^\w&]+")


def folded(name: str) -> str:
    """Return a name in one spelling, so that two ways to write it are equal.

    Examples
    --------
    >>> folded("St. Gallen"), folded("SAINT-GALLEN"), folded("Zürich"), folded("U.S.A.")
    ('saint gallen', 'saint gallen', 'zurich', 'usa')
    """
    name = name.casefold()
    if not name.isascii():
        parts = unicodedata.normalize("NFKD", name)
        name = "".join(letter for letter in parts if not unicodedata.combining(letter)).translate(_LETTERS)
        name = unicodedata.normalize("NFC", name)
    words = _BETWEEN.sub(" ", _WITHIN.sub("", name)).split()
    return " ".join(_WORDS.get(word, word) for word in words)


@dataclass(frozen=True)
class Place:
    """A country, region or city, with the disc that is its area."""

    #: Its main name.
    name: str
    #: What it is.
    kind: Kind
    #: The country, and the first-order region of a city; empty if it is one itself or has none.
    country: str
    region: str
    #: The centre, in degrees.
    lat: float
    lon: float
    #: The radius of its area, in metres.
    radius: float
    #: The number of inhabitants; of a region, of its towns.
    population: int

    @functools.cached_property
    def title(self) -> str:
        """The shortest text with its country that names this place and no other.

        Examples
        --------
        >>> [place.title for place in places_named("Paris")[:2]]
        ['Paris, France', 'Paris, Texas, United States']
        """
        if self.kind == "country":
            texts = [self.name, f"{self.name} (country)"]
        else:
            names, around = (self.name, f"{self.name} ({self.kind})"), [[self.region, self.country], [self.country]]
            # A region says more than a country where a name alone is not clear.
            clear = find_place(self.name) == self or folded(self.region) in ("", folded(self.name))
            around = around[::-1] if clear else around
            texts = [", ".join([name, *where]) for name in names for where in around if where[0]]
        return next((text for text in texts if find_place(text) == self), texts[-1])


@functools.cache
def place_file() -> pq.ParquetFile:
    """Return the open file of places: the first row group is the gazetteer, the others have places for maps."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    packed = resources.files("geoveil.geo").joinpath("places.parquet").read_bytes()
    return pq.ParquetFile(pa.BufferReader(packed))


class _Gazetteer:
    """The columns of the gazetteer, and the rows that have each name."""

    def __init__(self) -> None:
        columns = place_file().read_row_group(0).to_pydict()
        self.names: list[str] = columns["name"]
        self.kinds: list[Kind] = columns["kind"]
        self.populations: list[int] = columns["population"]
        #: The codes of the country and of the first-order region of each place.
        self.codes: list[tuple[str, str]] = [*zip(columns["country"], columns["region"], strict=True)]
        #: The latitude, longitude and radius of each place, in degrees and metres.
        self.discs = np.array([columns["lat"], columns["lon"], columns["radius"]]).T * [1e-3, 1e-3, 1e3]
        #: The rows with each name; ~row where it is not the main name.
        self.rows: dict[str, list[int]] = {}
        #: The names by which a country or a first-order region can follow another name, as in "Paris, Texas".
        self.within: dict[tuple[str, str], frozenset[str]] = {}
        for row, (name, others) in enumerate(zip(self.names, columns["others"], strict=True)):
            own, rest, code = folded(name), others.split("|") if others else [], self.codes[row]
            self.rows.setdefault(own, []).append(row)
            for other in rest:
                self.rows.setdefault(other, []).append(~row)
            # A region comes before its parts, and before its cities.
            if self.kinds[row] != "city" and code not in self.within:
                self.within[code] = frozenset([own, *rest, (code[1] or code[0]).casefold()])

    def place(self, row: int) -> Place:
        """Return the place of a row."""
        kind, (country, region) = self.kinds[row], self.codes[row]
        lat, lon, radius = (float(number) for number in self.discs[row].round(3))
        return Place(
            self.names[row],
            kind,
            "" if kind == "country" else _titles().get((country, ""), country),
            _titles().get((country, region), "") if kind == "city" else "",
            lat,
            lon,
            radius,
            self.populations[row],
        )


_gazetteer = functools.cache(_Gazetteer)


def places_around(lat: float, lon: float) -> list[Place]:
    """Return the places whose areas hold a point.

    Examples
    --------
    >>> sorted(place.title for place in places_around(46.9, 9.5) if place.kind == "country")
    ['Austria', 'France', 'Italy', 'Switzerland']
    """
    known = _gazetteer()
    away = ground_distances(lat, lon, *known.discs[:, :2].T)
    return [known.place(int(row)) for row in np.flatnonzero(away <= known.discs[:, 2])]


def cities_near(degrees: Floats, distance: float) -> NDArray[np.bool_]:
    """Return which longitudes and latitudes have a city within a distance in metres."""
    from scipy.spatial import cKDTree

    known = _gazetteer()
    cities = known.discs[np.array(known.kinds) == "city", 1::-1]

    def sphere(points: Floats) -> Floats:
        lon, lat = np.radians(points).T
        return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])

    away, _ = cKDTree(sphere(cities)).query(sphere(degrees))
    return np.asarray(away * 6_371_009 <= distance)


def places_inside(place: Place) -> list[Place]:
    """Return the regions of a country, or the cities of a region, the most populous first."""
    known = _gazetteer()
    row = next(row for row in known.rows[folded(place.name)] if row >= 0 and known.place(row) == place)
    kind, code = ("region", known.codes[row][:1]) if place.kind == "country" else ("city", known.codes[row])
    rows = [other for other, its in enumerate(known.codes) if its[: len(code)] == code and known.kinds[other] == kind]
    return [known.place(other) for other in sorted(rows, key=lambda other: -known.populations[other])]


def ground_distances(lat: float | Floats, lon: float | Floats, lats: Floats, lons: Floats) -> Floats:
    """Return the distances of points from one point, or pairwise, in metres on a sphere as large as the Earth."""
    lat, lon, lats, lons = np.radians(lat), np.radians(lon), np.radians(lats), np.radians(lons)
    half = np.sin((lats - lat) / 2) ** 2 + np.cos(lat) * np.cos(lats) * np.sin((lons - lon) / 2) ** 2
    return np.asarray(2 * 6_371_009 * np.arcsin(np.sqrt(np.minimum(half, 1.0))))


def find_place(text: str) -> Place | None:
    """Return the place that a text clearly names, or None.

    Examples
    --------
    >>> find_place("NYC").title, find_place("Bayern").title, find_place("Paris, Texas").title
    ('New York City, United States', 'Bavaria, Germany', 'Paris, Texas, United States')
    >>> find_place("Springfield") is None       # there are several
    True
    """
    rows, known = _weighed(text), _gazetteer()
    if not rows or (len(rows) > 1 and rows[0][0] < _CLEARLY * rows[1][0]):
        return None
    # Two countries of one name, such as Korea, remain ambiguous, however different in size.
    if sum(known.kinds[row] == "country" for _, row in rows) > 1:
        return None
    return known.place(rows[0][1])


def places_named(text: str) -> list[Place]:
    """Return the places that a text may name, the most prominent first.

    Examples
    --------
    >>> [place.title for place in places_named("Georgia")]
    ['Georgia (country)', 'Georgia, United States']
    """
    return [_gazetteer().place(row) for _, row in _weighed(text)]


def places_beginning(text: str, count: int = 20) -> list[Place]:
    """Return the most populous places whose main names begin with a text."""
    begun, known = folded(text), _gazetteer()
    rows = {row for name, rows in known.rows.items() if name.startswith(begun) for row in rows if row >= 0}
    return [known.place(row) for row in sorted(rows, key=lambda row: -known.populations[row])[:count]]


def similar_places(text: str, count: int = 3) -> list[Place]:
    """Return the most prominent places with names that are similar to one that no place has."""
    name, known = folded(text.partition(",")[0]), _gazetteer()
    if not name:
        return []
    # Misspellings rarely change the first letter, and comparing with all names would take seconds.
    near = [key for key in known.rows if key[0] == name[0] and abs(len(key) - len(name)) <= 2]
    rows = {_weighed(key)[0][1] for key in difflib.get_close_matches(name, near, n=5, cutoff=0.75)}
    places = [known.place(row) for row in sorted(rows, key=lambda row: -known.populations[row])]
    return (places or places_beginning(text))[:count]


@functools.lru_cache(maxsize=1024)
def _weighed(text: str) -> tuple[tuple[float, int], ...]:
    """Return the weights and the rows of the places that a text may name, the heaviest first."""
    for name, qualifiers, kind in _readings(text):
        rows = _matching(name, qualifiers, kind)
        if rows:
            return tuple(sorted(_merged(rows), key=lambda match: -match[0]))
    return ()


def _readings(text: str) -> Iterator[tuple[str, Sequence[str], Kind | None]]:
    """Return the ways in which a text can be read: a name, the regions or countries it is in, and its kind."""
    kind: Kind | None = None
    if (said := re.search(r"\(([^)]*)\)", text)) is not None:
        kind = _KINDS.get(folded(said[1]))
        text = text.replace(said[0], " ") if kind is not None else text
    first, *others = text.split(",")
    name, qualifiers = folded(first), [folded(part) for part in others if part.strip()]
    if not name:
        return
    yield name, qualifiers, kind
    words = name.split()
    if not qualifiers:
        for split in range(len(words) - 1, 0, -1):
            yield " ".join(words[:split]), [" ".join(words[split:])], kind
    for word, meant in _KINDS.items():
        for pattern in (rf"(?:the )?{word} of (.+)", rf"(.+) {word}", rf"{word} (.+)", "the (.+)"):
            if kind is None and (stripped := re.fullmatch(pattern, name)) is not None:
                yield stripped[1], qualifiers, None if pattern.startswith("the") else meant


def _matching(name: str, qualifiers: Sequence[str], kind: Kind | None) -> list[tuple[float, int]]:
    known = _gazetteer()
    weights: dict[int, float] = {}
    for match in known.rows.get(name, []):
        row = max(match, ~match)
        kind_here, code = known.kinds[row], known.codes[row]
        around = known.within.get((code[0], ""), frozenset()) | {code[0].casefold()}
        around |= known.within.get(code, frozenset())
        if kind not in (None, kind_here) or not all(part in around for part in qualifiers):
            continue
        weight = max(known.populations[row], 1) * (_REGION if kind_here == "region" else 1.0)
        weights[row] = max(weights.get(row, 0.0), weight * (1.0 if match >= 0 else _OTHER_NAME))
    return [(weight, row) for row, weight in weights.items()]


def _merged(weighted: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Merge each place into another place of the same name that usually stands for it."""
    known = _gazetteer()
    weights = {row: weight for weight, row in weighted}
    for row in sorted(weights, key=lambda row: -weights[row]):
        for other in sorted(weights, key=lambda row: -weights[row]):
            if row in weights and other in weights and row != other and _stands_for(known, row, other):
                weights[row] = max(weights[row], weights.pop(other))
    return [(weight, row) for row, weight in weights.items()]


def _stands_for(known: _Gazetteer, row: int, other: int) -> bool:
    """Return whether a name that fits both places means the first."""
    kind, its_kind = known.kinds[row], known.kinds[other]
    people, its_people = known.populations[row], known.populations[other]
    (country, region), (its_country, its_region) = known.codes[row], known.codes[other]
    if country != its_country or its_kind == "country":
        return False
    if kind == "country":
        return True  # as Luxembourg for its capital
    if region != its_region:
        return False
    if kind == "city" and its_kind == "region":
        return people >= _SEAT * its_people  # as Zürich for its canton
    # As a city for its centre, or a region for a county of its name.
    away = ground_distances(*known.discs[row][:2], *known.discs[[other], :2].T)[0]
    return kind == its_kind and people > its_people and bool(away <= known.discs[row][2])


# By location ---------------------------------------------------------------------------------------------------------

#: The largest population of a place that is in no gazetteer. The first row group of the file is the gazetteer; each of
#: the others has the smaller places of a block of degrees.
_SMALL = 15_000


@dataclass(frozen=True, eq=False)
class Towns:
    """Cities, towns and villages."""

    #: The name, the first-order region and the country of each; a region is empty if there is none.
    names: list[str]
    regions: list[str]
    countries: list[str]
    #: (n, 2): longitudes and latitudes.
    degrees: Floats
    #: The number of inhabitants, of villages to two digits; 0 if unknown.
    populations: Floats


def towns_near(lon: float, lat: float, distance: float, least: int = 0) -> Towns:
    """Return the places within a distance of a location, in metres, that have at least so many inhabitants.

    Of many places that are close together, the gazetteer marks the largest: only those are returned.

    Examples
    --------
    >>> towns_near(36.82, -1.29, 30_000, least=1_000_000).names
    ['Nairobi']
    """
    west, north, half = _blocks()
    near = np.flatnonzero((ground_distances(lat, lon, north, west) <= distance + half) & (least <= _SMALL))
    parts = []
    for block in (0, *(near + 1).tolist()):
        texts, degrees, populations = _block(block)
        away = ground_distances(lat, lon, degrees[1], degrees[0])
        rows = np.flatnonzero((away <= distance) & (populations >= least))
        parts.append((texts[:, rows], degrees[:, rows], populations[rows]))
    texts, degrees, populations = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    names, countries, regions = texts.tolist()
    titles = _titles()
    return Towns(
        names,
        [titles.get(code, "") for code in zip(countries, regions, strict=True)],
        [titles[code, ""] for code in countries],
        degrees.T,
        populations,
    )


@functools.cache
def _blocks() -> tuple[Floats, Floats, Floats]:
    """Return the longitudes and latitudes of the middles of blocks, and half their diameters in metres."""
    west, north, half = np.array(json.loads(place_file().metadata.metadata[b"blocks"]), dtype=float).T
    return west, north, half


@functools.lru_cache(maxsize=64)
def _block(block: int) -> tuple[NDArray[np.object_], Floats, Floats]:
    """Return names, countries and regions of the places of a block, their degrees and their populations."""
    texts, numbers = ["name", "country", "region"], ["lon", "lat", "population"]
    table = place_file().read_row_group(block, columns=[*texts, *numbers, "named"])
    # Rows are left out before their texts become objects of Python, which takes most of the time.
    table = table.filter(table["named"])
    lon, lat, populations = (np.asarray(table[name], dtype=float) for name in numbers)
    rows = np.array([np.asarray(table[name]) for name in texts], dtype=object)
    return rows, np.array([lon, lat]) * 1e-3, populations


@functools.cache
def _titles() -> dict[tuple[str, str], str]:
    """Return the names of countries and first-order regions by their codes."""
    import pyarrow.compute as pc

    table = place_file().read_row_group(0, columns=["kind", "name", "country", "region"])
    columns = table.filter(pc.not_equal(table["kind"], "city")).drop_columns("kind").to_pydict()
    # A region comes before its parts, and keeps its name.
    return {(country, region): name for name, country, region in reversed([*zip(*columns.values(), strict=True)])}


# Regions of PROJ -----------------------------------------------------------------------------------------------------


def similar_regions(given: object) -> str:
    """Return a sentence that names similar regions, for an error about an unknown name."""
    if not isinstance(given, str):
        return ""
    name = folded(given)
    holding = sorted((key for key in regions() if name and name in key), key=len)
    near = holding or difflib.get_close_matches(name, [*regions()], n=3)
    titles = dict.fromkeys(regions()[key][0] for key in near)
    return f" Regions with similar names: {', '.join(map(repr, [*titles][:3]))}." if titles else ""


@functools.cache
def regions() -> dict[str, tuple[str, tuple[float, float, float, float]]]:
    """Return the titles and bounds of the areas of use in PROJ's database, by folded name."""
    from pyproj.database import query_crs_info

    known: dict[str, tuple[str, tuple[float, float, float, float]]] = {}
    for info in query_crs_info():
        if info.area_of_use is None:
            continue
        name, bounds = str(info.area_of_use.name), info.area_of_use.bounds
        before = known.setdefault(folded(name), (name.rstrip(". "), bounds))
        if _extent(bounds) > _extent(before[1]):  # a few names have two entries
            known[folded(name)] = (before[0], bounds)
    return dict(sorted(known.items()))


def _extent(bounds: tuple[float, float, float, float]) -> float:
    west, south, east, north = bounds
    return float((east - west) % 360 * (north - south))
