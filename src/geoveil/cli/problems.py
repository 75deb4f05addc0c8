"""Errors as one message with a remedy, in the words of the command line, and the exit codes."""

from __future__ import annotations

import re

import click

from geoveil.errors import (
    BudgetExceeded,
    GeoveilError,
    InvalidCoordinateSystem,
    InvalidData,
    InvalidInput,
    LedgerError,
)

__all__ = ["CODES", "code_of", "message_of", "usage"]

#: Exit codes, and what they mean.
CODES = {
    0: "done",
    1: "an unexpected problem; --debug shows where",
    2: "the command line: an option or a parameter that cannot be",
    3: "the data: a file that cannot be read, used or written",
    4: "the budget does not suffice; nothing was charged",
    5: "the ledger: busy, unavailable or changed",
    130: "stopped by Ctrl-C",
}

#: Arguments of functions that are not called like their options.
_NAMES = {"target": "-o", "path": "-o", "area": "--area", "p": "--at", "k": "-k", "x": "the data"}
_NAMES |= {"place": "LEDGER", "backup": "BACKUP", "file": "FILE", "release": "ID"}
_NAMES |= {"x.crs": "the file's coordinate system", "distance": "--hide", "cell": "--cell", "subject": "the subject"}
_OPTIONS = (
    *("rho", "epsilon", "metric", "method", "by", "keep", "outside", "missing", "crs", "delimiter", "decimal"),
    *("encoding", "layer", "short", "ledger", "radius", "locations", "chance", "error", "beta", "n"),
    *("write_off", "witness", "reason", "before", "label"),
)
#: How functions are called, and how the same is said here.
_SAYINGS = (
    (r"x\.to_crs\(4326\)(?: first, or `ogr2ogr [^`]*` for a file)?", "`ogr2ogr -t_srs EPSG:4326 new.gpkg old.gpkg`"),
    (r"area=gv\.local\((?:lat=[^)]*|\.\.\.)\)", "--local LAT,LON,RADIUS"),
    (r"gv\.local\((?:lat=[^)]*|\.\.\.)\)", "--local LAT,LON,RADIUS"),
    (r"gv\.local's", "--local's"),
    (r"\barea=(?=\W)", "--local or --area"),
    (r", never with estimate_utm_crs\(\) or the data's bounds, which look at the data", ""),
    (r"distance=", "--hide "),
    (r"gv\.CGP\.hiding\(\)", "--hide 200m --chance 75%"),
    (r"x=\"east\", y=\"north\"", "--x east --y north"),
    (r"\bgv\.(points|nearest|hull)\b(?:\(x, rho=\.\.\.\))?", r"'geoveil \1'"),
    (r"\b(override|create|lower)\(\)", r"'geoveil budget \1'"),
    (r"\bkey= (?:or|and) (?=GEOVEIL_LEDGER_KEY)", ""),
    (rf"\b({'|'.join(_OPTIONS)})=(?:\"([^\"]*)\"|'([^']*)'|(\d[\w.]*))?", None),
)


def code_of(problem: BaseException) -> int:
    """The exit code of an error."""
    if isinstance(problem, BudgetExceeded):
        return 4
    if isinstance(problem, LedgerError):
        return 5
    if isinstance(problem, InvalidCoordinateSystem) and problem.argument == "area":
        return 2
    if isinstance(problem, (InvalidData, InvalidCoordinateSystem, OSError)):
        return 3
    return 2 if isinstance(problem, GeoveilError) else 1


def usage(problem: click.ClickException) -> str:
    """What is wrong with a command line, and where it is said how it should be."""
    said = problem.format_message()
    said = f"{said[:1].upper()}{said[1:].rstrip('.')}"
    said += "" if said.endswith("?") else "."
    if not isinstance(problem, click.UsageError):
        return said
    where = "geoveil" if problem.ctx is None else problem.ctx.command_path
    return f"{said} See '{where} --help'."


def message_of(problem: Exception) -> str:
    """What happened and what to do, as one would say it to someone at a terminal."""
    text = str(problem)
    if isinstance(problem, InvalidInput):
        name = problem.argument
        option = _NAMES.get(name) or (_option(name) if name in _OPTIONS else name)
        text = option + text[len(name) :]
    if isinstance(problem, OSError) and problem.filename is not None:
        text = f"{problem.filename}: {problem.strerror}"
    for pattern, said in _SAYINGS:
        text = re.sub(pattern, said if said is not None else _as_option, text)
    return text


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _as_option(found: re.Match[str]) -> str:
    value = next((text for text in found.groups()[1:] if text is not None), None)
    return _option(found[1]) + ("" if value is None else f" {value}")
