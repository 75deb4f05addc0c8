"""The names that arguments and functions of the library have on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from geoveil.settings import SETTINGS
from geoveil.text.messages import Naming

__all__ = ["OPTIONS"]

#: Arguments that are not options, or that are those of others.
_WORDS = {
    "path": "-o",
    "p": "--at",
    "distance": "--hide",
    "places": "--at",
    "x.crs": "the file's coordinate system",
    "place": "LEDGER",
    "backup": "BACKUP",
    "file": "FILE",
    "release": "ID",
    "subject": "the subject",
}
#: The command-line equivalents of functions.
_COMMANDS = {
    "gv.local": "LAT,LON,RADIUS",
    "x.to_crs": "`ogr2ogr -t_srs EPSG:4326 new.gpkg old.gpkg`",
    "x.set_crs": "`ogr2ogr -a_srs EPSG:4326 new.gpkg old.gpkg`",
    "gv.areas": "'geoveil areas NAME'",
    "gv.suggest_area": "'geoveil check FILE'",
    "locations.overwrite": "--overwrite",
    "locations.points": "'geoveil points'",
    "locations.hull": "'geoveil hull'",
    "locations.center": "'geoveil summary'",
    "locations.mean": "'geoveil mean'",
    "locations.heatmap": "'geoveil heatmap'",
    "locations.counts": "'geoveil counts'",
    "locations.flows": "'geoveil flows'",
    "request.accepted": "--yes",
    "zones.accepted": "--yes",
    "release.smooth": "--smooth",
    "ledger.create": "'geoveil budget create'",
    "ledger.lower": "'geoveil budget lower'",
    "ledger.override": "'geoveil budget override'",
}


class _Options(Naming):
    """The names that arguments and functions have on the command line."""

    def argument(self, name: str) -> str:
        """Name an argument that was given; a name that is not one of the library's stays as it is.

        Examples
        --------
        >>> OPTIONS.argument("write_off"), OPTIONS.argument("p"), OPTIONS.argument("row 3")
        ('--write-off', '--at', 'row 3')
        """
        return _WORDS.get(name) or (SETTINGS[name].option if name in SETTINGS else name)

    def mention_list(self, name: str, values: Sequence[str]) -> str:
        """Name an option that could be given several times.

        Examples
        --------
        >>> OPTIONS.mention_list("times", ["start", "end of trip"])
        "--time start --time 'end of trip'"
        """
        return " ".join(self.mention(name, value) for value in values)

    def mention(self, name: str, value: str = "") -> str:
        """Name an option that could be given, with or without a value, or the command-line equivalent of a function.

        Examples
        --------
        >>> OPTIONS.mention("keep"), OPTIONS.mention("outside", "clamp"), OPTIONS.mention("ledger.create")
        ('--keep', '--outside clamp', "'geoveil budget create'")
        >>> OPTIONS.mention("overwrite", "True")
        '--overwrite'
        >>> OPTIONS.mention("area"), OPTIONS.mention("area", "gv.local"), OPTIONS.mention("area", "San Francisco")
        ('--area', '--area LAT,LON,RADIUS', "--area 'San Francisco'")
        """
        if name in _COMMANDS:
            return _COMMANDS[name]
        option = self.argument(name)
        option = option if option != name else f"--{name.replace('_', '-')}"
        if value in _COMMANDS:
            return f"{option} {_COMMANDS[value]}"
        # An option that is a choice between yes and no has no value.
        return f"{option} {shlex.quote(value.strip(chr(34)))}" if value and value != "True" else option


OPTIONS = _Options()
