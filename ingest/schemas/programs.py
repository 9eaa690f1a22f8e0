"""Arrow schemas of the contents of ETRecords, and of how the events of dumps relate to them.

The id of an ETRecord is a hash of its bytes, and of the method that dumps state if it has several.
So the same file and method have the same id on every machine.
"""

from __future__ import annotations

import pyarrow as pa

from tracehouse.ingest.schemas.fields import field as _field
from tracehouse.ingest.schemas.fields import table as _table

_ETRECORD = _field("etrecord_id", pa.int64(), "ETRecord the row belongs to.")
_METHOD = _field("method", pa.string(), "Method of the program.")
_INSTRUCTION = _field("instruction_id", pa.int32(), "Instruction of the method.")
_POSITION = _field("position", pa.int32(), "Position of the handle in its list, from 0.")
_IS_LIST = _field("is_list", pa.bool_(), "Whether the ETRecord has a list here, even of one.")

ETRECORDS = _table(
    "One row per ETRecord; if it has several methods, also one per method that dumps state.",
    _field(
        "etrecord_id",
        pa.int64(),
        "First 8 bytes of the SHA-256, top bit cleared; for one method, those of the SHA-256 "
        "of that SHA-256 as text, a space and the method.",
    ),
    _field("sha256", pa.string(), "SHA-256 of the ETRecord's bytes, lower-case hex."),
    _field("source", pa.string(), "Path or archive member it was read from."),
    _field("byte_count", pa.int64(), "Size in bytes."),
)

GRAPH_NODES = _table(
    "One row per node of a graph and debug handle; a node without a handle has one row.",
    _ETRECORD,
    _field(
        "graph", pa.string(),
        "edge_dialect_exported_program, exported_program, or a name of the graph map.",
    ),
    _METHOD,
    _field(
        "scope", pa.string(),
        "'' for the program's main graph; else the names of the nodes that hold the graph.",
    ),
    _field("node_index", pa.int32(), "Position of the node in its graph, from 0."),
    _field("node", pa.string(), "Name of the node, unique in its graph."),
    _field("op", pa.string(), "placeholder, call_function or output."),
    _field("target", pa.string(), "What is called, e.g. aten.convolution.default."),
    _field("debug_handle", pa.int64(), "Debug handle; null without one.", nullable=True),
    _field("code", pa.string(), "The node as a line of code, with the types of its results."),
    _field("stack_trace", pa.string(), "Its place in the model's source.", nullable=True),
    _field("module_path", pa.string(), "Innermost module, e.g. layers.0.attn.", nullable=True),
    _field("module_type", pa.string(), "Class of that module.", nullable=True),
    _field(
        "module_hierarchy", pa.string(),
        'JSON object of [path, class] by module, from the outermost: {"L__self__c": ["c", ...]}.',
    ),
)  # fmt: skip

DEBUG_HANDLES = _table(
    "One row per instruction and debug handle; an instruction with an empty list has one row.",
    _ETRECORD,
    _METHOD,
    _INSTRUCTION,
    _POSITION,
    _field("debug_handle", pa.int64(), "The handle; null for an empty list.", nullable=True),
    _IS_LIST,
    _field(
        "output_count", pa.int64(),
        "Outputs of the instruction; null where not recorded (outside delegate calls).",
        nullable=True,
    ),
)  # fmt: skip

DELEGATES = _table(
    "One row per delegate call, delegate id and debug handle; a call without ids has one row.",
    _ETRECORD,
    _METHOD,
    _INSTRUCTION,
    _field("backend", pa.string(), "Name of the backend; null if absent.", nullable=True),
    _field("delegate_id", pa.string(), "Delegate id, ints as text; null without.", nullable=True),
    _POSITION,
    _field("debug_handle", pa.int64(), "The handle; null without one.", nullable=True),
    _IS_LIST,
)

_EVENT = (
    _ETRECORD,
    _field("run_signature_id", pa.int64(), "Signature of the event's run."),
    _field("event_signature_id", pa.int64(), "Signature of the event."),
)

EVENT_ORIGINS = _table(
    "One row per ETRecord, run signature of its dumps and event signature: what the event ran.",
    *_EVENT,
    _field("method", pa.string(), "Method of the run; null if unknown.", nullable=True),
    _field(
        "delegate_backend", pa.string(), "Backend it ran on; null outside delegates.",
        nullable=True,
    ),
    _field("debug_handles", pa.list_(pa.int64()), "Its handles; null without.", nullable=True),
    _field("op_types", pa.list_(pa.string()), "Operator of each node with one of them."),
    _field(
        "doubt", pa.string(), "Disagreement between ETRecord and run; null if none.", nullable=True
    ),
)  # fmt: skip

EVENT_MODULES = _table(
    "One row per ETRecord, run signature, event signature and module whose time the event is.",
    *_EVENT,
    _field("module_path", pa.string(), "Module, e.g. layers.0.attn; '' is the whole program."),
    _field(
        "module_type", pa.string(),
        "Class of the module; null if it only contains other modules, like a list.",
        nullable=True,
    ),
    _field("is_total", pa.bool_(), "Whether it counts for the module and all modules inside it."),
    _field("is_own", pa.bool_(), "Whether it counts for the module's own nodes alone."),
)  # fmt: skip

PROGRAM_TABLES: dict[str, pa.Schema] = {
    "etrecords": ETRECORDS,
    "graph_nodes": GRAPH_NODES,
    "debug_handles": DEBUG_HANDLES,
    "delegates": DELEGATES,
}
