"""A store as agents ask it: its own files, or through a service."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from tracehouse.cli.remote import RemoteStore
from tracehouse.queries.answers import report_text, stream_answer
from tracehouse.queries.report.settings import Settings, read_settings
from tracehouse.warehouse.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.cli.agents.pages import Answer

Opened = AbstractContextManager[Store | RemoteStore]


@dataclass(frozen=True)
class AskedStore:
    """Answers questions; opens the store for each, so that each sees what is in it then.

    Attributes:
        open: Opens the store.
        config: The settings of reports on its own files.
        stop: Stops the queries.
        last: The last answer, kept for the agent that asks for its other pages; none before.
    """

    open: Callable[[], Opened]
    config: Path | None = None
    stop: Event = field(default_factory=Event)
    last: list[Answer] = field(default_factory=list)

    def query(self, name: str, params: Mapping[str, object]) -> pa.Table:
        """Rows of a canned query."""
        with self._open_store() as store:
            if isinstance(store, RemoteStore):
                return store.query(name, **params)
            with stream_answer(store, name, params, self._settings()) as rows:
                return rows.read_all()

    def sql(self, text: str) -> pa.Table:
        """Rows of one SELECT."""
        with self._open_store() as store:
            return store.sql(text)

    def schema(self) -> pa.Table:
        """Tables, views and columns."""
        with self._open_store() as store:
            return store.schema()

    def report(
        self, head: str | None = None, *, base: str | None = None, branch: str | None = None
    ) -> str:
        """A report in Markdown: of a build, by default the last, or its comparison with a base.

        Raises:
            QueryError: Both a head and a branch are given, or the store has no such build.
        """
        with self._open_store() as store:
            if isinstance(store, RemoteStore):
                builds = {"head": head, "base": base, "branch": branch}
                return store.document("/v1/report", "markdown", builds)
            settings = self._settings()
            return report_text(store, settings, head, base=base, branch=branch, form="markdown")

    def explain(self, group: str, *, head: str | None = None) -> str:
        """The explanation of an alert in Markdown.

        QueryError is raised if the report of the build has no such alert.
        """
        from tracehouse.queries.explain.explanation import explain_group
        from tracehouse.queries.explain.forms import render
        from tracehouse.queries.report.nightly import read_night

        with self._open_store() as store:
            if isinstance(store, RemoteStore):
                given = {"group": group, "head": head}
                return store.document("/v1/explain", "markdown", given)
            night = read_night(store, self._settings(), head)
            return render(explain_group(store, night.report, group), "markdown")

    def _settings(self) -> Settings:
        return read_settings(self.config)

    @contextmanager
    def _open_store(self) -> Iterator[Store | RemoteStore]:
        with self.open() as store, store.within(None, self.stop):
            yield store
