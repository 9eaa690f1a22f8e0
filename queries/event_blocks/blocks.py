"""What event blocks are, as `build` makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queries.event_blocks.logged_values import LoggedValue
from queries.event_blocks.samples import Samples
from queries.event_blocks.time_scales import TimeScale
from queries.event_blocks.values_by_run import ValuesByRun
from warehouse.programs.correlation import Handles, Hierarchy

if TYPE_CHECKING:
    from ingest.etrecord.values import RecordedValue
    from ingest.producers import Rule


@dataclass(frozen=True)
class BuiltEvent:
    """One event signature of a block.

    Attributes:
        name: Delegate id of a delegated event; else the logged value's name, else the event's.
        kind: Its kind, e.g. kernel.
        instruction_id: Instruction; -1 outside the program.
        delegate_debug_identifier: Delegate id; None if the event is not delegated.
        samples: Its profile events; None if only values were logged for it.
        values: Values logged for it.
        debug_handles: Its debug handle or handles; None without, or outside instructions.
        op_types: Operator of each node of the program that has one of them.
        stack_traces: Stack trace by node.
        module_hierarchy: By node, path and class of each module it is in, from the outermost.
        delegate_backend_name: Backend that a delegated event or the call of a delegate ran on.
        num_outputs: Outputs of its instruction.
        rule: Rule of its producer that says what it is; None if none does.
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
        """Whether it has a delegate id."""
        return self.delegate_debug_identifier is not None

    @property
    def debug_data(self) -> list[LoggedValue]:
        """Values of the first run that logged any, in file order."""
        return self.values.first


@dataclass(frozen=True)
class BuiltBlock:
    """The runs of one signature.

    Attributes:
        name: Name of the runs; None if absent.
        bundled_input_index: Index of the bundled input; -1 when there is none.
        source_time_scale: Unit of a clock tick.
        target_time_scale: Unit of the durations.
        outputs: Program outputs of its runs.
        events: In the Inspector's order.
        reference_output: Outputs that the ETRecord has for its bundled input; None without.
        method: Method of the ETRecord that was run; None if that cannot be told.
        method_candidates: Methods of the ETRecord that it can be.
        notes: What the dump and the ETRecord disagree on, as sentences.
    """

    name: str | None
    bundled_input_index: int
    source_time_scale: TimeScale
    target_time_scale: TimeScale
    outputs: ValuesByRun
    events: list[BuiltEvent]
    reference_output: list[RecordedValue] | None = None
    method: str | None = None
    method_candidates: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def run_output(self) -> list[LoggedValue]:
        """Program outputs of the first run that logged any, in file order."""
        return self.outputs.first
