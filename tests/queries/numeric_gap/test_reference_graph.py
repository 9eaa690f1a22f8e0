"""The choice of a program, over objects with the interface of ExecuTorch's and torch's."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tracehouse.queries.errors import WrongValueError
from tracehouse.queries.numeric_gap.reference_run import choose_program, handles_of, name_operators

GRAPH = 7  # id of the graph of exported_program


@dataclass(eq=False)
class Node:
    name: str
    op: str = "call_function"
    meta: dict[str, Any] = field(default_factory=dict)


def come_from(*names: str) -> list[Any]:
    """What `from_node` says of a node that comes from these, the latest first."""
    source: list[Any] = []
    for name in reversed(names):
        source = [SimpleNamespace(name=name, graph_id=GRAPH, from_node=source)]
    return source


def edge_node(name: str, handle: int | None, *names: str) -> Node:
    known = {} if handle is None else {"debug_handle": handle}
    return Node(name, meta={**known, "from_node": come_from(*names)})


def program(*nodes: Node) -> Any:
    ends = [Node("x", "placeholder"), *nodes, Node("output", "output")]
    module = SimpleNamespace(graph=SimpleNamespace(nodes=ends))
    return SimpleNamespace(graph_module=SimpleNamespace(modules=lambda: [module, object()]))


def record(exported: Any = None, edge: Any = None, **graphs: Any) -> Any:
    return SimpleNamespace(
        exported_program=exported,
        edge_dialect_program=edge,
        graph_map={f"{name}/forward": found for name, found in graphs.items()},
        export_graph_id=GRAPH,
    )


def choose(found: Any, graph: str | None = None, *, is_validated: bool = True) -> Any:
    return choose_program(found, "some.etrecord", graph=graph, is_validated=is_validated)


def test_operators_of_the_exported_program_get_the_handles_of_the_edge_dialect() -> None:
    linear, dropped, relu = Node("linear"), Node("dropout"), Node("relu")
    exported = program(linear, dropped, relu)
    edge = program(
        edge_node("permute", 1, "linear"),
        edge_node("addmm", 1, "lowered", "linear"),
        edge_node("relu_0", 2, "relu"),
        edge_node("size", None),
    )
    assert choose(record(exported, edge)) is exported
    assert [node.meta["debug_handle"] for node in (linear, dropped, relu)] == [1, 0, 2]


def test_the_edge_dialect_is_taken_where_a_handle_has_no_operator_in_the_exported_program() -> None:
    exported = program(Node("linear"))
    edge = program(edge_node("addmm", 1, "linear"), edge_node("gt", 2))
    assert choose(record(exported, edge)) is edge
    assert choose(record(None, edge)) is edge
    assert choose(record(exported, edge), is_validated=False) is exported
    with pytest.raises(WrongValueError, match="some debug handles are not in it"):
        choose(record(exported, edge), "exported_program")


def test_an_operator_with_two_debug_handles_does_not_choose_the_graph() -> None:
    exported = program(Node("linear"))
    edge = program(edge_node("permute", 1, "linear"), edge_node("addmm", 2, "linear"))
    assert choose(record(exported, edge)) is edge


def test_a_graph_goes_by_its_name_with_or_without_a_method() -> None:
    edge, other = program(), program()
    found = record(None, edge, after=other)
    for name in ("after", "after/forward"):
        assert choose(found, name) is other
    assert choose(found, "edge_dialect_exported_program") is edge
    with pytest.raises(WrongValueError, match="no reference graph 'aftr'; did you mean after"):
        choose(found, "aftr")
    with pytest.raises(WrongValueError, match="; none exist"):
        choose(record())


def test_operators_are_calls_with_handles() -> None:
    nodes = [
        Node("add", meta={"debug_handle": 3}),
        Node("split", meta={"debug_handle": (1, 2)}),
        Node("add_1", meta={"debug_handle": 3}),
        Node("getitem", meta={"debug_handle": 1}),
        Node("x", "placeholder", {"debug_handle": 4}),
        Node("mul"),
    ]
    assert [handles_of(node) for node in nodes] == [(3,), (1, 2), (3,), None, None, None]
    module = SimpleNamespace(graph=SimpleNamespace(nodes=nodes))
    assert name_operators(module) == {(3,): ["add", "add_1"], (1, 2): ["split"]}
