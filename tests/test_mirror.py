"""Tests mirror the tree: a file is named after the module or .sql file that it tests.

A file about something else stands in the list below, and its docstring says what it is about.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.documents import ROOT

TESTS = ROOT / "tests"
# Files about no single module, by folder: what holds in a whole folder, or of several at once.
OTHERS = {
    "browser": "accessibility changing_page charts explain_page report_page site timeline_page",
    "cli": "absurd_clocks against_a_service default_names demo failed_checkpoints failing_disk "
    "full_disk_in_checkpoints "
    "foreign_files foreign_manifests foreign_zips json lake_addresses runner_logs strange_names "
    "uploading_document",
    "cli/commands": "ingest_paths inspect_blobs inspect_etrecord inspect_producers "
    "nightly_verdicts",
    "cli/serve": "every_route",
    "cli/serve/access": "hidden_pools",
    "cli/serve/answers": "hostile_sql",
    "clients": "clients",
    "executorch": "comparators drop_in reading_our_dumps recording",
    "ingest": "absurd_clocks corpus etrecord_bounds fuzz hostile manifest_bounds stream "
    "tracer_errors",
    "queries/inspector": "changed_blocks",
    "queries/report": "aligned_programs changed_programs edited_programs",
    "spark": "answers lake object_store producers report session",
    "sql": "build_lineage byte_stability custom_operators delegate_phases dump_measures filters "
    "golden headers mixed_clocks named_run_signatures operator_stats order page pairs portability "
    "producers scans states",
    "tracehouse": "decoys public_names",
    "warehouse": "correlation_bounds hostile_stores look_alike_runs methods model profiler_blobs "
    "sql_attacks unreadable_blocks",
    "warehouse/engine": "big_tables engine_guards",
    "warehouse/lake": "conflicting_builds",
    "warehouse/regressions": "coarse_clocks shared_moves",
    "warehouse/spark": "attaching",
}
FILES = [
    path.relative_to(TESTS)
    for path in sorted(TESTS.rglob("test_*.py"), key=str)
    if path.parent != TESTS and path.relative_to(TESTS).parts[0] != "tools"
]


def test_files_are_named_after_what_they_test_but_for_those_listed() -> None:
    listed = {
        Path(folder, f"test_{name}.py")
        for folder, names in OTHERS.items()
        for name in names.split()
    }
    assert {path for path in FILES if not is_mirror(path)} == listed


@pytest.mark.parametrize("folder", OTHERS)
def test_a_file_of_another_name_says_what_it_is_about(folder: str) -> None:
    files = [TESTS / folder / f"test_{name}.py" for name in OTHERS[folder].split()]
    assert [file for file in files if not file.read_text().startswith('"""')] == []


def is_mirror(path: Path) -> bool:
    """Whether there is what a test file's name says that it tests."""
    name = path.stem.removeprefix("test_")
    files = [path.parent / f"{name}.py"]
    if path.parts[0] == "sql":
        files += [Path("sql", folder, f"{name}.sql") for folder in ("queries", "computed")]
    return any((ROOT / file).exists() for file in files)
