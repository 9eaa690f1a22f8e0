"""The audit of one farm: its answers against the oracles, and those of all surfaces alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tests.tools.audit.comparing import Difference, Row, compare_order, compare_rows
from tests.tools.audit.differences import (
    EXPLAINED,
    KNOWN,
    ORACLE,
    REFUSED,
    UNAUDITED,
    KnownDifference,
)
from tests.tools.audit.farms import Farm
from tests.tools.audit.oracles import NOT_COMPUTED, ORACLES
from tests.tools.audit.questions import Question
from tests.tools.audit.surfaces import REFERENCE, Surface, dump_numbers, stored
from tracehouse.warehouse.errors import QueryError

LISTED = KNOWN + EXPLAINED
OF_APPROXIMATE = dict.fromkeys(("p10_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns"), "error_share")


@dataclass(frozen=True)
class Finding:
    """Something that differs.

    Attributes:
        against: The surface, or the independent computation.
        question: What was asked.
        difference: What differs; None for one that is listed and is no more.
        known: Why, if that is known.
    """

    against: str
    question: str
    difference: Difference | None
    known: KnownDifference | None = None

    @property
    def is_fault(self) -> bool:
        """Whether it must be looked at."""
        return (self.known is None) != (self.difference is None)

    def __str__(self) -> str:
        if self.difference is None:
            assert self.known
            what = f"no longer differs in {', '.join(self.known.columns)}: take it off the list"
            return f"{self.against}: {self.question}: {what} ({self.known.reason})"
        why = f" ({self.known.reason})" if self.known else ""
        return f"{self.against}: {self.question}: {self.difference}{why}"


@dataclass
class Tally:
    """What an audit saw.

    Attributes:
        findings: What differs.
        answers: Answers compared.
        values: Values in them.
        computed: By query, the columns that an oracle worked out.
        columns: By query, the columns there are.
    """

    findings: list[Finding] = field(default_factory=list)
    answers: int = 0
    values: int = 0
    computed: dict[str, set[str]] = field(default_factory=dict)
    columns: dict[str, set[str]] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Add what another one saw."""
        self.findings += other.findings
        self.answers += other.answers
        self.values += other.values
        for mine, theirs in ((self.computed, other.computed), (self.columns, other.columns)):
            for query, names in theirs.items():
                mine.setdefault(query, set()).update(names)

    @property
    def faults(self) -> list[str]:
        """What must be looked at, in words."""
        return [str(one) for one in self.findings if one.is_fault]

    @property
    def uncomputed(self) -> list[str]:
        """Columns that no oracle worked out and no list excuses, and excuses for nothing."""
        wrong = []
        for query, names in sorted(self.columns.items()):
            if query in NOT_COMPUTED:
                continue
            left = names - self.computed.get(query, set())
            excused = {*UNAUDITED.get(query, ())}
            wrong += [f"{query}: no oracle works out {name}" for name in sorted(left - excused)]
            wrong += [f"{query}: {name} is on the list of UNAUDITED columns, but is worked out"
                      for name in sorted(excused - left)]  # fmt: skip
        return wrong


def audit_farm(
    farm: Farm,
    questions: Sequence[Question],
    surfaces: Sequence[Surface],
    *,
    by_oracles: bool = True,
) -> Tally:
    """Ask a farm's store, and compare with the oracles and with other surfaces."""
    tally = Tally()
    with stored(farm) as store:
        answers = ask_all(REFERENCE, store, questions, farm)
        for answer in answers if by_oracles else ():
            if answer.question.query in ORACLES:
                _audit_values(tally, farm, answer)
        for surface in surfaces:
            there = ask_all(surface, store, questions, farm)
            for answer, other in zip(answers, there, strict=True):
                _count(tally, other, [])
                tally.findings += explain(
                    surface.name, other.question, compare_answers(answer, other)
                )
    return tally


class Answer(NamedTuple):
    """What a surface answers: the names of its columns, and rows with the farm's numbers."""

    question: Question
    columns: list[str]
    rows: list[Row]


def ask_all(
    surface: Surface, store: Path, questions: Sequence[Question], farm: Farm
) -> list[Answer]:
    """What a surface answers, with the farm's numbers of dumps."""
    with surface.open(store) as ask:
        known = {sha256: number for number, sha256 in dump_numbers(ask).items()}
        numbers = {dump.number: known[dump.sha256] for dump in farm.recordings}
        answers = []
        for question in questions:
            params = {
                name: numbers[value] if name == "dump" else value
                for name, value in question.params.items()
            }
            try:
                table = ask(question.query, **params)
            except QueryError:  # each surface says so in words of its own
                answers.append(Answer(question, [REFUSED], [{REFUSED: True}]))
                continue
            rows = _renumbered(table, {there: here for here, there in numbers.items()})
            answers.append(Answer(question, table.column_names, rows))
    return answers


def _renumbered(answer: pa.Table, numbers: Mapping[int, int]) -> list[Row]:
    of_dumps = [name for name in answer.column_names if name.endswith("dump_id")]
    rows: list[Row] = []
    for row in answer.to_pylist():
        rows.append(row | {name: numbers.get(row[name], row[name]) for name in of_dumps})
    return rows


def _audit_values(tally: Tally, farm: Farm, answer: Answer) -> None:
    question = answer.question
    wanted = ORACLES[question.query](farm.recordings, question.params)
    if answer.columns == [REFUSED]:
        refusal = Difference(REFUSED, "no row", REFUSED, f"{len(wanted)} rows")
        tally.findings += explain(ORACLE, question, [refusal])
        return
    names = [name for name in answer.columns if wanted and name in wanted[0]]
    bounds = OF_APPROXIMATE if question.params.get("approx") else None
    _count(tally, answer, names)
    differences = compare_rows(answer.rows, wanted, names, bounds=bounds)
    tally.findings += explain(ORACLE, question, differences)


def compare_answers(here: Answer, there: Answer) -> list[Difference]:
    """What differs in the answer of another surface."""
    if here.columns != there.columns:
        return [Difference("the columns", "all rows", there.columns, here.columns)]
    differences = compare_rows(there.rows, here.rows, here.columns)
    if differences or any(name.endswith("dump_id") for name in here.columns):
        return differences  # the order of numbers is another one in a lake
    return compare_order(there.rows, here.rows, here.columns)


def explain(
    against: str,
    question: Question,
    differences: Sequence[Difference],
    listed: Sequence[KnownDifference] = LISTED,
) -> list[Finding]:
    """Differences with their reasons, and those that are listed but are none."""
    own = [one for one in listed if one.is_of(against, question.name)]
    findings, met = [], set()
    for difference in differences:
        reason = next((one for one in own if one.covers(difference.column)), None)
        met.add(reason)
        findings.append(Finding(against, question.name, difference, reason))
    findings += [Finding(against, question.name, None, one) for one in own if one not in met]
    return findings


def _count(tally: Tally, answer: Answer, names: Sequence[str]) -> None:
    tally.answers += 1
    tally.values += len(answer.rows) * len(answer.columns)
    if answer.columns == [REFUSED]:
        return
    tally.columns.setdefault(answer.question.query, set()).update(answer.columns)
    tally.computed.setdefault(answer.question.query, set()).update(names)
