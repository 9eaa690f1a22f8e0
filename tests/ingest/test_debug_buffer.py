from __future__ import annotations

import hashlib
import itertools
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.corpus import CORPUS, read_dump
from tests.support.stored_tensors import read_stored
from tracehouse import decode_dumps
from tracehouse.ingest.debug_buffer import (
    BYTES_PER_BYTE,
    FREE_BYTES,
    DebugBuffer,
    TensorValue,
    build_tensors,
)
from tracehouse.ingest.etdump.values import DTYPES
from tracehouse.ingest.schemas.dumps import SHA256, TENSORS

CODES = {
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q", "int8": "b", "int16": "h",
    "int32": "i", "int64": "q", "float16": "e", "float32": "f", "float64": "d", "qint8": "b",
    "quint8": "B", "qint32": "i", "bits8": "B", "bits16": "H",
}  # fmt: skip
INT64 = st.integers(-(2**63), 2**63 - 1)
SHAPES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=4)


def read(data, dtype, sizes, strides=None, offset=0) -> TensorValue:
    if strides is None:
        strides = np.empty(sizes, "u1").strides
    return DebugBuffer(data).read(dtype, sizes, strides=strides, offset=offset)


def floats(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@given(st.sampled_from(sorted(CODES)), SHAPES, st.integers(0, 9), st.randoms())
def test_each_element_stands_where_its_strides_say(dtype, dimensions, offset, random):
    sizes, strides = [size for size, _ in dimensions], [stride for _, stride in dimensions]
    width = struct.calcsize("<" + CODES[dtype])
    data = random.randbytes(offset + width * (sum(3 * stride for stride in strides) + 1))
    places = [
        offset + width * sum(map(int.__mul__, index, strides))
        for index in itertools.product(*map(range, sizes))
    ]
    elements = [data[place : place + width] for place in places]
    tensor = read(data, dtype, sizes, strides, offset)
    assert tensor.missing is None
    assert tensor.sha256 == hash_of(b"".join(elements))
    assert tensor.array.shape == tuple(sizes)
    assert tensor.array.dtype == np.dtype(CODES[dtype])
    assert tensor.array.tobytes() == b"".join(elements)


@given(
    st.sampled_from(DTYPES) | st.text(max_size=3),
    st.none() | st.lists(INT64 | st.integers(-1, 4), max_size=5),
    st.none() | st.lists(INT64 | st.integers(-1, 4), max_size=5),
    INT64 | st.integers(-1, 70),
    st.none() | st.binary(max_size=64),
)
def test_any_stated_tensor_is_read_or_missing_with_a_reason(dtype, sizes, strides, offset, data):
    tensor = DebugBuffer(data).read(dtype, sizes, strides=strides, offset=offset)
    assert (tensor.missing is None) == (tensor.sha256 is not None) == (tensor.array is not None)
    assert tensor.shape == sizes
    if tensor.array is not None:
        assert list(tensor.array.shape) == sizes


@pytest.mark.parametrize(
    ("dtype", "sizes", "strides", "offset", "reason"),
    [
        ("float32", [3], [1], 0, "outside the debug buffer (8 bytes)"),
        ("float32", [2], [1], 4, "outside the debug buffer (8 bytes)"),
        ("float32", [2], [1], -4, "outside the debug buffer (8 bytes)"),
        ("float32", [1], [1], 2**63 - 1, "outside the debug buffer (8 bytes)"),
        ("uint8", [2], [2**63 - 1], 0, "outside the debug buffer (8 bytes)"),
        ("uint8", [2**40], [1], 0, "outside the debug buffer (8 bytes)"),
        ("uint8", [2**40], [0], 0, "1,099,511,627,776 bytes, wanted at most 1,048,576"),
        ("uint8", [2**62, 2**62], [0, 0], 0, "shape too large, wanted fewer than 1,152,921,504"),
        ("uint8", [0, 2**62], [0, 0], 0, "shape too large, wanted fewer than 1,152,921,504"),
        ("uint8", [-2], [1], 0, "negative size"),
        ("uint8", [2], [-1], 1, "negative stride"),
        ("uint8", [2], [], 0, "0 strides, wanted 1"),
        ("uint8", [2], None, 0, "0 strides, wanted 1"),
        ("uint8", [1] * 65, [1] * 65, 0, "65 dimensions, wanted at most 64"),
        ("uint8", None, None, 0, "no sizes"),
        ("complex64", [1], [1], 0, "elements of dtype complex64 are not read"),
        ("unknown(99)", [0], [1], 0, "elements of dtype unknown(99) are not read"),
    ],
)
def test_an_unreadable_tensor_is_missing_with_its_reason(dtype, sizes, strides, offset, reason):
    tensor = DebugBuffer(bytes(8)).read(dtype, sizes, strides=strides, offset=offset)
    assert tensor.missing is not None
    assert tensor.missing.startswith(reason)
    assert tensor.stored is tensor.array is tensor.sha256 is None


def test_without_a_debug_buffer_only_empty_tensors_are_read():
    assert read(None, "float32", [2]).missing == "no debug buffer"
    empty = read(None, "float32", [0, 3], offset=-1)
    assert empty.missing is None
    assert empty.array.shape == (0, 3)
    assert empty.sha256 == hash_of(b"")


def test_channels_last_elements_come_in_logical_order():
    logical = np.arange(24, dtype="<f4").reshape(1, 2, 3, 4)
    memory = logical.transpose(0, 2, 3, 1).tobytes()
    tensor = read(memory, "float32", [1, 2, 3, 4], [24, 1, 8, 2])
    assert tensor.array.tolist() == logical.tolist()
    assert tensor.sha256 == hash_of(logical.tobytes())


def test_an_expanded_tensor_repeats_its_elements():
    assert read(floats(1, 2), "float32", [2, 2], [0, 1]).array.tolist() == [[1, 2], [1, 2]]


def test_the_stride_of_a_dimension_of_one_does_not_count():
    assert read(floats(1, 2), "float32", [1, 2], [-9, 1]).array.tolist() == [[1, 2]]


def test_a_scalar_tensor_has_one_element_and_no_dimension():
    tensor = read(floats(7), "float32", [], [])
    assert (tensor.shape, tensor.array.shape, tensor.array.item()) == ([], (), 7)


def test_bfloat16_is_widened_exactly_and_hashed_as_it_is():
    data = struct.pack("<5H", 0x3FC0, 0xFF80, 0x7FC1, 0x0001, 0x8000)
    tensor = read(data, "bfloat16", [5])
    assert tensor.array.dtype == np.float32
    assert tensor.array.view("<u4").tolist() == [
        0x3FC00000, 0xFF800000, 0x7FC10000, 0x00010000, 0x80000000,
    ]  # fmt: skip
    assert tensor.sha256 == hash_of(data)
    assert read(data, "bfloat16", [], []).array.shape == ()


def test_any_byte_but_zero_is_true():
    tensor = read(b"\0\1\2\xff", "bool", [4])
    assert tensor.array.tolist() == [False, True, True, True]
    assert tensor.sha256 == hash_of(b"\0\1\2\xff")


def test_elements_are_a_read_only_view_of_the_buffer():
    data = np.zeros(4, "<f4")
    array = read(memoryview(data), "float32", [2, 2], [1, 2]).array
    assert np.shares_memory(array, data)
    assert not array.flags.writeable


def test_equal_places_are_one_tensor():
    buffer = DebugBuffer(floats(1, 2, 3))
    places = [("float32", [2], 0), ("float32", [2], 4), ("int32", [2], 0), ("float32", [2], 0)]
    tensors = [buffer.read(dtype, sizes, strides=[1], offset=at) for dtype, sizes, at in places]
    assert tensors[0] is tensors[3]
    assert len({id(tensor) for tensor in tensors}) == 3


def test_tensors_are_the_same_if_type_shape_and_bits_are():
    nan = floats(float("nan"), 0)
    one = read(nan, "float32", [2])
    assert one.is_same(read(bytes(4) + nan, "float32", [2], offset=4)) is True
    assert one.is_same(read(floats(float("nan"), -0.0), "float32", [2])) is False
    assert one.is_same(read(nan, "float32", [1, 2])) is False
    assert one.is_same(read(nan, "int32", [2])) is False
    assert one.is_same(read(None, "float32", [2])) is None
    assert one.is_same(read(None, "float32", [3])) is False


@pytest.mark.parametrize("dtype", [*CODES, "bool", "bfloat16"])
def test_a_tensor_survives_conversion_to_an_array_and_back(dtype):
    tensor = read(bytes(range(1, 97)), dtype, [2, 3])
    assert TensorValue.of_array(dtype, tensor.array).is_same(tensor) is (dtype != "bool")
    assert TensorValue.of_array(dtype, tensor.array).array.tobytes() == tensor.array.tobytes()


def test_an_array_of_a_type_that_is_not_read_is_missing():
    tensor = TensorValue.of_array("complex64", np.zeros(2, np.complex64))
    assert (tensor.shape, tensor.missing) == ([2], "elements of dtype complex64 are not read")


def test_each_content_is_stored_once_whatever_its_place_and_form():
    data = floats(1, 2, 1, 2)
    rows = [
        {"dtype": "float32", "sizes": [2], "strides": [1], "tensor_offset": 0},
        {"dtype": "float32", "sizes": [2, 1], "strides": [1, 1], "tensor_offset": 8},
        {"dtype": None, "sizes": None, "strides": None, "tensor_offset": None},
        {"dtype": "float32", "sizes": [2], "strides": [1], "tensor_offset": 12},
        {"dtype": "float32", "sizes": [0], "strides": [1], "tensor_offset": -1},
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    parts, sha256 = build_tensors(pa.table(columns), data)
    tensors = pa.concat_tables([TENSORS.empty_table(), *parts])
    assert tensors.schema.equals(TENSORS, check_metadata=True)
    assert sha256.type == SHA256.type
    assert sha256.to_pylist() == [hash_of(data[:8]), hash_of(data[:8]), None, None, hash_of(b"")]
    assert tensors.to_pylist() == [
        {"sha256": hash_of(data[:8]), "byte_count": 8, "data": data[:8]},
        {"sha256": hash_of(b""), "byte_count": 0, "data": b""},
    ]


def test_a_stored_tensor_comes_back_in_its_shape():
    assert read_stored("int16", [2, 3], struct.pack("<6h", *range(6))).array.tolist() == [
        [0, 1, 2],
        [3, 4, 5],
    ]
    assert read_stored("float32", [], floats(2)).array.item() == 2
    assert read_stored("float32", [0, 3], b"").array.shape == (0, 3)


def _logged(name: str):
    debug_values = decode_dumps([read_dump(name)]).tables["debug_values"]
    return debug_values, (CORPUS / f"{name}.debug.bin").read_bytes()


@pytest.mark.parametrize(
    "name", sorted(f"{p.parent.name}/{p.name[:-10]}" for p in CORPUS.glob("*/*.debug.bin"))
)
def test_every_tensor_of_a_dump_comes_back_from_the_store(name):
    debug_values, data = _logged(name)
    parts, sha256 = build_tensors(debug_values, data)
    tensors = pa.concat_tables([TENSORS.empty_table(), *parts])
    contents = dict(zip(tensors["sha256"].to_pylist(), tensors["data"].to_pylist(), strict=True))
    buffer = DebugBuffer(data)
    for row, key in zip(debug_values.to_pylist(), sha256.to_pylist(), strict=True):
        if row["dtype"] is None:
            assert key is None
            continue
        strides, offset = row["strides"], row["tensor_offset"]
        tensor = buffer.read(row["dtype"], row["sizes"], strides=strides, offset=offset)
        assert (key is None) == (tensor.missing is not None)
        if key is not None:
            assert read_stored(row["dtype"], row["sizes"], contents[key]).is_same(tensor) is True


def test_tensors_of_one_buffer_take_no_more_than_it_may_stand_for():
    buffer = DebugBuffer(bytes(1))
    tensors = [
        buffer.read("uint8", [1 << 20], strides=[0], offset=0),
        *(buffer.read("uint8", [(1 << 20) - i], strides=[0], offset=0) for i in range(1, 100)),
    ]
    read_bytes = sum(tensor.stored.nbytes for tensor in tensors if tensor.stored is not None)
    assert FREE_BYTES - (2 << 20) < read_bytes <= FREE_BYTES + BYTES_PER_BYTE
    assert tensors[-1].missing == (
        "together with earlier tensors it would take more than 16,777,220 bytes of tensors"
    )
    assert buffer.read("uint8", [1 << 20], strides=[0], offset=0) is tensors[0]


def test_tensor_of_absurdly_many_dimensions_is_missing():
    tensor = DebugBuffer(b"").read("uint8", [2**62] * 1_000_000, strides=[], offset=0)
    assert tensor.missing == "1,000,000 dimensions, wanted at most 64"
