from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.serve.answers.questions import asking
from cli.serve.http.problems import Problem
from tests.support.service import serving
from warehouse import Warehouse

DUMPS = "/v1/queries/dumps"


def test_what_takes_too_long_is_interrupted_and_harms_nobody(tmp_path: Path) -> None:
    with serving(tmp_path / "store", query_seconds=0.2) as client:
        service = client.app.state.service  # type: ignore[attr-defined]
        with pytest.raises(Problem, match=r"more than 0\.2 s") as caught, asking(service) as reader:
            reader.sql("SELECT count(*) FROM range(1000000000000)")
        assert caught.value.status_code == 504
        service.settings = service.settings.model_copy(update={"query_seconds": 60.0})
        assert client.get(DUMPS).json() == []


def test_pages_and_queries_take_turns_so_that_others_are_answered_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path / "store") as client, ThreadPoolExecutor(6) as pool:
        service = client.app.state.service  # type: ignore[attr-defined]
        reader, there, is_over = service.reader, threading.Semaphore(0), threading.Event()

        @contextmanager
        def slow_reader() -> Iterator[Warehouse]:
            there.release()
            is_over.wait(30)
            with reader() as opened:
                yield opened

        monkeypatch.setattr(service, "reader", slow_reader)
        asked = [pool.submit(client.get, path) for path in ("/dumps", DUMPS) * 3]
        assert all(there.acquire(timeout=30) for _ in range(4))
        assert not there.acquire(timeout=0.2)
        assert client.get("/metrics").status_code == 200
        is_over.set()
        assert {one.result(30).status_code for one in asked} == {200}
