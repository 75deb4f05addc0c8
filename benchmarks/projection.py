"""Compare the tangent plane with PROJ's projections, forward and inverse, in one run on one core.

Run from the project's root: ``python -m benchmarks.projection``. Tasks run in turn; a ratio is that of the medians.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyproj

from benchmarks.exactness import times
from geoveil.geo.tangent import Tangent


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    lat, lon = 37.77, -122.42
    plane = Tangent(lat, lon)
    metres = np.random.default_rng(1).uniform(-30_000, 30_000, size=(arguments.points, 2))
    degrees = plane.inverse(metres)
    print("| PROJ's projection | there | back | both |\n|---|---|---|---|")
    for name, text in (("transverse Mercator", "tmerc"), ("orthographic", "ortho"), ("UTM", "utm +zone=10")):
        proj = pyproj.Transformer.from_crs(
            4326, f"+proj={text} +lat_0={lat} +lon_0={lon} +datum=WGS84", always_xy=True
        )
        flat = np.column_stack(proj.transform(*degrees.T))
        tasks = (
            lambda: plane.forward(degrees, 50_000),
            lambda: plane.inverse(metres),
            lambda proj=proj: np.column_stack(proj.transform(*degrees.T)),
            lambda proj=proj, flat=flat: np.column_stack(proj.transform(*flat.T, direction="INVERSE")),
        )
        there, back, their_there, their_back = times(*tasks, repeat=arguments.repeat)
        both = (their_there + their_back) / (there + back)
        print(f"| {name} | {their_there / there:.1f} | {their_back / back:.1f} | {both:.1f} |", flush=True)


if __name__ == "__main__":
    main()
