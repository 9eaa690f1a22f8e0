"""Rewrites an ETRecord from the rows of a store. Pure.

It holds the maps and the edge dialect programs' main graphs; arguments and results of the nodes
are read from their lines of code.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from tracehouse.ingest.etrecord.graphs import DIALECTS
from tracehouse.ingest.etrecord.maps import Handles
from tracehouse.ingest.etrecord.names import EDGE_PROGRAM

_Row = Mapping[str, Any]
_Map = dict[str, dict[int, Any]]

_CALL = ("method", "instruction_id")
_SIZES = re.compile(r"\[[^\[\]]*\]")
_TYPE = re.compile(r":[^,]*")
_NO_VALUE = re.compile(r"'[^']*'|\b\w+=")  # strings, and names of arguments
_NAME = re.compile(r"[^\W\d]\w*")


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
