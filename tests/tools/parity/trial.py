"""Both answers on trial: ours beside what is right, the Inspector's beside what its bugs make."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from tests.tools.parity.bugs import ALL, NONE, SPEAKING, Bug
from tests.tools.parity.comparison import Difference, compare_blocks, is_same
from tests.tools.parity.errors import InspectorError
from tests.tools.parity.evidence import Evidence
from tests.tools.parity.goldens import Json, Variant
from tests.tools.parity.inspector import Inspector
from tests.tools.parity.ours import Answer
from tests.tools.parity.tables import are_same_rows, expected_rows, read_grid, read_rows
from tests.tools.parity.totals import module_total
from tracehouse.queries.printable import printable

_MOST_SHOWN = 300
_NO_ROWS = "No objects to concatenate"


class Trial:
    """Our answer beside what is right, and the Inspector's beside what its bugs make of that.

    Attributes:
        right: What is right.
        theirs: What the Inspector should say with all its bugs; empty if it should raise.
        raised: What it should raise, if anything.
    """

    def __init__(self, variant: Variant, ours: Answer, evidence: Evidence) -> None:
        self._variant = variant
        self._ours = ours
        self._evidence = evidence
        self.right = self._inspector(NONE).answer()
        self.theirs: list[Json] = []
        self.raised: InspectorError | None = None
        try:
            self.theirs = self._inspector(ALL).answer()
        except InspectorError as raised:
            self.raised = raised

    def faults(self) -> Iterator[str]:
        """Sentences on what is wrong with our answer, or cannot be explained in the Inspector's."""
        yield from _describe(
            "we are wrong: ours, right", compare_blocks(self._ours.blocks, self.right)
        )
        if self._ours.tsv and not self._is_table_of(self._ours.tsv, self._ours.blocks):
            yield "our TSV does not hold our event blocks"
        yield from (f"the drop-in is wrong: {fault}" for fault in self._ours.object_faults)
        for module, total in self._ours.totals.items():
            if not _is_close(total, right := self._total(module, NONE)):
                yield f"we are wrong: total for module '{module}': {total}, right: {right}"
        yield from self._unexplained_exception()
        if not self.raised and not self._variant.exception:
            yield from self._unexplained_answer()

    def bugs(self) -> Iterator[Bug]:
        """Bugs that make the difference between our answer and the Inspector's."""
        golden = self._variant.blocks
        differences = compare_blocks(self._ours.blocks, _like(self.theirs, golden))
        for place, several in groupby(differences, lambda difference: difference[:2]):
            parts = _Parts(self._inspector, place)
            for difference in several:
                yield from parts.causes(difference.field)
        if isinstance(self._variant.answer.get("tsv"), dict):
            yield Bug.I8
        totals = self._variant.totals.items()
        if any(not _is_close(self._ours.totals[module], total) for module, total in totals):
            yield Bug.I6

    def _inspector(self, bugs: frozenset[Bug]) -> Inspector:
        methods = [
            [block["method"]] if block["method"] else block["method_candidates"]
            for block in self._ours.blocks
        ]
        return Inspector(self._evidence, bugs, methods)

    def _total(self, module: str, bugs: frozenset[Bug]) -> float:
        answer = self.right if Bug.I6 not in bugs else self.theirs
        return module_total(self._evidence.dump.blocks(bugs), answer, module, bugs)

    def _unexplained_exception(self) -> Iterator[str]:
        golden, raised = self._variant.exception, self.raised
        if golden and not (raised and raised.is_like(golden)):
            yield f"it raises {_shown(golden)}, wanted {raised or 'an answer'}"
        elif raised and not golden:
            yield f"it answers, wanted {raised}"

    def _unexplained_answer(self) -> Iterator[str]:
        golden = self._variant.blocks
        what = "its bugs do not explain it: explained, golden"
        yield from _describe(what, compare_blocks(self.theirs, golden))
        yield from self._unexplained_table(golden)
        for module, total in self._variant.totals.items():
            if not _is_close(total, explained := self._total(module, ALL)):
                yield f"{what}: total for module '{module}': {explained} | {total}"

    def _unexplained_table(self, golden: Sequence[Json]) -> Iterator[str]:
        tsv, table = (self._variant.answer.get(name) for name in ("tsv", "table"))
        if isinstance(tsv, dict):
            has_rows = golden and all(block["events"] for block in golden)
            if has_rows or _NO_ROWS not in tsv["exception"]["message"]:
                yield f"its TSV raises {_shown(tsv['exception'])}"
        elif tsv and not self._is_table_of(tsv, golden):
            yield "its TSV does not hold its event blocks"
        elif table and tsv == self._ours.tsv and not self._is_printed_as(table):
            yield "our table has not the cells of the one that it prints"

    def _is_printed_as(self, table: str) -> bool:
        printed = [list(map(printable, row)) for row in read_grid(table)]  # as theirs does not
        return read_grid(self._ours.table or "") == printed

    def _is_table_of(self, tsv: str, blocks: Sequence[Json]) -> bool:
        variant = self._variant
        rows = expected_rows(blocks, variant.clock.target, has_parser=variant.has_parser)
        return are_same_rows(read_rows(tsv), rows)


class _Parts:
    """What the Inspector says of a block or an event, by the bugs that it makes."""

    def __init__(
        self, inspector: Callable[[frozenset[Bug]], Inspector], place: tuple[int | None, int | None]
    ) -> None:
        self._inspector = inspector
        self._block, self._event = place
        self._known: dict[frozenset[Bug], Json] = {}

    def causes(self, name: str) -> set[Bug]:
        """Bugs without which a field would be another, else bugs that change it alone."""
        if self._block is None or name == "events":
            return {Bug.I9}
        said, right = self._of(SPEAKING)[name], self._of(NONE)[name]
        needed = {bug for bug in SPEAKING if not is_same(self._of(SPEAKING - {bug})[name], said)}
        found = needed or {
            bug for bug in SPEAKING if not is_same(self._of(frozenset({bug}))[name], right)
        }
        assert found, f"no bug makes the difference in {name}"
        return found

    def _of(self, bugs: frozenset[Bug]) -> Json:
        if bugs not in self._known:
            self._known[bugs] = self._inspector(bugs).part(self._block or 0, self._event)
        return self._known[bugs]


def _like(blocks: Sequence[Json], golden: Sequence[Json]) -> list[Json]:
    """The blocks with the fields of the golden ones alone."""
    return [
        {key: block[key] for key in twin}
        | {
            "events": [
                {key: event[key] for key in other}
                for event, other in zip(block["events"], twin["events"], strict=True)
            ]
        }
        for block, twin in zip(blocks, golden, strict=True)
    ]


def _is_close(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=1e-12)


def _describe(what: str, differences: Iterable[Difference]) -> Iterator[str]:
    for block, event, name, left, right in differences:
        values = f"{str(left)[:_MOST_SHOWN]} | {str(right)[:_MOST_SHOWN]}"
        yield f"{what}: block {block} event {event} {name}: {values}"


def _shown(exception: Mapping[str, str]) -> str:
    return f"{exception['type']}: {exception['message'][:_MOST_SHOWN]}"
