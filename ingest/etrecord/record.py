"""ETRecords: a program's export data about its instructions and operators, read without torch.

An ETRecord is a zip of JSON and torch.save archives. The maps are read at once, programs and values
on first use, so that an unreadable one does not affect the others. Any part may be absent.

Limits: MAX_JSON_BYTES of JSON per member, MAX_PROGRAMS, and the limits of `sources.zip_limits`,
`strict_json`, `maps`, `graphs` and `torch_archive`.

Members:

    ETRECORD_V0                            empty, marks the file
    debug_handle_map                       {method: {instruction: handle or [handle, ...]}}
    delegate_map                           {method: {instruction: {name, delegate_map: {id: ...}}}}
    instruction_id_to_num_outs_map         {method: {instruction: outputs}}
    edge_dialect_exported_program          a program, the layout for one method
    edge_dialect_exported_program/METHOD   a program per method; a single one is called forward,
                                           whatever its method
    exported_program                       the program from torch.export
    NAME/METHOD, NAME                      further programs (the graph map)
    PROGRAM_state_dict, PROGRAM_constants, PROGRAM_example_inputs   of each program; not read
    reference_outputs                      {method: [[output, ...] per case, ...]}
    representative_inputs                  [input, ...] of method forward's first case

In its Arrow tables, a node's texts are repeated in a row per debug handle. All rows together take
at most FREE_BYTES plus BYTES_PER_BYTE per byte of the ETRecord, and at most MAX_BYTES.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple, TypeVar

import pyarrow as pa

from tracehouse.ingest.allowance import Allowance, AllowanceError
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.etrecord.graphs import Graph, code_lines, read_graphs
from tracehouse.ingest.etrecord.maps import (
    DelegateMap,
    Handles,
    RecordedValue,
    ValueParser,
    parse_delegate,
    parse_handles,
    parse_methods,
)
from tracehouse.ingest.etrecord.names import EDGE_PROGRAM, EXPORTED_PROGRAM, REPRESENTATIVE_INPUTS
from tracehouse.ingest.etrecord.torch_archive import read_torch_archive
from tracehouse.ingest.file_magic import begins_like_dump, describe_bytes
from tracehouse.ingest.schemas.programs import PROGRAM_TABLES
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_source
from tracehouse.ingest.sources.zip_limits import ZipMembers
from tracehouse.ingest.strict_json import parse_integer, parse_json, quote

MAX_JSON_BYTES = 256 << 20
MAX_INFLATION = 64  # bytes per byte of a compressed ETRecord
MAX_PROGRAMS = 1_000

_IDENTIFIER = "ETRECORD_V0"
_REMEDY = "save the ETRecord again"
_MOST_LISTED = 10
_FORWARD = "forward"
_SIDE_PARTS = ("_state_dict", "_constants", "_example_inputs")
_Item = TypeVar("_Item")

FREE_BYTES = 64 << 20
BYTES_PER_BYTE = 64
MAX_BYTES = 2 << 30

_ROW_BYTES = 200  # that a row takes without its texts
_ROWS_AT_ONCE = 10_000

_Row = tuple[object, ...]


class ProgramKey(NamedTuple):
    """A program in an ETRecord: name of its graphs, method, member of the zip."""

    name: str
    method: str
    member: str


@dataclass(frozen=True, eq=False)
class EtRecord:
    """An ETRecord. Using a part that cannot be read raises EtRecordError.

    Attributes:
        source: Name of the file.
        byte_count: Size of the file.
        sha256: SHA-256 of the file, lower-case hex.
        debug_handles: Debug handle or handles by method and instruction, as in the file.
        delegates: Delegates' entries by method and instruction.
        num_outputs: Outputs of delegate calls, by method and instruction.
        programs: The available programs.
        method: The method that the ETRecord is restricted to; None for a whole ETRecord.
    """

    source: str
    byte_count: int
    sha256: str
    debug_handles: dict[str, dict[int, Handles]]
    delegates: dict[str, dict[int, DelegateMap]]
    num_outputs: dict[str, dict[int, int]]
    programs: list[ProgramKey]
    _members: ZipMembers = field(repr=False)
    _known: dict[ProgramKey, Graph] = field(default_factory=dict, repr=False)
    method: str | None = None

    def edge_graph(self, method: str) -> Graph | None:
        """The main graph of a method's edge dialect program; None if absent."""
        return self.find_graph(EDGE_PROGRAM, method)

    def find_graph(self, name: str, method: str) -> Graph | None:
        """The main graph of this name and method; None if absent. Reads no other graph.

        Raises:
            EtRecordError: The graph cannot be read.
        """
        key = next((key for key in self.programs if key[:2] == (name, method)), None)
        if key is None:
            return None
        if key not in self._known:
            self._known[key] = self._read_graphs(key, most=1)[0]
        return self._known[key]

    @cached_property
    def graphs(self) -> list[Graph]:
        """All graphs of all programs, each program's main graph first."""
        return list(self.read_graphs())

    def read_graphs(self) -> Iterator[Graph]:
        """All graphs, with only one program in memory at a time.

        A program that cannot be read raises EtRecordError.
        """
        for key in self.programs:
            yield from self._read_graphs(key)

    def select(self, *, method: str | None = None, graph: str | None = None) -> EtRecord:
        """This ETRecord with only one method or one name of graphs; None selects all."""

        def of_method(items: dict[str, _Item]) -> dict[str, _Item]:
            return {name: item for name, item in items.items() if method in (None, name)}

        return replace(
            self,
            debug_handles=of_method(self.debug_handles),
            delegates=of_method(self.delegates),
            num_outputs=of_method(self.num_outputs),
            programs=[
                key
                for key in self.programs
                if method in (None, key.method) and graph in (None, key.name)
            ],
        )

    def of_method(self, name: str | None) -> EtRecord:
        """This ETRecord restricted to a method; unchanged for None or if it has no other method.

        Raises:
            EtRecordError: The ETRecord only has other methods.
        """
        methods = sorted(self.debug_handles)
        if name is None or not methods or methods == [name]:
            return self
        if name not in methods:
            known = ", ".join(map(quote, methods[:_MOST_LISTED]))
            raise EtRecordError(self.source, f"has no method {quote(name)}, wanted one of {known}")
        return replace(self.select(method=name), method=name)

    @cached_property
    def reference_outputs(self) -> dict[str, list[list[RecordedValue]]]:
        """Expected outputs of each method's test cases; empty without any."""
        return self._read_values("reference_outputs", ValueParser().cases) or {}

    @cached_property
    def representative_inputs(self) -> list[RecordedValue] | None:
        """Inputs of the first test case of method forward; None if absent."""
        return self._read_values(REPRESENTATIVE_INPUTS, ValueParser().values)

    def _read_graphs(self, key: ProgramKey, most: int | None = None) -> list[Graph]:
        program = _read_json(self._members, key.member)
        with _reading(self._members, key.member):
            return list(islice(read_graphs(program, key.name, key.method), most))

    def _read_values(self, member: str, parse: Callable[[object], _Item]) -> _Item | None:
        if member not in self._members.names:
            return None
        place = self._members.place_of(member)
        value = read_torch_archive(self._members.read(member), place)
        with _reading(self._members, member):
            return parse(value)


def read_etrecord(source: Source) -> EtRecord:
    """The ETRecord in a file; a missing or unreadable file raises SourceError.

    Raises:
        EtRecordError: As `decode_etrecord` does.
    """
    return decode_etrecord(read_source(source), source.name)


def decode_etrecord(data: bytes | memoryview, name: str) -> EtRecord:
    """The ETRecord in these bytes; `name` is its name in messages and in the store.

    Raises:
        EtRecordError: The bytes are not an ETRecord, it has more than MAX_PROGRAMS, or one of its
            maps cannot be read.
    """
    if bytes(data[:2]) != b"PK":
        found = "an ETDump" if begins_like_dump(data) else describe_bytes(data)
        raise EtRecordError(name, f"not an ETRecord (a zip){', but ' + found if found else ''}")
    members = ZipMembers(data, name, inflation=MAX_INFLATION)
    if _IDENTIFIER not in members.names:
        raise EtRecordError(name, f"is a zip without {_IDENTIFIER}; wanted an ETRecord")
    handles: dict[str, dict[int, Handles]] = _read_map(members, "debug_handle_map", parse_handles)
    programs = _list_programs(members.names, list(handles))
    if len(programs) > MAX_PROGRAMS:
        problem = f"has {len(programs):,} programs, wanted at most {MAX_PROGRAMS:,}"
        raise EtRecordError(name, f"{problem}; save them in several ETRecords")
    return EtRecord(
        name,
        len(data),
        hashlib.sha256(data).hexdigest(),
        handles,
        _read_map(members, "delegate_map", parse_delegate),
        _read_map(members, "instruction_id_to_num_outs_map", parse_integer),
        programs,
        members,
    )


def _list_programs(names: Sequence[str], methods: Sequence[str]) -> list[ProgramKey]:
    present = frozenset(names)
    side_parts = {f"{name}{part}" for name in names for part in _SIDE_PARTS}
    keys = [
        ProgramKey(*named, name)
        for name in names
        if name not in side_parts and (named := _name_program(name, present))
    ]
    is_lone = [key.name for key in keys].count(EDGE_PROGRAM) <= 1 == len(methods)
    if is_lone and methods[0] not in {key.method for key in keys}:
        renamed = {_FORWARD: methods[0]}
        return [key._replace(method=renamed.get(key.method, key.method)) for key in keys]
    return keys


def _name_program(member: str, present: Set[str]) -> tuple[str, str] | None:
    """Name and method of the program in a member; None if the member is not a program."""
    folder, _, method = member.rpartition("/")
    if member in (EDGE_PROGRAM, EXPORTED_PROGRAM):
        return member, _FORWARD
    if member.startswith(f"{EDGE_PROGRAM}/") and method:
        return EDGE_PROGRAM, member.removeprefix(f"{EDGE_PROGRAM}/")
    if f"{member}_state_dict" in present:
        return member, method if folder else _FORWARD
    return None


def _read_map(
    members: ZipMembers, name: str, parse: Callable[[object], _Item | None]
) -> dict[str, dict[int, _Item]]:
    if name not in members.names:
        return {}
    value = _read_json(members, name)
    with _reading(members, name):
        return parse_methods(value, parse)


def _read_json(members: ZipMembers, name: str) -> object:
    data = members.read(name, most_bytes=MAX_JSON_BYTES)
    with _reading(members, name):
        return parse_json(data)


@contextmanager
def _reading(members: ZipMembers, name: str) -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise EtRecordError(members.place_of(name), f"nested too deeply; {_REMEDY}") from error
    except ValueError as error:
        raise EtRecordError(members.place_of(name), f"{error}; {_REMEDY}") from error


def etrecord_id(record: EtRecord) -> int:
    """The ETRecord's id: the first 8 bytes of its SHA-256, the top bit cleared.

    An ETRecord restricted to a method has another id, from the hash of "SHA256 METHOD".
    """
    hash_ = record.sha256
    if record.method is not None:
        hash_ = hashlib.sha256(f"{hash_} {record.method}".encode()).hexdigest()
    return int(hash_[:16], 16) & (2**63 - 1)


def build_etrecord_tables(record: EtRecord) -> dict[str, pa.Table]:
    """The tables etrecords, graph_nodes, debug_handles and delegates, rows in the file's order.

    All programs of the ETRecord are read; an unreadable one raises EtRecordError.

    Raises:
        EtRecordError: The rows would take too many bytes.
    """
    most = min(FREE_BYTES + BYTES_PER_BYTE * record.byte_count, MAX_BYTES)
    allowance = Allowance(most, "bytes of rows")
    nodes = chain.from_iterable(map(_node_rows, record.read_graphs()))
    rows: dict[str, Iterable[_Row]] = {
        "etrecords": iter([(record.sha256, record.source, record.byte_count)]),
        "graph_nodes": nodes,
        "debug_handles": _handle_rows(record),
        "delegates": _delegate_rows(record),
    }
    try:
        return {
            name: _table(schema, _charge_rows(rows[name], etrecord_id(record), allowance))
            for name, schema in PROGRAM_TABLES.items()
        }
    except AllowanceError as error:
        remedy = "save it again with fewer programs"
        raise EtRecordError(record.source, f"in tables {error}; {remedy}") from error


def _charge_rows(rows: Iterable[_Row], id_: int, allowance: Allowance) -> Iterator[_Row]:
    for row in rows:
        allowance.take(_ROW_BYTES + sum(len(value) for value in row if isinstance(value, str)))
        yield id_, *row


def _table(schema: pa.Schema, rows: Iterator[_Row]) -> pa.Table:
    batches = []
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        columns = zip(*some, strict=True)
        arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
        batches.append(pa.record_batch(arrays, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def _node_rows(graph: Graph) -> Iterator[_Row]:
    for index, (node, code) in enumerate(zip(graph.nodes, code_lines(graph), strict=True)):
        innermost = list(node.module_hierarchy.values())[-1:]
        path, type_ = innermost[0] if innermost and innermost[0] else (None, None)
        hierarchy = json.dumps(node.module_hierarchy, ensure_ascii=False)
        where = (graph.name, graph.method, graph.scope, index)
        handles: list[int | None] = [*node.debug_handles] or [None]
        for handle in handles:
            what = (node.name, node.op, node.target, handle, code, node.stack_trace)
            yield *where, *what, path, type_, hierarchy


def _handle_rows(record: EtRecord) -> Iterator[_Row]:
    for method, instructions in record.debug_handles.items():
        counts = record.num_outputs.get(method, {})
        for instruction, handles in instructions.items():
            for place in _places(handles):
                yield method, instruction, *place, counts.get(instruction)


def _delegate_rows(record: EtRecord) -> Iterator[_Row]:
    for method, instructions in record.delegates.items():
        for instruction, delegate in instructions.items():
            if not delegate.handles:
                yield method, instruction, delegate.name, None, 0, None, False
            for id_, handles in delegate.handles.items():
                for place in _places(handles):
                    yield method, instruction, delegate.name, id_, *place


def _places(handles: Handles) -> Iterator[tuple[int, int | None, bool]]:
    """Position, handle and whether the handle is in a list."""
    if isinstance(handles, int):
        yield 0, handles, False
    elif not handles:
        yield 0, None, True
    else:
        yield from ((position, handle, True) for position, handle in enumerate(handles))
