"""Differences of two programs, of ETRecords or program files (``.pte``).

Program files are read without ExecuTorch. The layout is that of schema/program.fbs (identifier
``ET12``). An extended header before the tables gives the start of the segments of constants and
delegates.

What is read and made of a program file, in bytes, takes at most FREE_BYTES plus BYTES_PER_BYTE per
byte of the file: tables and texts that a damaged or hostile file refers to again and again count
each time.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from tracehouse.ingest.allowance import Allowance
from tracehouse.ingest.errors import EtRecordError, SourceError
from tracehouse.ingest.etdump.values import DTYPES
from tracehouse.ingest.etrecord.graphs import result_names, result_types
from tracehouse.ingest.etrecord.names import CONSTANT_PREFIXES, EXPORTED_PROGRAM
from tracehouse.ingest.etrecord.record import EtRecord, decode_etrecord
from tracehouse.ingest.etrecord.torch_archive import WIDTHS
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_source

IDENTIFIER = b"ET12"
_HEADER = b"eh00"  # the extended header, at byte 8
FREE_BYTES = 16 << 20
BYTES_PER_BYTE = 16  # real programs take up to 6
_TABLE_BYTES, _NUMBER_BYTES = 64, 40  # in memory
_TENSOR, _KERNEL_CALL, _DELEGATE_CALL = 5, 1, 2  # members of the schema's unions
_DIGITS = 12  # shown of a digest

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


@dataclass(frozen=True)
class DataPart:
    """Data of a program: their name, size, and the first digits of their SHA-256."""

    name: str
    byte_count: int
    digest: str


@dataclass(frozen=True)
class ProgramMethod:
    """A method of a program.

    Attributes:
        kernels: Kernel of each instruction that calls one, with the type of its last argument,
            which is the result: ``aten::add.out float32[1, 8]``.
        delegates: The delegates' data, in order, each with the name of its backend.
        delegate_calls: Index of the delegate of each instruction that calls one.
        planned_bytes: Bytes of each planned buffer of activations.
        constants: Type of each constant tensor that a value refers to: ``float32[16, 8]``.
    """

    name: str
    kernels: list[str]
    delegates: list[DataPart]
    delegate_calls: list[int]
    planned_bytes: list[int]
    constants: list[str]


@dataclass(frozen=True)
class ProgramFile:
    """A program file.

    Attributes:
        byte_count: Size of the file.
        constants: Its constant tensors, and its named data (delegates' constants).
    """

    byte_count: int
    constants: list[DataPart]
    methods: list[ProgramMethod]


def decode_program(data: bytes | memoryview, name: str) -> ProgramFile:
    """The program in these bytes; `name` is its name in messages.

    Raises:
        SourceError: The bytes are not a program, or damaged.
    """
    if bytes(data[4:8]) != IDENTIFIER:
        raise SourceError(name, "is not an ExecuTorch program (no 'ET12' at byte 4)")
    try:
        return _read_program(memoryview(data))
    except (struct.error, IndexError, ValueError) as error:
        raise SourceError(name, f"is a damaged ExecuTorch program: {error}") from error


def _read_program(data: memoryview) -> ProgramFile:
    has_header = bytes(data[8:12]) == _HEADER
    base = struct.unpack_from("<Q", data, 24)[0] if has_header else 0
    allowance = Allowance(FREE_BYTES + BYTES_PER_BYTE * len(data), "bytes")
    root = _Table(data, struct.unpack_from("<I", data)[0], allowance)
    segments = [(base + one.number(0, "Q"), one.number(1, "Q")) for one in root.tables(4)]
    places = [[one.place(0) for one in root.tables(3)], segments]  # inline, in segments
    methods = [_read_method(plan, places) for plan in root.tables(1)]
    constants = [one.place(0) for one in root.tables(2)]
    constant_segment = root.table(5)
    if constant_segment and constant_segment.place(1)[1]:
        constants.append(segments[constant_segment.number(0, "I")])
    named = {one.text(0): segments[one.number(1, "I")] for one in root.tables(7)}
    in_order = [named[name] for name in sorted(named)]
    parts = [root.data_part("constants", constants), root.data_part("named data", in_order)]
    return ProgramFile(len(data), parts, methods)


def _read_method(plan: _Table, places: list[list[tuple[int, int]]]) -> ProgramMethod:
    types = [_tensor_type(value) for value in plan.tables(2)]
    kernels = [f"{one.text(0)}.{one.text(1)}".removesuffix(".") for one in plan.tables(6)]
    delegates = []
    for delegate in plan.tables(7):
        reference = delegate.table(1)
        start, size = (
            places[reference.number(0, "b")][reference.number(1, "I")] if reference else (0, 0)
        )
        delegates.append(plan.data_part(delegate.text(0), [(start, size)]))
    called, delegate_calls = [], []
    for chain in plan.tables(5):
        for instruction in chain.tables(2):
            kind, call = instruction.number(0, "B"), instruction.table(1)
            if call and kind == _KERNEL_CALL:
                results = [type_ for place in call.numbers(1, "i") if (type_ := types[place])]
                called.append(plan.join([kernels[call.number(0, "i")], *results[-1:]]))
            elif call and kind == _DELEGATE_CALL:
                delegate_calls.append(call.number(0, "i"))
    planned = list(plan.numbers(8, "q"))[1:]  # the first is unused
    constants = [
        type_ for value, type_ in zip(plan.tables(2), types, strict=True) if _is_constant(value)
    ]
    return ProgramMethod(plan.text(0), called, delegates, delegate_calls, planned, constants)


def _tensor_type(value: _Table) -> str:
    tensor = value.table(1)
    if tensor is None or value.number(0, "B") != _TENSOR:
        return ""
    return f"{DTYPES[tensor.number(0, 'B')]}{list(tensor.numbers(2, 'i'))}"


def _is_constant(value: _Table) -> bool:
    tensor = value.table(1)
    return bool(
        tensor
        and value.number(0, "B") == _TENSOR
        and tensor.number(5, "I")
        and tensor.table(6) is None
    )


class _Table:
    """A table of a FlatBuffers file; fields are numbered, and an absent field is 0 or empty.

    Positions outside of the file raise struct.error.
    """

    def __init__(self, data: memoryview, position: int, allowance: Allowance) -> None:
        self._data, self._position, self._allowance = data, position, allowance

    def number(self, field: int, form: str) -> int:
        position = self._find(field)
        return self._read(form, position) if position else 0

    def table(self, field: int) -> _Table | None:
        position = self._find(field)
        return self._follow(position) if position else None

    def tables(self, field: int) -> Iterator[_Table]:
        start, count = self.place(field)
        return (self._follow(start + 4 * number) for number in range(count))

    def numbers(self, field: int, form: str) -> tuple[int, ...]:
        start, count = self.place(field)
        self._allowance.take(_NUMBER_BYTES * count)
        return struct.unpack_from(f"<{count}{form}", self._data, start)

    def text(self, field: int) -> str:
        start, count = self.place(field)
        self._allowance.take(count)
        return bytes(self._data[start : start + count]).decode("utf-8", "replace")

    def join(self, texts: list[str]) -> str:
        """The texts as one, which is charged."""
        self._allowance.take(_TABLE_BYTES + sum(map(len, texts)))
        return " ".join(texts)

    def data_part(self, name: str, places: Iterable[tuple[int, int]]) -> DataPart:
        """The data at these positions of the file, each with its size.

        Raises:
            ValueError: Data is outside of the file.
        """
        hashed, total = hashlib.sha256(), 0
        for start, size in places:
            if start + size > len(self._data):
                raise ValueError(f"data ends at byte {start + size:,} of {len(self._data):,}")
            self._allowance.take(size)
            hashed.update(self._data[start : start + size])
            total += size
        return DataPart(name, total, hashed.hexdigest()[:_DIGITS])

    def place(self, field: int) -> tuple[int, int]:
        """Position of the items of a vector, and their number."""
        position = self._find(field)
        if not position:
            return 0, 0
        start = position + self._read("I", position)
        count = self._read("I", start)
        return start + 4, count

    def _find(self, field: int) -> int:
        vtable = self._position - self._read("i", self._position)
        entry = 4 + 2 * field
        offset = self._read("H", vtable + entry) if entry < self._read("H", vtable) else 0
        return self._position + offset if offset else 0

    def _follow(self, position: int) -> _Table:
        self._allowance.take(_TABLE_BYTES)
        return _Table(self._data, position + self._read("I", position), self._allowance)

    def _read(self, form: str, position: int) -> Any:
        return struct.unpack_from(f"<{form}", self._data, position)[0]


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
