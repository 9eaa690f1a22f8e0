"""The Inspector's answer worked out anew: without its bugs what is right, with them what it says.

Written after `executorch.devtools.Inspector` 1.5.1, one event at a time; each place where it goes
wrong asks whether that bug is among those to make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.tools.parity.bugs import Bug
from tests.tools.parity.durations import DURATION_BUGS, samples
from tests.tools.parity.equality import require_equal_events, require_equal_outputs
from tests.tools.parity.errors import InspectorError
from tests.tools.parity.evidence import Evidence
from tests.tools.parity.grouping import Block, Json, Member, Signature, outputs_of
from tests.tools.parity.reading import require_readable
from tests.tools.parity.symbols import NOTHING, symbols
from tests.tools.parity.values import inflate, plain


@dataclass(frozen=True)
class Inspector:
    """One dump inspected with some of the bugs.

    Attributes:
        evidence: What it is given.
        bugs: The bugs to make.
        methods: For each block the methods that it can be, where no bug says forward.
    """

    evidence: Evidence
    bugs: frozenset[Bug]
    methods: Sequence[Sequence[str]] = ()

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the dump."""
        return self.evidence.dump.blocks(self.bugs)

    def answer(self) -> list[Json]:
        """The event blocks as JSON.

        Raises:
            InspectorError: if the Inspector would.
        """
        self._require_readable()
        outputs = [self._run_output(i) for i in range(len(self.blocks))]
        events = [
            [self._numbers_and_values(block, signature) for signature in block.events]
            for block in self.blocks
        ]
        if self.evidence.program:
            self.evidence.program.require_forward(self.bugs)
        return [
            {
                "name": block.name,
                "bundled_input_index": block.bundled_input_index,
                "source_time_scale": self.evidence.clock.source,
                "target_time_scale": self.evidence.clock.target,
                "run_output": outputs[i],
                "reference_output": self._reference_output(i),
                "events": [
                    event | self._symbols(i, signature)
                    for event, signature in zip(events[i], block.events, strict=True)
                ],
            }
            for i, block in enumerate(self.blocks)
        ]

    def part(self, block: int, event: int | None) -> Json:
        """One event, by its place, or the outputs of a block."""
        if event is None:
            outputs = self._run_output(block), self._reference_output(block)
            return dict(zip(("run_output", "reference_output"), outputs, strict=True))
        found = self.blocks[block]
        signature = list(found.events)[event]
        return self._numbers_and_values(found, signature) | self._symbols(block, signature)

    def _require_readable(self) -> None:
        if self.evidence.program:
            self.evidence.program.require_loadable(self.bugs)
        dump = self.evidence.dump
        require_readable(dump.data, dump.content, self.bugs)
        runs = dump.content.get("run_data", [])
        members = (event.keys() for run in runs for event in run.get("events", []))
        if Bug.I9 in self.bugs and any(
            not {"profile_event", "debug_event"} & names for names in members
        ):
            raise InspectorError(Bug.I9, "ValueError", "Unable to find populated event")

    def _run_output(self, block: int) -> list[Any]:
        """The program outputs of the first run of a block that has any."""
        first: list[Any] = []
        for run in self.blocks[block].runs:
            found = [self._inflate(value) for value in outputs_of(run)]
            if not first:
                first = found
            elif Bug.I11 in self.bugs:
                require_equal_outputs(first, found)
        found_plain: list[Any] = plain(first)
        return found_plain

    def _numbers_and_values(self, block: Block, signature: Signature) -> Json:
        runs = block.events[signature]
        is_delegated = signature.delegate_id is not None
        event = {
            "name": signature.name,
            "instruction_id": signature.instruction_id,
            "delegate_debug_identifier": signature.delegate_id,
            "is_delegated_op": is_delegated,
            **self._numbers(runs, is_delegated),
            "debug_data": self._debug_data(runs),
        }
        if self.evidence.parser and is_delegated:
            raw = [bytes.fromhex(text) for text in event["raw_delegate_debug_metadatas"]]
            event["delegate_debug_metadatas"] = self.evidence.parser(raw)
        return event

    def _numbers(self, runs: Sequence[Sequence[Member]], is_delegated: bool) -> Json:
        """Worked out once for all bugs that have no say in it."""
        key = id(runs), self.bugs & DURATION_BUGS
        if key not in self.evidence.numbers:
            self.evidence.numbers[key] = samples(
                runs, self.evidence.clock, is_delegated=is_delegated, bugs=self.bugs
            )
        return self.evidence.numbers[key]

    def _debug_data(self, runs: Sequence[Sequence[Member]]) -> list[Any]:
        first: list[Any] = []
        for members in runs:
            found = [self._inflate(entry) for entry in self._entries(members)]
            if not first:
                first = found
            elif Bug.I11 in self.bugs:
                require_equal_events(first, found)
        found_plain: list[Any] = plain(first)
        return found_plain

    def _entries(self, members: Sequence[Member]) -> list[Json | None]:
        """Values logged for an event in a run: in all its groups, or only in the last."""
        if Bug.I1 in self.bugs:
            return list(members[-1].values.values())
        values = {place: entry for member in members for place, entry in member.values.items()}
        return [values[place] for place in sorted(values)]

    def _inflate(self, entry: Json | None) -> Any:
        return inflate(entry, self.evidence.buffer, self.bugs)

    def _reference_output(self, block: int) -> Any:
        """What the ETRecord says that a block should have put out; None if nothing."""
        program, methods = self.evidence.program, self._methods(block)
        index = self.blocks[block].bundled_input_index
        if program is None or len(methods) != 1 or (index < 0 and Bug.I19 not in self.bugs):
            return None
        cases = program.reference_outputs.get(methods[0], [])
        return cases[index] if -len(cases) <= index < len(cases) else None

    def _symbols(self, block: int, signature: Signature) -> Json:
        """What the block's method tells of an event; nothing if it can be several that differ."""
        if self.evidence.program is None:
            return dict(NOTHING)
        methods: list[str | None] = [*self._methods(block)]
        first, *others = methods or [None]
        events = self.blocks[block].events if others else [signature]
        for event in events:
            found = self._symbols_by(first, block, event)
            if any(self._symbols_by(method, block, event) != found for method in others):
                return dict(NOTHING)
        return self._symbols_by(first, block, signature)

    def _symbols_by(self, method: str | None, block: int, signature: Signature) -> Json:
        program = self.evidence.program
        if program is None or method is None:
            return dict(NOTHING)
        members = [member for run in self.blocks[block].events[signature] for member in run]
        return symbols(program, method, (signature, members), self.bugs)

    def _methods(self, block: int) -> Sequence[str]:
        return ["forward"] if Bug.I15 in self.bugs else self.methods[block]
