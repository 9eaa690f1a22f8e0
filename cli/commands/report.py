"""`tracehouse report`: what changed up to a build, or between two, in one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from cli.exit_codes import ExitCode
from cli.options import DEFAULT_STORE, Config, Head, Store, Wait
from cli.output.streams import write_note, write_text
from cli.output_file import standard_output_to
from cli.stores import open_to_read
from queries.report.forms import Form, render

_BY_SUFFIX: dict[str, Form] = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".xml": "junit",
    ".md": "markdown",
}

_Base = Annotated[
    str | None, typer.Option("--base", metavar="BUILD", help="Compare with this build alone.")
]
_Nightly = Annotated[
    bool, typer.Option("--nightly", help="Compare with the builds before it, night by night.")
]
_Form = Annotated[
    Literal["html", "markdown", "json", "junit", "slack"] | None,
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
_Fail = Annotated[
    bool, typer.Option("--fail-on-regression", help="Exit 3 if a regression is confirmed.")
]


def report(
    base: _Base = None,
    head: Head = None,
    form: _Form = None,
    output: _File = None,
    config: Config = None,
    slack: _Slack = None,
    store: Store = DEFAULT_STORE,
    wait: Wait = 0.0,
    *,
    is_nightly: _Nightly = False,
    is_failing: _Fail = False,
) -> None:
    """Report what changed up to a build (--nightly), or between two (--base and --head).

    Raises:
        BadParameter: Neither or both kinds of report are asked for.
        Exit: With status 3, if that was asked for and a regression is confirmed.
    """
    if is_nightly == (base is not None):
        raise typer.BadParameter("say either --nightly or --base BUILD", param_hint="'--nightly'")
    if base is not None and head is None:
        raise typer.BadParameter("say which build to compare, too", param_hint="'--head'")
    from queries.report.nightly import nightly_report
    from queries.report.pairwise import compare_report
    from queries.report.settings import read_settings

    settings = read_settings(config)
    with open_to_read(store, wait=wait) as warehouse:
        if base is None or head is None:
            made = nightly_report(warehouse, settings, head=head)
        else:
            made = compare_report(warehouse, settings, base=base, head=head)
    suffix = output.suffix.lower() if output else ""
    text = render(made, form or _BY_SUFFIX.get(suffix, "markdown"))
    with standard_output_to(output):
        write_text(text)
    if output is not None:
        write_note(made.summary)
        write_note(f"report: {os.fspath(output)}")
    if slack is not None:
        from queries.report.slack import post_payload

        post_payload(render(made, "slack"), slack)
    if is_failing and made.verdict == "regressions":
        raise typer.Exit(ExitCode.REGRESSIONS)
