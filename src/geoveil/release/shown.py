"""Show an answer: as a frame, a file, a picture, a page, or in a notebook."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from geoveil.errors import GeoveilError, InvalidParameter
from geoveil.facts.wording import guarantee_line, paragraphs
from geoveil.host.arithmetic import steady
from geoveil.queries import Points
from geoveil.release.answered import Answered
from geoveil.release.as_file import endings, write_frame, write_release
from geoveil.release.as_layers import degrees, truth_layer
from geoveil.release.figures import draw_map
from geoveil.release.kinds import Frame
from geoveil.report import Layer
from geoveil.text.cards import as_html

if TYPE_CHECKING:
    from pathlib import Path

    import geopandas
    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes

    from geoveil._types import CrsLike
    from geoveil._types import Path as PathLike
    from geoveil.certificates import KeyLike
    from geoveil.geo import Plane
    from geoveil.geo.forms import Floats
    from geoveil.release.release import Release
    from geoveil.report import Report, Scene

__all__ = ["Shown"]

#: The largest number of points of a file that are read for a small map.
_MOST_READ = 1_000_000


class Shown(Answered):
    """An answer that shows itself to people and hands itself to other programs."""

    def in_memory(self) -> Release:
        """Return the release with its points in memory; a release that is a file is loaded.

        Examples
        --------
        >>> release = gv.Locations([[0.0, 0.0], [100.0, 0.0]]).mean(rho=1e-4)
        >>> release.in_memory() is release
        True
        """
        raise NotImplementedError  # a Release does it

    @steady()
    def to_frame(self, *, crs: CrsLike = None) -> Frame:
        """Return the release as a frame: a row for each point, line or answer, with its error and its budget.

        Parameters
        ----------
        crs : coordinate system, as pyproj accepts it, optional
            The coordinate system of the frame; by default that of the input.

        Returns
        -------
        geopandas.GeoDataFrame or pandas.DataFrame
            The columns `radius_95` and `rho` or `epsilon` state the 95% error radius in metres and the budget; a
            frame of neighbours states in `excess_95` how much farther they may be than the true ones. Answers
            without a location, such as lengths, are a pandas.DataFrame. A heat map has a polygon for each cell.

        Examples
        --------
        >>> frame = gv.Locations(homes, area=bay).center(rho=1e-4).to_frame(crs=32610)
        >>> frame.columns.tolist(), frame.geom_type.tolist(), frame.crs.to_epsg()
        (['geometry', 'radius_95', 'rho'], ['Point'], 32610)
        """
        release = self.in_memory()
        frame = release._rows(crs)
        stated = release._errors_of_rows(frame) if release.processing.bounded else {}
        stated[release.guarantee.symbol] = float(release.guarantee.budget)
        return frame.assign(**{name: number for name, number in stated.items() if name not in frame})

    @steady()
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows of `to_frame` as an Arrow stream, with shapes as GeoArrow (WKB and their system).

        So polars, DuckDB, pyarrow, GeoPandas and others take a release where they take a table.

        Examples
        --------
        >>> import pyarrow as pa
        >>> pa.table(gv.Locations(homes, area=bay).center(rho=1e-4)).column_names
        ['geometry', 'radius_95', 'rho']
        """
        return self._arrow.__arrow_c_stream__(requested_schema)

    @cached_property
    def _arrow(self) -> pa.Table:
        """The rows of `to_frame` as a table of Arrow.

        It is kept, since engines ask for the schema first and for the rows later, on threads of their own, on which
        PROJ crashes.
        """
        import pyarrow as pa

        frame = self.to_frame()
        return pa.table(frame.to_arrow()) if hasattr(frame, "geometry") else pa.Table.from_pandas(frame)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The rows of `to_frame` as a FeatureCollection, in WGS 84 where they have a place on the Earth.

        Answers without a location, such as lengths, do not have this attribute.

        Examples
        --------
        >>> shapes = gv.Locations(homes, area=bay).center(rho=1e-4).__geo_interface__
        >>> shapes["type"], [feature["geometry"]["type"] for feature in shapes["features"]]
        ('FeatureCollection', ['Point'])
        """
        frame = self.to_frame(crs=None if self.plane is None else 4326)
        if not hasattr(frame, "geometry"):
            raise AttributeError(f"{self.query} has no location")
        stated: dict[str, Any] = frame.__geo_interface__
        return stated

    def darwin_core(self) -> pd.DataFrame:
        """Return released points as a table with the terms of Darwin Core, for registers of species.

        Returns
        -------
        pandas.DataFrame
            The released columns under their own names, with `decimalLatitude`, `decimalLongitude`, `geodeticDatum`,
            `coordinateUncertaintyInMeters` (the 95% error radius) and `dataGeneralizations`, which says in words what
            was done.

        Examples
        --------
        >>> table = gv.Locations(homes, area=bay).points(hide=200).darwin_core()
        >>> table.columns.tolist()[:3]
        ['decimalLatitude', 'decimalLongitude', 'geodeticDatum']
        >>> table.dataGeneralizations[0]
        'Random noise was added to the coordinates (200 m hidden at 75%, CGP with ρ = 1.37326e-05 per m²). A place is \
within coordinateUncertaintyInMeters of the original one with probability 95%.'
        """
        import pandas as pd
        import shapely

        frame = self.to_frame(crs=4326)
        single = hasattr(frame, "geometry") and (shapely.get_type_id(frame.geometry.array) == 0).all()
        if not single or "radius_95" not in frame:
            remedy = "Use to_frame() for other answers, and the release before it was smoothed."
            raise InvalidParameter("release", self.kind.name, "single points with an error radius", remedy)
        hides = guarantee_line(self.guarantee).replace(" (", ", ").removesuffix(")")
        rest = pd.DataFrame(frame.drop(columns=[frame.geometry.name, "radius_95"]))
        stated = {
            "decimalLatitude": shapely.get_y(frame.geometry.array),
            "decimalLongitude": shapely.get_x(frame.geometry.array),
            "geodeticDatum": "EPSG:4326",
            "coordinateUncertaintyInMeters": np.ceil(frame.radius_95.to_numpy(dtype=float)),
            "dataGeneralizations": f"Random noise was added to the coordinates ({hides}). A place is within "
            "coordinateUncertaintyInMeters of the original one with probability 95%.",
        }
        return pd.concat(
            [pd.DataFrame(stated, index=rest.index), rest.drop(columns=[*stated], errors="ignore")], axis=1
        )

    def _rows(self, crs: CrsLike) -> Frame:
        """Return the released points or answers as rows of a frame."""
        rows = self.kind.rows(self)
        return rows if crs is None or not hasattr(rows, "geometry") else rows.to_crs(crs)

    def _errors_of_rows(self, frame: Frame) -> dict[str, float | Floats]:
        """Return the columns that state the 95% error of each row."""
        radius = self.error(0.05, each=self.kind.of_points)
        if self.point_scales is not None:
            radius = self._radii_of_rows(self.point_scales, len(frame))
        elif self.person is not None:
            # If the person of each row is not known, the largest radius holds for all.
            known = self.person.name in frame
            radius = radius.reindex(frame[self.person.name]).to_numpy() if known else float(radius.max())
        location = self.place_error(0.05)
        return {self.kind.error_column: radius} | ({} if location is None else {"radius_95": location})

    def _radii_of_rows(self, scales: Floats, count: int) -> Floats:
        """Return the 95% error radius of each row where the noise of points differs: that of its noisiest point.

        The error of a point is proportional to the scale of its noise, up to the rounding of points.
        """
        query = self.answers[0].query
        assert isinstance(query, Points)
        distinct, which = np.unique(scales, return_inverse=True)
        errors = distinct / query.mechanism.scale * query.error(0.05, each=True) + query.rounding_error
        if self.plane is not None:
            errors = np.array([self.plane.area.ground(error) for error in errors])
        radii: Floats = errors[which]
        if count == len(radii):
            return radii
        most = np.zeros(count)
        np.maximum.at(most, self.form.rows, radii)
        return most

    @steady()
    def to_file(self, path: PathLike, *, sign: KeyLike = None, overwrite: bool = False) -> Path:
        """Write the release and its certificate into files, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Its ending tells the format: .csv, .tsv, .geojson, .gpkg, .shp or .parquet. A release that was read from a
            file is written in the format of that file as well, and a heat map of a crowd as a GeoTIFF (.tif) with a
            band for each slice, which needs the extra `geoveil[raster]`.
        sign : SigningKey, or path of a private key, optional
            The key that signs the certificate; see `geoveil.verify`.
        overwrite : bool
            Whether an existing file is replaced, with its certificate; otherwise it is refused.

        Returns
        -------
        Path
            The path of the file. The certificate is beside it, and `geoveil.load` reads points again.

        Examples
        --------
        >>> _ = gv.Locations(homes, area=bay).hull(rho=1e-4).to_file(folder / "hull.geojson")
        >>> sorted(path.name for path in folder.iterdir())
        ['hull.geojson', 'hull.geojson.certificate.json']
        """
        return write_release(self.in_memory(), path, sign, overwrite=overwrite)

    def _endings(self) -> tuple[str, ...]:
        """Return the endings of files to which the release can be written."""
        return endings()

    def _write(self, path: Path) -> dict[str, Any]:
        """Write the rows into a file, and return the options with which it is read."""
        return write_frame(self.to_frame(), path, self.pairs if self.kind.of_points else ())

    @steady()
    def layers(self, *, name: str | None = None) -> tuple[Layer, ...]:
        """Return the layers of a map that show the release: its value, and the public location of its question.

        Parameters
        ----------
        name : str, optional
            The name in the legend; by default "released" and the question.

        Returns
        -------
        tuple of Layer
            The layers; empty if the value has no location on Earth, such as a length.

        Examples
        --------
        >>> people = geopandas.GeoSeries.from_xy([-122.41, -122.45], [37.78, 37.76], crs=4326)
        >>> [layer] = gv.Locations(people, person=["ann", "bob"], area=bay).points(rho=1e-4).layers()
        >>> layer.name, layer.kind, layer.role, layer.places.shape, round(layer.radius[0])
        ('released points', 'points', 'released', (2, 2), 173)
        """
        release = self.in_memory()
        shown = name or f"released {self.kind.title.lower() or self.query}"
        return () if release.plane is None else release._layers(release.plane, shown)

    def _layers(self, plane: Plane, name: str) -> tuple[Layer, ...]:
        """Return the layers that show the value, and the public location of the question, if it has one."""
        value, p = self.kind.layers(self, plane, name), self.answers[0].query.parameters().get("p")
        if not isinstance(p, list):
            return value
        at = degrees(plane, np.array([p]))
        return (*value, Layer("location asked about", at, "marks", "public", texts=("asked about",)))

    def _drawn(self) -> tuple[Frame, str | None]:
        """Return the frame that `plot` draws, and the column of numbers that its colours show, if there is one."""
        return self.to_frame(), None

    @steady()
    def scene(self, *, basemap: PathLike | None = None) -> Scene | None:
        """Return everything that a map of the release shows, as data; None if it has no location.

        Parameters
        ----------
        basemap : str or Path, optional
            The user's own base map.

        Returns
        -------
        Scene
            Groups of shapes with their styles, legend and labels. `as_dict()` gives it in degrees, for JSON.

        Examples
        --------
        >>> [group] = gv.Locations(homes, area=bay).hull(rho=1e-4).scene().layers
        >>> group.name, [key.form for key in group.keys]
        ('released hull', ['fill', 'fill'])
        """
        from geoveil.report import compose

        return compose(self.layers(), basemap=None if basemap is None else str(basemap))

    @steady()
    def plot(
        self,
        ax: Axes | None = None,
        *,
        truth: geopandas.GeoSeries | geopandas.GeoDataFrame | None = None,
        basemap: PathLike | None = None,
        **style: object,
    ) -> Axes:
        """Draw the release on a map with matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw in; by default new ones. In axes that show something already there is no ground.
        truth : GeoSeries or GeoDataFrame, optional
            True locations to draw as well.
        basemap : str or Path, optional
            The user's own base map, as for `report`.
        **style
            Arguments of `geopandas.GeoDataFrame.plot`, such as `color`, `markersize` or `cmap`, with which GeoPandas
            draws the release over the ground.

        Returns
        -------
        matplotlib Axes
            The axes, in the coordinate system of the release, so that other frames can be drawn over it.

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("agg")
        >>> ax = gv.Locations(homes, area=bay).hull(rho=1e-4).plot()
        >>> [text.get_text() for text in ax.get_legend().get_texts()][0]
        'released hull'
        """
        return draw_map(self, ax, self._report(None, truth, basemap), style)

    @steady()
    def explore(
        self,
        *,
        title: str | None = None,
        truth: geopandas.GeoSeries | geopandas.GeoDataFrame | None = None,
        basemap: PathLike | None = None,
    ) -> Report:
        """Show the report of the release as an interactive page, in a notebook or in a browser, also offline.

        Parameters
        ----------
        title, truth, basemap : optional
            As for `report`.

        Returns
        -------
        Report
            Shown as a page by a notebook; `save(path)` writes it into a file, `show_in_browser()` opens it.

        Examples
        --------
        >>> view = gv.Locations(homes, area=bay).hull(rho=1e-4).explore()
        >>> view.save(folder / "hull.html").name
        'hull.html'
        """
        return self._report(title, truth, basemap)

    @steady()
    def report(
        self,
        path: PathLike,
        *,
        title: str | None = None,
        truth: geopandas.GeoSeries | geopandas.GeoDataFrame | None = None,
        basemap: PathLike | None = None,
        width: float | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write a report: a page with a map, the guarantee and the certificate; or the map alone as a figure.

        Parameters
        ----------
        path : str or Path
            A file that ends in .html, .png, .svg or .pdf; figures require matplotlib.
        title : str, optional
            The heading; by default the question.
        truth : GeoSeries or GeoDataFrame, optional
            True locations to draw as well. Such a report says that it must not be shared.
        basemap : str or Path, optional
            The user's own base map, drawn in quiet greys: GeoPackage, GeoJSON, GeoParquet, Shapefile or PMTiles.
        width : float, optional
            The width of a figure in millimetres; 180 by default.
        overwrite : bool
            Whether an existing file is replaced; otherwise it is refused.

        Returns
        -------
        Path
            The path of the file.

        Examples
        --------
        >>> path = gv.Locations(homes, area=bay).hull(rho=1e-4).report(folder / "hull.html")
        >>> path.read_text()[:15]
        '<!DOCTYPE html>'
        """
        return self._report(title, truth, basemap, width).save(path, overwrite=overwrite)

    def _report(
        self,
        title: str | None,
        truth: geopandas.GeoSeries | geopandas.GeoDataFrame | None,
        basemap: PathLike | None,
        width: float | None = None,
    ) -> Report:
        """Return the report of the release; true locations are in it only if the owner gives them."""
        from geoveil.report import Report

        facts = self.facts()
        # True tracks are drawn first, below the released ones.
        layers = self.layers() if truth is None else (truth_layer(truth, self), *self.layers())
        name = self.kind.title or f"Released {facts.query.replace('_', ' ')}"
        where = None if basemap is None else str(basemap)
        certificate, gains = self.certificate(), self._gains()
        return Report(title or name, layers, facts, certificate, attacker=gains, basemap=where, width=width)

    def _gains(self) -> tuple[str, ...]:
        """Return what an attacker gains from the release, in sentences."""
        return ()

    @steady()
    def _repr_html_(self) -> str:
        from geoveil.report import small_map

        lead = paragraphs(self.facts(every_error=False))[0]
        try:
            # A file that is large is not read for a small map.
            large = self.coords is None and self.kind.of_points and self.points_released > _MOST_READ
            layers = () if large else self.layers()
        except (GeoveilError, OSError):  # a file that was changed, or is gone
            layers = ()
        return as_html(*self._card(), lead=lead, figure=small_map(layers))
