"""The colours of maps, by name, on a light and on a dark background.

Colours of persons are close to those of Okabe and Ito: readers with any kind of colour vision tell them apart. Lines
beyond the fourth are dashed, for prints without colours. Texts about a person have the same hue with more contrast:
at least 4.6, by WCAG 2, to land and to the halo of texts. Shades of numbers go evenly from light to dark.
"""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["DARK", "LIGHT", "PERSONS", "SHADES", "Palette", "ink", "person", "shade", "variables"]

#: Colours by name.
Palette: TypeAlias = dict[str, str]

#: The number of colours for persons, and the number of shades for numbers.
PERSONS, SHADES = 8, 6
#: Each colour on a light and on a dark background.
_GROUND = {
    "sea": ("#d3e3ec", "#10202b"),
    "land": ("#f7f5ef", "#252c31"),
    "coast": ("#7d9aab", "#56788c"),
    "border": ("#9a8f86", "#8d857d"),
    "river": ("#a5c4d4", "#2f5266"),
    "road": ("#d8cdbb", "#4b4a45"),
    "water": ("#3d6b84", "#8fb7cc"),
    "graticule": ("#9fb3bf", "#46586a"),
    "basemap": ("#c3c0b9", "#4a5157"),
    "place": ("#47525b", "#b9c4cb"),
    "text": ("#1b2227", "#e7ecef"),
    "halo": ("#fbfaf6", "#191f23"),
    "public": ("#1f2937", "#e5e7eb"),
    "truth": ("#111111", "#ffffff"),
}
#: The colours that are numbered, on a light and on a dark background.
_NUMBERED = {
    "person": (
        ("#0072b2", "#d55e00", "#00a078", "#7b1f6a", "#5e4300", "#41a5dd", "#e69f00", "#2b3138"),
        ("#4f9cf0", "#ff8a4c", "#4fe3b4", "#d64f9e", "#a87b14", "#b5e6ff", "#ffd866", "#93a78f"),
    ),
    "ink": (
        ("#0072b2", "#b55000", "#00785a", "#7b1f6a", "#5e4300", "#2e749b", "#8a5f00", "#2b3138"),
        ("#4f9cf0", "#ff8a4c", "#4fe3b4", "#de72b1", "#b58f37", "#b5e6ff", "#ffd866", "#93a78f"),
    ),
    "shade": (
        ("#fbd9a5", "#f7ab73", "#ec7a62", "#c84f6e", "#8e3375", "#4d1d66"),
        ("#4d2a68", "#8a3a7b", "#c4506f", "#ea7c5e", "#f7b06c", "#fde6aa"),
    ),
}

LIGHT, DARK = (
    {name: hues[at] for name, hues in _GROUND.items()}
    | {f"{name}-{i}": hue for name, hues in _NUMBERED.items() for i, hue in enumerate(hues[at])}
    for at in (0, 1)
)


def person(number: int) -> str:
    """Return the name of the colour of a person, or of a layer without persons."""
    return f"person-{number % PERSONS}"


def ink(colour: str) -> str:
    """Return the name of the colour for texts about a person."""
    return colour.replace("person", "ink")


def shade(number: int) -> str:
    """Return the name of a shade, from 0 for the smallest numbers to `SHADES` - 1 for the largest."""
    return f"shade-{number}"


def variables() -> str:
    """Return the CSS that defines all colours as variables, for light and for dark backgrounds."""
    light, dark = ("".join(f" --{name}: {hue};" for name, hue in palette.items()) for palette in (LIGHT, DARK))
    return f":root {{{light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{{dark} }} }}\n"
