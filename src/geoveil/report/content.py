"""What a report shows: layers of a map, the guarantee and its certificate, and what was charged."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.privacy import Guarantee

__all__ = ["Balance", "Floats", "Kind", "Layer", "Report", "Role"]

Floats: TypeAlias = NDArray[np.float64]
Kind: TypeAlias = Literal["points", "lines", "area", "marks", "grid"]
Role: TypeAlias = Literal["released", "public", "truth"]


@dataclass(frozen=True, eq=False)
class Layer:
    """Something on the map.

    Parameters
    ----------
    name : str
        For the legend.
    places : array
        (n, 2): longitude and latitude in degrees of WGS 84. Rows that are not finite have no place on Earth; they are
        counted and not drawn.
    kind : {"points", "lines", "area", "marks", "grid"}
        Marks are places with labels; a grid is cells, each given by its corners.
    role : {"released", "public", "truth"}
        Truth makes the report one that must not be shared.
    parts : array of int, optional
        Of lines, areas and grids: which line, ring or cell each place belongs to. One by default.
    radius : float or array, optional
        In metres on the ground, within which the true place is with probability 95%: one for all, or one for each
        place; of areas, how far their edge can be off.
    texts : tuple of str
        The labels of marks, one for each.
    values : array, optional
        Of a grid: a number for each cell, by rising part.

    Examples
    --------
    >>> from geoveil.report import Layer
    >>> Layer("station", [[-122.39, 37.78]], "marks", "public", texts=("Caltrain",)).places.shape
    (1, 2)
    """

    name: str
    places: Floats
    kind: Kind
    role: Role
    parts: NDArray[np.int64] | None = None
    radius: float | Floats | None = None
    texts: tuple[str, ...] = ()
    values: Floats | None = None

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
            raise InvalidData("places", known[0].tolist(), "longitudes and latitudes in degrees", "Project them back.")
        self._set("places", places)
        self._set("parts", self._numbers("parts", self.parts, len(places), np.int64))
        if self.radius is not None:
            each = np.ndim(self.radius) > 0
            radius = self._numbers("radius", self.radius if each else [self.radius], len(places) if each else 1)
            assert radius is not None
            if not (np.isfinite(radius) & (radius >= 0)).all():
                raise InvalidParameter("radius", self.radius, "finite metres, not negative", "Leave it out.")
            self._set("radius", radius if each else float(radius[0]))
        cells = 0 if self.kind != "grid" or self.parts is None else len(np.unique(self.parts))
        if (self.values is None) != (self.kind != "grid"):
            raise InvalidParameter("values", self.values, "given for a grid, and for nothing else", "Check kind.")
        self._set("values", self._numbers("values", self.values, cells))
        self._set("texts", tuple(map(str, self.texts)))
        if self.texts and len(self.texts) != len(places):
            raise InvalidParameter("texts", len(self.texts), f"one for each of {len(places)} places", "Or give none.")

    def _set(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(self, name, value)

    @staticmethod
    def _numbers(argument: str, given: Any, count: int, kind: Any = float) -> Any:
        if given is None:
            return None
        found = np.array(given, dtype=kind)
        if found.shape != (count,):
            raise InvalidParameter(argument, found.shape, f"{count} numbers", "Or leave it out.")
        return found


@dataclass(frozen=True)
class Balance:
    """A ledger's account of a subject, after a release.

    Parameters
    ----------
    subject : str
        Whose it is.
    symbol : str
        "rho" or "epsilon".
    total, spent, cost : Decimal
        The budget; what has been spent of it, this release included; and what of that this release cost.
    """

    subject: str
    symbol: str
    total: Decimal
    spent: Decimal
    cost: Decimal

    def __post_init__(self) -> None:
        if not 0 <= self.cost <= self.spent <= self.total or not self.total > 0:
            given = f"cost {self.cost}, spent {self.spent}, total {self.total}"
            allowed = "0 ≤ cost ≤ spent ≤ total"
            raise InvalidParameter("balance", given, allowed, "What this release cost is part of what is spent.")

    @property
    def left(self) -> Decimal:
        """What can still be spent."""
        return self.total - self.spent


@dataclass(frozen=True)
class Report:
    """All that a report says. Nothing of the truth is in it, unless a layer is.

    Parameters
    ----------
    title : str
        Its heading.
    layers : tuple of Layer
        What the map shows, the first at the bottom.
    guarantee : CGP or GP
        What is promised.
    certificate : dict
        What `Release.certificate` gave.
    balances : tuple of Balance
        What is left of the budgets; empty if nothing was charged to a ledger.
    remarks : tuple of str
        Sentences that stand below the map.
    """

    title: str
    layers: tuple[Layer, ...]
    guarantee: Guarantee
    certificate: dict[str, Any]
    balances: tuple[Balance, ...] = field(default=())
    remarks: tuple[str, ...] = field(default=())

    @property
    def truth(self) -> bool:
        """Whether it shows true locations."""
        return any(layer.role == "truth" for layer in self.layers)
