"""Tokens of devices, gateways, readers and the owner: made at random, kept as digests, compared in constant time."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable

from geoveil.noise import random_bytes

__all__ = ["TokenBook", "digest_of", "new_secret"]


def new_secret() -> str:
    """Return a random token of 192 bits, which may be a part of an address."""
    return base64.urlsafe_b64encode(random_bytes(24)).decode()


def digest_of(token: str) -> str:
    """Return what is kept of a token. Tokens are random and long, so a slow digest would not protect them more."""
    return hashlib.sha256(token.encode()).hexdigest()


class TokenBook:
    """Who holds which token.

    Parameters
    ----------
    rows : iterable of pairs of str
        The holder and the digest of each token. A holder is "owner", the name of a gateway, "ann/phone", or a link.
    """

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        self._held: dict[str, list[tuple[str, str]]] = {}
        for holder, digest in rows:
            self._held.setdefault(digest[:8], []).append((digest, holder))

    def holder(self, token: str) -> str | None:
        """Return the holder of a token.

        Only the beginning of the digest is looked up, which says nothing about tokens that are nearly right.
        """
        digest, found = digest_of(token), None
        for kept, holder in self._held.get(digest[:8], [("0" * 64, "")]):
            if hmac.compare_digest(kept, digest):
                found = holder
        return found

    def holders(self) -> set[str]:
        """Return all who hold a token."""
        return {holder for rows in self._held.values() for _, holder in rows}
