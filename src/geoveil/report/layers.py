"""Layers of a map: points, lines, areas, marks, grids and flows in degrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidData, InvalidParameter

__all__ = ["FAINTEST", "Floats", "Geometries", "Kind", "Layer", "Role"]

#: The smallest number of a heat map or region that is drawn, as a share of the largest.
FAINTEST = 0.01

Floats: TypeAlias = NDArray[np.float64]
#: An array of shapely geometries.
Geometries: TypeAlias = NDArray[np.object_]
Kind: TypeAlias = Literal["points", "lines", "area", "marks", "grid", "flows"]
Role: TypeAlias = Literal["released", "public", "truth"]


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer of a map.

    Examples
    --------
    >>> from geoveil.report import Layer
    >>> Layer("station", [[-122.39, 37.78]], "marks", "public", texts=("Caltrain",)).places.shape
    (1, 2)
    """

    #: Its name in the legend.
    name: str
    #: (n, 2): longitude and latitude in degrees of WGS 84. Rows that are not finite are counted and not drawn.
    places: Floats
    #: How it is drawn. Marks are points with labels; a grid consists of cells, each given by its corners; flows are
    #: pairs of an origin and a destination.
    kind: Kind
    #: What it shows. A report with a layer of the role "truth" must not be shared.
    role: Role
    #: The line, ring, cell or flow that each row of `places` belongs to; by default there is only one.
    parts: NDArray[np.int64] | None = None
    #: The 95% error radius in metres on the ground, one for all places or one for each; of an area, the 95% bound on
    #: the error of its edge.
    radius: float | Floats | None = None
    #: The labels of marks, one for each.
    texts: tuple[str, ...] = ()
    #: The value of each cell of a grid or of each flow, in the order of `parts`.
    values: Floats | None = None
    #: The smallest value that is drawn. Cells of a grid with smaller values, which noise alone can cause, are blank.
    least: float = 0.0
    #: Whether the cells of a grid may overlap, as some regions do.
    overlapping: bool = False
    #: The person of each row of `places`, a position in `names`. Up to eight persons have their own colours.
    persons: NDArray[np.int64] | None = None
    #: The names of the persons in the legend.
    names: tuple[str, ...] = ()
    #: The root mean square error to expect in metres on the ground, where there is no bound.
    expected: float | None = None
    #: What `values` count, such as "persons".
    counted: str = "points"
    #: A sentence for the legend.
    note: str = ""

    def __post_init__(self) -> None:
        for argument, given, kinds in (("kind", self.kind, Kind), ("role", self.role, Role)):
            if given not in get_args(kinds):
                raise InvalidParameter(argument, given, "one of " + ", ".join(get_args(kinds)), "Choose one.")
        try:
            places = np.array(self.places, dtype=float)
        except (TypeError, ValueError):
            places = np.empty(())
        if places.ndim != 2 or places.shape[1] != 2:
            remedy = "Give longitude and latitude in degrees."
            raise InvalidData("places", getattr(self.places, "shape", self.places), "of shape (n, 2)", remedy)
        known = places[np.isfinite(places).all(axis=1)]
        if len(known) and (np.abs(known[:, 1]).max() > 90 or np.abs(known[:, 0]).max() > 540):
            raise InvalidData(
                "places", known[0].tolist(), "longitudes and latitudes in degrees", "Convert them to WGS 84."
            )
        self._set("places", places)
        self._set_numbers("parts", np.int64, len(places))
        if self.radius is not None:
            self._set_numbers("radius", np.float64, *([len(places)] if np.ndim(self.radius) else []))
            if not (np.isfinite(self.radius) & (np.asarray(self.radius) >= 0)).all():
                raise InvalidParameter("radius", self.radius, "finite metres, not negative", "Leave it out.")
        valued = self.kind in ("grid", "flows")
        if (self.values is None) == valued:
            raise InvalidParameter(
                "values", self.values, "given for grids and flows, and for no others", "Check kind."
            )
        self._set_numbers("values", np.float64, 0 if self.parts is None else len(np.unique(self.parts)))
        self._set_numbers("persons", np.int64, len(places))
        self._set("names", tuple(map(str, self.names)))
        if self.persons is not None and not set(np.unique(self.persons).tolist()) <= set(range(len(self.names))):
            raise InvalidParameter("persons", self.persons, "positions in names", "Name every person.")
        self._set("texts", tuple(map(str, self.texts)))
        if self.texts and len(self.texts) != len(places):
            raise InvalidParameter("texts", len(self.texts), f"one for each of {len(places)} places", "Or give none.")

    def _set(self, name: str, value: object) -> None:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(self, name, value)

    def _set_numbers(self, argument: str, kind: type[np.float64 | np.int64], *shape: int) -> None:
        """Replace an argument, unless it is None, by a copy of it as numbers of a given shape."""
        if getattr(self, argument) is None:
            return
        numbers = np.array(getattr(self, argument), dtype=kind)
        if numbers.shape != shape:
            raise InvalidParameter(argument, numbers.shape, f"{shape[0]} numbers", "Or leave it out.")
        self._set(argument, numbers if shape else float(numbers))
