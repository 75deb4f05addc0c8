"""The same rows through the door of Spark: answers, refusals, charges and certificates are those of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import geoveil as gv
from geoveil.errors import InvalidInput
from tests import test_doors
from tests.test_doors import CASES, CROWD, INDEX, OPTIONS, OWN, PAIR_CASES, REFUSED_OPTIONS, ask, differing

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

#: Every case of a question whose noise is drawn once, and some cases of the others.
SOME = ("persons together", "days together", "thinned together", "dropped", "ledger, together")
ROWS = ("rows", "rows together", "rows dropped")
#: The case that Spark alone refuses: units of time are added up by workers, who know no accounts.
SKIPPING = "days, from accounts of everything"
ASKED = [*(("heatmap", case) for case in CASES if case not in (*ROWS, SKIPPING))] + [
    (question, case)
    for question, cases in {
        "heatmap in slices": (*SOME, "days of all", "clamped", "missing places", "no such column of times"),
        "counts": (*SOME, "pure", "filtered", "ledger, skipping", "too little budget"),
        "mean": (*SOME, "one person", "single points", "pure", "columns of another system", "nothing is left"),
    }.items()
    for case in cases
]
#: Cases of answers about each person, by question. Workers draw for themselves: all but the numbers is compared.
EACH = {
    "center": (
        *("persons", "single points", "filtered", "dropped", "clamped", "thinned", "pseudonyms", "pure", "hidden"),
        *("ledger, skipping", "days, from accounts of everything", "columns of another system", "missing places"),
        *("places outside", "too little budget", "no such column of persons", "another area", "no unit"),
    ),
    "first_within": ("persons",),
    "nearest": ("days", "clamped"),
    **dict.fromkeys(
        ("bounds", "diameter", "distance", "hull", "mean", "median", "radius", "radius_of_gyration"), ("days",)
    ),
    "nearest with places": ("persons",),
}
#: Options of questions about a crowd, and about each person.
CROWD_OPTIONS = [
    *("counts of visits", "counts in slices", "counts, blurred", "counts, both", "heat map of visits"),
    *("heatmap, both", "mean, both", "cells of nothing", "too many cells", "slices of nothing"),
    *("a cap of nothing", "regions elsewhere"),
]
#: Options of flows between the two places of rows.
FLOW_OPTIONS = ("flows between regions", "flows in slices", "flows of all trips")
EACH_OPTIONS = [
    *("bounds, both", "diameter, both", "distance, both", "distance to an area", "hull of few directions"),
    *("hull of a guessed extent", "median, both", "radius, both", "radius_of_gyration, both", "no such method"),
    *("center of any number", "hull of any number", "mean of any number", "radius of any number"),
    *("no directions", "no neighbours", "more neighbours than points", "a radius of nothing"),
    *("center, both", "bounds of any number", "diameter of any number", "distance of any number"),
    *("median of any number", "radius_of_gyration of any number", "a place that is none"),
    "points with no such column",
]
#: What Spark alone refuses: the question, the case, and the argument that the refusal names. Rows of Spark have no
#: order and no names, and a function of the user's own stays in memory.
REFUSED = [
    ("heatmap", "days, from accounts of everything", "short"),
    ("points, both", "persons", "method"),
    ("points in no order", "persons", "order"),
    ("flows", "persons", "trip"),
    *((question, "persons", "source") for question in ("answer", "answer, both", "answer of two values, rounded")),
]
#: Questions whose answers name rows, which have no order on Spark.
NAMING_ROWS = (
    *("first_within", "nearest", "nearest with places", "no neighbours", "more neighbours than points"),
    "a radius of nothing",
)
ASKED += [(option, "days together") for option in CROWD_OPTIONS]


@pytest.fixture
def _door(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a DataFrame of the rows in several partitions, in their order."""

    def made(frame: pd.DataFrame, folder: Path) -> Any:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        for name in {"when", "end_time"} & {*table.column_names}:
            times = table[name].cast(pa.timestamp("us", "UTC"))
            table = table.set_column(table.column_names.index(name), name, times)
        return spark.createDataFrame(table)

    monkeypatch.setitem(test_doors.DOORS, "spark", made)


def sorted_persons(found: dict[str, Any]) -> dict[str, Any]:
    """Return what is told with persons and their errors in order: rows of Spark have none."""
    return {
        name: sorted(told) if name in ("persons", "error") and isinstance(told, list) else told
        for name, told in found.items()
    }


@pytest.mark.usefixtures("_door")
@pytest.mark.parametrize(("question", "case"), ASKED)
def test_frames_answer_like_files(question: str, case: str, tmp_path: Path) -> None:
    """Values, refusals, prices and certificates are those of a file with the same rows and the same stream."""
    how = {**CASES[case], **({"together": True} if question.startswith("mean") else {})}
    found = {door: sorted_persons(ask(question, how, door, tmp_path / door)) for door in ("csv", "spark")}
    if str(found["spark"].get("argument")).startswith("row"):
        # Rows of Spark are numbered within their partitions.
        assert str(found["csv"].pop("argument")).startswith(str(found["spark"].pop("argument"))[:3])
    # Workers add up doubles: the bound on the rounding of a mean is larger.
    rounded = {"rounding", "error", "radius_95"} if question.startswith("mean") else set()
    assert differing(found["csv"], found["spark"]) <= {*INDEX, *rounded}, found["spark"]
    for name in rounded & {*found["csv"]}:
        assert found["spark"][name] == pytest.approx(found["csv"][name], rel=1e-3, abs=1e-6)


@pytest.mark.usefixtures("_door")
@pytest.mark.parametrize(
    ("question", "case"),
    [
        *((question, case) for question, cases in EACH.items() for case in cases),
        *((option, "persons") for option in EACH_OPTIONS),
    ],
)
def test_persons_match_files(question: str, case: str, tmp_path: Path) -> None:
    """Answers about each person are written with the certificate, the charge and the refusals of a file."""
    found = {}
    for door in ("csv", "spark"):
        how = {**CASES[case], "rng": None, "to": tmp_path / f"{door}.parquet"}
        if door == "spark" and question in NAMING_ROWS:
            how["label"] = "trip"
        found[door] = sorted_persons(ask(question, how, door, tmp_path / door))
        found[door].pop("value", None)
    if "row" in str(found["spark"].get("argument")):
        assert str(found["csv"].pop("argument")).startswith(str(found["spark"].pop("argument"))[:3])
    # The error of a length or a hull depends on what was released: each row that is written states its own.
    own = {"error", "radius_95"} if not question.startswith(("bounds", "center", "mean", "median")) else set()
    assert differing(found["csv"], found["spark"]) <= {*INDEX, *own}, found["spark"]


@pytest.mark.usefixtures("_door")
@pytest.mark.parametrize("case", ROWS)
def test_numbered_rows_are_persons(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of Spark have no order: the refusal names a column to add, and with it the answer is that of a file."""
    refused = ask("heatmap", CASES[case], "spark", tmp_path / "refused")
    assert refused == {"refused": InvalidInput, "argument": "person"}
    made = test_doors.DOORS["spark"]

    def with_numbers(frame: pd.DataFrame, folder: Path) -> Any:
        return made(frame.assign(row=np.arange(1, len(frame) + 1)), folder).persist()

    monkeypatch.setitem(test_doors.DOORS, "spark", with_numbers)
    found = {door: ask("heatmap", CASES[case], door, tmp_path / door) for door in ("csv", "spark")}
    assert differing(found["csv"], found["spark"]) <= {*INDEX}


@pytest.mark.usefixtures("_door")
@pytest.mark.parametrize(
    "case",
    [
        *(
            "one person",
            "persons",
            "days",
            "days of all",
            "single points",
            "filtered",
            "dropped",
            "clamped",
            "thinned",
        ),
        *("hidden", "columns of another system", "points with a column"),
    ],
)
def test_points_match_files(case: str, tmp_path: Path) -> None:
    """Points have the certificate and the noise of those of a file; where no unit sorts them, to the last bit."""
    told, places = {}, {}
    for door in ("parquet", "spark"):
        target = tmp_path / f"{door}.parquet"
        question, how = ("points", CASES[case]) if case in CASES else (case, CASES["persons"])
        told[door] = ask(question, {**how, "to": target}, door, tmp_path / door)
        assert "refused" not in told[door], told[door]
        released = gv.load(target)
        assert released.coords is not None
        places[door] = released.coords
        told[door] = {name: fact for name, fact in released.certificate().items() if name not in OWN}
    assert differing(told["parquet"], told["spark"]) <= INDEX
    if "days" not in case and case != "thinned":
        assert np.array_equal(places["parquet"], places["spark"])


#: Cases of rows with two places that Spark answers or refuses like a file. It refuses lengths of time and thinning.
PAIRED = (
    *("persons", "single points", "filtered", "dropped", "clamped", "pure", "hidden", "ledger", "ledger, skipping"),
    *("one of a pair", "lists of two lengths", "one place twice", "three columns of times", "nothing is left"),
)


@pytest.mark.usefixtures("_door")
@pytest.mark.parametrize("question", ["heatmap", "heatmap in slices", "flows"])
@pytest.mark.parametrize("case", PAIRED)
def test_two_places_match_files(question: str, case: str, tmp_path: Path) -> None:
    """Rows with an origin and a destination: each place has its own time."""
    found = {door: sorted_persons(ask(question, PAIR_CASES[case], door, tmp_path / door)) for door in ("csv", "spark")}
    assert differing(found["csv"], found["spark"]) <= INDEX, found["spark"]


@pytest.mark.usefixtures("_door")
@pytest.mark.parametrize(("question", "case", "argument"), REFUSED)
def test_what_spark_alone_refuses(question: str, case: str, argument: str, tmp_path: Path) -> None:
    """What a file is asked and a DataFrame is not is refused before anything is charged, by its argument."""
    writes = not question.startswith((*CROWD, "answer"))
    how = {**CASES[case], **({"to": tmp_path / "out.parquet"} if writes else {})}
    told = ask(question, how, "spark", tmp_path / "spark")
    assert (told["refused"], told["argument"]) == (InvalidInput, argument)
    assert not any(told.get("charged", {}).values())


@pytest.mark.usefixtures("_door")
@pytest.mark.parametrize("option", FLOW_OPTIONS)
def test_flow_options_agree(option: str, tmp_path: Path) -> None:
    """Flows between places of rows have the same options as those of a file."""
    case = PAIR_CASES["persons"]
    found = {door: sorted_persons(ask(option, case, door, tmp_path / door)) for door in ("csv", "spark")}
    assert "refused" not in found["spark"]
    assert differing(found["csv"], found["spark"]) <= INDEX, found["spark"]


def test_spark_asks_every_question() -> None:
    """Each question and each of its options is compared with a file, or is among those that Spark refuses."""
    asked = {question for question, _ in ASKED} | {*EACH, *EACH_OPTIONS, *FLOW_OPTIONS, "points", "flows"}
    asked |= {"points with a column", *(question for question, _, _ in REFUSED)}
    # Without trips or with a label of rows: a file refuses what Spark needs, and the other way round.
    others = {"trips that are not there", "nearest by a column", "first by a column"}
    assert {*test_doors.ASKED, *OPTIONS, *REFUSED_OPTIONS} == asked | others


@pytest.mark.usefixtures("_door")
@pytest.mark.parametrize(("case", "argument"), [("days", "protect"), ("thinned", "thin")])
def test_two_place_times_are_refused(case: str, argument: str, tmp_path: Path) -> None:
    """Lengths of time and thinning need the points of a person in their order; Spark sorts rows."""
    found = ask("heatmap", PAIR_CASES[case], "spark", tmp_path / "spark")
    assert (found["refused"], found["argument"]) == (InvalidInput, argument)
