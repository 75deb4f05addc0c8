"""How often audits accuse correct tools, how often they find wrong ones, and how much of the true budget they show.

    python -m benchmarks.audit            all tables
    python -m benchmarks.audit sound      only one: sound, bounds, power

Prints tables. Noise is seeded: the figures can be had again.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import geoveil as gv
from geoveil.audit import Verdict, judge
from tests.audit import tools
from tests.audit.tools import RHO, Tool

#: The claim of Gaussian noise, and that of planar Laplace noise.
CLAIM, EPSILON = gv.CGP(rho=RHO), gv.GP(epsilon=math.sqrt(4 * RHO))

#: The distances of canaries in multiples of 1/√(2ρ), for any CGP and for Gaussian-like claims.
FAR, FAR_GAUSSIAN = (1.8,), (3.0,)

#: A line of a table: its name, the tool, the claim, and how it is audited and what the canaries are.
Case = tuple[str, Tool, Any, dict[str, Any], dict[str, Any]]

SOUND: list[Case] = [
    ("Gaussian noise of the tests, any CGP", tools.gaussian, CLAIM, {}, {"far": (1.5, 2.0)}),
    ("Gaussian noise of the tests, Gaussian-like", tools.gaussian, CLAIM, {"gaussian": True}, {"far": (1.5, 3.0)}),
    ("planar Laplace of the tests, ε", tools.planar_laplace, EPSILON, {}, {"far": (1.5, 3.0)}),
    ("planar Laplace of the tests, CGP", tools.planar_laplace, CLAIM, {}, {"far": (0.5, 1.0)}),
    ("planar Laplace of the tests, (ε, δ)", tools.planar_laplace, gv.GP(epsilon=EPSILON.epsilon, delta=1e-6), {}, {}),
    ("`points(rho=)`, any CGP", partial(tools.own_points, rho=RHO), CLAIM, {}, {"far": (1.5, 2.0)}),
    ("`points(rho=)`, Gaussian-like", partial(tools.own_points, rho=RHO), CLAIM, {"gaussian": True}, {}),
    ("`points(epsilon=)`, ε", partial(tools.own_points, epsilon=EPSILON.epsilon), EPSILON, {}, {}),
    ("one draw for all, 25 runs of 80, any CGP", tools.shared_noise, CLAIM, {"independent": False}, {"runs": 25}),
    (
        "one draw for all, 25 runs of 80, Gaussian-like",
        tools.shared_noise,
        CLAIM,
        {"independent": False, "gaussian": True},
        {"runs": 25},
    ),
]

WRONG: list[Case] = [
    ("four times ρ, any CGP", partial(tools.gaussian, rho=4 * RHO), CLAIM, {}, {"far": (1.0, 1.5)}),
    ("four times ρ, Gaussian-like", partial(tools.gaussian, rho=4 * RHO), CLAIM, {"gaussian": True}, {}),
    ("twice ε", partial(tools.planar_laplace, epsilon=2 * float(EPSILON.epsilon)), EPSILON, {}, {}),
    ("uniform disc of 150 m", tools.uniform_disc, CLAIM, {}, {}),
    ("the true point in one of 20 outputs", tools.truth_sometimes, CLAIM, {}, {"far": (0.25, 1.0)}),
    ("four times ρ, 25 runs of 80, any dependence", partial(tools.gaussian, rho=4 * RHO), CLAIM,
     {"independent": False}, {"runs": 25}),
]  # fmt: skip


def audits(case: Case, count: int, first: int, n: int = 2000) -> list[Verdict]:
    """Return many audits of one tool, each with new canaries."""
    name, tool, claim, how, given = case
    found = []
    for i in range(count):
        found.append(judge(tools.release(tool, first + i, n=n, **given), claim, **how))
        print(f"\r{name}: {i + 1}/{count}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return found


def sound() -> None:
    """Print how often correct tools are accused: 1,000 audits at a level of 1%."""
    print("\n| correct tool, claim | audits | accused | largest bound over the claim |\n|---|---|---|---|")
    accused = total = 0
    for case in SOUND:
        verdicts = audits(case, 100, 1000)
        wrong = sum(verdict.found for verdict in verdicts)
        largest = max(verdict.bound / verdict.claimed for verdict in verdicts)
        print(f"| {case[0]} | {len(verdicts)} | {wrong} | {largest:.2f} |", flush=True)
        accused, total = accused + wrong, total + len(verdicts)
    print(f"| together | {total:,} | {accused} | |")


def power() -> None:
    """Print how often wrong tools are found."""
    print("\n| wrong tool, claim | audits | found | median bound over the claim |\n|---|---|---|---|")
    for case in WRONG:
        verdicts = audits(case, 100, 5000)
        found = sum(verdict.found for verdict in verdicts)
        middle = float(np.median([verdict.bound / verdict.claimed for verdict in verdicts]))
        print(f"| {case[0]} | {len(verdicts)} | {found} | {middle:.2f} |", flush=True)


def bounds() -> None:
    """Print how much of the true budget the bound shows."""
    print(
        "\n| tool, claim | canaries | audits | bound over the truth: mean | median | 5% |\n|---|---|---|---|---|---|"
    )
    cases: list[Case] = [
        ("Gaussian, any CGP", tools.gaussian, CLAIM, {}, {"far": FAR}),
        ("Gaussian, Gaussian-like", tools.gaussian, CLAIM, {"gaussian": True}, {"far": FAR_GAUSSIAN}),
        ("planar Laplace, ε", tools.planar_laplace, EPSILON, {}, {"far": FAR_GAUSSIAN}),
    ]
    for case in cases:
        for n, count in ((2000, 100), (50_000, 10)):
            shares = [verdict.bound / verdict.claimed for verdict in audits(case, count, 9000, n)]
            low, middle = np.quantile(shares, [0.05, 0.5])
            row = f"{np.mean(shares):.3f} | {middle:.3f} | {low:.3f}"
            print(f"| {case[0]} | {n:,} | {count} | {row} |", flush=True)


TABLES: dict[str, Callable[[], None]] = {"sound": sound, "bounds": bounds, "power": power}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or list(TABLES):
        TABLES[wanted]()
