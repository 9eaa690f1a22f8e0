"""The graphs of a serialized program: its JSON -> nodes. Pure.

A program has one main graph, whose nodes may contain more: the bodies of control flow, and the
graphs that were lowered to delegates.

Limits: MAX_HANDLES per program, MAX_MODULES per node and MAX_MODULE_LEVELS per module,
MAX_NAME_LETTERS per name, and MAX_SCOPE_LETTERS for the names of the nodes around a graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracehouse.ingest.allowance import Allowance
from tracehouse.ingest.etrecord.maps import need_name
from tracehouse.ingest.strict_json import parse_integer, parse_json

DIALECTS = "executorch.exir.dialects."
MAX_HANDLES = 1_000_000
MAX_MODULES = 100
MAX_MODULE_LEVELS = 100
MAX_SCOPE_LETTERS = 4_000

_BRACKET = re.compile(r"[\[\]()]")

_DTYPES = (
    "unknown", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
    "complex32", "complex64", "complex128", "bool", "bfloat16", "uint16", "float8_e5m2",
    "float8_e4m3fn",
)  # fmt: skip
_CHOICES = {
    "as_scalar_type": _DTYPES,
    "as_memory_format": (
        "unknown", "contiguous_format", "channels_last", "channels_last_3d", "preserve_format",
    ),
    "as_layout": (
        "unknown", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "mkldnn",
        "strided",
    ),
}  # fmt: skip
_MOST_LITERAL = 60  # characters shown of a text argument
_MOST_TYPE = 200  # characters shown of a result's type; many results may share a type
_MOST_LEVELS = 8  # levels shown of nested lists and objects in an argument


@dataclass(frozen=True)
class GraphNode:
    """A node of a graph; a node with several results includes the nodes that unpack them.

    Attributes:
        name: Name, unique in its graph.
        op: placeholder, call_function or output.
        target: The called operator as in the Inspector's op_types: aten.convolution.default; for
            placeholders and the output, their name.
        debug_handles: Debug handles of the node; none for placeholders and the output.
        stack_trace: Place in the model's source; None if unknown.
        module_hierarchy: Modules of the node, outermost first: path and type by key, as in
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
        method: Method of the program.
        scope: "" for the program's main graph; for others the names of the nodes that contain
            them, as in ``map_impl.submodule_0``.
        nodes: In order of execution; placeholders first, the output last.
        serialized: The graph's JSON.
    """

    name: str
    method: str
    scope: str
    nodes: list[GraphNode]
    serialized: Mapping[str, Any] = field(repr=False, compare=False)


def read_graphs(program: object, name: str, method: str) -> Iterator[Graph]:
    """The main graph of a serialized program (parsed JSON), then the graphs in its nodes.

    Raises:
        ValueError: The program does not have ExecuTorch's format, or exceeds a limit.
    """
    handles = Allowance(MAX_HANDLES, "debug handles")
    match program:
        case {"graph_module": {"graph": {} as graph}}:
            for scope, inner in _scopes(graph, ""):
                yield Graph(name, method, scope, _read_nodes(inner, handles), inner)
        case _:
            raise ValueError("has no graph_module with a graph")


def _scopes(graph: Mapping[str, Any], scope: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A graph and the graphs in its nodes, each with its scope, read lazily.

    Raises:
        ValueError: A scope is too long.
    """
    yield scope, graph
    for call in graph["nodes"]:
        for label, inner in _inner_graphs(call):
            inner_scope = ".".join(filter(None, (scope, call["name"], label)))
            if len(inner_scope) > MAX_SCOPE_LETTERS:
                raise ValueError(
                    f"names of nodes around a graph take {len(inner_scope):,} characters, "
                    f"wanted at most {MAX_SCOPE_LETTERS:,}"
                )
            yield from _scopes(inner, inner_scope)


def _read_nodes(graph: Mapping[str, Any], handles: Allowance) -> list[GraphNode]:
    inputs, calls, _ = (_list(graph, key) for key in ("inputs", "nodes", "outputs"))
    return [
        *(_placeholder(position, value) for position, value in enumerate(inputs)),
        *(_call(call, handles) for call in calls),
        GraphNode("output", "output", "output", [], None, {}),
    ]


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
    return GraphNode(need_name(name), "placeholder", name, [], None, {})


def _call(call: object, handles: Allowance) -> GraphNode:
    match call:
        case {"name": str(name), "target": str(target), "metadata": {**metadata}}:
            trace, handle = metadata.get("stack_trace"), metadata.get("debug_handle")
            if isinstance(trace, str | None) and isinstance(handle, str | int | None):
                return GraphNode(
                    need_name(name),
                    "call_function",
                    _op_type(need_name(target)),
                    list(_parse_numbers(str(handle), handles)),
                    trace or None,
                    _module_hierarchy(str(metadata.get("nn_module_stack") or "")),
                )
    raise ValueError("has a node without name, target or valid metadata")


def _parse_numbers(text: str, allowance: Allowance) -> Iterator[int]:
    for number in re.finditer(r"-?\d+", text):
        allowance.take(1)
        yield parse_integer(number[0])


def _op_type(target: str) -> str:
    """A serialized target as the Inspector shows it: the function's ``__name__``."""
    if target.startswith(DIALECTS):
        return target.partition(".ops.")[2]
    if target.startswith("torch.ops."):
        return target.split(".", 3)[-1]
    return target.rpartition(".")[2]


def _module_hierarchy(text: str) -> dict[str, list[str]]:
    """Modules of ``key,path,type;...``; a malformed entry has no path and type.

    >>> _module_hierarchy("L__self__,,M;L__self__a[0, 1],a[0, 1],N")
    {'L__self__': ['', 'M'], 'L__self__a[0, 1]': ['a[0, 1]', 'N']}

    Raises:
        ValueError: The modules are too many or nested too deeply.
    """
    modules = {}
    if text.count(";") >= MAX_MODULES:
        raise ValueError(f"has a node in more than {MAX_MODULES:,} modules")
    for entry in text.split(";") if text else ():
        key, *rest = (part.strip() for part in _split_outside_brackets(entry))
        if len(rest) == 2:
            modules[key] = [_need_path(rest[0]), need_name(rest[1])]
        else:
            modules[entry] = []
    return modules


def _need_path(path: str) -> str:
    if path.count(".") >= MAX_MODULE_LEVELS:
        raise ValueError(f"has a module nested more than {MAX_MODULE_LEVELS:,} deep")
    return need_name(path)


def _split_outside_brackets(text: str) -> list[str]:
    if not _BRACKET.search(text):
        return text.split(",")
    parts, start, depth = [], 0, 0
    for mark in re.finditer(r"[\[(\]),]", text):
        if mark[0] == "," and depth == 0:
            parts.append(text[start : mark.start()])
            start = mark.end()
        depth += (mark[0] in "[(") - (mark[0] in "])")
    return [*parts, text[start:]]


def _list(holder: Mapping[str, Any], key: str) -> list[Any]:
    value = holder.get(key)
    if not isinstance(value, list):
        raise ValueError(f"has a graph or node without a list of {key}")
    return value


def render_graph(graph: Graph) -> list[str]:
    """Python-like lines: a comment, a heading, and one per node with its handles and module."""
    lines = list(zip(graph.nodes, code_lines(graph), strict=True))
    arguments = ", ".join(code for node, code in lines if node.op == "placeholder")
    heading = ".".join(filter(None, (graph.name, graph.scope)))
    text = [f"# {heading}, method {graph.method}", f"def {graph.method}({arguments}):"]
    for node, code in lines:
        if node.op != "placeholder":
            notes = [f"handle {handle}" for handle in node.debug_handles]
            notes += list(node.module_hierarchy)[-1:]
            text.append(f"    {code}{'  # ' if notes else ''}{', '.join(notes)}")
    return text


def code_lines(graph: Graph) -> list[str]:
    """A line of code for each node, with the types of its results and all arguments."""
    types = result_types(graph.serialized)
    calls, results = graph.serialized["nodes"], list(map(_text, graph.serialized["outputs"]))
    return [
        *(_typed(node.name, types) for node in graph.nodes if node.op == "placeholder"),
        *(_call_code(call, types) for call in calls),
        f"return ({', '.join(results)}{',' if len(results) == 1 else ''})",
    ]


def _call_code(call: Mapping[str, Any], types: Mapping[str, str]) -> str:
    names = result_names(call) or [call["name"]]
    results = ", ".join(_typed(name, types) for name in names)
    arguments = ", ".join(map(_argument, _items(call, "inputs")))
    return f"{results} = {call['target'].removeprefix(DIALECTS)}({arguments})"


def _argument(named: object) -> str:
    match named:
        case {"name": str(name), "arg": {"as_string": str(text)}} if len(text) > _MOST_LITERAL:
            return name or f"{text[:_MOST_LITERAL]!r}..."
        case {"name": str(name), "arg": {"as_tensor": _} as value}:
            return _text(value)
        case {"name": str(name), "arg": value}:
            return f"{name}={_text(value)}" if name else _text(value)
    return "?"


def _typed(name: str, types: Mapping[str, str]) -> str:
    return f"{name}: {types[name]}" if name in types else name


def _text(value: object, levels: int = _MOST_LEVELS) -> str:
    """An argument's value, which is wrapped in objects that name its kind."""
    if not levels:
        return "..."
    match value:
        case {"name": str(text)} | {"as_name": str(text)} | {"expr_str": str(text)}:
            return text
        case {"type": str(device)}:
            return device
        case {"as_none": _}:
            return "None"
        case {**wrapped} if len(wrapped) == 1:
            [(kind, inner)] = wrapped.items()
            return _choice(_CHOICES[kind], inner) if kind in _CHOICES else _text(inner, levels - 1)
        case [*items]:
            return f"[{', '.join(_text(item, levels - 1) for item in items)}]"
        case dict():
            return "?"
    return repr(value)


def _choice(names: tuple[str, ...], number: object) -> str:
    if isinstance(number, int) and 0 <= number < len(names):
        return names[number]
    return "unknown"


def result_types(graph: Mapping[str, Any]) -> dict[str, str]:
    """Types of the values of a serialized graph, by name: ``float32[1, 8, s77]``."""
    match graph:
        case {"tensor_values": dict() as tensors, "sym_int_values": dict() as numbers}:
            types = {name: f"SymInt({_text(value)})" for name, value in numbers.items()}
            types |= {name: _tensor_type(meta) for name, meta in tensors.items()}
            return {name: _shorten(text) for name, text in types.items()}
    return {}


def _shorten(text: str) -> str:
    return f"{text[:_MOST_TYPE]}..." if len(text) > _MOST_TYPE else text


def _tensor_type(meta: object) -> str:
    match meta:
        case {"dtype": dtype, "sizes": [*sizes]}:
            return f"{_choice(_DTYPES, dtype)}{_text(sizes)}"
    return "?"


def result_names(call: Mapping[str, Any]) -> list[str]:
    """Names of a serialized node's results."""
    names: list[str] = []
    for value in _items(call, "outputs"):
        match value:
            case {"as_tensors": [*several]}:
                names += map(_text, several)
            case {"as_tensor": _} | {"as_sym_int": _} | {"as_sym_bool": _} | {"as_custom_obj": _}:
                names.append(_text(value))
    return names


def _items(holder: Mapping[str, Any], key: str) -> list[Any]:
    items = holder.get(key)
    return items if isinstance(items, list) else []
