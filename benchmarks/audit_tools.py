"""Audit published rules side by side, count how often faults are found, and how often correct tools are accused.

`python benchmarks/audit_tools.py rules` prints the table of docs/decide/audited-rules.md; `power` and `alarms` print
those of benchmarks/README.md, from as many audits as a number says: `power 100`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import geoveil as gv
from geoveil.audit import Audit
from tests.audit import rules
from tests.audit.rules import Rule

AREA, NORTH = "37.77,-122.42,10km", "60.17,24.94,10km"
CANARIES = 2000


def audited(
    rule: Callable[..., object],
    seed: int,
    area: str = AREA,
    pings: int = 1,
    form: str = ".csv",
    canaries: int = CANARIES,
    notion: str = "CGP",
) -> Audit:
    """Return the audit of a rule that claims to hide 200 m, by ρ or by ε."""
    rng = np.random.default_rng([seed, 34])
    claim = {"epsilon": gv.GP.hiding(distance=rules.HIDE)} if notion == "GP" else {"hide": rules.HIDE}
    return gv.audit.tool(rule, **claim, area=area, canaries=canaries, pings=pings, form=form, rng=rng)


def own(seed: int, person: str = "person") -> Callable[[Path, Path], object]:
    """The `points` of geoveil."""

    def tool(source: Path, target: Path) -> None:
        rng = np.random.default_rng([seed, 35, len(target.stem)])
        gv.Locations(source, person=person, area=AREA, rng=rng).points(hide=rules.HIDE, keep=person, to=target)

    return tool


#: Rules as they are published: the rule of a generator, the area, the points of a person, and the notion of the claim.
PUBLISHED: dict[str, tuple[Callable[[np.random.Generator], Rule], str, int, str]] = {
    "uniform blur within 500 m": (rules.uniform_blur, AREA, 1, "CGP"),
    "degrees truncated to 2 decimals": (lambda rng: rules.truncated(2), AREA, 1, "CGP"),
    "geohash cells of 6 characters": (lambda rng: rules.geohash(6), AREA, 1, "CGP"),
    "H3 cells of resolution 8": (lambda rng: rules.hexagons(8), AREA, 1, "CGP"),
    "donut masking, 100 to 500 m": (rules.donut, AREA, 1, "CGP"),
    "planar Laplace noise in metres": (rules.planar_laplace, AREA, 1, "GP"),
    "planar Laplace noise in degrees, at 60° north": (rules.laplace_in_degrees, NORTH, 1, "GP"),
    "one offset for each phone, for all of its points": (rules.one_offset_each, AREA, 10, "CGP"),
    "an offset seeded by the place itself": (lambda rng: rules.seeded_by_place, AREA, 1, "CGP"),
    "an offset seeded by the person's name": (lambda rng: rules.seeded_by_person, AREA, 1, "CGP"),
    "a zone of 200 m centred on the place": (rules.centred_zone, AREA, 1, "CGP"),
    "new noise for each of 10 points": (rules.gaussian, AREA, 10, "CGP"),
    "the true point a quarter of the time": (rules.sometimes_true, AREA, 1, "CGP"),
    "k = 10: the cell, if it has 10 persons": (lambda rng: rules.redacted(10), AREA, 1, "CGP"),
}


def told(audit: Audit) -> str:
    """Return a row's cells: what is found."""
    times = audit.bound / float(audit.claim.budget)
    kind = gv.CGP(rho=audit.bound) if isinstance(audit.claim, gv.CGP) else gv.GP(epsilon=audit.bound)
    over = f"{times:.1f} times, {kind.hidden(chance=0.75):.0f} m" if any(each.found for each in audit.verdicts) else ""
    return f"{over} | {'; '.join(audit.faults)}"


def table_of_rules() -> None:
    """Print what an audit finds of each published rule, and of geoveil."""
    print("| rule | gives away at least, hides at most | faults by name |\n|---|---|---|")
    for number, (name, (rule, area, pings, notion)) in enumerate(PUBLISHED.items()):
        count = 10_000 if pings == 1 else 2_000
        audit = audited(rule(np.random.default_rng(number)), 7, area, pings, canaries=count, notion=notion)
        print(f"| {name} | {told(audit)} |", flush=True)
    for name, pings in (("geoveil `points`", 1), ("geoveil `points`, 10 of a person", 10)):
        count = 10_000 if pings == 1 else 2_000
        print(f"| {name} | {told(audited(own(1), 7, AREA, pings, canaries=count))} |", flush=True)
    for name, rule in (("`zones`: the disc", rules.own_zone), ("`heatmap`: its largest cell", rules.own_heat_map)):
        # A disc and a map for each person: fewer persons, so that it takes minutes.
        print(f"| geoveil {name} | {told(audited(rule(np.random.default_rng(3)), 7, canaries=800))} |", flush=True)


FAULTS: dict[str, tuple[Callable[[np.random.Generator], Rule], str]] = {
    "ρ four times the claimed one": (lambda rng: rules.gaussian(rng, 4), AREA),
    "a fixed seed": (lambda rng: rules.seeded(int(rng.integers(10**6))), AREA),
    "a seed of the person": (lambda rng: rules.seeded_by_person, AREA),
    "shared noise": (rules.shared, AREA),
    "a quarter exact": (rules.sometimes_true, AREA),
    "1% exact": (lambda rng: rules.sometimes_true(rng, 0.01), AREA),
    "input rounded to 2 decimals": (lambda rng: rules.rounded_first(rng, 2), AREA),
    "input rounded to 3 decimals": (lambda rng: rules.rounded_first(rng, 3), AREA),
    "an offset seeded by the truth": (lambda rng: rules.seeded_by_place, AREA),
    "degrees taken as metres, 60° north": (rules.in_degrees, NORTH),
}


def power(audits: int) -> None:
    """Print how often each fault is found."""
    print(f"| fault | found in {audits} audits | claim broken | named |\n|---|---|---|---|")
    for number, (name, (rule, area)) in enumerate(FAULTS.items()):
        found = [audited(rule(np.random.default_rng([number, seed])), seed, area) for seed in range(audits)]
        named = [each for audit in found for each in audit.faults]
        most = max({*named}, key=named.count, default="-")
        broken = sum(audit.refuted for audit in found)
        row = f"{sum(audit.found for audit in found)} | {broken} | {most}: {named.count(most)}"
        print(f"| {name} | {row} |", flush=True)


def alarms(audits: int) -> None:
    """Print how often tools that keep their claim are accused."""
    print("| tool | audits | accused |\n|---|---|---|")
    for name, rule in (("Gaussian noise", rules.gaussian), ("planar Laplace noise", rules.planar_laplace)):
        found = [audited(rule(np.random.default_rng([50, seed])), 1000 + seed) for seed in range(audits)]
        print(f"| {name} | {audits} | {sum(audit.found for audit in found)} |", flush=True)
    for form in (".csv", ".gpx", ".geojson", ".parquet"):
        person = "track_name" if form == ".gpx" else "person"
        count = max(1, audits // 4)
        found = [audited(own(seed, person), 2000 + seed, form=form) for seed in range(count)]
        print(f"| `points` as {form} | {count} | {sum(audit.found for audit in found)} |", flush=True)


if __name__ == "__main__":
    wanted, *rest = sys.argv[1:] or ["rules"]
    if wanted == "rules":
        table_of_rules()
    else:
        {"power": power, "alarms": alarms}[wanted](int(rest[0]) if rest else 100)
