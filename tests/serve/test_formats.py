"""Bodies of all clients: what is used of them, the answers that their queues need, and what goes out."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geoveil.serve.config import DeviceConfig, PersonConfig
from geoveil.serve.formats.osmand import read_osmand
from geoveil.serve.formats.overland import overland_batch, read_overland
from geoveil.serve.formats.owntracks import decrypted, encrypted, read_owntracks, released_message
from geoveil.serve.formats.traccar import read_traccar, traccar_message
from geoveil.serve.published import PublishedPlace
from geoveil.serve.readings import Fix, PingReading
from tests.serve.bodies import CLIENTS, SECRETS, ClientBody, client_body
from tests.serve.serving import FINE, TRUE, Running

DEVICE = DeviceConfig("phone", key="a passphrase")
ANN = PersonConfig("ann", "1 day", "San Francisco", devices=(DEVICE,))
PLACE = PublishedPlace(7, 1_777_881_600_000_000, 37.781234, -122.401234, 812)
#: The success form of each address.
SUCCESS = {"/pub": b"[]", "/owntracks": b"[]", "/traccar": b"", "/osmand": b"", "/overland": b'{"result":"ok"}'}


def success_of(path: str) -> bytes | None:
    """The success form of an address; None for plain JSON."""
    return SUCCESS.get(path.partition("?")[0], b'{"result":"ok"}' if "batches" in path else None)


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_is_understood(service: Running, client: str) -> None:
    """One ping of each client is answered, acknowledged in its success form, and gives nothing of its body away."""
    at = service.fresh("ann")
    before = len(service.pings_of("ann"))
    reply = service.send(client_body(client, at))
    assert reply.status_code == 200
    if (form := success_of(client_body(client, at).path)) is not None:
        assert reply.content == form
    assert [time for time, _ in service.pings_of("ann")[before:]] == [at * 10**6]
    shown = service.ask("GET", "/v1/places/ann", "owner").text
    for text in (*FINE, *SECRETS):
        assert text not in reply.text + shown
    assert service.send(client_body(client, at, (37.9, -122.1))).status_code == 200
    assert len(service.pings_of("ann")) == before + 1


MEMBERS = {"_type", "tid", "lat", "lon", "tst", "acc", "topic"}


def test_released_members_are_listed() -> None:
    """Released messages have exactly the members of the allow-list."""
    message = released_message(ANN, PLACE)
    assert set(message) == MEMBERS
    assert message == {
        **{"_type": "location", "tid": "AN", "lat": 37.781234, "lon": -122.401234, "tst": 1_777_881_600, "acc": 812},
        "topic": "owntracks/ann/phone",
    }
    batch = overland_batch(ANN, [PLACE, PLACE])
    assert set(batch) == {"locations"}
    assert [set(each["properties"]) for each in batch["locations"]] == [
        {"timestamp", "horizontal_accuracy", "device_id"}
    ] * 2
    forwarded = traccar_message(ANN, PLACE)
    assert set(forwarded) == {"position", "device"}
    assert forwarded["position"]["attributes"] == {}
    assert forwarded["position"]["address"] is forwarded["position"]["network"] is None
    assert set(forwarded["device"]) == {"uniqueId", "name"}


READERS = {
    "OwnTracks Android": lambda body: read_owntracks(body, DEVICE),
    "OwnTracks iOS": lambda body: read_owntracks(body, DEVICE),
    "OwnTracks encrypted": lambda body: read_owntracks(body, DEVICE),
    "Traccar": lambda body: read_traccar(body)[0],
    "Overland": read_overland,
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=5), each, max_size=3),
    max_leaves=5,
)
#: What is read of the messages: the generator of further members leaves these alone.
READ = {
    *("_type", "lat", "lon", "tst", "valid", "fixTime", "latitude", "longitude", "uniqueId"),
    *("locations", "geometry", "properties"),
}


@pytest.mark.slow
@pytest.mark.parametrize("client", READERS)
@given(more=st.dictionaries(st.text(max_size=12).filter(lambda name: name not in READ), VALUES, max_size=4))
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_further_members_change_nothing(client: str, more: dict[str, Any]) -> None:
    """Whatever else a body says, the same time and place are read."""
    reading = READERS[client](client_body(client, 1_777_881_600, **more).content)
    assert reading == PingReading.of(Fix(1_777_881_600_000_000, *TRUE)) or client == "OwnTracks encrypted"
    assert [fix for _, fix in reading.fixes] == [Fix(1_777_881_600_000_000, *TRUE)]


UNUSED: dict[str, tuple[str, bytes]] = {
    "nothing": ("/pub", b""),
    "no JSON": ("/pub", b"{"),
    "an array": ("/pub", b"[1]"),
    "a transition": ("/pub", b'{"_type":"transition","lat":37.7749,"lon":-122.4194,"tst":1,"event":"enter"}'),
    "waypoints": ("/pub", b'{"_type":"waypoints","waypoints":[{"lat":37.7749,"lon":-122.4194}]}'),
    "a command": ("/pub", b'{"_type":"cmd","action":"dump"}'),
    "a will": ("/pub", b'{"_type":"lwt","tst":1777881600}'),
    "no time": ("/pub", b'{"_type":"location","lat":37.7749,"lon":-122.4194}'),
    "no place": ("/pub", b'{"_type":"location","tst":1777881600}'),
    "an impossible place": ("/pub", b'{"_type":"location","lat":137.7749,"lon":-122.4194,"tst":1777881600}'),
    "a text that is no number": ("/pub", b'{"_type":"location","lat":"north","lon":-122.4194,"tst":1777881600}'),
    "long digits": ("/pub", b'{"_type":"location","lat":1,"lon":2,"tst":' + b"1" * 70 + b"}"),
    "an unknown key": ("/pub", json.dumps(encrypted({"_type": "location"}, "wrong")).encode()),
    "a batch of nothing": ("/overland", b'{"locations":[]}'),
    "a batch of nonsense": ("/overland", b'{"locations":[1,{"properties":{}},{"geometry":null,"properties":{}}]}'),
    "no batch": ("/overland", b"[]"),
    "a heartbeat": ("/osmand", b"timestamp=1777881600&batt=50&id={token}"),
    "a time without a zone": ("/osmand", b"lat=1&lon=2&timestamp=2026-05-04 08:00:00&id={token}"),
    "a position without a fix": (
        "/traccar",
        b'{"position":{"valid":false,"fixTime":"2026-05-04T08:00:00Z","latitude":1,"longitude":2},'
        b'"device":{"uniqueId":"867001"}}',
    ),
    "an event": ("/traccar", b'{"event":{"type":"geofenceEnter"},"device":{"uniqueId":"867001"}}'),
}


@pytest.mark.parametrize("what", UNUSED)
def test_unused_messages_are_acknowledged(service: Running, what: str) -> None:
    """What will never be used is acknowledged in the success form: clients repeat or keep what is refused."""
    path, content = UNUSED[what]
    before = service.pings_of("ann")
    by = "id" if path == "/osmand" else "bearer"
    holder = "traccar" if path == "/traccar" else "ann/watch"
    reply = service.send(ClientBody(path, content, holder=holder, by=by))
    assert (reply.status_code, reply.content) == (200, SUCCESS[path])
    assert service.pings_of("ann") == before


FORMATS = {"/pub": "basic", "/traccar": "bearer", "/osmand": "id", "/overland": "bearer", "/v1/ping": "bearer"}


@pytest.mark.parametrize("path", FORMATS)
def test_refusal_forms(service: Running, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """401 is for credentials, 413 for size, and 503 with a time to wait is for everything that passes."""
    reply = service.ask("POST", path, content=b"id=no&lat=1&lon=2" if path == "/osmand" else b"{}")
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"].startswith("Basic" if path == "/pub" else "Bearer")
    holder = "traccar" if path == "/traccar" else "bob/phone"
    clients = {"/pub": "OwnTracks Android", "/traccar": "Traccar", "/overland": "Overland"}
    body = client_body(clients.get(path, "GPSLogger"), service.fresh("bob"))
    content, by = (b"lat=1&lon=2&id={token}", "id") if path == "/osmand" else (body.content, "bearer")
    assert service.send(ClientBody(path, b" " * (2 * 2**20 + 1), holder=holder)).status_code == 413
    service.service.rates._left[holder if path != "/traccar" else "ann/phone"] = (0.0, 2.0**60)
    reply = service.send(ClientBody(path, content, holder=holder, by=by))
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
    service.service.rates._left.clear()
    monkeypatch.setattr(service.service.desk._joint, "commit", broken)
    reply = service.send(ClientBody(path, content, holder=holder, by=by))
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
    assert (b"error" in reply.content) == (path == "/overland")


def broken(*_: object) -> None:
    """A store that cannot be written to."""
    raise OSError("disk I/O error near 37.7749")


def test_body_names_are_claims(service: Running) -> None:
    """A device is who authenticated: a gateway may only name registered devices, and nobody may claim another user."""
    at = service.fresh("bob")
    body = client_body("Traccar", at)
    other = json.loads(body.content)
    other["device"]["uniqueId"] = "no such device"
    assert service.send(ClientBody("/traccar", json.dumps(other).encode(), holder="traccar")).status_code == 401
    headers = {"Authorization": "Basic " + base64.b64encode(f"bob:{service.tokens['ann/phone']}".encode()).decode()}
    assert service.ask("POST", "/pub", headers=headers, content=b"").status_code == 401
    before = service.pings_of("ann")
    claimed = json.dumps({"_type": "location", "lat": 37.7, "lon": -122.4, "tst": at, "topic": "owntracks/ann/phone"})
    reply = service.ask(
        "POST", "/pub", "bob/phone", content=claimed, headers={"X-Limit-U": "ann", "X-Limit-D": "phone"}
    )
    assert reply.status_code == 200
    assert service.pings_of("ann") == before
    assert service.pings_of("bob")[-1][0] == at * 10**6


def test_friends_see_released_places(service: Running) -> None:
    """The app of bob gets the released place of ann, and an encrypted request gets it encrypted."""
    service.ping("ann/phone", service.fresh("ann"))
    place = service.ask("GET", "/v1/places/ann", "owner").json()["features"][0]
    android, sealed = (client_body(f"OwnTracks {kind}", service.fresh("bob")) for kind in ("Android", "encrypted"))
    (friend,) = service.send(replace(android, holder="bob/phone")).json()
    assert set(friend) == MEMBERS
    assert [friend["lon"], friend["lat"]] == place["geometry"]["coordinates"]
    assert (friend["tid"], friend["topic"]) == ("AN", "owntracks/ann/phone")
    reply = service.send(replace(sealed, holder="bob/watch"))
    assert b"lat" not in reply.content
    opened = decrypted(reply.json()["data"], "a passphrase")
    assert opened is not None
    assert json.loads(opened) == [friend]
    assert (
        service.send(replace(client_body("Overland", service.fresh("bob")), holder="bob/phone")).content
        == b'{"result":"ok"}'
    )


def test_times_of_all_kinds() -> None:
    """Milliseconds, texts, a byte order mark, the equator, another epoch, and the time of arrival."""
    at, us = 1_777_881_600, 1_777_881_600_000_000
    fix = Fix(us, 37.7, -122.4)
    for text in (str(at), f"{at}000", "2026-05-04T08:00:00Z", "2026-05-04T10:00:00.000+02:00"):
        assert read_osmand({"lat": "37.7", "lon": "-122.4", "timestamp": text}, 5).fixes == [(0, fix)]
    assert read_osmand({"location": "37.7,-122.4"}, us).fixes == [(0, fix)]
    message = {"_type": "location", "lat": "37.7", "lon": -122.4, "tst": str(at)}
    assert read_owntracks(b"\xef\xbb\xbf" + json.dumps(message).encode(), DEVICE).fixes == [(0, fix)]
    old = DeviceConfig("old", tst_epoch=2001)
    shifted = {**message, "tst": at - 978_307_200}
    assert read_owntracks(json.dumps(shifted).encode(), old).fixes == [(0, fix)]
    equator = {"_type": "location", "lon": 9.5, "tst": at}
    assert read_owntracks(json.dumps(equator).encode(), DEVICE).fixes == [(0, Fix(us, 0.0, 9.5))]


def test_bad_points_fail_alone(service: Running) -> None:
    """Of a batch, the good points are answered in their order."""
    at = service.fresh("bob")
    good = [json.loads(client_body("Overland", at + 100 * i).content)["locations"][0] for i in range(3)]
    nameless = {"geometry": None, "properties": {"timestamp": "2026-05-04T08:00:00Z", "action": "visit"}}
    before = len(service.pings_of("bob"))
    batch = json.dumps({"locations": [good[0], nameless, 5, *good[1:], good[0]], "current": good[2]}).encode()
    assert service.send(ClientBody("/overland", batch, holder="bob/phone")).status_code == 200
    assert [time // 10**6 for time, _ in service.pings_of("bob")[before:]] == [at, at + 100, at + 200]


def _payload(message: object = None) -> str:
    return encrypted(message or {"_type": "location"}, "a passphrase")["data"]


@pytest.mark.parametrize(
    "data",
    [None, 5, "", "???", "AAAA", _payload()[:60], _payload()[:-4], base64.b64encode(bytes(80)).decode()],
    ids=["none", "a number", "empty", "no base64", "a short nonce", "truncated", "without its end", "zeros"],
)
def test_changed_payloads_are_refused(data: object) -> None:
    """Whatever is not what was encrypted under the key is undecryptable."""
    assert decrypted(data, "a passphrase") is None
    body = json.dumps({"_type": "encrypted", "data": data}).encode()
    assert read_owntracks(body, DEVICE) == PingReading.of("undecryptable")


def test_every_byte_counts() -> None:
    """A payload with any one byte changed, or opened by another key, is refused; long keys are cut as the apps do."""
    sealed = bytearray(base64.b64decode(_payload()))
    for at in range(len(sealed)):
        changed = bytes([*sealed[:at], sealed[at] ^ 1, *sealed[at + 1 :]])
        assert decrypted(base64.b64encode(changed).decode(), "a passphrase") is None
    whole = base64.b64encode(bytes(sealed)).decode()
    assert decrypted(whole, "a passphrase") == b'{"_type": "location"}'
    assert decrypted(whole, "a Passphrase") is None
    assert decrypted(encrypted(1, "k" * 40)["data"], "k" * 32) == b"1"
