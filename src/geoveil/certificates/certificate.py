"""Certificates: their fields, how they are read strictly, and how they are checked against the published schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypedDict

from geoveil.errors import FileUnavailable, InvalidFile

__all__ = [
    *("SCHEMA", "Certificate", "Ends", "StatedColumn", "StatedFile", "StatedMechanism", "StatedSignature"),
    *("read_certificate", "schema_problems", "strict_json"),
]

#: The version of the certificate's schema, `certificate.schema.json`.
SCHEMA = 4


class Ends(TypedDict):
    """The smallest and the largest number of several persons."""

    smallest: float
    largest: float


class StatedColumn(TypedDict):
    """A column that is released unchanged."""

    name: str
    reason: Literal["person", "time", "named", "structure"]
    warnings: list[str]


class StatedMechanism(TypedDict, total=False):
    """A mechanism that drew noise."""

    name: str
    CGP: str
    GP: str
    scale: float | Ends
    times: int


class StatedFile(TypedDict, total=False):
    """A released file, and the options with which it is read."""

    name: str
    sha256: str
    reading: dict[str, Any]
    kind: str
    formulas: list[str]


class StatedSignature(TypedDict):
    """The signature of a certificate, and the key that made it."""

    algorithm: str
    name: str
    public: str
    value: str


class Certificate(TypedDict, total=False):
    """A certificate as JSON. `certificate.schema.json` describes its fields; one that was read may differ from it."""

    schema: int
    notion: str
    rho: str
    epsilon: str
    unit: str
    metric: str
    protects: str
    times: list[str] | None
    span: list[str] | None
    also: dict[str, str] | None
    words: str
    public: list[str]
    unchanged: list[StatedColumn]
    query: str
    method: str
    n: int | None
    persons: int
    pseudonyms: bool
    outside: Literal["refuse", "clamp", "drop"]
    where: str | None
    rows_removed: dict[str, int] | None
    crs: str | None
    area: dict[str, Any] | None
    beyond_the_map: int
    exact: bool
    inexact: str
    fn_error: float | None
    rounding: float
    entry: dict[str, Any] | None
    version: str
    id: str
    processed: list[str]
    mechanism: list[StatedMechanism]
    radius_95: float | Ends | None
    crowd_noise: dict[str, Any]
    expected_error: float | None
    person: str | None
    file: StatedFile
    signature: StatedSignature


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

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members: dict[str, object] = {}
        for name, value in pairs:
            if name in members:
                raise ValueError(f"the name {name!r} occurs twice")
            members[name] = value
        return members

    def refused(constant: str) -> float:
        raise ValueError(f"{constant} is no number")

    def finite(number: str) -> float:
        value = float(number)
        return value if abs(value) < float("inf") else refused(number)

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refused, parse_float=finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_certificate(path: Path) -> Certificate:
    """Return the certificate in a file, or raise an error that says why it cannot be read."""
    try:
        certificate = strict_json(path.read_bytes().decode("utf-8"))
        if not isinstance(certificate, dict):
            raise ValueError(f"it is a {type(certificate).__name__}")
    except FileNotFoundError:
        remedy = "A released file and its certificate belong together: get both, into the same folder."
        raise FileUnavailable(str(path), "certificate not found", "in the same folder", remedy) from None
    except (OSError, ValueError) as problem:
        remedy = "Get the released file and its certificate again."
        raise InvalidFile(str(path), str(problem), "a certificate", remedy) from None
    return certificate  # type: ignore[return-value]


def schema_problems(certificate: Certificate) -> list[str]:
    """Return what the schema forbids in a certificate, in words; an empty list if it is valid."""
    from importlib import resources

    import jsonschema

    text = resources.files("geoveil").joinpath("certificates", "certificate.schema.json").read_text(encoding="utf-8")
    problems = jsonschema.Draft202012Validator(json.loads(text)).iter_errors(certificate)
    return [f"{'.'.join(map(str, problem.absolute_path)) or 'certificate'}: {problem.message}" for problem in problems]
