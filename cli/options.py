"""Options that several commands share, and options that are made from data."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from tracehouse.cli.help import FILTERS, OUTPUT
from tracehouse.cli.output.options import OutputOptions
from tracehouse.warehouse import DEFAULT_PATH

if TYPE_CHECKING:
    from tracehouse.warehouse.catalogue.header import Parameter

DEFAULT_STORE = Path(DEFAULT_PATH)
# Parameters of queries that choose rows, and what their values are called.
_FILTERS = {
    *("device", "pool", "build", "model", "backend", "tag", "since", "until"),
    *("run", "event", "delegate_id", "ordinal"),
}
_VALUES = {
    "STRING": "NAME",
    "INT": "NUMBER",
    "BIGINT": "NUMBER",
    "DOUBLE": "NUMBER",
    "TIMESTAMP": "TIME",
    "TAG": "KEY=VALUE",
    "TAG_KEY": "KEY",
    "PLACE": "'DEVICE / MODEL'",
}
_NEXT_FIELD = re.compile(r",(?=[\w.]+=)")


class TextOption(NamedTuple):
    """An optional text option of a command.

    Attributes:
        name: Python name of the parameter.
        metavar: Type shown in the help.
        is_repeatable: Whether it may be given several times; the value is then a list.
        is_flag: Whether the option takes no value; the value is then a bool.
        may_be_blank: Whether the value may be empty, as that of a variable that is not set.
        panel: Title of the part of the help that lists it.
    """

    name: str
    metavar: str
    help: str
    is_repeatable: bool = False
    is_flag: bool = False
    may_be_blank: bool = False
    panel: str | None = None


def parse_share_option(text: str, option: str) -> float:
    """The option's share, greater than 0; see `parse_share`.

    Raises:
        BadParameter: The text is not such a share.
    """
    from tracehouse.warehouse.catalogue.shares import ShareError, parse_share

    try:
        share = parse_share(text)
    except ShareError as error:
        raise typer.BadParameter(str(error), param_hint=f"'{option}'") from error
    if share <= 0:
        raise typer.BadParameter(f"{text!r}, wanted more than 0", param_hint=f"'{option}'")
    return share


def lake_address(lake: str | None) -> str | None:
    """The address of a lake for a service, which has another working directory.

    An address of no kind that a lake may have raises LakeAddressError.
    """
    if lake is None:
        return None
    from tracehouse.warehouse.lake.addresses import check_address

    check_address(lake)
    return lake if "://" in lake else os.path.abspath(lake)


_is_store_named: ContextVar[bool] = ContextVar("is_store_named", default=False)


def is_store_named() -> bool:
    """Whether this command line has --store; $TRACEHOUSE_STORE does not count."""
    return _is_store_named.get()


def _note_store(context: typer.Context, store: Path) -> Path:
    source = context.get_parameter_source("store")
    _is_store_named.set(source is not None and source.name == "COMMANDLINE")
    return store


StorePath = Annotated[
    Path,
    typer.Option(
        "--store",
        envvar="TRACEHOUSE_STORE",
        metavar="DIR",
        help="Directory of the store.",
        callback=_note_store,
        rich_help_panel=OUTPUT,
    ),
]
Wait = Annotated[
    float,
    typer.Option(
        "--wait",
        min=0,
        metavar="SECONDS",
        help="How long to wait if another process has the store open; by default fail at once.",
        rich_help_panel=OUTPUT,
    ),
]
LakeUri = Annotated[
    str | None,
    typer.Option(
        "--lake",
        metavar="URI",
        help="Query this lake (see 'export lake'). With --store, query the store, and the "
        "lake only for raw events that the store dropped.",
        rich_help_panel=OUTPUT,
    ),
]
LakePlace = Annotated[
    str, typer.Argument(metavar="URI", help="A folder, or a URI: s3://, gs://, abfs:// or hdfs://.")
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Spark master; by default the one of spark-submit, else all cores of this machine.",
    ),
]
Head = Annotated[
    str | None,
    typer.Option("--head", metavar="BUILD", help="Build to report on; by default the newest."),
]
Branch = Annotated[
    str | None,
    typer.Option(
        "--branch",
        metavar="NAME",
        help="Report on the newest build of this branch; by default report.branch in the settings.",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="Settings file; by default ./tracehouse.toml, if any."
    ),
]
Paths = Annotated[
    list[str],
    typer.Argument(help="Files, folders, zip archives, ZIP!MEMBER or globs.", metavar="PATHS"),
]
Layout = Annotated[
    str | None,
    typer.Option(
        "--layout", metavar="TEMPLATE", help="Fields in paths, e.g. '{device}/{build}/*.etdp'."
    ),
]
Shared = Annotated[
    bool,
    typer.Option(
        "--shared", help="Create a new store with the permissions of the umask; else it is private."
    ),
]
KeepGoing = Annotated[bool, typer.Option("--keep-going", help="Exit 0 even if files were refused.")]
Once = Annotated[bool, typer.Option("--once", help="Exit when nothing new is left, e.g. for cron.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show neither progress nor notes, only refusals.")
]
ETRECORD = TextOption(
    "etrecord",
    "FILE",
    "ETRecord of all dumps; by default NAME.etrecord in the folder of each, or the only one there.",
)
Yes = Annotated[
    bool, typer.Option("--yes", help="Make the change; without --yes, only show what would change.")
]
Dump = Annotated[
    str | None,
    typer.Option("--dump", metavar="SHA256", help="SHA-256 of the dump, or its first digits."),
]


@dataclass(frozen=True)
class _StoreChoice:
    store: StorePath = DEFAULT_STORE
    wait: Wait = 0.0


@dataclass(frozen=True)
class StoreOptions(OutputOptions, _StoreChoice):
    """The store that a command works with, how long to wait for it, and how to print rows."""


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's last parameter, if that is a group of options, by these options."""
    signature = inspect.signature(function, eval_str=True)
    *own, last = signature.parameters.values()
    group = last.annotation
    if not (isinstance(group, type) and issubclass(group, OutputOptions)):
        return function
    types, kind = get_type_hints(group, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(one.name, kind, default=one.default, annotation=types[one.name])
        for one in fields(group)
    ]

    @wraps(function)
    def run(*args: Any, **given: Any) -> None:
        values = {one.name: given.pop(one.name) for one in shared}
        with group(**values).opened() as options:
            function(*args, **given, **{last.name: options})

    run.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    return run


def add_options(function: Callable[..., None], options: Iterable[TextOption]) -> None:
    """Replace a function's ``**`` parameter by these text options, placed before --store."""
    own = inspect.signature(function, eval_str=True).parameters.values()
    made = [_parameter(option) for option in options]
    first = [parameter for parameter in own if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    last = [parameter for parameter in own if parameter.kind is parameter.KEYWORD_ONLY]
    function.__signature__ = inspect.Signature([*first, *made, *last])  # type: ignore[attr-defined]


def parameter_option(parameter: Parameter) -> TextOption:
    """The option for a parameter of a canned query."""
    is_repeatable, is_flag = parameter.type.endswith("[]"), parameter.type == "BOOLEAN"
    kind = parameter.type.removesuffix("[]")
    notes = (
        "required" if parameter.is_required else None,
        f"default: {parameter.default}" if parameter.default and not is_flag else None,
        "repeatable" if is_repeatable else None,
    )
    return TextOption(
        parameter.name,
        "|".join(parameter.choices) or _VALUES.get(kind, kind),
        "  ".join([parameter.doc, *(f"[{note}]" for note in notes if note)]),
        is_repeatable=is_repeatable,
        is_flag=is_flag,
        may_be_blank=True,  # what a name or text may be is checked with the parameter
        panel=FILTERS if parameter.name in _FILTERS and not parameter.is_required else None,
    )


def refuse_blank(value: str | None) -> str | None:
    """The value of an option, unless it is blank.

    Raises:
        BadParameter: The value is blank.
    """
    if value is not None and not value.strip():
        raise typer.BadParameter(
            "empty: give a value, or leave the option out (is a variable of the shell not set?)"
        )
    return value


def _parameter(option: TextOption) -> inspect.Parameter:
    flag = f"--{option.name.replace('_', '-')}"
    metavar = None if option.is_flag else option.metavar
    check = None if option.is_flag or option.may_be_blank else refuse_blank
    declaration = typer.Option(
        flag, metavar=metavar, help=option.help, callback=check, rich_help_panel=option.panel
    )
    type_: object = list[str] | None if option.is_repeatable else str | None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if option.is_flag else None,
        annotation=Annotated[bool if option.is_flag else type_, declaration],
    )


def parse_fields(texts: Sequence[str], option: str) -> dict[str, str]:
    """Values by name, of texts FIELD=VALUE,... of an option.

    Raises:
        BadParameter: A part is not FIELD=VALUE.
    """
    parts = [part for text in texts for part in _NEXT_FIELD.split(text)]
    wrong = [part for part in parts if "=" not in part]
    if wrong:
        raise typer.BadParameter(
            f"found '{wrong[0]}', wanted FIELD=VALUE", param_hint=f"'{option}'"
        )
    return dict(part.split("=", 1) for part in parts)
