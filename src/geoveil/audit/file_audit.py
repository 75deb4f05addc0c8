"""Audit a tool that turns files into files: make canaries, let it run, and read what it released."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from geoveil._types import Epsilon, Hide, Rho
from geoveil._types import Path as PathLike
from geoveil.audit.canaries import Canaries
from geoveil.audit.evidence import LEAST_CANARIES, LEAST_RUNS, judge
from geoveil.audit.findings import Case, Fault, find
from geoveil.audit.guesses import guesses
from geoveil.audit.making import Wanted, checked_claim, make_files
from geoveil.audit.outcome import Audit
from geoveil.audit.outputs import ReleasedFile, about, outputs_in
from geoveil.audit.secret import Secret
from geoveil.errors import InvalidData, InvalidParameter
from geoveil.geo.coordinate_systems import GEOGRAPHIC, system_of
from geoveil.geo.planes import Plane
from geoveil.privacy import CGP, GP, promise

__all__ = ["LEVEL", "make", "read", "tool"]

#: The largest probability that a tool that keeps its claim is accused: half of it for the bounds, half for the tests.
LEVEL = 0.01


#: What a function that is audited has to do.
_RUN = "Return the table that it was given, with other longitudes and latitudes; or write a file to the second path."


def _silent(share: float) -> None:
    """Show no progress."""


def make(
    target: PathLike,
    *,
    secret: PathLike,
    hide: Hide = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    area: object,
    canaries: int = 2000,
    pings: int = 1,
    crowd: int = 0,
    among: PathLike | None = None,
    person: str | None = None,
    times: str | None = None,
    runs: int = 1,
    overwrite: bool = False,
    progress: Callable[[float], None] = _silent,
    rng: np.random.Generator | None = None,
) -> list[Path]:
    """Write a file of canaries, on which any tool is to be run, and the secret file that `read` needs.

    Parameters
    ----------
    target : str or Path
        The file: .csv, .tsv, .gpx, .geojson, .parquet or .gpkg. With several runs, a folder.
    secret : str or Path
        The secret file: where each canary is.
    hide, rho, epsilon : optional
        What the tool claims for all points of a person: one of them.
    area : Area or str
        Where the canaries are.
    canaries, pings : int
        The number of canaries, and the points of each, all at one place: an offset that is kept for each person is not
        told from one that is kept for each place.
    crowd : int
        The number of persons of a made-up city among whom they are.
    among : str or Path, optional
        A file of your own, among whose rows they are.
    person, times : str, optional
        Its columns of persons and of times, where they are not recognised.
    runs : int
        The number of files; the tool is to be run on each.
    overwrite : bool
        Whether existing files are replaced.
    progress : callable
        Called with the share of the work that is done.
    rng : Generator, optional
        For tests and experiments: by default coins come from the operating system.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> [made] = gv.audit.make(folder / "canaries.csv", secret=folder / "audit.json", hide=200, area=bay, canaries=240)
    >>> len(pd.read_csv(made))
    240
    """
    claim = promise(hide, rho, epsilon, None)
    wanted = Wanted(canaries, pings, crowd, None if among is None else Path(among), person, times)
    return make_files(target, secret, claim, area, wanted, runs=runs, overwrite=overwrite, progress=progress, rng=rng)


def read(
    released: PathLike | Sequence[PathLike],
    *,
    secret: PathLike,
    hide: Hide = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    crs: object = None,
    level: float = LEVEL,
    progress: Callable[[float], None] = _silent,
) -> Audit:
    """Read what a tool released of files of canaries, and say whether it gives away more than it claims.

    Parameters
    ----------
    released : path, or sequence of path
        Released files, or folders of them: of one made file or several; of one made file twice to see what repeats.
    secret : str or Path
        The secret file that was made with the canaries.
    hide, rho, epsilon : optional
        What the tool claims; by default what the canaries were made for.
    crs : optional
        The coordinate system of the released files, where they do not state it.
    level : float
        The largest probability that a tool that keeps its claim is accused.
    progress : callable
        Called with the share of the work that is done.

    Returns
    -------
    Audit
        `found`, `refuted`, `verdict()`, `faults`, `bound`, `table()`, `data()` and `save("audit.html")`.

    Examples
    --------
    >>> made = gv.audit.make(folder / "canaries.csv", secret=folder / "audit.json", hide=200, area=bay, canaries=400)
    >>> found = gv.audit.read(made, secret=folder / "audit.json")    # a tool that changes nothing
    >>> found.refuted, found.faults[0]
    (True, 'true coordinates in the output')
    """
    known = Secret.read(Path(secret))
    stated = not hide is rho is epsilon is None
    claimed = checked_claim(promise(hide, rho, epsilon, None)) if stated else known.claim
    plane = Plane(system_of("crs", GEOGRAPHIC), known.area)
    given = [released] if isinstance(released, str | os.PathLike) else released
    if not isinstance(given, Sequence) or not given or not all(isinstance(each, str | os.PathLike) for each in given):
        remedy = "Write a table to a file first; audit.tool runs a function on a table."
        raise InvalidParameter("released", released, "the path of a file or folder, or several", remedy)
    paths = outputs_in([Path(path) for path in given])
    known_paths: set[str] = set()
    for path in paths:
        if (real := os.path.realpath(path)) in known_paths:
            remedy = "Leave it out, or run the tool again and give the file that it writes then."
            raise InvalidParameter("released", str(path), "each file once, as each stands for a run", remedy)
        known_paths.add(real)
    outputs = []
    for number, path in enumerate(paths):
        outputs.append(about(path, known, plane, crs))
        progress(0.6 * (number + 1) / len(paths))
    return _judged(known, outputs, plane, claimed, level, progress)


def _judged(
    known: Secret,
    outputs: Sequence[ReleasedFile],
    plane: Plane,
    claim: CGP | GP,
    level: float,
    progress: Callable[[float], None],
) -> Audit:
    """Return the outcome of released files."""
    by_made: dict[str, list[ReleasedFile]] = {}
    for output in outputs:
        by_made.setdefault(output.made.name, []).append(output)
    cases = [Case(known, group, plane, claim) for group in by_made.values()]
    canaries = _together([case.canaries() for case in cases])
    if len(canaries) < LEAST_CANARIES:
        made = sum(len(case.side) for case in cases)
        seen = f"{len(canaries)} of {made:,} made-up persons who are not at the edges of grids"
        raise InvalidData("released", seen, f"at least {LEAST_CANARIES}", "Give the files of all runs.")
    if not len(canaries.person):
        allowed = "at least some released points of canaries"
        raise InvalidData("released", "none", allowed, "Without any, nothing can be said about the tool.")
    several = len(cases) >= LEAST_RUNS and isinstance(claim, CGP)
    verdicts = [judge(canaries, claim, level=level / 4 if several else level / 2)]
    if several:
        verdicts.append(judge(canaries, claim, level=level / 4, independent=False))
    progress(0.8)
    findings = _shared([find(case, level / 2 / len(cases)) for case in cases])
    progress(1.0)
    notes = dict.fromkeys(f"{output.path.name}: persons were found again {output.matched}" for output in outputs)
    notes |= dict.fromkeys(f"{output.path.name}: {note}" for output in outputs for note in output.notes)
    return Audit(
        claim,
        level,
        tuple(verdicts),
        tuple(findings),
        sum(len(case.side) for case in cases),
        sum(int((case.shown >= 0).sum()) for case in cases),
        len(cases),
        any(len(case.outputs) > 1 for case in cases),
        tuple(notes),
        tuple(guesses(cases, claim)),
        tuple(output.path.name for output in outputs),
    )


def _together(parts: Sequence[Canaries]) -> Canaries:
    """Return the canaries of several runs."""
    firsts = np.cumsum([0, *(len(part) for part in parts)])
    return Canaries(
        np.concatenate([part.a for part in parts]),
        np.concatenate([part.b for part in parts]),
        np.concatenate([part.at_b for part in parts]),
        np.concatenate([part.released for part in parts]),
        np.concatenate([part.person + first for part, first in zip(parts, firsts, strict=False)]),
        np.concatenate([part.place for part in parts]),
        np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
    )


def _shared(of_files: Sequence[Sequence[Fault]]) -> list[Fault]:
    """Return one finding for each name: that of the file in which it is clearest, at the level of all files."""
    best: dict[str, Fault] = {}
    for findings in of_files:
        for finding in findings:
            if finding.name not in best or finding.chance < best[finding.name].chance:
                best[finding.name] = finding
    count = len(of_files)
    return [replace(each, chance=min(1.0, each.chance * count), level=each.level * count) for each in best.values()]


def tool(
    run: Callable[..., Any],
    *,
    hide: Hide = None,
    rho: Rho = None,
    epsilon: Epsilon = None,
    area: object,
    canaries: int = 2000,
    pings: int = 1,
    crowd: int = 0,
    runs: int = 1,
    form: str = ".csv",
    rng: np.random.Generator | None = None,
) -> Audit:
    """Run a tool on canaries, twice on the same file, and say whether it gives away more than it claims.

    Parameters
    ----------
    run : callable
        The tool: called with the path of a file and the path to write; or, if it takes one argument, with a DataFrame
        of the columns person, time, longitude and latitude, of which it returns a DataFrame.
    hide, rho, epsilon : optional
        What the tool claims for all points of a person: one of them.
    area : Area or str
        Where the canaries are.
    canaries, pings, crowd : int
        The number of canaries, the points of each, and the made-up persons among whom they are.
    runs : int
        With 20 or more the bounds hold whatever the dependence between persons.
    form : str
        The ending of the files.
    rng : Generator, optional
        For tests and experiments: by default coins come from the operating system.

    Returns
    -------
    Audit
        As of `read`.

    Examples
    --------
    >>> def truncated(rows):
    ...     return rows.assign(latitude=rows.latitude.round(2), longitude=rows.longitude.round(2))
    >>> found = gv.audit.tool(truncated, hide=200, area=bay, canaries=2000)
    >>> found.refuted, "grid edges" in found.faults
    (True, True)
    """
    if not callable(run):
        raise InvalidParameter("run", run, "a function of a table or of two paths", _RUN)
    claim = checked_claim(promise(hide, rho, epsilon, None))
    wanted = Wanted(canaries=canaries, pings=pings, crowd=crowd)
    with TemporaryDirectory() as name:
        folder = Path(name)
        made, out = folder / "made", folder / "released"
        made.mkdir()
        out.mkdir()
        files = make_files(made / f"canaries{form}", folder / "audit.json", claim, area, wanted, runs=runs, rng=rng)
        for number, file in enumerate(files):
            for again in ("", "-again")[: 2 if number == 0 else 1]:
                target = out / f"{file.stem}{again}{form}"
                _run(run, file, target)
        return read(out, secret=folder / "audit.json")


def _run(run: Callable[..., Any], file: Path, target: Path) -> None:
    """Run a tool on a file: as a function of two paths, or of a table."""
    import inspect

    import pandas as pd

    asked = [each for each in inspect.signature(run).parameters.values() if each.default is each.empty]
    if len(asked) >= 2:
        run(file, target)
        if not target.exists():
            raise InvalidData("run", "no file", "a function that writes to the second path", _RUN)
        return
    if file.suffix != ".csv":
        raise InvalidParameter("form", file.suffix, ".csv for a function of tables", "Leave it out.")
    released = run(pd.read_csv(file))
    if not isinstance(released, pd.DataFrame) or not len(released):
        seen = f"it returned {'no rows' if isinstance(released, pd.DataFrame) else type(released).__name__}"
        raise InvalidData("run", seen, "a function that returns a DataFrame with rows", _RUN)
    released.to_csv(target, index=False)
