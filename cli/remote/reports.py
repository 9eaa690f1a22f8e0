"""A report that a service makes."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING

from cli.remote.questions import RemoteStore

if TYPE_CHECKING:
    from ingest.remote.connection import ServiceConnection
    from queries.report.forms import Form


class RemoteReport:
    """A report on two builds; without a base, on the head's night, or on the last night."""

    def __init__(
        self, connection: ServiceConnection, *, head: str | None, base: str | None
    ) -> None:
        self._store, self._head, self._base = RemoteStore(connection), head, base
        self._texts: dict[Form, str] = {}

    def text(self, form: Form) -> str:
        """The report in a form, fetched once, as a later request might get a later build."""
        if form not in self._texts:
            self._texts[form] = self._store.report(form, head=self._head, base=self._base)
        return self._texts[form]

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
        notes = self._content.get("notes", [])  # older services send none
        return [str(note) for note in notes] if isinstance(notes, list) else []

    @cached_property
    def _content(self) -> dict[str, object]:
        content: dict[str, object] = json.loads(self.text("json"))
        return content
