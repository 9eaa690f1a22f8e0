"""What tracehouse relies on of other projects without their promise.

Each test names the version that was seen to keep it. Where one fails after an upgrade, read what
took the interface's place, and mend the module that the test names.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer.core
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tracehouse.warehouse.engine import log_sum
from tracehouse.warehouse.engine.connection import open_writer, use_database
from tracehouse.warehouse.engine.store_file import HEADERS_BYTES, log_of

PACKAGES = ("ingest", "warehouse", "queries", "cli", "tracehouse")
TUPLE_METHODS = {"_asdict", "_fields", "_make", "_replace"}  # public, of named tuples


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("typer._click", ("Command", "Context", "HelpFormatter")),  # types alone
        ("typer._click.exceptions", ("ClickException",)),  # likewise
        ("typer._click.shell_completion", ("CompletionItem",)),
        ("typer._coercion", ("RuntimeParam", "TypeDescriptor", "build_runtime_param")),
        ("typer._completion_classes", ("completion_init",)),
        ("typer._completion_shared", ("get_completion_script",)),
    ],
)
def test_typer_has_what_cli_imports(module: str, names: tuple[str, ...]) -> None:
    """Seen with Typer 0.29.2; cli/app.py, cli/plain_parameters.py, cli/completions.py."""
    found = import_module(module)
    assert [name for name in names if not hasattr(found, name)] == []


def test_typer_coerces_parameters_by_what_cli_replaces() -> None:
    """Seen with Typer 0.29.2; cli/plain_parameters.py replaces one function and one method."""
    coercion = import_module("typer._coercion")
    assert "build_runtime_param(self.type_descriptor)" in inspect.getsource(typer.core)
    fields = coercion.RuntimeParam.__dataclass_fields__
    assert list(fields) == ["parameter_info", "annotation"]
    values = inspect.signature(coercion.RuntimeParam._coerce_value).parameters
    assert list(values) == ["self", "value", "param", "ctx"]


def test_uvicorn_takes_a_body_as_the_service_does() -> None:
    """Seen with uvicorn 0.54.0; `Connection.on_body` in serve/http/connections.py replaces it."""
    replaced = inspect.getsource(HttpToolsProtocol.on_body)
    for line in (
        "or self.cycle.response_complete:",
        "self.cycle.body += body",
        "if len(self.cycle.body) > HIGH_WATER_LIMIT:",
        "self.flow.pause_reading()",
        "self.cycle.message_event.set()",
    ):
        assert line in replaced
    assert "self.body = b" in inspect.getsource(RequestResponseCycle)
    assert hasattr(FlowControl, "pause_reading")


@pytest.mark.system
def test_python_runs_exit_functions_when_asked() -> None:
    """Seen with CPython 3.11; `_end` in cli/main.py ends the process right after them."""
    text = (
        "import atexit, os; atexit.register(print, 'left', flush=True); "
        "atexit._run_exitfuncs(); os._exit(3)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "left\n")


@pytest.mark.store
def test_duckdb_begins_files_and_logs_as_checksums_of_logs_need_it(tmp_path: Path) -> None:
    """Seen with DuckDB 2.0.0; warehouse/engine/log_sum.py checks less if it reads no header."""
    file = tmp_path / "some.duckdb"
    with open_writer(file) as connection:
        use_database(connection)
        connection.execute("CREATE TABLE t (a BIGINT)")
        connection.execute("CHECKPOINT")
        connection.execute("INSERT INTO t VALUES (1)")
        with open(log_of(file), "rb") as log:
            header = log_sum._read_header(log.fileno())
        start = file.read_bytes()[:HEADERS_BYTES]
    assert header is not None
    _, checkpoint = header
    assert checkpoint == max(log_sum._FILE_HEADERS.unpack(start[: log_sum._FILE_HEADERS.size])) > 0
    assert start[8:12] == b"DUCK"


def test_no_private_names_of_executorch_or_torch_are_used() -> None:
    """Seen with executorch 1.5.1: its Inspector's private functions were other ones in 1.0."""
    root = Path(__file__).parents[1]
    found = [
        (path.relative_to(root).as_posix(), name)
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
        for name in sorted(_private_names(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    assert found == []


def _private_names(tree: ast.Module) -> set[str]:
    """The private names that a module that imports executorch or torch takes from elsewhere."""
    nodes = list(ast.walk(tree))
    texts = {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    if not any(re.fullmatch(r"(executorch|torch)(\.\w+)*", text) for text in texts):
        return set()
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name)}
    used = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    }
    parts = {part for text in texts if re.fullmatch(r"[\w.]+", text) for part in text.split(".")}
    return {name for name in used | parts if re.match("_[a-z]", name)} - own - TUPLE_METHODS
