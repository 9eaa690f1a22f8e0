"""A group in one line: its place, its operators, and the change of the method."""

from __future__ import annotations

from collections.abc import Sequence

from tracehouse.queries.report.content import (
    EnvironmentChange,
    Headline,
    Member,
    OperatorChange,
    base_text,
    head_text,
    is_measure,
    member_operator,
)
from tracehouse.queries.report.figures import (
    and_more,
    delta_text,
    name_text,
    place_text,
    times_text,
)


def make_headline(
    operators: Sequence[str],
    members: Sequence[Member],
    explains: Sequence[Member],
    environment: Sequence[EnvironmentChange],
    method_ns: float | None,
    edits: Sequence[OperatorChange] = (),
) -> Headline:
    """A group in one line; see `Evidence` for the arguments."""
    costs = [member.cost_ns for member in members if member.cost_ns is not None]
    place = _place(members[0])
    here = [member.cost_ns for member in members if member.cost_ns and _place(member) == place]
    whole = [member.cost_ns for member in explains if member.kind == "method" and member.cost_ns]
    return Headline(
        title=_title(members, explains, environment, edits),
        operator=operators[0],
        operators=list(operators),
        delta=members[0].delta,
        cost_ns=sum(costs) if costs else None,
        device_count=len({member.device for member in members}),
        model_count=len({(member.model, member.backend) for member in members}),
        member_count=len(members),
        total_share=sum(costs) / sum(whole) if costs and whole and sum(whole) else None,
        method_share=sum(here) / method_ns if here and method_ns else None,
    )


def order_rows(members: Sequence[Member], explains: Sequence[Member]) -> list[Member]:
    """All series of a group, place by place: the method, operators by cost, delegate calls."""
    places: dict[tuple[str | None, ...], int] = {}
    for member in members:
        places.setdefault(_place(member), len(places))
    ranked = [(1, member) for member in members]
    ranked += [(0 if member.kind == "method" else 2, member) for member in explains]
    ranked.sort(key=lambda pair: (places.get(_place(pair[1]), len(places)), pair[0]))
    return [member for _, member in ranked]


def _place(member: Member) -> tuple[str | None, ...]:
    return member.device, member.pool, member.model, member.backend, member.run


def _title(
    members: Sequence[Member],
    explains: Sequence[Member],
    environment: Sequence[EnvironmentChange],
    edits: Sequence[OperatorChange],
) -> str:
    first = members[0]
    programs = {(member.model, member.backend) for member in members}
    devices = {member.device for member in members}
    program = " · ".join(name_text(part) for part in (first.model, first.backend) if part)
    device = place_text(first.device, "", None, first.pool)
    ran = and_more(program, len(programs), "program")
    where = f"{ran} on {and_more(device, len(devices), 'device')}"
    operators = len({(m.run, m.event_name, m.delegate_id, m.ordinal, m.model) for m in members})
    methods = [each for each in explains if each.kind == "method"]
    method = next((each for each in methods if _place(each) == _place(first)), None)
    moved = method or first
    times = [_times(moved)] if moved.base_ns is not None or is_measure(moved) else []
    deltas = [] if moved.delta is None else [delta_text(moved.delta)]
    what = [and_more(member_operator(first), operators), *times, *deltas]
    if first.kind in ("method", "delegate_call") and edits:  # what it gained or lost is the cause
        what[0] = and_more(edits[0].text, len(edits))
        method = method or first
    if method:
        what[1] = f"method {what[1]}"
    names = ", ".join(sorted({change.attribute for change in environment}))
    return f"{where}: {', '.join(what)}{f', with another {names}' if names else ''}"


def _times(member: Member) -> str:
    """The values before and after the change."""
    if member.base_ns is None or member.head_ns is None:
        return f"{base_text(member)} → {head_text(member)}"
    return times_text(member.base_ns, member.head_ns)
