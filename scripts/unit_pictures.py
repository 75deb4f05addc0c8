"""Draw the pictures of docs/understand/units.md: for five units, the points that are protected together.

All data is made up. ``python scripts/unit_pictures.py`` writes docs/understand/units/*.png; it needs matplotlib.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FOLDER = Path(__file__).parent.parent / "docs" / "understand" / "units"
_GREY, _BLUE, _BAND = "#9ca3af", "#1d4ed8", "#dbeafe"
#: The places of a person in kilometres, and when the person is there, in hours of a day.
_STOPS = {
    "ann": ([(0, 0), (0, 0), (5, 3), (5, 3), (6, 0.5), (0, 0)], [7, 8, 9, 16, 18, 21]),
    "bob": ([(7, 4.5), (7, 4.5), (2, 3.5), (2, 3.5), (7, 4.5)], [7, 9, 11, 17, 20]),
    "eve": ([(3, -0.5), (3, -0.5), (7.5, 2), (7.5, 2), (3, -0.5)], [8, 10, 12, 15, 19]),
}
_DAYS = 3
#: How far the second version of the data is from the first, in kilometres.
_MOVED = np.array([0.35, 0.45])


def movements(person: str, seed: int) -> tuple[Floats, Floats]:
    """Return the times in hours and the places of a made-up person over some days."""
    rng = np.random.default_rng(seed)
    places, hours = _STOPS[person]
    stops = np.array(places, dtype=float)
    times, found = [], []
    for day in range(_DAYS):
        at = np.sort(rng.uniform(hours[0], hours[-1], size=22))
        days_own = stops + rng.normal(scale=0.25, size=stops.shape)
        way = np.column_stack([np.interp(at, hours, axis) for axis in days_own.T])
        times.append(24 * day + at)
        found.append(way + rng.normal(scale=0.12, size=way.shape))
    return np.concatenate(times), np.concatenate(found)


def picture(name: str, people: list[tuple[Floats, Floats]], moved: list[NDArray[np.bool_]], span: Any = None) -> None:
    """Draw a map with the points that move, and below it when they were recorded."""
    import matplotlib.pyplot as plt

    figure, (plane, line) = plt.subplots(2, 1, figsize=(3.6, 2.9), height_ratios=(5, 1), layout="constrained")
    for number, ((times, places), mine) in enumerate(zip(people, moved, strict=True)):
        plane.plot(*places.T, "-", color="#e5e7eb", lw=0.8, zorder=0)
        plane.plot(*places[~mine].T, ".", color=_GREY, markersize=5)
        for place in places[mine]:
            plane.annotate("", place + _MOVED, place, arrowprops={"arrowstyle": "-", "color": _BLUE, "lw": 0.5})
        plane.plot(*places[mine].T, ".", color=_BLUE, markersize=5)
        plane.plot(*(places[mine] + _MOVED).T, "o", markersize=3.5, mfc="white", mec=_BLUE, mew=0.7)
        line.plot(times[~mine], np.full((~mine).sum(), -number), "|", color=_GREY, markersize=8)
        line.plot(times[mine], np.full(mine.sum(), -number), "|", color=_BLUE, markersize=8)
    if span is not None:
        line.axvspan(*span, color=_BAND, zorder=0)
    plane.set(xticks=[], yticks=[], aspect="equal", xlim=(-0.9, 8.9), ylim=(-1.2, 5.7 if len(people) > 1 else 4.4))
    line.set(yticks=[], xlim=(0, 24 * _DAYS), ylim=(-len(people) + 0.4, 0.6))
    line.set_xticks([12 + 24 * day for day in range(_DAYS)], ["Monday", "Tuesday", "Wednesday"], fontsize=8)
    line.tick_params(length=0)
    for day in range(1, _DAYS):
        line.axvline(24 * day, color=_GREY, lw=0.5)
    for axes in (plane, line):
        for side in axes.spines.values():
            side.set_color("#d1d5db")
    # Without the version of matplotlib, so that the same data gives the same file.
    figure.savefig(FOLDER / f"{name}.png", dpi=130, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Draw all pictures."""
    FOLDER.mkdir(exist_ok=True)
    ann, bob, eve = movements("ann", 1), movements("bob", 2), movements("eve", 3)
    times, places = ann
    everything = np.ones(len(times), dtype=bool)
    picture("trajectory", [ann], [everything])
    busiest = times[np.argmax([((times >= start) & (times < start + 1) & (start > 40)).sum() for start in times])]
    for name, start, length in (("day", 18.5, 24.0), ("hour", busiest, 1.0)):
        picture(name, [ann], [(times >= start) & (times < start + length)], (start, start + length))
    # A point on the way, where no other is near.
    picture("point", [ann], [np.arange(len(times)) == np.argmin(np.hypot(*(places - [2.4, 1.8]).T))])
    picture("person", [ann, bob, eve], [~everything, everything, ~everything])


if __name__ == "__main__":
    main()
