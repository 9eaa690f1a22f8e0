"""One side of `make bench-against`: does what it is told and answers with its cost, a line each.

It runs with the code of another revision too, so it uses public names and the standard library.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.tools.benchmarks.cost import measure

# The folders of earlier revisions are packages themselves.
_PREFIX = "tracehouse." if Path("tracehouse/ingest").exists() else ""
_store = import_module(f"{_PREFIX}warehouse.store")
Warehouse = _store.Store if hasattr(_store, "Store") else _store.Warehouse  # by its older name
decode_dumps = import_module(f"{_PREFIX}ingest.decode").decode_dumps
_MAIN = f"import sys; from {_PREFIX}cli.main import main; sys.exit(main())"
_opened: dict[str, Any] = {}
_held = ExitStack()


def _ingest(store: str, folder: str) -> None:
    with Warehouse.open(store, create=True) as warehouse:
        warehouse.ingest([folder])


def _decode(*paths: str) -> Callable[[], object]:
    dumps = [Path(path).read_bytes() for path in paths]
    return lambda: decode_dumps(dumps)


def _ask(store: str, name: str, params: dict[str, str]) -> Callable[[], object]:
    """A question to a store that stays open: outside of a `with` block, each call opens it."""
    if store not in _opened:
        _opened[store] = _held.enter_context(Warehouse.open(store, read_only=True))
    return lambda: _opened[store].query(name, **params)


def _open_and_ask(store: str, name: str, params: dict[str, str]) -> None:
    with Warehouse.open(store, read_only=True) as warehouse:
        warehouse.query(name, **params)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", _MAIN, *arguments]


def _run(wordings: list[list[str]], *options: str) -> Callable[[], object]:
    """A command, in the first of its wordings that this revision knows."""
    _held.close()  # a command may write what is held
    _opened.clear()
    command = [*next(filter(_knows, wordings), wordings[-1]), *options]
    return lambda: _complete(*command)


def _knows(words: list[str]) -> bool:
    return subprocess.run(_command(*words, "--help"), capture_output=True).returncode == 0


def _complete(*arguments: str) -> None:
    done = subprocess.run(_command(*arguments), capture_output=True)
    assert done.returncode in {0, 3}, done.stderr.decode()  # 3: something got slower


def _serve(store: str, folder: str, name: str) -> None:
    """A service from its start to its end: it takes the dumps of a folder and answers a query."""
    command = _command("serve", "--port", "0", "--store", store)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        ports = (re.search(r"at http://127\.0\.0\.1:(\d+)/", line) for line in process.stderr)
        connection = HTTPConnection("127.0.0.1", next(int(port[1]) for port in ports if port))
        for path in sorted(Path(folder).glob("*.etdp")):
            dump, manifest = path.read_bytes(), (path.parent / "manifest.json").read_bytes()
            line = json.dumps({"manifest": len(manifest), "dump": len(dump)}).encode() + b"\n"
            _request(connection, "POST", "/v1/dumps:batch", line + manifest + dump)
        for _ in range(20):
            _request(connection, "GET", f"/v1/queries/{name}")
        process.send_signal(signal.SIGTERM)
        process.stderr.read()


def _request(connection: HTTPConnection, *request: Any) -> None:
    connection.request(*request)
    answer = connection.getresponse()
    said = answer.read()
    assert answer.status in {200, 201}, said


def _fill(store: str, *sizes: int) -> None:
    from tests.tools.benchmarks.scale import fill

    fill(Path(store), *sizes)


def main() -> None:
    """Answer lines of `[action, arguments...]` until there are no more."""
    prepared = {"decode": _decode, "ask": _ask, "run": _run}
    actions = {"ingest": _ingest, "open": _open_and_ask, "serve": _serve, "fill": _fill}
    for line in sys.stdin:
        name, *given = json.loads(line)
        try:
            action = prepared[name](*given) if name in prepared else partial(actions[name], *given)
            print(json.dumps(measure(action)), flush=True)
        except Exception as error:
            print(json.dumps(f"{type(error).__name__}: {error}"[:300]), flush=True)


if __name__ == "__main__":
    main()
