"""Programs of ETRecords in a store: calls of their edge dialect graphs, constants, delegates."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from tracehouse.ingest.etrecord.names import CONSTANT_PREFIXES, EDGE_PROGRAM
from tracehouse.warehouse.catalogue.queries import expand_statement
from tracehouse.warehouse.queryable import Queryable

_NODES = """SELECT etrecord_id, method, scope, node_index, node, op, target, debug_handle, code,
stack_trace, module_path, module_hierarchy FROM graph_nodes
WHERE graph = $graph AND etrecord_id IN ($base, $head)
ORDER BY etrecord_id, method, scope, node_index, debug_handle"""
_RECORDS = "SELECT etrecord_id, sha256 FROM etrecords WHERE etrecord_id IN ($base, $head)"
_CALLS = """SELECT DISTINCT h.etrecord_id, h.method, h.instruction_id, h.debug_handle, d.backend
FROM debug_handles AS h LEFT JOIN delegates AS d ON d.etrecord_id = h.etrecord_id
AND d.method = h.method AND d.instruction_id = h.instruction_id
WHERE h.etrecord_id IN ($base, $head) AND h.debug_handle IS NOT NULL
ORDER BY h.etrecord_id, h.method, h.instruction_id, h.debug_handle"""
_FUSIONS = """SELECT etrecord_id, method, instruction_id, delegate_id, debug_handle FROM delegates
WHERE etrecord_id IN ($base, $head) AND debug_handle IS NOT NULL
ORDER BY etrecord_id, method, instruction_id, delegate_id, position"""

_TYPED = re.compile(r"\b(\w+): (\w+\[[^\]]{0,1000}\]|SymInt\([^)]{0,1000}\))")
_NAME = re.compile(r"'[^']*'|\b\w+=|[^\W\d]\w*")
_LINE = re.compile(r'File "([^"]*)", line (\d+)')

_Row = Mapping[str, Any]
Call = tuple[str, int]  # method and instruction


class Node(NamedTuple):
    """A call of a program.

    Attributes:
        position: Its scope and place there, in the order of the graph.
        target: What is called, e.g. aten.convolution.default.
        types: The call with the types of its tensors instead of their names.
        handles: Its debug handles.
        modules: The modules around it, outermost first: path and class.
        source: Line of the model's source, FILE:LINE; None if unknown.
        word: First word in the names of a delegate's events that run it.
    """

    position: tuple[str, int]
    target: str
    types: str
    handles: tuple[int, ...]
    modules: tuple[tuple[str, str], ...]
    source: str | None
    word: str

    @property
    def operator(self) -> str:
        """The operator without its overload, e.g. convolution."""
        return self.target.split(".")[1] if "." in self.target else self.target

    @property
    def module(self) -> str:
        """Path of the innermost module; '' is the program's."""
        return self.modules[-1][0] if self.modules else ""


class Program(NamedTuple):
    """A program of an ETRecord.

    Attributes:
        sha256: SHA-256 of the ETRecord.
        nodes: Its calls by method, in the order of the graph.
        constants: The types of constants by method and name.
        calls: Handles and backend of each instruction; the backend is None for kernels.
        fusions: The handles of each event in a delegate that runs several nodes.
    """

    sha256: str
    nodes: Mapping[str, Sequence[Node]]
    constants: Mapping[str, Mapping[str, str]]
    calls: Mapping[Call, tuple[frozenset[int], str | None]]
    fusions: Mapping[tuple[str, int, str], frozenset[int]]


def read_programs(store: Queryable, base: int | None, head: int | None) -> dict[int, Program]:
    """The programs of two ETRecords by id; one without an edge dialect graph has no nodes."""
    pair = {"base": base, "head": head}
    calls: dict[int, dict[Call, tuple[set[int], str | None]]] = defaultdict(dict)
    for row in store.sql(_CALLS, pair).to_pylist():
        place = row["method"], row["instruction_id"]
        calls[row["etrecord_id"]].setdefault(place, (set(), row["backend"]))[0].add(
            row["debug_handle"]
        )
    fusions: dict[int, dict[tuple[str, int, str], set[int]]] = defaultdict(dict)
    for row in store.sql(_FUSIONS, pair).to_pylist():
        event = row["method"], row["instruction_id"], row["delegate_id"]
        fusions[row["etrecord_id"]].setdefault(event, set()).add(row["debug_handle"])
    words = {
        (row["etrecord_id"], row["method"], row["scope"], row["node_index"]): row["word"]
        for row in store.sql(expand_statement("explained_words"), pair).to_pylist()
    }
    graphs: dict[int, list[_Row]] = defaultdict(list)
    for row in store.sql(_NODES, {**pair, "graph": EDGE_PROGRAM}).to_pylist():
        graphs[row["etrecord_id"]].append(row)
    return {
        row["etrecord_id"]: _program(
            row["sha256"],
            graphs[row["etrecord_id"]],
            {
                place: (frozenset(of), name)
                for place, (of, name) in calls[row["etrecord_id"]].items()
            },
            {event: frozenset(of) for event, of in fusions[row["etrecord_id"]].items()},
            words,
        )
        for row in store.sql(_RECORDS, pair).to_pylist()
    }


def _program(
    sha256: str,
    rows: Sequence[_Row],
    calls: Mapping[Call, tuple[frozenset[int], str | None]],
    fusions: Mapping[tuple[str, int, str], frozenset[int]],
    words: Mapping[tuple[int, str, str, int], str],
) -> Program:
    nodes: dict[str, list[Node]] = defaultdict(list)
    constants: dict[str, dict[str, str]] = defaultdict(dict)
    for (method, _), graph in groupby(rows, lambda row: (row["method"], row["scope"])):
        listed = list(graph)
        types = dict(_types(row["code"] for row in listed))
        for row, handles in _distinct(listed):
            if row["op"] == "placeholder" and row["node"].startswith(CONSTANT_PREFIXES):
                constants[method][row["node"]] = types.get(row["node"], "?")
            if row["op"] == "call_function":
                key = row["etrecord_id"], method, row["scope"], row["node_index"]
                nodes[method].append(_node(row, handles, types, words.get(key, "")))
    return Program(sha256, nodes, constants, calls, fusions)


def _types(codes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The names and types of the results in lines of code."""
    for code in codes:
        yield from _TYPED.findall(code.partition(" = ")[0])


def _distinct(rows: Iterable[_Row]) -> Iterator[tuple[_Row, tuple[int, ...]]]:
    """Each node once, with all its handles."""
    for _, same in groupby(rows, lambda row: row["node_index"]):
        own = list(same)
        yield own[0], tuple(row["debug_handle"] for row in own if row["debug_handle"] is not None)


def _node(row: _Row, handles: tuple[int, ...], types: Mapping[str, str], word: str) -> Node:
    modules = json.loads(row["module_hierarchy"]).values()
    frames = _LINE.findall(row["stack_trace"] or "")
    return Node(
        (row["scope"], row["node_index"]),
        row["target"],
        typed_call(row["code"], types),
        handles,
        tuple((place[0], place[-1]) for place in modules if place),
        ":".join(frames[-1]) if frames else None,
        word,
    )


def typed_call(code: str, types: Mapping[str, str]) -> str:
    """A line of code with the types of tensors instead of their names.

    >>> typed_call("b: float32[2] = edge.ops.aten.add(a, alpha=1)", {"a": "float32[2]"})
    'aten.add(float32[2], alpha=1) → float32[2]'
    """
    results, _, call = code.partition(" = ")
    target, _, arguments = call.partition("(")
    named = _NAME.sub(lambda match: types.get(match.group(), match.group()), arguments)
    found = ", ".join(type_ for _, type_ in _TYPED.findall(results))
    return f"{target.removeprefix('edge.ops.')}({named} → {found or '?'}"
