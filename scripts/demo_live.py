"""Start the service, replay a made-up day of two phones through the bodies of real clients, and print the live page.

``scripts/demo-live`` runs it in an environment of its own. Nothing in it is real. Both phones go on with a ping a
minute until Ctrl-C; ``--once`` ends after the day, and ``--open`` opens the pages in the browser.
"""

from __future__ import annotations

import argparse
import base64
import math
import subprocess
import sys
import tempfile
import time
import webbrowser
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

CONFIG = """\
[service]
listen = "127.0.0.1:{port}"
ledger = "budget.db"
publish = "every ping"

[[person]]
name = "ann"
rho = 5e-4
protect = "1 day"
area = "San Francisco"
friends = ["bob"]
[[person.device]]
name = "phone"
[[person.zone]]
name = "home"
place = "37.7599,-122.4148"

[[person]]
name = "bob"
rho = 5e-3
protect = "1 day"
area = "San Francisco"
[[person.device]]
name = "phone"
"""
#: Where each is from which hour on: latitude and longitude. The last hour of a trip is spent on the way.
DAYS = {
    "ann": [
        *((0, 37.7599, -122.4148), (8, 37.7936, -122.3958), (12, 37.7955, -122.3937), (13, 37.7936, -122.3958)),
        *((18, 37.7694, -122.4862), (20, 37.7599, -122.4148)),
    ],
    "bob": [(0, 37.7786, -122.4893), (9, 37.7631, -122.4580), (17, 37.7786, -122.4893), (19, 37.7857, -122.4011)],
}
#: Hours that a trip takes.
TRIP = 0.5


def place(person: str, at: float) -> tuple[float, float]:
    """Return where a made-up person is at a time in seconds, by the clock of California."""
    hour = (at / 3600 - 8) % 24
    stays = DAYS[person]
    now = max(index for index, (since, _, _) in enumerate(stays) if since <= hour)
    (since, *here), (_, *before) = stays[now], stays[now - 1]
    share = min((hour - since) / TRIP, 1.0)
    share = share * share * (3 - 2 * share)
    lat, lon = (old + share * (new - old) for old, new in zip(before, here, strict=True))
    # A phone does not know exactly where it is.
    return lat + 5e-5 * math.sin(at * 1.7), lon + 5e-5 * math.cos(at * 2.3)


def owntracks(at: int) -> dict[str, Any]:
    """Return the message of OwnTracks on ann's phone, with everything that it tells besides the place."""
    lat, lon = place("ann", at)
    return {
        **{"_type": "location", "lat": lat, "lon": lon, "tst": at, "acc": 14, "tid": "an", "t": "u", "batt": 71},
        **{"conn": "w", "SSID": "Ann's Wi-Fi", "alt": 31, "vel": 0, "m": 1, "inregions": ["Home"]},
    }


def overland(at: int) -> dict[str, Any]:
    """Return a point of Overland on bob's phone."""
    lat, lon = place("bob", at)
    properties = {"horizontal_accuracy": 9, "motion": ["walking"], "wifi": "Bob's Wi-Fi", "battery_level": 0.6}
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [lon, lat]},
        "properties": {"timestamp": datetime.fromtimestamp(at, UTC).isoformat(), **properties},
    }


class Phones:
    """Two phones: OwnTracks sends each ping for itself, and Overland in batches of sixty."""

    def __init__(self, url: str, tokens: dict[str, str]) -> None:
        self._client = httpx.Client(base_url=url, timeout=30, trust_env=False)
        pair = base64.b64encode(f"ann:{tokens['ann/phone']}".encode()).decode()
        self._ann = {"Authorization": f"Basic {pair}", "X-Limit-U": "ann", "X-Limit-D": "phone"}
        self._bob = {"Authorization": f"Bearer {tokens['bob/phone']}"}

    def send(self, times: Sequence[int]) -> None:
        """Send the pings of these times, and repeat what is not taken now, as the apps do."""
        for start in range(0, len(times), 60):
            batch = times[start : start + 60]
            self._post("/overland", {"locations": [overland(at) for at in batch]}, self._bob)
            for at in batch:
                self._post("/pub", owntracks(at), self._ann)
            if len(times) > 60:
                print(f"\r{start + len(batch)} of {len(times)} minutes sent", end="", file=sys.stderr, flush=True)
        if len(times) > 60:
            print(file=sys.stderr)

    def _post(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> None:
        while self._client.post(path, json=body, headers=headers).status_code != 200:
            time.sleep(1)


def error(url: str, owner: str, person: str) -> tuple[float, float]:
    """Return how far the published place of a made-up person is from the true one now, and its radius, in metres."""
    reply = httpx.get(f"{url}/v1/places/{person}", headers={"Authorization": f"Bearer {owner}"}, trust_env=False)
    (feature,) = reply.json()["features"]
    lon, lat = feature["geometry"]["coordinates"]
    shown = feature["properties"]
    true = place(person, datetime.fromisoformat(shown["time"]).timestamp())
    north, east = (lat - true[0]) * 111_200, (lon - true[1]) * 111_200 * math.cos(math.radians(lat))
    return math.hypot(north, east), shown["radius_95"]


def printed(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="end after the day")
    parser.add_argument("--open", action="store_true", help="open the pages in the browser")
    parser.add_argument("--minutes", type=int, default=1440, help="the length of the day that is replayed")
    parser.add_argument("--port", type=int, default=8034)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="geoveil-demo-live-") as folder:
        path = Path(folder) / "geoveil.toml"
        path.write_text(CONFIG.format(port=given.port))
        path.chmod(0o600)
        geoveil = [sys.executable, "-m", "geoveil", "serve", str(path)]
        tokens = {holder: printed(*geoveil, "--token", holder) for holder in ("owner", "ann/phone", "bob/phone")}
        url = f"http://127.0.0.1:{given.port}"
        with (Path(folder) / "log").open("w") as log:
            service = subprocess.Popen(geoveil, stdout=log, stderr=log)
        try:
            replay(url, tokens, given.minutes, given.once, given.open)
        except KeyboardInterrupt:
            print("The demonstration has ended.")
        finally:
            service.terminate()
            service.wait()


def replay(url: str, tokens: dict[str, str], minutes: int, once: bool, opening: bool) -> None:
    """Send the day, print where the pages are, and go on."""
    for _ in range(300):
        try:
            httpx.get(f"{url}/health", trust_env=False)
            break
        except httpx.HTTPError:
            time.sleep(0.1)
    phones, now = Phones(url, tokens), int(time.time()) // 60 * 60
    phones.send(range(now - 60 * minutes, now, 60))
    headers = {"Authorization": f"Bearer {tokens['owner']}"}
    asked = {"persons": ["ann", "bob"], "name": "demo", "window": "1 day", "expires": "1 day"}
    link = httpx.post(f"{url}/v1/links", json=asked, headers=headers, trust_env=False).json()["url"]
    for person in DAYS:
        away, radius = error(url, tokens["owner"], person)
        print(f"{person}: published {away:.0f} m from the made-up true place, within a stated radius of {radius} m")
    print(f"For a reader: {link}")
    print(f"For the owner: {url}/live (user owner, password {tokens['owner']})")
    if opening:
        webbrowser.open(link)
    if not once:
        print("Both phones go on, with a ping a minute. Ctrl-C ends it.", flush=True)
    while not once:
        time.sleep(60 - time.time() % 60)
        phones.send([int(time.time()) // 60 * 60])


if __name__ == "__main__":
    main()
