"""Signatures -> Arrow tables. Pure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tracehouse.ingest.etdump.layouts import SignatureBook
from tracehouse.ingest.etdump.values import Int64Lists
from tracehouse.ingest.tables.arrow_columns import (
    build_table,
    is_utf8,
    lists,
    readable,
    readable_or_none,
)

_FULL = 1 << 16  # signatures kept as objects before they become rows


def build_event_signatures(book: SignatureBook) -> pa.Table:
    """One row per event signature of the book."""
    rows = list(book.events.items())
    signatures = [signature for _, signature in rows]
    names = [signature.name or b"" for signature in signatures]
    return build_table(
        "event_signatures",
        [id_ for id_, _ in rows],
        [readable(name) for name in names],
        [s.instruction_id for s in signatures],
        [s.delegate_id_int for s in signatures],
        [readable_or_none(s.delegate_id_str) for s in signatures],
        [s.kind for s in signatures],
        [s.name is not None for s in signatures],
        [s.debug_name is not None for s in signatures],
        [readable_or_none(s.debug_name) for s in signatures],
        [None if is_utf8(name) else name.hex() for name in names],
        [s.unit for s in signatures],
    )


def build_run_signatures(book: SignatureBook) -> pa.Table:
    """One row per run signature of the book."""
    ids = [ids for _, _, ids in book.runs.values()]
    lengths = np.array([len(some) for some in ids], np.int64)
    items = np.concatenate([np.zeros(0, np.int64), *ids])
    return build_table(
        "run_signatures",
        list(book.runs),
        [readable_or_none(name) for name, _, _ in book.runs.values()],
        [index for _, index, _ in book.runs.values()],
        lists(Int64Lists(np.ones(len(ids), bool), lengths, items)),
        [None] * len(ids),
    )


class SignatureTables:
    """The signatures of several books, one row each; most are held as rows, not as objects."""

    def __init__(self) -> None:
        self._book = SignatureBook()
        self._events: list[pa.Table] = []
        self._runs: list[pa.Table] = []
        self._written: set[int] = set()

    def add(self, book: SignatureBook) -> None:
        """Add the signatures of a book that are new."""
        done, into = self._written, self._book
        into.events |= {id_: one for id_, one in book.events.items() if id_ not in done}
        into.runs |= {id_: one for id_, one in book.runs.items() if id_ not in done}
        if len(into.events) + len(into.runs) > _FULL:
            self._write()

    def tables(self) -> dict[str, pa.Table]:
        """The two tables."""
        self._write()
        return {
            "event_signatures": pa.concat_tables(self._events),
            "run_signatures": pa.concat_tables(self._runs),
        }

    def _write(self) -> None:
        self._events.append(build_event_signatures(self._book))
        self._runs.append(build_run_signatures(self._book))
        self._written.update(self._book.events, self._book.runs)
        self._book = SignatureBook()
