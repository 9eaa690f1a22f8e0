"""The limits of a dump, checked with nested dicts, one event at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.plain_signatures import event_groups, group_key, is_output, unless
from tracehouse.ingest.etdump.arena import (
    EXPANSION,
    EXPANSION_SLACK,
    MOST_RUNS,
    MOST_SIGNATURE_EVENTS,
    MOST_SIGNATURES,
)

Signature = tuple[Any, ...]


def excess(content: Mapping[str, Any], byte_count: int) -> str | None:
    """The limit that a well-formed dump of this size exceeds; None if it exceeds none."""
    runs = content.get("run_data", [])
    if len(runs) > MOST_RUNS:
        return "too_many_runs"
    signatures = [tuple(dict.fromkeys(_signatures(run))) for run in runs]
    texts = sum(_repeated_text(run) for run in runs)
    texts += sum(_size(text) for run in signatures for one in run for text in one)
    if texts > EXPANSION * byte_count + EXPANSION_SLACK:
        return "expands_too_much"
    return "too_many_signatures" if _has_many_signatures(runs, signatures) else None


def _has_many_signatures(
    runs: list[Mapping[str, Any]], signatures: list[tuple[Signature, ...]]
) -> bool:
    distinct = {
        (run.get("name"), run["bundled_input_index"], own): len(own)
        for run, own in zip(runs, signatures, strict=True)
        if "events" in run
    }
    counts = [
        len({one for run in signatures for one in run}),
        len(distinct),
        *(len(_identities(run)) for run in runs),
    ]
    return max(counts) > MOST_SIGNATURES or sum(distinct.values()) > MOST_SIGNATURE_EVENTS


def _identities(run: Mapping[str, Any]) -> set[Signature]:
    """What tells the profile and debug events of a run apart."""
    return {
        (kind, event.get("name"), *group_key(event), is_output(event))
        for members in event_groups(run.get("events", []))
        for _, kind, event in members
    }


def _signatures(run: Mapping[str, Any]) -> Iterator[Signature]:
    """Event signatures of a run: name, ids and the name of the group's first value."""
    for members in event_groups(run.get("events", [])):
        profiles = [event for _, kind, event in members if kind == "profile_event"]
        values = [e for _, kind, e in members if kind == "debug_event" and not is_output(e)]
        logged = values[0].get("name", "") if values else None
        for event in profiles or values[:1]:
            name = event.get("name", "") if profiles else None
            numbers = (event["instruction_id"], event["delegate_debug_id_int"])
            text = event.get("delegate_debug_id_str") or None
            yield (name, *(unless(-1, number) for number in numbers), text, logged)


def _repeated_text(run: Mapping[str, Any]) -> int:
    """Bytes of names that are repeated in a row of each allocation and each tensor."""
    names = [allocator.get("name") for allocator in run.get("allocators", [])]
    total = 0
    for event in run.get("events", []):
        if "allocation_event" in event:
            number = event["allocation_event"]["allocator_id"]
            total += _size(names[number - 1]) if 0 < number <= len(names) else 0
        if "debug_event" in event:
            debug = event["debug_event"]
            text = _size(debug.get("name")) + _size(debug.get("delegate_debug_id_str"))
            total += text * _tensor_count(debug.get("debug_entry", {}))
    return total


def _tensor_count(value: Mapping[str, Any]) -> int:
    listed = value.get("val") == "TensorList"
    return max(len(value.get("tensor_list", {}).get("tensors", [])) if listed else 1, 1)


def _size(part: Any) -> int:
    """Bytes of a text; 0 for other values."""
    if isinstance(part, str):
        return len(part.encode())
    return len(part) if isinstance(part, bytes) else 0
