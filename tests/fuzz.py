"""Damaged files: valid ones of a format with bytes changed, given to every command that reads files.

``python -m tests.fuzz NAME COUNT SEED FOLDER`` prints the failures as JSON, a line for each. A crash of the whole
process leaves the file that caused it in the folder, as ``last``.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import sys
import warnings
from pathlib import Path

from geoveil.cli.program import main
from tests.formats import make, people

__all__ = ["commands", "damaged", "failures", "ran"]

_INSERTED = (
    *(b"", b"\0", b"\xff", b"\xfe\xff", b"-1", b"1e999", b"nan", b'"', b"'", b"<", b"{", b"[", b"]}", b",", b"\n"),
    *(b"\r", b"9" * 40, b"\xf0\x9f\x8c\x8d", b"\xed\xa0\x80", b"null", b"\x80\x80\x80\x80", b"\x7f\xff\xff\xff"),
    *(b"&e;", b"\x1e"),
)


def damaged(data: bytes, random: random.Random) -> bytes:
    """Change some bytes: flip, cut, insert, repeat or exchange."""
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        if not data:
            return data
        at, size = random.randrange(len(data)), random.choice((1, 2, 4, 30, 300))
        kind = random.choice((0, 0, 0, 1, 1, 2, 3, 4, 5))
        if kind == 0:
            data = data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at] + random.choice(_INSERTED) + data[at + random.choice((0, size)) :]
        elif kind == 2:
            data = data[:at] if random.random() < 0.5 else data[:at] + data[at + size :]
        elif kind == 3:
            data = data[:at] + data[at : at + size] * random.choice((2, 20)) + data[at + size :]
        elif kind == 4:
            other = random.randrange(len(data))
            data = data[:at] + data[other : other + size] + data[at + size :]
        else:
            data = data[:at] + random.randbytes(size) + data[at + size :]
    return data


def commands(path: Path, told: dict[str, object], out: Path) -> list[list[str]]:
    """Every command that reads a file of locations."""
    area = ["--area", "37.77,-122.42,50km"]
    reading = [*(["--decimal", str(told["decimal"])] if "decimal" in told else []), "--missing", "drop"]
    whose = ["--person", str(told["person"])] if "person" in told else []
    target = str(out / path.name)
    return [
        ["check", str(path), *whose, *area, *reading],
        ["points", str(path), "-o", target, *whose, *area, *reading, "--rho", "1e-4", "--keep", "all"],
        ["points", str(path), *whose, *area, *reading, "--rho", "1e-4", "--dry-run"],
        ["summary", str(path), *area, *reading, "--rho", "1e-4"],
    ]


def ran(args: list[str]) -> tuple[int, str]:
    """Run a command; its exit code, and what it said."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            main(args)
        except SystemExit as end:
            return int(end.code or 0), said.getvalue()
        except BaseException as problem:
            return 1, f"{type(problem).__name__}: {problem}"
    return 0, said.getvalue()


def failures(name: str, count: int, seed: int, folder: Path) -> None:
    """Print what is neither done nor refused with a message."""
    random_ = random.Random(f"{name} {seed}")
    sound = folder / "sound"
    sound.mkdir()
    made, told = make(name, sound, people(n=30))
    for number in range(count):
        work = folder / "last"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(sound, work)
        (work / "out").mkdir()
        parts = sorted(path for path in work.rglob("*") if path.is_file())
        for part in random_.sample(parts, random_.choice((1, min(2, len(parts))))):
            part.write_bytes(damaged(part.read_bytes(), random_))
        for args in commands(work / made.name, told, work / "out"):
            code, said = ran(args)
            if code not in (0, 2, 3):
                print(json.dumps({"number": number, "command": args[0], "code": code, "said": said}), flush=True)
    shutil.rmtree(folder / "last", ignore_errors=True)


if __name__ == "__main__":
    failures(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
