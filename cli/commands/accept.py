"""`tracehouse accept`: what you decide about a group of alerts."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import DEFAULT_STORE, Config, Head, Store, Wait
from cli.output.streams import write_note
from cli.stores import open_to_write

_Group = Annotated[str, typer.Argument(metavar="GROUP", help="Id of the group, as reports say it.")]
_Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for those who ask.")]
_Acknowledge = Annotated[
    bool,
    typer.Option("--acknowledge", help="Somebody works on it: it stays, but fails no night."),
]
_Reopen = Annotated[bool, typer.Option("--reopen", help="Take an earlier decision back.")]


def accept(
    group: _Group,
    reason: _Reason,
    head: Head = None,
    config: Config = None,
    store: Store = DEFAULT_STORE,
    wait: Wait = 0.0,
    *,
    is_acknowledged: _Acknowledge = False,
    is_reopened: _Reopen = False,
) -> None:
    """Accept the change of a group: its new level is what later builds are compared with.

    Raises:
        BadParameter: Two decisions at once, or a reason without a word.
    """
    if is_acknowledged and is_reopened:
        raise typer.BadParameter("--acknowledge or --reopen, not both")
    if not reason.strip():
        raise typer.BadParameter("say why, in words", param_hint="'--reason'")
    state = "acknowledged" if is_acknowledged else "reopened" if is_reopened else "accepted"
    from queries.report.night import find_group, judge_head
    from queries.report.settings import read_settings

    settings = read_settings(config)
    with open_to_write(store, wait=wait) as warehouse:
        night = judge_head(warehouse, head, settings)
        if group not in night.decisions:
            find_group(night, group, "accept")
        warehouse.decide(group, state=state, reason=reason)
    write_note(f"{group}: {state}")
