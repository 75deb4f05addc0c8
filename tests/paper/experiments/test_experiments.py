"""Experiments: how taxis are cleaned, and that a run gives the same results however it came about."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from geoveil.cli.reproduction import experiments
from geoveil.errors import InvalidFile, InvalidParameter
from geoveil.geo.formats.fingerprints import digest
from geoveil.paper.experiments import plots, timing
from geoveil.paper.experiments.extension_cells import CompositionCell
from geoveil.paper.experiments.figure_definitions import ParameterRanges, select_figures
from geoveil.paper.experiments.procedures import AUTHORS, PAPER, Procedure
from geoveil.paper.experiments.runner import RunPlan, RunSettings, Task, run
from geoveil.paper.experiments.tables import clustered_error, summaries, write
from geoveil.paper.experiments.taxi_cells import HullCell, NearestCell, PointsCell
from geoveil.paper.experiments.taxis import Positions, load, plausible
from geoveil.privacy import CGP
from tests.cabspotting import Floats
from tests.systems import POSIX

DAY = 86_400


def made_up_track(seed: int, points: int) -> tuple[Floats, Floats, Positions]:
    """Latitudes, longitudes and times of a taxi, with places it cannot have reached, equal times, and silences."""
    rng = np.random.default_rng(seed)
    latitude, longitude = 0.002 * rng.normal(size=(2, points)).cumsum(axis=1) * 0.1 + np.array([[37.77], [-122.42]])
    astray = rng.random(points) < 0.05
    latitude[astray] += rng.normal(scale=0.3, size=astray.sum())
    seconds = 1_211_000_000 + rng.choice([0, 10, 60, 60, 60, 600], size=points).cumsum()
    seconds[points // 3 :] += 2 * DAY
    return latitude.round(5), longitude.round(5), seconds


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four made-up taxis in the published format, one of them too short to be used."""
    place = tmp_path_factory.mktemp("cabspotting")
    for name, points in (("abel", 8000), ("bert", 9000), ("carl", 9500), ("dora", 900)):
        rows = zip(*made_up_track(len(name) + points, points), strict=True)
        lines = [f"{lat} {lon} {i % 2} {when}\n" for i, (lat, lon, when) in enumerate(rows)]
        (place / f"new_{name}.txt").write_text("".join(reversed(lines)))
    (place / "new_none.txt").write_text("")
    return place


def cleaned_literally(places: Floats, seconds: Positions, fastest: float, procedure: Procedure) -> list[int]:
    """Point by point, as the rule is stated."""
    kept = [0]
    for i in range(1, len(places)):
        elapsed = procedure.elapsed(int(seconds[i] - seconds[kept[-1]]))
        if elapsed and math.dist(places[i], places[kept[-1]]) <= fastest * elapsed / 60:
            kept.append(i)
    return kept


@pytest.mark.parametrize("procedure", [AUTHORS, PAPER], ids=lambda procedure: procedure.name)
@pytest.mark.parametrize("fastest", [300.0, 1500.0, 3000.0])
def test_cleaning_follows_the_rule(procedure: Procedure, fastest: float) -> None:
    """Cleaning is what the rule says.

    Cleaning all gaps at once keeps what going from point to point keeps, and drops something.
    """
    for seed in range(5):
        latitude, longitude, seconds = made_up_track(seed, 3000)
        places = procedure.plane(latitude, longitude)
        kept = plausible(places, seconds, fastest, procedure)
        assert kept.tolist() == cleaned_literally(places, seconds, fastest, procedure)
        assert 100 < len(kept) < 3000


def test_implausible_ends_are_dropped() -> None:
    """What follows nothing plausible to the end is dropped, and one point is a trajectory."""
    places = np.array([[0.0, 0.0], [1e6, 0.0], [1e6, 1.0]])
    assert plausible(places, np.array([0, 60, 120]), 3000.0, PAPER).tolist() == [0]
    assert plausible(places[:1], np.array([0]), 3000.0, PAPER).tolist() == [0]


@pytest.mark.slow
def test_taxis_are_read_once(folder: Path, tmp_path: Path) -> None:
    """Cleaned taxis come back from the cache as they were; those too short to be asked about still say where."""
    found = load(folder, AUTHORS, tmp_path, "0" * 64)
    assert found.names == ["abel", "bert", "carl"]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".parquet", ".parquet"]
    again = load(tmp_path / "gone", AUTHORS, tmp_path, "0" * 64)
    assert all((found.tracks[name] == again.tracks[name]).all() for name in found.names)
    assert (found.squares == again.squares).all()
    assert len(np.unique(found.squares, axis=0)) == len(found.squares)
    assert (found.squares % 1 == 0.5).all()


def test_silence_ends_a_trajectory(folder: Path, tmp_path: Path) -> None:
    """Of a taxi that is silent for days the authors keep all, and the text's reading the longest stretch."""
    times = {procedure: load(folder, procedure, tmp_path, "0" * 64).times["carl"] for procedure in (AUTHORS, PAPER)}
    assert np.diff(times[AUTHORS]).max() > DAY >= np.diff(times[PAPER]).max()


def test_taxiless_folders_are_refused(tmp_path: Path) -> None:
    """The error says what was looked for."""
    with pytest.raises(InvalidFile, match="new_"):
        load(tmp_path, PAPER, tmp_path, "0" * 64)
    (tmp_path / "new_x.txt").write_text("a b c d\n")
    with pytest.raises(InvalidFile, match="latitude longitude occupied time"):
        load(tmp_path, PAPER, tmp_path, "0" * 64)


def test_text_metres_are_metres() -> None:
    """The authors' Mercator metres are 0.79 m at San Francisco; the text's plane has those of the ground."""
    from pyproj import Geod

    latitude, longitude = np.array([37.75, 37.80]), np.array([-122.45, -122.39])
    ground = Geod(ellps="WGS84").inv(longitude[0], latitude[0], longitude[1], latitude[1])[2]
    lengths = {procedure: math.dist(*procedure.plane(latitude, longitude)) for procedure in (AUTHORS, PAPER)}
    assert lengths[PAPER] == pytest.approx(ground, rel=1e-4)
    assert ground / lengths[AUTHORS] == pytest.approx(0.79, abs=0.005)


def test_samples_follow_the_conventions() -> None:
    """With replacement, duplicates merged, or without; shorter trajectories are taken as they are."""
    rng = np.random.default_rng(1)
    track = np.arange(400.0).reshape(-1, 2)
    names = [f"taxi {i}" for i in range(30)]
    assert len(np.unique(AUTHORS.sample(track, 150, rng), axis=0)) < 150
    assert len(np.unique(PAPER.sample(track, 150, rng), axis=0)) == 150
    assert all(procedure.sample(track, 200, rng) is track for procedure in (AUTHORS, PAPER))
    drawn = AUTHORS.choose(names, 25, rng)
    assert len(set(drawn)) == len(drawn) < 25 == len(set(PAPER.choose(names, 25, rng)))


def test_gp_follows_the_relation() -> None:
    """εΔ is 10 in both readings, and each ε is implied by ρ for δ = 1e-10 within that Δ."""
    assert AUTHORS.epsilon(5e-5) == pytest.approx(0.0722, abs=5e-5)
    for procedure, form in ((AUTHORS, "paper-s"), (PAPER, "paper")):
        epsilon = procedure.epsilon(5e-5)
        implied = CGP(rho=5e-5).as_gp(delta=1e-10, within=10 / epsilon, form=form)
        assert float(implied.epsilon) == pytest.approx(epsilon, rel=2e-3)


def test_text_probe_numbers() -> None:
    """The text has sixteen to 128 probes. The number of probes is rounded to the range of the paper's experiments."""
    x = np.random.default_rng(1).normal(scale=3000, size=(2000, 2))
    for rho, probes in ((1e-9, 16), (1e3, 128)):
        assert PAPER.hull(len(x), CGP(rho=rho)).optimal(float(np.abs(x).max())) == probes


def cells() -> list[HullCell | NearestCell | PointsCell | CompositionCell]:
    """Something of each kind that takes no time."""
    return [PointsCell(300, 1e-3), NearestCell(300, 1e-2, 5), HullCell(300, 1e-3), CompositionCell(10)]


def planned(folder: Path, out: Path, **settings: int) -> RunPlan:
    """A small plan."""
    out.mkdir(exist_ok=True)
    record = RunSettings(
        **{"seed": 5, "repetitions": 3, "trajectories": 2, **settings}, faithful=True, data=digest(folder)
    )
    record.save_or_check(out)
    return RunPlan(record, list(cells()), out, folder, out)


def finished(plan: RunPlan, workers: int = 1) -> bytes:
    """All results, as CSV."""
    run(plan, workers)
    write(plan, [], summaries(plan))
    return (plan.out / "results.csv").read_bytes()


class Interruption(Exception):
    """Stands for whatever ends a run."""


def stop_after(count: int, plan: RunPlan, task: Task) -> None:
    """Interrupt a run when the given number of tasks is done."""
    if sum(plan.part(each).exists() for each in plan.tasks()) >= count:
        raise Interruption


@pytest.mark.deep
@pytest.mark.slow
def test_interrupted_runs_agree(folder: Path, tmp_path: Path) -> None:
    """Whenever it was interrupted, and by whom it was finished, the results are the same bytes."""
    whole = finished(planned(folder, tmp_path / "whole"))
    assert whole.count(b"\n") > 100
    for count in (1, 4, 7):
        plan = planned(folder, tmp_path / f"after {count}")
        with pytest.raises(Interruption):
            run(plan, 1, partial(stop_after, count, plan))
        # What a crash may leave behind is not a result.
        (plan.part(plan.tasks()[-1]).parent).mkdir(parents=True, exist_ok=True)
        (plan.part(plan.tasks()[-1]).parent / ".002.parquet.99").write_bytes(b"half")
        assert finished(plan) == whole
    assert finished(planned(folder, tmp_path / "two"), workers=2) == whole
    assert finished(planned(folder, tmp_path / "other", seed=6)) != whole


def test_other_settings_are_refused(folder: Path, tmp_path: Path) -> None:
    """Results of different settings are never mixed; the error says which differ."""
    planned(folder, tmp_path)
    planned(folder, tmp_path)
    for setting in ("seed", "repetitions", "trajectories"):
        with pytest.raises(InvalidParameter, match=f"{setting} = 9.*choose another --out"):
            planned(folder, tmp_path, **{setting: 9})
    known = json.loads((tmp_path / "run.json").read_text())
    assert set(known["versions"]) == {"geoveil", "numpy", "pyproj", "python", "scipy", "shapely"}
    known["versions"]["numpy"] = "1.0"
    (tmp_path / "run.json").write_text(json.dumps(known))
    with pytest.raises(InvalidParameter, match="versions"):
        planned(folder, tmp_path)


def test_cells_have_own_names() -> None:
    """No two cells of all figures share a name, of which seeds and files are made."""
    every = {cell for figure in select_figures(["all"], ParameterRanges()) for cell in figure.cells}
    assert len({cell.name for cell in every}) == len(every) > 80
    assert PointsCell(300, 1.0000001e-3).name != PointsCell(300, 1e-3).name


@pytest.mark.parametrize("name", ["fig1", "fig2e", "fig", ""])
def test_unknown_figures_are_refused(name: str) -> None:
    """The error lists what there is."""
    with pytest.raises(InvalidParameter, match="fig10"):
        select_figures([name], ParameterRanges())


def test_panels_of_the_paper() -> None:
    """Figures 2 to 10 with as many panels as in the paper."""
    panels = {figure.name: len(figure.panels) for figure in select_figures(["figures"], ParameterRanges())}
    assert panels == dict(zip([f"fig{i}" for i in range(2, 11)], [4, 4, 4, 2, 2, 4, 4, 4, 2], strict=True))


@pytest.mark.deep
@pytest.mark.slow
def test_command_line(folder: Path, tmp_path: Path) -> None:
    """One command writes everything; a second one adds figures to the folder, or is refused with a clear error."""
    out = tmp_path / "out"
    common = ["--out", str(out), "--repetitions", "1", "--trajectories", "2", "--workers", "1"]
    real = [*common, "--data", str(folder), "--n", "300", "--n", "400", "--rho", "1e-3", "--rho", "1e-2"]
    runner = CliRunner()

    def told(*arguments: str) -> tuple[int, str]:
        result = runner.invoke(experiments, ["run", *arguments])
        return result.exit_code, f"{result.output}{result.exception}"

    assert told("epsilon-delta", "composition", *common)[0] == 0
    assert told("fig2c", "fig5a", "tightness", "smoothing", *real)[0] == 0
    drawn = {path.name for path in (out / "figures").iterdir()}
    assert {"fig2.png", "fig2.svg", "fig5.svg", "fig6.png", "tightness.png", "smoothing.svg"} <= drawn
    assert {"results.csv", "results.parquet", "summary.csv", "summary.md", "run.json"} <= {
        p.name for p in out.iterdir()
    }
    assert "fig2c, ρ = 5e-05: largest error, by n" in (out / "summary.md").read_text()
    code, output = told("fig2c", *real, "--seed", "7")
    assert code == 1
    assert "seed = 7: must be 2023" in output
    code, output = told("fig2c", *common)
    assert code == 1
    assert "--data" in output


def parts(out: Path) -> int:
    """How many tasks are done."""
    return len(list(out.glob("parts/*/*.parquet")))


def command_of(folder: Path, out: Path, repetitions: int, workers: int) -> list[str]:
    """A run of some seconds."""
    how = f"--repetitions {repetitions} --trajectories 3 --rho 1e-3 --rho 1e-2 --no-figures --workers {workers}"
    return [
        *(sys.executable, "-m", "geoveil", "experiments", "run", "fig2a", "fig5a", *how.split()),
        *("--data", str(folder), "--out", str(out)),
    ]


def begun(line: list[str]) -> subprocess.Popen[bytes]:
    """A run that Ctrl-C ends, also where these tests ignore it, as those do that were started in the background."""

    def interruptible() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return subprocess.Popen(line, stderr=subprocess.PIPE, preexec_fn=interruptible)


def finish(line: list[str]) -> None:
    """Run a command to its end, in this process."""
    result = CliRunner().invoke(experiments, line[line.index("run") :])
    assert result.exit_code == 0, result.output


@POSIX
@pytest.mark.deep
@pytest.mark.slow
def test_killed_runs_continue(folder: Path, tmp_path: Path) -> None:
    """A run that is stopped with Ctrl-C, or killed, ends with the results of one that is not."""
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    finish(command_of(folder, whole, 15, 1))
    for how in (signal.SIGINT, signal.SIGKILL):
        before = parts(stopped)
        running = begun(command_of(folder, stopped, 15, 2))
        while parts(stopped) <= before + 1 and running.poll() is None:
            time.sleep(0.01)
        os.kill(running.pid, how)
        _, told = running.communicate(timeout=60)
        assert running.returncode
        assert how == signal.SIGKILL or b"the same command goes on from here" in told
    assert 0 < parts(stopped) < 60
    finish(command_of(folder, stopped, 15, 1))
    assert (whole / "results.csv").read_bytes() == (stopped / "results.csv").read_bytes()


@POSIX
@pytest.mark.long
def test_often_killed_runs_continue(folder: Path, tmp_path: Path) -> None:
    """A run that is killed again and again goes on.

    At thirty random moments, from the first import to the last table.
    """
    rng = np.random.default_rng(2023)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    subprocess.run(command_of(folder, whole, 200, 1), check=True, capture_output=True)
    for _ in range(30):
        running = subprocess.Popen(command_of(folder, stopped, 200, 2), stderr=subprocess.DEVNULL)
        try:
            running.wait(timeout=float(rng.uniform(0.5, 6)))
        except subprocess.TimeoutExpired:
            os.kill(running.pid, signal.SIGKILL)
        running.wait(timeout=60)
    subprocess.run(command_of(folder, stopped, 200, 2), check=True, capture_output=True)
    for name in ("results.csv", "results.parquet", "summary.csv", "summary.md", "run.json"):
        assert (whole / name).read_bytes() == (stopped / name).read_bytes()


@pytest.mark.statistical
def test_cluster_standard_error() -> None:
    """Measurements on one trajectory are alike: the error is that of as many means as there are trajectories."""
    rng = np.random.default_rng(3)
    whose = np.repeat(np.arange(400), 25)
    errors, means = [], []
    for _ in range(200):
        values = rng.normal(size=400)[whose] + 0.5 * rng.normal(size=len(whose))
        errors.append(clustered_error(values, whose))
        means.append(values.mean())
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.2)
    naive = math.sqrt((1 + 0.25) / len(whose))
    assert np.mean(errors) > 3 * naive


@pytest.mark.slow
def test_every_question_is_timed(tmp_path: Path) -> None:
    """Each takes some time for each number of points, and is drawn."""
    sizes = (20, 1000)
    times = timing.seconds(1, sizes)
    assert {"points, GP", "nearest, k = 10, CGP", "paper's hull, CGP", "median, CGP", "first_within, CGP"} <= set(
        times
    )
    assert all(tuple(spent) == sizes and min(spent.values()) >= 0 for spent in times.values())
    plots.draw_times(times, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["time.png", "time.svg"]
