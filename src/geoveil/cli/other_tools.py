"""`geoveil convert-setting`: the meaning of other tools' settings as budgets."""

from __future__ import annotations

import math
from decimal import Decimal

import click

from geoveil.cli import terminal
from geoveil.cli.command import command
from geoveil.cli.options import as_json
from geoveil.text.typed_values import LENGTH
from geoveil.text.words import hidden, metres

#: Location Guard's levels: the radius r of ε = 2/r, in metres.
_LOCATION_GUARD = {"low": 200.0, "medium": 500.0, "high": 2000.0}
#: The settings of each tool that truncates locations to cells.
_SETTINGS = {"decimals": "0 to 10", "geohash": "1 to 12", "plus-code": "2, 4, 6, 8, 10 to 15", "meshtastic": "1 to 32"}
#: Degrees of a plus code's cell, by its number of digits; each further digit divides it by 5 and 4.
_PLUS_CODES = {2: 20.0, 4: 1.0, 6: 0.05, 8: 0.0025, 10: 0.000125}

#: The lines of an answer, by the keys of its JSON.
_TITLES = {
    "hidden_75": "hidden at 75%",
    "error_95": "error at 95%",
    "here": "budget",
    "or_concentrated": "or",
    "nearest": "similar budget",
}


@command(
    "Location Guard's medium:",
    "geoveil convert-setting location-guard medium",
    "Coordinates rounded to three decimals, in Oslo:",
    "geoveil convert-setting decimals 3 --lat 59.9",
    "Six characters of a geohash:",
    "geoveil convert-setting geohash 6",
    "A plus code of eight digits:",
    "geoveil convert-setting plus-code 8",
    "Meshtastic's 13 bits:",
    "geoveil convert-setting meshtastic 13",
    name="convert-setting",
)
@click.argument("tool", type=click.Choice(["location-guard", "decimals", "geohash", "plus-code", "meshtastic"]))
@click.argument("setting")
@click.option(
    "--lat",
    type=click.FloatRange(-89, 89),
    default=0.0,
    show_default=True,
    help="The latitude: cells are narrower away from the equator.",
)
@as_json
def convert_setting(tool: str, setting: str, lat: float, as_json: bool) -> None:
    """Convert a setting of another tool to a budget.

    Location Guard adds noise that has a guarantee. Rounded coordinates and truncated codes have none: two places on
    opposite sides of a cell's edge can be told apart, however close they are. For these, the command states the budget
    under which, from even odds, a guess between two places one cell width apart is right at most 75% of the time.
    """
    told = _location_guard(setting) if tool == "location-guard" else _cells(tool, setting, lat)
    if as_json:
        terminal.json(told)
        return
    lines = []
    for name, text in told.items():
        length = hidden if name == "hidden_75" else metres
        lines.append((_TITLES.get(name, name.replace("_", " ")), text if isinstance(text, str) else length(text)))
    terminal.say(terminal.grid(lines))


def _location_guard(setting: str) -> dict[str, float | str]:
    from geoveil import GP, plan
    from geoveil.privacy import exact

    radius = _LOCATION_GUARD.get(setting.lower()) or LENGTH.read(setting)
    if radius is None:
        raise click.UsageError(f"location-guard {setting!r}: give low, medium, high, or its radius, such as 500m.")
    guarantee = GP(epsilon=exact.rounded_up(Decimal(2) / Decimal(repr(radius))))
    weaker = guarantee.as_cgp()
    return {
        "guarantee": f"{guarantee} for each released location; budgets add up",
        "hidden_75": guarantee.hidden(chance=0.75),
        "error_95": plan("points", n=1, epsilon=guarantee).error,
        "here": f"--epsilon {guarantee.budget}",
        "or_concentrated": f"--rho {weaker.budget}, which follows from it; for many releases, add up this one",
    }


def _cells(tool: str, setting: str, lat: float) -> dict[str, float | str]:
    from geoveil import CGP, plan
    from geoveil.geo.distortion import earth

    try:
        high, wide = _degrees(tool, int(setting))
    except ValueError:
        raise click.UsageError(f"{tool} {setting!r}: give a number, {_SETTINGS[tool]}.") from None
    # A small part of a cell, as the Earth is round.
    part = min(1.0, 0.01 / max(high, wide))
    north = float(earth().inv(0, lat - high * part / 2, 0, lat + high * part / 2)[2]) / part
    east = float(earth().inv(0, lat, wide * part, lat)[2]) / part
    nearest = CGP.hiding(distance=max(north, east), chance=0.75)
    return {
        "guarantee": "none: two places on opposite sides of a cell's edge can be told apart, however close they are",
        "cell": f"{metres(north)} by {metres(east)}",
        "rms_error": math.hypot(north, east) / math.sqrt(12),
        "nearest": f"--rho {nearest.budget}, which hides {hidden(max(north, east))} at 75%",
        "error_95": plan("points", n=1, rho=nearest).error,
    }


def _degrees(tool: str, setting: int) -> tuple[float, float]:
    """Return the height and the width of a cell in degrees."""
    if tool == "decimals" and 0 <= setting <= 10:
        return 10.0**-setting, 10.0**-setting
    if tool == "geohash" and 1 <= setting <= 12:
        # Bits alternate, longitude first.
        return 180.0 / 2 ** (5 * setting // 2), 360.0 / 2 ** (5 * setting - 5 * setting // 2)
    if tool == "plus-code" and setting in _PLUS_CODES:
        return _PLUS_CODES[setting], _PLUS_CODES[setting]
    if tool == "plus-code" and 11 <= setting <= 15:
        return _PLUS_CODES[10] / 5.0 ** (setting - 10), _PLUS_CODES[10] / 4.0 ** (setting - 10)
    if tool == "meshtastic" and 1 <= setting <= 32:
        # Degrees are stored as multiples of 1e-7 in 32 bits, and the last bits are cut off.
        return 2.0 ** (32 - setting) * 1e-7, 2.0 ** (32 - setting) * 1e-7
    raise ValueError(setting)
