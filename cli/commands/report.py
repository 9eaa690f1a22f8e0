"""`tracehouse report`: what changed up to a build, or between two, in one page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from cli.errors import options_at_fault
from cli.exit_codes import STATUS_OF_VERDICT, FailOnRegression
from cli.options import DEFAULT_STORE, Config, Head, LakeUri, Store, Wait
from cli.output.elapsed import elapsed_line
from cli.output.streams import write_note, write_text
from cli.output_file import standard_output_to
from cli.stores import open_to_read, service_instead_of_store
from queries.report.forms import SUFFIXES, Form, render

if TYPE_CHECKING:
    from cli.remote.reports import RemoteReport
    from queries.report.content import Report

_DOING = "making the report"
_Base = Annotated[
    str | None, typer.Option("--base", metavar="BUILD", help="Compare with this build alone.")
]
_Nightly = Annotated[
    bool, typer.Option("--nightly", help="Compare with the builds before it, night by night.")
]
_Form = Annotated[
    Form | None,
    typer.Option("--format", help="Form of the report; else by the suffix of --output."),
]
_File = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write to FILE, once all of it is there."),
]
_Slack = Annotated[
    str | None,
    typer.Option("--slack", metavar="URL", help="Post it to a Slack webhook too."),
]


class _Asked(NamedTuple):
    """What the report is of: a store, or a lake, and how long to wait for it."""

    store: Path
    wait: float
    lake: str | None


def report(
    base: _Base = None,
    head: Head = None,
    form: _Form = None,
    output: _File = None,
    config: Config = None,
    slack: _Slack = None,
    store: Store = DEFAULT_STORE,
    lake: LakeUri = None,
    wait: Wait = 0.0,
    *,
    is_nightly: _Nightly = False,
    is_failing: FailOnRegression = False,
) -> None:
    """Report what changed up to a build (--nightly), or between two (--base and --head).

    Raises:
        BadParameter: Neither or both kinds of report are asked for.
        Exit: With status 3, 4 or 5, if that was asked for; see `STATUS_OF_VERDICT`.
    """
    from warehouse.catalogue.parameters import bind_parameters
    from warehouse.catalogue.queries import find_query

    if is_nightly == (base is not None):
        raise typer.BadParameter("say either --nightly or --base BUILD", param_hint="'--nightly'")
    if base is not None and head is None:
        raise typer.BadParameter("say which build to compare, too", param_hint="'--head'")
    if base is not None:
        with options_at_fault():
            bind_parameters(find_query("comparison"), {"base": base, "head": head})
    asked = _Asked(store, wait, lake)
    suffix = output.suffix.lower() if output else ""
    with _report(asked, config, base=base, head=head) as made:
        with elapsed_line(_DOING):  # a service makes it now
            chosen = form or SUFFIXES.get(suffix, "markdown")
            text = _text(made, chosen)
        with standard_output_to(output):
            write_text(text)
        if output is not None:  # else the report itself is read
            for note in made.notes:
                write_note(f"note: {note}")
            write_note(made.summary)
            is_said = form is not None or suffix in SUFFIXES
            known = f", in {chosen}, as its name ends in none of {', '.join(SUFFIXES)}"
            write_note(f"report: {os.fspath(output)}{'' if is_said else known}")
        if slack is not None:
            from queries.report.slack import post_payload

            post_payload(_text(made, "slack"), slack)
        if is_failing and made.verdict in STATUS_OF_VERDICT:
            raise typer.Exit(STATUS_OF_VERDICT[made.verdict])


@contextmanager
def _report(
    asked: _Asked, config: Path | None, *, base: str | None, head: str | None
) -> Iterator[Report | RemoteReport]:
    """The report, made of a store or lake, or by a service."""
    service = service_instead_of_store()
    if service is None or asked.lake is not None:
        yield _make_report(asked, config, base=base, head=head)
        return
    from cli.remote.reports import RemoteReport

    service.need_no_settings(config)
    with service.connect(retry_seconds=asked.wait) as connection:
        yield RemoteReport(connection, base=base, head=head)


def _make_report(
    asked: _Asked, config: Path | None, *, base: str | None, head: str | None
) -> Report:
    from queries.report.nightly import nightly_report
    from queries.report.pairwise import compare_report
    from queries.report.settings import read_settings

    settings = read_settings(config)
    with (
        open_to_read(asked.store, wait=asked.wait, lake=asked.lake) as warehouse,
        elapsed_line(_DOING),
    ):
        if base is None or head is None:
            return nightly_report(warehouse, settings, head=head)
        return compare_report(warehouse, settings, base=base, head=head)


def _text(made: Report | RemoteReport, form: Form) -> str:
    from cli.remote.reports import RemoteReport

    return made.text(form) if isinstance(made, RemoteReport) else render(made, form)
