"""A dump is sent by its name with its manifest; what comes with it, in a form."""

from __future__ import annotations

import hashlib
import json

import pytest

from ingest.errors import ServiceError
from ingest.remote.connection import ServiceConnection
from ingest.remote.uploading import Receipt, upload_dump
from tests.support.stand_in_service import StandIn

DUMP = bytes(range(256)) * 3000
SHA256 = hashlib.sha256(DUMP).hexdigest()
MANIFEST = '{"device":"pixel 8 \u00e9\U0001f600","build":"b1","model":"mv2"}'


def test_dump_is_put_under_its_name_and_known_the_second_time(service: StandIn) -> None:
    with ServiceConnection(service.url) as connection:
        assert upload_dump(connection, memoryview(DUMP), MANIFEST) == Receipt(SHA256, is_new=True)
        assert upload_dump(connection, DUMP, MANIFEST) == Receipt(SHA256, is_new=False)
    assert [(asked.method, asked.path) for asked in service.asked] == [
        ("PUT", f"/v1/dumps/{SHA256}")
    ] * 2
    held = service.held[SHA256]
    assert (held["dump"], json.loads(held["manifest"])) == (DUMP, json.loads(MANIFEST))
    assert service.asked[0].headers["Tracehouse-Manifest"].isascii()


def test_companions_of_a_dump_are_sent_in_a_form(service: StandIn) -> None:
    with ServiceConnection(service.url) as connection:
        receipt = upload_dump(
            connection, DUMP, MANIFEST, etrecord=b"PK\3\4\r\n--", debug_buffer=b"\0\r\n"
        )
    assert receipt == Receipt(SHA256, is_new=True)
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("POST", "/v1/dumps")
    held = service.held[SHA256]
    assert json.loads(held.pop("manifest")) == json.loads(MANIFEST)
    assert held == {"dump": DUMP, "etrecord": b"PK\3\4\r\n--", "debug_buffer": b"\0\r\n"}


def test_manifest_too_long_for_a_header_is_sent_in_a_form(service: StandIn) -> None:
    stated = json.dumps({**json.loads(MANIFEST), "tags": {"note": "x" * 5000}})
    with ServiceConnection(service.url) as connection:
        upload_dump(connection, DUMP, stated)
    assert service.asked[0].method == "POST"
    assert json.loads(service.held[SHA256]["manifest"]) == json.loads(stated)


@pytest.mark.parametrize("body", [b"<html>welcome", b"[]", b'{"sha256": "0"}'])
def test_a_server_that_says_yes_to_everything_took_nothing(service: StandIn, body: bytes) -> None:
    service.answers[f"/v1/dumps/{SHA256}"] = ("text/html", body)
    with (
        ServiceConnection(service.url) as connection,
        pytest.raises(ServiceError, match="unexpected answer"),
    ):
        upload_dump(connection, DUMP, MANIFEST)


def test_other_manifest_is_a_conflict(service: StandIn) -> None:
    with ServiceConnection(service.url) as connection:
        upload_dump(connection, DUMP, MANIFEST)
        with pytest.raises(ServiceError) as error:
            upload_dump(connection, DUMP, '{"device":"other"}')
    assert (error.value.status, error.value.reason) == (409, "conflict")
