"""An MQTT broker: pings are taken from one tree of topics, and released places are published into another."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
from typing import TYPE_CHECKING, Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from geoveil.serve.config import BrokerConfig, PersonConfig
from geoveil.serve.desk import Unavailable
from geoveil.serve.formats.owntracks import read_owntracks, released_message
from geoveil.serve.published import PublishedPlace

if TYPE_CHECKING:
    from geoveil.serve.service import Service

__all__ = ["Broker"]

#: Seconds between attempts to store a message, and to wait for the broker.
_AGAIN, _PATIENCE = 1.0, 10.0
#: Seconds in which the probe of the check of access rights arrives, where it may.
_PROBING = 2.0
_LOG = logging.getLogger("geoveil.serve")
#: One of the results of the check, and the warning that follows from it.
_FINDINGS = {
    "open": "Readers of the broker can read true pings: without access rules the service protects nothing. "
    "The set-up page has the lines for the broker.",
    "unknown": "Whether readers of the broker can read true pings could not be checked: let the service write to "
    "{probe}, and give it the reader_user and reader_password of a reader.",
    "closed": "",
}


class Broker:
    """A connection to a broker, with a session that survives restarts.

    A message is acknowledged once its ping is stored; until then the broker keeps it.

    Parameters
    ----------
    service : Service
        The service.
    config : BrokerConfig
        The broker.
    """

    def __init__(self, service: Service, config: BrokerConfig) -> None:
        self._service, self._config = service, config
        self._probe = f"{config.pings}/geoveil/probe"
        self._probed = asyncio.Event()
        self._queues: dict[str, asyncio.Queue[mqtt.MQTTMessage]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self.connected = False
        #: What the check of access rights has found, once it has ended.
        self.rights = "unknown"
        self.checked = False
        self._client = mqtt.Client(
            CallbackAPIVersion.VERSION2, client_id=config.client_id, clean_session=False, manual_ack=True
        )
        _prepare(self._client, config, config.user, config.password)
        self._client.on_connect, self._client.on_disconnect = self._on_connect, self._on_disconnect
        self._client.on_message = self._on_message

    async def run(self) -> None:
        """Take in pings until it is cancelled."""
        self._loop = asyncio.get_running_loop()
        self._client.reconnect_delay_set(1, 60)
        self._client.connect_async(self._config.host, self._config.port)
        self._client.loop_start()
        try:
            checking = asyncio.create_task(self._check_rights())
            await asyncio.Event().wait()
        finally:
            checking.cancel()
            for task in self._tasks:
                task.cancel()
            self._client.disconnect()
            await asyncio.to_thread(self._client.loop_stop)

    async def publish(self, person: PersonConfig, place: PublishedPlace) -> bool:
        """Publish a place, retained; return whether the broker has it."""
        topic = f"{self._config.places}/{person.topic}"
        message = json.dumps(released_message(person, place, self._config.places))
        sent = self._client.publish(topic, message, qos=1, retain=True)
        with contextlib.suppress(ValueError, RuntimeError):
            await asyncio.to_thread(sent.wait_for_publish, _PATIENCE)
            return sent.is_published()
        return False

    @property
    def warning(self) -> str:
        """What the owner should know; empty if nothing is wrong."""
        if not self.connected:
            return "The MQTT broker cannot be reached, or refuses the service's user."
        return _FINDINGS[self.rights].format(probe=self._probe)

    def _on_connect(
        self, client: mqtt.Client, data: object, flags: object, code: ReasonCode, properties: Properties | None
    ) -> None:
        self.connected = not code.is_failure
        _LOG.info("broker", extra={"outcome": "refused" if code.is_failure else "connected"})
        if self.connected:
            client.subscribe(f"{self._config.pings}/+/+", qos=1)

    def _on_disconnect(self, *_: object) -> None:
        self.connected = False
        _LOG.info("broker", extra={"outcome": "disconnected"})

    def _on_message(self, client: mqtt.Client, data: object, message: mqtt.MQTTMessage) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._queue, message)

    def _queue(self, message: mqtt.MQTTMessage) -> None:
        """Let a message wait for earlier ones of its device: pings are answered in their order."""
        if message.topic not in self._queues:
            queue: asyncio.Queue[mqtt.MQTTMessage] = asyncio.Queue()
            self._queues[message.topic] = queue
            self._tasks.append(asyncio.create_task(self._work(queue)))
        self._queues[message.topic].put_nowait(message)

    async def _work(self, queue: asyncio.Queue[mqtt.MQTTMessage]) -> None:
        while True:
            message = await queue.get()
            while not await self._took(message):
                await asyncio.sleep(_AGAIN)
            self._client.ack(message.mid, message.qos)

    async def _took(self, message: mqtt.MQTTMessage) -> bool:
        """Take in a message; return whether it need not come again."""
        if message.topic == self._probe:
            self._probed.set()
            return True
        holder = message.topic.removeprefix(f"{self._config.pings}/")
        found = self._service.devices.get(holder.lower())
        status = "200"
        try:
            if found is None:
                status = "401"
            else:
                person, device = found
                await self._service.take("mqtt", person, device.name, read_owntracks(bytes(message.payload), device))
        except Unavailable:
            status = "503"
        except Exception as problem:
            # The text of an error may contain a place. The message would fail again.
            _LOG.error("request", extra={"format": "mqtt", "problem": type(problem).__name__})
            status = "500"
        self._service.metrics.count("geoveil_requests_total", format="mqtt", status=status)
        return status != "503"

    async def _check_rights(self) -> None:
        """Find out, with the credentials of a reader, whether readers can see what devices send."""
        if not self._config.reader_user:
            return
        while not self.connected:
            await asyncio.sleep(0.1)
        seen, subscribed = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        reader = mqtt.Client(CallbackAPIVersion.VERSION2, client_id="", protocol=mqtt.MQTTv5)
        _prepare(reader, self._config, self._config.reader_user, self._config.reader_password)
        refused = False

        def on_connect(client: mqtt.Client, *_: object) -> None:
            client.subscribe(f"{self._config.pings}/#", qos=1)

        def on_subscribe(client: mqtt.Client, data: object, mid: int, codes: list[ReasonCode], *_: object) -> None:
            nonlocal refused
            refused = all(code.is_failure for code in codes)
            loop.call_soon_threadsafe(subscribed.set)

        def on_message(*_: object) -> None:
            loop.call_soon_threadsafe(seen.set)

        reader.on_connect, reader.on_subscribe, reader.on_message = on_connect, on_subscribe, on_message
        reader.connect_async(self._config.host, self._config.port)
        reader.loop_start()
        try:
            await asyncio.wait_for(subscribed.wait(), _PATIENCE)
            self._client.publish(self._probe, b"{}", qos=1)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(seen.wait(), _PROBING)
            if seen.is_set():
                self.rights = "open"
            elif refused or self._probed.is_set():
                self.rights = "closed"
        except TimeoutError:
            pass
        finally:
            self.checked = True
            reader.disconnect()
            await asyncio.to_thread(reader.loop_stop)
        _LOG.log(
            logging.INFO if self.rights == "closed" else logging.WARNING, "access", extra={"outcome": self.rights}
        )


def _prepare(client: mqtt.Client, config: BrokerConfig, user: str, password: str) -> None:
    client.max_inflight_messages_set(100)
    if user:
        client.username_pw_set(user, password)
    if config.tls:
        context: Any = ssl.create_default_context(cafile=config.ca or None)
        client.tls_set_context(context)
