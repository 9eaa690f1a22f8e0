"""`tracehouse accept`: decisions about groups of alerts."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import DEFAULT_STORE, Config, Head, Store, Wait
from cli.output.streams import write_note
from cli.stores import open_to_write

_Groups = Annotated[
    list[str] | None,
    typer.Argument(metavar="[GROUP]...", help="Ids of groups, as reports show them."),
]
_Model = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="NAME", help="All regressions of these models; globs allowed."),
]
_Device = Annotated[
    list[str] | None,
    typer.Option(
        "--device", metavar="NAME", help="All regressions on these devices; globs allowed."
    ),
]
_Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="BUILD", help="All regressions that began in this build or later."
    ),
]
_Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason for the decision.")]
_Acknowledge = Annotated[
    bool,
    typer.Option("--acknowledge", help="The alert is being worked on: keep it, but fail no night."),
]
_Reopen = Annotated[bool, typer.Option("--reopen", help="Withdraw an earlier decision.")]


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
    """Accept the changes of groups: later builds are compared with the new level.

    Name the groups, or select groups that match --model, --device and --since.

    Raises:
        BadParameter: Two decisions, no group, or an empty reason are given.
    """
    from queries.report.choosing import GroupFilter, choose_groups

    if is_acknowledged and is_reopened:
        raise typer.BadParameter("wanted --acknowledge or --reopen, not both")
    if not reason.strip():
        raise typer.BadParameter("wanted a reason, found none", param_hint="'--reason'")
    chosen = GroupFilter(model or (), device or (), since)
    if not groups and not chosen.is_given:
        raise typer.BadParameter(
            "wanted groups, --model, --device or --since", param_hint="'GROUP'"
        )
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
