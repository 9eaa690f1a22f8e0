"""Answers that differ from what they should be, or from one surface to another, and why.

Two tables. KNOWN differences are defects that an issue names: once one is mended, its row here
fails the audit and is taken out. EXPLAINED ones are as they should be, and stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.tools.audit.comparing import ROWS

ORACLE = "the independent computation"


@dataclass(frozen=True)
class Known:
    """Where answers differ, in globs.

    Attributes:
        against: The surface whose answers differ from those of the store, or `ORACLE`.
        farm: The farm.
        query: The query.
        columns: The columns that differ.
        reason: Why.
    """

    against: str
    farm: str
    query: str
    columns: tuple[str, ...]
    reason: str

    def is_of(self, against: str, farm: str, query: str) -> bool:
        """Whether it is about this question on this surface."""
        pairs = ((against, self.against), (farm, self.farm), (query, self.query))
        return all(fnmatchcase(name, glob) for name, glob in pairs)

    def covers(self, column: str) -> bool:
        """Whether it is about this column."""
        return any(fnmatchcase(column, glob) for glob in self.columns)


def _known(item: int, farm: str, queries: str, *columns: str) -> list[Known]:
    reason = f"issue 28, item {item}"
    return [Known(ORACLE, farm, query, columns, reason) for query in queries.split()]


KNOWN: tuple[Known, ...] = ()

RETAINED = "store without raw events"
EXPLAINED: tuple[Known, ...] = (
    Known(RETAINED, "*", "percentiles", ("p*_ns", "missing_count"),
          "exact percentiles need raw events; missing_count says how many are gone"),
    Known(RETAINED, "*", "event_blocks", ("sample_count", "*_ns"), "blocks are of raw events"),
    Known(RETAINED, "*", "run_timeline", (ROWS,), "a timeline is of raw events"),
    Known(RETAINED, "*memory", "memory_by_instruction", (ROWS,),
          "raw events tell which instruction allocated; without them the row is of none"),
    Known(RETAINED, "*", "data_quality", (ROWS,), "it says that events are gone"),
)  # fmt: skip

# Columns that no oracle works out, by query, and why.
UNAUDITED: dict[str, dict[str, str]] = {
    "coverage": {"last_ingested_at": "the time of the ingest; surfaces agree on it"},
    "dumps": {
        "ingested_at": "the time of the ingest; surfaces agree on it",
        "source": "where the files of the audit were; surfaces agree on it",
    },
    "percentiles": {"error_share": "a promise: percentiles with approx are held to it"},
    "regression_deltas": {"dumps_needed": "advice, by a rule of thumb"},
    "comparison": {
        "dumps_needed": "advice, by a rule of thumb",
        "explained_by": "a sentence out of other rows",
        "note": "a sentence out of what environment_changes compares",
    },
    "stability": {"note": "a sentence out of the row's other columns"},
    "warmup": {"run_signature_id": "an id that means nothing by itself"},
    "delegate_transitions": {"run_signature_id": "an id that means nothing by itself"},
}
