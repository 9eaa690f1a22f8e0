from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tracehouse.cli.serve.http.connections import JoinedWrites


class Sent(asyncio.Transport):
    """A transport that keeps what it is given, none of which is read."""

    def __init__(self) -> None:
        """Nothing is given yet."""
        super().__init__({"peername": "somebody"})
        self.pieces: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        assert not self.is_closed
        self.pieces.append(bytes(data))

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.pieces))

    def close(self) -> None:
        self.is_closed = True


def written(*actions: Callable[[JoinedWrites], None]) -> list[list[bytes]]:
    """What was sent after each action, and after one turn of the event loop more."""
    sent = Sent()

    async def act() -> list[list[bytes]]:
        seen = []
        joined = JoinedWrites(sent, asyncio.get_running_loop())
        for action in actions:
            action(joined)
            seen.append([*sent.pieces])
        await asyncio.sleep(0)
        return [*seen, [*sent.pieces]]

    return asyncio.run(act())


def test_writes_of_one_turn_are_sent_together() -> None:
    seen = written(lambda one: one.write(b"head "), lambda one: one.write(b"body"))
    assert seen == [[], [], [b"head body"]]


def test_a_large_body_is_sent_together_with_its_head() -> None:
    large = b"x" * 20_000
    seen = written(lambda one: one.write(b"head "), lambda one: one.write(large))
    assert seen == [[], [b"head " + large], [b"head " + large]]


def test_waiting_bytes_are_sent_before_the_connection_is_closed() -> None:
    seen = written(lambda one: one.write(b"answer"), lambda one: one.close())
    assert seen == [[], [b"answer"], [b"answer"]]


@pytest.mark.parametrize("size", [10, 20_000])
def test_waiting_bytes_are_counted_as_not_yet_sent(size: int) -> None:
    sizes: list[int] = []
    written(
        lambda one: one.write(b"x" * size),
        lambda one: sizes.append(one.get_write_buffer_size()),
    )
    assert sizes == [size]


def test_other_calls_go_to_the_transport() -> None:
    names: list[str] = []
    written(lambda one: names.append(one.get_extra_info("peername")))
    assert names == ["somebody"]
