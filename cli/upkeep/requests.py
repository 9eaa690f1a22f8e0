"""Tasks as requests to a service, and their answers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from tracehouse.cli.remote.questions import RemoteStore
from tracehouse.cli.upkeep.store_task import Task
from tracehouse.warehouse.load.summary import IngestProgress

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.ingest.remote.connection import ServiceConnection

PATH = "/v1/upkeep"
KEY_HEADER = "Idempotency-Key"


def request_task(
    connection: ServiceConnection,
    task: Task,
    progress: Callable[[IngestProgress], None] | None = None,
) -> pa.Table:
    """The rows of a task that a service does; waits until it is done.

    A refusal of the task raises QueryError, any other failure ServiceError.
    """
    service, key = RemoteStore(connection), {KEY_HEADER: uuid.uuid4().hex}
    body = json.dumps(asdict(cast("Any", task))).encode()
    answer = service.ask("POST", f"{PATH}/{task.name}", body, headers=key)
    while answer.status == HTTPStatus.ACCEPTED:
        job = json.loads(answer.body)
        if progress and job["total"]:
            progress(IngestProgress(job["done"], job["total"], 0, 0))
        answer = service.ask("GET", f"{PATH}/{job['id']}")
    return service.table_of(answer, f"{PATH}/{task.name}")
