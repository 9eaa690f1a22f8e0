from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from tests.support.service_process import ServiceProcess
from tests.support.stores import MANIFEST
from tests.support.tiny_dumps import tiny_dump
from tests.support.waiting import until
from tracehouse import (
    AsyncClient,
    Client,
    OutgoingDump,
    QueryError,
    Questions,
    Receipt,
    ServiceError,
    Warehouse,
)


def dumps_of(build: str, numbers: range) -> list[OutgoingDump]:
    stated = json.dumps({**MANIFEST, "build": build})
    return [OutgoingDump(tiny_dump(number), stated) for number in numbers]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the service's store."""
    return tmp_path_factory.mktemp("served") / "store"


@pytest.fixture(scope="module")
def url(store: Path) -> Iterator[str]:
    """The address of a service with three dumps of each of two builds."""
    with ServiceProcess(store, batch_seconds=0.1, snapshot_seconds=1) as service:
        with Client(service.url) as client:
            results = client.upload([*dumps_of("b1", range(3)), *dumps_of("b2", range(3, 6))])
            assert [type(one) for one in results] == [Receipt] * 6
            until(lambda: client.query("dumps").num_rows == 6)
        yield service.url


def test_each_dump_has_a_receipt_or_its_error(url: str) -> None:
    broken = OutgoingDump(b"no dump" * 9, json.dumps(MANIFEST))
    with Client(url) as client:
        known, refused = client.upload(iter([*dumps_of("b1", range(1)), broken]))
    assert isinstance(known, Receipt)
    assert not known.is_new
    assert isinstance(refused, ServiceError)
    assert (refused.status, refused.reason) == (400, "bad_identifier")


def test_more_dumps_than_a_request_may_have_go_in_several(url: str) -> None:
    with Client(url) as client:
        results = client.upload(dumps_of("b1", range(1)) * 257)
    assert [isinstance(one, Receipt) and one.is_new for one in results] == [False] * 257


def test_answers_are_tables_and_texts(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    with Client(url) as client:
        assert client.query("dumps", build="b1").num_rows == 3
        assert "verdict" in client.compare("b1", "b2").column_names
        assert "first_bad" in client.query("nightly_verdicts", head="b2").column_names
        assert client.report("b2", form="markdown").startswith("#")
        assert client.schema().num_rows > 0
        assert client.status()["dumps"].to_pylist() == [6]
        until(lambda: client.sql("SELECT 1 AS one").to_pylist() == [{"one": 1}])
        assert client.sql("SELECT $a AS a", {"a": 7})["a"].to_pylist() == [7]
    assert capfd.readouterr().err == ""


def test_a_store_and_its_service_give_the_same_answers(url: str, store: Path) -> None:
    def ask(asked: Questions) -> list[object]:
        rows = "SELECT device, build, count(*) AS n FROM named_dumps GROUP BY ALL ORDER BY ALL"
        return [
            asked.query("percentiles", build="b1").to_pylist(),
            asked.query("nightly_verdicts").to_pylist(),
            asked.compare("b1", "b2").to_pylist(),
            asked.report("b2"),
            asked.report(base="b1", head="b2", form="json"),
            asked.sql(rows).to_pylist(),
            asked.schema().to_pylist(),
            [asked.status()[name].to_pylist() for name in ("dumps", "problem", "devices")],
        ]

    with Client(url) as client, Warehouse.open(store) as warehouse:
        until(lambda: client.sql("SELECT count(*) AS n FROM dumps")["n"].to_pylist() == [6])
        until(lambda: Warehouse.open(store).query("dumps").num_rows == 6)  # a snapshot's
        assert ask(client) == ask(warehouse)
        shown = client.compare("b1", "b2")._repr_html_()  # the component of changes, as a page
        assert shown.startswith("<iframe srcdoc=")
        assert "tracehouse compare b1 b2" in shown


def test_a_faulty_query_and_an_unreachable_service_raise_different_errors(url: str) -> None:
    with Client(url) as client, pytest.raises(QueryError, match="no query"):
        client.query("nonsense")
    with Client("http://127.0.0.1:9", retry_seconds=0) as client, pytest.raises(ServiceError):
        client.status()


def test_coroutines_get_the_same_answers_at_once(url: str) -> None:
    async def ask() -> list[int]:
        async with AsyncClient(url, connections=2) as client:
            results = await client.upload(dumps_of("b2", range(3, 6)))
            assert [isinstance(one, Receipt) for one in results] == [True] * 3
            assert "verdict" in (await client.compare("b1", "b2")).column_names
            assert (await client.report("b2")).startswith("#")
            assert (await client.schema()).num_rows > 0
            assert (await client.sql("SELECT 1 AS one"))["one"].to_pylist() == [1]
            questions = [client.query("dumps", build=build) for build in ("b1", "b2", "b3")]
            *answers, status = await asyncio.gather(*questions[:2], client.status())
            with pytest.raises(QueryError):
                await questions[2]
            return [one.num_rows for one in (*answers, status)]

    assert asyncio.run(ask()) == [3, 3, 1]


def test_a_coroutine_that_is_cancelled_disturbs_no_other(url: str) -> None:
    async def ask() -> list[object]:
        async with AsyncClient(url, connections=2) as client:
            text = "SELECT count(*) + $n AS n FROM range(1000000)"
            tasks = [asyncio.create_task(client.sql(text, {"n": n})) for n in range(6)]
            await asyncio.sleep(0)  # the first ones begin
            for task in tasks[::2]:
                task.cancel()
            return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(ask())
    assert all(isinstance(one, asyncio.CancelledError) for one in found[::2])
    assert [one["n"].to_pylist() for one in found[1::2]] == [[1000001], [1000003], [1000005]]


def test_a_parameter_that_json_cannot_hold_is_refused(url: str) -> None:
    with (
        Client(url) as client,
        pytest.raises(QueryError, match="wanted texts, numbers"),
    ):
        client.sql("SELECT $a", {"a": date(2026, 11, 27)})


def test_a_malformed_service_url_is_refused_at_once() -> None:
    with pytest.raises(ServiceError, match="wanted http://HOST:PORT"):
        AsyncClient("farm")
