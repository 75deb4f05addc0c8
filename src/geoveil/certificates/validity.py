"""Read certificates strictly, and check them against the published schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from geoveil.errors import FileUnavailable, InvalidFile

__all__ = ["SCHEMA", "read_certificate", "schema_problems", "strict_json"]

#: The version of the certificate's schema, `certificate.schema.json`.
SCHEMA = 4


def strict_json(text: str) -> Any:
    """Return the value of a JSON text, or raise ValueError.

    Texts that two programs may read differently are refused: a name that occurs twice in an object, and numbers that
    are not finite. Python's own reader would take the last of two equal names, and others the first.

    Examples
    --------
    >>> strict_json('{"rho": "1e-4"}')
    {'rho': '1e-4'}
    >>> strict_json('{"rho": "1e-4", "rho": "1"}')
    Traceback (most recent call last):
    ValueError: the name 'rho' occurs twice
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise ValueError(f"the name {name!r} occurs twice")
            found[name] = value
        return found

    def refused(constant: str) -> Any:
        raise ValueError(f"{constant} is no number")

    def finite(number: str) -> float:
        value = float(number)
        return value if abs(value) < float("inf") else refused(number)

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refused, parse_float=finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_certificate(path: Path) -> dict[str, Any]:
    """Return the certificate in a file, or raise an error that says why it cannot be read."""
    try:
        account = strict_json(path.read_bytes().decode("utf-8"))
        if not isinstance(account, dict):
            raise ValueError(f"it is a {type(account).__name__}")
    except FileNotFoundError:
        remedy = "A released file and its certificate belong together: get both, into the same folder."
        raise FileUnavailable(str(path), "certificate not found", "in the same folder", remedy) from None
    except (OSError, ValueError) as problem:
        remedy = "Get the released file and its certificate again."
        raise InvalidFile(str(path), str(problem), "a certificate", remedy) from None
    return account


def schema_problems(account: dict[str, Any]) -> list[str]:
    """Return what the schema forbids in a certificate, in words; an empty list if it is valid."""
    from importlib import resources

    import jsonschema

    text = resources.files("geoveil").joinpath("certificate.schema.json").read_text(encoding="utf-8")
    found = jsonschema.Draft202012Validator(json.loads(text)).iter_errors(account)
    return [f"{'.'.join(map(str, problem.absolute_path)) or 'certificate'}: {problem.message}" for problem in found]
