"""Dumps are handed over by several threads; what is at fault with one ends nothing else."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pytest

from tests.support.stand_in_service import Refused, StandIn
from tests.support.tiny_dumps import tiny_dump, tiny_incoming
from tracehouse.cli.handover import delivering
from tracehouse.cli.handover.delivering import DeliveryResult, Take, hand_over, service_uploader
from tracehouse.cli.remote import ServiceChoice
from tracehouse.ingest.dump import Companion, Dump
from tracehouse.ingest.errors import ManifestError, ServiceError, SourceError
from tracehouse.ingest.manifest.models import Manifest


def nameless() -> Manifest:
    raise ManifestError("b.etdp", "no device")


def handed_over(dumps: Iterable[Dump], take: Take, threads: int) -> list[DeliveryResult]:
    return [one for group in hand_over(dumps, take, threads=threads) for one in group]


def test_dumps_come_out_in_their_order_and_several_groups_are_on_their_way_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delivering, "_GROUP_DUMPS", 2)
    together = threading.Barrier(3)

    def take(dumps: Sequence[Dump]) -> list[bool]:
        together.wait(60)
        return [one.name != "2.etdp" for one in dumps]

    made = handed_over([tiny_incoming(i) for i in range(6)], take, threads=3)
    assert [(one.name, one.is_new) for one in made] == [(f"{i}.etdp", i != 2) for i in range(6)]


def test_only_a_few_dumps_are_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivering, "_GROUP_DUMPS", 2)
    begun: list[int] = []

    def dumps() -> Iterator[Dump]:
        for number in range(1000):
            begun.append(number)
            yield tiny_incoming(number % 5)

    results = hand_over(dumps(), lambda group: [True] * len(group), threads=2)
    next(results)
    assert len(begun) < 20
    results.close()  # type: ignore[attr-defined]


def test_a_group_is_limited_by_the_bytes_of_dumps_and_companions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delivering, "_GROUP_BYTES", 100)
    small, record = replace(tiny_incoming(1), byte_count=40), Companion("r", lambda: b"", 40)
    with_record, unknown = replace(small, etrecord=record), replace(small, byte_count=0)
    dumps = [small, small, with_record, unknown, small]
    groups = hand_over(dumps, lambda group: [True] * len(group), threads=1)
    assert [len(group) for group in groups] == [2, 1, 1, 1]


def test_a_fault_of_a_dump_is_its_refusal(service: StandIn) -> None:
    dumps = [
        tiny_incoming(1),
        Dump.unreadable(SourceError("gone.etdp", "does not exist")),
        Dump("b.etdp", lambda: b"", nameless),
        tiny_incoming(2),
        tiny_incoming(1),
    ]
    sha256 = hashlib.sha256(tiny_dump(1)).hexdigest()
    service.faulty = {sha256: Refused(400, reason="truncated", detail="ends at 12")}
    with service_uploader(ServiceChoice(service.url), retry_seconds=0) as taker:
        made = handed_over(dumps, taker, threads=1)
    assert [(one.is_new, one.refusal and one.refusal[2:-1]) for one in made] == [
        (False, ("truncated", None, "ends at 12", None, made[0].refusal.refused_at)),  # type: ignore[union-attr]
        (False, ("unreadable", None, "does not exist", None, made[0].refusal.refused_at)),  # type: ignore[union-attr]
        (False, ("manifest", None, "no device", None, made[0].refusal.refused_at)),  # type: ignore[union-attr]
        (True, None),
        (True, None),
    ]
    assert {held["dump"] for held in service.held.values()} == {tiny_dump(1), tiny_dump(2)}


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [(Refused(500, reason="internal"), "failed"), (Refused(403, reason="pool"), "pool")],
)
def test_a_failure_of_one_dump_does_not_stop_the_next(
    service: StandIn, refusal: Refused, reason: str
) -> None:
    service.faulty = {hashlib.sha256(tiny_dump(1)).hexdigest(): refusal}
    with service_uploader(ServiceChoice(service.url), retry_seconds=60) as taker:
        first, second = handed_over([tiny_incoming(1), tiny_incoming(2)], taker, threads=1)
    assert first.refusal is not None
    assert (first.refusal.reason, first.refusal.detail) == (reason, "not now")
    assert second.is_new


@pytest.mark.parametrize("status", [401, 403, 429, 503, 507])
def test_a_service_that_refuses_every_dump_ends_the_upload(service: StandIn, status: int) -> None:
    service.refusals = [Refused(status)] * 1000
    with (
        service_uploader(ServiceChoice(service.url), retry_seconds=0) as taker,
        pytest.raises(ServiceError, match=str(status)),
    ):
        handed_over([tiny_incoming(i) for i in range(200)], taker, threads=2)
    assert len(service.asked) < 50


def test_each_thread_keeps_its_connection(service: StandIn) -> None:
    with service_uploader(ServiceChoice(service.url), retry_seconds=0) as taker:
        handed_over([tiny_incoming(i) for i in range(40)], taker, threads=3)
    assert service.connections <= 3
