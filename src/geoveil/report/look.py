"""The colours of maps, by what they show."""

from __future__ import annotations

from geoveil.report.content import Role

__all__ = ["LAND", "LIGHT", "SEA", "SHADES", "colour", "name", "opacity", "variables"]

#: Layers of one role take turns.
LIGHT: dict[Role, tuple[str, ...]] = {
    "released": ("#0f766e", "#6d28d9", "#b45309", "#1d4ed8"),
    "public": ("#1f2937", "#64748b"),
    "truth": ("#c81e1e", "#9d174d"),
}
DARK: dict[Role, tuple[str, ...]] = {
    "released": ("#2dd4bf", "#a78bfa", "#fbbf24", "#60a5fa"),
    "public": ("#e5e7eb", "#94a3b8"),
    "truth": ("#f87171", "#f472b6"),
}
#: Shades of a grid.
SHADES = 6
LAND, SEA = ("#f6f4ee", "#262e34"), ("#dfe8ee", "#151c22")


def colour(role: Role, number: int) -> str:
    """The colour of a layer, on a light ground."""
    return LIGHT[role][number % len(LIGHT[role])]


def name(role: Role, number: int) -> str:
    """The name under which a page knows it."""
    return f"--{role}-{number % len(LIGHT[role])}"


def opacity(shade: int) -> float:
    """How opaque a shade is, 1 being the lightest and `SHADES` the darkest."""
    return 0.85 * shade / SHADES


def variables() -> str:
    """All of them for a page, by light and by dark."""

    def listed(palette: dict[Role, tuple[str, ...]], dark: bool) -> str:
        ground = f"--land: {LAND[dark]}; --sea: {SEA[dark]};"
        return ground + "".join(f" {name(role, i)}: {hue};" for role in palette for i, hue in enumerate(palette[role]))

    return (
        f":root {{ {listed(LIGHT, False)} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {listed(DARK, True)} }} }}\n"
    )
