"""Ed25519 keys in PEM files: private ones that sign certificates, and public ones that check signatures."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, Union

from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["PASSPHRASE", "KeyLike", "PublicKey", "SigningKey", "signing_key", "trusted_folder", "trusted_keys"]

#: A private key, or the path of its file.
KeyLike: TypeAlias = Union["SigningKey", str, "os.PathLike[str]", None]

#: The environment variable with the passphrase of a private key.
PASSPHRASE = "GEOVEIL_KEY_PASSPHRASE"
#: The environment variable with the folder of public keys that are trusted.
_TRUSTED = "GEOVEIL_TRUSTED_KEYS"
#: Shown instead of a value in errors, which must not repeat a key or a passphrase.
_HIDDEN = "..."


@dataclass(frozen=True)
class PublicKey:
    """A public key, by which the signatures of its owner are checked.

    Parameters
    ----------
    raw : bytes
        The 32 bytes of the key.
    name : str
        The name of its file, which is not part of the key.

    Examples
    --------
    >>> gv.SigningKey.create("city-lab").public.name
    'city-lab'
    """

    raw: bytes
    name: str = ""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PublicKey:
        """Read a public key from a PEM file; its name is that of the file.

        Examples
        --------
        >>> key = gv.SigningKey.create("city-lab")
        >>> gv.PublicKey.load(key.public.save(folder / "lab.pub.pem")).name
        'lab'
        """
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        path = _file(path, ".pub.pem")
        data = _read(path)
        remedy = "'geoveil key create' writes it as NAME.pub.pem."
        if b"PRIVATE KEY" in data:
            raise InvalidFile(str(path), "a private key", "an Ed25519 public key in PEM", f"Keep it secret. {remedy}")
        try:
            loaded = serialization.load_pem_public_key(data)
        except (ValueError, UnsupportedAlgorithm):
            loaded = None
        if not isinstance(loaded, Ed25519PublicKey):
            raise InvalidFile(str(path), "another file", "an Ed25519 public key in PEM", remedy)
        return cls(loaded.public_bytes_raw(), _name(path))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the key in DER, as openssl computes it, in hexadecimal."""
        return f"SHA256:{hashlib.sha256(self._encoded(pem=False)).hexdigest()}"

    def __str__(self) -> str:
        return f"{self.name or 'a key without a name'} ({self.fingerprint[:23]}…)"

    def verify(self, signature: bytes, content: bytes) -> bool:
        """Return whether this key signed the content.

        Examples
        --------
        >>> key = gv.SigningKey.create("city-lab")
        >>> signature = key.sign(b"content")
        >>> key.public.verify(signature, b"content"), key.public.verify(signature, b"other content")
        (True, False)
        """
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, content)
        except (InvalidSignature, ValueError):
            return False
        return True

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the key into a new PEM file.

        Examples
        --------
        >>> key = gv.SigningKey.create("city-lab")
        >>> key.public.save(folder / "city-lab.pub.pem").read_text().splitlines()[0]
        '-----BEGIN PUBLIC KEY-----'
        """
        return _written(Path(path), self._encoded(pem=True), 0o644)

    def _encoded(self, *, pem: bool) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        key = Ed25519PublicKey.from_public_bytes(self.raw)
        return key.public_bytes(Encoding.PEM if pem else Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


class SigningKey:
    """A private key that signs certificates. It is never shown, printed or pickled.

    Examples
    --------
    >>> key = gv.SigningKey.create("city-lab")
    >>> path = key.save(folder / "city-lab.pem")
    >>> gv.SigningKey.load(path).public.fingerprint == key.public.fingerprint
    True
    """

    def __init__(self, private: Ed25519PrivateKey, name: str) -> None:
        self._private = private
        self.public = PublicKey(private.public_key().public_bytes_raw(), name)

    @classmethod
    def create(cls, name: str) -> SigningKey:
        """Return a new key, from the entropy of the operating system.

        Examples
        --------
        >>> gv.SigningKey.create("city-lab").public.fingerprint[:7]
        'SHA256:'
        """
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if not isinstance(name, str) or not re.fullmatch(r"\w[\w .@+-]{0,99}", name):
            allowed = "a name of at most 100 letters, digits, spaces and .@+-"
            raise InvalidParameter("name", name, allowed, "Name the office that signs, such as city-lab.")
        return cls(Ed25519PrivateKey.generate(), name)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, passphrase: str | None = None) -> SigningKey:
        """Read a private key from a PEM file; its name is that of the file.

        Parameters
        ----------
        path : str or Path
            A file in PKCS 8, as `save` and openssl write it.
        passphrase : str, optional
            The passphrase of an encrypted file; by default, that in GEOVEIL_KEY_PASSPHRASE.

        Examples
        --------
        >>> key = gv.SigningKey.create("city-lab")
        >>> path = key.save(folder / "city-lab.pem", passphrase="correct horse")
        >>> gv.SigningKey.load(path, passphrase="correct horse").public == key.public
        True
        """
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        path = _file(path, ".pem")
        data = _read(path)
        encrypted = b"ENCRYPTED PRIVATE KEY" in data
        secret = (passphrase or os.environ.get(PASSPHRASE)) if encrypted else None
        if encrypted and not secret:
            raise PassphraseNeeded(str(path))
        try:
            loaded: Any = serialization.load_pem_private_key(data, None if secret is None else secret.encode())
        # The messages of the library are left out: they may describe the key.
        except (ValueError, TypeError, UnsupportedAlgorithm):
            loaded = None
        if not isinstance(loaded, Ed25519PrivateKey):
            why = "the passphrase is wrong, or it is another file" if encrypted else "another file"
            allowed = "an Ed25519 private key in PEM (PKCS 8)"
            raise InvalidFile(str(path), why, allowed, "'geoveil key create NAME' makes one.") from None
        return cls(loaded, _name(path))

    def save(self, path: str | os.PathLike[str], *, passphrase: str | None = None) -> Path:
        """Write the key into a new PEM file that its owner alone may read, encrypted if there is a passphrase.

        Examples
        --------
        >>> key = gv.SigningKey.create("city-lab")
        >>> key.save(folder / "city-lab.pem").name
        'city-lab.pem'
        """
        from cryptography.hazmat.primitives import serialization as form

        how = form.BestAvailableEncryption(passphrase.encode()) if passphrase else form.NoEncryption()
        content = self._private.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, how)
        return _written(Path(path), content, 0o600)

    def sign(self, content: bytes) -> bytes:
        """Return the signature of the content, 64 bytes.

        Examples
        --------
        >>> len(gv.SigningKey.create("city-lab").sign(b"content"))
        64
        """
        return self._private.sign(content)

    def __repr__(self) -> str:
        return f"SigningKey({str(self.public)!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A private key is not pickled or copied: load it from its file.")


class PassphraseNeeded(InvalidFile):
    """Raised for an encrypted private key if its passphrase is not given."""

    def __init__(self, path: str) -> None:
        remedy = f"Set {PASSPHRASE}, or load it with SigningKey.load(path, passphrase=...)."
        super().__init__(path, "encrypted", "given with its passphrase", remedy)
        self.args = (path,)


def signing_key(sign: KeyLike) -> SigningKey | None:
    """Return the signing key, given as a key or as the path of its file; None if none is given."""
    if sign is None or isinstance(sign, SigningKey):
        return sign
    if not isinstance(sign, str | os.PathLike) or "PRIVATE KEY" in str(sign):
        # It may be the key itself, which no message repeats.
        raise InvalidParameter("sign", _HIDDEN, "the path of a private key's file, or a SigningKey", "Leave it out.")
    return SigningKey.load(sign)


def trusted_folder() -> Path:
    """Return the folder of public keys that this user trusts: GEOVEIL_TRUSTED_KEYS, or one in the user's settings."""
    if given := os.environ.get(_TRUSTED):
        return Path(given)
    from platformdirs import user_config_path

    return user_config_path("geoveil", appauthor=False, roaming=True) / "trusted"


def trusted_keys() -> list[PublicKey]:
    """Return the public keys that this user trusts, sorted by name."""
    return [PublicKey.load(path) for path in sorted(trusted_folder().glob("*.pem"))]


def _name(path: Path) -> str:
    return path.name.removesuffix(".pem").removesuffix(".pub")


def _file(given: str | os.PathLike[str], ending: str) -> Path:
    """Return the file of a key, given by its path or by the name with which it was created."""
    path, named = Path(given), Path(os.fspath(given) + ending)
    return named if named.exists() and not path.exists() else path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        remedy = "Check the path; 'geoveil key create NAME' makes one."
        raise FileUnavailable(str(path), "file not found", "a key", remedy) from None
    except OSError as problem:
        raise InvalidFile(str(path), problem.strerror, "a key that can be read", "Check the path.") from None


def _written(path: Path, content: bytes, mode: int) -> Path:
    """Create a file with these permissions and write it; an existing file is never overwritten."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as problem:
        reason = "a file of this name exists" if isinstance(problem, FileExistsError) else str(problem.strerror)
        raise FileUnavailable(str(path), reason, "a new file", "Choose another name or folder.") from None
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return path
