from __future__ import annotations

import fcntl
import json
import resource
import stat
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.command import Run, run_on_terminal
from tests.support.corpus import CORPUS
from tracehouse.cli.output.output_file import standard_output_to

DUMP = CORPUS / "real" / "mlp_xnnpack_n1.etdp"


def test_the_answer_is_in_the_file_and_nothing_is_printed(
    run: Run, store: Path, tmp_path: Path
) -> None:
    question = ("sql", "SELECT 6 * 7 AS answer", "--store", store)
    assert run(*question, "--format", "json", "--output", tmp_path / "a.json") == (0, b"", "")
    assert json.loads((tmp_path / "a.json").read_text()) == [{"answer": 42}]
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    "args",
    [
        ["query", "dumps"],
        ["schema"],
        pytest.param(["doctor"], marks=[pytest.mark.system, pytest.mark.smoke]),
        ["inspect", DUMP],
        ["ingest", DUMP, "--device=d"],
    ],
)
def test_every_command_with_a_format_takes_it(
    run: Run, store: Path, tmp_path: Path, args: list[str]
) -> None:
    names = ("--build", "b", "--model", "m") if args[0] == "ingest" else ()
    place = tmp_path / "store" if args[0] == "ingest" else store
    options = () if args[0] == "inspect" else ("--store", place)
    file = tmp_path / "answer.parquet"
    outcome = run(*args, *names, *options, "--format", "parquet", "--output", file)
    assert (outcome.code, outcome.out) == (0, b"")
    assert pq.read_table(file).num_rows > 0


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.json", b"[\n{"), ("a.CSV", b"a,b\n1,2\n"), ("a.tsv", b"a\tb\n"), ("a.parquet", b"PAR1"),
     ("a.arrow", b"\xff\xff\xff\xff"), ("a.txt", b"a  b\n1  2\n"), ("a", b"a  b\n1  2\n")],
)  # fmt: skip
def test_the_name_of_the_file_tells_the_format_unless_one_is_given(
    run: Run, store: Path, tmp_path: Path, name: str, begins: bytes
) -> None:
    asked = ("sql", "SELECT 1 AS a, 2 AS b", "--output", tmp_path / name, "--store", store)
    run(*asked)
    assert (tmp_path / name).read_bytes().startswith(begins)
    if name == "a.json":
        run(*asked, "--format", "csv")
        assert (tmp_path / name).read_text() == "a,b\n1,2\n"


@pytest.mark.system
def test_binary_output_goes_to_a_file_even_on_a_terminal(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    args = ("query", "dumps", "--format", "parquet", "--store", store)
    assert run_on_terminal(*args).code == 2
    assert run_on_terminal(*args, "--output", file).code == 0
    assert pq.read_table(file).num_rows == 148


def test_a_file_stays_as_it_was_where_the_command_fails(
    run: Run, store: Path, tmp_path: Path
) -> None:
    file = tmp_path / "a.json"
    file.write_text("before")
    for statement in ("SELEC", "SELECT 1 AS a, 2 AS a", "SELECT error('late')"):
        args = ("sql", statement, "--format", "json", "--output", file, "--store", store)
        assert run(*args).code == 1
        assert file.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_file_keeps_its_permissions_and_a_link_its_target(
    run: Run, store: Path, tmp_path: Path
) -> None:
    file, link = tmp_path / "a.csv", tmp_path / "link"
    file.write_text("before")
    file.chmod(0o600)
    link.symlink_to(file)
    run("sql", "SELECT 1 AS a", "--format", "csv", "--output", link, "--store", store)
    assert (link.is_symlink(), file.read_text()) == (True, "a\n1\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_output_of_a_command_that_fails_in_part_is_kept(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.etdp").write_bytes(b"no dump")
    names = ("--device", "d", "--build", "b", "--model", "m", "--store", tmp_path / "store")
    file = tmp_path / "summary.json"
    outcome = run(
        "ingest", DUMP, tmp_path / "bad.etdp", *names, "--format", "json", "--output", file
    )
    assert outcome.code == 1
    assert json.loads(file.read_text())[0]["refused"] == 1


@pytest.mark.parametrize(
    ("file", "problem"),
    [("/dev/full", "No space left on device; the output is incomplete"),
     ("/nowhere/a.csv", "No such file or directory; choose another file")],
)  # fmt: skip
def test_a_file_that_cannot_be_written_is_one_line(
    run: Run, store: Path, file: str, problem: str
) -> None:
    outcome = run("sql", "SELECT 1 AS a", "--output", file, "--store", store)
    assert outcome.code == 1
    assert outcome.error == f"error: {file}: {problem}"


def test_leftovers_of_a_stopped_command_are_deleted_and_no_other_file(
    run: Run, store: Path, tmp_path: Path
) -> None:
    file = tmp_path / "a[1].csv"
    left, held, other = (tmp_path / f".a[1].csv.{end}" for end in ("123", "124", "bak"))
    for path in (left, held, other):
        path.write_text("part")
    with held.open() as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        assert run("sql", "SELECT 1 AS a", "--output", file, "--store", store).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [held.name, other.name, file.name]


def test_a_command_holds_its_file_until_it_is_in_place(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    with standard_output_to(file):
        (beside,) = tmp_path.iterdir()
        with beside.open("r+") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_leaves_the_file_as_it_was_and_says_so(
    run: Run, store: Path, tmp_path: Path
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("before")
    args = ("sql", "SELECT repeat('x', 1000000) AS a", "--output", file, "--store", store)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        outcome = run(*args)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (outcome.code, outcome.error) == (
        1,
        f"error: {file}: File too large; the file is unchanged",
    )
    assert file.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_file_that_cannot_be_looked_at_is_one_line(run: Run, store: Path, tmp_path: Path) -> None:
    file = tmp_path / ("x" * 300)
    outcome = run("sql", "SELECT 1 AS a", "--output", file, "--store", store)
    assert (outcome.code, outcome.error) == (1, f"error: {file}: File name too long")
    assert list(tmp_path.iterdir()) == []


def test_an_output_name_without_a_known_format_gets_a_table_and_a_note(
    run: Run, store: Path, tmp_path: Path
) -> None:
    asked = ("query", "coverage", "--store", store, "--output")
    note = f"note: {tmp_path}/rows.txt is a table for people, with rounded numbers; for another"
    assert run(*asked, tmp_path / "rows.txt").error.startswith(note)
    assert run(*asked, tmp_path / "rows.csv").err == ""


def test_the_ending_of_a_file_chooses_a_format_or_is_refused(
    run: Run, store: Path, tmp_path: Path
) -> None:
    asked = ("query", "coverage", "--store", store, "--output")
    assert run(*asked, tmp_path / "rows.md").code == 0
    assert (tmp_path / "rows.md").read_text().startswith("| Device | ")
    assert run(*asked, tmp_path / "rows.HTML").code == 0
    assert (tmp_path / "rows.HTML").read_text().startswith("<!doctype html>")
    refused = run(*asked, tmp_path / "boss.xlsx")
    assert (refused.code, (tmp_path / "boss.xlsx").exists()) == (2, False)
    for ending in (".csv", ".html", ".md", ".parquet"):
        assert ending in refused.err
