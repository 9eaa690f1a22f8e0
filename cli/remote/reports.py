"""A report that a service makes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from cli.remote.questions import RemoteStore

if TYPE_CHECKING:
    from ingest.remote.connection import ServiceConnection
    from queries.report.forms import Form


class RemoteReport:
    """A report on two builds; without a base, on the head's night, or on a branch's last night.

    Attributes:
        text: The report in a form, requested once, as a later request might get a later build.
    """

    def __init__(
        self,
        connection: ServiceConnection,
        *,
        head: str | None,
        base: str | None,
        branch: str | None,
    ) -> None:
        self.text: Callable[[Form], str] = cache(
            partial(RemoteStore(connection).report, head=head, base=base, branch=branch)
        )

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
