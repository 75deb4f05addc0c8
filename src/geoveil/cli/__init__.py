"""geoveil on the command line: one module for each command."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line, and leave with its exit code."""
    try:
        from geoveil.cli.program import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run(args)
