"""Attacks find what is badly hidden, and come no nearer than a guarantee allows where it holds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil.attacks import Attack, Attacks, Seen, attack_points, link, most_linked, most_within
from geoveil.attacks.bounds import false_alarm
from geoveil.errors import InvalidInput
from geoveil.noise.reals import Floats
from geoveil.privacy import least_error

BAY = gv.local(lat=37.77, lon=-122.42, radius=50_000)
RHO = 1e-4


def people(count: int, *, days: int = 1, seed: int = 1) -> pd.DataFrame:
    """Persons who are at home at night and at work on weekdays, by half hours."""
    rng, parts = np.random.default_rng(seed), []
    for number in range(count):
        home, work = rng.normal([37.77, -122.42], 0.03, size=(2, 2))
        # Local time is eight hours behind UTC.
        when = pd.date_range("2026-05-04T08:00", periods=48 * days, freq="30min")
        local = (when.hour - 8) % 24
        busy = (local >= 9) & (local < 17) & ((when - pd.Timedelta(hours=8)).day_of_week < 5)
        places = np.where(np.asarray(busy)[:, None], work, home)
        parts.append(pd.DataFrame({"user": f"p{number}", "time": when, "lat": places[:, 0], "lon": places[:, 1]}))
    return pd.concat(parts, ignore_index=True)


def truth(frame: pd.DataFrame, **how: Any) -> gv.Locations:
    """The true locations of persons."""
    return gv.Locations(frame, **{"person": "user", "area": BAY, **how})


def moved(frame: pd.DataFrame, metres: Floats) -> pd.DataFrame:
    """Rows that another tool has moved by so many metres east and north."""
    degrees = metres / 111_195 / np.array([math.cos(math.radians(37.77)), 1])
    return frame.assign(lon=frame.lon + degrees[:, 0], lat=frame.lat + degrees[:, 1])


# Bounds -------------------------------------------------------------------------------------------------------------


def test_gaussian_bound_is_attained() -> None:
    """A Gaussian mechanism on one place is located as often, and as exactly, as the bounds allow."""
    noise = np.random.default_rng(1).normal(scale=1 / math.sqrt(2 * RHO), size=(200_000, 2))
    away = np.hypot(*noise.T)
    assert np.sqrt(np.mean(away**2)) == pytest.approx(least_error(RHO), rel=0.01)
    for distance in (20.0, 80.0, 150.0):
        assert np.mean(away <= distance) == pytest.approx(most_within(RHO, distance, gaussian=True), abs=0.005)


@pytest.mark.parametrize("distance", [5.0, 40.0, 100.0, 250.0])
def test_general_bound_covers_gaussians(distance: float) -> None:
    """The bound for all mechanisms is no smaller than that of Gaussian noise, and not empty near the place."""
    general, gaussian = most_within(RHO, distance), most_within(RHO, distance, gaussian=True)
    assert gaussian <= general <= 1
    assert distance > 5 or general < 0.2


def test_randomised_response_keeps_bound() -> None:
    """The mechanism that attains the chance between two places is within the bound for guesses near a place."""
    for apart in (30.0, 100.0, 300.0):
        chance = gv.CGP(rho=RHO).attacker(distance=apart)
        # A guess that names one of two places is within half of their distance of it with this chance.
        assert most_within(RHO, apart / 2) >= chance - 0.5


def test_links_are_bounded() -> None:
    """Two tracks that are exchanged are told apart no better than the two budgets allow."""
    assert most_linked(RHO, 0) == 0.5
    assert most_linked(RHO, 100) == pytest.approx(gv.CGP(rho=2 * RHO).attacker(distance=100))


def test_luck_is_no_alarm() -> None:
    """Errors that attain the bound stay above the threshold with certainty, those of half the noise do not."""
    errors = np.random.default_rng(2).exponential(size=(20_000, 30))
    assert (errors.mean(axis=1) > false_alarm(np.ones(30))).all()
    assert (errors[:2000, :].mean(axis=1) / 9 < false_alarm(np.ones(30))).mean() > 0.9


# Our own releases ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "asked"),
    [
        ({}, {"rho": RHO}),
        ({}, {"rho": RHO, "method": "both"}),
        ({}, {"epsilon": 0.01}),
        ({"protect": "1 day"}, {"rho": RHO}),
        ({"protect": "point"}, {"rho": RHO}),
        ({"protect": "point"}, {"epsilon": 0.01}),
    ],
)
def test_our_guarantees_hold(how: dict[str, Any], asked: dict[str, Any]) -> None:
    """Averages, smoothed tracks, homes and links of our own releases keep their bounds, whatever is protected."""
    locations = truth(people(12, days=2), **how)
    found = locations.attack(locations.points(**asked))
    assert [attack.name for attack in found if attack.bound is None] == ["map of the crowd"]
    assert found.beaten == ()
    assert {"averaging", "smoothing", "home", "work", "linking"} <= {attack.name for attack in found}


def test_averages_attain_the_bound() -> None:
    """Somebody who stays at one place is averaged to what the guarantee allows, and to no less."""
    stays = people(300, seed=3).groupby("user").head(20)
    stays[["lat", "lon"]] = stays.groupby("user")[["lat", "lon"]].transform("first")
    locations = truth(stays)
    found = locations.attack(locations.points(rho=RHO))
    assert found["averaging"].root_mean_square == pytest.approx(100, rel=0.1)
    assert found["averaging"].bound == 100
    assert found["released point"].root_mean_square == pytest.approx(100 * math.sqrt(20), rel=0.05)
    assert found.beaten == ()


def test_day_is_not_a_year() -> None:
    """Where any day is protected, the bound is that of what repeats on all days, which is averaged."""
    frame = people(4, days=10)
    one, all_days = truth(frame, protect="1 day"), truth(frame)
    how = {"motion": "walking"}
    days, whole = one.attack(one.points(rho=RHO), **how), all_days.attack(all_days.points(rho=RHO), **how)
    bound = days["home"].bound
    assert bound is not None
    assert bound < least_error(RHO) / 2.5
    assert days["home"].typical < whole["home"].typical


@pytest.mark.parametrize("motion", ["person", "walking"])
def test_attackers_smoother_is_ours(motion: str) -> None:
    """The attacker's smoother has the error of `Release.smooth`."""
    locations = truth(people(3))
    release = locations.points(rho=RHO)
    found = locations.attack(release, motion=motion)["smoothing"]
    smooth = release.smooth(motion)
    own = np.hypot(*(np.asarray(smooth.coords) - locations._rows.known().form.coords.values).T).reshape(3, -1)
    np.testing.assert_allclose(found.off, np.sqrt((own**2).mean(axis=1)), rtol=1e-6)


def test_smoothed_releases_stay() -> None:
    """A release that was smoothed is attacked as it is, with the bound of its guarantee."""
    locations = truth(people(3))
    found = locations.attack(locations.points(rho=RHO).smooth("walking"))
    assert "smoothing" not in [attack.name for attack in found]
    assert found["released point"].bound == pytest.approx(100)
    assert found.beaten == ()


# Other tools --------------------------------------------------------------------------------------------------------


def blur(frame: pd.DataFrame, rng: np.random.Generator) -> Floats:
    """New uniform noise of 200 m for each point, which averages out."""
    return rng.uniform(-200, 200, size=(len(frame), 2))


def small_offset(frame: pd.DataFrame, rng: np.random.Generator) -> Floats:
    """One offset for each person, of a tenth of what is claimed."""
    each: Floats = rng.normal(scale=10, size=(frame.user.nunique(), 2))
    return np.asarray(each[pd.factorize(frame.user)[0]])


def nothing(frame: pd.DataFrame, rng: np.random.Generator) -> Floats:
    """No noise."""
    return np.zeros((len(frame), 2))


@pytest.mark.slow
@pytest.mark.parametrize("tool", [blur, small_offset, nothing])
def test_broken_claims_are_found(tool: Any) -> None:
    """Tools that hide less than they claim are beaten, and the verdict says so."""
    frame = people(10)
    released = moved(frame, tool(frame, np.random.default_rng(5)))
    found = truth(frame).attack(released, hide=200)
    assert "averaging" in found.beaten
    assert found.verdict().endswith("It does not hold.")
    unclaimed = truth(frame).attack(released)
    assert unclaimed.beaten == ()
    assert "nothing bounds an attack" in unclaimed.verdict()


def test_too_little_noise_is_found() -> None:
    """A release with a third of the noise that its budget needs is beaten."""
    frame = people(30)
    locations = truth(frame)
    release = locations.points(rho=9 * RHO)
    assert locations.attack(release).beaten == ()
    assert "averaging" in locations.attack(release.value, rho=RHO).beaten


def test_rows_pair_by_time(tmp_path: Path) -> None:
    """Files in another order, and with fewer rows, are compared point by point; without times that is refused."""
    frame = people(4)
    released = moved(frame, np.full((len(frame), 2), [30.0, 40.0]))
    path = tmp_path / "released.csv"
    released.sample(frac=0.8, random_state=1).to_csv(path, index=False)
    found = truth(frame).attack(path)
    np.testing.assert_allclose(found["released point"].off, 50, rtol=0.01)
    shuffled = truth(frame).attack(released.sample(frac=1, random_state=2))
    np.testing.assert_allclose(shuffled["released point"].off, 50, rtol=0.01)
    with pytest.raises(InvalidInput, match=r"^released = .*one for each true one, or a column of times"):
        truth(frame).attack(released.drop(columns="time")[:50])
    with pytest.raises(InvalidInput, match=r"^released = .*no point of these persons"):
        truth(frame).attack(released.assign(user="nobody")[:50])


def test_shuffled_rows_are_refused() -> None:
    """Rows in another order without times are not compared with those of other persons: each remedy works."""
    frame = people(4)
    released = moved(frame, np.full((len(frame), 2), [3.0, 4.0]))
    shuffled, locations = released.sample(frac=1, random_state=2), truth(frame)
    with pytest.raises(InvalidInput, match=r"^released = .*persons are in another order.*times=.*restore the order"):
        locations.attack(shuffled.drop(columns="time"), hide=200)
    for remedied in (shuffled, shuffled.sort_index().drop(columns="time")):
        found = truth(frame, times="time").attack(remedied, hide=200)
        np.testing.assert_allclose(found["released point"].off, 5, rtol=0.01)
    homes = released.groupby("user").head(1).drop(columns="time")
    found = truth(frame.groupby("user").head(1)).attack(homes[::-1])
    np.testing.assert_allclose(found["released point"].off, 5, rtol=0.01)


def test_renamed_persons_are_paired() -> None:
    """Rows whose persons have other names throughout are in the order of the truth; mixed rows are refused."""
    frame = people(3)
    renamed = moved(frame.assign(user="x" + frame.user), np.full((len(frame), 2), [3.0, 4.0])).drop(columns="time")
    np.testing.assert_allclose(truth(frame).attack(renamed)["released point"].off, 5, rtol=0.01)
    with pytest.raises(InvalidInput, match=r"^released = .*no point of these persons"):
        truth(frame).attack(renamed.sample(frac=1, random_state=1))


def test_columns_have_any_name(tmp_path: Path) -> None:
    """Columns that are not recognised are those of the truth; else they are named by the released data's own."""
    frame = people(2)
    ab = moved(frame, np.full((len(frame), 2), [3.0, 4.0])).rename(columns={"lat": "a", "lon": "b"})
    path = tmp_path / "ab.csv"
    ab.to_csv(path, index=False)
    own = gv.Locations(ab, lat="a", lon="b", person="user", area=BAY)
    true = gv.Locations(frame.rename(columns={"lat": "a", "lon": "b"}), lat="a", lon="b", person="user", area=BAY)
    from_file = gv.Locations(path, lat="a", lon="b", person="user", area=BAY)
    for locations, released in ((truth(frame), own), (true, ab), (true, path), (truth(frame), from_file)):
        np.testing.assert_allclose(locations.attack(released)["released point"].off, 5, rtol=0.01)
    assert from_file.attack(path)["released point"].off.max() < 1e-3
    with pytest.raises(InvalidInput, match=r"^released = .*gv\.Locations\(released"):
        truth(frame).attack(ab)
    with pytest.raises(InvalidInput, match=r"ab\.csv.*Rename its columns of coordinates to lat and lon\.$"):
        truth(frame).attack(path)
    ab.rename(columns={"a": "lat", "b": "lon"}).to_csv(path, index=False)
    np.testing.assert_allclose(truth(frame).attack(path)["released point"].off, 5, rtol=0.01)


def test_gaps_are_dropped_first() -> None:
    """Released rows without a place are refused with a remedy that works."""
    frame = people(2)
    gaps = frame.assign(lat=frame.lat.where(frame.index > 3))
    with pytest.raises(InvalidInput, match=r'^released = .*gv\.Locations\(released, .*missing="drop"'):
        truth(frame).attack(gaps)
    found = truth(frame).attack(gv.Locations(gaps, missing="drop", area=BAY))
    assert (found["released point"].off.max() < 1e-3, found.about) == (True, "92 points of 2 persons")


@pytest.mark.slow
def test_files_and_frames_agree(tmp_path: Path) -> None:
    """A release, its file with its certificate, its table and its geometries have one outcome."""
    locations = truth(people(3))
    release = locations.points(rho=RHO)
    release.to_file(tmp_path / "released.gpkg")
    frame = release.to_frame()
    first = locations.attack(release)
    for other in (tmp_path / "released.gpkg", release.value, frame[["user", "time", "geometry"]]):
        found = locations.attack(other, rho=None if isinstance(other, Path) else RHO)
        np.testing.assert_allclose(found["released point"].off, first["released point"].off, rtol=1e-3)
        assert found["home"].bound == pytest.approx(first["home"].bound)


def test_what_cannot_be_attacked() -> None:
    """Places in no order, a single answer and other numbers of coordinates are refused with the reason."""
    locations = truth(people(2))
    with pytest.raises(InvalidInput, match=r"Their order is hidden"):
        locations.attack(locations.points(rho=RHO, order="hidden"))
    with pytest.raises(InvalidInput, match=r"of points in the plane"):
        locations.attack(locations.center(rho=RHO))
    with pytest.raises(InvalidInput, match=r"places in the plane"):
        gv.Locations(np.zeros((3, 3))).attack(np.zeros((3, 3)))
    with pytest.raises(InvalidInput, match=r'^motion = .*Leave it out: it is "person"'):
        locations.attack(locations.points(rho=RHO), motion="swimming")


@pytest.mark.parametrize("released", [None, 5, [], [1, 2, 3], ["a"], [gv.Locations(np.ones((2, 2))), 5]])
def test_other_things_are_refused(released: Any) -> None:
    """What is no release is refused by its name."""
    with pytest.raises(InvalidInput, match=r"^released = "):
        truth(people(2)).attack(released)


def test_exchanged_coordinates_are_refused() -> None:
    """Latitudes that are given as longitudes are noticed, wherever the truth is."""
    for lat, lon in ((37.77, -122.42), (47.37, 8.54)):
        frame = people(2).assign(lat=lat, lon=lon)
        locations = gv.Locations(frame, person="user", area=gv.local(lat=lat, lon=lon, radius=50_000))
        swapped = frame.rename(columns={"lat": "lon", "lon": "lat"})
        with pytest.raises(InvalidInput, match=r"^released = .*latitude and longitude exchanged"):
            locations.attack(swapped)
        assert locations.attack(swapped.rename(columns={"lat": "lon", "lon": "lat"}))["home"].off.max() < 1e-3


def test_claims_belong_to_others(tmp_path: Path) -> None:
    """A claim beside a release that states its own guarantee is refused; so is a file that was edited since."""
    frame = people(2)
    locations, tracks = truth(frame), rides()
    release, path = locations.points(rho=RHO), tmp_path / "released.csv"
    release.to_file(path)
    zones = tracks.hide_places("47.37,8.54", hide=200, centres=tmp_path / "centres.json")
    claims: list[Callable[[], object]] = [
        lambda: locations.attack(release, hide=500),
        lambda: locations.attack(path, rho=RHO),
        lambda: locations.attack([locations.distance("37.8,-122.4", rho=RHO)], hide=500),
        lambda: tracks.attack(zones, places="47.37,8.54", hide=500),
        lambda: tracks.attack(zones.value, places="47.37,8.54", epsilon=0.1),
    ]
    for ask in claims:
        with pytest.raises(InvalidInput, match=r"^released = .*hide=, rho= or epsilon=.*Leave the claim out"):
            ask()
    path.write_text(path.read_text().replace("p1", "p2", 1))
    with pytest.raises(InvalidInput, match=r"must be the file that its certificate is about"):
        locations.attack(path)


def test_pseudonyms_are_linked() -> None:
    """Tracks are linked to persons by their places: all with little noise, hardly any with much."""
    locations = truth(people(12))
    near = locations.attack(locations.points(rho=1.0))["linking"]
    far = locations.attack(locations.points(rho=1e-12))["linking"]
    assert near.typical == 1
    assert far.typical < 0.5
    assert far.bound is not None
    assert far.bound < 0.52


def test_links_ignore_order() -> None:
    """Exchanged tracks of two persons are linked wrongly: only places count."""
    rng = np.random.default_rng(3)
    places, person = rng.normal(scale=[[5000, 5000]], size=(2, 2))[np.arange(40) // 20], np.arange(40) // 20
    right = Seen(places, places + rng.normal(size=(40, 2)), person, ["a", "b"])
    swapped = Seen(places, places[::-1] + rng.normal(size=(40, 2)), person, ["a", "b"])
    assert [link(each).typical for each in (right, swapped)] == [1.0, 0.0]


def test_crowd_maps_help() -> None:
    """Where all persons are at a few places, the map that the release gives moves points towards them."""
    rng = np.random.default_rng(4)
    places = np.array([[0.0, 0], [3000, 0], [0, 3000]])[rng.integers(0, 3, 3000)]
    person = np.arange(3000)
    seen = Seen(places, places + rng.normal(scale=300, size=places.shape), person, [*map(str, person)])
    found = attack_points(seen, None, lambda share: None)
    assert found["map of the crowd"].root_mean_square < 0.6 * found["released point"].root_mean_square


def test_known_places_are_recognised() -> None:
    """Where people can only be at a few public places, the likeliest of them is mostly the true one."""
    doors = geopandas.GeoSeries.from_xy(-122.42 + np.arange(5) * 0.02, np.full(5, 37.77), crs=4326)
    frame = pd.DataFrame({"user": [*"abcdefghij"], "lat": 37.77, "lon": -122.42 + np.arange(10) % 5 * 0.02})
    locations = truth(frame)
    release = locations.points(rho=RHO)
    found = locations.attack(release, prior=doors)["known places"]
    assert (found.typical < 0.01, found.bound) == (True, None)
    degrees = np.column_stack([doors.x, doors.y])
    in_degrees = gv.Locations(degrees, crs=4326, area=BAY)
    assert in_degrees.attack(degrees, prior=degrees)["known places"].off[0] < 0.01
    with pytest.raises(InvalidInput, match=r"^prior = .*GeoSeries of points"):
        locations.attack(release, prior=np.full((2, 2), np.nan))


# Answers, and tracks that were cut ----------------------------------------------------------------------------------


def test_people_nearby_are_found() -> None:
    """Distances from several places give a person away as far as the budgets of all of them allow."""
    homes = people(20).groupby("user").head(1)
    locations = truth(homes)
    around = [f"{37.77 + a}, {-122.42 + b}" for a in (-0.05, 0, 0.05) for b in (-0.05, 0, 0.05)]
    found = locations.attack([locations.distance(place, rho=RHO) for place in around])["people nearby"]
    assert found.bound is not None
    assert found.bound == pytest.approx(100 / 3)
    assert found.bound * 0.8 < found.root_mean_square < 2.5 * found.bound
    exact = locations.attack([locations.distance(place, rho=10) for place in around])["people nearby"]
    assert exact.root_mean_square < 1
    named = locations.attack([locations.nearest(place, 3, rho=1.0, together=True) for place in around])
    assert named["people nearby"].off.min() < 4000
    with pytest.raises(InvalidInput, match=r"distances or who is nearest"):
        locations.attack([locations.center(rho=RHO)])


def rides() -> gv.Locations:
    """Rides from one home in all directions."""
    parts = []
    for number in range(12):
        way = np.array([math.cos(number * 0.52), math.sin(number * 0.52)])
        metres = np.outer(np.arange(0, 3000, 10.0), way)
        place = np.array([8.54, 47.37]) + metres / 111_195 / np.array([math.cos(math.radians(47.37)), 1])
        parts.append(pd.DataFrame({"track": number, "lat": place[:, 1], "lon": place[:, 0]}))
    return gv.Locations(pd.concat(parts, ignore_index=True), person="track", area="47.37,8.54,50km")


def test_zones_keep_centre_bound(tmp_path: Path) -> None:
    """Circles find the centre of a disc, as far as its law allows; straight lines find the home, and have no bound."""
    tracks = rides()
    release = tracks.hide_places("47.37,8.54", hide=200, centres=tmp_path / "centres.json", keep=["track"])
    found = tracks.attack(release, places="47.37,8.54")
    assert found["centre"].bound == pytest.approx(1.24 * 200 / math.sqrt(2), rel=0.01)
    assert found.beaten == ()
    assert found["lines"].bound is None
    assert found["lines"].off[0] < 20
    assert " off for 47.3700,8.5400. Nothing bounds this attack" in found.verdict()
    assert "person" not in found.verdict() + found._repr_html_()
    assert [row[-1] for row in found.table()[1] if row[0] == "lines"] == ["no bound"]
    with pytest.raises(InvalidInput, match=r"^places = None.*47\.37,8\.54"):
        tracks.attack(release)
    release.value.to_csv(tmp_path / "cut.csv", index=False)
    (tmp_path / "cut.csv.certificate.json").write_text(json.dumps(release.certificate()))
    cut = tracks.attack(tmp_path / "cut.csv", places="47.37,8.54")
    assert (cut["circle"].bound, cut.verdict().split(". ")[-1]) == (None, "No bound on these attacks is known.")
    for released in (release, release.value, tmp_path / "cut.csv"):
        with pytest.raises(InvalidInput, match=r"^places = '47\.6,8\.54'.*the places that the tracks hide"):
            tracks.attack(released, places=["47.37,8.54", "47.60,8.54"])


def test_zones_around_home_are_found() -> None:
    """A tool that cuts a disc around the home itself is seen through by its circle."""
    tracks = rides()
    frame = tracks._rows.known().form.own_coords()
    away = np.hypot(*((frame - [8.54, 47.37]) * 111_195 * np.array([math.cos(math.radians(47.37)), 1])).T)
    for radius in (300, 800):
        left = np.flatnonzero(away > radius)
        cut = pd.DataFrame({"track": left // 300, "lat": frame[left, 1], "lon": frame[left, 0]})
        found = tracks.attack(cut, places="47.37,8.54")
        assert found["circle"].off[0] < 30


def test_rows_without_times_are_noted() -> None:
    """The verdict says that an order was assumed, where neither times nor single points of persons tell it."""
    frame = people(2)
    timeless, one_each = frame.drop(columns="time"), frame.groupby("user").head(1)
    assert "taken to be in the order" in truth(frame).attack(timeless).verdict()
    assert "taken to be in the order" not in truth(frame).attack(frame).verdict()
    assert "taken to be in the order" not in truth(one_each).attack(one_each).verdict()
    release = truth(timeless).points(rho=RHO)
    assert "taken to be in the order" not in truth(timeless).attack(release).verdict()


# The outcome --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outcome() -> Attacks:
    """Attacks on a release of four persons."""
    locations = truth(people(4))
    return locations.attack(locations.points(rho=RHO))


def test_outcomes_are_saved(outcome: Attacks, tmp_path: Path) -> None:
    """A page, a picture and numbers are written, which say for whom they are; existing files are kept."""
    page = outcome.save(tmp_path / "attacks.html").read_text()
    assert "For you only" in page
    assert "<script" not in page
    assert "http" not in page
    assert outcome.save(tmp_path / "attacks.png").stat().st_size > 5000
    told = json.loads(outcome.save(tmp_path / "attacks.json").read_text())["for_you_only"]
    assert [each["attack"] for each in told["attacks"]] == [each.name for each in outcome]
    with pytest.raises(gv.errors.GeoveilError):
        outcome.save(tmp_path / "attacks.json")
    with pytest.raises(InvalidInput, match=r"\.html, \.png, \.svg, \.pdf or \.json"):
        outcome.save(tmp_path / "attacks.txt")


def test_luck_is_named() -> None:
    """An error a little below its bound is put down to luck in the table; one far below is not."""
    slightly, far = (Attack("home", "", np.full(3, off), [*"abc"], 100.0) for off in (80.0, 0.1))
    assert [each.beats for each in (slightly, far)] == [False, True]
    assert [each.limit for each in (slightly, far)] == ["at least 100 m, but for luck", "at least 100 m"]


def test_outcomes_are_tables(outcome: Attacks) -> None:
    """The table, the card and the frame have a row for each attack, and for each person and attack."""
    frame = outcome.to_frame()
    assert len(frame) == 4 * len(outcome.attacks)
    assert frame[frame.attack == "linking"].linked.notna().all()
    assert "For you only" in repr(outcome)
    assert "<svg" in outcome._repr_html_()
    whom, least = outcome["home"].worst
    assert least == frame[(frame.attack == "home") & (frame.whom == whom)].off.iloc[0]


def test_geometries_and_arrays() -> None:
    """Points without persons and times are attacked as one person's."""
    places = geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.42], [37.78, 37.76, 37.77], crs=4326)
    locations = gv.Locations(places, area=BAY)
    assert [each.name for each in locations.attack(locations.points(rho=RHO))] == ["released point", "averaging"]
    walk = gv.Locations(np.zeros((5, 2)) + 1e6)
    assert walk.attack(walk.points(rho=RHO).value).attacks[0].off[0] > 0
