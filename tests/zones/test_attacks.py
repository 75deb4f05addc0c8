"""Attacks find what is badly hidden, and come no nearer than the centre allows where only the circle is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from geoveil.mechanisms.discs import RADIUS, STEPS, UniformDisc
from geoveil.noise import source_of
from geoveil.noise.reals import Floats
from geoveil.zones import (
    Attempt,
    Hiding,
    Rules,
    Zone,
    attacks,
    attempts,
    cut,
    places_of,
    places_of_tracks,
    propose_places,
)
from geoveil.zones.cutting import around

HOME = (47.37, 8.54)
METRE = math.degrees(1 / RADIUS)
HIDING = Hiding.of(hide=200)


def at(metres: Floats) -> Floats:
    """Return longitudes and latitudes of points about so many metres east and north of the home."""
    return np.column_stack(
        [HOME[1] + metres[:, 0] * METRE / math.cos(math.radians(HOME[0])), HOME[0] + metres[:, 1] * METRE]
    )


def trips(count: int, bend: float, seed: int = 1) -> tuple[Floats, NDArray[np.int64]]:
    """Return tracks from home that bend by so many degrees a kilometre, and the number of the track of each point."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(count):
        ways = rng.uniform(0, 2 * np.pi) + np.cumsum(np.radians(bend) * rng.normal(size=300) * 0.01**0.5)
        parts.append(np.cumsum(10 * np.column_stack([np.cos(ways), np.sin(ways)]), axis=0))
    return at(np.concatenate(parts)), np.repeat(np.arange(count), 300)


def true_zone() -> Zone:
    """Return a zone of the usual radius around the home itself."""
    return Zone("true", (round(HOME[0] * STEPS), round(HOME[1] * STEPS)), Hiding(UniformDisc(10), 488))


def drawn(seed: int) -> Zone:
    """Return a zone with a random centre."""
    return Zone("drawn", HIDING.law.draw(*HOME, source_of(np.random.default_rng(seed))), HIDING)


@pytest.mark.slow
def test_circles_are_found() -> None:
    """Ten tracks that end on a circle around home tell its middle within 15 m; around a random centre, the centre."""
    degrees, tracks = trips(10, 30)
    for zone, near in ((true_zone(), 15), (drawn(3), None)):
        found = cut([zone], degrees, None, tracks)
        ends = attacks.zone_ends(zone, degrees[found.rows], found.pieces)
        assert len(ends) == 10
        guess = attacks.fit_circle(ends, zone.radius)
        assert np.hypot(*guess) < 15
        home = around(zone, np.array([HOME[::-1]]))[0]
        error = float(np.hypot(*(guess - home)))
        assert error < near if near else error == pytest.approx(float(np.hypot(*home)), abs=15)


@pytest.mark.slow
def test_circle_fit_error() -> None:
    """Over many draws its median error is 0.8 of the hidden distance or more: it cannot do better than the centre."""
    degrees, tracks = trips(10, 60)
    errors = []
    for seed in range(25):
        zone = drawn(seed)
        found = cut([zone], degrees, None, tracks)
        guess = attacks.fit_circle(attacks.zone_ends(zone, degrees[found.rows], found.pieces), zone.radius)
        errors.append(float(np.hypot(*(guess - around(zone, np.array([HOME[::-1]]))[0]))))
    assert np.median(errors) >= 0.8 * 200


def test_straight_tracks_meet() -> None:
    """Straight tracks meet at home.

    Nothing hides the place from someone who extends straight lines, and the owner is told so.
    """
    degrees, tracks = trips(20, 0.5)
    [attempt] = attempts(drawn(1), places_of(HOME)[0], degrees, None, tracks, rules=[Rules()])
    assert attempt.ends == 20
    assert attempt.metres["lines"] < 15
    assert attempt.nearest == attempt.metres["lines"]
    assert attempt.metres["centre"] > 60


def test_attackers_know_shortening() -> None:
    """Straight tracks point at home from wherever they are made to end: taking off their ends is no remedy."""
    degrees, tracks = trips(20, 0.5)
    zone = drawn(1)
    [attempt] = attempts(zone, places_of(HOME)[0], degrees, None, tracks, rules=[Rules(trim=500.0)])
    assert attempt.ends == 20
    assert attempt.metres["lines"] < 15
    # Where tracks run together may be farther away than where they would end by themselves.
    begins = at(np.column_stack([np.arange(1300.0, 2000, 10), np.zeros(70)]))
    found = [len(attacks.zone_ends(zone, begins, np.zeros(70, dtype=int), Rules(together=n))) for n in (1, 2)]
    assert found == [0, 1]


def test_winding_tracks_hide() -> None:
    """Tracks that turn before the disc point anywhere."""
    degrees, tracks = trips(20, 120)
    [attempt] = attempts(drawn(1), places_of(HOME)[0], degrees, None, tracks, rules=[Rules()])
    assert attempt.metres["lines"] > 100


@pytest.mark.slow
def test_roads_lead_home() -> None:
    """On a grid of streets, exits and the ways beyond tell the crossing; without the map they tell less."""
    rng = np.random.default_rng(4)
    line = np.arange(-3000.0, 3001, 10)
    streets = [at(np.column_stack([line, np.full_like(line, y)])) for y in range(-3000, 3001, 200)]
    streets += [at(np.column_stack([np.full_like(line, x), line])) for x in range(-3000, 3001, 200)]
    parts = []
    for _ in range(30):
        # First along one street of the home's crossing and then along another, as far as one likes.
        x, y = rng.choice([-2800, -2400, -1800, 1800, 2400, 2800], 2)
        legs = [np.array([[0.0, 0.0], [x, 0.0], [x, y]]), np.array([[0.0, 0.0], [0.0, y], [x, y]])][rng.integers(2)]
        lengths = [max(int(np.abs(np.diff(legs[i : i + 2], axis=0)).sum() // 10), 1) for i in (0, 1)]
        parts.append(np.concatenate([np.linspace(legs[i], legs[i + 1], lengths[i]) for i in (0, 1)]))
    degrees, tracks = at(np.concatenate(parts)), np.repeat(np.arange(30), [len(part) for part in parts])
    errors = []
    for seed in range(4):
        [known] = attempts(drawn(seed), places_of(HOME)[0], degrees, None, tracks, rules=[Rules()], roads=streets)
        errors.append(known.metres["roads"])
    assert np.median(errors) < 80


def test_useless_maps_add_nothing() -> None:
    """The published pieces alone have no road in the disc: the guess is that of directions."""
    degrees, tracks = trips(6, 20)
    [attempt] = attempts(drawn(2), places_of(HOME)[0], degrees, None, tracks, rules=[Rules()])
    assert attempt.metres["roads"] == attempt.metres["headings"]


def test_endless_tracks() -> None:
    """Tracks that never leave the disc tell the centre, which is published, and nothing else."""
    inside = at(np.zeros((5, 2)))
    [attempt] = attempts(drawn(2), places_of(HOME)[0], inside, rules=[Rules()])
    assert attempt.ends == attempt.published == 0
    assert attempt.metres["headings"] == pytest.approx(attempt.metres["centre"], abs=20)
    assert set(attempt.metres) == {"centre", "headings", "roads"}


def test_rules_are_compared() -> None:
    """The owner sees for each way of shortening ends what is left and how near attacks come."""
    degrees, tracks = trips(12, 20)
    found = attempts(drawn(5), places_of(HOME)[0], degrees, None, tracks)
    assert [attempt.rules.shortened for attempt in found] == ["", "200m", "500m", "2 tracks", "5 tracks"]
    assert found[0].published > found[1].published > found[2].published
    assert all(attempt.nearest >= 0 for attempt in found)


def attempted(rules: Rules, metres: float, published: float = 9000.0, ends: int = 4) -> Attempt:
    """Return an attempt that comes so near."""
    return Attempt(rules, ends, {"centre": 170.0, "circle": 5.0, "lines": metres, "headings": metres + 9}, published)


def test_owner_is_told() -> None:
    """The owner is told in words.

    How near attacks come, and what helps: only what gains clearly, the most first, with what it costs.
    """
    found = attempted(Rules(), 60.0)
    others = [
        *(attempted(Rules(trim=200.0), 140.0, 8600.0), attempted(Rules(together=2), 150.0, 8100.0)),
        *(attempted(Rules(together=5), 70.0), attempted(Rules(trim=500.0), 300.0, 0.0)),
    ]
    told = str(found.told(others))
    assert "with the 4 ends of your tracks at the disc and the roads that they show comes within 60 m" in told
    assert 'What helps: shorten="2 tracks" (150 m, and 900 m of track less); shorten="200m" (140 m' in told
    assert "5 tracks" not in told
    assert "500m" not in told
    assert "a map of roads comes within" in str(found.told(others, roads=True))
    assert "No way to shorten tracks" in str(found.told(others[2:]))
    assert "No track ends at the disc" in str(attempted(Rules(), 60.0, ends=0).told(others))


def test_several_discs() -> None:
    """A new place will have another disc: each attack is told by its median over some."""
    several = [attempted(Rules(), metres, published) for metres, published in ((10.0, 1.0), (50.0, 3.0), (20.0, 2.0))]
    typical = Attempt.typical(several)
    assert (typical.metres["lines"], typical.published, typical.ends) == (20.0, 2.0, 4)


def test_places_are_proposed() -> None:
    """Ends are those of tracks and of long pauses; nights are those of the sun, and without times there are none."""
    days = 5
    out = at(np.column_stack([np.linspace(0, 4000, 30), np.zeros(30)]))
    track = np.concatenate([out, out[::-1]])
    hour = 8.0 - HOME[1] / 15
    seconds = np.concatenate([hour * 3600 + np.arange(30) * 60, (hour + 14) * 3600 + np.arange(30) * 60])
    degrees, tracks = np.tile(track, (days, 1)), np.repeat(np.arange(days), 60)
    times = np.concatenate([seconds + 86400.0 * day for day in range(days)])
    found = places_of_tracks(degrees, times, tracks)
    assert [(each.ends, each.nights) for each in found] == [(2 * days, days), (2 * days, days)]
    # As one track, pauses part it.
    assert [each.ends for each in places_of_tracks(degrees, times)] == [2 * days, 2 * days]
    assert [(each.ends, each.nights) for each in places_of_tracks(degrees, None, tracks)] == [(2 * days, 0)]
    assert places_of_tracks(degrees[:0]) == []


def test_nights_propose_places() -> None:
    """Where tracks begin and end, the place of most nights comes first; lone ends are no place."""
    rng = np.random.default_rng(2)
    home, work = rng.normal(size=(20, 2)) * 15, rng.normal(size=(30, 2)) * 15 + [3000, 0]
    ends = at(np.concatenate([home, work, [[9000.0, 0.0], [0.0, 9000.0]]]))
    hours = np.concatenate([np.full(20, 22.0), np.full(30, 12.0), [3.0, 3.0]])
    found = propose_places(ends, hours)
    assert [(each.ends, each.nights) for each in found] == [(20, 20), (30, 0)]
    assert found[0].place.distance(places_of(HOME)[0]) < 15
    assert [each.ends for each in propose_places(ends)] == [30, 20]
    assert propose_places(ends[:0]) == []
