"""Result folders as ExecuTorch's runners leave them: their default names are found."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.command import Run
from tests.support.corpus import CORPUS, read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.ingesting import NAMES, ask, ingest_files, write_all
from tests.support.traced_dumps import traced_dump

REAL = CORPUS / "real" / "prefill_decode_portable_debug"


def pack_zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


def make_folder(folder: Path) -> Path:
    """Dumps of QNN's runner, of LLMs' and Arm's, and of an app, with other files beside them."""
    write_all(
        folder,
        {
            "qnn/etdump.etdp": REAL.with_suffix(".etdp").read_bytes(),
            "qnn/debug_output.bin": REAL.with_suffix(".debug.bin").read_bytes(),
            "llm/etdump.in": read_dump("real/mlp_portable_n1"),
            "fvp/etdump.bin": read_dump("real/mlp_xnnpack_n1"),
            "app/result.etdump": traced_dump(1),
            "app/program.pte": b"ET12",
            "app/out.txt": b"",
            "qnn/notes.TXT": b"",
        },
    )
    shutil.copy(MODELS / "prefill_decode_portable.etrecord", folder / "qnn" / "etrecord.bin")
    return folder


def test_dumps_of_runners_come_with_what_belongs_to_them(
    run: Run, own: Path, tmp_path: Path
) -> None:
    done = ingest_files(run, own, make_folder(tmp_path / "in"))
    assert (done.row["dumps"], done.row["refused"], done.row["passed_over"]) == (4, 0, 3)
    assert done.notes == ["note: passed over: 3 files (2 *.txt, 1 *.pte)"]
    rows = ask(
        own,
        "SELECT source, etrecord_id IS NOT NULL AS has_record, debug_buffer_sha256 IS NOT NULL AS "
        "has_buffer FROM dumps ORDER BY source",
    )
    assert [(Path(r["source"]).name, r["has_record"], r["has_buffer"]) for r in rows] == [
        ("result.etdump", False, False),
        ("etdump.bin", False, False),
        ("etdump.in", False, False),
        ("etdump.etdp", True, True),
    ]
    (values,) = ask(own, "SELECT count(*) AS n FROM debug_values WHERE position IS NOT NULL")
    assert values["n"] > 0


def test_zip_of_the_same_folder_is_read_alike(run: Run, own: Path, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "in")
    first = ingest_files(run, own, folder)
    archive = shutil.make_archive(str(tmp_path / "all"), "zip", folder)
    second = ingest_files(run, own, archive)
    assert (second.row["duplicates"], second.row["passed_over"]) == (4, first.row["passed_over"])


@pytest.mark.parametrize("is_zip", [False, True])
def test_packed_folder_is_the_same_dump_with_the_same_companions(
    run: Run, own: Path, tmp_path: Path, is_zip: bool
) -> None:
    plain = make_folder(tmp_path / "in") / "qnn"
    ingest_files(run, own, plain)
    packed = write_all(
        tmp_path / "packed",
        {
            "etdump.etdp.zst": pack_zstd((plain / "etdump.etdp").read_bytes()),
            "etrecord.bin.gz": gzip.compress((plain / "etrecord.bin").read_bytes()),
            "debug_output.bin.zst": pack_zstd((plain / "debug_output.bin").read_bytes()),
        },
    )
    path = shutil.make_archive(str(tmp_path / "all"), "zip", packed) if is_zip else packed
    again = ingest_files(run, own, path)
    assert (again.row["duplicates"], again.row["refused"], again.row["passed_over"]) == (1, 0, 0)
    other = tmp_path / "other.store"
    assert ingest_files(run, other, path).row["dumps"] == 1
    for sql in (
        "SELECT sha256, debug_buffer_sha256 FROM dumps",
        "SELECT sha256 FROM etrecords",
        "SELECT count(*) AS n FROM debug_values",
    ):
        assert ask(other, sql) == ask(own, sql)


def test_dry_run_and_upload_count_what_they_pass_over(run: Run, own: Path, tmp_path: Path) -> None:
    folder = write_all(tmp_path / "in", {"run.etdp": traced_dump(1), "a.tar": b"", "b.tar": b""})
    tried = run("ingest", folder, *NAMES, "--store", own, "--dry-run")
    assert "note: passed over: 2 files (2 *.tar)" in tried.err
    assert "passed over" not in run("ingest", folder, *NAMES, "--store", own, "--quiet").err


def test_packed_dump_is_the_dump_in_it(run: Run, own: Path, tmp_path: Path) -> None:
    files = {"run.etdp.gz": gzip.compress(traced_dump(1)), "run.json": b'{"device": "pixel9"}'}
    done = ingest_files(run, own, write_all(tmp_path / "in", files), is_named=True)
    assert done.row["dumps"] == 1
    again = ingest_files(run, own, write_all(tmp_path / "out", {"run.etdp": traced_dump(1)}))
    assert (again.row["dumps"], again.row["duplicates"]) == (0, 1)
    (row,) = ask(own, "SELECT sha256, byte_count FROM dumps")
    assert row["byte_count"] == len(traced_dump(1))
    kept = tmp_path / "kept.etdp"
    assert run("store", "archive", "get", row["sha256"], "--output", kept, "--store", own).code == 0
    assert kept.read_bytes() == traced_dump(1)
