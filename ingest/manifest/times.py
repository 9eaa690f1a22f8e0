"""Times in manifests: parsed and written, and which of them are doubtful. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone

EARLIEST = datetime(2020, 1, 1, tzinfo=UTC)  # ExecuTorch and its dumps are younger
SLACK = timedelta(days=1)  # that a clock may be ahead of the clock here

# UTC, for times that state no zone; it goes with them through copies and pickles.
_NO_ZONE = timezone(timedelta(0), "no zone stated")
_WANTED = "wanted an ISO 8601 time, e.g. 2026-11-21T08:12:51Z"


def parse_time(value: object) -> datetime:
    """The time in UTC; a time without a zone is UTC, too, and `has_no_zone` then says so.

    Raises:
        ValueError: The value is no time.
    """
    try:
        time = value if isinstance(value, datetime) else _read_time(str(value))
        if time.tzinfo is None:
            return time.replace(tzinfo=_NO_ZONE)
        return time if has_no_zone(time) else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(_WANTED) from None


def has_no_zone(time: datetime) -> bool:
    """Whether a parsed time states no zone, so that UTC is a guess."""
    return time.tzname() == _NO_ZONE.tzname(None)


def write_time(time: datetime) -> str:
    """The time as ISO 8601, from which `parse_time` makes the same time.

    >>> write_time(parse_time("2026-11-21T09:12Z")), write_time(parse_time("2026-11-21T09:12"))
    ('2026-11-21T09:12:00+00:00', '2026-11-21T09:12:00')
    """
    return (time.replace(tzinfo=None) if has_no_zone(time) else time).isoformat()


def describe_doubts(name: str, time: datetime | None, now: datetime) -> Iterator[str]:
    """Why a time is doubtful, in words with a remedy; `name` is that of its field."""
    if time is None:
        return
    if has_no_zone(time):
        yield (
            f"{name} states no zone, and is read as UTC: add Z, or an offset such as +01:00, to it"
        )
    if not EARLIEST <= time <= now + SLACK:
        side = "before ExecuTorch existed" if time < EARLIEST else "in the future"
        yield (
            f"{name} is {time:%Y-%m-%d}, {side}: is the clock that it is from right? 'tracehouse "
            f"amend' corrects stored dumps"
        )


def _read_time(text: str) -> datetime:
    """The time in a text; a day alone is its beginning in UTC."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat(text)
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
