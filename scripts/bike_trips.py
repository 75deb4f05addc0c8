"""Make up the trips of docs/learn/bike-trips.csv: rented bikes in a city, for tutorials.

``python scripts/bike_trips.py`` writes the file, the same every time. No trip is real.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

TARGET = Path(__file__).parent.parent / "docs" / "learn" / "bike-trips.csv"
#: Where people live and go: longitude, latitude, spread in degrees, share of homes, share of destinations.
QUARTERS = np.array(
    [
        (8.527, 47.388, 0.010, 0.40, 0.10),
        (8.512, 47.372, 0.009, 0.25, 0.10),
        (8.550, 47.410, 0.012, 0.20, 0.10),
        (8.540, 47.376, 0.004, 0.05, 0.40),
        (8.548, 47.366, 0.006, 0.10, 0.30),
    ]
)
PERSONS = 300


def main() -> None:
    """Write the file."""
    rng = np.random.default_rng(2026)
    lon, lat, spread, homes, goals = QUARTERS.T
    home = rng.choice(len(QUARTERS), PERSONS, p=homes)
    place = np.column_stack([lon, lat])
    lives = place[home] + rng.normal(size=(PERSONS, 2)) * spread[home, None] * [1, 0.7]
    rows = []
    for person in range(PERSONS):
        for _ in range(1 + rng.poisson(2)):
            goal = rng.choice(len(QUARTERS), p=goals)
            there = place[goal] + rng.normal(size=2) * spread[goal] * [1, 0.7]
            here = lives[person] + rng.normal(size=2) * 0.0008
            morning = rng.random() < 0.5
            start, end = (here, there) if morning else (there, here)
            hour = rng.normal(8.3 if morning else 17.8, 1.2)
            day = pd.Timestamp("2026-05-04", tz="UTC") + pd.Timedelta(days=int(rng.integers(28)))
            time = (day + pd.Timedelta(hours=float(hour))).floor("min")
            kind = rng.choice(["city", "electric", "cargo"], p=[0.6, 0.33, 0.07])
            rows.append((f"rider-{person + 1:03}", time.strftime("%Y-%m-%dT%H:%MZ"), *start[::-1], *end[::-1], kind))
    columns = ["rider", "start_time", "start_lat", "start_lon", "end_lat", "end_lon", "bike"]
    trips = pd.DataFrame(rows, columns=columns).sort_values("start_time", kind="stable")
    trips.to_csv(TARGET, index=False, float_format="%.5f", lineterminator="\n")


if __name__ == "__main__":
    main()
