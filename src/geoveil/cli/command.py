"""Commands with examples in their help, and options made from the table of settings."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from geoveil.settings import HEADINGS, SETTINGS
from geoveil.text.typed_values import TypedValue

__all__ = ["Command", "Option", "Program", "TypedText", "broken", "command", "gathered", "setting"]

F = TypeVar("F", bound=Callable[..., object])
_HEADINGS = {row.name: heading for heading, rows in HEADINGS.items() for row in rows}


class Option(click.Option):
    """An option with the heading of its group."""

    def __init__(self, *args: Any, heading: str = "Options", **more: Any) -> None:
        super().__init__(*args, **more)
        self.heading = heading


class _WithExamples(click.Command):
    """A command or a group with examples, each of which runs: the purpose and the command line of each."""

    def __init__(self, *args: Any, examples: tuple[tuple[str, str], ...] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if not self.examples:
            return
        with formatter.section("Examples"):
            for number, (wish, line) in enumerate(self.examples):
                formatter.write("\n" if number else "")
                formatter.write_text(wish)
                for part in broken(line, formatter.width - 6):
                    formatter.write(f"{'':>{formatter.current_indent}}{part}\n")


class Command(_WithExamples):
    """A command with grouped options."""

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


class Program(_WithExamples, click.Group):
    """A group that lists its commands in the order in which they were added: what new users need comes first."""

    command_class = Command

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


def command(*examples: str, name: str | None = None, group: click.Group | None = None) -> Callable[[F], click.Command]:
    """Return a decorator that makes a command with examples: in turn the purpose and the command line of each."""
    make = click.command if group is None else group.command
    return make(name, cls=Command, examples=tuple(zip(examples[::2], examples[1::2], strict=True)))


def broken(line: str, width: int, prompt: str = "$") -> list[str]:
    """Break a shell command into lines that fit, with backslashes between them."""
    parts = [prompt]
    for word in re.split(r" (?=-|[^-]\S* -o|\S+$)", line):
        if parts != [prompt] and len(parts[-1]) + len(word) + 3 > width:
            parts[-1] += " \\"
            parts.append("   ")
        parts[-1] += f" {word}"
    return parts


class TypedText(click.ParamType):  # type: ignore[type-arg]
    """The type of a value that is written as text, such as a length."""

    def __init__(self, kind: TypedValue[object]) -> None:
        self.name = kind.name
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if not isinstance(value, str):
            return value
        parsed = self._kind.read(value)
        if parsed is None:
            self.fail(f"{value!r} must be {self._kind.allowed}.", param, ctx)
        return parsed


def _place_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the texts that complete the beginning of a place's name in a shell."""
    from geoveil.geo.gazetteer import places_beginning

    return [place.title for place in places_beginning(incomplete)] if len(incomplete) > 1 else []


#: What click knows about some options alone.
_OWN: dict[str, dict[str, Any]] = {
    "pseudonyms": {"is_flag": False, "flag_value": ""},
    "area": {"shell_complete": _place_names},
    "regions": {"type": click.Path(path_type=Path)},
    "target": {"type": click.Path(allow_dash=True, readable=False)},
    "report": {"type": click.Path(dir_okay=False)},
    "darwin_core": {"type": click.Path(dir_okay=False)},
    "figure": {"type": click.Path(dir_okay=False)},
    "figure_width": {"type": click.FloatRange(40, 1200)},
    "basemap": {"type": click.Path(dir_okay=False, exists=True)},
}


def setting(name: str, **more: Any) -> Callable[[F], F]:
    """Return a decorator that adds the option of a setting; further arguments are those of `click.option`."""
    row = SETTINGS[name]
    given: dict[str, Any] = {"help": row.help, "metavar": row.line.metavar, "multiple": row.line.multiple}
    if isinstance(row.kind, tuple):
        default = {} if row.line.optional else {"default": row.kind[0], "show_default": True}
        given |= {"type": click.Choice(row.kind), **default}
    elif isinstance(row.kind, TypedValue):
        given["type"] = TypedText(row.kind)
    elif row.kind is bool:
        given["is_flag"] = True
    else:
        given["type"] = row.kind
    names = row.line.names or (row.option,)
    return click.option(
        *names, name, cls=Option, **{"heading": _HEADINGS[name], **given, **_OWN.get(name, {}), **more}
    )


def gathered(
    name: str,
    build: Callable[..., object],
    names: Iterable[str],
    *,
    required: Collection[str] = (),
    helps: Mapping[str, str] | None = None,
    **more: Any,
) -> Callable[[F], F]:
    """Return a decorator that adds options of settings which reach the command as one argument, built by `build`.

    Where a setting means something else for the command, `helps` has its text.
    """
    own = [*names]

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def run(*args: Any, **given: Any) -> object:
            return command(*args, **{name: build(**{each: given.pop(each) for each in own})}, **given)

        for each in reversed(own):
            text = {"help": helps[each]} if helps and each in helps else {}
            run = setting(each, required=each in required, **text, **more)(run)
        return run  # type: ignore[return-value]

    return decorate
