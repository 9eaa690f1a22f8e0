"""The logged operators of a dump in a store, like those of a dump on disk."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from tracehouse.ingest.etrecord.graphs import DIALECTS
from tracehouse.ingest.etrecord.maps import Handles
from tracehouse.ingest.etrecord.names import EDGE_PROGRAM
from tracehouse.ingest.etrecord.record import decode_etrecord
from tracehouse.ingest.schemas.dumps import DECODED
from tracehouse.queries.numeric_gap.logged_operators import (
    LoggedRun,
    build_logged_operators,
    check_runs,
)
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.programs.correlation import Correlation
from tracehouse.warehouse.statistics.run_lengths import join_lengths
from tracehouse.warehouse.store import Store

_Row = Mapping[str, Any]
_Map = dict[str, dict[int, Any]]

_CALL = ("method", "instruction_id")
_SIZES = re.compile(r"\[[^\[\]]*\]")
_TYPE = re.compile(r":[^,]*")
_NO_VALUE = re.compile(r"'[^']*'|\b\w+=")  # strings, and names of arguments
_NAME = re.compile(r"[^\W\d]\w*")

_DUMP = "SELECT etrecord_id, debug_buffer_sha256 FROM dumps WHERE dump_id = $id"
_ROWS = {
    "runs": "SELECT * FROM runs WHERE dump_id = $id ORDER BY rowid",
    "events": "SELECT * FROM events WHERE dump_id = $id ORDER BY rowid",
    "delegate_metadata": "SELECT * FROM delegate_metadata WHERE dump_id = $id ORDER BY rowid",
    "debug_values": "SELECT * FROM debug_values WHERE dump_id = $id ORDER BY rowid",
    "allocations": "SELECT * FROM allocations WHERE dump_id = $id ORDER BY rowid",
}
_RUN_SIGNATURES = "SELECT * FROM run_signatures WHERE list_contains($ids, run_signature_id)"
_SIGNATURES = "SELECT * FROM event_signatures WHERE list_contains($ids, event_signature_id)"
_PROGRAM = {
    "nodes": "SELECT * FROM graph_nodes WHERE etrecord_id = $id ORDER BY rowid",
    "debug_handles": "SELECT * FROM debug_handles WHERE etrecord_id = $id ORDER BY rowid",
    "delegates": "SELECT * FROM delegates WHERE etrecord_id = $id ORDER BY rowid",
}
_TENSORS = "SELECT sha256, data FROM tensors WHERE list_contains($hashes, sha256)"
_ALIGNMENT = 64
_NOWHERE = -1


def write_record(
    nodes: Iterable[_Row], debug_handles: Iterable[_Row], delegates: Iterable[_Row]
) -> bytes:
    """The bytes of an ETRecord with these table rows, in the order of the file."""
    handles: _Map = defaultdict(dict)
    counts: _Map = defaultdict(dict)
    for (method, instruction), rows in groupby(debug_handles, itemgetter(*_CALL)):
        same = list(rows)
        handles[method][instruction] = _handles(same)
        counts[method][instruction] = same[0]["output_count"]
    members: dict[str, Any] = {
        "debug_handle_map": handles,
        "delegate_map": _delegates(delegates),
        "instruction_id_to_num_outs_map": {
            method: {key: count for key, count in of.items() if count is not None}
            for method, of in counts.items()
        },
    }
    for method, rows in groupby(nodes, itemgetter("method")):
        members[f"{EDGE_PROGRAM}/{method}"] = {"graph_module": {"graph": _graph(rows)}}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("ETRECORD_V0", b"")
        for name, content in members.items():
            archive.writestr(name, json.dumps(content))
    return file.getvalue()


def _handles(rows: Sequence[_Row]) -> Handles | None:
    found = [row["debug_handle"] for row in rows if row["debug_handle"] is not None]
    return found if rows[0]["is_list"] else next(iter(found), None)


def _delegates(rows: Iterable[_Row]) -> _Map:
    found: _Map = defaultdict(dict)
    for (method, instruction), of_call in groupby(rows, itemgetter(*_CALL)):
        same = list(of_call)
        by_id = groupby(same, itemgetter("delegate_id"))
        ids = {id_: _handles(list(of_id)) for id_, of_id in by_id if id_ is not None}
        found[method][instruction] = {"name": same[0]["backend"], "delegate_map": ids}
    return found


def _graph(rows: Iterable[_Row]) -> dict[str, Any]:
    graph: dict[str, Any] = {"inputs": [], "nodes": [], "outputs": []}
    known: set[str] = set()
    for _, of_node in groupby(rows, itemgetter("node_index")):
        same = list(of_node)
        row = same[0]
        if row["op"] == "placeholder":
            graph["inputs"].append({"as_tensor": {"name": row["node"]}})
            known.add(row["node"])
        elif row["op"] == "output":
            graph["outputs"] = _tensors(_taken(row["code"], known))
        else:
            given, _, call = row["code"].partition(" = ")
            names = _NAME.findall(_TYPE.sub("", _SIZES.sub("", given)))
            graph["nodes"].append(_node(same, _taken(call, known), names))
            known.update(names)
    return graph


def _node(rows: Sequence[_Row], taken: Iterable[str], given: Iterable[str]) -> dict[str, Any]:
    row = rows[0]
    modules = json.loads(row["module_hierarchy"]).items()
    handles = [other["debug_handle"] for other in rows if other["debug_handle"] is not None]
    return {
        "name": row["node"],
        "target": f"{DIALECTS}edge.ops.{row['target']}",
        "inputs": [{"name": "", "arg": tensor} for tensor in _tensors(taken)],
        "outputs": _tensors(given),
        "metadata": {
            "stack_trace": row["stack_trace"],
            "debug_handle": str(handles),
            "nn_module_stack": ";".join(",".join([key, *place]) for key, place in modules),
        },
    }


def _taken(code: str, known: set[str]) -> Iterator[str]:
    return (name for name in _NAME.findall(_NO_VALUE.sub("", code)) if name in known)


def _tensors(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"as_tensor": {"name": name}} for name in names]


def stored_operators(store: Store, dump_id: int, *, method: str | None = None) -> list[LoggedRun]:
    """The runs of a dump in the store that logged intermediate values, in file order.

    The result equals that of `read_logged_operators` for the dump, its debug buffer and ETRecord.

    Raises:
        QueryError: if the store has no such dump, or the dump has no intermediate values.
    """
    tables = stored_tables(store, dump_id)
    correlation = stored_correlation(store, dump_id)
    buffer = None
    if _companions(store, dump_id)["debug_buffer_sha256"] is not None:
        values = store.sql(_ROWS["debug_values"], {"id": dump_id})
        values, buffer = _with_buffer(store, values)
        tables["debug_values"] = _decode_table("debug_values", values)
    runs = build_logged_operators(tables, buffer, correlation, method)
    check_runs(runs, f"dump {dump_id}", method)
    return runs


def stored_tables(store: Store, dump_id: int) -> dict[str, pa.Table]:
    """The rows of a dump in the store as they were decoded, except its tensors.

    A dump that the store lacks raises QueryError.
    """
    _companions(store, dump_id)
    tables = {name: store.sql(text, {"id": dump_id}) for name, text in _ROWS.items()}
    ids = set(tables["runs"]["run_signature_id"].drop_null().to_pylist())
    tables["run_signatures"] = store.sql(_RUN_SIGNATURES, {"ids": list(ids)})
    ids = set(chain.from_iterable(tables["run_signatures"]["events"].to_pylist()))
    tables["event_signatures"] = store.sql(_SIGNATURES, {"ids": list(ids)})
    return {name: _decode_table(name, table) for name, table in join_lengths(tables).items()}


def stored_correlation(store: Store, dump_id: int) -> Correlation | None:
    """The ETRecord of a dump in the store; None if it has none."""
    return _correlation(store, _companions(store, dump_id)["etrecord_id"])


def _companions(store: Store, dump_id: int) -> dict[str, Any]:
    """The ETRecord and debug buffer of a dump.

    Raises:
        QueryError: if the store has no such dump.
    """
    found: list[dict[str, Any]] = store.sql(_DUMP, {"id": dump_id}).to_pylist()
    if not found:
        raise QueryError(
            f"dump {dump_id}: the store has no such dump; 'tracehouse query dumps' lists all"
        )
    return found[0]


def _decode_table(name: str, table: pa.Table) -> pa.Table:
    """A dump's rows as they were decoded, as dump 0."""
    schema = DECODED[name]
    columns = {
        "dump_index": pa.array([0] * table.num_rows, pa.int32()),
        **{column: table[column] for column in table.column_names},
    }
    return pa.table({field.name: columns[field.name] for field in schema}).cast(schema)


def _correlation(store: Store, etrecord_id: int | None) -> Correlation | None:
    if etrecord_id is None:
        return None
    rows = {name: store.sql(text, {"id": etrecord_id}) for name, text in _PROGRAM.items()}
    nodes = [
        row
        for row in rows["nodes"].to_pylist()
        if (row["graph"], row["scope"]) == (EDGE_PROGRAM, "")
    ]
    handles, delegates = rows["debug_handles"].to_pylist(), rows["delegates"].to_pylist()
    written = write_record(nodes, handles, delegates)
    return Correlation(decode_etrecord(written, f"ETRecord {etrecord_id} of the store"))


def _with_buffer(store: Store, values: pa.Table) -> tuple[pa.Table, bytes]:
    """The values with places in a debug buffer, and the buffer: each content once, contiguous."""
    hashes = sorted(set(filter(None, values["sha256"].to_pylist())))
    buffer = bytearray()
    places: dict[str | None, int] = {}
    for row in store.sql(_TENSORS, {"hashes": hashes}).to_pylist():
        places[row["sha256"]] = len(buffer)
        buffer += row["data"]
        buffer += bytes(-len(buffer) % _ALIGNMENT)
    columns: dict[str, Any] = {
        "tensor_offset": [places.get(hash_, _NOWHERE) for hash_ in values["sha256"].to_pylist()],
        "strides": [_strides(sizes) for sizes in values["sizes"].to_pylist()],
    }
    for name, items in columns.items():
        index = values.column_names.index(name)
        values = values.set_column(index, name, pa.array(items, values.schema.field(name).type))
    return values, bytes(buffer)


def _strides(sizes: list[int] | None) -> list[int] | None:
    """Strides of a contiguous tensor."""
    if sizes is None:
        return None
    return [math.prod(sizes[first:]) for first in range(1, len(sizes) + 1)]
