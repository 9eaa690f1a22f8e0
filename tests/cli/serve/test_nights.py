from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.serve import nights as module
from queries.report.nightly import nightly_report
from queries.report.settings import Settings
from tests.support.nightly_farm import nightly_store, record_build
from tests.support.service import service_of, serving
from tests.support.waiting import until
from warehouse import Warehouse
from warehouse.errors import QueryError, StoreError
from warehouse.inbox.records import pack_delivery


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return Path(shutil.copytree(nightly_store(), tmp_path / "store"))


def judged(store: Warehouse) -> list[str]:
    rows = store.sql("SELECT build FROM judged_nights ORDER BY build").to_pylist()
    return [row["build"] for row in rows]


def wanted(store: Path, head: str | None = None) -> dict[str, Any]:
    with Warehouse.open(store, read_only=True) as warehouse:
        return nightly_report(warehouse, Settings(), head=head).model_dump(mode="json")


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """No night may be judged in this process."""
    monkeypatch.setattr(module, "nightly_report", pytest.fail)


def await_nights(service: Any, builds: list[str]) -> None:
    def look() -> bool:
        with service.reader() as reader:
            return judged(reader) == builds

    until(look)


@pytest.mark.parametrize("is_large", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_report_is_made_once(
    store: Path, monkeypatch: pytest.MonkeyPatch, is_large: bool
) -> None:
    report = wanted(store, "b9")
    if is_large:
        monkeypatch.setattr(module, "_FEW_DUMPS", 0)
        forbid(monkeypatch)
    with serving(store, settle_seconds=3600) as client:
        address = "/v1/report?head=b9&format=json"
        assert client.get(address).json() == report
        await_nights(service_of(client), ["b9"])
        forbid(monkeypatch)
        monkeypatch.setattr(module, "ChildProcess", pytest.fail)
        assert client.get(address).json() == report
        assert "b9" in client.get("/regressions?head=b9").text


@pytest.mark.slow
def test_the_last_night_is_judged_once_no_more_dumps_arrive(store: Path) -> None:
    with serving(store, settle_seconds=0.5) as client:
        service = service_of(client)
        await_nights(service, ["b11"])
        service.acceptor.accept(list(map(pack_delivery, record_build(12))))
        await_nights(service, ["b11", "b12"])
    report = wanted(store)
    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.sql("SELECT summary FROM judged_nights ORDER BY build").to_pylist()
    assert rows[1]["summary"] == report["summary"]


@pytest.mark.slow
def test_a_night_that_cannot_be_read_at_the_start_keeps_no_later_one_from_being_judged(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise QueryError("tracehouse.toml: broken")

    monkeypatch.setattr(module, "last_night", fail)
    with serving(store, settle_seconds=0.5) as client:
        await_nights(service_of(client), ["b11"])
    assert "the last night cannot be read: tracehouse.toml: broken" in capsys.readouterr().err


@pytest.mark.slow
def test_a_report_that_cannot_be_stored_is_noted(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("store", "the disk is full")

    monkeypatch.setattr(Warehouse, "keep_night", fail)
    with serving(store, settle_seconds=3600) as client:
        assert client.get("/v1/report?format=json").json() == wanted(store)
        until(lambda: "a report cannot be stored" in capsys.readouterr().err)


@pytest.mark.slow
def test_a_page_says_that_a_night_is_being_judged_and_loads_again(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FEW_DUMPS", 0)
    monkeypatch.setattr("cli.serve.page.regressions._WAIT_SECONDS", 0)
    monkeypatch.setattr("cli.serve.answers.reads.WAITING_SHARE", 0)
    with serving(store, settle_seconds=3600) as client:
        text = client.get("/regressions").text
        assert "the night of b11 is being judged: ask again in a minute" in text
        assert '<meta http-equiv="refresh" content="10">' in text
        answer = client.get("/v1/report")
        assert (answer.status_code, answer.json()["reason"]) == (503, "judging")
        await_nights(service_of(client), ["b11"])
        assert "is being judged" not in client.get("/regressions").text


@pytest.mark.slow
def test_a_process_that_dies_is_an_error_and_the_next_request_tries_again(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_FEW_DUMPS", 0)
    started: Callable[..., Any] = module.ChildProcess

    def killed(*arguments: Any, **options: Any) -> Any:
        child = started(*arguments, **options)
        child.process.kill()
        return child

    with serving(store, settle_seconds=3600) as client:
        with monkeypatch.context() as patched:
            patched.setattr(module, "ChildProcess", killed)
            answer = client.get("/v1/report")
        assert answer.status_code == 503
        assert answer.json()["detail"].endswith("the process that judges it died of SIGKILL")
        assert client.get("/v1/report?format=json").json() == wanted(store)
    assert "the night cannot be judged" in capsys.readouterr().err
