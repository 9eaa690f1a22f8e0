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
    name: dict(enumerate(names.split()))
    for name, names in {
        "ValueType": "Null Int Bool Float Double Tensor TensorList String",
        "ScalarType": (
            "BYTE CHAR SHORT INT LONG HALF FLOAT DOUBLE COMPLEX32 COMPLEX64 COMPLEX128 BOOL QINT8 "
            "QUINT8 QINT32 BFLOAT16 QUINT4X2 QUINT2X4 BITS1X8 BITS2X4 BITS4X2 BITS8 BITS16 "
            "FLOAT8E5M2 FLOAT8E4M3FN FLOAT8E5M2FNUZ FLOAT8E4M3FNUZ UINT16 UINT32 UINT64"
        ),
    }.items()
}
