"""Dumps are sent together, each with a result of its own; one by one where that is impossible."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import pytest

from tests.support.stand_in_service import Refused, StandIn
from tracehouse.ingest.errors import ServiceError
from tracehouse.ingest.remote import OutgoingDump, Receipt, ServiceConnection

DUMP = bytes(range(256)) * 3000
SHA256 = hashlib.sha256(DUMP).hexdigest()
MANIFEST = '{"device":"pixel 8 \u00e9\U0001f600","build":"b1","model":"mv2"}'
PATH = "/v1/dumps:batch"
ONE, OTHER = OutgoingDump(DUMP, MANIFEST), OutgoingDump(b"other\r\n--", MANIFEST)


@pytest.fixture
def connection(service: StandIn) -> Iterator[ServiceConnection]:
    """A connection that tries again for a minute."""
    with ServiceConnection(service.url, retry_seconds=60) as connection:
        yield connection


def test_dumps_go_in_one_request_and_are_known_the_second_time(
    service: StandIn, connection: ServiceConnection
) -> None:
    hashes = [hashlib.sha256(one.dump).hexdigest() for one in (ONE, OTHER)]
    for is_new in (True, False):
        sent = [ONE._replace(dump=memoryview(DUMP)), OTHER]
        assert connection.upload(sent) == [Receipt(sha256, is_new) for sha256 in hashes]
    assert [(asked.method, asked.path) for asked in service.asked] == [("POST", PATH)] * 2
    held = [service.held[sha256] for sha256 in hashes]
    assert [one["dump"] for one in held] == [DUMP, OTHER.dump]
    assert [json.loads(one["manifest"]) for one in held] == [json.loads(MANIFEST)] * 2


def test_companions_are_sent_with_their_dump(
    service: StandIn, connection: ServiceConnection
) -> None:
    sent = ONE._replace(etrecord=b"PK\3\4\r\n--", debug_buffer=b"\0\r\n")
    assert connection.upload([sent]) == [Receipt(SHA256, is_new=True)]
    held = service.held[SHA256]
    assert json.loads(held.pop("manifest")) == json.loads(MANIFEST)
    assert held == {"dump": DUMP, "etrecord": b"PK\3\4\r\n--", "debug_buffer": b"\0\r\n"}


@pytest.mark.parametrize("status", [400, 413, 500])
def test_dumps_that_are_not_taken_together_are_sent_one_by_one(
    service: StandIn, connection: ServiceConnection, status: int
) -> None:
    service.refusals = [Refused(status)]
    results = connection.upload([ONE, OTHER])
    assert [isinstance(one, Receipt) for one in results] == [True, True]
    connection.upload([ONE, OTHER])
    assert [asked.path for asked in service.asked] == [PATH] * 4


def test_only_the_dumps_that_the_service_defers_are_sent_again(
    service: StandIn, connection: ServiceConnection
) -> None:
    service.faulty = {hashlib.sha256(OTHER.dump).hexdigest(): Refused(429)}
    first, second = connection.upload([ONE, OTHER])
    assert isinstance(first, Receipt)
    assert isinstance(second, Receipt)
    assert (first.is_new, second.is_new) == (True, True)
    assert [asked.body.count(b'"sha256"') for asked in service.asked] == [2, 1]


def test_a_dump_that_is_deferred_for_too_long_has_an_error(service: StandIn) -> None:
    service.faulty = {SHA256: Refused(429, reason="backlog")}
    with ServiceConnection(service.url) as connection:
        (result,) = connection.upload([ONE])
    assert isinstance(result, ServiceError)
    assert (result.status, result.reason) == (429, "backlog")


@pytest.mark.parametrize(
    "body", [b"<html>welcome", b"[]", b'{"dumps": [{"sha256": "0", "status": 200}]}']
)
def test_an_upload_answer_that_is_no_receipt_is_an_error(
    service: StandIn, connection: ServiceConnection, body: bytes
) -> None:
    service.answers[PATH] = ("text/html", body)
    with pytest.raises(ServiceError, match="unexpected answer"):
        connection.upload([ONE])


def test_a_dump_with_another_manifest_conflicts_but_the_upload_goes_on(
    service: StandIn, connection: ServiceConnection
) -> None:
    connection.upload([ONE])
    conflict, other = connection.upload([ONE._replace(manifest='{"device":"other"}'), OTHER])
    assert isinstance(conflict, ServiceError)
    assert (conflict.status, conflict.reason) == (409, "conflict")
    assert isinstance(other, Receipt)
