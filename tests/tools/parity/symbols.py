"""What an ETRecord tells of an event: right, and as the Inspector attributes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.tools.parity.bugs import Bug
from tests.tools.parity.grouping import Json, Member, Signature
from tests.tools.parity.program import Node, Program

Handles = int | list[int] | None

_STATED_NODE = re.compile(r'^\{.*?"delegate_node_id": *([^,} ]+)', re.DOTALL)  # JSON, as Vulkan's

_FRAMEWORK = ("Method::init", "Program::load_method", "Method::execute")
_DELEGATED = ("DELEGATE_CALL", "delegate_execute")
NOTHING: Mapping[str, Any] = {
    "debug_handles": None,
    "num_outputs": 1,
    "op_types": [],
    "stack_traces": {},
    "module_hierarchy": {},
    "delegate_backend_name": None,
}


def symbols(
    program: Program, method: str, event: tuple[Signature, list[Member]], bugs: frozenset[Bug]
) -> Json:
    """Debug handles of an event and what follows from them."""
    signature, members = event
    number = str(signature.instruction_id)
    handle_map = program.of_method("debug_handle_map", method)
    is_lost = Bug.I16 not in bugs and _is_outside(signature, members)
    if number not in handle_map or is_lost:
        return dict(NOTHING)
    delegate = program.of_method("delegate_map", method).get(number)
    handles: Handles = handle_map[number]
    if delegate is not None and signature.delegate_id is not None:
        handles = delegate_handles(delegate["delegate_map"] or {}, signature.delegate_id, bugs)
    has_no_nodes = Bug.I16 in bugs and signature.name in _FRAMEWORK
    by_handle = {} if has_no_nodes else program.nodes.get(method, {})
    outputs = program.of_method("instruction_id_to_num_outs_map", method)
    return {
        "debug_handles": handles,
        "num_outputs": outputs.get(number, 1),
        **_nodes(by_handle, _listed(handles), bugs),
        "delegate_backend_name": delegate["name"]
        if delegate and _is_delegated(signature, bugs)
        else None,
    }


def _is_outside(signature: Signature, members: list[Member]) -> bool:
    """Whether an event is of the framework: it has instruction 0, and no chain."""
    if signature.delegate_id is None and signature.profile_name in _FRAMEWORK:
        return True
    is_inside = any(0 <= member.chain_index < 2**63 for member in members)
    return signature.instruction_id == 0 and not is_inside


def _is_delegated(signature: Signature, bugs: frozenset[Bug]) -> bool:
    """Whether an event is of a delegate or its call; the Inspector asks the name that it shows."""
    if Bug.I16 in bugs:
        return signature.delegate_id is not None or signature.name == _DELEGATED[0]
    return signature.delegate_id is not None or signature.profile_name in _DELEGATED


def _nodes(by_handle: Mapping[int, list[Node]], handles: list[int], bugs: frozenset[Bug]) -> Json:
    distinct = handles if Bug.I20 in bugs else dict.fromkeys(handles)
    nodes = [node for handle in distinct for node in by_handle.get(handle, [])]
    return {
        "op_types": [node.operator for node in nodes],
        "stack_traces": {node.name: node.stack_trace for node in nodes},
        "module_hierarchy": {node.name: node.module_hierarchy for node in nodes},
    }


def delegate_handles(
    known: Mapping[str, Handles], delegate_id: int | str, bugs: frozenset[Bug]
) -> Handles:
    """Debug handles of an id by a delegate's map; None if it has none."""
    text = str(delegate_id)
    if Bug.I17 in bugs:
        if isinstance(delegate_id, str) and known.get(text) is not None:
            return known[text]
        parts = [key for key in known if key in text]
        return known[parts[-1]] if parts else known.get(text)
    if stated := _STATED_NODE.search(text):
        return known.get(stated[1])
    if text in known or isinstance(delegate_id, int):
        return known.get(text)
    words = [key for key in known if key and _place_of(key, text) >= 0]
    longest = [key for key in words if not any(key != other and key in other for other in words)]
    longest.sort(key=lambda key: _place_of(key, text))
    if len(longest) == 1:
        return known[longest[0]]
    return [handle for key in longest for handle in _listed(known[key])] or None


def _listed(handles: Handles) -> list[int]:
    return [handles] if isinstance(handles, int) else handles or []


def _place_of(word: str, text: str) -> int:
    """Where a text has a whole word; -1 if nowhere."""
    found = re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text)
    return found.start() if found else -1
