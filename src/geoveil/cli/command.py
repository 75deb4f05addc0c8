"""Commands with grouped options and with examples in their help."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import click

__all__ = ["Command", "Option", "OptionSpec", "Program", "broken", "gathered", "option"]

F = TypeVar("F", bound=Callable[..., Any])
#: The names of an option, and its other arguments.
OptionSpec: TypeAlias = tuple[tuple[str, ...], dict[str, Any]]


class Option(click.Option):
    """An option with the heading of its group."""

    def __init__(self, *args: Any, heading: str = "Options", **more: Any) -> None:
        super().__init__(*args, **more)
        self.heading = heading


class Command(click.Command):
    """A command with examples, each of which runs.

    Parameters
    ----------
    examples : sequence of (str, str)
        The purpose and the command line of each example.
    """

    def __init__(self, *args: Any, examples: tuple[tuple[str, str], ...] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments as they were typed, for commands that suggest a next command."""
        ctx.meta["geoveil.typed"] = [*args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                groups.setdefault(getattr(param, "heading", "Options"), []).append(record)
        for heading in sorted(groups, key=lambda name: name == "Options"):
            with formatter.section(heading):
                formatter.write_dl(groups[heading], col_max=26)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_examples(self.examples, formatter)


class Program(click.Group):
    """A group that lists its commands in the order in which they were added: what new users need comes first."""

    command_class = Command

    def __init__(self, *args: Any, examples: tuple[tuple[str, str], ...] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help page to someone who gives no command, which is no error."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with its whole first sentence."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(formatter.width * 3)) for name, command in self.commands.items()]
            )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        _write_examples(self.examples, formatter)


def _write_examples(examples: tuple[tuple[str, str], ...], formatter: click.HelpFormatter) -> None:
    if not examples:
        return
    with formatter.section("Examples"):
        for number, (wish, line) in enumerate(examples):
            formatter.write("\n" if number else "")
            formatter.write_text(wish)
            for part in broken(line, formatter.width - 6):
                formatter.write(f"{'':>{formatter.current_indent}}{part}\n")


def broken(line: str, width: int, prompt: str = "$") -> list[str]:
    """Break a shell command into lines that fit, with backslashes between them."""
    parts = [prompt]
    for word in re.split(r" (?=-|[^-]\S* -o|\S+$)", line):
        if len(parts[-1]) + len(word) + 3 > width:
            parts[-1] += " \\"
            parts.append("   ")
        parts[-1] += f" {word}"
    return parts


def option(*names: str, **more: Any) -> OptionSpec:
    """Return an option for `gathered`; the arguments are those of `click.option`."""
    return names, more


def gathered(name: str, heading: str, build: Callable[..., Any], *options: OptionSpec) -> Callable[[F], F]:
    """Return a decorator that adds options which reach the command as one argument, built by `build`."""
    own = [str(click.Option([*names]).name) for names, _ in options]

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def run(*args: Any, **given: Any) -> Any:
            taken = {option: given.pop(option) for option in own}
            return command(*args, **{name: build(**taken)}, **given)

        for names, more in reversed(options):
            run = click.option(*names, cls=Option, heading=heading, **more)(run)
        return run  # type: ignore[return-value]

    return decorate
