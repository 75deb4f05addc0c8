"""What tasks and the driver do, called in this process: no session is started."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import geoveil as gv
from geoveil.answering import requests
from geoveil.answering.charging import NoCharger
from geoveil.answering.crowd_sources import CrowdBatch
from geoveil.answering.person_counts import PersonCounts
from geoveil.answering.pipeline import OutputFile
from geoveil.answering.preparation import rules_of
from geoveil.answering.rows import Asked
from geoveil.answering.settings import Reading, Settings
from geoveil.errors import InvalidData, InvalidFile, InvalidParameter
from geoveil.geo.formats import Batch
from geoveil.geo.formats.fingerprints import digest_of_parts
from geoveil.geo.formats.location_columns import locate
from geoveil.noise import Experiment, source_of
from geoveil.privacy import promise, protected_metric
from geoveil.spark.destination import Destination, Part
from geoveil.spark.frame_columns import TIME, FrameColumns
from geoveil.spark.frame_mean import MeanAdder
from geoveil.spark.frame_persons import Asking, FramePersons, question_of
from geoveil.spark.frame_points import FramePoints, wait_for_tasks
from geoveil.spark.frame_rows import FrameCounted, FrameRows
from geoveil.spark.parquet_parts import ParquetParts
from geoveil.spark.rows import SparkRows
from geoveil.spark.task_rows import LARGEST, SIZE, PersonTable, TaskFacts
from geoveil.spark.tasks import CountTask, NoiseByRow
from tests.spark.trips import AREA, RHO, trips

pytest.importorskip("pyspark", reason="needs the extra spark: scripts/test --all")

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _first_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("tasks", "frame_persons", "frame_crowd"):
        monkeypatch.setattr(f"geoveil.spark.{module}.partition_and_attempt", lambda: (0, 0))


def table_of(frame: pd.DataFrame) -> pa.Table:
    """Return rows as a task gets them, with times in microseconds."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return table.append_column(TIME, table["time"].cast(pa.timestamp("us")).cast(pa.int64()))


def how_asked(guarantee: gv.Guarantee, to: Path, *, source: Any = None, key: str | None = None) -> Asked:
    """Return how a question about each person is asked."""
    return Asked(
        guarantee=guarantee,
        charger=lambda labels: NoCharger(),
        source=source_of(None) if source is None else source,
        key=key,
        output=OutputFile(to),
    )


def asked(table: pa.Table, unit: Any = None, where: str | None = None, *, keep: Any = None, **more: Any) -> FrameRows:
    """Return the rows of a table, whose DataFrame is known by its columns alone."""
    from pyspark.sql.pandas.types import from_arrow_schema

    head = table.drop_columns([TIME])
    columns = {each.name: each.type for each in head.schema}
    path = Path("DataFrame")
    sample = {name: head[name].to_pylist() for name in columns}
    located, system = locate(path, sample, columns, lat=None, lon=None, geometry=None, crs=4326)
    file = FrameColumns(
        path=path,
        crs=system,
        columns={name: kind for name, kind in columns.items() if name not in located.names},
        times=frozenset({"time"}),
        unsafe=frozenset(),
        reading={**located.reading, "crs": system.to_string()},
        rows=0,
        compression="SNAPPY",
        order=[*columns],
        located=located,
        head=head,
    )
    guarantee = promise(None, RHO, None, protected_metric(unit))
    frame: Any = SimpleNamespace(schema=from_arrow_schema(head.schema))
    settings = Settings(person="user", times="time", area=AREA, where=where)
    rules = rules_of(file, settings, guarantee, keep=keep, released=not more.get("whole"))
    if keep is not None:
        rules = replace(rules, kept=dict.fromkeys(keep, "named"))
    return FrameRows(rules, FrameCounted(PersonCounts("user")), frame=frame, **more)


def counted(rows: FrameRows, table: pa.Table) -> tuple[pd.DataFrame, TaskFacts]:
    """Run the first task on all rows; return its persons and its facts."""
    task = CountTask(rows.reader(rows.looked_at), rows.file.columns["user"])
    found = pa.Table.from_batches(task(iter(table.to_batches()))).to_pandas()
    return found[:-1], TaskFacts.read(found["facts"].iloc[-1])


def test_unstable_labels_are_refused() -> None:
    """Texts that are equal without being the same, and times whose text depends on the session, are no labels."""
    from pyspark.sql import types as T

    rows = asked(table_of(trips(10, 2)))
    rows.check_askable()
    for kind, told in ((T.StringType("UTF8_LCASE"), "collate"), (T.TimestampType(), "unix_micros")):
        frame: Any = SimpleNamespace(schema=T.StructType([T.StructField("user", kind)]))
        with pytest.raises(InvalidParameter, match=told):
            replace(rows, frame=frame).check_askable()


def test_returning_persons_are_refused() -> None:
    """Rows that are not sorted as labels are compared would make every unit look small."""
    data = trips(40, 2)
    data["user"] = np.where(np.arange(40) % 2, "Ann", "ann")
    table = table_of(data)
    rows = asked(table, unit="1 day")
    _, facts = counted(rows, table)
    assert facts.runs == 40
    rows.people.add(pa.array(["Ann", "ann"]), np.array([20, 20]))
    with pytest.raises(InvalidData, match="40 runs"):
        rows.check_runs([facts])
    _, facts = counted(rows, table_of(data.sort_values(["user", "time"])))
    assert facts.runs == 2
    rows.check_runs([facts])


def test_noise_grows_with_points() -> None:
    """No number of points is so large that the noise is that of a smaller one."""
    rules = asked(table_of(trips(10, 2))).rules
    sizes = [5, 2**33 + 5, 2**33, 2**40]
    columns = pa.table({SIZE: sizes, LARGEST: [5, 2**32 + 7, 5, 9]})
    batch = Batch(rules.file, 0, 1.0, np.zeros((4, 2)), columns)
    noise, which = NoiseByRow(rules).of(batch)
    assert [noise.queries[i].n for i in which] == sizes
    units = [noise.queries[i].units for i in which]
    assert [unit.largest for unit in units if unit is not None] == [5, 2**32 + 7, 5, 9]


def test_coordinate_sums_are_exact() -> None:
    """Rows with many points do not exceed 64 bits."""
    adder = MeanAdder()
    sums = adder.empty()
    places = np.full((2**21, 2), 1000.000390625)
    adder.add(sums, CrowdBatch((places,), np.ones(len(places), dtype=np.int64), None))
    assert float(sums.mean().values[0]) == 1000.000390625


def asking(build: str = "summary", label: str | None = None, **options: Any) -> Asking:
    """Return a question about persons."""
    options = options or {"name": "center", "method": "best"}
    entering = {"area": AREA, "outside": "refuse", "crs": 4326, "lat": "latitude", "lon": "longitude"}
    return Asking(partial(getattr(requests, build), **options), entering, "user", None, label, None, 4326)


def answers(
    rows: FrameRows, asking: Asking, table: pa.Table, persons: PersonTable, folder: Path
) -> tuple[pd.DataFrame, TaskFacts]:
    """Run the second task of a question about persons; return what it wrote, and its facts."""
    known = question_of(asking, rows)
    prepared = FramePersons(rows=rows, destination=Destination.of(folder / "out"), asking=asking, known=known)
    task = prepared.task(rows.reader(rows.asked_about, SimpleNamespace(value=persons)))
    with prepared.destination.staged(lambda: False):
        (told,) = task(iter(table.to_batches()))
        (written,) = folder.glob("_out*/*.parquet")
        return pd.read_parquet(written), TaskFacts.read(told["facts"][0].as_py())


def test_zero_is_one_person(tmp_path: Path) -> None:
    """Labels -0.0 and 0.0, which Spark sorts as one number, are answered about once."""
    data = trips(40, 1)
    data["user"] = np.repeat([-2.0, 0.0, -0.0, 0.0], 10)
    table = table_of(data)
    persons = PersonTable.of(pa.array([-2.0, 0.0]), {SIZE: pa.array([10, 30])})
    found, facts = answers(asked(table, whole=True), asking(), table, persons, tmp_path)
    assert found["user"].tolist() == [-2.0, 0.0]
    assert (facts.answered, facts.runs) == (2, 2)


def test_object_store_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where folders cannot be renamed, a run goes on with the files that an earlier one has not moved yet."""
    located = Destination.located

    class Objects:
        type_name = "s3"

        def __init__(self, system: Any) -> None:
            self._system = system

        def __getattr__(self, name: str) -> Any:
            return getattr(self._system, name)

    monkeypatch.setattr(Destination, "located", lambda own: (Objects(located(own)[0]), located(own)[1]))
    first = Destination.of(tmp_path / "out")
    sha256 = ""
    parts = []
    with suppress(KeyboardInterrupt), first.staged(lambda: True):
        for number in range(3):
            with first.attempt(number, 0) as (stream, described):
                stream.write(b"released %d" % number)
            parts.append(Part(number, rows=1, **described))
        with first.attempt(0, 1) as (stream, _):
            stream.write(b"another attempt")
        ready, sha256 = first.gather(parts)
        first.record({"file": {"sha256": sha256}})
        (tmp_path / "out").mkdir()
        Path(ready, "part-000001.parquet").rename(tmp_path / "out" / "part-000001.parquet")
        raise KeyboardInterrupt
    assert len([*tmp_path.rglob("*.parquet")]) == 3
    found = Destination.of(tmp_path / "out").begun(sha256)
    assert found is not None
    again, facts = found
    assert (again, facts) == (first, {"file": {"sha256": sha256}})
    assert again.digest() == sha256
    again.publish({"file": {"name": "out"}}, again=True)
    again.clear()
    assert again.digest() == sha256
    assert again.certified() == {"file": {"name": "out"}}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.certificate.json"]


def test_changing_times_are_noticed() -> None:
    """Units depend on times, so the two jobs must see the same ones."""
    data = trips(40, 2)
    rows = asked(table_of(data), unit="1 day")
    _, first = counted(rows, table_of(data))
    data["time"] += pd.Timedelta("1us")
    _, second = counted(rows, table_of(data))
    assert first.points == second.points
    assert first.checksum != second.checksum


def test_neighbour_labels_are_searched() -> None:
    """The first job searches the column that names neighbours for places."""
    data = trips(40, 2)
    data["note"] = [f"POINT ({x} {y})" for x, y in zip(data["longitude"], data["latitude"], strict=True)]
    table = table_of(data)
    _, facts = counted(asked(table, keep=["note"], whole=True, label="note"), table)
    assert facts.placed == ["note"]


def test_unlike_streams_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream needs normal noise, and the partitions of the first job in the second."""
    rng = np.random.default_rng(1)
    table = table_of(trips(40, 2))
    rows = asked(table)
    monkeypatch.setattr("geoveil.spark.rows.open_frame", lambda *given, **how: (rows.frame, rows.file))
    all_rows = SparkRows(rows.frame, Reading(), Settings(person="user", area=AREA))
    asking = how_asked(gv.GP(epsilon=0.01, metric="1"), tmp_path / "out", source=Experiment(rng))
    with pytest.raises(InvalidParameter, match="rng"):
        all_rows.points("best", "public", asking)
    rows.counted.tasks += [TaskFacts(0, points=30), TaskFacts(1, points=10)]
    rows.people.add(pa.array(["u0000", "u0001"]), np.array([20, 20]))
    found = [TaskFacts(0, points=40, released=40)]
    monkeypatch.setattr(FrameRows, "sized", lambda own, names: (None, own.reader(names)))
    prepared = FramePoints(rows=rows, destination=Destination.of(tmp_path / "out"))
    monkeypatch.setattr("geoveil.spark.frame_points.collected", lambda rows, task: found)
    with pytest.raises(InvalidFile, match="partitions differ"):
        prepared.draw(Experiment(rng), lambda share: None)


def test_repeated_release_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of points that were moved is that of the certificate, and pseudonyms need a key file."""
    (tmp_path / "out").mkdir()
    digest = digest_of_parts({})
    account = {"file": {"sha256": digest}, "unchanged": [], "beyond_the_map": 3}
    (tmp_path / "out.certificate.json").write_text(json.dumps(account))
    own = asked(table_of(trips(10, 2)))
    prepared = FramePoints(rows=own, destination=Destination.of(tmp_path / "out"))
    assert prepared.unpacked({"sha256": digest}).moved == 3
    monkeypatch.setattr("geoveil.spark.rows.open_frame", lambda *given, **how: (own.frame, own.file))
    rows = SparkRows(own.frame, Reading(), Settings(person="user", area=AREA, pseudonyms=True))
    asking = how_asked(gv.CGP(rho=RHO), tmp_path / "other", key="may")
    with pytest.raises(InvalidParameter, match="key file"):
        rows.points("best", "public", asking)
    with pytest.raises(InvalidParameter, match="key file"):
        rows.answer(partial(requests.summary, name="center", method="best"), asking)


def test_rowless_folder() -> None:
    """Spark refuses to share out rows to no partition at all."""
    shared = []

    def parallelize(rows: list[Any], partitions: int) -> Any:
        shared.append((rows, partitions))
        return SimpleNamespace(toDF=lambda columns: None)

    ParquetParts((), pa.schema([])).frame(SimpleNamespace(sparkContext=SimpleNamespace(parallelize=parallelize)))
    assert shared == [([], 1)]


def test_attempts_are_deleted_last() -> None:
    """A task that lost and is still writing is waited for."""
    active = [2, 1, 0]
    stages = SimpleNamespace(
        getJobInfo=lambda job: SimpleNamespace(stageIds=[7]),
        getStageInfo=lambda stage: SimpleNamespace(numActiveTasks=active.pop(0)),
    )
    jobs = SimpleNamespace(getJobIdsForTag=lambda tag: [1] if tag == "geoveil-x" else [])
    java = SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: jobs))
    context: Any = SimpleNamespace(statusTracker=lambda: stages, _jsc=java)
    wait_for_tasks(context, "geoveil-x")
    assert active == []
