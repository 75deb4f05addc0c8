"""Draw the pictures of docs/understand/in-pictures.md and of docs/decide/budget.md.

All data is made up. ``python scripts/pictures.py`` writes docs/understand/pictures/*.png and
docs/decide/pictures/commuter.png; it needs matplotlib.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

import geoveil as gv

mpl.use("agg")
import matplotlib.pyplot as plt

Floats = NDArray[np.float64]

DOCS = Path(__file__).parent.parent / "docs"
UNDERSTAND, DECIDE = DOCS / "understand" / "pictures", DOCS / "decide" / "pictures"
_GREY, _BLUE, _ORANGE, _INK = "#9ca3af", "#1d4ed8", "#ea580c", "#111827"


def hiding(distance: float) -> gv.CGP:
    """The budget that hides a distance at 75%."""
    return gv.CGP.hiding(distance=distance, chance=0.75)


def noisy(x: Floats, distance: float, seed: int) -> Floats:
    """Points of one person, released; seeded, so that the picture is the same every time."""
    return np.asarray(
        gv.Locations(x, crs="metres", rng=np.random.default_rng(seed)).points(rho=hiding(distance)).value
    )


def save(figure: Any, folder: Path, name: str) -> None:
    """Write a figure without the version of matplotlib, so that the same data gives the same file."""
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def bare(axes: Any, title: str, half: float) -> None:
    """A square map without ticks, with a bar for scale."""
    axes.set(xticks=[], yticks=[], aspect="equal", xlim=(-half, half), ylim=(-half, half))
    axes.set_title(title, fontsize=9)
    length = half / 2
    axes.plot([-0.9 * half, -0.9 * half + length], [-0.9 * half] * 2, color=_INK, lw=2)
    axes.text(-0.9 * half, -0.84 * half, f"{length:g} m", fontsize=7)
    for side in axes.spines.values():
        side.set_color("#d1d5db")


def one_home() -> None:
    """Draw a home, and where its noisy version may be."""
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
    home = np.zeros((1, 2))
    single = noisy(home, 100, 3)
    for axis, title in zip(axes, ("the true home", "what is released", "where else it could have been"), strict=True):
        bare(axis, title, 400)
    axes[0].plot(*home.T, "s", color=_ORANGE, ms=7)
    axes[1].plot(*single.T, "o", color=_BLUE, ms=6)
    many = np.concatenate([noisy(home, 100, seed) for seed in range(300)])
    axes[2].plot(*many.T, ".", color=_BLUE, ms=3, alpha=0.35)
    axes[2].plot(*home.T, "s", color=_ORANGE, ms=7)
    save(figure, UNDERSTAND, "one-home")


def two_homes() -> None:
    """Draw two homes, near and far apart, and the clouds of their noisy versions."""
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
    for axis, distance, said in zip(axes, (20, 100, 500), ("at most 55%", "at most 75%", "nearly 100%"), strict=True):
        bare(axis, f"homes {distance} m apart: a guess is\nright {said} of the time", 500)
        for sign, colour in ((-1, _ORANGE), (1, _BLUE)):
            home = np.array([[sign * distance / 2, 0.0]])
            cloud = np.concatenate([noisy(home, 100, 1000 * (sign + 1) + seed) for seed in range(250)])
            axis.plot(*cloud.T, ".", color=colour, ms=3, alpha=0.35)
            axis.plot(*home.T, "s", color=colour, mec="white", ms=8)
    save(figure, UNDERSTAND, "two-homes")


def curve() -> None:
    """Draw how often the best guess is right, by distance."""
    figure, axes = plt.subplots(figsize=(6, 2.9), layout="constrained")
    at = np.linspace(0, 1000, 300)
    for distance, colour in ((100, _ORANGE), (200, _BLUE), (500, _GREY)):
        axes.plot(at, [100 * hiding(distance).attacker(distance=max(d, 1e-9)) for d in at], color=colour, lw=2)
        axes.annotate(f"{distance} m", (distance, 75), (distance + 12, 70), fontsize=9, color=colour)
        axes.plot(distance, 75, "o", color=colour)
    axes.axhline(75, color=_GREY, lw=0.5)
    axes.set(
        xlim=(0, 1000), ylim=(50, 101), xlabel="distance of the two places, in metres", ylabel="a guess is right, %"
    )
    save(figure, UNDERSTAND, "curve")


def track(seed: int = 5) -> Floats:
    """The day of a made-up commuter: home, work and an errand, with a point every ten minutes."""
    rng = np.random.default_rng(seed)
    stops = np.array(
        [(-2500, -1800), (-2500, -1800), (2200, 1500), (2200, 1500), (2600, -900), (-2500, -1800), (-2500, -1800)]
    )
    hours = np.array([0, 7.5, 8.5, 17, 18, 19.5, 24])
    at = np.arange(0, 24, 1 / 6)
    way = np.column_stack([np.interp(at, hours, axis) for axis in stops.T])
    return way + rng.normal(scale=60, size=way.shape)


def before_and_after() -> None:
    """Draw the commuter's points, one an hour, and the area that all points cover."""
    x = track()
    figure, axes = plt.subplots(2, 4, figsize=(9, 4.8), layout="constrained")
    rows = {"one point an hour": x[::6], "the hull of all points": x}
    for line, (name, points) in zip(axes, rows.items(), strict=True):
        bare(line[0], f"true: {name}", 6000)
        line[0].plot(*points.T, "-", color=_ORANGE, lw=0.6)
        line[0].plot(*points.T, ".", color=_ORANGE, ms=5)
        for axis, distance in zip(line[1:], (100, 500, 2000), strict=True):
            far = f"{distance // 1000} km" if distance >= 1000 else f"{distance} m"
            bare(axis, f"released, {far} hidden", 6000)
            axis.plot(*points.T, "-", color=_ORANGE, lw=0.4, alpha=0.5)
            if len(points) < len(x):
                axis.plot(*noisy(points, distance, 11).T, ".", color=_BLUE, ms=5)
            else:
                hull = (
                    gv.Locations(points, crs="metres", rng=np.random.default_rng(11)).hull(rho=hiding(distance)).value
                )
                axis.fill(*np.array(hull.exterior.coords).T, color=_BLUE, alpha=0.25)
    save(figure, DECIDE, "commuter")


def averaging() -> None:
    """Draw why several releases add up: their mean is nearer to the home."""
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
    home = np.zeros((1, 2))
    for axis, n in zip(axes, (1, 10, 100), strict=True):
        bare(axis, f"{n} release{'s' if n > 1 else ''}: {100 / np.sqrt(n):.0f} m hidden", 400)
        cloud = np.concatenate([noisy(home, 100, 50 + seed) for seed in range(n)])
        axis.plot(*cloud.T, ".", color=_BLUE, ms=4, alpha=0.5)
        axis.plot(*cloud.mean(axis=0), "x", color=_INK, ms=9, mew=2)
        axis.plot(*home.T, "s", color=_ORANGE, ms=6)
    save(figure, UNDERSTAND, "averaging")


def main() -> None:
    """Draw all pictures."""
    one_home()
    two_homes()
    curve()
    averaging()
    before_and_after()


if __name__ == "__main__":
    main()
