"""Make up the files that the tutorials use: trips of rented bikes in a city, and the track of a bike tour.

``python scripts/samples.py`` writes docs/learn/bike-trips.csv and docs/do/tour.gpx, the same every time. Nothing in
them is real.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

DOCS = Path(__file__).parent.parent / "docs"
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


def write_trips() -> None:
    """Write the trips: a rider starts at home in the morning, and ends there in the evening."""
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
    trips.to_csv(DOCS / "learn" / "bike-trips.csv", index=False, float_format="%.5f", lineterminator="\n")


def write_tour() -> None:
    """Write the tour: five hours around a lake, a point every 20 seconds."""
    rng = np.random.default_rng(7)
    share = np.linspace(0, 1, 5 * 180 + 1)
    corners = np.array([(8.541, 47.366), (8.57, 47.33), (8.66, 47.27), (8.81, 47.23), (8.70, 47.21), (8.58, 47.26)])
    along = np.append(corners, corners[:1], axis=0)
    lengths = np.append(0, np.cumsum(np.hypot(*(np.diff(along, axis=0) * [0.68, 1]).T)))
    way = np.column_stack([np.interp(share * lengths[-1], lengths, column) for column in along.T])
    way += np.cumsum(rng.normal(scale=1.2e-5, size=way.shape), axis=0)
    start = pd.Timestamp("2026-05-10T08:00Z")
    times = [f"{start + pd.Timedelta(seconds=20 * k):%Y-%m-%dT%H:%M:%SZ}" for k in range(len(way))]
    points = "\n".join(
        f'<trkpt lat="{lat:.6f}" lon="{lon:.6f}"><time>{time}</time></trkpt>'
        for (lon, lat), time in zip(way, times, strict=True)
    )
    space = "http://www.topografix.com/GPX/1/1"
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="samples" xmlns="{space}">'
    text = f"{head}\n<trk><name>Around the lake</name><trkseg>\n{points}\n</trkseg></trk></gpx>\n"
    (DOCS / "do" / "tour.gpx").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_trips()
    write_tour()
