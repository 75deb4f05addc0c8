"""Zones in a stream: inside nothing is drawn, charged or told but the zone; outside is as ever."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geoveil as gv
from geoveil.errors import InvalidParameter, LedgerError
from geoveil.live import stream as stream_module
from geoveil.live import zones as zones_module
from geoveil.live.joint import JointCommit
from geoveil.live.positions import degrees_of
from geoveil.live.store import LedgerStore, MemoryStore
from geoveil.live.zones import StreamZone, zone_at
from geoveil.zones import Hiding, Zone, distances
from tests.live.streams import AREA, DAY, HOME, MICROSECONDS, START, Draws, answers, reopened, stream

#: A place two kilometres from home, and one 40 m from it.
AWAY = {"lat": HOME["lat"] + 0.02, "lon": HOME["lon"]}
GARDEN = {"lat": HOME["lat"] + 0.0003, "lon": HOME["lon"] + 0.0002}
AT_HOME = f"{HOME['lat']},{HOME['lon']}"


def zoned(folder: Path, **options: Any) -> gv.Stream:
    """A stream with a zone around home."""
    one = stream(5e-4, **options)
    one.zone(AT_HOME, name="home", centres=folder / "centres.json")
    return one


def test_zones_spend_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day at home draws and charges nothing, and shows the disc; the way out is answered with a budget."""
    one, draws = zoned(tmp_path), Draws(monkeypatch)
    (zone,) = one.zones
    for minute in range(0, 1440, 4):
        seen = one.update(START + 60 * minute, **HOME)
        assert (seen.zone, seen.lat, seen.lon, seen.radius_95) == ("home", zone.lat, zone.lon, zone.radius)
        assert seen.new == (minute == 0)
    assert not draws.drawn
    assert seen.remaining == Decimal("5e-4")
    assert one.now() == one.update(START + 60 * 1436, **AWAY)
    left = one.update(START + DAY, **AWAY)
    assert (left.zone, left.new) == (None, True)
    assert one._schedule.accounts[0].spent == 600 * MICROSECONDS
    assert len(draws.drawn) == 1


def told(folder: Path, home: dict[str, float]) -> list[Any]:
    """All that a stream shows of a day with evenings in the zone, if its owner is here while they are at home."""
    # The centre is drawn before, so that it takes nothing of the seeded noise.
    zoned(folder)
    one = zoned(folder, rng=np.random.default_rng(1))
    one.fence(f"{AT_HOME},500m", name="fence")
    seen: list[Any] = []
    for minute in range(0, 600, 10):
        seen.append(one.update(START + 60 * minute, **(AWAY if minute // 100 % 2 else home)))
        seen.append(one.now(START + 60 * minute + 30))
    return [*seen, one.track().to_csv(), repr(one), answers(one), one._belief.text()]


def test_zones_tell_nothing(tmp_path: Path) -> None:
    """Whoever is in the garden or at the door, all that is shown, stored or believed is the same."""
    assert told(tmp_path, HOME) == told(tmp_path, GARDEN)


def beside(folder: Path, metres: float, place: dict[str, float], *, other_first: bool = False, **options: Any) -> Any:
    """What a stream shows of an evening here, with zones at home and so far north of it, declared in some order."""
    north = f"{HOME['lat'] + metres / 111_000},{HOME['lon']}"
    named = [("home", AT_HOME), ("work", north)]
    path, one = folder / "centres.json", stream(5e-4, **options)
    if options.get("rng"):
        # Centres are drawn before, so that they take nothing of the seeded noise.
        beside(folder, metres, place)
    for name, at in named[::-1] if other_first else named:
        one.zone(at, name=name, centres=path)
    fence = one.fence(f"{AT_HOME},900m", name="fence")
    seen: list[Any] = []
    for minute in range(0, 100, 10):
        seen.append(one.update(START + 60 * minute, **(AWAY if 30 <= minute < 50 else place)))
        seen += [one.now(), one.now(START + 60 * minute + 30), fence.chance]
    again = reopened(one)
    assert (again.now(), again.track().to_csv()) == (one.now(), one.track().to_csv())
    return [*seen, one.track().to_csv(), repr(one), answers(one), one._belief.text()], one


def spots(one: gv.Stream) -> list[dict[str, float]]:
    """Places in both discs, in one alone, and at edges, of two zones that meet."""
    a, b = one.zones
    north = [(1 - share) * a.lat + share * b.lat for share in np.linspace(0, 1, 5)]
    places = [(lat, (a.lon + b.lon) / 2) for lat in north]
    for zone in (a, b):
        places += [(zone.lat, zone.lon), (zone.lat + 0.9 * zone.radius / 111_000, zone.lon)]
        places += [(zone.lat, zone.lon + sign * 0.9 * zone.radius / 88_000) for sign in (-1, 1)]
    found = [{"lat": lat, "lon": lon} for lat, lon in places]
    return [each for each in found if zone_at(one._discs, each["lon"], each["lat"])]


@pytest.mark.slow
def test_meeting_zones_are_one(tmp_path: Path) -> None:
    """Wherever in two discs that meet somebody is, all that is shown, stored or believed is the same, in any order."""
    seeded: dict[str, Any] = {"rng": np.random.default_rng(1)}
    first, one = beside(tmp_path, 700, HOME, **seeded)
    places = spots(one)
    assert len(one._discs) == 1
    assert len(places) > 8
    assert first[0].zone == "home and work"
    assert first[0].radius_95 >= max(zone.radius for zone in one.zones)
    for number, place in enumerate(places):
        seen, _ = beside(tmp_path, 700, place, other_first=number % 2 == 1, rng=np.random.default_rng(1))
        assert seen == first


def test_first_zone_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that answers with the first zone that a place is in tells which one it is in."""
    right = zones_module.groups_of
    monkeypatch.setattr(stream_module, "groups_of", lambda zones: [each for one in zones for each in right([one])])
    _, one = beside(tmp_path, 700, HOME)
    told = {one.update(START + DAY + 600 * number, **place).zone for number, place in enumerate(spots(one))}
    assert told == {"home", "work"}


def test_discs_around_zones() -> None:
    """The disc holds all discs of a group and is hardly larger than it must be; groups need no order."""
    source = np.random.default_rng(7)
    for turn in range(60):
        lat, lon = source.uniform(-89, 89), source.uniform(-180, 180)
        hidings = [Hiding.of(hide=each) for each in (50, 200, 1000)]
        zones = []
        for number in range(source.integers(2, 7)):
            north, east = source.normal(0, 1500, 2) / 110_700
            steps = lat + north, (lon + east / math.cos(math.radians(lat)) + 180) % 360 - 180
            at = (round(steps[0] * 1e5), round(steps[1] * 1e5))
            zones.append(StreamZone(f"{turn} {number}", Zone(f"{number}", at, hidings[source.integers(3)])))
        groups = zones_module.groups_of(zones)
        assert zones_module.groups_of(zones[::-1]) == groups
        assert sorted(each for group in groups for each in group.members) == sorted(zones)
        for group in groups:
            discs = [each.zone for each in group.members]
            reaches = [distances(each, np.array([[group.lon, group.lat]]))[0] + each.radius for each in discs]
            assert max(reaches) <= group.radius
            pairs = itertools.combinations_with_replacement(discs, 2)
            spans = [distances(a, np.array([[b.lon, b.lat]]))[0] + a.radius + b.radius for a, b in pairs]
            # Jung: no set of the plane needs more than 2/√3 of half its width.
            assert group.radius <= 1.16 * 1.02 * max(spans) / 2 + 2
            assert {zone_at(groups, each.lon, each.lat) for each in discs} == {group}
        for group, other in itertools.combinations(groups, 2):
            for a, b in itertools.product(group.members, other.members):
                away = distances(a.zone, np.array([[b.zone.lon, b.zone.lat]]))[0]
                assert away > a.zone.radius + b.zone.radius


def test_later_zones_join_groups(tmp_path: Path) -> None:
    """What was stored for one of two zones is shown as their group once a third one joins them."""
    path, one = tmp_path / "centres.json", stream(5e-4)
    far = {"lat": HOME["lat"] + 2400 / 111_000, "lon": HOME["lon"]}
    for name, place in (("home", HOME), ("work", far)):
        one.zone(f"{place['lat']},{place['lon']}", name=name, centres=path)
    assert len(one._discs) == 2
    before = [one.update(START + 60 * minute, **(HOME if minute < 5 else far)).zone for minute in range(10)]
    assert before == ["home"] * 5 + ["work"] * 5
    one.zone(f"{HOME['lat'] + 1200 / 111_000},{HOME['lon']}", name="park", centres=path, hide=1000)
    (group,) = one._discs
    assert one.now().zone == "home and park and work"
    assert one.now() == reopened(one).now()
    assert set(one.track().radius_95) == set(reopened(one).track().radius_95) == {group.radius}
    after = one.update(START + 60 * 10, **HOME)
    assert (after.zone, after.new) == ("home and park and work", False)


@pytest.mark.parametrize("joint", [False, True])
def test_zones_reach_other_processes(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, joint: bool) -> None:
    """A zone that one process declares is kept by another that had opened the stream before."""
    ledger = gv.Ledger(place)
    ledger.create("ann", rho=5e-4, protect="1 day")
    one, other = (stream(5e-4, ledger=gv.Ledger(place), subject="ann") for _ in range(2))
    one.update(START, **AWAY)
    other.update(START + 60, **AWAY)
    one.zone(AT_HOME, name="home", centres=tmp_path / "centres.json")
    draws = Draws(monkeypatch)
    if joint:
        together = JointCommit(ledger)
        other = stream(5e-4, ledger=ledger, subject="ann")
        together.join(other)
        one.zone("37.9,-122.3", name="park", centres=tmp_path / "centres.json")
        other.update(START + 120, lat=37.9, lon=-122.3)
        with pytest.raises(LedgerError, match="zone"):
            together.commit()
        seen = other.update(START + 120, lat=37.9, lon=-122.3)
        together.commit()
        assert (seen.zone, other.now().zone) == ("park", "park")
        return
    assert other.update(START + 120, **HOME).zone == "home"
    assert not draws.drawn
    assert one.update(START + 180, **HOME).zone == "home"


def test_zones_last_between_pings(tmp_path: Path) -> None:
    """For ten minutes after a ping in a zone the disc is shown as it is; then it widens."""
    one = zoned(tmp_path)
    seen = one.update(START, **HOME)
    soon = one.now(START + 600)
    assert (soon.lat, soon.lon, soon.radius_95, soon.zone) == (seen.lat, seen.lon, seen.radius_95, "home")
    assert soon.age == 600
    later = one.now(START + 7200)
    assert later.radius_95 > seen.radius_95
    assert later.zone is None


def answers_inside(patch: pytest.MonkeyPatch) -> None:
    """Pings in a zone are answered as others are."""
    patch.setattr(stream_module, "zone_at", lambda zones, lon, lat: None)


def learns_inside(patch: pytest.MonkeyPatch) -> None:
    """The filter learns the true place of a ping in a zone."""
    right = gv.Stream._answer

    def answer(one: gv.Stream, paid: Any, place: Any) -> Any:
        seen = right(one, paid, place)
        if seen.zone:
            one._belief.filter.settle(paid.time / MICROSECONDS, truth[-1][0], truth[-1][1], 1e4)
        return seen

    truth: list[tuple[float, float]] = []
    degrees = degrees_of

    def looking(lat: object, lon: object) -> tuple[float, float]:
        place = degrees(lat, lon)
        ((x, y),) = stream()._entered(*place).values.tolist()
        truth.append((x, y))
        return place

    patch.setattr(stream_module, "degrees_of", looking)
    patch.setattr(gv.Stream, "_answer", answer)


@pytest.mark.parametrize("plant", [answers_inside, learns_inside])
def test_planted_leaks_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Any) -> None:
    """A stream that draws in a zone, or learns the true place there, shows something else."""
    plant(monkeypatch)
    assert told(tmp_path, HOME) != told(tmp_path, GARDEN)


def test_year_tells_the_disc(tmp_path: Path) -> None:
    """Whoever averages what is shown of a year at home finds the centre of the disc, wherever home is in it."""
    one = zoned(tmp_path, every="1 hour")
    (zone,) = one.zones
    shown = {one.update(START - 365 * DAY + 8 * 3600 * each, **HOME) for each in range(3 * 365)}
    assert {(seen.lat, seen.lon, seen.radius_95) for seen in shown} == {(zone.lat, zone.lon, zone.radius)}
    assert not one._belief.filter.places.known
    ends = one.track(since=START - 3 * DAY)
    assert set(ends.radius_95) == {zone.radius}
    assert set(ends.geometry.x) == {zone.lon}


def test_zones_are_drawn_once(tmp_path: Path) -> None:
    """Declared again, on another stream or after a restart, a place has the disc that it had."""
    one = zoned(tmp_path)
    again = reopened(one)
    assert again.zones == one.zones
    assert again.zone(AT_HOME, name="home", centres=tmp_path / "centres.json") == one.zones[0]
    assert zoned(tmp_path).zones == one.zones
    first = one.zones[0]
    assert one.zone("37.9,-122.3", centres=tmp_path / "centres.json") != first
    one.zone(AT_HOME, centres=tmp_path / "centres.json")
    assert sorted(each.name for each in one._zones.values()) == ["home", "zone 2"]
    assert len(one.zones) == 2
    with pytest.raises(InvalidParameter, match="one place"):
        one.zone(["37.9,-122.3", AT_HOME], centres=tmp_path / "centres.json")


def test_zones_have_own_file() -> None:
    """Without `centres=` a place has one disc in all streams of a user."""
    assert stream().zone(AT_HOME) == stream().zone(AT_HOME)


@pytest.mark.parametrize("joint", [False, True])
def test_zones_survive_a_restart(tmp_path: Path, joint: bool) -> None:
    """A stream that is opened again knows its zones, where it was last, and what was spent."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=5e-4, protect="1 day")
    one = zoned(tmp_path, ledger=ledger, subject="ann")
    if joint:
        together = JointCommit(ledger)
        together.join(one)
    for minute in range(70):
        one.update(START + 60 * minute, **(AWAY if minute < 10 else HOME))
    if joint:
        together.commit()
    again = stream(5e-4, ledger=ledger, subject="ann")
    assert again.zones == one.zones
    assert again.now() == one.now()
    assert again._schedule.accounts[0].spent == one._schedule.accounts[0].spent
    assert again._schedule.last == one._schedule.last
    assert again.update(START + 60 * 69, **AWAY).zone == "home"
    left = again.update(START + 60 * 70, **AWAY)
    assert left.zone is None
    assert left.remaining < one.now().remaining


def test_streams_within_zones_continue(tmp_path: Path) -> None:
    """Nothing was ever charged, and the times are known."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=5e-4, protect="1 day")
    one = zoned(tmp_path, ledger=ledger, subject="ann")
    seen = one.update(START, **HOME)
    for again in (stream(5e-4, ledger=ledger, subject="ann"), reopened(one)):
        assert again.now() == one.now()
        assert again.update(START, **AWAY).zone == seen.zone == "home"


def test_zone_time_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is in a zone for most of the day gets less noise on the way, and no stretch costs more than its budget."""
    one, draws = zoned(tmp_path), Draws(monkeypatch)
    for minute in range(0, 3 * 1440, 3):
        place = AWAY if 480 <= minute % 1440 < 600 else HOME
        draws.time = (START + 60 * minute) * MICROSECONDS
        one.update(START + 60 * minute, **place)
    draws.check(Decimal("5e-4"), DAY * MICROSECONDS)
    per_day = [sum(cost for at, cost in draws.drawn if (at // MICROSECONDS - START) // DAY == day) for day in range(3)]
    assert float(per_day[0]) < 0.1 * 5e-4
    assert float(per_day[2]) > 0.4 * 5e-4


def test_precise_streams_hide_zones(tmp_path: Path) -> None:
    """Outside of zones true places are shown as they are, inside only the disc; nothing else is promised."""
    one = gv.Stream(area=AREA, outside="precise")
    with pytest.raises(InvalidParameter, match=r"stream\.zone\("):
        one.update(START, **AWAY)
    zone = one.zone(AT_HOME, name="home", centres=tmp_path / "centres.json")
    seen = [one.update(START + 60 * minute, **(HOME if minute < 5 else AWAY)) for minute in range(10)]
    assert [each.zone for each in seen] == ["home"] * 5 + [None] * 5
    assert [each.new for each in seen] == [True, False, False, False, False, True, False, False, False, False]
    assert {(each.lat, each.lon) for each in seen[:5]} == {(zone.lat, zone.lon)}
    assert seen[-1].lat == pytest.approx(AWAY["lat"], abs=1e-9)
    assert (seen[-1].radius_95, seen[-1].remaining) == (0.0, Decimal(0))
    track = one.track()
    assert track.radius_95.tolist() == [zone.radius] * 5 + [0.0] * 5
    assert track.geometry.y.tolist()[5:] == pytest.approx([AWAY["lat"]] * 5)
    assert one.now(START + 3600).radius_95 > 100
    assert (one.guarantees, one.repeated()) == ((), 0.0)
    assert "none outside of zones" in repr(one)
    with pytest.raises(InvalidParameter, match="guarantee"):
        _ = one.guarantee
    assert reopened_precise(one).now() == one.now()


def reopened_precise(old: gv.Stream) -> gv.Stream:
    """Another precise stream on what an earlier one has stored."""
    new = gv.Stream(area=AREA, outside="precise")
    new._store = old._store
    new._load()
    return new


@pytest.mark.parametrize("given", [{"rho": 5e-4}, {"hide": 200}, {"protect": "1 day"}, {"within": {"365 days": 1e-3}}])
def test_precise_streams_lack_budget(given: dict[str, Any]) -> None:
    """What a precise stream cannot keep is refused, and can be left out."""
    with pytest.raises(InvalidParameter, match="left out"):
        gv.Stream(area=AREA, outside="precise", **given)
    gv.Stream(area=AREA, outside="precise")


def test_stores_keep_zones_apart(tmp_path: Path) -> None:
    """A zone belongs to one stream, and a second text replaces the first."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", "bob", rho=5e-4, protect="1 day")
    ann, bob = (stream(5e-4, ledger=ledger, subject=name)._store for name in ("ann", "bob"))
    assert isinstance(ann, LedgerStore)
    ann.add_zone("1", "a")
    ann.add_zone("1", "b")
    assert ann.load([]).zones == ["b"]
    assert bob.load([]).zones == MemoryStore().load([]).zones == []


def test_zones_elsewhere_are_refused(tmp_path: Path) -> None:
    """A place outside of the area, and a second place of one name, are refused before a centre is drawn."""
    centres = tmp_path / "centres.json"
    one = stream()
    for place in ("47.37,8.54", "38.5,-122.42"):
        with pytest.raises(InvalidParameter, match="in the area of the stream"):
            one.zone(place, centres=centres)
    assert not centres.exists()
    home = one.zone(AT_HOME, name="home", centres=centres)
    kept = centres.read_bytes()
    with pytest.raises(InvalidParameter, match="no other zone has"):
        one.zone("37.9,-122.3", name="home", centres=centres)
    assert centres.read_bytes() == kept
    assert one.zone(AT_HOME, name="home", centres=centres) == home
    assert one.zone("37.9,-122.3", name="park", centres=centres) != home
    with pytest.raises(InvalidParameter, match="no other zone has"):
        one.zone("37.9,-122.3", name="home", centres=centres)
