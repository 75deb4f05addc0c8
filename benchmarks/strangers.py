"""Release files that strangers have made as `geoveil check` advises, and say how large the errors are.

Run from the project's root: ``python -m benchmarks.strangers``, with ``--folder`` for the folder that keeps the
packages (by default a temporary one) and ``--only`` for files whose paths contain a text. Packages are downloaded from
the indexes of pip, npm and apt, in the versions of ``strangers.csv``, and nothing in them is run. Files that cannot be
fetched are listed as not tried. `strangers.md` has the protocol and the results.

A user runs ``geoveil check FILE``. If it stops and names an option, they add it and run it again; where it has assumed
that the points are another's, they answer with the person that the list names. They say what the data is for and up to
which error it is of use (``--for``, ``--within``), and run the command that it prints, once; where the best offer is
hopeless, that of the first other one. A file counts as released
if that succeeds and ``geoveil verify`` accepts what it wrote, and as useful if the error that was announced is at most
the one of the list.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: The purposes of the list, by their names in the advice.
PURPOSES = {"persons": "answers"}
#: The options that a message names, such as --layer stops.txt, or those of two columns.
_OPTION = re.compile(r"--lat [\w./]*\w --lon [\w./]*\w|--(?:layer|missing|outside|geometry) [\w./]*\w")


@dataclass(frozen=True)
class Stranger:
    """A file of somebody else: a row of ``strangers.csv``."""

    origin: str
    version: str
    path: str
    what: str
    #: Whose the points are: a column, "all" for one person's, or "row" if each row is another person.
    owner: str
    purpose: str
    useful: str

    @property
    def limit(self) -> float:
        """The largest error that is useful, in metres or persons; infinite where what is released is exact."""
        if self.purpose == "home":
            return float("inf")
        number, unit = re.findall(r"(\d+) ?(km|m|)", self.useful)[0]
        return float(number) * (1000 if unit == "km" else 1)

    @property
    def stated(self) -> list[str]:
        """The options that state the purpose to `check`."""
        if self.purpose == "home":
            return ["--for", "home"]
        unit = "" if self.purpose == "counts" else "m"
        return ["--for", PURPOSES.get(self.purpose, self.purpose), "--within", f"{self.limit:g}{unit}"]


@dataclass(frozen=True)
class Outcome:
    """What came of a file.

    Parameters
    ----------
    assumed : str
        Whose points `check` took them for.
    proposed : str
        The purpose of the command that it proposed first, and what became of it.
    verdict, error, said : str, float, str
        What it said about the purpose of the list, once it knew whose points they are.
    first, released : bool
        Whether the first proposal, and the command for the purpose, made a release.
    """

    assumed: str
    proposed: str
    first: bool
    verdict: str
    error: float | None
    released: bool
    said: str


def strangers(listed: Path = HERE / "strangers.csv") -> list[Stranger]:
    """Return the list."""
    with listed.open(encoding="utf-8", newline="") as lines:
        return [Stranger(**row) for row in csv.DictReader(lines, delimiter=";")]


def located(stranger: Stranger, folder: Path) -> Path | None:
    """Return the path of a stranger's file, whose package is fetched if needed; None if that is not possible."""
    place = folder / re.sub(r"\W+", "-", stranger.origin)
    if not place.is_dir() and not _fetched(stranger, place):
        return None
    name = Path(stranger.path).name
    return next((found for found in sorted(place.rglob("*")) if found.name == name and _within(found, stranger)), None)


def _within(found: Path, stranger: Stranger) -> bool:
    return found.as_posix().endswith(f"/{stranger.path}")


def _fetched(stranger: Stranger, place: Path) -> bool:
    kind, _, package = stranger.origin.partition(":")
    commands = {
        "npm": ["npm", "pack", "-s", "--ignore-scripts", f"{package}@{stranger.version}"],
        "apt": ["apt-get", "download", "-q", f"{package}={stranger.version}"],
        "src": ["apt-get", "source", "-q", "--download-only", "--tar-only", package],
    }
    with tempfile.TemporaryDirectory() as download:
        try:
            if kind == "pip":
                _from_index(package, stranger.version, Path(download))
            else:
                subprocess.run(commands[kind], cwd=download, check=True, capture_output=True, timeout=600)
        except (OSError, subprocess.SubprocessError, LookupError) as problem:
            print(f"{stranger.origin}: {problem}", file=sys.stderr)
        for found in Path(download).iterdir():
            place.parent.mkdir(parents=True, exist_ok=True)
            _unpack(found, place)
    return place.is_dir()


def _from_index(package: str, version: str, folder: Path) -> None:
    """Download the sources of a package, or a wheel if there are none. pip would run what is in them."""
    from pip._internal.models.index import PyPI

    page = f"{PyPI.simple_url}/{package.lower().replace('_', '-')}/"
    with urllib.request.urlopen(page, timeout=120) as told:
        links = re.findall(r'href="([^"#]+)', told.read().decode())
    named = {link: link.rpartition("/")[2] for link in links}
    rests = {
        link: re.fullmatch(rf"[\w.]+(?:-[\w.]+)*?-{re.escape(version)}(\W.+)", name) for link, name in named.items()
    }
    sources = [link for link, rest in rests.items() if rest and rest[1] in (".tar.gz", ".zip", ".tar.bz2")]
    wheels = [link for link, rest in rests.items() if rest and rest[1].endswith(".whl")]
    found = [*sources, *wheels][0]
    with urllib.request.urlopen(urllib.parse.urljoin(page, found), timeout=600) as content:
        (folder / named[found]).write_bytes(content.read())


def _unpack(found: Path, place: Path) -> None:
    if found.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", found, place], check=True)
    elif found.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(found) as wheel:
            wheel.extractall(place)
    elif tarfile.is_tarfile(found):
        with tarfile.open(found) as archive:
            archive.extractall(place, filter="data")


@dataclass(frozen=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    stdout: str
    stderr: str


def _geoveil(folder: Path, *arguments: str) -> Ran:
    """Run a command as in a shell, in a folder; in this process, which imports everything once."""
    from geoveil.cli.program import main as run

    printed, complained, code = io.StringIO(), io.StringIO(), 0
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complained):
        try:
            run(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
    return Ran(code, printed.getvalue(), complained.getvalue())


def attempt(stranger: Stranger, path: Path, folder: Path) -> Outcome:
    """Follow what `check` says about a file."""
    options: list[str] = []
    checked = _geoveil(folder, "check", str(path), "--json")
    if not checked.stdout and (named := _OPTION.findall(" ".join(checked.stderr.split()))):
        options = shlex.split(named[-1])
        checked = _geoveil(folder, "check", str(path), "--json", *options)
    if not checked.stdout:
        return Outcome("-", "nothing", False, "not read", None, False, " ".join(checked.stderr.split()))
    advice = json.loads(checked.stdout)
    proposed = next((use["purpose"] for use in advice["purposes"] if use["command"] == advice["next"]), "nothing")
    first, complaint = _follow(advice["next"], folder / "first")
    assumed = _assumed(advice)
    if assumed != stranger.owner and stranger.owner != "all":
        options += ["--person", stranger.owner]
    options += stranger.stated
    if options:
        advice = json.loads(_geoveil(folder, "check", str(path), "--json", *options).stdout)
    use = _use(advice, stranger.purpose)
    if use is not None and use["command"] is None and (others := [each for each in use["others"] if each["command"]]):
        use |= others[0]
    begun = (assumed, f"{proposed} {complaint}".strip(), first)
    if use is None or use["command"] is None:
        said = "not offered" if use is None else use["text"]
        verdict, error = ("none", None) if use is None else (use["verdict"], use["error"])
        return Outcome(*begun, verdict, error, False, said)
    # A place is hidden once: the same command is not run again.
    if use["purpose"] == proposed == "home" and assumed == stranger.owner:
        released = first
    else:
        released, complaint = _follow(use["command"], folder / "purpose")
    return Outcome(*begun, use["verdict"], use["error"], released, complaint or use["text"])


def _use(advice: dict[str, Any], purpose: str) -> dict[str, Any] | None:
    """Return the advice for a purpose; tracks without times are points."""
    wanted = (PURPOSES.get(purpose, purpose), *(["points"] if purpose == "tracks" else []))
    return next((use for name in wanted for use in advice["purposes"] if use["purpose"] == name), None)


def _follow(command: str | None, folder: Path) -> tuple[bool, str]:
    """Run a printed command in a folder of its own; return whether its release is accepted, and what was wrong."""
    if command is None:
        return False, "no command"
    folder.mkdir()
    # Centres of discs are remembered there; here each command is another user's.
    os.environ["XDG_DATA_HOME"] = str(folder)
    told = shlex.split(command)
    tried = _geoveil(folder, *told[1:])
    if tried.code:
        return False, " ".join(tried.stderr.split())[:300]
    verified = _geoveil(folder, "verify", told[told.index("-o") + 1])
    return verified.code in (0, 3), "" if verified.code in (0, 3) else " ".join(verified.stdout.split())[:300]


def _assumed(advice: dict[str, Any]) -> str:
    """Return whose points the printed commands take them for."""
    commands = [use["command"] for use in advice["purposes"] if use["command"] and use["purpose"] != "home"]
    words = shlex.split(commands[0]) if commands else []
    return words[words.index("--person") + 1] if "--person" in words else "all"


def table(listed: Path, only: str, folder: Path) -> Iterator[str]:
    """Yield the lines of the table, and the numbers."""
    yield "| file | package | points of | first proposal | purpose | error | useful up to | released | useful |"
    yield "|---|---|---|---|---|---|---|---|---|"
    first = released = useful = tried = 0
    for stranger in strangers(listed):
        if only not in stranger.path:
            continue
        path = located(stranger, folder)
        row = f"| `{Path(stranger.path).name}` | {stranger.origin} "
        if path is None:
            yield f"{row}| | | {stranger.purpose} | | | not tried: it cannot be fetched here | |"
            continue
        tried += 1
        with tempfile.TemporaryDirectory() as place:
            found = attempt(stranger, path, Path(place))
        helps = found.released and (found.error is None or found.error <= stranger.limit)
        first, released, useful = first + found.first, released + found.released, useful + helps
        error = "" if found.error is None else f", {found.error:.3g}"
        why = "yes" if found.released else f"no: {found.said}"
        cells = (
            *(found.assumed, f"{found.proposed}{'' if found.first else ': no'}", stranger.purpose),
            *(f"{found.verdict}{error}", stranger.useful, why, "yes" if helps else "no"),
        )
        yield f"{row}| {' | '.join(cells)} |"
    yield ""
    yield f"Of {tried} files {first} were released as first proposed, {released} for their purpose, {useful} usefully."


def main(show: Callable[[str], None] = print) -> None:
    """Try all strangers, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="keeps the packages [default: a temporary folder]")
    parser.add_argument("--list", type=Path, default=HERE / "strangers.csv", help="the list of files")
    parser.add_argument("--only", default="", help="only files whose paths contain this text")
    options = parser.parse_args()
    # No record of releases, in which a second run of this benchmark would find the first.
    os.environ["GEOVEIL_RECORD"] = "off"
    with tempfile.TemporaryDirectory() as temporary:
        for line in table(options.list, options.only, (options.folder or Path(temporary)).resolve()):
            show(line)


if __name__ == "__main__":
    main()
