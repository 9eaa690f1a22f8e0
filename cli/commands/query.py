"""`tracehouse query NAME`: a canned query, with its parameters as options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tracehouse.cli.completions import complete_names
from tracehouse.cli.errors import as_usage_errors
from tracehouse.cli.help import (
    arrange_help,
    column_help,
    command_group,
    lone_command,
    query_example,
    write_groups,
)
from tracehouse.cli.options import (
    Config,
    LakeUri,
    StoreOptions,
    add_options,
    parameter_option,
    with_options,
)
from tracehouse.cli.output.render import Format
from tracehouse.cli.plots import ON_TERMINAL, Plot, check_plot, plain_plots, write_answer
from tracehouse.cli.stores import open_to_query, open_to_read, service_instead_of_store
from tracehouse.queries.answers import answer_by_settings
from tracehouse.queries.questions import FIRST, QUESTIONS
from tracehouse.warehouse.catalogue.parameters import bind_parameters
from tracehouse.warehouse.catalogue.queries import Query, find_query, list_queries

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter


class QueryGroup(TyperGroup):
    """The canned queries as commands, listed by question."""

    def list_commands(self, ctx: Context) -> list[str]:
        """The names of all queries."""
        return list(list_queries())

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the queries by question, those for a first look before all."""
        rest = {
            title: [name for name in names if name not in FIRST]
            for title, names in QUESTIONS.items()
        }
        write_groups(
            formatter,
            (
                (title, [(name, find_query(name).header.purpose) for name in names])
                for title, names in {"First": FIRST, **rest}.items()
            ),
        )


class _Catalogue(QueryGroup):
    """The canned queries of a store, each made on first use."""

    def get_command(self, ctx: object, cmd_name: str) -> Command:
        query = find_query(cmd_name.replace("-", "_"))
        make = _judging_function if query.is_nightly else _function
        return query_command(query, make(query))


class _CannedQuery(TyperCommand):
    """A canned query, whose --plot may come without a file."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        parsed: list[str] = super().parse_args(ctx, plain_plots(args))
        if ctx.params.get("plot") in (None, ON_TERMINAL):
            return parsed
        if ctx.params["output_file"]:
            raise typer.BadParameter("wanted --plot FILE or --output FILE, not both")
        if ctx.params["format"] != Format.TABLE:
            raise typer.BadParameter(
                "wanted --plot FILE, whose suffix names the format, or --format, not both"
            )
        return parsed


app = command_group(
    "Answer a canned query. 'tracehouse query NAME --help' shows its options and columns.",
    short="Answer a canned query.",
    cls=_Catalogue,
    metavar="NAME [OPTIONS]",
)


def query_command(query: Query, run: Callable[..., None]) -> Command:
    """The command of a canned query, which calls `run`, with the help from the query's header."""
    header = query.header
    single = lone_command()
    single.command(
        header.name,
        help=f"{header.purpose}\n\n{header.description}",
        short_help=header.purpose,
        epilog=column_help(header.columns),
        # Unknown options reach the function, which reports all errors of parameters alike.
        cls=_CannedQuery,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )(with_options(run))
    command = get_command(single)
    complete_names(command)
    return arrange_help(command, [query_example(header)])


def _function(query: Query) -> Callable[..., None]:
    name = query.header.name

    def run(
        context: typer.Context,
        *,
        lake: LakeUri = None,
        plot: Plot = None,
        options: StoreOptions,
        **params: str | list[str] | bool | None,
    ) -> None:
        check_plot(name, plot)
        given = parse_parameters(query, context, params)
        if service_instead_of_store(lake) is None:
            given = _with_expected(query, given)
        with (
            open_to_query(options.store, wait=options.wait, lake=lake) as warehouse,
            warehouse.stream_query(name, given) as rows,
        ):
            if not options.format.is_for_people:
                options.write(rows)
                return
            table = rows.read_all()
        write_answer(name, table, options, plot=plot, params=given)

    add_options(run, map(parameter_option, query.header.params))
    return run


def _judging_function(query: Query) -> Callable[..., None]:
    name = query.header.name

    def run(
        context: typer.Context,
        *,
        config: Config = None,
        lake: LakeUri = None,
        plot: Plot = None,
        options: StoreOptions,
        **params: str | list[str] | bool | None,
    ) -> None:
        check_plot(name, plot)
        given = parse_parameters(query, context, params)
        if service := service_instead_of_store(lake):
            service.reject_settings(config)
            with open_to_query(options.store, wait=options.wait) as store:
                table = store.query(name, **given)
        else:
            from tracehouse.queries.report.settings import read_settings

            settings = read_settings(config)
            with open_to_read(options.store, wait=options.wait, lake=lake) as warehouse:
                table = answer_by_settings(warehouse, name, given, settings)
        write_answer(name, table, options, plot=plot, params=given)

    add_options(run, map(parameter_option, query.header.params))
    return run


def _with_expected(query: Query, given: dict[str, object]) -> dict[str, object]:
    """The parameters, with `expected` from ./tracehouse.toml if the query has that parameter."""
    if not any(parameter.name == "expected" for parameter in query.header.params):
        return given
    from tracehouse.queries.report.settings import read_settings

    return read_settings().with_expected(query.header, given)


def parse_parameters(
    query: Query, context: typer.Context, params: Mapping[str, object]
) -> dict[str, object]:
    """The given parameters, checked before a store is opened.

    Raises:
        UsageError: A parameter is unknown, missing or of the wrong type.
    """
    given = {param: value for param, value in params.items() if value not in (None, [])}
    with as_usage_errors():
        bind_parameters(query, {**given, **_unknown(context.args)})
    return given


def _unknown(args: list[str]) -> dict[str, str]:
    if not args:
        return {}
    if not args[0].startswith("--"):
        raise typer.BadParameter(f"unexpected '{args[0]}'; parameters are options: --NAME VALUE")
    name, _, value = args[0].removeprefix("--").partition("=")
    return {name.replace("-", "_"): value}
