"""The name of the ocean around a location that is far from all land."""

from __future__ import annotations

__all__ = ["ocean_at"]


def ocean_at(lon: float, lat: float) -> str:
    """Return the name of the ocean of a location that is hundreds of kilometres from land.

    Continents separate the oceans, so that a few meridians are enough to tell them apart. South of Africa, Tasmania
    and America, the meridians of the capes are the conventional limits of the oceans, rounded.

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
