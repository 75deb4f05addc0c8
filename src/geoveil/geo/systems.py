"""Which coordinate systems mean metres on the ground."""

from __future__ import annotations

from typing import Any

from geoveil.errors import InvalidCoordinateSystem

__all__ = ["metres_per_unit"]

_REMEDY = (
    "Reproject first, for example x.to_crs(32610) for UTM zone 10N: choose the system from public knowledge of the "
    "area, never with estimate_utm_crs(), which looks at the data."
)


def metres_per_unit(crs: Any) -> float:
    """How many metres a unit of a projected system is; refuses degrees, Mercator and a missing system."""
    allowed = "a projected system in metres or feet"
    if crs is None:
        raise InvalidCoordinateSystem("x.crs", None, allowed, "Say which one it is with x.set_crs(...). " + _REMEDY)
    crs = _horizontal(crs)
    if not crs.is_projected:
        found = "degrees are not metres" if crs.is_geographic else f"this is a {crs.type_name}"
        raise InvalidCoordinateSystem("x.crs", crs.name, f"{allowed}: {found}", _REMEDY)
    method = crs.coordinate_operation.method_name if crs.coordinate_operation else ""
    if method.startswith(("Mercator", "Popular Visualisation")):
        raise InvalidCoordinateSystem(
            "x.crs", crs.name, f"{allowed}: a Mercator metre shrinks on the ground with latitude", _REMEDY
        )
    return float(crs.axis_info[0].unit_conversion_factor)


def _horizontal(crs: Any) -> Any:
    """The system of the plane inside one that adds heights or a datum shift."""
    while crs.is_bound or crs.is_compound:
        crs = crs.source_crs if crs.is_bound else crs.sub_crs_list[0]
    return crs
