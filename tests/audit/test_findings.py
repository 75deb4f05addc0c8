"""Each fault is found by its name, and correct tools have none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import geoveil as gv
from geoveil.audit import Audit
from geoveil.audit.findings import Case, find
from geoveil.audit.outputs import about
from geoveil.audit.secret import Secret
from geoveil.geo.coordinate_systems import GEOGRAPHIC, system_of
from geoveil.geo.planes import Plane
from tests.audit import rules
from tests.audit.rules import Rule

AREA = "37.77,-122.42,10km"


def audited(rule: Rule, seed: int = 1, *, area: str = AREA, canaries: int = 1000, pings: int = 1) -> Audit:
    """The audit of a rule, with fixed coins."""
    rng = np.random.default_rng(seed)
    return gv.audit.tool(rule, hide=rules.HIDE, area=area, canaries=canaries, pings=pings, rng=rng)


def noise(seed: int = 7) -> np.random.Generator:
    """A generator for the noise of a rule."""
    return np.random.default_rng(seed)


FAULTS: dict[str, tuple[Rule, str]] = {
    "a quarter true": (rules.sometimes_true(noise()), "true coordinates in the output"),
    "truth in a column": (rules.with_truth_in(noise()), "true coordinates in the output"),
    "one offset": (rules.shared(noise()), "the same noise for several persons"),
    "a fixed seed": (rules.seeded(), "the same noise in a second run"),
    "a seed of the person": (rules.seeded_by_person, "the same noise in a second run"),
    "a seed of the place": (rules.seeded_by_place, "offsets that follow from the place"),
    "neighbours alike": (rules.neighbours_alike(noise()), "noise of persons that depends on each other"),
    "sorted": (rules.sorted_rows(noise()), "order of rows"),
    "dropped": (rules.dropped(noise()), "dropped rows"),
    "a street": (rules.with_zone(noise()), "other columns"),
    "rounded to 2": (rules.rounded_first(noise(), 2), "grid edges"),
    "truncated": (rules.truncated(3), "grid edges"),
    "geohash": (rules.geohash(), "grid edges"),
    "last digits": (rules.coarse_noise(noise()), "last digits"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named(name: str) -> None:
    """A tool with a fault is found, and the fault has its name."""
    rule, fault = FAULTS[name]
    found = audited(rule, canaries=2000)
    assert found.found
    assert fault in found.faults, [(each.name, each.chance, each.told) for each in found.findings]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "planar_laplace"])
def test_correct_tools_pass(name: str) -> None:
    """Noise that keeps its claim has no fault, with one point or several that share their noise."""
    assert not audited(getattr(rules, name)(noise())).found
    assert not audited(rules.one_offset_each(noise()), pings=4).found


@pytest.mark.slow
def test_noisy_cells_pass() -> None:
    """Points that are rounded after noise was added are not accused of rounding first, nor of following the place."""
    noisy = rules.gaussian(noise())
    for coarse in (rules.truncated(2), rules.geohash(5), rules.truncated(5)):
        found = audited(lambda rows, coarse=coarse: coarse(noisy(rows)), seed=3)  # type: ignore[misc]
        assert not found.found, found.verdict()


@pytest.mark.slow
def test_averages_are_noticed() -> None:
    """Noise for each point averages out over the points of a person; one offset for all of them does not."""
    fault = "noise that averages out over a person's points"
    assert fault in audited(rules.gaussian(noise()), pings=8, canaries=600).faults
    assert fault not in audited(rules.one_offset_each(noise()), pings=8, canaries=600).faults


@pytest.mark.slow
def test_degrees_are_noticed() -> None:
    """At 60 degrees north, degrees taken as metres are found and named."""
    found = audited(rules.in_degrees(noise()), area="60.17,24.94,10km", canaries=2000)
    assert "degrees taken as metres" in found.faults
    assert "60° of latitude" in found.verdict()


@pytest.mark.slow
def test_metadata_is_searched(tmp_path: Path) -> None:
    """True bounds in the header of a GPX file, and true places in a comment or beside the file, are found."""
    made = gv.audit.make(
        tmp_path / "canaries.gpx", secret=tmp_path / "audit.json", hide=200, area=AREA, rng=np.random.default_rng(2)
    )[0]
    at = re.compile('lat="([^"]+)" lon="([^"]+)"')
    rows = np.array(at.findall(made.read_text()), dtype=float)
    noisy = iter(rows + np.random.default_rng(3).normal(scale=0.003, size=rows.shape))
    text = at.sub(lambda _: 'lat="{}" lon="{}"'.format(*next(noisy)), made.read_text())
    folder = tmp_path / "out"
    folder.mkdir()
    released = folder / "released.gpx"
    fault = "true coordinates in the output"

    def found() -> tuple[str, ...]:
        return gv.audit.read(released, secret=tmp_path / "audit.json").faults

    released.write_text(text)
    assert fault not in found()
    (south, west), (north, east) = rows.min(axis=0), rows.max(axis=0)
    bounds = f'<bounds minlat="{south}" minlon="{west}" maxlat="{north}" maxlon="{east}"/>'
    released.write_text(text.replace("<trk>", f"<metadata>{bounds}</metadata><trk>", 1))
    assert fault in found()
    released.write_text(text)
    (folder / "released.log").write_text("\n".join(f"moved {y}, {x}" for y, x in rows[:300]))
    assert fault in found()


@pytest.mark.parametrize("name", ["a fixed seed", "a seed of the person", "neighbours alike"])
def test_assumptions_are_no_claim(name: str) -> None:
    """Noise that repeats, or that neighbours share, is found and named, but breaks no claim about one person's run."""
    rule, fault = FAULTS[name]
    found = audited(rule, canaries=2000)
    assert (found.found, found.refuted, found.faults) == (True, False, (fault,))
    assert "does not keep its claim" not in found.verdict()
    assert [row[1] for row in found.table()[1] if row[0] == fault] == ["NOT AS ASSUMED"]
    tests = {str(each["fault"]): each for each in found.data()["tests"]}  # type: ignore[attr-defined]
    assert (tests[fault]["found"], tests[fault]["breaks_the_claim"]) == (True, False)


def test_shared_noise_breaks_claims() -> None:
    """One offset for all breaks the claim whatever the dependence between persons, and the verdict says so."""
    found = audited(rules.shared(noise()), canaries=2000)
    assert found.refuted
    assert "the same noise for several persons" in found.faults
    assert not next(each for each in found.findings if each.name == "the same noise for several persons").independent


def test_dependence_spoils_bounds(tmp_path: Path) -> None:
    """Where noise is seen to depend on others', a bound that assumes independence does not refute the claim."""
    found = audited(lambda rows: neighbours(rows, noise()), canaries=2000)
    assert any(verdict.found for verdict in found.verdicts)
    assert (found.found, found.refuted) == (True, False)
    assert "One file cannot show" in found.verdict()
    assert "--runs 20" in found.following()


def neighbours(rows: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Rows with too little noise, half of which is that of the row before."""
    spread = rng.normal(scale=rules.SCALE / 3, size=(len(rows) + 1, 2))
    return rules.moved(rows, spread[1:] + spread[:-1])


def case_of(folder: Path, keep: Callable[[Case], NDArray[np.bool_]], pings: int = 1) -> Case:
    """Gaussian noise that keeps the claim, released for those alone whom a rule on released points keeps."""
    secret = folder / "audit.json"
    [made] = gv.audit.make(
        folder / "canaries.csv", secret=secret, hide=200, area=AREA, pings=pings, rng=np.random.default_rng(4)
    )
    rows = rules.gaussian(noise(), 1 / pings)(pd.read_csv(made))
    rows.to_csv(folder / "released.csv", index=False)
    known = Secret.read(secret)
    plane = Plane(system_of("crs", GEOGRAPHIC), known.area)
    whole = Case(known, [about(folder / "released.csv", known, plane)], plane, known.claim)
    labels = np.array(whole.output.made.persons)[keep(whole)]
    rows[rows.person.isin(labels)].to_csv(folder / "released.csv", index=False)
    return Case(known, [about(folder / "released.csv", known, plane)], plane, known.claim)


def test_dropping_clear_points_passes(tmp_path: Path) -> None:
    """A tool that looks at the mean of a person's noisy points alone, and releases the clear ones, is not accused."""

    def clear(case: Case) -> NDArray[np.bool_]:
        way = case.ends[:, 1] - case.ends[:, 0]
        along = ((case.output.means() - case.ends.mean(axis=1)) * way).sum(axis=1) / case.apart**2
        return np.asarray(np.abs(along) > 0.8)

    case = case_of(tmp_path, clear, pings=2)
    assert (case.shown >= 0).mean() < 0.7
    assert not [each.name for each in find(case, 0.005) if each.found]


def test_missing_points_are_misses(tmp_path: Path) -> None:
    """Of all pairs of places, one canary counts in tests of digits, with a released point or without."""

    def by_digits(case: Case) -> NDArray[np.bool_]:
        rest = (case.output.degrees - case.degrees[case.output.person]) * 1000
        near = np.zeros(len(case.side), dtype=bool)
        near[case.output.person] = (np.abs(rest - np.round(rest)) < 0.1).all(axis=1)
        return near

    case = case_of(tmp_path, by_digits)
    assert 0 < (case.shown >= 0).mean() < 0.1
    assert len(case.one_each) == len(np.unique(case.sites.site[case.paired]))
    assert not [each.name for each in find(case, 0.005) if each.found]


#: What an audit of 2,000 canaries has to find in 99 of 100 audits: the rule of a generator, and the area.
BARS: dict[str, tuple[Callable[[np.random.Generator], Rule], str]] = {
    "four times": (lambda rng: rules.gaussian(rng, 4), AREA),
    "a fixed seed": (lambda rng: rules.seeded(int(rng.integers(10**6))), AREA),
    "shared": (rules.shared, AREA),
    "a quarter true": (rules.sometimes_true, AREA),
    "rounded": (lambda rng: rules.rounded_first(rng, 2), AREA),
    "a seed of the place": (lambda rng: rules.seeded_by_place, AREA),
    "degrees": (rules.in_degrees, "60.17,24.94,10km"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", BARS)
def test_power_is_as_stated(name: str) -> None:
    """Each of these faults is found in at least 99 of 100 audits."""
    rule, area = BARS[name]
    found = [audited(rule(noise(seed)), seed, area=area, canaries=2000).found for seed in range(100)]
    assert sum(found) >= 99


@pytest.mark.long
@pytest.mark.parametrize("name", ["gaussian", "planar_laplace"])
def test_alarms_are_rare(name: str) -> None:
    """Of 100 audits of noise that keeps its claim, at most as many accuse it as 1% explains (with 10⁻⁵)."""
    found = [audited(getattr(rules, name)(noise(seed)), 100 + seed, canaries=2000).found for seed in range(100)]
    assert sum(found) <= 8


def by_day(rng: np.random.Generator) -> Rule:
    """What geoveil releases of rows of which any day of a person is protected."""

    def rule(rows: pd.DataFrame) -> pd.DataFrame:
        own = gv.Locations(rows, person="person", times="time", area=AREA, protect="1 day", rng=rng)
        found = own.points(hide=rules.HIDE, keep="person").to_frame()
        return pd.DataFrame({"person": found["person"], "longitude": found.geometry.x, "latitude": found.geometry.y})

    return rule


@pytest.mark.long
@pytest.mark.parametrize(
    ("rule", "pings"), [(rules.own_zone(noise()), 1), (by_day(noise()), 3)], ids=["zones", "days"]
)
def test_own_paths_pass(rule: Rule, pings: int) -> None:
    """The discs around hidden places, and points of which a day is protected, keep what they claim."""
    found = audited(rule, canaries=400, pings=pings)
    assert found.persons == 400
    assert not found.found, found.verdict()
