"""Differences of two programs: operators, delegates, constants and sizes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.etrecord.graphs import result_names, result_types
from tracehouse.ingest.etrecord.names import CONSTANT_PREFIXES, EXPORTED_PROGRAM
from tracehouse.ingest.etrecord.program_file import (
    IDENTIFIER,
    ProgramFile,
    ProgramMethod,
    decode_program,
)
from tracehouse.ingest.etrecord.record import EtRecord, decode_etrecord
from tracehouse.ingest.etrecord.torch_archive import WIDTHS
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_source

_MOST = 2**63 - 1  # in a column
_TYPE = re.compile(r"(?P<dtype>\w+)\[(?P<sizes>[\d, ]*)\]")
_COLUMNS = pa.schema(
    [
        ("method", pa.string()),
        ("part", pa.string()),
        ("name", pa.string()),
        ("unit", pa.string()),
        ("base", pa.int64()),
        ("head", pa.int64()),
    ]
)


class _Part(NamedTuple):
    """A part of a program.

    Attributes:
        method: The method with the part; None for the whole file.
        part: operator, delegate, constant, memory or file.
        name: Name of the part, with its type or digest.
        unit: count or bytes.
    """

    method: str | None
    part: str
    name: str
    unit: str


def compare_programs(base: Source, head: Source) -> pa.Table:
    """The differences of two ETRecords or two program files (``.pte``).

    Columns: method (null for the whole file), part (operator, delegate, constant, memory or file),
    name, unit (count or bytes), and the amounts in base and head (null for none). Equal parts have
    no row. An operator's name includes the type of its result, and the names of
    delegates, constants and named data in program files the first digits of their data's SHA-256,
    so that a changed part has two rows.

    Raises:
        SourceError: A file cannot be read, or is of another kind.
        EtRecordError: An ETRecord is damaged, or only one of the files is an ETRecord.
    """
    (base_kind, before), (head_kind, after) = map(_outline, (base, head))
    if base_kind != head_kind:
        problem = f"is {head_kind}, but {base.name} is {base_kind}: wanted two of a kind"
        raise EtRecordError(head.name, problem)
    parts = {**before, **after}  # in the order of execution
    rows = [
        {**part._asdict(), "base": _shown(before.get(part)), "head": _shown(after.get(part))}
        for part in sorted(parts, key=lambda part: (part.method is not None, part.method or ""))
        if before.get(part) != after.get(part)
    ]
    return pa.Table.from_pylist(rows, _COLUMNS)


def _shown(amount: int | None) -> int | None:
    """The amount, within the range of its column: sizes of tensors may be absurd."""
    return None if amount is None else max(min(amount, _MOST), -_MOST)


def _outline(source: Source) -> tuple[str, Counter[_Part]]:
    data = read_source(source)
    if bytes(data[4:8]) == IDENTIFIER:
        return "a program", _total(_list_file(decode_program(data, source.name)))
    return "an ETRecord", _total(_list_record(decode_etrecord(data, source.name)))


def _total(parts: Iterator[tuple[_Part, int]]) -> Counter[_Part]:
    total: Counter[_Part] = Counter()
    for part, amount in parts:
        total[part] += amount
    return total


def _list_file(program: ProgramFile) -> Iterator[tuple[_Part, int]]:
    yield _Part(None, "file", "program", "bytes"), program.byte_count
    for part in program.constants:
        if part.byte_count:
            yield _Part(None, "constant", f"{part.name} {part.digest}", "bytes"), part.byte_count
    for method in program.methods:
        yield from _list_method(method)


def _list_method(method: ProgramMethod) -> Iterator[tuple[_Part, int]]:
    for kernel in method.kernels:
        yield _Part(method.name, "operator", kernel, "count"), 1
    for number in method.delegate_calls:
        yield _Part(method.name, "delegate", method.delegates[number].name, "count"), 1
    for place, lowered in enumerate(method.delegates, 1):
        name = f"{lowered.name} #{place} {lowered.digest}"
        yield _Part(method.name, "delegate", name, "bytes"), lowered.byte_count
    for constant in method.constants:
        yield _Part(method.name, "constant", constant, "count"), 1
    for place, size in enumerate(method.planned_bytes, 1):
        yield _Part(method.name, "memory", f"planned buffer {place}", "bytes"), size


def _list_record(record: EtRecord) -> Iterator[tuple[_Part, int]]:
    for method in sorted({key.method for key in record.programs}):
        yield from _list_graph(record, method)
        for delegate in record.delegates.get(method, {}).values():
            yield _Part(method, "delegate", delegate.name or "unnamed", "count"), 1


def _list_graph(record: EtRecord, method: str) -> Iterator[tuple[_Part, int]]:
    """Operators and constants of a method's edge program, or else of its exported program."""
    graph = record.edge_graph(method) or record.find_graph(EXPORTED_PROGRAM, method)
    if graph is None:
        return
    types = result_types(graph.serialized)
    calls = {call["name"]: call for call in graph.serialized["nodes"]}
    for node in graph.nodes:
        if node.op == "call_function":
            results = [types.get(name, "?") for name in result_names(calls[node.name])]
            name = " ".join([node.target, *results[:1]])
            yield _Part(method, "operator", name, "count"), 1
        elif node.op == "placeholder" and node.name.startswith(CONSTANT_PREFIXES):
            type_ = types.get(node.name, "?")
            yield _Part(method, "constant", f"{node.name} {type_}", "bytes"), _byte_count(type_)


def _byte_count(type_: str) -> int:
    """Size of a tensor of this type in bytes; 0 if unknown."""
    found = _TYPE.fullmatch(type_)
    if not found or found["dtype"] not in WIDTHS:
        return 0
    sizes = [int(size) for size in found["sizes"].split(",") if size.strip()]
    return WIDTHS[found["dtype"]] * math.prod(sizes)
