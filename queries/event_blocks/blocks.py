"""Event blocks, which `build` creates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tracehouse.queries.event_blocks.logged_values import LoggedValue
from tracehouse.queries.event_blocks.samples import Samples, ValuesByRun
from tracehouse.queries.event_blocks.time_scales import TimeScale
from tracehouse.warehouse.programs.correlation import Handles, Hierarchy

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.maps import RecordedValue
    from tracehouse.ingest.producers import Rule


@dataclass(frozen=True)
class EventData:
    """One event signature of a block.

    Attributes:
        name: Delegate id of a delegated event; else the logged value's name, else the event's name.
        kind: Kind of the event, e.g. kernel.
        instruction_id: Instruction; -1 outside the program.
        delegate_debug_identifier: Delegate id; None if the event is not delegated.
        samples: Its profile events; None if only values were logged for it.
        values: Its logged values.
        debug_handles: Its debug handle or handles; None if unknown, or outside instructions.
        op_types: Operator of each node of the program with one of these handles.
        stack_traces: Stack trace by node.
        module_hierarchy: By node, path and class of each module around it, outermost first.
        delegate_backend_name: Backend of a delegated event or of a delegate's call.
        num_outputs: Outputs of its instruction.
        rule: Matching rule of its producer; None if none matches.
    """

    name: str
    kind: str
    instruction_id: int
    delegate_debug_identifier: int | str | None
    samples: Samples | None
    values: ValuesByRun
    debug_handles: Handles | None
    op_types: Sequence[str]
    stack_traces: Mapping[str, str | None]
    module_hierarchy: Mapping[str, Hierarchy | None]
    delegate_backend_name: str | None
    num_outputs: int
    rule: Rule | None = None

    @property
    def is_delegated_op(self) -> bool:
        """Whether the event has a delegate id."""
        return self.delegate_debug_identifier is not None

    @property
    def debug_data(self) -> list[LoggedValue]:
        """Values of the first run that logged any, in file order."""
        return self.values.first


@dataclass(frozen=True)
class BlockData:
    """The runs of one signature.

    Attributes:
        name: Name of the runs; None if absent.
        bundled_input_index: Index of the bundled input; -1 without one.
        source_time_scale: Unit of a clock tick.
        target_time_scale: Unit of the durations.
        outputs: Program outputs of its runs.
        events: Events in the Inspector's order.
        reference_output: The ETRecord's outputs for its bundled input; None if unknown.
        method: Method of the ETRecord that was run; None if unknown.
        method_candidates: Methods of the ETRecord that may have been run.
        notes: Mismatches of dump and ETRecord, as sentences.
    """

    name: str | None
    bundled_input_index: int
    source_time_scale: TimeScale
    target_time_scale: TimeScale
    outputs: ValuesByRun
    events: list[EventData]
    reference_output: list[RecordedValue] | None = None
    method: str | None = None
    method_candidates: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def run_output(self) -> list[LoggedValue]:
        """Program outputs of the first run that logged any, in file order."""
        return self.outputs.first
