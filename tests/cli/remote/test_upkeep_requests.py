from __future__ import annotations

import json

import pyarrow as pa
import pytest

from tests.support.stand_in_service import Refused, arrow_answer, stand_in_service
from tracehouse.cli.remote import RemoteStore
from tracehouse.cli.upkeep.task import parameters_of
from tracehouse.cli.upkeep.tasks import Amend
from tracehouse.ingest.errors import ServiceError
from tracehouse.ingest.remote import ServiceConnection
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.load.summary import IngestProgress

_PARAMETERS = parameters_of(Amend(set=("build=b2",), where={"build": "b1"}, yes=True))


def test_a_long_task_is_asked_for_until_it_is_done() -> None:
    table, seen = pa.table({"a": [1]}), list[IngestProgress]()
    with stand_in_service() as service:
        state = {"id": "j1", "task": "amend", "done": 3, "total": 9}
        service.answers["/v1/upkeep/j1"] = arrow_answer(table)
        service.answers["/v1/upkeep/amend"] = "application/json", json.dumps(state).encode()
        service.statuses["/v1/upkeep/amend"] = 202
        with ServiceConnection(service.url) as connection:
            assert RemoteStore(connection).run_task("amend", _PARAMETERS, seen.append) == table
    post, get = service.asked
    assert (post.method, post.path, get.path) == ("POST", "/v1/upkeep/amend", "/v1/upkeep/j1")
    parameters = {"set": ["build=b2"], "where": {"build": "b1"}, "dump": None, "yes": True}
    assert json.loads(post.body) == parameters
    assert len(post.headers["Idempotency-Key"]) == 32
    assert [one[:2] for one in seen] == [(3, 9)]


@pytest.mark.parametrize(("status", "error"), [(400, QueryError), (403, ServiceError)])
def test_a_refusal_is_the_error_that_the_store_would_raise(
    status: int, error: type[Exception]
) -> None:
    with stand_in_service() as service, ServiceConnection(service.url) as connection:
        service.refusals.append(Refused(status, detail="no such dump"))
        with pytest.raises(error, match="no such dump"):
            RemoteStore(connection).run_task("amend", _PARAMETERS)
