"""Details of an event in a trace other than its times, as plain values. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracehouse.queries.timeline.dumps import TimedDump
from tracehouse.queries.timeline.events import ModuleFrame, TimedEvent
from tracehouse.warehouse.load.delegate_metadata import parse_metadata
from tracehouse.warehouse.programs.correlation import as_list

_MOST_LISTED = 64  # items of a list: a delegate can run thousands of nodes
_MOST_LETTERS = 4_000


def event_arguments(event: TimedEvent) -> dict[str, Any]:
    """Known details that all events of a signature share."""
    found = {
        "instruction": event.instruction_id,
        "delegate_id": event.delegate_id,
        "backend": event.origin.delegate_backend_name,
        "method": event.method,
        "op_types": _listed(list(dict.fromkeys(event.origin.op_types))),
        "debug_handles": _listed(as_list(event.origin.debug_handles)),
        "modules": _listed([module_text(module) for module in event.innermost_modules]),
    }
    return {name: value for name, value in found.items() if value not in (None, [])}


def stack_trace(event: TimedEvent) -> str | None:
    """The distinct stack traces of its nodes, shortened; None without any."""
    texts = dict.fromkeys(text.strip() for text in event.origin.stack_traces.values() if text)
    joined = "\n\n".join(texts)
    cut = f"{joined[:_MOST_LETTERS]} ..." if len(joined) > _MOST_LETTERS else joined
    return cut or None


def module_text(module: ModuleFrame) -> str:
    """A module by its path and class.

    >>> module_text(ModuleFrame("layers.0", "torch.nn.Linear")), module_text(ModuleFrame("", "Net"))
    ('layers.0 (Linear)', 'Net')
    """
    kind = (module.type or "").rpartition(".")[2]
    if not module.path:
        return kind or "(program)"
    return f"{module.path} ({kind})" if kind else module.path


def metadata_by_event(
    dump: TimedDump, backends: Mapping[int, str | None]
) -> dict[tuple[int, int, int], object]:
    """Delegate metadata by event signature, run and occurrence, parsed as in the store.

    `backends` are the names of backends by event signature.
    """
    found = {}
    for row in dump.tables["delegate_metadata"].to_pylist():
        signature = row["event_signature_id"]
        key = signature, row["run_index"], row["occurrence"]
        parsed = parse_metadata([row["metadata"]], backends.get(signature))
        is_one = isinstance(parsed, list) and len(parsed) == 1
        found[key] = parsed[0] if is_one else parsed  # type: ignore[index]
    return found


def _listed(values: Sequence[Any]) -> list[Any]:
    more = len(values) - _MOST_LISTED
    return [*values[:_MOST_LISTED], f"and {more:,} more"] if more > 0 else list(values)
