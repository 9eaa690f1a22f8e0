"""The operators of the runs at each place, and what they are in the program.

Operators have the names that both builds have in common. Several instructions can share a debug
handle, and a backend need not say what the events inside its delegate run. Then a kernel runs the
calls of its own name, a delegate's call those that no kernel runs, and an event in a delegate those
that its name mentions: the third Convolution of three is the third convolution of the delegate's
call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from tracehouse.queries.explain.content import Origin, Place
from tracehouse.queries.explain.stored_programs import Node, Program
from tracehouse.queries.report.figures import operator_text
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.programs.operator_names import operator_of_kernel, operator_of_target
from tracehouse.warehouse.queryable import Queryable

SIDES = ("base", "head")
KERNEL = "a kernel"  # where calls outside delegates run
_ORIGINS = """SELECT etrecord_id, run_signature_id, event_signature_id, method, debug_handles,
delegate_backend FROM event_origins WHERE list_contains($ids, etrecord_id)"""

_Row = Mapping[str, Any]


class OperatorKey(NamedTuple):
    """The name of an operator of a run, as builds have it in common."""

    event_name: str
    delegate_id: str | None
    ordinal: int

    def __str__(self) -> str:
        """The operator as reports show it."""
        return operator_text(self.event_name or "", self.delegate_id, self.ordinal)


class EventKey(NamedTuple):
    """An event in an ETRecord's tables."""

    etrecord_id: int
    run_signature_id: int
    event_signature_id: int


class Operator(NamedTuple):
    """An operator in one of the builds.

    Attributes:
        kind: Kind of its events: method, kernel, delegate_call or delegate_op.
        name: Its name in its own program; its delegate id where it has none.
        instruction_id: Its instruction in the build.
        event: Its event in the newest dump with an ETRecord; None without one.
    """

    kind: str
    name: str
    instruction_id: int | None
    event: EventKey | None


RunOperators = Mapping[OperatorKey, Operator]  # the runs of one name, in the order of their events
Sides = Mapping[str, RunOperators]


class PlaceOperators(NamedTuple):
    """The recordings at a place.

    Attributes:
        etrecords: The ETRecord of the newest dump that has one, by side.
        runs: The runs by name and side; a side may be absent.
    """

    etrecords: Mapping[str, int]
    runs: Mapping[str, Sides]


def read_operators(store: Queryable, places: Sequence[Place]) -> list[PlaceOperators]:
    """The recordings at each of the places, in the order of the places."""
    rows = _read_dumps(store, places)
    dumps = [_dumps_at(place, rows) for place in places]
    ids = sorted({row["dump_id"] for by_side in dumps for own in by_side.values() for row in own})
    text = read_statement("explained_operators")
    by_dump: dict[int, list[_Row]] = defaultdict(list)
    for row in store.sql(text, {"dumps": ids}).to_pylist():
        by_dump[row["dump_id"]].append(row)
    return [_place_operators(by_side, by_dump) for by_side in dumps]


def _read_dumps(store: Queryable, places: Sequence[Place]) -> list[_Row]:
    wanted = {
        "builds": sorted({build for place in places for build in (place.base, place.head)}),
        "models": sorted({place.model for place in places}),
        "devices": sorted({place.device for place in places if place.device is not None}),
        "pools": sorted({place.pool for place in places if place.pool is not None}),
    }
    rows: list[_Row] = store.sql(read_statement("explained_dumps"), wanted).to_pylist()
    return rows


def _dumps_at(place: Place, rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    """The dumps at a place by side, the newest last."""
    here = [
        row
        for row in rows
        if (row["model"], row["backend"]) == (place.model, place.backend)
        and (row["device"] == place.device if place.device else row["pool"] == place.pool)
    ]
    return {
        side: [row for row in here if row["build"] == build]
        for side, build in zip(SIDES, (place.base, place.head), strict=True)
    }


def _place_operators(
    dumps: Mapping[str, Sequence[_Row]], rows: Mapping[int, Sequence[_Row]]
) -> PlaceOperators:
    runs: dict[str, dict[str, RunOperators]] = defaultdict(dict)
    etrecords = {}
    for side, own in dumps.items():
        known = {row["dump_id"]: row["etrecord_id"] for row in own if row["etrecord_id"]}
        if known:
            etrecords[side] = known[max(known)]
        listed = [row for dump in own for row in rows.get(dump["dump_id"], ())]
        by_run: dict[str, list[_Row]] = defaultdict(list)
        for row in listed:
            by_run[row["run"]].append(row)
        for run, rows_of_run in by_run.items():
            runs[run][side] = _list_operators(rows_of_run, known)
    return PlaceOperators(etrecords, runs)


def _list_operators(rows: Sequence[_Row], etrecords: Mapping[int, int]) -> RunOperators:
    """The operators of a run, as the newest dump has them, and its newest with an ETRecord."""
    found: dict[OperatorKey, Operator] = {}
    for row in rows:
        key = OperatorKey(row["event_name"], row["delegate_id"], row["ordinal"])
        record = etrecords.get(row["dump_id"])
        ids = row["run_signature_id"], row["event_signature_id"]
        event = found[key].event if key in found else None
        if record is not None:
            event = EventKey(record, *ids)
        found[key] = Operator(row["kind"], row["own_name"] or "", row["instruction_id"], event)
    return found


class EventOrigin(NamedTuple):
    """A row of the table event_origins: the ETRecord's facts about an event."""

    method: str | None
    handles: tuple[int, ...]
    backend: str | None


def read_origins(store: Queryable, etrecords: Iterable[int]) -> dict[EventKey, EventOrigin]:
    """The facts of some ETRecords about the events of their dumps."""
    return {
        EventKey(row["etrecord_id"], row["run_signature_id"], row["event_signature_id"]): (
            EventOrigin(row["method"], tuple(row["debug_handles"] or ()), row["delegate_backend"])
        )
        for row in store.sql(_ORIGINS, {"ids": sorted(etrecords)}).to_pylist()
    }


class RunOrigins:
    """The operators of a run in their program."""

    def __init__(
        self, run: RunOperators, program: Program, events: Mapping[EventKey, EventOrigin]
    ) -> None:
        """Take a run, its program, and the ETRecord's facts about the events."""
        self._operators, self._program, self._events = run, program, events

    @cached_property
    def method(self) -> str:
        """The method of the program that the run is of."""
        named = (self._event(one).method for one in self._operators.values())
        return next(filter(None, named), next(iter(self._program.nodes), ""))

    def find(self, key: OperatorKey) -> Origin | None:
        """The calls of the program that an operator runs; None if unknown."""
        one = self._operators.get(key)
        nodes, is_whole_call = self._nodes(key, one) if one is not None else ([], False)
        if one is None or not nodes:
            return None
        return Origin(
            where=self._event(one).backend or KERNEL,
            nodes=[node.types for node in nodes],
            is_whole_call=is_whole_call,
            modules=list(dict.fromkeys(node.module for node in nodes if node.module)),
            sources=list(dict.fromkeys(node.source for node in nodes if node.source)),
        )

    def modules(self, key: OperatorKey) -> tuple[tuple[str, str], ...]:
        """The modules that contain all calls of an operator, outermost first: path and class."""
        one = self._operators.get(key)
        nodes, is_whole_call = self._nodes(key, one) if one is not None else ([], False)
        if is_whole_call or not nodes:
            return ()
        shared = nodes[0].modules
        for node in nodes[1:]:
            alike = (a == b for a, b in zip(shared, node.modules, strict=False))
            shared = shared[: next((n for n, same in enumerate(alike) if not same), len(shared))]
            shared = shared[: len(node.modules)]
        return shared

    def backend(self, key: OperatorKey) -> str | None:
        """The backend of a delegate call or of an event in it."""
        return self._event(self._operators[key]).backend

    def where(self, node: Node) -> str:
        """What runs a call: a kernel, or the backends of delegates; '' if nothing does."""
        calls: dict[int, str | None] = {}
        for handle in node.handles:
            calls |= self._calls.get(handle, {})
        if any(operator_of_target(node.target) == self._kernels.get(at) for at in calls):
            return KERNEL
        backends = sorted({backend for backend in calls.values() if backend})
        return ", ".join(backends) if backends else KERNEL if calls else ""

    def nodes_of(self, handles: Iterable[int]) -> list[Node]:
        """The calls with one of these debug handles, in the order of the graph."""
        found = {node.position: node for handle in handles for node in self._by_handle[handle]}
        return [found[position] for position in sorted(found)]

    @cached_property
    def _by_handle(self) -> Mapping[int, Sequence[Node]]:
        found: dict[int, list[Node]] = defaultdict(list)
        for node in self._program.nodes.get(self.method, ()):
            for handle in node.handles:
                found[handle].append(node)
        return found

    @cached_property
    def _calls(self) -> Mapping[int, dict[int, str | None]]:
        """The instructions of each debug handle, with the backend of a delegate's."""
        found: dict[int, dict[int, str | None]] = defaultdict(dict)
        for (method, instruction), (handles, backend) in self._program.calls.items():
            for handle in handles if method == self.method else ():
                found[handle][instruction] = backend
        return found

    @cached_property
    def _events_inside(self) -> Mapping[tuple[int | None, str], Sequence[OperatorKey]]:
        """The events inside delegates by instruction and first word."""
        found: dict[tuple[int | None, str], list[OperatorKey]] = defaultdict(list)
        for key, one in self._operators.items():
            if one.kind == "delegate_op":
                found[one.instruction_id, _word(one)].append(key)
        return found

    @cached_property
    def _kernels(self) -> dict[int | None, str]:
        """The operator of the kernel of each instruction."""
        return {
            one.instruction_id: operator_of_kernel(one.name)
            for one in self._operators.values()
            if one.kind == "kernel"
        }

    def _nodes(self, key: OperatorKey, one: Operator) -> tuple[list[Node], bool]:
        """The calls of an operator, and whether they are those of the whole delegate call."""
        nodes = self.nodes_of(self._event(one).handles)
        if one.kind == "kernel":
            name = self._kernels[one.instruction_id]
            own = [node for node in nodes if operator_of_target(node.target) == name]
            return own or nodes, False
        if one.kind == "delegate_call":
            return self._delegated(nodes), True
        if one.kind == "delegate_op" and not nodes:
            return self._mentioned(key, one)
        return nodes, False

    def _mentioned(self, key: OperatorKey, one: Operator) -> tuple[list[Node], bool]:
        """The calls that the name of an event in a delegate mentions, or else all of the call's."""
        of_call, _ = self._program.calls.get((self.method, one.instruction_id or 0), (set(), None))
        nodes = self._delegated(self.nodes_of(of_call))
        named = [node for node in nodes if node.word == _word(one)]
        events = self._events_inside[one.instruction_id, _word(one)]
        if len(named) == len(events):
            return [named[events.index(key)]], False
        return (named, False) if named else (nodes, True)

    def _delegated(self, nodes: Sequence[Node]) -> list[Node]:
        return [node for node in nodes if self.where(node) != KERNEL]

    def _event(self, one: Operator) -> EventOrigin:
        unknown = EventOrigin(None, (), None)
        return self._events.get(one.event, unknown) if one.event else unknown


def _word(one: Operator) -> str:
    return one.name.split(" ")[0]
