"""What 100 m, 500 m and 2 km mean for real taxis, phones and check-ins: tables and pictures of docs/decide/budget.md.

    .venv/3.11/bin/python -m benchmarks.decisions [--pictures]

Needs the folders cabspotting, geolife and gowalla-new-york in ../shared/data, or in the folder that GEOVEIL_DATA
names. The data may not be redistributed: tables hold figures about all persons together, and pictures show released
maps beside true ones of cells of 1 km, without the cells in which fewer than ten persons were. Takes five
minutes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import geoveil as gv

DATA = Path(os.environ.get("GEOVEIL_DATA", "../shared/data"))
PICTURES = Path("docs/decide/pictures")
DISTANCES = (100, 500, 2000)
#: Cells with fewer persons are left out of pictures of the truth.
FEWEST = 10


class People(NamedTuple):
    """A data set: its name, points in metres around a place, their persons and times, and half the side of its map."""

    name: str
    x: NDArray[np.float64]
    person: NDArray[np.int64]
    time: NDArray[np.int64]
    half: float


def people(name: str, frame: pd.DataFrame, lat: float, lon: float, half: float) -> People:
    """Return the points of a frame that are on the map, in metres."""
    plane = gv.Locations([(lon, lat)], crs=4326, area=gv.local(lat=lat, lon=lon, radius=60_000)).points(rho=1).plane
    assert plane is not None
    near = frame[(abs(frame["lat"] - lat) < 0.4) & (abs(frame["lon"] - lon) < 0.5)]
    x = plane.into(near[["lon", "lat"]].to_numpy())
    inside = (np.abs(x) < half).all(axis=1)
    person, _ = pd.factorize(near["person"][inside])
    return People(name, x[inside], person, near["time"][inside].to_numpy().astype("int64"), half)


def taxis() -> People:
    """Taxis in San Francisco, three weeks, a point a minute."""
    files = sorted((DATA / "cabspotting").glob("new_*.txt"))
    names = ["lat", "lon", "occupied", "time"]
    frames = [pd.read_csv(file, sep=" ", names=names).assign(person=file.stem).iloc[::-1] for file in files]
    return people("taxis", pd.concat(frames), 37.77, -122.42, 16_000)


def phones() -> People:
    """Phones in Beijing, a point every few seconds."""
    names = ["lat", "lon", "zero", "altitude", "days", "date", "clock"]
    frames = []
    for file in sorted((DATA / "geolife").rglob("*.plt")):
        frame = pd.read_csv(file, skiprows=6, names=names)
        stamp = pd.to_datetime(frame["date"] + " " + frame["clock"]).astype("datetime64[s]").astype("int64")
        frames.append(frame.assign(person=file.parent.parent.name, time=stamp))
    return people("phones", pd.concat(frames), 39.95, 116.35, 16_000)


def check_ins() -> People:
    """Check-ins around New York."""
    names = ["person", "stamp", "lat", "lon", "place"]
    frame = pd.read_csv(DATA / "gowalla-new-york" / "events.csv.gz", sep="\t", names=names)
    time = pd.to_datetime(frame["stamp"]).dt.tz_localize(None).astype("datetime64[s]").astype("int64")
    return people("check-ins", frame.assign(time=time), 40.73, -73.97, 16_000)


def metres(value: float) -> str:
    """A length with two digits that count."""
    rounded = float(f"{value:.2g}")
    return f"{rounded / 1000:g} km" if rounded >= 1000 else f"{rounded:g} m"


def points_of(data: People, distance: float, unit: str | None, thin: str | None) -> str:
    """The 95% error of a single released point of a typical person."""
    rho = gv.CGP.hiding(distance=distance, chance=0.75).budget
    times = data.time if unit not in (None, "point") or thin else None
    rng = np.random.default_rng(1)
    locations = gv.Locations(data.x, person=data.person, protect=unit, times=times, thin=thin, rng=rng)
    release = locations.points(rho=rho)
    return metres(float(np.median(release.error(0.05, each=True))))


def map_of(data: People, distance: float, cell: float, seed: int = 1) -> gv.CrowdHeatMap:
    """A released heat map."""
    grid = gv.Grid((-data.half, -data.half, data.half, data.half), cell=cell)
    rho = gv.CGP.hiding(distance=distance, chance=0.75).budget
    heat = gv.Locations(data.x, person=data.person, rng=np.random.default_rng(seed)).heatmap(grid, rho=rho)
    assert isinstance(heat, gv.CrowdHeatMap)
    return heat


def true_map(data: People, cell: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The number of persons in each cell, each spread over their points, and how many different persons were in it."""
    side = round(2 * data.half / cell)
    column, row = ((data.x + data.half) // cell).astype(int).T
    place = row * side + column
    weights = 1 / np.bincount(data.person)[data.person]
    different = np.unique(np.column_stack([place, data.person]), axis=0)[:, 0]
    shape = (side, side)
    return (
        np.bincount(place, weights, minlength=side * side).astype(float).reshape(shape),
        np.bincount(different, minlength=side * side).astype(np.int64).reshape(shape),
    )


def tables(sets: list[People]) -> None:
    """Print the tables."""
    print("| data | persons | points of a typical person | days |\n|---|---|---|---|")
    for data in sets:
        sizes = np.bincount(data.person)
        days = pd.DataFrame({"person": data.person, "day": data.time // 86_400}).drop_duplicates()
        typical = days.groupby("person").size().median()
        print(f"| {data.name} | {len(sizes):,} | {np.median(sizes):,.0f} | {typical:,.0f} |")
    print("\n| data | what is protected | 100 m | 500 m | 2 km |\n|---|---|---|---|---|")
    choices = {
        "all points of a person": (None, None),
        "all points, one an hour": (None, "1 hour"),
        "any day, one an hour": ("1 day", "1 hour"),
        "any hour, one in ten minutes": ("1 hour", "10 min"),
        "each point": ("point", None),
    }
    for data in sets:
        for said, (unit, thin) in choices.items():
            row = [points_of(data, distance, unit, thin) for distance in DISTANCES]
            print(f"| {data.name} | {said} | {' | '.join(row)} |", flush=True)
    print("\n| data | answer | 100 m | 500 m | 2 km |\n|---|---|---|---|---|")
    for data in sets:
        persons = data.person.max() + 1
        for cell in (500, 1000, 2000):
            truth, _ = true_map(data, cell)
            wrong = []
            for distance in DISTANCES:
                drawn = [
                    np.abs(map_of(data, distance, cell, seed).value - truth).sum() / 2 / persons for seed in range(3)
                ]
                wrong.append(f"{np.mean(drawn):.0%}")
            print(f"| {data.name} | heat map, cells of {metres(cell)} | {' | '.join(wrong)} |", flush=True)
        means = []
        for distance in DISTANCES:
            rho = gv.CGP.hiding(distance=distance, chance=0.75).budget
            means.append(metres(float(gv.Locations(data.x, person=data.person).mean(rho=rho, together=True).error())))
        print(f"| {data.name} | mean of all locations | {' | '.join(means)} |", flush=True)


def pictures(sets: list[People]) -> None:
    """Draw the true and the released maps of a data set side by side."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    PICTURES.mkdir(exist_ok=True)
    for data in sets:
        truth, different = true_map(data, 1000)
        shown = [np.where(different >= FEWEST, truth, np.nan)]
        shown += [map_of(data, distance, 1000).value for distance in DISTANCES]
        titles = [f"counted, without cells of fewer\nthan {FEWEST} {persons_of(data)}"]
        titles += [f"released: {metres(distance)}\nhidden at 75%" for distance in DISTANCES]
        top = np.sqrt(np.nanmax(truth))
        figure, axes = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained")
        for axis, values, title in zip(axes, shown, titles, strict=True):
            axis.imshow(np.sqrt(values), origin="lower", vmin=0, vmax=top, cmap="Blues", interpolation="nearest")
            axis.set_title(title, fontsize=8)
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_facecolor("white")
        figure.savefig(PICTURES / f"{data.name}.png", dpi=110)
        plt.close(figure)


def persons_of(data: People) -> str:
    """What the persons of a data set are called."""
    return "taxis" if data.name == "taxis" else "people"


def main() -> None:
    """Print the tables, or draw the pictures."""
    if "--pictures" in sys.argv:
        pictures([taxis(), check_ins()])
    else:
        tables([taxis(), phones(), check_ins()])


if __name__ == "__main__":
    main()
