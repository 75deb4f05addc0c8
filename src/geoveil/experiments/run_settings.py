"""The settings of a run: seed, data and versions, saved in `run.json` beside the results."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

from geoveil._version import __version__
from geoveil.errors import InvalidParameter
from geoveil.geo.formats.atomic import write_atomically

__all__ = ["RunSettings"]


@dataclass(frozen=True)
class RunSettings:
    """The settings that results depend on. All results in a folder have the same settings.

    Parameters
    ----------
    seed : int
        The seed of all noise and all samples.
    repetitions : int
        The number of repetitions.
    trajectories : int
        The number of trajectories in each repetition.
    faithful : bool
        Whether the procedure is that of the authors' programs.
    data : str, optional
        The SHA-256 of the files of the taxis; None while no experiment has needed them.
    """

    seed: int
    repetitions: int
    trajectories: int
    faithful: bool
    data: str | None

    def save_or_check(self, out: Path) -> None:
        """Save the settings in a folder, or check that its results have the same settings."""
        path = out / "run.json"
        own = {**asdict(self), "versions": versions()}
        if path.exists():
            known = json.loads(path.read_text(encoding="utf-8"))
            if own["data"] is None or known["data"] is None:
                own["data"] = known["data"] = own["data"] or known["data"]
            for key, value in own.items():
                if known.get(key) != value:
                    remedy = f"Results in {out} have other settings: choose another --out."
                    raise InvalidParameter(key, value, f"{known.get(key)!r}, as in {path.name}", remedy)
        text = json.dumps(own, indent=2, ensure_ascii=False) + "\n"
        write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8", newline="\n"))


def versions() -> dict[str, str]:
    """Return the versions of everything that a result may depend on."""
    import numpy
    import pyproj
    import scipy
    import shapely

    return {
        "geoveil": __version__,
        "numpy": numpy.__version__,
        "pyproj": pyproj.__version__,
        "python": platform.python_version(),
        "scipy": scipy.__version__,
        "shapely": shapely.__version__,
    }
