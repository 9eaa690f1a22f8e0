"""A streaming tracer's dumps reach a service, or the tracer's caller learns why not."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime

import numpy as np
import pytest

from tests.support.stand_in_service import Refused, StandIn
from tracehouse import StreamingTracer, UploadSink
from tracehouse.ingest.errors import ServiceError, SinkError

MANIFEST = {"device": "host", "build": "b1", "model": "mv2"}


def test_each_block_is_sent_when_it_ends(service: StandIn) -> None:
    sink = UploadSink(service.url, MANIFEST)
    tracer = StreamingTracer(sink)
    with tracer.block("one"):
        assert service.held == {}
    with tracer.block("two"):
        tracer.log_evalue(np.array([1, 2], np.uint8))
    sink.close()
    first, second = service.held.values()
    assert first.keys() == {"dump", "manifest"}
    assert second["debug_buffer"] == b"\1\2"
    assert {hashlib.sha256(held["dump"]).hexdigest() for held in (first, second)} == {*service.held}
    stated = json.loads(first["manifest"])
    assert datetime.fromisoformat(stated.pop("captured_at")).tzinfo
    assert (stated, service.connections) == (MANIFEST, 1)


def test_a_refusal_of_the_service_reaches_the_caller_and_tracing_goes_on(service: StandIn) -> None:
    sink = UploadSink(service.url, MANIFEST)
    tracer = StreamingTracer(sink)
    service.refusals = [Refused(400, detail="no such pool")]
    with pytest.raises(SinkError, match="400: no such pool"), tracer.block("lost"):
        pass
    with tracer.block("kept"):
        pass
    sink.close()
    assert len(service.held) == 1


def test_a_busy_service_is_sent_the_dump_again(service: StandIn) -> None:
    service.refusals = [Refused(429, {"Retry-After": "0"})]
    sink = UploadSink(service.url, MANIFEST)
    with StreamingTracer(sink).block("one"):
        pass
    sink.close()
    assert (len(service.asked), len(service.held)) == (2, 1)


def test_an_upload_sink_refuses_a_malformed_url_at_once() -> None:
    with pytest.raises(ServiceError, match="wanted http://HOST:PORT"):
        UploadSink("farm", MANIFEST)
