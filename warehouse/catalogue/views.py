"""The views of sql/views: their text, and which of them a statement reads; no engine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.queries import list_views, read_view

_FROM_TABLE = r"(\bfrom|\bjoin|,)\s+(main\.)?{}\b"


@cache
def view_text(name: str) -> str:
    """Text of a view for DuckDB."""
    return duckdb_text(read_view(name))


def load_views() -> dict[str, str]:
    """Text for DuckDB of every view by name, in an order in which they can be created."""
    return {name: view_text(name) for name in list_views()}


def views_digest() -> str:
    """A hash that differs between versions of the views."""
    text = "\n".join(name + text for name, text in load_views().items())
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_views(names: Iterable[str]) -> str:
    """A hash that differs between versions of these views, or of views that they read."""
    texts = map(view_text, named_views(" ".join(names)))
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def named_views(text: str, others: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Names of all views that a statement can read, in an order in which they can be created.

    These are the views whose names occur in the text, and the views that these read, by their texts
    or by `others` in place of these.
    """
    texts, found = text.lower(), []
    for name in reversed(list_views()):  # a view reads only earlier views
        if name in texts:
            found.append(name)
            texts += others.get(name) or view_text(name)
    return found[::-1]


@lru_cache(maxsize=256)
def reads_table(text: str, table: str) -> bool:
    """Whether a statement reads a table, directly or through a view."""
    pattern = re.compile(_FROM_TABLE.format(table), re.IGNORECASE)
    texts = (text, *(view_text(name) for name in named_views(text)))
    return any(pattern.search(one) for one in texts)
