"""Manifests that nobody means: refused with the place and the wish, never a traceback."""

from __future__ import annotations

import json
import zipfile

import pytest

from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.manifest.resolver import Manifest, ManifestResolver
from tracehouse.ingest.sources.places import Source

PLAIN = {"device": "pixel8", "build": "b7", "model": "mv2"}


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "run.etdp"
    path.write_bytes(b"")
    return Source(str(path))


def refusal(source, **overrides) -> str:
    with pytest.raises(ManifestError) as caught:
        ManifestResolver(overrides=PLAIN | overrides).resolve(source)
    message = str(caught.value)
    message.encode()
    assert len(message) < 1_000
    return message


@pytest.mark.parametrize("name", ["run.json", "manifest.json", "benchmark_results.json"])
def test_key_that_stands_twice_is_refused(dump, tmp_path, name):
    (tmp_path / name).write_text('{"tags": {"a": 1, "soc": 2, "soc": 3}}')
    assert refusal(dump).endswith(f"{name}: has the key 'soc' twice in one object, wanted once")


@pytest.mark.parametrize("rate", [5e-324, 1e-4, 1e16, 1e308])
def test_rate_that_no_clock_has_is_refused(dump, rate):
    for clock in ({"ticks_per_second": rate}, {"delegates": {"q": {"ticks_per_second": rate}}}):
        message = refusal(dump, clock=clock)
        assert f"ticks_per_second: found {rate}, wanted " in message


@pytest.mark.parametrize(
    "counters",
    [
        [{"name": "e", "value": 10**5_000}], [{"name": "e", "values": ["9" * 5_000]}],
        [{"name": "e" * 2_000, "value": 1}], [{"name": "e\0", "value": 1}],
        [{"name": "e", "value": 1, "unit": [[]] * 9}], [{"name": "e", "values": [1] * 99_999}],
        [{"name": f"e{i}", "value": i} for i in range(9_999)], "[" * 99_999, "[NaN]", 10**5_000,
        '[{"name": "e", "value": Infinity}]',
    ],
    ids=["integer", "digits", "name", "NUL", "unit", "values", "counters", "depth", "NaN", "number",
         "infinity"],
)  # fmt: skip
def test_unreasonable_counters_are_refused(dump, counters):
    assert "counters" in refusal(dump, counters=counters)


def test_slow_and_fast_clocks_are_taken(dump):
    for rate in (1e-3, 1, 32_768, 1e15):
        manifest = ManifestResolver(overrides=PLAIN | {"ticks_per_second": rate}).resolve(dump)
        assert manifest.clock.ns_per_tick == 1e9 / rate


@pytest.mark.parametrize(
    "time",
    ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", "9" * 5_000, 10**5_000, [[]] * 9],
    ids=["too early", "too late", "digits", "integer", "lists"],
)
def test_time_out_of_range_is_refused(dump, time):
    assert "captured_at: found " in refusal(dump, captured_at=time)
    assert "build.committed_at: found " in refusal(dump, committed_at=time)


@pytest.mark.parametrize(
    "ordinal",
    [2**63, -(2**63) - 1, 10**5_000, "9" * 5_000, 1e300],
    ids=["above", "below", "integer", "digits", "float"],
)
def test_ordinal_out_of_range_is_refused(dump, ordinal):
    assert "build.ordinal: found " in refusal(dump, ordinal=ordinal)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"soc": "x" * 1_001}, "device.soc: found 'xxxx"),
        ({"device": "x" * 10_000_000}, "device.name: found 'xxxx"),
        ({"soc": "a\0b"}, r"device.soc: found 'a\x00b', wanted a text without NUL"),
        ({"soc": "\udcff"}, r"device.soc: found '\udcff', wanted a valid string"),
        ({"tags": {"a": "\udcff"}}, r"tags.a.str: found '\udcff', wanted a valid string"),
        ({"tags": {"\udcff": 1}}, "wanted a valid string"),
        (
            {"tags": {"a": 10**5_000}},
            "tags: found a value of type dict, wanted values that JSON can represent",
        ),
        ({"tags": {"a": "x" * 70_000}}, "wanted at most 65,536 characters as JSON, found 70,008"),
        ({"clock": {"delegates": {"\udcff": "us"}}}, "wanted a valid string"),
        ({"clock": {"delegates": {"x" * 1_001: "us"}}}, "wanted names of at most 1,000 characters"),
        (
            {"clock": {"delegates": {f"d{i}": "us" for i in range(101)}}},
            "clock.delegates: found {'d0': {'unit': 'us'}",
        ),
        ({"tags": 10**5_000}, "tags: found a value of type int, wanted an object"),
    ],
)
def test_texts_that_cannot_be_kept_are_refused(dump, fields, problem):
    assert problem in refusal(dump, **fields)


def test_deeply_nested_tags_are_refused(dump):
    nested: list[object] = []
    for _ in range(5_000):
        nested = [nested]
    assert "tags." in refusal(dump, tags={"a": nested})


def test_integer_of_too_many_digits_is_refused(dump, tmp_path):
    (tmp_path / "run.json").write_text('{"x": ' + "9" * 500_000 + "}")
    wanted = "wanted an integer of at most 300 digits"
    assert refusal(dump).endswith(f"run.json: line 1 column 7: found {'9' * 40}, {wanted}")


def test_control_characters_in_names_are_kept():
    manifest = Manifest.model_validate(PLAIN | {"soc": "a\x1b[2J\u202e\x07b"})
    assert json.loads(manifest.canonical_json())["device"]["soc"] == "a\x1b[2J\u202e\x07b"


def test_path_longer_than_file_systems_have_matches_no_layout(tmp_path):
    folder = "-".join("abcd") + "x" * 300
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(f"{folder}/x.etdp", b"")
        archive.writestr("a-b-c-d/x.etdp", b"")
    resolver = ManifestResolver(layout="{device}-{build}-{model}-{backend}/*.etdp")
    assert resolver.resolve(Source(str(tmp_path / "a.zip"), "a-b-c-d/x.etdp")).device.name == "a"
    with pytest.raises(ManifestError, match="no device, build, model"):
        resolver.resolve(Source(str(tmp_path / "a.zip"), f"{folder}/x.etdp"))
