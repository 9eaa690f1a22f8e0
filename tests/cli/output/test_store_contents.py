from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from tracehouse.cli.output.store_contents import (
    NIGHTLY_REPORT,
    find_arrivals,
    list_contents,
    tables_for_people,
)


def at(day: int) -> datetime:
    return datetime(2026, 11, day, tzinfo=UTC)


def coverage(*rows: tuple[str, str, str | None, str, int | None]) -> pa.Table:
    """Rows of the query, of (device, model, backend, build, day of recording and commit)."""
    time = pa.timestamp("us", "UTC")
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("device", "pool", "model", "backend", "build")),
            ("dump_count", pa.int64()),
            *((name, time) for name in ("last_captured_at", "last_ingested_at")),
            ("first_captured_at", time),
        ]
    )
    listed = [
        {
            "device": device, "model": model, "backend": backend, "build": build, "dump_count": 2,
            "first_captured_at": day and at(day), "last_captured_at": day and at(day + 1),
            "last_ingested_at": at(day or 1),
        }
        for device, model, backend, build, day in rows
    ]  # fmt: skip
    return pa.Table.from_pylist(listed, schema)


def test_each_device_build_and_model_is_a_row_with_its_counts() -> None:
    table = list_contents(
        coverage(
            ("p", "mv2", "xnn", "b1", 3),
            ("p", "mv2", None, "b1", 2),
            ("q", "vit", None, "b2", None),
        )
    )
    rows = {(row["kind"], row["name"]): row for row in table.to_pylist()}
    assert list(rows) == [
        ("device", "p"), ("device", "q"), ("build", "b1"), ("build", "b2"), ("model", "mv2"),
        ("model", "vit"),
    ]  # fmt: skip
    p, q = rows["device", "p"], rows["device", "q"]
    assert (p["dump_count"], p["build_count"], p["model_count"], p["backends"]) == (4, 1, 1, "xnn")
    assert (p["first_captured_at"], p["last_captured_at"]) == (at(2), at(4))
    assert (q["backends"], q["first_captured_at"], q["last_captured_at"]) == (None, None, None)
    assert list_contents(coverage()).num_rows == 0


def test_builds_keep_the_order_of_each_series_and_then_that_of_their_recordings() -> None:
    table = list_contents(
        coverage(
            ("p", "m", None, "late", 9), ("p", "m", None, "early", 1),  # by their parents
            ("q", "m", None, "middle", 5), ("q", "m", None, "early", 7),
        ),
        ["build"],
    )  # fmt: skip
    assert table["name"].to_pylist() == ["middle", "late", "early"]


def test_build_of_two_pools_does_not_follow_itself() -> None:
    rows = coverage(("p", "m", None, "b1", 1), ("p", "m", None, "b1", 1), ("p", "m", None, "b2", 2))
    assert list_contents(rows, ["build"])["name"].to_pylist() == ["b1", "b2"]


def test_people_get_a_table_for_each_kind() -> None:
    contents = list_contents(coverage(("p", "m", "xnn", "b", 1)))
    devices, builds, models = tables_for_people(contents)
    assert devices.to_pylist() == [
        {
            "device": "p", "dumps": 2, "builds": 1, "models": 1, "backends": "xnn",
            "first": "2026-11-01 00:00Z", "last": "2026-11-02 00:00Z",
        }
    ]  # fmt: skip
    assert builds.column_names[:4] == ["build", "dumps", "devices", "models"]
    assert tables_for_people(list_contents(coverage(("p", "m", None, "b", 1)), ["model"])) == [
        models.set_column(4, "backends", pa.array([None], pa.string()))
    ]


def test_only_what_came_in_is_understood_and_up_to_five_names_are_shown() -> None:
    rows = [("p", f"m{number}", None, "b", 5) for number in range(6)]
    arrivals = find_arrivals(coverage(("old", "m", None, "a", 1), *rows), since=at(5))
    assert str(arrivals) == "1 device (p), 1 build (b), 6 models"
    assert find_arrivals(coverage(("old", "m", None, "a", 1)), since=at(5)) is None


@pytest.mark.parametrize(
    ("builds", "command"),
    [
        (4, NIGHTLY_REPORT),
        (3, ("compare", "b1", "b2")),
        (1, ("query", "operator_hotspots", "--build", "b0")),
    ],
)
def test_next_command_fits_the_builds_that_a_series_of_the_store_has(
    builds: int, command: tuple[str, ...]
) -> None:
    stored = coverage(*(("p", "m", None, f"b{number}", 1 + number) for number in range(builds)))
    arrivals = find_arrivals(stored, since=at(builds))
    assert arrivals is not None
    assert arrivals.next_command == command
