from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import COMMAND, ENVIRONMENT, Run, run_process
from tests.support.corpus import CORPUS, FARM
from tests.support.cross_section import cross_section
from tests.support.etrecord_builder import MODELS
from tests.tools.site.reference import commands_page
from tracehouse import Warehouse
from tracehouse.cli import commands
from tracehouse.cli.listing import EXAMPLES, GROUPS
from tracehouse.warehouse.catalogue.queries import list_queries

RECORD = MODELS / "mixed_xnnpack.etrecord"
COMMANDS = sorted(name for names in GROUPS.values() for name in names)
# A process that was started in the background ignores Ctrl-C, and so do those that it starts.
HEEDS_CTRL_C = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tracehouse.cli.main import main
main()
"""


def test_help_lists_every_command(run: Run) -> None:
    outcome = run("--help")
    assert outcome.code == 0
    groups = re.split(r"^(\w[\w ]+):\n", outcome.text, flags=re.MULTILINE)
    titles, bodies = groups[3::2], groups[4::2]
    assert titles == list(GROUPS)
    listed = [re.findall(r"^  ([a-z]\S*)", body, re.MULTILINE) for body in bodies]
    assert listed == [list(names) for names in GROUPS.values()]
    files = {path.stem for path in Path(commands.__path__[0]).glob("[a-z]*.py")}
    below_others = {"export_trace", "spark_query"}
    assert {name.replace("-", "_") for name in COMMANDS} == files - below_others


@pytest.mark.parametrize(
    "args", [[], ["query"], ["spark"], ["store"], ["store", "archive"], ["token"], ["export"]]
)
def test_no_summary_in_a_list_of_commands_is_cut(run: Run, args: list[str]) -> None:
    _, *lines = run(*args, "--help").text.splitlines()
    assert [line for line in lines if line.endswith("...")] == []


@pytest.mark.parametrize("command", sorted({*COMMANDS, *EXAMPLES} - {"demo", "ls"} | {*COMMANDS}))
def test_each_command_has_help_that_ends_with_examples(run: Run, command: str) -> None:
    outcome = run(*command.split(), "--help")
    assert outcome.code == 0
    assert outcome.text.startswith(f"Usage: tracehouse {command} ")
    examples = outcome.text.partition("Examples:\n")[2].splitlines()
    assert examples
    assert all(line.strip().startswith(f"tracehouse {command}") for line in examples)


def test_no_help_tells_what_the_code_raises() -> None:
    assert "Raises:" not in commands_page()


@pytest.mark.parametrize(
    ("args", "end"),
    [
        (["completion", "tcsh"], ": 'tcsh' is not one of 'bash', 'zsh', 'fish'."),
        (["ingest", "x", "--jobs", "0"], "'--jobs': wanted greater than or equal to 1"),
    ],
)
def test_an_invalid_value_is_reported_in_our_words(run: Run, args: list[str], end: str) -> None:
    done = run(*args)
    assert (done.code, done.err.rstrip().endswith(end)) == (2, True)


@pytest.mark.system
def test_help_waits_for_no_heavy_import() -> None:
    probe = (
        "import sys; from tracehouse.cli import app, main;"
        "list(map(app._make_command, app.NAMES));"
        "print({'duckdb', 'numpy', 'pyarrow', 'pydantic', 'rich'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, env=ENVIRONMENT, check=True
    )
    assert done.stdout == b"set()\n"


@pytest.mark.system
@pytest.mark.parametrize(
    "line",
    [
        ("inspect", CORPUS / "real" / "mixed_xnnpack_n20.etdp", "--etrecord", RECORD),
        ("inspect", CORPUS / "legacy" / "iterations.prof"),
        ("etrecord", "show", RECORD),
    ],
    ids=lambda line: line[0],
)
def test_commands_without_a_store_load_no_library_that_they_do_not_need(
    line: tuple[str | Path, ...],
) -> None:
    code = (
        "import contextlib, sys; from tracehouse.cli.main import main\n"
        "with contextlib.suppress(SystemExit): main(sys.argv[1:])\n"
        "needless = {'duckdb', 'rich', 'pandas', 'pyarrow.compute'}\n"
        "sys.exit(' '.join(sys.modules.keys() & needless))"
    )
    command = [sys.executable, "-c", code, *map(str, line)]
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT)
    assert done.stderr == b"\n"
    assert done.stdout


def test_unknown_command_is_a_usage_error(run: Run) -> None:
    outcome = run("qurey")
    assert outcome.code == 2
    assert "Did you mean 'query'?" in outcome.err


@pytest.mark.parametrize("args", [["query", "dumps"], ["sql", "SELECT 1"], ["schema"]])
def test_missing_store_is_one_line_and_is_not_created(
    run: Run, tmp_path: Path, args: list[str]
) -> None:
    outcome = run(*args, "--store", tmp_path / "none")
    assert outcome.code == 1
    assert outcome.error.startswith(f"error: {tmp_path / 'none'}: no store here")
    assert not (tmp_path / "none").exists()


def test_store_is_taken_from_the_environment(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_STORE", str(store))
    assert run("sql", "SELECT count(*) AS dump_count FROM dumps").text == "dump_count\n       148\n"


@pytest.mark.smoke
@pytest.mark.system
def test_store_locked_by_another_process_is_one_line_with_its_pid(tmp_path: Path) -> None:
    with Warehouse.open_to_write(tmp_path / "busy", create=True):
        outcome = run_process("query", "dumps", "--store", tmp_path / "busy")
    assert outcome.code == 1
    assert f"locked by process {os.getpid()};" in outcome.error


def test_error_with_line_ends_and_control_characters_is_one_harmless_line(run: Run) -> None:
    outcome = run("query", "per\ncent\x1b[2J")
    assert outcome.code == 2
    assert outcome.error.startswith("error: no query 'per cent\\x1b[2J'")


@pytest.mark.system
def test_ctrl_c_ends_a_long_query_quietly(store: Path, tmp_path: Path) -> None:
    program, pipe = tmp_path / "program.py", tmp_path / "rows.csv"
    program.write_text(HEEDS_CTRL_C)
    os.mkfifo(pipe)
    statement = (
        f"SELECT sum(a.range * b.range) FROM read_csv('{pipe}', auto_detect = false, "  # noqa: S608
        "columns = {'x': 'INT'}), range(1000000) AS a, range(1000000) AS b"
    )
    with subprocess.Popen(
        [sys.executable, program, "sql", statement, "--allow-files", "--store", store],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as process:
        os.close(open_for_its_reader(pipe, process))
        process.send_signal(signal.SIGINT)
        shown = process.communicate()
    assert (process.returncode, shown) == (-signal.SIGINT, (b"", b""))


def open_for_its_reader(pipe: Path, process: subprocess.Popen[bytes]) -> int:
    """The pipe for writing, as soon as the process has it open for reading."""
    while process.poll() is None:
        with contextlib.suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.01)
    raise AssertionError(process.communicate())


@pytest.mark.system
@pytest.mark.parametrize("handler", ["SIG_IGN", "default_int_handler"])
def test_a_command_starts_fast_in_the_background_too(handler: str) -> None:
    """No search for garbage looks at what every command imports."""
    code = (
        "import atexit, gc, os, signal, sys\n"
        "told = lambda: print(gc.get_threshold()[0] > 10_000, os.environ['OPENBLAS_NUM_THREADS'],"
        " gc.get_freeze_count() > 0)\n"
        f"atexit.register(told); signal.signal(signal.SIGINT, signal.{handler})\n"
        "from tracehouse.cli.main import main; sys.argv = ['tracehouse', '--version']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.split()[-3:] == [b"True", b"1", b"True"]


@pytest.mark.system
def test_a_question_imports_only_what_it_takes(store: Path, tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("")  # as if it were installed
    program = (
        "import atexit, sys; from tracehouse.cli.main import main;"
        "rooms = 'ingest.decode', 'ingest.etrecord', 'warehouse.archive', 'warehouse.load';"
        "rooms += ('cli.commands.inspect',);"
        "late = {'pandas', 'pydantic', 'rich', *(f'tracehouse.{room}' for room in rooms)};"
        "atexit.register(lambda: print(sorted(late"
        " & sys.modules.keys())));"
        "sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "sql", "SELECT 1 AS a, 'b' AS b", "--store", store],
        capture_output=True,
        env=ENVIRONMENT | {"PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}:{tmp_path}"},
        check=True,
    )
    assert done.stdout == b"a  b\n1  b\n[]\n"


@pytest.mark.system
@pytest.mark.parametrize("is_busy", [False, True])
def test_process_ends_at_once_unless_something_is_left_to_do(is_busy: bool) -> None:
    program = (
        "import os, sys, threading; from tracehouse.cli.main import main; end = os._exit\n"
        "def say(code): print('at once', flush=True); end(code)\n"
        "def do(): threading.main_thread().join(); print('done')\n"
        f"os._exit = say; {is_busy} and threading.Thread(target=do).start()\n"
        "sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "query", "nothing"],
        capture_output=True,
        env=ENVIRONMENT,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "done\n" if is_busy else "at once\n")
    assert done.stderr.startswith("error: ")


@pytest.mark.system
@pytest.mark.parametrize(
    "module", cross_section(["typer", "tracehouse.cli.app", "duckdb", "pyarrow"], 4)
)
def test_ctrl_c_ends_imports_quietly(store: Path, module: str) -> None:
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may ignore it
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from tracehouse.cli.main import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "sql", "SELECT 1", "--store", store],
        capture_output=True,
        env=ENVIRONMENT,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


@pytest.mark.system
def test_reader_that_leaves_early_hears_nothing(store: Path) -> None:
    command = [*COMMAND, "sql", "SELECT * FROM events LIMIT 9999", "--store", str(store)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.system
@pytest.mark.parametrize("form", cross_section(["table", "json", "csv", "arrow", "parquet"], 4))
def test_full_disk_behind_standard_output_is_one_line(store: Path, form: str) -> None:
    command = [*COMMAND, "sql", "SELECT * FROM runs", "--format", form, "--store", str(store)]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: standard output: No space left on device")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.system
@pytest.mark.parametrize(
    ("args", "unbuffered"), [(["--version"], "1"), (["query", "dumps", "--help"], "")]
)
def test_a_help_text_that_cannot_be_written_ends_as_other_output(
    args: list[str], unbuffered: str
) -> None:
    environment = ENVIRONMENT | {"PYTHONUNBUFFERED": unbuffered}
    ours, theirs = os.pipe()
    os.close(ours)
    with open("/dev/full", "wb") as full, os.fdopen(theirs, "wb") as unread:
        done = [
            subprocess.run(
                [*COMMAND, *args], stdout=stream, stderr=subprocess.PIPE, env=environment
            )
            for stream in (full, unread)
        ]
    assert [one.returncode for one in done] == [1, 1]
    assert done[0].stderr.startswith(b"error: standard output: No space left on device")
    assert done[0].stderr.count(b"\n") == 1
    assert done[1].stderr == b""


@pytest.mark.system
@pytest.mark.parametrize("closed", cross_section(["<&- >&- 2>&-", "<&-", ">&-", "2>&-"], 4))
def test_commands_work_with_closed_standard_streams(tmp_path: Path, closed: str) -> None:
    line = f'exec "$@" {closed}'
    names = ("--device", "d", "--build", "b", "--model", "m")
    dump = next(FARM.rglob("*.etdp"))
    command = [*COMMAND, "ingest", str(dump), *names, "--store", str(tmp_path / "s")]
    done = subprocess.run(["sh", "-c", line, "sh", *command], capture_output=True, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (0, b"")
    with Warehouse.open(tmp_path / "s", read_only=True) as warehouse:
        assert warehouse.query("dumps").num_rows == 1


@pytest.mark.parametrize(
    "args", [["\x9b\u202e"], ["schema", "--\x9b\u202e"], ["query", "dumps", "\x9b\u202e"]]
)
def test_errors_about_a_malformed_command_line_escape_control_characters(
    run: Run, args: list[str]
) -> None:
    outcome = run(*args)
    assert outcome.code == 2
    assert r"\x9b\u202e" in outcome.err
    assert outcome.err.replace("\n", "").isprintable()


@pytest.mark.system
@pytest.mark.parametrize(
    "args",
    cross_section(
        [
            ["inspect"],
            ["schema"],
            ["query", "percentiles", "--model"],
            ["etrecord", "show"],
            ["sql"],
        ],
        4,
    ),
)
def test_argument_that_is_not_utf8_is_one_line(store: Path, args: list[str]) -> None:
    options = [] if args[0] in {"inspect", "etrecord"} else ["--store", store]
    outcome = run_process(*args, os.fsdecode(b"x\xff"), *options)
    assert outcome.code == 1
    assert outcome.error.startswith("error: ")


def test_long_error_keeps_its_remedy(run: Run) -> None:
    outcome = run("query", "x" * 50_000)
    assert outcome.error.startswith("error: no query 'xxx")
    names = outcome.error.rpartition("; there are ")[2].split(", ")
    assert names == [*list_queries()[: len(names) - 1], "..."]
    assert len(names) > 1
    assert len(outcome.error) == 2000
