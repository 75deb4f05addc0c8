"""`geoveil completion`: shell completion of commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from geoveil.cli.command import Command

_HOW = {
    "bash": 'eval "$(geoveil completion bash)"',
    "zsh": 'eval "$(geoveil completion zsh)"',
    "fish": "geoveil completion fish | source",
}


@click.command(cls=Command, examples=(("In ~/.bashrc:", _HOW["bash"]),))
@click.argument("shell", type=click.Choice([*_HOW]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands and options in a shell."""
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(ctx.find_root().command, {}, "geoveil", "_GEOVEIL_COMPLETE").source())
