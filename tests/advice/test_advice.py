"""What data can be used for: the errors are those that releases state, and follow from public numbers alone."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil.advice import PURPOSES, Use, advise
from geoveil.answering.concerns import half_of_points, is_hopeless
from geoveil.settings import PURPOSES as NAMES

AREA = "47.38,8.54,20km"


def rows(persons: int, each: int, seed: int = 1, spread: float = 0.02) -> pd.DataFrame:
    """Persons with points a minute apart."""
    rng = np.random.default_rng(seed)
    n = persons * each
    lon, lat = rng.normal([[8.54], [47.38]], spread, (2, n))
    times = pd.Timestamp("2026-05-04") + pd.to_timedelta(np.tile(np.arange(each), persons), unit="min")
    return pd.DataFrame({"user": np.repeat(np.arange(persons), each), "time": times, "lat": lat, "lon": lon})


def used(frame: pd.DataFrame, name: str, *, hide: float = 100, person: str | None = "user") -> Use:
    """The advice for one purpose."""
    advice = gv.Locations(frame, person=person, area=AREA).check(hide=hide)
    return next(use for use in advice.uses if use.purpose.name == name)


def test_options_name_every_purpose() -> None:
    """The command line knows the names of purposes without importing them."""
    assert tuple(purpose.name for purpose in PURPOSES) == NAMES


def test_point_errors_agree() -> None:
    """The error for single points is the one that a release with the same settings states."""
    use = used(frame := rows(5, 3), "points")
    assert not use.best.data
    release = gv.Locations(frame, person="user", area=AREA).points(hide=100)
    assert use.best.error == pytest.approx(max(release.error(each=True)), rel=1e-9)


def test_smoothed_errors_agree() -> None:
    """A track that is smoothed has the expected error that the advice named."""
    frame = rows(1, 200).drop(columns="user")
    use = used(frame, "tracks", person=None)
    assert use.best.question == {"motion": "car"}
    data = gv.Locations(frame, area=AREA, **use.best.data)  # type: ignore[arg-type]
    release = data.points(hide=100).smooth("car")
    assert use.best.error == pytest.approx(release.expected_error(), rel=0.02)


def test_map_noise_agrees() -> None:
    """The noise on a cell that the advice names is that of a map with the advised cells."""
    frame = rows(4000, 1)
    use = used(frame, "map")
    cell = use.best.question["cell"]
    release = gv.Locations(frame, person="user", area=AREA).heatmap(float(cell), hide=100)
    assert f"a noise of {release.deviation:.2g} persons" in use.best.text
    assert use.best.verdict == "good"


@pytest.mark.slow
def test_advised_cells_show_crowds() -> None:
    """Where the crowd is, a good map has most of its persons in the right cells."""
    frame = rows(4000, 1)
    cell = float(used(frame, "map").best.question["cell"])
    data = gv.Locations(frame, person="user", area=AREA, rng=np.random.default_rng(1))
    shown = np.asarray(data.heatmap(cell, hide=100).value)
    exact = np.asarray(gv.Locations(frame, person="user", area=AREA).heatmap(cell, rho=1e3).value)
    assert np.abs(shown - exact).sum() < exact.sum()


def test_places_change_no_setting() -> None:
    """Two data sets with the same public numbers get the same settings and errors, wherever their points are."""
    here, there = rows(300, 4, seed=1), rows(300, 4, seed=2, spread=0.001)
    found = [gv.Locations(frame, person="user", area=AREA).check().data() for frame in (here, there)]
    assert found[0] == found[1]


def test_places_change_verdicts_alone() -> None:
    """How far points reach makes a map hopeless, and leaves its cells as they are."""
    from dataclasses import replace

    data = gv.Locations(rows(4000, 1), person="user", area=AREA)
    public = data._rows.public_rows(None, lambda share: None)
    near = replace(public, reach=300.0)
    guarantee = gv.CGP.hiding(distance=100, chance=0.75)
    maps = [
        next(use for use in advise(each, guarantee).uses if use.purpose.name == "map").best for each in (public, near)
    ]
    assert [found.verdict for found in maps] == ["good", "hopeless"]
    assert maps[0].question == maps[1].question
    assert "looked at the data" in maps[1].text


def test_settings_ignore_places() -> None:
    """Whatever is known about where points are, each purpose has the same best settings."""
    from dataclasses import replace

    guarantee = gv.CGP.hiding(distance=100, chance=0.75)
    for frame, person in ((rows(4000, 1), "user"), (rows(300, 5), "user"), (rows(1, 300), None)):
        public = gv.Locations(frame, person=person, area=AREA)._rows.public_rows(None, lambda share: None)
        found = []
        for reach, away in ((None, np.full(100, 5000.0)), (30.0, np.full(100, 10.0)), (3000.0, np.full(100, 400.0))):
            seen = replace(public, reach=reach, start=(47.38, 8.54), from_start=away)
            found.append([(use.purpose.name, use.best.settings) for use in advise(seen, guarantee).uses])
        assert all(sorted(each, key=str) == sorted(found[0], key=str) for each in found)


@pytest.mark.slow
def test_error_chooses_cells() -> None:
    """A finer map, or the middle of persons who have many days, if a small error is wanted; else no result."""
    frame = rows(4000, 2)
    data = gv.Locations(frame, person="user", area=AREA)
    free, fine = (
        next(use for use in data.check(hide=50, within=within).uses if use.purpose.name == "map").best
        for within in (None, 200)
    )
    assert fine.error <= 200 < free.error
    cells = {name: float(value) for name, value in fine.question.items()}
    release = data.heatmap(cells["cell"], bandwidth=cells["bandwidth"], hide=50)
    assert f"a noise of {release.deviation:.2g} persons" in fine.text
    # The blur is as narrow as the cells.
    assert cells["bandwidth"] * np.sqrt(3) == pytest.approx(cells["cell"], rel=0.02)
    days = rows(20, 400)
    days["time"] += pd.to_timedelta(np.tile(np.arange(400), 20), unit="D")
    answers = gv.Locations(days, person="user", area=AREA).check(within=50)
    use = next(use for use in answers.uses if use.purpose.name == "answers")
    assert use.best.data == {"protect": "1 day"}
    released = gv.Locations(days, person="user", area=AREA, protect="1 day").mean(hide=100)
    assert use.best.error == pytest.approx(float(np.max(released.error())), rel=1e-9)
    with pytest.raises(gv.errors.InvalidParameter, match="within"):
        data.check(within=-1)


def test_few_persons_no_crowd() -> None:
    """If much is hidden a map of four persons is hopeless, and something better is named if there is anything."""
    advice = gv.Locations(rows(4, 2), person="user", area=AREA).check(hide=5000)
    use = next(use for use in advice.uses if use.purpose.name == "map")
    assert use.best.verdict == "hopeless"
    assert "too few" in use.told(advice.instead_of(use))
    assert ("instead" in use.told(advice.instead_of(use))) == (advice.best is not None)


def test_errors_grow_with_distance() -> None:
    """Whatever the purpose, nothing gets better if more is hidden with the same settings."""
    for use in gv.Locations(rows(500, 2), person="user", area=AREA).check().uses:
        useful = [found.error for found in use.levels.values() if found.verdict != "hopeless"]
        assert useful == sorted(useful), use.purpose.name


def test_the_code_runs() -> None:
    """Each line of Python that the advice gives for a crowd releases an answer."""
    locations = gv.Locations(rows(2000, 2), person="user", area=AREA)
    advice = locations.check()
    ran = 0
    for use in advice.uses:
        code = advice.code(use)
        if use.useful and code.startswith("locations.") and "h3:" not in code:
            assert eval(code, {"locations": locations}).guarantee.hidden(chance=0.75) == pytest.approx(100)
            ran += 1
    assert ran >= 2


def test_card_names_purposes() -> None:
    """The card names every purpose. As text and as HTML."""
    advice = gv.Locations(rows(200, 2), person="user", area=AREA).check()
    for use in advice.uses:
        assert use.purpose.wish in repr(advice)
        assert use.purpose.wish in advice._repr_html_()


def test_metres_need_area() -> None:
    """Metres without an area are refused. Errors of crowds follow from the size of an area."""
    with pytest.raises(gv.errors.InvalidParameter, match="area"):
        gv.Locations(np.zeros((5, 2))).check()


def test_frame_matches_file(tmp_path: object) -> None:
    """A frame and its file get the same advice. In memory and in a file."""
    from pathlib import Path

    frame = rows(50, 20)
    path = Path(str(tmp_path)) / "rows.csv"
    frame.to_csv(path, index=False)
    found = [gv.Locations(source, person="user", area=AREA).check().data() for source in (frame, path)]
    assert found[0] == found[1]


def test_hopeless_as_documented() -> None:
    """A quarter of the radius; or 2 km and five times the error of a single point."""
    area = gv.local(lat=47.38, lon=8.54, radius=20_000)
    assert is_hopeless(5001, 5000, area)
    assert not is_hopeless(4999, 4999, area)
    assert is_hopeless(2001, 234, area)
    assert not is_hopeless(1999, 100, area)
    assert not is_hopeless(3000, 800, area)


def test_typical_person() -> None:
    """Many persons with one point do not hide one with thousands."""
    sizes = np.array([*[1] * 1000, 5000])
    assert half_of_points(sizes) == 1000
    assert half_of_points(np.array([3, 3, 3])) in range(3)


def test_flows_for_trips() -> None:
    """Trips are advised on flows. Rows with two places."""
    ends = rows(2000, 1, seed=3)
    frame = rows(2000, 1).assign(end_lat=ends["lat"], end_lon=ends["lon"])
    frame = frame.rename(columns={"lat": "start_lat", "lon": "start_lon"}).drop(columns="time")
    use = used(frame, "flows")
    cell = use.best.question["cell"]
    release = gv.Locations(frame, person="user", area=AREA).flows(float(cell), hide=100)
    assert release.total == pytest.approx(2000)


def test_projected_geometry() -> None:
    """A projected system needs no area."""
    rng = np.random.default_rng(1)
    points = geopandas.GeoSeries.from_xy(*rng.normal([[2_680_000], [1_250_000]], 3000, (2, 50)), crs=2056)
    assert gv.Locations(points, person="row").check().uses


def test_one_person_is_no_crowd() -> None:
    """A map and counts of one person are hopeless; those of two are not for this reason."""
    for persons in (1, 2):
        frame = rows(persons, 300)
        for name in ("map", "counts"):
            best = used(frame, name).best
            assert ("of one person" in best.text) == (persons == 1)
            assert best.verdict == "hopeless" or persons == 2
