"""`tracehouse explain`: what differs between the two builds of an alert."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.files import file_source
from tracehouse.cli.options import DEFAULT_STORE, Config, Head, LakeUri, StorePath, Wait
from tracehouse.cli.output.elapsed import elapsed_line
from tracehouse.cli.output.options import OutputFile
from tracehouse.cli.output.output_file import form_of_file, standard_output_to
from tracehouse.cli.output.streams import write_note, write_text
from tracehouse.cli.remote import RemoteStore
from tracehouse.cli.stores import open_with_night, service_instead_of_store
from tracehouse.queries.explain.forms import SUFFIXES, Form, render

if TYPE_CHECKING:
    from tracehouse.queries.explain.content import ProgramChange

_DOING = "explaining the alert"
_Group = Annotated[
    str, typer.Argument(metavar="GROUP", help="Id of the alert's group, as reports show it.")
]
_Form = Annotated[
    Form | None,
    typer.Option("--format", help="Format; by default chosen by the suffix of --output, or text."),
]
_BaseProgram = Annotated[
    str | None,
    typer.Option(
        "--base-program",
        metavar="FILE",
        help="ETRecord or .pte of the costliest model, good build.",
    ),
]
_HeadProgram = Annotated[
    str | None, typer.Option("--head-program", metavar="FILE", help="The same of the bad build.")
]


def explain(
    group: _Group,
    head: Head = None,
    base_program: _BaseProgram = None,
    head_program: _HeadProgram = None,
    form: _Form = None,
    output: OutputFile = None,
    config: Config = None,
    store: StorePath = DEFAULT_STORE,
    lake: LakeUri = None,
    wait: Wait = 0.0,
) -> None:
    """Explain an alert: what differs between its last good build and its first bad one.

    Compares, at the costliest place of each model, the programs (calls, shapes, delegates,
    constants, from the ETRecords that came with the dumps), the time by module and operator,
    environment, memory, counters and logged values.

    Raises:
        BadParameter: Only one program is named, or programs and a service.
    """
    if (base_program is None) != (head_program is None):
        raise typer.BadParameter(
            "wanted both --base-program and --head-program", param_hint="'--base-program'"
        )
    chosen: Form = form_of_file(output, SUFFIXES, "text") if form is None else form
    if service := service_instead_of_store(lake):
        if base_program is not None:
            raise typer.BadParameter(
                "files are compared with a local store only; leave out --url and $TRACEHOUSE_URL",
                param_hint="'--base-program'",
            )
        service.reject_settings(config)
        with service.connect(retry_seconds=wait) as connection, elapsed_line(_DOING):
            text = RemoteStore(connection).document(
                "/v1/explain", chosen, {"group": group, "head": head}
            )
    else:
        from tracehouse.queries.explain.explanation import explain_group
        from tracehouse.queries.report.settings import read_settings

        files = _compare_files(base_program, head_program)
        opened = open_with_night(store, head, read_settings(config), wait=wait, lake=lake)
        with elapsed_line(_DOING), opened as (warehouse, report):
            made = explain_group(warehouse, report, group, files=files)
        text = render(made, chosen)
    with standard_output_to(output):
        write_text(text)
    if output is not None:
        write_note(f"explanation: {os.fspath(output)}")


def _compare_files(base: str | None, head: str | None) -> list[ProgramChange] | None:
    """The differences of two program files; None without any."""
    if base is None or head is None:
        return None
    from tracehouse.ingest.etrecord.differences import compare_programs
    from tracehouse.queries.explain.programs import changes_of_files

    return changes_of_files(compare_programs(file_source(base), file_source(head)))
