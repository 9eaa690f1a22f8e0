"""Verdicts of a report and states of an alert, with all their properties.

The forms of a report, the colours of the page and exit statuses go by these lists; tests check that
docs/regressions.md agrees with them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

Tone = Literal["bad", "warn", "good", "soft"]  # colours of the page


class Verdict(StrEnum):
    """The verdict of a report: the first of these that applies.

    Attributes:
        light: Symbol in Markdown and in docs.
        tone: Colour in the page.
        when: The condition, in words.
        exit_status: Exit status of --fail-on-regression.
        is_seen: Whether the data suffice for a verdict; JUnit skips the case otherwise.
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
        *("incomplete", "🟡", "warn", "a recording that tracehouse.toml expects is missing", 5),
        False,
    )
    SUSPECTS = "suspects", "🟡", "warn", "a regression is new, or small"
    BLIND = "blind", "🟡", "warn", "too large a change could hide", 0, False
    KNOWN = "known", "🔵", "soft", "a regression is acknowledged, accepted or muted"
    CLEAR = "clear", "🟢", "good", "none of the above"
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
        """Create a member from its tuple."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.light, member.tone, member.when = light, tone, when
        member.exit_status, member.is_seen = exit_status, is_seen
        return member


class State(StrEnum):
    """States of alerts, in the order in which a report lists alerts.

    Attributes:
        label: Name in reports.
        tone: Colour of a regression in the page.
        is_settled: Whether nothing is left to do, after a decision or the end of the change.
    """

    label: str
    tone: Tone
    is_settled: bool

    CONFIRMED = "confirmed", "confirmed", "bad"
    NEW = "new", "new", "warn"
    ACKNOWLEDGED = "acknowledged", "acknowledged", "soft", True
    ACCEPTED = "accepted", "accepted", "soft", True
    MUTED = "muted", "muted", "soft", True
    FIXED = "fixed", "fixed", "soft", True

    def __new__(cls, name: str, label: str, tone: Tone, is_settled: bool = False) -> Self:
        """Create a member from its tuple."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.label, member.tone, member.is_settled = label, tone, is_settled
        return member
