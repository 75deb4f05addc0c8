"""The configuration of a service, read from a TOML file: persons, devices, targets, and when places are published."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from geoveil.errors import FileUnavailable, InvalidFile, InvalidInput
from geoveil.privacy import as_duration
from geoveil.privacy.durations import MICROSECONDS

__all__ = [
    "EXAMPLE",
    "BrokerConfig",
    "Config",
    "DeviceConfig",
    "PersonConfig",
    "TargetConfig",
    "ZoneConfig",
    "read_config",
]

T = TypeVar("T")

#: Names of persons, devices and targets: they are parts of topics and addresses.
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
#: The kinds of targets; the last one is reached through the broker, the others over HTTP.
_TARGETS = ("recorder", "home-assistant", "dawarich", "geopulse", "reitti", "mqtt")

#: The types of fields, and how they are named.
_KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "a text"),
    "int": (int, "a whole number"),
    "bool": (bool, "true or false"),
}

#: A configuration to begin with.
EXAMPLE = """\
# geoveil serve geoveil.toml
[service]
listen = "127.0.0.1:8033"     # put a proxy with TLS in front of it
ledger = "budget.db"          # or "postgresql://..."
publish = "every 10 min"      # at the service's own clock; or "every ping", which tells when a device sends

[[person]]
name = "ann"
rho = 5e-4                    # or hide = 30: metres hidden at 75%
protect = "1 day"             # any stretch of this length costs at most this budget
area = "San Francisco"        # where ann may be, from public knowledge
within = { "365 days" = 2e-3 }   # a second promise, about what is repeated every day
friends = []                  # persons whose released places the app of ann shows

[[person.device]]
name = "phone"
# key = "env:ANN_PHONE_KEY"   # the passphrase of encrypted OwnTracks payloads

# [[person.zone]]               # a place to which ann returns: readers see a disc around it, and nothing in it
# place = "file:home.txt"       # its latitude and longitude, such as 37.7793,-122.4193
# hide = 200                    # metres hidden at 75%
"""


@dataclass(frozen=True)
class DeviceConfig:
    """A phone or tracker of a person.

    `key` is the passphrase of encrypted OwnTracks payloads, `unique_id` the name of the device in Traccar, and
    `tst_epoch` the year from which it counts seconds (2001 for some iOS apps).
    """

    name: str
    key: str = ""
    unique_id: str = ""
    tst_epoch: int = 1970


@dataclass(frozen=True)
class ZoneConfig:
    """A place to which a person returns, and the metres that are hidden at 75%."""

    place: str
    name: str = ""
    hide: float | str = 200


@dataclass(frozen=True)
class PersonConfig:
    """A person, the promise of their stream, their devices and zones."""

    name: str
    protect: str
    area: str
    rho: float | str | None = None
    hide: float | str | None = None
    within: Mapping[str, float | str] | None = None
    motion: str = "person"
    every: str = "1 min"
    tid: str = ""
    friends: tuple[str, ...] = ()
    devices: tuple[DeviceConfig, ...] = ()
    zones: tuple[ZoneConfig, ...] = ()

    @property
    def topic(self) -> str:
        """What names the person in released messages, below the tree: the person and the first device."""
        return f"{self.name}/{self.devices[0].name}"

    @property
    def label(self) -> str:
        """The two letters on the maps of OwnTracks."""
        return self.tid or self.name[:2].upper()


@dataclass(frozen=True)
class TargetConfig:
    """A server to which published places are forwarded."""

    name: str
    kind: str
    persons: tuple[str, ...]
    url: str = ""
    token: str = ""
    user: str = ""
    #: The setting `max_gps_accuracy` of Home Assistant, which ignores places with a larger radius.
    max_gps_accuracy: float | None = None


@dataclass(frozen=True)
class BrokerConfig:
    """An MQTT broker, from whose tree pings are taken, and into another tree of which places are published."""

    host: str
    port: int = 8883
    tls: bool = True
    ca: str = ""
    user: str = ""
    password: str = ""
    client_id: str = "geoveil"
    pings: str = "owntracks"
    places: str = "veiled"
    #: Credentials of a reader, by which the service checks at its start that readers cannot see true pings.
    reader_user: str = ""
    reader_password: str = ""


@dataclass(frozen=True)
class Config:
    """The configuration of a service."""

    ledger: str
    persons: tuple[PersonConfig, ...]
    host: str = "127.0.0.1"
    port: int = 8033
    #: The file of centres of zones.
    centres: str = "centres.json"
    #: The time between two publications in microseconds; 0 publishes each ping that was answered.
    publish: int = 0
    #: How old a ping may be, and how long published places are kept, in microseconds.
    max_age: int = 30 * 86_400 * MICROSECONDS
    keep: int = 30 * 86_400 * MICROSECONDS
    #: Names of servers that send pings of several devices with one token, such as "traccar".
    gateways: tuple[str, ...] = ()
    targets: tuple[TargetConfig, ...] = ()
    broker: BrokerConfig | None = None


def read_config(path: Path) -> Config:
    """Return the configuration in a file; raise InvalidFile for what cannot be used."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        remedy = "`geoveil serve --example > geoveil.toml` writes one to begin with."
        raise FileUnavailable(str(path), problem.strerror or "cannot be read", "a readable file", remedy) from None
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise InvalidFile(str(path), str(problem), "TOML", "Correct the line that it names.") from None
    return _Reader(path).config(given)


class _Reader:
    """Reads the tables of one file; its errors name the file and the place in it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def config(self, given: dict[str, Any]) -> Config:
        self._known("the file", given, ("service", "person", "target", "mqtt"))
        service = self._table("[service]", given.get("service", {}))
        self._known("[service]", service, ("listen", "ledger", "centres", "publish", "max_age", "keep", "gateways"))
        if "ledger" not in service:
            self._refuse("[service]", "no ledger", 'a line such as ledger = "budget.db"')
        persons = tuple(self._person(each) for each in self._tables("person", given))
        names = [person.name for person in persons]
        if not persons:
            self._refuse("[[person]]", "no person", "at least one person")
        self._distinct("[[person]]", names)
        ids = [each.unique_id for person in persons for each in person.devices if each.unique_id]
        self._distinct("unique_id", ids)
        for person in persons:
            self._among(f"friends of {person.name}", person.friends, names)
        broker = self._filled(BrokerConfig, "[mqtt]", given["mqtt"]) if "mqtt" in given else None
        if broker is not None and _overlap(broker.pings, broker.places):
            allowed = "two trees of which neither contains the other"
            self._refuse("[mqtt] pings and places", (broker.pings, broker.places), allowed)
        targets = tuple(self._target(each, names, broker) for each in self._tables("target", given))
        self._distinct("[[target]]", [target.name for target in targets])
        host, port = self._address(service.get("listen", "127.0.0.1:8033"))
        times = {name: self._duration(name, service[name]) for name in ("max_age", "keep") if name in service}
        return Config(
            ledger=self._placed(self._secret("ledger", service["ledger"])),
            persons=persons,
            host=host,
            port=port,
            centres=self._placed(self._secret("centres", service.get("centres", Config.centres))),
            publish=self._publish(service.get("publish", "every 10 min")),
            gateways=tuple(self._names("gateways", service.get("gateways", ()))),
            targets=targets,
            broker=broker,
            **times,
        )

    def _person(self, given: dict[str, Any]) -> PersonConfig:
        where = f"[[person]] {given.get('name', '')}".strip()
        devices = tuple(self._filled(DeviceConfig, f"{where}, device", each) for each in self._tables("device", given))
        for device in devices:
            self._name(f"{where}, device", device.name)
            if device.tst_epoch not in (1970, 2001):
                self._refuse(f"{where}, tst_epoch", device.tst_epoch, "1970 or 2001")
        if not devices:
            self._refuse(where, "no device", "a table [[person.device]] with a name")
        self._distinct(f"{where}, devices", [device.name for device in devices])
        zones = tuple(self._filled(ZoneConfig, f"{where}, zone", each) for each in self._tables("zone", given))
        rest = {name: value for name, value in given.items() if name not in ("device", "zone")}
        person = self._filled(PersonConfig, where, {**rest, "devices": devices, "zones": zones})
        self._name(where, person.name)
        return person

    def _target(self, given: dict[str, Any], names: list[str], broker: BrokerConfig | None) -> TargetConfig:
        where = f"[[target]] {given.get('name', given.get('kind', ''))}".strip()
        target = self._filled(TargetConfig, where, {"name": given.get("kind", ""), "persons": names, **given})
        self._name(where, target.name)
        if target.kind not in _TARGETS:
            self._refuse(f"{where}, kind", target.kind, f"one of {', '.join(_TARGETS)}")
        self._among(f"{where}, persons", target.persons, names)
        if target.kind == "mqtt" and broker is None:
            self._refuse(where, "no broker", "a table [mqtt] with its host")
        if target.kind != "mqtt" and not re.match(r"https?://[^/\s]+", target.url):
            self._refuse(f"{where}, url", target.url, "an address that begins with http:// or https://")
        return target

    def _filled(self, kind: Callable[..., T], where: str, given: object) -> T:
        """Return a dataclass whose fields are the entries of a table."""
        table, known = self._table(where, given), {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
        self._known(where, table, known)
        filled: dict[str, Any] = {}
        for name, value in table.items():
            if name in ("key", "token", "password", "reader_password", "url", "place"):
                value = self._secret(f"{where}, {name}", value)
            if name in ("friends", "persons"):
                value = tuple(self._names(f"{where}, {name}", value))
            wanted, allowed = _KINDS.get(str(known[name].type), (object, ""))
            if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is int):
                self._refuse(f"{where}, {name}", value, allowed)
            filled[name] = value
        try:
            return kind(**filled)
        except TypeError as problem:
            missing = re.findall(r"'(\w+)'", str(problem))
            self._refuse(where, f"without {' and '.join(missing)}", f"a table with {', '.join(missing)}")

    def _secret(self, where: str, value: object) -> str:
        """Return a text, or what the environment variable or the file that it names contains."""
        if not isinstance(value, str):
            self._refuse(where, value, "a text")
        kind, _, name = value.partition(":")
        if kind == "env":
            if name not in os.environ:
                self._refuse(where, value, "the name of an environment variable that is set")
            return os.environ[name]
        if kind == "file":
            try:
                return (self._path.parent / name).read_text(encoding="utf-8").strip()
            except OSError:
                self._refuse(where, value, "the path of a readable file")
        return value

    def _placed(self, ledger: str) -> str:
        """Return the place of a ledger: paths are relative to the folder of the configuration."""
        from geoveil.budget.stores import is_database

        return ledger if is_database(ledger) else str(self._path.absolute().parent / ledger)

    def _publish(self, text: object) -> int:
        if text == "every ping":
            return 0
        if not isinstance(text, str) or not text.startswith("every "):
            self._refuse("publish", text, '"every ping", or "every" and a length of time')
        return self._duration("publish", text.removeprefix("every "))

    def _duration(self, where: str, value: object) -> int:
        try:
            return as_duration(where, value)  # type: ignore[arg-type]
        except InvalidInput as problem:
            self._refuse(where, value, problem.allowed)

    def _address(self, text: object) -> tuple[str, int]:
        host, _, port = str(text).rpartition(":")
        if not host or not port.isdigit() or int(port) > 65535:
            self._refuse("listen", text, 'an address and a port, such as "127.0.0.1:8033"')
        return host.strip("[]"), int(port)

    def _table(self, where: str, given: object) -> dict[str, Any]:
        if not isinstance(given, dict):
            self._refuse(where, given, "a table")
        return given

    def _tables(self, name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
        tables = given.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
            self._refuse(name, tables, f"tables, each under [[{name}]]")
        return tables

    def _names(self, where: str, given: object) -> list[str]:
        if not isinstance(given, (list, tuple)) or not all(isinstance(each, str) for each in given):
            self._refuse(where, given, "a list of names")
        return [*given]

    def _name(self, where: str, name: str) -> None:
        if not _NAME.fullmatch(name):
            self._refuse(f"{where}, name", name, "at most 64 small letters, digits, dots, - and _")

    def _known(self, where: str, given: Iterable[str], known: Iterable[str]) -> None:
        known = [*known]
        for name in given:
            if name not in known:
                self._refuse(where, name, f"one of {', '.join(known)}")

    def _among(self, where: str, given: Iterable[str], names: list[str]) -> None:
        for name in given:
            if name not in names:
                self._refuse(where, name, f"a person of the file: {', '.join(names)}")

    def _distinct(self, where: str, names: list[str]) -> None:
        for name in {name for name in names if names.count(name) > 1}:
            self._refuse(where, name, "a name that is given once")

    def _refuse(self, where: str, value: object, allowed: Any) -> NoReturn:
        raise InvalidFile(f"{self._path}: {where}", value, allowed, "Correct it, and start again.")


def _overlap(one: str, other: str) -> bool:
    """Tell whether one tree of topics contains the other."""
    a, b = one.split("/"), other.split("/")
    return a[: len(b)] == b[: len(a)]
