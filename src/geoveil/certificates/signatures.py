"""The canonical form of certificates, and their signatures."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from geoveil.certificates.certificate import Certificate, strict_json
from geoveil.certificates.signing_keys import PublicKey, SigningKey

__all__ = ["Signature", "canonical", "certificate_digest", "checked_signature", "signed"]

#: The only algorithm. A certificate cannot choose another one: any other name is refused.
_ALGORITHM = "Ed25519"


def canonical(certificate: Mapping[str, object]) -> bytes:
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
    plain = strict_json(json.dumps(dict(certificate)))
    if isinstance(plain.get("signature"), dict):
        plain["signature"] = {name: value for name, value in plain["signature"].items() if name != "value"}
    try:
        return bytes(rfc8785.dumps(plain))
    except (rfc8785.CanonicalizationError, RecursionError) as problem:
        raise ValueError(f"it has no canonical form: {problem}") from None


def certificate_digest(certificate: Mapping[str, object]) -> str:
    """Return the SHA-256 of a certificate's canonical form, by which a ledger knows the certificate of a file.

    Examples
    --------
    >>> certificate_digest({"a": 1, "b": 2}) == certificate_digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(canonical(certificate)).hexdigest()


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


def signed(certificate: Certificate, key: SigningKey | None) -> Certificate:
    """Return a certificate with a signature that covers all of its fields; without a key, as it is.

    Examples
    --------
    >>> from geoveil.certificates import checked_signature, signed
    >>> certificate = signed({"rho": "1e-4"}, gv.SigningKey.create("city-lab"))
    >>> checked_signature(certificate).valid, checked_signature({**certificate, "rho": "1"}).valid
    (True, False)
    """
    if key is None:
        return certificate
    plain: Certificate = strict_json(json.dumps(certificate))
    public = _text(key.public.raw)
    plain["signature"] = {"algorithm": _ALGORITHM, "name": key.public.name, "public": public, "value": ""}
    plain["signature"]["value"] = _text(key.sign(canonical(plain)))
    return plain


def checked_signature(certificate: Mapping[str, object]) -> Signature | None:
    """Return the signature of a certificate, checked, or None if it has none.

    Raises ValueError for a signature of another form or algorithm.
    """
    if "signature" not in certificate:
        return None
    stated = certificate["signature"]
    if not isinstance(stated, dict) or sorted(stated) != ["algorithm", "name", "public", "value"]:
        raise ValueError("its signature has other fields than algorithm, name, public and value")
    if not all(isinstance(part, str) for part in stated.values()):
        raise ValueError("its signature has fields that are no texts")
    if stated["algorithm"] != _ALGORITHM:
        raise ValueError(f"its algorithm is {stated['algorithm'][:40]!r}, and only {_ALGORITHM} is known")
    key = PublicKey(_bytes(stated["public"], 32), stated["name"])
    return Signature(key, key.verify(_bytes(stated["value"], 64), canonical(certificate)))


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(text: str, length: int) -> bytes:
    """Return the bytes of a text in base64, in the one way to write them."""
    decoded = base64.b64decode(text, validate=True)
    if len(decoded) != length or _text(decoded) != text:
        raise ValueError("its signature has a key or a value of another length")
    return decoded
