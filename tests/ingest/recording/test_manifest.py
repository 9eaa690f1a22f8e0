from __future__ import annotations

import pytest

from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.manifest.resolver import Manifest
from tracehouse.ingest.recording.session import (
    RecordingPlan,
    check_manifest,
    describe_host,
    describe_recording,
)

NAMES = {"device": "bench", "build": "b1"}


def describe(**stated):
    plan = RecordingPlan("models/cnn.pte", method="decode")
    return Manifest.model_validate(describe_recording(plan, NAMES | stated))


def test_a_recording_describes_this_machine_and_is_named_after_the_program():
    manifest = describe(os=None)
    assert (manifest.model.name, manifest.method, manifest.clock.unit) == ("cnn", "decode", "ns")
    assert manifest.device.os == describe_host()["os"]
    assert manifest.captured_at is not None


def test_a_stated_field_wins():
    manifest = describe(model="m", os="Debian")
    assert (manifest.model.name, manifest.device.os) == ("m", "Debian")


def test_the_size_of_the_program_is_a_counter(tmp_path):
    program = tmp_path / "cnn.pte"
    program.write_bytes(b"x" * 1234)
    fields = describe_recording(RecordingPlan(str(program)), NAMES)
    (counter,) = Manifest.model_validate(fields).counters
    assert (counter.name, counter.unit, counter.value) == ("program_bytes", "bytes", 1234)
    assert describe().counters is None  # there is no such file


def test_malformed_field_is_refused():
    with pytest.raises(ManifestError, match=r"options: build\.ordinal: found 'first'"):
        describe(ordinal="first")


def test_manifest_that_could_not_be_resolved_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text("[]")
    fields = describe_recording(RecordingPlan("cnn.pte"), NAMES)
    with pytest.raises(ManifestError, match=r"manifest\.json"):
        check_manifest(tmp_path / "a.etdp", fields)
