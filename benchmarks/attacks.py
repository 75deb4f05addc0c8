"""How near attacks come to taxis and phones, beside what the guarantee allows, and beside the error of `smooth`.

Needs the folders cabspotting and geolife in ../shared/data, or in the folder that GEOVEIL_DATA names. Prints tables.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import geoveil as gv
from geoveil.attacks import Attacks
from geoveil.noise.reals import Floats

DATA = Path(os.environ.get("GEOVEIL_DATA", "../shared/data"))
#: Budgets, and what is protected.
BUDGETS = (5e-5, 5e-4)
#: The rows of a taxi or a phone that are used: evenly spaced, so that the benchmark takes minutes.
ROWS = 3000


def taxis() -> tuple[pd.DataFrame, str, str]:
    """The taxis, the area and the motion."""
    parts = [
        pd.read_csv(path, sep=" ", names=["lat", "lon", "busy", "time"]).assign(user=path.stem)
        for path in sorted((DATA / "cabspotting").glob("new_*.txt"))
    ]
    return thinned(parts), "37.76,-122.42,80km", "taxi"


def phones() -> tuple[pd.DataFrame, str, str]:
    """The phones of Geolife near Beijing, the area and the motion."""
    parts = []
    for folder in sorted((DATA / "geolife").iterdir()):
        files = [] if not folder.is_dir() else sorted(folder.rglob("*.plt"))
        if files:
            names = ["lat", "lon", "zero", "alt", "days", "date", "clock"]
            part = pd.concat([pd.read_csv(path, skiprows=6, names=names) for path in files])
            part = part.assign(time=pd.to_datetime(part.date + " " + part.clock), user=folder.name)
            parts.append(part[(abs(part.lat - 39.9) < 0.4) & (abs(part.lon - 116.4) < 0.5)])
    return thinned([part for part in parts if len(part)]), "39.9,116.4,80km", "person"


def thinned(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return evenly spaced rows of each person, in the order of their times."""
    some = [part.iloc[np.linspace(0, len(part) - 1, min(len(part), ROWS)).astype(int)] for part in parts]
    frame = pd.concat(some)[["user", "time", "lat", "lon"]].sort_values(["user", "time"], ignore_index=True)
    if frame.time.dtype.kind in "iu":
        frame["time"] = pd.to_datetime(frame.time, unit="s")
    return frame.drop_duplicates(["user", "time"], ignore_index=True)


def smooth_error(truth: gv.Locations, release: gv.Release, motion: str) -> Floats:
    """Return the root mean square error of `Release.smooth` for each person."""
    known = truth._rows.known()
    assert known.people is not None
    off = np.square(np.asarray(release.smooth(motion).coords) - known.form.coords.values).sum(axis=1)
    return np.sqrt(np.bincount(known.people.codes, off) / known.people.sizes)


def main() -> None:
    """Print a table for each data set."""
    for name, (frame, area, motion) in (("taxis", taxis()), ("phones", phones())):
        print(f"\n{name}: {frame.user.nunique()} persons, {len(frame):,} points\n")
        print("| protected, ρ | attack | median | root mean square | worst | bound | over bound | beats |")
        print("|---|---|---|---|---|---|---|---|")
        for protect in (None, "1 day"):
            for rho in BUDGETS:
                print(f"{name}, {protect}, {rho:g}", file=sys.stderr)
                truth = gv.Locations(frame, person="user", area=area, protect=protect, outside="clamp")
                release = truth.points(rho=rho)
                found = truth.attack(release, motion=motion)
                show(found, f"{protect or 'all points'}, {rho:g}")
                own = smooth_error(truth, release, motion)
                ratio = found["smoothing"].off / own
                print(f"| | *smoothing over `smooth`* | | {ratio.min():.4f} to {ratio.max():.4f} | | | | |")


def show(found: Attacks, case: str) -> None:
    """Print the rows of a case."""
    for attack in found:
        bound = attack.bound
        if attack.linking:
            print(f"| {case} | {attack.name} | {attack.typical:.0%} found | | | | | {attack.beats} |")
            continue
        over = "" if bound is None else f"{attack.root_mean_square / bound:.2f}"
        numbers = (attack.typical, attack.root_mean_square, attack.worst[1])
        cells = " | ".join(f"{number:,.0f}" for number in numbers)
        limit = "none" if bound is None else f"{bound:,.0f}"
        print(f"| {case} | {attack.name} | {cells} | {limit} | {over} | {attack.beats} |")


if __name__ == "__main__":
    main()
