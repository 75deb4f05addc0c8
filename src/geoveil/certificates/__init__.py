"""Certificates as files: their schema, their canonical form, and the keys and signatures that vouch for them."""

from geoveil.certificates.canonical import certificate_digest
from geoveil.certificates.signatures import Signature, checked_signature, signed
from geoveil.certificates.signing_keys import KeyLike, PublicKey, SigningKey, signing_key, trusted_keys
from geoveil.certificates.validity import SCHEMA, read_certificate, schema_problems

__all__ = [
    "SCHEMA",
    "KeyLike",
    "PublicKey",
    "Signature",
    "SigningKey",
    "certificate_digest",
    "checked_signature",
    "read_certificate",
    "schema_problems",
    "signed",
    "signing_key",
    "trusted_keys",
]
