"""A process that judges a night of a store, so that its owner goes on with other work."""

from __future__ import annotations

import base64
import socket
from contextlib import suppress
from pathlib import Path

from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import read_settings
from tracehouse.queries.report.stored_nights import NightKey, pack_night
from tracehouse.warehouse.children.limits import disable_core_dumps, lower_priority, tie_to_owner
from tracehouse.warehouse.children.messages import GONE, send
from tracehouse.warehouse.errors import QueryError, WarehouseError
from tracehouse.warehouse.store import Store


def serve(channel: int, store: str, config: str, build: str) -> None:
    """Judge a build's night in the newest snapshot of a store that another process writes.

    The message is a JudgedNight, or has a `problem`.
    """
    tie_to_owner()
    disable_core_dumps()
    lower_priority()
    with socket.socket(fileno=channel) as owner, suppress(*GONE):
        try:
            send(owner, _judge(Path(store), Path(config) if config else None, build))
        except (QueryError, WarehouseError, MemoryError) as error:
            send(owner, {"problem": str(error) or "not enough memory"})


def _judge(store: Path, config: Path | None, build: str) -> dict[str, str]:
    settings = read_settings(config)
    with Store.open(store, read_only=True) as warehouse:
        key = NightKey.of(warehouse, settings, build)
        night = pack_night(key, nightly_report(warehouse, settings, head=build))
    return {**night._asdict(), "report": base64.b64encode(night.report).decode()}
