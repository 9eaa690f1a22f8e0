from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import pytest

from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.manifest.times import (
    SLACK,
    describe_doubts,
    has_no_zone,
    parse_time,
    write_time,
)

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
STATED = {"device": "pixel8", "build": "b1", "model": "mv2"}


def doubts(text: str) -> list[str]:
    return list(describe_doubts("captured_at", parse_time(text), NOW))


@pytest.mark.parametrize(
    ("text", "is_naive"),
    [
        ("2026-11-21T08:12:51Z", False),
        ("2026-11-21T08:12:51+00:00", False),
        ("2026-11-21T10:12:51+02:00", False),
        ("2026-11-21 08:12:51", True),
        ("2026-11-21T08:12", True),
        ("2026-11-21", False),  # a day is no time
    ],
)
def test_time_without_zone_is_utc_and_known_as_such(text: str, is_naive: bool) -> None:
    time = parse_time(text)
    assert has_no_zone(time) == is_naive
    assert time.utcoffset() == timedelta(0)
    for copy in (parse_time(time), parse_time(write_time(time)), pickle.loads(pickle.dumps(time))):  # noqa: S301
        assert (copy, has_no_zone(copy)) == (time, is_naive)


def test_manifest_keeps_that_a_time_states_no_zone() -> None:
    naive, stated = (
        Manifest.model_validate(STATED | {"captured_at": text}).canonical_json()
        for text in ("2026-11-21T08:12:51", "2026-11-21T08:12:51Z")
    )
    assert '"captured_at":"2026-11-21T08:12:51"' in naive
    assert '"captured_at":"2026-11-21T08:12:51+00:00"' in stated
    for text in (naive, stated):
        assert Manifest.model_validate_json(text).canonical_json() == text


def test_doubtful_times_are_described_with_a_remedy() -> None:
    (zone,) = doubts("2026-11-21T08:12:51")
    assert zone == (
        "captured_at states no zone, and is read as UTC: add Z, or an offset such as +01:00, to it"
    )
    (early,) = doubts("1970-01-01T00:00:00Z")
    (late,) = doubts("9999-12-31T23:59:59Z")
    assert early.startswith("captured_at is 1970-01-01, before ExecuTorch existed: is the clock")
    assert late.startswith("captured_at is 9999-12-31, in the future: is the clock that it is from")
    assert len(doubts("0001-01-01T00:00:00")) == 2


def test_plausible_times_are_not_doubted() -> None:
    assert doubts("2026-11-28T12:00:00Z") == doubts("2022-01-01") == []
    assert list(describe_doubts("captured_at", None, NOW)) == []
    assert list(describe_doubts("captured_at", NOW + SLACK, NOW)) == []


def test_a_malformed_time_is_refused() -> None:
    for value in ("yesterday", 7, "9999-12-31T23:59:59-14:00"):
        with pytest.raises(ValueError, match="wanted an ISO 8601 time"):
            parse_time(value)
