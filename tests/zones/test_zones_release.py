"""Tracks with hidden places are released in every form, charged once, certified and verified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.errors import BudgetExceeded, GeoveilWarning, InvalidCoordinateSystem, InvalidData, InvalidParameter
from geoveil.geo.formats.atomic import write_certificate
from geoveil.geo.formats.fingerprints import digest
from geoveil.zones import kept_points, zones_problems

AREA, HOME = "47.37,8.54,50km", "47.37,8.54"


def ride(inside: float = 0.0, rows: int = 400, *, sparse: bool = False) -> pd.DataFrame:
    """Return a ride past a home, with a detour within 200 m of it."""
    lat, lon = 47.35 + np.arange(rows) * 1e-4, np.full(rows, 8.54)
    near = np.abs(lat - 47.37) < 0.0018
    lon[near] += inside * np.sin(1 + np.arange(near.sum()))
    times = pd.date_range("2026-05-01T08:00", periods=rows, freq="10s")
    frame = pd.DataFrame({"lat": lat, "lon": lon, "time": times, "pulse": 100 + np.arange(rows) % 7})
    gone = np.zeros(rows, dtype=bool)
    if sparse:
        # No points on the way there and away: those next to the cut are near home.
        gone |= ~near & (np.abs(lat - 47.37) < 0.0085)
    if inside:
        gone[np.flatnonzero(near)[5:10]] = True
    return frame[~gone]


def hidden(source: Any, folder: Path, *, area: str | None = AREA, crs: Any = None, **how: Any) -> gv.ZonesRelease:
    """Hide the home in data."""
    how = {"hide": 200, "centres": folder / "centres.json", **how}
    return gv.Locations(source, area=area, crs=crs).hide_places(HOME, **how)


def check_rows_are_those_of_the_input(folder: Path) -> None:
    """Every published row is one of the input, to the last bit: none was made on the edge."""
    frame = ride()
    found = hidden(frame, folder).value
    assert 100 < len(found) < len(frame)
    assert len(found.merge(frame, on=["lat", "lon", "time"])) == len(found)


def check_two_worlds(folder: Path) -> None:
    """Two rides that differ near home alone give the same release, byte for byte."""
    told = []
    for inside in (0.0, 0.002):
        world = hidden(ride(inside, sparse=True), folder, keep=["pulse"])
        told.append((world.value.to_csv(), world.pieces.tolist(), world.length, {**world.certificate(), "id": ""}))
    assert told[0] == told[1]


#: What the first point, which is near home, says of itself; the others are as usual.
REMOVED: dict[str, tuple[str, object, object]] = {
    "a text for a time": ("time", "at home", "2026-05-01T07:59:00Z"),
    "a day that tells the order of dates": ("time", "25/04/2026 08:00", "05/04/2026 08:00"),
    "a number that is no time since 1970": ("time", 5, 1_777_881_500),
    "a missing pulse": ("pulse", np.nan, 100),
    "a text for a pulse": ("pulse", "none", 100),
    "half a pulse": ("pulse", 100.5, 100),
    "a missing tag": ("tag", None, "home"),
    "a number for a tag": ("tag", 3, "home"),
}
USUAL: dict[type, Any] = {str: lambda at: f"2026-05-01T08:{at:02d}:00Z", int: lambda at: 1_777_881_500 + at}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["frame", "geometries", "csv"])
@pytest.mark.parametrize("case", [*REMOVED])
def test_removed_values_decide_nothing(case: str, form: str, tmp_path: Path) -> None:
    """Times, units and types are told from what is published: a removed value changes none of them."""
    column, *firsts = REMOVED[case]
    told = []
    for first in firsts:
        usual = [f"{5 + at:02d}/04/2026 08:00" for at in range(1, 10)]
        if "day" not in case:
            usual = [USUAL[type(firsts[1]) if column == "time" else str](at) for at in range(1, 10)]
        columns: dict[str, list[Any]] = {
            "time": [usual[0], *usual],
            "pulse": [100, *(100 + np.arange(9) * 7 % 5).tolist()],
        }
        columns |= {"tag": ["out"] * 10, "lat": [47.37, *(47.39 + np.arange(9) * 1e-4)], "lon": [8.54] * 10}
        columns[column][0] = first
        frame: Any = pd.DataFrame(columns, dtype=object if form == "csv" else None)
        source: Any = frame
        if form == "geometries":
            points = geopandas.points_from_xy(frame.lon, frame.lat)
            source = geopandas.GeoDataFrame(frame.drop(columns=["lat", "lon"]), geometry=points, crs=4326)
        if form == "csv":
            source = tmp_path / "ride.csv"
            frame.to_csv(source, index=False)
        world = hidden(source, tmp_path, keep=["pulse", "tag"])
        account = {**world.certificate(), "id": ""}
        told.append((world.value.to_csv(), world.value.dtypes.to_dict(), world.pieces.tolist(), account))
    assert len(world.value) == 9
    assert told[0] == told[1]


def test_published_rows_are_unchanged(tmp_path: Path) -> None:
    """Published rows are those of the input. Nothing is interpolated or rounded."""
    check_rows_are_those_of_the_input(tmp_path)


def test_near_home_changes_nothing(tmp_path: Path) -> None:
    """Values, pieces, lengths and certificates are the same, whatever was done within the margin."""
    check_two_worlds(tmp_path)


def test_forms_are_cut_alike(tmp_path: Path) -> None:
    """Tables of pandas, polars and Arrow, frames, arrays and files keep the same points."""
    import polars
    import pyarrow as pa

    frame = ride()
    shapes = geopandas.GeoDataFrame(frame[["time"]], geometry=geopandas.points_from_xy(frame.lon, frame.lat), crs=4326)
    frame.to_csv(tmp_path / "ride.csv", index=False)
    expected = hidden(frame, tmp_path)
    wanted = expected.value[["lon", "lat"]].to_numpy()
    array = frame[["lon", "lat"]].to_numpy()
    assert (hidden(array, tmp_path, crs=4326).value == wanted).all()
    assert (shapely.get_coordinates(hidden(shapes, tmp_path).value.geometry) == wanted).all()
    assert (shapely.get_coordinates(hidden(shapes.geometry, tmp_path).value) == wanted).all()
    points = hidden([*shapely.points(array)], tmp_path, crs=4326).value
    assert (shapely.get_coordinates(points) == wanted).all()
    assert (hidden(polars.DataFrame(frame), tmp_path).value.select("lon", "lat").to_numpy() == wanted).all()
    table = hidden(pa.Table.from_pandas(frame, preserve_index=False), tmp_path).value
    assert (np.column_stack([table["lon"], table["lat"]]) == wanted).all()
    file = hidden(tmp_path / "ride.csv", tmp_path).value
    assert (shapely.get_coordinates(file.geometry) == wanted).all()
    for other in (expected.value, hidden(shapes, tmp_path).value, file):
        assert isinstance(other.index, pd.RangeIndex)


def test_projected_data(tmp_path: Path) -> None:
    """Coordinates of a projected system are published as they are, and cut by their longitudes and latitudes."""
    frame = ride()
    shapes = geopandas.GeoSeries.from_xy(frame.lon, frame.lat, crs=4326)
    swiss = shapes.to_crs(2056)
    found = hidden(swiss, tmp_path, area=None)
    expected = hidden(shapes, tmp_path)
    assert len(found.value) == len(expected.value)
    assert set(shapely.to_wkb(found.value.array)) <= set(shapely.to_wkb(swiss.array))


def test_rows_are_numbered_anew(tmp_path: Path) -> None:
    """Neither an index nor a column that was not named tells how many rows are gone."""
    frame = ride().set_index(pd.Index(np.arange(400) * 3 + 7, name="row number"))
    value = hidden(frame, tmp_path).value
    assert value.index.equals(pd.RangeIndex(len(value)))
    assert value.columns.tolist() == ["lat", "lon", "time"]


def test_row_order_is_irrelevant(tmp_path: Path) -> None:
    """Rows of a database, in an order of their own, are put in that of their times; a track may run backwards."""
    frame = ride()
    whole = hidden(frame, tmp_path)
    mixed = hidden(frame.sample(frac=1, random_state=3), tmp_path)
    pd.testing.assert_frame_equal(mixed.value, whole.value)
    assert mixed.pieces.tolist() == whole.pieces.tolist()
    backwards = hidden(frame[::-1], tmp_path)
    assert backwards.value["time"].tolist() == whole.value["time"].tolist()[::-1]
    assert backwards.length == pytest.approx(whole.length)
    assert mixed.length == whole.length


def test_persons_have_own_pieces(tmp_path: Path) -> None:
    """Tracks of several people are cut by one disc, and never joined."""
    both = pd.concat([ride().assign(who="ann"), ride().assign(who="bob")], ignore_index=True)
    release = gv.Locations(both, person="who", area=AREA).hide_places(HOME, hide=200, centres=tmp_path / "c.json")
    assert release.value.columns.tolist() == ["lat", "lon", "time", "who"]
    assert sorted(set(release.value.groupby(release.pieces)["who"].nunique())) == [1]
    assert len(np.unique(release.pieces)) == 4
    assert len(release.zones) == 1


def test_nothing_inside_is_published(tmp_path: Path) -> None:
    """Every published point is outside the disc, and the disc covers the home and its margin."""
    release = hidden(ride(), tmp_path)
    assert kept_points(release.zones, release.degrees).all()
    [disc] = release.discs().to_crs(2056).geometry
    [home] = geopandas.GeoSeries.from_xy([8.54], [47.37], crs=4326).to_crs(2056)
    assert disc.contains(home.buffer(249))
    assert not shapely.intersects(release.lines().to_crs(2056).geometry.array, disc.buffer(-1)).any()


def test_tracks_never_leaving(tmp_path: Path) -> None:
    """The release is the disc alone, with noise or without."""
    short = ride().iloc[190:210]
    for noise in (None, 1e-4):
        release = hidden(short, tmp_path, noise=noise)
        assert len(release.value) == len(release.pieces) == release.length == 0
        assert zones_problems({**release.certificate()}) == []
        assert "0 points" in repr(release)


def test_noise_outside(tmp_path: Path) -> None:
    """Outside there is a guarantee for each point, and inside nothing; pieces follow from noisy points."""
    plain, noisy = hidden(ride(), tmp_path), hidden(ride(), tmp_path, noise=1e-2, keep=["pulse"])
    assert noisy.zones == plain.zones
    assert len(noisy.value) == len(plain.value)
    assert noisy.noise is not None
    assert [" together" in repr(each) for each in (plain, noisy)] == [True, False]
    assert noisy.noise.guarantee == gv.CGP(rho=1e-2)
    assert noisy.value.columns.tolist() == ["lat", "lon", "time", "pulse"]
    assert not (noisy.value[["lat", "lon"]] == plain.value[["lat", "lon"]]).any().any()
    account = noisy.certificate()
    assert account["noise"]["rho"] == "0.01"
    assert zones_problems(account) == []
    with pytest.raises(InvalidParameter, match="true positions"):
        hidden(ride(), tmp_path, noise=1e-2, shorten="200 m")


def test_ends_are_shortened(tmp_path: Path) -> None:
    """Ends are shortened where it is asked. A length, or tracks that run together."""
    whole, less = hidden(ride(), tmp_path), hidden(ride(), tmp_path, shorten="200 m")
    assert 30 < len(whole.value) - len(less.value) < 50
    assert less.rules.trim == 200
    alone = hidden(ride(), tmp_path, shorten="2 tracks")
    assert len(alone.value) < len(whole.value)
    for wrong in ("1 track", "two tracks", -5, "far"):
        with pytest.raises(InvalidParameter, match="2 tracks"):
            hidden(ride(), tmp_path, shorten=wrong)


def test_words_state_the_unhidden(tmp_path: Path) -> None:
    """The certificate speaks of what lies inside alone, in plain words."""
    words = hidden(ride(), tmp_path).certificate()["words"]
    assert "The promise is about what lies inside the discs alone." in words
    assert "200 m apart" in words
    assert "within 250 m of the place changes nothing" in words
    assert "street map" in words


def test_thinning_after_cut(tmp_path: Path) -> None:
    """Which points are kept in each interval does not depend on points inside: one per interval is left outside."""
    frame = ride()
    every = gv.Locations(frame, area=AREA, thin="1 minute")
    thinned = every.hide_places(HOME, hide=200, centres=tmp_path / "centres.json").value
    outside = hidden(frame, tmp_path).value
    expected = outside.groupby(outside["time"].dt.floor("1min"))["time"].first()
    assert thinned["time"].tolist() == expected.tolist()


def test_other_times_are_removed(tmp_path: Path) -> None:
    """The column of times is named where there are several; one that tells when the ride began is left out."""
    frame = ride().assign(departure=pd.Timestamp("2026-05-01T08:00"))
    with pytest.raises(InvalidParameter, match="when a track began"):
        hidden(frame, tmp_path)
    tracks = gv.Locations(frame, area=AREA, times="time")
    value = tracks.hide_places(HOME, hide=200, centres=tmp_path / "centres.json").value
    assert value.columns.tolist() == ["lat", "lon", "time"]


def test_row_numbers_are_refused(tmp_path: Path) -> None:
    """They would tell which rows are gone; without them the same tracks are released."""
    with pytest.raises(InvalidParameter, match="which are gone"):
        gv.Locations(ride(), area=AREA, person="row").hide_places(HOME, hide=200, centres=tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()
    assert len(hidden(ride(), tmp_path).value)


def test_totals_are_hidden(tmp_path: Path) -> None:
    """No number of the certificate depends on how many points there were."""
    accounts = [hidden(ride().iloc[start:], tmp_path).certificate() for start in (0, 1, 50)]
    assert len({json.dumps({**account, "id": ""}) for account in accounts}) == 1


def test_seeded_release_says_so(tmp_path: Path) -> None:
    """Centres of an experiment are marked in the certificate."""
    seeded = gv.Locations(ride(), area=AREA, rng=np.random.default_rng(1))
    account = seeded.hide_places(HOME, hide=200, centres=tmp_path / "c.json").certificate()
    assert not account["exact"]
    assert "numpy" in account["inexact"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"hide": None}, "hide, rho"),
        ({"rho": 1e-4}, "exactly one"),
        ({"hide": "far"}, "hide"),
        ({"margin": 10}, "margin"),
        ({"gap": "soon"}, "gap"),
        ({"keep": "all"}, "Name each column"),
        ({"noise": -1}, "rho"),
    ],
)
def test_wrong_arguments_draw_nothing(tmp_path: Path, how: dict[str, Any], said: str) -> None:
    """Wrong arguments draw no centre. They are refused before anything is drawn."""
    with pytest.raises(InvalidParameter, match=said):
        hidden(ride(), tmp_path, **how)
    assert not (tmp_path / "centres.json").exists()


def test_placeless_data_is_refused(tmp_path: Path) -> None:
    """Plain metres, lines and pairs of places have no zones; the remedies work."""
    with pytest.raises(InvalidCoordinateSystem, match="zones are on the Earth"):
        gv.Locations(np.arange(20.0).reshape(10, 2) * 300).hide_places(HOME, hide=200, centres=tmp_path / "c.json")
    frame = ride()
    line = shapely.LineString(frame[["lon", "lat"]])
    with pytest.raises(InvalidData, match="get_coordinates"):
        hidden(line, tmp_path, crs=4326)
    with pytest.raises(InvalidData, match="the vertices"):
        hidden(geopandas.GeoSeries([line], crs=4326), tmp_path)
    assert len(hidden(shapely.get_coordinates(line), tmp_path, crs=4326).value)


def test_derived_columns_warn(tmp_path: Path) -> None:
    """The owner hears of a column that may tell of points that are cut off."""
    with pytest.warns(GeoveilWarning, match="speed"):
        hidden(ride().assign(speed=3.0), tmp_path, keep=["speed"])


def test_ledger_charges_place_once(tmp_path: Path) -> None:
    """Another run, other tracks and a housemate's place cost nothing more; too little budget draws nothing."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1e-4)
    how: dict[str, Any] = {"rho": 6e-5, "centres": tmp_path / "centres.json"}

    def session(rows: int = 400) -> gv.Session:
        return gv.Locations(ride(rows=rows), area=AREA).session(ledger=ledger, subject="ann")

    first = session().hide_places(HOME, **how)
    assert str(ledger.account("ann").remaining) == "0.00004"
    for place in (HOME, "47.3704,8.54"):
        again = session(300).hide_places(place, **how)
        assert (again.zones, again.entries) == (first.zones, first.entries)
    assert str(ledger.account("ann").remaining) == "0.00004"
    with pytest.raises(BudgetExceeded):
        session().hide_places("47.386,8.54", **how)
    assert session().hide_places([HOME], **how).zones == first.zones
    # The disc that adds up is asked for: a uniform one has no ρ.
    with pytest.raises(InvalidParameter, match="uniform disc"):
        session().hide_places("47.386,8.54", hide=200, centres=tmp_path / "centres.json")
    assert ledger.verify() > 0


def test_truncation_is_recorded(tmp_path: Path) -> None:
    """ρ of a truncated Gaussian holds except with a probability: the ledger, the certificate and its words have it."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1e-3)
    session = gv.Locations(ride(), area=AREA).session(ledger=ledger, subject="ann")
    release = session.hide_places(HOME, rho=1e-4, centres=tmp_path / "centres.json")
    [charge] = [line for line in ledger.statement("ann") if line["event"] == "charge"]
    law = release.zones[0].hiding.law
    told = json.loads(charge["parameters"])
    assert (told["reach"], told["hidden"]) == (law.reach, law.hidden())
    assert told["delta"] == law.exclusion(law.hidden())
    assert 0 < told["delta"] <= 1e-6
    account = release.certificate()
    assert account["exclusion"] == [told["delta"]]
    assert "except with a probability of 1e-06" in account["words"]
    assert zones_problems(account) == []
    assert zones_problems({**account, "exclusion": [0.0]})


def test_session_charges_once(tmp_path: Path) -> None:
    """In memory too, and noise outside is charged as well."""
    with gv.Locations(ride(), area=AREA).session(rho=1e-3) as session:
        for _ in range(2):
            session.hide_places(HOME, rho=5e-5, centres=tmp_path / "c.json")
        assert str(session.spent) == "0.00005"
        session.hide_places(HOME, rho=5e-5, centres=tmp_path / "c.json", noise=1e-4)
        assert str(session.spent) == "0.00015"


def test_labels_separate_places(tmp_path: Path) -> None:
    """As many points outside of another place, or of another condition, are other points, and get other noise."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("ann", rho=1e-1)
    lat, lon = np.repeat([47.37, 47.45, 47.41], [50, 50, 100]), np.repeat([8.54, 8.54, 8.6], [50, 50, 100])
    frame = pd.DataFrame({"lat": lat, "lon": lon, "mode": ["bike", "walk"] * 100})

    def noisy(place: str, where: str | None = None) -> gv.ZonesRelease:
        tracks = gv.Locations(frame, area=AREA, where=where)
        session = tracks.session(ledger=ledger, subject="ann", label="rides")
        return session.hide_places(place, rho=1e-4, centres=tmp_path / "centres.json", noise=1e-2)

    first, other = noisy(HOME), noisy("47.45,8.54")
    assert len(first.value) == len(other.value) == 150
    assert (np.abs(first.value["lat"] - 47.45) < 0.003).sum() == 50
    assert (np.abs(other.value["lat"] - 47.45) < 0.003).sum() == 0
    assert noisy(HOME).value.equals(first.value)
    assert not noisy(HOME, "mode = 'bike'").value.equals(noisy(HOME, "mode = 'walk'").value)


def written(release: gv.ZonesRelease, path: Path, **changed: Any) -> Path:
    """Write a release with its certificate."""
    release.value.to_csv(path, index=False)
    account = {**release.certificate(), "file": {"name": path.name, "sha256": digest(path)}, **changed}
    write_certificate(path, account)
    return path


def test_certificates_are_verified(tmp_path: Path) -> None:
    """A sound one holds; one with a disc that is too small for what it states fails, and so does a changed file."""
    release = hidden(ride(), tmp_path)
    path = written(release, tmp_path / "shared.csv")
    found = gv.verify(path)
    assert found.holds
    assert [check.outcome for check in found.checks] == ["holds", "holds", "holds", "open", "open"]
    account = release.certificate()
    wrong = {**account["zones"][0], "radius": 400}
    assert not gv.verify(written(release, path, zones=[wrong])).holds
    assert not gv.verify(written(release, path, hidden=[500.0])).holds
    assert not gv.verify(written(release, path, total=3)).holds
    path = written(release, path)
    with path.open("a") as file:
        file.write("47.37,8.54\n")
    assert [check.outcome for check in gv.verify(path).checks][1] == "fails"


def test_ledger_confirms_centres(tmp_path: Path) -> None:
    """Verification finds the charges of the centres; another ledger does not have them."""
    ledger, other = (gv.Ledger(tmp_path / name) for name in ("budget.db", "other.db"))
    ledger.create("ann", rho=1e-4)
    session = gv.Locations(ride(), area=AREA).session(ledger=ledger, subject="ann")
    release = session.hide_places(HOME, rho=5e-5, centres=tmp_path / "centres.json")
    path = written(release, tmp_path / "shared.csv")
    assert gv.verify(path, ledger=ledger).holds
    assert not gv.verify(path, ledger=other).holds
    cheaper = {**release.certificate()["zones"][0], "id": "another"}
    assert not gv.verify(written(release, path, zones=[cheaper]), ledger=ledger).holds


def test_inner_gaps_split_nothing(tmp_path: Path) -> None:
    """Whether a recording paused at a removed point does not divide what is published on both sides of it."""
    [zone] = hidden(ride(), tmp_path).zones
    # North of the disc: beyond its edge, a metre within it, and beyond it again.
    metre = 180 / (np.pi * 6_335_439)
    lat = [zone.lat + (zone.radius + beyond) * metre for beyond in (3, -1, 3)]
    lon = [zone.lon + east * metre * 1.5 for east in (-5, 0, 5)]
    points = [
        f'<trkpt lat="{y:.7f}" lon="{x:.7f}"><time>2026-05-01T08:00:0{i}Z</time></trkpt>'
        for i, (y, x) in enumerate(zip(lat, lon, strict=True))
    ]
    told = []
    for pause in ("", "</trkseg><trkseg>"):
        track = f"<trk><trkseg>{points[0]}{points[1]}{pause}{points[2]}</trkseg></trk>"
        (tmp_path / "ride.gpx").write_text(
            f'<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">{track}</gpx>'
        )
        told.append(hidden(tmp_path / "ride.gpx", tmp_path).pieces.tolist())
    assert told == [[0, 0], [0, 0]]


def test_far_place_is_refused(tmp_path: Path) -> None:
    """A new place that no point is near hides nothing: no disc is drawn for it; a known one may be far."""
    centres = tmp_path / "centres.json"
    far = gv.Locations(ride(), area=AREA)
    with pytest.raises(InvalidParameter, match="no point within 1 km, so that nothing would be hidden"):
        far.hide_places([HOME, "47.9,8.9"], hide=200, centres=centres)
    assert not centres.exists()
    assert len(far.hide_places([HOME], hide=200, centres=centres).zones) == 1
    away = ride().assign(lat=lambda of: of["lat"] + 0.2)
    assert len(gv.Locations(away, area=AREA).hide_places(HOME, hide=200, centres=centres).value) == len(away)


def test_near_across_date_line(tmp_path: Path) -> None:
    """A place on one side of the date line is near points on the other."""
    frame = ride().assign(lat=lambda of: of["lat"] - 47.37, lon=-179.9995)
    tracks = gv.Locations(frame, area="0,180,50km")
    assert len(tracks.hide_places("0,179.9995", hide=200, centres=tmp_path / "centres.json").value) < len(frame)
