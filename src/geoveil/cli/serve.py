"""`geoveil serve`: take in pings of location apps, and let the world see released places."""

from __future__ import annotations

import signal
from importlib.util import find_spec
from pathlib import Path

import click

from geoveil.cli import terminal
from geoveil.cli.command import command


@command(
    "Write a configuration to begin with:",
    "geoveil serve --example > geoveil.toml",
    "Give a device its token, which is shown once:",
    "geoveil serve geoveil.toml --token ann/phone",
    "Serve:",
    "geoveil serve geoveil.toml",
)
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--example", is_flag=True, help="Print a configuration to begin with.")
@click.option("--token", "holder", metavar="WHO", help='Print a new token for "owner", a gateway, or a device.')
def serve(file: Path | None, example: bool, holder: str | None) -> None:
    """Take in pings of location apps, and show released places only.

    OwnTracks, Traccar, OsmAnd, Overland, GPSLogger and plain JSON come in, over HTTP and MQTT. Places of a stream,
    whose budget holds for any stretch of time, go out. True pings arrive here: run it where they may be known.
    """
    if example:
        from geoveil.serve.config import EXAMPLE

        click.echo(EXAMPLE, nl=False)
        return
    if file is None:
        raise click.UsageError("Give the configuration: geoveil serve geoveil.toml (--example prints one).")
    if any(find_spec(name) is None for name in ("starlette", "uvicorn", "httpx")):
        raise click.UsageError("The service needs more packages: pip install 'geoveil[serve]'")
    from geoveil.serve.server import give_token, serve

    if holder is not None:
        click.echo(give_token(file, holder))
        return

    def ready(address: str, without: list[str], kept: list[str]) -> None:
        # What was published stays published.
        terminal.state().released = "What was published"
        terminal.say(f"The service is at {address}, and its live page at {address}/live. Ctrl-C ends it.")
        for each in without:
            terminal.say(f"No token yet: geoveil serve {file} --token {each}")
        for each in kept:
            terminal.say(each)

    # A service is ended by its supervisor as by Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        serve(file, ready=ready)
    except KeyboardInterrupt:
        terminal.say("The service has ended. Streams go on at the next start.")
    except OSError as problem:
        reason = problem.strerror or problem
        raise click.UsageError(f"The service cannot listen at the address in {file}: {reason}.") from None
