"""One event in a correlation: its place in the dump, and its origin in an ETRecord."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

_OUTSIDE_KINDS = ("method", "load")  # these have instruction 0, although outside the program

Handles = int | list[int]
Hierarchy = dict[str, list[str]]


class Place(NamedTuple):
    """The place of an event according to the dump.

    Attributes:
        name: Name of the profile event; "" without one.
        kind: The kind.
        instruction_id: Instruction; None outside the program's instructions.
        delegate_id: Delegate id; None outside delegates.
    """

    name: str
    kind: str
    instruction_id: int | None
    delegate_id: int | str | None


class Origin(NamedTuple):
    """The origin of one event according to an ETRecord, under the Inspector's names.

    Attributes:
        debug_handles: Handle or handles, as in the ETRecord; None if the event has none.
        op_types: Operator of each node with one of these handles; each node counts once.
        stack_traces: Stack trace by node; None where the node has none.
        module_hierarchy: By node, path and class of each module that contains it, from the
            outermost.
        delegate_backend_name: Backend; None outside delegates.
        num_outputs: Outputs of the instruction.
    """

    debug_handles: Handles | None = None
    op_types: Sequence[str] = ()
    stack_traces: Mapping[str, str | None] = {}
    module_hierarchy: Mapping[str, Hierarchy | None] = {}
    delegate_backend_name: str | None = None
    num_outputs: int = 1


def is_in_program(kind: str, instruction_id: int | None, *, is_on_chain: bool) -> bool:
    """Whether an event belongs to the program.

    The runtime logs events outside the program with instruction 0, too, but without a chain.
    """
    return kind not in _OUTSIDE_KINDS and (instruction_id != 0 or is_on_chain)


def as_list(handles: Handles | None) -> list[int]:
    """Several handles, one, or none as a list."""
    if handles is None:
        return []
    return [handles] if isinstance(handles, int) else handles
