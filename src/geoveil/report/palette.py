"""The colours of maps, by name, on a light and on a dark background.

Colours of persons are close to those of Okabe and Ito: readers with any kind of colour vision tell them apart. Lines
beyond the fourth are dashed, for prints without colours. Shades of numbers go evenly from light to dark.
"""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["DARK", "LIGHT", "PERSONS", "SHADES", "Palette", "contrast", "ink", "person", "shade", "variables"]

#: Colours by name.
Palette: TypeAlias = dict[str, str]

#: The number of colours for persons, and the number of shades for numbers.
PERSONS, SHADES = 8, 6
#: The smallest contrast of a text with its background.
_READABLE = 4.6

_PERSONS_LIGHT = ("#0072b2", "#d55e00", "#00a078", "#7b1f6a", "#5e4300", "#41a5dd", "#e69f00", "#2b3138")
_PERSONS_DARK = ("#4f9cf0", "#ff8a4c", "#4fe3b4", "#d64f9e", "#a87b14", "#b5e6ff", "#ffd866", "#93a78f")
_SHADES_LIGHT = ("#fbd9a5", "#f7ab73", "#ec7a62", "#c84f6e", "#8e3375", "#4d1d66")
_SHADES_DARK = ("#4d2a68", "#8a3a7b", "#c4506f", "#ea7c5e", "#f7b06c", "#fde6aa")
_GROUND_LIGHT: Palette = {
    "sea": "#d3e3ec",
    "land": "#f7f5ef",
    "coast": "#7d9aab",
    "border": "#9a8f86",
    "river": "#a5c4d4",
    "road": "#d8cdbb",
    "water": "#3d6b84",
    "graticule": "#9fb3bf",
    "basemap": "#c3c0b9",
    "place": "#47525b",
    "text": "#1b2227",
    "halo": "#fbfaf6",
    "public": "#1f2937",
    "truth": "#111111",
}
_GROUND_DARK: Palette = {
    "sea": "#10202b",
    "land": "#252c31",
    "coast": "#56788c",
    "border": "#8d857d",
    "river": "#2f5266",
    "road": "#4b4a45",
    "water": "#8fb7cc",
    "graticule": "#46586a",
    "basemap": "#4a5157",
    "place": "#b9c4cb",
    "text": "#e7ecef",
    "halo": "#191f23",
    "public": "#e5e7eb",
    "truth": "#ffffff",
}


def person(number: int) -> str:
    """Return the name of the colour of a person, or of a layer without persons."""
    return f"person-{number % PERSONS}"


def ink(colour: str) -> str:
    """Return the name of the colour for texts about a person: the same hue, with more contrast."""
    return colour.replace("person", "ink")


def contrast(one: str, other: str) -> float:
    """Return the ratio of the luminances of two colours, as WCAG 2 defines it.

    Examples
    --------
    >>> contrast("#000000", "#ffffff")
    21.0
    """
    low, high = sorted(_luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _readable(colour: str, ground: Palette, towards: int) -> str:
    """Return a colour, mixed with black or white until text in it has enough contrast with its halo and with land."""
    for share in range(20):
        parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        mixed = "#" + "".join(f"{round(part + (towards - part) * share / 20):02x}" for part in parts)
        if min(contrast(mixed, ground["halo"]), contrast(mixed, ground["land"])) >= _READABLE:
            break
    return mixed


def shade(number: int) -> str:
    """Return the name of a shade, from 0 for the smallest numbers to `SHADES` - 1 for the largest."""
    return f"shade-{number}"


def _palette(ground: Palette, persons: tuple[str, ...], shades: tuple[str, ...]) -> Palette:
    own = {person(i): hue for i, hue in enumerate(persons)}
    towards = 0 if _luminance(ground["halo"]) > 0.5 else 255
    own |= {ink(name): _readable(hue, ground, towards) for name, hue in own.items()}
    return {**ground, **own, **{shade(i): hue for i, hue in enumerate(shades)}}


LIGHT = _palette(_GROUND_LIGHT, _PERSONS_LIGHT, _SHADES_LIGHT)
DARK = _palette(_GROUND_DARK, _PERSONS_DARK, _SHADES_DARK)


def variables() -> str:
    """Return the CSS that defines all colours as variables, for light and for dark backgrounds."""
    light, dark = ("".join(f" --{name}: {hue};" for name, hue in palette.items()) for palette in (LIGHT, DARK))
    return f":root {{{light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{{dark} }} }}\n"
