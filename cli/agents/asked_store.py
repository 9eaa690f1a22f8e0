"""A store as agents ask it: its own files, or through a service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cli.remote.questions import RemoteStore
from queries.computed import COMPUTED, answer_computed
from queries.report.settings import Settings, read_settings
from warehouse.catalogue.queries import find_query
from warehouse.store import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

    from queries.report.content import Report

Opened = AbstractContextManager[Warehouse | RemoteStore]


class Builds(NamedTuple):
    """The builds of a report: two, or those up to a head, by default the last of a branch."""

    base: str | None = None
    head: str | None = None
    branch: str | None = None


class AskedStore:
    """Answers questions; opens the store for each, so that each sees what is in it then."""

    def __init__(self, open_: Callable[[], Opened], *, config: Path | None = None) -> None:
        """Take what opens the store, and the settings of reports on its own files."""
        self._open, self._config = open_, config

    def query(self, name: str, params: Mapping[str, object]) -> pa.Table:
        """Rows of a canned query."""
        with self._open() as store:
            if isinstance(store, RemoteStore):
                return store.query(name, **params)
            settings = self._settings()
            if name in COMPUTED:
                return answer_computed(store, name, params, settings)
            given = settings.with_expected(find_query(name).header, dict(params))
            return store.query(name, **given)

    def sql(self, text: str) -> pa.Table:
        """Rows of one SELECT."""
        with self._open() as store:
            return store.sql(text)

    def schema(self) -> pa.Table:
        """Tables, views and columns."""
        with self._open() as store:
            return store.schema()

    def report(self, builds: Builds) -> str:
        """A report, in Markdown."""
        from queries.report.forms import render

        with self._open() as store:
            if isinstance(store, RemoteStore):
                return store.document("/v1/report", "markdown", builds._asdict())
            return render(self._report(store, builds), "markdown")

    def _report(self, store: Warehouse, builds: Builds) -> Report:
        settings = self._settings().of_branch(builds.branch)
        if builds.base is not None:
            from queries.report.night import find_head
            from queries.report.pairwise import compare_report

            head = find_head(store, builds.head, settings)
            return compare_report(store, settings, base=builds.base, head=head)
        from queries.report.stored_nights import read_night

        return read_night(store, settings, builds.head).report

    def _settings(self) -> Settings:
        return read_settings(self._config)
