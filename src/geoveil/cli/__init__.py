"""geoveil on the command line: one module for each command."""

from geoveil.cli.main import main

__all__ = ["main"]
