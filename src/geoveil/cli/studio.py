"""`geoveil studio`: choose, look and release in a browser."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from geoveil.cli import terminal
from geoveil.cli.command import command


@command(
    "Begin with a file:",
    "geoveil studio trips.csv",
    "Print the address, without opening the browser:",
    "geoveil studio --no-browser --port 8899",
)
@click.argument("file", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port on 127.0.0.1. [default: a free one]")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Whether to open the browser.")
def studio(file: Path | None, port: int, browser: bool) -> None:
    """Choose, look and release in a browser, on this machine alone.

    A page leads from the file to the release in six steps. It works without a network, and nothing leaves the machine.
    Ctrl-C ends it, and removes what it kept.
    """
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise click.UsageError("The studio needs more packages: pip install 'geoveil[studio]'")
    from geoveil.studio.server import serve

    # However the studio ends, downloaded files remain.
    terminal.state().released = "What was downloaded"

    def ready(address: str) -> None:
        terminal.say(f"The studio is at {address}", "Ctrl-C ends it. Whoever knows this address can use it.")

    try:
        serve(file, port=port, browser=browser, ready=ready)
    except KeyboardInterrupt:
        terminal.say("The studio has ended, and its folder was removed.")
    except OSError as problem:
        raise click.UsageError(f"--port {port}: {problem.strerror or problem}") from None
