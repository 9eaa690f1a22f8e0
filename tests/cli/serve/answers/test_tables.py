from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import pyarrow as pa
import pytest
from starlette.requests import ClientDisconnect, Request

from tracehouse.cli.serve.http.responses import Page, SpooledResponse, table_answer
from tracehouse.queries.formats import Format

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("version", ["2.3", "2.4"])
def test_the_file_of_an_answer_is_closed_when_the_client_goes_away(version: str) -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if version == "2.4":
            raise OSError("gone")
        await anyio.sleep_forever()

    async def answer(response: SpooledResponse) -> None:
        scope = {"type": "http", "method": "GET", "asgi": {"spec_version": version}}
        with suppress(ClientDisconnect):
            await response(scope, receive, send)

    file = io.BytesIO()
    file.write(bytes(1 << 20))
    anyio.run(answer, SpooledResponse(file, "text/csv", {}))
    assert file.closed


@pytest.mark.parametrize(
    ("page", "values", "read", "has_more"),
    [
        (Page(None, 0), [0, 1, 2, 3, 4, 5], 3, False),
        (Page(None, 3), [3, 4, 5], 3, False),
        (Page(2, 0), [0, 1], 2, True),
        (Page(3, 1), [1, 2, 3], 3, True),
        (Page(2, 4), [4, 5], 3, False),
        (Page(9, 9), [], 3, False),
    ],
)
def test_a_page_reads_only_the_batches_up_to_its_end_and_whether_rows_follow(
    page: Page, values: list[int], read: int, has_more: bool
) -> None:
    def compute() -> Iterator[pa.RecordBatch]:
        for start in (0, 2, 4):
            counted.append(start)
            yield pa.RecordBatch.from_pydict({"n": [start, start + 1]})

    counted: list[int] = []
    rows = pa.RecordBatchReader.from_batches(pa.schema({"n": pa.int64()}), compute())
    request = Request({"type": "http", "path": "/q", "query_string": b"", "headers": []})
    response = table_answer(request, rows, Format.JSON, page=page)
    assert ("Link" in response.headers, len(counted)) == (has_more, read)
    assert isinstance(response, SpooledResponse)
    file = response._file
    file.seek(0)
    assert [row["n"] for row in json.loads(file.read())] == values
    file.close()
