"""Certificates: their fields and schema, their canonical form, and the keys and signatures that vouch for them."""

from geoveil.certificates.certificate import SCHEMA, Certificate, read_certificate, schema_problems
from geoveil.certificates.signatures import Signature, certificate_digest, checked_signature, signed
from geoveil.certificates.signing_keys import KeyLike, PublicKey, SigningKey, signing_key, trusted_keys

__all__ = [
    "SCHEMA",
    "Certificate",
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
