"""Compare error bounds with measured errors, for every question, on 20 000 real taxi points.

Run from the project's root: ``python -m benchmarks.bounds``. The table goes to standard output.
"""

from __future__ import annotations

import argparse
import sys

from tests.cabspotting import Floats, folder, names, synthetic, trajectory
from tests.measure import BETA, CASES, measure

N = 20_000


def tuples() -> list[Floats]:
    """Return the first 20 000 points of five taxis that have enough, or a synthetic trajectory."""
    if folder() is None:
        return [synthetic(N)]
    tracks = [trajectory(name) for name in names()]
    return [x[:N] for x in tracks if len(x) >= N][::9][:5]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=float, default=2, help="how many times the tests' releases are made")
    arguments = parser.parse_args()
    data = tuples()
    print(f"| question | error({BETA:g}) | / measured quantile | releases with a larger error | releases |")
    print("|---|---|---|---|---|")
    for name, question in CASES.items():
        print(name, file=sys.stderr, flush=True)
        runs = round(arguments.times * question.runs)
        measured = measure(question, data[:1] if question.exact else data, runs)
        share = measured.exceeded() / runs
        print(f"| {name} | {measured.bound:.0f} m | {measured.ratio:.3f} | {share:.2%} | {runs} |", flush=True)


if __name__ == "__main__":
    main()
