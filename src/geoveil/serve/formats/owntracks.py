"""OwnTracks: messages of its apps, encrypted or not, and the released message."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from geoveil.noise import random_bytes
from geoveil.serve.config import DeviceConfig, PersonConfig
from geoveil.serve.published import PublishedPlace
from geoveil.serve.readings import Fix, PingReading, Unused, fix_of, json_of, unix_time

__all__ = ["decrypted", "encrypted", "read_owntracks", "released_message"]

#: The bytes of a nonce of libsodium's secretbox, and of its key.
_NONCE = 24
_KEY = 32
#: Seconds from 1970 to the year from which a device counts.
_EPOCHS = {1970: 0, 2001: 978_307_200}


def read_owntracks(body: bytes, device: DeviceConfig) -> PingReading:
    """Read a message of an OwnTracks app."""
    if not body.strip():
        return PingReading.of("empty")
    message = json_of(body)
    was_encrypted = isinstance(message, dict) and message.get("_type") == "encrypted"
    if was_encrypted:
        opened = decrypted(message.get("data"), device.key) if device.key else None
        if opened is None:
            return PingReading.of("undecryptable")
        message = json_of(opened)
    reading = PingReading.of(_read(message, device))
    reading.encrypted = was_encrypted
    return reading


def _read(message: object, device: DeviceConfig) -> Fix | Unused:
    if not isinstance(message, dict):
        return "malformed"
    if message.get("_type") != "location":
        return "other type"
    lat, lon = message.get("lat"), message.get("lon")
    # The Android app leaves out what equals its default: on the equator and on the prime meridian, one is missing.
    if (lat is None) != (lon is None):
        lat, lon = (0.0 if each is None else each for each in (lat, lon))
    return fix_of(unix_time(message.get("tst"), epoch=_EPOCHS[device.tst_epoch]), lat, lon)


def released_message(person: PersonConfig, place: PublishedPlace, tree: str = "owntracks") -> dict[str, Any]:
    """Return the message about a published place: these members, and no others."""
    return {
        "_type": "location",
        "tid": person.label,
        "lat": place.lat,
        "lon": place.lon,
        "tst": place.time // 10**6,
        "acc": place.radius,
        "topic": f"{tree}/{person.topic}",
    }


def decrypted(data: object, passphrase: str) -> bytes | None:
    """Return the message in an encrypted payload; None if it was changed, or encrypted with another key."""
    from nacl.exceptions import CryptoError
    from nacl.secret import SecretBox

    try:
        sealed = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
        return SecretBox(_key(passphrase)).decrypt(sealed) if len(sealed) > _NONCE else None
    except (binascii.Error, ValueError, CryptoError):
        return None


def encrypted(message: object, passphrase: str) -> dict[str, str]:
    """Return a message as an encrypted payload."""
    from nacl.secret import SecretBox

    sealed = SecretBox(_key(passphrase)).encrypt(json.dumps(message).encode(), random_bytes(_NONCE))
    return {"_type": "encrypted", "data": base64.b64encode(bytes(sealed)).decode()}


def _key(passphrase: str) -> bytes:
    """Return the key of the apps: the passphrase, cut or padded with zeros."""
    return passphrase.encode()[:_KEY].ljust(_KEY, b"\0")
