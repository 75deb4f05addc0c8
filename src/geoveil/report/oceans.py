"""The ocean in which a location is that is far from all land."""

from __future__ import annotations

__all__ = ["ocean_at"]


def ocean_at(lon: float, lat: float) -> str:
    """Return the name of the ocean of a location that is hundreds of kilometres from land.

    Between the oceans lie continents, so that a few meridians tell them apart; those south of the capes of Africa,
    Tasmania and America are their limits by convention, rounded.

    Examples
    --------
    >>> ocean_at(-152.0, 8.0), ocean_at(-40.0, 30.0), ocean_at(75.0, -20.0), ocean_at(0.0, 88.0)
    ('Pacific Ocean', 'Atlantic Ocean', 'Indian Ocean', 'Arctic Ocean')
    """
    if lat > 70:
        return "Arctic Ocean"
    if lat < -60:
        return "Southern Ocean"
    if 20 <= lon <= 147 and (lat < 0 or lon < 100):
        return "Indian Ocean"
    america = -100 if lat > 9 else -68
    return "Pacific Ocean" if lon < america or lon > 100 else "Atlantic Ocean"
