"""Signatures of events and runs, computed from nested dicts one event at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

NOT_KERNELS = {
    "Method::execute", "Method::init", "Program::load_method", "OPERATOR_CALL", "DELEGATE_CALL",
    "delegate_execute", "JF_CALL", "MOVE_CALL", "FREE_CALL",
}  # fmt: skip
_NAMED_KERNEL = re.compile(r"native_call_.*|\w+(::\w+)+\.\w+", re.ASCII | re.DOTALL)
_ETHOS_U = re.compile(r"\+?(EthosU|Arm)Backend::(execute|init)\(\).*", re.DOTALL)

Member = tuple[int, str, Mapping[str, Any]]  # place in the run, kind and content


class EventSignature(NamedTuple):
    """An event signature as a table shows it, its kind only so far as it is a kernel's."""

    name: str
    instruction_id: int | None
    delegate_id_int: int | None
    delegate_id_str: str | None
    is_profiled: bool
    is_logged: bool
    debug_name: str | None
    name_hex: str | None
    is_kernel: bool


class RunSignature(NamedTuple):
    """A run signature as a table shows it, with its events spelt out."""

    name: str | None
    bundled_input_index: int
    events: tuple[EventSignature, ...]


def group_run(
    events: Sequence[Mapping[str, Any]],
) -> tuple[tuple[EventSignature, ...], list[EventSignature]]:
    """The Inspector's grouping, in a simple form.

    Events are gathered by (instruction, chain, delegate ids) in order of first appearance. In a
    group each profile event forms a signature with the group's first logged value that is
    not a program output; a group with only logged values forms one signature. Without a delegate
    id, an event with the name of a kernel is one; so is what precedes the first OPERATOR_CALL of
    its group, if the group has no kernel by name and nobody else logs an event of its name.

    Returns:
        The run's distinct signatures in order, and the signature of each profile event in file
        order.
    """
    distinct: list[EventSignature] = []
    of_profile: dict[int, EventSignature] = {}
    groups = list(event_groups(events))
    unnamed = {kernel for members in groups for kernel in _unnamed_kernels(members)}
    for members in groups:
        logged = next((e for _, k, e in members if k == "debug_event" and not is_output(e)), None)
        profiles = [(place, e) for place, k, e in members if k == "profile_event"]
        if logged and not profiles:
            distinct.append(_event_signature(None, logged))
        for place, profile in profiles:
            signature = _event_signature(profile, logged)
            if not is_delegated(profile):
                name, instruction = profile.get("name") or "", profile["instruction_id"]
                is_kernel = bool(_NAMED_KERNEL.fullmatch(signature.name))
                is_kernel |= (name, instruction) in unnamed
                signature = signature._replace(is_kernel=is_kernel)
            of_profile[place] = signature
            distinct.append(of_profile[place])
    return tuple(dict.fromkeys(distinct)), [of_profile[place] for place in sorted(of_profile)]


def event_groups(
    events: Sequence[Mapping[str, Any]], kinds_per_event: int = 2
) -> Iterable[list[Member]]:
    """The profile and debug events of a run, gathered as the Inspector does.

    Of an event that is both, only the first kind counts if there is one kind per event.
    """
    groups: dict[tuple[Any, ...], list[Member]] = {}
    for place, event in enumerate(events):
        kinds = [kind for kind in ("profile_event", "debug_event") if kind in event]
        for kind in kinds[:kinds_per_event]:
            groups.setdefault(group_key(event[kind]), []).append((place, kind, event[kind]))
    return groups.values()


def is_delegated(profile: Mapping[str, Any]) -> bool:
    """Whether a profile event has a delegate id."""
    return profile["delegate_debug_id_int"] != -1 or bool(profile.get("delegate_debug_id_str"))


def _unnamed_kernels(members: Sequence[Member]) -> set[tuple[str | bytes, int]]:
    """Names and instructions of the events of a group that are kernels by their place alone."""
    profiles = [e for _, kind, e in members if kind == "profile_event" and not is_delegated(e)]
    names = [event.get("name") or "" for event in profiles]
    if "OPERATOR_CALL" not in names:
        return set()
    inside = names[: names.index("OPERATOR_CALL")]
    readable = [text(name) or "" for name in inside]
    if any(map(_NAMED_KERNEL.fullmatch, readable)):
        return set()
    return {
        (name, profiles[0]["instruction_id"])
        for name, shown in zip(inside, readable, strict=True)
        if shown not in NOT_KERNELS and not _ETHOS_U.fullmatch(shown)
    }


def is_output(debug_event: Mapping[str, Any]) -> bool:
    """Whether a debug event logs a program output."""
    return bool(debug_event.get("debug_entry", {}).get("output", {}).get("bool_val", False))


def text(raw: str | bytes | None) -> str | None:
    """A text as tables show it: bytes that are not UTF-8 as \\xNN."""
    return raw.decode(errors="backslashreplace") if isinstance(raw, bytes) else raw


def group_key(event: Mapping[str, Any]) -> tuple[Any, ...]:
    """The key by which the Inspector groups the events of a run."""
    ids = ("instruction_id", "chain_index", "delegate_debug_id_int", "delegate_debug_id_str")
    return tuple(event.get(key) for key in ids)


def unless(absent: int, number: int) -> int | None:
    """The number, or None if it equals `absent`."""
    return None if number == absent else number


def _event_signature(
    profile: Mapping[str, Any] | None, logged: Mapping[str, Any] | None
) -> EventSignature:
    event = profile or logged or {}
    name = (profile or {}).get("name", "")
    return EventSignature(
        name=text(name) or "",
        instruction_id=unless(-1, event["instruction_id"]),
        delegate_id_int=unless(-1, event["delegate_debug_id_int"]),
        delegate_id_str=text(event.get("delegate_debug_id_str")) or None,
        is_profiled=profile is not None,
        is_logged=logged is not None,
        debug_name=None if logged is None else text(logged.get("name", "")),
        name_hex=name.hex() if isinstance(name, bytes) else None,
        is_kernel=False,
    )
