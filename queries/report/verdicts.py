"""Verdicts of a report, states of an alert, verdicts of a series: each with all that it implies.

The forms of a report, the colours of the page, exit statuses and `tracehouse compare` go by these
lists; tests hold the SQL files and docs/regressions.md to them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

Tone = Literal["bad", "warn", "good", "soft"]  # colours of the page


class Verdict(StrEnum):
    """What a report says as a whole: the first of these that holds.

    Attributes:
        light: Its light in Markdown and in docs.
        tone: Its colour in the page.
        when: When it holds, in words.
        exit_status: What --fail-on-regression ends with.
        is_seen: Whether enough was seen to judge: JUnit skips the case otherwise.
    """

    light: str
    tone: Tone
    when: str
    exit_status: int
    is_seen: bool

    REGRESSIONS = "regressions", "🔴", "bad", "a regression is confirmed", 3
    OVER_BUDGET = "over_budget", "🔴", "bad", "a budget of tracehouse.toml is broken", 3
    OTHER_ENVIRONMENT = "other_environment", "🟠", "warn", "only with another environment", 4
    INCOMPLETE = (
        *("incomplete", "🟡", "warn", "what tracehouse.toml expects was not recorded", 5),
        False,
    )
    SUSPECTS = "suspects", "🟡", "warn", "a regression is new"
    BLIND = "blind", "🟡", "warn", "too large a change could hide", 0, False
    CLEAR = "clear", "🟢", "good", "none of the others holds"
    NOT_ENOUGH_DATA = "not_enough_data", "⚪", "warn", "nothing could be judged", 0, False

    def __new__(
        cls,
        name: str,
        light: str,
        tone: Tone,
        when: str,
        exit_status: int = 0,
        is_seen: bool = True,
    ) -> Self:
        """Make a member of its tuple."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.light, member.tone, member.when = light, tone, when
        member.exit_status, member.is_seen = exit_status, is_seen
        return member


class State(StrEnum):
    """What became of an alert, in the order in which a report lists alerts.

    Attributes:
        label: What reports call it.
        tone: Its colour in the page, where it is of a regression.
        is_settled: Whether nothing is left to do: somebody decided, or the change is gone.
    """

    label: str
    tone: Tone
    is_settled: bool

    CONFIRMED = "confirmed", "confirmed", "bad"
    NEW = "new", "suspect", "warn"
    ACKNOWLEDGED = "acknowledged", "acknowledged", "bad", True
    ACCEPTED = "accepted", "accepted", "soft", True
    FIXED = "fixed", "fixed", "soft", True

    def __new__(cls, name: str, label: str, tone: Tone, is_settled: bool = False) -> Self:
        """Make a member of its tuple."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.label, member.tone, member.is_settled = label, tone, is_settled
        return member


class SeriesVerdict(StrEnum):
    """What a comparison of two builds says of a series.

    Attributes:
        words: What the series did, in words; empty if it did not change.
        detail: What is said of an operator that came, went or moved, with the builds' names.
        is_judged: Whether the series could have shown a change.
    """

    words: str
    detail: str
    is_judged: bool

    REGRESSION = "regression", "slower"
    IMPROVEMENT = "improvement", "faster"
    NEW_OP = "new_op", "new", "not in {base}", False
    REMOVED_OP = "removed_op", "removed", "not in {head}", False
    MOVED = "moved", "moved elsewhere", "its time went elsewhere, the whole is as it was"
    MODE_MIX = (
        "mode_mix",
        "slow in another share of the processes",
        "another share of the processes ran it slowly",
    )
    UNCHANGED = "unchanged"
    EXPLAINED_BY_RUN_SHIFT = "explained_by_run_shift"
    INCONCLUSIVE = "inconclusive"
    BELOW_RESOLUTION = "below_resolution", "", "", False
    NEEDS_MORE_DUMPS = "needs_more_dumps", "", "", False

    def __new__(cls, name: str, words: str = "", detail: str = "", is_judged: bool = True) -> Self:
        """Make a member of its tuple."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.words, member.detail, member.is_judged = words, detail, is_judged
        return member


NIGHT_VERDICTS = (
    "regression",
    "improvement",
    "suspect_regression",
    "suspect_improvement",
    "returning",
    "explained_by_run_shift",
    "within_build_noise",
    "unchanged",
    "below_resolution",
    "needs_more_dumps",
    "needs_more_builds",
    "no_data",
)  # of a series, see `nightly_verdicts`
