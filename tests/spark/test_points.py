"""Points of DataFrames: the same release as of a file, once, whatever happens to executors."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import geoveil as gv
from geoveil.budget import Charges
from geoveil.errors import FileUnavailable, InvalidData, InvalidFile, InvalidParameter
from geoveil.spark.destination import Destination
from geoveil.spark.frame_columns import open_frame
from tests.certificates.test_signatures import KEY
from tests.questions import release_of
from tests.spark.trips import AREA, RHO, in_order, noise, trips, written

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


def faulty(armed: Path, marks: Path, turn: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a step that, once it is armed, fails, kills its executor and lags, each once, in different partitions."""

    def once(name: str) -> bool:
        try:
            (marks / name).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        part = context.partitionId() if armed.exists() else -1
        for batch in batches:
            half = len(batch) // 2
            yield batch.slice(0, half)
            if part == turn % 6 and once("failed"):
                raise RuntimeError("planted")
            if part == (turn + 1) % 6 and once("killed"):
                with open(f"/proc/{os.getppid()}/stat") as stat:
                    executor = int(stat.read().rpartition(")")[2].split()[1])
                os.kill(executor, signal.SIGKILL)
                time.sleep(60)
            if part == (turn + 2) % 6 and once("lagged"):
                time.sleep(45)
            yield batch.slice(half)

    return step


def test_seeded_release_matches_file(spark: Any, tmp_path: Path) -> None:
    """Rows, radii and columns are those of the file, from Parquet and from a DataFrame of several partitions."""
    source = written(trips(), tmp_path / "trips.parquet")
    how: dict[str, Any] = {"person": "user", "rho": RHO, "area": AREA, "keep": ["id"]}
    release_of("points", source, rng=np.random.default_rng(7), to=tmp_path / "file.parquet", **how)
    expected = pd.read_parquet(tmp_path / "file.parquet")
    frame = spark.createDataFrame(pd.read_parquet(source)).coalesce(3)
    for name, data in (("plain", spark.read.parquet(str(source))), ("frame", frame)):
        release = release_of("points", data, to=tmp_path / name, rng=np.random.default_rng(7), **how)
        found = in_order(release)
        for column in ("id", "user", "latitude", "longitude", "radius_95", "rho"):
            assert (found[column] == expected[column]).all(), (name, column)
        assert "numpy generator" in release.inexact


def test_workers_read_plain_tables(spark: Any, tmp_path: Path) -> None:
    """A DataFrame of Parquet files is read by workers themselves; one that filters, renames or is in memory is not."""
    source = str(written(trips(300, 2), tmp_path / "trips.parquet"))
    frame = spark.read.parquet(source)
    frame.createOrReplaceTempView("plain")
    others = [
        frame.where("id > 5"),
        frame.limit(50),
        frame.withColumn("id", frame["id"] + 1),
        frame.withColumnRenamed("id", "number"),
        frame.repartition(3),
        frame.union(frame),
    ]
    for plain in (frame, frame.select("user", "latitude", "longitude"), spark.table("plain")):
        assert opened(plain).parts is not None
    for other in others:
        assert opened(other).parts is None
    frame.cache()
    try:
        assert opened(spark.read.parquet(source)).parts is None
    finally:
        frame.unpersist()


def opened(frame: Any) -> Any:
    """Return the columns of a DataFrame as a release sees them."""
    return open_frame(frame, lat=None, lon=None, geometry=None, crs=None)[1]


def test_extreme_times_are_kept(spark: Any, tmp_path: Path) -> None:
    """Times of Spark's old type that do not fit into nanoseconds are released as Spark reads them."""
    frame = spark.createDataFrame(trips(20, 1)).selectExpr("user", "latitude", "longitude", "id")
    frame = frame.selectExpr("*", "timestamp'3024-02-29 12:00:00.000001' as until")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    try:
        frame.coalesce(1).write.parquet(str(tmp_path / "in"))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    how: dict[str, Any] = {"person": "user", "rho": RHO, "area": AREA, "keep": ["id", "until"]}
    release = release_of("points", spark.read.parquet(str(tmp_path / "in")), to=tmp_path / "out", **how)
    assert release.value.where("until = timestamp'3024-02-29 12:00:00.000001'").count() == 20


def test_units_match_file(spark: Any, tmp_path: Path) -> None:
    """With a length of time as the unit and thinned rows, a seeded release is that of the file, and is verified."""
    source = written(trips(), tmp_path / "trips.parquet")
    how: dict[str, Any] = {"person": "user", "rho": RHO, "area": AREA, "protect": "1 day", "thin": "20 minutes"}
    how["keep"] = ["id"]
    release_of("points", source, rng=np.random.default_rng(7), to=tmp_path / "file.parquet", **how)
    expected = pd.read_parquet(tmp_path / "file.parquet")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        release = release_of(
            "points", spark.read.parquet(str(source)), to=tmp_path / "out", rng=np.random.default_rng(7), **how
        )
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "4")
    found = in_order(release)
    assert found["id"].tolist() == expected["id"].tolist()
    assert np.array_equal(found["radius_95"], expected["radius_95"])
    assert np.array_equal(found["longitude"], expected["longitude"])
    assert gv.verify(tmp_path / "out").holds


def released_with_faults(spark: Any, folder: Path, turn: int = 0) -> Any:
    """Release 6000 rows in six partitions while three kinds of faults happen; check rows, charge and what is left."""
    folder.mkdir(exist_ok=True)
    data = trips(6000, 5, seed=turn)
    (marks := folder / "marks").mkdir()
    source = written(data, folder / "trips.parquet", group=1000)
    plain = spark.read.parquet(str(source)).repartition(6, "id")
    frame = plain.mapInArrow(faulty(folder / "armed", marks, turn), plain.schema)
    ledger = gv.Ledger(folder / "ledger.db")
    ledger.create(*sorted(set(data["user"])), rho=1)

    def arm(_: Any) -> None:
        (folder / "armed").touch()

    how: dict[str, Any] = {
        "person": "user",
        "rho": RHO,
        "area": AREA,
        "keep": ["id"],
        "confirm": arm,
        "ledger": ledger,
    }
    release = release_of("points", frame, to=folder / "out", **how)
    happened = {mark.name for mark in marks.iterdir()}
    found = in_order(release)
    assert found["id"].tolist() == data["id"].tolist()
    assert {str(ledger.account(user).remaining) for user in set(data["user"])} == {"0.99995"}
    drawn = noise(found, data)
    assert len(np.unique(drawn[:, 0])) == len(drawn)
    assert sorted(path.name for path in folder.glob("*out*")) == ["out", "out.certificate.json"]
    assert gv.verify(folder / "out", ledger=ledger).holds
    # The 95% radius of a Gaussian in the plane.
    return happened, drawn / (found["radius_95"].to_numpy() / np.sqrt(-2 * np.log(0.05)))[:, None]


def test_faults_repeat_no_row(spark: Any, tmp_path: Path) -> None:
    """A failed task, a killed executor and a lagging task: every row once, noise of the stated law, one charge."""
    happened, drawn = released_with_faults(spark, tmp_path)
    assert happened == {"failed", "killed", "lagged"}
    assert stats.kstest(drawn.ravel(), "norm").pvalue > 1e-9
    assert stats.kstest(drawn.ravel() * 1.3, "norm").pvalue < 1e-9


@pytest.mark.long
def test_fifty_releases_with_faults(spark: Any, tmp_path: Path) -> None:
    """The same fifty times, with faults in other partitions: no noise is drawn twice, and all follow the law."""
    every, happened = [], dict.fromkeys(("failed", "killed", "lagged"), 0)
    for turn in range(50):
        some, drawn = released_with_faults(spark, tmp_path / str(turn), turn)
        every.append(drawn)
        for name in some:
            happened[name] += 1
        print(f"release {turn + 1} of 50: {', '.join(sorted(some))}", flush=True)
    values = np.concatenate(every).ravel()
    print(f"{happened}; {len(values):,} coordinates, p = {stats.kstest(values, 'norm').pvalue:.3f}")
    assert stats.kstest(values, "norm").pvalue > 1e-9
    assert stats.kstest(values * 1.05, "norm").pvalue < 1e-9
    assert len(np.unique(values)) == len(values)
    assert min(happened.values()) >= 25


def test_changed_rows_are_refused(spark: Any, tmp_path: Path) -> None:
    """A DataFrame that gives other rows the second time is refused after the charge, which is said to be spent."""

    def restless(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy

        for batch in batches:
            moved = batch["latitude"].to_numpy() + numpy.random.default_rng().random() / 100
            yield batch.set_column(batch.schema.get_field_index("latitude"), "latitude", pa.array(moved))

    data = trips(200, 2)
    frame = spark.createDataFrame(data)
    frame = frame.mapInArrow(restless, frame.schema)
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create(*sorted(set(data["user"])), rho=1)
    with pytest.raises(InvalidFile, match="differ") as caught:
        release_of("points", frame, to=tmp_path / "out", person="user", rho=RHO, area=AREA, ledger=ledger)
    assert caught.value.charged == "spent"
    assert not (tmp_path / "out").exists()
    assert str(ledger.account("u0000").remaining) == "0.99995"


def test_failed_job_is_charged(spark: Any, tmp_path: Path) -> None:
    """If tasks fail until Spark gives up, nothing is released, and the charge is said to be spent."""
    armed = tmp_path / "armed"

    def broken(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, 10)
            if armed.exists():
                raise ValueError("planted")
            yield batch.slice(10)

    data = trips(100, 2)
    frame = spark.createDataFrame(data).coalesce(1)
    frame = frame.mapInArrow(broken, frame.schema)
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("u0000", "u0001", rho=1)
    how: dict[str, Any] = {"person": "user", "rho": RHO, "area": AREA, "ledger": ledger}
    with pytest.raises(FileUnavailable, match="the charge is spent") as caught:
        release_of("points", frame, to=tmp_path / "out", confirm=lambda _: armed.touch(), **how)
    assert caught.value.charged == "spent"
    assert str(ledger.account("u0000").remaining) == "0.99995"
    assert not [*tmp_path.glob("*out*")]


def test_keys_are_drawn_once(spark: Any, tmp_path: Path) -> None:
    """The same key returns the same files; if the files are gone, nothing is drawn."""
    data = trips(100, 2)
    source = str(written(data, tmp_path / "trips.parquet"))
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("u0000", "u0001", rho=1)
    how: dict[str, Any] = {"person": "user", "rho": RHO, "area": AREA, "ledger": ledger, "key": "may", "keep": ["id"]}
    how["sign"] = KEY
    first = release_of("points", spark.read.parquet(source), to=tmp_path / "out", **how)
    again = release_of("points", spark.read.parquet(source), to=tmp_path / "out", **how)
    assert in_order(first).equals(in_order(again))
    assert first.id == again.id
    assert first.signature is not None
    assert first.certificate() == again.certificate()
    with pytest.raises(InvalidParameter, match="nothing was charged or drawn"):
        release_of("points", spark.read.parquet(source), to=tmp_path / "other", **how)
    assert str(ledger.account("u0000").remaining) == "0.99995"


class Ended(BaseException):
    """The end of a driver."""


class Ending:
    """A file system that does a number of things and then ends its driver, which does nothing more if it is killed."""

    def __init__(self, system: Any, steps: list[str], last: int | None, killed: bool) -> None:
        self._system, self._steps, self._last, self._killed = system, steps, last, killed

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._system, name)
        if not callable(found):
            return found

        def step(*given: Any, **how: Any) -> Any:
            self._steps.append(name)
            done = len(self._steps) - 1
            if self._last is not None and (done == self._last or (self._killed and done > self._last)):
                raise Ended
            return found(*given, **how)

        return step


def test_interrupted_drivers_are_finished(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a driver dies after its answer was stored, the same key gives the release: one charge, one draw."""
    source = str(written(trips(20, 2), tmp_path / "trips.parquet"))
    located = Destination.located

    def released(name: str, steps: list[str], last: int | None = None, killed: bool = True) -> tuple[Any, Any, int]:
        """Return the release, the ledger, and the number of steps before the answer was stored."""
        ledger = gv.Ledger(tmp_path / f"{name}.db")
        if not ledger.accounts():
            ledger.create("u0000", "u0001", rho=1)
        stored: list[int] = []
        charges = Charges.of(ledger)
        store = charges.store

        def storing(*given: Any, **written: Any) -> None:
            store(*given, **written)
            stored.append(len(steps))

        monkeypatch.setattr(charges, "store", storing)

        def ending(destination: Destination) -> Any:
            system, path = located(destination)
            return Ending(system, steps, last, killed), path

        monkeypatch.setattr(Destination, "located", ending)
        how: dict[str, Any] = {"person": "user", "rho": RHO, "area": AREA, "keep": ["id"], "sign": KEY}
        try:
            return (
                release_of("points", spark.read.parquet(source), to=tmp_path / name, ledger=ledger, key="may", **how),
                ledger,
                (*stored, 0)[0],
            )
        finally:
            monkeypatch.setattr(Destination, "located", located)

    steps: list[str] = []
    whole, _, before = released("whole", steps)
    assert {"move", "open_output_stream", "delete_dir"} <= {*steps[before:]}
    # Between two changes of the files, it does not matter when a driver dies.
    changes = [at for at in range(before, len(steps)) if steps[at] not in ("get_file_info", "open_input_stream")]
    for last, killed in [*((at, True) for at in changes), (changes[0], False)]:
        name = f"ended{last}{killed}"
        with pytest.raises(Ended):
            released(name, [], last, killed)
        drawn = [*tmp_path.glob(f"*{name}*/**/part-*.parquet")]
        contents = [path.read_bytes() for path in sorted(drawn)]
        assert contents
        found, ledger, _ = released(name, [])
        assert [path.read_bytes() for path in sorted((tmp_path / name).iterdir())] == contents
        assert str(ledger.account("u0000").remaining) == "0.99995"
        assert not [*tmp_path.glob(f"_{name}*")]
        assert gv.verify(tmp_path / name, ledger=ledger), steps[last]
        assert found.certificate().keys() == whole.certificate().keys()
        assert found.certificate()["unchanged"] == whole.certificate()["unchanged"]


def test_skipped_persons_and_pseudonyms(spark: Any, tmp_path: Path) -> None:
    """`short="skip"` leaves persons out, and pseudonyms take the place of labels."""
    data = trips(300, 3)
    ledger = gv.Ledger(tmp_path / "ledger.db")
    ledger.create("u0000", "u0002", rho=1)
    ledger.create("u0001", rho=1e-9)
    frame = spark.createDataFrame(data)
    how: dict[str, Any] = {
        "person": "user",
        "rho": RHO,
        "area": AREA,
        "ledger": ledger,
        "short": "skip",
        "keep": ["id"],
    }
    release = release_of("points", frame, to=tmp_path / "out", pseudonyms=True, **how)
    found = in_order(release)
    assert set(found["id"]) == set(data.loc[data["user"] != "u0001", "id"])
    assert found["user"].nunique() == 2
    assert not set(found["user"]) & set(data["user"])
    assert [*release.person] == sorted(set(found["user"]))
    assert release.certificate()["persons"] == 2


def test_rows_match_files(spark: Any, tmp_path: Path) -> None:
    """`where`, `missing` and `outside` remove the same rows, which the certificate counts."""
    data = trips(400, 4)
    data.loc[3, "latitude"] = np.nan
    data.loc[5, "latitude"] = 10.0
    how: dict[str, Any] = {"where": "id < 300", "missing": "drop", "outside": "drop", "person": "user", "keep": ["id"]}
    release = release_of("points", spark.createDataFrame(data), to=tmp_path / "out", rho=RHO, area=AREA, **how)
    assert release.certificate()["rows_removed"] == {
        "filtered": 100, "missing": 1, "outside": 1, "thinned": 0, "untimed": 0
    }  # fmt: skip
    assert len(in_order(release)) == 298


def test_geometries_become_geoparquet(spark: Any, tmp_path: Path) -> None:
    """GeoParquet paths, WKB columns and Spark's own geometries are read; GeoParquet is written."""
    import geopandas

    data = trips(200, 2)
    places = geopandas.points_from_xy(data["longitude"], data["latitude"], crs=4326)
    geopandas.GeoDataFrame(data[["id", "user"]], geometry=places).to_parquet(tmp_path / "in.parquet")
    how: dict[str, Any] = {"person": "user", "rho": RHO, "area": AREA, "keep": ["id"]}
    release = release_of(
        "points", spark.read.parquet(str(tmp_path / "in.parquet")), to=tmp_path / "out.parquet", **how
    )
    assert release.value.columns == ["id", "user", "geometry", "radius_95", "rho"]
    assert len(gv.load(tmp_path / "out.parquet").value) == 200
    binary = spark.read.parquet(str(tmp_path / "in.parquet")).select("id", "user", "geometry")
    assert release_of("points", binary, to=tmp_path / "wkb", geometry="geometry", **how).value.count() == 200
    own = binary.selectExpr("id", "user", "ST_GeomFromWKB(geometry, 4326) as place")
    release = release_of("points", own, to=tmp_path / "own", **how)
    assert release.value.columns == ["id", "user", "place", "radius_95", "rho"]
    assert len(gv.load(tmp_path / "own").value) == 200


def test_impossible_is_refused(spark: Any, tmp_path: Path) -> None:
    """Shared noise, ties in thinned rows, an existing folder and texts of times are refused with a remedy."""
    data = trips(50, 2)
    frame = spark.createDataFrame(data)
    how: dict[str, Any] = {"person": "user", "area": AREA}
    with pytest.raises(InvalidParameter, match='protect="point"'):
        release_of("points", frame, to=tmp_path / "out", epsilon=0.01, **how)
    (tmp_path / "there").mkdir()
    with pytest.raises(InvalidFile, match="exists"):
        release_of("points", frame, to=tmp_path / "there", rho=RHO, **how)
    doubled = frame.unionAll(frame)
    with pytest.raises(InvalidParameter, match="dropDuplicates"):
        release_of("points", doubled, to=tmp_path / "out", rho=RHO, thin="1 hour", **how)
    texts = frame.selectExpr("user", "latitude", "longitude", "cast(time as string) as time")
    with pytest.raises(InvalidParameter, match="to_timestamp"):
        release_of("points", texts, to=tmp_path / "out", rho=RHO, protect="1 day", times="time", **how)
    assert not (tmp_path / "out").exists()


def test_no_true_coordinate_leaves(cluster: Any, tmp_path: Path) -> None:
    """Neither files, nor their names, events, the driver's log or errors hold a true coordinate, as text or bytes."""
    data = trips(500, 3)
    data["latitude"] = 37.7012345678 + np.arange(500) * 1.0000371e-4
    frame = cluster.session.createDataFrame(data)
    release_of("points", frame, to=tmp_path / "out", person="user", rho=RHO, area=AREA)
    data.loc[77, "latitude"] = 11.1234567890123
    with pytest.raises(InvalidData, match="not shown") as caught:
        release_of(
            "points", cluster.session.createDataFrame(data), to=tmp_path / "no", person="user", rho=RHO, area=AREA
        )
    assert "11.12345" not in str(caught.value)
    assert "partition" in str(caught.value)
    places = [*(tmp_path / "out").iterdir(), tmp_path / "out.certificate.json", cluster.log]
    places += [path for path in cluster.events.rglob("*") if path.is_file()]
    raw = b"\0".join(path.read_bytes() + path.name.encode() for path in places)
    assert len(raw) > 10_000
    for value in [*data["latitude"], *data["longitude"]]:
        assert np.float64(value).tobytes() not in raw
        assert repr(float(value))[:11].encode() not in raw


def shuffled(cluster: Any) -> int:
    """Return the number of records that all tasks so far have written to shuffle files."""
    cluster.session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    logs = [path for path in cluster.events.rglob("*events_*") if not path.name.endswith(".crc")]
    ends = [json.loads(line) for path in logs for line in path.read_text().splitlines() if "TaskEnd" in line[:60]]
    assert ends
    # A task of an executor that was killed has no metrics.
    metrics = [end["Task Metrics"] for end in ends if "Task Metrics" in end]
    return sum(each["Shuffle Write Metrics"]["Shuffle Records Written"] for each in metrics)


def test_only_counts_are_shuffled(cluster: Any, tmp_path: Path) -> None:
    """Of up to 500,000 persons, points pass through no shuffle file: a task writes its persons' counts, and facts."""
    source = cluster.session.createDataFrame(trips(600, 3)).repartition(4)
    source.write.parquet(str(tmp_path / "trips.parquet"))
    plain = cluster.session.read.parquet(str(tmp_path / "trips.parquet"))
    for name, frame in (("plain", plain), ("filtered", plain.where("id >= 0"))):
        tasks, before = max(frame.rdd.getNumPartitions(), 4), shuffled(cluster)
        release_of("points", frame, to=tmp_path / name, person="user", rho=RHO, area=AREA, keep=["id"])
        # Two times over, for tasks that run twice by speculation; and each file counts the rows that it has.
        assert 0 < shuffled(cluster) - before <= 2 * tasks * (3 + 1 + 1)


@pytest.mark.parametrize(
    "times",
    [
        [1_777_593_600_000_000_400, 1_777_679_999_999_999_600],
        [1_777_593_600.29, 1_777_680_000.29],
        [1_777_593_600_000, 1_777_680_000_000],
    ],
    ids=["nanoseconds", "seconds", "milliseconds"],
)
def test_units_have_both_ends(spark: Any, tmp_path: Path, times: list[Any]) -> None:
    """Two rows a day apart are in one day, and the certificate has their times; a guarantee takes the unit."""
    frame = spark.createDataFrame([(time, 37.77, -122.42) for time in times], ["t", "lat", "lon"])
    area = gv.local(lat=37.77, lon=-122.42, radius=50_000)
    rho = gv.CGP.hiding(distance=20, chance=0.75)
    release = release_of("points", frame, to=tmp_path / "out", rho=rho, protect="1 day", times="t", area=area)
    release_of("points", frame, to=tmp_path / "one", rho=rho, protect="point", area=area)
    radii = [pd.read_parquet(tmp_path / name)["radius_95"].to_numpy() for name in ("out", "one")]
    assert radii[0] == pytest.approx(np.sqrt(2) * radii[1], rel=1e-4)
    assert [time[:10] for time in release.certificate()["span"]] == ["2026-05-01", "2026-05-02"]


def test_doubtful_times_are_refused(spark: Any, tmp_path: Path) -> None:
    """Numbers since a start and dates under a unit of an hour are refused, and nothing is written."""
    frame = spark.createDataFrame([(10**6 * i, 37.77, -122.42) for i in range(300, 310)], ["t", "lat", "lon"])
    how: dict[str, Any] = {"rho": RHO, "protect": "1 hour", "area": gv.local(lat=37.77, lon=-122.42, radius=50_000)}
    with pytest.raises(InvalidParameter, match=r'times beyond doubt.*such as times="t \[s\]"'):
        release_of("points", frame, to=tmp_path / "out", times="t", **how)
    stated = release_of("points", frame, to=tmp_path / "stated", times="t [ms]", **how)
    assert stated.n == 10
    assert stated.certificate()["times"] == ["t [ms]"]
    converted = frame.selectExpr("timestamp_millis(t) as t", "lat", "lon")
    assert release_of("points", converted, to=tmp_path / "converted", times="t", **how).n == 10
    dates = frame.selectExpr("date_add(date'2026-05-01', int(t % 7)) as day", "lat", "lon")
    with pytest.raises(InvalidParameter, match=r'whole days.*protect="1 day"'):
        release_of("points", dates, to=tmp_path / "out", times="day", **how)
    assert not (tmp_path / "out").exists()
