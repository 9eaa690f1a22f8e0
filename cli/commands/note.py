"""`tracehouse note`: notes on points of series."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.errors import as_usage_errors
from tracehouse.cli.options import StoreOptions, parse_fields
from tracehouse.cli.upkeep.task import run_task
from tracehouse.cli.upkeep.triage import Note

_Text = Annotated[str, typer.Argument(metavar="TEXT", help="The note, such as 'driver update'.")]
_On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="FIELD=VALUE,...",
        help="Points of the note: build=, and unless it is on all of them, device=, pool=, model=, "
        "backend=, event=, delegate_id=, ordinal=. May be repeated.",
    ),
]
_Withdraw = Annotated[
    str | None, typer.Option("--withdraw", metavar="NOTE_ID", help="Withdraw this note instead.")
]


def note(
    text: _Text = "", *, on: _On = None, withdraw: _Withdraw = None, options: StoreOptions
) -> None:
    """Write a note on points of series, which charts and reports show, and print the note.

    'tracehouse query notes' lists all notes. A service opens the chart of one at /notes/NOTE_ID.
    """
    with as_usage_errors():
        task = Note(text=text, on=parse_fields(on or [], "--on"), withdraw=withdraw)
    options.write(run_task(task, options.store, wait=options.wait))
