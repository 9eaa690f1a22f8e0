from __future__ import annotations

import errno
import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from cli.serve.http.problems import Problem
from cli.serve.settings import ServiceSettings
from cli.serve.uploads.admission import Admission
from tests.support.service import serving
from tests.support.stored_dumps import Stored
from tests.support.tiny_dumps import tiny_dump
from tests.support.uploads import await_state, put
from warehouse.inbox.known_dumps import KnownDumps


def test_uploads_are_put_off_while_too_much_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path / "store", backlog_bytes=1 << 16) as client:
        monkeypatch.setattr(KnownDumps, "begin_draining", lambda _: None)
        assert put(client, tiny_dump(1)).status_code == 201
        client.app.state.service.consumer.known.accept("f" * 64, "stated", 1 << 16)  # type: ignore[attr-defined]

        answer = put(client, tiny_dump(2))

    assert (answer.status_code, answer.json()["reason"]) == (429, "backlog")
    assert answer.headers["Retry-After"] == "5"


def test_uploads_are_put_off_while_too_many_wait_however_small(tmp_path: Path) -> None:
    known = KnownDumps(Stored().index())
    admission = Admission(tmp_path, ServiceSettings(free_bytes=0), known)
    for number in range(9_999):
        known.accept(f"{number:064x}", "stated", 1)
    limits = {"is_packed": False, "most_bytes": 1 << 30}
    with admission.admit(0, **limits):
        known.accept("f" * 64, "stated", 1)
    with pytest.raises(Problem, match="10,000 dumps wait") as told, admission.admit(9, **limits):
        pass
    assert (told.value.status_code, told.value.reason) == (429, "backlog")


def test_one_upload_may_be_larger_than_what_may_wait(tmp_path: Path) -> None:
    with serving(tmp_path / "store", backlog_bytes=1 << 16) as client:
        dump = tiny_dump(1) + bytes(1 << 17)

        assert put(client, dump).json()["reason"] == "bad_size_prefix"


def test_uploads_are_refused_while_the_disk_is_low(tmp_path: Path) -> None:
    with serving(tmp_path / "store", free_bytes=1 << 60) as client:
        answer = put(client, tiny_dump(1))

    assert (answer.status_code, answer.json()["reason"]) == (507, "disk_low")
    assert "Retry-After" in answer.headers


def test_a_disk_that_is_full_is_said_and_what_comes_when_it_is_not_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with serving(tmp_path / "store") as client:
        with monkeypatch.context() as full:
            full.setattr(os, "fdatasync", fail)
            answer = put(client, tiny_dump(1))
        assert (answer.status_code, answer.json()["reason"]) == (507, "disk_full")

        assert put(client, tiny_dump(1)).status_code == 201
        assert await_state(client, tiny_dump(1))["state"] == "indexed"


def test_a_large_dump_that_finds_the_disk_full_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("warehouse.inbox.spools.MEMORY_BYTES", 10)
    monkeypatch.setattr("warehouse.inbox.spools.write_all", fail)
    with serving(tmp_path / "store") as client:
        answer = put(client, tiny_dump(1))

    assert (answer.status_code, answer.json()["reason"]) == (507, "disk_full")


@pytest.mark.parametrize(
    ("declared", "is_packed", "most"),
    [(1000, False, 100), (1 << 24, False, 64), (0, False, 64), (1000, True, 64)],
)
def test_uploads_are_put_off_while_too_much_of_others_is_in_memory(
    tmp_path: Path, declared: int, is_packed: bool, most: int
) -> None:
    settings = ServiceSettings(concurrent_uploads=100, free_bytes=0, backlog_bytes=1 << 40)
    admission = Admission(tmp_path, settings, KnownDumps(Stored().index()))
    admit = partial(admission.admit, declared, is_packed=is_packed, most_bytes=1 << 30)
    with ExitStack() as uploads:
        for _ in range(most):
            uploads.enter_context(admit())
        with pytest.raises(Problem, match="uploads are under way") as told:
            uploads.enter_context(admit())
    assert (told.value.status_code, told.value.reason) == (429, "busy")
    with admit():
        assert admission.uploads == 1
