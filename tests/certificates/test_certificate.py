"""Certificates: all of them are as the published schema says, and say in words what they mean."""

from __future__ import annotations

import importlib.resources
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import geoveil as gv
from tests.formats import BAY, make, people
from tests.questions import release_of

X = np.random.default_rng(0).normal(scale=3000.0, size=(40, 2))
RELEASES: dict[str, Any] = {
    "points": lambda: gv.Locations(X).points(rho=1e-4),
    "points by person": lambda: gv.Locations(X, person=np.arange(40) % 7).points(epsilon=0.01),
    "both": lambda: gv.Locations(X).mean(rho=1e-4, method="both"),
    "paper": lambda: gv.paper.hull(X, rho=1e-2),
    "hull": lambda: gv.Locations(X, person=np.arange(40) % 2).hull(rho=1e-2),
    "nearest": lambda: gv.Locations(X).nearest((0, 0), k=3, rho=gv.CGP(rho=1e-3, metric="2"), locations=0.5),
    "frame": lambda: gv.Locations(people(), person="user", area=BAY, outside="clamp").points(
        rho=gv.CGP(rho=1e-4, metric="1")
    ),
    "function": lambda: gv.Locations(X).answer(lambda x: x[0, 0], lipschitz=1, rho=1e-4),
    "experiment": lambda: gv.Locations(X, rng=np.random.default_rng(1)).center(rho=1e-4),
    "smoothed": lambda: gv.Locations(X).points(rho=1e-4).smooth("car", times=np.arange(40) * 60.0),
}


@cache
def schema() -> Any:
    """The published one."""
    found = json.loads((importlib.resources.files("geoveil.certificates") / "certificate.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.parametrize("name", RELEASES)
def test_certificates_follow_schema(name: str) -> None:
    """Every certificate is valid by the schema, and a broken one is not."""
    account = json.loads(json.dumps(RELEASES[name]().certificate()))
    schema().validate(account)
    for broken in (
        {**account, "notion": "DP"},
        {**account, "n": 0},
        {**account, "true_center": [1, 2]},
        {k: v for k, v in account.items() if k != "words"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            schema().validate(broken)


def test_files_and_sessions(tmp_path: Path) -> None:
    """Certificates of files and sessions. With the file, its digest, and the ledger's entry."""
    path, told = make("trips.csv", tmp_path)
    release_of("points", path, to=tmp_path / "out.csv", rho=1e-4, **told)
    schema().validate(json.loads((tmp_path / "out.csv.certificate.json").read_text()))
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1)
    release = gv.Locations(X).session(ledger=ledger, subject="ann").mean(rho=1e-4)
    schema().validate(release.certificate())
    assert "charged to a ledger" in release.certificate()["words"]


def test_words_of_certificates() -> None:
    """Words say what is meant. At which distance a guess is right 75% of the time, and how wrong the answer is."""
    release = gv.Locations(X).points(rho=gv.CGP.hiding(distance=200, chance=0.75))
    words = release.certificate()["words"]
    assert "no location differs by more than 200 m" in words
    assert "at most 75% of the time" in words
    assert "with probability 95%" in words
    assert "not exact" not in words
    assert "not exact" in gv.Locations(X, rng=np.random.default_rng(1)).points(rho=1e-4).certificate()["words"]


def test_hidden_distance_inverts_attacker() -> None:
    """The hidden distance is the inverse of an attacker's probability."""
    for guarantee in (gv.CGP(rho=5e-5), gv.GP(epsilon=0.02)):
        assert guarantee.attacker(distance=guarantee.hidden(chance=0.8)) == pytest.approx(0.8)
    with pytest.raises(gv.errors.IncompatibleGuarantees):
        gv.GP(epsilon=0.1, delta=1e-6, within=100).hidden(chance=0.75)
