"""The names that arguments and functions of the library have on the command line."""

from __future__ import annotations

import shlex

from geoveil.messages import Naming

__all__ = ["OPTIONS"]

#: Arguments whose options have another name, or that are not options.
_ARGUMENTS = {
    "target": "-o",
    "path": "-o",
    "k": "-k",
    "p": "--at",
    "times": "--time",
    "distance": "--hide",
    "x.crs": "the file's coordinate system",
    "place": "LEDGER",
    "backup": "BACKUP",
    "file": "FILE",
    "release": "ID",
    "subject": "the subject",
}
#: Arguments whose options have the same name.
_SAME = frozenset(
    [
        *("rho", "epsilon", "metric", "method", "by", "keep", "area", "outside", "missing", "crs", "delimiter"),
        *("decimal", "encoding", "layer", "short", "ledger", "radius", "locations", "chance", "error", "beta", "n"),
        *("where", "pseudonyms", "lat", "lon", "geometry", "names", "cell", "write_off", "witness", "reason"),
        *("before", "new", "label", "unit", "thin", "largest", "every", "overwrite"),
    ]
)
#: The command-line equivalents of functions.
_COMMANDS = {
    "gv.local": "--local LAT,LON,RADIUS",
    "gv.CGP.hiding": "--hide 200m",
    "x.to_crs": "`ogr2ogr -t_srs EPSG:4326 new.gpkg old.gpkg`",
    "gv.areas": "'geoveil areas NAME'",
    "gv.suggest_area": "'geoveil check FILE'",
    "gv.points": "'geoveil points'",
    "gv.hull": "'geoveil hull'",
    "gv.center": "'geoveil summary'",
    "gv.smooth": "--smooth",
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
        return _ARGUMENTS.get(name) or (_option(name) if name in _SAME else name)

    def mention(self, name: str, value: str = "") -> str:
        """Name an option that could be given, with or without a value, or the command-line equivalent of a function.

        Examples
        --------
        >>> OPTIONS.mention("keep"), OPTIONS.mention("outside", "clamp"), OPTIONS.mention("ledger.create")
        ('--keep', '--outside clamp', "'geoveil budget create'")
        >>> OPTIONS.mention("overwrite", "True")
        '--overwrite'
        >>> OPTIONS.mention("area"), OPTIONS.mention("area", "gv.local"), OPTIONS.mention("area", "San Francisco")
        ('--local or --area', '--local LAT,LON,RADIUS', "--area 'San Francisco'")
        """
        if name == "area" and not value:
            return "--local or --area"
        if (command := _COMMANDS.get(value) or _COMMANDS.get(name)) is not None:
            return command
        option = _ARGUMENTS.get(name) or _option(name)
        # An option that is a choice between yes and no has no value.
        return f"{option} {shlex.quote(value.strip(chr(34)))}" if value and value != "True" else option


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


OPTIONS = _Options()
