from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Outcome, Run, run_on_terminal
from tests.support.corpus import CORPUS, FARM
from tests.support.etrecord_builder import MODELS
from tracehouse import Warehouse
from tracehouse.warehouse.load.summary import IngestSummary

DUMP = CORPUS / "real" / "load_only.etdp"
NAMES = ("--device", "d1", "--build", "b1", "--model", "m1")


def summary_of(outcome: Outcome) -> dict[str, Any]:
    (row,) = json.loads(outcome.text)
    assert isinstance(row, dict)
    return row


def test_summary_counts_what_was_done(run: Run, own: Path) -> None:
    outcome = run("ingest", FARM / "lab-x86-quiet", "--store", own, "--format", "json")
    assert outcome.code == 0
    assert outcome.err == ""
    row = summary_of(outcome)
    assert (row["files"], row["dumps"], row["refused"]) == (40, 40, 0)
    assert row["events_per_second"] == pytest.approx(row["events"] / row["seconds"])
    size = run("sql", "SELECT sum(byte_count) AS s FROM dumps", "--store", own, "--format", "csv")
    assert row["megabytes"] == pytest.approx(int(size.text.split()[1]) / 1e6)


@pytest.mark.system
def test_ingest_on_a_terminal_prints_what_it_understood_and_the_next_command(own: Path) -> None:
    args = ("ingest", FARM / "lab-x86-quiet" / "qt00.zip", "--store", own)
    *_, understood, step = run_on_terminal(*args).text.splitlines()
    assert understood == "understood: 1 device (lab-x86-quiet), 1 build (qt-qt00), 1 model (conv)"
    assert step == f"next: tracehouse query operator_hotspots --build qt-qt00 --store {own}"
    for more in (args, (*args[:1], FARM / "lab-x86-quiet" / "qt01.zip", *args[2:], "--quiet")):
        assert "understood" not in run_on_terminal(*more).text


@pytest.mark.slow
def test_second_ingest_finds_duplicates_only(run: Run, own: Path) -> None:
    args = ("ingest", FARM / "lab-x86-quiet-ab" / "extra.zip", "--store", own, "--format", "json")
    run(*args)
    row = summary_of(run(*args))
    assert (row["dumps"], row["events"], row["duplicates"]) == (0, 0, 12)


def test_ingest_prints_its_summary_as_a_one_row_table(run: Run, own: Path) -> None:
    header, row = run("ingest", DUMP, *NAMES, "--store", own).text.splitlines()
    assert header.split()[:3] == ["files", "dumps", "events"]
    assert row.split()[:2] == ["1", "1"]


def test_options_override_what_the_files_say(run: Run, own: Path) -> None:
    folder = FARM / "lab-x86-quiet-ab" / "extra.zip"
    stated = (
        "--device=pixel8 --pool=p --os=android --os-version=16 --arch=arm64 --soc=g3 --build=b7 "
        "--commit=abc --branch=main --committed-at=2026-11-20 --ordinal=7 --model=mv2 "
        "--backend=vulkan --quantization=int8 --captured-at=2026-11-21T08:00Z --clock=cycles "
        "--ticks-per-second=2e9 --method=decode"
    )
    assert run("ingest", folder, *stated.split(), "--store", own).code == 0
    rows = json.loads(
        run("sql", "SELECT manifest FROM dumps LIMIT 1", "--store", own, "--format", "json").text
    )
    manifest = json.loads(rows[0]["manifest"])
    assert manifest["device"] == {
        "name": "pixel8", "pool": "p", "os": "android", "os_version": "16", "arch": "arm64",
        "soc": "g3",
    }  # fmt: skip
    assert manifest["build"] == {
        "id": "b7", "commit": "abc", "branch": "main", "ordinal": 7,
        "committed_at": "2026-11-20T00:00:00+00:00",
    }  # fmt: skip
    assert manifest["model"] == {"name": "mv2", "backend": "vulkan", "quantization": "int8"}
    assert manifest["clock"]["ticks_per_second"] == 2e9
    assert manifest["method"] == "decode"


def test_layout_names_dumps_by_their_path(run: Run, own: Path, tmp_path: Path) -> None:
    path = tmp_path / "pixel8" / "b7" / "mv2.etdp"
    path.parent.mkdir(parents=True)
    shutil.copy(DUMP, path)
    outcome = run("ingest", path, "--layout", "{device}/{build}/{model}.etdp", "--store", own)
    assert outcome.code == 0
    dumps = run("query", "dumps", "--store", own, "--format", "csv").text
    assert "1,pixel8,,b7,mv2," in dumps


def test_a_refused_file_is_reported_with_offset_and_reason_and_fails(run: Run, own: Path) -> None:
    bad = CORPUS / "hostile" / "truncated_00100.etdp"
    outcome = run("ingest", bad, DUMP, *NAMES, "--store", own, "--format", "json")
    assert outcome.code == 1
    row = summary_of(outcome)
    assert (row["dumps"], row["refused"]) == (1, 1)
    assert outcome.error.startswith(f"refused: {bad}: offset ")
    assert outcome.error.endswith("]")


def test_keep_going_succeeds_in_spite_of_refused_files(run: Run, own: Path) -> None:
    bad = CORPUS / "hostile" / "json_text.etdp"
    outcome = run("ingest", bad, *NAMES, "--keep-going", "--store", own)
    assert outcome.code == 0
    assert "[bad_identifier]" in outcome.error


def test_conflict_is_counted_apart_from_refused_files(run: Run, own: Path) -> None:
    run("ingest", DUMP, *NAMES, "--store", own)
    outcome = run("ingest", DUMP, *NAMES[:-1], "m2", "--store", own, "--format", "json")
    assert outcome.code == 1
    row = summary_of(outcome)
    assert (row["conflicts"], row["refused"], row["duplicates"]) == (1, 0, 0)
    assert "[conflict]" in outcome.error


def test_missing_names_are_reported_with_the_ways_to_give_them(run: Run, own: Path) -> None:
    outcome = run("ingest", DUMP, "--device", "d1", "--store", own)
    assert outcome.code == 1
    assert outcome.error.startswith(f"refused: {DUMP}: no build, model; give --build --model")
    assert outcome.error.count(str(DUMP)) == 1


def test_long_lists_of_refused_files_end_in_a_count(
    run: Run, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.cli.output.ingest_report.SHOWN", 2)
    for number in range(5):
        (tmp_path / f"{number}.etdp").write_bytes(b"x" * number)
    *lines, last = run("ingest", tmp_path, *NAMES, "--store", own).err.splitlines()
    assert len(lines) == 2
    said, _, command = last.partition(" tracehouse ")
    assert said == "and 3 more; list them with:"
    errors = run(*shlex.split(command), "--format", "csv").text
    assert len(errors.splitlines()) == 6


def test_files_refused_for_one_reason_are_one_line(run: Run, own: Path, tmp_path: Path) -> None:
    for number in range(23):
        (tmp_path / f"{number}.etdp").write_bytes(b"no dump")
    outcome = run("ingest", tmp_path, *NAMES, "--store", own)
    assert outcome.error.startswith(
        f"refused: {tmp_path}/0.etdp and 22 more: offset 7: not an ETDump, but"
    )


def test_file_name_cannot_steer_the_terminal(run: Run, own: Path, tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J\n.etdp").write_bytes(b"")
    outcome = run("ingest", tmp_path, *NAMES, "--store", own)
    assert "a\\x1b[2J\\n.etdp" in outcome.error


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (str(CORPUS / "reel"), "does not exist: no 'reel' in"),
        (str(Path(__file__).parent), "no dumps in this folder or below"),
        (str(CORPUS / "*.foo"), "this glob matches no dumps"),
    ],
)
def test_bad_path_is_one_line(run: Run, own: Path, path: str, problem: str) -> None:
    outcome = run("ingest", path, "--store", own)
    assert outcome.code == 1
    assert outcome.error.startswith(f"error: {path}: {problem}")


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        (("--clock", "years"), "clock.unit: found 'years', wanted"),
        (("--ordinal", "first"), "build.ordinal: found 'first', wanted"),
        (("--captured-at", "yesterday"), "captured_at: found 'yesterday', "),
        (("--committed-at", "yesterday"), "build.committed_at: found 'yesterday', "),
        (("--ticks-per-second", "NaN"), "clock.ticks_per_second: found 'NaN', "),
        (("--ticks-per-second", "5", "--clock", "us"), "goes with unit cycles, not us"),
        (("--layout", "{devise}/*.etdp"), "no field {devise}"),
    ],
)
def test_malformed_option_is_a_usage_error_told_by_field(
    run: Run, own: Path, option: tuple[str, ...], problem: str
) -> None:
    outcome = run("ingest", DUMP, *NAMES, *option, "--store", own)
    assert outcome.code == 2
    assert problem in outcome.error
    assert not own.exists()


def test_malformed_manifest_beside_a_dump_is_no_usage_error(
    run: Run, own: Path, tmp_path: Path
) -> None:
    shutil.copy(DUMP, tmp_path / "a.etdp")
    (tmp_path / "a.json").write_text('{"captured_at": "yesterday"}')
    outcome = run("ingest", tmp_path / "a.etdp", *NAMES, "--store", own)
    assert outcome.code == 1
    assert "a.json: captured_at: found 'yesterday'" in outcome.error


@pytest.mark.system
@pytest.mark.slow
def test_progress_shows_on_a_terminal_only(run: Run, own: Path, tmp_path: Path) -> None:
    assert run("ingest", DUMP, *NAMES, "--store", own).err == ""
    folder = FARM / "lab-x86-quiet"
    outcome = run_on_terminal("ingest", folder, "--store", tmp_path / "other.store")
    assert outcome.code == 0
    assert "40/40" in outcome.text


@pytest.mark.system
@pytest.mark.slow
def test_quiet_shows_no_progress_on_a_terminal(tmp_path: Path) -> None:
    outcome = run_on_terminal("ingest", FARM, "--store", tmp_path / "other.store", "-q")
    assert outcome.code == 0
    assert "148/148" not in outcome.text


def test_quiet_leaves_out_notes_and_keeps_refusals(run: Run, own: Path, tmp_path: Path) -> None:
    shutil.copy(DUMP, tmp_path / "a.etdp")
    (tmp_path / "a.json").write_text('{"biuld": "b7"}')
    (tmp_path / "b.etdp").write_bytes(b"")
    args = ("ingest", tmp_path, *NAMES, "--format", "json")
    told = run(*args, "--store", own)
    quiet = run(*args, "--quiet", "--store", tmp_path / "other.store")
    assert "note: " in told.err
    assert (quiet.code, told.code) == (1, 1)
    assert quiet.error.startswith("refused: ")
    assert summary_of(quiet)["dumps"] == 1


def test_a_mistyped_path_leaves_no_store_behind(run: Run, own: Path) -> None:
    assert run("ingest", own.parent / "typo", "--store", own).code == 1
    assert not own.exists()


LINKS = (
    "SELECT e.source, d.debug_buffer_sha256 IS NOT NULL AS has_buffer FROM dumps AS d "
    "LEFT JOIN etrecords AS e ON e.etrecord_id = d.etrecord_id"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dump with its ETRecord and debug buffer beside it."""
    (tmp_path / "in").mkdir()
    for suffix in (".etdp", ".debug.bin"):
        name = f"traced_intdesc_n1_debug{suffix}"
        shutil.copy(CORPUS / "real" / name, tmp_path / "in" / name)
    shutil.copy(MODELS / "traced_intdesc.etrecord", tmp_path / "in" / "net.etrecord")
    return tmp_path / "in"


def links_of(run: Run, own: Path) -> list[dict[str, Any]]:
    rows = json.loads(run("sql", LINKS, "--store", own, "--format", "json").text)
    assert isinstance(rows, list)
    return rows


def test_files_beside_a_dump_come_with_it(run: Run, own: Path, folder: Path) -> None:
    outcome = run("ingest", folder, *NAMES, "--store", own, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    assert summary_of(outcome)["files"] == 1
    assert links_of(run, own) == [{"source": str(folder / "net.etrecord"), "has_buffer": True}]
    query = ("query", "module_totals", "--module", "blocks", "--store", own, "--format", "json")
    (row,) = json.loads(run(*query).text)
    assert row["run_ns"] > 0


@pytest.mark.slow
def test_an_etrecord_that_is_named_goes_before_the_one_beside_the_dump(
    run: Run, own: Path, folder: Path
) -> None:
    record = MODELS / "mixed_xnnpack.etrecord"
    assert run("ingest", folder, *NAMES, "--etrecord", record, "--store", own).code == 0
    assert links_of(run, own) == [{"source": str(record), "has_buffer": True}]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (MODELS / "typo.etrecord", "does not exist"),
        (DUMP, "not an ETRecord (a zip), but an ETDump"),
    ],
)
def test_an_invalid_named_etrecord_stops_the_ingest_before_it_begins(
    run: Run, own: Path, record: Path, problem: str
) -> None:
    outcome = run("ingest", DUMP, *NAMES, "--etrecord", record, "--store", own)
    assert outcome.code == 1
    assert outcome.error.startswith(f"error: {record}: {problem}")
    assert not own.exists()


def test_a_damaged_etrecord_is_reported_and_its_dump_ingested(
    run: Run, own: Path, folder: Path
) -> None:
    (folder / "net.etrecord").write_bytes(b"PK damaged")
    outcome = run("ingest", folder, *NAMES, "--store", own, "--format", "json")
    assert outcome.code == 1
    row = summary_of(outcome)
    assert (row["files"], row["dumps"], row["duplicates"], row["refused"]) == (2, 1, 0, 1)
    assert outcome.error.startswith(f"refused: {folder}/net.etrecord: ")
    assert outcome.error.endswith("[etrecord]")
    assert links_of(run, own) == [{"source": None, "has_buffer": True}]


@pytest.mark.slow
def test_an_etrecord_of_another_program_is_taken_with_a_note(run: Run, own: Path) -> None:
    dump, record = CORPUS / "real/cnn_portable_n20.etdp", CORPUS / "models/traced_intdesc.etrecord"
    for _ in range(2):
        outcome = run("ingest", dump, *NAMES, "--etrecord", record, "--store", own)
        assert outcome.code == 0
        assert outcome.error.startswith(f"note: {record}: method 'forward' of the ETRecord has")


def test_help_tells_where_etrecords_and_buffers_are_looked_for(run: Run) -> None:
    text = run("ingest", "--help").text
    for word in ("--etrecord", "NAME.etrecord", "NAME.debug.bin"):
        assert word in text


def test_fields_that_look_misspelt_are_noted(run: Run, own: Path, tmp_path: Path) -> None:
    shutil.copy(DUMP, tmp_path / "a.etdp")
    stated = {"device": "d", "biuld": "b7", "lab": 3}
    (tmp_path / "manifest.json").write_text(json.dumps(stated))
    more = ("--build", "b1", "--model", "m", "--store", own)
    outcome = run("ingest", tmp_path / "a.etdp", *more)
    assert outcome.code == 0
    assert outcome.err.splitlines() == [
        f"note: {tmp_path}/manifest.json: unknown field 'biuld', stored as a tag; "
        "did you mean build?"
    ]


def test_seconds_are_those_of_the_command(
    run: Run, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ingest(self: Warehouse, *dumps: Any, **options: Any) -> IngestSummary:
        return replace(loop(self, *dumps, **options), seconds=0.0)

    loop = Warehouse.ingest
    monkeypatch.setattr(Warehouse, "ingest", ingest)
    row = summary_of(run("ingest", DUMP, *NAMES, "--store", own, "--format", "json"))
    assert row["seconds"] > 0


def test_dry_run_shows_what_would_come_in_and_writes_nothing(
    run: Run, own: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.etdp").write_bytes(b"no dump")
    asked = ("ingest", DUMP, tmp_path / "bad.etdp", *NAMES, "--store", own)
    outcome = run(*asked, "--dry-run", "--format", "json")
    assert outcome.code == 1
    (row,) = json.loads(outcome.text)
    assert (row["device"], row["build"], row["model"], row["dump_count"]) == ("d1", "b1", "m1", 1)
    refused, said = outcome.err.splitlines()
    assert refused.startswith(f"refused: {tmp_path}/bad.etdp: ")
    assert said == (
        f"dry run: nothing was written; new: 1 dump, already in {own}: 0, refused: 1 file"
    )
    assert not own.exists()


def test_dry_run_knows_what_is_in_the_store(run: Run, own: Path) -> None:
    asked = ("ingest", DUMP, *NAMES, "--store", own)
    run(*asked)
    before = {path: path.read_bytes() for path in own.rglob("*.duckdb")}
    outcome = run(*asked, "--dry-run")
    assert outcome.code == 0
    assert "new: 0 dumps, already in " in outcome.error
    assert {path: path.read_bytes() for path in own.rglob("*.duckdb")} == before
