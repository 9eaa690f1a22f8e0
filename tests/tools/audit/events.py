"""Profile events, and what kind they are of, by the names that ExecuTorch gives them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache

from tests.support.plain_signatures import EventSignature

KINDS = {
    "Method::execute": "method",
    "Method::init": "load",
    "Program::load_method": "load",
    "OPERATOR_CALL": "operator_call",
    "DELEGATE_CALL": "delegate_call",
    "delegate_execute": "delegate_call",
    "JF_CALL": "control",
    "MOVE_CALL": "control",
    "FREE_CALL": "control",
}


@dataclass(frozen=True)
class Event:
    """One profile event.

    Attributes:
        signature: What tells it from others.
        chain: Chain index.
        place: Its place among all events of the run, in file order.
        start: Raw clock reading at its start.
        ticks: Duration, a 32-bit wrap corrected; None where it cannot be right.
        raw_ticks: Duration as the table of events has it, whatever it is.
        occurrence: How many of its signature came before it in the run.
        ns_per_tick: Length of a tick of the clock that timed it; None if unknown.
    """

    signature: EventSignature
    chain: int
    place: int
    start: int
    ticks: int | None
    raw_ticks: int
    occurrence: int
    ns_per_tick: float | None

    @property
    def is_valid(self) -> bool:
        return self.ticks is not None

    @property
    def ns(self) -> float | None:
        if self.ticks is None or self.ns_per_tick is None:
            return None
        return self.ticks * self.ns_per_tick

    @property
    def kind(self) -> str:
        return kind_of(self.signature)

    @property
    def name(self) -> str:
        return name_of(self.signature)

    @property
    def instruction(self) -> int | None:
        return self.signature.instruction_id

    @property
    def delegate(self) -> str | None:
        return delegate_of(self.signature)

    @property
    def key(self) -> tuple[str, int | None, str | None, str]:
        """Name, instruction, delegate id and kind: what rows of events are called by."""
        return self.name, self.instruction, self.delegate, self.kind


def duration(start: int, end: int) -> int | None:
    """Ticks from start to end, 2^32 more where a 32-bit clock wrapped; None if it cannot be."""
    if end < start:
        return end - start + 2**32 if start < 2**32 else None
    return end - start if end - start < 2**63 else None


@cache
def kind_of(signature: EventSignature) -> str:
    """What kind of event it is."""
    if signature.delegate_id_int is not None:
        return "delegate_op"
    if signature.delegate_id_str is not None:
        is_phase = re.fullmatch(r"(ETVK|VGF)_[A-Z_]+", signature.delegate_id_str)
        return "delegate_phase" if is_phase else "delegate_op"
    if signature.is_kernel:
        return "kernel"
    return KINDS.get(signature.name, "other")


@cache
def delegate_of(signature: EventSignature) -> str | None:
    """The delegate debug id as rows show it: of Vulkan's JSON the kernel and its node."""
    if signature.delegate_id_int is not None:
        return str(signature.delegate_id_int)
    stated = signature.delegate_id_str
    if stated and stated.startswith("{"):
        try:
            node = json.loads(stated)
            return f"{node['kernel_name']} #{node['delegate_node_id']}"
        except (ValueError, KeyError):
            return stated
    return stated


@cache
def name_of(signature: EventSignature) -> str:
    """The name of an event; of what it logged where it has none, else its delegate id."""
    return signature.name or signature.debug_name or delegate_of(signature) or ""


def operator_type(event: Event) -> str:
    """The kernel without namespace and overload, the delegate's step without number, or a name.

    A delegate's step goes by its name, and by its id if it has none.
    """
    if event.kind == "kernel":
        return event.name.removeprefix("native_call_").split(".")[0].split("::")[-1]
    if event.kind == "delegate_op":
        return event.name.split(" #")[0]
    return event.name
