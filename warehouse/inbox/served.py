"""Stores that a service keeps open: their mark, and submission of dumps to their inbox."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from tracehouse.ingest.batching import batches
from tracehouse.ingest.dump import Dump, Refusal
from tracehouse.ingest.durable import lock, try_lock
from tracehouse.ingest.errors import ManifestError, SourceError
from tracehouse.warehouse.errors import write_errors
from tracehouse.warehouse.inbox.inbox import Inbox
from tracehouse.warehouse.inbox.records import Delivery, pack_delivery
from tracehouse.warehouse.load.summary import IngestSummary

_MARK = "served"  # a file that the service locks
_GROUP_BYTES = 8 << 20  # of dumps that are written to disk together


class FoundService(NamedTuple):
    """The service that keeps a store open: its URL, and the key with which it knows the owner."""

    url: str
    key: str


@contextmanager
def served(store: Path) -> Iterator[Callable[[FoundService], None]]:
    """Mark a store as kept open by a service until the body ends.

    Yields a function that writes the service's URL and key into the mark, which only the store's
    owner can read, and raises StoreError if it cannot be written.

    Raises:
        StoreError: The mark cannot be created.
    """
    place = str(store / _MARK)
    with write_errors(place):
        file = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def announce(service: FoundService) -> None:
        text = json.dumps(service._asdict()).encode()
        with write_errors(place):
            os.fchmod(file, 0o600)
            os.pwrite(file, text, 0)
            os.ftruncate(file, len(text))

    try:
        with write_errors(place):
            lock(file)
            _erase(file)
        yield announce
    finally:
        os.close(file)


def _erase(file: int) -> None:
    """Erase what another service announced, but keep its room on a full disk where possible."""
    try:
        os.pwrite(file, b" " * os.fstat(file).st_size, 0)
    except OSError:  # on a full disk that copies what is overwritten
        os.ftruncate(file, 0)


def find_service(store: Path) -> FoundService | None:
    """The service that keeps a store open; None if there is none, or its mark cannot be read.

    'tracehouse watch' keeps a store open, too, but answers no other programs.
    """
    if not is_served(store):
        return None
    try:
        return FoundService(**json.loads((store / _MARK).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def is_served(store: Path) -> bool:
    """Whether a service keeps a store open; False if its mark cannot be read."""
    try:
        file = os.open(store / _MARK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock(file, is_shared=True)
    finally:
        os.close(file)


def hand_over(store: Path, dumps: Iterable[Dump]) -> IngestSummary:
    """Submit dumps to a store's inbox; the summary has files, bytes and refusals.

    Raises:
        StoreError: The inbox cannot be written; earlier dumps are safe.
    """
    summary, refused = IngestSummary(), list[Refusal]()
    with Inbox.open(store) as inbox:
        packed = _packed(dumps, refused)
        for group in batches(packed, attrgetter("byte_count"), _GROUP_BYTES):
            inbox.accept_all(group)
            byte_count = sum(one.byte_count for one in group)
            summary += IngestSummary(len(group), byte_count=byte_count)
    return summary + IngestSummary(len(refused), refused=tuple(refused))


def _packed(dumps: Iterable[Dump], refused: list[Refusal]) -> Iterator[Delivery]:
    """The dumps that can be read; refusals of the others are appended to the list."""
    for dump in dumps:
        try:
            yield pack_delivery(dump)
        except (ManifestError, SourceError) as error:
            refused.append(Refusal.of_error(dump.name, error))
