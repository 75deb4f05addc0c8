"""Random bytes from AES-256 in counter mode, with the key and the start of each request from the operating system.

The keystream is as good as the operating system's own generator, which works the same way, and several times as fast.
Every request starts at a fresh 128-bit counter from the operating system, and unused bytes are not kept. Therefore two
copies of the state do not repeat each other's bytes, whether the copy came from a fork by Python or in C, from a
process with the id of its dead parent, or from a machine restored from a snapshot.
"""

from __future__ import annotations

import os
import threading

__all__ = ["Keystream", "random_bytes"]

#: Largest request, in bytes, for which the operating system is as fast as the cipher.
_SHORT = 256
#: Bytes from one key: 2^26 blocks, in at most 2^22 requests. Two requests overlap with a probability below
#: 2^22·2^27/2^128 = 2^-79; if a thousand processes have copies of one key, below 2^-59.
_PER_KEY = 2**30
#: Encrypted zeros are the keystream. Most requests are not longer than this.
_ZEROS = memoryview(bytes(2**18))


class Keystream:
    """An endless stream of random bytes, for one thread.

    Notes
    -----
    A key is replaced after 1 GiB. The start of a request is not kept, so someone who later reads the key from memory
    cannot reproduce earlier bytes.
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
        return bytes(self._cipher.update(_ZEROS[:count] if count <= len(_ZEROS) else bytes(count)))

    def _rekey(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._cipher = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
        self._left = _PER_KEY


_threads = threading.local()


def random_bytes(count: int) -> bytes:
    """Return `count` fresh random bytes from this thread's keystream."""
    stream = getattr(_threads, "stream", None)
    if stream is None:
        stream = _threads.stream = Keystream()
    return bytes(stream.read(count))
