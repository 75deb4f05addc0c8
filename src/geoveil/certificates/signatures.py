"""Sign certificates, and check their signatures."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from geoveil.certificates.canonical import canonical
from geoveil.certificates.signing_keys import PublicKey, SigningKey
from geoveil.certificates.validity import strict_json

__all__ = ["Signature", "checked_signature", "signed"]

#: The only algorithm. A certificate cannot choose another one: any other name is refused.
_ALGORITHM = "Ed25519"


@dataclass(frozen=True)
class Signature:
    """The signature of a certificate, checked.

    Parameters
    ----------
    key : PublicKey
        The key in the certificate, with the name that the signer gave it. The certificate does not prove whose key it
        is.
    valid : bool
        Whether this key signed every field of the certificate.
    """

    key: PublicKey
    valid: bool


def signed(account: Mapping[str, Any], key: SigningKey | None) -> dict[str, Any]:
    """Return a certificate with a signature that covers all of its fields; without a key, as it is.

    Examples
    --------
    >>> from geoveil.certificates import checked_signature, signed
    >>> certificate = signed({"rho": "1e-4"}, gv.SigningKey.create("city-lab"))
    >>> checked_signature(certificate).valid, checked_signature({**certificate, "rho": "1"}).valid
    (True, False)
    """
    if key is None:
        return dict(account)
    plain: dict[str, Any] = strict_json(json.dumps(dict(account)))
    signature = {"algorithm": _ALGORITHM, "name": key.public.name, "public": _text(key.public.raw)}
    value = key.sign(canonical({**plain, "signature": signature}))
    return {**plain, "signature": {**signature, "value": _text(value)}}


def checked_signature(account: Mapping[str, Any]) -> Signature | None:
    """Return the signature of a certificate, checked, or None if it has none.

    Raises ValueError for a signature of another form or algorithm.
    """
    if "signature" not in account:
        return None
    stated = account["signature"]
    if not isinstance(stated, dict) or sorted(stated) != ["algorithm", "name", "public", "value"]:
        raise ValueError("its signature has other fields than algorithm, name, public and value")
    if not all(isinstance(part, str) for part in stated.values()):
        raise ValueError("its signature has fields that are no texts")
    if stated["algorithm"] != _ALGORITHM:
        raise ValueError(f"its algorithm is {stated['algorithm'][:40]!r}, and only {_ALGORITHM} is known")
    key = PublicKey(_bytes(stated["public"], 32), stated["name"])
    return Signature(key, key.verify(_bytes(stated["value"], 64), canonical(account)))


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(text: str, length: int) -> bytes:
    """Return the bytes of a text in base64, in the one way to write them."""
    found = base64.b64decode(text, validate=True)
    if len(found) != length or _text(found) != text:
        raise ValueError("its signature has a key or a value of another length")
    return found
