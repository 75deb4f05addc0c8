"""Random bytes: AES-256 in counter mode, keyed by the operating system, which also says where each request starts.

A keystream is as good as the operating system's own generator, which works the same way, and several times as fast.
Every request starts at a counter of 128 bits that is drawn from the operating system, and no bytes are left over. So a
copy of the key is harmless, however it came about: by a fork that Python knows of or by one made in C, by a process
that got the id of its dead parent, or by a machine restored from a snapshot.
"""

from __future__ import annotations

import os
import threading

__all__ = ["Keystream", "random_bytes"]

#: Up to so many bytes the operating system is as fast as a cipher.
_SHORT = 256
#: Bytes from one key. They are 2^26 blocks of at most 2^22 requests, so two requests overlap with a probability below
#: 2^22·2^27/2^128 = 2^-79, and if a thousand processes have copies of one key, below 2^-59.
_PER_KEY = 2**30


class Keystream:
    """An endless stream of random bytes, for one thread.

    Notes
    -----
    A key serves for 1 GiB and is then replaced. Where a request started is not kept: a key that is read from memory
    does not tell what it gave.
    """

    def __init__(self) -> None:
        self._left = 0

    def read(self, count: int) -> bytes:
        """Return `count` fresh random bytes."""
        if count <= _SHORT:
            return os.urandom(count)
        if count > _PER_KEY:
            return b"".join(self.read(min(_PER_KEY, count - start)) for start in range(0, count, _PER_KEY))
        if count > self._left:
            self._rekey()
        self._left -= count
        self._cipher.reset_nonce(os.urandom(16))
        return bytes(self._cipher.update(bytes(count)))

    def _rekey(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._cipher = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
        self._left = _PER_KEY


_own = threading.local()


def random_bytes(count: int) -> bytes:
    """Return `count` fresh random bytes from the keystream of this thread."""
    stream = getattr(_own, "stream", None)
    if stream is None:
        stream = _own.stream = Keystream()
    return bytes(stream.read(count))
