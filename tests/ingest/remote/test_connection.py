"""A service is asked over one connection, and again where that was lost or it was busy."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stand_in_service import Refused, StandIn, stand_in_service
from tracehouse.ingest.errors import ServiceError
from tracehouse.ingest.remote import ServiceConnection

NOW = {"Retry-After": "0"}


@pytest.fixture
def service() -> Iterator[StandIn]:
    with stand_in_service() as stand_in:
        stand_in.answers["/v1/status"] = ("application/json", b"[]")
        yield stand_in


def test_questions_share_a_connection_and_carry_the_token(service: StandIn) -> None:
    with ServiceConnection(service.url + "/", token="secret") as connection:  # noqa: S106
        for _ in range(3):
            assert connection.request("GET", "/v1/status").body == b"[]"
    assert service.connections == 1
    assert {asked.headers["Authorization"] for asked in service.asked} == {"Bearer secret"}


def test_the_token_comes_from_the_environment_unless_one_is_given(
    service: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_TOKEN", "of the environment")
    with ServiceConnection(service.url) as connection:
        connection.request("GET", "/v1/status")
    with ServiceConnection(service.url, token="") as connection:
        connection.request("GET", "/v1/status")
    first, second = service.asked
    assert first.headers["Authorization"] == "Bearer of the environment"
    assert "Authorization" not in second.headers


def test_path_of_the_address_comes_first(service: StandIn) -> None:
    service.answers["/behind/proxy/v1/status"] = ("application/json", b"[1]")
    with ServiceConnection(f"{service.url}/behind/proxy/") as connection:
        assert connection.request("GET", "/v1/status").body == b"[1]"


def test_a_deferred_request_is_sent_again(service: StandIn) -> None:
    service.refusals = [Refused(429, NOW), Refused(503, NOW), Refused(0), Refused(502, NOW)]
    with ServiceConnection(service.url, retry_seconds=60) as connection:
        assert connection.request("PUT", "/v1/status", body=[b"ab", memoryview(b"c")]).body == b"[]"
    assert [asked.body for asked in service.asked] == [b"abc"] * 5


def test_a_body_that_came_too_slowly_is_sent_again(service: StandIn) -> None:
    service.refusals = [Refused(408, {}, "slow", "only 3 bytes came in 15 s")]
    with ServiceConnection(service.url, retry_seconds=60) as connection:
        assert connection.request("PUT", "/v1/status", body=[b"abc"]).status == 200


def test_unresponsive_and_absent_services_give_different_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tracehouse.ingest.remote._TIMEOUT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            ServiceConnection(url) as connection,
            pytest.raises(ServiceError, match=r"did not answer within 0\.1 s"),
        ):
            connection.request("GET", "/v1/status")


def test_a_client_without_retries_gets_the_reason_of_a_refusal(service: StandIn) -> None:
    service.refusals = [Refused(429, NOW, "busy", "too much waits")]
    with ServiceConnection(service.url) as connection, pytest.raises(ServiceError) as error:
        connection.request("GET", "/v1/status")
    assert str(error.value) == f"{service.url}/v1/status: 429: too much waits"
    assert (error.value.status, error.value.reason) == (429, "busy")


def test_a_retry_delay_beyond_the_limit_is_not_waited_for(service: StandIn) -> None:
    service.refusals = [Refused(503, {"Retry-After": "3600"})]
    with ServiceConnection(service.url, retry_seconds=60) as connection:
        with pytest.raises(ServiceError, match="503: not now"):
            connection.request("GET", "/v1/status")
        assert connection.request("GET", "/v1/status").status == 200


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 415, 500])
def test_a_refused_request_is_not_sent_again(service: StandIn, status: int) -> None:
    service.refusals = [Refused(status)]
    with (
        ServiceConnection(service.url, retry_seconds=60) as connection,
        pytest.raises(ServiceError) as error,
    ):
        connection.request("GET", "/v1/status")
    assert (error.value.status, len(service.asked)) == (status, 1)


def test_refusal_without_a_token_names_the_remedy(service: StandIn) -> None:
    service.refusals = [Refused(401, detail="who are you")]
    with (
        ServiceConnection(service.url) as connection,
        pytest.raises(ServiceError, match=r"who are you; give a token in \$TRACEHOUSE_TOKEN or a"),
    ):
        connection.request("GET", "/v1/status")


def test_a_refusal_before_the_body_is_read_is_reported(service: StandIn) -> None:
    service.refusals = [Refused(413, {"Connection": "close"}, "large", "too large", is_read=False)]
    with ServiceConnection(service.url) as connection:
        with pytest.raises(ServiceError) as error:
            connection.request("PUT", "/v1/status", body=[bytes(32 << 20)])
        assert (error.value.status, error.value.reason) == (413, "large")
        assert connection.request("GET", "/v1/status").status == 200


def test_a_large_body_is_not_sent_before_it_is_asked_for(service: StandIn) -> None:
    service.refusals = [Refused(429, NOW, is_read=False)]
    body = [bytes(1 << 20), b"ab"]
    with ServiceConnection(service.url, retry_seconds=60) as connection:
        assert connection.request("PUT", "/v1/status", body=body).status == 200
        assert connection.request("PUT", "/v1/status", body=body[:1]).status == 200
    assert service.unread == [0]
    assert [len(asked.body) for asked in service.asked] == [(1 << 20) + 2, 1 << 20]
    assert ["Expect" in asked.headers for asked in service.asked] == [True, False]
    assert service.connections == 2


def test_a_large_body_is_sent_to_a_server_that_never_asks_for_it(service: StandIn) -> None:
    service.is_asking = False
    with ServiceConnection(service.url) as connection:
        assert connection.request("PUT", "/v1/status", body=[bytes(2 << 20)]).status == 200
    assert len(service.asked[0].body) == 2 << 20


def test_a_kept_connection_that_was_closed_is_made_anew_without_waiting(service: StandIn) -> None:
    with ServiceConnection(service.url) as connection:
        connection.request("GET", "/v1/status")
        service.refusals = [Refused(0)]
        assert connection.request("GET", "/v1/status").status == 200
    assert service.connections == 2


def test_a_service_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with (
        ServiceConnection(f"http://127.0.0.1:{port}") as connection,
        pytest.raises(ServiceError) as error,
    ):
        connection.request("GET", "/v1/status")
    assert str(error.value) == (
        f"http://127.0.0.1:{port}/v1/status: cannot be reached: Connection refused; "
        "is the service running there?"
    )


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://farm/\u00e9",
        "http://fa rm",
        "farm:8080",
        "ftp://farm",
        "http://",
        "http://farm:x",
        "http://me:word@farm",
        "http://[1",
    ],
)
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(ServiceError, match="not the address of a service; wanted http://HOST:PORT"):
        ServiceConnection(url)


@pytest.mark.system
@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificate")
def test_an_untrusted_certificate_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = tmp_path / "service.pem"
    name = ("-subj", "/CN=service", "-addext", "subjectAltName=IP:127.0.0.1")
    made = ("-newkey", "rsa:2048", "-nodes", "-keyout", certificate, "-out", tmp_path / "c.pem")
    subprocess.run(["openssl", "req", "-x509", *name, *made], check=True, capture_output=True)
    certificate.write_text(certificate.read_text() + (tmp_path / "c.pem").read_text())
    with stand_in_service(certificate=certificate) as service:
        service.answers["/v1/status"] = ("application/json", b"[]")
        with (
            ServiceConnection(service.url, token="th_secret", retry_seconds=3600) as connection,  # noqa: S106
            pytest.raises(ServiceError, match="certificate is not trusted: self-signed"),
        ):
            connection.request("GET", "/v1/status")
        assert service.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "c.pem"))
        with ServiceConnection(service.url) as connection:
            assert connection.request("GET", "/v1/status").status == 200


def test_a_redirect_is_reported_and_not_followed(service: StandIn) -> None:
    place = "https://farm.example.org/"
    service.refusals = [Refused(301, {"Location": place})]
    with (
        ServiceConnection(service.url, token="th_secret") as connection,  # noqa: S106
        pytest.raises(ServiceError, match="301: not now"),
    ):
        connection.request("PUT", "/v1/status", body=[b"x"])
    assert len(service.asked) == 1


@pytest.mark.parametrize("token", ["a\nb", "\u00e9"])
def test_an_invalid_token_is_not_sent(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("TRACEHOUSE_TOKEN", token)
    with pytest.raises(ServiceError, match=r"TRACEHOUSE_TOKEN is not a token"):
        ServiceConnection("http://127.0.0.1:1")


def test_a_server_without_our_routes_is_recognised(service: StandIn) -> None:
    service.answers.clear()
    with (
        ServiceConnection(service.url) as connection,
        pytest.raises(ServiceError, match="404: no /v1/status"),
    ):
        connection.request("GET", "/v1/status")
    with ServiceConnection(service.url) as connection:
        service.refusals = [Refused(404, {"Content-Type": "text/html"}, detail="")]
        with pytest.raises(ServiceError, match="404: "):
            connection.request("GET", "/v1/status")
