from __future__ import annotations

import errno
import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.support.service import serving
from tests.support.stored_dumps import Stored
from tests.support.uploads import await_state, new_dump, send
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.cli.serve.uploads.admission import Admission
from tracehouse.warehouse.inbox.accept import KnownDumps

LARGE = 1 << 30


@pytest.fixture
def known() -> KnownDumps:
    """The known dumps of an empty store."""
    return KnownDumps(Stored().index())


def refusal(
    admission: Admission, declared: int, *, is_packed: bool = False
) -> tuple[int, str, str]:
    """Status, reason and Retry-After with which an upload is refused."""
    upload = admission.admit(declared, is_packed=is_packed, most_bytes=LARGE)
    with pytest.raises(Problem) as found, upload:
        pass
    headers = found.value.headers or {}
    return found.value.status_code, found.value.reason, headers.get("Retry-After", "")


@pytest.mark.store
def test_uploads_are_deferred_while_too_much_waits(tmp_path: Path, known: KnownDumps) -> None:
    admission = Admission(tmp_path, ServiceSettings(free_bytes=0, backlog_bytes=1 << 16), known)
    with admission.admit(LARGE, is_packed=False, most_bytes=LARGE):  # more than may wait, alone
        assert refusal(admission, 1) == (429, "backlog", "5")
    known.accept("e" * 64, "stated", 1)
    assert refusal(admission, 1 << 16) == (429, "backlog", "5")
    with admission.admit((1 << 16) - 1, is_packed=False, most_bytes=LARGE):
        assert admission.uploads == 1


@pytest.mark.store
def test_uploads_are_deferred_while_too_many_wait_however_small(
    tmp_path: Path, known: KnownDumps
) -> None:
    admission = Admission(tmp_path, ServiceSettings(free_bytes=0), known)
    for number in range(9_999):
        known.accept(f"{number:064x}", "stated", 1)
    with admission.admit(0, is_packed=False, most_bytes=LARGE):
        known.accept("f" * 64, "stated", 1)
    assert refusal(admission, 0) == (429, "backlog", "5")


@pytest.mark.store
def test_uploads_are_deferred_while_the_disk_is_low(tmp_path: Path, known: KnownDumps) -> None:
    admission = Admission(tmp_path, ServiceSettings(free_bytes=1 << 60), known)
    assert refusal(admission, 1) == (507, "disk_low", "30")


@pytest.mark.store
@pytest.mark.parametrize(
    ("declared", "is_packed", "most"),
    [(1000, False, 100), (1 << 24, False, 64), (0, False, 64), (1000, True, 64)],
)
def test_uploads_are_deferred_while_too_much_of_others_is_in_memory(
    tmp_path: Path, known: KnownDumps, declared: int, is_packed: bool, most: int
) -> None:
    settings = ServiceSettings(concurrent_uploads=100, free_bytes=0, backlog_bytes=1 << 40)
    admission = Admission(tmp_path, settings, known)
    admit = partial(admission.admit, declared, is_packed=is_packed, most_bytes=LARGE)
    with ExitStack() as uploads:
        for _ in range(most):
            uploads.enter_context(admit())
        assert refusal(admission, declared, is_packed=is_packed) == (429, "busy", "1")
    with admit():
        assert admission.uploads == 1


def test_a_refused_upload_is_a_problem_over_http(tmp_path: Path) -> None:
    with serving(tmp_path / "store", free_bytes=1 << 60) as client:
        answer = send(client, new_dump())

    assert (answer.status_code, answer.json()["reason"]) == (507, "disk_low")
    assert answer.headers["Retry-After"] == "30"


@pytest.mark.parametrize(
    ("writes", "memory_bytes"),
    [("os.fdatasync", 1 << 20), ("tracehouse.warehouse.inbox.spools.write_all", 10)],
    ids=["small", "large"],
)
def test_a_full_disk_is_reported_and_dumps_are_accepted_once_there_is_room(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, writes: str, memory_bytes: int
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    dump = new_dump()
    with monkeypatch.context() as full:
        full.setattr("tracehouse.warehouse.inbox.spools.MEMORY_BYTES", memory_bytes)
        full.setattr(writes, fail)
        answer = send(client, dump)
    assert (answer.status_code, answer.json()["reason"]) == (507, "disk_full")

    assert send(client, dump).status_code == 201
    assert await_state(client, dump)["state"] == "indexed"
