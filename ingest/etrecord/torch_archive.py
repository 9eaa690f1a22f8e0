"""Archives of torch.save -> lists, dicts, numbers and tensors, without executing anything.

The pickle is interpreted by a small stack machine, which knows the opcodes that torch.save writes
for such values and a fixed list of names. Other opcodes and names are refused.

Limits: a pickle has at most MAX_PICKLE_BYTES and MAX_OPCODES; its tensors, which may share
elements, take at most FREE_TENSOR_BYTES plus TENSOR_BYTES_PER_BYTE per byte of the archive.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pickletools import opcodes
from typing import Any, TypeGuard

from tracehouse.ingest.allowance import Allowance
from tracehouse.ingest.debug_buffer import DebugBuffer, TensorValue
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.sources.zip_limits import ZipMembers

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

MAX_PICKLE_BYTES = 64 << 20
MAX_OPCODES = 2_000_000  # enough for 60,000 tensors; takes about a second
FREE_TENSOR_BYTES = 64 << 20
TENSOR_BYTES_PER_BYTE = 8
WIDTHS = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
    "int64": 8, "uint64": 8, "bfloat16": 2, "float16": 2, "float32": 4, "float64": 8,
}  # fmt: skip
_STORAGES = {
    "torch BoolStorage": "bool", "torch ByteStorage": "uint8", "torch CharStorage": "int8",
    "torch ShortStorage": "int16", "torch IntStorage": "int32", "torch LongStorage": "int64",
    "torch BFloat16Storage": "bfloat16", "torch HalfStorage": "float16",
    "torch FloatStorage": "float32", "torch DoubleStorage": "float64",
    "torch.storage UntypedStorage": "uint8",
}  # fmt: skip
_DTYPES = {f"torch {dtype}": dtype for dtype in WIDTHS}
_FUNCTIONS = {
    "collections OrderedDict", "torch Size", "torch._utils _rebuild_parameter",
    "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor_v3",
}  # fmt: skip
_NAMES = {*_STORAGES, *_DTYPES, *_FUNCTIONS}
_NO_CALL = "calls something other than a function that builds tensors, or with other arguments"


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


@dataclass(frozen=True)
class _Name:
    """An object that the pickle refers to by module and name."""

    name: str


@dataclass(frozen=True)
class _Storage:
    """Elements that tensors share."""

    dtype: str
    data: memoryview


def read_torch_archive(data: bytes, place: str) -> object:
    """The value in an archive of torch.save; an OrderedDict becomes a dict, a Parameter its tensor.

    Values are None, bools, numbers, texts, lists, tuples, dicts and
    `ingest.debug_buffer.TensorValue`; lists and dicts may contain themselves.

    Raises:
        EtRecordError: The data is not such a zip, is damaged, or has other values.
    """
    if not data.startswith(b"PK"):
        raise EtRecordError(place, "is not a zip of torch.save; save it with a newer ExecuTorch")
    members = ZipMembers(data, place, inflation=1)  # torch.save does not compress
    pickles = [n for n in members.names if n.count("/") == 1 and n.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise EtRecordError(place, f"has {len(pickles)} pickles, wanted one")
    folder = pickles[0].removesuffix("data.pkl")
    order = f"{folder}byteorder"
    if order in members.names and members.read(order, most_bytes=6) != b"little":
        raise EtRecordError(place, "was saved on a big-endian machine, wanted a little-endian one")
    try:
        most = FREE_TENSOR_BYTES + TENSOR_BYTES_PER_BYTE * len(data)
        machine = _Machine(members, folder, Allowance(most, "bytes of tensors"))
        return machine.run(members.read(pickles[0], most_bytes=MAX_PICKLE_BYTES))
    except (ValueError, IndexError) as error:
        problem = f"{error}; wanted plain values and dense tensors, as torch.save writes them"
        raise EtRecordError(members.place_of(pickles[0]), problem) from error


class _Machine:
    """Builds a value from opcodes; a malformed pickle raises ValueError or IndexError."""

    def __init__(self, members: ZipMembers, folder: str, tensors: Allowance) -> None:
        self._members = members
        self._tensors = tensors
        self._folder = folder
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, object] = {}
        self._storages: dict[str, bytes] = {}
        push = self._stack.append
        self._steps: dict[str, Callable[[Any], None]] = {
            "PROTO": lambda _: None,
            "STOP": lambda _: None,
            "MARK": lambda _: self._marks.append(len(self._stack)),
            "NONE": lambda _: push(None),
            "NEWTRUE": lambda _: push(True),
            "NEWFALSE": lambda _: push(False),
            "EMPTY_DICT": lambda _: push({}),
            "EMPTY_LIST": lambda _: push([]),
            "EMPTY_TUPLE": lambda _: push(()),
            "BININT": push,
            "BININT1": push,
            "BININT2": push,
            "LONG1": push,
            "BINFLOAT": push,
            "BINUNICODE": push,
            "TUPLE": lambda _: push(tuple(self._pop_to_mark())),
            "TUPLE1": lambda _: push(tuple(self._pop(1))),
            "TUPLE2": lambda _: push(tuple(self._pop(2))),
            "TUPLE3": lambda _: push(tuple(self._pop(3))),
            "APPEND": lambda _: self._append(self._pop(1)),
            "APPENDS": lambda _: self._append(self._pop_to_mark()),
            "SETITEM": lambda _: self._set_items(self._pop(2)),
            "SETITEMS": lambda _: self._set_items(self._pop_to_mark()),
            "BINPUT": self._memoize,
            "LONG_BINPUT": self._memoize,
            "BINGET": self._recall,
            "LONG_BINGET": self._recall,
            "GLOBAL": self._push_name,
            "BINPERSID": lambda _: push(self._read_storage(*self._pop(1))),
            "REDUCE": lambda _: self._reduce(*self._pop(2)),
        }

    def run(self, pickle: bytes) -> object:
        for count, (name, argument) in enumerate(read_opcodes(pickle), 1):
            if count > MAX_OPCODES:
                raise ValueError(f"has more than {MAX_OPCODES:,} opcodes")
            self._steps[name](argument)
        [value] = self._stack
        return value

    def _pop(self, count: int) -> list[Any]:
        if len(self._stack) < count:
            raise ValueError("pops a value from an empty stack")
        values = self._stack[-count:]
        del self._stack[-count:]
        return values

    def _pop_to_mark(self) -> list[Any]:
        mark = self._marks.pop()
        values = self._stack[mark:]
        del self._stack[mark:]
        return values

    def _reduce(self, function: object, arguments: object) -> None:
        made = _call(function, arguments)
        if isinstance(made, TensorValue) and made.stored is not None:
            self._tensors.take(made.stored.nbytes)
        self._stack.append(made)

    def _push_name(self, name: str) -> None:
        if name not in _NAMES:
            raise ValueError(f"refers to {name.replace(' ', '.'):.100}")
        self._stack.append(_Name(name))

    def _memoize(self, key: int) -> None:
        self._memo[key] = self._stack[-1]

    def _recall(self, key: int) -> None:
        if key not in self._memo:
            raise ValueError(f"reads value {key} from the memo, which was never stored")
        self._stack.append(self._memo[key])

    def _append(self, items: list[object]) -> None:
        if not isinstance(self._stack[-1], list):
            raise ValueError("appends to a value that is not a list")
        self._stack[-1].extend(items)

    def _set_items(self, items: list[Any]) -> None:
        keys, values = items[::2], items[1::2]
        if not isinstance(self._stack[-1], dict) or not all(isinstance(k, str | int) for k in keys):
            raise ValueError(
                "sets items of a value that is not a dict, or with keys that are not texts"
            )
        self._stack[-1].update(zip(keys, values, strict=True))

    def _read_storage(self, reference: object) -> _Storage:
        match reference:
            case ("storage", _Name(name), str(key), str(), int(count)) if name in _STORAGES:
                if key not in self._storages:
                    self._storages[key] = self._members.read(f"{self._folder}data/{key}")
                dtype, data = _STORAGES[name], memoryview(self._storages[key])
                size = count * WIDTHS[dtype]
                if 0 <= size <= len(data):
                    return _Storage(dtype, data[:size])
                raise ValueError(f"storage {key:.60} has {len(data):,} bytes, wanted {size:,}")
        raise ValueError("refers to an external object that is not the storage of a tensor")


def _call(function: object, arguments: object) -> object:
    match (function, arguments):
        case (_Name("collections OrderedDict"), ()):
            return {}
        case (_Name("torch Size"), (tuple() as sizes,)):
            return sizes
        case (_Name("torch._utils _rebuild_parameter"), (TensorValue() as tensor, _, _)):
            return tensor
        case (
            _Name("torch._utils _rebuild_tensor_v2"),
            (_Storage() as storage, offset, sizes, strides, _, _, *rest),
        ) if not any(rest):
            return _tensor(storage, offset, sizes, strides)
        case (
            _Name("torch._utils _rebuild_tensor_v3"),
            (_Storage() as storage, offset, sizes, strides, _, _, _Name(dtype), *rest),
        ) if dtype in _DTYPES and not any(rest):
            return _tensor(_Storage(_DTYPES[dtype], storage.data), offset, sizes, strides)
    raise ValueError(_NO_CALL)


def _tensor(storage: _Storage, offset: object, sizes: object, strides: object) -> TensorValue:
    if not (isinstance(offset, int) and _are_ints(sizes) and _are_ints(strides)):
        raise ValueError(_NO_CALL)
    start = offset * WIDTHS[storage.dtype]
    tensor = DebugBuffer(storage.data).read(storage.dtype, sizes, strides=strides, offset=start)
    if tensor.missing:
        raise ValueError(
            f"a tensor of sizes {sizes!r:.60}, strides {strides!r:.60} and offset {offset} does "
            f"not fit into its storage ({len(storage.data):,} bytes of {storage.dtype})"
        )
    return tensor


def _are_ints(values: object) -> TypeGuard[tuple[int, ...]]:
    return isinstance(values, tuple) and all(type(value) is int for value in values)
