"""Signatures cover every field of a certificate, in a canonical form that others can make."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import pickle
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import geoveil as gv
from geoveil.certificates import checked_signature, signatures, signed
from geoveil.certificates.certificate import read_certificate, strict_json
from geoveil.certificates.signatures import canonical
from geoveil.certificates.signing_keys import PassphraseNeeded, trusted_keys
from geoveil.errors import FileUnavailable, InvalidFile, InvalidParameter
from tests.formats import BAY, people

#: The secret key, public key and empty message of RFC 8032, 7.1, test 1.
SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
KEY = gv.SigningKey(Ed25519PrivateKey.from_private_bytes(SEED), "test")
#: A certificate with names and numbers that programs write differently.
VECTOR: Any = {
    "schema": 2,
    "rho": "0.0001",
    "radius_95": 245.7,
    "rounding": 1e-07,
    "large": 1e21,
    "whole": 4.0,
    "area": {"name": "Zürich — 50 km", "€": None, "\r": True},
    "unchanged": [{"name": "line\n\u2028", "warnings": []}],
}
CANONICAL = (
    '{"area":{"\\r":true,"name":"Zürich — 50 km","€":null},"large":1e+21,"radius_95":245.7,"rho":"0.0001",'
    '"rounding":1e-7,"schema":2,"signature":{"algorithm":"Ed25519","name":"test","public":'
    '"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},"unchanged":[{"name":"line\\n\u2028","warnings":[]}],"whole":4}'
)
SIGNED = "Bvshzxb6YNoLlh4MhYhMIu12Er9oGVrGmLsIhY5Dw5wBAYR+tF57TF1w7dX6++d3crqNwqfGxE1YRHeh9ow1Bw=="


def fields(account: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a certificate, but for that of the signature's value, which is what is checked."""
    inside = account.items() if isinstance(account, dict) else enumerate(account) if isinstance(account, list) else ()
    for name, value in inside:
        path = (*at, name)
        if path != ("signature", "value"):
            yield path
            yield from fields(value, path)


def changed(account: Any, path: tuple[Any, ...]) -> Any:
    """The certificate with one value replaced by another."""
    other = copy.deepcopy(account)
    inner: Any = other
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = "something else"
    return other


def is_valid(account: Mapping[str, Any]) -> bool:
    """Whether a certificate has a valid signature."""
    try:
        found = checked_signature(account)
    except ValueError:
        return False
    return found is not None and found.valid


def check_every_field_is_covered() -> None:
    """A change of any field, an additional field and a missing one all break the signature of a real certificate."""
    frame = people()
    account = signed(gv.Locations(frame, person="user", area=BAY).points(rho=1e-4).certificate(), KEY)
    assert is_valid(account)
    paths = [*fields(account)]
    assert len(paths) > 40
    for path in paths:
        assert not is_valid(changed(account, path)), path
    assert not is_valid({**account, "more": 1})
    for name in account:
        assert not is_valid({field: value for field, value in account.items() if field != name})


def test_every_field_is_covered() -> None:
    """No field can be changed, added or left out."""
    check_every_field_is_covered()


def test_forgotten_field_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above fails if the canonical form forgets a field."""

    def forgetful(account: Any) -> bytes:
        return canonical({name: value for name, value in account.items() if name != "unchanged"})

    monkeypatch.setattr(signatures, "canonical", forgetful)
    with pytest.raises(AssertionError):
        check_every_field_is_covered()


def test_the_vector() -> None:
    """A key, a certificate, its canonical form and its signature, for other implementations."""
    assert KEY.public.raw == PUBLIC
    account = signed(VECTOR, KEY)
    assert canonical(account).decode() == CANONICAL
    assert account["signature"]["value"] == SIGNED
    assert base64.b64encode(Ed25519PrivateKey.from_private_bytes(SEED).sign(CANONICAL.encode())).decode() == SIGNED
    assert is_valid(account)


def test_spaces_do_not_count() -> None:
    """A certificate that was written again by another program keeps its signature."""
    account = signed(VECTOR, KEY)
    again = json.loads(json.dumps(account, indent=7, sort_keys=True, ensure_ascii=True))
    assert is_valid(again)
    assert is_valid({**again, "rounding": 0.0000001, "whole": 4})


@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": "none"},
        {"algorithm": "HS256"},
        {"algorithm": "ed25519"},
        {"algorithm": None},
        {"value": ""},
        {"value": "AA=="},
        {"value": None},
        {"public": ""},
        {"public": "!" * 44},
        {"public": base64.b64encode(bytes(33)).decode()},
        {"name": 3},
        {"more": "x"},
    ],
)
def test_other_algorithms_are_refused(change: Any) -> None:
    """The algorithm is no choice of whoever sends a certificate."""
    account = signed(VECTOR, KEY)
    account["signature"] |= change
    assert not is_valid(account)
    for missing in ("algorithm", "name", "public", "value"):
        part = {name: text for name, text in signed(VECTOR, KEY)["signature"].items() if name != missing}
        assert not is_valid({**account, "signature": part})
    assert not is_valid({**account, "signature": "none"})
    assert not is_valid({**account, "signature": None})


def test_other_base64_is_refused() -> None:
    """One signature has one text."""
    account = signed(VECTOR, KEY)
    value = account["signature"]["value"]
    for other in (value.replace("=", ""), value + "\n", value.replace("+", "-").replace("/", "_") + " "):
        assert not is_valid({**account, "signature": {**account["signature"], "value": other}})


def test_other_keys_sign_otherwise() -> None:
    """A key in the certificate can be replaced only together with the signature."""
    other = signed(VECTOR, gv.SigningKey.create("other"))
    mixed: dict[str, Any] = {**signed(VECTOR, KEY), "signature": {**signed(VECTOR, KEY)["signature"]}}
    mixed["signature"]["public"] = other["signature"]["public"]
    assert not is_valid(mixed)
    assert is_valid(other)


@pytest.mark.parametrize(
    "text",
    [
        '{"rho": "1", "rho": "2"}',
        '{"a": {"b": 1, "b": 1}}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        "[1]",
        "{",
        "",
        "[" * 100_000,
        '\ufeff{"a": 1}',
    ],
)
def test_certificates_are_read_strictly(text: str, tmp_path: Path) -> None:
    """Duplicate names, numbers that are none, and damaged files are refused, with the path and a remedy."""
    path = tmp_path / "x.certificate.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidFile, match=r"x\.certificate\.json = .*: must be a certificate"):
        read_certificate(path)
    if text != "[1]":
        with pytest.raises(ValueError):  # noqa: PT011
            strict_json(text)


def test_noncanonical_values_are_refused() -> None:
    """Whole numbers that other languages would round, and lone surrogates."""
    for value in (2**60, "\ud800"):
        with pytest.raises(ValueError):  # noqa: PT011
            canonical({"a": value})


def test_keys_are_written(tmp_path: Path) -> None:
    """Private keys for their owner alone, never over another file, with or without a passphrase."""
    key = gv.SigningKey.create("city-lab")
    path = key.save(tmp_path / "city-lab.pem")
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert gv.SigningKey.load(path).public == key.public
    with pytest.raises(FileUnavailable, match="exists"):
        key.save(path)
    locked = key.save(tmp_path / "locked.pem", passphrase="correct horse")
    assert b"ENCRYPTED" in locked.read_bytes()
    assert gv.SigningKey.load(locked, passphrase="correct horse").public.raw == key.public.raw
    public = key.public.save(tmp_path / "city-lab.pub.pem")
    assert gv.PublicKey.load(public) == key.public


def test_passphrase_from_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The passphrase is in the environment.

    For programs that nobody sits before; without it, the error says where to put it.
    """
    path = gv.SigningKey.create("a").save(tmp_path / "a.pem", passphrase="correct horse")
    with pytest.raises(PassphraseNeeded, match="GEOVEIL_KEY_PASSPHRASE"):
        gv.SigningKey.load(path)
    monkeypatch.setenv("GEOVEIL_KEY_PASSPHRASE", "correct horse")
    assert gv.SigningKey.load(path).public.name == "a"


def test_messages_hide_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the key nor the passphrase is in an error, a repr, or a pickle."""
    key = gv.SigningKey.create("a")
    path = key.save(tmp_path / "a.pem", passphrase="correct horse")
    secret = gv.SigningKey.load(path, passphrase="correct horse")._private.private_bytes_raw()
    plain = key.save(tmp_path / "plain.pem").read_text()
    encoded: Any = plain.encode()
    said = [repr(key), str(key)]
    for wrong in (
        lambda: gv.SigningKey.load(path, passphrase="wrong horse"),
        lambda: gv.SigningKey.load(key.public.save(tmp_path / "a.pub.pem")),
        lambda: gv.PublicKey.load(tmp_path / "plain.pem"),
        lambda: gv.Locations(people(), area=BAY).points(rho=1e-4).to_file(tmp_path / "out.csv", sign=plain),
        lambda: gv.Locations(people(), area=BAY).points(rho=1e-4).to_file(tmp_path / "out.csv", sign=encoded),
        lambda: (
            gv.Locations(people(), area=BAY).points(rho=1e-4).to_file(tmp_path / "out.csv", sign=tmp_path / "no.pem")
        ),
    ):
        with pytest.raises((InvalidFile, InvalidParameter)) as refused:
            wrong()
        said.append(str(refused.value))
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(TypeError):
        copy.deepcopy(key)
    middle = plain.splitlines()[1]
    for text in said:
        assert "horse" not in text
        assert middle not in text
        assert secret.hex() not in text
        assert base64.b64encode(secret).decode() not in text
    assert not (tmp_path / "out.csv").exists()


def test_other_keys_are_refused(tmp_path: Path) -> None:
    """An RSA key, a text, and a public key where a private one is needed."""
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (tmp_path / "rsa.pem").write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "text.pem").write_text("hello")
    for name in ("rsa.pem", "text.pem"):
        with pytest.raises(InvalidFile, match="Ed25519 private key"):
            gv.SigningKey.load(tmp_path / name)
        with pytest.raises(InvalidFile, match="Ed25519 public key"):
            gv.PublicKey.load(tmp_path / name)
    wrong: list[Any] = ["", "../up", "a/b", 3, "x" * 200]
    for given in wrong:
        with pytest.raises(InvalidParameter, match="name"):
            gv.SigningKey.create(given)


def test_trusted_keys_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trusted keys are in a folder. By default in the user's settings."""
    monkeypatch.delenv("GEOVEIL_TRUSTED_KEYS", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    assert trusted_keys() == []
    (tmp_path / "geoveil" / "trusted").mkdir(parents=True)
    KEY.public.save(tmp_path / "geoveil" / "trusted" / "test.pem")
    assert trusted_keys() == [KEY.public]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_verifies(tmp_path: Path) -> None:
    """The commands of the page on certificates, with nothing of geoveil."""
    account = signed(VECTOR, KEY)
    (tmp_path / "payload").write_bytes(canonical(account))
    (tmp_path / "signature").write_bytes(base64.b64decode(account["signature"]["value"]))
    KEY.public.save(tmp_path / "test.pub.pem")

    def openssl(*words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["openssl", *words], cwd=tmp_path, capture_output=True, check=False)

    command = ["pkeyutl", "-verify", "-pubin", "-inkey", "test.pub.pem", "-rawin", "-in", "payload"]
    assert openssl(*command, "-sigfile", "signature").returncode == 0
    der = openssl("pkey", "-pubin", "-in", "test.pub.pem", "-outform", "DER").stdout
    assert KEY.public.fingerprint == f"SHA256:{hashlib.sha256(der).hexdigest()}"
    (tmp_path / "payload").write_bytes(canonical(account) + b" ")
    assert openssl(*command, "-sigfile", "signature").returncode != 0
    assert openssl("genpkey", "-algorithm", "ed25519", "-out", "made.pem").returncode == 0
    assert gv.SigningKey.load(tmp_path / "made.pem").public.name == "made"
