from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stores import MANIFEST
from tests.support.tiny_dumps import stored_event_counts, tiny_dump, tiny_dump_events
from tracehouse import Inbox, Warehouse
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.warehouse.errors import FullDiskError
from tracehouse.warehouse.inbox import spools
from tracehouse.warehouse.inbox.log import SealedLog, distrust_log, find_logs
from tracehouse.warehouse.inbox.records import Delivery, HashedFile, Scan, make_delivery
from tracehouse.warehouse.inbox.spools import HEAD_BYTES, Spool, clear_spools

STATED = Manifest.model_validate(MANIFEST).canonical_json()


@pytest.fixture
def spool(store: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spool]:
    monkeypatch.setattr(spools, "MEMORY_BYTES", 10)
    with Inbox.open(store) as inbox, inbox.spool() as spool:
        yield spool


def delivery_of(spool: Spool, manifest: str = STATED, *, buffer: bytes = b"") -> Delivery:
    companion = HashedFile("b", buffer, hashlib.sha256(buffer).hexdigest()) if buffer else None
    return make_delivery(manifest, spool.hashed("run.etdp"), None, companion)


def test_a_small_spool_stays_in_memory(spool: Spool, store: Path) -> None:
    spool.write(b"abc")
    spool.write(b"def")

    assert (spool.data, spool.byte_count, spool.is_large) == (b"abcdef", 6, False)
    assert spool.sha256 == hashlib.sha256(b"abcdef").hexdigest()
    assert not list((store / "inbox").iterdir())
    assert not spool.become_log(delivery_of(spool))


def test_a_large_spool_is_a_file_that_closing_deletes(spool: Spool, store: Path) -> None:
    spool.write(b"abc")
    spool.write(b"0123456789")

    assert (bytes(spool.data), spool.is_large) == (b"abc0123456789", True)
    assert spool.sha256 == hashlib.sha256(b"abc0123456789").hexdigest()
    assert list((store / "inbox").iterdir()) == [spool.path]
    spool.close()
    assert not list((store / "inbox").iterdir())


@pytest.mark.system
@pytest.mark.slow
def test_a_spool_that_became_a_log_is_ingested_with_its_companions(
    spool: Spool, store: Path
) -> None:
    spool.write(tiny_dump(2))

    assert spool.become_log(delivery_of(spool, buffer=b"\0" * 16))
    spool.close()

    with Warehouse.open(store) as warehouse:
        assert warehouse.drain().refused == ()
    stored = hashlib.sha256(tiny_dump(2)).hexdigest(), tiny_dump_events(2)
    assert stored_event_counts(store) == [stored]
    assert not list((store / "inbox").iterdir())


@pytest.mark.system
def test_a_log_can_be_drained_while_somebody_still_looks_at_the_spool(
    spool: Spool, store: Path
) -> None:
    spool.write(tiny_dump(2))
    data = spool.data
    spool.become_log(delivery_of(spool))

    with Warehouse.open(store) as warehouse:
        assert warehouse.drain().n_dumps == 1
    assert bytes(data) == tiny_dump(2)


def test_a_manifest_that_does_not_fit_before_the_bytes_is_left_to_others(spool: Spool) -> None:
    spool.write(tiny_dump(2))

    assert not spool.become_log(delivery_of(spool, "x" * HEAD_BYTES))


def test_the_bytes_are_on_disk_before_the_log_has_its_name(
    spool: Spool, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(
        os, "fdatasync", lambda _: seen.extend(path.suffix for path in (store / "inbox").iterdir())
    )
    spool.write(tiny_dump(2))
    spool.become_log(delivery_of(spool))

    assert seen == [".part"]
    suffixes = {path.suffix for path in (store / "inbox").iterdir()}
    assert suffixes == {".sealed", ".tally"}


def test_a_log_is_whole_though_the_system_writes_only_parts(
    spool: Spool, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is nearly full: its last blocks are written, and no error is raised."""
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: pwrite(file, data[:5000], at))
    spool.write(tiny_dump(2))
    assert spool.become_log(delivery_of(spool))
    (path,) = find_logs(store / "inbox")
    distrust_log(path)
    log = SealedLog.open(path)
    assert log is not None
    assert log.scan() == Scan([0], [])
    log.close()


def test_a_full_disk_is_reported_while_spooling(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", fail)
    with pytest.raises(FullDiskError, match=r"No space left on device\); nothing was accepted"):
        spool.write(b"x" * 99)


def test_only_abandoned_spools_are_cleared(spool: Spool, store: Path) -> None:
    spool.write(b"x" * 99)
    left = store / "inbox" / "0.part"
    left.touch()

    clear_spools(store / "inbox")

    assert list((store / "inbox").iterdir()) == [spool.path]
