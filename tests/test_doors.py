"""The same rows through every door: arrays, tables and files answer alike, refuse alike, and charge alike."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely
from numpy.typing import NDArray

import geoveil as gv
from geoveil.errors import GeoveilError, IncompatibleGuarantees, InvalidInput, NoErrorBound
from tests.questions import QUESTIONS, release_of

BAY = gv.local(lat=37.77, lon=-122.42, radius=20_000)
STATION = geopandas.GeoSeries.from_xy([-122.42], [37.77], crs=4326)
REGIONS = geopandas.GeoSeries([shapely.box(-122.5, 37.7, -122.42, 37.8)], ["west"], crs=4326)


def corner(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first point, which moves as far as that point does, and is not rounded."""
    first: NDArray[np.float64] = x[0]
    return first


def rows(*, gaps: bool = False, pairs: bool = False, projected: bool = False) -> pd.DataFrame:
    """Sixty rows of five persons in three days; with gaps, one has no place and one is far away.

    With pairs, each row has a second place, and the time of it. Projected, places are eastings and northings.
    """
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"user": np.repeat(["ann", "bob", "cid", "dan", "eve"], 12), "kind": np.tile([1, 2], 30)})
    frame["lat"], frame["lon"] = rng.normal([37.77, -122.42], 0.02, size=(60, 2)).T
    frame["when"] = pd.Timestamp("2026-05-01") + pd.to_timedelta(rng.integers(0, 3 * 86_400, 60), unit="s")
    frame["trip"] = np.arange(60) // 4
    if gaps:
        frame.loc[7, "lat"], frame.loc[20, "lat"] = np.nan, 40.0
    if pairs:
        frame["to_lat"], frame["to_lon"] = rng.normal([37.77, -122.42], 0.02, size=(60, 2)).T
        frame["end_time"] = frame["when"] + pd.to_timedelta(rng.integers(60, 7200, 60), unit="s")
        if gaps:
            frame.loc[30, "to_lon"], frame.loc[40, "to_lat"] = np.nan, 40.0
    if projected:
        ground = geopandas.GeoSeries.from_xy(frame.pop("lon"), frame.pop("lat"), crs=4326).to_crs(32610)
        frame["east"], frame["north"] = ground.x, ground.y
    return frame.sample(frac=1, random_state=1).reset_index(drop=True)


def csv_of(frame: pd.DataFrame, folder: Path) -> Path:
    """Write rows as CSV."""
    frame.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def parquet_of(frame: pd.DataFrame, folder: Path) -> Path:
    """Write rows as Parquet."""
    frame.to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


#: Makes the source of the same rows, by door. The first one is what the others are compared with.
DOORS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "pandas": lambda frame, folder: frame,
    "pyarrow": lambda frame, folder: pa.Table.from_pandas(frame, preserve_index=False),
    "csv": csv_of,
    "parquet": parquet_of,
    "array": lambda frame, folder: frame[["lon", "lat"]].to_numpy(),
}
#: The arguments of every question about these rows.
ASKED: dict[str, dict[str, Any]] = {
    **QUESTIONS,
    **{name: {**QUESTIONS[name], "p": STATION} for name in ("distance", "first_within", "nearest")},
    "nearest with places": {"p": STATION, "k": 2, "locations": 0.5},
    "heatmap": {"cell": 5000},
    "heatmap in slices": {"cell": 5000, "every": "1 day"},
    "counts": {"regions": REGIONS, "cap": 3},
    "flows": {"between": 10_000, "trip": "trip"},
}
#: Every other option of the questions: the question as it is asked above, and what is asked differently.
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"{question}, both": (question, {"method": "both"})
        for question in (
            *("answer", "bounds", "center", "counts", "diameter", "distance", "heatmap", "mean", "median", "points"),
            *("radius", "radius_of_gyration"),
        )
    },
    **{
        f"{question} of any number": (question, {"count": "hidden"})
        for question in (
            *("bounds", "center", "diameter", "distance", "hull", "mean", "median", "radius", "radius_of_gyration"),
        )
    },
    "answer of two values, rounded": ("answer", {"fn": corner, "lipschitz": 1, "size": 2, "fn_error": 0.0}),
    "counts of visits": ("counts", {"cap": 5}),
    "counts in slices": ("counts", {"every": "day of week"}),
    "counts, blurred": ("counts", {"bandwidth": "2km"}),
    "distance to an area": ("distance", {"p": REGIONS, "fn_error": 1e-6}),
    "flows between regions": ("flows", {"between": REGIONS}),
    "flows in slices": ("flows", {"every": "1 day"}),
    "flows of all trips": ("flows", {"cap": 2, "bandwidth": 3000}),
    "heat map of visits": ("heatmap", {"cap": 3, "bandwidth": 4000}),
    "hull of few directions": ("hull", {"k": 6}),
    "hull of a guessed extent": ("hull", {"k": "optimal", "extent": "10km", "rho": None, "epsilon": 0.05}),
    "points with a column": ("points", {"keep": ["kind"]}),
    "points in no order": ("points", {"order": "hidden"}),
}
#: The cases in which the number, or the order, of points cannot be hidden: these tell them.
TELLING_CASES = {"count": ("dropped", "days together"), "order": ("days together",)}
#: Options that are refused, by every door in the same way.
REFUSED_OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "points with no such column": ("points", {"keep": ["sort"]}),
    "no such method": ("center", {"method": "worst"}),
    "no directions": ("hull", {"k": 1}),
    "no neighbours": ("nearest", {"k": 0}),
    "more neighbours than points": ("nearest", {"k": 61}),
    "a place that is none": ("distance", {"p": (-122.42, 97.0)}),
    "a radius of nothing": ("first_within", {"radius": -1}),
    "cells of nothing": ("heatmap", {"cell": 0}),
    "too many cells": ("heatmap", {"cell": "1m"}),
    "slices of nothing": ("heatmap", {"every": "0 days"}),
    "a cap of nothing": ("counts", {"cap": 0}),
    "regions elsewhere": ("counts", {"regions": REGIONS.translate(100)}),
    "trips that are not there": ("flows", {"trip": None}),
    # Rows of Spark alone need labels: they have no order.
    "nearest by a column": ("nearest", {"label": "trip"}),
    "first by a column": ("first_within", {"label": "trip"}),
}
#: The data for these options.
OPTION_CASES = ("persons", "dropped", "ledger, skipping", "days together")
#: The questions that are always about all persons together, and the one that never is.
CROWD, EACH = ("heatmap", "heatmap in slices", "counts", "flows"), ("points",)
#: Columns of eastings and northings.
PROJECTED: dict[str, Any] = {"projected": True, "lat": "north", "lon": "east", "crs": 32610}
#: The arguments of data, by case; those of the question and of an account stand among them.
CASES: dict[str, dict[str, Any]] = {
    "one person": {},
    "persons": {"person": "user"},
    "persons together": {"person": "user", "together": True},
    "days": {"person": "user", "protect": "1 day"},
    "days of all": {"protect": "1 day"},
    "days together": {"person": "user", "protect": "1 day", "together": True},
    "rows": {"person": "row"},
    "rows together": {"person": "row", "together": True},
    "rows dropped": {"person": "row", "missing": "drop", "outside": "drop", "gaps": True},
    "single points": {"person": "user", "protect": "point"},
    "single points together": {"person": "user", "protect": "point", "together": True},
    "filtered": {"person": "user", "where": "kind = 1"},
    "dropped": {"person": "user", "missing": "drop", "outside": "drop", "gaps": True},
    "clamped": {"person": "user", "missing": "drop", "outside": "clamp", "gaps": True},
    "thinned": {"person": "user", "thin": "6 hours", "times": "when"},
    "thinned together": {"person": "user", "thin": "6 hours", "protect": "1 day", "together": True},
    "pseudonyms": {"person": "user", "pseudonyms": "key"},
    "pure": {"person": "user", "epsilon": 0.01},
    "hidden": {"person": "user", "hide": 300},
    "ledger": {"person": "user", "ledger": True},
    "ledger, skipping": {"person": "user", "ledger": True, "short": "skip"},
    "ledger, together": {"person": "user", "ledger": True, "short": "skip", "together": True},
    "days, from accounts of everything": {"person": "user", "protect": "1 day", "ledger": True, "short": "skip"},
    "points, from accounts of everything": {
        "person": "user",
        "protect": "point",
        "rho": 1e-4,
        "ledger": True,
        "short": "skip",
    },
    "a projected area": {"person": "user", "area": 32610},
    "columns of another system": {**PROJECTED, "person": "user"},
    "columns of the area's system": {**PROJECTED, "person": "user", "area": None, "together": True},
    # What is refused.
    "missing places": {"person": "user", "outside": "drop", "gaps": True},
    "places outside": {"person": "user", "missing": "drop", "gaps": True},
    "no such column of persons": {"person": "who"},
    "no such column of times": {"protect": "1 day", "times": "at"},
    "no such column in a condition": {"where": "sort = 1"},
    "no such column of latitudes": {"person": "user", "lat": "north", "lon": "lon"},
    "no such treatment": {"person": "user", "outside": "keep"},
    "a condition on places": {"where": "lat > 37.77"},
    "another area": {"person": "user", "area": gv.local(lat=52.5, lon=13.4, radius=20_000)},
    "pseudonyms of nobody": {"pseudonyms": True},
    "no ledger to know the answer": {"person": "user", "key": "first"},
    "nothing is left": {"where": "kind = 3"},
    "no area": {"area": None},
    "rows have no account": {"person": "row", "ledger": True},
    "too little budget": {"person": "user", "ledger": True, "rho": 0.5},
    "two budgets": {"rho": 1e-4, "hide": 10},
    "no unit": {"protect": "fortnight"},
}
#: Rows with an origin and a destination, each with its own time.
PAIRS: dict[str, Any] = {"pairs": True, "lat": ["lat", "to_lat"], "lon": ["lon", "to_lon"]}
BOTH = ["when", "end_time"]
REFUSED_PAIRS = (
    *("nothing is left", "ledger", "too little budget", "one column of times", "thinned by one column"),
    *("three columns of times", "lists of two lengths", "one place twice", "the only column of times"),
    *("coarse times of the second place", "rows have no account"),
)
#: The cases of such rows.
PAIR_CASES: dict[str, dict[str, Any]] = {
    **{
        name: {**CASES[name], **PAIRS, **({"times": BOTH} if "times" in CASES[name] else {})}
        for name in CASES
        if not name.startswith(("no ", "two budgets", "columns of", "a condition", "another area", "pseudonyms of"))
        and not name.endswith(("accounts of everything", "a projected area"))
    },
    "times are named": {**PAIRS, "person": "user", "protect": "1 day", "times": BOTH},
    "one time of both": {**PAIRS, "person": "user", "protect": "1 day", "times": ["when", "when"]},
    "one of a pair": {**PAIRS, "lon": None, "person": "user"},
    # What is refused.
    "one column of times": {**PAIRS, "person": "user", "protect": "1 day", "times": "when"},
    "thinned by one column": {**PAIRS, "person": "user", "thin": "6 hours", "times": "when"},
    "the only column of times": {**PAIRS, "person": "user", "protect": "1 day", "ends": "unknown"},
    "coarse times of the second place": {**PAIRS, "person": "user", "protect": "1 hour", "ends": "days"},
    "three columns of times": {**PAIRS, "protect": "1 day", "times": ["when", "end_time", "when"]},
    "lists of two lengths": {**PAIRS, "lon": ["lon"]},
    "one place twice": {**PAIRS, "lat": ["lat", "lat"]},
}
#: The fields of a certificate that differ between two releases of the same answer.
OWN = {"id", "created", "time", "entry", "file", "ledger"}
#: What depends on the columns of a table: an array has none; pandas has an index, and a file the numbers of its rows.
INDEX = {"unchanged", "words"}
COLUMNS = {
    "array": {*INDEX, "removed", "columns_removed", "times"},
    "pyarrow": INDEX,
    "csv": INDEX,
    "parquet": INDEX,
}


def ledger_of(folder: Path) -> gv.Ledger:
    """A ledger with accounts of all persons, of whom one has next to nothing left."""
    ledger = gv.Ledger(folder / "budget.db")
    ledger.create("ann", "bob", "dan", "eve", rho=1e-2)
    ledger.create("cid", rho=1e-9)
    return ledger


def plain(value: Any) -> Any:
    """Return the numbers of a value in their order, whatever library it is of; of a table, those of its places."""
    if isinstance(value, pa.Table):
        value = value.to_pandas()
    if isinstance(value, geopandas.GeoDataFrame | geopandas.GeoSeries):
        return shapely.get_coordinates(value.geometry).ravel().tolist()
    if isinstance(value, pd.DataFrame) and {"lat", "north"} & {*value.columns}:
        places = [name for name in ("east", "north", "lon", "lat", "to_lon", "to_lat") if name in value.columns]
        return [places, *value[places].to_numpy().ravel().tolist()][len(places) == 2 :]
    if isinstance(value, shapely.Geometry):
        return shapely.get_coordinates(value).ravel().tolist()
    if isinstance(value, pd.Series):
        # One answer for each person, which may be several rows, or none.
        return [[int(row) for row in np.atleast_1d(answer) if not pd.isna(row)] for answer in value]
    return np.asarray(value).ravel().tolist()


def bound_of(release: gv.Release) -> Any:
    """Return the error bound of an answer, or of each, where there is one."""
    if release.kind.name in ("regions", "flows"):
        return None
    try:
        return np.asarray(release.error(0.05)).tolist()
    except NoErrorBound:
        return None


def told(release: gv.Release) -> dict[str, Any]:
    """Return all that a release tells, but for its identity and the form of its value."""
    certificate = {name: field for name, field in release.certificate().items() if name not in OWN}
    value = release.noisy if isinstance(release, gv.CrowdRelease) else release.value
    if release.query in ("nearest", "first_within"):
        # Rows of a file are named by their numbers from 1, those of a table by its index.
        value = release.positions
    return {
        "value": plain(value),
        "guarantee": release.guarantee,
        "error": bound_of(release),
        "persons": None if release.person is None else release.person.tolist(),
        "removed": release.removed,
        **certificate,
    }


def refusal(problem: GeoveilError) -> dict[str, Any]:
    """Return what is refused, by kind and argument; a row is named by its number from 0, wherever it is."""
    argument = str(getattr(problem, "argument", ""))
    if row := re.fullmatch(r"x\[(\d+)\]|(?:rows\.\w+|DataFrame), row (\d+)", argument):
        argument = f"row {row[1] or int(row[2]) - 1}"
    elif re.fullmatch(r"DataFrame, partition \d+, row \d+", argument):
        argument = "row of a partition"
    elif argument in ("lat, lon", "crs") or argument.startswith("the coordinate system of"):
        argument = "the coordinate system"
    elif argument == "x" or argument.endswith(("rows.csv", "rows.parquet")) or argument == "DataFrame":
        argument = "the data"
    return {"refused": InvalidInput if isinstance(problem, InvalidInput) else type(problem), "argument": argument}


def as_values(frame: pd.DataFrame, how: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a question about an array: values in place of columns."""
    timed = how.get("protect", "point") != "point" or "thin" in how or {"every", "trip"} & {*how}
    columns = {**how, **({"times": how.get("times", "when")} if timed else {})}
    named: list[str] = [name for name in ("person", "times", "trip") if columns.get(name, "row") not in ("row", None)]
    labels: dict[str, Any] = {name: frame[columns[name]].to_numpy() for name in named}
    return {**how, "crs": 4326, **labels}


def ask(question: str, case: dict[str, Any], door: str, folder: Path) -> dict[str, Any]:
    """Return what a question tells through a door, or what it is refused with, and what was charged."""
    folder.mkdir()
    budget = {} if {"rho", "epsilon", "hide"} & {*case} else {"rho": 1e-3}
    asked, option = {**OPTIONS, **REFUSED_OPTIONS}.get(question, (question, {}))
    how = {"rng": np.random.default_rng(5), "area": BAY, **budget, **ASKED[asked], **case, **option}
    shaped = {name: how.pop(name, False) for name in ("gaps", "projected")}
    frame, ledger = rows(pairs=how.get("pairs", False), **shaped), None
    if (ends := how.pop("ends", None)) == "days":
        # As many distinct days as there are other times, so that most of all times are not whole days.
        frame["end_time"] = pd.Timestamp("2026-05-01") + pd.to_timedelta(np.arange(60), unit="D")
    elif ends == "unknown":
        frame = frame.drop(columns="end_time")
    if how.pop("pairs", False) and asked == "flows":
        # Rows are trips.
        how.pop("trip")
    if "pseudonyms" in how:
        how["pseudonyms"] = folder.parent / "pseudonyms.key"
    if "ledger" in how:
        how["ledger"] = ledger = ledger_of(folder)
    name = asked.split(" ")[0]
    if name in (*CROWD, *EACH):
        how.pop("together", None)
    try:
        source = DOORS[door](frame, folder)
        found = told(release_of(name, source, **(as_values(frame, how) if door == "array" else how)))
    except GeoveilError as problem:
        found = refusal(problem)
    if ledger is not None:
        found["charged"] = {person: ledger.account(person).spent for person in ("ann", "cid")}
    return found


def folder_of(folder: Path, *names: str) -> Path:
    """Return a folder that does not exist yet, in one that does."""
    folder = folder.joinpath(*names)
    folder.parent.mkdir(exist_ok=True)
    return folder


def differing(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """Return the names of the facts that are not the same."""
    return {name for name in {*one, *other} if one.get(name) != other.get(name)}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_doors_answer_alike(case: str, tmp_path: Path) -> None:
    """Values, refusals, prices and certificates of every question do not depend on where the rows are."""
    named = {"where", "lat"} & {*CASES[case]} or case.startswith("no such column")
    doors = [door for door in DOORS if not (door == "array" and named)]
    for question in ASKED:
        found = {door: ask(question, CASES[case], door, folder_of(tmp_path, question, door)) for door in doors}
        for door, other in found.items():
            assert differing(found["pandas"], other) <= COLUMNS.get(door, set()), (question, door)


@pytest.mark.slow
@pytest.mark.parametrize("option", [*OPTIONS, *REFUSED_OPTIONS])
def test_options_mean_the_same(option: str, tmp_path: Path) -> None:
    """Every option of a question has the same effect, or is refused in the same way, wherever the rows are."""
    arguments = {*{**OPTIONS, **REFUSED_OPTIONS}[option][1]}
    doors = [door for door in DOORS if not (door == "array" and {"keep", "label"} & arguments)]
    hidden = next(iter({"count", "order"} & arguments), "")
    for case in OPTION_CASES:
        if "label" in arguments and "ledger" in case:
            # With a ledger, `ask` gives a label to the session.
            continue
        told = {door: ask(option, CASES[case], door, folder_of(tmp_path, case, door)) for door in doors}
        refused = option in REFUSED_OPTIONS or case in TELLING_CASES.get(hidden, ())
        assert ("refused" in told["pandas"]) == refused, (case, told["pandas"])
        for door, other in told.items():
            assert differing(told["pandas"], other) <= COLUMNS.get(door, set()), (case, door)


@pytest.mark.parametrize("question", sorted({name.split(" ")[0] for name in ASKED}))
def test_every_option_is_compared(question: str) -> None:
    """Each parameter of a question, and each of the data, is given to all doors by one of the tables here."""
    ways = [*ASKED.items(), *OPTIONS.values(), *REFUSED_OPTIONS.values()]
    given = {one for name, arguments in ways if name.split(" ")[0] == question for one in arguments}
    # These are compared where answers are written, or stored in a ledger; nothing else writes or stores.
    given |= {"to", "key"} | {"together", "hide", "rho", "epsilon"}
    assert {*inspect.signature(getattr(gv.Locations, question)).parameters} - {"self"} <= given


def test_data_options_are_compared() -> None:
    """Each parameter of the data is given to all doors, but for those that say how a file is read."""
    given = {name for how in [*CASES.values(), *PAIR_CASES.values()] for name in how}
    of_files = {"geometry", "delimiter", "decimal", "encoding", "names", "layer"}
    # Those that are compared in tests of their own, and the source itself.
    others = {"source", "rng", "overwrite", "confirm", "sign", "progress"}
    assert {*inspect.signature(gv.Locations).parameters} - of_files - others <= given


@pytest.mark.slow
@pytest.mark.parametrize("case", PAIR_CASES)
def test_two_places_answer_alike(case: str, tmp_path: Path) -> None:
    """Rows with an origin and a destination have the same answers, refusals, prices and certificates everywhere."""
    doors = ("pandas", "csv", "parquet")
    for question in ASKED:
        found = {door: ask(question, PAIR_CASES[case], door, folder_of(tmp_path, question, door)) for door in doors}
        refused = "places" in case or case in REFUSED_PAIRS
        assert ("refused" in found["pandas"]) == refused, (question, found["pandas"])
        for door, other in found.items():
            assert differing(found["pandas"], other) <= COLUMNS.get(door, set()), (question, door)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The points of a person share:geoveil.errors.GeoveilWarning")
@pytest.mark.filterwarnings("ignore:.*points belong to one person|Nearly everything:geoveil.errors.GeoveilWarning")
@pytest.mark.parametrize("case", [case for case, how in {**CASES, **PAIR_CASES}.items() if "together" not in how])
def test_written_points_are_alike(case: str, tmp_path: Path) -> None:
    """A table and a file of the same rows are written with the same noise, certificate and charge, or are refused."""
    for places, how in ((1, CASES.get(case)), (2, PAIR_CASES.get(case))):
        if how is None:
            continue
        found = {}
        for door in ("pandas", "csv", "parquet"):
            folder = folder_of(tmp_path, str(places), door)
            asked = {**how, "to": folder / "out.csv"}
            found[door] = ask("points", asked, door, folder)
            if "refused" not in found[door]:
                loaded = gv.load(asked["to"])
                certificate = json.loads((folder / "out.csv.certificate.json").read_text())
                found[door] |= {name: field for name, field in certificate.items() if name not in OWN}
                found[door]["value"] = loaded.n, None if loaded.point_scales is None else loaded.point_scales.tolist()
                assert all(check.outcome != "fails" for check in gv.verify(asked["to"]).checks)
        for door, other in found.items():
            assert differing(found["pandas"], other) <= {"unchanged", "words"}, (places, door)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*points belong to one person|Nearly everything:geoveil.errors.GeoveilWarning")
@pytest.mark.parametrize("question", ASKED)
def test_ledger_knows_written_answers(question: str, tmp_path: Path) -> None:
    """An answer that is written to a file is stored with the file's digest, wherever the rows are."""
    if question == "answer":
        pytest.skip("an answer to the user's own function is not written")
    found = {}
    for door in ("pandas", "csv"):
        folder = tmp_path / door
        (tmp_path / f"{door}.csv").write_text("an older file")
        asked = {**CASES["ledger, skipping"], "to": tmp_path / f"{door}.csv", "overwrite": True}
        found[door] = ask(question, asked, door, folder)
        assert "refused" not in found[door], found[door]
        with gv.Ledger(folder / "budget.db") as ledger:
            told = {check.name: check.outcome for check in gv.verify(asked["to"], ledger=ledger).checks}
        assert told["ledger"] == "holds"
    assert differing(found["pandas"], found["csv"]) - {"value", "person"} <= INDEX


@pytest.mark.parametrize("door", ["pandas", "csv"])
def test_concerns_come_first(door: str, tmp_path: Path) -> None:
    """The owner is asked about points that are written to a file, wherever they come from, and may stop them."""
    told: list[str] = []
    how: dict[str, Any] = {"area": BAY, "confirm": lambda concerns: told.extend(map(str, concerns))}
    source = DOORS[door](rows().drop(columns="when"), tmp_path)
    gv.Locations(source, **how).points(rho=1e-8, to=tmp_path / "out.csv")
    assert len(told) == 1
    assert told[0].startswith("Nearly everything would be lost")


def test_costs_are_not_understated(tmp_path: Path) -> None:
    """The cost of protecting less than the unit of an account is not known before the question is asked."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create("all", rho=1)
    ledger.create("day", rho=1, protect="1 day")
    daily = gv.Locations(rows(), area=BAY, protect="1 day")
    with pytest.raises(IncompatibleGuarantees, match="not known"):
        daily.session(ledger=ledger, subject="all").cost(rho=1e-3)
    taken = {"day": daily.session(ledger=ledger, subject="day"), "all": gv.Locations(rows(), area=BAY).session(rho=1)}
    assert {name: float(session.cost(rho=1e-3)[0]) for name, session in taken.items()} == {"day": 1e-3, "all": 1e-3}
