"""Reading what a tool released: which rows are whose, what is said, and how it is saved."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geoveil as gv
from geoveil.audit.order import order_seen
from geoveil.errors import InvalidData, InvalidFile, InvalidParameter
from geoveil.text.words import metres
from tests.audit import rules

AREA = "37.77,-122.42,10km"


def made(folder: Path, **how: Any) -> pd.DataFrame:
    """The rows of a file of canaries; the secret is audit.json beside it."""
    how = {"hide": 200, "area": AREA, "canaries": 600, "rng": np.random.default_rng(1), **how}
    gv.audit.make(folder / "canaries.csv", secret=folder / "audit.json", **how)
    return pd.read_csv(folder / "canaries.csv")


def read(folder: Path, rows: pd.DataFrame, **how: Any) -> gv.audit.Audit:
    """The audit of rows that a tool released."""
    rows.to_csv(folder / "released.csv", index=False)
    return gv.audit.read(folder / "released.csv", secret=folder / "audit.json", **how)


def noisy(rows: pd.DataFrame, times: float = 1.0) -> pd.DataFrame:
    """The rows with noise of so many times the claimed budget."""
    return rules.gaussian(np.random.default_rng(3), times)(rows)


def test_weak_tools_are_found(tmp_path: Path) -> None:
    """The sentence says how much more is given away, how much is hidden really, and where it is worst."""
    found = read(tmp_path, noisy(made(tmp_path, canaries=2000), 9))
    assert found.found
    assert 1 < found.bound / float(found.claim.budget) < 9
    for text in ("does not keep its claim", "99% confidence", "It hides at most", "not 200 m", "does not depend on"):
        assert text in found.verdict(), text
    assert "times the claimed budget" in found.table()[1][0][2]
    assert "would be at most 1%" in found.assumptions()


def test_nothing_is_no_proof(tmp_path: Path) -> None:
    """Of a tool that keeps its claim nothing is found, and it is said that this proves nothing."""
    found = read(tmp_path, noisy(made(tmp_path)))
    assert (found.found, found.faults) == (False, ())
    assert "no proof" in found.verdict()
    assert "9 times the claimed budget is caught" in found.assumptions()
    assert "accus" not in found.assumptions()
    assert "Whether a second run repeats its noise was not tested" in found.assumptions()


def test_another_claim_is_judged(tmp_path: Path) -> None:
    """The claim may be given when reading: what keeps the claim of 200 m breaks that of 2 km."""
    rows = noisy(made(tmp_path, canaries=2000))
    assert not read(tmp_path, rows).found
    assert read(tmp_path, rows, hide=2000).found
    assert not read(tmp_path, rows, epsilon=0.1).found


def test_rows_are_matched_honestly(tmp_path: Path) -> None:
    """Labels are found in any column and order, also as digests; without labels rows are matched by order, or not."""
    rows = noisy(made(tmp_path))
    mixed = rows.sample(frac=0.9, random_state=1).rename(columns={"person": "subject"})
    found = read(tmp_path, mixed)
    assert found.persons == 540
    assert any("by the column subject" in note for note in found.notes)
    assert any("60 of 600 persons have no released point" in note for note in found.notes)
    hashed = rows.assign(person=[hashlib.sha256(label.encode()).hexdigest() for label in rows.person])
    found = read(tmp_path, hashed)
    assert found.persons == 600
    assert any("that anybody can compute" in note for note in found.notes)
    found = read(tmp_path, rows.assign(person=np.arange(600)))
    assert found.persons == 600
    assert any("labels were changed" in note for note in found.notes)
    with pytest.raises(InvalidFile, match="labels of canaries"):
        read(tmp_path, rows.assign(person=np.arange(600)).iloc[:590])


def test_wrong_order_is_refused(tmp_path: Path) -> None:
    """Rows without labels are matched by their order only if they are seen to be in that order."""
    rows = made(tmp_path, canaries=400)
    other = tmp_path / "other"
    other.mkdir()
    made(other, canaries=400, rng=np.random.default_rng(2))
    with pytest.raises(InvalidFile, match="Nothing could be tested"):
        gv.audit.read(tmp_path / "canaries.csv", secret=other / "audit.json")
    slight = rules.moved(rows, np.random.default_rng(3).normal(scale=20, size=(400, 2))).assign(person=np.arange(400))
    assert read(tmp_path, slight).refuted
    rng = np.random.default_rng(4)
    half = rng.permutation(400) < 200
    order = np.arange(400)
    order[half] = rng.permutation(order[half])
    for mixed in (slight.sample(frac=1, random_state=1), slight.sort_values("latitude"), slight.iloc[order]):
        with pytest.raises(InvalidFile, match=r"do not belong to the persons in this order\b"):
            read(tmp_path, mixed)


def test_noise_hides_order(tmp_path: Path) -> None:
    """Where the noise is too large to see whether rows are in order, that is said."""
    rows = made(tmp_path, canaries=600).assign(person=np.arange(600))
    rng = np.random.default_rng(4)
    large = read(tmp_path, rules.moved(rows, rng.normal(scale=5000, size=(600, 2))))
    assert "is caught" not in large.assumptions()
    assert any("cannot be told whether all rows are in order" in note for note in large.notes)
    with pytest.raises(InvalidFile, match="too large to tell"):
        read(tmp_path, rules.moved(rows, rng.normal(scale=100_000, size=(600, 2))))


def test_order_is_seen() -> None:
    """Useful noise passes with a wide margin, whatever its tails; rows in any other order never pass."""
    rng = np.random.default_rng(1)
    angle, reach = rng.uniform(0, 2 * np.pi, 300), 10_000 * np.sqrt(rng.random(300))
    places = reach[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    few = places[rng.integers(300, size=100)]
    for scale in (0.0, 20.0, 300.0, 1000.0):
        for noise in (rng.normal(size=few.shape), np.clip(rng.standard_cauchy(few.shape), -1e4, 1e4) / 4):
            released = few + scale * noise
            assert order_seen(released, few) == "yes"
            assert order_seen(rng.permutation(released), few) in ("no", "unknown")


def test_crowded_rounding_is_seen(tmp_path: Path) -> None:
    """Rounded rows of persons who are near each other are in order, though they are near the places of others."""
    own = pd.DataFrame({"person": range(100), "latitude": 37.772, "longitude": np.linspace(-122.421, -122.419, 100)})
    own.to_csv(tmp_path / "own.csv", index=False)
    rows = made(tmp_path, among=tmp_path / "own.csv")
    found = read(tmp_path, rules.truncated(2)(rows).assign(person=np.arange(len(rows)) + 10**6))
    assert found.refuted


def test_unusable_rows_are_named(tmp_path: Path) -> None:
    """Few persons, no positions and exchanged coordinates are each called what they are."""
    rows = made(tmp_path)
    exchanged = rows.rename(columns={"latitude": "longitude", "longitude": "latitude"})
    for wrong, said in (
        (rows.iloc[:5], "5 of 600 persons in the column person"),
        (rows.assign(latitude=np.nan, longitude=np.nan), "none of 600 rows has a position"),
        (exchanged, "look swapped"),
    ):
        with pytest.raises(InvalidFile, match=said):
            read(tmp_path, wrong)


def test_both_orders_are_checked(tmp_path: Path) -> None:
    """Coordinates that are degrees either way are recognised as exchanged too."""
    rows = made(tmp_path, area="47.37,8.54,10km")
    with pytest.raises(InvalidFile, match="look swapped"):
        read(tmp_path, rows.rename(columns={"latitude": "longitude", "longitude": "latitude"}))


def test_arguments_are_named(tmp_path: Path) -> None:
    """What is no path, no secret and no tool is refused by the name of the argument."""
    rows = made(tmp_path)
    for wrong in (rows, [], [rows], 5):
        with pytest.raises(InvalidParameter, match="released"):
            gv.audit.read(wrong, secret=tmp_path / "audit.json")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="each file once"):
        gv.audit.read([tmp_path / "canaries.csv"] * 2, secret=tmp_path / "audit.json")
    how: dict[str, Any] = {"hide": 200, "area": AREA, "canaries": 240}
    for run in (
        5,
        lambda rows: None,
        lambda rows: rows.to_numpy(),
        lambda rows: rows[:0],
        lambda source, target: None,
    ):
        with (
            pytest.raises(InvalidData, match="run") if callable(run) else pytest.raises(InvalidParameter, match="run")
        ):
            gv.audit.tool(run, **how)  # type: ignore[arg-type]
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(InvalidFile, match="another file"):
        gv.audit.read(tmp_path / "canaries.csv", secret=tmp_path / "other.json")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_open_secrets_are_named(tmp_path: Path) -> None:
    """Whoever can read the secret knows where the canaries are; the remedy ends the warning."""
    made(tmp_path)
    (tmp_path / "audit.json").chmod(0o644)
    with pytest.warns(gv.errors.GeoveilWarning, match="chmod 600"):
        gv.audit.read(tmp_path / "canaries.csv", secret=tmp_path / "audit.json")
    (tmp_path / "audit.json").chmod(0o600)
    gv.audit.read(tmp_path / "canaries.csv", secret=tmp_path / "audit.json")


def test_saved_outcomes_agree(tmp_path: Path) -> None:
    """The page, the picture and the numbers say the same; nothing is loaded by the page."""
    found = read(tmp_path, rules.truncated(2)(made(tmp_path)))
    for name in ("audit.html", "audit.png", "audit.svg", "numbers.json"):
        found.save(tmp_path / name)
    page = (tmp_path / "audit.html").read_text()
    assert "does not keep its claim" in page
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    told = json.loads((tmp_path / "numbers.json").read_text())
    assert told["found"] is True
    assert told["verdict"] == found.verdict()
    assert "grid edges" in [each["fault"] for each in told["tests"] if each["found"]]
    assert found.verdict()[:40] in repr(found)
    assert "<svg" in found._repr_html_()
    for part in (found.following(), "released.csv, audited on", gv.__version__):
        assert part in page, part


def test_clearest_distance_agrees(tmp_path: Path) -> None:
    """The distance that the verdict names is a row of the table, and marked in the picture."""
    found = read(tmp_path, noisy(made(tmp_path, canaries=2000), 9))
    distance = found.worst_distance()
    assert distance is not None
    assert f"places {metres(distance)} apart" in found.verdict()
    assert [f"places {metres(distance)} apart", "MORE THAN CLAIMED"] in [row[:2] for row in found.table()[1]]
    assert f"{metres(distance)} (clearest)" in found._repr_html_()


def test_guesses_are_counted(tmp_path: Path) -> None:
    """The picture counts right guesses at each distance beside what the claim allows."""
    rows = made(tmp_path)
    copied = {round(each.distance): each for each in read(tmp_path, rows).guesses}
    assert len(copied) == 4
    assert all(each.right == 1.0 for each in copied.values())
    honest = read(tmp_path, noisy(rows)).guesses
    assert all(each.low < each.allowed for each in honest)


@pytest.mark.long
def test_dependent_runs_hold(tmp_path: Path) -> None:
    """With many files, bounds also hold whatever the dependence between persons: each is one trial."""
    files = gv.audit.make(
        tmp_path / "made",
        secret=tmp_path / "audit.json",
        hide=200,
        area=AREA,
        canaries=100,
        runs=64,
        rng=np.random.default_rng(1),
    )
    out = tmp_path / "out"
    out.mkdir()
    rule = rules.gaussian(np.random.default_rng(3), 100)
    for path in files:
        rule(pd.read_csv(path)).to_csv(out / path.name, index=False)
    found = gv.audit.read(out, secret=tmp_path / "audit.json")
    assert [verdict.independent for verdict in found.verdicts] == [True, False]
    assert [verdict.found for verdict in found.verdicts] == [True, True]
    assert "each run is one trial" in found.assumptions()
    assert "does not depend on that of others" in found.assumptions()
    assert "does not depend on that of others" in found.verdict()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["canaries.csv", "canaries.gpx", "canaries.geojson", "canaries.parquet"])
def test_own_points_pass(name: str, tmp_path: Path) -> None:
    """Nothing is found in what geoveil itself releases, with one point or several of a person."""
    for pings in (1, 3):
        [path] = gv.audit.make(
            tmp_path / name,
            secret=tmp_path / "audit.json",
            hide=200,
            area=AREA,
            canaries=400,
            pings=pings,
            overwrite=True,
            rng=np.random.default_rng(pings),
        )
        person = "track_name" if name.endswith(".gpx") else "person"
        own = gv.Locations(path, person=person, area=AREA, overwrite=True, rng=np.random.default_rng(9))
        own.points(hide=200, keep=person, to=tmp_path / f"released{path.suffix}")
        found = gv.audit.read(tmp_path / f"released{path.suffix}", secret=tmp_path / "audit.json")
        assert found.persons == 400
        assert not found.found, found.verdict()
