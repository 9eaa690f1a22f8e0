"""The opcodes of pickles that torch.save writes for plain values and tensors. Pure."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pickletools import opcodes

_OPCODES = {ord(opcode.code): opcode.name for opcode in opcodes}
_NUMBERS = {
    name: struct.Struct(form)
    for name, form in {
        "PROTO": "B", "BININT1": "B", "BININT2": "<H", "BININT": "<i", "BINFLOAT": ">d",
        "BINPUT": "B", "BINGET": "B", "LONG_BINPUT": "<I", "LONG_BINGET": "<I",
        "LONG1": "B", "BINUNICODE": "<I",
    }.items()
}  # fmt: skip
_ALONE = {
    "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE",
    "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "BINPERSID",
    "REDUCE",
}  # fmt: skip

Argument = int | float | str | None


def read_opcodes(pickle: bytes) -> Iterator[tuple[str, Argument]]:
    """Name and argument of each opcode up to STOP; GLOBAL's argument is "module name".

    Raises:
        ValueError: An opcode is not supported, the pickle is truncated, or a text is not UTF-8.
    """
    position = 0
    while position < len(pickle):
        name = _OPCODES.get(pickle[position], f"{pickle[position]:#x}")
        argument, position = _read_argument(name, pickle, position + 1)
        yield name, argument
        if name == "STOP":
            return
    raise ValueError("ends without the opcode STOP")


def _read_argument(name: str, pickle: bytes, start: int) -> tuple[Argument, int]:
    # Also returns the position of the next opcode.
    if name in _ALONE:
        return None, start
    if name == "GLOBAL":
        module, end = _take_line(pickle, start)
        what, end = _take_line(pickle, end)
        return f"{module} {what}", end
    if name not in _NUMBERS:
        raise ValueError(f"uses the opcode {name}")
    end = start + _NUMBERS[name].size
    [number] = _NUMBERS[name].unpack(_take(pickle, start, end))
    if name == "LONG1":
        return int.from_bytes(_take(pickle, end, end + number), "little", signed=True), end + number
    if name == "BINUNICODE":
        return _take(pickle, end, end + number).decode(), end + number
    return number, end


def _take_line(pickle: bytes, start: int) -> tuple[str, int]:
    end = pickle.find(b"\n", start)
    if end < 0:
        raise ValueError("ends within a name")
    return pickle[start:end].decode(), end + 1


def _take(pickle: bytes, start: int, end: int) -> bytes:
    if end > len(pickle):
        raise ValueError("ends within a value")
    return pickle[start:end]
