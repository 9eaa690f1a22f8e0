"""A report that a service makes, with what the command line wants to know of it."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING

from cli.remote.questions import RemoteStore

if TYPE_CHECKING:
    from ingest.remote.connection import ServiceConnection
    from queries.report.forms import Form


class RemoteReport:
    """A report, in whatever form it is asked for."""

    def __init__(
        self, connection: ServiceConnection, *, head: str | None, base: str | None
    ) -> None:
        """The report of two builds; without a base, of the head's night, or the last one."""
        self._store, self._head, self._base = RemoteStore(connection), head, base
        self._texts: dict[Form, str] = {}

    def text(self, form: Form) -> str:
        """The report in a form, asked for once: another time it may be of a later build."""
        if form not in self._texts:
            self._texts[form] = self._store.report(form, head=self._head, base=self._base)
        return self._texts[form]

    @property
    def summary(self) -> str:
        """Its verdict in a sentence."""
        return str(self._content["summary"])

    @property
    def verdict(self) -> str:
        """Its verdict in a word."""
        return str(self._content["verdict"])

    @property
    def notes(self) -> list[str]:
        """What to know before reading on."""
        notes = self._content.get("notes", [])  # an older service has none
        return [str(note) for note in notes] if isinstance(notes, list) else []

    @cached_property
    def _content(self) -> dict[str, object]:
        content: dict[str, object] = json.loads(self.text("json"))
        return content
