"""Random bits: an AES-256 keystream in counter mode, keyed from the operating system.

A keystream is as good as the operating system's own generator (which works the same way) and several times as fast.
Every thread of every process has its own, with a key that is never shared: after a fork the child starts anew, and a
process that is started afresh has none to begin with.
"""

from __future__ import annotations

import os
import threading

__all__ = ["Keystream", "random_bytes"]

#: Bytes from one key; far below the 2^64 blocks at which a keystream could be told from chance.
_PER_KEY = 2**30


class Keystream:
    """An endless stream of random bytes.

    Notes
    -----
    A key is used for 1 GiB and then replaced by one from the operating system: who learns a key from memory knows what
    that key gave, and nothing that another one gives.
    """

    def __init__(self) -> None:
        self._left = 0

    def read(self, count: int) -> bytes:
        """So many bytes that were never given out before."""
        if 0 < count <= self._left:
            self._left -= count
            return self._encrypt(bytes(count))
        parts = []
        while count > 0:
            if self._left == 0:
                self._rekey()
            size = min(count, self._left)
            parts.append(self._encrypt(bytes(size)))
            self._left -= size
            count -= size
        return b"".join(parts)

    def _rekey(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        cipher = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(os.urandom(16)))
        self._encrypt = cipher.encryptor().update
        self._left = _PER_KEY


_own = threading.local()


def random_bytes(count: int) -> bytes:
    """So many bytes from the keystream of this thread."""
    stream = getattr(_own, "stream", None)
    if stream is None:
        stream = _own.stream = Keystream()
    return bytes(stream.read(count))


def _forget() -> None:
    """A child process must not go on with the keystream of its parent."""
    global _own
    _own = threading.local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
