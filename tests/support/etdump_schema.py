"""The ETDump FlatBuffers schema as plain data: the reference reader and the builder follow it."""

from __future__ import annotations

from typing import NamedTuple

IDENTIFIER = b"ED00"


class Field(NamedTuple):
    """One slot of a table: a scalar, "string", a table, or a vector "[of one of these]"."""

    name: str
    type: str
    default: int = 0


# Fields in slot order.
TABLES: dict[str, tuple[Field, ...]] = {
    "Tensor": (
        Field("scalar_type", "ScalarType"),
        Field("sizes", "[int64]"),
        Field("strides", "[int64]"),
        Field("offset", "int64"),
    ),
    "Int": (Field("int_val", "int64"),),
    "Bool": (Field("bool_val", "bool"),),
    "Float": (Field("float_val", "float32"),),
    "Double": (Field("double_val", "float64"),),
    "TensorList": (Field("tensors", "[Tensor]"),),
    "Value": (
        Field("val", "ValueType"),
        Field("tensor", "Tensor"),
        Field("tensor_list", "TensorList"),
        Field("int_value", "Int"),
        Field("float_value", "Float"),
        Field("double_value", "Double"),
        Field("bool_value", "Bool"),
        Field("output", "Bool"),
    ),
    "DebugEvent": (
        Field("chain_index", "uint64"),
        Field("instruction_id", "int32", -1),
        Field("debug_entry", "Value"),
        Field("delegate_debug_id_int", "int32", -1),
        Field("delegate_debug_id_str", "string"),
        Field("name", "string"),
    ),
    "AllocationEvent": (
        Field("allocator_id", "int32"),
        Field("allocation_size", "uint64"),
    ),
    "ProfileEvent": (
        Field("name", "string"),
        Field("chain_index", "int32"),
        Field("instruction_id", "int32", -1),
        Field("delegate_debug_id_int", "int32", -1),
        Field("delegate_debug_id_str", "string"),
        Field("delegate_debug_metadata", "[uint8]"),
        Field("start_time", "uint64"),
        Field("end_time", "uint64"),
    ),
    "Event": (
        Field("profile_event", "ProfileEvent"),
        Field("allocation_event", "AllocationEvent"),
        Field("debug_event", "DebugEvent"),
    ),
    "Allocator": (Field("name", "string"),),
    "RunData": (
        Field("name", "string"),
        Field("bundled_input_index", "int32", -1),
        Field("allocators", "[Allocator]"),
        Field("events", "[Event]"),
    ),
    "ETDump": (
        Field("version", "uint32"),
        Field("run_data", "[RunData]"),
    ),
}

# struct's letter for each scalar; the enums are signed bytes.
SCALARS: dict[str, str] = {
    "bool": "?",
    "uint8": "B",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
    "ScalarType": "b",
    "ValueType": "b",
}

ENUMS: dict[str, dict[int, str]] = {
    "ValueType": dict(
        enumerate(("Null", "Int", "Bool", "Float", "Double", "Tensor", "TensorList", "String"))
    ),
    "ScalarType": {
        0: "BYTE",
        1: "CHAR",
        2: "SHORT",
        3: "INT",
        4: "LONG",
        5: "HALF",
        6: "FLOAT",
        7: "DOUBLE",
        8: "COMPLEX32",
        9: "COMPLEX64",
        10: "COMPLEX128",
        11: "BOOL",
        12: "QINT8",
        13: "QUINT8",
        14: "QINT32",
        15: "BFLOAT16",
        16: "QUINT4X2",
        17: "QUINT2X4",
        18: "BITS1X8",
        19: "BITS2X4",
        20: "BITS4X2",
        21: "BITS8",
        22: "BITS16",
        23: "FLOAT8E5M2",
        24: "FLOAT8E4M3FN",
        25: "FLOAT8E5M2FNUZ",
        26: "FLOAT8E4M3FNUZ",
        27: "UINT16",
        28: "UINT32",
        29: "UINT64",
    },
}
