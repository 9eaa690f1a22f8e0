"""Tests mirror the tree: each file is named after the module or .sql file that it tests."""

from __future__ import annotations

from pathlib import Path

from tests.support.documents import ROOT

TESTS = ROOT / "tests"
# Whose tests are about no single module, and why.
BEHAVIOURS = {
    "browser/test_report_page.py": "a report as a reader has it",
    "browser/test_timeline_page.py": "a timeline as a reader has it",
    "browser/test_site.py": "the service's page as a visitor has it",
    "cli/commands/test_inspect_etrecord.py": "what is stated of an ETRecord, to inspect",
    "cli/commands/test_inspect_producers.py": "rules of producers in tracehouse.toml",
    "cli/serve/answers/test_hostile_sql.py": "SQL from anybody over HTTP",
    "cli/test_against_a_service.py": "the command line with --url, and a real service",
    "cli/test_uploading_document.py": "docs/uploading.md",
    "cli/test_absurd_clocks.py": "rates that no clock has, through all commands",
    "cli/commands/test_ingest_paths.py": "paths that cannot be read, beside others",
    "cli/test_failing_disk.py": "commands whose disk fails",
    "cli/test_demo.py": "tests/data/demo.sh",
    "cli/test_demo_serve.py": "tests/data/demo-serve.sh",
    "cli/test_json.py": "the contract in docs/json.md",
    "cli/test_lake_addresses.py": "mistyped addresses of lakes, through all commands",
    "cli/test_strange_names.py": "names that would steer a terminal, through all commands",
    "executorch/test_comparators.py": "comparators written for torch, beside the Inspector",
    "executorch/test_drop_in.py": "the drop-in beside the Inspector",
    "executorch/test_reading_our_dumps.py": "what ExecuTorch makes of our dumps",
    "executorch/test_recording.py": "the real runtime",
    "ingest/test_absurd_clocks.py": "clock readings that cannot be, through all readers",
    "ingest/test_corpus.py": "every dump of the corpus",
    "ingest/test_etrecord_bounds.py": "what an ETRecord may cost, through all its readers",
    "ingest/test_fuzz.py": "whatever bytes, beside the reference reader",
    "ingest/test_hostile.py": "broken dumps, beside the reference reader",
    "ingest/test_manifest_bounds.py": "what a manifest may hold, from every source",
    "ingest/test_stream.py": "parts of a dump are the dump",
    "ingest/test_tracer_errors.py": "what all calls of the tracer refuse",
    "queries/inspector/test_changed_blocks.py": "what scripts do with the drop-in's objects",
    "spark/test_answers.py": "every canned query on Spark",
    "spark/test_lake.py": "lakes that Spark fills, where there is Java",
    "spark/test_object_store.py": "inboxes and lakes in S3, or what stands in for it",
    "spark/test_producers.py": "what backends log, in lakes that Spark asks",
    "spark/test_report.py": "the nightly report on Spark",
    "spark/test_session.py": "Spark's own machines, likewise",
    "sql/test_byte_stability.py": "the same bytes on any number of threads, of all queries",
    "sql/test_delegate_phases.py": "phases of a delegate, through all queries that add up times",
    "sql/test_producers.py": "dumps of every producer, through all queries that add up times",
    "sql/test_build_lineage.py": "the order and ancestry of builds, as views say them",
    "sql/test_dump_measures.py": "what dumps measure as a whole, as a view says it",
    "sql/test_filters.py": "filters of all queries",
    "sql/test_golden.py": "answers of all queries",
    "sql/test_headers.py": "headers of all .sql files",
    "sql/test_mixed_clocks.py": "one rule of all queries that take dumps together",
    "sql/test_named_run_signatures.py": "names of runs, in all queries that tell runs apart",
    "sql/test_operator_stats.py": "what all comparisons of operators read",
    "sql/test_order.py": "order of the rows of all queries",
    "sql/test_pairs.py": "pairs of dumps, in all queries that compare two builds",
    "sql/test_portability.py": "what Spark reads otherwise, in all .sql files",
    "sql/test_scans.py": "what all queries read",
    "sql/test_states.py": "the state of the device, in all comparisons of two builds",
    "warehouse/test_correlation_bounds.py": "what an ETRecord may cost a store",
    "warehouse/lake/test_conflicting_builds.py": "what stores and lakes settle alike",
    "warehouse/test_hostile_stores.py": "stores from anybody",
    "warehouse/test_methods.py": "programs of several methods, inferred and stated",
    "warehouse/regressions/test_shared_moves.py": "a device that becomes quiet or busy",
    "warehouse/test_profiler_blobs.py": "profiler blobs in a store",
    "warehouse/test_sql_attacks.py": "SQL from anybody",
}
FILES = [
    path.relative_to(TESTS)
    for path in sorted(TESTS.rglob("test_*.py"))
    if path.parent != TESTS and path.relative_to(TESTS).parts[0] != "tools"
]


def test_files_are_named_after_what_they_test() -> None:
    assert {path.as_posix() for path in FILES if not is_mirror(path)} == BEHAVIOURS.keys()


def is_mirror(path: Path) -> bool:
    """Whether there is what a test file's name says that it tests."""
    name = path.stem.removeprefix("test_")
    tested = [path.parent / f"{name}.py", Path("sql", "queries", f"{name}.sql")]
    return any((ROOT / file).exists() for file in tested[: 1 + (path.parts[0] == "sql")])
