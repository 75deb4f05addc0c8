"""Made-up trips for tests of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import geoveil as gv

AREA = gv.local(lat=37.77, lon=-122.42, radius=50_000)
RHO = 5e-5


def trips(rows: int = 3000, persons: int = 20, seed: int = 1) -> pd.DataFrame:
    """Return rows of persons in order of person and time, with a number for each."""
    rng = np.random.default_rng(seed)
    user = np.sort(rng.integers(persons, size=rows))
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "user": [f"u{number:04d}" for number in user],
            "time": pd.Timestamp("2026-05-01") + pd.to_timedelta(np.arange(rows) * 7, unit="min"),
            "latitude": rng.normal(37.77, 0.05, rows),
            "longitude": rng.normal(-122.42, 0.05, rows),
        }
    )


def written(frame: pd.DataFrame, path: Path, group: int = 1000) -> Path:
    """Write rows to a Parquet file, in groups of rows."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    at = table.column_names.index("time")
    table = table.set_column(at, "time", table["time"].cast(pa.timestamp("us", "UTC")))
    pq.write_table(table, path, row_group_size=group)
    return path


def in_order(release: Any) -> pd.DataFrame:
    """Return what a release wrote, in the order of the rows' numbers."""
    return release.value.toPandas().sort_values("id").reset_index(drop=True)


def noise(released: pd.DataFrame, true: pd.DataFrame) -> Any:
    """Return the noise of released rows in metres east and north, by the numbers of rows."""
    own = true.set_index("id").loc[released["id"]]
    east = (released["longitude"].to_numpy() - own["longitude"].to_numpy()) * 111_320 * np.cos(np.radians(37.77))
    north = (released["latitude"].to_numpy() - own["latitude"].to_numpy()) * 110_990
    return np.column_stack([east, north])
