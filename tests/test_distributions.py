"""What is distributed: wheels with the right files and licences, small enough, installed by all scripts."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

pytestmark = pytest.mark.skipif(not (ROOT / "ground").exists(), reason="an unpacked sdist has no other distribution")


@dataclass(frozen=True)
class Wheel:
    """A wheel: its size in bytes, the files in it, and its metadata."""

    size: int
    files: tuple[str, ...]
    metadata: Message

    def all(self, field: str) -> list[str]:
        """Every value of a field of the metadata."""
        return self.metadata.get_all(field, [])


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Wheel]:
    """The wheels of all distributions in the repository, by their folders."""
    built = {}
    for folder in (".", "ground"):
        target = tmp_path_factory.mktemp("wheels")
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
        subprocess.run(command, cwd=ROOT / folder, check=True, capture_output=True)
        [path] = target.glob("*.whl")
        with zipfile.ZipFile(path) as packed:
            [metadata] = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
            parsed = Parser().parsestr(packed.read(metadata).decode())
            built[folder] = Wheel(path.stat().st_size, tuple(packed.namelist()), parsed)
    return built


@pytest.mark.slow
def test_the_wheel_is_small(wheels: dict[str, Wheel]) -> None:
    """The wheel holds geoveil and its names of places, and no data whose licence asks for more than a notice."""
    wheel = wheels["."]
    assert wheel.size < 4_000_000
    assert [name for name in wheel.files if name.endswith(".parquet")] == ["geoveil/geo/places.parquet"]
    assert {name.split("/")[0].split("-")[0] for name in wheel.files} == {"geoveil"}
    assert wheel.metadata["License-Expression"] == "Apache-2.0 AND CC-BY-4.0 AND MIT AND Unicode-3.0"
    assert wheel.all("License-File") == ["LICENSE", "NOTICE"]
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert all(source in notice for source in ("GeoNames", "MIT License", "UNICODE LICENSE V3"))
    assert "LGPL" not in notice


@pytest.mark.slow
def test_ground_has_licences(wheels: dict[str, Wheel]) -> None:
    """The ground is a wheel of its own, with the licences of coasts and roads."""
    wheel = wheels["ground"]
    assert sorted(Path(name).stem for name in wheel.files if name.endswith(".parquet")) == [
        *("borders", "land", "rivers", "roads", "water")
    ]
    assert wheel.metadata["License-Expression"] == "LGPL-3.0-or-later AND ODbL-1.0"
    assert set(wheel.all("License-File")) >= {"NOTICE", "LICENSES/LGPL-3.0-or-later.txt"}
    assert not wheel.all("Requires-Dist")


def test_the_ground_is_installed() -> None:
    """Every environment that the scripts make has the ground, so that commands draw it, too."""
    assert distribution("geoveil-ground").version


@pytest.mark.slow
def test_metadata_are_right(wheels: dict[str, Wheel]) -> None:
    """Users see which Pythons and systems are meant; what tests need is nothing that users can install."""
    wheel = wheels["."]
    classifiers = wheel.all("Classifier")
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} <= set(classifiers)
    assert len([each for each in classifiers if each.startswith("Operating System")]) == 3
    assert not {"test", "docs", "benchmark"} & set(wheel.all("Provides-Extra"))
    [psutil] = [need for need in wheel.all("Requires-Dist") if need.startswith("psutil")]
    assert re.findall(r"sys_platform == '(\w+)'", psutil) == ["darwin", "win32"]


def test_all_extras() -> None:
    """`geoveil[all]` names every extra but Spark, which is 800 MB large and needs Java."""
    extras = PROJECT["project"]["optional-dependencies"]
    [every] = extras["all"]
    assert set(every.removeprefix("geoveil[").removesuffix("]").split(",")) == {*extras} - {"all", "spark"}


@pytest.mark.parametrize("name", ["pip>=25.1", "-e ./ground", "--group"])
def test_scripts_install_everything(name: str) -> None:
    """The environment of the scripts has a pip that knows groups, the ground, and the group."""
    assert name in (ROOT / "scripts" / "environment.sh").read_text(encoding="utf-8")


#: Distributions that conda-forge has under other names.
OTHER_NAMES = {"lazy-loader": "lazy_loader"}


def test_conda_recipe_agrees() -> None:
    """The recipe's dependencies are those of the project, in the same versions, and so are version and licence."""
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert f'"{recipe["context"]["version"]}"' in (ROOT / "src" / "geoveil" / "_version.py").read_text()
    library, ground = recipe["outputs"]
    needed = [need.partition(";")[0] for need in PROJECT["project"]["dependencies"]]
    needed = [re.sub(r"^([\w-]+)", lambda name: OTHER_NAMES.get(name[1], name[1]) + " ", need) for need in needed]
    assert library["requirements"]["run"][1:] == needed
    assert library["about"]["license"] == PROJECT["project"]["license"]
    its = tomllib.loads((ROOT / "ground" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert ground["about"]["license"] == its["license"]
