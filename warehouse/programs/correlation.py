"""The program nodes that events ran: an ETRecord joined to the events of a dump. Pure.

A dump does not name its program or method. The method of a block is found in these steps, each
of which selects from the methods of the previous step:

1. the methods with the fewest contradictions: an instruction without debug handle, a kernel named
   after another operator than its node's, a delegate where the method has none, or the reverse;
2. for a complete run, the methods without further instructions;
3. the methods whose delegate ids or operators explain the most events inside delegates;
4. for a complete run, the methods that do not delegate much more than these events show.

If several methods remain that give different origins, the block gets none. An ETRecord restricted
to the dump's method (`EtRecord.of_method`) has no other methods. A few contradictions are normal:
not every instruction is in the exported graph.

A delegate's event is looked up by its id as text. If the delegate's map does not have the id, but
keys that are whole words in the id ("relu0 (fused)" contains relu0), the event has the handles of
those keys; of overlapping keys, the longer one counts.

Origins of one dump's events take at most FREE_BYTES, plus BYTES_PER_BYTE per byte of the ETRecord,
plus BYTES_PER_EVENT per event: a long list of handles can repeat for each of many events. A block
that would take more is not traced, and its note says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tracehouse.ingest.allowance import Allowance, AllowanceError
from tracehouse.ingest.etrecord.names import EDGE_PROGRAM
from tracehouse.warehouse.errors import QueryError, suggest
from tracehouse.warehouse.programs.method_origins import (
    OWN_INSTRUCTION,
    CorrelationCache,
    Handles,
    Hierarchy,
    MethodOrigins,
    Origin,
    Place,
    as_list,
    is_majority,
)

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.record import EtRecord

__all__ = ["BlockOrigin", "Correlation", "Handles", "Hierarchy", "Origin", "Place", "as_list"]


FREE_BYTES = 64 << 20
BYTES_PER_BYTE = 32
BYTES_PER_EVENT = 1_024

_MOST_LISTED = 10
_MOST_TIMES = 2  # a method may have this many times the unexplained operators of the best method


class UnknownGraphError(QueryError, KeyError):
    """An ETRecord has no graph of this name; the Inspector raises KeyError."""

    __str__ = Exception.__str__  # KeyError would quote it


@dataclass(frozen=True)
class BlockOrigin:
    """The origins of the events of one block.

    Attributes:
        method: The method; None if uncertain.
        method_candidates: Possible methods.
        origins: One per event.
        notes: Sentences on disagreements between the dump and the ETRecord.
    """

    method: str | None = None
    method_candidates: list[str] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Correlation:
    """An indexed ETRecord, which traces the blocks of a dump."""

    def __init__(self, record: EtRecord, *, graph: str = EDGE_PROGRAM) -> None:
        """Index the record.

        Args:
            record: The record.
            graph: Name of the graph with operators, stack traces and modules; a record without
                edge dialect program has none of them.

        Raises:
            UnknownGraphError: The record has no such graph.
        """
        known = sorted({key.name for key in record.programs})
        if graph not in (EDGE_PROGRAM, *known):
            raise UnknownGraphError(
                f"{record.source}: has no graph '{graph}'{suggest(graph, known)}"
            )
        self._graph = graph
        self._methods = [MethodOrigins(record, name, graph) for name in record.debug_handles]
        self._cache = _new_cache(record)
        self.record = record

    def of_method(self, name: str) -> Correlation:
        """This correlation for dumps of a method; raises EtRecordError if it does not exist."""
        return Correlation(self.record.of_method(name), graph=self._graph)

    def renewed(self) -> Correlation:
        """This correlation for another dump, with a new cache and a full allowance."""
        other = copy(self)
        other._cache = _new_cache(self.record)
        return other

    def locate(self, places: Sequence[Place]) -> BlockOrigin:
        """The origins of a block's events, or only a note if the allowance is exceeded."""
        self._cache.allowance.grant(BYTES_PER_EVENT * len(places))
        try:
            return self._locate(places)
        except AllowanceError as error:
            note = f"the ETRecord's data about this dump's events {error}; is it of this program?"
            return _untraced(places, note)

    def _locate(self, places: Sequence[Place]) -> BlockOrigin:
        inside = _instructions(places)
        wrong = {method: method.contradictions(inside, self._cache) for method in self._methods}
        candidates = self._candidates(places, inside, wrong)
        names = [method.name for method in candidates]
        if not candidates:
            return _untraced(places, "no method of the ETRecord is like this block")
        answers = [[method.origin(place, self._cache) for place in places] for method in candidates]
        if any(answer != answers[0] for answer in answers):
            listed = " or ".join(names[:_MOST_LISTED])
            more = f" or {len(names) - _MOST_LISTED:,} more" if len(names) > _MOST_LISTED else ""
            note = f"these can be events of {listed}{more}, which differ"
            return replace(_untraced(places, note), method_candidates=names)
        method = candidates[0]
        name = method.name if len(candidates) == 1 else None
        return BlockOrigin(name, names, answers[0], method.notes(inside, wrong[method]))

    def _candidates(
        self,
        places: Sequence[Place],
        inside: Sequence[Place],
        wrong: Mapping[MethodOrigins, Sequence[Place]],
    ) -> list[MethodOrigins]:
        if len(self._methods) == 1:
            return self._methods
        methods = [method for method in self._methods if not is_majority(wrong[method], inside)]
        methods = _least(methods, [len(wrong[method]) for method in methods])
        is_whole = any(place.kind == "method" for place in places)
        if is_whole:
            methods = _least(
                methods, [method.has_further_instructions(places) for method in methods]
            )
        inner = _inside_delegates(inside)
        if len(methods) < 2 or not inner:
            return methods
        return self._matching(methods, inner, is_whole=is_whole)

    def _matching(
        self,
        methods: Sequence[MethodOrigins],
        inner: Mapping[int, Sequence[int | str]],
        *,
        is_whole: bool,
    ) -> list[MethodOrigins]:
        """The methods whose delegates best match the events inside delegates."""
        counts = {method: method.unmatched(inner, self._cache) for method in methods}
        least = min(count.names for count in counts.values())
        missing = {of: count.operators for of, count in counts.items() if count.names == least}
        # Missing operators mean nothing if most names match none, or if the run failed.
        is_meaningful = is_whole and 2 * least < sum(map(len, inner.values()))
        most = _MOST_TIMES * min(missing.values()) if is_meaningful else math.inf
        return [method for method, count in missing.items() if count <= most]


def _new_cache(record: EtRecord) -> CorrelationCache:
    most = FREE_BYTES + BYTES_PER_BYTE * record.byte_count
    return CorrelationCache(Allowance(most, "bytes"))


def _untraced(places: Sequence[Place], note: str) -> BlockOrigin:
    return BlockOrigin(origins=[Origin() for _ in places], notes=[note])


def _least(methods: list[MethodOrigins], counts: Sequence[int]) -> list[MethodOrigins]:
    least = min(counts, default=0)
    return [method for method, count in zip(methods, counts, strict=True) if count == least]


def _inside_delegates(places: Iterable[Place]) -> dict[int, list[int | str]]:
    """Delegate ids by instruction."""
    ids: dict[int, list[int | str]] = {}
    for place in places:
        if place.delegate_id is not None and place.instruction_id is not None:
            ids.setdefault(place.instruction_id, []).append(place.delegate_id)
    return ids


def _instructions(places: Sequence[Place]) -> list[Place]:
    """Events that run an instruction, or a part of it."""
    return [
        place
        for place in places
        if place.kind in OWN_INSTRUCTION and place.instruction_id is not None
    ]
