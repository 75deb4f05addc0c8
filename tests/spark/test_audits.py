"""Points that Spark releases keep what they claim, seen from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import geoveil as gv
from tests.audit import rules
from tests.audit.test_own_paths import AREA, audited

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(("hide", "kept"), [(rules.HIDE, True), (rules.HIDE / 10, False)])
def test_canaries_are_hidden(spark: Any, hide: float, kept: bool, tmp_path: Path) -> None:
    """Points of workers keep the promise, but once in a billion times; a tenth of the distance is found."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        frame = spark.createDataFrame(rows[["person", "latitude", "longitude"]]).repartition(4)
        gv.Locations(frame, person="person", area=AREA).points(hide=hide, to=tmp_path / "points")
        released = gv.load(tmp_path / "points").to_frame()
        places = released.geometry
        return pd.DataFrame({"person": released["person"], "latitude": places.y, "longitude": places.x})

    found = audited(rule, tmp_path, 1e-9 if kept else 0.01)
    assert found.refuted != kept, found.verdict()
