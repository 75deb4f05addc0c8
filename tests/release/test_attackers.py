"""What reports say that an attacker gains by averages and smoothing: from public facts, and true of attacks."""

from __future__ import annotations

import re
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil.release.attackers import attackers_gains

BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)


def walk(**how: object) -> gv.Locations:
    """Two persons who stay at one place each."""
    frame = pd.DataFrame({"user": np.repeat(["ann", "bob"], 48), "lat": 37.77, "lon": -122.42})
    frame["time"] = [*pd.date_range("2026-05-04", periods=48, freq="h")] * 2
    return gv.Locations(frame, person="user", area=BAY, **how)  # type: ignore[arg-type]


@pytest.mark.slow
def test_sentences_use_public_facts() -> None:
    """Releases of other places with the same times and noise have the same sentences, which attacks confirm."""
    here = walk()
    release = here.points(rho=1e-4)
    average, smoothed = attackers_gains(release)
    assert "about 100 m off" in average
    assert attackers_gains(here.points(rho=1e-4)) == (average, smoothed)
    found = here.attack(release, motion="walking")
    said = float(re.findall(r"about ([0-9.]+) m off for people who walk", smoothed)[0])
    # They stay at one place: smoothing does better than for people who walk.
    assert found["smoothing"].root_mean_square < said
    assert found["averaging"].bound == 100


def test_reports_have_the_sentences(tmp_path: Path) -> None:
    """The card about attackers of a page has them; answers, and points in no order, have none of tracks."""
    here = walk()
    here.points(rho=1e-4).report(tmp_path / "points.html")
    page = (tmp_path / "points.html").read_text()
    card = page[page.index("What an attacker can learn") :]
    assert "Anyone may smooth the tracks" in card
    here.center(rho=1e-4).report(tmp_path / "center.html")
    assert "averages all points" not in (tmp_path / "center.html").read_text()
    assert attackers_gains(here.points(rho=1e-4, order="hidden")) == ()
    assert attackers_gains(here.points(epsilon=0.01)) == ()


def test_days_add_up() -> None:
    """Where any day is hidden, an average over all days comes nearer."""
    (average, _) = attackers_gains(walk(protect="1 day").points(rho=1e-4))
    (whole, _) = attackers_gains(walk().points(rho=1e-4))
    near, far = (float(re.findall(r"about ([0-9.]+) m off", each)[0]) for each in (average, whole))
    assert near < 0.8 * far


def test_tracks_without_smoothing() -> None:
    """Without times there is the sentence about averages alone; smoothed tracks are not smoothed again."""
    places = geopandas.GeoSeries.from_xy([-122.41, -122.45], [37.78, 37.76], crs=4326)
    assert len(attackers_gains(gv.Locations(places, area=BAY).points(rho=1e-4))) == 1
    assert len(attackers_gains(walk().points(rho=1e-4).smooth("walking"))) == 1
