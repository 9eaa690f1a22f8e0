"""A dump with intermediate values -> its operators, run by run, with their values.

A debug handle represents all nodes that have it; its value is that of the last of them. A program
with more than MAX_LINKS links between nodes and handles gets no dependencies.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tracehouse.ingest.allowance import Allowance, AllowanceError
from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_dump_bytes, read_source
from tracehouse.queries.event_blocks.blocks import Event, EventBlock
from tracehouse.queries.event_blocks.build import (
    Buffer,
    as_correlation,
    build_event_blocks,
    decode_tables,
)
from tracehouse.queries.event_blocks.logged_values import (
    InstructionValue,
    LoggedValue,
    LoggedValues,
    logged_value,
)
from tracehouse.queries.numeric_gap.run_values import Operator
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.programs.correlation import Correlation

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.graphs import Graph
    from tracehouse.ingest.etrecord.record import EtRecord

MAX_LINKS = 2_000_000

_MOST_LEVELS = 8  # levels of nested lists and objects in an argument

# Operators that keep elements and their order; memory planning can remove them.
_VIEWS = frozenset(
    {
        "view", "view_copy", "_unsafe_view", "unsqueeze", "unsqueeze_copy", "squeeze",
        "squeeze_copy", "alias", "alias_copy", "clone", "_clone_dim_order",
    }
)  # fmt: skip

_Result = tuple[int, int | None]  # position of its handle in the delegate, and the handle

_NO_OPERATOR = ("operator_call", "method", "load")  # kinds
_OUTSIDE = -1  # chain of what is logged outside the program's instructions
_SCALARS = {bool: "bool", int: "int64", float: "float64"}
_Key = tuple[int | None, int | str | None]  # instruction and delegate id


class FlowNode(NamedTuple):
    """A call in a graph: its operator, debug handles, and names of its arguments and results."""

    operator: str
    handles: tuple[int, ...]
    takes: frozenset[str]
    gives: list[str]

    @property
    def handle(self) -> int | None:
        """The first debug handle; None without one."""
        return next(iter(self.handles), None)


class ProgramFlow(NamedTuple):
    """The dependencies between the debug handles of a program.

    Attributes:
        inputs: For each handle, the handles whose values its nodes use.
        views: For each handle that only reshapes another's value, that other handle.
    """

    inputs: Mapping[int, frozenset[int]]
    views: Mapping[int, int]


def read_nodes(graph: Graph) -> list[FlowNode]:
    """The calls of a graph, in order of execution."""
    calls = [node for node in graph.nodes if node.op == "call_function"]
    return [
        FlowNode(_operator(node.target), tuple(node.debug_handles), *_names_in_call(call))
        for node, call in zip(calls, graph.serialized["nodes"], strict=True)
    ]


def read_outputs(graph: Graph) -> frozenset[str]:
    """Names of the outputs of a graph."""
    return frozenset(_names(graph.serialized["outputs"]))


def program_flow(nodes: Sequence[FlowNode]) -> ProgramFlow:
    """The dependencies between the handles of these nodes, also through nodes without handles."""
    links = Allowance(MAX_LINKS, "links")
    try:
        inputs = _inputs(nodes, links)
    except AllowanceError:
        return ProgramFlow({}, {})
    return ProgramFlow(
        {handle: frozenset(taken) for handle, taken in inputs.items()}, _views(nodes, inputs)
    )


def _inputs(nodes: Sequence[FlowNode], links: Allowance) -> dict[int, set[int]]:
    """For each handle, the handles whose values its nodes use; too many raise AllowanceError."""
    behind: dict[str, frozenset[int]] = {}
    inputs: dict[int, set[int]] = defaultdict(set)
    for node in nodes:
        taken = frozenset[int]().union(*(behind.get(name, ()) for name in node.takes))
        links.take((len(node.takes) + len(taken)) * (len(node.handles) + 1))
        for name in node.gives:
            behind[name] = frozenset(node.handles[-1:]) or taken
        for handle in node.handles:
            inputs[handle] |= taken - {handle}
    return inputs


def _views(nodes: Sequence[FlowNode], inputs: Mapping[int, set[int]]) -> dict[int, int]:
    """Handles that have only view nodes, and the one earlier handle whose value they use."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    taken: dict[int, set[str]] = defaultdict(set)
    changing: set[int] = set()
    for position, node in enumerate(nodes):
        for handle in node.handles:
            first.setdefault(handle, position)
            last[handle] = position
            taken[handle] |= node.takes
        if node.operator not in _VIEWS or len(node.handles) > 1:
            changing.update(node.handles)
    alone = {handle: next(iter(of)) for handle, of in inputs.items() if len(of) == 1}
    return {
        handle: source
        for handle, source in alone.items()
        if handle not in changing and last[source] < first[handle]
        if len(gives := nodes[last[source]].gives) == 1 and taken[handle].issuperset(gives)
    }


def _operator(target: str) -> str:
    """The name without namespace and overload, e.g. view_copy for aten.view_copy.default."""
    return target.split(".")[-2] if target.count(".") > 1 else target


def _names_in_call(call: Mapping[str, Any]) -> tuple[frozenset[str], list[str]]:
    arguments = [item["arg"] for item in call["inputs"] if isinstance(item, dict) and "arg" in item]
    return frozenset(_names(arguments)), list(_names(call.get("outputs")))


def _names(value: object, levels: int = _MOST_LEVELS) -> Iterator[str]:
    """Names of the values in arguments or results."""
    match value:
        case {"name": str(name)} | {"as_name": str(name)}:
            yield name
        case dict() | list() if levels:
            for item in value.values() if isinstance(value, dict) else value:
                yield from _names(item, levels - 1)


class DelegateResults:
    """The delegates of one method of an ETRecord."""

    def __init__(self, record: EtRecord, method: str) -> None:
        graph = record.edge_graph(method)
        self._nodes = read_nodes(graph) if graph else []
        self._given = read_outputs(graph) if graph else frozenset()
        self._uses = Counter(
            handle
            for handles in record.debug_handles[method].values()
            for handle in ({handles} if isinstance(handles, int) else set(handles))
        )

    @cached_property
    def flow(self) -> ProgramFlow:
        """The dependencies between the debug handles of the method."""
        return program_flow(self._nodes)

    def of(self, handles: Sequence[int], output_count: int) -> list[int | None]:
        """The debug handle of each output; None where it is unknown."""
        results = self._results(handles) if output_count > 1 else []
        if len(results) == output_count:
            return [handle for _, handle in results]
        return [*[None] * (output_count - 1), *handles[-1:]][:output_count]

    def _results(self, handles: Sequence[int]) -> list[_Result]:
        """The results used outside; empty if nodes with the same handles also run outside."""
        if any(self._uses[handle] > 1 for handle in handles):
            return []
        position = {handle: index for index, handle in enumerate(handles)}
        inside = [node for node in self._nodes if node.handle in position]
        last = {node.handle: node for node in inside}
        outside = [node.takes for node in self._nodes if node.handle not in position]
        used = self._given.union(*outside)
        return sorted(
            (
                (position[node.handle], node.handle if node is last[node.handle] else None)
                for node in inside
                for name in node.gives
                if name in used and node.handle is not None
            ),
            key=lambda result: result[0],
        )


class LoggedRun(NamedTuple):
    """A run that logged intermediate values.

    Attributes:
        run_index: Position in the dump; None if the run is not from a dump.
        method: Method that ran; None if unknown.
        operators: In execution order.
        notes: Contradictions between the dump and its ETRecord, as sentences.
        flow: Dependencies between the program's debug handles; None if unknown.
    """

    run_index: int | None
    method: str | None
    operators: Sequence[Operator]
    notes: Sequence[str] = ()
    flow: ProgramFlow | None = None


def read_logged_operators(
    source: Source,
    *,
    debug_buffer: Source | None = None,
    etrecord: Source | Correlation | None = None,
    method: str | None = None,
) -> list[LoggedRun]:
    """The runs of a dump that logged intermediate values, in file order.

    If a method is given, runs of other methods are left out; runs whose method is unknown count as
    runs of it.

    Without the debug buffer tensors are missing; without the ETRecord operators have no debug
    handles. A malformed dump raises DumpError, a malformed ETRecord EtRecordError, and a file that
    cannot be read SourceError.

    Raises:
        QueryError: if no run logged any.
    """
    runs = build_logged_operators(
        decode_tables(read_dump_bytes(source), source.name),
        read_source(debug_buffer) if debug_buffer else None,
        as_correlation(etrecord),
        method,
    )
    check_runs(runs, source.name, method)
    return runs


def check_runs(runs: Sequence[LoggedRun], name: str, method: str | None) -> None:
    """Check that the dump `name` has any runs.

    Raises:
        QueryError: if there are none.
    """
    if not runs:
        of = "" if method is None else f" of method '{method}'"
        raise QueryError(
            f"{name}: has no intermediate values{of}; choose a dump of a run that logged them"
        )


def build_logged_operators(
    tables: Mapping[str, pa.Table],
    debug_buffer: Buffer | None = None,
    correlation: Correlation | None = None,
    method: str | None = None,
) -> list[LoggedRun]:
    """Like `read_logged_operators`, from the decoded tables of one dump."""
    logged = LoggedValues(tables["debug_values"], debug_buffer)
    signatures = tables["runs"]["run_signature_id"].to_pylist()
    blocks = _blocks_of_method(tables, correlation, method)
    distinct = dict.fromkeys(id_ for id_ in signatures if id_ is not None)
    programs = {
        id_: _Program(block, correlation)
        for id_, block in zip(distinct, blocks, strict=True)
        if block is not None
    }
    runs = []
    for run, positions in _event_positions(tables["debug_values"]).items():
        program = programs.get(signatures[run])
        if program is None:
            continue
        operators = program.operators(_calls(logged.of_run(run), positions))
        if operators:
            block = program.block
            runs.append(LoggedRun(run, block.method, operators, block.notes, program.flow))
    return runs


def _blocks_of_method(
    tables: Mapping[str, pa.Table], correlation: Correlation | None, method: str | None
) -> list[EventBlock | None]:
    """The event blocks, with None in place of blocks that ran another method than `method`."""
    blocks = build_event_blocks(tables, correlation=correlation)
    if correlation is None or method is None:
        return [*blocks]
    stated = build_event_blocks(tables, correlation=correlation.of_method(method))
    return [
        of_method if method in (block.method_candidates or [method]) else None
        for block, of_method in zip(blocks, stated, strict=True)
    ]


def first_logged_run(
    index: int, block: EventBlock, correlation: Correlation | None = None
) -> LoggedRun:
    """The first values that the events of a block logged, as one run with number `index`."""
    methods = [block.method] if block.method else []
    program = _Program(replace(block, method_candidates=methods), correlation)
    operators = program.first_operators()
    return LoggedRun(index, block.method, operators, block.notes, program.flow)


class _Program:
    """The instructions of the runs of one block."""

    def __init__(self, block: EventBlock, correlation: Correlation | None) -> None:
        self.block = block
        self._correlation = correlation
        self._events: dict[_Key, Event] = {}
        for event in block.events:
            if event.kind not in _NO_OPERATOR:
                instruction = event.instruction_id if event.instruction_id != _OUTSIDE else None
                self._events.setdefault((instruction, event.delegate_debug_identifier), event)

    def operators(self, calls: Iterable[Sequence[InstructionValue]]) -> list[Operator]:
        """The calls of a run as operators, in order."""
        occurrences: Counter[_Key] = Counter()
        operators = []
        for call in calls:
            id_, delegate_int, delegate_str, _ = call[0].instruction
            key = (id_, delegate_str if delegate_int is None else delegate_int)
            values = [tensor for event in call for tensor in flat_tensors(event.value)]
            operators.append(self._operator(key, occurrences[key], values))
            occurrences[key] += 1
        return self._with_silent(operators) if operators else operators

    def _with_silent(self, operators: list[Operator]) -> list[Operator]:
        """Add the operators that ran but logged nothing, at the places of their instructions."""
        logged = {operator.instruction_id for operator in operators}
        silent = [
            self._operator((id_, None), 0, [])
            for id_, delegate_id in self._events
            if id_ is not None and delegate_id is None and id_ not in logged
        ]
        if not silent:
            return operators
        # A stable sort by the highest instruction so far puts each after what precedes it.
        reached = accumulate((operator.instruction_id or 0 for operator in operators), max)
        placed = [*zip(reached, operators, strict=True)]
        placed += [(operator.instruction_id or 0, operator) for operator in silent]
        return [operator for _, operator in sorted(placed, key=itemgetter(0))]

    @property
    def flow(self) -> ProgramFlow | None:
        """Dependencies between the debug handles of the method; None if unknown."""
        return self._delegates.flow if self._delegates else None

    def first_operators(self) -> list[Operator]:
        """The events that logged values, as operators called once."""
        calls = (
            (
                key,
                [
                    tensor
                    for value in event.debug_data
                    for tensor in flat_tensors(logged_value(value))
                ],
            )
            for key, event in self._events.items()
        )
        operators = [self._operator(key, 0, values) for key, values in calls if values]
        return self._with_silent(operators) if operators else operators

    def _operator(self, key: _Key, occurrence: int, values: list[TensorValue]) -> Operator:
        event = self._events.get(key)
        if event is None:
            return Operator("", *key, occurrence, (), (), values)
        handles = event.debug_handles
        return Operator(
            event.name,
            *key,
            occurrence,
            (handles,) if isinstance(handles, int) else tuple(handles or ()),
            tuple(event.op_types),
            values,
            None if handles is None or isinstance(handles, int) else self._results(event, handles),
        )

    def _results(self, event: Event, handles: Sequence[int]) -> list[int | None] | None:
        if event.kind in ("kernel", "delegate_op") or self._delegates is None:
            return None
        return self._delegates.of(handles, event.num_outputs)

    @cached_property
    def _delegates(self) -> DelegateResults | None:
        method = next(iter(self.block.method_candidates), None)
        if self._correlation is None or method is None:
            return None
        return DelegateResults(self._correlation.record, method)


def _event_positions(debug_values: pa.Table) -> dict[int, list[int]]:
    """Positions of the debug events in their run, by run; a tensor list is one event."""
    columns = [debug_values[name].to_numpy() for name in ("run_index", "event_index")]
    rows = np.unique(np.column_stack(columns), axis=0).tolist()
    return {run: [row[1] for row in group] for run, group in groupby(rows, itemgetter(0))}


def _calls(
    logged: Sequence[InstructionValue], positions: Sequence[int]
) -> Iterator[list[InstructionValue]]:
    """The events of each call: consecutive events of one instruction."""
    inside = [
        (event, position)
        for event, position in zip(logged, positions, strict=True)
        if not event.is_output and event.instruction.chain_index != _OUTSIDE
    ]
    numbered = enumerate(inside)
    for _, call in groupby(numbered, lambda row: (row[1][0].instruction, row[1][1] - row[0])):
        yield [event for _, (event, _) in call]


def flat_tensors(value: LoggedValue | str) -> list[TensorValue]:
    """The value as tensors: a scalar has no dimensions, a list is flattened."""
    if isinstance(value, list):
        return value
    if isinstance(value, TensorValue):
        return [value]
    if value is None or isinstance(value, str):
        return [TensorValue("", None, None, "not a number")]
    return [TensorValue.of_array(_SCALARS[type(value)], np.asarray(value))]
