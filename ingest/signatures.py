"""Event and run signatures as the ExecuTorch Inspector defines them, with ids that never change.

The kind of an event comes from its producer's rule, see `producers`, or from a user's.

An id is the first 8 bytes (big-endian, top bit cleared) of the BLAKE2b-64 digest of a canonical
encoding: a version tag, then each part as a type byte and its content: 0 for null; 1 and a
little-endian signed integer of 8 bytes; 2, a length of 8 bytes and the raw bytes of a text. The
same signature has the same id on every machine, forever; another encoding needs a new version tag.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.producers import Rule, known_producers, shipped_producers, user_rules

LONG, SHORT = "long", "short"  # runs that look alike

_EVENT_TAG = b"tracehouse event signature 1"
_RUN_TAG = b"tracehouse run signature 1"
_LENGTH_TAG = b"tracehouse run length 1"
_DIMENSION_TAG = "tracehouse {} 1"
_FIRST_ATTRIBUTES = {"device": 6, "build": 1, "model": 3}  # as in the ids of the first lakes

KERNEL = "kernel"
_OPERATOR_CALL = "operator_call"

Encodable = int | bytes | None


class LoggedEvent(NamedTuple):
    """The fields that identify a profile or debug event in a run, as in the file.

    Attributes:
        is_profile: Whether this is a profile event; otherwise it is a debug event.
        name: Raw bytes of the name; None if absent.
        chain: Chain index (unsigned in debug events).
        instruction: Instruction id, -1 outside the program.
        delegate_int: Integer delegate debug id, -1 if absent.
        delegate_str: String delegate debug id; None if absent.
        is_output: Whether this is a debug event that logs a program output.
    """

    is_profile: bool
    name: bytes | None
    chain: int
    instruction: int
    delegate_int: int
    delegate_str: bytes | None
    is_output: bool


class EventSignature(NamedTuple):
    """The fields by which the Inspector distinguishes events; -1 and empty ids are None here.

    Attributes:
        name: Name of the profile event, b"" if absent; None without a profile event.
        debug_name: Name of the first debug event, b"" if absent; None if no value was logged.
        is_unnamed_kernel: Whether the event is a kernel because it is inside an OPERATOR_CALL,
            although no rule knows its name. It has another id than an event of the same name
            elsewhere.
    """

    name: bytes | None
    instruction_id: int | None
    delegate_id_int: int | None
    delegate_id_str: bytes | None
    debug_name: bytes | None
    is_unnamed_kernel: bool = False

    @property
    def kind(self) -> str:
        """Kind of the event."""
        if self.is_unnamed_kernel:
            return KERNEL
        return event_kind(self.name or b"", self.delegate_id)

    @property
    def delegate_id(self) -> int | bytes | None:
        """The delegate id, if any: the integer if the event has both kinds."""
        return self.delegate_id_str if self.delegate_id_int is None else self.delegate_id_int

    @property
    def unit(self) -> str | None:
        """Unit of the event's value; None if the value is in ticks of the dump's clocks."""
        rule = shipped_producers().rule_of(self.name or b"", self.delegate_id)
        return rule.unit if rule else None

    @property
    def text_bytes(self) -> int:
        """Total bytes of its texts."""
        texts = (self.name, self.delegate_id_str, self.debug_name)
        return sum(map(len, filter(None, texts)))


class RunLayout(NamedTuple):
    """The grouping of a run's events into signatures.

    Attributes:
        signatures: Distinct event signatures, in the Inspector's order.
        rank: For each profile event, in file order, its index in `signatures`.
        occurrence: For each profile event, in file order, how many earlier ones have its signature.
    """

    signatures: tuple[EventSignature, ...]
    rank: tuple[int, ...]
    occurrence: tuple[int, ...]


_Numbered = list[tuple[int, LoggedEvent]]


def group_events(events: Sequence[LoggedEvent]) -> RunLayout:
    """Group the events of one run as the Inspector does.

    Events are grouped by (instruction, chain, delegate ids) in order of first appearance. Within a
    group, each profile event forms a signature with the group's first logged value; a group without
    profile events forms one signature. Program outputs form none.

    Args:
        events: Profile and debug events of the run, in file order.

    Returns:
        The layout; the sum of all repeats equals the number of profile events.
    """
    groups = _events_by_operator(events)
    unnamed = {kernel for profiles, _ in groups for kernel in _unnamed_kernels(profiles)}
    profile_count = sum(len(profiles) for profiles, _ in groups)
    ranks: dict[EventSignature, int] = {}
    rank, occurrence = [0] * profile_count, [0] * profile_count
    for profiles, values in groups:
        logged = values[0] if values else None
        if logged and not profiles:
            ranks.setdefault(_signature(None, logged), len(ranks))
        for index, event in profiles:
            signature = _signature(event, logged)
            if unnamed and signature.delegate_id is None and _place(event) in unnamed:
                signature = signature._replace(is_unnamed_kernel=True)
            rank[index] = ranks.setdefault(signature, len(ranks))
    seen: dict[int, int] = {}
    for index, here in enumerate(rank):
        occurrence[index] = seen.get(here, 0)
        seen[here] = occurrence[index] + 1
    return RunLayout(tuple(ranks), tuple(rank), tuple(occurrence))


def _events_by_operator(
    events: Sequence[LoggedEvent],
) -> Collection[tuple[_Numbered, list[LoggedEvent]]]:
    """The events with one instruction, chain and delegate ids, in order of first appearance.

    Profile events have their numbers among the profile events; program outputs are left out.
    """
    groups: dict[object, tuple[_Numbered, list[LoggedEvent]]] = {}
    profile_count = 0
    for event in events:
        profiles, values = groups.setdefault(event[2:6], ([], []))
        if event.is_profile:
            profiles.append((profile_count, event))
            profile_count += 1
        elif not event.is_output:
            values.append(event)
    return groups.values()


def _unnamed_kernels(profiles: _Numbered) -> list[tuple[bytes | None, int]]:
    """Places of kernels whose names no rule knows, among the profile events of one group.

    The runtime logs an event when it ends: what precedes the OPERATOR_CALL of an instruction is
    inside it. Beside a kernel with a known name, other events are its parts.
    """
    if not profiles or profiles[0][1].delegate_str or profiles[0][1].delegate_int != -1:
        return []
    inside: list[tuple[bytes | None, int]] = []
    for _, event in profiles:
        rule = shipped_producers().rule_of(event.name or b"", None)
        if rule and rule.kind == _OPERATOR_CALL:
            return inside
        if rule and rule.kind == KERNEL:
            return []
        if rule is None:
            inside.append(_place(event))
    return []


def _place(event: LoggedEvent) -> tuple[bytes | None, int]:
    return event.name, event.instruction


def _signature(profile: LoggedEvent | None, logged: LoggedEvent | None) -> EventSignature:
    event = profile or logged
    assert event is not None  # noqa: S101 - callers pass one of them
    return EventSignature(
        name=(profile.name or b"") if profile else None,
        instruction_id=event.instruction if event.instruction != -1 else None,
        delegate_id_int=event.delegate_int if event.delegate_int != -1 else None,
        delegate_id_str=event.delegate_str or None,
        debug_name=(logged.name or b"") if logged else None,
    )


def event_kind(name: bytes, delegate_id: int | bytes | None) -> str:
    """Kind of an event with this name and delegate id, if any, by the shipped rules.

    Phases of a delegate contain each other and its operators, so their times do not add up.

    >>> event_kind(b"native_call_add.out", None), event_kind(b"", b"VGF_COPY_INPUTS")
    ('kernel', 'delegate_phase')
    """
    rule = shipped_producers().rule_of(name, delegate_id)
    return rule.kind if rule else kind_without_rule(delegate_id)


def kind_without_rule(delegate_id: int | bytes | None) -> str:
    """Kind of an event that no producer's rule matches."""
    return "other" if delegate_id is None else "delegate_op"


def event_signature_id(signature: EventSignature) -> int:
    """Stable 63-bit id of an event signature: its five fields, and 1 for an unnamed kernel."""
    return _hash(_EVENT_TAG, signature if signature.is_unnamed_kernel else signature[:5])


def run_signature_id(
    name: bytes | None,
    event_signature_ids: Sequence[int] | NDArray[np.int64],
    bundled_input_index: int,
) -> int:
    """Stable 63-bit id of a run signature: name, index, number of events, then their ids."""
    ids = np.empty((len(event_signature_ids), 9), np.uint8)
    ids[:, 0] = 1
    numbers = np.array(event_signature_ids, "<i8")
    ids[:, 1:] = numbers.view(np.uint8).reshape(-1, 8)
    head = b"".join(map(_encode, (name, bundled_input_index, len(ids))))
    return _digest(_RUN_TAG + head + ids.tobytes())


def signature_of_length(run_signature: int, length: str) -> int:
    """Stable 63-bit id of the long or the short runs of a run signature."""
    return _hash(_LENGTH_TAG, (run_signature, length.encode()))


def dimension_id(kind: str, values: Sequence[str | None]) -> int:
    """Stable 63-bit id of a device, build or model, from its identifying values in order.

    Later versions append attributes. An id stays the same while they are not stated.
    """
    encoded = [None if value is None else value.encode() for value in values]
    while len(encoded) > _FIRST_ATTRIBUTES[kind] and encoded[-1] is None:
        encoded.pop()
    return _hash(_DIMENSION_TAG.format(kind).encode(), encoded)


def _hash(tag: bytes, parts: Sequence[Encodable]) -> int:
    return _digest(tag + b"".join(map(_encode, parts)))


def _digest(encoded: bytes) -> int:
    digest = hashlib.blake2b(encoded, digest_size=8).digest()
    return int.from_bytes(digest, "big") & (2**63 - 1)


def _encode(part: Encodable) -> bytes:
    if part is None:
        return b"\x00"
    if isinstance(part, int):
        return b"\x01" + struct.pack("<q", part)
    return b"\x02" + struct.pack("<Q", len(part)) + part


def rule_of_row(row: Mapping[str, Any]) -> Rule | None:
    """The rule for a row of event signatures; None if none matches."""
    name = bytes.fromhex(row["name_hex"]) if row["name_hex"] else row["name"].encode()
    return known_producers().rule_of(name, _delegate_id(row))


def with_user_kinds(signatures: pa.Table) -> pa.Table:
    """Rows of `ingest.schemas.dumps.EVENT_SIGNATURES`, with kind and unit by a user's rules."""
    if not user_rules():
        return signatures
    rows = signatures.to_pylist()
    for row in rows:
        rule = rule_of_row(row)
        if rule or row["kind"] != KERNEL:  # an unnamed kernel stays one
            row["kind"] = rule.kind if rule else kind_without_rule(_delegate_id(row))
        row["unit"] = rule.unit if rule else None
    return pa.Table.from_pylist(rows, signatures.schema)


def _delegate_id(row: Mapping[str, Any]) -> int | bytes | None:
    number: int | None = row["delegate_id_int"]
    text: str | None = row["delegate_id_str"]
    return text.encode() if number is None and text else number
