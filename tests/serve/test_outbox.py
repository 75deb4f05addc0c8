"""The outbox: what targets receive, in which order, and what happens when they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from geoveil.serve import outbox as outbox_module
from tests.serve.serving import Running, config_in, now, running
from tests.serve.targets import receiving

_TARGET = """
[[target]]
kind = "{kind}"
url = "{url}"
token = "key"
persons = ["ann"]
"""
ADDRESSES = {
    "recorder": "/pub?u=ann&d=phone",
    "home-assistant": "/",
    "dawarich": "/api/v1/overland/batches",
    "geopulse": "/api/traccar",
    "reitti": "/api/v1/ingest/owntracks",
}
CREDENTIALS = {
    "dawarich": ("authorization", "Bearer key"),
    "geopulse": ("authorization", "Bearer key"),
    "reitti": ("x-api-token", "key"),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repetitions come soon."""
    monkeypatch.setattr(outbox_module, "_FIRST", 0.001)
    monkeypatch.setattr(outbox_module, "_LONGEST", 0.005)


def state_of(service: Running) -> outbox_module.DeliveryState:
    """How the only target is doing."""
    (state,) = service.service.target_states()
    return state


@pytest.mark.parametrize("kind", ADDRESSES)
def test_targets_get_places(kind: str, tmp_path: Path) -> None:
    """Each kind gets its form of the published place, at its address, with its credentials, and no other person's."""
    with receiving() as target, running(config_in(tmp_path, _TARGET.format(kind=kind, url=target.url))) as service:
        target.statuses = [201]
        at = now() - 600
        service.ping("bob/phone", at)
        service.ping("ann/phone", at)
        (request,) = target.wait(1)
        assert request.path == ADDRESSES[kind]
        name, value = CREDENTIALS.get(kind, ("content-type", "application/json"))
        assert request.headers[name] == value
        place = service.ask("GET", "/v1/places/ann", "owner").json()["features"][0]["geometry"]["coordinates"]
        assert all(str(each) in request.body.decode() for each in place)


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [100, pytest.param(1000, marks=pytest.mark.deep)])
def test_repeats_are_deduplicated(repeats: int, tmp_path: Path) -> None:
    """A target that dedupes by place and time holds each place once, however often it had to be repeated."""
    with (
        receiving() as target,
        running(config_in(tmp_path, _TARGET.format(kind="recorder", url=target.url))) as service,
    ):
        # It stores what it gets, and says that it has not.
        target.statuses = [500] * repeats
        start = now() - 7200
        for minute in range(20):
            service.ping("ann/phone", start + 61 * minute)
        requests = target.wait(repeats + 20, 120)
        held = {(each.message["lat"], each.message["lon"], each.message["tst"]) for each in requests}
        assert sorted(tst for _, _, tst in held) == [start + 61 * minute for minute in range(20)]
        assert not state_of(service).stopped


def test_refusals_stop_a_target(tmp_path: Path) -> None:
    """After ten refusals a target is stopped and shown; what waits is kept, and goes out when it is tried again."""
    with (
        receiving() as target,
        running(config_in(tmp_path, _TARGET.format(kind="recorder", url=target.url))) as service,
    ):
        target.statuses = [404] * 10
        at = now() - 600
        service.ping("ann/phone", at)
        target.wait(10)
        service.ping("ann/phone", at + 100)
        page = service.ask("GET", "/live", "owner").text
        assert "stopped after 10 refusals: refused 404" in page
        assert len(target.requests) == 10
        metrics = service.ask("GET", "/metrics", "owner").text
        assert 'geoveil_waiting_places{target="recorder"} 2' in metrics
        assert 'geoveil_budget_left{person="ann"} 0.9' in metrics
        assert 'geoveil_stopped_targets{target="recorder"} 1' in metrics
        assert 'geoveil_deliveries_total{outcome="refused 404",target="recorder"} 10' in metrics
        form = {"do": "try again", "of": "recorder"}
        assert service.ask("POST", "/live", "owner", data=form).status_code == 303
        assert [each.message["tst"] for each in target.wait(12)[10:]] == [at, at + 100]


def test_home_assistant_gets_last(tmp_path: Path) -> None:
    """Home Assistant takes whatever arrives for the present place: of a queue it gets the last one, never an older."""
    with receiving() as target:
        more = _TARGET.format(kind="home-assistant", url=target.url) + "max_gps_accuracy = 200\n"
        with running(config_in(tmp_path, more)) as service:
            target.statuses = [500] * 3
            start = now() - 7200
            for minute in range(5):
                service.ping("ann/phone", start + 61 * minute)
            # The last place is the last request, however many were refused or left out before it.
            target.until(lambda: bool(target.requests) and target.requests[-1].message["tst"] == start + 61 * 4)
            times = [each.message["tst"] for each in target.requests]
            assert times == sorted(times)
            page = service.ask("GET", "/live", "owner").text
            assert "home-assistant ignores the place of ann" in page
            assert "max_gps_accuracy = 200" in page


def test_outbox_survives_restarts(tmp_path: Path) -> None:
    """What a target has not received before the service ends, it receives afterwards, and nothing twice."""
    with receiving() as target:
        path = config_in(tmp_path, _TARGET.format(kind="dawarich", url=target.url))
        target.statuses = [503] * 10_000
        with running(path) as service:
            start = now() - 7200
            for minute in range(5):
                service.ping("ann/phone", start + 61 * minute)
            target.wait(1)
            places = service.ask("GET", "/v1/places/ann/track", "owner").json()["features"]
        target.statuses.clear()
        target.requests.clear()
        with running(path) as service:
            target.wait(1)
            service.ping("ann/phone", start + 1000)
            requests = target.wait(2)
        sent = [each["geometry"]["coordinates"] for request in requests for each in request.message["locations"]]
        assert sent[:-1] == [each["geometry"]["coordinates"] for each in places]
        assert len(sent) == 6


def test_replies_go_nowhere(tmp_path: Path) -> None:
    """A target that answers with the places of others does not reach the device."""
    with (
        receiving() as target,
        running(config_in(tmp_path, _TARGET.format(kind="recorder", url=target.url))) as service,
    ):
        at = now() - 600
        for minute in range(3):
            service.ping("ann/phone", at + 100 * minute)
        target.wait(3)
        shown = [service.ask("GET", path, "owner").text for path in ("/live", "/v1/places/ann", "/metrics")]
        assert all("48.85" not in text for text in shown)
