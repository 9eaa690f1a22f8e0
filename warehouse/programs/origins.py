"""What is asked and told of one event: where a dump places it, and what an ETRecord knows there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

_OUTSIDE_KINDS = ("method", "load")  # their instruction 0 is never the program's

Handles = int | list[int]
Hierarchy = dict[str, list[str]]


class Place(NamedTuple):
    """Where a dump says that an event belongs.

    Attributes:
        name: Name of the profile event; "" without one.
        kind: Its kind.
        instruction_id: Instruction; None outside the program's instructions.
        delegate_id: Delegate id; None if it is not delegated.
    """

    name: str
    kind: str
    instruction_id: int | None
    delegate_id: int | str | None


class Origin(NamedTuple):
    """What an ETRecord tells of one event, under the Inspector's names.

    Attributes:
        debug_handles: Handle or handles, as in the ETRecord; None if it has none for the event.
        op_types: Operator of each node with one of these handles; each node counts once.
        stack_traces: Stack trace by node; None where the node has none.
        module_hierarchy: By node, path and class of each module it is in, from the outermost.
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
    """Whether an event is of the program: what the runtime logs outside it has instruction 0.

    Of the events with instruction 0, those of the program are on a chain.
    """
    return kind not in _OUTSIDE_KINDS and (instruction_id != 0 or is_on_chain)


def as_list(handles: Handles | None) -> list[int]:
    """The handles, be they several, one or none."""
    if handles is None:
        return []
    return [handles] if isinstance(handles, int) else handles
