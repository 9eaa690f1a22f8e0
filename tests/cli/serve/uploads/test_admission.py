from __future__ import annotations

import errno
import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from cli.serve.http.problems import Problem
from cli.serve.settings import ServiceSettings
from cli.serve.uploads.admission import Admission
from tests.support.service import serving
from tests.support.stored_dumps import Stored
from tests.support.uploads import await_state, new_dump, put
from warehouse.inbox.known import KnownDumps


@pytest.fixture
def known() -> KnownDumps:
    """The known dumps of an empty store."""
    return KnownDumps(Stored().index())


def refusal(
    folder: Path, known: KnownDumps, request: Request | None = None, **settings: int
) -> tuple[int, str, str]:
    """Status, reason and Retry-After with which an upload is refused."""
    admission = Admission(folder, ServiceSettings(**{"free_bytes": 0, **settings}), known)
    with pytest.raises(Problem) as found, admission.admit(request or _request(), 1 << 30):
        pass
    headers = found.value.headers or {}
    return found.value.status_code, found.value.reason, headers.get("Retry-After", "")


def _request(**headers: str) -> Request:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "PUT", "headers": named})


@pytest.mark.store
def test_uploads_are_deferred_while_too_much_waits(tmp_path: Path, known: KnownDumps) -> None:
    known.accept("e" * 64, "stated", 1 << 16)
    one = _request(content_length="1")
    assert refusal(tmp_path, known, one, backlog_bytes=1 << 16) == (429, "backlog", "5")


@pytest.mark.store
def test_uploads_are_deferred_while_too_many_wait_however_small(
    tmp_path: Path, known: KnownDumps
) -> None:
    admission = Admission(tmp_path, ServiceSettings(free_bytes=0), known)
    for number in range(9_999):
        known.accept(f"{number:064x}", "stated", 1)
    with admission.admit(_request(), 1 << 30):
        known.accept("f" * 64, "stated", 1)
    assert refusal(tmp_path, known) == (429, "backlog", "5")


@pytest.mark.store
def test_one_upload_may_be_larger_than_all_that_may_wait(tmp_path: Path, known: KnownDumps) -> None:
    admission = Admission(tmp_path, ServiceSettings(free_bytes=0, backlog_bytes=1 << 16), known)
    with admission.admit(_request(content_length=str(1 << 17)), 1 << 30):
        assert admission.uploads == 1


@pytest.mark.store
@pytest.mark.parametrize(
    ("headers", "most"),
    [
        ({"content_length": "1000"}, 100),
        ({"content_length": str(1 << 24)}, 64),
        ({}, 64),
        ({"content_length": "1000", "content_encoding": "zstd"}, 64),
    ],
)
def test_uploads_are_deferred_while_too_much_of_others_is_in_memory(
    tmp_path: Path, known: KnownDumps, headers: dict[str, str], most: int
) -> None:
    settings = ServiceSettings(concurrent_uploads=100, free_bytes=0, backlog_bytes=1 << 40)
    admission = Admission(tmp_path, settings, known)
    with ExitStack() as uploads:
        for _ in range(most):
            uploads.enter_context(admission.admit(_request(**headers), 1 << 30))
        with pytest.raises(Problem, match="uploads are under way") as found:
            uploads.enter_context(admission.admit(_request(**headers), 1 << 30))
    assert (found.value.status_code, found.value.reason) == (429, "busy")
    with admission.admit(_request(**headers), 1 << 30):
        assert admission.uploads == 1


def test_a_refused_upload_is_a_problem_over_http(tmp_path: Path) -> None:
    with serving(tmp_path / "store", free_bytes=1 << 60) as client:
        answer = put(client, new_dump())

    assert (answer.status_code, answer.json()["reason"]) == (507, "disk_low")
    assert answer.headers["Retry-After"] == "30"


@pytest.mark.parametrize(
    ("writes", "memory_bytes"),
    [("os.fdatasync", 1 << 20), ("warehouse.inbox.spools.write_all", 10)],
    ids=["small", "large"],
)
def test_a_full_disk_is_told_and_the_dump_is_accepted_once_there_is_room(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, writes: str, memory_bytes: int
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    dump = new_dump()
    with monkeypatch.context() as full:
        full.setattr("warehouse.inbox.spools.MEMORY_BYTES", memory_bytes)
        full.setattr(writes, fail)
        answer = put(client, dump)
    assert (answer.status_code, answer.json()["reason"]) == (507, "disk_full")

    assert put(client, dump).status_code == 201
    assert await_state(client, dump)["state"] == "indexed"
