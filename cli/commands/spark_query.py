"""`tracehouse spark query` and `tracehouse spark report`: query a lake with Apache Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.commands.query import QueryGroup, parse_parameters, query_command
from tracehouse.cli.errors import STATUS_OF_VERDICT, FailOnRegression, fail
from tracehouse.cli.help import command_group
from tracehouse.cli.options import Branch, Config, Head, Master, add_options, parameter_option
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.streams import write_text
from tracehouse.queries.report.forms import Form
from tracehouse.warehouse.catalogue.queries import Query, find_query

if TYPE_CHECKING:
    import pyarrow as pa
    from typer._click import Command

    from tracehouse.warehouse.spark.answers import SparkLake

_QueriedLake = Annotated[
    str, typer.Option("--lake", metavar="URI", help="The lake: a folder or a URI.")
]
_Form = Annotated[Form, typer.Option("--format", help="Report format.")]


class _SparkCatalogue(QueryGroup):
    """The canned queries of a lake."""

    def get_command(self, ctx: object, cmd_name: str) -> Command:
        query = find_query(cmd_name.replace("-", "_"))
        return query_command(query, _function(query))


queries = command_group(
    "Answer a canned query from a lake. 'tracehouse spark query NAME --help' shows its "
    "options and columns.",
    short="Answer a canned query from a lake.",
    cls=_SparkCatalogue,
    metavar="NAME [OPTIONS]",
)


@contextmanager
def _opened(lake: str, master: str | None) -> Iterator[SparkLake]:
    from tracehouse.warehouse.lake.commits import read_filled_state
    from tracehouse.warehouse.lake.place import Lake
    from tracehouse.warehouse.spark.answers import SparkLake
    from tracehouse.warehouse.spark.session import opened_session

    state = read_filled_state(Lake(lake))
    with opened_session(master) as session:
        yield SparkLake(session, lake, state)


def _function(query: Query) -> Callable[..., None]:
    def run(
        context: typer.Context,
        *,
        lake: _QueriedLake,
        master: Master = None,
        options: OutputOptions,
        **params: str | list[str] | bool | None,
    ) -> None:
        given = parse_parameters(query, context, params)
        answer = _judge if query.is_nightly else _ask
        with _opened(lake, master) as store:
            table = answer(store, query.header.name, given)
        options.write(table, query=query.header.name)

    add_options(run, map(parameter_option, query.header.params))
    return run


def _ask(store: SparkLake, name: str, params: Mapping[str, object]) -> pa.Table:
    return store.query(name, **params)


def _judge(store: SparkLake, name: str, params: Mapping[str, object]) -> pa.Table:
    """The rows of a query that Python answers, by the thresholds of ./tracehouse.toml."""
    from tracehouse.queries.answers import answer_by_settings
    from tracehouse.queries.report.settings import read_settings
    from tracehouse.warehouse.regressions.computed import Judges
    from tracehouse.warehouse.spark.answers import judge_on_spark

    judges = Judges(night=partial(judge_on_spark, store))
    return answer_by_settings(store, name, params, read_settings(), judges=judges)


def report(
    *,
    lake: _QueriedLake,
    master: Master = None,
    head: Head = None,
    branch: Branch = None,
    form: _Form = "markdown",
    config: Config = None,
    is_failing: FailOnRegression = False,
) -> None:
    """Report changes up to a build in a lake, as 'tracehouse report' does.

    Verdicts are computed on the machines of Spark, for fleets that are too large for one machine.
    """
    from tracehouse.queries.report.forms import render
    from tracehouse.queries.report.nightly import nightly_report
    from tracehouse.queries.report.settings import read_settings
    from tracehouse.warehouse.spark.answers import judge_on_spark

    settings = read_settings(config).of_branch(branch)
    with _opened(lake, master) as store:
        judge = partial(judge_on_spark, store)
        made = nightly_report(store, settings, head=head, judge=judge)
    write_text(render(made, form))
    if is_failing and made.verdict in STATUS_OF_VERDICT:
        fail(STATUS_OF_VERDICT[made.verdict])
