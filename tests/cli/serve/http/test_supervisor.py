from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracehouse.cli.errors import OutputError
from tracehouse.cli.serve import running
from tracehouse.cli.serve.running import notify, take_passed_sockets


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def pass_on(monkeypatch: pytest.MonkeyPatch, descriptor: int, *, process_id: int) -> None:
    """Set what a supervisor sets for a process."""
    monkeypatch.setattr(running, "_FIRST_SOCKET", descriptor)
    monkeypatch.setenv("LISTEN_PID", str(process_id))
    monkeypatch.setenv("LISTEN_FDS", "1")


def test_a_socket_that_is_passed_is_used_and_not_passed_on(
    monkeypatch: pytest.MonkeyPatch, listening: socket.socket
) -> None:
    descriptor = os.dup(listening.fileno())
    os.set_inheritable(descriptor, True)
    pass_on(monkeypatch, descriptor, process_id=os.getpid())

    (found,) = take_passed_sockets()

    with found:
        assert found.getsockname() == listening.getsockname()
        assert not found.get_inheritable()
    assert not {"LISTEN_PID", "LISTEN_FDS"} & os.environ.keys()


def test_a_socket_passed_to_another_process_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, listening: socket.socket
) -> None:
    pass_on(monkeypatch, listening.fileno(), process_id=1)
    assert take_passed_sockets() == []
    assert listening.getsockname()


def test_a_socket_that_does_not_listen_is_refused_with_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as idle:
        pass_on(monkeypatch, os.dup(idle.fileno()), process_id=os.getpid())
        with pytest.raises(OutputError, match="wanted ListenStream=ADDRESS:PORT"):
            take_passed_sockets()


def test_a_file_in_place_of_a_socket_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = os.open(tmp_path, os.O_RDONLY)
    pass_on(monkeypatch, file, process_id=os.getpid())
    with pytest.raises(OutputError, match=f"file {file} is no socket"):
        take_passed_sockets()
    os.close(file)


@pytest.mark.parametrize("is_abstract", [False, True])
def test_the_supervisor_gets_the_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_abstract: bool
) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(f"\0{address}" if is_abstract else address)
        channel.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{address}" if is_abstract else address)
        notify("READY=1")
        assert channel.recv(100) == b"READY=1"


def test_notifying_without_a_supervisor_does_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    notify("READY=1")
