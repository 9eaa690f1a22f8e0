"""Graphs of a serialized program as Python-like text. Pure; malformed parts are shown as "?"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracehouse.ingest.etrecord.graphs import DIALECTS, Graph

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
