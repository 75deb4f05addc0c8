"""Zones in the service: at places of the configuration readers see a disc, and the ledger nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from geoveil.errors import GeoveilError
from geoveil.serve.config import read_config
from geoveil.serve.service import Service
from tests.serve.serving import FINE, TRUE, config_in, now, running

ZONE = '[[person.zone]]\nplace = "file:home.txt"\nname = "home"\n'


def zoned(folder: Path) -> Path:
    """A configuration in which bob has a zone around his home."""
    (folder / "home.txt").write_text(f"{TRUE[0]},{TRUE[1]}\n")
    return config_in(folder, ZONE)


def test_configured_zones_are_kept(tmp_path: Path) -> None:
    """A ping at home is answered with the disc, the same after a restart; one on the way out with noise."""
    path, at = zoned(tmp_path), now() - 7200
    with running(path) as service:
        inside = service.ping("bob/phone", at)
        assert (inside["zone"], inside["left"], inside["radius_95"]) == ("home", 5e-4, 599)
        assert service.ping("ann/phone", at).get("zone") is None
        (place,) = service.ask("GET", "/v1/places/bob", "owner").json()["features"]
        assert place["geometry"]["coordinates"] == [inside["place"]["lon"], inside["place"]["lat"]]
        assert "outside of zones" in service.ask("GET", "/live", "owner").text
    with running(path) as service:
        again = service.ping("bob/phone", at + 120)
        assert (again["place"], again["new"]) == (inside["place"], False)
        outside = service.ping("bob/phone", at + 240, (TRUE[0] + 0.03, TRUE[1]))
        assert "zone" not in outside
        assert outside["left"] < 5e-4
        stored = [json.loads(answer) for _, answer in service.pings_of("bob")]
        assert [len(each) for each in stored] == [4, 4, 3]
    kept = [each for each in tmp_path.iterdir() if each.name.startswith("budget")]
    assert kept
    assert not any(digits.encode() in each.read_bytes() for each in kept for digits in FINE)


def test_left_out_zones_stay(tmp_path: Path) -> None:
    """A zone that is taken out of the file hides its place as before, and the start and the live page say so."""
    path, at = zoned(tmp_path), now() - 7200
    with running(path) as service:
        assert not service.service.kept_zones()
        inside = service.ping("bob/phone", at)
    with running(config_in(tmp_path)) as service:
        again = service.ping("bob/phone", at + 120)
        assert (again["zone"], again["place"], again["left"]) == ("home", inside["place"], inside["left"])
        (said,) = service.service.kept_zones()
        assert said.startswith("bob has 1 zone that the configuration does not name.")
        assert said in service.ask("GET", "/live", "owner").text
    # What the page advises.
    path.write_text(path.read_text().replace('name = "bob"', 'name = "robert"'))
    with running(path) as service:
        assert "zone" not in service.ping("robert/phone", at + 240)
        assert not service.service.kept_zones()


@pytest.mark.parametrize(("place", "said"), [("nowhere", "places"), ("91,0", "places"), ("1,2,3", "places")])
def test_bad_zones_are_refused(place: str, said: str, tmp_path: Path) -> None:
    """They are refused at the start, with the name of the person."""
    path = config_in(tmp_path, ZONE.replace("file:home.txt", place))
    with pytest.raises(GeoveilError, match=said) as refused:
        Service(read_config(path))
    assert any("bob" in note for note in refused.value.__notes__)
