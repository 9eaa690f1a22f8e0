"""`tracehouse report`: the changes up to a build, or between two builds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tracehouse.cli.errors import STATUS_OF_VERDICT, FailOnRegression, as_usage_errors
from tracehouse.cli.options import DEFAULT_STORE, Branch, Config, Head, LakeUri, StorePath, Wait
from tracehouse.cli.output.elapsed import elapsed_line
from tracehouse.cli.output.options import OutputFile
from tracehouse.cli.output.output_file import form_of_file, standard_output_to
from tracehouse.cli.output.streams import write_note, write_text
from tracehouse.cli.remote import RemoteReport
from tracehouse.cli.stores import open_to_read, open_with_night, service_instead_of_store
from tracehouse.queries.report.forms import SUFFIXES, Form, render

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Report

_DOING = "making the report"
_Base = Annotated[
    str | None, typer.Option("--base", metavar="BUILD", help="Compare --head with this build.")
]
_Form = Annotated[
    Form | None,
    typer.Option("--format", help="Report format; by default chosen by the suffix of --output."),
]
_Slack = Annotated[
    str | None,
    typer.Option("--slack", metavar="URL", help="Also post the report to this Slack webhook."),
]


class _Builds(NamedTuple):
    """The builds that a report is about, as the options name them."""

    base: str | None
    head: str | None
    branch: str | None

    def check(self) -> None:
        """Check that the builds name one report.

        Raises:
            BadParameter: The builds name several.
        """
        if self.base is not None and self.head is None:
            problem, option = "wanted the build to compare with --base", "--head"
        elif self.branch is not None and self.head is not None:
            problem, option = "wanted either --head or --branch", "--branch"
        else:
            return
        raise typer.BadParameter(problem, param_hint=f"'{option}'")


def report(
    base: _Base = None,
    head: Head = None,
    branch: Branch = None,
    form: _Form = None,
    output: OutputFile = None,
    config: Config = None,
    slack: _Slack = None,
    store: StorePath = DEFAULT_STORE,
    lake: LakeUri = None,
    wait: Wait = 0.0,
    *,
    is_failing: FailOnRegression = False,
) -> None:
    """Report what changed up to the newest build, or between two builds (--base and --head).

    Without --base, the newest build, or --head, is judged against the builds before it, night by
    night. With --base and --head, the report has the answer of 'tracehouse compare'.

    A terminal shows the verdict, the alerts and the next command. Pipes get Markdown, and files the
    form that their suffix names.

    Raises:
        BadParameter: The builds that are named make no report.
        Exit: With status 3, 4 or 5, if --fail-on-regression is given; see `STATUS_OF_VERDICT`.
    """
    from tracehouse.warehouse.catalogue.parameters import bind_parameters
    from tracehouse.warehouse.catalogue.queries import find_query

    builds = _Builds(base, head, branch)
    builds.check()
    if base is not None:
        with as_usage_errors():
            bind_parameters(find_query("comparison"), {"base": base, "head": head})
    chosen: Form = form_of_file(output, SUFFIXES, "markdown") if form is None else form
    with _report(store, wait, lake, config, builds) as (made, text_of):
        is_read = form is None and output is None and sys.stdout.isatty()
        with elapsed_line(_DOING):  # a service makes the report only now
            text = text_of("json" if is_read else chosen)
        with standard_output_to(output):
            if is_read:
                _write_for_people(text)
            else:
                write_text(text)
        if output is not None:  # else the user reads the report itself
            for note in made.notes:
                write_note(f"note: {note}")
            write_note(made.summary)
            is_told = form is not None or output.suffix != ""
            write_note(f"report: {os.fspath(output)}{'' if is_told else f', in {chosen}'}")
        if slack is not None:
            from tracehouse.queries.report.slack import post_payload

            post_payload(text_of("slack"), slack)
        if is_failing and made.verdict in STATUS_OF_VERDICT:
            raise typer.Exit(STATUS_OF_VERDICT[made.verdict])


def _write_for_people(text: str) -> None:
    """Print a report in JSON as people read it on a terminal."""
    from rich.console import Console

    from tracehouse.cli.output.compared_builds import write_styled
    from tracehouse.queries.report.content import Report
    from tracehouse.queries.report.terminal import report_lines

    write_styled(report_lines(Report.model_validate_json(text), width=Console().width))


@contextmanager
def _report(
    store: Path, wait: float, lake: str | None, config: Path | None, builds: _Builds
) -> Iterator[tuple[Report | RemoteReport, Callable[[Form], str]]]:
    """The report, made from a store or lake, or by a service, and its texts by their form."""
    if service := service_instead_of_store(lake):
        service.reject_settings(config)
        with service.connect(retry_seconds=wait) as connection:
            remote = RemoteReport(connection, **builds._asdict())
            yield remote, remote.text
        return
    from tracehouse.queries.report.settings import read_settings

    settings = read_settings(config).of_branch(builds.branch)
    base, head, _ = builds
    if base is not None:
        from tracehouse.queries.report.pairwise import compare_report

        with open_to_read(store, wait=wait, lake=lake) as warehouse, elapsed_line(_DOING):
            made = compare_report(warehouse, settings, base=base, head=head)
    else:
        opened = open_with_night(store, head, settings, wait=wait, lake=lake)
        with elapsed_line(_DOING), opened as (_, made):
            pass
    yield made, partial(render, made)
