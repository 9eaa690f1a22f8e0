"""A store that a service keeps open: marked as such, and what others hand over to it instead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path

from ingest.batching import batches
from ingest.dump import Dump, Refusal
from ingest.durable import lock, try_lock
from ingest.errors import ManifestError, SourceError
from warehouse.inbox.inbox import Inbox
from warehouse.inbox.records import Delivery, pack_delivery
from warehouse.load.pipeline import IngestSummary

_MARK = "served"  # a file that a service holds a lock on
_GROUP_BYTES = 8 << 20  # of dumps that go to disk together


@contextmanager
def served(store: Path) -> Iterator[None]:
    """Mark a store as one that a service keeps open, until the body ends."""
    file = os.open(store / _MARK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        lock(file)
        yield
    finally:
        os.close(file)


def is_served(store: Path) -> bool:
    """Whether a service keeps a store open, as far as we may know."""
    try:
        file = os.open(store / _MARK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock(file, is_shared=True)
    finally:
        os.close(file)


def hand_over(store: Path, dumps: Iterable[Dump]) -> IngestSummary:
    """Give dumps to a store's inbox; what was done: files, their bytes, and those refused.

    Raises:
        StoreError: They cannot be written; those before are safe.
    """
    refused: list[Refusal] = []
    n_dumps = byte_count = 0
    with Inbox.open(store) as inbox:
        packed = _packed(dumps, refused)
        for group in batches(packed, attrgetter("byte_count"), _GROUP_BYTES):
            inbox.accept_all(group)
            n_dumps += len(group)
            byte_count += sum(one.byte_count for one in group)
    n_files = n_dumps + len(refused)
    return IngestSummary(n_files, byte_count=byte_count, refused=tuple(refused))


def _packed(dumps: Iterable[Dump], refused: list[Refusal]) -> Iterator[Delivery]:
    """The dumps that can be read; refusals of the others are appended to the list."""
    for dump in dumps:
        try:
            yield pack_delivery(dump)
        except (ManifestError, SourceError) as error:
            refused.append(Refusal.of_error(dump.name, error))
