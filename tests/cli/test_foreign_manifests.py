"""Manifests and names as editors, shells and phones write them."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.ingesting import ask, ingest_files, write_all
from tests.support.traced_dumps import traced_dump

STATED = {"device": "pixel8", "build": "b1", "model": "m"}
TEXT = json.dumps(STATED, indent=1)
NFC, NFD = (unicodedata.normalize(form, "Büro-1") for form in ("NFC", "NFD"))


def stated(**fields: object) -> bytes:
    return json.dumps({**STATED, **fields}, ensure_ascii=False).encode()


# By name: the manifest, and the device that is read, or the words of the refusal.
MANIFESTS = {
    "bom": (b"\xef\xbb\xbf" + TEXT.encode(), "pixel8"),
    "crlf": (TEXT.replace("\n", "\r\n").encode(), "pixel8"),
    "both": (b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode(), "pixel8"),
    "emoji": (stated(device="📱 Pixel 8 👩‍💻"), "📱 Pixel 8 👩‍💻"),
    "right to left": (stated(device="\u202etxt.exe"), "\u202etxt.exe"),
    "spaces": (stated(device=" pixel8 "), "pixel8"),
    "composed": (stated(device=NFC), NFC),
    "decomposed": (stated(device=NFD), NFC),
    "utf16": (TEXT.encode("utf-16"), "refused: it is UTF-16 text"),
    "utf16 without mark": (TEXT.encode("utf-16-le"), "refused: it is UTF-16 text"),
    "comment": (b"// by CI\n" + TEXT.encode(), "refused: it has a comment"),
    "nan": (
        b'{"run": {"temperature_c": NaN}}',
        "refused: found NaN, wanted a finite number, or null",
    ),
    "latin1": (stated(device="Größe").decode().encode("latin-1"), "refused: it is not UTF-8"),
    "blank": (stated(device=" "), "refused: wanted a text that is not blank"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {f"{name}/run.json": data for name, (data, _) in MANIFESTS.items()}
    dumps = {f"{name}/run.etdp": traced_dump(n) for n, name in enumerate(MANIFESTS)}
    return write_all(tmp_path / "in", files | dumps)


def test_each_manifest_is_read_or_refused_by_its_cause(run: Run, own: Path, folder: Path) -> None:
    done = ingest_files(run, own, folder, is_named=False)
    told = {Path(path).parent.name: words for path, words in done.refused.items()}
    read = {
        Path(row["source"]).parent.name: row["device"]
        for row in ask(own, "SELECT source, device FROM named_dumps")
    }
    for name, (_, wanted) in MANIFESTS.items():
        if wanted.startswith("refused: "):
            assert wanted.removeprefix("refused: ") in told[name]
        else:
            assert read[name] == wanted
    assert len(told) + len(read) == len(MANIFESTS)


@pytest.mark.parametrize("spelt", [NFC, NFD], ids=["composed", "decomposed"])
def test_a_device_name_has_one_unicode_form_however_it_is_stated(
    run: Run, own: Path, tmp_path: Path, spelt: str
) -> None:
    other = NFD if spelt == NFC else NFC
    folder = write_all(
        tmp_path,
        {
            f"{other}/b1/m/path.etdp": traced_dump(1),
            "options/run.etdp": traced_dump(2),
            "sidecar/run.etdp": traced_dump(3),
            "sidecar/run.json": stated(device=other),
            "inherited/manifest.json": stated(device=spelt),
            f"inherited/{spelt}.etdp": traced_dump(4),
            f"inherited/{other}.log": b'PyTorchObserver {"prompt_tokens": 7}',
        },
    )
    store = ("--store", own)
    layout = ("--layout", "{device}/{build}/{model}/*.etdp")
    assert run("ingest", folder / other, *layout, *store).code == 0
    named = ("--device", spelt, "--build", "b1", "--model", "m")
    assert run("ingest", folder / "options", *named, *store).code == 0
    assert run("ingest", folder / "sidecar", folder / "inherited", *store).code == 0
    assert ask(own, "SELECT name FROM devices") == [{"name": NFC}]
    assert len(ask(own, "SELECT * FROM counters")) == 1
    for name in (spelt, other, f"{spelt[:3]}*"):
        rows = json.loads(run("query", "dumps", "--device", name, *store, "--format", "json").text)
        assert len(rows) == 4
    shown = run(
        "store", "amend", "--where", f"device={other}", "--set", f"device.os={other}", *store
    )
    assert shown.code == 0
    gone = json.loads(run("store", "forget", "--device", spelt, *store, "--format", "json").text)
    assert len(gone) == 4


@pytest.mark.parametrize("value", ["", " ", "\t"])
@pytest.mark.parametrize("option", ["--build", "--device", "--branch", "--clock", "--etrecord"])
def test_blank_option_is_refused_and_not_taken_as_not_given(
    run: Run, own: Path, tmp_path: Path, option: str, value: str
) -> None:
    folder = write_all(tmp_path, {"run.etdp": traced_dump(1), "manifest.json": stated()})
    for command in ("ingest", "watch", "record"):
        done = run(command, folder, option, value, "--store", own)
        if command == "record" and option == "--clock":
            continue  # the host's clock is known
        assert done.code == 2
        assert f"'{option}': empty: give a value, or leave the option out" in done.err
    assert not own.exists()


def test_doubtful_times_are_noted_at_ingest_and_rows_of_data_quality(
    run: Run, own: Path, tmp_path: Path
) -> None:
    times = {
        "good": "2026-11-21T08:12:51Z",
        "naive": "2026-11-21T08:12:51",
        "naive too": "2026-11-21T08:12:52",
        "1970": "1970-01-01T00:00:13Z",
        "9999": "9999-12-31T23:59:59Z",
    }
    files = {f"{name}/run.json": stated(captured_at=time) for name, time in times.items()}
    dumps = {f"{name}/run.etdp": traced_dump(n) for n, name in enumerate(times)}
    done = ingest_files(run, own, write_all(tmp_path, files | dumps), is_named=False)
    notes = sorted(note.removeprefix(f"note: {tmp_path}/") for note in done.notes)
    assert [note.partition(", ")[0] for note in notes] == [
        "1970/run.etdp: captured_at is 1970-01-01",
        "9999/run.etdp: captured_at is 9999-12-31",
        "naive too/run.etdp and 1 more: captured_at states no zone",
    ]
    rows = json.loads(run("query", "data_quality", "--store", own, "--format", "json").text)
    counts = {row["problem"]: row["dump_count"] for row in rows}
    assert (counts["implausible time"], counts["time without zone"]) == (2, 2)
    amended = ("store", "amend", "--where", f"captured_at={times['naive']}", "--set")
    fixed = run(*amended, f"captured_at={times['naive']}Z", "--yes", "--store", own)
    assert fixed.code == 0, fixed.err
    rows = json.loads(run("query", "data_quality", "--store", own, "--format", "json").text)
    assert {row["problem"]: row["dump_count"] for row in rows}["time without zone"] == 1
