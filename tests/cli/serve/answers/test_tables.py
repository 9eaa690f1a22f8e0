from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

import anyio
import pytest
from starlette.requests import ClientDisconnect

from cli.serve.answers.tables import SpooledResponse

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
