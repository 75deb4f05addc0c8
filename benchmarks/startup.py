"""Measure the startup time of commands, compared with the import of numpy."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

TURNS = 15
GEOVEIL = str(Path(sys.executable).with_name("geoveil"))
LINES = {
    "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
    "geoveil --help": [GEOVEIL, "--help"],
    "geoveil points --help": [GEOVEIL, "points", "--help"],
    "python -c 'import geoveil'": [sys.executable, "-c", "import geoveil"],
    "geoveil explain --rho 5e-5": [GEOVEIL, "explain", "--rho", "5e-5"],
}


def main() -> None:
    """Print a table of medians over rounds, each of which runs every command once."""
    times: dict[str, list[float]] = {name: [] for name in LINES}
    for turn in range(TURNS + 1):
        for name, line in LINES.items():
            start = time.perf_counter()
            subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
            if turn:  # the first one reads files from the disk
                times[name].append(time.perf_counter() - start)
        print(f"turn {turn} of {TURNS}", file=sys.stderr)
    yardstick = statistics.median(times["python -c 'import numpy'"])
    print("| command | of `import numpy` | target |\n|---|---|---|")
    for name, found in times.items():
        target = "2.5" if name == "geoveil --help" else ""
        print(f"| `{name}` | {statistics.median(found) / yardstick:.2f} | {target} |")


if __name__ == "__main__":
    main()
