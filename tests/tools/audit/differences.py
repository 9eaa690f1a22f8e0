"""Answers that differ from what they should be, or from one surface to another, and why.

Two tables. KNOWN differences are defects that an issue names: once one is mended, its row here
fails the audit and is taken out. EXPLAINED ones are as they should be, and stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.tools.audit.comparing import ROWS

ORACLE = "the independent computation"
REFUSED = "a refusal"  # stands for a column where a question is not answered


RETAINED = "store without raw events"


@dataclass(frozen=True)
class KnownDifference:
    """Where answers differ, in globs.

    Attributes:
        against: The surface whose answers differ from those of the store, or `ORACLE`.
        question: The question: the farm, the query and its parameters.
        columns: The columns that differ.
        reason: Why.
    """

    against: str
    question: str
    columns: tuple[str, ...]
    reason: str

    def is_of(self, against: str, question: str) -> bool:
        """Whether it is about this question on this surface."""
        return fnmatchcase(against, self.against) and fnmatchcase(question, self.question)

    def covers(self, column: str) -> bool:
        """Whether it is about this column."""
        return any(fnmatchcase(column, glob) for glob in self.columns)


KNOWN: tuple[KnownDifference, ...] = ()


def _explained(questions: str, columns: str, reason: str) -> tuple[KnownDifference, ...]:
    listed = tuple(columns.split(", "))
    return tuple(
        KnownDifference(RETAINED, question, listed, reason) for question in questions.split(" | ")
    )


EXPLAINED: tuple[KnownDifference, ...] = (
    *_explained("*/percentiles | */percentiles group_by* | */percentiles event*",
                "p*_ns, missing_count",
                "exact percentiles need raw events; missing_count says how many are gone"),
    *_explained("plain/outlier_runs min_excess* | corpus/outlier_runs",
                "culprit*, instruction_id, delegate_id",
                "raw events tell which one made a run slow"),
    *_explained("long_runs/outlier_runs | widened/outlier_runs", "culprit*, instruction_id",
                "raw events tell which one made a run slow"),
    *_explained("even_runs/outlier_runs", "culprit*",
                "raw events tell which one made a run slow"),
    *_explained("logged/numeric_divergence *", "event_name, ordinal",
                "raw events name the operator that logged a value"),
    *_explained("*/event_blocks *", "sample_count, *_ns", "blocks are of raw events"),
    *_explained("*/run_timeline *", ROWS, "a timeline is of raw events"),
    *_explained("*memory/memory_by_instruction | corpus/memory_by_instruction", "*",
                "raw events tell which instruction allocated; without them it is none"),
    *_explained("*/data_quality", ROWS, "it says that events are gone"),
    KnownDifference(
        ORACLE, "corpus/build_history event=[*]",
        ("sample_count", "p50_ns", "min_ns", "max_ns", "p10_ns", "p90_ns"),
        "of runs of one name whose events come in several orders, the commonest order counts",
    ),
)  # fmt: skip

# Columns that no oracle works out, by query, and why.
UNAUDITED: dict[str, dict[str, str]] = {
    "coverage": {"last_ingested_at": "the time of the ingest; surfaces agree on it"},
    "dumps": {
        "ingested_at": "the time of the ingest; surfaces agree on it",
        "source": "where the files of the audit were; surfaces agree on it",
    },
    "percentiles": {"error_share": "a promise: percentiles with approx are held to it"},
    "change_points": dict.fromkeys(
        ("after", "delta", "error"), "by the judge's frame, which its own tests have"
    ),
    "regression_deltas": {"dumps_needed": "advice, by a rule of thumb"},
    "comparison": {
        "dumps_needed": "advice, by a rule of thumb",
        "explained_by": "a sentence out of other rows",
        "may_be": "a sentence out of other rows",
        "note": "a sentence out of what environment_changes compares",
    },
    "stability": {"note": "a sentence out of the row's other columns"},
    "warmup": {"run_signature_id": "an id that means nothing by itself"},
    "delegate_transitions": {"run_signature_id": "an id that means nothing by itself"},
}
