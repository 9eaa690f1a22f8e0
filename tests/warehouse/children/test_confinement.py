"""A confined process can do what its work needs, and nothing that harms."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import ENVIRONMENT
from tests.support.corpus import read_dump
from tests.support.escapes import ALLOWED, FORBIDDEN, PROGRAM
from tests.support.stores import ingest, write
from tracehouse.ingest.manifest.sidecars import Sidecar
from tracehouse.warehouse.children import confinement
from tracehouse.warehouse.children.confinement import MACHINES
from tracehouse.warehouse.errors import StatementError
from tracehouse.warehouse.load.children import ChildSidecars, DecodingChild, DecodingChildren
from tracehouse.warehouse.sandbox.bounds import Bounds
from tracehouse.warehouse.sandbox.workers import Sandbox

CONFINED = dict.fromkeys(FORBIDDEN, "EPERM") | dict.fromkeys(ALLOWED, "done")
BOUNDS = Bounds(seconds=60.0, memory_bytes=256 << 20, answer_rows=1000, answer_bytes=1 << 20)
# What a child runs at its start, so that the code of strangers can be thought of as its own.
IN_DECODER = f"""{PROGRAM}
from tracehouse.warehouse.load import child
child.parse_sidecar = lambda kind, name, data: try_all(bytes(data).decode().strip())
"""
IN_WORKER = f"""{PROGRAM}
import json
from tracehouse.warehouse.sandbox import worker
def answer(self, folder, _):
    return {{"reason": "statement", "detail": json.dumps(try_all(folder))}}
worker._SnapshotReader.answer = answer
"""
LANDLOCK_VERSION = ctypes.CDLL(None).syscall(444, None, 0, 1) if sys.platform == "linux" else -1
needs_landlock = pytest.mark.skipif(LANDLOCK_VERSION < 1, reason="this kernel has no Landlock")
HAS_SECCOMP = Path("/proc/sys/kernel/seccomp").exists() and os.uname().machine in MACHINES
needs_seccomp = pytest.mark.skipif(
    not HAS_SECCOMP, reason="this kernel has no seccomp filters, or this machine is not known"
)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A folder with the file that attempts are made at."""
    return str(write(tmp_path / "ground/file", b"").parent)


def run(code: str, *arguments: str) -> dict[str, Any]:
    """What a process prints as JSON that runs PROGRAM, then this code."""
    imports = "import json, sys; from tracehouse.warehouse.children.confinement import *\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{imports}{PROGRAM}\n{code}", *arguments],
        capture_output=True, env=ENVIRONMENT, text=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def test_the_attempts_succeed_without_confinement(folder: str) -> None:
    outcomes = run("print(json.dumps(try_all(sys.argv[1])))", folder)
    assert "EPERM" not in {outcomes[name] for name in ALLOWED}
    tried = ("fork", "socket", "socket_pair", "read_file", "write_file", "list_folder")
    assert {outcomes[name] for name in (*tried, "change_mode", "signal_parent")} == {"done"}
    assert (outcomes["exec"], outcomes["delete_file"]) == ("ENOENT", "ENOENT")


@needs_seccomp
def test_a_decoding_child_can_only_compute(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "sitecustomize.py", IN_DECODER.encode())
    monkeypatch.syspath_prepend(tmp_path)
    decoding = DecodingChildren()
    try:
        outcomes = ChildSidecars(decoding).parse(Sidecar.LOG, "a", folder.encode().ljust(5000))
    finally:
        decoding.close()
    assert outcomes == CONFINED


@needs_seccomp
def test_a_worker_can_only_compute(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    ingest(store, write(tmp_path / "a.etdp", read_dump("real/mlp_xnnpack_n1")), snapshot=True)
    write(tmp_path / "sitecustomize.py", IN_WORKER.encode())
    monkeypatch.syspath_prepend(tmp_path)
    sandbox = Sandbox(store, BOUNDS)
    try:
        with pytest.raises(StatementError) as told:
            sandbox.answer(folder)
    finally:
        sandbox.close()
    # Its limit of descriptors leaves none for these either.
    assert json.loads(str(told.value)) == {**CONFINED, "memory_file": "EMFILE", "pipe": "EMFILE"}


@needs_landlock
def test_landlock_alone_keeps_files_and_signals_away(folder: str) -> None:
    code = "print(json.dumps({'said': restrict_access(), **try_all(sys.argv[1])}))"
    outcomes = run(code, folder)
    denied = ("read_file", "write_file", "list_folder", "make_folder")
    assert {outcomes[name] for name in denied} == {"EACCES"}
    assert {outcomes[name] for name in ALLOWED} == {"done"}
    assert outcomes["said"].startswith(f"ABI {LANDLOCK_VERSION}: no files")
    assert (outcomes["signal_parent"] == "EPERM") == (LANDLOCK_VERSION >= 6)


@needs_landlock
@pytest.mark.skipif(LANDLOCK_VERSION < 4, reason="this kernel's Landlock does not know TCP")
def test_landlock_alone_keeps_tcp_away() -> None:
    code = """
def outcome():
    with socket.socket() as client:
        return errno.errorcode[client.connect_ex(("127.0.0.1", 1))]
before = outcome()
restrict_access()
print(json.dumps({"before": before, "after": outcome()}))
"""
    assert run(code) == {"before": "ECONNREFUSED", "after": "EACCES"}


@needs_seccomp
def test_seccomp_alone_keeps_all_away(folder: str) -> None:
    assert run("filter_calls(); print(json.dumps(try_all(sys.argv[1])))", folder) == CONFINED


@needs_seccomp
def test_confinement_also_filters_threads_that_already_run() -> None:
    code = """
go, outcomes = threading.Event(), {}
def wait():
    go.wait()
    outcomes["fork"] = _outcome(_fork)
thread = threading.Thread(target=wait)
thread.start()
filter_calls()
go.set()
thread.join()
print(json.dumps(outcomes))
"""
    assert run(code) == {"fork": "EPERM"}


@needs_seccomp
def test_open_sockets_and_files_go_on_working(folder: str) -> None:
    code = """
ours, theirs = socket.socketpair()
file = open(sys.argv[1] + "/file", "r+b")
filter_calls()
restrict_access()
ours.sendall(b"said")
socket.send_fds(ours, [b"with"], [file.fileno()])
file.write(b"written")
file.flush()
said = theirs.recv(4).decode()
data, (passed,), _, _ = socket.recv_fds(theirs, 4, 1)
print(json.dumps({"said": said, "read": os.pread(passed, 7, 0).decode()}))
"""
    assert run(code, folder) == {"said": "said", "read": "written"}


@needs_seccomp
@pytest.mark.parametrize(
    ("calls", "left"),
    [("[444, machine.seccomp]", []), ("[444]", ["seccomp"]), ("[446]", ["seccomp"])],
    ids=["all", "landlock", "its last step"],
)
def test_a_filter_that_kills_what_asks_for_a_layer_is_survived(
    folder: str, calls: str, left: list[str]
) -> None:
    """As systemd's SystemCallFilter=@system-service before it knew these calls."""
    code = f"""
from tracehouse.warehouse.children import confinement as calls
machine = calls.find_machine()
steps = [(0x20, 0, 0, 0)]
for number in {calls}:
    steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x80000000)]
build = calls.build_filter
calls.build_filter = lambda *_: [*steps, (0x06, 0, 0, 0x7FFF0000)]
filter_calls()
calls.build_filter = build
print(json.dumps({{"layers": [one.name for one in confine() if one.is_active]}}))
"""
    assert run(code, folder) == {"layers": left}


def test_every_thread_of_a_decoding_child_is_one_that_landlock_confines() -> None:
    """Landlock confines the thread that asks for it, and those that this one starts."""
    child = DecodingChild()
    try:
        child.await_start()
        threads = Path(f"/proc/{child.process.pid}/task")
        if threads.exists():
            assert len(list(threads.iterdir())) == 1
    finally:
        child.end()


def test_a_decoding_child_says_which_layers_it_has() -> None:
    child = DecodingChild()
    try:
        layers = {name: is_active for name, is_active, _ in child.await_start()["layers"]}
    finally:
        child.end()
    assert layers == {"landlock": LANDLOCK_VERSION > 0, "seccomp": HAS_SECCOMP}


def test_a_missing_confinement_layer_is_reported_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> str:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(confinement, "restrict_access", refuse)
    monkeypatch.setattr(confinement, "filter_calls", refuse)
    for layer, name in zip(confinement.confine(), ("landlock", "seccomp"), strict=True):
        assert (layer.name, layer.is_active) == (name, False)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert {layer.detail for layer in confinement.confine()} == {"only Linux has it"}


def test_an_unknown_architecture_has_no_seccomp_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "find_machine", lambda: None)
    with pytest.raises(OSError, match="no filter for"):
        confinement.filter_calls()
