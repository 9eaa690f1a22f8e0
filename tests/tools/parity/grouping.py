"""The events of a dump as the Inspector groups them, with what it drops kept beside.

A group is what has one instruction, chain and delegate id in a run. Groups make signatures; of
groups or profile events with equal signatures the Inspector keeps the last (I1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.support.plain_signatures import event_groups, is_output, text, unless

Json = dict[str, Any]


class Signature(NamedTuple):
    """What tells events of a run apart; `debug_name` is None if no value was logged for it."""

    instruction_id: int
    profile_name: str | None
    debug_name: str | None
    delegate_id_int: int | None
    delegate_id_str: str | None

    @property
    def name(self) -> str:
        """The delegate id of a delegated event, else the logged value's name, else its own."""
        if self.delegate_id is not None:
            return str(self.delegate_id)
        return self.debug_name or self.profile_name or ""

    @property
    def delegate_id(self) -> int | str | None:
        """The id that counts."""
        return self.delegate_id_str if self.delegate_id_int is None else self.delegate_id_int


class Member(NamedTuple):
    """A profile event, if any, with the values logged in its group, by their place in the run."""

    place: int
    profile: Json | None
    values: dict[int, Json | None]
    chain_index: int


@dataclass
class Block:
    """The runs of one signature; per event signature its members in each run, the kept one last."""

    name: str | None
    bundled_input_index: int
    runs: list[Json] = field(default_factory=list)
    events: dict[Signature, list[list[Member]]] = field(default_factory=dict)


def group_blocks(content: Mapping[str, Any], *, drops_second_member: bool) -> list[Block]:
    """The blocks of a dump as the reference reader gives it, in order of first appearance."""
    blocks: dict[tuple[Any, ...], Block] = {}
    for run in content.get("run_data", []):
        if "events" not in run:
            continue
        events = _run_events(run["events"], 1 if drops_second_member else 2)
        name, index = text(run.get("name")), run["bundled_input_index"]
        block = blocks.setdefault((name, index, *events), Block(name, index))
        block.runs.append(run)
        for signature, members in events.items():
            block.events.setdefault(signature, []).append(members)
    return list(blocks.values())


def outputs_of(run: Mapping[str, Any]) -> list[Json]:
    """The values of a run that are program outputs, in file order."""
    debug = (event["debug_event"] for event in run["events"] if "debug_event" in event)
    return [event["debug_entry"] for event in debug if is_output(event)]


def _run_events(
    events: Sequence[Mapping[str, Any]], kinds_per_event: int
) -> dict[Signature, list[Member]]:
    found: dict[Signature, list[Member]] = {}
    for group in event_groups(events, kinds_per_event):
        debug = {place: event for place, kind, event in group if kind == "debug_event"}
        logged = {place: event for place, event in debug.items() if not is_output(event)}
        values = {place: event.get("debug_entry") for place, event in logged.items()}
        profiles: list[tuple[int, Json | None]] = [
            (place, event) for place, kind, event in group if kind == "profile_event"
        ]
        if logged and not profiles:
            profiles = [(group[0][0], None)]
        for place, profile in profiles:
            member = Member(place, profile, values, group[0][2]["chain_index"])
            signature = _signature(profile, list(logged.values()))
            found.setdefault(signature, []).append(member)
    return found


def _signature(profile: Json | None, logged: Sequence[Json]) -> Signature:
    event = profile or logged[0]
    return Signature(
        event["instruction_id"],
        text(profile.get("name", "")) if profile else None,
        text(logged[0].get("name", "")) if logged else None,
        unless(-1, event["delegate_debug_id_int"]),
        text(event.get("delegate_debug_id_str")) or None,
    )
