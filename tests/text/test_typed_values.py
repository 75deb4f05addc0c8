from __future__ import annotations

from typing import Any

import pytest

import geoveil as gv
from geoveil.text.typed_values import LENGTH
from tests.command_line import LOCAL

LENGTHS = {
    "200m": 200.0,
    "200 m": 200.0,
    "200": 200.0,
    "1.5 km": 1500.0,
    "5KM": 5000.0,
    "2 kilometres": 2000.0,
    "300ft": 91.44,
    "300 feet": 91.44,
    "0.5 miles": 804.672,
    "1 mi.": 1609.344,
}


@pytest.mark.parametrize(("text", "metres"), LENGTHS.items())
def test_lengths_are_read(text: str, metres: float) -> None:
    """Units may be short or whole words, in capitals, and after a space."""
    assert LENGTH.read(text) == pytest.approx(metres, rel=1e-15)


@pytest.mark.parametrize("text", ["", "m", "-5m", "0m", "5 yards", "1,5km", "1,000m", "2 m m", "nan"])
def test_other_lengths_are_refused(text: str) -> None:
    """A comma is refused, as it may separate thousands or decimals."""
    assert LENGTH.read(text) is None


def test_lone_distance_means_75(run: Any) -> None:
    """`--hide 200m` and `hiding(distance=200)` have the chance of 75%."""
    assert gv.CGP.hiding(distance=200) == gv.CGP.hiding(distance=200, chance=0.75)
    assert gv.GP.hiding(distance=200) == gv.GP.hiding(distance=200, chance=0.75)
    ran = run("points", "trips.csv", *LOCAL, "--person", "user", "--hide", "200 m", "--dry-run")
    assert ran.code == 0
    assert str(gv.CGP.hiding(distance=200)) in " ".join(ran.out.split())
    other = run("points", "trips.csv", *LOCAL, "--person", "user", "--hide", "200m", "--chance", "60%", "--dry-run")
    assert str(gv.CGP.hiding(distance=200, chance=0.6)) in " ".join(other.out.split())


def test_chance_needs_distance(run: Any) -> None:
    """`--chance` alone, or with a level, is refused."""
    ran = run("points", "trips.csv", *LOCAL, "--rho", "1e-4", "--chance", "75%", "--dry-run")
    assert ran.code == 2
    assert "--hide" in ran.err
