"""What `geoveil check` proposes as an area, and columns of longitude and latitude that seem to be swapped."""

from __future__ import annotations

from typing import Any

__all__ = ["proposed_area", "swapped"]


def proposed_area(coords: Any) -> str:
    """Return the option that states an area for coordinates in degrees, and what choosing it so reveals."""
    from geoveil.geo.proposals import LOOKED, propose_area, seem_swapped

    found = propose_area(coords[:, ::-1] if seem_swapped(coords) else coords)
    if found is None:
        return (
            "State where the data is with --area NAME or --local LAT,LON,RADIUS, from public knowledge. It is spread "
            "wider than the largest area, 3000 km around a point: release it part by part, each with its own --area "
            "and --outside drop."
        )
    return f"Proposed: {found.described(option=True)} {LOOKED} 'geoveil areas NAME' shows the areas of other places."


def swapped(coords: Any) -> bool:
    """Return whether longitudes and latitudes seem to be swapped."""
    from geoveil.geo.proposals import seem_swapped

    return seem_swapped(coords)
