"""What `geoveil check` proposes as an area."""

from __future__ import annotations

from typing import Any

__all__ = ["proposed_area"]


def proposed_area(coords: Any, crs: Any) -> tuple[str, str]:
    """Return what to say about an area for coordinates of a system, and the options that state it.

    The options are empty if no area can be proposed. An area that a release would refuse raises its error.
    """
    from geoveil.geo.areas import local
    from geoveil.geo.planes import plane_of
    from geoveil.geo.proposals import LOOKED, propose_area, seem_swapped, to_degrees

    degrees = to_degrees(coords, crs)
    found = propose_area(degrees[:, ::-1] if seem_swapped(degrees) else degrees)
    if found is None:
        why = (
            "No area can be proposed, since all points are at 0, 0."
            if not degrees.any()
            else "It is spread wider than the largest area, 3000 km around a point: release it part by part, each "
            "with its own --area and --outside drop."
        )
        return f"State where the data is with --area NAME or --local LAT,LON,RADIUS, from public knowledge. {why}", ""
    plane_of(crs, local(lat=found.lat, lon=found.lon, radius=found.radius))
    told = f"Proposed: {found.described(option=True)} {LOOKED} 'geoveil areas NAME' shows the areas of other places."
    return told, found.option + (" --outside drop" if found.outside else "")
