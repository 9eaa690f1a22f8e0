"""Questions with random filters: is each answered as if nothing else were stored?

What a filter means is worked out in Python from the manifests, in one of three ways:

* by the oracle of the query, which is given all dumps and chooses among them itself;
* for a query without an oracle, by a copy of the store without the other dumps;
* for the queries of nights and of refusals, whose filters choose rows and change none, from the
  rows that there are without filters.

Some answers are not those of a store that has only the chosen dumps, and the oracles say so:

* Builds have the order, the times and the branches that all their dumps give them
  (`builds_in_order` and `build_facts` of all dumps), and which names there are is decided by all.
* `coverage_gaps` expects a model in all builds of a branch: of the filters only `build` leaves out
  builds, the others leave out recordings.
* Two builds are compared with all the dumps of both that pass; `build` is no filter there, nor
  `backend` of two backends.
* `device_days` and `device_health` count refusals, which have a device, a pool and a time only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path

from tests.tools.audit.audit import Answer, ask_all, compare_answers, explain
from tests.tools.audit.comparing import Difference, Row, compare_rows
from tests.tools.audit.differences import ORACLE, REFUSED, RETAINED
from tests.tools.audit.draws import Draws
from tests.tools.audit.farms import Farm
from tests.tools.audit.oracles import NOT_COMPUTED, ORACLES
from tests.tools.audit.oracles.places import is_refused
from tests.tools.audit.questions import Question
from tests.tools.audit.restricted import OF_ROWS, RestrictedStore, choose_rows
from tests.tools.audit.surfaces import REFERENCE, Surface

LEAST_FILLED = 0.3  # queries with a smaller share of answers that have rows are named
OF_PROGRAMS = ("backend_comparison", "layer_hotspots", "module_totals", "roofline")
OF_NIGHTS = ("change_points", "nightly_verdicts")
# Which queries are asked of which farm; each is asked of one.
QUERIES: Mapping[str, Sequence[str]] = {
    "crossed": sorted({*ORACLES, *NOT_COMPUTED} - {*OF_PROGRAMS, *OF_NIGHTS}),
    "crossed_programs": OF_PROGRAMS,
    "crossed_nights": OF_NIGHTS,
}


@dataclass
class FilterTally:
    """What random filters showed.

    Attributes:
        faults: What must be looked at, in words.
        answers: By query, how many questions were answered.
        filled: By query, how many answers have rows.
        n_refused: Questions that were refused.
    """

    faults: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    filled: Counter[str] = field(default_factory=Counter)
    n_refused: int = 0

    def add(self, other: FilterTally) -> None:
        """Add what another one saw."""
        self.faults += other.faults
        self.answers += other.answers
        self.filled += other.filled
        self.n_refused += other.n_refused

    def count(self, answer: Answer) -> None:
        """Count an answer."""
        query = answer.question.query
        if answer.columns == [REFUSED]:
            self.n_refused += 1
            return
        self.answers[query] += 1
        self.filled[query] += bool(answer.rows)

    @property
    def share(self) -> float:
        """Share of the answers that have rows."""
        return self.filled.total() / max(self.answers.total(), 1)

    @property
    def empty(self) -> list[str]:
        """Queries none of whose answers has a row."""
        return sorted(query for query in self.answers if not self.filled[query])

    def describe(self) -> str:
        """The figures, and the queries that seldom have rows."""
        rare = [
            f"{query} {self.filled[query]} of {count}"
            for query, count in sorted(self.answers.items())
            if self.filled[query] < LEAST_FILLED * count
        ]
        return (
            f"{self.answers.total():,} answers to random filters, {self.share:.0%} with rows; "
            f"{self.n_refused:,} refusals; {len(self.faults):,} faults; "
            f"with rows less often than {LEAST_FILLED:.0%}: {', '.join(rare) or 'no query'}"
        )


def audit_filters(
    farm: Farm,
    store: Path,
    queries: Sequence[str],
    count: int,
    *,
    seed: int = 0,
    surfaces: Sequence[Surface] = (REFERENCE,),
) -> FilterTally:
    """Ask each query so often, with filters that the seed draws.

    The first surface is asked everything, and each other one some of the questions, in turn.
    """
    tally = FilterTally()
    draws = Draws(farm, seed, _refusal_times(store))
    drawn = [draws.question(query, number) for number in range(count) for query in queries]
    answers = ask_all(surfaces[0], store, drawn, farm)
    for answer, wanted in zip(answers, _expected(store, farm, drawn), strict=True):
        tally.count(answer)
        tally.faults += _compare(answer, wanted)
    others = [surface for surface in surfaces[1:] if surface.name != RETAINED]
    for place, surface in enumerate(others):
        mine = answers[place :: len(others)]
        theirs = ask_all(surface, store, [answer.question for answer in mine], farm)
        for here, there in zip(mine, theirs, strict=True):
            different = compare_answers(here, there)
            tally.faults += _describe(surface.name, here.question, different)
    return tally


def _refusal_times(store: Path) -> list[datetime]:
    with REFERENCE.open(store) as ask:
        return [row["refused_at"] for row in ask("ingest_errors").to_pylist()]


def _expected(store: Path, farm: Farm, questions: Iterable[Question]) -> list[list[Row] | None]:
    """The rows that each question must have; None if it must be refused."""
    dumps, found = farm.recordings, []
    with RestrictedStore(store, dumps) as restricted, REFERENCE.open(store) as ask:
        ask_once = cache(lambda query, others: ask(query, **dict(others)).to_pylist())
        for question in questions:
            query, params = question.query, question.params
            rows: list[Row] | None = None
            if is_refused(dumps, params):
                pass
            elif query in OF_ROWS:
                others = tuple((k, v) for k, v in params.items() if k not in OF_ROWS[query])
                rows = choose_rows(ask_once(query, others), params, OF_ROWS[query], dumps)
            elif query in ORACLES:
                rows = [*ORACLES[query](dumps, params)]
            else:
                rows = restricted.answer(question)
            found.append(rows)
    return found


def _compare(answer: Answer, wanted: list[Row] | None) -> list[str]:
    is_refused_here = answer.columns == [REFUSED]
    if is_refused_here or wanted is None:
        if is_refused_here and wanted is None:
            return []
        words = [f"{len(rows)} rows" if rows is not None else REFUSED
                 for rows in (None if is_refused_here else answer.rows, wanted)]  # fmt: skip
        return _describe(ORACLE, answer.question, [Difference(REFUSED, "no row", *words)])
    names = [name for name in answer.columns if wanted and name in wanted[0]]
    return _describe(ORACLE, answer.question, compare_rows(answer.rows, wanted, names))


def _describe(against: str, question: Question, differences: Sequence[Difference]) -> list[str]:
    return [str(one) for one in explain(against, question, differences) if one.is_fault]
