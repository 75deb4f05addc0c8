"""Settings and fixtures of all tests; what they draw is the same every time.

``--stream N`` draws other random bits, ``--hypothesis-profile=random`` tries other examples.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import hypothesis
import numpy as np
import pytest

from geoveil.noise import Entropy

hypothesis.settings.register_profile("fixed", deadline=None, derandomize=True, database=None)
hypothesis.settings.register_profile("random", deadline=None)
hypothesis.settings.load_profile("fixed")

_plain = np.random.default_rng


def _generator(*names: object) -> np.random.Generator:
    """Return a generator that depends on all names and on nothing else."""
    return _plain(int.from_bytes(hashlib.sha256(repr(names).encode()).digest()))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--stream", type=int, default=0, metavar="N", help="draw other random bits: those of stream N")


def pytest_configure(config: pytest.Config) -> None:
    """Let generators that tests seed depend on the stream, unless it is the first."""
    stream = config.getoption("stream")

    def seeded(seed: Any = None) -> np.random.Generator:
        own = str(sys._getframe(1).f_globals.get("__name__")).startswith("tests.")
        return _generator(stream, seed) if own and isinstance(seed, int | list) else _plain(seed)

    if stream:
        pytest.MonkeyPatch().setattr(np.random, "default_rng", seeded)


@pytest.fixture
def bits_of_the_system() -> None:
    """Draw the random bits of the operating system instead of a fixed stream, in tests that name this fixture."""


@pytest.fixture(autouse=True)
def _fixed_stream(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw exact noise from bits that the stream and the test's name determine, whatever file the test is in."""
    if "bits_of_the_system" not in request.fixturenames:
        bits = _generator(request.config.getoption("stream"), request.node.name)
        monkeypatch.setattr(Entropy.__init__, "__defaults__", (bits.bytes,))


@pytest.fixture(autouse=True)
def _no_record(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep no record of releases, and no copy of a file of centres, in the user's folder."""
    monkeypatch.setenv("GEOVEIL_RECORD", "off")
    monkeypatch.setenv("GEOVEIL_CENTRES_BACKUP", str(tmp_path_factory.getbasetemp() / uuid4().hex / "copies"))


@pytest.fixture(autouse=True)
def _names_of_examples(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Provide the names that all examples in docstrings share; other tests import none of them."""
    if not isinstance(request.node, pytest.DoctestItem):
        return
    import geopandas
    import pandas as pd
    import shapely

    import geoveil as gv

    doctest_namespace.update(
        gv=gv,
        np=np,
        pd=pd,
        geopandas=geopandas,
        shapely=shapely,
        homes=geopandas.GeoSeries.from_xy([-122.41, -122.45, -122.43], [37.78, 37.76, 37.75], crs=4326),
        bay=gv.local(lat=37.77, lon=-122.42, radius=50_000),
        folder=request.getfixturevalue("tmp_path"),
    )


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger goes: a file, or a database of a PostgreSQL server."""
    from tests.postgres import database

    return str(tmp_path / "budget.db") if request.param == "sqlite" else database(f"test{os.getpid()}")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command of geoveil in this process, in a folder with trips.csv."""
    from geoveil.cli import main
    from tests.command_line import Ran
    from tests.formats import people

    people().assign(longitude=lambda f: f.geometry.x, latitude=lambda f: f.geometry.y).drop(columns="geometry").to_csv(
        tmp_path / "trips.csv", index=False
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    # Keys that tests trust are not those of whoever runs the tests.
    monkeypatch.setenv("GEOVEIL_TRUSTED_KEYS", str(tmp_path / "trusted"))

    def command(*args: str) -> Ran:
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main(args)
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        # Styles are shown, not written.
        assert not re.search(r"\[/|\[(bold|dim|green|yellow|red)\b", out + err)
        return Ran(int(str(left.value.code)), out, err)

    return command
