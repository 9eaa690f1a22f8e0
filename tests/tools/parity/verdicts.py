"""What to think of one dump in one variant."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.tools.parity.bugs import Bug
from tests.tools.parity.evidence import Dump, read_evidence
from tests.tools.parity.goldens import Variant
from tests.tools.parity.ours import answer
from tests.tools.parity.trial import Trial
from tracehouse.ingest.errors import DumpError, IngestError
from tracehouse.warehouse.errors import QueryError


class Outcome(StrEnum):
    """How our answer and the Inspector's relate."""

    EQUAL = "equal"
    DIFFERENT = "knowingly different"
    ANSWERED = "answered where it raises"
    REFUSED = "refused by both"
    ONLY_REFUSED = "refused by us"
    SKIPPED = "skipped"
    UNEXPLAINED = "UNEXPLAINED"


@dataclass(frozen=True)
class Verdict:
    """The outcome, the bugs that explain it, and the sentences that say what nothing explains."""

    outcome: Outcome
    bugs: frozenset[Bug] = frozenset()
    reason: str = ""
    unexplained: tuple[str, ...] = ()


def judge_malformed(corpus: Path, path: Path, variant: Variant) -> Verdict:
    """The verdict on a dump that the reference reader refuses: so must we."""
    try:
        answer(corpus, path, variant)
    except DumpError as error:
        if variant.exception:
            return Verdict(Outcome.REFUSED, reason=error.reason)
        return Verdict(Outcome.ONLY_REFUSED, frozenset({Bug.I22}), error.reason)
    return Verdict(Outcome.UNEXPLAINED, unexplained=("we answer a malformed dump",))


def judge(corpus: Path, path: Path, dump: Dump, variant: Variant) -> Verdict:
    """The verdict on a well-formed dump."""
    try:
        ours = answer(corpus, path, variant)
    except (IngestError, QueryError) as error:
        return Verdict(Outcome.UNEXPLAINED, unexplained=(f"we refuse: {error}",))
    trial = Trial(variant, ours, read_evidence(corpus, dump, variant))
    faults = tuple(trial.faults())
    if faults:
        return Verdict(Outcome.UNEXPLAINED, unexplained=faults)
    if trial.raised:
        return Verdict(Outcome.ANSWERED, frozenset({trial.raised.bug}))
    bugs = frozenset(trial.bugs())
    return Verdict(Outcome.DIFFERENT if bugs else Outcome.EQUAL, bugs)
