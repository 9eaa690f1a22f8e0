from __future__ import annotations

import math
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.nightly_farm import nightly_store, record_build
from tests.support.service import judge_here, service_of, serving
from tests.support.waiting import until
from tracehouse import Warehouse
from tracehouse.cli.serve import nights as module
from tracehouse.cli.serve.nights import Nights
from tracehouse.queries.report.nightly import NightKey, nightly_report
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.errors import QueryError, StoreError
from tracehouse.warehouse.inbox.records import pack_delivery
from tracehouse.warehouse.upkeep.nights import JudgedNight


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return Path(shutil.copytree(nightly_store(), tmp_path / "store"))


def judged(store: Warehouse) -> list[str]:
    rows = store.sql("SELECT build FROM judged_nights ORDER BY build").to_pylist()
    return [row["build"] for row in rows]


def wanted(store: Path, head: str | None = None) -> dict[str, Any]:
    with Warehouse.open(store, read_only=True) as warehouse:
        return nightly_report(warehouse, Settings(), head=head).model_dump(mode="json")


class HeldJudge:
    """Judges nights in this process, one more each time that it is let go on.

    Attributes:
        builds: The builds of the nights that were begun.
        error: What a night fails with.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.builds: list[str] = []
        self.error: Exception | None = None
        self._may_end = threading.Semaphore(0)
        monkeypatch.setattr(Nights, "_judge", lambda nights, build: self._judge(nights, build))

    def go_on(self, times: int = 1) -> None:
        self._may_end.release(times)

    def _judge(self, nights: Nights, build: str) -> JudgedNight:
        night = judge_here(nights, build)  # of the data at the beginning
        self.builds.append(build)
        assert self._may_end.acquire(timeout=60)
        if self.error:
            raise self.error
        return night


@contextmanager
def held(
    store: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> Iterator[tuple[TestClient, HeldJudge]]:
    """A service whose nights are judged when the test says so, and which never settles."""
    judge = HeldJudge(monkeypatch)
    with serving(store, has_judges=True, settle_seconds=3600, **settings) as client:
        try:
            yield client, judge
        finally:
            judge.go_on(100)


def bring_in(client: TestClient, number: int, device: str) -> None:
    """Have the dumps of one more device indexed."""
    service = service_of(client)
    before, dumps = service.consumer.indexed.total(), record_build(number, device=device)
    service.acceptor.accept(list(map(pack_delivery, dumps)))
    until(lambda: service.consumer.indexed.total() == before + len(dumps))


def await_nights(service: Any, builds: list[str]) -> None:
    def look() -> bool:
        with service.reader() as reader:
            return judged(reader) == builds

    until(look)


def test_a_report_is_made_once(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = wanted(store, "b9")
    with serving(store, has_judges=True, settle_seconds=3600) as client:
        address = "/v1/report?head=b9&format=json"
        assert client.get(address).json() == report
        await_nights(service_of(client), ["b9"])
        monkeypatch.setattr(module, "ChildProcess", pytest.fail)
        assert client.get(address).json() == report
        assert "b9" in client.get("/regressions?head=b9").text


@pytest.mark.slow
def test_a_page_shows_the_stored_night_and_has_newer_data_judged_behind(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(store, monkeypatch) as (client, judge):
        judge.go_on()
        assert "Regressions: b11" in client.get("/regressions").text
        await_nights(service_of(client), ["b11"])
        nights = service_of(client).nights
        assert "since" not in client.get("/regressions").text.partition("<main")[2][:900]

        bring_in(client, 11, "another")
        for _ in range(3):  # it is not judged again before a pause, whoever looks
            text = client.get("/regressions").text
            assert "Regressions: b11" in text
            assert "8 dumps have arrived since and are not judged yet." in text
        assert judge.builds == ["b11"]
        nights._due.clear()
        until(lambda: judge.builds == ["b11", "b11"])
        bring_in(client, 12, "another")  # while it is being judged
        text = client.get("/regressions").text
        assert "16 dumps have arrived since, and the night of b12 is not judged yet." in text
        judge.go_on(2)
        until(lambda: "Regressions: b12" in client.get("/regressions").text)
        assert judge.builds == ["b11", "b11", "b12"]


@pytest.mark.slow
def test_requests_for_a_build_share_the_next_judgement(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(store, monkeypatch) as (client, judge), ThreadPoolExecutor(9) as threads:

        def ask() -> Any:
            return threads.submit(lambda: client.get("/v1/report?format=json").json())

        first = ask()
        until(lambda: judge.builds == ["b11"])
        others = []
        for number in range(8):  # more than threads that answer questions
            bring_in(client, 11, f"phone-{number}")
            others.append(ask())
            until(lambda number=number: waiting(client) == number + 1)
        assert client.get("/v1/queries/coverage").status_code == 200
        judge.go_on(2)
        counts = [one.result()["coverage"]["dump_count"] for one in (first, *others)]
        assert counts == [counts[0], *[counts[0] + 8 * len(others)] * len(others)]
        assert judge.builds == ["b11", "b11"]


@pytest.mark.slow
def test_a_report_has_all_dumps_that_were_accepted_before_it(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(store, settle_seconds=3600, batch_dumps=1000, batch_seconds=3600) as client:
        service = service_of(client)
        until(lambda: service.consumer.is_caught_up)
        service.acceptor.accept(list(map(pack_delivery, record_build(12))))
        assert client.get("/v1/report?format=json").json()["head"] == "b12"
        monkeypatch.setattr("tracehouse.cli.serve.answers.reads.WAITING_SHARE", 0)
        began, may_end = threading.Event(), threading.Event()
        service.consumer.perform(lambda: (began.set(), may_end.wait(60)))
        assert began.wait(60)
        service.acceptor.accept(list(map(pack_delivery, record_build(13))))
        answer = client.get("/v1/report")
        may_end.set()
        assert (answer.status_code, answer.json()["reason"]) == (503, "indexing")


def waiting(client: TestClient) -> int:
    """Requests that wait for the next judgement."""
    nights = service_of(client).nights
    return sum(len(one.night._done_callbacks) for one in nights._wanted.values())


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
    monkeypatch.setattr("tracehouse.cli.serve.answers.reads.WAITING_SHARE", 0)
    with held(store, monkeypatch) as (client, judge):
        monkeypatch.setattr("tracehouse.cli.serve.page.site.WAIT_SECONDS", 0)
        for view in ("/regressions", "/explain?group=0000"):
            text = client.get(view).text
            assert "The night of b11 is being judged. This page loads again until it is." in text
            assert '<meta http-equiv="refresh" content="3">' in text
        answer = client.get("/v1/report")
        assert (answer.status_code, answer.json()["reason"]) == (503, "judging")
        judge.go_on()
        await_nights(service_of(client), ["b11"])
        assert "is being judged" not in client.get("/regressions").text
        assert judge.builds == ["b11"]


@pytest.mark.slow
def test_a_process_that_dies_is_an_error_and_the_next_request_tries_again(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: Callable[..., Any] = module.ChildProcess

    def killed(*arguments: Any, **options: Any) -> Any:
        child = started(*arguments, **options)
        child.process.kill()
        return child

    with serving(store, has_judges=True, settle_seconds=3600) as client:
        with monkeypatch.context() as patched:
            patched.setattr(module, "ChildProcess", killed)
            answer = client.get("/v1/report")
        assert answer.status_code == 503
        assert answer.json()["detail"].endswith("the process that judges it died of SIGKILL")
        assert client.get("/v1/report").json()["detail"] == answer.json()["detail"]
        monkeypatch.setattr(module, "_FAILED_SECONDS", 0)
        assert client.get("/v1/report?format=json").json() == wanted(store)
    assert "the night cannot be judged" in capsys.readouterr().err


@pytest.mark.slow
def test_a_page_that_loads_again_says_why_its_night_failed(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(store, monkeypatch) as (client, judge):
        monkeypatch.setattr("tracehouse.cli.serve.page.site.WAIT_SECONDS", 0)
        assert "is being judged" in client.get("/regressions").text
        until(lambda: judge.builds == ["b11"])
        judge.error = QueryError("not enough memory")
        judge.go_on()
        until(lambda: client.get("/regressions").status_code == 400)
        bring_in(client, 11, "another")  # dumps that arrive meanwhile do not hide the error
        assert "not enough memory" in client.get("/regressions").text
        assert judge.builds == ["b11"]
        monkeypatch.setattr(module, "_FAILED_SECONDS", 0)
        judge.error = None
        judge.go_on()
        until(lambda: "Regressions: b11" in client.get("/regressions").text)


@pytest.mark.slow
def test_a_night_is_shown_before_it_is_stored_and_judged_once(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(store, monkeypatch) as (client, judge):
        service, is_over = service_of(client), threading.Event()
        keep = Warehouse.keep_night

        def keep_late(warehouse: Warehouse, night: JudgedNight) -> None:
            assert is_over.wait(60)
            keep(warehouse, night)

        monkeypatch.setattr(Warehouse, "keep_night", keep_late)
        judge.go_on()
        assert "Regressions: b11" in client.get("/regressions").text
        assert client.get("/v1/report?format=json").json()["head"] == "b11"
        service.nights._judge_last()
        assert judge.builds == ["b11"]
        is_over.set()
        await_nights(service, ["b11"])
        until(lambda: not service.nights._begun)


@pytest.mark.slow
def test_the_night_that_was_asked_for_last_is_judged_first_unless_somebody_waits(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(store, monkeypatch) as (client, _):
        nights = service_of(client).nights
        monkeypatch.setattr(nights._changed, "notify", lambda: None)  # nothing begins
        builds = ("b1", "b2", "b3", "b1")
        with nights._changed:  # which the thread that judges needs
            for build in builds:
                nights._want(NightKey(build, "", ""), is_urgent=False)
            assert nights._next() is nights._wanted["b1", ""]
            nights._due["b1", ""] = math.inf
            assert nights._next() is nights._wanted["b3", ""]
            nights._want(NightKey("b2", "", ""), is_urgent=True)
            assert nights._next() is nights._wanted["b2", ""]
            nights._wanted.clear()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_requests_for_a_night_fail_at_once_after_the_judging_thread_died(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(store, monkeypatch) as (client, judge):
        judge.error = ZeroDivisionError()
        judge.go_on()
        assert client.get("/v1/report").status_code == 500
        answer = client.get("/v1/report?head=b9")
        assert (answer.status_code, answer.json()["reason"]) == (503, "store")
        assert "no night is judged any more" in answer.json()["detail"]


@pytest.mark.slow
def test_a_service_that_ends_does_not_wait_for_a_night(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: Callable[..., Any] = module.ChildProcess
    children: list[Any] = []

    def stopped(*arguments: Any, **options: Any) -> Any:
        child = started(*arguments, **options)
        child.process.send_signal(signal.SIGSTOP)  # it never judges anything
        children.append(child)
        return child

    monkeypatch.setattr(module, "ChildProcess", stopped)
    with serving(store, has_judges=True, settle_seconds=3600) as client:
        monkeypatch.setattr("tracehouse.cli.serve.page.site.WAIT_SECONDS", 0)
        assert "is being judged" in client.get("/regressions").text
        until(lambda: bool(children))
    assert children[0].process.returncode == -signal.SIGKILL
