"""Delegate calls that changed although no operator inside shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracehouse.warehouse.catalogue.sql_files import read_statement

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Group, Member
    from tracehouse.warehouse.queryable import Queryable

_PLACE = ("device", "model", "backend", "run")
_SERIES = (*_PLACE, "event_name", "delegate_id", "ordinal")


def is_refilled_call(store: Queryable, group: Group) -> bool:
    """Whether a group is of delegate calls alone that have other operators since the change.

    An operator moved to another call, or back to a kernel: that is no change of the call. The
    method shows what it costs.
    """
    members = [*group.members, *group.explains]
    if any(member.kind != "delegate_call" or member.device is None for member in members):
        return False
    builds = [group.last_good, group.first_bad]
    return all(_has_other_contents(store, member, builds) for member in members)


def _has_other_contents(store: Queryable, call: Member, builds: list[str | None]) -> bool:
    place = {name: getattr(call, name) for name in _PLACE}
    rows = store.sql(read_statement("call_contents"), {**place, "builds": builds}).to_pylist()
    contents: dict[str, set[object]] = {str(build): set() for build in builds}
    for row in rows:
        if (row["call_name"], row["call_ordinal"]) == (call.event_name, call.ordinal):
            contents[row["build"]].add((row["event_name"], row["delegate_id"], row["ordinal"]))
    before, after = contents.values()
    return bool(before) and bool(after) and before != after


def name_hidden_operators(store: Queryable, group: Group, min_change: float) -> Group:
    """The group with candidate operators for calls in which no operator changed.

    The candidates are those that `comparison` names for the last good and the first bad build;
    there are none if these two builds do not show the change by themselves.
    """
    members = [*group.members, *group.explains]
    shown = {_names(member, _PLACE) for member in members if member.kind == "delegate_op"}
    calls = [
        member
        for member in members
        if member.kind == "delegate_call" and member.device and _names(member, _PLACE) not in shown
    ]
    if not calls:
        return group
    found = store.query(
        "comparison",
        base=group.last_good,
        head=group.first_bad,
        min_change=min_change,
        device=sorted({str(call.device) for call in calls}),
        model=sorted({call.model for call in calls}),
    )
    guesses = {
        tuple(row[name] for name in _SERIES): row["may_be"]
        for row in found.to_pylist()
        if row["level"] == "delegate" and row["verdict"] == group.direction
    }

    guessed = [
        member.model_copy(update={"may_be": guesses.get(_names(member, _SERIES))})
        for member in members
    ]
    count = len(group.members)
    return group.model_copy(update={"members": guessed[:count], "explains": guessed[count:]})


def _names(member: Member, columns: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(getattr(member, column) for column in columns)
