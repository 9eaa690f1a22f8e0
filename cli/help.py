"""Help of commands in people's notation: options in panels, and examples at the end."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter, Parameter

    from tracehouse.warehouse.catalogue.header import Column, Header

FILTERS = "Filters"
MANIFEST = "Manifest of all dumps"
OUTPUT = "Store and output"
_PANELS = ("Arguments", "Options", FILTERS, MANIFEST, OUTPUT)  # in this order
_WORDS = {int: "NUMBER", float: "NUMBER", str: "TEXT"}  # for a value without a metavar
_COLUMN_WIDTH = 76


def arrange_help(command: Command, examples: Sequence[str] = ()) -> Command:
    """Give a command, and those below it, help in panels, and return it."""
    if examples:
        shown = "\n".join(["\b", "Examples:", *(f"  {line}" for line in examples)])
        command.epilog = "\n\n".join(filter(None, (command.epilog, shown)))
    command.help = (command.help or "").partition("\n\nRaises:")[0]
    summary = command.short_help or " ".join(command.help.partition("\n\n")[0].split())
    command.short_help = summary.partition(": ")[0].partition("; ")[0].removesuffix(".")
    if isinstance(command, TyperGroup):
        command.subcommand_metavar = command.subcommand_metavar.replace("[ARGS]...", "...")
        command.options_metavar = command.options_metavar if command.params else ""
    command.format_options = partial(_write_options, command)  # type: ignore[method-assign]
    for param in command.params:
        if isinstance(param, TyperArgument):
            param.get_usage_pieces = partial(_usage, param)  # type: ignore[method-assign]
    for inner in getattr(command, "commands", {}).values():
        if inner is not None:
            arrange_help(inner)
    return command


def column_help(columns: Sequence[Column]) -> str:
    """A line per column: its name, type and meaning."""
    width = max(len(column.name) for column in columns)
    lines = [
        textwrap.fill(
            column.doc,
            _COLUMN_WIDTH,
            initial_indent=f"  {column.name:{width}}  {column.type:9}  ",
            subsequent_indent=" " * (width + 15),
        )
        for column in columns
    ]
    return "\n".join(["\b", "Columns:", *lines])


def query_example(header: Header) -> str:
    """A command line that runs the query with its required parameters."""
    values = {"BIGINT": "1", "INT": "1", "DOUBLE": "0.5"}
    needed = [
        f" --{parameter.name.replace('_', '-')} {values.get(parameter.type, 'NAME')}"
        for parameter in header.params
        if parameter.is_required
    ]
    return f"tracehouse query {header.name}{''.join(needed)} --format json"


def write_groups(
    formatter: HelpFormatter, groups: Iterable[tuple[str, Iterable[tuple[str, str]]]]
) -> None:
    """Write names and summaries in groups, all with one width of names."""
    for title, rows in groups:
        with formatter.section(title):
            formatter.write_dl(list(rows))


def _write_options(command: Command, ctx: Context, formatter: HelpFormatter) -> None:
    panels: dict[str, list[tuple[str, str]]] = {name: [] for name in _PANELS}
    for param in command.get_params(ctx):
        if not getattr(param, "hidden", False):
            panels[_panel(param)].append((_names(param), _meaning(param)))
    if len(panels[OUTPUT]) == 1:  # --help alone
        panels["Options"] += panels.pop(OUTPUT)
    write_groups(formatter, ((title, rows) for title, rows in panels.items() if rows))
    if isinstance(command, TyperGroup):
        command.format_commands(ctx, formatter)


def _panel(param: Parameter) -> str:
    if isinstance(param, TyperArgument):
        return "Arguments"
    if "--help" in param.opts:
        return OUTPUT
    return getattr(param, "rich_help_panel", None) or "Options"


def _usage(param: TyperArgument, _: Context | None = None) -> list[str]:
    name = _placeholder(param) + ("..." if param.nargs != 1 else "")
    return [name if param.required else f"[{name}]"]


def _names(param: Parameter) -> str:
    if isinstance(param, TyperArgument):
        return _placeholder(param)
    names = [", ".join(sorted(param.opts, key=len)), *param.secondary_opts]
    has_value = isinstance(param, TyperOption) and not (param.is_flag or param.count)
    return " / ".join(names) + (f" {_placeholder(param)}" if has_value else "")


def _placeholder(param: Any) -> str:
    """What stands for the value: NAME, a|b."""
    if param.metavar is not None:
        return str(param.metavar)
    if isinstance(param, TyperArgument):
        return str(param.name).upper()
    described = param.type_descriptor
    if described.is_choice:
        return "|".join(str(getattr(choice, "value", choice)) for choice in described.choices)
    return _WORDS.get(described.annotation, "FILE" if described.is_path else "TEXT")


def _meaning(param: Any) -> str:
    notes = [note for note in (_default(param), _range(param)) if note]
    if param.required and not isinstance(param, TyperArgument):
        notes.append("required")
    return (param.help or "") + (f"  [{'; '.join(notes)}]" if notes else "")


def _default(param: Any) -> str:
    places = [f"${param.envvar}"] if param.envvar and param.show_envvar else []
    value = param.default
    if isinstance(value, bool):
        value = param.secondary_opts and (param.opts if value else param.secondary_opts)[0]
    if param.show_default and value not in (None, "", 0) and not isinstance(value, list | tuple):
        shown = value.value if isinstance(value, Enum) else value
        places.append(f"{shown:g}" if isinstance(shown, float) else str(shown))
    return f"default: {', or '.join(places)}" if places else ""


def _range(param: Any) -> str:
    least, most = getattr(param, "min", None), getattr(param, "max", None)
    if least is not None and most is not None:
        return f"{least} to {most}"
    if most is not None:
        return f"at most {most}"
    return f"at least {least}" if least else ""


def command_group(
    text: str,
    *,
    short: str | None = None,
    cls: type[TyperGroup] = TyperGroup,
    metavar: str | None = None,
) -> typer.Typer:
    """A group of commands; `short` is its line in lists, by default that of the text."""
    return typer.Typer(
        cls=cls,
        no_args_is_help=True,
        rich_markup_mode=None,
        subcommand_metavar=metavar,
        short_help=short,
        help=text,
    )


def lone_command() -> typer.Typer:
    """What makes a single command."""
    return typer.Typer(add_completion=False, rich_markup_mode=None)
