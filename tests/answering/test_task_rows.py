"""What tasks of a cluster do with their rows, without a cluster."""

from __future__ import annotations

import os
import traceback
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from geoveil.errors import InvalidData, InvalidParameter
from geoveil.privacy import kept_of_thinned, stretch_sizes
from geoveil.spark import task_rows
from geoveil.spark.frame_columns import TIME, check_times
from geoveil.spark.task_rows import Refusal, TaskFacts, gathered, without_data
from geoveil.spark.tasks import own_source
from tests.systems import POSIX


class Rows:
    """A batch of points with times."""

    def __init__(self, times: Any) -> None:
        self.columns = pa.table({TIME: pa.array(times, pa.int64())})
        self.rows = np.arange(len(times))

    def __len__(self) -> int:
        return len(self.rows)


@pytest.mark.parametrize("size", [1, 7, 50, 400])
@pytest.mark.parametrize("stretch", [1, 30, 10_000])
def test_stream_units_match_whole(size: int, stretch: int) -> None:
    """The sizes of stretches are the same in batches of any size, and all batches come out."""
    rng = np.random.default_rng(5)
    persons = np.sort(rng.integers(6, size=400))
    times = np.concatenate([np.sort(rng.integers(1000, size=n)) for n in np.bincount(persons)])
    units, found = task_rows._Units(stretch), []
    for start in range(0, 400, size):
        rows: Any = Rows(times[start : start + size])
        found += [np.asarray(sizes) for _, sizes in units.add(rows, persons[start : start + size])]
    found += [np.asarray(sizes) for _, sizes in units.rest()]
    assert np.array_equal(np.concatenate(found), stretch_sizes(times, stretch, persons))


def test_stream_thinning_matches_whole() -> None:
    """The first row of each interval is kept, whatever the batches; ties with it are counted."""
    rng = np.random.default_rng(5)
    persons = np.sort(rng.integers(6, size=400))
    times = np.concatenate([np.sort(rng.integers(500, size=n)) for n in np.bincount(persons)])
    whole = kept_of_thinned(times, 10, persons)
    thinning, kept, ties = task_rows._Thinning(10), [], 0
    for start in range(0, 400, 7):
        some, tied = thinning.kept(persons[start : start + 7], times[start : start + 7])
        kept.append(some)
        ties += tied
    assert np.array_equal(np.concatenate(kept), whole)
    first = {*zip(persons[whole], times[whole], strict=True)}
    assert ties == sum(row in first for row in zip(persons[~whole], times[~whole], strict=True)) > 0


def test_task_times_are_judged() -> None:
    """Times that are all whole hours are refused for units that are not, and numbers that are no times since 1970."""
    facts, hour = TaskFacts(0), 3_600 * 10**6
    for times in ([490_000 * hour, 490_005 * hour], [490_011 * hour]):
        facts.saw(np.array(times), None)
    assert facts.span == (490_000 * hour, 490_011 * hour)
    moments = np.array(facts.moments)
    assert len(moments) == 3
    check_times(facts.span, moments, None, 2 * hour, "time")
    with pytest.raises(InvalidParameter, match="whole hours"):
        check_times(facts.span, moments, None, hour // 2, "time")
    check_times(facts.span, moments, 1, 2 * hour, "time")
    with pytest.raises(InvalidParameter, match="beyond doubt"):
        check_times((0, 5 * hour), moments, 1, 2 * hour, "time")


def test_small_batches_are_gathered() -> None:
    """Tables have the wanted number of rows, in order, and the last one the rest."""
    batches = [pa.record_batch({"x": range(start, start + 30)}) for start in range(0, 300, 30)]
    tables = [*gathered(batches, 70)]
    assert [len(table) for table in tables] == [70, 70, 70, 70, 20]
    assert pa.concat_tables(tables)["x"].to_pylist() == [*range(300)]


def test_task_errors_hold_no_value() -> None:
    """Whatever fails on a worker, the text that Spark logs has no value of the data, and no cause that has."""
    refused = InvalidData("row 3", [-122.4194, 37.7749], "inside the area", "Correct it.")
    for problem in (refused, ValueError("37.7749"), OSError(28, "No space left on device", "37.7749")):
        with pytest.raises(RuntimeError) as caught, without_data():
            raise problem
        assert "37.77" not in "".join(traceback.format_exception(caught.value))
    assert Refusal.of(refused) == Refusal("row 3", "inside the area", "Correct it.")


def test_facts_survive_their_text() -> None:
    """What a task saw is read as it was written."""
    facts = TaskFacts(3, points=5, checksum=2**64 - 1, span=(1, 9), sizes={4: 2}, refusal=Refusal("a", "b", "c"))
    assert TaskFacts.read(facts.written()) == facts


@POSIX
def test_forked_tasks_differ() -> None:
    """Two forks of a process that has drawn already get keystreams of their own."""
    first = own_source(None, 0)
    first.octets(4096)
    drawn = set()
    for _ in range(3):
        read, write = os.pipe()
        if os.fork() == 0:
            os.write(write, own_source(None, 0).octets(1024) + first.octets(1024))
            os._exit(0)
        os.wait()
        found = os.read(read, 4096)
        drawn |= {found[:1024], found[1024:]}
    assert len(drawn) == 6
