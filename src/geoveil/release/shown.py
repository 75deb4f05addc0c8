"""Show a release: as a frame, a file, a picture, a page, or in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from geoveil.arithmetic import steady
from geoveil.cards import Card

if TYPE_CHECKING:
    from pathlib import Path

    import geopandas
    import pandas as pd
    from matplotlib.axes import Axes

    from geoveil._types import CrsLike
    from geoveil._types import Path as PathLike
    from geoveil.certificates import KeyLike
    from geoveil.release.release import Release
    from geoveil.report import Layer, Report, ReportView, Scene

__all__ = ["Shown"]


class Shown(Card):
    """The methods of `Release` that show it to people and hand it to other programs."""

    @property
    def _self(self) -> Release:
        """The same object, typed as a `Release`."""
        return cast("Release", self)

    def in_memory(self) -> Release:
        """Return the release with its points in memory; a release that is a file is loaded.

        Examples
        --------
        >>> release = gv.Locations([[0.0, 0.0], [100.0, 0.0]]).mean(rho=1e-4)
        >>> release.in_memory() is release
        True
        """
        return self._self

    @steady()
    def to_frame(self, *, crs: CrsLike = None) -> geopandas.GeoDataFrame | pd.DataFrame:
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
        from geoveil.release.as_frame import frame_with_errors

        release = self.in_memory()
        return frame_with_errors(release, release._rows(crs))

    def _rows(self, crs: CrsLike) -> geopandas.GeoDataFrame | pd.DataFrame:
        """Return the released points or answers as rows of a frame."""
        from geoveil.release.as_frame import rows_of

        rows = rows_of(self._self)
        return rows if crs is None or not hasattr(rows, "geometry") else rows.to_crs(crs)

    @steady()
    def to_file(self, path: PathLike, *, sign: KeyLike = None, overwrite: bool = False) -> Path:
        """Write the release and its certificate into files, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Its ending tells the format: .csv, .tsv, .geojson, .gpkg, .shp or .parquet. A release that was read from a
            file is written in the format of that file as well.
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
        from geoveil.release.as_file import write_release

        release = self.in_memory()
        if release is not self._self:
            return release.to_file(path, sign=sign, overwrite=overwrite)
        return write_release(release, path, sign, overwrite=overwrite)

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
        from geoveil.release.as_layers import layers_of

        release = self.in_memory()
        if release is not self._self:
            return release.layers(name=name)
        return () if release.plane is None else layers_of(release, release.plane, name)

    def _drawn(self) -> tuple[Any, str | None]:
        """Return the frame that `plot` draws, and the column of numbers that its colours show, if there is one."""
        return self.to_frame(), "points" if self._self.kind == "cells" else None

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
        **style: Any,
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
        from geoveil.release.notebook import draw_map

        return draw_map(self._self, ax, self._report(None, truth, basemap), style)

    @steady()
    def explore(
        self,
        *,
        title: str | None = None,
        truth: geopandas.GeoSeries | geopandas.GeoDataFrame | None = None,
        basemap: PathLike | None = None,
    ) -> ReportView:
        """Show the report of the release as an interactive page, in a notebook or in a browser, also offline.

        Parameters
        ----------
        title : str, optional
            The heading of the page; by default the question.
        truth : GeoSeries or GeoDataFrame, optional
            True locations to draw as well. Such a page says that it must not be shared.
        basemap : str or Path, optional
            The user's own base map, as for `report`.

        Returns
        -------
        ReportView
            Shown as a page by a notebook; `save(path)` writes it into a file, `show_in_browser()` opens it.

        Examples
        --------
        >>> view = gv.Locations(homes, area=bay).hull(rho=1e-4).explore()
        >>> view.save(folder / "hull.html").name
        'hull.html'
        """
        from geoveil.report import ReportView

        return ReportView(self._report(title, truth, basemap))

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
        from geoveil.report import ReportView

        return ReportView(self._report(title, truth, basemap, width)).save(path, overwrite=overwrite)

    def _report(
        self,
        title: str | None,
        truth: geopandas.GeoSeries | geopandas.GeoDataFrame | None,
        basemap: PathLike | None,
        width: float | None = None,
    ) -> Report:
        """Return the report of the release; true locations are in it only if the owner gives them."""
        from geoveil.release.as_layers import truth_layer
        from geoveil.report import Report

        release = self._self
        facts = release.facts()
        # True tracks are drawn first, below the released ones.
        layers = self.layers() if truth is None else (truth_layer(truth, release), *self.layers())
        name = "Heat map" if release.kind == "cells" else f"Released {facts.query.replace('_', ' ')}"
        where = None if basemap is None else str(basemap)
        return Report(title or name, layers, facts, release.certificate(), basemap=where, width=width)

    @steady()
    def _repr_html_(self) -> str:
        from geoveil.release.notebook import card_of

        return card_of(self._self)
