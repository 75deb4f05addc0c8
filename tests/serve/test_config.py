"""The configuration: what is read, and what is refused with the place in the file and what is allowed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from geoveil.errors import FileUnavailable, GeoveilError, InvalidFile
from geoveil.serve.config import EXAMPLE, read_config
from geoveil.serve.desk import stream_of
from geoveil.serve.service import Service
from tests.serve.mosquitto import RULES
from tests.serve.serving import config_in

DAY = 86_400 * 10**6
_PERSON = """
[[person]]
name = "ann"
rho = 5e-4
protect = "1 day"
area = "San Francisco"
[[person.device]]
name = "phone"
"""
_SERVICE = '[service]\nledger = "budget.db"\n'


def read(folder: Path, text: str) -> object:
    """The configuration in a text."""
    path = folder / "geoveil.toml"
    path.write_text(text)
    return read_config(path)


def test_example_is_a_configuration(tmp_path: Path) -> None:
    """The example can be used as it is: it publishes at the service's own clock, and limits a year as well."""
    path = tmp_path / "geoveil.toml"
    path.write_text(EXAMPLE)
    config = read_config(path)
    assert (config.publish, config.host, config.port) == (600 * 10**6, "127.0.0.1", 8033)
    assert config.ledger == str(tmp_path / "budget.db")
    service = Service(config)
    assert [each.metric.name for each in service.promises["ann"].guarantees] == ["1 day", "365 days"]
    assert service.ledger.account("ann").total.metric.name == "1 day"
    service.close()


def test_secrets_come_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials may be in the environment or in files beside the configuration."""
    monkeypatch.setenv("ANN_KEY", "from the environment")
    (tmp_path / "token").write_text("from a file\n")
    target = '\n[[target]]\nkind = "dawarich"\nurl = "https://x"\ntoken = "file:token"\n'
    text = _SERVICE + _PERSON + 'key = "env:ANN_KEY"\n' + target
    config = read(tmp_path, text)
    assert config.persons[0].devices[0].key == "from the environment"  # type: ignore[attr-defined]
    assert config.targets[0].token == "from a file"  # type: ignore[attr-defined]


def test_defaults_and_other_values(tmp_path: Path) -> None:
    """Times are lengths of time in words, and everything else has a default."""
    given = _SERVICE + 'max_age = "2 days"\nkeep = "10 days"\npublish = "every ping"\nlisten = "[::1]:99"\n' + _PERSON
    config = read(tmp_path, given)
    found = (config.max_age, config.keep, config.publish, config.host, config.port)  # type: ignore[attr-defined]
    assert found == (2 * DAY, 10 * DAY, 0, "::1", 99)
    person = config.persons[0]  # type: ignore[attr-defined]
    assert (person.label, person.topic) == ("AN", "ann/phone")


REFUSED = {
    "no TOML": ("[service", "TOML"),
    "no ledger": ("[service]\n" + _PERSON, "ledger"),
    "no person": (_SERVICE, "at least one person"),
    "an unknown table": (_SERVICE + "[peron]\n" + _PERSON, "peron"),
    "an unknown setting": (_SERVICE + "publsh = 1\n" + _PERSON, "publsh"),
    "a wrong address": (_SERVICE + 'listen = "8033"\n' + _PERSON, "127.0.0.1:8033"),
    "no time of publication": (_SERVICE + 'publish = "sometimes"\n' + _PERSON, "every ping"),
    "no length of time": (_SERVICE + 'keep = "long"\n' + _PERSON, "keep"),
    "two of a name": (_SERVICE + _PERSON + _PERSON, "given once"),
    "a name with a slash": (_SERVICE + _PERSON.replace('"ann"', '"a/b"'), "small letters"),
    "no device": (_SERVICE + _PERSON.partition("[[person.device]]")[0], "person.device"),
    "an unknown friend": (
        _SERVICE + _PERSON.replace("[[person.device]]", 'friends = ["eve"]\n[[person.device]]'),
        "eve",
    ),
    "a missing area": (_SERVICE + _PERSON.replace('area = "San Francisco"', ""), "area"),
    "a number for a text": (_SERVICE + _PERSON.replace('"San Francisco"', "5"), "a text"),
    "a zone without a place": (_SERVICE + _PERSON + "[[person.zone]]\nhide = 200\n", "place"),
    "an unset variable": (_SERVICE + _PERSON + 'key = "env:NO_SUCH_VARIABLE"\n', "environment variable"),
    "a missing file": (_SERVICE + _PERSON + 'key = "file:nowhere"\n', "readable file"),
    "another epoch": (_SERVICE + _PERSON + "tst_epoch = 1980\n", "1970 or 2001"),
    "an unknown kind": (_SERVICE + _PERSON + '[[target]]\nkind = "fax"\n', "home-assistant"),
    "a target without an address": (_SERVICE + _PERSON + '[[target]]\nkind = "dawarich"\n', "https://"),
    "an unknown person": (
        _SERVICE + _PERSON + '[[target]]\nkind = "reitti"\nurl = "http://x"\npersons = ["eve"]\n',
        "a person of the file",
    ),
    "MQTT without a broker": (_SERVICE + _PERSON + '[[target]]\nkind = "mqtt"\n', "[mqtt]"),
    "a broker without a host": (_SERVICE + _PERSON + "[mqtt]\ntls = false\n", "host"),
    "a port in words": (_SERVICE + _PERSON + '[mqtt]\nhost = "x"\nport = "many"\n', "a whole number"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_wrong_configurations_are_refused(what: str, tmp_path: Path) -> None:
    """The error names the file, and what is allowed."""
    text, allowed = REFUSED[what]
    with pytest.raises(InvalidFile) as refused:
        read(tmp_path, text)
    assert "geoveil.toml" in str(refused.value)
    assert allowed in str(refused.value)


def test_missing_file_has_remedy(tmp_path: Path) -> None:
    """A file that does not exist is said to be made from the example."""
    with pytest.raises(FileUnavailable, match="--example"):
        read_config(tmp_path / "nowhere.toml")


@pytest.mark.parametrize("change", [('"San Francisco"', '"Nowhere at All"'), ("5e-4", "-1"), ('"1 day"', '"user"')])
def test_wrong_promises_are_refused(change: tuple[str, str], tmp_path: Path) -> None:
    """A stream that cannot be opened is refused before the service takes in anything, and the person is named."""
    config = read_config(config_in(tmp_path))
    path = tmp_path / "geoveil.toml"
    path.write_text((_SERVICE + _PERSON).replace(*change))
    with pytest.raises(GeoveilError) as refused:
        Service(read_config(path))
    assert "ann" in "".join(refused.value.__notes__)
    assert config.persons


def test_changed_promises_are_refused(tmp_path: Path) -> None:
    """A person whose promise was paid cannot be given another one by a change of the file."""
    path = tmp_path / "geoveil.toml"
    path.write_text(_SERVICE + _PERSON)
    Service(read_config(path)).close()
    path.write_text(_SERVICE + _PERSON.replace("5e-4", "5e-3"))
    with pytest.raises(GeoveilError, match="opened with the same promise"):
        Service(read_config(path))


def test_documented_configurations_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All configuration on the page about the service is read, and its access rules are those of the tests."""
    page = (Path(__file__).parent.parent.parent / "docs" / "do" / "serve.md").read_text()
    pieces = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    for name in ("MQTT_PASSWORD", "MQTT_READER"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("HA_WEBHOOK", "https://home.example/api/webhook/x")
    tables = [piece for piece in pieces if piece.startswith("[")]
    config = read(tmp_path, "\n".join(tables))
    assert [target.kind for target in config.targets] == ["mqtt", "home-assistant"]  # type: ignore[attr-defined]
    assert [person.name for person in config.persons] == ["ann", "bob"]  # type: ignore[attr-defined]
    for person in config.persons:  # type: ignore[attr-defined]
        assert stream_of(person).guarantee.metric.name == "1 day"
    assert RULES.strip() in [piece.strip() for piece in pieces]
