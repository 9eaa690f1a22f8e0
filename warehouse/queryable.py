"""The protocol of stores that reports query."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.warehouse.catalogue.queries import Query


class Queryable(Protocol):
    """A store, or a lake that is queried like one; see `Store`."""

    def query(self, name: str, /, **params: object) -> pa.Table:
        """Rows of a canned query."""

    def sql(self, text: str, params: Mapping[str, Any] | None = None, /) -> pa.Table:
        """Rows of a SELECT."""


class Streamable(Queryable, Protocol):
    """A store whose rows can be read without holding all of them."""

    def query(self, name: str | Query, /, **params: object) -> pa.Table:
        """Rows of a canned query, or of one that is not listed."""

    def stream_query(
        self, name: str | Query, params: Mapping[str, object], /
    ) -> AbstractContextManager[pa.RecordBatchReader]:
        """Rows of `query`, computed while they are read."""

    def stream(
        self, text: str, params: Mapping[str, Any] | None = None, /
    ) -> AbstractContextManager[pa.RecordBatchReader]:
        """Rows of a trusted SELECT, computed while they are read."""
