"""Measure what smaller units gain: the error of taxi trajectories by unit, and the time that a file takes with units.

Run from the project's root: ``python -m benchmarks.units [--taxis 59] [--rows 3000000]``. Tables go to stdout.
Errors are root mean squares over the points of a taxi, divided by those of whole trajectories in the same run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import geoveil as gv
from benchmarks.files import AREA, made_up
from tests.cabspotting import folder, names, rms, seconds, trajectory

RHO = 5e-5
#: The largest ratio of errors that is wanted, raw and smoothed.
TARGETS = {"1 day": (0.27, 0.5)}
UNITS = ("7 days", "1 day", "6 hours", "1 hour")


def met(got: float, target: float | None) -> str:
    """Return a number with its target as text."""
    return f"{got:.3f}" if target is None else f"{got:.3f} ({'≤' if got <= target else 'MISSES'} {target:g})"


def trajectories(taxis: list[str], rng: np.random.Generator) -> None:
    """Print the errors of trajectories whose stretches of time are protected, over those of whole trajectories."""
    ratios: dict[str, list[tuple[float, ...]]] = {unit: [] for unit in UNITS}
    for name in taxis:
        true, times = trajectory(name), seconds(name)
        whole = gv.Locations(true, rng=rng).points(rho=RHO)
        smooth = whole.smooth("taxi", times=times)
        for unit in UNITS:
            raw = gv.Locations(true, protect=unit, times=times, rng=rng).points(rho=RHO)
            found = raw.smooth("taxi", times=times)
            # The noise of all points alike, as the largest unit needs it.
            assert raw.point_scales is not None
            alike = raw.point_scales.max() / np.sqrt(np.square(raw.point_scales).mean())
            ratios[unit].append(
                (
                    rms(raw.value - true) / rms(whole.value - true),
                    rms(found.value - true) / rms(smooth.value - true),
                    alike,
                    rms(found.value - true),
                )
            )
        print(name, file=sys.stderr, flush=True)
    print(f"\n| unit, ρ = {RHO:g} | rmse / whole | smoothed / smoothed whole | largest noise / rmse | smoothed rmse |")
    print("|---|---|---|---|---|")
    for unit, each in ratios.items():
        rough, smoothed, alike, error = np.mean(each, axis=0)
        targets = TARGETS.get(unit, (None, None))
        row = (met(rough, targets[0]), met(smoothed, targets[1]), f"{alike:.2f}", f"{error:,.0f} m")
        print(f"| {unit} | {' | '.join(row)} |", flush=True)


def files(rows: int, repeat: int) -> None:
    """Print the time that the release of a file takes with units, over that without, run in turn."""
    tasks: dict[str, dict[str, Any]] = {
        "persons": {},
        "any day": {"unit": "1 day"},
        "any day, one row a minute": {"unit": "1 day", "thin": "1 min"},
    }
    print(f"\n| GeoParquet, {rows:,} rows | seconds | over persons |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "trips.parquet"
        made_up(source, rows, rows // 1000)
        took: dict[str, list[float]] = {task: [] for task in tasks}
        for _ in range(repeat):
            for task, options in tasks.items():
                start = time.perf_counter()
                gv.Locations(source, person="user", area=AREA).points(
                    to=source.with_name("out.parquet"), rho=RHO, **options
                )
                took[task].append(time.perf_counter() - start)
        plain = statistics.median(took["persons"])
        for task, found in took.items():
            print(f"| {task} | {statistics.median(found):.1f} | {statistics.median(found) / plain:.2f} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--taxis", type=int, default=59)
    parser.add_argument("--rows", type=int, default=3 * 10**6)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    if folder() is None:
        sys.exit("This benchmark needs the cabspotting folder; set GEOVEIL_CABSPOTTING.")
    taxis = names()[: arguments.taxis]
    print(f"{len(taxis)} taxis; got (≤ target).")
    trajectories(taxis, np.random.default_rng(2026))
    files(arguments.rows, arguments.repeat)


if __name__ == "__main__":
    main()
