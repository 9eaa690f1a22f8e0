"""`tracehouse accept`: what you decide about a group of alerts."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import DEFAULT_STORE, Config, Head, Store, Wait
from cli.output.streams import write_note
from cli.stores import open_to_write

_Groups = Annotated[
    list[str] | None,
    typer.Argument(metavar="[GROUP]...", help="Ids of groups, as reports say them."),
]
_Model = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="NAME", help="All regressions of these models; globs too."),
]
_Device = Annotated[
    list[str] | None,
    typer.Option("--device", metavar="NAME", help="All regressions on these devices; globs too."),
]
_Since = Annotated[
    str | None,
    typer.Option("--since", metavar="BUILD", help="All that began in this build or later."),
]
_Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for those who ask.")]
_Acknowledge = Annotated[
    bool,
    typer.Option("--acknowledge", help="Somebody works on it: it stays, but fails no night."),
]
_Reopen = Annotated[bool, typer.Option("--reopen", help="Take an earlier decision back.")]


def accept(
    groups: _Groups = None,
    *,
    reason: _Reason,
    model: _Model = None,
    device: _Device = None,
    since: _Since = None,
    head: Head = None,
    config: Config = None,
    store: Store = DEFAULT_STORE,
    wait: Wait = 0.0,
    is_acknowledged: _Acknowledge = False,
    is_reopened: _Reopen = False,
) -> None:
    """Accept the changes of groups: their new level is what later builds are compared with.

    Name the groups, or choose them by --model, --device and --since, which must all hold.

    Raises:
        BadParameter: Two decisions at once, no group, or a reason without a word.
    """
    from queries.report.choosing import GroupFilter, choose_groups

    if is_acknowledged and is_reopened:
        raise typer.BadParameter("--acknowledge or --reopen, not both")
    if not reason.strip():
        raise typer.BadParameter("say why, in words", param_hint="'--reason'")
    chosen = GroupFilter(model or (), device or (), since)
    if not groups and not chosen.is_given:
        raise typer.BadParameter("say which, or --model, --device or --since", param_hint="'GROUP'")
    state = "acknowledged" if is_acknowledged else "reopened" if is_reopened else "accepted"
    from queries.report.exact_alerts import judge_measures
    from queries.report.night import judge_head
    from queries.report.settings import read_settings

    settings = read_settings(config)
    with open_to_write(store, wait=wait) as warehouse:
        night = judge_head(warehouse, head, settings)
        exact = judge_measures(warehouse, night)
        ids = choose_groups(night, exact, groups or (), chosen)
        for group in ids:
            warehouse.decide(group, state=state, reason=reason)
            write_note(f"{group}: {state}")
