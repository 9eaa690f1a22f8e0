"""Kinds and units of event signatures by a user's rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tracehouse.ingest.producers import Rule, known_producers, user_rules
from tracehouse.ingest.signatures import KERNEL, kind_without_rule


def rule_of_row(row: Mapping[str, Any]) -> Rule | None:
    """The rule for a row of event signatures; None if none matches."""
    name = bytes.fromhex(row["name_hex"]) if row["name_hex"] else row["name"].encode()
    return known_producers().rule_of(name, _delegate_id(row))


def with_user_kinds(signatures: pa.Table) -> pa.Table:
    """Rows of `ingest.schemas.dumps.EVENT_SIGNATURES`, with kind and unit by a user's rules."""
    if not user_rules():
        return signatures
    rows = signatures.to_pylist()
    for row in rows:
        rule = rule_of_row(row)
        if rule or row["kind"] != KERNEL:  # an unnamed kernel stays one
            row["kind"] = rule.kind if rule else kind_without_rule(_delegate_id(row))
        row["unit"] = rule.unit if rule else None
    return pa.Table.from_pylist(rows, signatures.schema)


def _delegate_id(row: Mapping[str, Any]) -> int | bytes | None:
    number: int | None = row["delegate_id_int"]
    text: str | None = row["delegate_id_str"]
    return text.encode() if number is None and text else number
