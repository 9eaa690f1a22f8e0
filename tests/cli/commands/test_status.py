from __future__ import annotations

import json
import re
from pathlib import Path

from tests.support.command import Run
from tracehouse import Warehouse
from tracehouse.warehouse.inbox.inbox import FoundService, mark_served


def test_status_prints_a_line_per_known_fact(run: Run, farm_copy: Path) -> None:
    done = run("status", "--store", farm_copy)
    assert (done.code, done.err) == (0, "")
    facts = dict(re.split(r"\s{2,}", line) for line in done.text.splitlines()[1:])
    assert (facts["Locked"], facts["Dumps"], facts["Log"]) == ("no", "148", "0 B")
    assert facts.keys().isdisjoint({"Problem", "Counted at", "Writer process id", "Devices"})


def test_status_json_is_one_row(run: Run, farm_copy: Path) -> None:
    with Warehouse.open_to_write(farm_copy):
        done = run("status", "--store", farm_copy, "--format", "json")
    assert (done.code, done.err) == (0, "")
    ((row),) = json.loads(done.text)
    assert (row["problem"], row["is_locked"], row["dumps"]) == ("", True, None)
    assert row["snapshot_ages_seconds"] == []


def test_status_reports_an_unresponsive_service_and_reads_the_files(
    run: Run, farm_copy: Path
) -> None:
    with mark_served(farm_copy) as announce:
        announce(FoundService("http://127.0.0.1:9", "key"))
        done = run("status", "--store", farm_copy, "--format", "json")
    ((row),) = json.loads(done.text)
    assert (done.code, row["dumps"]) == (0, 148)
    assert re.fullmatch(
        r"note: http://127\.0\.0\.1:9/v1/status: .*; the store's files .*", done.error
    )


def test_status_of_a_damaged_store_fails_and_prints_to_standard_error(
    run: Run, farm_copy: Path
) -> None:
    (farm_copy / "warehouse.duckdb").write_bytes(b"DUCK" * 10_000)
    done = run("status", "--store", farm_copy, "--format", "json")
    assert done.code == 1
    ((row),) = json.loads(done.text)
    assert done.error == f"error: {farm_copy}: {row['problem']}"
    assert done.error.endswith("'tracehouse store rebuild'")


def test_status_fails_without_a_store(run: Run, tmp_path: Path) -> None:
    done = run("status", "--store", tmp_path / "none")
    assert done.code == 1
    assert "none: no store here" in done.error
