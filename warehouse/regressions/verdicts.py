"""Verdicts of the judge of two builds on a series, with all their properties. Pure.

It imports nothing, so that commands that only print verdicts start without numpy.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class SeriesVerdict(StrEnum):
    """Verdicts on a series of two builds, changes first; see the query `regression_deltas`.

    Attributes:
        words: The verdict in people's words.
        detail: Explanation for a new, removed or moved operator, with the builds' names.
        is_judged: Whether the series could have shown a change.
    """

    words: str
    detail: str
    is_judged: bool

    REGRESSION = "regression", "slower"
    IMPROVEMENT = "improvement", "faster"
    NEW_OP = "new_op", "added", "not in {base}", False
    REMOVED_OP = "removed_op", "removed", "in {base}, not in {head}", False
    MOVED = "moved", "moved elsewhere", "its time moved to other operators; the total is unchanged"
    MODE_MIX = (
        "mode_mix",
        "at another speed",
        "the share of slow processes changed",
    )
    UNCHANGED = "unchanged", "unchanged"
    EXPLAINED_BY_RUN_SHIFT = "explained_by_run_shift", "moved with all others"
    INCONCLUSIVE = "inconclusive", "cannot tell"
    BELOW_RESOLUTION = "below_resolution", "too fast to judge", "", False
    NEEDS_MORE_DUMPS = "needs_more_dumps", "too few dumps", "", False

    @property
    def is_change(self) -> bool:
        """Whether the series changed."""
        return self in (SeriesVerdict.REGRESSION, SeriesVerdict.IMPROVEMENT) or bool(self.detail)

    def __new__(cls, name: str, words: str = "", detail: str = "", is_judged: bool = True) -> Self:
        """Create a member from its tuple."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.words, member.detail, member.is_judged = words, detail, is_judged
        return member
