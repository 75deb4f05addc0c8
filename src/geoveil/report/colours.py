"""The colours of maps."""

from __future__ import annotations

from geoveil.report.layers import Role

__all__ = ["LAND", "LIGHT", "SEA", "SHADES", "colour", "opacity", "variable", "variables"]

#: The colours of each role, which its layers use in turn, on a light and on a dark background.
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
#: The number of shades of a grid.
SHADES = 6
#: Each on a light and on a dark background.
LAND, SEA = ("#f6f4ee", "#262e34"), ("#dfe8ee", "#151c22")


def colour(role: Role, number: int) -> str:
    """Return the colour of a layer on a light background."""
    return LIGHT[role][number % len(LIGHT[role])]


def variable(role: Role, number: int) -> str:
    """Return the CSS variable that holds the colour of a layer."""
    return f"--{role}-{number % len(LIGHT[role])}"


def opacity(shade: int) -> float:
    """Return the opacity of a shade, from 1 for the lightest to `SHADES` for the darkest."""
    return 0.85 * shade / SHADES


def variables() -> str:
    """Return the CSS that defines all colours, for light and for dark backgrounds."""

    def listed(palette: dict[Role, tuple[str, ...]], dark: bool) -> str:
        ground = f"--land: {LAND[dark]}; --sea: {SEA[dark]};"
        return ground + "".join(
            f" {variable(role, i)}: {hue};" for role in palette for i, hue in enumerate(palette[role])
        )

    return (
        f":root {{ {listed(LIGHT, False)} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {listed(DARK, True)} }} }}\n"
    )
