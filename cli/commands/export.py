"""`tracehouse export`: what others read, made of dumps or of a store."""

from __future__ import annotations

import typer

from cli.commands.export_trace import trace

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    short_help="Write what other programs read.",
    help="Write what other programs read.",
)

app.command()(trace)
