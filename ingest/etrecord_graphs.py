"""The graphs of a serialized program: its JSON -> nodes. Pure.

A program holds one graph, whose nodes may hold more: the bodies of control flow, and what a
delegate was given to lower.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.strict_json import parse_integer, parse_json

DIALECTS = "executorch.exir.dialects."


@dataclass(frozen=True)
class GraphNode:
    """A node of a graph; one of several results stands for the nodes that take these apart, too.

    Attributes:
        name: Name, unique in its graph.
        op: placeholder, call_function or output.
        target: What is called, as the Inspector's op_types have it: aten.convolution.default; for
            placeholders and the output, their name.
        debug_handles: Debug handles of the node; none for placeholders and the output.
        stack_trace: Where in the model's source it comes from; None if unknown.
        module_hierarchy: Modules it lies in, from the outermost: path and type by key, as in
            ``{"L__self__c1": ["c1", "torch.nn.modules.conv.Conv2d"]}``; empty if unknown.
    """

    name: str
    op: str
    target: str
    debug_handles: list[int]
    stack_trace: str | None
    module_hierarchy: dict[str, list[str]]


@dataclass(frozen=True)
class Graph:
    """A graph of an ETRecord.

    Attributes:
        name: edge_dialect_exported_program, exported_program or a key of the graph map.
        method: Method of the program it belongs to.
        scope: Which of the program's graphs: "" for its main one; for others the names of the
            nodes that hold them, as in ``map_impl.submodule_0``.
        nodes: In order of execution; placeholders first, the output last.
        serialized: What it was read from.
    """

    name: str
    method: str
    scope: str
    nodes: list[GraphNode]
    serialized: Mapping[str, Any] = field(repr=False, compare=False)


def read_graphs(program: object, name: str, method: str) -> Iterator[Graph]:
    """The main graph of a serialized program (parsed JSON), then those that its nodes hold.

    Raises:
        ValueError: The program is not of the form that ExecuTorch serializes.
    """
    match program:
        case {"graph_module": {"graph": {} as graph}}:
            yield from _read_scopes(graph, name, method, "")
        case _:
            raise ValueError("holds no graph_module with a graph")


def _read_scopes(graph: Mapping[str, Any], name: str, method: str, scope: str) -> Iterator[Graph]:
    inputs, calls, _ = (_list(graph, key) for key in ("inputs", "nodes", "outputs"))
    nodes = [
        *(_placeholder(position, value) for position, value in enumerate(inputs)),
        *map(_call, calls),
        GraphNode("output", "output", "output", [], None, {}),
    ]
    yield Graph(name, method, scope, nodes, graph)
    for call in calls:
        for label, inner in _inner_graphs(call):
            inner_scope = ".".join(filter(None, (scope, call["name"], label)))
            yield from _read_scopes(inner, name, method, inner_scope)


def _inner_graphs(call: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    is_delegate = call["target"].endswith("executorch_call_delegate")
    for argument in _list(call, "inputs"):
        match argument:
            case {"arg": {"as_graph": {"name": str(label), "graph": {} as inner}}}:
                yield label, inner
            case {"name": str(label), "arg": {"as_string": str(text)}} if is_delegate:
                match parse_json(text):
                    case {"original_module": {"graph_module": {"graph": {} as inner}}}:
                        yield label, inner


def _placeholder(position: int, value: object) -> GraphNode:
    name = f"input_{position}"  # a constant has no name
    match value:
        case (
            {"as_tensor": {"name": str(name)}}
            | {"as_custom_obj": {"name": str(name)}}
            | {"as_sym_int": {"as_name": str(name)}}
        ):
            pass
    return GraphNode(name, "placeholder", name, [], None, {})


def _call(call: object) -> GraphNode:
    match call:
        case {"name": str(name), "target": str(target), "metadata": {**metadata}}:
            trace, handle = metadata.get("stack_trace"), metadata.get("debug_handle")
            if isinstance(trace, str | None) and isinstance(handle, str | int | None):
                return GraphNode(
                    name,
                    "call_function",
                    _op_type(target),
                    [parse_integer(number) for number in re.findall(r"-?\d+", str(handle))],
                    trace or None,
                    _module_hierarchy(str(metadata.get("nn_module_stack") or "")),
                )
    raise ValueError("holds a node without name, target or proper metadata")


def _op_type(target: str) -> str:
    """A serialized target as the Inspector shows it, the function's ``__name__``."""
    if target.startswith(DIALECTS):
        return target.partition(".ops.")[2]
    if target.startswith("torch.ops."):
        return target.split(".", 3)[-1]
    return target.rpartition(".")[2]


def _module_hierarchy(text: str) -> dict[str, list[str]]:
    """Modules of ``key,path,type;...``; what has other parts is kept whole, without path and type.

    >>> _module_hierarchy("L__self__,,M;L__self__a[0, 1],a[0, 1],N")
    {'L__self__': ['', 'M'], 'L__self__a[0, 1]': ['a[0, 1]', 'N']}
    """
    modules = {}
    for entry in text.split(";") if text else ():
        key, *rest = (part.strip() for part in _split_outside_brackets(entry))
        modules.update({key: rest} if len(rest) == 2 else {entry: []})
    return modules


def _split_outside_brackets(text: str) -> list[str]:
    parts, depth = [""], 0
    for piece in re.split(r"([\[(\])]|,)", text):
        if piece == "," and depth == 0:
            parts.append("")
            continue
        depth += (piece in ("[", "(")) - (piece in ("]", ")"))
        parts[-1] += piece
    return parts


def _list(holder: Mapping[str, Any], key: str) -> list[Any]:
    value = holder.get(key)
    if not isinstance(value, list):
        raise ValueError(f"holds a graph or node without a list of {key}")
    return value
