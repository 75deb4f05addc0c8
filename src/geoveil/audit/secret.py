"""The secret of an audit: where each canary is. Whoever has it knows what to look for, so it is kept like a key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from geoveil._version import __version__
from geoveil.audit.canary_places import Sites
from geoveil.errors import FileUnavailable, InvalidFile, warn
from geoveil.geo.areas import Area
from geoveil.geo.geometries import Floats, Index
from geoveil.host.private_files import may_be_read_by_others, write_private
from geoveil.privacy import CGP, GP
from geoveil.privacy.guarantees import certified

__all__ = ["Made", "Secret"]

#: What a secret file says it is.
_FORMAT = "geoveil audit, version 1"
_REMEDY = "Give the file that geoveil audit make wrote with --secret."


@dataclass(frozen=True, eq=False)
class Made:
    """One file of canaries.

    Parameters
    ----------
    name, sha256 : str
        The name of the file, and its digest.
    persons : sequence of str
        The labels of the canaries.
    site, side : array of int
        The pair of each, and its secret coin: 0 for A, 1 for B.
    rows : array of int
        The row of the file in which each canary begins.
    size : int
        The number of rows of the file.
    """

    name: str
    sha256: str
    persons: Sequence[str] = field(repr=False)
    site: Index = field(repr=False)
    side: Index = field(repr=False)
    rows: Index = field(repr=False)
    size: int = 0


@dataclass(frozen=True, eq=False)
class Secret:
    """What `read` needs to know about the files that `make` wrote.

    Parameters
    ----------
    claim : CGP or GP
        The claim for which the distances were chosen.
    area : Area
        The area of the canaries.
    ends : (s, 2, 2) array
        The places of each pair, as longitude and latitude.
    kinds : sequence of str
        What each pair is for.
    pings : int
        The number of rows of a canary.
    columns : mapping
        The names of the columns of persons and times; a format such as GPX has others.
    made : sequence of Made
        The files.
    """

    claim: CGP | GP
    area: Area
    ends: Floats = field(repr=False)
    kinds: Sequence[str] = field(repr=False)
    pings: int
    columns: Mapping[str, str | None]
    made: Sequence[Made]

    def sites(self, made: Made) -> Sites:
        """Return the pairs of a file."""
        return Sites(self.ends, self.kinds, made.site)

    def write(self, path: Path) -> None:
        """Write it whole, readable by its owner only."""
        runs = [
            {
                **{"file": made.name, "sha256": made.sha256, "rows": made.size, "persons": [*made.persons]},
                **{
                    "pair": made.site.tolist(),
                    "row": made.rows.tolist(),
                    "side": "".join("AB"[side] for side in made.side),
                },
            }
            for made in self.made
        ]
        written = {
            "format": _FORMAT,
            "warning": "Keep it secret until the tool has run: it says where each canary is.",
            "geoveil": __version__,
            "claim": self.claim.certificate(),
            "area": self.area.certificate(),
            "pings": self.pings,
            "columns": dict(self.columns),
            "pairs": [
                {"for": kind, "A": ends[0], "B": ends[1]}
                for kind, ends in zip(self.kinds, self.ends.tolist(), strict=True)
            ],
            "files": runs,
        }
        write_private(path, json.dumps(written, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> Secret:
        """Read a secret file."""
        try:
            found: Any = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FileUnavailable(str(path), "file not found", "a file that exists", _REMEDY) from None
        except (OSError, ValueError) as problem:
            raise InvalidFile(str(path), str(problem), "the secret file of an audit", _REMEDY) from None
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise InvalidFile(str(path), "another file", "the secret file of an audit", _REMEDY)
        if may_be_read_by_others(path):
            warn(f"{path} may be read by others, and says where the canaries are. Run: chmod 600 {quote(str(path))}")
        try:
            pairs = found["pairs"]
            ends = np.array([[pair["A"], pair["B"]] for pair in pairs], dtype=float).reshape(-1, 2, 2)
            return cls(
                certified(found["claim"]),
                Area.certified(found["area"]),
                ends,
                [str(pair["for"]) for pair in pairs],
                int(found["pings"]),
                found["columns"],
                [_made(run, len(pairs)) for run in found["files"]],
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as problem:
            raise InvalidFile(str(path), repr(problem), "the secret file of an audit", _REMEDY) from None


def _made(run: Mapping[str, Any], pairs: int) -> Made:
    """Return a file of canaries as the secret states it."""
    site = np.array(run["pair"], dtype=np.int64)
    side = np.array(["AB".index(each) for each in run["side"]], dtype=np.int64)
    rows, persons = np.array(run["row"], dtype=np.int64), [str(label) for label in run["persons"]]
    if not len(site) == len(side) == len(rows) == len(persons) > 0 or site.min() < 0 or site.max() >= pairs:
        raise ValueError("its lists are not of one length")
    return Made(str(run["file"]), str(run["sha256"]), persons, site, side, rows, int(run["rows"]))
