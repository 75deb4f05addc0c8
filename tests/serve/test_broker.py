"""A real mosquitto: pings from one tree, places into another, reconnections, and access rules."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from geoveil.errors import InvalidFile
from geoveil.serve.config import read_config
from tests.serve.bodies import SECRETS, client_body
from tests.serve.mosquitto import RULES, listening, mosquitto
from tests.serve.serving import FINE, Running, config_in, now, running

READER = 'reader_user = "reader"\nreader_password = "reader"'
_TARGET = '\n[[target]]\nkind = "mqtt"\n'


def until(holds: Callable[[], Any], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def connected(service: Running) -> None:
    """Wait until a service has its broker."""
    until(lambda: service.service.broker is not None and service.service.broker.connected)


def stored(service: Running) -> list[int]:
    """The times of ann's pings in seconds."""
    return [time // 10**6 for time, _ in service.pings_of("ann")]


def message(at: int) -> bytes:
    """The message of ann's phone at a time."""
    return client_body("OwnTracks Android", at).content


def test_places_are_republished(tmp_path: Path) -> None:
    """A ping of a phone comes back as a released place, retained, for readers of the unchanged app."""
    with mosquitto(tmp_path / "broker") as broker:
        path = config_in(tmp_path, _TARGET + broker.config())
        with running(path) as service, listening(broker, "ann", "veiled/+/+") as ann:
            connected(service)
            at = now() - 600
            ann.send("owntracks/ann/phone", message(at))
            ann.wait(1)
            for minute in (0, 0, 2, 1):
                ann.send("owntracks/ann/phone", message(at + 100 * minute))
            (first, second) = ann.wait(2)
            until(lambda: service.service.metrics.value("geoveil_pings_total", format="mqtt") == 5)
            assert stored(service) == [at, at + 200]
            assert first.topic == "veiled/ann/phone"
            released = json.loads(second.payload)
            assert set(released) == {"_type", "tid", "lat", "lon", "tst", "acc", "topic"}
            assert (released["tst"], released["topic"]) == (at + 200, "veiled/ann/phone")
            for each in ann.messages:
                assert not any(text in each.payload.decode() for text in (*FINE, *SECRETS))
            with listening(broker, "reader", "veiled/#", "owntracks/#") as reader:
                assert json.loads(reader.wait(1)[0].payload) == released
                time.sleep(0.3)
                assert [each.topic for each in reader.messages] == ["veiled/ann/phone"]


def test_foreign_messages_are_acknowledged(tmp_path: Path) -> None:
    """Empty, foreign, CSV and unknown devices' messages are acknowledged, and the next ping is answered."""
    with mosquitto(tmp_path / "broker") as broker, running(config_in(tmp_path, broker.config())) as service:
        connected(service)
        with listening(broker, "ann") as ann:
            for payload in (b"", b"ph,5f1,t,37774900,-122419400,0,0,0,0,0", b'{"_type":"lwt","tst":1}', b"\xff\xfe"):
                ann.send("owntracks/ann/phone", payload, retain=False)
            ann.send("owntracks/ann/tablet", message(now()))
            ann.send("owntracks/ann/phone/event", message(now()))
            at = now() - 50
            ann.send("owntracks/ann/phone", message(at))
            until(lambda: service.service.metrics.value("geoveil_pings_total", outcome="answered") == 1)
        assert stored(service) == [at]
        assert service.service.metrics.value("geoveil_requests_total", format="mqtt", status="401") == 1


def test_retained_messages_are_duplicates(tmp_path: Path) -> None:
    """A new session gets the retained ping again, which costs nothing."""
    with mosquitto(tmp_path / "broker") as broker:
        path = config_in(tmp_path, broker.config())
        with running(path) as service, listening(broker, "ann") as ann:
            connected(service)
            ann.send("owntracks/ann/phone", message(now() - 300))
            until(lambda: service.service.metrics.value("geoveil_pings_total", outcome="answered"))
            before = service.pings_of("ann")
        path.write_text(
            path.read_text().replace('password = "service"', 'password = "service"\nclient_id = "another"')
        )
        with running(path) as service:
            until(lambda: service.service.metrics.value("geoveil_pings_total", outcome="late") == 1)
            assert service.pings_of("ann") == before


@pytest.mark.slow
def test_broker_keeps_messages(tmp_path: Path) -> None:
    """Five hundred pings that were sent while the service was away are answered in their order, and none is lost."""
    with mosquitto(tmp_path / "broker") as broker:
        path = config_in(tmp_path, broker.config())
        with running(path) as service:
            connected(service)
            service.ping("ann/phone", now() - 600 * 61 - 3000)
        start = now() - 600 * 61
        with listening(broker, "ann") as ann:
            for minute in range(500):
                ann.send("owntracks/ann/phone", message(start + 61 * minute))
            broker.stop()
            broker.start()
            with running(path) as service:
                until(lambda: len(stored(service)) >= 300, 120)
                broker.stop()
                broker.start()
                until(lambda: len(stored(service)) == 501, 120)
                assert stored(service)[1:] == [start + 61 * minute for minute in range(500)]


def test_unstored_pings_return(tmp_path: Path) -> None:
    """A ping that could not be stored is not acknowledged, and comes again to the next service."""
    with mosquitto(tmp_path / "broker") as broker:
        path = config_in(tmp_path, broker.config())
        at = now() - 600
        with running(path) as service, listening(broker, "ann") as ann:
            connected(service)
            service.ping("ann/phone", at - 100)
            service.service.desk._joint.commit = broken  # type: ignore[assignment,method-assign]
            ann.send("owntracks/ann/phone", message(at), retain=False)
            until(lambda: service.service.metrics.value("geoveil_requests_total", format="mqtt", status="503"))
        with running(path) as service:
            until(lambda: stored(service) == [at - 100, at])


def broken(*_: object) -> None:
    """A store that cannot be written to."""
    raise OSError


@pytest.mark.parametrize(
    ("rules", "rights"),
    [
        (RULES, "closed"),
        (RULES.replace("user reader\n", "user reader\ntopic read owntracks/#\n"), "open"),
        (RULES.replace("topic write owntracks/geoveil/probe\n", ""), "unknown"),
    ],
    ids=["closed", "open", "unknown"],
)
def test_access_rules_are_checked(rules: str, rights: str, tmp_path: Path) -> None:
    """At the start the service finds out whether a reader can see true pings, and the live page says so."""
    with (
        mosquitto(tmp_path / "broker", rules) as broker,
        running(config_in(tmp_path, broker.config(READER))) as service,
    ):
        found = service.service.broker
        assert found is not None
        until(lambda: found.checked)
        assert found.rights == rights
        page = service.ask("GET", "/live", "owner").text
        assert ("the service protects nothing" in page) == (rights == "open")
        assert ("could not be checked" in page) == (rights == "unknown")


@pytest.mark.parametrize("trees", [("veiled", "veiled"), ("owntracks", "owntracks/veiled"), ("a/b/c", "a/b")])
def test_trees_must_be_apart(trees: tuple[str, str], tmp_path: Path) -> None:
    """A service that would read what it has published is refused."""
    more = f'\n[mqtt]\nhost = "127.0.0.1"\npings = "{trees[0]}"\nplaces = "{trees[1]}"\n'
    with pytest.raises(InvalidFile, match="neither contains the other"):
        read_config(config_in(tmp_path, more))
