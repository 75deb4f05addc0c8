"""GeoJSON, GeoPackage and Shapefile, through GDAL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.files import wkb
from geoveil.geo.files.locations import ROWS, Batch, Locations

__all__ = ["DRIVERS", "GDALFile", "open_gdal"]

#: GDAL's names of formats, by the endings of files.
DRIVERS = {".geojson": "GeoJSON", ".json": "GeoJSON", ".gpkg": "GPKG", ".shp": "ESRI Shapefile"}
#: Times stay the texts they are.
_OPTIONS: dict[str, dict[str, Any]] = {"GeoJSON": {"DATE_AS_STRING": "YES"}}


def open_gdal(path: Path, *, source_crs: Any = None, layer: str | None = None) -> GDALFile:
    """Look at a layer."""
    import pyogrio
    import pyproj

    driver = DRIVERS[path.suffix.lower()]
    try:
        layers = [str(name) for name, _ in pyogrio.list_layers(path)]
        if layer is None and len(layers) != 1:
            raise InvalidParameter("layer", None, f"a layer of {path.name}, one of {layers}", "Say which.")
        if layer is not None and layer not in layers:
            raise InvalidParameter("layer", layer, f"a layer of {path.name}, one of {layers}", "Say which.")
        layer = layers[0] if layer is None else layer
        info = pyogrio.read_info(path, layer=layer, force_feature_count=True)
        with pyogrio.open_arrow(path, layer=layer, use_pyarrow=True) as (_, reader):
            schema = reader.schema
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError) as problem:
        remedy = "It may be cut off, or of another format: make it anew."
        raise InvalidFile(str(path), str(problem), f"a sound {driver} file", remedy) from None
    if info["geometry_type"] is None:
        raise InvalidFile(str(path), layer, "a layer with geometries", "This one has none.")
    if info["crs"] is None and source_crs is None:
        remedy = "Say which one it is: source_crs=4326, say."
        raise InvalidFile(str(path), None, "a file that knows its coordinate system", remedy)
    geometry = info["geometry_name"] or "wkb_geometry"
    return GDALFile(
        path=path,
        crs=pyproj.CRS.from_user_input(info["crs"] or source_crs),
        columns={field.name: field.type for field in schema if field.name != geometry},
        # A shapefile's layer is called as the file is.
        reading={
            **({"layer": layer} if driver == "GPKG" else {}),
            **({} if info["crs"] else {"source_crs": pyproj.CRS(source_crs).to_string()}),
        },
        layer=layer,
        driver=driver,
        rows=int(info["features"]),
        geometry=geometry,
        kind=str(info["geometry_type"]).replace(" Z", "").replace(" M", "").replace("ZM", "").replace("2.5D ", ""),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class GDALFile(Locations):
    """A layer of a file that GDAL reads and writes."""

    driver: str
    layer: str
    rows: int
    geometry: str
    kind: str

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa
        import pyogrio
        import shapely

        first = 0
        try:
            with pyogrio.open_arrow(
                self.path,
                layer=self.layer,
                columns=list(columns),
                batch_size=ROWS,
                use_pyarrow=True,
                **_OPTIONS.get(self.driver, {}),
            ) as (_, reader):
                for part in reader:
                    table = pa.table(part)
                    column = table[self.geometry].combine_chunks()
                    places = wkb.decode(getattr(column, "storage", column))
                    share = min((first + len(table)) / max(self.rows, 1), 1.0)
                    yield Batch(self, first, share, places, table.select(list(columns)))
                    first += len(table)
        except (pa.ArrowException, pyogrio.errors.DataSourceError, shapely.errors.GEOSException) as problem:
            raise self.failed(problem, "It may be damaged: make it anew.") from None

    def write(self, path: Path, batches: Iterator[Batch], schema: Any) -> None:
        import pyarrow as pa
        import pyogrio

        name = self.geometry
        marked = pa.field(name, pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
        whole = pa.schema([*schema, marked])

        # GDAL asks for batches through C, where an exception would lose its kind.
        failed: list[BaseException] = []

        def parts() -> Iterator[Any]:
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
                layer=None if self.driver == "ESRI Shapefile" else self.layer,
                geometry_name=name,
                geometry_type=self.kind,
                crs=self.crs.to_wkt(),
            )
        except Exception:
            if failed:
                raise failed[0] from None
            raise
