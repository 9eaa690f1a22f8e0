"""The limits of the reader for one dump. See docs/etdump-format.md.

Each limit is far beyond what a runtime writes. Limits apply to the decoded contents of a dump, so
the outcome does not depend on other dumps decoded with it, or on how it is split into parts.
"""

from __future__ import annotations

from tracehouse.ingest.etdump.arena import Fault, Ints

LONGEST_NAME = 1 << 16
"""Bytes of a text: the name of a run, event, value or allocator, or a string delegate id."""

EXPANSION = 8
"""Bytes of repeated text per byte of the dump, as the rows of tensors and calls repeat names."""

EXPANSION_SLACK = 1 << 13
"""Bytes of repeated text that are allowed for a dump of any size."""

MOST_PART_TEXT = 1 << 27
"""Bytes of repeated text in one event, or in the signatures of one run."""

MOST_SIGNATURE_TEXT = 256 << 20
"""Bytes of text in the event signatures of a dump."""

MOST_SIGNATURES = 100_000
"""Distinct events in a run; event signatures in a dump; run signatures in a dump."""

MOST_SIGNATURE_EVENTS = 2_000_000
"""Event signatures in all run signatures of a dump together."""

MOST_RUNS = 1 << 22
"""Runs in a dump."""

MOST_EVENT_BYTES = 16 << 20
"""Bytes that one event refers to, or a run without its events (its allocators)."""

PART_BYTES = 8 << 20
"""Bytes read at a time in a dump that is decoded in parts; does not affect the outcome."""

PART_EVENTS = 1 << 16
"""Events read at a time in a larger run; does not affect the outcome."""

MOST_BLOB_BLOCKS = 1 << 18
"""Blocks in a profiler blob."""

MOST_BLOB_ENTRIES = 1 << 21
"""Allocators and allocations in a profiler blob; events in one of its blocks."""

TOO_MUCH_TEXT = Fault(
    "expands_too_much", 0,
    "long names are repeated in too many rows or signatures: wanted shorter "
        "names, or smaller dumps",
)  # fmt: skip
TOO_MANY_SIGNATURES = Fault(
    "too_many_signatures", 0,
    f"more than {MOST_SIGNATURES:,} distinct events or runs (or {MOST_SIGNATURE_EVENTS:,} events "
    "in distinct runs): wanted names and ids that recur, or smaller dumps",
)  # fmt: skip
EVENT_TOO_LARGE = Fault(
    "event_too_large", 0,
    f"an event, or a run's allocators, of more than {MOST_EVENT_BYTES:,} bytes: wanted less",
)  # fmt: skip
BLOB_TOO_LARGE = Fault(
    "blob_too_large", 0,
    f"more than {MOST_BLOB_BLOCKS:,} blocks, or {MOST_BLOB_ENTRIES:,} allocations or events of one "
    "block: wanted several smaller blobs",
)  # fmt: skip
LIMIT_REASONS = frozenset(
    ["too_large", "too_many_runs", "name_too_long"]
    + [one.reason for one in (TOO_MUCH_TEXT, TOO_MANY_SIGNATURES, EVENT_TOO_LARGE, BLOB_TOO_LARGE)]
)
"""Reasons of refusals that are about size; the others are about damage."""


def text_budget(sizes: Ints) -> Ints:
    """Bytes of repeated text that are allowed for dumps of these sizes."""
    return EXPANSION * sizes + EXPANSION_SLACK
