"""Program files (``.pte``): the parts needed to compare two programs, without ExecuTorch.

The layout is that of schema/program.fbs (identifier ``ET12``). An extended header before the tables
gives the start of the segments of constants and delegates.

What is read and made of a program, in bytes, takes at most FREE_BYTES plus BYTES_PER_BYTE per byte
of the file: tables and texts that a damaged or hostile file refers to again and again count each
time.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tracehouse.ingest.allowance import Allowance
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.etdump.values import DTYPES

IDENTIFIER = b"ET12"
_HEADER = b"eh00"  # of the extended header, at byte 8
FREE_BYTES = 16 << 20
BYTES_PER_BYTE = 16  # real programs take up to 6
_TABLE_BYTES, _NUMBER_BYTES = 64, 40  # in memory
_TENSOR, _KERNEL_CALL, _DELEGATE_CALL = 5, 1, 2  # members of the schema's unions
_DIGITS = 12  # of a digest


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
