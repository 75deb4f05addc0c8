"""GeoJSON, GeoPackage, Shapefile and FlatGeobuf, read and written by GDAL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from geoveil._types import CrsLike
from geoveil.errors import InvalidFile, InvalidParameter, Mention, Message, Text
from geoveil.geo.coordinate_systems import own_system
from geoveil.geo.formats import wkb
from geoveil.geo.formats.guards import guarded, records
from geoveil.geo.formats.limits import check_names
from geoveil.geo.formats.location_columns import GeometryColumn
from geoveil.geo.formats.location_file import ROWS, Batch, FilePart, LocationFile

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AS_TEXT", "DRIVERS", "GDALFile", "open_gdal"]

#: GDAL's names of formats, by the endings of files.
DRIVERS = {
    ".geojson": ("GeoJSON", "GeoJSONSeq"),
    ".json": ("GeoJSON", "GeoJSONSeq"),
    **dict.fromkeys((".geojsonl", ".geojsons", ".ndjson", ".jsonl", ".ndgeojson"), ("GeoJSONSeq", "GeoJSON")),
    ".gpkg": ("GPKG",),
    ".shp": ("ESRI Shapefile",),
    ".fgb": ("FlatGeobuf",),
}
#: Options with which times are read as texts.
_OPTIONS: dict[str, object] = {"datetime_as_string": True}
_MORE = {"GeoJSON": {"DATE_AS_STRING": "YES"}, "GeoJSONSeq": {"DATE_AS_STRING": "YES"}}
#: Option with which texts in GeoJSON remain texts: GDAL would write texts that are JSON as objects and lists.
AS_TEXT = {"AUTODETECT_JSON_STRINGS": "NO"}
#: GDAL's types of columns of times.
_TIMES = ("OFTDate", "OFTTime", "OFTDateTime")
#: Largest number of bytes in a text field of a shapefile.
_WIDTH = 254
#: Largest number of bytes in the name of a column of a shapefile.
_NAME = 10
#: Options with which files are written, by driver.
_WRITING: dict[str, dict[str, str]] = {
    "GeoJSON": {"WRITE_NAME": "NO", **AS_TEXT},
    # An index would change the order of the rows.
    "FlatGeobuf": {"SPATIAL_INDEX": "NO"},
}


def open_gdal(path: Path, *, crs: CrsLike = None, layer: str | None = None) -> GDALFile:
    """Open a layer of a file and read its columns."""
    import pyogrio

    # GeoJSON is read from files with any ending; the others are recognised by theirs.
    drivers = DRIVERS.get(path.suffix.lower(), DRIVERS[".geojson"])
    expected = drivers[0]
    name = guarded(path, expected)
    try:
        layers = [str(found) for found, _ in pyogrio.list_layers(name)]
        if layer not in (layers if len(layers) != 1 else [*layers, None]):
            remedy: Text = "It holds no data."
            if layers:
                remedy = Message("Name one of them, such as {first}.", first=Mention("layer", layers[0]))
            raise InvalidParameter("layer", layer, f"a layer of {path.name}, one of {layers}", remedy)
        chosen = layers[0] if layer is None else layer
        info = pyogrio.read_info(name, layer=chosen, force_feature_count=True)
        options = {**_OPTIONS, **_MORE.get(info["driver"], {})}
        with pyogrio.open_arrow(name, layer=chosen, use_pyarrow=True, **options) as (_, reader):
            schema = reader.schema
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError) as problem:
        remedy = "It may be truncated, or of another format: create it again."
        raise InvalidFile(str(path), str(problem), f"a valid {expected} file", remedy) from None
    if info["driver"] not in drivers:
        raise InvalidFile(str(path), info["driver"], f"a file of the format {expected}", "Convert it.")
    if info["geometry_type"] is None:
        raise InvalidFile(str(path), chosen, "a layer with geometries", "Choose another layer or file.")
    if info["driver"] == "GeoJSONSeq" and int(info["features"]) != records(path):
        counts = f"{info['features']} features in {records(path)} records"
        allowed = "a feature in each line, or after each separator"
        raise InvalidFile(str(path), counts, allowed, "Correct the other records.")
    if expected == "ESRI Shapefile" and not len(info["fields"]) and path.with_suffix(".dbf").exists():
        table = str(path.with_suffix(".dbf"))
        raise InvalidFile(table, "no columns", "a valid .dbf file", "It is damaged: create it again.")
    check_names(path, schema.names, str.casefold)
    geometry = info["geometry_name"] or "wkb_geometry"
    timed = zip(info["fields"], info["ogr_types"], strict=True)
    bounds = info["total_bounds"]
    system = own_system(path, info["crs"], crs, degrees=bounds is None or max(map(abs, bounds)) <= 360)
    return GDALFile.opened(
        path,
        GeometryColumn(geometry, "wkb"),
        system,
        {field.name: field.type for field in schema},
        times=frozenset(str(field) for field, kind in timed if kind in _TIMES),
        unsafe=[field.name for field in schema if wkb.may_hold_places(field)],
        reading={} if info["crs"] else {"crs": system.to_string()},
        kind=str(info["geometry_type"]).replace("2.5D ", "").split(" ")[0],
        name=name,
        driver=info["driver"],
        layer=chosen,
        fields={field.name: field.with_metadata(_kind(field)) for field in schema},
        options=options,
        rows=int(info["features"]),
    )


def _kind(field: pa.Field) -> dict[bytes, bytes] | None:
    """Return the metadata of a field that marks a text as a time, and nothing else that GDAL stores about it."""
    marked = (field.metadata or {}).get(b"GDAL:OGR:type")
    return {b"GDAL:OGR:type": marked} if marked else None


@dataclass(frozen=True, eq=False, kw_only=True)
class GDALFile(LocationFile):
    """A layer of a file in a format of GDAL."""

    #: The name by which GDAL opens it.
    name: str
    driver: str
    fields: dict[str, pa.Field]
    layer: str = ""
    options: dict[str, object] = field(default_factory=dict)
    rows: int = 0

    def check_columns(self, names: Sequence[str]) -> None:
        # GDAL would cut them, and a recipient would not find the column of persons.
        if self.driver == "ESRI Shapefile":
            for name in names:
                if len(name.encode()) > _NAME:
                    allowed = f"columns with names of at most {_NAME} bytes, the limit of a shapefile"
                    raise InvalidParameter("target", name, allowed, "Choose a target that ends in .gpkg.")

    def check_batch(self, batch: Batch) -> None:
        if self.driver == "ESRI Shapefile":
            _check_width(batch)
        if self.driver == "GeoJSONSeq":
            _check_objects(batch)

    def check_types(self, types: Set[str]) -> None:
        # A shapefile of lines holds multilines as well.
        if self.driver == "ESRI Shapefile" and len({name.replace("MultiLine", "Line") for name in types}) > 1:
            allowed = "a format that holds geometries of several types, which a shapefile does not"
            raise InvalidParameter("target", sorted(types), allowed, "Choose a target that ends in .gpkg.")

    def _parts(self, columns: Sequence[str]) -> Iterator[FilePart]:
        import pyarrow as pa
        import pyogrio

        rows = 0
        chosen = [name for name in columns if name not in self.located.names]
        with pyogrio.open_arrow(
            self.name, layer=self.layer, columns=chosen, batch_size=ROWS, use_pyarrow=True, **self.options
        ) as (_, reader):
            for part in reader:
                rows += part.num_rows
                yield FilePart(pa.table(part), min(rows / max(self.rows, 1), 1.0))

    def write(self, path: Path, batches: Iterator[Batch], schema: pa.Schema) -> None:
        import pyarrow as pa
        import pyogrio

        [geometry] = self.located.names
        marked = pa.field(geometry, pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
        # Pseudonyms of persons are texts, also where the labels were numbers.
        fields = [self.fields.get(f.name, f) if f.type == self.columns.get(f.name) else f for f in schema]
        whole = pa.schema([*fields, marked])
        # GDAL requests batches through C, where an exception would lose its type.
        failed: list[BaseException] = []

        def parts() -> Iterator[pa.RecordBatch]:
            try:
                for batch in batches:
                    table = batch.columns.append_column(marked, [wkb.encode(batch.places)]).cast(whole)
                    yield from table.to_batches()
            except BaseException as problem:
                failed.append(problem)
                raise

        stream = pa.RecordBatchReader.from_batches(whole, parts())
        try:
            pyogrio.write_arrow(
                stream,
                path,
                driver=self.driver,
                # GDAL takes the name of the target: that of the source's layer may be the name of a person.
                layer=None,
                geometry_name=geometry,
                geometry_type=self.kind,
                crs=self.crs.to_wkt(),
                **_WRITING.get(self.driver, {}),
            )
        except Exception as problem:
            if failed:
                raise failed[0] from None
            if isinstance(problem, pyogrio.errors.DataSourceError | pyogrio.errors.DataLayerError):
                remedy = "Check the free space and the permissions."
                raise InvalidFile(path.name, str(problem), "a file that can be written", remedy) from None
            raise


def _check_width(batch: Batch) -> None:
    """Refuse texts that are too long, which a shapefile would truncate silently."""
    import pyarrow.compute as pc

    allowed = f"a text of at most {_WIDTH} bytes in UTF-8, the limit of a shapefile"
    _check_texts(batch, lambda texts: pc.greater(pc.binary_length(texts), _WIDTH), allowed, "Shorten it")


def _check_objects(batch: Batch) -> None:
    """Refuse texts that look like JSON, which GDAL may write as objects and lists in a sequence of features."""
    import pyarrow.compute as pc

    allowed = "a text that is not in braces or brackets, as GDAL may write it as an object"
    look = r"(?s)^(\{.*\}|\[.*\])\z"
    _check_texts(batch, lambda texts: pc.match_substring_regex(texts, look), allowed, "Use a FeatureCollection")


def _check_texts(batch: Batch, wrong: Callable[[pa.ChunkedArray], pa.ChunkedArray], allowed: str, remedy: str) -> None:
    """Refuse a batch with a text that the format cannot represent."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name, column in zip(batch.columns.column_names, batch.columns.columns, strict=True):
        if not pa.types.is_string(column.type):
            continue
        refused = wrong(column)
        if pc.any(refused).as_py():
            row = pc.index(refused, True).as_py()
            remedy = f"{remedy}, or use GeoPackage."
            raise InvalidFile(f"{batch.name(row)}, {name}", column[row].as_py(), allowed, remedy)
