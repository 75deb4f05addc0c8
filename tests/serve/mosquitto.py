"""A real mosquitto for the tests, where the machine has one: with users, passwords and access rules."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion

__all__ = ["RULES", "Listener", "Mosquitto", "mosquitto"]

#: The users of the broker; each password is the name.
USERS = ("service", "ann", "reader")
#: What the page about the set-up recommends.
RULES = """
user service
topic read owntracks/#
topic write owntracks/geoveil/probe
topic write veiled/#

pattern write owntracks/%u/#

user ann
topic read veiled/#

user reader
topic read veiled/#
"""


def _program() -> str:
    found = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip("no mosquitto was found: apt-get install mosquitto")
    return found


@dataclass
class Mosquitto:
    """A broker that can be stopped and started again; it keeps sessions and retained messages."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and wait until it takes connections."""
        self.process = subprocess.Popen(
            [_program(), "-c", str(self.folder / "mosquitto.conf")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(1000):
            with closing(socket.socket()) as trying:
                if trying.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("mosquitto does not start")

    def stop(self) -> None:
        """Stop, and write what is kept."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def config(self, more: str = "") -> str:
        """The table of a service that uses the broker."""
        credentials = 'user = "service"\npassword = "service"'
        return f'\n[mqtt]\nhost = "127.0.0.1"\nport = {self.port}\ntls = false\n{credentials}\n{more}\n'


@dataclass
class Listener:
    """A client that keeps what it receives."""

    client: mqtt.Client
    messages: list[mqtt.MQTTMessage] = field(default_factory=list)

    def wait(self, count: int, seconds: float = 60.0) -> list[mqtt.MQTTMessage]:
        """The messages, once there are so many."""
        end = time.monotonic() + seconds
        while len(self.messages) < count:
            assert time.monotonic() < end, [each.topic for each in self.messages]
            time.sleep(0.02)
        return self.messages

    def send(self, topic: str, payload: str | bytes, *, retain: bool = True) -> None:
        """Publish as OwnTracks does: at least once, retained."""
        self.client.publish(topic, payload, qos=1, retain=retain).wait_for_publish(30)


@contextmanager
def listening(broker: Mosquitto, user: str, *topics: str, **more: Any) -> Iterator[Listener]:
    """Connect a client of a user that subscribes to some topics."""
    client = mqtt.Client(CallbackAPIVersion.VERSION2, **more)
    client.username_pw_set(user, user)
    found = Listener(client)
    ready: list[object] = []

    def on_connect(client: mqtt.Client, *_: object) -> None:
        for topic in topics:
            client.subscribe(topic, qos=1)
        if not topics:
            ready.append(None)

    client.on_connect = on_connect
    client.on_subscribe = lambda *_: ready.append(None)
    client.on_message = lambda _, __, message: found.messages.append(message)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    try:
        while not ready:
            time.sleep(0.01)
        yield found
    finally:
        client.disconnect()
        client.loop_stop()


@contextmanager
def mosquitto(folder: Path, rules: str = RULES) -> Iterator[Mosquitto]:
    """Run a broker with these access rules until the end of the block."""
    program = _program()
    folder.mkdir(exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    passwords = folder / "passwords"
    passwords.write_text("".join(f"{user}:{user}\n" for user in USERS))
    tool = str(Path(program).with_name("mosquitto_passwd"))
    subprocess.run([shutil.which("mosquitto_passwd") or tool, "-U", str(passwords)], check=True)
    (folder / "rules").write_text(rules)
    for path in (passwords, folder / "rules"):
        path.chmod(0o600)
    (folder / "mosquitto.conf").write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous false\npassword_file {passwords}\nacl_file {folder}/rules\n"
        f"persistence true\npersistence_location {folder}/\nmax_queued_messages 0\nuser root\n"
    )
    found = Mosquitto(folder, port)
    found.start()
    try:
        yield found
    finally:
        found.stop()
