from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.command import ENVIRONMENT, run_process
from tests.support.service_process import ServiceProcess
from tests.support.store_template import copy_new_store
from tests.support.stores import MANIFEST, write
from tests.support.tiny_dumps import stored_event_counts, tiny_dump
from tests.support.uploads import await_state, record_of, send, sha256_of
from tests.support.waiting import until
from tests.tools.service.restart import measure
from tracehouse import Warehouse
from tracehouse.cli.serve.running import ENDING_SECONDS, listen
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.opening.snapshots import find_snapshots

# Freed blocks lie between kept ones, which fit in no hole of the heap; by itself, the C library
# would keep the freed memory.
_PROGRAM = """
import re
import pyarrow as pa
from tracehouse.cli.serve.running import reduce_memory

def held():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) >> 10

if {is_little}:
    reduce_memory()
bytes(30 << 20)
before, kept, freed = held(), [], []
for _ in range(32):
    freed.append(bytearray(b"1") * (3 << 20))
    kept.append(bytearray(b"1") * 100_000)
freed.clear()
print(pa.default_memory_pool().backend_name, held() - before)
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    copy_new_store(tmp_path / "store")
    with ServiceProcess(tmp_path / "store", batch_seconds=3600, free_bytes=0) as service:
        yield service


@pytest.fixture
def client(service: ServiceProcess) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=f"http://127.0.0.1:{service.port}") as client:
        yield client


@pytest.mark.smoke
def test_accepted_dumps_are_left_in_the_inbox_and_indexed_by_the_next_service(
    service: ServiceProcess, client: httpx2.Client, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    until(lambda: client.get(f"/v1/dumps/{'0' * 64}").status_code == 404)  # its first turn is over
    send(client, tiny_dump(1))
    before = find_snapshots(store)

    service.signal(signal.SIGTERM)

    assert service.wait() == 0
    assert stored_event_counts(store) == []
    assert find_snapshots(store) == before
    with (
        ServiceProcess(store, free_bytes=0) as again,
        httpx2.Client(base_url=again.url) as client,
    ):
        assert await_state(client, tiny_dump(1))["state"] == "indexed"


@pytest.mark.slow
def test_a_service_whose_log_pipe_is_full_still_ends(
    service: ServiceProcess, client: httpx2.Client
) -> None:
    for _ in range(400):  # more lines than go into a pipe
        assert client.get(f"/v1/dumps/{'x' * 100}").status_code == 400

    service.signal(signal.SIGTERM)

    assert service.wait() == 0


@pytest.mark.slow
def test_an_upload_that_has_begun_is_finished_before_the_service_ends(
    service: ServiceProcess, tmp_path: Path
) -> None:
    dump = tiny_dump(1)
    body = record_of(dump, json.dumps(MANIFEST).encode())
    with _begin_upload(service, body) as connection:
        connection.sendall(body[:5])
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 100")
        service.signal(signal.SIGTERM)
        connection.sendall(body[5:])
        answer = connection.recv(1 << 16)

    assert answer.startswith(b"HTTP/1.1 201")
    assert service.wait() == 0
    with Warehouse.open(tmp_path / "store") as warehouse:
        assert warehouse.drain().n_files == 1


@pytest.mark.slow
def test_a_slow_upload_is_deferred_when_the_service_ends(
    service: ServiceProcess,
) -> None:
    with _begin_upload(service, tiny_dump(1)) as connection:
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 100")
        service.signal(signal.SIGTERM)
        assert service.wait(ENDING_SECONDS + 1) == 0
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 503")


@pytest.mark.slow
def test_a_second_signal_ends_the_service_at_once_and_keeps_accepted_dumps(
    service: ServiceProcess, client: httpx2.Client, tmp_path: Path
) -> None:
    send(client, tiny_dump(1))
    with _begin_upload(service, tiny_dump(2)) as connection:
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 100")
        service.signal(signal.SIGTERM)
        service.signal(signal.SIGINT)
        assert service.wait(10) < 0

    with (
        ServiceProcess(tmp_path / "store", free_bytes=0) as again,
        httpx2.Client(base_url=f"http://127.0.0.1:{again.port}") as client,
    ):
        assert await_state(client, tiny_dump(1))["state"] == "indexed"


@pytest.mark.slow
def test_a_damaged_store_is_made_anew_when_the_service_starts(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with ServiceProcess(store, free_bytes=0) as service:
        with httpx2.Client(base_url=f"http://127.0.0.1:{service.port}") as client:
            send(client, tiny_dump(1))
            await_state(client, tiny_dump(1))
        service.signal(signal.SIGTERM)
        service.wait()
    (store / FILE_NAME).write_bytes(b"ruined" * 4096)

    with ServiceProcess(store, free_bytes=0) as service:
        assert "rebuilding the store from the archive" in service.said
        with httpx2.Client(base_url=f"http://127.0.0.1:{service.port}") as client:
            assert await_state(client, tiny_dump(1))["state"] == "indexed"


@pytest.mark.slow
def test_an_address_in_use_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = run_process("serve", "--store", tmp_path / "store", "--port", str(port))

    assert outcome.code == 1
    assert f"127.0.0.1:{port}: cannot listen" in outcome.error
    assert not (tmp_path / "store").exists()


def test_the_service_disables_nagle_delay_for_answers(
    tmp_path: Path,
) -> None:
    with (
        listen(tmp_path, ServiceSettings(port=0))[0] as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.slow
def test_a_store_with_an_open_writer_cannot_be_served(tmp_path: Path) -> None:
    with Warehouse.open_to_write(tmp_path / "store", create=True):
        outcome = run_process("serve", "--store", tmp_path / "store", "--port", "0")

    assert outcome.code == 1
    assert "locked by process" in outcome.error


def _begin_upload(service: ServiceProcess, body: bytes) -> socket.socket:
    """A connection on which an upload was begun; the service is asked whether to go on."""
    connection = socket.create_connection(("127.0.0.1", service.port), timeout=30)
    head = (
        "POST /v1/dumps:batch HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode())
    return connection


@pytest.mark.slow
def test_an_ingest_beside_a_service_hands_its_dumps_over(
    service: ServiceProcess, tmp_path: Path
) -> None:
    write(tmp_path / "farm" / "good.etdp", tiny_dump(1))
    write(tmp_path / "farm" / "bad.json", b"{")
    write(tmp_path / "farm" / "bad.etdp", tiny_dump(2))
    named = [f"--{name}={value}" for name, value in MANIFEST.items()]

    outcome = run_process("ingest", tmp_path / "farm", "--store", tmp_path / "store", *named)

    assert "note: handed 1 dumps over to the service" in outcome.err
    assert "bad.json: not valid JSON" in outcome.err
    assert outcome.code == 1
    service.signal(signal.SIGTERM)
    assert service.wait() == 0
    with Warehouse.open(tmp_path / "store") as warehouse:
        warehouse.drain()
    assert [sha256 for sha256, _ in stored_event_counts(tmp_path / "store")] == [
        sha256_of(tiny_dump(1))
    ]


@pytest.mark.slow
def test_files_of_a_service_are_its_owners(service: ServiceProcess, tmp_path: Path) -> None:
    with httpx2.Client(base_url=f"http://127.0.0.1:{service.port}") as client:
        send(client, tiny_dump(1))
    made = (tmp_path / "store" / "inbox").iterdir()

    assert {path.stat().st_mode & 0o077 for path in made} == {0}


def _run(*, is_little: bool) -> tuple[str, int]:
    program = _PROGRAM.format(is_little=is_little)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=True)
    pool, megabytes = done.stdout.split()
    return pool, int(megabytes)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what is held")
def test_freed_memory_goes_back_to_the_system() -> None:
    """Also judges the numbers of options that `mallopt` takes: seen with glibc 2.36."""
    assert _run(is_little=False)[1] > 80
    pool, megabytes = _run(is_little=True)
    assert pool == "system"
    assert megabytes < 10


@pytest.mark.slow
def test_a_restart_on_a_passed_socket_refuses_no_connection_and_loses_no_upload(
    tmp_path: Path,
) -> None:
    found = measure(tmp_path / "store", is_passed=True, rounds=1)
    assert found["uploads"] > 0
    assert found["lost"] == 0


def test_a_client_waits_in_a_passed_socket_until_the_next_service_accepts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        with ServiceProcess(tmp_path / "store", listening=listening, free_bytes=0) as first:
            first.signal(signal.SIGTERM)
            assert first.wait() == 0
        with socket.create_connection(listening.getsockname(), timeout=60) as waiting:
            waiting.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with ServiceProcess(tmp_path / "store", listening=listening, free_bytes=0) as second:
                assert second.port == first.port
                assert waiting.recv(1 << 16).startswith(b"HTTP/1.1 200")
