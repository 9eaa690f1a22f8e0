"""A report that a service makes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from tracehouse.cli.remote.questions import RemoteStore

if TYPE_CHECKING:
    from tracehouse.ingest.remote.connection import ServiceConnection
    from tracehouse.queries.report.forms import Form


class RemoteReport:
    """A report on two builds; without a base, on the head's night, or on a branch's last night.

    Attributes:
        text: The report in a form, requested once, as a later request might get a later build.
    """

    def __init__(self, connection: ServiceConnection, **builds: str | None) -> None:
        document = RemoteStore(connection).document
        self.text: Callable[[Form], str] = cache(lambda form: document("/v1/report", form, builds))

    @property
    def summary(self) -> str:
        """The verdict in a sentence."""
        return str(self._content["summary"])

    @property
    def verdict(self) -> str:
        """The verdict in a word."""
        return str(self._content["verdict"])

    @property
    def notes(self) -> list[str]:
        """Notes to read before the report."""
        return [str(note) for note in self._content["notes"]]

    @cached_property
    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.text("json"))
        return content
