from __future__ import annotations

import unicodedata

import pytest

from tracehouse.ingest.sources.file_names import (
    companion_stem,
    dump_names,
    is_companion,
    is_dump,
    kind_of,
    list_passed_over,
    sidecar_names,
    sort_files,
)


@pytest.mark.parametrize(
    "name",
    [
        "run.etdp",
        "job/RUN.ETDP",
        "model.etdump",
        "a.prof",
        "etdump.in",
        "job/etdump.bin",
        "run.etdp.gz",
        "run.etdump.zst",
        "run.prof.xz",
        "etdump.in.gz",
    ],
)
def test_file_names_of_dumps_are_recognised(name: str) -> None:
    assert is_dump(name)


@pytest.mark.parametrize(
    "name", ["._run.etdp", "job/._etdump.bin", "run.bin", "myetdump.bin", "run.gz", "x.etdp.tar"]
)
def test_other_file_names_are_not_taken_for_dumps(name: str) -> None:
    assert not is_dump(name)


def test_companions_of_a_runner_go_with_the_only_dump_of_a_folder() -> None:
    files = sort_files(["etdump.etdp", "etrecord.bin", "debug_output.bin"])
    assert files.companions_of("etdump.etdp") == ("etrecord.bin", "debug_output.bin")
    assert sort_files([]).companions_of("etdump.in") == (None, None)


def test_two_dumps_do_not_get_the_debug_buffer_of_a_runner() -> None:
    files = sort_files(["a.etdp", "b.etdp", "etrecord.bin", "debug_output.bin", "b.debug.bin"])
    assert files.companions_of("a.etdp") == ("etrecord.bin", None)
    assert files.companions_of("b.etdp") == ("etrecord.bin", "b.debug.bin")


def test_two_default_debug_buffers_are_ambiguous_and_not_taken() -> None:
    files = sort_files(["run.etdp", "debug_output.bin", "debug_buffer.bin"])
    assert files.companions_of("run.etdp") == (None, None)


def test_files_find_each_other_despite_case_of_suffixes_and_unicode_form() -> None:
    composed, decomposed = (unicodedata.normalize(form, "Büro") for form in ("NFC", "NFD"))
    files = sort_files(["RUN.JSON", "MANIFEST.JSON", f"{decomposed}.etrecord"])
    assert files.find("RUN.json") == "RUN.JSON"
    assert files.find("run.json") is None
    assert files.find("manifest.json") == "MANIFEST.JSON"
    assert files.companions_of(f"{composed}.etdp")[0] == f"{decomposed}.etrecord"


def test_packed_dump_has_the_companions_and_sidecars_of_its_name() -> None:
    files = sort_files(["run.etrecord", "run.debug.bin", "other.etrecord"])
    assert files.companions_of("run.etdp.gz") == ("run.etrecord", "run.debug.bin")
    assert sidecar_names("run.etdp.gz")[:2] == ["run.json", "run.etdp.json"]


def test_packed_companions_belong_to_dumps_as_unpacked_ones_do() -> None:
    names = ["run.etdp.zst", "run.etrecord.GZ", "run.debug.bin.zst", "run.debug.bin.xz"]
    files = sort_files(names)
    assert files.companions_of("run.etdp.zst") == ("run.etrecord.GZ", "run.debug.bin.zst")
    assert list_passed_over(names, files) == ["run.debug.bin.xz"]
    defaults = sort_files(["etdump.in", "etrecord.bin.gz", "debug_output.bin.gz"])
    assert defaults.companions_of("etdump.in") == ("etrecord.bin.gz", "debug_output.bin.gz")


@pytest.mark.parametrize(
    "names", [("a.etrecord", "a.etrecord.gz"), ("a.etrecord.gz", "a.etrecord")]
)
def test_an_unpacked_companion_is_preferred_to_its_packed_copy(
    names: tuple[str, ...],
) -> None:
    assert sort_files(["a.etdp", *names]).companions_of("a.etdp")[0] == "a.etrecord"


def test_companion_tells_the_names_that_its_dump_may_have() -> None:
    stem = companion_stem("run.debug.bin")
    assert stem == "run"
    assert {"run.etdp", "run.etdump", "run.prof", "run.etdp.gz"} <= set(dump_names(stem))
    assert companion_stem("run.debug.bin.gz") == "run"
    assert {"etdump.in", "etdump.bin.zst"} <= set(dump_names("etdump"))
    assert "etdump.in" not in dump_names("run")
    assert companion_stem("debug_output.bin") is None
    assert is_companion("debug_output.bin")
    assert not is_companion("run.json")


def test_files_that_belong_to_no_dump_are_passed_over() -> None:
    used = [
        "a.etdp", "a.json", "a.etdp.json", "a.log", "a.qhas.json", "a.debug.bin", "net.etrecord",
        "manifest.json", "benchmark_results.json", "truth.json", "more.zip", "b.etdp.gz", "b.json",
    ]  # fmt: skip
    unused = [
        "c.json",
        "c.log",
        "c.debug.bin",
        "debug_output.bin",
        "README",
        "n.tar.gz",
        "._a.etdp",
    ]
    assert pass_over(*used, *unused) == unused


def test_etrecords_that_no_dump_gets_are_passed_over() -> None:
    names = ["a.etdp", "b.etdp", "a.etrecord", "net.etrecord"]
    assert pass_over(*names) == ["net.etrecord"]
    assert pass_over("net.etrecord") == ["net.etrecord"]


def test_suffix_too_long_for_a_message_has_no_kind_of_its_own() -> None:
    assert kind_of("x." + "y" * 99) == "of other kinds"


def pass_over(*names: str) -> list[str]:
    return list_passed_over(names, sort_files(names))
