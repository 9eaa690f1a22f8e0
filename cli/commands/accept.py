"""`tracehouse accept`: decisions about groups of alerts."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.errors import as_usage_errors
from tracehouse.cli.options import DEFAULT_STORE, Config, Head, StorePath, Wait
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.upkeep.task import run_task
from tracehouse.cli.upkeep.triage import Accept

_Groups = Annotated[
    list[str] | None,
    typer.Argument(metavar="GROUP", help="Ids of groups, as reports show them."),
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
    store: StorePath = DEFAULT_STORE,
    wait: Wait = 0.0,
    is_acknowledged: _Acknowledge = False,
    is_reopened: _Reopen = False,
) -> None:
    """Accept the changes of groups: later builds are compared with the new level.

    Name the groups, or select groups that match --model, --device and --since.

    Raises:
        BadParameter: Two decisions are given.
    """
    if is_acknowledged and is_reopened:
        raise typer.BadParameter("wanted --acknowledge or --reopen, not both")
    with as_usage_errors():
        task = Accept(
            reason=reason,
            groups=tuple(groups or ()),
            state="acknowledged" if is_acknowledged else "reopened" if is_reopened else "accepted",
            model=tuple(model or ()),
            device=tuple(device or ()),
            since=since,
            head=head,
        )
    for row in run_task(task, store, wait=wait, config=config).to_pylist():
        write_note(f"{row['group_id']}: {row['state']}")
