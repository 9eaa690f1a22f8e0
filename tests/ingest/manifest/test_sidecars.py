from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from tests.support.documents import ROOT
from tracehouse.ingest.errors import ManifestError, SourceError
from tracehouse.ingest.etrecord.differences import BYTES_PER_BYTE, FREE_BYTES
from tracehouse.ingest.manifest import json_files
from tracehouse.ingest.manifest.json_files import MAX_MANIFEST_BYTES, MAX_MANIFEST_MARKS
from tracehouse.ingest.manifest.runner_output import (
    MAX_FIGURES,
    MAX_PRINTED_BYTES,
    MAX_PRINTED_COUNTERS,
    MAX_PRINTED_MARKS,
)
from tracehouse.ingest.manifest.sidecars import (
    MAX_SIDECAR_BYTES,
    Bytes,
    Fields,
    Sidecar,
    parse_sidecar,
    read_sidecar,
)
from tracehouse.ingest.producers import LONGEST_MATCHED
from tracehouse.ingest.settings_file import MAX_SETTINGS_BYTES, MAX_SETTINGS_DEPTH
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.strict_json import MAX_DEPTH, MAX_DIGITS

REPORT = b'PyTorchObserver {"prompt_tokens":7}\n'
JSON = [Sidecar.MANIFEST, Sidecar.BENCHMARK, Sidecar.QHAS]


def qhas(value: object) -> bytes:
    rows = [{"time_us": value, "nodes": 3}]
    return json.dumps({"data": {"htp_overall_summary": {"data": rows}}}).encode()


def test_each_kind_states_fields() -> None:
    record = [{"benchmarkModel": {"name": "mv2"}}]
    assert parse_sidecar(Sidecar.MANIFEST, "x", b'{"device": "d"}') == {"device": "d"}
    assert parse_sidecar(Sidecar.BENCHMARK, "x", json.dumps(record).encode()) == {"model": "mv2"}
    assert parse_sidecar(Sidecar.BENCHMARK, "x", b"") == {}
    (counter,) = parse_sidecar(Sidecar.LOG, "x", REPORT)["counters"]  # type: ignore[misc]
    assert counter["name"] == "prompt_tokens"
    assert parse_sidecar(Sidecar.LOG, "x", b"nothing") == {}
    assert len(parse_sidecar(Sidecar.QHAS, "x", qhas(1))["counters"]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", JSON)
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"[" * 50_000, "nested more than 64 deep"),
        (b"[" + b"[]," * 700_000 + b"0]", "(commas|bytes).*, wanted at most"),
        (b'{"a": 1e999}', "line 1 column 7: found 1e999, wanted a number below 1.8e308"),
        (b'{"a": NaN}', "line 1 column 7: found NaN, wanted a finite number"),
        (
            b'{"a": ' + b"9" * 400 + b"}",
            "line 1 column 7: found 99.*, wanted an integer of at most",
        ),
        (b'{"a": "\xff"}', "not valid JSON: it is not UTF-8 .byte 7.*position 7"),
    ],
    ids=["deep", "marks", "1e999", "NaN", "digits", "UTF-8"],
)
def test_json_beyond_a_limit_is_refused_by_name_and_place(
    kind: Sidecar, text: bytes, problem: str
) -> None:
    with pytest.raises(ManifestError, match=rf"^here: .*{problem}"):
        parse_sidecar(kind, "here", text)


def test_each_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = json_files.parse_finite_json

    def note(text: str, *, most_marks: int) -> object:
        parsed.append(text)
        return parse(text, most_marks=most_marks)

    monkeypatch.setattr(json_files, "parse_finite_json", note)
    for kind in JSON:
        parse_sidecar(kind, "x", b'{"a": 1}')
    assert parsed == ['{"a": 1}'] * len(JSON)


@pytest.mark.parametrize(
    ("kind", "data", "problem"),
    [
        (Sidecar.LOG, REPORT * 100_001, "would take more than 100,000 figures"),
        (
            Sidecar.LOG,
            b"".join(b"ethosu_pmu_cntr%d : 1\n" % n for n in range(1_001)),
            "would take more than 1,000 counters",
        ),
        (
            Sidecar.QHAS,
            json.dumps(
                {"data": {"htp_overall_summary": {"data": [{f"a{n}": n for n in range(1_001)}]}}}
            ).encode(),
            "would take more than 1,000 counters",
        ),
    ],
    ids=["figures", "log", "qhas"],
)
def test_more_than_a_manifest_has_room_for_is_refused(
    kind: Sidecar, data: bytes, problem: str
) -> None:
    with pytest.raises(ManifestError, match=f"^x: {problem}"):
        parse_sidecar(kind, "x", data)


def test_figures_whose_median_is_not_finite_are_left_out() -> None:
    rows = [{"time_us": 1.7e308}, {"time_us": 1.7e308}]
    data = json.dumps({"data": {"htp_overall_summary": {"data": rows}}}).encode()
    assert parse_sidecar(Sidecar.QHAS, "x", data) == {}


def _length(_: Sidecar, __: str, data: Bytes) -> Fields:
    return {"data": bytes(data)}


@pytest.mark.parametrize("is_zipped", [False, True])
def test_a_file_is_read_up_to_its_limit_and_of_a_log_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_zipped: bool
) -> None:
    monkeypatch.setitem(MAX_SIDECAR_BYTES, Sidecar.LOG, 1_000)
    data = os.urandom(3 << 20)
    files = {"long.json": data, "long.log": data, "short.log": REPORT}
    if is_zipped:
        with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    else:
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)

    def source(name: str) -> Source:
        if is_zipped:
            return Source(str(tmp_path / "a.zip"), name)
        return Source(str(tmp_path / name))

    with pytest.raises(SourceError, match="3,145,728 bytes, wanted at most 1,048,576"):
        read_sidecar(Sidecar.MANIFEST, source("long.json"), _length)
    assert read_sidecar(Sidecar.LOG, source("long.log"), _length) == {"data": data[-1_000:]}
    assert read_sidecar(Sidecar.LOG, source("short.log"), _length) == {"data": REPORT}
    assert read_sidecar(Sidecar.LOG, source("none.log"), _length) is None


def test_the_document_of_limits_has_the_limits_of_each_kind() -> None:
    text = (ROOT / "docs/limits.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    manifest = f"| {MAX_MANIFEST_BYTES >> 20} MiB | {MAX_MANIFEST_MARKS:,} | {MAX_DEPTH} |"
    printed = f"{MAX_PRINTED_BYTES >> 20} MiB"
    wanted = {
        Sidecar.MANIFEST: ("| a manifest (", manifest),
        Sidecar.BENCHMARK: ("| `benchmark_results.json` |", manifest),
        Sidecar.QHAS: (
            "| a QHAS summary (",
            f"| {printed} | {MAX_PRINTED_MARKS:,} | {MAX_DEPTH} |",
        ),
        Sidecar.LOG: ("| the output of a runner (", f"| the last {printed} are read |"),
    }
    assert set(wanted) == set(Sidecar) == set(MAX_SIDECAR_BYTES)
    for start, bound in wanted.values():
        (row,) = [row for row in rows if row.startswith(start)]
        assert bound in row
    assert f"at most {MAX_FIGURES:,} figures" in text
    assert f"at most {MAX_PRINTED_COUNTERS:,} counters" in text
    assert f"integers have at most {MAX_DIGITS} digits" in text
    nested = f"brackets nested {MAX_SETTINGS_DEPTH} deep; {MAX_SETTINGS_DEPTH} names"
    assert f"| {MAX_SETTINGS_BYTES >> 10} KiB; {nested} in a dotted key |" in text
    assert f"names of up to {LONGEST_MATCHED:,} bytes" in text
    program = f"{FREE_BYTES >> 20} MiB + {BYTES_PER_BYTE} bytes per byte"
    assert f"| what `etrecord diff` reads and makes of it | {program};" in text
