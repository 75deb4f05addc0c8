"""What the studio runs, the command that it shows and the Python that it shows give the same guarantee."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import geopandas
import pandas as pd
import pytest
import shapely

import geoveil as gv
from geoveil.errors import IncompatibleGuarantees
from geoveil.geo.formats.atomic import certificate_path
from geoveil.report.formatting import WARNING
from geoveil.requests.budgets import Budget
from geoveil.requests.file_request import TRUE_REPORT
from geoveil.requests.opened_data import OpenedData
from geoveil.studio.choices import Choices, StudioRequest, request_of
from geoveil.studio.pages import _foreseen

pytestmark = pytest.mark.slow

#: Each question with its options, and with what else is decided about it.
ASKED: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "points": ("points", {}, {"keep": ("address",)}),
    "points of days, thinned": ("points", {"thin": "10 minutes"}, {"unit": "1 day", "pseudonyms": True}),
    "points, smoothed": ("points", {"motion": "car"}, {"unit": "1 hour", "where": "user != 'u0'"}),
    "points under ε": ("points", {}, {"unit": "point", "budget": Budget("epsilon", "0.01")}),
    "heat map": ("heatmap", {"cell": "10 km"}, {}),
    "heat map by hour": ("heatmap", {"cell": "20km", "every": "hour of day"}, {"unit": "1 day"}),
    "counts": ("counts", {"name": "name"}, {"budget": Budget("rho", "1e-6")}),
    "flows": ("flows", {"cell": "30km", "trip": "user"}, {}),
    "hull": ("hull", {}, {}),
    "hull of one": ("hull", {}, {"persons": "", "outside": "clamp"}),
    "nearest": ("nearest", {"at": "37.795, -122.394", "k": "2", "locations": "50%"}, {}),
    "summary": ("summary", {}, {"missing": "drop"}),
}


@pytest.fixture
def regions(tmp_path: Path) -> Path:
    """Two public regions."""
    shapes = [shapely.box(-122.6, 37.6, -122.45, 37.9), shapely.box(-122.45, 37.6, -122.3, 37.9)]
    path = tmp_path / "halves.geojson"
    geopandas.GeoDataFrame({"name": ["west", "east"]}, geometry=shapes, crs=4326).to_file(path)
    return path


@pytest.mark.parametrize("name", ASKED)
def test_command_and_code_agree(name: str, run: Any, tmp_path: Path, regions: Path) -> None:
    """The command and the code do the same.

    The command shown runs, the code shown runs, and all three releases verify and have one guarantee.
    """
    question, options, more = ASKED[name]
    path = tmp_path / "trips.csv"
    if question == "summary":
        rows = pd.read_csv(path)
        rows.loc[3, "latitude"] = None
        rows.to_csv(path, index=False)
    choices = Choices(persons="user", area="San Francisco", unit="all", planned=1, question=question)
    choices.budget, choices.options = Budget("hide", "500"), options
    for key, value in more.items():
        setattr(choices, key, value)
    data = OpenedData.open(path, path.name, choices.settings(), lambda share: None)
    request = request_of(choices, data, regions)
    request.check()
    folder = tmp_path / "studio"
    folder.mkdir()
    releases = _run(request, folder, None)
    told = [_told(file) for file in request.written(folder / request.target)]
    assert all(release.guarantee.certificate().items() for release in releases)
    # The same by the command, and then by the code.
    ran = run(*shlex.split(request.command())[1:])
    assert ran.code == 0, ran.err
    assert [_told(file) for file in request.written(tmp_path / request.target)] == told
    for file in request.written(tmp_path / request.target):
        file.unlink()
        certificate_path(file).unlink()
    if question == "summary":
        (tmp_path / "summary").rmdir()
    exec(compile(request.python(), "shown", "exec"), {})
    assert [_told(file) for file in request.written(tmp_path / request.target)] == told


def _run(request: StudioRequest, folder: Path, ledger: gv.Ledger | None) -> list[gv.Release]:
    """Run a request as the studio does."""
    return request.run(folder / request.target, ledger, lambda share: None, confirm=lambda concerns: None)


def _told(path: Path) -> dict[str, Any]:
    """What the certificate of a released file states, besides what differs by chance; the file must verify."""
    verified = gv.verify(path)
    assert verified, verified
    assert verified.certificate is not None
    same = {"query", "notion", "rho", "epsilon", "metric", "n", "persons", "method", "person", "times", "where"}
    return {name: stated for name, stated in verified.certificate.items() if name in {*same, "outside"}}


def test_ledger_is_charged(run: Any, tmp_path: Path) -> None:
    """With a ledger, the command and the code charge the same accounts as the studio."""
    ledger = gv.Ledger(tmp_path / "budget.db")
    ledger.create(*(f"march/u{i}" for i in range(3)), rho=1e-3)
    path = tmp_path / "trips.csv"
    choices = Choices(persons="user", area="37.77, -122.42, 50 km", unit="all", planned=1, question="points")
    choices.budget, choices.ledger, choices.subject = Budget("rho", "1e-4"), str(tmp_path / "budget.db"), "march"
    request = request_of(choices, OpenedData.open(path, path.name, choices.settings(), lambda share: None))
    (tmp_path / "studio").mkdir()
    _run(request, tmp_path / "studio", ledger)
    assert float(ledger.account("march/u0").spent) == pytest.approx(1e-4)
    assert run(*shlex.split(request.command())[1:]).code == 0
    for file in request.written(tmp_path / request.target):
        file.unlink()
        certificate_path(file).unlink()
    exec(compile(request.python(), "shown", "exec"), {})
    assert float(ledger.account("march/u0").spent) == pytest.approx(3e-4)
    assert gv.verify(tmp_path / "released.csv", ledger=ledger)


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("name", ["points", "heat map", "hull", "nearest"])
def test_refused_charge_is_foreseen(name: str, tmp_path: Path) -> None:
    """The page refuses a charge that the release refuses, and says which costs are computed later."""
    question, options, _ = ASKED[name]
    ledger = gv.Ledger(tmp_path / "budget.db")
    path = tmp_path / "trips.csv"
    ledger.create(*pd.read_csv(path)["user"].unique(), rho=1)
    choices = Choices(persons="user", area="San Francisco", unit="1 day", planned=1, question=question)
    choices.budget, choices.options, choices.ledger = Budget("rho", "1e-4"), options, str(tmp_path / "budget.db")
    request = request_of(choices, OpenedData.open(path, path.name, choices.settings(), lambda share: None))
    foreseen: dict[str, Any] = _foreseen(request)
    if question in ("points", "hull", "nearest"):
        assert not foreseen["ledger_problem"]
        assert foreseen["accounts"]["later"] == foreseen["accounts"]["count"] > 0
        return
    assert "is not known" in foreseen["ledger_problem"]
    (tmp_path / "studio").mkdir()
    with pytest.raises(IncompatibleGuarantees, match="is not known"):
        _run(request, tmp_path / "studio", ledger)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["points", "points, smoothed", "heat map", "flows", "nearest", "summary"])
def test_signatures_and_true_locations(name: str, run: Any, tmp_path: Path, regions: Path) -> None:
    """With a key and with the true locations, the command and the code sign too, and write the marked report."""
    question, options, more = ASKED[name]
    path, key = tmp_path / "trips.csv", gv.SigningKey.create("city-lab")
    choices = Choices(persons="user", area="San Francisco", unit="all", planned=1, question=question)
    choices.budget, choices.options = Budget("hide", "500"), options
    for field, value in more.items():
        setattr(choices, field, value)
    choices.sign = str(key.save(tmp_path / "city-lab.pem"))
    data = OpenedData.open(path, path.name, choices.settings(), lambda share: None)
    request = replace(request_of(choices, data, regions, key), with_truth=True)
    (tmp_path / "studio").mkdir()
    _run(request, tmp_path / "studio", None)
    ran = run(*shlex.split(request.command())[1:])
    assert ran.code == 0, ran.err
    report = tmp_path / TRUE_REPORT
    folders = [tmp_path / "studio", tmp_path]
    for folder in folders:
        assert all(
            gv.verify(file, key=key.public).signer == key.public for file in request.written(folder / request.target)
        )
    assert WARNING in report.read_text()
    report.unlink()
    for file in request.written(tmp_path / request.target):
        file.unlink()
        certificate_path(file).unlink()
    if question == "summary":
        (tmp_path / "summary").rmdir()
    exec(compile(request.python(), "shown", "exec"), {})
    assert all(gv.verify(file, key=key.public) for file in request.written(tmp_path / request.target))
    assert WARNING in report.read_text()
    # Without either, neither is in the code.
    plain = request_of(replace(choices, sign=""), data, regions)
    assert "sign" not in plain.command() + plain.python()
    assert "truth" not in plain.command() + plain.python()
