"""The canonical form of a certificate: the bytes that a signature covers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from geoveil.certificates.validity import strict_json

__all__ = ["canonical", "certificate_digest"]


def canonical(account: Mapping[str, Any]) -> bytes:
    """Return a certificate as canonical JSON (RFC 8785), without the value of its signature.

    Everything else is covered, also the algorithm, the name and the public key of the signature. RFC 8785 fixes the
    order of names, the notation of numbers and texts, and leaves out spaces, so that equal certificates give equal
    bytes in every language.

    Raises ValueError for a certificate that has no canonical form, such as one with whole numbers beyond 2^53.

    Examples
    --------
    >>> canonical({"b": 1e-7, "a": "é", "signature": {"algorithm": "Ed25519", "value": "..."}}).decode()
    '{"a":"é","b":1e-7,"signature":{"algorithm":"Ed25519"}}'
    """
    import rfc8785

    # Converted through JSON, so that the bytes describe the file that others read, and not Python's objects.
    plain = strict_json(json.dumps(dict(account)))
    if isinstance(plain.get("signature"), dict):
        plain["signature"] = {name: value for name, value in plain["signature"].items() if name != "value"}
    try:
        return bytes(rfc8785.dumps(plain))
    except (rfc8785.CanonicalizationError, RecursionError) as problem:
        raise ValueError(f"it has no canonical form: {problem}") from None


def certificate_digest(account: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a certificate's canonical form, by which a ledger knows the certificate of a file.

    Examples
    --------
    >>> certificate_digest({"a": 1, "b": 2}) == certificate_digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(canonical(account)).hexdigest()
