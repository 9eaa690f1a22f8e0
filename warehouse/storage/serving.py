"""A store that a service keeps open: marked as such, and what others hand over to it instead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ingest.durable import lock, try_lock
from ingest.errors import ManifestError, SourceError
from ingest.incoming import Incoming
from warehouse.intake.pipeline import IngestSummary
from warehouse.loading.records import Refusal
from warehouse.storage.inbox import Inbox
from warehouse.storage.log_records import Delivery, pack_delivery

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


def hand_over(store: Path, dumps: Iterable[Incoming]) -> IngestSummary:
    """Give dumps to a store's inbox; what was done: files, their bytes, and those refused.

    Raises:
        StoreError: They cannot be written; those before are safe.
    """
    refused: list[Refusal] = []
    n_files = byte_count = 0
    with Inbox.open(store) as inbox:
        group: list[Delivery] = []
        for incoming in dumps:
            n_files += 1
            try:
                group.append(pack_delivery(incoming))
            except (ManifestError, SourceError) as error:
                refused.append(_refuse(incoming, error))
            if sum(one.byte_count for one in group) >= _GROUP_BYTES:
                byte_count += _accept(inbox, group)
                group = []
        byte_count += _accept(inbox, group)
    return IngestSummary(n_files, byte_count=byte_count, refused=tuple(refused))


def _accept(inbox: Inbox, group: list[Delivery]) -> int:
    if group:
        inbox.accept_all(group)
    return sum(one.byte_count for one in group)


def _refuse(incoming: Incoming, error: ManifestError | SourceError) -> Refusal:
    reason = error.reason if isinstance(error, SourceError) else "manifest"
    detail = error.problem if error.source == incoming.name else str(error)
    return Refusal(incoming.name, None, reason, None, detail)
