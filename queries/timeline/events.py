"""The distinct events of a dump: names, place in the program, modules, operators, details."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tracehouse.queries.event_blocks.logged_values import LoggedValues
from tracehouse.queries.event_blocks.profile_samples import EventPlaces, ProfileSamples, delegate_id
from tracehouse.queries.timeline.dumps import TimedDump
from tracehouse.warehouse.load.delegate_metadata import parse_metadata
from tracehouse.warehouse.programs.correlation import Handles, Hierarchy, Origin, as_list

# Of events with equal times, the first in this list contains the others.
_RANKS = ("load", "method", "other", "control", "operator_call", "delegate_call", "kernel")
_UNTRACED = Origin()
_MOST_LISTED = 64  # items of a list: a delegate can run thousands of nodes
_MOST_LETTERS = 4_000


class ModuleFrame(NamedTuple):
    """A module of the program: its path and its class, if any."""

    path: str
    type: str | None


class TimedEvent(NamedTuple):
    """Events of one event signature in runs of one run signature.

    Attributes:
        name: Name of the event, else its logged name, else its delegate id.
        instruction_id: Instruction; None outside the program.
        delegate_id: Its delegate id as text; None outside delegates.
        origin: Its origin in the ETRecord.
        method: Method of the ETRecord that was run; None if unknown.
        run_signature_id: Signature of the runs.
        unit: Unit of its values if they are not in ticks of the dump's clocks.
    """

    name: str
    kind: str
    instruction_id: int | None
    delegate_id: str | None
    origin: Origin
    method: str | None
    run_signature_id: int
    unit: str | None = None

    @property
    def rank(self) -> int:
        """Nesting order among events with equal times, outermost first."""
        return _RANKS.index(self.kind) if self.kind in _RANKS else len(_RANKS)

    @property
    def modules(self) -> tuple[ModuleFrame, ...]:
        """The modules that contain all of its nodes, outermost first."""
        known = [tuple(_frames(node)) for node in self.origin.module_hierarchy.values() if node]
        shared = known[0] if known else ()
        for other in known[1:]:
            shared = shared[: _alike(shared, other)]
        return shared

    @property
    def innermost_modules(self) -> list[ModuleFrame]:
        """The distinct innermost modules of its nodes."""
        nodes = (list(_frames(node)) for node in self.origin.module_hierarchy.values() if node)
        return list(dict.fromkeys(node[-1] for node in nodes if node))

    @property
    def debug_handles(self) -> Handles | None:
        """The event's debug handle or handles, for `warehouse.programs.event_modules`."""
        return self.origin.debug_handles

    @property
    def module_hierarchy(self) -> Mapping[str, Hierarchy | None]:
        """The event's nodes and their modules, for `warehouse.programs.event_modules`."""
        return self.origin.module_hierarchy


class DistinctEvents(NamedTuple):
    """The distinct events of a dump.

    Attributes:
        by_signatures: The events by run signature and event signature.
        notes: Mismatches of dump and ETRecord.
    """

    by_signatures: Mapping[tuple[int, int], TimedEvent]
    notes: Sequence[str]


def list_events(dump: TimedDump) -> DistinctEvents:
    """The distinct events of a dump, and mismatches with its ETRecord."""
    profiles = ProfileSamples(dump.tables)
    places = EventPlaces(profiles, LoggedValues(dump.tables["debug_values"], None))
    signatures = {row["event_signature_id"]: row for row in _rows(dump, "event_signatures")}
    correlation = dump.correlation and dump.correlation.renewed()
    first_run: dict[int, int] = {}
    for run, block in enumerate(dump.tables["runs"]["run_signature_id"].to_pylist()):
        if block is not None:
            first_run.setdefault(block, run)
    found, notes = {}, []
    for row in _rows(dump, "run_signatures"):
        block = row["run_signature_id"]
        listed = [signatures[id_] for id_ in row["events"]]
        method, origins = None, [_UNTRACED] * len(listed)
        if correlation is not None and block in first_run:
            located = correlation.locate(places.of(block, first_run[block], listed))
            method, origins = located.method, located.origins
            notes += [f"block {row['name']}: {note}" for note in located.notes]
        for signature, origin in zip(listed, origins, strict=True):
            event = _event(signature, origin, method, block)
            found[block, signature["event_signature_id"]] = event
    return DistinctEvents(found, notes)


def _event(row: Mapping[str, Any], origin: Origin, method: str | None, block: int) -> TimedEvent:
    id_ = delegate_id(row)
    delegate = None if id_ is None else str(id_)
    name = row["name"] or row["debug_name"] or delegate or ""
    return TimedEvent(
        name, row["kind"], row["instruction_id"], delegate, origin, method, block, row["unit"]
    )


def _rows(dump: TimedDump, name: str) -> Iterable[dict[str, Any]]:
    rows: list[dict[str, Any]] = dump.tables[name].to_pylist()
    return rows


def _frames(node: Hierarchy) -> Iterator[ModuleFrame]:
    for place in node.values():
        if place:
            yield ModuleFrame(place[0], place[1] if len(place) > 1 else None)


def _alike(one: tuple[ModuleFrame, ...], other: tuple[ModuleFrame, ...]) -> int:
    """Length of the common prefix."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


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
