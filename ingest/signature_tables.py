"""Signatures -> Arrow tables. Pure."""

from __future__ import annotations

import pyarrow as pa

from ingest.arrow_columns import build_table, is_utf8, readable, readable_or_none
from ingest.kinds import event_kind
from ingest.layouts import SignatureBook


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
        [event_kind(s.name or b"", is_delegated=s.is_delegated) for s in signatures],
        [s.name is not None for s in signatures],
        [s.debug_name is not None for s in signatures],
        [readable_or_none(s.debug_name) for s in signatures],
        [None if is_utf8(name) else name.hex() for name in names],
    )


def build_run_signatures(book: SignatureBook) -> pa.Table:
    """One row per run signature of the book."""
    return build_table(
        "run_signatures",
        list(book.runs),
        [readable_or_none(name) for name, _, _ in book.runs.values()],
        [index for _, index, _ in book.runs.values()],
        [ids for _, _, ids in book.runs.values()],
    )
